"""Adapters from a rigid formulation to the whole robot: rotors, friction, springs, couplings, balls and loops.

Every formulation is written for the joints of the mechanism and rigid links alone. An adapter takes such a formulation,
the mechanism, the state in the coordinates of the robot and the wrenches on the links; `problem` names the adapter of
each problem. Derivatives and forward dynamics take their couplings into account themselves.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from armwright.algebra import ZERO, Scalar, dot
from armwright.formulations.parts import loop_constraints, springs
from armwright.formulations.parts.coordinates import accelerations as of_joints
from armwright.formulations.parts.coordinates import (
    congruent,
    convective,
    placed,
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
    there = placed(mechanism, q)
    a = of_joints(there, qd, qdd)
    x = positions(there, q)
    links = to_coordinates(there, rigid(there, x, rates(there, qd), a, loads))
    parts = links, rotor_torques(there, a), friction(there, qd), _springs_and_rotors(there, x, rates(there, qd))
    tau = [link + rotor + rub + more for link, rotor, rub, more in zip(*parts, strict=True)]
    return (
        loop_constraints.torques(loop_constraints.jacobian(there), tau, there.passive)
        if there.constrained_loops
        else tau
    )


def bias(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, loads: Loads) -> list[Scalar]:
    """Return the torques without accelerations."""
    there = placed(mechanism, q)
    x, v = positions(there, q), rates(there, qd)
    links = to_coordinates(there, rigid(there, x, v, loads))
    parts = links, rotor_torques(there, convective(there, v)), friction(there, qd), _springs_and_rotors(there, x, v)
    return [link + rotor + rub + more for link, rotor, rub, more in zip(*parts, strict=True)]


def _springs_and_rotors(there: Mechanism, x: Coordinates, v: Coordinates) -> list[Scalar]:
    """Return the torques of springs and ball rotors, per coordinate."""
    parts = springs.joint_torques(there, x), ball_rotor_torques(there, v)
    return to_coordinates(there, [spring + rotor for spring, rotor in zip(*parts, strict=True)])


def matrix(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """Return the matrix of a quadratic form, with the rotors on its diagonal."""
    there = placed(mechanism, q)
    return congruent(there, with_rotors(there, rigid(there, positions(there, q))))


def accelerations(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the accelerations from torques less friction and springs, and from loop forces; `rigid` has rotors."""
    there = placed(mechanism, q)
    free = _free(rigid, there, q, qd, tau, loads)
    return (
        loop_constraints.accelerations(
            loop_constraints.constraint_equations(there, qd), free, _response(rigid, there, q)
        )
        if there.constrained_loops
        else free
    )


