"""Adapters from a rigid formulation to the whole robot: rotors, friction, springs, couplings, balls and loops.

Every formulation is written for the joints of the mechanism and rigid links alone. An adapter takes such a formulation,
the mechanism, the state in the coordinates of the robot and the wrenches on the links; `problem` names the adapter of
each problem. Derivatives and forward dynamics take their couplings into account themselves.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, TypeAlias

from armwright.algebra import ZERO, Scalar, dot
from armwright.formulations.parts import loop_constraints, springs
from armwright.formulations.parts.coordinates import accelerations as joint_accelerations
from armwright.formulations.parts.coordinates import (
    congruent,
    convective,
    mechanism_at,
    positions,
    rates,
    to_coordinates,
    to_coordinates_by_rate,
)
from armwright.formulations.parts.rotors_and_friction import (
    ball_rotor_slopes,
    ball_rotor_torques,
    friction,
    friction_slope,
    rotor_torques,
    with_ball_rotor_coriolis,
    with_rotors,
)
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix
from armwright.mechanism import Mechanism, Wrench

Rigid: TypeAlias = Callable[..., Any]


def torques(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the torques of links, rotors, friction and springs."""
    at_q = mechanism_at(mechanism, q)
    a = joint_accelerations(at_q, qd, qdd)
    x = positions(at_q, q)
    links = to_coordinates(at_q, rigid(at_q, x, rates(at_q, qd), a, loads))
    parts = links, rotor_torques(at_q, a), friction(at_q, qd), _springs_and_rotors(at_q, x, rates(at_q, qd))
    tau = [reduce(add, terms) for terms in zip(*parts, strict=True)]
    if not at_q.constrained_loops:
        return tau
    return loop_constraints.torques(loop_constraints.jacobian(at_q), tau, at_q.passive)


def bias(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, loads: Loads) -> list[Scalar]:
    """Return the torques without accelerations."""
    at_q = mechanism_at(mechanism, q)
    x, v = positions(at_q, q), rates(at_q, qd)
    links = to_coordinates(at_q, rigid(at_q, x, v, loads))
    parts = links, rotor_torques(at_q, convective(at_q, v)), friction(at_q, qd), _springs_and_rotors(at_q, x, v)
    return [reduce(add, terms) for terms in zip(*parts, strict=True)]


def _springs_and_rotors(at_q: Mechanism, x: Coordinates, v: Coordinates) -> list[Scalar]:
    """Return the torques of springs and ball rotors, per coordinate."""
    parts = springs.joint_torques(at_q, x), ball_rotor_torques(at_q, v)
    return to_coordinates(at_q, [spring + rotor for spring, rotor in zip(*parts, strict=True)])


