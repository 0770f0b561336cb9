"""Positions whose quaternions and cosine-sine pairs have unit length, or a message that names those that do not."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.arrays import package
from armwright.errors import InputError
from armwright.formulations.parts.coordinates import MAX_UNIT_ERROR
from armwright.mechanism import Ball
from armwright.model.description import Description


def checked_unit_vectors(robot: Description, name: str, q: Array) -> Array:
    """Return positions (..., nq) with unit vectors scaled to exact length, or raise an InputError for wrong ones."""
    if message := unit_length_error(robot, name, q):
        raise InputError(message)
    return robot.unit(q)


def have_unit_length(robot: Description, q: Array) -> Array:
    """Return a mask of the positions (..., nq) whose unit vectors have unit length, as in `unit_length_error`."""
    good: Array = package(q).ones(q.shape[:-1], bool)
    for ball in robot.balls:
        good &= ~_lengths(q, ball)[1]
    return good


def _lengths(q: Array, ball: Ball) -> tuple[Array, Array]:
    """Return the lengths of the unit vectors of a joint, and a mask of the wrong ones."""
    lengths: Array = np.linalg.norm(q[..., ball.unit_vector].astype(float, copy=False), axis=-1)
    return lengths, ~(np.abs(lengths * lengths - 1) <= MAX_UNIT_ERROR)


def unit_length_error(robot: Description, name: str, q: Array) -> str:
    """Return a message on the first unit vector in positions (..., nq) without unit length, or an empty text.

    Its square may differ from one by `MAX_UNIT_ERROR`; a larger difference is not due to rounding.
    """
    for ball in robot.balls:
        lengths, wrong = _lengths(q, ball)
        if wrong.any():
            first = tuple(int(i) for i in np.argwhere(wrong)[0])
            what = "cosine and sine" if ball.kind == "planar" else "quaternion"
            joint = robot.rows[ball.joint].name.rpartition(".")[0]
            place = f"{name}[{', '.join(map(str, first))}]" if first else name
            start, stop = ball.unit_vector.start, ball.unit_vector.stop
            return (
                f"{place}: the {what} of {joint}, entries {start} to {stop - 1} of q, has "
                f"the length {float(lengths[first]):.9g}; expected 1 to within {MAX_UNIT_ERROR / 2:g}: divide it by "
                "its length, or give robot.unit(q)"
            )
    return ""
