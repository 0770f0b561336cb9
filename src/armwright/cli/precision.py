"""`armwright precision`: what it prints and the page it writes."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape

from armwright.cli.motion import safe_name
from armwright.cli.output import console, table, write_page
from armwright.cli.robots import Chosen, robot_of
from armwright.errors import InputError
from armwright.study.precision import DIGITS, precision


def run_precision(robot: Chosen, joint: int | None, states: int, seed: int, output: Path | None) -> None:
    """Compare every formulation with fifty digits, print the table and what to trust, write the page."""
    arm = robot_of(robot)
    if joint is not None and not 1 <= joint <= arm.n:
        raise InputError(f"--sweep {joint}: {arm.name} has joints 1 to {arm.n}")
    out = console()
    with out.status(f"computing {arm.name} with {DIGITS} digits"):
        study = precision(arm, states, seed, None if joint is None else joint - 1)
    kinds = " or ".join(case.states.name for case in study.cases)
    title = (
        f"{escape(arm.name)}, {len(study.cases[0].condition)} states ({kinds}): relative errors of the accelerations"
    )
    made = table(*(head.replace(", ", "\n").replace(": ", "\n") for head in study.heads), title=title)
    for column in made.columns:
        column.no_wrap, column.justify = True, "right" if column is not made.columns[0] else "left"
    for row in study.rows():
        made.add_row(*map(escape, row))
    out.print(made)
    out.print()
    for sentence in study.verdict():
        out.print(escape(sentence), soft_wrap=True)
    path = output or Path(f"{safe_name(arm.name)}_precision.html")
    write_page(path, study.page())
    out.print(f"{path}: the errors as curves", style="dim")
