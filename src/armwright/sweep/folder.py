"""The folder of a study: its manifest, and a file for each chunk, so that only chunks in progress can be lost.

manifest.json               the study, the robot, and everything that the results depend on
rows/000007-<sum>.parquet   the results of chunk 7; the checksum covers study, number and bytes
histories/...               the records of the rollouts whose histories are kept
lock                        locked by the process that writes; the system unlocks it when that process ends

A file is written under another name and renamed. A file that is truncated, changed, of another chunk or of another
study does not match the checksum in its name, or has other rows: it counts as missing.

A folder may come from an untrusted source. It is opened once, its files are opened relative to it, and links are not
followed. The manifest (`manifest`) and every chunk (`chunk_schema`) are checked completely before they are used.
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
from itertools import zip_longest
from pathlib import Path
from typing import Any

from armwright.errors import InputError, listed
from armwright.files import LINK_REFUSED, Directory, directory
from armwright.lazy import cached_property
from armwright.sweep import chunk_schema, manifest
from armwright.sweep.chunk import Chunk
from armwright.sweep.manifest import Manifest
from armwright.sweep.setup import StudySetup

MANIFEST, ROWS_FOLDER, HISTORIES_FOLDER, LOCK = manifest.MANIFEST_NAME, "rows", "histories", "lock"
MAX_CHUNK_FILE_BYTES = 1 << 30

MAX_SHOWN_DIFFERENCES = 8

_CHUNK_NAME = re.compile(r"([0-9]{6,10})-([0-9a-f]{16})\.parquet")
_STUDY_FILES = re.compile(rf"{MANIFEST}|{ROWS_FOLDER}|{HISTORIES_FOLDER}|{LOCK}(-.*)?|report\.html")


@dataclass(frozen=True)
class Folder:
    """The folder in which the chunks of a study are kept."""

    path: Path

    @classmethod
    def at(cls, path: str | Path) -> Folder:
        """Return a folder that need not exist yet."""
        if not isinstance(path, (str, Path)):
            raise InputError(f"got {path!r} for the folder of a study; expected its path")
        return cls(Path(path))

    @classmethod
    def open(cls, path: str | Path) -> Folder:
        """Return a folder that has a study; an InputError if it has none."""
        folder = cls.at(path)
        _ = folder.manifest
        return folder

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest, read once; an InputError says what is wrong with it."""
        expected = "expected a folder that `armwright sweep STUDY -o FOLDER` made"
        try:
            with directory(self.path) as here:
                _refuse_links(here)
                if here.mode(MANIFEST) is None:
                    raise InputError(f"{self.path} has no {MANIFEST}; {expected}")
                return Manifest.parse(here.read(MANIFEST, manifest.MAX_MANIFEST_BYTES))
        except FileNotFoundError:
            raise InputError(f"{self.path} does not exist; {expected}") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"cannot read {self.path / MANIFEST}: {why}; expected the manifest of a study") from None

    def initialise(self, setup: StudySetup) -> None:
        """Create the folder of a study; an InputError lists the differences if it has the results of another one."""
        with _write_errors(self.path), directory(self.path) as here:
            _refuse_links(here)
            for part in (ROWS_FOLDER, *((HISTORIES_FOLDER,) if setup.histories else ())):
                with here.inside(part, make=True):
                    pass
            exists = here.mode(MANIFEST) is not None
        if exists:
            self._check_same_study(setup)
            return
        if any(self._files(ROWS_FOLDER)):
            raise InputError(f"{self.path} has chunks but no {MANIFEST}; expected a new folder")
        try:
            data = Manifest.of(setup).to_bytes()
        except ValueError as error:
            raise InputError(f"{setup.study.file} is too long for a {MANIFEST}: {error}") from None
        with _write_errors(self.path / MANIFEST), directory(self.path) as here:
            here.write(MANIFEST, data)

    def _check_same_study(self, setup: StudySetup) -> None:
        if self.manifest.digest == setup.digest:
            self._check_same_rows(setup)
            return
        differences = list(_differences(self.manifest.identity, setup.identity))
        causes = [line for line in differences if not line.startswith("numbers:")]  # which follow from other keys
        differences = causes or differences
        more = len(differences) - MAX_SHOWN_DIFFERENCES
        lines = "\n  ".join([*differences[:MAX_SHOWN_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])])
        raise InputError(
            f"{self.path} has the results of another study:\n  {lines}\nexpected the same; "
            "choose a new folder with -o, or undo the change"
        )

    def _check_same_rows(self, setup: StudySetup) -> None:
        """Raise an InputError if the manifest has other rows than its study."""
        expected = self.manifest.rows, self.manifest.chunk_rows, self.manifest.names
        if expected != (setup.design.rows, setup.chunk_rows, setup.design.names):
            raise InputError(
                f"{self.path / MANIFEST} has {expected[0]} rows of {listed(expected[2])}, and its study has "
                f"{setup.design.rows} of {listed(setup.design.names)}; expected the same, so choose a new folder "
                "with -o"
            )

    @contextmanager
    def _subfolder(self, part: str) -> Iterator[Directory | None]:
        """Open the folder of rows or of histories; None if it does not exist."""
        with directory(self.path) as here:
            if here.mode(part) is None:
                yield None
                return
            with here.inside(part) as subfolder:
                yield subfolder

    def _files(self, part: str) -> list[tuple[int, str, str]]:
        """Return all files named as chunks: number, checksum in the name, and name."""
        with self._subfolder(part) as there:
            names = there.names() if there else ()
        matches = filter(None, map(_CHUNK_NAME.fullmatch, names))
        return [(int(match[1]), match[2], match[0]) for match in matches]

    def complete_chunks(
        self, numbers: Collection[int], repair: bool = False, columns: tuple[str, ...] | None = None
    ) -> dict[int, dict[str, Path]]:
        """Return those of some chunks that are complete, with their files by kind.

        `repair` removes files that are damaged or duplicate. `columns` are those of the rows, where the caller knows
        them better than the manifest.
        """
        expected = chunk_schema.ExpectedFiles.of(self.manifest, columns)
        complete: dict[int, dict[str, Path]] = {}
        with _read_errors(self.path):
            for part in self._parts:
                for number, checksum, name in self._files(part):
                    if number not in numbers:
                        continue
                    if part not in complete.get(number, {}) and self._is_valid(expected, part, number, checksum, name):
                        complete.setdefault(number, {})[part] = self.path / part / name
                    elif repair:
                        self._remove(part, name)
        return {number: files for number, files in sorted(complete.items()) if len(files) == len(self._parts)}

    def _remove(self, part: str, name: str) -> None:
        with _write_errors(self.path / part / name), self._subfolder(part) as there:
            if there is not None:
                there.remove(name)

    def _is_valid(self, expected: chunk_schema.ExpectedFiles, part: str, number: int, checksum: str, name: str) -> bool:
        """Return True if a file has the checksum of its name and the rows of its chunk; False if it cannot be read."""
        with self._subfolder(part) as there:
            assert there is not None
            if stat.S_ISLNK(there.mode(name) or 0):
                raise InputError(f"{self.path / part / name}: {LINK_REFUSED}")
            try:
                with there.reading(name, MAX_CHUNK_FILE_BYTES) as file:
                    if not expected.has_valid_footer(part == HISTORIES_FOLDER, number, file):
                        return False
                    file.seek(0)
                    data = file.read(MAX_CHUNK_FILE_BYTES)
            except OSError:
                return False
        same = self._checksum(part, number, data) == checksum
        return same and expected.is_valid(part == HISTORIES_FOLDER, number, data)

    def remove_partial_files(self) -> None:
        """Remove files that a killed process left half written; the folder must be locked."""
        for part in (ROWS_FOLDER, HISTORIES_FOLDER):
            with self._subfolder(part) as there:
                names = there.names() if there else ()
            for name in names:
                if name.startswith(".") and name.endswith(".part"):
                    self._remove(part, name)

    @property
    def _parts(self) -> tuple[str, ...]:
        return (HISTORIES_FOLDER, ROWS_FOLDER) if self.manifest.histories else (ROWS_FOLDER,)

    def write(self, chunk: Chunk) -> None:
        """Write the files of a chunk; its rows come last and mark it as complete."""
        for part, data in ((HISTORIES_FOLDER, chunk.histories), (ROWS_FOLDER, chunk.rows)):
            if data is None:
                continue
            if len(data) > MAX_CHUNK_FILE_BYTES:
                raise InputError(
                    f"chunk {chunk.number} has {len(data) >> 20} MB of {part}; expected at most "
                    f"{MAX_CHUNK_FILE_BYTES >> 20}, so give a smaller chunk = in the study, and a new folder"
                )
            name = f"{chunk.number:06d}-{self._checksum(part, chunk.number, data)}.parquet"
            with _write_errors(self.path / part / name), self._subfolder(part) as there:
                if there is None:
                    raise FileNotFoundError(2, f"{self.path / part} does not exist any more")
                there.write(name, data)

    def _checksum(self, part: str, number: int, data: bytes) -> str:
        prefix = f"{self.manifest.digest} {part} {number} ".encode()
        return hashlib.sha256(prefix + data).hexdigest()[:16]

    @contextmanager
    def lock(self, part: str = "") -> Iterator[None]:
        """Lock the folder against all other processes, or one part of the work against those that do it too."""
        with _write_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            with directory(self.path) as here:
                _refuse_links(here)
        with _file_lock(self.path, LOCK, shared=bool(part)):
            if not part:
                yield
                return
            with _file_lock(self.path, f"{LOCK}-{part}", shared=False):
                yield


