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
from armwright.graph.count import OperationCount
from armwright.names import shown, shown_lines
from armwright.pages.report.plot import write
from armwright.progress import progress_reported

OPERATION_HEADS = ("mul", "add", "div", "trig")

PIPE_WIDTH = 150
"""The width of tables in a pipe or a file, unless COLUMNS sets another."""

NUMBER_HEADS = frozenset(
    {
        *(*OPERATION_HEADS, "products", "sums", "their mul", "their add", "our mul", "our add"),
        *("general mul", "general add"),
        *("ns per state", "relative", "microseconds"),
    }
)
"""Heads of columns with numbers, which are right-aligned."""

TEXT_HEADS = frozenset(
    {
        *("what", "how", "source", "after", "the sum of", "published by", "published for this robot", "where", "kind"),
        *("proof", "published", "obtained", "held to", "verdict", "package", "joint", "joints"),
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

    def print(self, *objects: Any, **options: Any) -> None:
        if self.folds:
            options["soft_wrap"] = False
        width = self.width
        for item in objects:
            if isinstance(item, Table):
                self._narrow(item)
                options["crop"] = False
                self.width = max(self.width, self._uncut_width(item))
        super().print(*objects, **options)
        self.width = width

    @property
    def folds(self) -> bool:
        """True if lines must fit a width."""
        return self.is_terminal or "COLUMNS" in os.environ

    def render_str(self, text: str, **options: Any) -> Text:
        """Remove control characters from every text before colours are added."""
        return super().render_str(shown_lines(text), **options)

    def _narrow(self, table: Table) -> None:
        """Narrow a table to the terminal: stack heads, break names, narrow gaps, at last fold words; numbers stay."""
        first, then = (partial(_break_names, width) for width in NAME_WIDTHS)
        for narrower in (_stack_heads, first, _narrow_gaps, then):
            if self._table_width(table) <= self.width:
                return
            narrower(self, table)
        if self._table_width(table) > self.width:
            self._fold(table)

    def _fold(self, table: Table) -> None:
        """Fold words: a column is as wide as its longest word, and columns with longer lines share the spare width."""
        sizes = [self.widths(column) for column in table.columns]
        columns = zip(table.columns, sizes, strict=True)
        widths = [line if column.no_wrap else min(word, MAX_WORD) for column, (word, line) in columns]
        table.collapse_padding = sum(widths) + 2 * (len(widths) - 1) > self.width
        spare = max(0, self.width - sum(widths) - self._gap_width(table))
        missing = sorted((line - width, k) for k, ((_, line), width) in enumerate(zip(sizes, widths, strict=True)))
        for columns_left, (more, k) in zip(range(len(widths), 0, -1), missing, strict=True):
            share = min(more, spare // columns_left)
            table.columns[k].width = widths[k] + share
            spare -= share

    def _uncut_width(self, table: Table) -> int:
        """Return the width below which a number would be cut."""
        return sum(column.width or self.widths(column)[1] for column in table.columns) + self._gap_width(table)

    def _table_width(self, table: Table) -> int:
        return sum(self.widths(column)[1] for column in table.columns) + self._gap_width(table)

    def _gap_width(self, table: Table) -> int:
        return (1 if table.collapse_padding else 2) * (len(table.columns) - 1)

    def widths(self, column: Column, headed: bool = True) -> tuple[int, int]:
        """Return the widths of the longest word and of the longest line."""
        sizes = [self.measure(cell) for cell in (column.header if headed else "", *column.cells)]
        return max(size.minimum for size in sizes), max(size.maximum for size in sizes)


def _stack_heads(screen: Screen, table: Table) -> None:
    for column in table.columns:
        if column.no_wrap and screen.widths(column)[1] > screen.widths(column, headed=False)[1]:
            column.header = str(column.header).replace(" ", "\n")


def _break_names(width: int, _screen: Screen, table: Table) -> None:
    for column in table.columns:
        if str(column.header).replace("\n", " ") in NAME_HEADS:
            cells = [str(cell) for cell in column.cells]
            column._cells = [x if x.startswith(GROUP_MARKUP) else _break_name(x, width) for x in cells]


def _break_name(name: str, width: int) -> str:
    """Return a name in lines of at most this width, broken before underscores and spaces."""
    lines, rest = [], name.replace("\n", "")
    while len(rest) > width and (end := max(rest.rfind("_", 0, width), rest.rfind(" ", 0, width))) > 0:
        lines.append(rest[:end])
        rest = rest[end:]
    return "\n".join([*lines, rest])


def _narrow_gaps(_screen: Screen, table: Table) -> None:
    table.collapse_padding = True


def escape(text: object) -> str:
    """Return a text in one line, in which control characters and markup have no effect."""
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

        def show_share(share: float) -> None:
            nonlocal shown, furthest
            if not shown and time.perf_counter() - begin > PROGRESS_DELAY:
                bar.columns = (*columns, BarColumn(), TimeRemainingColumn())
                shown = True
            furthest = max(furthest, share)
            bar.update(task, completed=furthest)

        with progress_reported(show_share if out.is_terminal else None):
            yield


def console(stderr: bool = False) -> Screen:
    """Return a console as wide as the terminal, or wide enough for all tables in a pipe."""
    screen = Screen(stderr=stderr, highlight=False)
    if not screen.folds:
        screen.width = max(screen.width, PIPE_WIDTH)
    return screen


@contextmanager
def report_errors() -> Iterator[None]:
    """Print errors and warnings of armwright in one line each, a warning only once; an error ends the command."""
    reported = set[str]()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in reported:
            report("warning", "yellow", str(message))
        reported.add(str(message))

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
            if error.errno == errno.EPIPE:  # the reader of a pipe has closed it
                raise
            report("error", "bold red", f"cannot continue: {error}")
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
    line = f"{text} {option_names(text)}".rstrip()
    console(stderr=True).print(f"[{colour}]{word}:[/] {markup.escape(shown_lines(line))}", soft_wrap=True)


def option_names(text: str) -> str:
    """Return a note with the command-line options for arguments of `armwright.load` that a text names."""
    options = list(dict.fromkeys(option for argument, option in LOAD_OPTIONS.items() if argument in text))
    return f"(on the command line: {', '.join(options)})" if options else ""


def table(*heads: str, title: str | None = None) -> Table:
    """Return an empty table; columns of numbers are right-aligned, columns of words may fold."""
    rows = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for head in heads:
        justify: JustifyMethod = "right" if head in NUMBER_HEADS or head.startswith("n = ") else "left"
        rows.add_column(head, justify=justify, overflow="fold", no_wrap=head not in TEXT_HEADS)
    return rows


def show_rows(
    rows: Sequence[Sequence[str]], title: str | None = None, grouped: bool = False, words: Collection[str] = ()
) -> None:
    """Print a table, whose first row is its head; if `grouped`, first cells are headings of the rows that share them.

    `words` are heads of columns that have words here and numbers elsewhere.
    """
    head, *body = ([row[1:] for row in rows]) if grouped else rows
    shown_table = table(*head, title=title)
    for column in shown_table.columns:
        column.justify = "left" if column.header in words else column.justify
    before = None
    for row, cells in zip(rows[1:], body, strict=True):
        if grouped and row[0] != before:
            if before is not None:
                shown_table.add_row()
            shown_table.add_row(f"{GROUP_MARKUP}{escape(row[0])}[/]")
            before = row[0]
        shown_table.add_row(*map(escape, cells))
    console().print(shown_table)


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


def operation_numbers(c: OperationCount) -> tuple[int, ...]:
    """Return the numbers of an operation count, in the order of OPERATION_HEADS."""
    return c.multiplications, c.additions, c.divisions, c.trigonometric


def numbered(notes: Iterable[str]) -> dict[str, int]:
    """Return each different note with its number, from 1."""
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


def page_name(path: Path | None, robot: str, ending: str) -> Path:
    """Return the path of a page: the given one, or a file named after the robot."""
    return path or Path((re.sub(r"[^\w.-]+", "_", robot).strip("._") or "robot") + ending)
