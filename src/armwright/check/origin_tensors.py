"""Evidence that a tensor is about the origin of its link frame and not about the centre of mass.

About the origin the second moment is S + m c c^T (Steiner). If S - m c c^T is impossible, the tensor is about the
centre of mass. Otherwise evidence decides: equal numbers, a twin on the other side of the robot, the meshes of the
link, or a slender link that would extend far beyond its joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.check.file_model import Body
from armwright.lazy import cached_property
from armwright.rules.tensors import (
    ROD_HALF_LENGTH,
    is_physical,
    parallel_axis_term,
    second_moment,
    tensors_agree,
    with_negated_products,
)

Evidence: TypeAlias = tuple[str, str, Array]
"""("certain" | "likely", reason, the tensor about the centre of mass)."""

SINGLE_AGREEMENT, SEVERAL_AGREEMENT = 1e-5, 2e-3
"""Relative agreement that is no coincidence for one number, and for two or three numbers."""

MIN_STEINER_SHARE = 0.02
"""Smallest share of the parallel-axis term in the trace that is not negligible."""

CLEARLY_ABOVE, CLEARLY_BELOW = 1.1, 0.9
"""Ratios to the largest possible spread of a body in its meshes that are certainly too large, certainly possible."""

WIDE_SPREAD = 0.55
"""Suspicious ratio to that spread; evenly filled links have 0.2 to 0.4."""

MAX_TWINS = 50
"""Largest number of twins that are compared."""

MAX_MESH_DEVIATION, MIN_IMPROVEMENT, MAX_CENTRE_OFFSET = 1.5, 0.6, 0.5
"""Limits of the evidence by meshes: distance from the filled meshes, least improvement, and offset of the centre.

