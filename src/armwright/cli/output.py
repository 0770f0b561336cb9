"""The output of commands: tables, errors and warnings."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich import markup
from rich.console import Console, JustifyMethod
from rich.table import Column, Table
from rich.text import Text

from armwright.errors import (
    ArmwrightError,
    ClusterWarning,
    LockedWarning,
    ModelWarning,
    SimulationWarning,
    SlowWarning,
    TipWarning,
)
from armwright.names import shown, shown_lines
from armwright.pages.report.plot import write
from armwright.progress import progress_reported

PIPE_WIDTH = 150
"""The width of tables in a pipe or a file, where nothing need be folded.

COLUMNS sets the width there too."""

NUMBER_HEADS = frozenset(
    {
        *("mul", "add", "div", "trig", "products", "sums", "their mul", "their add", "our mul", "our add"),
        *("general mul", "general add"),
        *("ns per state", "times ours", "microseconds"),
    }
)
"""Heads of columns with numbers, which are right-aligned."""

TEXT_HEADS = frozenset(
    {
        *("what", "how", "source", "after", "the sum of", "published by", "published for this robot", "where", "kind"),
        *("proof", "published", "obtained", "held to", "verdict", "who", "joint", "joints"),
        *("signs, zeros and base taken over", "motor", "gearbox", "differs from the best in", "arguments"),
    }
)
"""Heads of columns with words, which fold on a narrow terminal; others do not."""

NAME_HEADS = frozenset({"formulation", "compiled by default", "winner", "over"})
"""Heads of columns with names that may be broken at an underscore if the table does not fit otherwise."""

NAME_WIDTHS = (30, 20)
"""The widths to which names are broken: the second if the first does not suffice."""

GROUP_MARKUP = "[bold]"
"""The markup of a cell above a group of rows."""

MAX_WORD = 24
"""The largest width of a word in a table too wide for the terminal; longer ones, such as paths, are broken."""

LOAD_OPTIONS = {
    "base=": "--base LINK",
    "tip=": "--tip LINK",
    "with_tip(": "--tip LINK",
    "armwright.robots()": "armwright robots",
    "floating=": "--floating",
    "locked=": "--lock JOINT=POSITION",
    "packages=": "--package NAME=FOLDER",
    "mappings=": "--arg NAME=VALUE",
}
"""The command-line options for arguments of `armwright.load`."""


class Screen(Console):
    """A console that folds to the width of a terminal, word by word, and never cuts a number."""

    def print(self, *objects: Any, **how: Any) -> None:
        if self.folds:
            how["soft_wrap"] = False
        width = self.width
        for made in objects:
            if isinstance(made, Table):
                self._fit(made)
                how["crop"] = False
                self.width = max(self.width, self._needed(made))
        super().print(*objects, **how)
        self.width = width

    @property
    def folds(self) -> bool:
        """True if lines must fit a width."""
        return self.is_terminal or "COLUMNS" in os.environ

    def render_str(self, text: str, **how: Any) -> Text:
        """Remove control characters from every text before colours are added."""
        return super().render_str(shown_lines(text), **how)

    def _fit(self, made: Table) -> None:
        """Let a table fit the terminal: heads in several lines, names in parts, narrow gaps, and at last words fold.

        A table that is wide by its numbers stays as wide as these.
        """
        first, then = (partial(_break_names, width) for width in NAME_WIDTHS)
        for narrower in (_stack_heads, first, _narrow_gaps, then):
            if self._across(made) <= self.width:
                return
            narrower(self, made)
        if self._across(made) > self.width:
            self._fold(made)

    def _fold(self, made: Table) -> None:
        """Let words fold: every column has its longest word, and the room left goes round among those with more."""
        sizes = [self.widths(column) for column in made.columns]
        least = [
            line if c.no_wrap else min(word, MAX_WORD) for c, (word, line) in zip(made.columns, sizes, strict=True)
        ]
        made.collapse_padding = sum(least) + 2 * (len(least) - 1) > self.width
        spare = max(0, self.width - sum(least) - self._gaps(made))
        wanting = sorted((line - own, k) for k, ((_, line), own) in enumerate(zip(sizes, least, strict=True)))
        for left, (want, k) in zip(range(len(least), 0, -1), wanting, strict=True):
            share = min(want, spare // left)
            made.columns[k].width = least[k] + share
            spare -= share

    def _needed(self, made: Table) -> int:
        """Columns without which a number would be cut."""
        return sum(column.width or self.widths(column)[1] for column in made.columns) + self._gaps(made)

    def _across(self, made: Table) -> int:
        return sum(self.widths(column)[1] for column in made.columns) + self._gaps(made)

    def _gaps(self, made: Table) -> int:
        return (1 if made.collapse_padding else 2) * (len(made.columns) - 1)

    def widths(self, column: Column, headed: bool = True) -> tuple[int, int]:
        """Return the widths of the longest word and of the longest line."""
        sizes = [self.measure(cell) for cell in (column.header if headed else "", *column.cells)]
        return max(size.minimum for size in sizes), max(size.maximum for size in sizes)


def _stack_heads(screen: Screen, made: Table) -> None:
    for column in made.columns:
        if column.no_wrap and screen.widths(column)[1] > screen.widths(column, headed=False)[1]:
            column.header = str(column.header).replace(" ", "\n")


def _break_names(width: int, _screen: Screen, made: Table) -> None:
    for column in made.columns:
        if str(column.header).replace("\n", " ") in NAME_HEADS:
            cells = [str(cell) for cell in column.cells]
            column._cells = [x if x.startswith(GROUP_MARKUP) else _break_name(x, width) for x in cells]


def _break_name(name: str, width: int) -> str:
    """A name in lines of at most this width, each but the last ending where a part of it does."""
    lines, rest = [], name.replace("\n", "")
    while len(rest) > width and (end := max(rest.rfind("_", 0, width), rest.rfind(" ", 0, width))) > 0:
        lines.append(rest[:end])
        rest = rest[end:]
    return "\n".join([*lines, rest])


def _narrow_gaps(_screen: Screen, made: Table) -> None:
    made.collapse_padding = True


def escape(text: object) -> str:
    """A name or a sentence with names as part of a text with colours: one line, and nothing in it is obeyed."""
    return markup.escape(shown(text))


PROGRESS_DELAY = 2.0
"""Seconds after which the time left is shown."""


@contextmanager
def show_progress(text: str) -> Iterator[None]:
    """Show a line on stderr with the task in progress, and after a while the time left.

    The bar never moves backwards, even if steps are counted more than once.
    """
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    out = console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"))
    begin, shown, furthest = time.perf_counter(), False, 0.0
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(escape(text), total=1.0)

        def tell(share: float) -> None:
            nonlocal shown, furthest
            if not shown and time.perf_counter() - begin > PROGRESS_DELAY:
                bar.columns = (*columns, BarColumn(), TimeRemainingColumn())
                shown = True
            furthest = max(furthest, share)
            bar.update(task, completed=furthest)

        with progress_reported(tell if out.is_terminal else None):
            yield


def console(stderr: bool = False) -> Screen:
    """Return a console as wide as the terminal, or wide enough for all tables in a pipe."""
    made = Screen(stderr=stderr, highlight=False)
    if not made.folds:
        made.width = max(made.width, PIPE_WIDTH)
    return made


@contextmanager
def report_errors() -> Iterator[None]:
    """Errors and warnings of armwright as one line each, without a traceback; an error ends the command.

    A warning is there at once, as what it warns of may take an hour, and once, however often it is raised.
    """
    said = set[str]()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            report("warning", "yellow", str(message))
        said.add(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        for kind in (ClusterWarning, LockedWarning, ModelWarning, SimulationWarning, SlowWarning, TipWarning):
            warnings.simplefilter("always", kind)
        try:
            yield
        except ArmwrightError as error:
            report("error", "bold red", str(error))
            raise typer.Exit(2) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # who reads has read enough
                raise
            report("error", "bold red", f"cannot go on: {error}")
            raise typer.Exit(2) from None


@contextmanager
def name_errors(what: str) -> Iterator[None]:
    """Prefix the errors within with a name."""
    try:
        yield
    except ArmwrightError as error:
        error.args = (f"{what}: {error}" if what else str(error),)
        raise


def report(word: str, colour: str, text: str) -> None:
    """Print a line on stderr."""
    whole = f"{text} {option_names(text)}".rstrip()
    console(stderr=True).print(f"[{colour}]{word}:[/] {markup.escape(shown_lines(whole))}", soft_wrap=True)


def option_names(text: str) -> str:
    """Return a note with the command-line options for arguments of `armwright.load` that a text names."""
    options = list(dict.fromkeys(option for argument, option in LOAD_OPTIONS.items() if argument in text))
    return f"(on the command line: {', '.join(options)})" if options else ""


def table(*heads: str, title: str | None = None) -> Table:
    """Return an empty table; columns of numbers are right-aligned, columns of words may fold."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for head in heads:
        justify: JustifyMethod = "right" if head in NUMBER_HEADS or head.startswith("n = ") else "left"
        made.add_column(head, justify=justify, overflow="fold", no_wrap=head not in TEXT_HEADS)
    return made


