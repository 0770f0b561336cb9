"""Positions at which the loops that forces hold are closed, and velocities that keep them so."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelWarning, UnreachableError
from armwright.formulations.parts.coordinates import tangent
from armwright.model.description import Description

STEPS = 100
"""Of Newton's method, until it is given up."""

LARGEST = 0.3
"""Radians or metres of a step."""

EXACT = 1e-10
"""Metres and radians that Newton's method leaves of a loop that can be closed, at most."""

OPEN = 1e-6
"""Metres and radians by which a loop that counts as closed is open, at most: in a state, and along a simulation."""

MISFIT = 1e-2
"""Metres and radians by which a loop may be open that cannot be closed, as lengths in files are rounded."""

RANK = 1e-9
"""Of the largest singular value: equations that say no more than others do have none above it."""


def closed(
    robot: Description,
    errors: Callable[[Array], Array],
    jacobian: Callable[[Array], Array],
    q: Array,
    qd: Array,
) -> tuple[Array, Array]:
    """Return the nearest such position by Newton's method, and the nearest such velocity there.

    Where loops cannot be closed, but for a little, it is the position at which they are open the least, and a warning
    says by how much.
    """
    best, least = q, np.inf
    for _ in range(STEPS):
        g = errors(q).ravel()
        size = float(np.linalg.norm(g))
        if size >= 0.5 * least and least <= EXACT:
            break
        best, least = (q, size) if size < least else (best, least)
        step = -np.linalg.pinv(_rows(jacobian(q)), rcond=RANK) @ g
        step *= min(1.0, LARGEST / max(float(np.abs(step).max()), 1e-300))
        q = robot.unit(q + np.array(tangent(robot.mechanism(), q.tolist()), float) @ step)
    each = np.abs(errors(best)).max(axis=-1)
    if (apart := float(each.max())) > OPEN:
        name = [loop.name for loop in robot.loops if not loop.dependent][int(each.argmax())]
        _tell(robot, name, apart, best, fits(errors, jacobian, best))
    J = _rows(jacobian(best))
    return best, qd - np.linalg.pinv(J, rcond=RANK) @ (J @ qd)


def fits(errors: Callable[[Array], Array], jacobian: Callable[[Array], Array], q: Array) -> bool:
    """Whether loops at a position are closed, or as little open as they can be there."""
    g = errors(q).ravel()
    J = _rows(jacobian(q))
    closable = J @ (np.linalg.pinv(J, rcond=RANK) @ g)
    return bool(np.abs(g).max() <= OPEN or (np.abs(g).max() <= MISFIT and np.abs(closable).max() <= OPEN))


def _tell(robot: Description, name: str, apart: float, q: Array, nearest: bool) -> None:
    """Warn of a loop that cannot be closed, or raise an error if it is open too far for a rounded length."""
    if not nearest:
        raise UnreachableError(
            f"the loops of {robot.name} cannot be closed near this position: {apart:.3g} m or rad are left of "
            f"{name!r}; expected a position nearer to one at which they close",
            q,
        )
    warnings.warn(
        f"the loops of {robot.name} cannot be closed exactly near this position: {apart:.3g} m or rad are left of "
        f"{name!r} at the nearest, which is given",
        ModelWarning,
        stacklevel=4,
    )


def _rows(J: Array) -> Array:
    return J.reshape(-1, J.shape[-1])
