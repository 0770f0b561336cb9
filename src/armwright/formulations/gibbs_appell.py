"""Gibbs-Appell equations after Mata, Provenzano, Valero and Cuadrado (2002).

V. Mata, S. Provenzano, F. Valero, J. I. Cuadrado, 'Serial-robot dynamics algorithms for moderately large numbers of
joints', Mechanism and Machine Theory 37 (2002). Inverse dynamics is section 4.1, the mass matrix section 4.2.

    R        rotation from frame i to frame i-1               s       vector from the origin of frame i-1 to frame i
    r        centre of mass in the link frame                 w, wd   angular velocity and acceleration of the link
    Omega    wd~ + w~ w~ (12)                                 sdd     acceleration of the link origin, gravity included
    f, t     inertia force and moment (9), (10)               phi, chi   the recursive sums of (15), (16)
    M, gamma, E   mass, first moment and inertia of link i and its descendants, as if the robot were rigid beyond it
    phi, psi      (mass matrix) composite first moment and inertia about the origin of link i
    z[j][k], s[j][k]   axis k, and the vector from origin k to origin j, in frame j

Deviations: prismatic joints are added throughout; sdd starts at minus the gravity vector; link i+1 passes (16)
inward, instead of link i reading it; step 5 has the tilde on phi that is missing in print, step 3 rotates by R_j.
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Rotation, Scalar, Symmetric, Vector, Z, cross_inertia, euler_moment, point_inertia
from armwright.formulations.parts.link_motion import TensorMotion, tensor_motion
from armwright.formulations.parts.recursion import inward
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix
from armwright.mechanism import Joint, Link, Mechanism, Wrench


class GibbsSums(NamedTuple):
    phi: Vector
    chi: Vector


def inverse_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint torques."""
    motions = tensor_motion(mechanism, q, qd, qdd)
    return inward(mechanism.parents, _sums, GibbsSums(ZERO, ZERO), mechanism.joints, mechanism.bodies, motions, loads)


def _sums(outer: GibbsSums, joint: Joint, link: Link, m: TensorMotion, load: Wrench) -> tuple[GibbsSums, Scalar]:
    """Steps 2 and 3; step 1 is `tensor_motion`."""
    f = link.mass * (m.sdd + m.Omega @ link.com)  # (9)
    t = euler_moment(m.Omega, link.inertia.euler)  # (10)
    chi = link.com.cross(f) + t + outer.chi - load.moment  # (15)
    force = f + outer.phi - load.force
    tau = force.z if joint.prismatic else chi.z  # (14)
    phi = m.R @ force  # (16)
    return GibbsSums(phi, m.s.cross(phi) + m.R @ chi), tau


def mass_matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    """Return the mass matrix as rows."""
    n, joints = mechanism.n, mechanism.joints
    R = [joint.rotation(qi) for joint, qi in zip(joints, q, strict=True)]
    s = [joint.offset(qi) for joint, qi in zip(joints, q, strict=True)]
    M, gamma, E = _constants(mechanism, s)

    phi, psi = _composite(mechanism, R, s, gamma, E)
    axis, arm = _directions(mechanism, q, R)
    D: SquareMatrix = [[0] * n for _ in range(n)]
    for j in range(n):
        D[j][j] = M[j] if joints[j].prismatic else psi[j].zz  # step 6
        for k in axis[j].keys() - {j}:
            D[j][k] = D[k][j] = _entry(joints[j], joints[k], axis[j][k], arm[j][k], M[j], phi[j], psi[j])
    return D


def _constants(mechanism: Mechanism, s: list[Vector]) -> tuple[list[Scalar], list[Vector], list[Symmetric]]:
    """Step 1: off line where the joints are revolute."""
    M = [link.mass for link in mechanism.links]
    gamma, E = [link.moment for link in mechanism.links], [link.origin_inertia for link in mechanism.links]
    for i, inner in reversed(list(enumerate(mechanism.parents))):
        if inner >= 0:
            M[inner] = M[inner] + M[i]
            gamma[inner] = gamma[inner] + s[i] * M[i]
            E[inner] = E[inner] + point_inertia(s[i]) * M[i]
    return M, gamma, E


def _composite(
    mechanism: Mechanism, R: list[Rotation], s: list[Vector], gamma: list[Vector], E: list[Symmetric]
) -> tuple[list[Vector], list[Symmetric]]:
    """Steps 4 and 5."""
    phi, psi = list(gamma), list(E)
    for i, inner in reversed(list(enumerate(mechanism.parents))):
        if inner >= 0:
            carried = R[i] @ phi[i]
            phi[inner] = phi[inner] + carried
            psi[inner] = psi[inner] + cross_inertia(s[i], carried) + R[i].rotate(psi[i])
    return phi, psi


def _directions(
    mechanism: Mechanism, q: Coordinates, R: list[Rotation]
) -> tuple[list[dict[int, Vector]], list[dict[int, Vector]]]:
    """Steps 2 and 3: axes and arms [j][k] in frame j, of j and its ancestors k."""
    axis, arm = list[dict[int, Vector]](), list[dict[int, Vector]]()
    for j, inner in enumerate(mechanism.parents):
        step = mechanism.joints[j].offset_in_child(q[j], R[j])
        axis.append({j: Z})
        arm.append({j: ZERO})
        for k in mechanism.inward_from(inner):
            axis[j][k] = R[j].axis_in_child if k == inner else R[j].T @ axis[inner][k]
            arm[j][k] = step if k == inner else R[j].T @ arm[inner][k] + step
    return axis, arm


def _entry(joint: Joint, inner: Joint, axis: Vector, arm: Vector, M: Scalar, phi: Vector, psi: Symmetric) -> Scalar:
    """Step 7: D_jk for joint j and an inner joint k, by their types."""
    if joint.prismatic and inner.prismatic:
        return M * axis.z
    if joint.prismatic:
        return axis.cross(phi + M * arm).z
    if inner.prismatic:
        return axis.dot(Z.cross(phi))
    column = psi.third_column - arm.cross(phi.cross(Z))  # [psi - s~ phi~] z
    return axis.dot(column)


def gibbs_function(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, _loads: Loads = ()
) -> Scalar:
    """Return the Gibbs function of (3) and (4) with rotors, without the terms that no joint acceleration enters.

    The torques are its gradient by qdd, the mass matrix its Hessian.
    """
    total: Scalar = 0
    motions = tensor_motion(mechanism, q, qd, qdd)
    for joint, link, m, a in zip(mechanism.joints, mechanism.bodies, motions, qdd, strict=True):
        rdd = m.sdd + m.Omega @ link.com
        twice = link.mass * rdd.dot(rdd) + m.wd.dot(link.inertia @ m.wd) + joint.armature * a * a
        total = total + 0.5 * twice + m.wd.dot(m.w.cross(link.inertia @ m.w))
    return total
