"""Gibbs-Appell equations after Mata, Provenzano, Valero and Cuadrado (2002).

V. Mata, S. Provenzano, F. Valero, J. I. Cuadrado, 'Serial-robot dynamics algorithms for moderately large numbers of
joints', Mechanism and Machine Theory 37 (2002). Inverse dynamics is section 4.1, the mass matrix section 4.2.

    R        rotation from frame i to frame i-1               s       vector from the origin of frame i-1 to frame i
    r        centre of mass in the link frame                 w, wd   angular velocity and acceleration of the link
    Omega    wd~ + w~ w~ (12)                                 sdd     acceleration of the link origin, gravity included
    f, t     inertia force and moment (9), (10)               phi, chi   the recursive sums of (15), (16)
    M, gamma, E   mass, first moment and inertia of all that hangs on link i, as if the chain ended stiff at i+1
    phi, psi      (mass matrix) composite first moment and inertia about the origin of link i
    z[k][j], s[k][j]   axis k, and the vector from origin k to origin j, in frame j

Deviations: prismatic joints are added throughout; sdd starts at minus the gravity vector; (16) is handed inward
by link i+1 instead of fetched by link i; step 5 carries the tilde on phi that the paper lost, step 3 rotates by
R_j.
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Rotation, Scalar, Symmetric, Vector, Z, euler_moment, point_inertia
from armwright.chain import Chain, Joint, Link, Wrench
from armwright.formulations.parts.motion import TensorMotion, tensor_motion
from armwright.formulations.parts.recursion import inward
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix


class Sums(NamedTuple):
    phi: Vector
    chi: Vector


def inverse_dynamics(chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads) -> list[Scalar]:
    motions = tensor_motion(chain, q, qd, qdd)
    return inward(_sums, Sums(ZERO, ZERO), chain.joints, chain.bodies, motions, loads)


def _sums(outer: Sums, joint: Joint, link: Link, m: TensorMotion, load: Wrench) -> tuple[Sums, Scalar]:
    """Steps 2 and 3; step 1 is `tensor_motion`."""
    f = link.mass * (m.sdd + m.Omega @ link.com)  # (9)
    t = euler_moment(m.Omega, link.inertia.euler)  # (10)
    chi = link.com.cross(f) + t + outer.chi - load.moment  # (15)
    force = f + outer.phi - load.force
    tau = force.z if joint.prismatic else chi.z  # (14)
    phi = m.R @ force  # (16)
    return Sums(phi, m.s.cross(phi) + m.R @ chi), tau


def mass_matrix(chain: Chain, q: Coordinates) -> SquareMatrix:
    n, joints = chain.n, chain.joints
    R = [joint.rotation(qi) for joint, qi in zip(joints, q, strict=True)]
    s = [joint.offset(qi) for joint, qi in zip(joints, q, strict=True)]
    M, gamma, E = _constants(chain, s)

    phi, psi = _composite(R, s, gamma, E)
    axis, arm = _directions(chain, q, R)
    D: SquareMatrix = [[0] * n for _ in range(n)]
    for j in range(n):
        D[j][j] = M[j] if joints[j].prismatic else psi[j].zz  # step 6
        for k in range(j):
            D[j][k] = D[k][j] = _entry(joints[j], joints[k], axis[k][j], arm[k][j], M[j], phi[j], psi[j])
    return D


def _constants(chain: Chain, s: list[Vector]) -> tuple[list[Scalar], list[Vector], list[Symmetric]]:
    """Step 1: off line where the joints are revolute."""
    M: list[Scalar] = [0] * chain.n
    gamma, E = [ZERO] * chain.n, [Symmetric(0, 0, 0, 0, 0, 0)] * chain.n
    carried: Scalar = 0
    for i in reversed(range(chain.n)):
        link = chain.links[i]
        M[i], gamma[i], E[i] = link.mass + carried, link.moment, link.origin_inertia
        if i + 1 < chain.n:
            gamma[i] = gamma[i] + s[i + 1] * carried
            E[i] = E[i] + point_inertia(s[i + 1]) * carried
        carried = M[i]
    return M, gamma, E


def _composite(
    R: list[Rotation], s: list[Vector], gamma: list[Vector], E: list[Symmetric]
) -> tuple[list[Vector], list[Symmetric]]:
    """Steps 4 and 5."""
    n = len(R)
    phi, psi = list(gamma), list(E)
    for i in reversed(range(n - 1)):
        carried = R[i + 1] @ phi[i + 1]
        phi[i] = gamma[i] + carried
        psi[i] = E[i] + _sweep(s[i + 1], carried) + R[i + 1].similar(psi[i + 1])
    return phi, psi


def _sweep(s: Vector, p: Vector) -> Symmetric:
    """-s~ p~ - (s~ p~)^T, the part of the parallel-axis rule that is linear in the first moment p."""
    x, y, z = 2 * s.x * p.x, 2 * s.y * p.y, 2 * s.z * p.z
    return Symmetric(y + z, x + z, x + y, -(s.x * p.y + s.y * p.x), -(s.x * p.z + s.z * p.x), -(s.y * p.z + s.z * p.y))


def _directions(chain: Chain, q: Coordinates, R: list[Rotation]) -> tuple[list[list[Vector]], list[list[Vector]]]:
    """Steps 2 and 3: axes and arms [k][j] in frame j, for k <= j."""
    n = chain.n
    axis, arm = ([[ZERO] * n for _ in range(n)] for _ in range(2))
    for j in range(n):
        step = chain.joints[j].offset_in_child(q[j], R[j])
        axis[j][j] = Z
        for k in range(j):
            axis[k][j] = R[j].axis_in_child if k == j - 1 else R[j].T @ axis[k][j - 1]
            arm[k][j] = step if k == j - 1 else R[j].T @ arm[k][j - 1] + step
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


def gibbs_function(chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, _loads: Loads = ()) -> Scalar:
    """(3), (4): half of mass times squared acceleration, but for what no joint acceleration enters; with rotors.

    The torques are its gradient by qdd, the mass matrix its Hessian.
    """
    total: Scalar = 0
    motions = tensor_motion(chain, q, qd, qdd)
    for joint, link, m, a in zip(chain.joints, chain.bodies, motions, qdd, strict=True):
        rdd = m.sdd + m.Omega @ link.com
        twice = link.mass * rdd.dot(rdd) + m.wd.dot(link.inertia @ m.wd) + joint.armature * a * a
        total = total + 0.5 * twice + m.wd.dot(m.w.cross(link.inertia @ m.w))
    return total
