"""`armwright robots`, `armwright show` and `armwright formulations`: what there is."""

from __future__ import annotations

import warnings

import typer
from rich.markup import escape

import armwright as aw
from armwright.cli.command import NamedRobot, robot_of
from armwright.cli.output import console, show_rows
from armwright.errors import ModelWarning


def list_robots() -> None:
    """List the packaged robots."""
    arms = {name: aw.load(name) for name in aw.robots()}
    rows = [(name, arm.joint_types, arm.source.strip().split("\n")[0]) for name, arm in arms.items()]
    show_rows([("robot", "joints", "source"), *rows])


def show_robot(robot: NamedRobot) -> None:
    """Print a robot as the tables a robotics book would print, and what looks wrong with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # shown below, in full
        arm = robot_of(robot)
        typer.echo(str(arm))
        found = aw.problems(arm)
    out = console()
    out.print()
    if all(problem.severity == "note" for problem in found):
        out.print("[green]No problems found.[/]")
    for problem in found:
        word = "[dim]note:[/]" if problem.severity == "note" else "[yellow]problem:[/]"
        note = " [dim](accepted by the file)[/]" if problem.accepted_by(arm) else ""
        out.print(f"{word} {escape(problem)}{note}", soft_wrap=True)


def list_formulations() -> None:
    """List every formulation: what it solves, after whom, and how its cost grows."""
    rows = [(f.problem, f.name, f"O({f.order})", f.paper) for f in aw.formulations()]
    show_rows([("problem", "formulation", "cost", "after"), *rows])
