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

from armwright.algebra import ZERO, Scalar, Symmetric, Vector, euler_moment, point_euler
from armwright.chain import AnyLink, Chain, Joint, Wrench
from armwright.formulations.parts.motion import TensorMotion, base_motion, tensor_step
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.types import Coordinates, Loads


class Augmented(NamedTuple):
    M: Scalar
    u: Vector
    K: Symmetric


class Loaded(NamedTuple):
    """A link in motion, and the force (less M sdd) and moment it needs itself."""

    motion: TensorMotion
    eta: Vector
    mu: Vector


class Carried(NamedTuple):
    """Force and moment that link i+1 hands to link i, in frame i."""

    eta: Vector
    mu: Vector


def inverse_dynamics(chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads) -> list[Scalar]:
    bodies = augmented(chain, q)
    base = Loaded(base_motion(chain), ZERO, ZERO)
    links = outward(load_step, base, chain.joints, bodies, q, qd, qdd, loads)
    return inward(force_step, Carried(ZERO, ZERO), chain.joints, bodies, links)


def augmented(chain: Chain, q: Coordinates) -> list[Augmented]:
    return inward(_augment, (0, ZERO), chain.joints, chain.links, q)


def _augment(
    outer: tuple[Scalar, Vector], joint: Joint, link: AnyLink, q: Scalar
) -> tuple[tuple[Scalar, Vector], Augmented]:
    """Link i with the mass beyond joint i+1 put where that joint is."""
    mass, point = outer
    M = link.mass + mass
    u = link.moment + point * mass
    K = link.origin_euler + point_euler(point) * mass
    return (0, ZERO) if joint.prismatic else (M, joint.offset(q)), Augmented(M, u, K)


def load_step(last: Loaded, joint: Joint, body: Augmented, q: Scalar, qd: Scalar, qdd: Scalar, load: Wrench) -> Loaded:
    m = tensor_step(last.motion, joint, q, qd, qdd)
    eta = m.Omega @ body.u - load.force
    mu = euler_moment(m.Omega, body.K) + body.u.cross(m.sdd) - load.moment
    return Loaded(m, eta, mu)


def force_step(outer: Carried, joint: Joint, body: Augmented, link: Loaded) -> tuple[Carried, Scalar]:
    m = link.motion
    eta, mu = link.eta + outer.eta, link.mu + outer.mu
    if joint.prismatic:
        eta = eta + m.sdd * body.M
    inner = m.R @ eta
    return Carried(inner, m.R @ mu + m.s.cross(inner)), eta.z if joint.prismatic else mu.z
