"""Positions at which the loops that forces hold are closed, and velocities that keep them so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armwright.algebra import Array
from armwright.errors import UnreachableError
from armwright.formulations.parts.coordinates import tangent
from armwright.model.description import Description

STEPS = 100
"""Of Newton's method, until it is given up."""

LARGEST = 0.3
"""Radians or metres of a step."""

CLOSED = 1e-10
"""Metres and radians: what is left of a loop that is closed, at most."""

RANK = 1e-9
"""Of the largest singular value: equations that say no more than others do have none above it."""


def closed(
    robot: Description,
    errors: Callable[[Array], Array],
    jacobian: Callable[[Array], Array],
    q: Array,
    qd: Array,
) -> tuple[Array, Array]:
    """The nearest such position by Newton's method, and the nearest such velocity there."""
    best, least = q, np.inf
    for _ in range(STEPS):
        g = errors(q).ravel()
        if np.abs(g).max() >= 0.5 * least and least <= CLOSED:
            break
        best, least = (q, np.abs(g).max()) if np.abs(g).max() < least else (best, least)
        step = -np.linalg.pinv(_rows(jacobian(q)), rcond=RANK) @ g
        step *= min(1.0, LARGEST / max(float(np.abs(step).max()), 1e-300))
        q = robot.unit(q + np.array(tangent(robot.mechanism(), q.tolist()), float) @ step)
    if least > CLOSED:
        raise UnreachableError(
            f"the loops of {robot.name} cannot be closed near this position: {least:.3g} m or rad are left; expected a "
            "position nearer to one at which they close",
            best,
        )
    J = _rows(jacobian(best))
    return best, qd - np.linalg.pinv(J, rcond=RANK) @ (J @ qd)


def _rows(J: Array) -> Array:
    return J.reshape(-1, J.shape[-1])
