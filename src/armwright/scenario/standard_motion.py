"""The standard motion of any robot: pick and place within the limits of its joints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright import trajectory
from armwright.algebra import Array
from armwright.names import shown
from armwright.robot import Robot
from armwright.trajectory import Trajectory
from armwright.trajectory.torques import torques

FALL_DURATION = 1.0
"""Seconds for which a robot falls that cannot pick and place."""

LIMIT_SHARE = 0.95
"""The part of a limit that is used, as neither the robot nor its model is perfect."""

NOMINAL_DURATION = 4.0
"""Seconds of pick and place where no limit says another."""

MIN_SLOWDOWN, MAX_SLOWDOWN = 0.05, 10.0
"""Times as long as nominal: what is too heavy at the slowest pace is too heavy to be held, however slowly."""

SLOWDOWN_STEPS = 40
"""Paces that are tried between these, before the pace is found more closely."""

SLOWDOWN_BISECTIONS = 12


@dataclass(frozen=True)
class MotionSpeed:
    """The duration of a motion in seconds, and the limit that sets it, such as 'the speed of elbow'.

    `limit` is empty where no limit is near. `enough` is False where torque is not enough at any pace. `share` is the
    part of the limits that may be used.
    """

    duration: float
    limit: str = ""
    enough: bool = True
    share: float = LIMIT_SHARE

    def __str__(self) -> str:
        if not self.enough:
            return f"at no pace within the limits: {self.limit} is not enough even {MAX_SLOWDOWN:g} times as slowly"
        if not self.limit:
            return "where no limit of speed or torque tells another"
        return f"as brisk as {self.share:.0%} of {self.limit} allows"


def pick_and_place_scenario(arm: Robot, seconds: float | None = None) -> str:
    """Return the scenario of a pick and place: from the middle of the range down to one side, up, over, and back.

    It takes `seconds`; by default it is as fast as the limits of the joints allow, or takes 4 s without limits. A robot
    with ball or free joints has no such range: it falls.
    """
    if arm.balls:
        return f"# It falls from where every joint is at zero.\nduration = {seconds or FALL_DURATION:g}\nevery = 0.01\n"
    parts, points = _stations(arm)
    times = np.round((seconds or pick_and_place_speed(arm).duration) * parts, 4)
    rows = ",\n    ".join(str(row) for row in np.round(points, 4).tolist())
    return (
        "# Pick and place: down to one side, up, over to the other side, down, up and back.\n"
        f'every = 0.01\n\n[integrator]\nmethod = "dop853"\nrtol = 1e-9\n\n'
        f'[trajectory]\ntype = "quintic"\ntimes = {times.tolist()}\npoints = [\n    {rows},\n]\n\n'
        '[torque]\nlaw = "computed_torque"\nkp = 100\nkd = 20\n'
    )


def pick_and_place_speed(arm: Robot) -> MotionSpeed:
    """Return the duration of pick and place and what limits it."""
    parts, points = _stations(arm)
    return pace(arm, trajectory.quintic(NOMINAL_DURATION * parts, points))


def _stations(arm: Robot) -> tuple[Array, Array]:
    """Return the times (as parts of the whole) and positions of pick and place."""
    middle, reach = np.array([_range(joint) for joint in arm.joints]).T
    swing = reach * np.where(np.arange(arm.n) == 0, 1.0, 0.5)
    side = np.where(np.arange(arm.n) == 0, 1.0, 0.0)
    down = np.where(np.arange(arm.n) % 2 == 1, 1.0, -1.0) * (1 - side)
    points = [middle]
    for across, lowered in ((1, 0.4), (1, 1.0), (1, 0.4), (-1, 0.4), (-1, 1.0), (-1, 0.4), (0, 0.0)):
        points.append(middle + swing * (across * side + lowered * down))
    return np.array([0, 0.16, 0.26, 0.36, 0.64, 0.74, 0.84, 1.0]), np.array(points)


def home(arm: Robot) -> list[float]:
    """Return the start of pick and place: the middle of every joint's range; the neutral position with quaternions."""
    if arm.balls:
        return [float(x) for x in arm.neutral]
    return [round(_range(joint)[0], 4) for joint in arm.joints]


def pace(arm: Robot, motion: Trajectory) -> MotionSpeed:
    """Return the duration of a motion within a share of the limits of the joints, and what limits it.

    If that is impossible, it uses the limits fully. Without limits, or if the robot is too heavy at any speed, the
    duration does not change.
    """
    found = _pace(arm, motion, LIMIT_SHARE)
    whole = found if found.enough else _pace(arm, motion, 1.0)
    return whole if whole.enough else found


def _pace(arm: Robot, motion: Trajectory, share: float) -> MotionSpeed:
    """Return the duration, and its limiting joint, that uses a share of the limits."""
    q, qd, qdd = motion(np.linspace(motion.start, motion.end, 201))
    speed, effort = (
        share * np.array([getattr(joint, name) or np.inf for joint in arm.joints])
        for name in ("max_velocity", "max_torque")
    )
    if np.isinf([speed, effort]).all():
        return MotionSpeed(motion.duration)
    parts = np.max(np.abs(qd) / speed, axis=0)
    swift, fastest = (
        max(MIN_SLOWDOWN, float(parts.max())),
        f"the speed of {shown(arm.joints[int(parts.argmax())].name)}",
    )

    def weakest(slow: float) -> tuple[float, int]:
        """The largest part of a torque that is needed at a pace, and the joint."""
        used = np.max(np.abs(torques(arm.mechanism(), q, qd / slow, qdd / slow**2)), axis=1) / effort
        return float(used.max()), int(used.argmax())

    first, joint = weakest(swift)
    if first <= 1:
        return MotionSpeed(
            _rounded(swift * motion.duration), fastest if parts.max() >= MIN_SLOWDOWN else "", share=share
        )
    before = swift
    for slow in np.geomspace(swift, MAX_SLOWDOWN * max(1.0, swift), SLOWDOWN_STEPS)[1:]:
        used, _ = weakest(slow)
        if used <= 1:
            break
        before = slow
    else:
        name = shown(arm.joints[weakest(slow)[1]].name)
        return MotionSpeed(
            _rounded(max(1.0, float(parts.max())) * motion.duration), f"the torque of {name}", enough=False
        )
    for _ in range(SLOWDOWN_BISECTIONS):
        middle = float(np.sqrt(before * slow))
        used, at = weakest(middle)
        before, slow, joint = (before, middle, joint) if used <= 1 else (middle, slow, at)
    return MotionSpeed(_rounded(slow * motion.duration), f"the torque of {shown(arm.joints[joint].name)}", share=share)


def _rounded(seconds: float) -> float:
    """Up to a tenth of a second."""
    return math.ceil(10 * seconds - 1e-9) / 10


def _range(joint: Any) -> tuple[float, float]:
    """The middle of a joint's range, and how far a motion may go from there."""
    default = 0.3 if joint.prismatic else 0.9
    if joint.limits is None:
        return (0.5 if joint.prismatic else 0.0), default
    low, high = joint.limits
    return (low + high) / 2, min(default, 0.4 * (high - low))
