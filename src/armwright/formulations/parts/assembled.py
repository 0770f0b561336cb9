"""Forward dynamics from an inverse-dynamics formulation and a mass matrix: M qdd = tau - bias, solved."""

from collections.abc import Callable
from typing import TypeAlias

from armwright.algebra import Scalar
from armwright.formulations.parts.coordinates import (
    congruent,
    convective,
    coordinate_accelerations,
    positions,
    rates,
    to_coordinates,
)
from armwright.formulations.parts.linear import SOLVERS
from armwright.formulations.parts.rotors_and_friction import rotor_torques, with_rotors
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix
from armwright.mechanism import Mechanism

Torques: TypeAlias = Callable[[Mechanism, Coordinates, Coordinates, Coordinates, Loads], list[Scalar]]
MassMatrix: TypeAlias = Callable[[Mechanism, Coordinates], SquareMatrix]


def bias_of(inverse_dynamics: Torques) -> Callable[[Mechanism, Coordinates, Coordinates, Loads], list[Scalar]]:
    """Return the function of the torques without acceleration."""

    def bias(mechanism: Mechanism, q: Coordinates, qd: Coordinates, loads: Loads) -> list[Scalar]:
        return inverse_dynamics(mechanism, q, qd, convective(mechanism, qd), loads)

    return bias


def forward_dynamics_of(mass_matrix: MassMatrix, inverse_dynamics: Torques, solver: str = "cholesky") -> Torques:
    """Return the function that forms M, subtracts the bias and solves."""

    def forward_dynamics(
        mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
    ) -> list[Scalar]:
        x, v = positions(mechanism, q), rates(mechanism, qd)
        c = convective(mechanism, v)
        parts = to_coordinates(mechanism, inverse_dynamics(mechanism, x, v, c, loads)), rotor_torques(mechanism, c)
        force = [t - bias - rotor for t, bias, rotor in zip(tau, *parts, strict=True)]
        return SOLVERS[solver](congruent(mechanism, with_rotors(mechanism, mass_matrix(mechanism, x))), force)

    return forward_dynamics


def joint_by_joint(rigid: Torques) -> Torques:
    """Return forward dynamics in the coordinates of the robot, from one that solves joint by joint."""

    def forward_dynamics(
        mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
    ) -> list[Scalar]:
        x, v = positions(mechanism, q), rates(mechanism, qd)
        return coordinate_accelerations(mechanism, qd, rigid(mechanism, x, v, rates(mechanism, tau), loads))

    return forward_dynamics
