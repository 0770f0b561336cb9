"""Where the centre of mass of a whole robot is, how it moves, and the momentum about it.

D. E. Orin, A. Goswami, 'Centroidal momentum matrix of a humanoid robot', IROS 2008: column i of the matrix is the
momentum of all that hangs on joint i, taken as one body, for a unit rate of that joint.

    m, h     mass and first moment of all that hangs on a joint, about the origin of its link, in its frame
    l, k     momentum, and moment of momentum about the origin of a link
    W, o     rotation and origin of a link frame, seen from the world
    c        the centre of mass in the world

Rotors turn beside the links, and are left out: only their inertia about the joint is known.
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Vector, Z
from armwright.formulations.composite_body import composite, unit_wrench
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.spatial import NOTHING, Pair, Screw, screw
from armwright.formulations.parts.types import Coordinates
from armwright.formulations.quantities.energy import twist_step
from armwright.formulations.quantities.kinematics import link_frames, placed
from armwright.mechanism import AnyLink, Joint, Mechanism

Rows = list[list[Scalar]]


class Heap(NamedTuple):
    """Bodies of which only mass and first moment count."""

    m: Scalar
    h: Vector


def center_of_mass(mechanism: Mechanism, q: Coordinates) -> list[Scalar]:
    """c, by first moments summed from the tips inward."""
    return list(_center(mechanism, _heaps(mechanism, q)))


def center_of_mass_jacobian(mechanism: Mechanism, q: Coordinates) -> Rows:
    """3 x n: what hangs on a joint turns about its axis, or slides along it, and takes its share of the mass along."""
    heaps, share = _heaps(mechanism, q), 1 / _mass(mechanism)
    columns = [
        W @ ((Z * outer.m if joint.prismatic else Z.cross(outer.h)) * share)
        for joint, (W, _), (_, outer) in zip(mechanism.joints, placed(mechanism, q), heaps, strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def centroidal_momentum(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> list[Scalar]:
    """Of all links, gathered from the tips inward as forces are, then taken about the centre of mass."""
    twists = outward(mechanism.parents, twist_step, NOTHING, mechanism.joints, q, qd)
    screws = [screw(joint, x) for joint, x in zip(mechanism.joints, q, strict=True)]
    handed = inward(mechanism.parents, _gather, NOTHING, mechanism.links, twists, screws)
    whole = NOTHING
    for parent, (inner, _) in zip(mechanism.parents, handed, strict=True):
        whole = whole.plus(inner) if parent < 0 else whole
    W = mechanism.base.rotation
    l, lever = W @ whole.linear, _center(mechanism, _heaps(mechanism, q)) - mechanism.base.position  # noqa: E741
    return [*l, *(W @ whole.angular - lever.cross(l))]


def centroidal_momentum_matrix(mechanism: Mechanism, q: Coordinates) -> Rows:
    """6 x n: l above k - (c - o) x l for a unit rate of each joint."""
    screws = [screw(joint, x) for joint, x in zip(mechanism.joints, q, strict=True)]
    bodies = inward(mechanism.parents, composite, None, mechanism.links, screws)
    c, columns = _center(mechanism, _heaps(mechanism, q)), []
    for joint, body, frame in zip(mechanism.joints, bodies, link_frames(mechanism, q), strict=True):
        own = unit_wrench(joint, body)
        l = frame.rotation @ own.linear  # noqa: E741
        columns.append([*l, *(frame.rotation @ own.angular + (frame.position - c).cross(l))])
    return [list(row) for row in zip(*columns, strict=True)]


def _mass(mechanism: Mechanism) -> Scalar:
    return sum((link.mass for link in mechanism.links), start=0)


def _heaps(mechanism: Mechanism, q: Coordinates) -> list[tuple[Heap, Heap]]:
    """All from each link outwards: seen from the parent's frame, and from its own."""
    return inward(mechanism.parents, _heap, Heap(0, ZERO), mechanism.links, mechanism.joints, q)


def _heap(outer: Heap, link: AnyLink, joint: Joint, q: Scalar) -> tuple[Heap, tuple[Heap, Heap]]:
    own = Heap(link.mass + outer.m, link.moment + outer.h)
    inner = Heap(own.m, joint.rotation(q) @ own.h + joint.offset(q) * own.m)
    return inner, (inner, own)


def _center(mechanism: Mechanism, heaps: list[tuple[Heap, Heap]]) -> Vector:
    moment = ZERO
    for parent, (inner, _) in zip(mechanism.parents, heaps, strict=True):
        moment = moment + inner.h if parent < 0 else moment
    center: Vector = mechanism.base.position + mechanism.base.rotation @ (moment * (1 / _mass(mechanism)))
    return center


def _gather(outer: Pair, link: AnyLink, twist: Pair, X: Screw) -> tuple[Pair, tuple[Pair, Pair]]:
    v, w = twist
    own = Pair(v * link.mass + w.cross(link.moment), link.moment.cross(v) + link.origin_inertia @ w).plus(outer)
    inner = X.wrench_to_parent(own)
    return inner, (inner, own)
