"""`armwright crossing`: where the O(n) methods win, as tables and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from armwright.cli.output import console, table, write_page
from armwright.errors import InputError
from armwright.study import crossing


def print_crossing(joints: int, measure: bool, output: Path) -> None:
    """Count and, unless told otherwise, measure; print where which formulation wins, and write the page."""
    if not crossing.LEAST_JOINTS <= joints <= crossing.MOST_JOINTS:
        raise InputError(
            f"{joints} joints: expected {crossing.LEAST_JOINTS} to {crossing.MOST_JOINTS} as the longest chain"
        )
    out = console()
    with out.status("counting and measuring"):
        made = crossing.race(joints, min(joints, crossing.MOST_CUSTOMISED), measure)
    title = "Operations of a general robot with n revolute joints, and both together"
    _show(title, crossing.formula_rows(made.costs, sorted({6, 12, 24, joints})))
    for problem in crossing.PROBLEMS:
        title = f"{problem}: fewer products / sums / both from this n on"
        _show(title, crossing.crossing_rows(made, problem))
    if made.timings:
        _show("Nanoseconds per state, measured on one core, random robot", crossing.time_rows(made.timings))
        _show("Faster from this n on, measured", crossing.measured_rows(made))
    write_page(output, made.page())
    out.print(f"{output}: the tables, and costs against n as curves", style="dim")


def _show(title: str, rows: Sequence[Sequence[str]]) -> None:
    made = table(*rows[0], title=title)
    for column in made.columns:
        column.justify = "right" if str(column.header).startswith("n = ") else "left"
    for row in rows[1:]:
        made.add_row(*map(escape, row))
    console().print(made)
    console().print()
