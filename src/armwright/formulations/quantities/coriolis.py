"""The Coriolis matrix C(q, qd) of Christoffel symbols: C qd is the velocity torque, and dM/dt - 2C is skew-symmetric.

From the natural orthogonal complement (T^T M T)' = Td^T M T + T^T Md T + T^T M Td, written link by link in the
base frame:

    C_jk = sum_i  m u_j . ud_k + e_j . (I ed_k + X e_k),    X = 1/2 (w~ I - I w~ - (I w)~)

e, u are the partial angular velocity and the partial velocity of the centre of mass of link i; w is its angular
velocity. Any X with X w = w x I w and symmetric part 1/2 dI/dt makes dM/dt - 2C skew; this one is symmetric in
k and in the joint whose rate multiplies it, which is what makes C the matrix of Christoffel symbols (Echeandia
and Wensing 2021).
"""

from typing import NamedTuple

from armwright.algebra import IDENTITY, ZERO, Matrix, Scalar, Vector, Z
from armwright.formulations.parts.recursion import outward
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Joint, Mechanism


def coriolis_matrix(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> SquareMatrix:
    n = mechanism.n
    C: SquareMatrix = [[0] * n for _ in range(n)]
    links = outward(mechanism.parents, _move, Moved(IDENTITY, ZERO, ZERO, ZERO), mechanism.joints, q, qd)
    for i, (link, m) in enumerate(zip(mechanism.bodies, links, strict=True)):
        r = m.W @ link.com
        c, cd = m.o + r, m.v + m.w.cross(r)
        inertia = m.W.dot(link.inertia.matrix).dot(m.W.T)
        way = list(mechanism.inward_from(i))[::-1]
        parts = {k: _partial(mechanism.joints[k], links[k], c, cd) for k in way}
        for k, (e, ed, _, ud) in parts.items():
            gyration = (m.w.cross(inertia @ e) - inertia @ m.w.cross(e) - (inertia @ m.w).cross(e)) * 0.5
            moment, force = inertia @ ed + gyration, link.mass * ud
            for j, (e_j, _, u_j, _) in parts.items():
                C[j][k] = C[j][k] + (u_j.dot(force) + e_j.dot(moment))
    return C


class Moved(NamedTuple):
    """Frame and origin of a link, its angular velocity and the velocity of its origin, in frame 0."""

    W: Matrix
    o: Vector
    w: Vector
    v: Vector


def _move(last: Moved, joint: Joint, q: Scalar, qd: Scalar) -> Moved:
    R, s = joint.rotation(q), last.W @ joint.offset(q)
    W, o, w, v = Matrix(*(R.T @ row for row in last.W)), last.o + s, last.w, last.v + last.w.cross(s)
    axis = W @ Z
    return Moved(W, o, w, v + axis * qd) if joint.prismatic else Moved(W, o, w + axis * qd, v)


def _partial(joint: Joint, m: Moved, c: Vector, cd: Vector) -> tuple[Vector, Vector, Vector, Vector]:
    """e, ed, u, ud of a link whose centre of mass is at c and moves with cd, for the joint of link m."""
    axis = m.W @ Z
    rate = m.w.cross(axis)
    if joint.prismatic:
        return ZERO, ZERO, axis, rate
    return axis, rate, axis.cross(c - m.o), rate.cross(c - m.o) + axis.cross(cd - m.v)
