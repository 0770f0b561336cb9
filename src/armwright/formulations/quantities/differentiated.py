"""Derivatives of traced functions: the graph of any recursion differentiates itself.

    dtau/dq, dtau/dqd, M             at given accelerations
    dqdd/dq, dqdd/dqd, M^-1          at given torques:  dqdd/dx = -M^-1 dtau/dx, at constant qdd
    dG/dqdd                          of the Gibbs function: the torques without a recursion of forces

The first two are an alternative to the recursion in `derivatives`. Derivatives by q are by its tangent, dtau/dq T with
dq/dt = T qd. Coulomb friction counts as constant on either side of rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.algebra import Scalar, dot
from armwright.formulations import cartesian_tensor, composite_body, gibbs_appell
from armwright.formulations.parts import adapters
from armwright.formulations.parts.assembled import bias_of, forward_dynamics_of
from armwright.formulations.parts.coordinates import tangent
from armwright.formulations.parts.linear import factor
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.formulations.parts.unsolved import UnsolvedDerivatives
from armwright.graph.differentiate import derivatives
from armwright.graph.replay import substituted
from armwright.mechanism import Mechanism

_BIAS = bias_of(cartesian_tensor.inverse_dynamics)
_SOLVED = forward_dynamics_of(composite_body.mass_matrix, cartesian_tensor.inverse_dynamics)


def _torques(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[Scalar]:
    return adapters.torques(cartesian_tensor.inverse_dynamics, mechanism, q, qd, qdd, mechanism.wrenches())


def _matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    return adapters.matrix(composite_body.mass_matrix, mechanism, q, mechanism.wrenches())


def of_inverse_dynamics(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[SquareMatrix]:
    """Return [dtau/dq, dtau/dqd, M] for traced q, qd and qdd."""
    tau = _torques(mechanism, q, qd, qdd)
    M = _jacobian(tau, qdd) if mechanism.constrained_loops else _matrix(mechanism, q)
    return [_by_tangent(mechanism, tau, q), _jacobian(tau, qd), M]


def of_forward_dynamics(mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates) -> list[SquareMatrix]:
    """Return [dqdd/dq, dqdd/dqd, M^-1] for traced q, qd and tau."""
    if mechanism.constrained_loops:
        qdd = adapters.accelerations(_SOLVED, mechanism, q, qd, tau, mechanism.wrenches())
        return [_by_tangent(mechanism, qdd, q), _jacobian(qdd, qd), _jacobian(qdd, tau)]
    graph = q[0].graph
    bias = adapters.bias(_BIAS, mechanism, q, qd, mechanism.wrenches())
    factors = factor(_matrix(mechanism, q))
    qdd = factors.solve([t - b for t, b in zip(tau, bias, strict=True)])
    # qdd is constant in the derivatives, then substituted
    constant_qdd = [graph.input(f"qdd{i + 1}") for i in range(len(tau))]
    torques = _torques(mechanism, q, qd, constant_qdd)
    values = dict(zip(constant_qdd, qdd, strict=True))
    by_state = _by_tangent(mechanism, torques, q), _jacobian(torques, qd)
    by_q, by_qd = ([substituted(row, values) for row in matrix] for matrix in by_state)
    return UnsolvedDerivatives(factors, by_q, by_qd).solved()


def of_gibbs_function(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[Scalar]:
    """Return dG/dqdd for traced qdd: Mata et al. 2002, (5)."""
    G = adapters.gibbs(gibbs_appell.gibbs_function, mechanism, q, qd, qdd, mechanism.wrenches())
    return _jacobian([G], qdd)[0]


def _by_tangent(mechanism: Mechanism, outputs: Sequence[Scalar], q: Coordinates) -> SquareMatrix:
    """Return the derivatives by q in the directions of velocities."""
    by_q = _jacobian(outputs, q)
    if not mechanism.balls:
        return by_q
    directions = list(zip(*tangent(mechanism, q), strict=True))
    return [[dot(row, direction) for direction in directions] for row in by_q]


def _jacobian(outputs: Sequence[Scalar], variables: Coordinates) -> SquareMatrix:
    columns = [derivatives(outputs, x) for x in variables]
    return [list(row) for row in zip(*columns, strict=True)]
