"""Derivatives of traced functions: the graph of any recursion differentiates itself.

    dtau/dq, dtau/dqd, M             at given accelerations
    dqdd/dq, dqdd/dqd, M^-1          at given torques:  dqdd/dx = -M^-1 dtau/dx, with qdd held
    dG/dqdd                          of the Gibbs function: the torques again, by no recursion of forces

The first two are a second way to the numbers of the recursion in `derivatives`. Derivatives by q are by
its tangent, dtau/dq T with dq/dt = T qd. Coulomb friction counts as constant on either side of rest.
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
from armwright.graph.replay import replaced
from armwright.mechanism import Mechanism

_BIAS = bias_of(cartesian_tensor.inverse_dynamics)
_SOLVED = forward_dynamics_of(composite_body.mass_matrix, cartesian_tensor.inverse_dynamics)


def _torques(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[Scalar]:
    return adapters.torques(cartesian_tensor.inverse_dynamics, mechanism, q, qd, qdd, mechanism.wrenches())


def _matrix(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    return adapters.matrix(composite_body.mass_matrix, mechanism, q, mechanism.wrenches())


def of_inverse_dynamics(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[SquareMatrix]:
    """[dtau/dq, dtau/dqd, M] for traced q, qd and qdd."""
    tau = _torques(mechanism, q, qd, qdd)
    if mechanism.constrained_loops:
        return [_by_tangent(mechanism, tau, q), _jacobian(tau, qd), _jacobian(tau, qdd)]
    return [_by_tangent(mechanism, tau, q), _jacobian(tau, qd), _matrix(mechanism, q)]


def of_forward_dynamics(mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates) -> list[SquareMatrix]:
    """[dqdd/dq, dqdd/dqd, M^-1] for traced q, qd and tau."""
    if mechanism.constrained_loops:
        qdd = adapters.accelerations(_SOLVED, mechanism, q, qd, tau, mechanism.wrenches())
        return [_by_tangent(mechanism, qdd, q), _jacobian(qdd, qd), _jacobian(qdd, tau)]
    graph = q[0].graph
    bias = adapters.bias(_BIAS, mechanism, q, qd, mechanism.wrenches())
    factors = factor(_matrix(mechanism, q))
    qdd = factors.solve([t - b for t, b in zip(tau, bias, strict=True)])
    held = [graph.input(f"qdd{i + 1}") for i in range(len(tau))]  # differentiated as constants, then replaced
    torques = _torques(mechanism, q, qd, held)
    values = dict(zip(held, qdd, strict=True))
    by_state = _by_tangent(mechanism, torques, q), _jacobian(torques, qd)
    by_q, by_qd = ([replaced(row, values) for row in matrix] for matrix in by_state)
    return UnsolvedDerivatives(factors, by_q, by_qd).solved()


def of_gibbs_function(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[Scalar]:
    """dG/dqdd for traced qdd: Mata et al. 2002, (5)."""
    G = adapters.gibbs(gibbs_appell.gibbs_function, mechanism, q, qd, qdd, mechanism.wrenches())
    return _jacobian([G], qdd)[0]


def _by_tangent(mechanism: Mechanism, outputs: Sequence[Scalar], q: Coordinates) -> SquareMatrix:
    """The derivatives by q in the directions of velocities."""
    by_q = _jacobian(outputs, q)
    if not mechanism.balls:
        return by_q
    directions = list(zip(*tangent(mechanism, q), strict=True))
    return [[dot(row, direction) for direction in directions] for row in by_q]


def _jacobian(outputs: Sequence[Scalar], variables: Coordinates) -> SquareMatrix:
    columns = [derivatives(outputs, x) for x in variables]
    return [list(row) for row in zip(*columns, strict=True)]
