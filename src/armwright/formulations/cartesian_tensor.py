"""Cartesian-tensor inverse dynamics with augmented links, after Balafoutis and Patel.

C. A. Balafoutis, R. V. Patel, 'Dynamic analysis of robot manipulators: a Cartesian tensor approach' (1991), cited by
Mata et al. (2002) as [23] with 93n-69 multiplications and 81n-66 additions.

An augmented link i is link i with the mass of everything beyond each outer joint put at the origin of its frame. As
that point is fixed in link i (joint i+1 being revolute), the augmented first moment and inertia are constants,
and the forces to pass inward shrink to what the outer links add by moving about that point.

    Omega    wd~ + w~ w~                                      sdd     acceleration of the link origin, gravity included
    M, u, K  mass, first moment, Euler tensor of the augmented link
    eta      force at the joint, less M sdd                   mu      moment at the joint

At a prismatic joint the point would move, so no mass is carried over and the true force is passed on instead.
The chapter was not available. The recursion is derived here; its operations per joint are the cited ones.
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Symmetric, Vector, euler_moment, point_euler
from armwright.formulations.parts.link_motion import TensorMotion, base_motion, tensor_step
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import AnyLink, Joint, Mechanism, Wrench


class Augmented(NamedTuple):
    M: Scalar
    u: Vector
    K: Symmetric


ZERO_BODY = Augmented(0, ZERO, Symmetric(0, 0, 0, 0, 0, 0))


class LoadedLink(NamedTuple):
    """A link in motion, and its own force (less M sdd) and moment."""

    motion: TensorMotion
    eta: Vector
    mu: Vector


class CarriedWrench(NamedTuple):
    """Force and moment that link i+1 passes to link i, in frame i."""

    eta: Vector
    mu: Vector


def inverse_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint torques."""
    bodies = augmented(mechanism, q)
    base = LoadedLink(base_motion(mechanism), ZERO, ZERO)
    links = outward(mechanism.parents, load_step, base, mechanism.joints, bodies, q, qd, qdd, loads)
    return inward(mechanism.parents, force_step, CarriedWrench(ZERO, ZERO), mechanism.joints, bodies, links)


def augmented(mechanism: Mechanism, q: Coordinates) -> list[Augmented]:
    """Return the augmented links."""
    return inward(mechanism.parents, _augment, ZERO_BODY, mechanism.joints, mechanism.links, q)


def _augment(beyond: Augmented, joint: Joint, link: AnyLink, q: Scalar) -> tuple[Augmented, Augmented]:
    """Return link i with the mass beyond each of its outer joints placed at that joint."""
    M, u, K = link.mass + beyond.M, link.moment + beyond.u, link.origin_euler + beyond.K
    if joint.prismatic:
        return ZERO_BODY, Augmented(M, u, K)
    point = joint.offset(q)
    return Augmented(M, point * M, point_euler(point) * M), Augmented(M, u, K)


def load_step(
    last: LoadedLink, joint: Joint, body: Augmented, q: Scalar, qd: Scalar, qdd: Scalar, load: Wrench
) -> LoadedLink:
    """Return the motion of a link and its own force and moment (outward)."""
    m = tensor_step(last.motion, joint, q, qd, qdd)
    eta = m.Omega @ body.u - load.force
    mu = euler_moment(m.Omega, body.K) + body.u.cross(m.sdd) - load.moment
    return LoadedLink(m, eta, mu)


def force_step(outer: CarriedWrench, joint: Joint, body: Augmented, link: LoadedLink) -> tuple[CarriedWrench, Scalar]:
    """Add the forces of the outer links and return the torque of the joint (inward)."""
    m = link.motion
    eta, mu = link.eta + outer.eta, link.mu + outer.mu
    if joint.prismatic:
        eta = eta + m.sdd * body.M
    inner = m.R @ eta
    return CarriedWrench(inner, m.R @ mu + m.s.cross(inner)), eta.z if joint.prismatic else mu.z
