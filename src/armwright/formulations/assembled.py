"""Forward dynamics from an inverse-dynamics formulation and a mass matrix: M qdd = tau - bias, solved."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from armwright.algebra import ZERO, Scalar
from armwright.chain import Chain, Wrench
from armwright.formulations import newton_euler
from armwright.formulations.actuators import with_rotors
from armwright.formulations.coupled import congruent, gathered, positions, rates
from armwright.formulations.linear import SOLVERS, cholesky
from armwright.formulations.types import Coordinates, SquareMatrix

Torques: TypeAlias = Callable[[Chain, Coordinates, Coordinates, Coordinates, tuple[Wrench, ...]], list[Scalar]]
MassMatrix: TypeAlias = Callable[[Chain, Coordinates], SquareMatrix]


def bias_of(inverse_dynamics: Torques) -> Callable[[Chain, Coordinates, Coordinates, tuple[Wrench, ...]], list[Scalar]]:
    """The torques that hold zero acceleration."""

    def bias(chain: Chain, q: Coordinates, qd: Coordinates, loads: tuple[Wrench, ...]) -> list[Scalar]:
        return inverse_dynamics(chain, q, qd, [0] * chain.n, loads)

    return bias


def forward_dynamics_of(mass_matrix: MassMatrix, inverse_dynamics: Torques, solver: str = "cholesky") -> Torques:
    """Form M, subtract the bias, solve."""

    def forward_dynamics(
        chain: Chain, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: tuple[Wrench, ...]
    ) -> list[Scalar]:
        x = positions(chain, q)
        bias = gathered(chain, inverse_dynamics(chain, x, rates(chain, qd), [0] * chain.n, loads))
        force = [t - b for t, b in zip(tau, bias, strict=True)]
        return SOLVERS[solver](congruent(chain, with_rotors(chain, mass_matrix(chain, x))), force)

    return forward_dynamics


def walker_orin(
    chain: Chain, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: tuple[Wrench, ...]
) -> list[Scalar]:
    """Walker and Orin (1982), method 1: n + 1 calls of inverse dynamics give the bias and each column of M."""
    n, x = chain.n, positions(chain, q)
    bias = gathered(chain, newton_euler.inverse_dynamics(chain, x, rates(chain, qd), [0] * n, loads))
    still, unloaded = replace(chain, gravity=ZERO), (Wrench(),) * n
    columns = [
        newton_euler.inverse_dynamics(still, x, [0] * n, [int(i == j) for i in range(n)], unloaded) for j in range(n)
    ]
    force = [t - b for t, b in zip(tau, bias, strict=True)]
    return cholesky(congruent(chain, with_rotors(chain, columns)), force)