def show_rows(
    rows: Sequence[Sequence[str]], title: str | None = None, grouped: bool = False, words: Collection[str] = ()
) -> None:
    """Print a table, whose first row is its head; `grouped`, the first cells stand above the rows that share them.

    `words` are heads of columns that have words here and numbers elsewhere.
    """
    head, *body = ([row[1:] for row in rows]) if grouped else rows
    made = table(*head, title=title)
    for column in made.columns:
        column.justify = "left" if column.header in words else column.justify
    before = None
    for row, cells in zip(rows[1:], body, strict=True):
        if grouped and row[0] != before:
            if before is not None:
                made.add_row()
            made.add_row(f"{GROUP_MARKUP}{escape(row[0])}[/]")
            before = row[0]
        made.add_row(*map(escape, cells))
    console().print(made)


def show_json(data: Any) -> None:
    """Print data as JSON; numbers that are not finite become null."""
    typer.echo(json.dumps(as_json_value(data), indent=2, allow_nan=False))


def as_json_value(value: Any) -> Any:
    """Return data as JSON values: arrays as lists, records by their fields, paths as text."""
    if isinstance(value, Mapping):
        return {str(key): as_json_value(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return as_json_value(value.tolist())
    if isinstance(value, str | bool | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Iterable):
        return [as_json_value(entry) for entry in value]
    return str(value)


def records(rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return a table, whose first row is its head, as a record for each row."""
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


def numbered(notes: Iterable[str]) -> dict[str, int]:
    """Return each note once with its number, from 1."""
    return {note: i for i, note in enumerate(dict.fromkeys(filter(None, notes)), start=1)}


def show_notes(notes: Mapping[str, int]) -> None:
    """Print numbered notes."""
    for note, i in notes.items():
        console().print(f"{i:2}  {escape(note)}", style="dim", soft_wrap=True)


def write_and_report(path: Path, text: str, what: str) -> None:
    """Write a page and print its path and content."""
    write(path, text)
    report_page(path, what)


def report_page(path: Path, what: str) -> None:
    """Print the path of a written page or folder, and its content."""
    console().print(f"{escape(path)}: {what}", style="dim", soft_wrap=True)


def page_name(given: Path | None, robot: str, ending: str) -> Path:
    """Return the path of a page: the given one, or a file named after the robot."""
    return given or Path((re.sub(r"[^\w.-]+", "_", robot).strip("._") or "robot") + ending)
