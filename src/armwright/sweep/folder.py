"""The folder of a study: what it is of, and a file for each chunk, so that only what is under way can be lost.

manifest.json               the study, the robot, and all that the numbers depend on
rows/000007-<sum>.parquet   the results of chunk 7; the sum is of the study, the number and the bytes
histories/...               the same of the motions that are kept whole
lock                        held by whoever writes, and by nobody once that process is gone, however it went

A file is written beside and renamed. One that is cut off, changed, of another chunk or of another study does not have
the sum in its name: it is as good as missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

from armwright.errors import InputError
from armwright.files import contents, write
from armwright.sweep.chunks import Chunk
from armwright.sweep.ready import Ready

MANIFEST, ROWS, HISTORIES, LOCK = "manifest.json", "rows", "histories", "lock"
LARGEST = 1 << 30
VERSION = 2
MOST_DIFFERENCES = 8

_NAME = re.compile(r"(\d{6,})-([0-9a-f]{16})\.parquet")


@dataclass(frozen=True)
class Folder:
    """Where the chunks of a study are kept."""

    path: Path

    @classmethod
    def at(cls, path: str | Path) -> Folder:
        """A folder that may have a study some day."""
        if not isinstance(path, (str, Path)):
            raise InputError(f"got {path!r} for the folder of a study; expected its path")
        return cls(Path(path))

    @classmethod
    def of(cls, path: str | Path) -> Folder:
        """A folder that has a study, or an error that says what it has."""
        found = cls.at(path)
        if not (found.path / MANIFEST).is_file():
            raise InputError(f"{path} has no {MANIFEST}; expected a folder that `armwright sweep STUDY -o FOLDER` made")
        _ = found.manifest
        return found

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        try:
            data = json.loads(contents(self.path / MANIFEST, LARGEST))
            if data["version"] != VERSION or not isinstance(data["identity"], dict):
                raise ValueError(f"it is of version {data['version']!r}, expected {VERSION}")
            return {"chunks": int(data["chunks"]), "rows": int(data["rows"]), "digest": str(data["digest"]), **data}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"cannot read {self.path / MANIFEST}: {error}; expected the manifest of a study") from None

    def begin(self, found: Ready) -> None:
        """The folder made for a study, or found to be of the very same; the difference is an error."""
        with _written(self.path):
            for part in (ROWS, *((HISTORIES,) if found.histories else ())):
                (self.path / part).mkdir(parents=True, exist_ok=True)
        if (self.path / MANIFEST).exists():
            self._same(found)
            return
        if any(self._files()):
            raise InputError(f"{self.path} has chunks and no {MANIFEST}; expected a new folder")
        manifest = {
            "version": VERSION,
            "name": found.study.name,
            "file": found.study.file,
            "folder": str(found.study.folder.absolute()),
            "rows": found.design.rows,
            "chunks": found.chunks,
            "names": found.design.names,
            "digest": found.digest,
            "study": found.study.said,
            "robot": found.robot.to_toml(),
            "bare": found.drives.bare.to_toml() if found.drives and found.drives.choices else None,
            "actuators": found.drives.said if found.drives else {},
            "text": found.study.text,
            "identity": found.identity,
        }
        with _written(self.path):
            write(self.path / MANIFEST, json.dumps(manifest, indent=1))

    def _same(self, found: Ready) -> None:
        if self.manifest["digest"] == found.digest:
            return
        differences = list(_differences(self.manifest["identity"], found.identity))
        causes = [line for line in differences if not line.startswith("numbers:")]  # which follow from the others
        differences = causes or differences
        more = [f"and {len(differences) - MOST_DIFFERENCES} more"] if len(differences) > MOST_DIFFERENCES else []
        told = "\n  ".join([*differences[:MOST_DIFFERENCES], *more])
        raise InputError(
            f"{self.path} has the results of another study:\n  {told}\nexpected the same; "
            "choose a new folder with -o, or take the change back"
        )

    def _files(self, part: str = ROWS) -> Iterator[tuple[int, str, Path]]:
        """Everything that has the name of a chunk: its number, the sum it should have, and where it is."""
        with suppress(FileNotFoundError):
            for entry in sorted(os.listdir(self.path / part)):
                if name := _NAME.fullmatch(entry):
                    yield int(name[1]), name[2], self.path / part / entry

    def done(self, numbers: Iterable[int], mend: bool = False) -> dict[int, list[Path]]:
        """Those of some chunks that are whole, and their files; what is broken is taken away if asked."""
        asked, parts = set(numbers), self._parts
        good: dict[int, list[Path]] = {}
        for part in parts:
            for number, wanted, path in self._files(part):
                if number not in asked:
                    continue
                if self._holds(part, number, wanted, path):
                    good.setdefault(number, []).append(path)
                elif mend:
                    with _written(path):
                        path.unlink(missing_ok=True)
        return {number: files for number, files in sorted(good.items()) if len(files) == len(parts)}

    def _holds(self, part: str, number: int, wanted: str, path: Path) -> bool:
        """Whether a file is what its name says; one that cannot be read is not."""
        try:
            return self._sum(part, number, contents(path, LARGEST)) == wanted
        except OSError:
            return False

    def tidy(self) -> None:
        """Without what was half written when a process was killed; nobody else may be writing."""
        for part in (ROWS, HISTORIES):
            for path in (self.path / part).glob(".*.part"):
                with _written(path):
                    path.unlink(missing_ok=True)

    @property
    def _parts(self) -> tuple[str, ...]:
        kept = (self.manifest["study"].get("want") or {}).get("histories")
        return (HISTORIES, ROWS) if kept else (ROWS,)

    def put(self, chunk: Chunk) -> None:
        """Keep the results of a chunk, its rows last: they say that it is done."""
        for part, data in ((HISTORIES, chunk.histories), (ROWS, chunk.rows)):
            if data is not None:
                name = f"{chunk.number:06d}-{self._sum(part, chunk.number, data)}.parquet"
                with _written(self.path / part / name):
                    write(self.path / part / name, data)

    def _sum(self, part: str, number: int, data: bytes) -> str:
        what = f"{self.manifest['digest']} {part} {number} ".encode()
        return hashlib.sha256(what + data).hexdigest()[:16]

    @contextmanager
    def locked(self, part: str = "") -> Iterator[None]:
        """Held against all others, or with a part of the work against those that do the same part or all of it."""
        with _written(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with _held(self.path / LOCK, shared=bool(part)):
            if not part:
                yield
                return
            with _held(self.path / f"{LOCK}-{part}", shared=False):
                yield


@contextmanager
def _held(path: Path, shared: bool) -> Iterator[None]:
    """A lock on a file, which the system takes from a process that ends."""
    try:
        import fcntl  # noqa: PLC0415  (Windows has none)
    except ImportError:
        raise InputError("a study is kept in a folder by file locks, which this system does not have") from None
    with _written(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.pread(handle, 200, 0).decode(errors="replace").strip() or "another process"
            raise InputError(
                f"{path.parent} is being worked on by {who}; wait for it, or choose another folder with -o"
            ) from None
        with _written(path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """What cannot be written, said in one line."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; what was done before is kept, so mend that and run the "
            "same command again"
        ) from None


def _differences(before: Any, now: Any, name: str = "") -> Iterator[str]:
    """What is not the same in two studies, key by key; of long texts only that they differ, and where."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in [*before, *(key for key in now if key not in before)]:
            yield from _differences(before.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif before != now:
        if isinstance(before, str) and isinstance(now, str) and "\n" in before + now:
            pairs = zip_longest(filter(None, before.splitlines()), filter(None, now.splitlines()))
            before, now = next((a, b) for a, b in pairs if a != b)
        yield f"{name}: was {_short(before)}, is {_short(now)}"


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
