"""Checks of a trajectory against the limits of joints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import whole_number
from armwright.errors import InputError
from armwright.names import shown
from armwright.trajectory.argument_checks import FLOAT64, check_scalar_joints
from armwright.trajectory.joint_limits import RobotWithJoints, magnitudes
from armwright.trajectory.motion_base import Trajectory

PLANNED_LIMIT_TOLERANCE = 1e-9  # relative: a motion planned to reach a limit exactly does not exceed it
PEAK_REFINEMENTS = 4  # of the time of a peak, each ten times finer
QUANTITY_NAMES = ("position", "velocity", "acceleration")
QUANTITY_UNITS = {False: ("rad", "rad/s", "rad/s^2"), True: ("m", "m/s", "m/s^2")}


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
    """The limits that a trajectory exceeds; false if there are none."""

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
    """Return the limits that joints exceed, by how much and when; the report is false if there are none.

    Limits of position are those of the robot, and by default those of velocity too. Limits of velocity and acceleration
    are magnitudes, one for all joints or one for each, inf where there is none. The motion is sampled at `samples`
    equal steps and around every knot, and more densely around each peak; a peak between two samples can be missed.
    """
    check_scalar_joints(robot, "a trajectory")
    n = len(robot.joints)
    if trajectory.n != n:
        raise InputError(f"the trajectory has {trajectory.n} joints and the robot {n}; expected equal numbers")
    speeds = [joint.max_velocity or math.inf for joint in robot.joints] if velocity is None else velocity
    bounds = [_positions(robot), _magnitudes("velocity", speeds, n), _magnitudes("acceleration", acceleration, n)]
    times = sample_times(trajectory, whole_number("samples", samples, 2))
    excesses = tuple(
        excess
        for order, values in enumerate(trajectory(times))
        for joint in range(n)
        for side in (0, 1)
        if (excess := _excess(trajectory, robot, order, joint, side, bounds[order][side, joint], times, values))
    )
    return LimitReport(excesses)


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
    """Return the excess over the lower (side 0) or upper (side 1) limit of one joint, or None."""
    if not math.isfinite(limit):
        return None
    sign = 1.0 if side else -1.0
    beyond = sign * (values[:, joint] - limit)
    slack = PLANNED_LIMIT_TOLERANCE * max(1.0, abs(limit)) if order == 0 else PLANNED_LIMIT_TOLERANCE * abs(limit)
    time, peak = refined_peak(
        lambda t: sign * trajectory(t)[order][:, joint], times, int(np.argmax(beyond)), PEAK_REFINEMENTS
    )
    value = sign * peak
    if sign * (value - limit) <= slack:
        return None
    outside = np.append(times[beyond > slack], time)
    model = robot.joints[joint]
    unit = QUANTITY_UNITS[bool(model.prismatic)][order]
    begin, end = float(outside.min()), float(outside.max())
    return Excess(joint, model.name, QUANTITY_NAMES[order], float(limit), value, time, begin, end, unit)


def refined_peak(values: Callable[[Array], Array], times: Array, k: int, refinements: int) -> tuple[float, float]:
    """Return time and value of the maximum around sample k, each refinement ten times finer."""
    low, high = times[max(k - 1, 0)], times[min(k + 1, len(times) - 1)]
    best_time, best = float(times[k]), -math.inf
    for _ in range(refinements):
        nodes = np.append(np.linspace(low, high, 21), best_time)
        samples = values(nodes)
        at = int(np.argmax(samples))
        best_time, best = float(nodes[at]), float(samples[at])
        width = (high - low) / 20
        low, high = max(times[0], best_time - width), min(times[-1], best_time + width)
    return best_time, best


def sample_times(trajectory: Trajectory, samples: int) -> Array:
    """Return equally spaced times, the knots, and times just after them, where accelerations may have jumped."""
    knots = np.array(trajectory.knots)
    after = knots[:-1] + 1e-9 * np.diff(knots)
    return np.unique(np.concatenate([np.linspace(knots[0], knots[-1], samples), knots, after]))


def _positions(robot: RobotWithJoints) -> Array:
    """Return the lowest and highest position of every joint, shape (2, n)."""
    limits = [joint.limits if joint.limits is not None else (-math.inf, math.inf) for joint in robot.joints]
    return np.array(limits, FLOAT64).T


def _magnitudes(name: str, value: ArrayLike | None, n: int) -> Array:
    """Return the lowest and highest rate of every joint, shape (2, n)."""
    limits = magnitudes(name, math.inf if value is None else value, n)
    return np.stack([-limits, limits])
