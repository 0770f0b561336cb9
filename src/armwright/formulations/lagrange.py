"""Recursive Lagrangian dynamics with 3x3 matrices, after Hollerbach (1980).

J. M. Hollerbach, 'A recursive Lagrangian formulation of manipulator dynamics and a comparative study of dynamics
formulation complexity', IEEE Trans. SMC 10 (1980).

    W, Wd, Wdd   rotation from the link frame to the base, and its time derivatives
    pdd          acceleration of the link origin in the base frame, gravity included
    D            sum over the outer mass of x a^T: x from the link origin in link axes, a its acceleration in base axes
    e            sum over the outer mass of a
    J            integral of r r^T over the link (pseudo-inertia), n its first moment

Torque is tau_i = tr(dW_i/dq_i D_i). Deviations: link frames are proximal, gravity enters as an acceleration of
the base instead of by its own recursion, prismatic joints and wrenches are added. W times the generator of
rotation about z swaps two columns, so the derivatives of the joint matrices are never formed.
"""

from typing import NamedTuple

from armwright.algebra import IDENTITY, ZERO, Matrix, Rotation, Scalar, Vector, outer
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import AnyLink, Joint, Mechanism, Wrench


class Rates(NamedTuple):
    R: Rotation
    s: Vector
    W: Matrix
    Wd: Matrix
    Wdd: Matrix
    pdd: Vector


class LagrangeSums(NamedTuple):
    D: Matrix
    e: Vector


ZERO_MATRIX = IDENTITY * 0


def inverse_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint torques."""
    base = Rates(Rotation(1, 0, 1, 0), ZERO, IDENTITY, ZERO_MATRIX, ZERO_MATRIX, -mechanism.gravity)
    motions = outward(mechanism.parents, _motion, base, mechanism.joints, q, qd, qdd)
    return inward(
        mechanism.parents, _sums, LagrangeSums(ZERO_MATRIX, ZERO), mechanism.joints, mechanism.links, motions, loads
    )


def _motion(last: Rates, joint: Joint, q: Scalar, qd: Scalar, qdd: Scalar) -> Rates:
    R, s = joint.rotation(q), joint.offset(q)
    W, Wd, Wdd = _product(last.W, R), _product(last.Wd, R), _product(last.Wdd, R)
    pdd = last.pdd + last.Wdd @ s
    if joint.prismatic:
        pdd = pdd + 2 * qd * Wd.T.z + qdd * W.T.z
    else:
        carried = Wd
        Wd = carried + _generator(W) * qd
        Wdd = Wdd + _generator(carried + Wd) * qd + _generator(W) * qdd
    return Rates(R, s, W, Wd, Wdd, pdd)


def _product(W: Matrix, R: Rotation) -> Matrix:
    """W R, row by row."""
    return Matrix(*(R.T @ row for row in W))


def _generator(W: Matrix) -> Matrix:
    """W z~: the derivative of W Rot(z, t) at t = 0."""
    return Matrix(*(Vector(row.y, -row.x, 0) for row in W))


def _sums(beyond: LagrangeSums, joint: Joint, link: AnyLink, m: Rates, load: Wrench) -> tuple[LagrangeSums, Scalar]:
    n, J = link.moment, link.origin_euler
    e = beyond.e + link.mass * m.pdd + m.Wdd @ n - m.W @ load.force
    D = beyond.D + outer(n, m.pdd) + Matrix(*(J @ row for row in m.Wdd)).T - _couple(load.moment, m.W)
    x, y, z = m.W.T
    tau = z.dot(e) if joint.prismatic else y.dot(D.x) - x.dot(D.y)
    inner = Matrix(*(m.R @ column for column in D.T)).T + outer(m.s, e)
    return LagrangeSums(inner, e), tau


def _couple(moment: Vector, W: Matrix) -> Matrix:
    """x f^T of a pair of forces with the given moment; arms along x, y, z of the link frame."""
    x, y, z = W.T
    return Matrix(moment.z * y, moment.x * z, moment.y * x)
