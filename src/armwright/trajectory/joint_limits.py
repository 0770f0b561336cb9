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


class LimitedRobot(Protocol):
    """The attributes of a robot that limits require."""

    @property
    def n(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def joints(self) -> Sequence[Any]: ...


class JointLimits(NamedTuple):
    """Magnitudes (n,), inf where there is none; of the efficiency of a gear one where nothing is lost."""

    velocity: Array
    acceleration: Array
    torque: Array
    jerk: Array
    efficiency: Array


def limits_description(limits: JointLimits, joints: Sequence[Any]) -> str:
    """Return which limits there are: 'torque and speed of all joints; no limit of acceleration or jerk'."""
    there, missing = [], []
    for word, values in (
        ("torque", limits.torque),
        ("speed", limits.velocity),
        ("acceleration", limits.acceleration),
        ("jerk", limits.jerk),
    ):
        free = [joint.name for joint, x in zip(joints, values, strict=True) if np.isinf(x)]
        if len(free) == len(joints):
            missing.append(word)
        elif free:
            names = ", ".join(map(shown, free)) if len(free) <= LISTED_JOINTS else f"{len(free)} joints"
            there.append(f"{word} of all joints but {names}")
        else:
            there.append(f"{word} of all joints")
    told = " and ".join(there).replace(" of all joints and ", " and ", 1) if len(there) == 2 else ", ".join(there)
    return told + (f"; no limit of {' or '.join(missing)}" if missing else "")


def limits_of(
    robot: LimitedRobot,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
    jerk: ArrayLike | None,
    efficiency: ArrayLike,
) -> JointLimits:
    """Return the limits given, and those of the robot where torque and velocity are not."""
    n = robot.n
    limits = JointLimits(
        limits_of_moving_joints(robot, "max_velocity") if velocity is None else magnitudes("velocity", velocity, n),
        magnitudes("acceleration", np.inf if acceleration is None else acceleration, n),
        limits_of_moving_joints(robot, "max_torque") if torque is None else magnitudes("torque", torque, n),
        magnitudes("jerk", np.inf if jerk is None else jerk, n),
        magnitudes("efficiency", efficiency, n),
    )
    if (limits.efficiency > 1).any():
        raise InputError(f"efficiency = {limits.efficiency.tolist()}; expected at most one: what passes the gear")
    if not np.isfinite([limits.torque, limits.acceleration]).any():
        raise InputError(
            f"neither torques nor accelerations of {robot.name} are limited, so nothing keeps a motion from being "
            "infinitely fast; give torque= or acceleration=, one for all joints or one for each (in a [trajectory] "
            "acceleration = 8, on the command line --set trajectory.acceleration=8)"
        )
    return limits


def limits_of_moving_joints(robot: LimitedRobot, name: str) -> Array:
    """Return a limit of all joints, none of which may be zero."""
    for joint in robot.joints:
        if getattr(joint, name) == 0:
            raise InputError(
                f"{name} of {shown(joint.name)} is zero, so nothing moves it along a path; give "
                f"{name.removeprefix('max_')}= for every joint, inf for none, or describe the robot without it"
            )
    return limits_of_robot(robot, name)


def limits_of_robot(robot: LimitedRobot, name: str) -> Array:
    """Return a limit of all joints as the robot has it."""
    found = (getattr(joint, name) for joint in robot.joints)
    return np.array([np.inf if x is None else x for x in found], FLOAT64)


def magnitudes(name: str, value: ArrayLike, n: int, zero: bool = False) -> Array:
    """Return given limits, one for all joints or one for each, above zero, or `zero` as well."""
    limits = checked_array(name, value, (), FLOAT64, "one for all joints, or one for each")
    if limits.ndim > 1 or (limits.ndim == 1 and limits.size != n):
        raise InputError(f"{name} has shape {limits.shape}; expected one for all joints, or {n}: one for each")
    if not ((limits >= 0) if zero else (limits > 0)).all():
        raise InputError(f"{name} = {limits.tolist()}; expected numbers {'of zero or more' if zero else 'above zero'}")
    return np.broadcast_to(limits, (n,))
