"""How the commands print: tables, errors and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from armwright.errors import ArmwrightError, InputError, ModelWarning

WIDTH = 150
"""Tables are laid out for this many columns even where the terminal has fewer: it wraps lines, we never cut a name."""


NUMBERS = frozenset(
    {
        *("mul", "add", "div", "trig", "products", "sums", "ours", "", "general mul", "general add"),
        *("ns per state", "times ours", "microseconds"),
    }
)
"""Heads of columns with numbers, which stand to the right."""


def console(stderr: bool = False) -> Console:
    made = Console(stderr=stderr, highlight=False)
    made.width = max(made.width, WIDTH)
    return made


@contextmanager
def told() -> Iterator[None]:
    """Errors and warnings of armwright as one line each, without a traceback."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        try:
            yield
        except ArmwrightError as error:
            console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
            raise typer.Exit(2) from None
        finally:
            for warning in caught:
                console(stderr=True).print(f"[yellow]warning:[/] {escape(str(warning.message))}", soft_wrap=True)


def table(*heads: str, title: str | None = None) -> Table:
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for head in heads:
        made.add_column(head, justify="right" if head in NUMBERS else "left", overflow="fold")
    return made


def write_page(path: Path, text: str, folders: bool = False) -> None:
    """Write a page, with the folders it is to lie in if asked; where that cannot be done, say so in one line."""
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error}") from None
