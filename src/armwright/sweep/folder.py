"""The folder of a study: what it is of, and a file for each chunk, so that only what is under way can be lost.

manifest.json               the study, the robot, and all that the numbers depend on
rows/000007-<sum>.parquet   the results of chunk 7; the sum is of the study, the number and the bytes
histories/...               the same of the motions that are kept whole
lock                        held by whoever writes, and by nobody once that process is gone, however it went

A file is written beside and renamed. One that is cut off, changed, of another chunk or of another study does not have
the sum in its name, or other rows than its chunk: it is as good as missing.

A folder may come from a stranger. It is opened once, what is in it is opened relative to that, and no link in it is
followed; the manifest is checked whole (`manifest`), and so is every chunk (`schema`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

from armwright.errors import InputError, listed
from armwright.files import LINK, Directory, directory
from armwright.sweep import manifest, schema
from armwright.sweep.chunks import Chunk
from armwright.sweep.manifest import Manifest
from armwright.sweep.ready import Ready

MANIFEST, ROWS, HISTORIES, LOCK = manifest.NAME, "rows", "histories", "lock"
MOST_BYTES = 1 << 30
"""Of a file of results."""

MOST_DIFFERENCES = 8

_NAME = re.compile(r"([0-9]{6,10})-([0-9a-f]{16})\.parquet")
_OWN = re.compile(rf"{MANIFEST}|{ROWS}|{HISTORIES}|{LOCK}(-.*)?|report\.html")


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
        _ = found.manifest
        return found

    @cached_property
    def manifest(self) -> Manifest:
        """What it is of; an InputError says what is wrong with it."""
        expected = "expected a folder that `armwright sweep STUDY -o FOLDER` made"
        try:
            with directory(self.path) as here:
                _refuse_links(here)
                if here.mode(MANIFEST) is None:
                    raise InputError(f"{self.path} has no {MANIFEST}; {expected}")
                return Manifest.parse(here.read(MANIFEST, manifest.MOST_BYTES))
        except FileNotFoundError:
            raise InputError(f"{self.path} is not there; {expected}") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"cannot read {self.path / MANIFEST}: {why}; expected the manifest of a study") from None

    def begin(self, found: Ready) -> None:
        """The folder made for a study, or found to be of the very same; the difference is an error."""
        with _written(self.path), directory(self.path) as here:
            _refuse_links(here)
            for part in (ROWS, *((HISTORIES,) if found.histories else ())):
                with here.inside(part, make=True):
                    pass
            there = here.mode(MANIFEST) is not None
        if there:
            self._same(found)
            return
        if any(self._files(ROWS)):
            raise InputError(f"{self.path} has chunks and no {MANIFEST}; expected a new folder")
        try:
            data = Manifest.of(found).written()
        except ValueError as error:
            raise InputError(f"{found.study.file} is too long for a {MANIFEST}: {error}") from None
        with _written(self.path / MANIFEST), directory(self.path) as here:
            here.write(MANIFEST, data)

    def _same(self, found: Ready) -> None:
        if self.manifest.digest == found.digest:
            self._same_rows(found)
            return
        differences = list(_differences(self.manifest.identity, found.identity))
        causes = [line for line in differences if not line.startswith("numbers:")]  # which follow from the others
        differences = causes or differences
        more = [f"and {len(differences) - MOST_DIFFERENCES} more"] if len(differences) > MOST_DIFFERENCES else []
        told = "\n  ".join([*differences[:MOST_DIFFERENCES], *more])
        raise InputError(
            f"{self.path} has the results of another study:\n  {told}\nexpected the same; "
            "choose a new folder with -o, or take the change back"
        )

    def _same_rows(self, found: Ready) -> None:
        """Raise an InputError if the manifest has other rows than its study."""
        said = self.manifest.rows, self.manifest.chunk, self.manifest.names
        if said != (found.design.rows, found.chunk, found.design.names):
            raise InputError(
                f"{self.path / MANIFEST} says {said[0]} rows of {listed(said[2])}, and its study has "
                f"{found.design.rows} of {listed(found.design.names)}; expected the same, so choose a new folder "
                "with -o"
            )

    @contextmanager
    def _part(self, part: str) -> Iterator[Directory | None]:
        """The folder of rows or of histories, if it is there."""
        with directory(self.path) as here:
            if here.mode(part) is None:
                yield None
                return
            with here.inside(part) as found:
                yield found

    def _files(self, part: str) -> list[tuple[int, str, str]]:
        """Everything that has the name of a chunk: its number, the sum it should have, and its name."""
        with self._part(part) as there:
            found = [(name, entry) for entry in there.names() if (name := _NAME.fullmatch(entry))] if there else []
        return [(int(name[1]), name[2], entry) for name, entry in found]

    def done(
        self, numbers: Collection[int], mend: bool = False, columns: tuple[str, ...] | None = None
    ) -> dict[int, dict[str, Path]]:
        """Those of some chunks that are whole, and their files; what is broken or there twice is taken away if asked.

        `columns` are those of the rows, where they are known better than the manifest says them.
        """
        expected = schema.Expected.of(self.manifest, columns)
        good: dict[int, dict[str, Path]] = {}
        with _readable(self.path):
            for part in self._parts:
                for number, wanted, name in self._files(part):
                    if number not in numbers:
                        continue
                    if part not in good.get(number, {}) and self._holds(expected, part, number, wanted, name):
                        good.setdefault(number, {})[part] = self.path / part / name
                    elif mend:
                        self._remove(part, name)
        return {number: files for number, files in sorted(good.items()) if len(files) == len(self._parts)}

    def _remove(self, part: str, name: str) -> None:
        with _written(self.path / part / name), self._part(part) as there:
            if there is not None:
                there.remove(name)

    def _holds(self, expected: schema.Expected, part: str, number: int, wanted: str, name: str) -> bool:
        """Whether a file is what its name says; one that cannot be read is not."""
        with self._part(part) as there:
            assert there is not None
            if stat.S_ISLNK(there.mode(name) or 0):
                raise InputError(f"{self.path / part / name}: {LINK}")
            try:
                with there.reading(name, MOST_BYTES) as file:
                    if not expected.promises(part == HISTORIES, number, file):
                        return False
                    file.seek(0)
                    data = file.read(MOST_BYTES)
            except OSError:
                return False
        return self._sum(part, number, data) == wanted and expected.holds(part == HISTORIES, number, data)

    def tidy(self) -> None:
        """Without what was half written when a process was killed; nobody else may be writing."""
        for part in (ROWS, HISTORIES):
            with self._part(part) as there:
                left = (
                    [name for name in there.names() if name.startswith(".") and name.endswith(".part")] if there else []
                )
            for name in left:
                self._remove(part, name)

    @property
    def _parts(self) -> tuple[str, ...]:
        return (HISTORIES, ROWS) if self.manifest.histories else (ROWS,)

    def put(self, chunk: Chunk) -> None:
        """Keep the results of a chunk, its rows last: they say that it is done."""
        for part, data in ((HISTORIES, chunk.histories), (ROWS, chunk.rows)):
            if data is None:
                continue
            if len(data) > MOST_BYTES:
                raise InputError(
                    f"chunk {chunk.number} has {len(data) >> 20} MB of {part}; expected at most {MOST_BYTES >> 20}, so "
                    "give a smaller chunk = in the study, and a new folder"
                )
            name = f"{chunk.number:06d}-{self._sum(part, chunk.number, data)}.parquet"
            with _written(self.path / part / name), self._part(part) as there:
                if there is None:
                    raise FileNotFoundError(2, f"{self.path / part} is gone")
                there.write(name, data)

    def _sum(self, part: str, number: int, data: bytes) -> str:
        what = f"{self.manifest.digest} {part} {number} ".encode()
        return hashlib.sha256(what + data).hexdigest()[:16]

    @contextmanager
    def locked(self, part: str = "") -> Iterator[None]:
        """Held against all others, or with a part of the work against those that do the same part or all of it."""
        with _written(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            with directory(self.path) as here:
                _refuse_links(here)
        with _held(self.path, LOCK, shared=bool(part)):
            if not part:
                yield
                return
            with _held(self.path, f"{LOCK}-{part}", shared=False):
                yield


def _refuse_links(here: Directory) -> None:
    """Raise an InputError if a name that is ours is a link, which could lead to any file of the user's."""
    for name in here.names():
        if _OWN.fullmatch(name) and stat.S_ISLNK(here.mode(name) or 0):
            raise InputError(f"{here.path / name}: {LINK}")


@contextmanager
def _held(path: Path, name: str, shared: bool) -> Iterator[None]:
    """A lock on a file, which the system takes from a process that ends."""
    try:
        import fcntl  # noqa: PLC0415  (Windows has none)
    except ImportError:
        raise InputError("a study is kept in a folder by file locks, which this system does not have") from None
    with _written(path / name), directory(path) as here:
        handle = here.open(name, os.O_RDWR | os.O_CREAT)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
            raise InputError(f"{path / name} is no file of its own; expected the lock of a study, so remove it")
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.pread(handle, 200, 0).decode(errors="replace").strip() or "another process"
            raise InputError(
                f"{path} is being worked on by {who}; wait for it, or choose another folder with -o"
            ) from None
        with _written(path / name):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """What cannot be read, said in one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path}: {error.strerror or error}") from None


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """What cannot be written, said in one line."""
    try:
        yield
    except OSError as error:
        path = Path(error.filename) if isinstance(error, NotADirectoryError) else path  # a part of it
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
