"""Straight code, a loop or neither: the one place that decides how a problem of a robot is computed."""

from __future__ import annotations

from enum import Enum

from armwright.formulations import Problem
from armwright.model.description import Description

UNROLLED = 24
"""The longest chain that is compiled as straight code: longer ones would take long to compile, and have loops."""

BRANCHED = 2.5
"""So many times as many links may anything have that is no chain of DH rows, 60 of them: there is no loop for it.

What it takes grows with the number of pairs of a joint and an ancestor. A humanoid of 38 freedoms takes 1 s for inverse
or forward dynamics, 2 s for its Coriolis matrix and 5 s for derivatives, where a chain of 30 joints took 22 s for its
Coriolis matrix; a tree of 44 freedoms takes 11 to 15 s for derivatives.
"""


class Form(Enum):
    """How a problem is computed."""

    STRAIGHT = "straight code, everything known of the robot folded in"
    LOOP = "a compiled loop over the joints"
    WRITTEN = "the formulation as it is written, with arrays as scalars"


def unrolled(problem: Problem | None = None) -> int:
    """Links of the largest robot that has straight code: of one problem, or of anything else that is traced."""
    return UNROLLED if problem is None or problem.unrolled is None else min(UNROLLED, problem.unrolled)


def most_links(robot: Description, problem: Problem | None = None) -> int:
    """How many links a robot of this shape may have for straight code."""
    return unrolled(problem) if robot.mechanism().serial else int(BRANCHED * unrolled(problem))


def straight(robot: Description, problem: Problem | None = None) -> bool:
    """Whether a robot is short enough for straight code."""
    return len(robot.links) <= most_links(robot, problem)


def form_of(problem: Problem, robot: Description, chosen: bool = False, vary: tuple[str, ...] = ()) -> Form:
    """How to compute a problem; `chosen` says that a formulation was asked for by name, of which no loop exists."""
    if straight(robot, problem):
        return Form.STRAIGHT
    plain = (
        robot.mechanism().serial
        and not robot.followers
        and not robot.loops
        and not any(joint.smooth for joint in robot.joints)
    )
    return Form.LOOP if problem.loop is not None and plain and not chosen and not vary else Form.WRITTEN


def too_long(robot: Description, what: str, problem: Problem | None = None) -> str:
    """What is said where only straight code would do."""
    return f"{what} for up to {most_links(robot, problem)} joints; {robot.name} has {len(robot.links)}"
