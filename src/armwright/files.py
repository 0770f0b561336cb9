"""Files: read if they are regular, and no more of them than a limit; written whole or not at all, and through no link.

Whoever names a file to be read may be a stranger. Where one is to be written there may be a good one already, which
must outlive a full disk, a crash and a kill. A link in its place may lead to any file of the user's: it is refused.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from armwright.errors import ModelError

LINK_REFUSED = "it is a link; expected a file, so name what it points to, or remove it"
"""Why nothing is written there."""

PERMISSION_BITS = 0o777
"""Of a mode that a file keeps: who may read and write it, and not whose rights it lends."""

_SYSTEM = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")
"""Links that the system makes, which lead to what a process has open."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # what Windows does not have is zero
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


def robot_file(path: str | Path, largest: int) -> bytes:
    """All of a file that is said to be a robot; a ModelError says why it cannot be read."""
    try:
        return contents(path, largest)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ModelError(f"cannot read {str(path)!r}: {error}") from None


def missing(path: str | Path, expected: str) -> str:
    """Return what is wrong with a path from which nothing can be read: it does not exist, or is a folder."""
    try:
        folder = stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError:
        return f"{path} does not exist; expected {expected}"
    except (OSError, ValueError) as error:
        return f"cannot read {path}: {getattr(error, 'strerror', None) or error}; expected {expected}"
    return f"{path} is a folder; expected {expected}" if folder else ""


def contents(path: str | Path, largest: int) -> bytes:
    """All of a regular file. An OSError says that it is missing, a folder, a pipe, a device, or too large.

    A pipe would wait for ever, and a device need not end.
    """
    _check(os.stat(path).st_mode, path)
    return _all_of(os.open(path, os.O_RDONLY | _NO_WAIT | _BINARY), path, largest)


def _all_of(handle: int, path: str | Path, largest: int) -> bytes:
    """What a handle reads, which is closed."""
    with _regular(handle, path, largest) as file:
        data = file.read(largest + 1)
    _check_size(len(data), path, largest)
    return data


@contextmanager
def _regular(handle: int, path: str | Path, largest: int) -> Iterator[BinaryIO]:
    """A file by its handle, which is closed afterwards; an OSError if it is not regular, or too large."""
    with open(handle, "rb") as file:
        info = os.fstat(handle)
        _check(info.st_mode, path)
        _check_size(info.st_size, path, largest)
        yield file


def _check_size(size: int, path: str | Path, largest: int) -> None:
    if size > largest:
        unit, shift = ("MB", 20) if largest >= 10 << 20 else ("kB", 10)
        raise OSError(errno.EFBIG, f"it has {size >> shift} {unit}; expected at most {largest >> shift}", str(path))


def write(path: str | Path, content: str | bytes) -> Path:
    """Write a file beside the old one and rename it: whatever happens on the way, there is the old one or the new one.

    A text is written as UTF-8. A file of this user keeps its mode. One that may not be written to is an error, and so
    is a link. Pipes and devices are written to as they are. An OSError says why nothing was written, and nothing is
    left beside; only a process that is killed leaves a hidden file whose name ends in .part.
    """
    data = content.encode() if isinstance(content, str) else content
    place = Path(path)
    if _SYSTEM.fullmatch(str(place)) and place.exists() and not place.is_file():
        place.write_bytes(data)
        return Path(path)
    try:
        place = Path(os.path.realpath(place)) if _SYSTEM.fullmatch(str(place)) else place
        with directory(place.parent) as folder:
            folder.write(place.name, data)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None  # it names the part, and both of a renaming
    return Path(path)


