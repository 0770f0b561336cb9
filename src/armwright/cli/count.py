"""`armwright count`: operations of every formulation, beside what the papers published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import armwright as aw
from armwright.cli.command import JSON_OPTION, ROBOT_FILES, RobotOptions, robot_of
from armwright.cli.output import console, escape, numbered, records, show_json, show_notes, show_progress, show_rows
from armwright.errors import InputError
from armwright.formulations import PROBLEMS, Formulation
from armwright.progress import tracked
from armwright.study.operation_counts import VALID_FROM, compare, counted_formulations, formula
from armwright.study.published import CUSTOMISED

MAX_COUNT_JOINTS = 60
"""Counting every formulation takes a minute at this size, and the formulas in n say the rest."""

OPERATION_HEADS = ("mul", "add", "div", "trig")


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
        raise InputError(f"{robot.used_options[0]} says which robot of a file is meant, and {name} is not one")
    if name.isdecimal():
        _count_general("R" * _joints(name), json)
    elif set(name) <= set("RP") and name:
        _count_general(name, json)
    elif name.replace(".", "", 1).isdecimal():
        raise InputError(f"{name} joints cannot be; expected a whole number, types like RRPRRR, a robot or a file")
    else:
        _count_robot(robot_of(robot), json)


def _joints(text: str) -> int:
    if len(text) > 4 or not 1 <= int(text) <= MAX_COUNT_JOINTS:
        raise InputError(
            f"{text} joints: expected 1 or more, and at most {MAX_COUNT_JOINTS} (the formulas in n go on from there)"
        )
    return int(text)


Rows: TypeAlias = list[Sequence[Any]]
"""A table; its first row is its head."""


def _numbers(c: aw.OperationCount) -> Sequence[int]:
    return [c.multiplications, c.additions, c.divisions, c.trigonometric]


def _count_general(types: str, json: bool) -> None:
    n, revolute = len(types), set(types) == {"R"}
    formulas = revolute and n >= VALID_FROM
    with show_progress("counting"):
        counts: Rows = [("problem", "formulation", *OPERATION_HEADS)]
        counts += [(f.problem, f.name, *_numbers(_general(f, types))) for f in tracked(counted_formulations(n))]
        # of what is differentiated, a formula would take longer to find than all others
        grown: Rows = [("problem", "formulation", "mul for n joints", "add for n joints")]
        grown += [(f.problem, f.name, *formula(f)) for f in counted_formulations(n) if formulas and not f.traced]
        published, notes = _published(n) if formulas else ([], {})
    if json:
        beside = {"formulas": records(grown), "published": records(published)} if formulas else {}
        show_json({"joints": types, "counts": records(counts), **beside, "notes": list(notes)})
        return
    kind = f"{n} revolute joint{'s' if n > 1 else ''}" if revolute else f"joints {types}"
    _show(counts, f"A general robot with {kind}: every parameter known off line, gravity in any direction")
    if not formulas:
        console().print(f"The published formulas are for {VALID_FROM} or more revolute joints.", style="dim")
        return
    _show(grown, "The same for n revolute joints")
    _show(published, f"Published counts for n = {n} beside ours. Products include divisions, as the papers count them")
    show_notes(notes)


def _show(rows: Rows, title: str, grouped: bool = True) -> None:
    show_rows([[str(cell) for cell in row] for row in rows], title, grouped=grouped)
    console().print()


def _published(n: int) -> tuple[Rows, dict[str, int]]:
    """The papers' rows beside ours; reasons stand below as numbered notes, as many rows share one."""
    numbers = ("their mul", "their add", "our mul", "our add")
    rows: Rows = [("table", "published by", "formulation", *numbers, "verdict", "note")]
    beside = compare(n)
    notes = numbered(row.published.why for row in beside)
    for row in beside:
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
        own = {(f.problem, f.name): _customised(f, arm) for f in tracked(methods)}
    for f in sorted(methods, key=lambda f: (order.index(f.problem), own[f.problem, f.name].total)):
        any_such = [_general(f, types)] if chain else []
        beside = [number for c in any_such for number in (c.multiplications, c.additions)]
        rows.append((f.problem, f.name, *_numbers(own[f.problem, f.name]), *beside))
    compiled, notes = _compiled(arm)
    if json:
        show_json({"robot": arm.name, "counts": records(rows), "compiled": records(compiled), "notes": notes})
        return
    name = escape(f"{arm.name} ({types})")
    general = "; general: any robot with these joints, each on its own" if chain else ""
    _show(rows, f"{name}: all that is known of it folded away{general}")
    title = "Where no formulation is asked for: base parameters, and what is then cheapest"
    _show(compiled, title, grouped=False)
    for note in notes:
        console().print(escape(note), style="dim", soft_wrap=True)


def _compiled(arm: aw.Robot) -> tuple[Rows, list[str]]:
    """Return the counts of the compiled default, compared with the published ones of this robot."""
    rows: Rows = [("problem", "compiled by default", *OPERATION_HEADS, "published for this robot", "verdict")]
    notes = []
    for problem in (p.name for p in PROBLEMS.values() if len(p.candidates) > 1):
        compiled = aw.compile(arm, problem)
        c = compiled.operations
        beside = [p for p in CUSTOMISED if (p.robot, p.problem) == (arm.name, problem)]
        verdicts = ["fewer" if c.multiplications + c.additions < p.size else "more" for p in beside]
        published = ("; ".join(map(str, beside)), "; ".join(verdicts))
        rows.append((problem, compiled.formulation.name, *_numbers(c), *published))
        notes += [f"{p.authors}: {p}. {p.why}" for p in beside]
    return rows if notes else [row[:-2] for row in rows], notes  # of most robots nothing is published


def _general(f: Formulation, types: str) -> aw.OperationCount:
    return aw.count_operations(f.problem, f.name, joints=types)


def _customised(f: Formulation, arm: aw.Robot) -> aw.OperationCount:
    return aw.count_operations(f.problem, f.name, robot=arm)
