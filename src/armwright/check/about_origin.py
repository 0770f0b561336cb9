"""Evidence that a tensor is about the origin of its link frame, where it should be about the centre of mass.

About the origin the second moment is S + m c c^T (Steiner). If S - m c c^T is that of no body, the tensor is innocent.
Else it could be either, and something must speak for the one and against the other: numbers that are no chance, a twin
on the other side of the robot, the meshes of the link, or the joints that a slender link would reach far beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.check.written import Body
from armwright.rules.tensors import (
    ROD_HALF_LENGTH,
    is_physical,
    parallel_axis_term,
    second_moment,
    tensors_agree,
    with_negated_products,
)

Evidence: TypeAlias = tuple[str, str, Array]
"""("certain" | "likely", why, the tensor about the centre of mass)."""

EXACT, CLOSE = 1e-5, 2e-3
"""Relative agreement that is no chance for one number; for two or three of them."""

SHARE = 0.02
"""Of the trace that the parallel-axis term has at least: below, it hardly matters."""

BEYOND, WITHIN = 1.1, 0.9
"""Of the largest spread that a body in its meshes can have: certainly more, certainly less."""

WIDE = 0.55
"""Of that largest spread: what evenly filled links, with 0.2 to 0.4, seldom have."""

MOST = 50
"""Twins that are looked at."""

ALIKE, BETTER, AMID = 1.5, 0.6, 0.5
"""How far a tensor is from that of the filled meshes, at most; how much nearer, at least; how far its centre is off.

