"""Every published formulation of serial-chain dynamics, written once over any scalar.

`FORMULATIONS` is the one list that tests, counts, benchmarks and the command line run over; `CONTRIBUTING.md`
says how to add an entry. A formulation is called with a chain and one scalar per coordinate; actuator terms are
added here, and joints that move together are told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from armwright.algebra import Scalar
from armwright.chain import Chain, Drive, Wrench
from armwright.errors import InputError, unknown
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
from armwright.formulations.actuators import friction, rotor_torque, rubbing, with_rotors
from armwright.formulations.assembled import bias_of, forward_dynamics_of, walker_orin
from armwright.formulations.coupled import congruent, gathered, positions, rates
from armwright.formulations.types import Coordinates, SquareMatrix

PROBLEMS = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "bias")


@dataclass(frozen=True)
class Formulation:
    """One way to solve one problem.

    `order` is the growth of its cost with the number of joints. `any_link` says that it works in the ten linear
    parameters and so accepts regrouped links without a centre of mass. `together` says that it takes joints that
    move together; a recursion that solves for one joint after the other does not.
    """

    name: str
    problem: str
    paper: str
    order: str
    rigid: Callable[..., Any]
    any_link: bool = False
    joints: str = "revolute, prismatic"
    status: str = "verified"
    together: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        """By name: the functions inside are made here and cannot be pickled."""
        return (
            (QUANTITIES.__getitem__, (self.problem,))
            if self.problem in QUANTITIES
            else (find, (self.problem, self.name))
        )

    def __call__(self, chain: Chain, *state: Coordinates, loads: tuple[Wrench, ...] | None = None) -> Any:
        """tau, M, qdd or bias, rotors and friction included; `state` is q, then qd, then qdd or tau."""
        if chain.drives and not self.together:
            raise InputError(
                f"{self.name} solves for one joint after the other, and this chain has joints that move together; "
                "expected one that forms the mass matrix, such as 'composite_body', or none, to have it chosen"
            )
        loads = chain.wrenches() if loads is None else loads
        return _SOLVE[self.problem](self.rigid, chain, *state, loads)


def _inverse(
    rigid: Callable[..., list[Scalar]], chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Any
) -> list[Scalar]:
    links = gathered(chain, rigid(chain, positions(chain, q), rates(chain, qd), rates(chain, qdd), loads))
    parts = links, rotor_torque(chain, qdd), friction(chain, qd)
    return [link + rotor + rub for link, rotor, rub in zip(*parts, strict=True)]


def _bias(
    rigid: Callable[..., list[Scalar]], chain: Chain, q: Coordinates, qd: Coordinates, loads: Any
) -> list[Scalar]:
    links = gathered(chain, rigid(chain, positions(chain, q), rates(chain, qd), loads))
    return [link + rub for link, rub in zip(links, friction(chain, qd), strict=True)]


def _matrix(rigid: Callable[..., SquareMatrix], chain: Chain, q: Coordinates, _loads: Any) -> SquareMatrix:
    return congruent(chain, with_rotors(chain, rigid(chain, positions(chain, q))))


def _forward(
    rigid: Callable[..., list[Scalar]], chain: Chain, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Any
) -> list[Scalar]:
    return rigid(chain, q, qd, [t - rub for t, rub in zip(tau, friction(chain, qd), strict=True)], loads)


def _place(rigid: Callable[..., Any], chain: Chain, q: Coordinates, _loads: Any) -> Any:
    return rigid(chain, positions(chain, q))


def _moving(rigid: Callable[..., Any], chain: Chain, q: Coordinates, qd: Coordinates, _loads: Any) -> Any:
    return rigid(chain, positions(chain, q), rates(chain, qd))


def _rows(rigid: Callable[..., SquareMatrix], chain: Chain, *state: Any) -> SquareMatrix:
    """A matrix with a column for each joint of the chain."""
    matrix = (_place if len(state) == 2 else _moving)(rigid, chain, *state)
    return [gathered(chain, row) for row in matrix]


def _derivatives(rigid: Callable[..., Any], chain: Chain, *state: Any) -> Any:
    """Made of formulations that are called as this one is."""
    return rigid(chain, *state[:-1])


_SOLVE: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": _inverse,
    "mass_matrix": _matrix,
    "forward_dynamics": _forward,
    "bias": _bias,
    "joint_torque": lambda rigid, chain, q, qd, qdd, loads: rigid(
        chain, positions(chain, q), rates(chain, qd), rates(chain, qdd), loads
    ),
    "gravity_torque": lambda rigid, *rest: gathered(rest[0], _place(rigid, *rest)),
    "coriolis_matrix": lambda rigid, *rest: congruent(rest[0], _moving(rigid, *rest)),
    "kinetic_energy": _moving,
    "potential_energy": _place,
    "forward_kinematics": _place,
    "link_poses": _place,
    "link_positions": _place,
    "jacobian": _rows,
    "tip_jacobian": _rows,
    "jacobian_derivative": _rows,
    "tip_jacobian_derivative": _rows,
    "inverse_dynamics_derivatives": _derivatives,
    "forward_dynamics_derivatives": _derivatives,
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


def _one_by_one(name: str, paper: str, function: Callable[..., Any]) -> Formulation:
    """Forward dynamics that solves for one joint after the other."""
    return Formulation(name, "forward_dynamics", paper, "n", function, True, together=False)


_ACCELERATIONS = (
    _one_by_one("articulated_body", _FEATHERSTONE, articulated_body.forward_dynamics),
    _one_by_one("denoc", _MOHAN, denoc.forward_dynamics),
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


def default_name(problem: str, together: bool = False) -> str:
    """The formulation that is taken if none is named; `together` says that some joints follow others."""
    return "composite_body" if together and problem == "forward_dynamics" else DEFAULT.get(problem, "")


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
        parts: Scalar = 0
        for i, moved in enumerate(chain.joints):
            drive = chain.drives[i] if chain.drives else Drive(i)
            if drive.coordinate == joint:
                links = equilibrium.joint_torque(chain, i, q, qd, qdd, loads)
                parts = parts + drive.factor * (links + moved.armature * qdd[i] + rubbing(moved, qd[i]))
        return parts

    return Formulation(f"equilibrium, joint {joint}", "joint_torque", _GRIGOROV, "n", rigid)
