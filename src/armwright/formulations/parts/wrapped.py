"""How rotors, friction, joints that move together, ball joints and loops stand around a rigid formulation.

Every formulation is written for the joints of the mechanism, for rigid links alone. Each function here is called with
such a formulation, the mechanism, the state in the coordinates of the robot, and the wrenches on the links; `problem`
names which of them a problem has. Derivatives and forward dynamics take their couplings into account themselves.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from armwright.algebra import ZERO, Scalar
from armwright.formulations.parts import held
from armwright.formulations.parts.actuators import friction, friction_slope, rotor_torque, with_rotors
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
    """Of the links, of the rotors, of friction."""
    there = placed(mechanism, q)
    a = of_joints(there, qd, qdd)
    links = gathered(there, rigid(there, positions(there, q), rates(there, qd), a, loads))
    parts = links, rotor_torque(there, a), friction(there, qd)
    tau = [link + rotor + rub for link, rotor, rub in zip(*parts, strict=True)]
    return held.torques(held.jacobian(there), tau, there.passive) if there.ties else tau


def bias(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, loads: Loads) -> list[Scalar]:
    there = placed(mechanism, q)
    v = rates(there, qd)
    links = gathered(there, rigid(there, positions(there, q), v, loads))
    parts = links, rotor_torque(there, convective(there, v)), friction(there, qd)
    return [link + rotor + rub for link, rotor, rub in zip(*parts, strict=True)]


def matrix(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """Of a quadratic form, with the rotors on its diagonal."""
    there = placed(mechanism, q)
    return congruent(there, with_rotors(there, rigid(there, positions(there, q))))


def accelerations(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Of what is left of the torques after friction, and of the forces of loops; rotors and couplings are inside."""
    there = placed(mechanism, q)
    free = _free(rigid, there, q, qd, tau, loads)
    return held.accelerations(held.held(there, qd), free, _response(rigid, there, q)) if there.ties else free


def _free(
    rigid: Rigid, there: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """The accelerations without forces of loops."""
    left = [t - rub for t, rub in zip(tau, friction(there, qd), strict=True)]
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
    """One torque per joint of the mechanism, of where they are."""
    there = placed(mechanism, q)
    return gathered(there, rigid(there, positions(there, q)))


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
        if not there.embedded:
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
        C = congruent(there, rigid(there, x, v))
        if not there.embedded:
            return C
        M = with_rotors(there, mass_matrix(there, x))
        half = [gathered_in_time(there, v, row) for row in M]
        more = list(zip(*(gathered(there, column) for column in zip(*half, strict=True)), strict=True))
        return [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(C, more, strict=True)]

    return around


def all_rates(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Any:
    """Of positions, velocities and accelerations of the joints; friction and rotors are inside."""
    there = placed(mechanism, q)
    return rigid(there, positions(there, q), rates(there, qd), of_joints(there, qd, qdd), loads)


def slopes(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[SquareMatrix]:
    """How torques grow with positions, velocities and accelerations: of the links, of friction, of the rotors."""
    by_q, by_qd, M = all_rates(rigid, mechanism, q, qd, qdd, loads)
    for i, (joint, v) in enumerate(zip(mechanism.joints, rates(mechanism, qd), strict=True)):
        by_qd[i][i] = by_qd[i][i] + friction_slope(joint, v)
    return [congruent(mechanism, matrix) for matrix in (by_q, by_qd, with_rotors(mechanism, M))]


def coupled(rigid: Rigid, mechanism: Mechanism, *state: Any) -> Any:
    """Made of formulations that have all this around them already."""
    return rigid(mechanism, *state[:-1])