def _free(
    rigid: Rigid, there: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the accelerations without loop forces."""
    parts = tau, friction(there, qd), _springs_and_rotors(there, positions(there, q), rates(there, qd))
    left = [t - rub - more for t, rub, more in zip(*parts, strict=True)]
    accelerations: list[Scalar] = rigid(there, q, qd, left, loads)
    return accelerations


def _response(rigid: Rigid, there: Mechanism, q: Coordinates) -> Callable[[list[Scalar]], list[Scalar]]:
    """Return the function M^-1 x of generalised forces x: accelerations at rest, without gravity."""
    still, rest, unloaded = replace(there, gravity=ZERO), [0] * there.coordinate_count, (Wrench(),) * there.n
    return lambda force: rigid(still, q, rest, force, unloaded)


def forces(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[list[Scalar]]:
    """Return the loop forces by a formulation of the forward dynamics."""
    there = placed(mechanism, q)
    free = _free(rigid, there, q, qd, tau, loads)
    return loop_constraints.wrenches(
        there,
        loop_constraints.forces(loop_constraints.constraint_equations(there, qd), free, _response(rigid, there, q)),
    )


def at_positions(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> Any:
    """Evaluate at the positions of the joints."""
    there = placed(mechanism, q)
    return rigid(there, positions(there, q))


def at_positions_and_rates(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> Any:
    """Evaluate at the positions and rates of the joints."""
    there = placed(mechanism, q)
    return rigid(there, positions(there, q), rates(there, qd))


def holding_torques(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> list[Scalar]:
    """Return the torques of weight and springs."""
    there = placed(mechanism, q)
    x = positions(there, q)
    weight = to_coordinates(there, rigid(there, x))
    return [load + spring for load, spring in zip(weight, springs.torques(there, x), strict=True)]


def stored_energy(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> Scalar:
    """Return the energy of springs and of the weight that is not compensated."""
    there = placed(mechanism, q)
    x = positions(there, q)
    return rigid(there.without_compensated_weight, x) + springs.energy(there, x)


def joint_columns(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """Return a matrix with a column per coordinate from one with a column per joint."""
    there = placed(mechanism, q)
    return [to_coordinates(there, row) for row in rigid(there, positions(there, q))]


def joint_columns_rate(jacobian: Rigid) -> Callable[..., SquareMatrix]:
    """Return the adapter for the rate of a matrix with a column per joint; `jacobian` returns the matrix itself."""

    def adapter(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> SquareMatrix:
        there = placed(mechanism, q)
        x, v = positions(there, q), rates(there, qd)
        rows = [to_coordinates(there, row) for row in rigid(there, x, v)]
        if not there.has_varying_couplings:
            return rows
        turned = [to_coordinates_by_rate(there, v, row) for row in jacobian(there, x)]
        return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, turned, strict=True)]

    return adapter


def joint_column_stacks(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> list[SquareMatrix]:
    """Return several matrices with a column per coordinate."""
    there = placed(mechanism, q)
    return [[to_coordinates(there, row) for row in matrix] for matrix in rigid(there, positions(there, q))]


def coriolis(mass_matrix: Rigid) -> Callable[..., SquareMatrix]:
    """Return the adapter for a matrix C of Christoffel symbols: G^T C G + G^T M dG/dt, with M by `mass_matrix`."""

    def adapter(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> SquareMatrix:
        there = placed(mechanism, q)
        x, v = positions(there, q), rates(there, qd)
        C = congruent(there, with_ball_rotor_coriolis(there, v, rigid(there, x, v)))
        if not there.has_varying_couplings:
            return C
        M = with_rotors(there, mass_matrix(there, x))
        half = [to_coordinates_by_rate(there, v, row) for row in M]
        more = list(zip(*(to_coordinates(there, column) for column in zip(*half, strict=True)), strict=True))
        return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(C, more, strict=True)]

    return adapter


def at_accelerations(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Any:
    """Evaluate at positions, rates and accelerations of the joints; `rigid` has rotors, friction and springs."""
    there = placed(mechanism, q)
    return rigid(there, positions(there, q), rates(there, qd), of_joints(there, qd, qdd), loads)


def gibbs(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Scalar:
    """The energy of acceleration of links and rotors, and the torques of springs times accelerations."""
    there = placed(mechanism, q)
    x, v, a = positions(there, q), rates(there, qd), of_joints(there, qd, qdd)
    besides = [*springs.joint_torques(there, x), *ball_rotor_torques(there, v)]
    return rigid(there, x, v, a, loads) + dot(besides, [*a, *a])


def slopes(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[SquareMatrix]:
    """Return the derivatives of the torques of links, friction, springs and rotors by q, qd and qdd."""
    by_q, by_qd, M = at_accelerations(rigid, mechanism, q, qd, qdd, loads)
    there, v = placed(mechanism, q), rates(mechanism, qd)
    for i, joint in enumerate(mechanism.joints):
        by_qd[i][i] = by_qd[i][i] + friction_slope(joint, v[i])
    for matrix, slopes in ((by_q, springs.slopes(there, positions(there, q))), (by_qd, ball_rotor_slopes(there, v))):
        for i, j, slope in slopes:
            matrix[i][j] = matrix[i][j] + slope
    if there.compensated:
        rest, weight = [0] * there.n, replace(there, links=there.compensated)
        for row, part in zip(
            by_q, rigid(weight, positions(there, q), rest, rest, (Wrench(),) * there.n)[0], strict=True
        ):
            row[:] = [x - y for x, y in zip(row, part, strict=True)]
    return [congruent(mechanism, matrix) for matrix in (by_q, by_qd, with_rotors(mechanism, M))]


def coupled(rigid: Rigid, mechanism: Mechanism, *state: Any) -> Any:
    """Made of formulations that have all this around them already."""
    return rigid(mechanism, *state[:-1])
