"""Conversion of a user's torque argument (None, numbers, a law, a Python function) into a checked law of a robot."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

import numpy as np

from armwright.errors import InputError
from armwright.model.description import Description
from armwright.model.unit_vectors import checked_unit_vectors
from armwright.torque.law import Law, check_robot_models
from armwright.torque.prescribed import Called, Free, constant
from armwright.trajectory import Trajectory
from armwright.trajectory.argument_checks import check_scalar_joints


def law_for(torque: Any, robot: Description) -> Law:
    """Return None (free), numbers, a law or a Python function as a law for this robot, checked against it."""
    if isinstance(torque, Law) and torque.reference is not None:
        check_scalar_joints(robot, "a law that follows a trajectory")
    law = as_law(torque, robot.n, robot.nq)
    check_robot_models(law, robot)
    law.check(robot)
    for name, position in law.positions.items():
        checked_unit_vectors(robot, name, np.stack(np.broadcast_arrays(*position), axis=-1))
    return law.sized(robot.n)


def as_law(torque: Any, n: int, nq: int | None = None) -> Law:
    """Return None (free), numbers, a law or a Python function as a law for n freedoms and q of `nq` entries, n if None.

    Numbers of shape (rollouts, n) are for a batch.
    """
    nq = n if nq is None else nq
    if torque is None:
        return Free()
    if isinstance(torque, Law):
        law: Law = _checked_record(torque)
    elif isinstance(torque, Trajectory):
        raise InputError(
            "torque is a trajectory; expected a law that follows it, such as "
            "torque.computed_torque(trajectory, kp, kd) or torque.feed_forward(trajectory)"
        )
    elif callable(torque):
        law = Called(torque)
    else:
        law = constant(torque)
    if law.n not in (None, n):
        unit, note = ("joints", "") if nq == n else ("freedoms", ", those of ball, free and planar joints included")
        raise InputError(f"the torque law is for {law.n} {unit}; the robot has {n}{note}")
    if law.nq not in (None, nq):
        if nq == n:
            raise InputError(f"the torque law is for {law.nq} joints; the robot has {n}")
        raise InputError(
            f"the torque law is for positions of {law.nq} entries; q of the robot has {nq}, one more than freedoms "
            "for each ball, free or planar joint: see robot.neutral"
        )
    return law


def _checked_record(law: Law) -> Law:
    """Return the law, or raise an InputError if it, or a law it is made of, is no dataclass."""
    if not is_dataclass(law):
        raise InputError(
            f"torque law {type(law).__name__} is no dataclass; expected @dataclass(frozen=True) before the class, "
            "and its numbers as fields"
        )
    for part in law.made_of:
        _checked_record(part)
    return law
