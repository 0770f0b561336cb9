"""Errors of a text in a robot file, raised where its line is not known."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818
    """What is wrong with a text or an expression; whoever catches it knows the file and the line."""


class OutsideFolder(Exception):  # noqa: N818
    """What is wrong with a name; whoever catches it knows the line."""
