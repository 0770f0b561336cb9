"""`armwright`: robots, show, formulations, count."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import armwright as aw
from armwright.errors import ArmwrightError, ModelWarning
from armwright.formulations import PROBLEMS, Formulation
from armwright.study.operation_counts import compare, formula

app = typer.Typer(
    help="The dynamics of serial robots by every published formulation, checked against each other.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_WIDE = 150
"""Columns to assume where the output is not a terminal, so that a redirected table is not cut to 80."""


def _console(stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else _WIDE, highlight=False)


@contextmanager
def _told() -> Iterator[None]:
    """Errors and warnings of armwright as one line each, without a traceback."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        try:
            yield
        except ArmwrightError as error:
            _console(stderr=True).print(f"[bold red]error:[/] {_plain(error)}", soft_wrap=True)
            raise typer.Exit(2) from None
        finally:
            for warning in caught:
                _console(stderr=True).print(f"[yellow]warning:[/] {_plain(warning.message)}", soft_wrap=True)


def _plain(text: object) -> str:
    return str(text).replace("[", r"\[")


_NUMBERS = ("mul", "add", "div", "trig", "products", "sums", "ours", "", "general mul", "general add")


def _table(*heads: str, title: str | None = None) -> Table:
    """A plain table; in a narrow terminal words are folded, never cut."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for head in heads:
        table.add_column(head, justify="right" if head in _NUMBERS else "left", overflow="fold")
    return table


@app.command()
def robots() -> None:
    """List the packaged robots."""
    table = _table("robot", "joints", "source")
    for name in aw.robots():
        arm = aw.load(name)
        types = "".join("P" if joint.prismatic else "R" for joint in arm.joints)
        table.add_row(name, types, _plain(arm.source.strip().split("\n")[0]))
    _console().print(table)


@app.command()
def show(robot: Annotated[str, typer.Argument(help="A packaged robot, or the path of a .toml file.")]) -> None:
    """Print a robot as the tables a robotics book would print, and what looks wrong with it."""
    with _told(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # shown below, in full
        arm = aw.load(robot)
        typer.echo(str(arm))
        found = aw.problems(arm)
        console = _console()
        console.print()
        if not found:
            console.print("[green]No problems found.[/]")
        for problem in found:
            known = " [dim](accepted by the file)[/]" if problem.kind in arm.accept else ""
            console.print(f"[yellow]problem:[/] {_plain(problem)}{known}", soft_wrap=True)


@app.command()
def formulations() -> None:
    """List every formulation: what it solves, after whom, and how its cost grows."""
    table = _table("problem", "formulation", "cost", "joints", "status", "after")
    for f in aw.formulations():
        table.add_row(f.problem, f.name, f"O({f.order})", f.joints, f.status, f.paper)
    _console().print(table)


@app.command()
def count(
    robot: Annotated[str, typer.Argument(help="A number of joints (a general robot), a packaged robot, or a file.")],
) -> None:
    """Count operations: every formulation, beside what the papers published."""
    with _told():
        if robot.lstrip("-").isdigit():
            _count_general(int(robot))
        else:
            _count_robot(aw.load(robot))


def _count_general(n: int) -> None:
    console = _console()
    table = _table(
        "problem", "formulation", "mul", "add", "div", "trig", "mul for n joints", "add for n joints",
        title=f"A general robot with {n} revolute joints: every parameter known off line, gravity in any direction",
    )  # fmt: skip
    for f in aw.formulations():
        c = aw.count_operations(f.problem, f.name, joints=n)
        numbers = (c.multiplications, c.additions, c.divisions, c.trigonometric)
        table.add_row(f.problem, f.name, *map(str, numbers), *formula(f))
    console.print(table)
    console.print()
    _print_published(n)


def _print_published(n: int) -> None:
    """The papers' rows beside ours; reasons stand below as numbered notes, as many rows share one."""
    console = _console()
    table = _table(
        "table", "published by", "formulation", "products", "sums", "ours", "", "verdict", "note",
        title=f"Published counts for n = {n} beside ours. Products include divisions, as the papers count them",
    )  # fmt: skip
    notes: list[str] = []
    for row in compare(n):
        p = row.published
        if p.why not in notes:
            notes.append(p.why)
        name = f"{p.ours}, {p.part}" if p.part else p.ours
        numbers = map(str, (*row.theirs, *row.ours))
        table.add_row(p.table, p.authors, name, *numbers, row.verdict, str(notes.index(p.why) + 1))
    console.print(table)
    for i, note in enumerate(notes, start=1):
        console.print(f"{i:2}  {_plain(note)}", style="dim")


def _count_robot(arm: aw.Robot) -> None:
    types = "".join("P" if joint.prismatic else "R" for joint in arm.joints)
    table = _table(
        "problem", "formulation", "mul", "add", "div", "trig", "general mul", "general add",
        title=f"{arm.name} ({types}): all that is known of it folded away; general: any robot with these joints",
    )  # fmt: skip
    for problem in PROBLEMS:
        for f in sorted(aw.formulations(problem), key=lambda f: _customised(f, arm).total):
            c, general = _customised(f, arm), aw.count_operations(problem, f.name, joints=types)
            numbers = (c.multiplications, c.additions, c.divisions, c.trigonometric)
            table.add_row(problem, f.name, *map(str, numbers), str(general.multiplications), str(general.additions))
        table.add_section()
    _console().print(table)


def _customised(f: Formulation, arm: aw.Robot) -> aw.OperationCount:
    return aw.count_operations(f.problem, f.name, robot=arm)
