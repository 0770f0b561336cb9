"""Which reading of an inertia tensor a real body could have.

The second moment S = (tr I / 2) 1 - I is the mean of m x x^T over the body: it is positive semidefinite if and only if
I is positive semidefinite and keeps the triangle inequality, and sqrt(S_uu / m) is how far the mass is spread along u.
A tensor about a point at -c from the centre of mass has S + m c c^T in place of S (Steiner).
"""

from __future__ import annotations

import numpy as np

from armwright.check.written import Array, Body
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


def about_origin(body: Body) -> tuple[str, str, Array] | None:
    """("certain" | "likely", why, the tensor about the centre of mass) if the tensor looks to be about the origin."""
    inertia, added = body.inertia, steiner(body.mass, body.com)
    size = np.trace(inertia)
    if np.trace(added) < 0.02 * size or not possible(inertia):
        return None
    if near(inertia, added, EXACT):
        return "certain", "it is exactly that of a point mass at the centre of mass, seen from the origin", inertia * 0
    for sign, signs in ((1.0, ""), (-1.0, " with the signs turned")):
        own = (inertia if sign > 0 else flipped(inertia)) - added
        if not possible(own, CLOSE):
            continue
        solid = next((s for s in body.solids if near(own, s.tensor(body.mass), CLOSE)), None)
        if solid is not None and not near(inertia, solid.tensor(body.mass), 0.02):
            return "certain", f"less the parallel-axis term it is that of its {solid.kind}, filled evenly{signs}", own
        if evidence := _matching_products(inertia, added, sign):
            return evidence, f"its products of inertia are -m x y, -m x z, -m y z of that centre{signs}", own
    return _too_long(body, inertia - added)


def _matching_products(inertia: Array, added: Array, sign: float) -> str:
    """Products that are exactly those of the parallel-axis term: the body's own axes are parallel to the link's."""
    ours, theirs = products(inertia), sign * products(added)
    largest = float(np.max(np.abs(theirs)))
    if largest < 0.01 * np.trace(inertia):
        return ""
    off = float(np.max(np.abs(ours - theirs))) / largest
    several = np.count_nonzero(np.abs(theirs) > 0.05 * largest) > 1
    if off <= EXACT or (several and off <= CLOSE):
        return "certain"
    return "likely" if off <= CLOSE else ""


def _too_long(body: Body, own: Array) -> tuple[str, str, Array] | None:
    """A slender link that would be twice as long as the distance of its joints, and fits if read about the origin."""
    distance = float(np.linalg.norm(body.com))
    if not possible(own) or distance < 1e-9:
        return None
    u = body.com / distance
    along = body.points @ u
    low, high = float(along.min()), float(along.max())
    length = high - low
    across = np.linalg.eigvalsh(second_moment(body.inertia))[1] / body.mass
    if length < 1.2 * distance or FULL * np.sqrt(max(across, 0.0)) > 0.35 * length:
        return None

    def beyond(inertia: Array) -> float:
        half = FULL * np.sqrt(u @ second_moment(inertia) @ u / body.mass)
        return float(max(0.0, low - distance + half) + max(0.0, distance + half - high)) / length

    if beyond(body.inertia) < 0.6 or beyond(own) > 0.25:
        return None
    return "likely", f"as it stands the link would reach far beyond its joints, {length:.3g} m apart", own


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
