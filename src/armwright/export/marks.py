"""The mark at the head of every exported file, by which a later export knows that it may replace it."""

from __future__ import annotations

MARK = "Exported by armwright: the next export into this folder replaces this file."

COMMENTS = {".c": "/* {} */", ".h": "/* {} */", ".hpp": "/* {} */", ".cuh": "/* {} */", ".cu": "/* {} */"}
"""How a comment is written in a file with such an ending; in others it begins with #."""

UNIT = (b"PK\x03\x04", b'generationTool="armwright ')
"""How a functional mock-up unit begins, and what its description has, which stands first and is not compressed."""

HEAD_BYTES = 4096
"""Of a file, in which its mark stands."""


def marked(name: str, content: str | bytes) -> bytes:
    """The content of a file with the mark; a unit has its own."""
    if isinstance(content, bytes):
        return content
    return f"{_line(name)}\n{content}".encode()


def carries_mark(name: str, head: bytes) -> bool:
    """Whether a file begins as an exported one of that name does."""
    if name.endswith(".fmu"):
        return head.startswith(UNIT[0]) and UNIT[1] in head
    return head.startswith(_line(name).encode())


def _line(name: str) -> str:
    ending = name[name.rfind(".") :]
    return COMMENTS.get(ending, "# {}").format(MARK)
