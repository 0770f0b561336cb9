"""Checks of a trajectory against the limits of joints."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array, whole_number
from armwright.errors import InputError
from armwright.names import shown
from armwright.trajectory.argument_checks import FLOAT64, check_numbers
from armwright.trajectory.motion_base import Trajectory

PLANNED_LIMIT_TOLERANCE = 1e-9  # relative: a motion planned to reach a limit exactly does not exceed it
PEAK_REFINEMENTS = 4  # refinements of the time of a peak, each ten times finer
QUANTITY_NAMES = ("position", "velocity", "acceleration")
QUANTITY_UNITS = {False: ("rad", "rad/s", "rad/s^2"), True: ("m", "m/s", "m/s^2")}


class RobotWithJoints(Protocol):
    """A robot with joints: a name, `prismatic`, `limits` (low, high) or None, and `max_velocity` each."""

    @property
    def joints(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Excess:
    """One limit of one joint that is exceeded: the worst value and its time, and the first and last time beyond it.

    `joint` is its place in q, from 0; messages count from 1.
    """

    joint: int
    name: str
    quantity: str
    limit: float
    value: float
    time: float
    begin: float
    end: float
    unit: str

    @property
    def by(self) -> float:
        """The amount by which the limit is exceeded."""
        return abs(self.value - self.limit)

    def __str__(self) -> str:
        side, of = "above" if self.value > self.limit else "below", self.unit
        return (
            f"joint {self.joint + 1} ({shown(self.name)}): {self.quantity} {self.value:.6g} {of} is {self.by:.3g} "
            f"{side} the limit {self.limit:.6g} {of} at t = {self.time:.6g} s "
            f"(first beyond it at {self.begin:.6g} s, last at {self.end:.6g} s)"
        )


@dataclass(frozen=True)
class LimitReport:
    """Every limit exceeded, none if all is well: then the report is false."""

    excesses: tuple[Excess, ...]

    def __bool__(self) -> bool:
        return bool(self.excesses)

    def __len__(self) -> int:
        return len(self.excesses)

    def __iter__(self) -> Iterator[Excess]:
        return iter(self.excesses)

    def __str__(self) -> str:
        if not self.excesses:
            return "all joints stay within their limits"
        count = f"{len(self)} limit{'s' if len(self) > 1 else ''} exceeded:"
        return "\n".join([count, *(f"  {excess}" for excess in self)])


def check_limits(
    trajectory: Trajectory,
    robot: RobotWithJoints,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    samples: int = 1001,
) -> LimitReport:
    """Which joints leave their limits, by how much and when. The report is false if none does.

    Limits of position are those of the robot, and of velocity too if none are given. Limits of velocity and
    acceleration are magnitudes, one for all joints or one for each, inf where there is none. The motion is looked at in
    `samples` equal steps and around every knot, and more closely around each peak; what happens between two samples and
    is over before the next can be missed.
    """
    check_numbers(robot, "a trajectory")
    n = len(robot.joints)
    if trajectory.n != n:
        raise InputError(f"the trajectory has {trajectory.n} joints and the robot {n}; expected equal numbers")
    speeds = [joint.max_velocity or math.inf for joint in robot.joints] if velocity is None else velocity
    bounds = [_positions(robot), _magnitudes("velocity", speeds, n), _magnitudes("acceleration", acceleration, n)]
    times = _sample_times(trajectory, whole_number("samples", samples, 2))
    found = [
        excess
        for order, values in enumerate(trajectory(times))
        for joint in range(n)
        for side in (0, 1)
        if (excess := _excess(trajectory, robot, order, joint, side, bounds[order][side, joint], times, values))
    ]
    return LimitReport(tuple(found))


def _excess(
    trajectory: Trajectory,
    robot: RobotWithJoints,
    order: int,
    joint: int,
    side: int,
    limit: float,
    times: Array,
    values: Array,
) -> Excess | None:
    """The excess over the lower (side 0) or upper (side 1) limit of one joint, if there is one."""
    if not math.isfinite(limit):
        return None
    sign = 1.0 if side else -1.0
    beyond = sign * (values[:, joint] - limit)
    slack = PLANNED_LIMIT_TOLERANCE * max(1.0, abs(limit)) if order == 0 else PLANNED_LIMIT_TOLERANCE * abs(limit)
    time, value = _peak(trajectory, order, joint, sign, times, int(np.argmax(beyond)))
    if sign * (value - limit) <= slack:
        return None
    outside = np.append(times[beyond > slack], time)
    model = robot.joints[joint]
    unit = QUANTITY_UNITS[bool(model.prismatic)][order]
    begin, end = float(outside.min()), float(outside.max())
    return Excess(joint, model.name, QUANTITY_NAMES[order], float(limit), value, time, begin, end, unit)


def _peak(trajectory: Trajectory, order: int, joint: int, sign: float, times: Array, k: int) -> tuple[float, float]:
    """When and how far a value goes around sample k, looked at more and more closely."""
    low, high = times[max(k - 1, 0)], times[min(k + 1, len(times) - 1)]
    best_time, best = float(times[k]), -math.inf
    for _ in range(PEAK_REFINEMENTS):
        near = np.append(np.linspace(low, high, 21), best_time)
        values = sign * trajectory(near)[order][:, joint]
        at = int(np.argmax(values))
        best_time, best = float(near[at]), float(values[at])
        width = (high - low) / 20
        low, high = max(times[0], best_time - width), min(times[-1], best_time + width)
    return best_time, sign * best


def _sample_times(trajectory: Trajectory, samples: int) -> Array:
    """Equal steps, the knots, and the moments just after them, where the acceleration may have jumped."""
    knots = np.array(trajectory.knots)
    after = knots[:-1] + 1e-9 * np.diff(knots)
    return np.unique(np.concatenate([np.linspace(knots[0], knots[-1], samples), knots, after]))


def _positions(robot: RobotWithJoints) -> Array:
    """Lowest and highest position of every joint, shape (2, n)."""
    limits = [joint.limits if joint.limits is not None else (-math.inf, math.inf) for joint in robot.joints]
    return np.array(limits, FLOAT64).T


def _magnitudes(name: str, value: ArrayLike | None, n: int) -> Array:
    """Lowest and highest rate of every joint, shape (2, n)."""
    limits = checked_array(name, math.inf if value is None else value, (), FLOAT64, "one limit, or one for each joint")
    if limits.ndim > 1 or (limits.ndim == 1 and limits.size != n):
        raise InputError(f"{name} has shape {limits.shape}; expected one limit, or {n}: one for each joint")
    if not (limits > 0).all():
        raise InputError(f"{name} = {limits.tolist()} must be above zero, or inf for no limit")
    return np.stack([np.broadcast_to(-limits, (n,)), np.broadcast_to(limits, (n,))])
