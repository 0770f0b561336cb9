"""Contacts: frames that cannot move, the forces on them, and the motion that they allow.

    J, Jd    Jacobian of all contacts and its rate: rows of the velocities that are zero, in the axes of the world
    f        the forces and moments at the contacts, in the same order

    M qdd + h = tau + J^T f          J qdd + Jd qd = 0

Contacts may be redundant: of all f with the same effect the shortest is taken, a newton weighing as a newton metre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError, SingularError, unknown
from armwright.kinematics.inverse import first_index, least_norm
from armwright.model.description import Description

CONTACT_ROWS = {"point": 3, "frame": 6}
"""Number of zero velocities by kind of contact: at the origin of a frame, or of the whole frame."""

Contacts: TypeAlias = Sequence[str] | Mapping[str, str]
"""Names of frames with contacts at their origins, or a mapping from names to "point" or "frame"."""

_MAX_ERROR = 1e-9  # relative error above which contacts do not support the base


class SupportForces(NamedTuple):
    """Torques (..., n), zero for the base, and the wrench (..., 6) on each contact by name, in its axes."""

    tau: Array
    wrenches: dict[str, Array]


class ContactMotion(NamedTuple):
    """Accelerations (..., n), and the wrench (..., 6) on each contact by name, in its axes."""

    qdd: Array
    wrenches: dict[str, Array]


class FrameKinematics(Protocol):
    """A robot with the kinematics of frames."""

    def forward_kinematics(self, q: ArrayLike, frame: str) -> Array: ...
    def jacobian(self, q: ArrayLike, frame: str) -> Array: ...
    def jacobian_derivative(self, q: ArrayLike, qd: ArrayLike, frame: str) -> Array: ...


def contact_rows(robot: Description, contacts: Contacts) -> dict[str, int]:
    """Return the number of rows of each contact."""
    if not isinstance(contacts, (Sequence, Mapping)) or isinstance(contacts, str) or not contacts:
        raise InputError(f"contacts = {contacts!r}: expected names of frames, such as ['foot'], or {{'foot': 'frame'}}")
    if robot.mechanism().constrained_loops:
        raise InputError(f"{robot.name} has loop constraints; contacts are available only for robots without them")
    pairs = list(contacts.items()) if isinstance(contacts, Mapping) else [(name, "point") for name in contacts]
    for name, what in pairs:
        robot.frame(name)
        if not isinstance(what, str) or what not in CONTACT_ROWS:
            raise unknown(f"kind of contact for {name!r}:", what, CONTACT_ROWS)
    return {name: CONTACT_ROWS[what] for name, what in pairs}


def unactuated_coordinates(robot: Description) -> list[int]:
    """Return the coordinates of free joints, which have no drives."""
    coordinates = [c for ball in robot.balls if ball.kind == "free" for c in ball.rates]
    if not coordinates:
        raise InputError(f"{robot.name} has no free joint, so its base needs no support; use inverse_dynamics")
    return coordinates


def contact_jacobian(robot: FrameKinematics, rows: Mapping[str, int], q: ArrayLike) -> Array:
    """Return J of all contacts."""
    return np.concatenate([robot.jacobian(q, name)[..., :count, :] for name, count in rows.items()], axis=-2)


def contact_drift(robot: FrameKinematics, rows: Mapping[str, int], q: ArrayLike, qd: ArrayLike) -> Array:
    """Return Jd qd of all contacts."""
    speed = np.asarray(qd, float)[..., None]
    parts = [(robot.jacobian_derivative(q, qd, name) @ speed)[..., :count, 0] for name, count in rows.items()]
    return np.concatenate(parts, axis=-1)


def support_base(robot: Description, tau: Array, J: Array) -> tuple[Array, Array]:
    """Return torques, zero for the base, and contact forces that together act as `tau`."""
    base = unactuated_coordinates(robot)
    needed = tau[..., base]
    f = least_norm(np.swapaxes(J[..., base], -1, -2), needed)
    rest = tau - (f[..., None, :] @ J)[..., 0, :]
    residual = np.linalg.norm(rest[..., base], axis=-1)
    missed = residual > _MAX_ERROR * np.linalg.norm(needed, axis=-1)
    if missed.any():
        raise SingularError(
            f"{robot.name} is not supported by these contacts{first_index(missed)}: a wrench of "
            f"{residual[missed].flat[0]:.3g} on its base is left. Add contacts, or whole frames with "
            "{'name': 'frame'}"
        )
    rest[..., base] = 0.0
    return rest, f


def constrained_motion(robot: Description, M: Array, force: Array, J: Array, rate: Array) -> tuple[Array, Array]:
    """Return accelerations and contact forces by the mass matrix and force = tau - h.

    With M = L L^T and B = L^-1 J^T = U S V^T the forces are V S^-2 V^T r, r being the residual without forces.
    Redundant contacts have singular values of zero, which are omitted. Contradictory contacts raise a `SingularError`.
    """
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise SingularError(
            f"{robot.name}: the mass matrix is singular; armwright.problems(robot) gives the reason"
        ) from None
    free = np.linalg.solve(L, force[..., None])
    B = np.linalg.solve(L, np.swapaxes(J, -1, -2))
    r = -(np.swapaxes(B, -1, -2) @ free)[..., 0] - rate
    y = least_norm(np.swapaxes(B, -1, -2), r)
    f = least_norm(B, y)
    parts = np.linalg.solve(np.swapaxes(L, -1, -2), np.concatenate([free, y[..., None]], axis=-1))
    _check_contacts(robot, parts, J, rate)
    return parts.sum(axis=-1), f


def _check_contacts(robot: Description, parts: Array, J: Array, rate: Array) -> None:
    """Raise an error if a contact accelerates; `parts` are accelerations (..., n, 2) without and by the forces."""
    left = np.linalg.norm((J @ parts).sum(axis=-1) + rate, axis=-1)
    size = np.linalg.norm((np.abs(J) @ np.abs(parts)).sum(axis=-1) + np.abs(rate), axis=-1)
    missed = left > _MAX_ERROR * size
    if missed.any():
        raise SingularError(
            f"{robot.name}: the contacts contradict each other or qd{first_index(missed)}: an acceleration of "
            f"{left[missed].flat[0]:.3g} is left. Remove some, or pass "
            "velocities that respect them"
        )


def wrenches_by_name(robot: FrameKinematics, rows: Mapping[str, int], q: ArrayLike, f: Array) -> dict[str, Array]:
    """Return the wrench on each contact, in the axes of its frame."""
    wrenches, start = {}, 0
    for name, count in rows.items():
        forces = f[..., start : start + count]
        R = robot.forward_kinematics(q, name)[..., :3, :3]
        parts = [(forces[..., None, k : k + 3] @ R)[..., 0, :] for k in range(0, count, 3)]
        wrenches[name] = np.concatenate([*parts, *([np.zeros_like(parts[0])] if count == 3 else [])], axis=-1)
        start += count
    return wrenches
