"""Ranges of joints for inverse kinematics, and the reach of an arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError, ModelError
from armwright.kinematics.step import JointRange
from armwright.model.description import Description
from armwright.model.records import Frame, JointModel

FULL_TURN = 6.28
"""The range in radians above which a joint may rotate without end."""


def limits_of(joint: JointModel) -> tuple[float, float]:
    """Return the limits of a joint, infinite if it has none."""
    low, high = joint.limits or (-math.inf, math.inf)
    if low > high:
        raise ModelError(f"{joint.name}: its limits are reversed: lower {low:g} above upper {high:g}")
    return low, high


def is_periodic(robot: Description, joint: JointModel) -> bool:
    """Return True if a full turn of a joint leaves the poses of all links as they are, followers included."""
    follows = [(row, leader) for row in robot.followers if row.mimic is not None for leader in row.mimic.leaders]
    followers = [(row, factor) for row, (name, factor) in follows if name == joint.name]
    return not joint.prismatic and all(not row.prismatic and float(factor).is_integer() for row, factor in followers)


def joint_range(joint: JointModel, periodic: bool) -> JointRange:
    """Return the range of a joint; if `periodic` and a full turn wide, it has no end."""
    low, high = limits_of(joint)
    full_turn = FULL_TURN < high - low < math.inf
    return JointRange(low, high, full_turn and periodic)


def start_range(joint: JointModel, length: float) -> tuple[float, float]:
    """Return the range of starts: the limits, or else a full turn, or twice the length of the arm."""
    low, high = limits_of(joint)
    half = length if joint.prismatic else math.pi
    if not math.isfinite(low):
        low = high - 2 * half if math.isfinite(high) else -half
    return low, high if math.isfinite(high) else low + 2 * half


def per_entry(robot: Description, of_joints: Sequence[Any], of_balls: Any) -> Array:
    """Return one row per entry of q from one per joint; all entries of a ball have `of_balls`."""
    rows = list(of_joints)
    for ball in reversed(robot.balls):
        rows[ball.rates.start : ball.rates.stop] = [of_balls] * (ball.freedoms + 1)
    return np.array(rows)


def moving_frame(frame: Frame) -> Frame:
    """Return a frame; raise an InputError if it is fixed to the base."""
    if frame.link < 0:
        raise InputError(f"frame {frame.name!r} is fixed to the base; expected one that moves")
    return frame


def reach(robot: Description, end: Frame) -> float:
    """Return the length of the outstretched chain from the base to a frame, or 1 if it is zero."""
    length = float(np.linalg.norm(np.asarray(end.pose)[:3, 3]))
    rows, chain = robot.rows, set(robot.mechanism().inward_from(robot.link_rows[end.link]))
    for joint in (row for i, row in enumerate(rows) if i in chain):
        travel = [abs(joint.d + x) for x in limits_of(joint) if joint.prismatic and math.isfinite(x)]
        length += math.hypot(joint.a, joint.y, abs(joint.z) + max([abs(joint.d), *travel]))
    return length or 1.0
