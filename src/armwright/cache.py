"""The cache on disk: compiled code, and the cheapest formulations.

Code from these files is executed, so no file is trusted. The folder is used only if it belongs to this user and nobody
else may write to it. A file is opened without following a link and without waiting on a pipe. It starts with a
signature of its name and content by a key of this folder. A file that is missing, incomplete, damaged, foreign or
misplaced is ignored, and its content is made again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from armwright.errors import CacheWarning

MAX_CACHE_BYTES = 256 * 2**20
"""Largest size of the cache; beyond it, the least recently used files are removed."""

STALE_PART_SECONDS = 60.0
"""Seconds after which an unfinished file belongs to a killed process."""

CACHE_HEADER = b"armwright 3\n"

KEY, KEY_BYTES = "key", 32
"""The file with the secret that signs the others; the first process to write makes it."""

_KEPT, _PART = re.compile("[0-9a-f]{64}"), re.compile("armwright-[0-9a-f]{16}[.]part")
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)  # what Windows does not have is zero
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def code_digest(sources: Iterable[Path]) -> str:
    """Return a digest of the code in some files."""
    sha = hashlib.sha256()
    for file in sources:
        sha.update(file.read_bytes())
    return sha.hexdigest()


def directory() -> Path | None:
    """Return the folder: ARMWRIGHT_CACHE, or the user's cache folder; None if that is empty or there is no home."""
    given = os.environ.get("ARMWRIGHT_CACHE")
    if given is not None:
        return Path(given).absolute() if given else None
    for variable in ("LOCALAPPDATA", "XDG_CACHE_HOME"):
        root = os.environ.get(variable, "")
        if Path(root).is_absolute():
            return Path(root) / "armwright"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    there = home.is_absolute() and home != home.parent and home.is_dir()
    return home / ".cache" / "armwright" if there else None


def read(name: str) -> bytes | None:
    """Return the content under a name, or None if it is missing or damaged."""
    with suppress(OSError), _opened() as folder:
        if folder is not None:
            return _verified(name, _content(folder, name), _key(folder))
    return None


def write(name: str, code: bytes) -> None:
    """Store content under a name, complete or not at all; a full disk is no error."""
    with suppress(OSError), _opened(make=True) as folder:
        if folder is None:
            return
        key = _key(folder, make=True)
        folder.put(name, CACHE_HEADER + _signature(name, code, key) + code)
        _sizes_since_sweep.append(len(code))
        if sum(_sizes_since_sweep) > MAX_CACHE_BYTES // 16:
            _sizes_since_sweep.clear()
            _sweep(folder)


_sizes_since_sweep = [MAX_CACHE_BYTES]
"""The sizes of files written since this process last swept; it sweeps at its first write."""


@dataclass(frozen=True)
class _Folder:
    """A folder of this user. Its handle, where there is one, stays valid if somebody renames it."""

    path: Path
    handle: int | None

    def at(self, name: str) -> str:
        return str(self.path / name) if self.handle is None else name

    def put(self, name: str, content: bytes, overwrite: bool = True) -> None:
        """Write a file, complete or not at all; `overwrite` replaces an existing one."""
        part = f"armwright-{secrets.token_hex(8)}.part"
        file = os.open(self.at(part), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=self.handle)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(content)
            (os.replace if overwrite else os.link)(
                self.at(part), self.at(name), src_dir_fd=self.handle, dst_dir_fd=self.handle
            )
        finally:
            self.remove(part)

    def remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(self.at(name), dir_fd=self.handle)


@contextmanager
def _opened(make: bool = False) -> Iterator[_Folder | None]:
    """Open the folder, or None if there is none or it is not safe."""
    path = directory()
    if path is None:
        yield None
        return
    if make:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.open not in os.supports_dir_fd:
        yield _Folder(path, None)
        return
    handle = os.open(path, _FOLDER)
    try:
        yield _Folder(path, handle) if _is_trusted(path, os.fstat(handle)) else None
    finally:
        os.close(handle)


def _is_trusted(path: Path, info: os.stat_result) -> bool:
    """Return True if only this user may write to a folder; warn once otherwise."""
    if _is_private(info):
        return True
    if path not in _REFUSED_FOLDERS:
        _REFUSED_FOLDERS.add(path)
        why = "others than its owner may write to it" if info.st_uid == os.geteuid() else "it belongs to another user"
        warnings.warn(
            f"compiled code is not kept in {path}: {why}, and code that others put there would be run; make it your "
            "own and only yours to write (chmod go-w), or name another folder by ARMWRIGHT_CACHE (empty for none)",
            CacheWarning,
            stacklevel=2,
        )
    return False


_REFUSED_FOLDERS: set[Path] = set()


def _is_private(info: os.stat_result) -> bool:
    """Return True if this user owns it and nobody else may write to it; on Windows the folder is private."""
    return not hasattr(os, "geteuid") or (info.st_uid == os.geteuid() and not info.st_mode & 0o022)


def _content(folder: _Folder, name: str) -> bytes:
    """Return a file of this user and mark it as used; empty for anything but a plain file."""
    file = os.open(folder.at(name), os.O_RDONLY | _FILE, dir_fd=folder.handle)
    with os.fdopen(file, "rb") as stream:
        info = os.fstat(file)
        if not stat.S_ISREG(info.st_mode) or not _is_private(info) or info.st_size > MAX_CACHE_BYTES:
            return b""
        with suppress(OSError):
            os.utime(file if os.utime in os.supports_fd else folder.at(name))
        return stream.read()


def _key(folder: _Folder, make: bool = False) -> bytes:
    """Return the secret of the folder, made by the first of several processes; files signed by an older one are
    ignored.
    """
    there = True
    try:
        if len(key := _content(folder, KEY)) == KEY_BYTES:
            return key
    except OSError:
        there = False
    if not make:
        return b""
    with suppress(FileExistsError):
        folder.put(KEY, secrets.token_bytes(KEY_BYTES), overwrite=there)
    return _content(folder, KEY)


def _verified(name: str, content: bytes, key: bytes) -> bytes | None:
    start = len(CACHE_HEADER)
    signature, code = content[start : start + 32], content[start + 32 :]
    known = bool(key and code) and content[:start] == CACHE_HEADER
    return code if known and hmac.compare_digest(signature, _signature(name, code, key)) else None


def _signature(name: str, code: bytes, key: bytes) -> bytes:
    return hmac.digest(key, name.encode() + b"\n" + code, "sha256")


def _sweep(folder: _Folder) -> None:
    """Remove files of killed processes, and the least recently used beyond the limit."""
    kept: list[tuple[float, int, str]] = []
    with os.scandir(folder.path if folder.handle is None else folder.handle) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another process sweeps too
                info = entry.stat(follow_symlinks=False)
                if _PART.fullmatch(entry.name) and time.time() - info.st_mtime > STALE_PART_SECONDS:
                    folder.remove(entry.name)
                elif _KEPT.fullmatch(entry.name):
                    kept.append((info.st_mtime, info.st_size, entry.name))
    excess = sum(size for _, size, _ in kept) - MAX_CACHE_BYTES
    for _, size, name in sorted(kept):
        if excess <= 0:
            break
        folder.remove(name)
        excess -= size
