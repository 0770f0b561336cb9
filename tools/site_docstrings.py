"""Docstrings as the site shows them: what is a list in columns in the source becomes a list of definitions.

torque      as in `simulate`; or (rollouts, n) numbers,
            a law, or a list of laws

is read well in a terminal, where help() shows it; as Markdown it would be one paragraph. mkdocs.yml names `Columns`.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

_ENTRY = re.compile(r"(\S.*?) {2,}(\S.*)")
"""A name, or several, and after two spaces or more what it is."""


def listed(text: str) -> str:
    """A docstring in which every paragraph of two columns is a list of definitions."""
    return "\n\n".join(_definitions(part) or part for part in text.split("\n\n"))


def _definitions(paragraph: str) -> str:
    """The entries of a paragraph; as it stands if it is other lines in columns, code mostly; else nothing."""
    entries: list[list[str]] = []
    for line in paragraph.split("\n"):
        if entry := _ENTRY.fullmatch(line):
            entries.append([entry[1], entry[2].removeprefix("# ")])
        elif entries and line.startswith("    "):
            entries[-1].append(line.strip())
        else:
            return (
                textwrap.indent(paragraph, "    ") if _ENTRY.search(paragraph) and not paragraph.startswith(" ") else ""
            )
    names = ([name if "`" in name else f"`{name}`", *rest] for name, *rest in entries)
    return "\n\n".join(f"{name}\n:   {' '.join(rest)}" for name, *rest in names)


class Columns(griffe.Extension):
    """Turns the docstrings of everything that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)
