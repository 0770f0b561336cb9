"""Reading files that a stranger may have named: regular ones, and no more of them than a limit."""

from __future__ import annotations

import errno
import os
import stat
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
        unit, shift = ("MB", 20) if largest >> 20 else ("kB", 10)
        got = max(size, len(data)) >> shift
        raise OSError(errno.EFBIG, f"it has {got} {unit}; expected at most {largest >> shift}", str(path))
    return data


def _check(mode: int, path: str | Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; expected a file", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device; expected a regular file", str(path))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
