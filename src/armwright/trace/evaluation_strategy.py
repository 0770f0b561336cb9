"""Straight code, a loop or neither: the one place that decides how a problem of a robot is computed."""

from __future__ import annotations

from enum import Enum

from armwright.formulations import Problem
from armwright.model.description import Description

MAX_UNROLLED_JOINTS = 24
"""The longest chain that is compiled as straight code: longer ones would take long to compile, and have loops."""

TREE_FACTOR = 2.5
"""So many times as many links may anything have that is no chain of DH rows, 60 of them: there is no loop for it.

What it takes grows with the number of pairs of a joint and an ancestor. A humanoid of 38 freedoms takes 1 s for inverse
or forward dynamics, 2 s for its Coriolis matrix and 5 s for derivatives, where a chain of 30 joints took 22 s for its
Coriolis matrix; a tree of 44 freedoms takes 11 to 15 s for derivatives.
"""


class EvaluationStrategy(Enum):
    """How a problem is computed."""

    STRAIGHT = "straight code, everything known of the robot folded in"
    LOOP = "a compiled loop over the joints"
    WRITTEN = "the formulation as it is written, with arrays as scalars"


def max_unrolled_joints(problem: Problem | None = None, longest: int | None = None) -> int:
    """Joints of the longest chain that has straight code: of one problem, or of anything else that is traced.

    A backend may have a `longest` of its own.
    """
    limits = [MAX_UNROLLED_JOINTS if longest is None else longest, problem.max_unrolled_joints if problem else None]
    return min(limit for limit in limits if limit is not None)


def max_links(robot: Description, problem: Problem | None = None, longest: int | None = None) -> int:
    """How many links a robot of this shape may have for straight code."""
    return (
        max_unrolled_joints(problem, longest)
        if robot.mechanism().serial
        else int(TREE_FACTOR * max_unrolled_joints(problem))
    )


def has_straight_code(robot: Description, problem: Problem | None = None, longest: int | None = None) -> bool:
    """Whether a robot is short enough for straight code."""
    return len(robot.links) <= max_links(robot, problem, longest)


def strategy_of(
    problem: Problem,
    robot: Description,
    chosen: bool = False,
    vary: tuple[str, ...] = (),
    longest: int | None = None,
    slower: int | None = None,
) -> EvaluationStrategy:
    """How to compute a problem; `chosen` says that a formulation was asked for by name, of which no loop exists.

    From `slower` joints on straight code is no choice where there is a loop.
    """
    looped = (
        problem.chain_sweep is not None
        and not chosen
        and not vary
        and robot.mechanism().serial
        and not robot.followers
        and not robot.loops
        and not any(joint.smooth or joint.sprung for joint in robot.joints)
        and not any(link.compensated_mass for link in robot.links)
    )
    if has_straight_code(robot, problem, longest) and not (
        looped and slower is not None and len(robot.links) >= slower
    ):
        return EvaluationStrategy.STRAIGHT
    return EvaluationStrategy.LOOP if looped else EvaluationStrategy.WRITTEN


def too_long_message(robot: Description, what: str, problem: Problem | None = None, longest: int | None = None) -> str:
    """What is said where only straight code would do."""
    return f"{what} for up to {max_links(robot, problem, longest)} joints; {robot.name} has {len(robot.links)}"
