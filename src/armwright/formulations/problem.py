"""The problems of the dynamics and kinematics of a robot: one record each, and the table of them.

`PROBLEMS` is the list that compiling, exporting, counting, the command line, documents and tests run over. A
problem is added by an entry here and a formulation of it in `registry`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from armwright.errors import InputError, unknown
from armwright.former_names import add_former_names
from armwright.formulations import composite_body
from armwright.formulations.parts import adapters
from armwright.formulations.quantities import kinematics
from armwright.mechanism import Mechanism

ARGUMENT_MEANINGS = {
    "q": "one position per joint, and one more for each ball, free or planar joint",
    "qd": "one velocity per joint, or per freedom of a joint",
    "qdd": "one acceleration per joint, or per freedom of a joint",
    "tau": "one generalised force per joint, or per freedom of a joint",
    "tip_wrench": "force and moment on the tool frame, in the tool frame",
    "link_wrenches": "force and moment on each link frame, in that frame",
}
"""The meaning of every argument of a problem."""

MANY_JOINTS = 12
"""Joints from base to tip above which O(n) forward dynamics is the cheapest and the regressor takes long to compile."""

FEW_JOINTS = 2
"""Joints up to which a differentiated trace may need fewer operations than the recursion of derivatives."""

PARAMETERS_PER_LINK, PARAMETERS_PER_JOINT = 10, 3
"""Parameters that torque is linear in: ten per link; two of friction and one of the rotor per joint."""


class Candidate(NamedTuple):
    """A formulation that is the cheapest for some robots, and how the mass parameters of links are best written for it.

    Parameters that torques do not depend on are free. They are chosen so that entries of a `tensor` vanish: of the
    "inertia", or of the "euler" tensor, the second moments of mass. `max_depth` is the number of joints from base to
    tip up to which it is tried.
    """

    formulation: str
    tensor: str = ""
    max_depth: int | None = None


class LoopForm(NamedTuple):
    """The loop for chains too long for straight code, by name of its sweeps in `trace.chain_loops`.

    With `columns`, each column is the torque of a unit acceleration, at rest and without gravity.
    """

    sweeps: str
    formulation: str
    columns: bool = False


@dataclass(frozen=True)
class Problem:
    """One quantity to compute for a robot.

    `shape` is that of the result for one state: numbers, or names of sizes (`sizes`). `adapter` adds rotors, friction
    and couplings to a rigid formulation. `default` is the formulation used if none is named and none is searched for;
    compiled code searches `candidates` for the cheapest, or takes the only one. `solves_mass_matrix` marks a problem
    that solves with the mass matrix, which may be singular. `max_unrolled_joints` is the largest robot of straight code
    if it is smaller than for other problems. `indexed` is the noun of an index, as in "joint_torque[2]". `of_frame`
    marks a problem about one frame: the tool, or a named one. `constrained` marks a problem about loops closed by
    forces, which other robots do not have.
    """

    name: str
    arguments: tuple[str, ...]
    shape: tuple[int | str, ...]
    adapter: Callable[..., Any]
    default: str
    candidates: tuple[Candidate, ...] = ()
    wrenches: bool = False
    solves_mass_matrix: bool = False
    chain_sweep: LoopForm | None = None
    max_unrolled_joints: int | None = None
    indexed: str = ""
    of_frame: bool = False
    constrained: bool = False
    about: str = ""

    def sizes(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Return the shape of the result for a mechanism."""
        links = len(mechanism.solid)
        named = {
            "n": mechanism.coordinate_count,
            "links": links,
            "points": links + 1 + (mechanism.tip is not None),
            "loops": len(mechanism.constrained_loops),
            "parameters": PARAMETERS_PER_LINK * links + PARAMETERS_PER_JOINT * len(mechanism.friction_joints),
        }
        return tuple(named[size] if isinstance(size, str) else size for size in self.shape)


add_former_names(
    Problem,
    around="adapter",
    held="constrained",
    loop="chain_sweep",
    solves="solves_mass_matrix",
    unrolled="max_unrolled_joints",
)


