"""Files: regular ones are read up to a limit; written ones are complete or not written at all.

The name of a file may come from a stranger. An existing file must survive a full disk, a crash and a kill of the
writer. A link in its place may lead to any file of the user, so writing refuses it.
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
"""The message for a link in the place of a file."""

PERMISSION_BITS = 0o777
"""The bits of a mode that a rewritten file keeps: read, write and execute, not setuid."""

_SYSTEM = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")
"""Links of the system to open files of a process."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # what Windows does not have is zero
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


def robot_file(path: str | Path, largest: int) -> bytes:
    """Return the content of a robot file, or raise a ModelError."""
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
    """Return the content of a regular file.

    An OSError tells that it is missing, a folder, a pipe, a device, or too large. A pipe would block, and a device need
    not end.
    """
    _check(os.stat(path).st_mode, path)
    return _all_of(os.open(path, os.O_RDONLY | _NO_WAIT | _BINARY), path, largest)


def _all_of(handle: int, path: str | Path, largest: int) -> bytes:
    """Return the content of a handle and close it."""
    with _regular(handle, path, largest) as file:
        data = file.read(largest + 1)
    _check_size(len(data), path, largest)
    return data


@contextmanager
def _regular(handle: int, path: str | Path, largest: int) -> Iterator[BinaryIO]:
    """Open a handle as a file and close it afterwards; an OSError if it is not regular, or too large."""
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
    """Write a file to a temporary name and rename it: at any moment there is the old file or the new one.

    Text is written as UTF-8. A file of this user keeps its mode. A read-only file or a link is an error. Pipes and
    devices are written in place. An OSError tells why nothing was written, and leaves nothing behind. Only a killed
    process leaves a hidden file whose name ends in .part.
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
        raise OSError(error.errno, error.strerror, str(path)) from None  # the original names the temporary file
    return Path(path)


@dataclass(frozen=True)
class Directory:
    """An open folder. Operations stay in it even if somebody renames it, and follow no links."""

    path: Path
    handle: int | None
    """The handle; None on systems without folder handles."""

    def at(self, name: str) -> str:
        return str(self.path / name) if self.handle is None else name

    def names(self) -> list[str]:
        """Return the sorted names in it."""
        return sorted(os.listdir(self.path if self.handle is None else self.handle))

    def mode(self, name: str) -> int | None:
        """Return the type and mode of a name, without following a link; None if there is nothing."""
        info = self._info(name)
        return None if info is None else info.st_mode

    def _info(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self.at(name), dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Return a handle of a file that is no link."""
        flags |= _NO_LINK | _NO_WAIT | _BINARY
        return os.open(self.at(name), flags, mode, dir_fd=self.handle)

    def read(self, name: str, largest: int) -> bytes:
        """Return the content of a regular file, as `contents` does."""
        with self.reading(name, largest) as file:
            return file.read(largest)

    @contextmanager
    def reading(self, name: str, largest: int) -> Iterator[BinaryIO]:
        """Open a regular file up to a size."""
        _check(self.mode(name) or stat.S_IFREG, self.path / name)
        with _regular(self.open(name, os.O_RDONLY), self.path / name, largest) as file:
            yield file

    def write(self, name: str, data: bytes) -> None:
        """Write a file to a temporary name and rename it, as `write` does."""
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
            with suppress(OSError):  # flush the new name too, where possible
                os.fsync(self.handle)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself, if there is one."""
        with suppress(FileNotFoundError):
            os.unlink(self.at(name), dir_fd=self.handle)

    @contextmanager
    def inside(self, name: str, make: bool = False) -> Iterator[Directory]:
        """Open a folder in it; `make` creates it."""
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
        """Return type and mode of a file to overwrite; 0 if there is none, or it is another user's."""
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
        """Write all data into a pipe or a device."""
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
        """Write all data to the disk: a rename before its data would leave an empty file after a crash."""
        handle = self.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
            if mode and hasattr(os, "fchmod"):
                os.fchmod(handle, mode & PERMISSION_BITS)


@contextmanager
def directory(path: str | Path) -> Iterator[Directory]:
    """Open a folder that the user named, through links too."""
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
