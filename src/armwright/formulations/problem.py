"""What can be asked of a robot: one record for each problem, and the table of them.

`PROBLEMS` is the one list that compiling, exporting, counting, the command line, documents and tests run over. A
problem is added by an entry here and a formulation of it in `registry`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from armwright.errors import InputError, unknown
from armwright.formulations import composite_body
from armwright.formulations.parts import wrapped
from armwright.formulations.quantities import kinematics
from armwright.mechanism import Mechanism

MEANING = {
    "q": "one position per joint, and one more for each ball, free or planar joint",
    "qd": "one velocity per joint, or per freedom of a joint",
    "qdd": "one acceleration per joint, or per freedom of a joint",
    "tau": "one generalised force per joint, or per freedom of a joint",
    "tip_wrench": "force and moment on the tool frame, in the tool frame",
    "link_wrenches": "force and moment on each link frame, in that frame",
}
"""The arguments that problems have."""

MANY_JOINTS = 12
"""From base to tip; above this O(n) forward dynamics is the cheapest. The regressor then takes long to compile."""

FEW_JOINTS = 2
"""Up to this differentiating what was traced may find fewer operations than the recursion of derivatives."""

OF_LINK, OF_JOINT = 10, 3
"""Parameters that torque is linear in: ten of a body; two of friction and one of the rotor of a joint."""


class Candidate(NamedTuple):
    """A formulation that is the cheapest for one robot or another, and the tensor in which it likes zeros.

    `most` is the number of joints from base to tip up to which it is tried.
    """

    formulation: str
    tensor: str = ""
    most: int | None = None


class Loop(NamedTuple):
    """How a chain too long for straight code has the problem: by the sweeps of a problem that `trace.chain_loops` has.

    By `columns`, each is the torque of a unit acceleration, at rest and without gravity.
    """

    sweeps: str
    formulation: str
    columns: bool = False


@dataclass(frozen=True)
class Problem:
    """One question about a robot.

    `shape` is that of the result for one state: numbers, or names of sizes (`sizes`). `around` puts rotors, friction
    and couplings around a rigid formulation. `default` is the formulation that is meant where none is named and none is
    searched for; where code is compiled, `candidates` are searched for the cheapest, or, if there is only one,
    taken. `solves` says that it solves with the mass matrix, which may be singular. `unrolled` is the largest robot of
    straight code, where it is shorter than others'. `indexed` names what the problem is asked for one of, as in
    "joint_torque[2]". `of_frame` says that it is about one frame: the tool, or any that is named. `held` says that it
    is about loops that forces hold, and no other robot has it.
    """

    name: str
    arguments: tuple[str, ...]
    shape: tuple[int | str, ...]
    around: Callable[..., Any]
    default: str
    candidates: tuple[Candidate, ...] = ()
    wrenches: bool = False
    solves: bool = False
    loop: Loop | None = None
    unrolled: int | None = None
    indexed: str = ""
    of_frame: bool = False
    held: bool = False
    about: str = ""

    def sizes(self, mechanism: Mechanism) -> tuple[int, ...]:
        """The shape of the result for a mechanism."""
        links = len(mechanism.solid)
        named = {
            "n": mechanism.coordinates,
            "links": links,
            "points": links + 1 + (mechanism.tip is not None),
            "loops": len(mechanism.ties),
            "parameters": OF_LINK * links + OF_JOINT * len(mechanism.rubbing),
        }
        return tuple(named[size] if isinstance(size, str) else size for size in self.shape)


_INVERSE = (Candidate("cartesian_tensor", "euler"), Candidate("denoc", "inertia"))
_FORWARD = (
    Candidate("composite_body", "inertia", MANY_JOINTS),
    Candidate("composite_body", "euler", MANY_JOINTS),
    Candidate("articulated_body", "inertia"),
)
_SLOPES = (Candidate("composite_body", "inertia"), Candidate("traced", "euler", FEW_JOINTS))
_BY_INVERSE = Loop("inverse_dynamics", "cartesian_tensor")

_TABLE = (
    Problem(
        "inverse_dynamics", ("q", "qd", "qdd"), ("n",), wrapped.torques, "newton_euler", _INVERSE, wrenches=True,
        loop=_BY_INVERSE, about="the torques that produce accelerations",
    ),
    Problem(
        "mass_matrix", ("q",), ("n", "n"), wrapped.matrix, "composite_body",
        (Candidate("composite_body", "inertia"), Candidate("gibbs_appell", "inertia")),
        loop=Loop("inverse_dynamics", "composite_body", columns=True), about="M(q), rotors included",
    ),
    Problem(
        "forward_dynamics", ("q", "qd", "tau"), ("n",), wrapped.accelerations, "articulated_body", _FORWARD,
        wrenches=True, solves=True, loop=Loop("forward_dynamics", "articulated_body"),
        about="the accelerations that torques produce",
    ),
    Problem(
        "bias", ("q", "qd"), ("n",), wrapped.bias, "newton_euler", _INVERSE, wrenches=True, loop=_BY_INVERSE,
        about="the torques that hold zero acceleration",
    ),
    Problem(
        "joint_torque", ("q", "qd", "qdd"), (), wrapped.all_rates, "equilibrium", wrenches=True, indexed="joint",
        about="the torque of one joint without those of the others",
    ),
    Problem(
        "gravity_torque", ("q",), ("n",), wrapped.holding, "cartesian_tensor", loop=_BY_INVERSE,
        about="the torques that hold the robot still against weight and springs",
    ),
    Problem(
        "coriolis_matrix", ("q", "qd"), ("n", "n"), wrapped.squares(composite_body.mass_matrix), "christoffel",
        (Candidate("christoffel", "inertia"),), about="C(q, qd) of Christoffel symbols: dM/dt - 2C is skew-symmetric",
    ),
    Problem("kinetic_energy", ("q", "qd"), (), wrapped.moving, "velocities", about="joules, rotors included"),
    Problem("potential_energy", ("q",), (), wrapped.stored, "heights", about="joules of weight and springs"),
    Problem(
        "gibbs_function", ("q", "qd", "qdd"), (), wrapped.gibbs, "gibbs_appell",
        about="the energy of acceleration, gravity being one of the base; rotors and springs included",
    ),
    Problem(
        "gibbs_gradient", ("q", "qd", "qdd"), ("n",), wrapped.coupled, "traced",
        about="of gibbs_function by qdd: the torques of inverse_dynamics without friction",
    ),
    Problem(
        "forward_kinematics", ("q",), (4, 4), wrapped.place, "frames", of_frame=True,
        about="the tool frame seen from the world",
    ),
    Problem("link_poses", ("q",), ("links", 4, 4), wrapped.place, "frames", about="each link frame in the world"),
    Problem(
        "link_positions", ("q",), ("points", 3), wrapped.place, "frames",
        about="the origins of frame 0, of each link frame and of the tool frame in the world",
    ),
    Problem(
        "jacobian", ("q",), (6, "n"), wrapped.columns, "axes", of_frame=True,
        about="of the tool's velocity, in the axes of the world",
    ),
    Problem(
        "tip_jacobian", ("q",), (6, "n"), wrapped.columns, "axes", of_frame=True,
        about="the same in the axes of the tool",
    ),
    Problem(
        "jacobian_derivative", ("q", "qd"), (6, "n"), wrapped.columns_in_time(kinematics.jacobian), "axes",
        of_frame=True, about="dJ/dt of jacobian",
    ),
    Problem(
        "tip_jacobian_derivative", ("q", "qd"), (6, "n"), wrapped.columns_in_time(kinematics.tip_jacobian), "axes",
        of_frame=True,
        about="dJ/dt of tip_jacobian",
    ),
    Problem(
        "center_of_mass", ("q",), (3,), wrapped.place, "first moments", about="of all links, in the world"
    ),
    Problem(
        "center_of_mass_jacobian", ("q",), (3, "n"), wrapped.columns, "first moments",
        about="of the velocity of the centre of mass, in the axes of the world",
    ),
    Problem(
        "centroidal_momentum", ("q", "qd"), (6,), wrapped.moving, "composite_body",
        about="linear, then angular about the centre of mass, in the axes of the world; without rotors",
    ),
    Problem(
        "centroidal_momentum_matrix", ("q",), (6, "n"), wrapped.columns, "composite_body",
        about="that momentum for a unit rate of each joint",
    ),
    Problem(
        "partial_velocities", ("q",), ("links", 6, "n"), wrapped.stacks, "axes",
        about="of each link's centre of mass and of each link, in the axes of the world: Kane's",
    ),
    Problem(
        "convective_accelerations", ("q", "qd"), ("links", 3, 3), wrapped.moving, "equilibrium",
        about="of each link while no joint accelerates, in its frame: C_eps, C_V, C_VC of Grigorov",
    ),
    Problem(
        "inverse_dynamics_derivatives", ("q", "qd", "qdd"), (3, "n", "n"), wrapped.coupled, "composite_body",
        _SLOPES, about="dtau/dq, dtau/dqd and M",
    ),
    Problem(
        "forward_dynamics_derivatives", ("q", "qd", "tau"), (3, "n", "n"), wrapped.coupled, "composite_body",
        _SLOPES, solves=True, about="dqdd/dq, dqdd/dqd and the inverse of M",
    ),
    Problem(
        "regressor", ("q", "qd", "qdd"), ("n", "parameters"), wrapped.all_rates, "khalil, by columns",
        unrolled=MANY_JOINTS, about="Y with tau = Y pi, columns as identify.parameter_names",
    ),
    Problem(
        "constraint_forces", ("q", "qd", "tau"), ("loops", 6), wrapped.forces, "composite_body", wrenches=True,
        solves=True, held=True, about="force and moment of each loop that forces hold, on its first link",
    ),
    Problem(
        "loop_errors", ("q",), ("loops", 6), wrapped.place, "ends", held=True,
        about="how far the ends of each such loop are apart, and by how much turned",
    ),
    Problem(
        "loop_jacobian", ("q",), ("loops", 6, "n"), wrapped.place, "ends", held=True,
        about="how fast loop_errors grow with each coordinate",
    ),
)  # fmt: skip

PROBLEMS = {problem.name: problem for problem in _TABLE}
"""Every problem by its name."""

_INDEXED = re.compile(r"(\w+)\[(\d+)\]", re.ASCII)


def problem_of(name: object) -> Problem:
    """The problem of that name; one of which one of many is asked for has its number behind it in brackets."""
    plain, _ = parted(name)
    if plain not in PROBLEMS:
        raise unknown("problem", name, PROBLEMS)
    return PROBLEMS[plain]


def parted(name: object) -> tuple[str, int | None]:
    """ "joint_torque[2]" as its name and number; any other name as it is."""
    found = _INDEXED.fullmatch(str(name))
    if found and found[1] in PROBLEMS and PROBLEMS[found[1]].indexed:
        return found[1], int(found[2])
    return str(name), None


def numbered(name: str, count: int) -> int:
    """Which one is asked for by "joint_torque[2]"; an error if none is, or one that there is not."""
    plain, number = parted(name)
    if number is None or number >= count:
        what = PROBLEMS[plain].indexed
        raise InputError(f"{name}: expected which {what}, {plain}[0] to {plain}[{count - 1}]")
    return number
