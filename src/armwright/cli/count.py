"""`armwright count`: operations of every formulation, beside what the papers published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from rich.markup import escape

import armwright as aw
from armwright.cli.command import FILES, RobotOptions, robot_of
from armwright.cli.output import console, numbered, show_notes, show_rows
from armwright.errors import InputError
from armwright.formulations import PROBLEMS, Formulation
from armwright.study.operation_counts import VALID_FROM, compare, counted, formula
from armwright.study.published import CUSTOMISED

MOST_JOINTS = 60
"""Counting every formulation takes a minute at this size, and the formulas in n say the rest."""

KINDS = ("mul", "add", "div", "trig")


def run_count(
    robot: Annotated[RobotOptions, f"A number of joints or types like RRPRRR, a packaged robot, or {FILES}."],
) -> None:
    """Count operations: every formulation, beside what the papers published."""
    name = robot.name
    if name.isdecimal():
        _count_general("R" * _joints(name))
    elif set(name) <= set("RP") and name:
        _count_general(name)
    elif name.replace(".", "", 1).isdecimal():
        raise InputError(f"{name} joints cannot be; expected a whole number, types like RRPRRR, a robot or a file")
    else:
        _count_robot(robot_of(robot))


def _joints(text: str) -> int:
    if len(text) > 4 or not 1 <= int(text) <= MOST_JOINTS:
        raise InputError(
            f"{text} joints: expected 1 or more, and at most {MOST_JOINTS} (the formulas in n go on from there)"
        )
    return int(text)


def _numbers(c: aw.OperationCount) -> Sequence[str]:
    return [str(x) for x in (c.multiplications, c.additions, c.divisions, c.trigonometric)]


def _count_general(types: str) -> None:
    n, revolute = len(types), set(types) == {"R"}
    formulas = revolute and n >= VALID_FROM
    kind = f"{n} revolute joint{'s' if n > 1 else ''}" if revolute else f"joints {types}"
    heads = ("problem", "formulation", *KINDS, *(("mul for n joints", "add for n joints") if formulas else ()))
    out = console()
    with out.status("counting"):
        rows = [
            (f.problem, f.name, *_numbers(_general(f, types)), *(formula(f) if formulas and not f.traced else ()))
            for f in counted(n)
        ]  # of what is differentiated, a formula would take longer to find than all others
    title = f"A general robot with {kind}: every parameter known off line, gravity in any direction"
    show_rows([heads, *rows], title)
    out.print()
    if formulas:
        _show_published(n)
    else:
        out.print(f"The published formulas are for {VALID_FROM} or more revolute joints.", style="dim")


def _show_published(n: int) -> None:
    """The papers' rows beside ours; reasons stand below as numbered notes, as many rows share one."""
    heads = ("table", "published by", "problem", "formulation", "products", "sums", "ours", "", "verdict", "note")
    beside = compare(n)
    notes = numbered(row.published.why for row in beside)
    rows = []
    for row in beside:
        p = row.published
        name = f"{p.ours}, {p.part}" if p.part else p.ours
        numbers = map(str, (*row.theirs, *row.ours))
        rows.append((p.table, p.authors, p.problem, name, *numbers, row.verdict, str(notes[p.why])))
    show_rows(
        [heads, *rows],
        f"Published counts for n = {n} beside ours. Products include divisions, as the papers count them",
    )
    show_notes(notes)


def _count_robot(arm: aw.Robot) -> None:
    types = arm.freed().joint_types
    methods = counted(len(types), bool(arm.followers))
    order = list(dict.fromkeys(f.problem for f in methods))
    rows = []
    for f in sorted(methods, key=lambda f: (order.index(f.problem), _customised(f, arm).total)):
        general = _general(f, types)
        numbers = (*_numbers(_customised(f, arm)), str(general.multiplications), str(general.additions))
        rows.append((f.problem, f.name, *numbers))
    name = escape(f"{arm.name} ({types})")
    show_rows(
        [("problem", "formulation", *KINDS, "general mul", "general add"), *rows],
        f"{name}: all that is known of it folded away; general: any robot with these joints, each on its own",
        sections=True,
    )
    console().print()
    _show_compiled(arm)


def _show_compiled(arm: aw.Robot) -> None:
    """What is compiled where no formulation is asked for, beside what is published for this very robot."""
    rows, notes = [], []
    for problem in (p.name for p in PROBLEMS.values() if len(p.candidates) > 1):
        compiled = aw.compile(arm, problem)
        c = compiled.operations
        beside = [p for p in CUSTOMISED if (p.robot, p.problem) == (arm.name, problem)]
        verdicts = ["fewer" if c.multiplications + c.additions < p.size else "more" for p in beside]
        published = ("; ".join(map(str, beside)), "; ".join(verdicts))
        rows.append((problem, compiled.formulation.name, *_numbers(c), *published))
        notes += [f"{p.authors}: {p}. {p.why}" for p in beside]
    show_rows(
        [("problem", "compiled by default", *KINDS, "published for this robot", "verdict"), *rows],
        "Where no formulation is asked for: base parameters, and what is then cheapest",
    )
    for note in notes:
        console().print(escape(note), style="dim", soft_wrap=True)


def _general(f: Formulation, types: str) -> aw.OperationCount:
    return aw.count_operations(f.problem, f.name, joints=types)


def _customised(f: Formulation, arm: aw.Robot) -> aw.OperationCount:
    return aw.count_operations(f.problem, f.name, robot=arm)
