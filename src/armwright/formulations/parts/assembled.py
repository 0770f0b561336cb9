"""Forward dynamics from an inverse-dynamics formulation and a mass matrix: M qdd = tau - bias, solved."""

from collections.abc import Callable
from typing import TypeAlias

from armwright.algebra import Scalar
from armwright.chain import Chain
from armwright.formulations.parts.actuators import with_rotors
from armwright.formulations.parts.coupled import congruent, gathered, positions, rates
from armwright.formulations.parts.linear import SOLVERS
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix

Torques: TypeAlias = Callable[[Chain, Coordinates, Coordinates, Coordinates, Loads], list[Scalar]]
MassMatrix: TypeAlias = Callable[[Chain, Coordinates], SquareMatrix]


def bias_of(inverse_dynamics: Torques) -> Callable[[Chain, Coordinates, Coordinates, Loads], list[Scalar]]:
    """The torques that hold zero acceleration."""

    def bias(chain: Chain, q: Coordinates, qd: Coordinates, loads: Loads) -> list[Scalar]:
        return inverse_dynamics(chain, q, qd, [0] * chain.n, loads)

    return bias


def forward_dynamics_of(mass_matrix: MassMatrix, inverse_dynamics: Torques, solver: str = "cholesky") -> Torques:
    """Form M, subtract the bias, solve."""

    def forward_dynamics(chain: Chain, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads) -> list[Scalar]:
        x = positions(chain, q)
        bias = gathered(chain, inverse_dynamics(chain, x, rates(chain, qd), [0] * chain.n, loads))
        force = [t - b for t, b in zip(tau, bias, strict=True)]
        return SOLVERS[solver](congruent(chain, with_rotors(chain, mass_matrix(chain, x))), force)

    return forward_dynamics
