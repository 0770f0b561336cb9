"""Every formulation, by problem and name.

`FORMULATIONS` is the list that tests, counts, benchmarks and the command line run over; `CONTRIBUTING.md`
explains how to add an entry. A formulation is called with a mechanism and one scalar per coordinate; the adapter of
its problem adds rotors, friction and couplings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from armwright.algebra import Scalar
from armwright.errors import InputError, unknown
from armwright.former_names import add_former_names
from armwright.formulations import (
    articulated_body,
    cartesian_tensor,
    composite_body,
    denoc,
    denoc_stepwise,
    equilibrium,
    gibbs_appell,
    gibbs_hessian,
    kane,
    khalil,
    lagrange,
    natural_orthogonal_complement,
    newton_euler,
    walker_orin_1,
    walker_orin_3,
)
from armwright.formulations.parts import loop_constraints, springs
from armwright.formulations.parts.assembled import bias_of, forward_dynamics_of, joint_by_joint
from armwright.formulations.parts.rotors_and_friction import ball_rotor_torques, joint_friction
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.formulations.parts.unsolved import UnsolvedDerivatives
from armwright.formulations.problem import index_in, problem_of, split_index
from armwright.formulations.quantities import (
    centroidal,
    coriolis,
    derivatives,
    differentiated,
    energy,
    kinematics,
    regressor,
)
from armwright.mechanism import Mechanism, Wrench
from armwright.notebook import table


@dataclass(frozen=True)
class Formulation:
    """One way to solve one problem.

    `order` is the growth of its cost with the number of joints. `any_link`: it works in the ten linear parameters and
    accepts regrouped links without a centre of mass. `solves_coupled`: it accepts joints that move together; a
    recursion that solves for one joint after the other does not. `traced`: it accepts traced scalars only. `serial`: it
    is for one chain of DH rows. `looped`: it accepts closed loops, curved couplings, and dry friction of a free joint.
    `unsolved` is the formulation without its systems of equations, which compiled code can solve in a loop.
    """

    name: str
    problem: str
    paper: str
    order: str
    rigid: Callable[..., Any]
    any_link: bool = False
    solves_coupled: bool = True
    traced: bool = False
    serial: bool = False
    looped: bool = True
    unsolved: Callable[..., UnsolvedDerivatives] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, as its functions cannot be pickled."""
        return find_formulation, (self.problem, self.name)

    def takes(self, mechanism: Mechanism) -> bool:
        """Return whether it accepts such a robot."""
        return not self.refusal(mechanism)

    def __call__(self, mechanism: Mechanism, *state: Coordinates, loads: Loads | None = None) -> Any:
        """Return tau, M, qdd or bias, rotors and friction included; `state` is q, then qd, then qdd or tau."""
        if why := self.refusal(mechanism):
            raise InputError(why)
        problem, rigid = problem_of(self.problem), self.rigid
        if problem.constrained and not mechanism.constrained_loops:
            raise InputError(
                f"{self.problem} is about loops closed by forces, and this robot has none; expected a loop without "
                "joints that depend on it: dependent = [] in its [[loop]], or with_loop(..., dependent=[])"
            )
        if problem.indexed:
            rigid = partial(rigid, index_in(self.problem, mechanism.coordinate_count))
        return problem.adapter(rigid, mechanism, *state, mechanism.wrenches() if loads is None else loads)

    def refusal(self, mechanism: Mechanism) -> str:
        """Return why it does not accept a robot, or an empty text."""
        if problem_of(self.problem).of_frame and mechanism.tip is None:
            return (
                f"{self.problem} is about one frame, and this robot has several tips, of which none is chosen; name a "
                "frame, or choose a tip by with_tip"
            )
        if not self.solves_coupled and mechanism.coupled:
            return (
                f"{self.name} solves for one joint after the other, and this robot has joints that move together; "
                "name one that forms the mass matrix, such as 'composite_body', or none, so that one is chosen"
            )
        if self.serial and not mechanism.serial:
            return (
                f"{self.name} is written for a chain of DH rows, and this robot has branches, ball joints or axes that "
                "are nearly parallel; name another formulation, such as 'denoc', or none, so that one is chosen"
            )
        if not self.looped and (mechanism.loops or mechanism.has_curves or mechanism.has_spatial_friction):
            return (
                f"{self.problem} by {self.name} is for robots without closed loops, curved couplings and dry friction "
                "where a free joint slides; name another formulation, such as 'traced', or none, so that one is chosen"
            )
        return ""


add_former_names(Formulation, together="solves_coupled")


