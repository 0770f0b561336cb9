"""What is kept on disk from one run to the next: compiled code, and which formulation was the cheapest.

A file that is missing, half-written or damaged is as good as none, and what it held is made anew.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def name_of(sources: Iterable[Path]) -> str:
    """A name for the code in some files; it changes with them."""
    sha = hashlib.sha256()
    for file in sources:
        sha.update(file.read_bytes())
    return sha.hexdigest()


def directory() -> Path | None:
    """Where it is kept: ARMWRIGHT_CACHE, or the user's cache folder; None if ARMWRIGHT_CACHE is empty."""
    given = os.environ.get("ARMWRIGHT_CACHE")
    if given is not None:
        return Path(given) if given else None
    root = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "armwright"


def read(name: str) -> bytes | None:
    """What is kept under a name, if it is there and whole: a file starts with the checksum of the rest."""
    folder = directory()
    try:
        content = (folder / name).read_bytes() if folder else b""
    except OSError:
        return None
    checksum, code = content[:32], content[32:]
    return code if code and hashlib.sha256(code).digest() == checksum else None


def write(name: str, code: bytes) -> None:
    """Written beside and then renamed, so that no process ever reads half a file; a full disk only costs time later."""
    folder = directory()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
        Path(file.name).replace(folder / name)
    except OSError:
        pass
