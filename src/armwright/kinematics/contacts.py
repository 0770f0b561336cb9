"""Frames that are held where they are: the forces that hold them, and the motion that is left.

    J, Jd    of all that is held, stacked: rows of the velocities that are zero, and their rate; axes of the world
    f        the forces and moments at the contacts, in the same order

    M qdd + h = tau + J^T f          J qdd + Jd qd = 0

More may be held than is needed: of all f that do the same, the shortest is taken, a newton weighing as a newton metre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError, SingularError, unknown
from armwright.kinematics.inverse import first, shortest
from armwright.model.description import Description

HELD = {"point": 3, "frame": 6}
"""How many velocities are zero, by what is held: the origin of a frame, or all of it."""

Contacts: TypeAlias = Sequence[str] | Mapping[str, str]
"""Names of frames of which the origins are held, or of any with "point" or "frame"."""

_MISSED = 1e-9  # of the wrench on the base, above which it is not supported


class Support(NamedTuple):
    """Torques (..., n), zero where nothing drives, and by name the wrench (..., 6) on each contact, in its axes."""

    tau: Array
    wrenches: dict[str, Array]


class HeldMotion(NamedTuple):
    """Accelerations (..., n), and by name the wrench (..., 6) on each contact, in its axes."""

    qdd: Array
    wrenches: dict[str, Array]


class Moving(Protocol):
    """What is asked of a robot."""

    def forward_kinematics(self, q: ArrayLike, frame: str) -> Array: ...
    def jacobian(self, q: ArrayLike, frame: str) -> Array: ...
    def jacobian_derivative(self, q: ArrayLike, qd: ArrayLike, frame: str) -> Array: ...


def held_rows(robot: Description, contacts: Contacts) -> dict[str, int]:
    """How many rows each contact has."""
    if not isinstance(contacts, (Sequence, Mapping)) or isinstance(contacts, str) or not contacts:
        raise InputError(f"contacts = {contacts!r}: expected names of frames, such as ['foot'], or {{'foot': 'frame'}}")
    if robot.mechanism().constrained_loops:
        raise InputError(f"{robot.name} has loops that forces hold, beside which contacts are not known")
    pairs = list(contacts.items()) if isinstance(contacts, Mapping) else [(name, "point") for name in contacts]
    for name, what in pairs:
        robot.frame(name)
        if not isinstance(what, str) or what not in HELD:
            raise unknown(f"way to hold {name!r}:", what, HELD)
    return {name: HELD[what] for name, what in pairs}


def undriven(robot: Description) -> list[int]:
    """The coordinates that nothing drives: those of free joints."""
    found = [c for ball in robot.balls if ball.kind == "free" for c in range(ball.coordinate, ball.coordinate + 6)]
    if not found:
        raise InputError(f"{robot.name} has no free joint, so that its base needs no support; use inverse_dynamics")
    return found


def all_jacobians(robot: Moving, rows: Mapping[str, int], q: ArrayLike) -> Array:
    """J of all contacts."""
    return np.concatenate([robot.jacobian(q, name)[..., :count, :] for name, count in rows.items()], axis=-2)


def drift(robot: Moving, rows: Mapping[str, int], q: ArrayLike, qd: ArrayLike) -> Array:
    """Jd qd of all contacts."""
    speed = np.asarray(qd, float)[..., None]
    parts = [(robot.jacobian_derivative(q, qd, name) @ speed)[..., :count, 0] for name, count in rows.items()]
    return np.concatenate(parts, axis=-1)


def supporting(robot: Description, tau: Array, J: Array) -> tuple[Array, Array]:
    """Torques and contact forces that move the robot as `tau` does, with none where nothing drives."""
    base = undriven(robot)
    needed = tau[..., base]
    f = shortest(np.swapaxes(J[..., base], -1, -2), needed)
    left = tau - (f[..., None, :] @ J)[..., 0, :]
    missed = np.linalg.norm(left[..., base], axis=-1) > _MISSED * np.linalg.norm(needed, axis=-1)
    if missed.any():
        lacking = np.linalg.norm(left[..., base], axis=-1)[missed].flat[0]
        raise SingularError(
            f"{robot.name} is not held by these contacts{first(missed)}: of the wrench on its base {lacking:.3g} "
            "is left. Hold more points, or whole frames with {'name': 'frame'}"
        )
    left[..., base] = 0.0
    return left, f


def held_motion(robot: Description, M: Array, force: Array, J: Array, rate: Array) -> tuple[Array, Array]:
    """Accelerations by the mass matrix and tau - h, and the forces; contacts that contradict each other are refused.

    With M = L L^T and B = L^-1 J^T = U S V^T the forces are V S^-2 V^T r, r being what is missing without them. Where
    contacts are redundant, singular values are zero, and these are left out.
    """
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise SingularError(
            f"{robot.name}: the mass matrix is singular; armwright.problems(robot) tells more"
        ) from None
    free = np.linalg.solve(L, force[..., None])
    B = np.linalg.solve(L, np.swapaxes(J, -1, -2))
    r = -(np.swapaxes(B, -1, -2) @ free)[..., 0] - rate
    y = shortest(np.swapaxes(B, -1, -2), r)
    f = shortest(B, y)
    parts = np.linalg.solve(np.swapaxes(L, -1, -2), np.concatenate([free, y[..., None]], axis=-1))
    _check_held(robot, parts, J, rate)
    return parts.sum(axis=-1), f


def _check_held(robot: Description, parts: Array, J: Array, rate: Array) -> None:
    """That nothing that is held accelerates, by accelerations (..., n, 2) without the forces and by them."""
    left = np.linalg.norm((J @ parts).sum(axis=-1) + rate, axis=-1)
    size = np.linalg.norm((np.abs(J) @ np.abs(parts)).sum(axis=-1) + np.abs(rate), axis=-1)
    missed = left > _MISSED * size
    if missed.any():
        raise SingularError(
            f"{robot.name}: these contacts cannot all be held{first(missed)}: an acceleration of "
            f"{left[missed].flat[0]:.3g} is left, as they contradict each other, or the velocities break them. Hold "
            "fewer, or give velocities at which they rest"
        )


def by_name(robot: Moving, rows: Mapping[str, int], q: ArrayLike, f: Array) -> dict[str, Array]:
    """The wrench on each contact, in the axes of its frame."""
    found, start = {}, 0
    for name, count in rows.items():
        own = f[..., start : start + count]
        R = robot.forward_kinematics(q, name)[..., :3, :3]
        parts = [(own[..., None, k : k + 3] @ R)[..., 0, :] for k in range(0, count, 3)]
        found[name] = np.concatenate([*parts, *([np.zeros_like(parts[0])] if count == 3 else [])], axis=-1)
        start += count
    return found