_LUH = "Luh, Walker, Paul 1980"
_KANE = "Angeles, Ma, Rojas 1989"
_MATA = "Mata, Provenzano, Valero, Cuadrado 2002"
_BALAFOUTIS = "Balafoutis, Patel 1991"
_HOLLERBACH = "Hollerbach 1980"
_KHALIL = "Khalil, Kleinfinger, Gautier 1986"
_GRIGOROV = "Grigorov 2013"
_MOHAN = "Mohan, Saha 2007"
_WALKER = "Walker, Orin 1982"
_AFTER_WALKER = "after Walker, Orin 1982"
_ANGELES_MA = "Angeles, Ma 1988"
_FEATHERSTONE = "Featherstone 1983"
_ORIN = "Orin, Goswami 2008"
_SINGH = "Singh, Russell, Wensing 2022"

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

_BIASES = tuple(replace(f, problem="bias", rigid=bias_of(f.rigid)) for f in _TORQUES)

_MATRICES = (
    Formulation("composite_body", "mass_matrix", _AFTER_WALKER, "n^2", composite_body.mass_matrix, True),
    Formulation("walker_orin_3", "mass_matrix", f"{_WALKER}, method 3", "n^2", walker_orin_3.mass_matrix),
    Formulation("gibbs_appell", "mass_matrix", _MATA, "n^2", gibbs_appell.mass_matrix, True),
    Formulation("equilibrium", "mass_matrix", _GRIGOROV, "n^3", equilibrium.mass_matrix),
    Formulation("denoc", "mass_matrix", _MOHAN, "n^2", denoc.mass_matrix, True),
    Formulation(
        "natural_orthogonal_complement", "mass_matrix", _ANGELES_MA, "n^3", natural_orthogonal_complement.mass_matrix
    ),
    Formulation("gibbs_hessian", "mass_matrix", f"{_MATA}, (21)", "n^3", gibbs_hessian.mass_matrix),
)

# The inverse dynamics for the bias of each mass matrix: the one of its authors; for composite_body the cheapest.
_BIAS_FOR = {
    "composite_body": cartesian_tensor.inverse_dynamics,
    "walker_orin_3": newton_euler.inverse_dynamics,
    "gibbs_appell": gibbs_appell.inverse_dynamics,
    "equilibrium": equilibrium.inverse_dynamics,
    "denoc": denoc.inverse_dynamics,
    "natural_orthogonal_complement": kane.inverse_dynamics,
    "gibbs_hessian": gibbs_appell.inverse_dynamics,
}


def _solved(matrix: Formulation, solver: str) -> Formulation:
    """Return forward dynamics that forms this matrix. The plain name means Cholesky, except for the recursive denoc."""
    plain = solver == "cholesky" and matrix.name != "denoc"
    name = matrix.name if plain else f"{matrix.name}_{solver}"
    function = forward_dynamics_of(matrix.rigid, _BIAS_FOR[matrix.name], solver)
    any_link = matrix.name in ("composite_body", "denoc")
    return Formulation(name, "forward_dynamics", matrix.paper, "n^3", function, any_link)


def _one_by_one(name: str, paper: str, function: Callable[..., Any]) -> Formulation:
    """Return forward dynamics that solves for one joint after the other."""
    return Formulation(name, "forward_dynamics", paper, "n", joint_by_joint(function), True, solves_coupled=False)


_ACCELERATIONS = (
    _one_by_one("articulated_body", _FEATHERSTONE, articulated_body.forward_dynamics),
    _one_by_one("denoc", _MOHAN, denoc.forward_dynamics),
    replace(_one_by_one("denoc_stepwise", _MOHAN, denoc_stepwise.forward_dynamics), serial=True),
    *(_solved(matrix, "cholesky") for matrix in _MATRICES),
    *(_solved(matrix, "gauss_jordan") for matrix in _MATRICES),
    Formulation("walker_orin_1", "forward_dynamics", f"{_WALKER}, method 1", "n^3", walker_orin_1.forward_dynamics),
)


def _gravity_torque(mechanism: Mechanism, q: Coordinates) -> list[Scalar]:
    return cartesian_tensor.inverse_dynamics(
        mechanism, q, [0] * mechanism.n, [0] * mechanism.n, (Wrench(),) * mechanism.n
    )


def _joint_torque(
    joint: int, mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Any
) -> Scalar:
    """Return the torque of one coordinate, from the joints it moves."""
    parts = springs.torques(mechanism, q)[joint]
    friction, rotors = joint_friction(mechanism, qd), ball_rotor_torques(mechanism, qd)
    for i, driven in enumerate(mechanism.joints):
        terms = mechanism.couplings[i].terms if mechanism.couplings else ((i, 1),)
        for factor in (factor for coordinate, factor in terms if coordinate == joint):
            links = equilibrium.joint_torque(mechanism, i, q, qd, qdd, loads)
            parts = parts + factor * (links + driven.armature * qdd[i] + friction[i] + rotors[i])
    return parts


def _only(name: str, problem: str, rigid: Callable[..., Any], paper: str = "-", order: str = "n") -> Formulation:
    """Return the only formulation of a problem."""
    return Formulation(name, problem, paper, order, rigid, any_link=True)


