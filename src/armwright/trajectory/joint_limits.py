"""Limits of joints for motions that reach them: magnitudes, inf where there is no limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array
from armwright.errors import InputError
from armwright.names import shown
from armwright.trajectory.argument_checks import FLOAT64

LISTED_JOINTS = 3
"""Largest number of joints without a limit that are listed by name."""


class RobotWithJoints(Protocol):
    """A robot with joints: a name, `prismatic`, `limits` (low, high) or None, `max_velocity` and `max_torque` each."""

    @property
    def joints(self) -> Sequence[Any]: ...


class LimitedRobot(RobotWithJoints, Protocol):
    """The attributes of a robot that limits require."""

    @property
    def n(self) -> int: ...
    @property
    def name(self) -> str: ...


class JointLimits(NamedTuple):
    """Magnitudes (n,), inf where there is no limit; the efficiency of each gear is 1 without losses."""

    velocity: Array
    acceleration: Array
    torque: Array
    jerk: Array
    efficiency: Array


def limits_description(limits: JointLimits, joints: Sequence[Any]) -> str:
    """Describe the limits: 'torque and speed of all joints; no limit of acceleration or jerk'."""
    limited, unlimited = [], []
    for quantity, values in (
        ("torque", limits.torque),
        ("speed", limits.velocity),
        ("acceleration", limits.acceleration),
        ("jerk", limits.jerk),
    ):
        free = [joint.name for joint, x in zip(joints, values, strict=True) if np.isinf(x)]
        if len(free) == len(joints):
            unlimited.append(quantity)
        elif free:
            names = ", ".join(map(shown, free)) if len(free) <= LISTED_JOINTS else f"{len(free)} joints"
            limited.append(f"{quantity} of all joints but {names}")
        else:
            limited.append(f"{quantity} of all joints")
    text = " and ".join(limited).replace(" of all joints and ", " and ", 1) if len(limited) == 2 else ", ".join(limited)
    return text + (f"; no limit of {' or '.join(unlimited)}" if unlimited else "")


def limits_of(
    robot: LimitedRobot,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
    jerk: ArrayLike | None,
    efficiency: ArrayLike,
) -> JointLimits:
    """Return the limits; torque and velocity are by default those of the robot, the others infinite."""
    n = robot.n
    limits = JointLimits(
        limits_of_moving_joints(robot, "max_velocity") if velocity is None else magnitudes("velocity", velocity, n),
        magnitudes("acceleration", np.inf if acceleration is None else acceleration, n),
        limits_of_moving_joints(robot, "max_torque") if torque is None else magnitudes("torque", torque, n),
        magnitudes("jerk", np.inf if jerk is None else jerk, n),
        magnitudes("efficiency", efficiency, n),
    )
    if (limits.efficiency > 1).any():
        raise InputError(f"efficiency = {limits.efficiency.tolist()}; expected at most 1")
    if not np.isfinite([limits.torque, limits.acceleration]).any():
        raise InputError(
            f"neither torques nor accelerations of {robot.name} are limited, so nothing keeps a motion from being "
            "infinitely fast; give torque= or acceleration=, one for all joints or one for each (in a [trajectory] "
            "acceleration = 8, on the command line --set trajectory.acceleration=8)"
        )
    return limits


def limits_of_moving_joints(robot: LimitedRobot, name: str) -> Array:
    """Return a limit of all joints, or raise an InputError if one is zero."""
    for joint in robot.joints:
        if getattr(joint, name) == 0:
            raise InputError(
                f"{name} of {shown(joint.name)} is zero, so nothing moves it along a path; give "
                f"{name.removeprefix('max_')}= for every joint, inf for none, or describe the robot without it"
            )
    return limits_of_robot(robot, name)


def limits_of_robot(robot: LimitedRobot, name: str) -> Array:
    """Return a limit of all joints of a robot, inf where it has none."""
    return np.array([np.inf if (x := getattr(joint, name)) is None else x for joint in robot.joints], FLOAT64)


def magnitudes(name: str, value: ArrayLike, n: int, allow_zero: bool = False) -> Array:
    """Return limits (n,), from one for all joints or one for each; they are above zero unless `allow_zero`."""
    limits = checked_array(name, value, (), FLOAT64, "one for all joints, or one for each")
    if limits.ndim > 1 or (limits.ndim == 1 and limits.size != n):
        raise InputError(f"{name} has shape {limits.shape}; expected one for all joints, or {n}: one for each")
    if not ((limits >= 0) if allow_zero else (limits > 0)).all():
        expected = "of zero or more" if allow_zero else "above zero, inf for no limit"
        raise InputError(f"{name} = {limits.tolist()}; expected numbers {expected}")
    return np.broadcast_to(limits, (n,))
