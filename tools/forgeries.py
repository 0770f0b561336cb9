"""The ways in which `forge_folders` forges a folder of results: its manifest, its chunks, and what lies in its place.

Each takes a `Forger`, which has a copy of a folder, and changes that. What is signed has digests and sums that hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from armwright.sweep.study import digest_of

MANY = 20_000_000
"""Rows that a small file may have."""

JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 7, 1e12, 10**12, 10**18, 10**400, 1e308, -1e308, float("nan"), float("inf"), 0.5),
    *("", "x", "\0", "\ud800", "\x1b[31m", "<script>", "../../../etc/passwd", "a" * 100_000, "9" * 400),
    *(
        [],
        {},
        [[]],
        [1, "a"],
        {"a": {}},
        ["peak_torque"],
        {"uniform": [3, 0]},
        [None],
        {"": None},
        "peak_torque",
        [0] * 1000,
    ),
)
Manifest = dict[str, Any]


class Forger:
    """A copy of a folder of results that is changed, beside files that must stay as they are."""

    def __init__(self, place: Path, base: Path, chance: random.Random) -> None:
        self.place, self.chance, self.folder = place, chance, place / "results"
        shutil.copytree(base, self.folder, copy_function=shutil.copyfile)
        outside = place / "outside"
        outside.mkdir()
        for name in ("key", "rc", ".old.part", "manifest.json"):
            (outside / name).write_text(f"precious {name}")
        (outside / "mine.py").write_text(f"open({str(place / 'ran')!r}, 'w').close()\ndef f(x):\n    return 1.0\n")

    @property
    def manifest(self) -> Manifest:
        found: Manifest = json.loads((self.folder / "manifest.json").read_text())
        return found

    @manifest.setter
    def manifest(self, said: Any) -> None:
        (self.folder / "manifest.json").write_text(json.dumps(said))

    def files(self, part: str = "rows") -> list[Path]:
        return sorted((self.folder / part).glob("*.parquet"))

    def put(self, part: str, number: int, data: bytes) -> Path:
        """A file of a chunk under the name that it must have."""
        what = f"{self.manifest['digest']} {part} {number} ".encode()
        path = self.folder / part / f"{number:06d}-{hashlib.sha256(what + data).hexdigest()[:16]}.parquet"
        path.write_bytes(data)
        return path

    def sign(self, said: Manifest) -> None:
        """The manifest with the digest of what it says, and all files of chunks under new names."""
        with suppress(ValueError, TypeError, RecursionError):
            said["digest"] = digest_of(said["identity"])
        kept = [(part, path, path.read_bytes()) for part in ("rows", "histories") for path in self.files(part)]
        self.manifest = said
        for part, path, data in kept:
            path.unlink()
            self.put(part, int(path.name[:6]), data)

    def table(self, change: Callable[[pyarrow.Table], pyarrow.Table], part: str = "rows", again: bool = True) -> None:
        """The table of a chunk changed, and the file signed."""
        path = self.chance.choice(self.files(part) or self.files())
        data = stored(change(parquet.read_table(path)))
        if again:
            path.unlink()
        self.put(path.parent.name, int(path.name[:6]), data)


def stored(table: pyarrow.Table) -> bytes:
    parquet.write_table(table, whole := pyarrow.BufferOutputStream(), compression="zstd")
    data: bytes = whole.getvalue().to_pybytes()
    return data


def places(said: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all that is in a manifest."""
    items = said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def at(said: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        said = said[key]
    return said


def forge_value(f: Forger, signed: bool) -> None:
    """Junk somewhere in the manifest; signed, in study and identity alike."""
    said = f.manifest
    path = f.chance.choice(list(places(said)))
    junk = f.chance.choice(JUNK)
    at(said, path[:-1])[path[-1]] = junk
    if signed and path[0] == "study" and len(path) > 1:
        with suppress(KeyError, IndexError, TypeError):
            at(said["identity"], path[1:-1])[path[-1]] = junk
    f.sign(said) if signed else setattr(f, "manifest", said)


def forge_missing(f: Forger) -> None:
    said = f.manifest
    path = f.chance.choice(list(places(said)))
    del at(said, path[:-1])[path[-1]]
    f.chance.choice([f.sign, lambda x: setattr(f, "manifest", x)])(said)


def forge_counts(f: Forger) -> None:
    """Rows and chunks that fit each other and nothing else."""
    said = f.manifest
    chunk, rows = f.chance.choice([(1, 10**9), (10**9, 10**9), (1, 10**12), (7, 10**6), (10**9, 20_000_000), (3, 20)])
    said |= {"rows": rows, "chunks": -(-rows // chunk)}
    said["identity"]["chunk"] = chunk
    said["study"]["chunk"] = chunk
    f.sign(said)


def forge_text(f: Forger) -> None:
    """Bytes in place of a manifest."""
    text = (f.folder / "manifest.json").read_bytes()
    part = f.chance.randrange(len(text))
    wide = b"{" + b",".join(b'"%d":1' % i for i in range(300_000)) + b"}"
    forged = (
        *(b"", b"null", b"[]", b"{}", b"3", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, text[:part], b"\0" * 1000),
        *(
            b" " * (40 << 20),
            wide,
            b"[" + b"[]," * 3_000_000 + b"1]",
            b"9" * 1_000_000,
            text + text,
            b"\xef\xbb\xbf" + text,
        ),
        text.replace(b'"study": {', b'"study": {"vary": ' + b"[" * 500 + b"]" * 500 + b", ", 1),
        text.replace(b'"version": 2', b'"version": 3'),
    )
    (f.folder / "manifest.json").write_bytes(f.chance.choice(forged))


def forge_functions(f: Forger) -> None:
    """Functions that would run, beside the study or installed."""
    said = f.manifest
    said["folder"] = str(f.place / "outside")
    for part in (said["study"], said["identity"]):
        part["want"] = {
            **part.get("want", {}),
            "functions": [f.chance.choice(["mine:f", "antigravity:f", "os:getcwd"])],
        }
    f.sign(said)
    if f.chance.random() < 0.5:
        shutil.rmtree(f.folder / "rows")


def column(name: str, values: Any) -> Callable[[pyarrow.Table], pyarrow.Table]:
    """A column of a table replaced."""

    def change(table: pyarrow.Table) -> pyarrow.Table:
        made = pyarrow.array(values(table) if callable(values) else [values] * len(table))
        return table.set_column(table.schema.get_field_index(name), name, made)

    return change


def many(table: pyarrow.Table) -> pyarrow.Table:
    """Millions of rows in a small file."""
    zeros = {name: pyarrow.nulls(MANY, kind) for name, kind in zip(table.schema.names, table.schema.types, strict=True)}
    return pyarrow.table({**zeros, "row": np.zeros(MANY, np.int64)})


def numbers(value: float) -> Callable[[pyarrow.Table], pyarrow.Table]:
    """All that was measured replaced."""

    def change(table: pyarrow.Table) -> pyarrow.Table:
        for name, kind in zip(table.schema.names, table.schema.types, strict=True):
            if kind == pyarrow.float64():
                signs = [value * (-1) ** k for k in range(len(table))]
                table = column(name, lambda _, signs=signs: np.array(signs))(table)
        return table

    return change


TABLES: Mapping[str, Callable[[pyarrow.Table], pyarrow.Table]] = {
    "no rows": lambda t: t.slice(0, 0),
    "fewer rows": lambda t: t.slice(1),
    "more rows": lambda t: pyarrow.concat_tables([t, t]),
    "rows in reverse": lambda t: t.take(list(range(len(t)))[::-1]),
    "other row numbers": column("row", lambda t: np.arange(len(t)) + 1000),
    "one row number": column("row", lambda t: np.zeros(len(t), np.int64)),
    "row numbers below zero": column("row", lambda t: -np.arange(len(t))),
    "row numbers as texts": column("row", "1"),
    "row numbers as floats": column("row", 1.0),
    "row numbers missing": column("row", lambda t: pyarrow.nulls(len(t), pyarrow.int64())),
    "flags as texts": lambda t: column("ok" if "ok" in t.column_names else "t", "yes")(t),
    "flags missing": lambda t: (
        column("ok", lambda t: pyarrow.nulls(len(t), pyarrow.bool_()))(t) if "ok" in t.column_names else t
    ),
    "a list": lambda t: column(t.column_names[1], lambda t: [[1.0]] * len(t))(t),
    "a table in a table": lambda t: column(t.column_names[1], lambda t: [{"a": 1.0}] * len(t))(t),
    "numbers as texts": lambda t: column(t.column_names[-1], "1e3")(t),
    "numbers missing": lambda t: column(t.column_names[-1], lambda t: pyarrow.nulls(len(t), pyarrow.float64()))(t),
    "long reasons": lambda t: column("reason", "<b>" * 100_000)(t) if "reason" in t.column_names else t,
    "all failed": lambda t: column("ok", lambda t: [False] * len(t))(t) if "ok" in t.column_names else t,
    "one column": lambda t: t.select([0]),
    "a column less": lambda t: t.drop([t.column_names[-1]]),
    "a column more": lambda t: t.append_column("more", pyarrow.array([1.0] * len(t))),
    "many columns": lambda t: pyarrow.table(
        {**{n: t[n] for n in t.column_names}, **{f"c{k}": [0.0] * len(t) for k in range(3000)}}
    ),
    "other names": lambda t: t.rename_columns([f"<i>{k}\x1b[0m" for k in range(t.num_columns)]),
    "another order": lambda t: t.select(t.column_names[::-1]),
    "20 million rows": many,
    "not a number": numbers(float("nan")),
    "infinite": numbers(float("inf")),
    "as large as can be": numbers(1.7976931348623157e308),
    "as small as can be": numbers(5e-324),
}


def forge_table(f: Forger) -> None:
    name = f.chance.choice(list(TABLES))
    f.table(TABLES[name], f.chance.choice(["rows", "rows", "histories"]))


def forge_all_tables(f: Forger) -> None:
    """The same in all chunks."""
    change = TABLES[f.chance.choice([name for name in TABLES if name != "20 million rows"])]
    for path in f.files():
        number, data = int(path.name[:6]), stored(change(parquet.read_table(path)))
        path.unlink()
        f.put("rows", number, data)


def forge_twice(f: Forger) -> None:
    """Two whole files for one chunk."""
    f.table(
        lambda t: t.replace_schema_metadata({"other": "bytes"}), f.chance.choice(["rows", "histories"]), again=False
    )


def forge_swapped(f: Forger) -> None:
    """A chunk with the rows of another."""
    first, second = f.files()[:2]
    data = second.read_bytes()
    first.unlink()
    f.put("rows", int(first.name[:6]), data)


def forge_bytes(f: Forger) -> None:
    """Damaged bytes, signed."""
    path = f.chance.choice(f.files())
    data = bytearray(path.read_bytes())
    for _ in range(f.chance.randint(1, 5)):
        data[f.chance.randrange(len(data))] ^= 1 << f.chance.randrange(8)
    path.unlink()
    f.put(
        "rows",
        int(path.name[:6]),
        f.chance.choice([bytes(data), bytes(data[: len(data) // 2]), b"PAR1PAR1", b"", b"text"]),
    )


def forge_names(f: Forger) -> None:
    """Files of chunks that there are not."""
    data = f.files()[0].read_bytes()
    for number in (99, 999_999, 10**9, 10**10 - 1):
        f.put("rows", number, data)
    (f.folder / "rows" / f"{chr(0x660) * 6}-0123456789abcdef.parquet").write_bytes(data)


def forge_size(f: Forger) -> None:
    """A file with a hole of a gigabyte and more."""
    path = f.folder / f.chance.choice(["manifest.json", "rows/000000-0123456789abcdef.parquet", "report.html", "lock"])
    with path.open("ab") as file:
        file.truncate(f.chance.choice([3 << 30, 200 << 20]))


def forge_kind(f: Forger) -> None:
    """A folder, a pipe or a link in the place of something."""
    name = f.chance.choice(["manifest.json", "rows", "histories", "lock", "report.html", "chunk", "part"])
    path = f.folder / name
    if name == "chunk":
        path = f.chance.choice(f.files())
    if name == "part":
        path = f.folder / "rows" / ".x.part"
    kind = f.chance.choice(["file", "folder", "pipe", "link", "link", "hard", "device"])
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    outside = f.place / "outside"
    if kind == "file":
        path.write_text("text")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "hard":
        path.hardlink_to(outside / "key")
    elif kind == "device":
        path.symlink_to(f.chance.choice(["/dev/zero", "/dev/full", "/dev/tty"]))
    else:
        path.symlink_to(
            outside
            if name in ("rows", "histories")
            else outside / f.chance.choice(["key", "rc", "none", "manifest.json"])
        )


def forge_link(f: Forger) -> None:
    """Those of the review: every name that is written to, as a link to a file of the user's."""
    name = f.chance.choice(["lock", "lock-1-of-2", "report.html", "manifest.json", "rows", "histories"])
    path = f.folder / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    outside = Path("../outside")
    path.symlink_to(outside if name in ("rows", "histories") else outside / "key")


KINDS: Mapping[str, Callable[[Forger], None]] = {
    "value": lambda f: forge_value(f, signed=False),
    "signed value": lambda f: forge_value(f, signed=True),
    "value again": lambda f: forge_value(f, signed=True),
    "missing": forge_missing,
    "counts": forge_counts,
    "text": forge_text,
    "functions": forge_functions,
    "table": forge_table,
    "table again": forge_table,
    "all tables": forge_all_tables,
    "twice": forge_twice,
    "swapped": forge_swapped,
    "bytes": forge_bytes,
    "names": forge_names,
    "size": forge_size,
    "kind": forge_kind,
    "kind again": forge_kind,
    "link": forge_link,
}