def matrix(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """Return the matrix of a quadratic form, with the rotors on its diagonal."""
    at_q = mechanism_at(mechanism, q)
    return congruent(at_q, with_rotors(at_q, rigid(at_q, positions(at_q, q))))


def accelerations(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the accelerations from torques less friction and springs, and from loop forces; `rigid` has rotors."""
    at_q = mechanism_at(mechanism, q)
    free = _free(rigid, at_q, q, qd, tau, loads)
    if not at_q.constrained_loops:
        return free
    equations = loop_constraints.constraint_equations(at_q, qd)
    return loop_constraints.accelerations(equations, free, _response(rigid, at_q, q))


def _free(
    rigid: Rigid, at_q: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the accelerations without loop forces."""
    parts = tau, friction(at_q, qd), _springs_and_rotors(at_q, positions(at_q, q), rates(at_q, qd))
    net_force = [t - f - s for t, f, s in zip(*parts, strict=True)]
    accelerations: list[Scalar] = rigid(at_q, q, qd, net_force, loads)
    return accelerations


def _response(rigid: Rigid, at_q: Mechanism, q: Coordinates) -> Callable[[list[Scalar]], list[Scalar]]:
    """Return the function M^-1 x of generalised forces x: accelerations at rest, without gravity."""
    still, rest, unloaded = replace(at_q, gravity=ZERO), [0] * at_q.coordinate_count, (Wrench(),) * at_q.n
    return lambda force: rigid(still, q, rest, force, unloaded)


def forces(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[list[Scalar]]:
    """Return the loop forces by a formulation of the forward dynamics."""
    at_q = mechanism_at(mechanism, q)
    free = _free(rigid, at_q, q, qd, tau, loads)
    equations = loop_constraints.constraint_equations(at_q, qd)
    return loop_constraints.wrenches(at_q, loop_constraints.forces(equations, free, _response(rigid, at_q, q)))


def at_positions(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> Any:
    """Evaluate at the positions of the joints."""
    at_q = mechanism_at(mechanism, q)
    return rigid(at_q, positions(at_q, q))


def at_positions_and_rates(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> Any:
    """Evaluate at the positions and rates of the joints."""
    at_q = mechanism_at(mechanism, q)
    return rigid(at_q, positions(at_q, q), rates(at_q, qd))


def holding_torques(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> list[Scalar]:
    """Return the torques of weight and springs."""
    at_q = mechanism_at(mechanism, q)
    x = positions(at_q, q)
    weight = to_coordinates(at_q, rigid(at_q, x))
    return [load + spring for load, spring in zip(weight, springs.torques(at_q, x), strict=True)]


def stored_energy(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> Scalar:
    """Return the energy of springs and of the weight that is not compensated."""
    at_q = mechanism_at(mechanism, q)
    x = positions(at_q, q)
    return rigid(at_q.without_compensated_weight, x) + springs.energy(at_q, x)


def joint_columns(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """Return a matrix with a column per coordinate from one with a column per joint."""
    at_q = mechanism_at(mechanism, q)
    return [to_coordinates(at_q, row) for row in rigid(at_q, positions(at_q, q))]


def joint_columns_rate(jacobian: Rigid) -> Callable[..., SquareMatrix]:
    """Return the adapter for the rate of a matrix with a column per joint; `jacobian` returns the matrix itself."""

    def adapter(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> SquareMatrix:
        at_q = mechanism_at(mechanism, q)
        x, v = positions(at_q, q), rates(at_q, qd)
        rows = [to_coordinates(at_q, row) for row in rigid(at_q, x, v)]
        if not at_q.has_varying_couplings:
            return rows
        coupling_part = [to_coordinates_by_rate(at_q, v, row) for row in jacobian(at_q, x)]
        return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, coupling_part, strict=True)]

    return adapter


def joint_column_stacks(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> list[SquareMatrix]:
    """Return several matrices with a column per coordinate."""
    at_q = mechanism_at(mechanism, q)
    return [[to_coordinates(at_q, row) for row in matrix] for matrix in rigid(at_q, positions(at_q, q))]


def coriolis(mass_matrix: Rigid) -> Callable[..., SquareMatrix]:
    """Return the adapter for a matrix C of Christoffel symbols: G^T C G + G^T M dG/dt, with M by `mass_matrix`."""

    def adapter(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> SquareMatrix:
        at_q = mechanism_at(mechanism, q)
        x, v = positions(at_q, q), rates(at_q, qd)
        C = congruent(at_q, with_ball_rotor_coriolis(at_q, v, rigid(at_q, x, v)))
        if not at_q.has_varying_couplings:
            return C
        M = with_rotors(at_q, mass_matrix(at_q, x))
        half = [to_coordinates_by_rate(at_q, v, row) for row in M]
        coupling_part = list(zip(*(to_coordinates(at_q, column) for column in zip(*half, strict=True)), strict=True))
        return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(C, coupling_part, strict=True)]

    return adapter


def at_accelerations(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Any:
    """Evaluate at positions, rates and accelerations of the joints; `rigid` has rotors, friction and springs."""
    at_q = mechanism_at(mechanism, q)
    return rigid(at_q, positions(at_q, q), rates(at_q, qd), joint_accelerations(at_q, qd, qdd), loads)


def gibbs(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Scalar:
    """Return the energy of acceleration of links and rotors, plus torques of springs times accelerations."""
    at_q = mechanism_at(mechanism, q)
    x, v, a = positions(at_q, q), rates(at_q, qd), joint_accelerations(at_q, qd, qdd)
    extra = [*springs.joint_torques(at_q, x), *ball_rotor_torques(at_q, v)]
    return rigid(at_q, x, v, a, loads) + dot(extra, [*a, *a])


def slopes(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[SquareMatrix]:
    """Return the derivatives of the torques of links, friction, springs and rotors by q, qd and qdd."""
    by_q, by_qd, M = at_accelerations(rigid, mechanism, q, qd, qdd, loads)
    at_q, v = mechanism_at(mechanism, q), rates(mechanism, qd)
    for i, joint in enumerate(mechanism.joints):
        by_qd[i][i] = by_qd[i][i] + friction_slope(joint, v[i])
    for matrix, slopes in ((by_q, springs.slopes(at_q, positions(at_q, q))), (by_qd, ball_rotor_slopes(at_q, v))):
        for i, j, slope in slopes:
            matrix[i][j] = matrix[i][j] + slope
    if at_q.compensated:
        rest, weight = [0] * at_q.n, replace(at_q, links=at_q.compensated)
        parts = rigid(weight, positions(at_q, q), rest, rest, (Wrench(),) * at_q.n)[0]
        for row, part in zip(by_q, parts, strict=True):
            row[:] = [x - y for x, y in zip(row, part, strict=True)]
    return [congruent(mechanism, matrix) for matrix in (by_q, by_qd, with_rotors(mechanism, M))]


def without_adapter(rigid: Rigid, mechanism: Mechanism, *state: Any) -> Any:
    """Call a formulation that applies the adapters of its parts itself."""
    return rigid(mechanism, *state[:-1])
