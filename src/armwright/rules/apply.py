"""The rules applied to a robot, to its payload, and to a DH table as written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from armwright.errors import InputError
from armwright.model.description import Description
from armwright.model.records import JointModel
from armwright.rules.body_rules import MAX_LINK_LENGTH, centre_outside
from armwright.rules.facts import AngleFacts, BodyFacts
from armwright.rules.joint_rules import angle_in_degrees, limits_in_degrees, long_slide
from armwright.rules.problem import SEVERITIES, Problem
from armwright.rules.robot_facts import angle_facts, robot_facts
from armwright.rules.robot_rules import PAYLOAD_REACH
from armwright.rules.rule import Facts, find_problems, without_consequences


def problems(robot: Description) -> list[Problem]:
    """Return the problems of a robot: the worst first, then from base to tip.

    Each is a sentence with its `kind`, `where` and `severity`. None of them stops a computation; each has spoilt
    simulations unnoticed. An argument that is not a robot raises an `InputError`.
    """
    if not isinstance(robot, Description):
        raise InputError(f"problems got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    with np.errstate(all="ignore"):
        return sorted(_all_problems(robot), key=lambda problem: SEVERITIES.index(problem.severity))


def payload_problems(robot: Description) -> list[Problem]:
    """Return errors and warnings about the place and the tensor of the payload; its mass does not matter."""
    payload = robot.payload
    if payload is None or not (math.hypot(*payload.com) > PAYLOAD_REACH or np.any(payload.inertia)):
        return []  # no rule applies
    with np.errstate(all="ignore"):
        facts = robot_facts(robot)
        problems = [*(_payload_tensor_problems(facts.payload) if facts.payload else ())]
        problems += [problem for problem in find_problems(facts) if problem.kind == "centre of mass outside"]
    return [problem for problem in problems if problem.severity != "note"]


def _payload_tensor_problems(payload: BodyFacts) -> Iterator[Problem]:
    """Yield problems of the payload's tensor; a point mass has none."""
    return find_problems(replace(payload, offset=0.0)) if np.any(payload.inertia) else iter(())


def _all_problems(robot: Description) -> list[Problem]:
    facts = robot_facts(robot)
    parts: list[Facts] = []
    bodies = dict(zip(robot.link_rows, facts.bodies, strict=True))
    for i, (joint, angles) in enumerate(zip(facts.joints, angle_facts(robot), strict=True)):
        parts += joint, *angles, *([bodies[i]] if i in bodies else [])
    problems = [*find_problems(*parts)]
    problems += _payload_tensor_problems(facts.payload) if facts.payload is not None else ()
    known = {(problem.kind, problem.where) for problem in problems}
    return without_consequences(problems + [p for p in find_problems(robot, facts) if (p.kind, p.where) not in known])


def unit_problems(robot: Description, written: Sequence[JointModel]) -> Iterator[Problem]:
    """Yield lengths that look like millimetres and angles that look like degrees, row by row as written.

    The rules about the robot examine limits and centres of mass.
    """
    for row in written:
        for key, value in (("a", row.a), ("d", row.d)):
            if abs(value) > MAX_LINK_LENGTH:
                yield Problem("millimetres", row.name, "warning", f"{key} = {value:g} would be metres; millimetres?")
        for key, value in (("alpha", row.alpha), ("theta", row.theta)):
            for doubt in angle_in_degrees(AngleFacts(row.name, key, (value,), (f"{value:.15g}",))):
                yield Problem("degrees", row.name, doubt.severity, doubt.text)
    facts = robot_facts(robot)
    for joint in facts.joints:
        for kind, rule in (("millimetres", long_slide), ("degrees", limits_in_degrees)):
            yield from (Problem(kind, joint.name, doubt.severity, doubt.text) for doubt in rule(joint))
    for body in facts.bodies:
        if body.offset > MAX_LINK_LENGTH:
            yield from (Problem("millimetres", body.name, doubt.severity, doubt.text) for doubt in centre_outside(body))
