"""Closed-form equations from the equilibrium of each sub-chain, or sub-tree, after Grigorov (2013).

B. Grigorov, 'A generalized Newton-Euler algorithm for dynamic simulation of robot-manipulators with revolute
joints' (2013). The moments of all inertia, gravity and outer forces beyond joint j are brought to frame j and
projected on its axis, so the torque of one joint is found without those of the others.

    jR[i], jP[i]   rotation from frame i to frame j, and the origin of frame i in frame j
    jPC            centre of mass of link i in frame j
    w, wd, vd, vC  angular velocity and acceleration, accelerations of the origin and of the centre of mass (6)
    C_eps, C_V, C_VC   wd, vd and vC without accelerations of the joints (8)

Deviations: (5) with m_i inside the sum and jR_i before I_i; (10) summed over the links beyond both j and k; (12) with
the jR_i that the paper drops before the centripetal part. Prismatic joints are added: there the forces are projected
instead of the moments, and a unit acceleration of joint k moves every outer centre of mass along z_k.
"""

from typing import NamedTuple

from armwright.algebra import IDENTITY, ZERO, Matrix, Rotation, Scalar, Vector, Z
from armwright.formulations.parts.coordinates import convective
from armwright.formulations.parts.link_motion import PointMotion, point_motion
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix
from armwright.mechanism import Link, Mechanism


class LinkPlace(NamedTuple):
    """Link i in frame j."""

    R: Matrix
    P: Vector
    PC: Vector


def inverse_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint torques."""
    motions = _motions(mechanism, q, qd, qdd)
    return [_torque(mechanism, j, motions, loads) for j in range(mechanism.n)]


def joint_torque(
    mechanism: Mechanism, j: int, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Scalar:
    """Return the torque of joint j alone (counted from 0)."""
    return _torque(mechanism, j, _motions(mechanism, q, qd, qdd), loads)


def _motions(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[PointMotion]:
    """Equations (6); the base is at rest, as gravity is a force here."""
    return point_motion(mechanism, ZERO, q, qd, qdd)


def convective_accelerations(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> list[list[list[Scalar]]]:
    """Return C_eps, C_V and C_VC of (8) for every link, each in the frame of its link."""
    motions = _motions(mechanism, q, qd, convective(mechanism, qd))
    links = zip(mechanism.bodies, motions, strict=True)
    return [[list(m.wd), list(m.vd), list(_centre_acceleration(link, m))] for link, m in links]


def _centre_acceleration(link: Link, m: PointMotion) -> Vector:
    """Return the last of (6) and of (8)."""
    return m.wd.cross(link.com) + m.w.cross(m.w.cross(link.com)) + m.vd


def _torque(mechanism: Mechanism, j: int, motions: list[PointMotion], loads: Loads) -> Scalar:
    """Equation (5), solved for tau_j."""
    force, moment, gravity = ZERO, ZERO, mechanism.gravity
    for i in list(mechanism.inward_from(j))[::-1]:
        gravity = motions[i].R.T @ gravity
    bodies = mechanism.bodies
    places = _places_in_frame(j, mechanism, [m.R for m in motions], [m.s for m in motions])
    for i, place in places.items():
        link, m, load = bodies[i], motions[i], loads[i]
        F = link.mass * (place.R @ _centre_acceleration(link, m) - gravity)
        N = link.inertia @ m.wd + m.w.cross(link.inertia @ m.w)
        outer = place.R @ load.force
        force = force + F - outer
        moment = moment + place.PC.cross(F) + place.R @ (N - load.moment) - place.P.cross(outer)
    return force.z if mechanism.joints[j].prismatic else moment.z


def _places_in_frame(j: int, mechanism: Mechanism, R: list[Rotation], s: list[Vector]) -> dict[int, LinkPlace]:
    """Return link j and its descendants, in frame j."""
    bodies = mechanism.bodies
    places = {j: LinkPlace(IDENTITY, ZERO, bodies[j].com)}
    for i in mechanism.outward_from(j)[1:]:
        inner = places[mechanism.parents[i]]
        jR = Matrix(*(R[i].T @ row for row in inner.R))  # inner.R R_i, row by row
        jP = inner.P + inner.R @ s[i]
        places[i] = LinkPlace(jR, jP, jP + jR @ bodies[i].com)
    return places


def mass_matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    """Equation (10)."""
    n = mechanism.n
    R = [joint.rotation(qi) for joint, qi in zip(mechanism.joints, q, strict=True)]
    s = [joint.offset(qi) for joint, qi in zip(mechanism.joints, q, strict=True)]
    places = [_places_in_frame(j, mechanism, R, s) for j in range(n)]
    M: SquareMatrix = [[0] * n for _ in range(n)]
    for j in range(n):
        for k in mechanism.inward_from(j):
            M[j][k] = M[k][j] = _entry(mechanism, j, k, places[j], places[k])
    return M


def _entry(mechanism: Mechanism, j: int, k: int, at_j: dict[int, LinkPlace], at_k: dict[int, LinkPlace]) -> Scalar:
    """Return the torque of joint j per unit acceleration of its ancestor k, summed over all links beyond j."""
    total: Scalar = 0
    bodies = mechanism.bodies
    for i, place in at_j.items():
        link, outer = bodies[i], at_k[i]
        axis = outer.R.z  # z_k in the frame of the link
        if mechanism.joints[k].prismatic:
            wd, vC = ZERO, axis
        else:
            wd, vC = axis, outer.R.T @ Z.cross(outer.PC)
        F = place.R @ (link.mass * vC)
        moment = place.PC.cross(F) + place.R @ (link.inertia @ wd)
        total = total + (F.z if mechanism.joints[j].prismatic else moment.z)
    return total
