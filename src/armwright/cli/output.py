"""How the commands print: tables, errors and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Column, Table

from armwright.errors import (
    ArmwrightError,
    InputError,
    LockedWarning,
    ModelWarning,
    SimulationWarning,
    SlowWarning,
)

WIDTH = 150
"""Columns for which tables are laid out where nobody is watching: in a pipe or a file nothing need be folded."""

NUMBERS = frozenset(
    {
        *("mul", "add", "div", "trig", "products", "sums", "ours", "", "general mul", "general add"),
        *("ns per state", "times ours", "microseconds"),
    }
)
"""Heads of columns with numbers, which stand to the right."""

TEXTS = frozenset(
    {
        *("what", "how", "source", "after", "the sum of", "published by", "published for this robot", "where", "kind"),
        *("proof", "published", "obtained", "verdict", "who", "joint", "joints"),
        "signs, zeros and base taken over",
    }
)
"""Heads of columns with words, which fold where the terminal is narrow; the others stay whole."""

WORD = 24
"""Longer words, such as paths, are broken rather than that a table is wider than the terminal."""

OPTIONS = {
    "base=": "--base LINK",
    "tip=": "--tip LINK",
    "locked=": "--lock JOINT=POSITION",
    "packages=": "--package NAME=FOLDER",
    "mappings=": "--arg NAME=VALUE",
}
"""What arguments of `armwright.load` are on the command line."""


class Screen(Console):
    """A console that folds to the width of a terminal, word by word, and never cuts a number."""

    def print(self, *objects: Any, **how: Any) -> None:
        if self.is_terminal:
            how["soft_wrap"] = False
        for made in objects:
            if isinstance(made, Table):
                self._fit(made)
                how["crop"] = False
        super().print(*objects, **how)

    def _fit(self, made: Table) -> None:
        """Let words fold to the width of the terminal; a table that is wide by its numbers stays as wide as these."""
        gaps = 2 * (len(made.columns) - 1)
        if sum(self._widths(column)[1] for column in made.columns) + gaps <= self.width:
            return
        for column in made.columns:
            if column.no_wrap and self._widths(column)[1] > self._widths(column, headed=False)[1]:
                column.header = str(column.header).replace(" ", "\n")
        whole = least = gaps
        for column in made.columns:
            word, line = self._widths(column)
            column.min_width = line if column.no_wrap else min(word, WORD)
            whole, least = whole + line, least + column.min_width
        if whole > self.width:
            made.width = max(self.width, least)

    def _widths(self, column: Column, headed: bool = True) -> tuple[int, int]:
        """Of the longest word and of the longest line."""
        sizes = [self.measure(cell) for cell in (column.header if headed else "", *column.cells)]
        return max(size.minimum for size in sizes), max(size.maximum for size in sizes)


def console(stderr: bool = False) -> Screen:
    made = Screen(stderr=stderr, highlight=False)
    if not made.is_terminal:
        made.width = max(made.width, WIDTH)
    return made


@contextmanager
def told() -> Iterator[None]:
    """Errors and warnings of armwright as one line each, without a traceback."""
    with warnings.catch_warnings(record=True) as caught:
        for kind in (LockedWarning, ModelWarning, SimulationWarning, SlowWarning):
            warnings.simplefilter("always", kind)
        try:
            yield
        except ArmwrightError as error:
            say("error", "bold red", str(error))
            raise typer.Exit(2) from None
        finally:
            for warning in caught:
                say("warning", "yellow", str(warning.message))


def say(word: str, colour: str, text: str) -> None:
    """A line on stderr."""
    whole = f"{text} {command_line(text)}".rstrip()
    console(stderr=True).print(f"[{colour}]{word}:[/] {escape(whole)}", soft_wrap=True)


def command_line(text: str) -> str:
    """What the arguments of `armwright.load` that a text speaks of are on the command line."""
    options = [option for argument, option in OPTIONS.items() if argument in text]
    return f"(on the command line: {', '.join(options)})" if options else ""


def table(*heads: str, title: str | None = None) -> Table:
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for head in heads:
        justify: JustifyMethod = "right" if head in NUMBERS else "left"
        made.add_column(head, justify=justify, overflow="fold", no_wrap=head not in TEXTS)
    return made


def write_page(path: Path, text: str, folders: bool = False) -> None:
    """Write a page, with the folders it is to lie in if asked; where that cannot be done, say so in one line."""
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error}") from None
