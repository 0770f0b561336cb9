"""How rotors, friction, joints that move together and ball joints stand around a rigid formulation.

Every formulation is written for the joints of the mechanism, for rigid links alone. Each function here is called with
such a formulation, the mechanism, the state in the coordinates of the robot, and the wrenches on the links; `problem`
names which of them a problem has. Derivatives and forward dynamics take their couplings into account themselves.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from armwright.algebra import Scalar
from armwright.formulations.parts.actuators import friction, rotor_torque, with_rotors
from armwright.formulations.parts.coordinates import accelerations as of_joints
from armwright.formulations.parts.coordinates import congruent, gathered, placed, positions, rates
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix
from armwright.mechanism import Mechanism

Rigid: TypeAlias = Callable[..., Any]


def torques(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Of the links, of the rotors, of friction."""
    links = gathered(mechanism, all_rates(rigid, mechanism, q, qd, qdd, loads))
    parts = links, rotor_torque(mechanism, qdd), friction(mechanism, qd)
    return [link + rotor + rub for link, rotor, rub in zip(*parts, strict=True)]


def bias(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, loads: Loads) -> list[Scalar]:
    links = gathered(mechanism, rigid(placed(mechanism, q), positions(mechanism, q), rates(mechanism, qd), loads))
    return [link + rub for link, rub in zip(links, friction(mechanism, qd), strict=True)]


def matrix(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """Of a quadratic form, with the rotors on its diagonal."""
    return congruent(mechanism, with_rotors(mechanism, place(rigid, mechanism, q, ())))


def accelerations(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Of what is left of the torques after friction; rotors and couplings are inside."""
    left = [t - rub for t, rub in zip(tau, friction(mechanism, qd), strict=True)]
    accelerations: list[Scalar] = rigid(placed(mechanism, q), q, qd, left, loads)
    return accelerations


def place(rigid: Rigid, mechanism: Mechanism, q: Coordinates, _loads: Loads) -> Any:
    """Of where the joints are."""
    return rigid(placed(mechanism, q), positions(mechanism, q))


def moving(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, _loads: Loads) -> Any:
    """Of where the joints are and how fast they move."""
    return rigid(placed(mechanism, q), positions(mechanism, q), rates(mechanism, qd))


def holding(rigid: Rigid, mechanism: Mechanism, q: Coordinates, loads: Loads) -> list[Scalar]:
    """One torque per joint of the mechanism, of where they are."""
    return gathered(mechanism, place(rigid, mechanism, q, loads))


def columns(rigid: Rigid, mechanism: Mechanism, *state: Any) -> SquareMatrix:
    """A matrix with a column for each joint of the mechanism, of q, or of q and qd."""
    around = place if len(state) == 2 else moving
    return [gathered(mechanism, row) for row in around(rigid, mechanism, *state)]


def stacks(rigid: Rigid, mechanism: Mechanism, q: Coordinates, loads: Loads) -> list[SquareMatrix]:
    """Several matrices with a column for each joint of the mechanism, of where they are."""
    return [[gathered(mechanism, row) for row in matrix] for matrix in place(rigid, mechanism, q, loads)]


def squares(rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, loads: Loads) -> SquareMatrix:
    """A matrix of rows and columns for each joint of the mechanism."""
    return congruent(mechanism, moving(rigid, mechanism, q, qd, loads))


def all_rates(
    rigid: Rigid, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> Any:
    """Of positions, velocities and accelerations of the joints; friction and rotors are inside."""
    x, v, a = positions(mechanism, q), rates(mechanism, qd), of_joints(mechanism, qd, qdd)
    return rigid(placed(mechanism, q), x, v, a, loads)


def coupled(rigid: Rigid, mechanism: Mechanism, *state: Any) -> Any:
    """Made of formulations that have all this around them already."""
    return rigid(mechanism, *state[:-1])
