"""The units of a DH table as its author wrote it, row by row: once it is canonical, lengths stand with other joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from armwright.model.description import Description, JointModel
from armwright.rules.bodies import LONGEST, centre_outside
from armwright.rules.facts import AngleFacts
from armwright.rules.joints import angle_in_degrees, limits_in_degrees, slides_far
from armwright.rules.problem import Problem
from armwright.rules.robot import facts_of


def doubtful_units(robot: Description, written: Sequence[JointModel]) -> Iterator[Problem]:
    """Lengths that look like millimetres and angles that look like degrees, in the rows that they are written in.

    Of limits and centres of mass the rules about the robot tell.
    """
    for row in written:
        for key, value in (("a", row.a), ("d", row.d)):
            if abs(value) > LONGEST:
                yield Problem("millimetres", row.name, "warning", f"{key} = {value:g} would be metres; millimetres?")
        for key, value in (("alpha", row.alpha), ("theta", row.theta)):
            for doubt in angle_in_degrees(AngleFacts(row.name, key, (value,), (f"{value:.15g}",))):
                yield Problem("degrees", row.name, doubt.severity, doubt.text)
    facts = facts_of(robot)
    for joint in facts.joints:
        for kind, rule in (("millimetres", slides_far), ("degrees", limits_in_degrees)):
            yield from (Problem(kind, joint.name, doubt.severity, doubt.text) for doubt in rule(joint))
    for body in facts.bodies:
        if body.off > LONGEST:
            yield from (Problem("millimetres", body.name, doubt.severity, doubt.text) for doubt in centre_outside(body))
