"""How rotors, friction and joints that move together stand around a rigid formulation.

Every formulation is written for the joints of the chain, for rigid links alone. Each function here is called with such
a formulation, the chain, the state in the coordinates of the robot, and the wrenches on the links; `problem` names
which of them a problem has. Derivatives and forward dynamics take their couplings into account themselves.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from armwright.algebra import Scalar
from armwright.chain import Chain
from armwright.formulations.parts.actuators import friction, rotor_torque, with_rotors
from armwright.formulations.parts.coupled import congruent, gathered, positions, rates
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix

Rigid: TypeAlias = Callable[..., Any]


def torques(
    rigid: Rigid, chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Of the links, of the rotors, of friction."""
    links = gathered(chain, rigid(chain, positions(chain, q), rates(chain, qd), rates(chain, qdd), loads))
    parts = links, rotor_torque(chain, qdd), friction(chain, qd)
    return [link + rotor + rub for link, rotor, rub in zip(*parts, strict=True)]


def bias(rigid: Rigid, chain: Chain, q: Coordinates, qd: Coordinates, loads: Loads) -> list[Scalar]:
    links = gathered(chain, rigid(chain, positions(chain, q), rates(chain, qd), loads))
    return [link + rub for link, rub in zip(links, friction(chain, qd), strict=True)]


def matrix(rigid: Rigid, chain: Chain, q: Coordinates, _loads: Loads) -> SquareMatrix:
    """Of a quadratic form, with the rotors on its diagonal."""
    return congruent(chain, with_rotors(chain, rigid(chain, positions(chain, q))))


def accelerations(
    rigid: Rigid, chain: Chain, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Of what is left of the torques after friction; rotors and couplings are inside."""
    accelerations: list[Scalar] = rigid(
        chain, q, qd, [t - rub for t, rub in zip(tau, friction(chain, qd), strict=True)], loads
    )
    return accelerations


def place(rigid: Rigid, chain: Chain, q: Coordinates, _loads: Loads) -> Any:
    """Of where the joints are."""
    return rigid(chain, positions(chain, q))


def moving(rigid: Rigid, chain: Chain, q: Coordinates, qd: Coordinates, _loads: Loads) -> Any:
    """Of where the joints are and how fast they move."""
    return rigid(chain, positions(chain, q), rates(chain, qd))


def holding(rigid: Rigid, chain: Chain, q: Coordinates, loads: Loads) -> list[Scalar]:
    """One torque per joint of the chain, of where they are."""
    return gathered(chain, place(rigid, chain, q, loads))


def columns(rigid: Rigid, chain: Chain, *state: Any) -> SquareMatrix:
    """A matrix with a column for each joint of the chain, of q, or of q and qd."""
    around = place if len(state) == 2 else moving
    return [gathered(chain, row) for row in around(rigid, chain, *state)]


def stacks(rigid: Rigid, chain: Chain, q: Coordinates, loads: Loads) -> list[SquareMatrix]:
    """Several matrices with a column for each joint of the chain, of where they are."""
    return [[gathered(chain, row) for row in matrix] for matrix in place(rigid, chain, q, loads)]


def squares(rigid: Rigid, chain: Chain, q: Coordinates, qd: Coordinates, loads: Loads) -> SquareMatrix:
    """A matrix of rows and columns for each joint of the chain."""
    return congruent(chain, moving(rigid, chain, q, qd, loads))


def all_rates(rigid: Rigid, chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads) -> Any:
    """Of positions, velocities and accelerations of the joints; friction and rotors are inside."""
    return rigid(chain, positions(chain, q), rates(chain, qd), rates(chain, qdd), loads)


def coupled(rigid: Rigid, chain: Chain, *state: Any) -> Any:
    """Made of formulations that have all this around them already."""
    return rigid(chain, *state[:-1])
