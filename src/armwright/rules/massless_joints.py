"""Joints that can move without moving any mass; they make the mass matrix singular.

In a short chain they are the joints in eigenvectors of the mass matrix with eigenvalue zero. The matrix takes n^2
steps, so a long chain is factorised by a recursion instead (as in `formulations.denoc`). With joints eliminated from
the tip inward, a joint with a zero pivot can move freely if joints outside of it move along.

    M, C     inertia outside a joint: with free joints there, and with locked joints
    pivot    M along the joint axis; C along the joint axis is the diagonal of the mass matrix
"""

from __future__ import annotations

from functools import lru_cache, reduce

import numpy as np

from armwright.algebra import Array
from armwright.formulations import find_formulation
from armwright.formulations.composite_body import CompositeBody, composite
from armwright.formulations.parts.coordinates import mechanism_at, positions
from armwright.formulations.parts.recursion import plus
from armwright.formulations.parts.spatial import ZERO_PAIR, Inertia, Pair, axis, eliminate, rigid, screw
from armwright.mechanism import Mechanism
from armwright.model.description import Description

RECURSION_LINKS = 50
"""Number of links above which the recursion is cheaper than the matrix."""

MAX_MATRIX_LINKS = 300
"""Number of links above which the matrix takes seconds."""

ZERO_PIVOT = 1e-14
"""Pivot over diagonal that counts as zero. A straight chain of 10,000 equal links has ratios of 1e-12."""

PARTICIPATION = 1e-6


@lru_cache(maxsize=64)
def massless_joints(robot: Description) -> tuple[int, ...]:
    """Return the coordinates that move no mass at any position.

    A matrix that is singular at three random positions is singular by construction.
    """
    mechanism = robot.mechanism()
    rng = np.random.default_rng(0)
    massless: set[int] = set(range(robot.n))
    for _ in range(3):
        massless &= massless_at(mechanism, robot.unit(rng.uniform(-1, 1, robot.nq)).tolist())
        if not massless:
            break
    return tuple(sorted(massless))


def massless_at(mechanism: Mechanism, q: list[float]) -> set[int]:
    """Return the coordinates in motions without kinetic energy at a position.

    If joints follow others, the recursion, which treats every joint as independent, can only prove that there are none.
    Above MAX_MATRIX_LINKS links the matrix is too large, and the result is empty.
    """
    if mechanism.n > RECURSION_LINKS:
        candidates = massless_by_recursion(mechanism_at(mechanism, q), list(positions(mechanism, q)))
        if not candidates or not mechanism.couplings:
            return candidates
        if mechanism.n > MAX_MATRIX_LINKS:
            return set()
    return massless_by_matrix(np.array(find_formulation("mass_matrix")(mechanism, q), dtype=float))


def massless_by_matrix(M: Array) -> set[int]:
    """Return the coordinates from eigenvectors of the mass matrix with unit diagonal; none if its numbers overflow."""
    if not np.isfinite(M).all():
        return set()
    diagonal = np.abs(np.diag(M))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    participation = np.abs(vectors[:, np.abs(values) <= 1e-13]).max(axis=1, initial=0.0)
    return {int(i) for i in np.flatnonzero(participation > PARTICIPATION)}


def massless_by_recursion(mechanism: Mechanism, q: list[float]) -> set[int]:
    """Return the coordinates from the pivots and one random motion without kinetic energy."""
    X = [screw(joint, x) for joint, x in zip(mechanism.joints, q, strict=True)]
    psi: list[Pair | None] = [None] * mechanism.n
    scale = np.ones(mechanism.n)
    children: list[list[tuple[Inertia, CompositeBody]]] = [[] for _ in X]
    for i in reversed(range(mechanism.n)):
        joint, link = mechanism.joints[i], mechanism.links[i]
        M, outer = reduce(plus, children[i]) if children[i] else (None, None)
        M = rigid(link) if M is None else rigid(link).plus(M)
        outer, C = composite(outer, link, X[i])
        diagonal = float((C.m if joint.prismatic else C.J.zz) + joint.armature)
        if float(M.column(joint).along(joint) + joint.armature) > ZERO_PIVOT * abs(diagonal):
            pivot = eliminate(M, joint)
            psi[i], M = pivot.psi, pivot.rest
        scale[i] = np.sqrt(abs(diagonal)) or 1.0
        if mechanism.parents[i] >= 0:
            children[mechanism.parents[i]].append((X[i].inertia_to_parent(M), outer))
    if all(part is not None for part in psi):
        return set()
    rates, rng, twists = np.zeros(mechanism.n), np.random.default_rng(1), dict[int, Pair]()
    for i, part in enumerate(psi):
        t = X[i].twist_to_child(twists.get(mechanism.parents[i], ZERO_PAIR))
        rates[i] = rng.normal() / scale[i] if part is None else -part.dot(t)
        twists[i] = t.plus(axis(mechanism.joints[i], rates[i]))
    participation = np.abs(rates * scale)
    return {int(i) for i in np.flatnonzero(participation > PARTICIPATION * participation.max())}
