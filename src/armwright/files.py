"""Files: read if they are regular, and no more of them than a limit; written whole or not at all.

Whoever names a file to be read may be a stranger. Where one is to be written there may be a good one already, which
must outlive a full disk, a crash and a kill.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from armwright.errors import ModelError


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
    with open(path, "rb", opener=_without_waiting) as file:
        _check(os.fstat(file.fileno()).st_mode, path)  # it may be another by now
        size = os.fstat(file.fileno()).st_size
        data = file.read(largest + 1) if size <= largest else b""
    if max(size, len(data)) > largest:
        unit, shift = ("MB", 20) if largest >= 10 << 20 else ("kB", 10)
        got = max(size, len(data)) >> shift
        raise OSError(errno.EFBIG, f"it has {got} {unit}; expected at most {largest >> shift}", str(path))
    return data


def write(path: str | Path, content: str | bytes) -> Path:
    """Write a file beside the old one and rename it: whatever happens on the way, there is the old one or the new one.

    A text is written as UTF-8. An existing file keeps its mode, and one that may not be written to is an error; a link
    stays one. Pipes and devices are written to as they are. An OSError says why nothing was written, and nothing is
    left beside; only a process that is killed leaves a hidden file whose name ends in .part.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    mode = _mode_to_keep(target)
    if mode is not None and not stat.S_ISREG(mode):
        target.write_bytes(data)
        return Path(path)
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        _write_through(part, data, mode)
        os.replace(part, target)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from None  # it names the part, and both of a renaming
        raise
    _settle(target.parent)
    return Path(path)


def _mode_to_keep(target: Path) -> int | None:
    """The mode of a file that is to be written over, if there is one and it may be."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; expected a file", str(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it may not be written to", str(target))
    return mode


def _write_through(part: Path, data: bytes, mode: int | None) -> None:
    """All of it on the disk: a rename that outran its data would leave an empty file behind a crash."""
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with open(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(handle, stat.S_IMODE(mode))


def _settle(folder: Path) -> None:
    """The new name on the disk too, where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _check(mode: int, path: str | Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; expected a file", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device; expected a regular file", str(path))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