Of 450 links with meshes in published files, only those of Romeo and Laikago pass, whose tensors are about the origins.
"""


@dataclass(frozen=True, eq=False)
class Twins:
    """The bodies of a robot as arrays; `distances` are those of the centres of mass from the origins."""

    names: tuple[str, ...]
    masses: Array
    coms: Array
    tensors: Array
    moments: Array
    distances: Array

    @classmethod
    def among(cls, bodies: Sequence[Body]) -> Twins:
        solid = [body for body in bodies if body.mass > 0 and np.isfinite(body.inertia).all()]
        tensors = np.array([body.inertia for body in solid]).reshape(-1, 3, 3)
        coms = np.array([body.com for body in solid]).reshape(-1, 3)
        masses = np.array([body.mass for body in solid])
        names, moments = tuple(body.name for body in solid), np.linalg.eigvalsh(tensors)
        return cls(names, masses, coms, tensors, moments, np.linalg.norm(coms, axis=1))

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def of(self, body: Body, same: float = 0.02) -> Array:
        """The places of the first that weigh the same, with the centre of mass as far away, but of itself."""
        distance = np.linalg.norm(body.com)
        alike = (np.abs(self.masses - body.mass) <= same * body.mass) & (self.moments[:, 2] > 0)
        alike &= np.abs(self.distances - distance) <= 0.03 * distance
        if body.name in self.places:
            alike[self.places[body.name]] = False
        return np.flatnonzero(alike)[:MOST]


def about_origin(body: Body, twins: Twins) -> Evidence | None:
    """What speaks for it, if anything does; `twins` are the bodies of the robot."""
    inertia, added = body.inertia, parallel_axis_term(body.mass, body.com)
    if np.trace(added) < SHARE * np.trace(inertia) or not is_physical(inertia):
        return None
    if tensors_agree(inertia, added, EXACT):
        return "certain", "it is exactly that of a point mass at the centre of mass, seen from the origin", inertia * 0
    own = inertia - added
    return (
        _by_numbers(body, added)
        or (_by_twin(body, own, twins) if is_physical(own, CLOSE) else None)
        or (_by_shapes(body, own) if is_physical(own) else None)
        or (_too_long(body, own) if is_physical(own) else None)
    )


def _by_numbers(body: Body, added: Array) -> Evidence | None:
    inertia = body.inertia
    for sign, signs in ((1.0, ""), (-1.0, " with the signs turned")):
        own = (inertia if sign > 0 else with_negated_products(inertia)) - added
        if not is_physical(own, CLOSE):
            continue
        solid = next((s for s in body.solids if tensors_agree(own, s.tensor(body.mass), CLOSE)), None)
        if solid is not None and not tensors_agree(inertia, solid.tensor(body.mass), 0.02):
            return "certain", f"less the parallel-axis term it is that of its {solid.kind}, filled evenly{signs}", own
        if evidence := _matching_products(inertia, added, sign):
            return evidence, f"its products of inertia are -m x y, -m x z, -m y z of that centre{signs}", own
    return None


def _matching_products(inertia: Array, added: Array, sign: float) -> str:
    """Products that are exactly those of the parallel-axis term: the body's own axes are parallel to the link's."""
    ours, theirs = inertia[[0, 0, 1], [1, 2, 2]], sign * added[[0, 0, 1], [1, 2, 2]]
    largest = float(np.max(np.abs(theirs)))
    if largest < 0.01 * np.trace(inertia):
        return ""
    off = float(np.max(np.abs(ours - theirs))) / largest
    several = np.count_nonzero(np.abs(theirs) > 0.05 * largest) > 1
    if off <= EXACT or (several and off <= CLOSE):
        return "certain"
    return "likely" if off <= CLOSE else ""


def _by_twin(body: Body, own: Array, twins: Twins) -> Evidence | None:
    """Another leg or arm has the same link, mirrored or turned, with the tensor about its centre of mass."""
    found = twins.of(body)
    theirs = twins.moments[found]
    off, as_given = (
        np.max(np.abs(np.linalg.eigvalsh(inertia) - theirs), axis=1, initial=0.0) / theirs[:, 2]
        for inertia in (own, body.inertia)
    )
    for i in np.flatnonzero((off <= 0.05) & (as_given > 2 * off + 0.05)):
        sure, name = "certain" if off[i] <= CLOSE else "likely", twins.names[found[i]]
        return sure, f"less the parallel-axis term it has the principal moments of its twin {name}", own
    return None


def _by_shapes(body: Body, own: Array) -> Evidence | None:
    """Mass between a and b with its mean at c has a variance of at most (b - c)(c - a): Bhatia and Davis (2000).

    Shapes without a mesh are crude, and often made to be too small.
    """
    hulls, distance = body.hulls, float(np.linalg.norm(body.com))
    if not hulls:
        return None
    u = body.com / distance
    ends = [end for hull in hulls for end in hull.span(u)]
    most = (max(ends) - distance) * (distance - min(ends))
    if not min(ends) < distance < max(ends):
        return None
    moments = [second_moment(inertia) for inertia in (body.inertia, own)]
    given, moved = (float(u @ S @ u) / body.mass for S in moments)
    near_given, near_moved = (min((unlike(S / body.mass, T) for T in filled(body)), default=np.inf) for S in moments)
    if given > BEYOND * most and moved < WITHIN * most and near_moved <= near_given:
        return "certain", "no body within its meshes has its mass so far apart; read about the origin one has", own
    if given > WIDE * most and moved < WITHIN * most and near_moved < min(ALIKE, near_given - BETTER):
        return "likely", "it is far from that of its meshes, filled evenly, and near it if read about the origin", own
    return None


def filled(body: Body) -> list[Array]:
    """The second moments of its meshes for a mass of 1, filled evenly, where its centre of mass is amid them."""
    made = [whole for hull in body.hulls if (whole := hull.filled) is not None]
    return [S for middle, S in made if np.linalg.norm(middle - body.com) <= AMID * np.sqrt(np.trace(S))]


def unlike(moment: Array, other: Array, sized: bool = True) -> float:
    """How far a second moment is from another: by the logarithms of their ratios, `sized` or less their mean."""
    half = np.linalg.inv(np.linalg.cholesky(other))
    ratios = np.linalg.eigvalsh(half @ moment @ half.T)
    if not ratios[0] > 0:
        return float("inf")
    logs = np.log(ratios)
    return float(np.linalg.norm(logs if sized else logs - logs.mean()))


def _too_long(body: Body, own: Array) -> Evidence | None:
    """A slender link that would be twice as long as the distance of its joints, and fits if read about the origin."""
    distance = float(np.linalg.norm(body.com))
    if distance < 1e-9:
        return None
    u = body.com / distance
    along = body.points @ u
    low, high = float(along.min()), float(along.max())
    length = high - low
    across = np.linalg.eigvalsh(second_moment(body.inertia))[1] / body.mass
    if length < 1.2 * distance or ROD_HALF_LENGTH * np.sqrt(max(across, 0.0)) > 0.35 * length:
        return None

    def beyond(inertia: Array) -> float:
        half = ROD_HALF_LENGTH * np.sqrt(u @ second_moment(inertia) @ u / body.mass)
        return float(max(0.0, low - distance + half) + max(0.0, distance + half - high)) / length

    if beyond(body.inertia) < 0.6 or beyond(own) > 0.25:
        return None
    return "likely", f"as it stands the link would reach far beyond its joints, {length:.3g} m apart", own
