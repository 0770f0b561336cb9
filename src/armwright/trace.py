"""Running a formulation with tracing scalars: on the chain of one robot, or on one whose every number is a symbol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from armwright import derivatives
from armwright.algebra import Symmetric, Vector
from armwright.backends.cache import name_of, read, write
from armwright.chain import Chain, Joint, Link, Wrench
from armwright.errors import InputError, SingularError
from armwright.formulations import Formulation, find
from armwright.graph.count import count
from armwright.graph.expression import Expr, Graph, Operand
from armwright.graph.program import Program
from armwright.model.description import Description
from armwright.model.vary import check, varied
from armwright.regroup import leaving, levelled, meeting, reframed, regrouped

ARGUMENTS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "bias": ("q", "qd"),
    "joint_torque": ("q", "qd", "qdd"),
    "gravity_torque": ("q",),
    "coriolis_matrix": ("q", "qd"),
    "kinetic_energy": ("q", "qd"),
    "potential_energy": ("q",),
    "forward_kinematics": ("q",),
    "link_poses": ("q",),
    "link_positions": ("q",),
    "jacobian": ("q",),
    "tip_jacobian": ("q",),
    "jacobian_derivative": ("q", "qd"),
    "tip_jacobian_derivative": ("q", "qd"),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "forward_dynamics_derivatives": ("q", "qd", "tau"),
}
"""What each problem is a function of."""

CANDIDATES = {
    "inverse_dynamics": (("cartesian_tensor", "euler"), ("denoc", "inertia")),
    "bias": (("cartesian_tensor", "euler"), ("denoc", "inertia")),
    "mass_matrix": (("composite_body", "inertia"), ("gibbs_appell", "inertia")),
    "forward_dynamics": (("composite_body", "inertia"), ("composite_body", "euler"), ("articulated_body", "inertia")),
}
"""The formulations that are cheapest for one robot or another, and the tensor in which they like zeros."""


def inputs(graph: Graph, problem: str, n: int) -> list[list[Expr]]:
    """One input per joint for each argument of the problem: q1, q2, ..., qd1, ..."""
    return [[graph.input(f"{name}{i + 1}") for i in range(n)] for name in ARGUMENTS[problem]]


def general_chain(graph: Graph, joints: int | str, vertical: bool = False) -> Chain:
    """A robot of which only the joint types are known: every length, angle, mass and moment is an off-line parameter.

    `joints` is a number of revolute joints, or types like "RRPRRR". Gravity is a run-time vector, or, if
    `vertical`, a parameter against z of the base.
    """
    types = _types(joints)
    p = graph.parameter
    gravity = Vector(0, 0, -p("g")) if vertical else Vector(*(graph.input(f"g{axis}") for axis in "xyz"))
    return Chain(
        joints=tuple(
            Joint(
                prismatic=kind == "P",
                ca=p(f"ca{i}"),
                sa=p(f"sa{i}"),
                a=p(f"a{i}"),
                d=0 if kind == "P" else p(f"d{i}"),
                theta=p(f"theta{i}") if kind == "P" else 0,
            )
            for i, kind in enumerate(types, start=1)
        ),
        links=tuple(
            Link(
                mass=p(f"m{i}"),
                com=Vector(*(p(f"r{axis}{i}") for axis in "xyz")),
                inertia=Symmetric(*(p(f"I{pair}{i}") for pair in ("xx", "yy", "zz", "xy", "xz", "yz"))),
            )
            for i in range(1, len(types) + 1)
        ),
        gravity=gravity,
    )


def _types(joints: int | str) -> str:
    if isinstance(joints, str):
        if joints and set(joints.upper()) <= set("RP"):
            return joints.upper()
    elif isinstance(joints, Integral) and not isinstance(joints, bool) and joints >= 1:
        return "R" * int(joints)
    raise InputError(f"joints = {joints!r}: expected a number of joints, 1 or more, or types such as 'RRPRRR'")


@dataclass(frozen=True)
class Traced:
    """A formulation traced for one robot."""

    formulation: Formulation
    program: Program


def traced(
    formulation: Formulation,
    robot: Description,
    loads: tuple[str, ...] = (),
    base_parameters: str = "",
    vary: tuple[str, ...] = (),
    level: bool = True,
    meet: bool = False,
) -> Traced:
    """A formulation for one robot, everything known of it folded in.

    `loads` names the wrenches that are further arguments ("tip_wrench", "link_wrenches"). The inertial
    parameters are regrouped first if `base_parameters` is "inertia" or "euler", by which tensor is to get zeros,
    in better frames where no wrench is given in those of the links; `level` is about those of parallel axes, `meet`
    about those of axes that meet in a point, for formulations that can have them.
    `vary` names robot parameters that are arguments too (`model.vary`).
    """
    graph, n = Graph(), robot.n
    state = inputs(graph, formulation.problem, n)
    arguments = list(zip(ARGUMENTS[formulation.problem], map(tuple, state), strict=True))
    chain = robot.chain()
    if vary:
        open_ = {
            name: tuple(graph.input(f"{name}.{k}") for k in range(size)) for name, size in check(robot, vary).items()
        }
        arguments += open_.items()
        chain = varied(robot, open_)
    if base_parameters:
        if "link_wrenches" not in loads:
            chain = reframed(chain, level, turn="tip_wrench" not in loads)
        chain = regrouped(chain, euler=base_parameters == "euler")
        chain = meeting(chain) if meet else chain
    wrenches: dict[str, list[Wrench]] = {}
    for name in loads:
        count = 1 if name == "tip_wrench" else chain.n
        entries = [[graph.input(f"{name}{i}.{k}") for k in range(6)] for i in range(count)]
        wrenches[name] = [Wrench(Vector(*e[:3]), Vector(*e[3:])) for e in entries]
        arguments.append((name, tuple(x for entry in entries for x in entry)))
    tip = wrenches["tip_wrench"][0] if "tip_wrench" in wrenches else None
    try:
        values = formulation(chain, *state, loads=chain.wrenches(tip, wrenches.get("link_wrenches")))
    except ZeroDivisionError:
        raise SingularError(
            f"{formulation.problem} of {robot.name} by {formulation.name} divides by zero at every state: the mass "
            "matrix is singular; armwright.problems(robot) tells links without mass"
        ) from None
    return Traced(formulation, Program(tuple(arguments), tuple(flattened(values)), _shape(values)))


BY_OFFSETS = ("cartesian_tensor",)
"""Of the candidates, those that know a joint by its rotation and offset only, and so can have any frames."""

MANY_JOINTS = 12
"""Above this the O(n) forward dynamics is the cheapest, and the others take long to trace."""

DERIVATIVES = {
    "inverse_dynamics_derivatives": derivatives.of_inverse_dynamics,
    "forward_dynamics_derivatives": derivatives.of_forward_dynamics,
}
"""What exists only as a program: it is found by differentiating a trace."""


def derivative_of(problem: str) -> Formulation:
    return Formulation("traced", problem, "-", "n^3", DERIVATIVES[problem], True)


class Choice(NamedTuple):
    """A way to trace a problem: the formulation, and what `traced` is told of base parameters and frames."""

    formulation: str
    base_parameters: str = ""
    level: bool = True
    meet: bool = False


def cheapest(problem: str, robot: Description, loads: tuple[str, ...] = (), vary: tuple[str, ...] = ()) -> Traced:
    """The formulation that takes the fewest operations for this robot, with or without regrouped parameters.

    Which one it was is kept on disk, so that later runs trace that one only.
    """
    name = _question(problem, robot, loads, vary)
    known = _answer(read(name))
    if known is not None:
        return _traced(problem, robot, loads, vary, known)
    choice, best = _cheapest(problem, robot, loads, vary)
    write(name, json.dumps(choice).encode())
    return best


def _cheapest(problem: str, robot: Description, loads: tuple[str, ...], vary: tuple[str, ...]) -> tuple[Choice, Traced]:
    candidates = CANDIDATES[problem]
    if problem == "forward_dynamics" and robot.followers:
        candidates = tuple(pair for pair in candidates if find(problem, pair[0]).together)
    elif problem == "forward_dynamics" and robot.n > MANY_JOINTS:
        candidates = (("articulated_body", "inertia"),)

    def tried(choices: list[Choice]) -> list[tuple[Choice, Traced]]:
        return [(choice, _traced(problem, robot, loads, vary, choice)) for choice in choices]

    best = min(tried([Choice(*pair) for pair in candidates]), key=_cost)
    others, chain = [best[0]._replace(base_parameters="")], robot.chain()
    if levelled(chain) is not chain:
        others.append(best[0]._replace(level=False))
    if best[0].formulation in BY_OFFSETS and "link_wrenches" not in loads and leaving(levelled(chain)) is not None:
        others.append(best[0]._replace(meet=True))
    return min([best, *tried(others)], key=_cost)


def _traced(problem: str, robot: Description, loads: tuple[str, ...], vary: tuple[str, ...], choice: Choice) -> Traced:
    formulation = find(problem, choice.formulation)
    return traced(formulation, robot, loads, choice.base_parameters, vary, choice.level, choice.meet)


@cache
def _writers() -> str:
    """A name for the code that formulations, regrouping and simplifying are written in."""
    here = Path(__file__).parent
    alone = (here / f"{name}.py" for name in ("algebra", "chain", "regroup", "trace"))
    return name_of([*alone, *sorted(here.glob("formulations/*.py")), *sorted(here.glob("graph/*.py"))])


def _question(problem: str, robot: Description, loads: tuple[str, ...], vary: tuple[str, ...]) -> str:
    """What the answer depends on, as the name of a file: the numbers of the robot, and the code that is traced."""
    bodies = [(link.name, link.mass, link.com, link.inertia) for link in robot.links]
    numbers = (robot.rows, bodies, robot.gravity, robot.base, robot.flange, robot.tool, robot.payload)
    text = repr((_writers(), problem, loads, vary, numbers))
    return hashlib.sha256(text.encode()).hexdigest()


def _answer(content: bytes | None) -> Choice | None:
    try:
        return None if content is None else Choice(*json.loads(content))
    except (ValueError, TypeError):
        return None


def _cost(candidate: tuple[Choice, Traced]) -> int:
    return count(candidate[1].program.outputs).total


def flattened(values: Any) -> Iterable[Operand]:
    """The scalars of a number, vector, matrix or list of matrices, in order."""
    if isinstance(values, list):
        for value in values:
            yield from flattened(value)
    else:
        yield values


def _shape(values: Any) -> tuple[int, ...]:
    return (len(values), *_shape(values[0])) if isinstance(values, list) else ()