_INVERSE = (Candidate("cartesian_tensor", "euler"), Candidate("denoc", "inertia"))
_FORWARD = (
    Candidate("composite_body", "inertia", MANY_JOINTS),
    Candidate("composite_body", "euler", MANY_JOINTS),
    Candidate("articulated_body", "inertia"),
)
_SLOPES = (Candidate("composite_body", "inertia"), Candidate("traced", "euler", FEW_JOINTS))
_BY_INVERSE = LoopForm("inverse_dynamics", "cartesian_tensor")

_TABLE = (
    Problem(
        "inverse_dynamics", ("q", "qd", "qdd"), ("n",), adapters.torques, "newton_euler", _INVERSE, wrenches=True,
        chain_sweep=_BY_INVERSE, about="the torques that produce accelerations",
    ),
    Problem(
        "mass_matrix", ("q",), ("n", "n"), adapters.matrix, "composite_body",
        (Candidate("composite_body", "inertia"), Candidate("gibbs_appell", "inertia")),
        chain_sweep=LoopForm("inverse_dynamics", "composite_body", columns=True), about="M(q), rotors included",
    ),
    Problem(
        "forward_dynamics", ("q", "qd", "tau"), ("n",), adapters.accelerations, "articulated_body", _FORWARD,
        wrenches=True, solves_mass_matrix=True, chain_sweep=LoopForm("forward_dynamics", "articulated_body"),
        about="the accelerations that torques produce",
    ),
    Problem(
        "bias", ("q", "qd"), ("n",), adapters.bias, "newton_euler", _INVERSE, wrenches=True, chain_sweep=_BY_INVERSE,
        about="the torques that hold zero acceleration",
    ),
    Problem(
        "joint_torque", ("q", "qd", "qdd"), (), adapters.at_accelerations, "equilibrium", wrenches=True,
        indexed="joint", about="the torque of one joint without those of the others",
    ),
    Problem(
        "gravity_torque", ("q",), ("n",), adapters.holding_torques, "cartesian_tensor", chain_sweep=_BY_INVERSE,
        about="the torques that hold the robot still against weight and springs",
    ),
    Problem(
        "coriolis_matrix", ("q", "qd"), ("n", "n"), adapters.coriolis(composite_body.mass_matrix), "christoffel",
        (Candidate("christoffel", "inertia"),), about="C(q, qd) of Christoffel symbols: dM/dt - 2C is skew-symmetric",
    ),
    Problem(
        "kinetic_energy", ("q", "qd"), (), adapters.at_positions_and_rates, "velocities",
        about="joules, rotors included",
    ),
    Problem("potential_energy", ("q",), (), adapters.stored_energy, "heights", about="joules of weight and springs"),
    Problem(
        "gibbs_function", ("q", "qd", "qdd"), (), adapters.gibbs, "gibbs_appell",
        about="the energy of acceleration, gravity being one of the base; rotors and springs included",
    ),
    Problem(
        "gibbs_gradient", ("q", "qd", "qdd"), ("n",), adapters.without_adapter, "traced",
        about="of gibbs_function by qdd: the torques of inverse_dynamics without friction",
    ),
    Problem(
        "forward_kinematics", ("q",), (4, 4), adapters.at_positions, "frames", of_frame=True,
        about="the tool frame seen from the world",
    ),
    Problem(
        "link_poses", ("q",), ("links", 4, 4), adapters.at_positions, "frames", about="each link frame in the world"
    ),
    Problem(
        "link_positions", ("q",), ("points", 3), adapters.at_positions, "frames",
        about="the origins of frame 0, of each link frame and of the tool frame in the world",
    ),
    Problem(
        "jacobian", ("q",), (6, "n"), adapters.joint_columns, "axes", of_frame=True,
        about="of the tool's velocity, in the axes of the world",
    ),
    Problem(
        "tip_jacobian", ("q",), (6, "n"), adapters.joint_columns, "axes", of_frame=True,
        about="the same in the axes of the tool",
    ),
    Problem(
        "jacobian_derivative", ("q", "qd"), (6, "n"), adapters.joint_columns_rate(kinematics.jacobian), "axes",
        of_frame=True, about="dJ/dt of jacobian",
    ),
    Problem(
        "tip_jacobian_derivative", ("q", "qd"), (6, "n"), adapters.joint_columns_rate(kinematics.tip_jacobian), "axes",
        of_frame=True, about="dJ/dt of tip_jacobian",
    ),
    Problem(
        "center_of_mass", ("q",), (3,), adapters.at_positions, "first moments", about="of all links, in the world"
    ),
    Problem(
        "center_of_mass_jacobian", ("q",), (3, "n"), adapters.joint_columns, "first moments",
        about="of the velocity of the centre of mass, in the axes of the world",
    ),
    Problem(
        "centroidal_momentum", ("q", "qd"), (6,), adapters.at_positions_and_rates, "composite_body",
        about="linear, then angular about the centre of mass, in the axes of the world; without rotors",
    ),
    Problem(
        "centroidal_momentum_matrix", ("q",), (6, "n"), adapters.joint_columns, "composite_body",
        about="that momentum for a unit rate of each joint",
    ),
    Problem(
        "partial_velocities", ("q",), ("links", 6, "n"), adapters.joint_column_stacks, "axes",
        about="of each link's centre of mass and of each link, in the axes of the world: Kane's",
    ),
    Problem(
        "convective_accelerations", ("q", "qd"), ("links", 3, 3), adapters.at_positions_and_rates, "equilibrium",
        about="of each link while no joint accelerates, in its frame: C_eps, C_V, C_VC of Grigorov",
    ),
    Problem(
        "inverse_dynamics_derivatives", ("q", "qd", "qdd"), (3, "n", "n"), adapters.without_adapter, "composite_body",
        _SLOPES, about="dtau/dq, dtau/dqd and M",
    ),
    Problem(
        "forward_dynamics_derivatives", ("q", "qd", "tau"), (3, "n", "n"), adapters.without_adapter, "composite_body",
        _SLOPES, solves_mass_matrix=True, about="dqdd/dq, dqdd/dqd and the inverse of M",
    ),
    Problem(
        "regressor", ("q", "qd", "qdd"), ("n", "parameters"), adapters.at_accelerations, "khalil, by columns",
        max_unrolled_joints=MANY_JOINTS, about="Y with tau = Y pi, columns as identify.parameter_names",
    ),
    Problem(
        "constraint_forces", ("q", "qd", "tau"), ("loops", 6), adapters.forces, "composite_body", wrenches=True,
        solves_mass_matrix=True, constrained=True,
        about="force and moment of each loop closed by forces, on its first link",
    ),
    Problem(
        "loop_errors", ("q",), ("loops", 6), adapters.at_positions, "ends", constrained=True,
        about="distance and relative rotation of the ends of each such loop",
    ),
    Problem(
        "loop_jacobian", ("q",), ("loops", 6, "n"), adapters.at_positions, "ends", constrained=True,
        about="derivatives of loop_errors by each coordinate",
    ),
)  # fmt: skip

PROBLEMS = {problem.name: problem for problem in _TABLE}
"""Every problem by its name."""

_INDEXED = re.compile(r"(\w+)\[(\d+)\]", re.ASCII)


def problem_of(name: object) -> Problem:
    """Return the problem of that name; an indexed problem has its index in brackets."""
    plain, _ = split_index(name)
    if plain not in PROBLEMS:
        raise unknown("problem", name, PROBLEMS)
    return PROBLEMS[plain]


def split_index(name: object) -> tuple[str, int | None]:
    """Return name and index of "joint_torque[2]"; any other name has no index."""
    found = _INDEXED.fullmatch(str(name))
    if found and found[1] in PROBLEMS and PROBLEMS[found[1]].indexed:
        return found[1], int(found[2])
    return str(name), None


def index_in(name: str, count: int) -> int:
    """Return the index in "joint_torque[2]"; raise an error if there is none or it is out of range."""
    plain, number = split_index(name)
    if number is None or number >= count:
        what = PROBLEMS[plain].indexed
        raise InputError(f"{name}: expected which {what}, {plain}[0] to {plain}[{count - 1}]")
    return number
