"""Positions whose quaternions are of unit length, or the sentence that says which are not."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.arrays import package
from armwright.errors import InputError
from armwright.formulations.parts.coordinates import NOT_UNIT
from armwright.mechanism import Ball
from armwright.model.description import Description


def checked_unit_vectors(robot: Description, name: str, q: Array) -> Array:
    """Positions (..., nq) with quaternions of exactly unit length; those that are clearly not are refused."""
    if said := unit_length_error(robot, name, q):
        raise InputError(said)
    return robot.unit(q)


def have_unit_length(robot: Description, q: Array) -> Array:
    """In which of positions (..., nq) all quaternions are of unit length, as `not_unit` has it."""
    good: Array = package(q).ones(q.shape[:-1], bool)
    for ball in robot.balls:
        good &= ~_lengths(q, ball)[1]
    return good


def _lengths(q: Array, ball: Ball) -> tuple[Array, Array]:
    """The lengths of the quaternions of a joint, and which are wrong."""
    lengths: Array = np.linalg.norm(q[..., ball.unit_vector].astype(float, copy=False), axis=-1)
    return lengths, ~(np.abs(lengths * lengths - 1) <= NOT_UNIT)


def unit_length_error(robot: Description, name: str, q: Array) -> str:
    """Which quaternion in positions (..., nq) has another length than one, and which; nothing where none has.

    By `NOT_UNIT` its square may differ: more is no rounding of whoever wrote it.
    """
    for ball in robot.balls:
        lengths, wrong = _lengths(q, ball)
        if wrong.any():
            first = tuple(int(i) for i in np.argwhere(wrong)[0])
            what = "cosine and sine" if ball.kind == "planar" else "quaternion"
            joint = robot.rows[ball.joint].name.rpartition(".")[0]
            which = f"{name}[{', '.join(map(str, first))}]" if first else name
            start, stop = ball.unit_vector.start, ball.unit_vector.stop
            return (
                f"{which}: the {what} of {joint}, entries {start} to {stop - 1} of q, has "
                f"the length {float(lengths[first]):.9g}; expected 1 to within {NOT_UNIT / 2:g}: divide it by its "
                "length, or give robot.unit(q)"
            )
    return ""