def _for_open_trees(problem: str, rigid: Callable[..., Any], order: str) -> Formulation:
    """Return derivatives for robots without closed loops, curved couplings and dry friction of a free joint."""
    return replace(_only("composite_body", problem, rigid, _SINGH, order), looped=False)


_QUANTITIES = (
    Formulation("equilibrium", "joint_torque", _GRIGOROV, "n", _joint_torque),
    _only("cartesian_tensor", "gravity_torque", _gravity_torque, _BALAFOUTIS),
    _only("christoffel", "coriolis_matrix", coriolis.coriolis_matrix, "Echeandia, Wensing 2021", "n^2"),
    _only("velocities", "kinetic_energy", energy.kinetic_energy),
    _only("heights", "potential_energy", energy.potential_energy),
    Formulation("gibbs_appell", "gibbs_function", _MATA, "n", gibbs_appell.gibbs_function),
    Formulation("traced", "gibbs_gradient", _MATA, "n^2", differentiated.of_gibbs_function, traced=True),
    _only("frames", "forward_kinematics", kinematics.forward_kinematics),
    _only("frames", "link_poses", kinematics.link_poses),
    _only("frames", "link_positions", kinematics.link_positions),
    _only("axes", "jacobian", kinematics.jacobian),
    _only("axes", "tip_jacobian", kinematics.tip_jacobian),
    _only("axes", "jacobian_derivative", kinematics.jacobian_derivative),
    _only("axes", "tip_jacobian_derivative", kinematics.tip_jacobian_derivative),
    _only("first moments", "center_of_mass", centroidal.center_of_mass),
    _only("first moments", "center_of_mass_jacobian", centroidal.center_of_mass_jacobian),
    _only("composite_body", "centroidal_momentum", centroidal.centroidal_momentum, _ORIN),
    _only("composite_body", "centroidal_momentum_matrix", centroidal.centroidal_momentum_matrix, _ORIN),
    Formulation("axes", "partial_velocities", _KANE, "n^2", kinematics.partial_velocities),
    Formulation("equilibrium", "convective_accelerations", _GRIGOROV, "n", equilibrium.convective_accelerations),
    _for_open_trees("inverse_dynamics_derivatives", derivatives.of_inverse_dynamics, "n^2"),
    replace(
        _only("traced", "inverse_dynamics_derivatives", differentiated.of_inverse_dynamics, order="n^2"), traced=True
    ),
    replace(
        _for_open_trees("forward_dynamics_derivatives", derivatives.of_forward_dynamics, "n^3"),
        unsolved=derivatives.unsolved,
    ),
    replace(
        _only("traced", "forward_dynamics_derivatives", differentiated.of_forward_dynamics, order="n^3"), traced=True
    ),
    Formulation("composite_body", "constraint_forces", "Baumgarte 1972", "n^3", _ACCELERATIONS[3].rigid, True),
    _only("ends", "loop_errors", loop_constraints.errors),
    _only("ends", "loop_jacobian", loop_constraints.columns),
    _only("khalil, by columns", "regressor", regressor.rows, "Khalil, Dombre 2002, 9.6", "n^2"),
)

FORMULATIONS: tuple[Formulation, ...] = (*_TORQUES, *_MATRICES, *_ACCELERATIONS, *_BIASES, *_QUANTITIES)


class Listing(tuple[Formulation, ...]):
    """Formulations, as a table in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        heads = ("problem", "formulation", "after", "cost grows as", "chains only")
        rows = [(f.problem, f.name, f.paper, f.order, "yes" if f.serial else "") for f in self]
        return table(heads, rows)


def formulations(problem: str | None = None) -> Listing:
    """Return every formulation, or those of one problem."""
    if problem is None:
        return Listing(FORMULATIONS)
    name = problem_of(problem).name
    return Listing(f for f in FORMULATIONS if f.problem == name)


def find_formulation(problem: str, name: str | None = None) -> Formulation:
    """Return the formulation of that name for that problem; without a name, the problem's default."""
    choices, requested = formulations(str(problem)), problem_of(problem).default if name is None else name
    chosen = next((f for f in choices if f.name == requested), None)
    if chosen is not None:
        return chosen if split_index(problem)[1] is None else replace(chosen, problem=problem)
    elsewhere = sorted({f.problem for f in FORMULATIONS if f.name == name})
    hint = f"{name!r} solves {', '.join(elsewhere)} only." if elsewhere else ""
    raise unknown(f"{problem} formulation", name, [f.name for f in choices], hint)


def default_for(problem: str, mechanism: Mechanism | None = None) -> Formulation:
    """Return the formulation used if none is named, among those that accept the robot."""
    chosen = find_formulation(problem)
    if mechanism is None or not chosen.refusal(mechanism):
        return chosen
    named = (find_formulation(problem, candidate.formulation) for candidate in problem_of(problem).candidates)
    return next((f for f in named if not f.refusal(mechanism)), chosen)
