"""Every published formulation of serial-chain dynamics, written once over any scalar.

`FORMULATIONS` is the one list that tests, counts, benchmarks and the command line run over; `CONTRIBUTING.md`
says how to add an entry. A formulation is called with a chain and one scalar per joint; actuator terms are
added here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from armwright.algebra import Scalar
from armwright.chain import Chain, Wrench
from armwright.errors import unknown
from armwright.formulations import (
    articulated_body,
    cartesian_tensor,
    composite_body,
    coriolis,
    denoc,
    energy,
    equilibrium,
    gibbs_appell,
    kane,
    khalil,
    kinematics,
    lagrange,
    natural_orthogonal_complement,
    newton_euler,
)
from armwright.formulations.actuators import friction, rotor_torque, with_rotors
from armwright.formulations.assembled import bias_of, forward_dynamics_of, walker_orin
from armwright.formulations.types import Coordinates, SquareMatrix

PROBLEMS = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "bias")


@dataclass(frozen=True)
class Formulation:
    """One way to solve one problem.

    `order` is the growth of its cost with the number of joints. `any_link` says that it works in the ten linear
    parameters and so accepts regrouped links without a centre of mass.
    """

    name: str
    problem: str
    paper: str
    order: str
    rigid: Callable[..., Any]
    any_link: bool = False
    joints: str = "revolute, prismatic"
    status: str = "verified"

    def __reduce__(self) -> tuple[Any, ...]:
        """By name: the functions inside are made here and cannot be pickled."""
        return (
            (QUANTITIES.__getitem__, (self.problem,))
            if self.problem in QUANTITIES
            else (find, (self.problem, self.name))
        )

    def __call__(self, chain: Chain, *state: Coordinates, loads: tuple[Wrench, ...] | None = None) -> Any:
        """tau, M, qdd or bias, rotors and friction included; `state` is q, then qd, then qdd or tau."""
        loads = chain.wrenches() if loads is None else loads
        return _SOLVE[self.problem](self.rigid, chain, *state, loads)


def _inverse(
    rigid: Callable[..., list[Scalar]], chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Any
) -> list[Scalar]:
    parts = rigid(chain, q, qd, qdd, loads), rotor_torque(chain, qdd), friction(chain, qd)
    return [links + rotor + rub for links, rotor, rub in zip(*parts, strict=True)]


def _bias(
    rigid: Callable[..., list[Scalar]], chain: Chain, q: Coordinates, qd: Coordinates, loads: Any
) -> list[Scalar]:
    return [links + rub for links, rub in zip(rigid(chain, q, qd, loads), friction(chain, qd), strict=True)]


def _matrix(rigid: Callable[..., SquareMatrix], chain: Chain, q: Coordinates, _loads: Any) -> SquareMatrix:
    return with_rotors(chain, rigid(chain, q))


def _forward(
    rigid: Callable[..., list[Scalar]], chain: Chain, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Any
) -> list[Scalar]:
    return rigid(chain, q, qd, [t - rub for t, rub in zip(tau, friction(chain, qd), strict=True)], loads)


_SOLVE: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": _inverse,
    "mass_matrix": _matrix,
    "forward_dynamics": _forward,
    "bias": _bias,
    "joint_torque": lambda rigid, chain, q, qd, qdd, loads: rigid(chain, q, qd, qdd, loads),
    "gravity_torque": lambda rigid, chain, q, _loads: rigid(chain, q),
    "coriolis_matrix": lambda rigid, chain, q, qd, _loads: rigid(chain, q, qd),
    "kinetic_energy": lambda rigid, chain, q, qd, _loads: rigid(chain, q, qd),
    "potential_energy": lambda rigid, chain, q, _loads: rigid(chain, q),
    "forward_kinematics": lambda rigid, chain, q, _loads: rigid(chain, q),
    "link_poses": lambda rigid, chain, q, _loads: rigid(chain, q),
    "link_positions": lambda rigid, chain, q, _loads: rigid(chain, q),
    "jacobian": lambda rigid, chain, q, _loads: rigid(chain, q),
    "tip_jacobian": lambda rigid, chain, q, _loads: rigid(chain, q),
    "jacobian_derivative": lambda rigid, chain, q, qd, _loads: rigid(chain, q, qd),
    "tip_jacobian_derivative": lambda rigid, chain, q, qd, _loads: rigid(chain, q, qd),
    "inverse_dynamics_derivatives": lambda rigid, chain, q, qd, qdd, _loads: rigid(chain, q, qd, qdd),
    "forward_dynamics_derivatives": lambda rigid, chain, q, qd, tau, _loads: rigid(chain, q, qd, tau),
}

_LUH = "Luh, Walker, Paul 1980"
_KANE = "Angeles, Ma, Rojas 1989"
_MATA = "Mata, Provenzano, Valero, Cuadrado 2002"
_BALAFOUTIS = "Balafoutis, Patel 1991"
_HOLLERBACH = "Hollerbach 1980"
_KHALIL = "Khalil, Kleinfinger, Gautier 1986"
_GRIGOROV = "Grigorov 2013"
_MOHAN = "Mohan, Saha 2007"
_WALKER = "Walker, Orin 1982"
_ANGELES_MA = "Angeles, Ma 1988"
_FEATHERSTONE = "Featherstone 1983"

_TORQUES = (
    Formulation("newton_euler", "inverse_dynamics", _LUH, "n", newton_euler.inverse_dynamics),
    Formulation("kane", "inverse_dynamics", _KANE, "n", kane.inverse_dynamics),
    Formulation("gibbs_appell", "inverse_dynamics", _MATA, "n", gibbs_appell.inverse_dynamics),
    Formulation("cartesian_tensor", "inverse_dynamics", _BALAFOUTIS, "n", cartesian_tensor.inverse_dynamics, True),
    Formulation("lagrange", "inverse_dynamics", _HOLLERBACH, "n", lagrange.inverse_dynamics, True),
    Formulation("khalil", "inverse_dynamics", _KHALIL, "n", khalil.inverse_dynamics, True),
    Formulation("equilibrium", "inverse_dynamics", _GRIGOROV, "n^2", equilibrium.inverse_dynamics),
    Formulation("denoc", "inverse_dynamics", _MOHAN, "n", denoc.inverse_dynamics, True),
)

_BIASES = tuple(Formulation(f.name, "bias", f.paper, f.order, bias_of(f.rigid), f.any_link) for f in _TORQUES)

_MATRICES = (
    Formulation("composite_body", "mass_matrix", _WALKER, "n^2", composite_body.mass_matrix, True),
    Formulation("gibbs_appell", "mass_matrix", _MATA, "n^2", gibbs_appell.mass_matrix, True),
    Formulation("equilibrium", "mass_matrix", _GRIGOROV, "n^3", equilibrium.mass_matrix),
    Formulation("denoc", "mass_matrix", _MOHAN, "n^2", denoc.mass_matrix, True),
    Formulation(
        "natural_orthogonal_complement", "mass_matrix", _ANGELES_MA, "n^3", natural_orthogonal_complement.mass_matrix
    ),
)

# The inverse dynamics that gives each mass matrix its bias: the one its authors use; for composite_body the cheapest.
_BIAS_FOR = {
    "composite_body": cartesian_tensor.inverse_dynamics,
    "gibbs_appell": gibbs_appell.inverse_dynamics,
    "equilibrium": equilibrium.inverse_dynamics,
    "denoc": denoc.inverse_dynamics,
    "natural_orthogonal_complement": kane.inverse_dynamics,
}


def _solved(matrix: Formulation, solver: str) -> Formulation:
    """Forward dynamics that forms this matrix. The plain name means Cholesky, except for the recursive denoc."""
    plain = solver == "cholesky" and matrix.name != "denoc"
    name = matrix.name if plain else f"{matrix.name}_{solver}"
    function = forward_dynamics_of(matrix.rigid, _BIAS_FOR[matrix.name], solver)
    any_link = matrix.name in ("composite_body", "denoc")
    return Formulation(name, "forward_dynamics", matrix.paper, "n^3", function, any_link)


_ACCELERATIONS = (
    Formulation("articulated_body", "forward_dynamics", _FEATHERSTONE, "n", articulated_body.forward_dynamics, True),
    Formulation("denoc", "forward_dynamics", _MOHAN, "n", denoc.forward_dynamics, True),
    *(_solved(matrix, "cholesky") for matrix in _MATRICES),
    *(_solved(matrix, "gauss_jordan") for matrix in _MATRICES),
    Formulation("walker_orin", "forward_dynamics", _WALKER, "n^3", walker_orin),
)

FORMULATIONS: tuple[Formulation, ...] = (*_TORQUES, *_MATRICES, *_ACCELERATIONS, *_BIASES)


def _gravity_torque(chain: Chain, q: Coordinates) -> list[Scalar]:
    return cartesian_tensor.inverse_dynamics(chain, q, [0] * chain.n, [0] * chain.n, (Wrench(),) * chain.n)


QUANTITIES = {
    f.problem: f
    for f in (
        Formulation("cartesian_tensor", "gravity_torque", _BALAFOUTIS, "n", _gravity_torque, True),
        Formulation("christoffel", "coriolis_matrix", "Echeandia, Wensing 2021", "n^3", coriolis.coriolis_matrix),
        Formulation("velocities", "kinetic_energy", "-", "n", energy.kinetic_energy, True),
        Formulation("heights", "potential_energy", "-", "n", energy.potential_energy, True),
        Formulation("frames", "forward_kinematics", "-", "n", kinematics.forward_kinematics, True),
        Formulation("frames", "link_poses", "-", "n", kinematics.link_poses, True),
        Formulation("frames", "link_positions", "-", "n", kinematics.link_positions, True),
        Formulation("axes", "jacobian", "-", "n", kinematics.jacobian, True),
        Formulation("axes", "tip_jacobian", "-", "n", kinematics.tip_jacobian, True),
        Formulation("axes", "jacobian_derivative", "-", "n", kinematics.jacobian_derivative, True),
        Formulation("axes", "tip_jacobian_derivative", "-", "n", kinematics.tip_jacobian_derivative, True),
    )
}
"""What is computed in one way only."""

DEFAULT = {
    "inverse_dynamics": "newton_euler",
    "mass_matrix": "composite_body",
    "forward_dynamics": "articulated_body",
    "bias": "newton_euler",
}


def formulations(problem: str | None = None) -> tuple[Formulation, ...]:
    """Every formulation, or those of one problem."""
    if problem is None:
        return FORMULATIONS
    if not isinstance(problem, str) or problem not in PROBLEMS:
        raise unknown("problem", problem, PROBLEMS)
    return tuple(f for f in FORMULATIONS if f.problem == problem)


def find(problem: str, name: str | None = None) -> Formulation:
    """The formulation of that name for that problem; the problem's default when no name is given."""
    choices = formulations(str(problem))
    if name is not None and not isinstance(name, str):
        raise unknown(f"{problem} formulation", name, [f.name for f in choices])
    name = DEFAULT[problem] if name is None else name
    for choice in choices:
        if choice.name == name:
            return choice
    elsewhere = sorted({f.problem for f in FORMULATIONS if f.name == name})
    hint = f"{name!r} solves {', '.join(elsewhere)} only." if elsewhere else ""
    raise unknown(f"{problem} formulation", name, [f.name for f in choices], hint)


def single_torque(joint: int) -> Formulation:
    """The torque of one joint without those of the others (Grigorov 2013), as an inverse dynamics of one number."""

    def rigid(chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: tuple[Wrench, ...]) -> Scalar:
        links = equilibrium.joint_torque(chain, joint, q, qd, qdd, loads)
        return links + rotor_torque(chain, qdd)[joint] + friction(chain, qd)[joint]

    return Formulation(f"equilibrium, joint {joint}", "joint_torque", _GRIGOROV, "n", rigid)
