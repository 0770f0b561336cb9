"""Decoupled natural orthogonal complement, after Mohan and Saha (2007): the twists are t = N_l N_d qd.

A. Mohan, S. K. Saha, 'A recursive, numerically stable, and efficient simulation algorithm for serial robots',
Multibody System Dynamics 17 (2007). N_d holds the joint axes p_i, N_l the twist propagators A_ij. Inverse
dynamics is tau = N_d^T N_l^T (M td + gamma); the mass matrix is N_d^T N_l^T M N_l N_d; forward dynamics solves
with its U D U^T factors (30), found link by link without forming the matrix.

    t, td    twist and its rate, of the point of link i at its origin       w*      inertia wrench (16)
    gamma    the part of w* quadratic in velocity (17b)                      M~      composite mass matrix (28)
    M^, M-   articulated mass matrix before and after eliminating joint i (34)
    psi      M^ p / m^ (33)     eta (32), mu (37)   the recursive solutions with U and U^T

Deviations: link matrices are in the canonical frame of link i, so they are constant and links may have any
shape; (27) has the gamma that is missing in print, (33) lacks an A too many; gravity is an acceleration of the
base; the propagator A_{i+1,i} is applied as two screws (`spatial`); the rows of M- that are zero by (34) are
not computed; a rotor adds to m^.
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Vector, Z
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.spatial import ZERO_PAIR, Inertia, Pair, Pivot, Screw, axis, eliminate, rigid, screw
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix
from armwright.mechanism import AnyLink, Joint, Mechanism, Wrench


class TwistRate(NamedTuple):
    A: Screw
    w: Vector
    td: Pair


class Factor(NamedTuple):
    """The factors of link i for solving with U D U^T: A_{i,i-1}, psi_i, and phi~_i of (35)."""

    A: Screw
    psi: Pair
    phi: Scalar


def inverse_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint torques."""
    propagators = _propagators(mechanism, q)
    base = TwistRate(propagators[0], ZERO, Pair(-mechanism.gravity, ZERO))
    motions = outward(mechanism.parents, _motion, base, mechanism.joints, propagators, q, qd, qdd)
    return inward(mechanism.parents, _wrench, ZERO_PAIR, mechanism.joints, mechanism.links, motions, loads)


def _propagators(mechanism: Mechanism, q: Coordinates) -> list[Screw]:
    return [screw(joint, qi) for joint, qi in zip(mechanism.joints, q, strict=True)]


def _motion(last: TwistRate, joint: Joint, A: Screw, q: Scalar, qd: Scalar, qdd: Scalar) -> TwistRate:
    """Rate of (4): td_i = A td_{i-1} + Ad t_{i-1} + p qdd + pd qd."""
    v, w = last.td
    v, wd = A.twist_to_child(Pair(v + last.w.cross(last.w.cross(joint.offset(q))), w))
    w = A.R.T @ last.w
    if joint.prismatic:
        return TwistRate(A, w, Pair(v + 2 * w.cross(Z * qd) + Z * qdd, wd))
    return TwistRate(A, w + Z * qd, Pair(v, wd + w.cross(Z * qd) + Z * qdd))


def _wrench(outer: Pair, joint: Joint, link: AnyLink, m: TwistRate, load: Wrench) -> tuple[Pair, Scalar]:
    w, h = m.w, link.moment
    v, wd = m.td
    force = link.mass * v + wd.cross(h) + w.cross(w.cross(h))  # (16), (17)
    moment = h.cross(v) + link.origin_inertia @ wd + w.cross(link.origin_inertia @ w)
    total = outer.plus(Pair(force - load.force, moment - load.moment))
    return m.A.wrench_to_parent(total), total.along(joint)


def mass_matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    """(29): i_ij = p_i^T M~_i A_ij p_j for j <= i."""
    A = _propagators(mechanism, q)
    composite = inward(mechanism.parents, _composite, None, mechanism.links, A)
    matrix: SquareMatrix = [[0] * mechanism.n for _ in range(mechanism.n)]
    for j, column_joint in enumerate(mechanism.joints):
        twists = {j: axis(column_joint)}  # p_j, then A_ij p_j
        for i in mechanism.outward_from(j):
            if i > j:
                twists[i] = A[i].twist_to_child(twists[mechanism.parents[i]])
            matrix[i][j] = matrix[j][i] = composite[i].column(mechanism.joints[i]).dot(twists[i])
    return matrix


def _composite(outer: Inertia | None, link: AnyLink, A: Screw) -> tuple[Inertia, Inertia]:
    """(28): M~_i = M_i + A_{i+1,i}^T M~_{i+1} A_{i+1,i}."""
    M = rigid(link) if outer is None else rigid(link).plus(outer)
    return A.inertia_to_parent(M), M


def forward_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint accelerations."""
    bias = inverse_dynamics(mechanism, q, qd, [0] * mechanism.n, loads)
    return solve(mechanism, q, [t - b for t, b in zip(tau, bias, strict=True)])


def solve(mechanism: Mechanism, q: Coordinates, phi: Coordinates) -> list[Scalar]:
    """Return accelerations from generalised forces: I qdd = phi by the factors of I = U D U^T (section 3.3)."""
    A = _propagators(mechanism, q)
    beyond: tuple[Inertia | None, Pair] = (None, ZERO_PAIR)
    factors = inward(mechanism.parents, _factor, beyond, mechanism.joints, mechanism.links, A, phi)
    states = outward(mechanism.parents, _acceleration, (ZERO_PAIR, 0), mechanism.joints, factors)
    return [acceleration for _, acceleration in states]


def _factor(
    outer: tuple[Inertia | None, Pair], joint: Joint, link: AnyLink, A: Screw, phi: Scalar
) -> tuple[tuple[Inertia | None, Pair], Factor]:
    carried, eta = outer
    M = rigid(link) if carried is None else rigid(link).plus(carried)  # (34)
    pivot: Pivot = eliminate(M, joint)  # (33), (34)
    phi_hat = phi - eta.along(joint)  # (31)
    eta = pivot.psi.times(phi_hat).plus(eta)  # (32)
    inner = (A.inertia_to_parent(pivot.rest), A.wrench_to_parent(eta))
    return inner, Factor(A, pivot.psi, phi_hat * pivot.inverse)  # (35)


def _acceleration(last: tuple[Pair, Scalar], joint: Joint, factor: Factor) -> tuple[Pair, Scalar]:
    mu = factor.A.twist_to_child(last[0])  # (37)
    qdd = factor.phi - factor.psi.dot(mu)  # (36)
    return mu.plus(axis(joint, qdd)), qdd
