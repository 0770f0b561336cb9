"""Running a formulation with tracing scalars: on the chain of one robot, or on one whose every number is a symbol."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from armwright.algebra import Symmetric, Vector
from armwright.chain import Chain, Joint, Link
from armwright.errors import InputError, SingularError
from armwright.formulations import Formulation
from armwright.graph.expression import Expr, Graph, Operand
from armwright.model.description import Description

ARGUMENTS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "bias": ("q", "qd"),
    "joint_torque": ("q", "qd", "qdd"),
}
"""What each problem is a function of."""


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


def traced(formulation: Formulation, robot: Description) -> list[Operand]:
    """The outputs of a formulation for one robot, everything known of it folded in."""
    try:
        return list(flattened(formulation(robot.chain(), *inputs(Graph(), formulation.problem, robot.n))))
    except ZeroDivisionError:
        raise SingularError(
            f"{formulation.problem} of {robot.name} by {formulation.name} divides by zero at every state: the mass "
            "matrix is singular; armwright.problems(robot) tells links without mass"
        ) from None


def flattened(values: Any) -> Iterable[Operand]:
    """The scalars of a vector or matrix, in order."""
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield value
