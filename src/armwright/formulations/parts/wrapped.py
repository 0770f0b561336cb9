"""How rotors, friction, springs, joints that move together, balls and loops stand around a rigid formulation.

Every formulation is written for the joints of the mechanism, for rigid links alone. Each function here is called with
such a formulation, the mechanism, the state in the coordinates of the robot, and the wrenches on the links; `problem`
names which of them a problem has. Derivatives and forward dynamics take their couplings into account themselves.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from armwright.algebra import ZERO, Scalar, dot
from armwright.formulations.parts import held, passive
from armwright.formulations.parts.actuators import (
    friction,
    friction_slope,
    rotor_torque,
    rotors_coriolis,
    rotors_slopes,
    rotors_turning,
    with_rotors,
)
from armwright.formulations.parts.coordinates import accelerations as of_joints
from armwright.formulations.parts.coordinates import (
    congruent,
    convective,
    gathered,
    gathered_in_time,
    placed,
    positions,
    rates,
)
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix
from armwright.mechanism import Mechanism, Wrench

Rigid: TypeAlias = Callable[..., Any]


def torques(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Of the links, of the rotors, of friction, of springs."""
    there = placed(mechanism, q)
    a = of_joints(there, qd, qdd)
    x = positions(there, q)
    links = gathered(there, rigid(there, x, rates(there, qd), a, loads))
    parts = links, rotor_torque(there, a), friction(there, qd), _besides(there, x, rates(there, qd))
    tau = [link + rotor + rub + more for link, rotor, rub, more in zip(*parts, strict=True)]
    return held.torques(held.jacobian(there), tau, there.passive) if there.ties else tau


def bias(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, loads: Loads) -> list[Scalar]:
    there = placed(mechanism, q)
    x, v = positions(there, q), rates(there, qd)
    links = gathered(there, rigid(there, x, v, loads))
    parts = links, rotor_torque(there, convective(there, v)), friction(there, qd), _besides(there, x, v)
    return [link + rotor + rub + more for link, rotor, rub, more in zip(*parts, strict=True)]


def _besides(there: Mechanism, x: Coordinates, v: Coordinates) -> list[Scalar]:
    """What springs take, and rotors of balls as they turn, per coordinate."""
    parts = passive.joint_torques(there, x), rotors_turning(there, v)
    return gathered(there, [spring + rotor for spring, rotor in zip(*parts, strict=True)])


def matrix(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """Of a quadratic form, with the rotors on its diagonal."""
    there = placed(mechanism, q)
    return congruent(there, with_rotors(there, rigid(there, positions(there, q))))


def accelerations(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Of what friction and springs leave of the torques, and of the forces of loops; rotors are inside."""
    there = placed(mechanism, q)
    free = _free(rigid, there, q, qd, tau, loads)
    return held.accelerations(held.held(there, qd), free, _response(rigid, there, q)) if there.ties else free


def _free(
    rigid: Rigid, there: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """The accelerations without forces of loops."""
    parts = tau, friction(there, qd), _besides(there, positions(there, q), rates(there, qd))
    left = [t - rub - more for t, rub, more in zip(*parts, strict=True)]
    accelerations: list[Scalar] = rigid(there, q, qd, left, loads)
    return accelerations


def _response(rigid: Rigid, there: Mechanism, q: Coordinates) -> Callable[[list[Scalar]], list[Scalar]]:
    """M^-1 times generalised forces: the accelerations at rest, without gravity."""
    still, rest, unloaded = replace(there, gravity=ZERO), [0] * there.coordinates, (Wrench(),) * there.n
    return lambda force: rigid(still, q, rest, force, unloaded)


def forces(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[list[Scalar]]:
    """Of loops, by a formulation of the forward dynamics."""
    there = placed(mechanism, q)
    free = _free(rigid, there, q, qd, tau, loads)
    return held.wrenches(there, held.forces(held.held(there, qd), free, _response(rigid, there, q)))


def place(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> Any:
    """Of where the joints are."""
    there = placed(mechanism, q)
    return rigid(there, positions(there, q))


def moving(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> Any:
    """Of where the joints are and how fast they move."""
    there = placed(mechanism, q)
    return rigid(there, positions(there, q), rates(there, qd))


def holding(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> list[Scalar]:
    """The torques of weight and springs, of where the joints are."""
    there = placed(mechanism, q)
    x = positions(there, q)
    weight = gathered(there, rigid(there, x))
    return [load + spring for load, spring in zip(weight, passive.torques(there, x), strict=True)]


def stored(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> Scalar:
    """The energy of the weight that nothing else carries, and of springs."""
    there = placed(mechanism, q)
    x = positions(there, q)
    return rigid(there.weighing, x) + passive.energy(there, x)


def columns(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """A matrix with a column for each joint of the mechanism, of where they are."""
    there = placed(mechanism, q)
    return [gathered(there, row) for row in rigid(there, positions(there, q))]


def columns_in_time(jacobian: Rigid) -> Callable[..., SquareMatrix]:
    """Around what gives the rate of a matrix with a column for each joint: `jacobian` gives the matrix itself."""

    def around(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> SquareMatrix:
        there = placed(mechanism, q)
        x, v = positions(there, q), rates(there, qd)
        rows = [gathered(there, row) for row in rigid(there, x, v)]
        if not there.shifting:
            return rows
        turned = [gathered_in_time(there, v, row) for row in jacobian(there, x)]
        return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, turned, strict=True)]

    return around


def stacks(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> list[SquareMatrix]:
    """Several matrices with a column for each joint of the mechanism, of where they are."""
    there = placed(mechanism, q)
    return [[gathered(there, row) for row in matrix] for matrix in rigid(there, positions(there, q))]


def squares(mass_matrix: Rigid) -> Callable[..., SquareMatrix]:
    """Around a matrix C of Christoffel symbols: G^T C G + G^T M dG/dt, where `mass_matrix` gives M of the links."""

    def around(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> SquareMatrix:
        there = placed(mechanism, q)
        x, v = positions(there, q), rates(there, qd)
        C = congruent(there, rotors_coriolis(there, v, rigid(there, x, v)))
        if not there.shifting:
            return C
        M = with_rotors(there, mass_matrix(there, x))
        half = [gathered_in_time(there, v, row) for row in M]
        more = list(zip(*(gathered(there, column) for column in zip(*half, strict=True)), strict=True))
        return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(C, more, strict=True)]

    return around


def all_rates(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Any:
    """Of positions, velocities and accelerations of the joints; what is not of the links is inside."""
    there = placed(mechanism, q)
    return rigid(there, positions(there, q), rates(there, qd), of_joints(there, qd, qdd), loads)


def gibbs(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Scalar:
    """The energy of acceleration of links and rotors, and the torques of springs times accelerations."""
    there = placed(mechanism, q)
    x, v, a = positions(there, q), rates(there, qd), of_joints(there, qd, qdd)
    besides = [*passive.joint_torques(there, x), *rotors_turning(there, v)]
    return rigid(there, x, v, a, loads) + dot(besides, [*a, *a])


def slopes(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[SquareMatrix]:
    """How torques of links, friction, springs and rotors grow with positions, velocities and accelerations."""
    by_q, by_qd, M = all_rates(rigid, mechanism, q, qd, qdd, loads)
    there, v = placed(mechanism, q), rates(mechanism, qd)
    for i, joint in enumerate(mechanism.joints):
        by_qd[i][i] = by_qd[i][i] + friction_slope(joint, v[i])
    for matrix, slopes in ((by_q, passive.slopes(there, positions(there, q))), (by_qd, rotors_slopes(there, v))):
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
