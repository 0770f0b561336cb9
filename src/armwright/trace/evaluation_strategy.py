"""The evaluation strategy of a problem of a robot: straight code, a chain loop, or arrays as scalars."""

from __future__ import annotations

from enum import Enum

from armwright.formulations import Problem
from armwright.model.description import Description

MAX_UNROLLED_JOINTS = 24
"""The longest chain with straight code, in joints. Longer ones would compile slowly and have loops."""

TREE_FACTOR = 2.5
"""The limit of links for trees, relative to chains: 60 links have straight code, as trees have no loops.

The cost grows with the number of pairs of a joint and an ancestor. A humanoid of 38 freedoms takes 1 s for inverse or
forward dynamics, 2 s for its Coriolis matrix and 5 s for derivatives; a chain of 30 joints took 22 s for its Coriolis
matrix. A tree of 44 freedoms takes 11 to 15 s for derivatives.
"""


class EvaluationStrategy(Enum):
    """A way to compute a problem."""

    STRAIGHT = "straight code with the numbers of the robot folded in"
    LOOP = "a compiled loop over the joints"
    ARRAYS = "the formulation with arrays as scalars"


def max_unrolled_joints(problem: Problem | None = None, longest: int | None = None) -> int:
    """Return the length of the longest chain with straight code, for one problem or for anything else that is traced.

    `longest` is the limit of a backend, if it has one.
    """
    limits = [MAX_UNROLLED_JOINTS if longest is None else longest, problem.max_unrolled_joints if problem else None]
    return min(limit for limit in limits if limit is not None)


def max_links(robot: Description, problem: Problem | None = None, longest: int | None = None) -> int:
    """Return the largest number of links for which a robot of this shape has straight code."""
    if robot.mechanism().serial:
        return max_unrolled_joints(problem, longest)
    return int(TREE_FACTOR * max_unrolled_joints(problem))


def has_straight_code(robot: Description, problem: Problem | None = None, longest: int | None = None) -> bool:
    """Return True if a robot is short enough for straight code."""
    return len(robot.links) <= max_links(robot, problem, longest)


def strategy_of(
    problem: Problem,
    robot: Description,
    chosen: bool = False,
    vary: tuple[str, ...] = (),
    longest: int | None = None,
    loop_size: int | None = None,
) -> EvaluationStrategy:
    """Return the evaluation strategy of a problem of a robot.

    A formulation `chosen` by name has no loop. From `loop_size` joints on, a loop is preferred to straight code.
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
        looped and loop_size is not None and len(robot.links) >= loop_size
    ):
        return EvaluationStrategy.STRAIGHT
    return EvaluationStrategy.LOOP if looped else EvaluationStrategy.ARRAYS


def too_long_message(robot: Description, what: str, problem: Problem | None = None, longest: int | None = None) -> str:
    """Return the message for a robot that is too long for straight code."""
    return f"{what} for up to {max_links(robot, problem, longest)} joints; {robot.name} has {len(robot.links)}"
