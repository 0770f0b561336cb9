"""The folder of an export: earlier exports in it are replaced, and no other file."""

from __future__ import annotations

import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from armwright.errors import ModelError
from armwright.export.marks import COMMENTS, HEAD_BYTES, carries_mark, marked
from armwright.files import Directory
from armwright.files import directory as open_directory


def write_export(
    folder: Path, contents: Mapping[str, str | bytes], force: bool = False, comments: Mapping[str, str] = COMMENTS
) -> list[Path]:
    """Write files by name into a folder, which is created if needed, and return their paths.

    Files of the folder that are no earlier export are a ModelError unless `force`; nothing is written then. `comments`
    are the patterns of comments by the ending of a file, for the mark in its first line.
    """
    if folder.exists() and not folder.is_dir():
        raise ModelError(f"{folder} is a file; expected a folder to write to, which is created if needed")
    comments = {**COMMENTS, **comments}
    files = {name: marked(name, content, comments) for name, content in contents.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open_directory(folder) as directory:
            links = [name for name in files if stat.S_ISLNK(directory.mode(name) or 0)]
            foreign = links or [
                name for name, data in files.items() if not (force or _replaceable(directory, name, data, comments))
            ]
            if foreign:
                raise ModelError(_refusal(folder, foreign, bool(links)))
            for name, data in files.items():
                directory.write(name, data)
    except OSError as error:
        raise ModelError(f"cannot write to {folder}: {error}") from None
    return [folder / name for name in files]


def _replaceable(directory: Directory, name: str, data: bytes, comments: Mapping[str, str]) -> bool:
    """Return whether a file is missing, an earlier export, or already equal to the new one."""
    mode = directory.mode(name)
    if mode is None:
        return True
    if not stat.S_ISREG(mode):
        return False
    with directory.reading(name, sys.maxsize) as file:
        head = file.read(max(HEAD_BYTES, len(data) + 1))
    return head == data or carries_mark(name, head[:HEAD_BYTES], comments)


def _refusal(folder: Path, names: list[str], links: bool) -> str:
    several, listed = len(names) > 1, ", ".join(names)
    if links:
        are = "are links" if several else "is a link"
        return f"cannot write to {folder}: {listed} {are}; expected files, so remove them or name another folder"
    files = "files that armwright did not export" if several else "a file that armwright did not export"
    return (
        f"cannot write to {folder}: it has {listed}, {files}; nothing was written, so name another folder, or "
        "replace them with --force (force=True)"
    )
