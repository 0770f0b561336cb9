"""`armwright precision`: what it prints and the page it writes."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from armwright.cli.command import PAGE, NamedRobot, robot_of
from armwright.cli.output import console, page_name, table, write_page
from armwright.errors import InputError
from armwright.study.precision import DIGITS, STATES, Precision, precision


def run_precision(
    robot: NamedRobot,
    sweep: Annotated[int | None, typer.Option(help="Sweep this joint (1, 2, ...) instead of random states.")] = None,
    states: Annotated[int, typer.Option(help="How many random states.")] = STATES,
    seed: Annotated[int, typer.Option(help="Which random states.")] = 0,
    output: PAGE = None,
) -> None:
    """Compare every forward dynamics in float32 and float64 with 50 digits, and say which to trust."""
    arm = robot_of(robot)
    if sweep is not None and not 1 <= sweep <= arm.n:
        raise InputError(f"--sweep {sweep}: {arm.name} has joints 1 to {arm.n}")
    out = console()
    with out.status(f"computing {arm.name} with {DIGITS} digits"):
        study = precision(arm, states, seed, None if sweep is None else sweep - 1)
    _show(study)
    out.print()
    for sentence in study.verdict():
        out.print(escape(sentence), soft_wrap=True)
    write_page(page_name(output, arm.name, "_precision.html"), study.page(), "the errors as curves")


def _show(study: Precision) -> None:
    kinds = " or ".join(case.states.name for case in study.cases)
    count = len(study.cases[0].condition)
    title = f"{escape(study.robot)}, {count} states ({kinds}): relative errors of the accelerations"
    made = table(*(head.replace(", ", "\n").replace(": ", "\n") for head in study.heads), title=title)
    for column in made.columns:
        column.no_wrap, column.justify = True, "right" if column is not made.columns[0] else "left"
    for row in study.rows():
        made.add_row(*map(escape, row))
    console().print(made)
