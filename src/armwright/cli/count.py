"""`armwright count`: operations of every formulation, compared with the counts that papers published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import armwright as aw
from armwright.cli.command import JSON_OPTION, ROBOT_FILES, RobotOptions, robot_of
from armwright.cli.output import (
    OPERATION_HEADS,
    console,
    escape,
    numbered,
    operation_numbers,
    records,
    show_json,
    show_notes,
    show_progress,
    show_rows,
)
from armwright.errors import InputError
from armwright.formulations import PROBLEMS, Formulation
from armwright.progress import tracked
from armwright.study.operation_counts import VALID_FROM, compare, counted_formulations, formula
from armwright.study.published import CUSTOMISED

MAX_COUNT_JOINTS = 60
"""Counting every formulation takes a minute at this size; beyond it, the formulas in n apply."""


def run_count(
    robot: Annotated[RobotOptions, f"A number of joints or types like RRPRRR, a packaged robot, or {ROBOT_FILES}."],
    json: JSON_OPTION = False,
) -> None:
    """Count the operations of every formulation, compared with the numbers that the papers published.

    Example: armwright count 6

    Example: armwright count puma560
    """
    name = robot.name
    if robot.used_options and (name.isdecimal() or set(name) <= set("RP")):
        raise InputError(f"{robot.used_options[0]} selects a robot of a file, and {name} is not a file")
    if name.isdecimal():
        if len(name) > 4 or not 1 <= int(name) <= MAX_COUNT_JOINTS:
            raise InputError(f"{name} joints: expected 1 to {MAX_COUNT_JOINTS} (beyond, the formulas in n apply)")
        _count_general("R" * int(name), json)
    elif set(name) <= set("RP") and name:
        _count_general(name, json)
    elif name.replace(".", "", 1).isdecimal():
        raise InputError(f"{name} joints: expected a whole number, types like RRPRRR, a robot or a file")
    else:
        _count_robot(robot_of(robot), json)


Rows: TypeAlias = list[Sequence[Any]]
"""A table; its first row is its head."""


def _count_general(types: str, json: bool) -> None:
    n, revolute = len(types), set(types) == {"R"}
    formulas = revolute and n >= VALID_FROM
    with show_progress("counting"):
        counts: Rows = [("problem", "formulation", *OPERATION_HEADS)]
        for f in tracked(counted_formulations(n)):
            counts.append((f.problem, f.name, *operation_numbers(_general(f, types))))
        # a formula for a differentiated quantity takes longer to fit than all others
        fitted: Rows = [("problem", "formulation", "mul for n joints", "add for n joints")]
        fitted += [(f.problem, f.name, *formula(f)) for f in counted_formulations(n) if formulas and not f.traced]
        published, notes = _published(n) if formulas else ([], {})
    if json:
        further = {"formulas": records(fitted), "published": records(published)} if formulas else {}
        show_json({"joints": types, "counts": records(counts), **further, "notes": list(notes)})
        return
    kind = f"{n} revolute joint{'s' if n > 1 else ''}" if revolute else f"joints {types}"
    _show(counts, f"A general robot with {kind}: constants combined offline, gravity in any direction")
    if not formulas:
        console().print(f"The published formulas are for {VALID_FROM} or more revolute joints.", style="dim")
        return
    _show(fitted, "The same for n revolute joints")
    _show(published, f"Published counts for n = {n} and ours. Products include divisions, as the papers count them")
    show_notes(notes)


def _show(rows: Rows, title: str, grouped: bool = True) -> None:
    show_rows([[str(cell) for cell in row] for row in rows], title, grouped=grouped)
    console().print()


def _published(n: int) -> tuple[Rows, dict[str, int]]:
    """Return the published counts with ours, and the reasons for differences as numbered notes."""
    numbers = ("their mul", "their add", "our mul", "our add")
    rows: Rows = [("table", "published by", "formulation", *numbers, "verdict", "note")]
    comparisons = compare(n)
    notes = numbered(row.published.why for row in comparisons)
    for row in comparisons:
        p = row.published
        name = f"{p.ours}, {p.part}" if p.part else p.ours
        rows.append((f"{p.table}, {p.problem}", p.authors, name, *row.theirs, *row.ours, row.verdict, notes[p.why]))
    return rows, notes


def _count_robot(arm: aw.Robot, json: bool) -> None:
    types, chain = arm.without_couplings().joint_types, arm.without_couplings().mechanism().serial
    methods = counted_formulations(arm.n, arm.mechanism())
    order = list(dict.fromkeys(f.problem for f in methods))
    rows: Rows = [("problem", "formulation", *OPERATION_HEADS, *(("general mul", "general add") if chain else ()))]
    with show_progress(f"counting {arm.name}"):
        counts = {(f.problem, f.name): aw.count_operations(f.problem, f.name, robot=arm) for f in tracked(methods)}
    for f in sorted(methods, key=lambda f: (order.index(f.problem), counts[f.problem, f.name].total)):
        general = operation_numbers(_general(f, types))[:2] if chain else ()
        rows.append((f.problem, f.name, *operation_numbers(counts[f.problem, f.name]), *general))
    compiled, notes = _compiled(arm)
    if json:
        show_json({"robot": arm.name, "counts": records(rows), "compiled": records(compiled), "notes": notes})
        return
    name = escape(f"{arm.name} ({types})")
    note_on_general = "; general: any robot with joints of these types" if chain else ""
    _show(rows, f"{name}: its constants folded{note_on_general}")
    _show(compiled, "Compiled by default: base parameters, and the cheapest formulation", grouped=False)
    for note in notes:
        console().print(escape(note), style="dim", soft_wrap=True)


def _compiled(arm: aw.Robot) -> tuple[Rows, list[str]]:
    """Return the counts of the compiled default, compared with the published ones of this robot."""
    rows: Rows = [("problem", "compiled by default", *OPERATION_HEADS, "published for this robot", "verdict")]
    notes = []
    for problem in (p.name for p in PROBLEMS.values() if len(p.candidates) > 1):
        compiled = aw.compile(arm, problem)
        c = compiled.operations
        published = [p for p in CUSTOMISED if (p.robot, p.problem) == (arm.name, problem)]
        verdicts = ["fewer" if c.multiplications + c.additions < p.size else "more" for p in published]
        cells = ("; ".join(map(str, published)), "; ".join(verdicts))
        rows.append((problem, compiled.formulation.name, *operation_numbers(c), *cells))
        notes += [f"{p.authors}: {p}. {p.why}" for p in published]
    return rows if notes else [row[:-2] for row in rows], notes  # for most robots nothing is published


def _general(f: Formulation, types: str) -> aw.OperationCount:
    return aw.count_operations(f.problem, f.name, joints=types)
