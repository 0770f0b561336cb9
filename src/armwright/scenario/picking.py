"""A motion for any robot, where nothing else is said: pick and place within the limits of its joints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from armwright import trajectory
from armwright.formulations import default_for
from armwright.robot import Robot
from armwright.trajectory import Trajectory

FALL = 1.0
"""Seconds for which a robot falls that cannot pick and place."""

SPARE = 0.95
"""The part of a limit that is used, as neither the robot nor its model is perfect."""

SLOWEST = 10.0
"""Times as long: what is too heavy then is too heavy to be held, however slowly."""


def picked_and_placed(arm: Robot, seconds: float | None = None) -> str:
    """The scenario of that as a text: from the middle of the range down to one side, up, over to the other, and back.

    It takes 4 s, longer where joints would be too fast or torques too large for their limits, or as long as it is
    told. A robot with ball or free joints has no such range: it falls.
    """
    if arm.balls:
        return f"# It falls from where every joint is at zero.\nduration = {seconds or FALL:g}\nevery = 0.01\n"
    middle, reach = np.array([_range(joint) for joint in arm.joints]).T
    swing = reach * np.where(np.arange(arm.n) == 0, 1.0, 0.5)
    side = np.where(np.arange(arm.n) == 0, 1.0, 0.0)
    down = np.where(np.arange(arm.n) % 2 == 1, 1.0, -1.0) * (1 - side)
    points = [middle]
    for across, lowered in ((1, 0.4), (1, 1.0), (1, 0.4), (-1, 0.4), (-1, 1.0), (-1, 0.4), (0, 0.0)):
        points.append(middle + swing * (across * side + lowered * down))
    parts = np.array([0, 0.16, 0.26, 0.36, 0.64, 0.74, 0.84, 1.0])
    times = np.round((seconds or lasting(arm, trajectory.quintic(4.0 * parts, points))) * parts, 4)
    rows = ",\n    ".join(str(row) for row in np.round(points, 4).tolist())
    return (
        "# Pick and place: down to one side, up, over to the other side, down, up and back.\n"
        f'every = 0.01\n\n[integrator]\nmethod = "dop853"\nrtol = 1e-9\n\n'
        f'[trajectory]\ntype = "quintic"\ntimes = {times.tolist()}\npoints = [\n    {rows},\n]\n\n'
        '[torque]\nlaw = "computed_torque"\nkp = 100\nkd = 20\n'
    )


def home(arm: Robot) -> list[float]:
    """The middle of the range of every joint, where pick and place begins; at zero, if it has quaternions."""
    if arm.balls:
        return [float(x) for x in arm.neutral]
    return [round(_range(joint)[0], 4) for joint in arm.joints]


def lasting(arm: Robot, motion: Trajectory) -> float:
    """How long a motion takes within the limits of the joints, up to a tenth of a second; at least as long as it is."""
    return math.ceil(10 * motion.duration * _slower(arm, motion) - 1e-9) / 10


def _slower(arm: Robot, motion: Trajectory) -> float:
    """How many times as long a motion has to take for the speeds and torques of the joints to stay below their limits.

    Torques are seen along the motion by inverse dynamics as it is written, on arrays: nothing need be compiled.
    """
    q, qd, qdd = motion(np.linspace(motion.start, motion.end, 201))
    speed, effort = (
        SPARE * np.array([getattr(joint, name) or np.inf for joint in arm.joints])
        for name in ("max_velocity", "max_torque")
    )
    factor = max(1.0, float(np.max(np.abs(qd) / speed)))
    if np.isinf(effort).all():
        return factor
    dynamics = default_for("inverse_dynamics", arm.mechanism())
    for slow in np.geomspace(factor, SLOWEST * factor, 25):
        tau = dynamics(arm.mechanism(), *(list(x.T) for x in (q, qd / slow, qdd / slow**2)))
        if all(np.max(np.abs(x)) <= most for x, most in zip(tau, effort, strict=True)):
            return float(slow)
    return factor


def _range(joint: Any) -> tuple[float, float]:
    """The middle of a joint's range, and how far a motion may go from there."""
    default = 0.3 if joint.prismatic else 0.9
    if joint.limits is None:
        return (0.5 if joint.prismatic else 0.0), default
    low, high = joint.limits
    return (low + high) / 2, min(default, 0.4 * (high - low))
