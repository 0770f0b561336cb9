"""How the commands print: tables, errors and warnings."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import typer
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Column, Table

from armwright.errors import (
    ArmwrightError,
    LockedWarning,
    ModelWarning,
    SimulationWarning,
    SlowWarning,
    TipWarning,
)
from armwright.report.plot import write

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
def reporting_errors() -> Iterator[None]:
    """Errors and warnings of armwright as one line each, without a traceback; an error ends the command."""
    with warnings.catch_warnings(record=True) as caught:
        for kind in (LockedWarning, ModelWarning, SimulationWarning, SlowWarning, TipWarning):
            warnings.simplefilter("always", kind)
        try:
            yield
        except ArmwrightError as error:
            report("error", "bold red", str(error))
            raise typer.Exit(2) from None
        finally:
            for warning in caught:
                report("warning", "yellow", str(warning.message))


def report(word: str, colour: str, text: str) -> None:
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
        justify: JustifyMethod = "right" if head in NUMBERS or head.startswith("n = ") else "left"
        made.add_column(head, justify=justify, overflow="fold", no_wrap=head not in TEXTS)
    return made


def show_rows(
    rows: Sequence[Sequence[str]], title: str | None = None, sections: bool = False, words: Collection[str] = ()
) -> None:
    """Print a table, whose first row is its head; with `sections`, a gap where the first cell changes.

    `words` are heads of columns that have words here and numbers elsewhere.
    """
    made = table(*rows[0], title=title)
    for column in made.columns:
        column.justify = "left" if column.header in words else column.justify
    for row, following in zip_longest(rows[1:], rows[2:], fillvalue=rows[0]):
        made.add_row(*map(escape, row), end_section=sections and following[0] != row[0])
    console().print(made)


def numbered(notes: Iterable[str]) -> dict[str, int]:
    """Each note once, and its number from 1 on."""
    return {note: i for i, note in enumerate(dict.fromkeys(filter(None, notes)), start=1)}


def show_notes(notes: Mapping[str, int]) -> None:
    for note, i in notes.items():
        console().print(f"{i:2}  {escape(note)}", style="dim", soft_wrap=True)


def write_page(path: Path, text: str, what: str) -> None:
    """Write a page, and say what there is to see on it."""
    console().print(f"{write(path, text)}: {what}", style="dim")


def page_name(given: Path | None, robot: str, ending: str) -> Path:
    """Where a page goes: where the user says, or into a file named after the robot."""
    return given or Path((re.sub(r"[^\w.-]+", "_", robot).strip("._") or "robot") + ending)
