"""`armwright crossing`: where the O(n) methods win, as tables and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armwright.cli.command import JSON_OPTION
from armwright.cli.output import console, records, show_json, show_progress, show_rows, write_and_report
from armwright.errors import InputError
from armwright.pages.report.plot import write
from armwright.study import crossing


def run_crossing(
    joints: Annotated[int, typer.Option(help="The longest chain to count.")] = crossing.MAX_CROSSING_JOINTS,
    measure: Annotated[bool, typer.Option(help="Time the formulations besides counting them.")] = True,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page.")] = Path("crossing.html"),
    json: JSON_OPTION = False,
) -> None:
    """Find the number of joints from which O(n) methods win, by operations counted and times measured.

    Example: armwright crossing
    """
    if not crossing.MIN_CROSSING_JOINTS <= joints <= crossing.MAX_CROSSING_JOINTS:
        raise InputError(f"{joints} joints: expected {crossing.MIN_CROSSING_JOINTS} to {crossing.MAX_CROSSING_JOINTS}")
    with show_progress("counting and measuring"):
        race = crossing.race(joints, min(joints, crossing.MAX_CUSTOMISED_JOINTS), measure)
    formulas = crossing.formula_rows(race.costs, sorted({6, 12, 24, joints}))
    tables = {
        "Operations of a general robot with n revolute joints": [row[:4] for row in formulas],
        "Products and sums together": [[*row[:2], *row[4:]] for row in formulas],
    }
    for problem in crossing.CROSSING_PROBLEMS:
        tables[f"{problem}: fewer products / sums / both from this n on"] = crossing.crossing_rows(race, problem)
    if race.timings:
        title = "Nanoseconds per state, measured on one core, random robot"
        tables[title] = crossing.time_rows(race.timings)
        tables["Faster from this n on, measured"] = crossing.measured_rows(race)
    if json:
        write(output, race.page())
        show_json({"page": output, "tables": {title: records(rows) for title, rows in tables.items()}})
        return
    for title, rows in tables.items():
        show_rows(rows, title, grouped=rows[0][0] == "problem", words=("products", "sums"))
        console().print()
    write_and_report(output, race.page(), "the tables, and costs against n as curves")
