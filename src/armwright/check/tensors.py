"""Which reading of an inertia tensor a real body could have.

The second moment S = (tr I / 2) 1 - I is the mean of m x x^T over the body: it is positive semidefinite if and only if
I is positive semidefinite and keeps the triangle inequality, and sqrt(S_uu / m) is how far the mass is spread along u.
A tensor about a point at -c from the centre of mass has S + m c c^T in place of S (Steiner).
"""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.check.written import Body
from armwright.model.problems import ROUNDING

EXACT, CLOSE = 1e-5, 2e-3
"""Relative agreement that is no chance for one number; for two or three of them."""

FULL = np.sqrt(3.0)
"""Half the length of a uniform rod over the spread of its mass."""


def steiner(mass: float, com: Array) -> Array:
    """What moving a tensor from the centre of mass to the origin adds: m (r^2 1 - r r^T)."""
    added: Array = mass * (com @ com * np.eye(3) - np.outer(com, com))
    return added


def second_moment(inertia: Array) -> Array:
    moment: Array = np.trace(inertia) / 2 * np.eye(3) - inertia
    return moment


def flipped(inertia: Array) -> Array:
    """The tensor with the signs of its products turned."""
    turned: Array = 2 * np.diag(np.diag(inertia)) - inertia
    return turned


def possible(inertia: Array, slack: float = ROUNDING) -> bool:
    """Whether any body could have it."""
    spread = np.linalg.eigvalsh(second_moment(inertia))
    return bool(spread[0] >= -slack * max(abs(spread[0]), abs(spread[2]))) and bool(np.any(inertia))


def products(inertia: Array) -> Array:
    return inertia[[0, 0, 1], [1, 2, 2]]


def long_axis(inertia: Array) -> tuple[Array, float]:
    """Where the body is longest, and the ratio of its spread there to the next, squared."""
    values, vectors = np.linalg.eigh(second_moment(inertia))
    return vectors[:, 2], float(values[2] / max(values[1], 1e-300))


def near(one: Array, other: Array, tolerance: float) -> bool:
    """Whether tensors agree relative to their largest entry."""
    return bool(np.max(np.abs(one - other)) <= tolerance * np.max(np.abs(other)))


def remoteness(body: Body) -> float | None:
    """m c S^-1 c: how far the origin lies outside of a body. Above 1 no tensor about the origin could be so small.

    None for rods and plates, and where nothing is known.
    """
    moment = second_moment(body.inertia)
    values = np.linalg.eigvalsh(moment)
    if body.mass <= 0 or values[0] <= 1e-9 * abs(values[2]):
        return None
    return float(body.mass * (body.com @ np.linalg.solve(moment, body.com)))


def turned_away(body: Body) -> tuple[float, float] | None:
    """Degrees between a slender body and its link: as written, and with the signs of the products turned."""
    end = body.points[int(np.argmax(np.linalg.norm(body.points, axis=1)))]
    if not np.any(end):
        return None
    u = end / np.linalg.norm(end)
    angles = []
    for inertia in (body.inertia, flipped(body.inertia)):
        axis, ratio = long_axis(inertia)
        if ratio < 3:
            return None
        angles.append(float(np.degrees(np.arccos(min(1.0, abs(axis @ u))))))
    return angles[0], angles[1]
