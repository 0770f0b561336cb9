"""Tracing of a formulation: on one robot, or on a chain whose numbers are all symbols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

from armwright.algebra import Symmetric, Vector
from armwright.errors import InputError, SingularError
from armwright.formulations import Formulation, problem_of
from armwright.graph.expression import Expr, Graph, Operand
from armwright.graph.program import Program
from armwright.mechanism import Joint, Link, Mechanism, Wrench
from armwright.model.description import Description
from armwright.model.robot_parameters import mechanism_with, parameter_sizes
from armwright.trace.outlined_equations import outlined_equations
from armwright.trace.reframe import reframed, with_common_origin
from armwright.trace.regroup import regrouped
from armwright.trace.solvability import check_solvable


def inputs(graph: Graph, problem: str, n: int, nq: int | None = None) -> list[list[Expr]]:
    """Return one input per coordinate for each argument of the problem, `nq` for q: q1, q2, ..., qd1, ..."""
    sizes = {"q": n if nq is None else nq}
    names = problem_of(problem).arguments
    return [[graph.input(f"{name}{i + 1}") for i in range(sizes.get(name, n))] for name in names]


def general_mechanism(graph: Graph, joints: int | str, vertical: bool = False) -> Mechanism:
    """Return a robot of known joint types whose lengths, angles, masses and moments are all off-line parameters.

    `joints` is a number of revolute joints, or types like "RRPRRR". Gravity is a run-time vector, or, if `vertical`, a
    parameter along -z of the base.
    """
    types = _types(joints)
    p = graph.parameter
    gravity = Vector(0, 0, -p("g")) if vertical else Vector(*(graph.input(f"g{axis}") for axis in "xyz"))
    return Mechanism(
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


class TraceChoice(NamedTuple):
    """A formulation by name, and the changes of parameters and frames before tracing.

    `tensor`, "inertia" or "euler", regroups the inertial parameters for zeros in that tensor. Frames then move where no
    wrench refers to those of the links. `level` moves frames of parallel axes, `meet` those of axes that meet in a
    point.
    """

    formulation: str
    tensor: str = ""
    level: bool = True
    meet: bool = False


class TraceRequest(NamedTuple):
    """A problem of a robot, with the wrenches and robot parameters that are further arguments.

    `loads` are "tip_wrench" and "link_wrenches"; `vary` are names of `model.robot_parameters`. With `looped`,
    linear systems are solved in a loop if the formulation supports it (`trace.outlined_equations`).
    """

    problem: str
    robot: Description
    loads: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()
    looped: bool = False


def trace(formulation: Formulation, request: TraceRequest, choice: TraceChoice | None = None) -> Traced:
    """Trace a formulation for one robot, with the numbers of the robot folded in."""
    graph, robot = Graph(), request.robot
    check_solvable(problem_of(formulation.problem), robot, request.vary)
    state = inputs(graph, formulation.problem, robot.n, robot.nq)
    arguments = list(zip(problem_of(formulation.problem).arguments, map(tuple, state), strict=True))
    parameters = {
        name: tuple(graph.input(f"{name}.{k}") for k in range(size))
        for name, size in parameter_sizes(robot, request.vary).items()
    }
    arguments += parameters.items()
    mechanism = mechanism_with(robot, parameters) if parameters else robot.mechanism()
    if choice is not None and choice.tensor:
        mechanism = _prepared(mechanism, choice, request.loads)
    wrenches: dict[str, list[Wrench]] = {}
    for name in request.loads:
        count = 1 if name == "tip_wrench" else len(mechanism.solid)
        entries = [[graph.input(f"{name}{i}.{k}") for k in range(6)] for i in range(count)]
        wrenches[name] = [Wrench(Vector(*e[:3]), Vector(*e[3:])) for e in entries]
        arguments.append((name, tuple(x for entry in entries for x in entry)))
    tip = wrenches["tip_wrench"][0] if "tip_wrench" in wrenches else None
    unsolved = formulation.unsolved if request.looped else None
    variant = formulation if unsolved is None else replace(formulation, rigid=unsolved)
    try:
        values = variant(mechanism, *state, loads=mechanism.wrenches(tip, wrenches.get("link_wrenches")))
    except ZeroDivisionError:
        raise SingularError(
            f"{formulation.problem} of {robot.name} by {formulation.name} divides by zero at every state: the mass "
            "matrix is singular; armwright.problems(robot) lists links without mass"
        ) from None
    units = tuple((0, ball.unit_vector.start, ball.unit_vector.stop - 1) for ball in robot.balls)
    if unsolved is not None:
        outputs, equations, shape = outlined_equations(values)
        return Traced(formulation, Program(tuple(arguments), outputs, shape, units, equations))
    return Traced(formulation, Program(tuple(arguments), tuple(flattened(values)), _shape(values), units))


def _prepared(mechanism: Mechanism, choice: TraceChoice, loads: tuple[str, ...]) -> Mechanism:
    """Return the mechanism in base parameters, and in the frames of the choice if wrenches allow it."""
    if "link_wrenches" not in loads:
        mechanism = reframed(mechanism, choice.level, turn_tool="tip_wrench" not in loads)
    mechanism = regrouped(mechanism, euler=choice.tensor == "euler")
    return with_common_origin(mechanism) if choice.meet else mechanism


def flattened(values: Any) -> Iterable[Operand]:
    """Yield the scalars of a number, vector, matrix or list of matrices, in order."""
    if isinstance(values, list):
        for value in values:
            yield from flattened(value)
    else:
        yield values


def _shape(values: Any) -> tuple[int, ...]:
    return (len(values), *_shape(values[0])) if isinstance(values, list) else ()
