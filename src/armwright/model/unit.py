"""Positions whose quaternions are of unit length, or the sentence that says which are not."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.model.description import Description

NOT_UNIT = 1e-6
"""By so much the length of a quaternion may differ from one: more is no rounding of whoever wrote it."""


def checked_unit(robot: Description, name: str, q: Array) -> Array:
    """Positions (..., nq) with quaternions of exactly unit length; those that are clearly not are refused."""
    for ball in robot.balls:
        lengths = np.linalg.norm(q[..., ball.circle], axis=-1)
        apart = np.abs(lengths - 1)
        if not (apart <= NOT_UNIT).all():
            worst = tuple(int(i) for i in np.unravel_index(np.argmax(~(apart <= NOT_UNIT)), apart.shape))
            what = "cosine and sine" if ball.kind == "planar" else "quaternion"
            joint = robot.rows[ball.joint].name.rpartition(".")[0]
            which = f"{name}[{', '.join(map(str, worst))}]" if worst else name
            raise InputError(
                f"{which}: the {what} of {joint}, entries {ball.circle.start} to {ball.circle.stop - 1} of q, has the "
                f"length {lengths[worst]:.9g}; expected 1 to within {NOT_UNIT:g}: divide it by its length, or give "
                "robot.unit(q)"
            )
    return robot.unit(q)
