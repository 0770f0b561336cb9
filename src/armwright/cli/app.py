"""`armwright`: robots, show, formulations, count."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import armwright as aw
from armwright.errors import ArmwrightError, InputError, ModelWarning
from armwright.formulations import PROBLEMS, Formulation
from armwright.study.operation_counts import VALID_FROM, compare, formula

app = typer.Typer(
    help="The dynamics of serial robots by every published formulation, checked against each other.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

WIDTH = 150
"""Tables are laid out for this many columns even where the terminal has fewer: it wraps lines, we never cut a name."""

MOST_JOINTS = 60
"""Counting every formulation takes a minute at this size, and the formulas in n say the rest."""


def _console(stderr: bool = False) -> Console:
    console = Console(stderr=stderr, highlight=False)
    console.width = max(console.width, WIDTH)
    return console


@contextmanager
def _told() -> Iterator[None]:
    """Errors and warnings of armwright as one line each, without a traceback."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        try:
            yield
        except ArmwrightError as error:
            _console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
            raise typer.Exit(2) from None
        finally:
            for warning in caught:
                _console(stderr=True).print(f"[yellow]warning:[/] {escape(str(warning.message))}", soft_wrap=True)


def _table(*heads: str, title: str | None = None) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    numbers = ("mul", "add", "div", "trig", "products", "sums", "ours", "", "general mul", "general add")
    for head in heads:
        table.add_column(head, justify="right" if head in numbers else "left", overflow="fold")
    return table


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"armwright {aw.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, help="Print the version.")] = False,
) -> None:
    """The dynamics of serial robots by every published formulation, checked against each other."""


@app.command()
def robots() -> None:
    """List the packaged robots."""
    table = _table("robot", "joints", "source")
    for name in aw.robots():
        arm = aw.load(name)
        table.add_row(name, arm.joint_types, escape(arm.source.strip().split("\n")[0]))
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
            note = " [dim](accepted by the file)[/]" if problem.accepted_by(arm) else ""
            console.print(f"[yellow]problem:[/] {escape(problem)}{note}", soft_wrap=True)


@app.command()
def formulations() -> None:
    """List every formulation: what it solves, after whom, and how its cost grows."""
    table = _table("problem", "formulation", "cost", "joints", "status", "after")
    for f in aw.formulations():
        table.add_row(f.problem, f.name, f"O({f.order})", f.joints, f.status, f.paper)
    _console().print(table)


@app.command()
def count(
    robot: Annotated[
        str,
        typer.Argument(help="A number of joints or types like RRPRRR, a packaged robot, or a .toml file."),
    ],
) -> None:
    """Count operations: every formulation, beside what the papers published."""
    with _told():
        if robot.isdecimal():
            _count_general("R" * _joints(robot))
        elif set(robot) <= set("RP") and robot:
            _count_general(robot)
        elif robot.replace(".", "", 1).isdecimal():
            raise InputError(f"{robot} joints cannot be; expected a whole number, types like RRPRRR, a robot or a file")
        else:
            _count_robot(aw.load(robot))


def _joints(text: str) -> int:
    if len(text) > 4 or not 1 <= int(text) <= MOST_JOINTS:
        raise InputError(
            f"{text} joints: expected 1 or more, and at most {MOST_JOINTS} (the formulas in n go on from there)"
        )
    return int(text)


def _count_general(types: str) -> None:
    console = _console()
    n = len(types)
    revolute = set(types) == {"R"}
    formulas = revolute and n >= VALID_FROM
    kind = f"{n} revolute joint{'s' if n > 1 else ''}" if revolute else f"joints {types}"
    heads = ["problem", "formulation", "mul", "add", "div", "trig"]
    table = _table(
        *heads + (["mul for n joints", "add for n joints"] if formulas else []),
        title=f"A general robot with {kind}: every parameter known off line, gravity in any direction",
    )
    with console.status("counting"):
        for f in aw.formulations():
            c = aw.count_operations(f.problem, f.name, joints=types)
            numbers = (c.multiplications, c.additions, c.divisions, c.trigonometric)
            table.add_row(f.problem, f.name, *map(str, numbers), *(formula(f) if formulas else ()))
    console.print(table)
    console.print()
    if formulas:
        _print_published(n)
    else:
        console.print(f"The published formulas are for {VALID_FROM} or more revolute joints.", style="dim")


def _print_published(n: int) -> None:
    """The papers' rows beside ours; reasons stand below as numbered notes, as many rows share one."""
    console = _console()
    table = _table(
        "table", "published by", "problem", "formulation", "products", "sums", "ours", "", "verdict", "note",
        title=f"Published counts for n = {n} beside ours. Products include divisions, as the papers count them",
    )  # fmt: skip
    notes: list[str] = []
    for row in compare(n):
        p = row.published
        if p.why not in notes:
            notes.append(p.why)
        name = f"{p.ours}, {p.part}" if p.part else p.ours
        numbers = map(str, (*row.theirs, *row.ours))
        table.add_row(p.table, p.authors, p.problem, name, *numbers, row.verdict, str(notes.index(p.why) + 1))
    console.print(table)
    for i, note in enumerate(notes, start=1):
        console.print(f"{i:2}  {escape(note)}", style="dim", soft_wrap=True)


def _count_robot(arm: aw.Robot) -> None:
    types = arm.joint_types
    name = escape(f"{arm.name} ({types})")
    table = _table(
        "problem", "formulation", "mul", "add", "div", "trig", "general mul", "general add",
        title=f"{name}: all that is known of it folded away; general: any robot with these joints",
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
