"""The mark in the first line of every exported file, by which a later export recognises it."""

from __future__ import annotations

from collections.abc import Mapping

MARK = "Exported by armwright: the next export into this folder replaces this file."

COMMENTS = {".c": "/* {} */", ".h": "/* {} */", ".hpp": "/* {} */", ".cuh": "/* {} */", ".cu": "/* {} */"}
"""The pattern of a comment by the ending of a file; in other files a comment begins with #."""

FMU_SIGNATURE = (b"PK\x03\x04", b'generationTool="armwright ')
"""The first bytes of a functional mock-up unit, and text of its description, which is first and not compressed."""

HEAD_BYTES = 4096
"""The bytes of a file that are searched for the mark."""


def marked(name: str, content: str | bytes, comments: Mapping[str, str] = COMMENTS) -> bytes:
    """Return a text with the mark in a comment, and bytes unchanged."""
    if isinstance(content, bytes):
        return content
    return f"{_line(name, comments)}\n{content}".encode()


def carries_mark(name: str, head: bytes, comments: Mapping[str, str] = COMMENTS) -> bool:
    """Return whether the head of a file is that of an exported file of this name."""
    if name.endswith(".fmu"):
        return head.startswith(FMU_SIGNATURE[0]) and FMU_SIGNATURE[1] in head
    return head.startswith(_line(name, comments).encode())


def _line(name: str, comments: Mapping[str, str]) -> str:
    return comments.get(name[name.rfind(".") :], "# {}").format(MARK)
