"""Cartesian-tensor inverse dynamics with augmented links, after Balafoutis and Patel.

C. A. Balafoutis, R. V. Patel, 'Dynamic analysis of robot manipulators: a Cartesian tensor approach' (1991), cited by
Mata et al. (2002) as [23] with 93n-69 multiplications and 81n-66 additions.

An augmented link i is link i with the mass of everything beyond joint i+1 put at the origin of frame i+1. As
that point is fixed in link i (joint i+1 being revolute), the augmented first moment and inertia are constants,
and the forces to pass inward shrink to what the outer links add by moving about that point.

    Omega    wd~ + w~ w~                                      sdd     acceleration of the link origin, gravity included
    M, u, K  mass, first moment, Euler tensor of the augmented link
    eta      force at the joint, less M sdd                   mu      moment at the joint

At a prismatic joint the point would move, so there nothing is carried over: the true force is passed on instead.
The chapter itself was not at hand; the recursion is derived here, and its slopes are the cited ones.
"""

from typing import NamedTuple

from armwright.algebra import (
    ZERO,
    Scalar,
    Vector,
    euler_moment,
    point_inertia,
)
from armwright.chain import AnyLink, Chain, Joint, Wrench
from armwright.formulations.motion import Motion, tensor_motion
from armwright.formulations.recursion import inward
from armwright.formulations.types import Coordinates


class Carried(NamedTuple):
    """What link i+1 hands to link i, in frame i: a mass at `point`, a force and a moment."""

    mass: Scalar
    point: Vector
    eta: Vector
    mu: Vector


def inverse_dynamics(
    chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: tuple[Wrench, ...]
) -> list[Scalar]:
    motions = tensor_motion(chain, q, qd, qdd)
    return inward(_force, Carried(0, ZERO, ZERO, ZERO), chain.joints, chain.links, motions, loads)


def _force(outer: Carried, joint: Joint, link: AnyLink, m: Motion, load: Wrench) -> tuple[Carried, Scalar]:
    M = link.mass + outer.mass
    u = link.moment + outer.point * outer.mass
    K = (link.origin_inertia + point_inertia(outer.point) * outer.mass).euler
    eta = m.Omega @ u + outer.eta - load.force
    mu = euler_moment(m.Omega, K) + u.cross(m.sdd) + outer.mu - load.moment
    if joint.prismatic:
        force = m.R @ (eta + m.sdd * M)
        return Carried(0, ZERO, force, m.R @ mu + m.s.cross(force)), eta.z + m.sdd.z * M
    eta_inner = m.R @ eta
    return Carried(M, m.s, eta_inner, m.R @ mu + m.s.cross(eta_inner)), mu.z
