"""The centre of mass of a robot, its velocity, and the momentum about it.

D. E. Orin, A. Goswami, 'Centroidal momentum matrix of a humanoid robot', IROS 2008: column i of the matrix is the
momentum of everything beyond joint i, as one body, for a unit rate of that joint.

    m, h     mass and first moment of everything beyond a joint, about the origin of its link, in its frame
    l, k     momentum, and moment of momentum about the origin of a link
    W, o     rotation and origin of a link frame, seen from the world
    c        the centre of mass in the world

Rotors are not included: only their inertia about the joint is known.
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Vector, Z
from armwright.formulations.composite_body import composite, unit_wrench
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.spatial import ZERO_PAIR, Pair, Screw, screw
from armwright.formulations.parts.types import Coordinates
from armwright.formulations.quantities.energy import twist_step
from armwright.formulations.quantities.kinematics import link_frames, link_placements
from armwright.mechanism import AnyLink, Joint, Mechanism

Rows = list[list[Scalar]]


class MassMoment(NamedTuple):
    """Mass and first moment of several bodies."""

    m: Scalar
    h: Vector


def center_of_mass(mechanism: Mechanism, q: Coordinates) -> list[Scalar]:
    """Return c, by first moments summed from the tips inward."""
    return list(_center_of(mechanism, _mass_moments(mechanism, q)))


def center_of_mass_jacobian(mechanism: Mechanism, q: Coordinates) -> Rows:
    """Return the Jacobian of c, 3 x n: the bodies beyond a joint move c by their share of the mass."""
    moments, share = _mass_moments(mechanism, q), 1 / _mass(mechanism)
    columns = [
        W @ ((Z * outer.m if joint.prismatic else Z.cross(outer.h)) * share)
        for joint, (W, _), (_, outer) in zip(mechanism.joints, link_placements(mechanism, q), moments, strict=True)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def centroidal_momentum(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> list[Scalar]:
    """Return the momentum of all links, summed from the tips inward, about the centre of mass."""
    twists = outward(mechanism.parents, twist_step, ZERO_PAIR, mechanism.joints, q, qd)
    screws = [screw(joint, x) for joint, x in zip(mechanism.joints, q, strict=True)]
    momenta = inward(mechanism.parents, _momentum_step, ZERO_PAIR, mechanism.links, twists, screws)
    total = ZERO_PAIR
    for parent, (inner, _) in zip(mechanism.parents, momenta, strict=True):
        total = total.plus(inner) if parent < 0 else total
    W = mechanism.base.rotation
    l, lever = W @ total.linear, _center_of(mechanism, _mass_moments(mechanism, q)) - mechanism.base.position  # noqa: E741
    return [*l, *(W @ total.angular - lever.cross(l))]


def centroidal_momentum_matrix(mechanism: Mechanism, q: Coordinates) -> Rows:
    """Return l above k - (c - o) x l for a unit rate of each joint, 6 x n."""
    screws = [screw(joint, x) for joint, x in zip(mechanism.joints, q, strict=True)]
    bodies = inward(mechanism.parents, composite, None, mechanism.links, screws)
    c, columns = _center_of(mechanism, _mass_moments(mechanism, q)), []
    for joint, body, frame in zip(mechanism.joints, bodies, link_frames(mechanism, q), strict=True):
        wrench = unit_wrench(joint, body)
        l = frame.rotation @ wrench.linear  # noqa: E741
        columns.append([*l, *(frame.rotation @ wrench.angular + (frame.position - c).cross(l))])
    return [list(row) for row in zip(*columns, strict=True)]


def _mass(mechanism: Mechanism) -> Scalar:
    return sum((link.mass for link in mechanism.links), start=0)


def _mass_moments(mechanism: Mechanism, q: Coordinates) -> list[tuple[MassMoment, MassMoment]]:
    """Return each link and everything outwards: in the parent's frame, and in its own."""
    return inward(mechanism.parents, _mass_moment_step, MassMoment(0, ZERO), mechanism.links, mechanism.joints, q)


def _mass_moment_step(
    outer: MassMoment, link: AnyLink, joint: Joint, q: Scalar
) -> tuple[MassMoment, tuple[MassMoment, MassMoment]]:
    beyond = MassMoment(link.mass + outer.m, link.moment + outer.h)
    inner = MassMoment(beyond.m, joint.rotation(q) @ beyond.h + joint.offset(q) * beyond.m)
    return inner, (inner, beyond)


def _center_of(mechanism: Mechanism, moments: list[tuple[MassMoment, MassMoment]]) -> Vector:
    moment = ZERO
    for parent, (inner, _) in zip(mechanism.parents, moments, strict=True):
        moment = moment + inner.h if parent < 0 else moment
    center: Vector = mechanism.base.position + mechanism.base.rotation @ (moment * (1 / _mass(mechanism)))
    return center


def _momentum_step(outer: Pair, link: AnyLink, twist: Pair, X: Screw) -> tuple[Pair, tuple[Pair, Pair]]:
    v, w = twist
    beyond = Pair(v * link.mass + w.cross(link.moment), link.moment.cross(v) + link.origin_inertia @ w).plus(outer)
    inner = X.wrench_to_parent(beyond)
    return inner, (inner, beyond)
