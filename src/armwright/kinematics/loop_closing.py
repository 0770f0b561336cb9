"""Positions at which loop constraints are closed, and velocities that keep them closed."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelWarning, UnreachableError
from armwright.formulations.parts.coordinates import tangent
from armwright.model.description import Description

MAX_CLOSING_STEPS = 100
"""Largest number of steps of Newton's method."""

MAX_STEP = 0.3
"""Largest step of a joint, radians or metres."""

NEWTON_TOLERANCE = 1e-10
"""Largest error, metres and radians, at which Newton's method may stop."""

LOOP_TOLERANCE = 1e-6
"""Largest gap, metres and radians, of a loop that counts as closed, in a state and along a simulation."""

MAX_LOOP_GAP = 1e-2
"""Largest gap, metres and radians, of a loop that rounded lengths keep from closing."""

LOOP_RANK = 1e-9
"""Ratio to the largest singular value below which a constraint is redundant."""


def close_loops(
    robot: Description, errors: Callable[[Array], Array], jacobian: Callable[[Array], Array], q: Array, qd: Array
) -> tuple[Array, Array]:
    """Return the nearest closed position by Newton's method, and the nearest velocity that keeps it closed.

    If loops cannot close exactly, the position is where they are open the least, and a warning gives the gap.
    """
    best, least = q, np.inf
    for _ in range(MAX_CLOSING_STEPS):
        g = errors(q).ravel()
        size = float(np.linalg.norm(g))
        if size >= 0.5 * least and least <= NEWTON_TOLERANCE:
            break
        best, least = (q, size) if size < least else (best, least)
        step = -np.linalg.pinv(_stacked(jacobian(q)), rcond=LOOP_RANK) @ g
        step *= min(1.0, MAX_STEP / max(float(np.abs(step).max()), 1e-300))
        q = robot.unit(q + np.array(tangent(robot.mechanism(), q.tolist()), float) @ step)
    gaps = np.abs(errors(best)).max(axis=-1)
    if (gap := float(gaps.max())) > LOOP_TOLERANCE:
        name = [loop.name for loop in robot.loops if not loop.dependent][int(gaps.argmax())]
        _report_gap(robot, name, gap, best, loops_closed(errors, jacobian, best))
    J = _stacked(jacobian(best))
    return best, qd - np.linalg.pinv(J, rcond=LOOP_RANK) @ (J @ qd)


def loops_closed(errors: Callable[[Array], Array], jacobian: Callable[[Array], Array], q: Array) -> bool:
    """Return whether loops at a position are closed, or as little open as possible."""
    g = errors(q).ravel()
    J = _stacked(jacobian(q))
    closable = J @ (np.linalg.pinv(J, rcond=LOOP_RANK) @ g)
    gap, closable_gap = np.abs(g).max(), np.abs(closable).max()
    return bool(gap <= LOOP_TOLERANCE or (gap <= MAX_LOOP_GAP and closable_gap <= LOOP_TOLERANCE))


def _report_gap(robot: Description, name: str, gap: float, q: Array, nearest: bool) -> None:
    """Warn of a loop that cannot close, or raise an error if its gap is too large for rounded lengths."""
    if not nearest:
        raise UnreachableError(
            f"the loops of {robot.name} cannot be closed near this position: {name!r} has a "
            f"gap of {gap:.3g} m or rad; expected a position closer to one at which they close",
            q,
        )
    warnings.warn(
        f"the loops of {robot.name} cannot be closed exactly near this position: {name!r} has a "
        f"gap of {gap:.3g} m or rad at the nearest, which is returned",
        ModelWarning,
        stacklevel=4,
    )


def _stacked(J: Array) -> Array:
    return J.reshape(-1, J.shape[-1])
