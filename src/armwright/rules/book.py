"""The table of all rules: what each is about, and the kind of problem it finds. A new rule is one entry.

A rule is a function of facts that yields its doubts. Each kind has one meaning, which `accept` lists and the command
line use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from armwright.model.description import Description
from armwright.rules import bodies, joints, whole
from armwright.rules.facts import AngleFacts, BodyFacts, JointFacts, RobotFacts
from armwright.rules.problem import Doubt, Problem

Part: TypeAlias = BodyFacts | JointFacts | AngleFacts

KINDS = {
    "centre of mass outside": "a centre of mass far from every joint and shape of its link",
    "coaxial joints": "neighbouring joints that do the same motion",
    "degrees": "an angle, limit or speed that looks like degrees",
    "gravity": "gravity that points up, or is not that of the Earth",
    "identical inertia": "the same tensor on links of different mass",
    "inertia without mass": "a tensor on a link without mass",
    "millimetres": "lengths of tens of metres and more",
    "missing inertia": "a mass whose tensor is all zero",
    "negative damping": "friction that drives",
    "no travel": "limits that leave no room",
    "non-positive mass": "a link that moves and has no mass, or a negative one",
    "not positive definite": "a tensor with a negative principal moment",
    "placeholder": "round values that exporters write where nothing is known",
    "reversed limits": "the lower limit above the upper one",
    "rounded angle": "a right angle (or half or a third of one) written with few digits",
    "singular mass matrix": "a joint that can move without moving any mass",
    "suspicious units": "mass or inertia hundreds of times what the size of the link lets expect",
    "triangle inequality": "a principal moment above the sum of the other two",
    "zero effort": "an effort or speed limit of zero",
}


@dataclass(frozen=True)
class Rule:
    """What it is about, the kind of problem it finds, and how."""

    about: type
    kind: str
    doubts: Callable[[Any], Iterator[Doubt]]

    @property
    def name(self) -> str:
        return self.doubts.__name__


RULES = (
    Rule(JointFacts, "reversed limits", joints.reversed_limits),
    Rule(JointFacts, "no travel", joints.equal_limits),
    Rule(JointFacts, "degrees", joints.limits_in_degrees),
    Rule(JointFacts, "degrees", joints.speed_in_degrees),
    Rule(JointFacts, "zero effort", joints.cannot_drive),
    Rule(JointFacts, "negative damping", joints.drives_itself),
    Rule(JointFacts, "degrees", joints.smooth_in_degrees),
    Rule(JointFacts, "millimetres", joints.far_away),
    Rule(JointFacts, "millimetres", joints.slides_far),
    Rule(AngleFacts, "degrees", joints.angle_in_degrees),
    Rule(AngleFacts, "rounded angle", joints.rounded_angle),
    Rule(BodyFacts, "non-positive mass", bodies.no_mass),
    Rule(BodyFacts, "inertia without mass", bodies.tensor_without_mass),
    Rule(BodyFacts, "missing inertia", bodies.mass_without_tensor),
    Rule(BodyFacts, "not positive definite", bodies.negative_moment),
    Rule(BodyFacts, "triangle inequality", bodies.large_moment),
    Rule(BodyFacts, "suspicious units", bodies.units),
    Rule(BodyFacts, "centre of mass outside", bodies.centre_outside),
    Rule(RobotFacts, "suspicious units", whole.masses_in_grams),
    Rule(RobotFacts, "suspicious units", whole.payload_in_grams),
    Rule(RobotFacts, "centre of mass outside", whole.payload_far_off),
    Rule(RobotFacts, "suspicious units", whole.friction_in_millimetres),
    Rule(RobotFacts, "suspicious units", whole.large_rotors),
    Rule(RobotFacts, "suspicious units", whole.torque_in_millimetres),
    Rule(RobotFacts, "placeholder", whole.round_tensors),
    Rule(RobotFacts, "placeholder", whole.equal_masses),
    Rule(RobotFacts, "identical inertia", whole.copied_tensors),
    Rule(RobotFacts, "gravity", whole.gravity),
    Rule(Description, "millimetres", whole.far_frames),
    Rule(Description, "millimetres", whole.far_base),
    Rule(Description, "coaxial joints", whole.coaxial),
    Rule(Description, "no travel", whole.nowhere_to_follow),
    Rule(Description, "singular mass matrix", whole.moves_no_mass),
)


SIZED = ("millimetres", "centre of mass outside", "suspicious units")
"""Kinds of what is judged by lengths."""


class Judged(Protocol):
    """A problem of a robot, or a finding about a file."""

    @property
    def kind(self) -> str: ...
    @property
    def where(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def by_length(self) -> bool: ...


AnyJudged = TypeVar("AnyJudged", bound=Judged)


def fair(found: Sequence[AnyJudged]) -> list[AnyJudged]:
    """The problems without those that only tell of other ones: by wrong lengths every tensor looks wrong."""
    wrong = any(problem.kind == "millimetres" and problem.severity != "note" for problem in found)
    astray = {p.where for p in found if p.kind == "centre of mass outside" and p.text.endswith("millimetres?")}
    return [problem for problem in found if not (problem.by_length and (wrong or problem.where in astray))]


def broken(part: Part | RobotFacts | Description) -> Iterator[Problem]:
    """What the rules about such a thing find."""
    for rule in RULES:
        if isinstance(part, rule.about):
            for severity, text, where, about in rule.doubts(part):
                yield Problem(rule.kind, where or part.name, severity, text, about, rule.doubts is bodies.units)
