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
"""Seconds of the fall of a robot that cannot pick and place."""

LIMIT_SHARE = 0.95
"""The part of a limit that is used, as models are not perfect."""

NOMINAL_DURATION = 4.0
"""Seconds of pick and place without limits."""

MIN_SLOWDOWN, MAX_SLOWDOWN = 0.05, 10.0
"""Smallest and largest duration, relative to the nominal one; at the slowest, only static torques matter."""

SLOWDOWN_STEPS = 40
"""Durations tried between these, before the bisection."""

SLOWDOWN_BISECTIONS = 12


@dataclass(frozen=True)
class MotionSpeed:
    """The duration of a motion in seconds, and the limit that sets it, such as 'the speed of elbow'.

    `limit` is empty without limits. `enough` is False if torque is not enough at any speed. `share` is the part of the
    limits that may be used.
    """

    duration: float
    limit: str = ""
    enough: bool = True
    share: float = LIMIT_SHARE

    def __str__(self) -> str:
        if not self.enough:
            return f"within the limits at no speed: {self.limit} is not enough even {MAX_SLOWDOWN:g} times as slowly"
        if not self.limit:
            return "by default, as there are no limits of speed or torque"
        return f"as fast as {self.share:.0%} of {self.limit} allows"


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
    """Return the times (as fractions of the duration) and positions of pick and place."""
    middle, reach = np.array([_range(joint) for joint in arm.joints]).T
    swing = reach * np.where(np.arange(arm.n) == 0, 1.0, 0.5)
    side = np.where(np.arange(arm.n) == 0, 1.0, 0.0)
    down = np.where(np.arange(arm.n) % 2 == 1, 1.0, -1.0) * (1 - side)
    points = [middle]
    for sideways, lowered in ((1, 0.4), (1, 1.0), (1, 0.4), (-1, 0.4), (-1, 1.0), (-1, 0.4), (0, 0.0)):
        points.append(middle + swing * (sideways * side + lowered * down))
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
    speed = _speed_within(arm, motion, LIMIT_SHARE)
    full = speed if speed.enough else _speed_within(arm, motion, 1.0)
    return full if full.enough else speed


def _speed_within(arm: Robot, motion: Trajectory, share: float) -> MotionSpeed:
    """Return the duration that uses a share of the limits, and its limiting joint."""
    q, qd, qdd = motion(np.linspace(motion.start, motion.end, 201))
    speed, effort = (
        share * np.array([getattr(joint, name) or np.inf for joint in arm.joints])
        for name in ("max_velocity", "max_torque")
    )
    if np.isinf([speed, effort]).all():
        return MotionSpeed(motion.duration)
    parts = np.max(np.abs(qd) / speed, axis=0)
    fastest = max(MIN_SLOWDOWN, float(parts.max()))

    def result(slowdown: float, quantity: str, joint: int, enough: bool = True) -> MotionSpeed:
        limit = f"the {quantity} of {shown(arm.joints[joint].name)}" if quantity else ""
        return MotionSpeed(_rounded(slowdown * motion.duration), limit, enough, share if enough else LIMIT_SHARE)

    def torque_use(slowdown: float) -> tuple[float, int]:
        """Return the largest used part of a torque limit, and its joint."""
        used = np.max(np.abs(torques(arm.mechanism(), q, qd / slowdown, qdd / slowdown**2)), axis=1) / effort
        return float(used.max()), int(used.argmax())

    used, joint = torque_use(fastest)
    if used <= 1:
        return result(fastest, "speed" if parts.max() >= MIN_SLOWDOWN else "", int(parts.argmax()))
    too_fast = fastest
    for slow in np.geomspace(fastest, MAX_SLOWDOWN * max(1.0, fastest), SLOWDOWN_STEPS)[1:]:
        if torque_use(slow)[0] <= 1:
            break
        too_fast = slow
    else:
        return result(max(1.0, float(parts.max())), "torque", torque_use(slow)[1], enough=False)
    for _ in range(SLOWDOWN_BISECTIONS):
        middle = float(np.sqrt(too_fast * slow))
        used, weakest = torque_use(middle)
        too_fast, slow, joint = (too_fast, middle, joint) if used <= 1 else (middle, slow, weakest)
    return result(slow, "torque", joint)


def _rounded(seconds: float) -> float:
    """Return a duration rounded up to a tenth of a second."""
    return math.ceil(10 * seconds - 1e-9) / 10


def _range(joint: Any) -> tuple[float, float]:
    """Return the middle of a joint's range, and the largest distance of the motion from it."""
    default = 0.3 if joint.prismatic else 0.9
    if joint.limits is None:
        return (0.5 if joint.prismatic else 0.0), default
    low, high = joint.limits
    return (low + high) / 2, min(default, 0.4 * (high - low))