@dataclass(frozen=True)
class Directory:
    """A folder held open. What is done in it stays in it, whoever renames what, and no link in it is followed."""

    path: Path
    handle: int | None
    """None where a system has none."""

    def at(self, name: str) -> str:
        return str(self.path / name) if self.handle is None else name

    def names(self) -> list[str]:
        """What is in it, in order."""
        return sorted(os.listdir(self.path if self.handle is None else self.handle))

    def mode(self, name: str) -> int | None:
        """Kind and mode of what has a name, a link being one; None if there is nothing."""
        info = self._info(name)
        return None if info is None else info.st_mode

    def _info(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self.at(name), dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """A handle of what is no link."""
        flags |= _NO_LINK | _NO_WAIT | _BINARY
        return os.open(self.at(name), flags, mode, dir_fd=self.handle)

    def read(self, name: str, largest: int) -> bytes:
        """All of a regular file, as `contents` reads it."""
        with self.reading(name, largest) as file:
            return file.read(largest)

    @contextmanager
    def reading(self, name: str, largest: int) -> Iterator[BinaryIO]:
        """A regular file to be read, of which there is no more than that."""
        _check(self.mode(name) or stat.S_IFREG, self.path / name)
        with _regular(self.open(name, os.O_RDONLY), self.path / name, largest) as file:
            yield file

    def write(self, name: str, data: bytes) -> None:
        """Write a file beside the old one and rename it, as `write` does."""
        mode = self._mode_to_keep(name)
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
            self._pour(name, data)
            return
        part = f".{name[:100]}.{secrets.token_hex(8)}.part"
        try:
            self._write_through(part, data, mode)
            os.replace(self.at(part), self.at(name), src_dir_fd=self.handle, dst_dir_fd=self.handle)
        except BaseException:
            with suppress(OSError):
                self.remove(part)
            raise
        if self.handle is not None:
            with suppress(OSError):  # the new name on the disk too, where folders can be flushed
                os.fsync(self.handle)

    def remove(self, name: str) -> None:
        """Remove a file if it is there; of a link the link."""
        with suppress(FileNotFoundError):
            os.unlink(self.at(name), dir_fd=self.handle)

    @contextmanager
    def inside(self, name: str, make: bool = False) -> Iterator[Directory]:
        """A folder in it, made if it is not there and that is wanted."""
        if make:
            with suppress(FileExistsError):
                os.mkdir(self.at(name), dir_fd=self.handle)
        mode = self.mode(name)
        if mode is not None and not stat.S_ISDIR(mode):
            why = LINK_REFUSED.replace("file", "folder") if stat.S_ISLNK(mode) else "it is a file; expected a folder"
            raise NotADirectoryError(errno.ENOTDIR, why, str(self.path / name))
        if self.handle is None:
            yield Directory(self.path / name, None)
            return
        handle = self.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield Directory(self.path / name, handle)
        finally:
            os.close(handle)

    def _mode_to_keep(self, name: str) -> int:
        """Kind and mode of what is to be written over, if it may be; 0 if there is nothing, or another user's file."""
        info = self._info(name) if name else None
        mode = stat.S_IFDIR if not name else 0 if info is None else info.st_mode
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, LINK_REFUSED, str(self.path / name))
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder; expected a file", str(self.path / name))
        if info is not None and not os.access(self.at(name), os.W_OK, dir_fd=self.handle):
            raise PermissionError(errno.EACCES, "it may not be written to", str(self.path / name))
        foreign = info is not None and stat.S_ISREG(mode) and hasattr(os, "geteuid") and info.st_uid != os.geteuid()
        return 0 if foreign else mode

    def _pour(self, name: str, data: bytes) -> None:
        """All of it into a pipe or a device."""
        try:
            handle = self.open(name, os.O_WRONLY)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise OSError(errno.ENXIO, "it is a pipe that nobody reads; expected a file", name) from None
            raise
        os.set_blocking(handle, True)
        with open(handle, "wb") as file:
            file.write(data)

    def _write_through(self, part: str, data: bytes, mode: int) -> None:
        """All of it on the disk: a rename that outran its data would leave an empty file behind a crash."""
        handle = self.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
            if mode and hasattr(os, "fchmod"):
                os.fchmod(handle, mode & PERMISSION_BITS)


@contextmanager
def directory(path: str | Path) -> Iterator[Directory]:
    """A folder that its user has named, by way of links too."""
    if os.open not in os.supports_dir_fd:
        yield Directory(Path(path), None)
        return
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # its names need not be readable
        handle = os.open(path, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    try:
        yield Directory(Path(path), handle)
    finally:
        os.close(handle)


def _check(mode: int, path: str | Path) -> None:
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, LINK_REFUSED, str(path))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; expected a file", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device; expected a regular file", str(path))
