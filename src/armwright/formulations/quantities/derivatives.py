"""Derivatives of the dynamics, as programs: the traced torques differentiated, and the mass matrix to solve with.

    dtau/dq, dtau/dqd, M             at given accelerations
    dqdd/dq, dqdd/dqd, M^-1          at given torques:  dqdd/dx = -M^-1 dtau/dx, with qdd held
    dG/dqdd                          of the Gibbs function: the torques again, by no recursion of forces

Coulomb friction counts as constant on either side of rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.algebra import Scalar
from armwright.formulations import cartesian_tensor, composite_body, gibbs_appell
from armwright.formulations.parts import wrapped
from armwright.formulations.parts.assembled import bias_of
from armwright.formulations.parts.linear import factor
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.graph.differentiate import derivatives
from armwright.graph.replay import replaced
from armwright.mechanism import Mechanism

_BIAS = bias_of(cartesian_tensor.inverse_dynamics)


def _torques(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[Scalar]:
    return wrapped.torques(cartesian_tensor.inverse_dynamics, mechanism, q, qd, qdd, mechanism.wrenches())


def _matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    return wrapped.matrix(composite_body.mass_matrix, mechanism, q, mechanism.wrenches())


def of_inverse_dynamics(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[SquareMatrix]:
    """[dtau/dq, dtau/dqd, M] for traced q, qd and qdd."""
    tau = _torques(mechanism, q, qd, qdd)
    return [_jacobian(tau, q), _jacobian(tau, qd), _matrix(mechanism, q)]


def of_forward_dynamics(mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates) -> list[SquareMatrix]:
    """[dqdd/dq, dqdd/dqd, M^-1] for traced q, qd and tau."""
    n, graph = mechanism.coordinates, q[0].graph
    bias = wrapped.bias(_BIAS, mechanism, q, qd, mechanism.wrenches())
    factors = factor(_matrix(mechanism, q))
    inverse = [factors.solve([int(i == j) for i in range(n)]) for j in range(n)]
    qdd = factors.solve([t - b for t, b in zip(tau, bias, strict=True)])
    held = [graph.input(f"qdd{i + 1}") for i in range(n)]  # differentiated as constants, then replaced by what they are
    torques = _torques(mechanism, q, qd, held)
    values = dict(zip(held, qdd, strict=True))
    by_q, by_qd = ([replaced(row, values) for row in _jacobian(torques, x)] for x in (q, qd))
    return [_negative_product(inverse, by_q), _negative_product(inverse, by_qd), inverse]


def of_gibbs_function(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[Scalar]:
    """dG/dqdd for traced qdd: Mata et al. 2002, (5)."""
    G = wrapped.all_rates(gibbs_appell.gibbs_function, mechanism, q, qd, qdd, mechanism.wrenches())
    return _jacobian([G], qdd)[0]


def _jacobian(outputs: Sequence[Scalar], variables: Coordinates) -> SquareMatrix:
    columns = [derivatives(outputs, x) for x in variables]
    return [list(row) for row in zip(*columns, strict=True)]


def _negative_product(A: SquareMatrix, B: SquareMatrix) -> SquareMatrix:
    n = len(A)
    return [[-sum((A[i][k] * B[k][j] for k in range(n)), start=0) for j in range(n)] for i in range(n)]
