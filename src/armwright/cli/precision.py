"""`armwright precision`: its tables and its page."""

from __future__ import annotations

from typing import Annotated

import typer

from armwright.cli.command import JSON_OPTION, PAGE_OPTION, NamedRobot, robot_of
from armwright.cli.output import console, escape, records, report_page, show_json, show_progress, table
from armwright.cli.page_names import page_file
from armwright.errors import InputError
from armwright.study.precision import PRECISION_DIGITS, PRECISION_DTYPES, PRECISION_STATES, Precision, precision


def run_precision(
    robot: NamedRobot,
    sweep: Annotated[int | None, typer.Option(help="Sweep this joint (1, 2, ...) instead of random states.")] = None,
    states: Annotated[int, typer.Option(help="The number of random states.")] = PRECISION_STATES,
    seed: Annotated[int, typer.Option(help="The seed of the random states.", min=0)] = 0,
    output: PAGE_OPTION = None,
    json: JSON_OPTION = False,
) -> None:
    """Compare every forward dynamics in float32 and float64 with 50 digits, and name those to trust.

    Example: armwright precision rr
    """
    arm = robot_of(robot)
    if sweep is not None and not 1 <= sweep <= arm.n:
        raise InputError(f"--sweep {sweep}: {arm.name} has joints 1 to {arm.n}")
    with show_progress(f"computing {arm.name} with {PRECISION_DIGITS} digits"):
        study = precision(arm, states, seed, None if sweep is None else sweep - 1)
    path = page_file(output, arm, "_precision.html").write(study.page())
    if json:
        rows = records([study.heads, *study.rows()])
        show_json({"robot": arm.name, "errors": rows, "verdict": study.verdict(), "page": path})
        return
    _show(study)
    out = console()
    for sentence in study.verdict():
        out.print(escape(sentence), soft_wrap=True)
    report_page(path, "the errors as curves")


def _show(study: Precision) -> None:
    """Print a table for each precision."""
    kinds = " or ".join(case.states.name for case in study.cases)
    count = len(study.cases[0].condition)
    title = f"{escape(study.robot)}, {count} states ({kinds}): relative errors of the accelerations"
    for dtype in PRECISION_DTYPES:
        columns = [0, *(k for k, head in enumerate(study.heads) if head.startswith(f"{dtype}, "))]
        heads = [study.heads[k].removeprefix(f"{dtype}, ").replace(": ", "\n") for k in columns]
        rows = table(*heads, title=f"{title}\n{dtype}" if dtype == PRECISION_DTYPES[0] else dtype)
        for column in rows.columns:
            column.no_wrap, column.justify = True, "right" if column is not rows.columns[0] else "left"
        for row in study.rows():
            rows.add_row(*(escape(row[k]) for k in columns))
        console().print(rows)
        console().print()
