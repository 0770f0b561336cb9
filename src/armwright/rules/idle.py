"""Joints that can move without moving any mass, for which the mass matrix is singular.

In a short chain they are found in the mass matrix itself: they take part in its eigenvectors of eigenvalue zero. To
form it takes n^2 steps, so that a long chain is gone through once instead, by the factors of the matrix (as in
`formulations.denoc`). When joints are eliminated from the tip inward, a joint whose pivot is zero can move at no cost
if those outside of it move along as they like.

    M, C     inertia of all that is outside a joint: when the joints there give way, and when they are stiff
    pivot    what the joint feels of M; the mass matrix has a diagonal of what it feels of C
"""

from __future__ import annotations

from functools import lru_cache, reduce

import numpy as np

from armwright.algebra import Array
from armwright.formulations import find
from armwright.formulations.composite_body import Body, composite
from armwright.formulations.parts.coordinates import placed, positions
from armwright.formulations.parts.recursion import plus
from armwright.formulations.parts.spatial import NOTHING, Inertia, Pair, axis, eliminate, rigid, screw
from armwright.mechanism import Mechanism
from armwright.model.description import Description

LONG = 50
"""Links from which on the recursion is cheaper than the matrix."""

TOO_LONG = 300
"""Links from which on the matrix takes seconds."""

NOTHING_LEFT = 1e-14
"""Of the diagonal: a pivot as small as this is zero. In a straight chain of 10,000 equal links some are 1e-12."""

TAKES_PART = 1e-6


@lru_cache(maxsize=64)
def always_idle(robot: Description) -> tuple[int, ...]:
    """Those of every position: tried at a few, as a matrix that is singular at all of them is so by construction."""
    mechanism = robot.mechanism()
    rng = np.random.default_rng(0)
    still: set[int] = set(range(robot.n))
    for _ in range(3):
        still &= idle(mechanism, robot.unit(rng.uniform(-1, 1, robot.nq)).tolist())
        if not still:
            break
    return tuple(sorted(still))


def idle(mechanism: Mechanism, q: list[float]) -> set[int]:
    """The coordinates that take part in motions without kinetic energy at a position.

    Where joints follow others, the recursion can only tell that there are none: it asks what every joint could do by
    itself. Beyond TOO_LONG links that has to do.
    """
    if mechanism.n > LONG:
        alone = in_recursion(placed(mechanism, q), list(positions(mechanism, q)))
        if not alone or not mechanism.drives:
            return alone
        if mechanism.n > TOO_LONG:
            return set()
    return in_matrix(np.array(find("mass_matrix")(mechanism, q), dtype=float))


def in_matrix(M: Array) -> set[int]:
    """From the eigenvectors of the mass matrix, scaled to ones on its diagonal; none where its numbers overflow."""
    if not np.isfinite(M).all():
        return set()
    diagonal = np.abs(np.diag(M))
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    part = np.abs(vectors[:, np.abs(values) <= 1e-13]).max(axis=1, initial=0.0)
    return {int(i) for i in np.flatnonzero(part > TAKES_PART)}


def in_recursion(mechanism: Mechanism, q: list[float]) -> set[int]:
    """From the pivots, and from one motion at random among those that cost nothing."""
    X = [screw(joint, x) for joint, x in zip(mechanism.joints, q, strict=True)]
    psi: list[Pair | None] = [None] * mechanism.n
    scale = np.ones(mechanism.n)
    beyond: list[list[tuple[Inertia, Body]]] = [[] for _ in X]
    for i in reversed(range(mechanism.n)):
        joint, link = mechanism.joints[i], mechanism.links[i]
        M, outer = reduce(plus, beyond[i]) if beyond[i] else (None, None)
        M = rigid(link) if M is None else rigid(link).plus(M)
        outer, C = composite(outer, link, X[i])
        diagonal = float((C.m if joint.prismatic else C.J.zz) + joint.armature)
        if float(M.column(joint).along(joint) + joint.armature) > NOTHING_LEFT * abs(diagonal):
            pivot = eliminate(M, joint)
            psi[i], M = pivot.psi, pivot.rest
        scale[i] = np.sqrt(abs(diagonal)) or 1.0
        if mechanism.parents[i] >= 0:
            beyond[mechanism.parents[i]].append((X[i].inertia_to_parent(M), outer))
    if all(part is not None for part in psi):
        return set()
    rates, rng, twists = np.zeros(mechanism.n), np.random.default_rng(1), dict[int, Pair]()
    for i, part in enumerate(psi):
        t = X[i].twist_to_child(twists.get(mechanism.parents[i], NOTHING))
        rates[i] = rng.normal() / scale[i] if part is None else -part.dot(t)
        twists[i] = t.plus(axis(mechanism.joints[i], rates[i]))
    part_of = np.abs(rates * scale)
    return {int(i) for i in np.flatnonzero(part_of > TAKES_PART * part_of.max())}