def _refuse_links(here: Directory) -> None:
    """Raise an InputError if a file of a study is a link, which could lead to any file of the user."""
    for name in here.names():
        if _STUDY_FILES.fullmatch(name) and stat.S_ISLNK(here.mode(name) or 0):
            raise InputError(f"{here.path / name}: {LINK_REFUSED}")


@contextmanager
def _file_lock(path: Path, name: str, shared: bool) -> Iterator[None]:
    """Lock a file; the system unlocks it when the process ends."""
    try:
        import fcntl  # noqa: PLC0415  (Windows has none)
    except ImportError:
        raise InputError("a study needs file locks, which this system does not have; use Linux or macOS") from None
    with _write_errors(path / name), directory(path) as here:
        handle = here.open(name, os.O_RDWR | os.O_CREAT)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
            raise InputError(f"{path / name} is not a plain file; expected the lock of a study, so remove it")
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 200, 0).decode(errors="replace").strip() or "another process"
            raise InputError(f"{path} is in use by {owner}; wait for it, or choose another folder with -o") from None
        with _write_errors(path / name):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        yield
    finally:
        os.close(handle)


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    """Turn errors of reading into InputErrors of one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path}: {error.strerror or error}") from None


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Turn errors of writing into InputErrors of one line."""
    try:
        yield
    except OSError as error:
        path = Path(error.filename) if isinstance(error, NotADirectoryError) else path  # its parent is not a folder
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; completed chunks are kept, so fix that and run the "
            "same command again"
        ) from None


def _differences(before: Any, now: Any, name: str = "") -> Iterator[str]:
    """Yield the differences of two identities, key by key; for long texts the first line that differs."""
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