Of 450 links with meshes in published files, only those of Romeo and Laikago exceed these: their tensors are about the
origins.
"""


@dataclass(frozen=True, eq=False)
class Twins:
    """The bodies of a robot as arrays; `distances` are from the origins to the centres of mass."""

    names: tuple[str, ...]
    masses: Array
    coms: Array
    tensors: Array
    moments: Array
    distances: Array

    @classmethod
    def of_bodies(cls, bodies: Sequence[Body]) -> Twins:
        solid = [body for body in bodies if body.mass > 0 and np.isfinite(body.inertia).all()]
        tensors = np.array([body.inertia for body in solid]).reshape(-1, 3, 3)
        coms = np.array([body.com for body in solid]).reshape(-1, 3)
        masses = np.array([body.mass for body in solid])
        names, moments = tuple(body.name for body in solid), np.linalg.eigvalsh(tensors)
        return cls(names, masses, coms, tensors, moments, np.linalg.norm(coms, axis=1))

    @cached_property
    def indices(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def similar_to(self, body: Body, mass_tolerance: float = 0.02) -> Array:
        """Return the indices of other bodies with the same mass and distance of the centre of mass."""
        distance = np.linalg.norm(body.com)
        alike = (np.abs(self.masses - body.mass) <= mass_tolerance * body.mass) & (self.moments[:, 2] > 0)
        alike &= np.abs(self.distances - distance) <= 0.03 * distance
        if body.name in self.indices:
            alike[self.indices[body.name]] = False
        return np.flatnonzero(alike)[:MAX_TWINS]


def origin_evidence(body: Body, twins: Twins) -> Evidence | None:
    """Return the evidence that the tensor of a body is about the origin, or None; `twins` are all bodies."""
    inertia, added = body.inertia, parallel_axis_term(body.mass, body.com)
    if np.trace(added) < MIN_STEINER_SHARE * np.trace(inertia) or not is_physical(inertia):
        return None
    if tensors_agree(inertia, added, SINGLE_AGREEMENT):
        return "certain", "it is exactly that of a point mass at the centre of mass about the origin", inertia * 0
    centred = inertia - added
    return (
        _by_numbers(body, added)
        or (_by_twin(body, centred, twins) if is_physical(centred, SEVERAL_AGREEMENT) else None)
        or (_by_shapes(body, centred) if is_physical(centred) else None)
        or (_by_length(body, centred) if is_physical(centred) else None)
    )


def _by_numbers(body: Body, added: Array) -> Evidence | None:
    inertia = body.inertia
    for sign, signs in ((1.0, ""), (-1.0, " with opposite signs")):
        centred = (inertia if sign > 0 else with_negated_products(inertia)) - added
        if not is_physical(centred, SEVERAL_AGREEMENT):
            continue
        solid = next((s for s in body.solids if tensors_agree(centred, s.tensor(body.mass), SEVERAL_AGREEMENT)), None)
        if solid is not None and not tensors_agree(inertia, solid.tensor(body.mass), 0.02):
            return "certain", f"without the parallel-axis term it is that of its solid {solid.kind}{signs}", centred
        if evidence := _matching_products(inertia, added, sign):
            return evidence, f"its products of inertia are -m x y, -m x z, -m y z of that centre{signs}", centred
    return None


def _matching_products(inertia: Array, added: Array, sign: float) -> str:
    """Return the certainty that the products are those of the parallel-axis term alone; empty if they are not."""
    products, expected = inertia[[0, 0, 1], [1, 2, 2]], sign * added[[0, 0, 1], [1, 2, 2]]
    largest = float(np.max(np.abs(expected)))
    if largest < 0.01 * np.trace(inertia):
        return ""
    error = float(np.max(np.abs(products - expected))) / largest
    several = np.count_nonzero(np.abs(expected) > 0.05 * largest) > 1
    if error <= SINGLE_AGREEMENT or (several and error <= SEVERAL_AGREEMENT):
        return "certain"
    return "likely" if error <= SEVERAL_AGREEMENT else ""


def _by_twin(body: Body, centred: Array, twins: Twins) -> Evidence | None:
    """Return evidence by a similar link of another leg or arm whose tensor is about its centre of mass."""
    indices = twins.similar_to(body)
    moments = twins.moments[indices]
    error, error_as_written = (
        np.max(np.abs(np.linalg.eigvalsh(inertia) - moments), axis=1, initial=0.0) / moments[:, 2]
        for inertia in (centred, body.inertia)
    )
    for i in np.flatnonzero((error <= 0.05) & (error_as_written > 2 * error + 0.05)):
        certainty, name = "certain" if error[i] <= SEVERAL_AGREEMENT else "likely", twins.names[indices[i]]
        return (
            certainty,
            f"without the parallel-axis term it has the principal moments of the similar link {name}",
            centred,
        )
    return None


def _by_shapes(body: Body, centred: Array) -> Evidence | None:
    """Return evidence by meshes: mass between a and b with mean c has a variance of at most (b - c)(c - a).

    The inequality is that of Bhatia and Davis (2000). Shapes without a mesh are too crude, and often too small.
    """
    hulls, distance = body.hulls, float(np.linalg.norm(body.com))
    if not hulls:
        return None
    u = body.com / distance
    ends = [end for hull in hulls for end in hull.span(u)]
    largest = (max(ends) - distance) * (distance - min(ends))
    if not min(ends) < distance < max(ends):
        return None
    moments = [second_moment(inertia) for inertia in (body.inertia, centred)]
    written, moved = (float(u @ S @ u) / body.mass for S in moments)
    distance_written, distance_moved = (
        min((moment_distance(S / body.mass, T) for T in mesh_moments(body)), default=np.inf) for S in moments
    )
    if written > CLEARLY_ABOVE * largest and moved < CLEARLY_BELOW * largest and distance_moved <= distance_written:
        return "certain", "no body within its meshes can spread its mass so far; about the origin it can", centred
    if (
        written > WIDE_SPREAD * largest
        and moved < CLEARLY_BELOW * largest
        and distance_moved < min(MAX_MESH_DEVIATION, distance_written - MIN_IMPROVEMENT)
    ):
        return "likely", "it is far from that of its meshes with one density, and close to it about the origin", centred
    return None


def mesh_moments(body: Body) -> list[Array]:
    """Return second moments of the meshes for one density and mass 1, if their centre is near that of the body."""
    solids = [solid for hull in body.hulls if (solid := hull.filled) is not None]
    return [S for middle, S in solids if np.linalg.norm(middle - body.com) <= MAX_CENTRE_OFFSET * np.sqrt(np.trace(S))]


def moment_distance(moment: Array, other: Array, with_size: bool = True) -> float:
    """Return the norm of the logarithms of the ratios of second moments, less their mean if not `with_size`."""
    half = np.linalg.inv(np.linalg.cholesky(other))
    ratios = np.linalg.eigvalsh(half @ moment @ half.T)
    if not ratios[0] > 0:
        return float("inf")
    logs = np.log(ratios)
    return float(np.linalg.norm(logs if with_size else logs - logs.mean()))


def _by_length(body: Body, centred: Array) -> Evidence | None:
    """Return evidence by a slender link: about the centre of mass it would extend far beyond its joints."""
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

    def overshoot(inertia: Array) -> float:
        half = ROD_HALF_LENGTH * np.sqrt(u @ second_moment(inertia) @ u / body.mass)
        return float(max(0.0, low - distance + half) + max(0.0, distance + half - high)) / length

    if overshoot(body.inertia) < 0.6 or overshoot(centred) > 0.25:
        return None
    return (
        "likely",
        f"about the centre of mass the link would reach far beyond its joints, {length:.3g} m apart",
        centred,
    )
