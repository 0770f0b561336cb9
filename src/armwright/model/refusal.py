"""Errors about a text in a robot file, raised without its line, which the caller adds."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818
    """A text or expression that is refused; the caller adds file and line."""


class OutsideFolder(Exception):  # noqa: N818
    """A file name that leads out of the allowed folders; the caller adds the line."""
