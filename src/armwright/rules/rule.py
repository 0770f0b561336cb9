"""The registry of the rules, and the search for problems by them.

A rule is a function of facts that yields doubts, listed in a table of `joint_rules`, `body_rules` or `robot_rules`;
`armwright.register` and the entry points `armwright.rules` of other packages add to these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from armwright.errors import InputError, unknown
from armwright.model.description import Description
from armwright.registry import Registry
from armwright.rules.body_rules import BODY_RULES
from armwright.rules.facts import AngleFacts, BodyFacts, JointFacts, RobotFacts
from armwright.rules.joint_rules import JOINT_RULES
from armwright.rules.problem import SEVERITIES, Problem, Rule
from armwright.rules.robot_rules import ROBOT_RULES

Facts: TypeAlias = BodyFacts | JointFacts | AngleFacts | RobotFacts | Description
"""The types that a rule may examine."""


def _accept(name: str, entry: Any) -> Rule:
    """Return a rule that a package adds, or raise an `InputError`."""
    if not isinstance(entry, Rule):
        raise InputError(f"rule {name!r} is a {type(entry).__name__}; expected an armwright.rules.Rule")
    if entry.about not in (BodyFacts, JointFacts, AngleFacts, RobotFacts, Description):
        raise InputError(
            f"rule {name!r} is about {entry.about!r}; expected BodyFacts, JointFacts, AngleFacts, RobotFacts of "
            "armwright.rules, or a Description"
        )
    if not callable(entry.doubts):
        raise InputError(f"the doubts of rule {name!r} are {entry.doubts!r}; expected a function of the facts")
    if not isinstance(entry.kind, str) or not entry.kind or ": " in entry.kind:
        raise InputError(f"rule {name!r} finds the kind {entry.kind!r}; expected a few words without a colon")
    if not entry.meaning and entry.kind not in {rule.kind for rule in RULES.built_in.values()}:
        raise InputError(f"rule {name!r} finds a new kind, {entry.kind!r}, without a meaning; expected meaning='...'")
    return entry


RULES: Registry[Rule] = Registry(
    "rule", {rule.doubts.__name__: rule for rule in (*JOINT_RULES, *BODY_RULES, *ROBOT_RULES)}, _accept
)
"""All rules by name."""

LENGTH_KINDS = ("millimetres", "centre of mass outside", "suspicious units")
"""Kinds of problems that depend on lengths."""


def kinds() -> dict[str, str]:
    """Return the kinds of problems that rules find, each with its meaning."""
    meanings: dict[str, str] = {}
    for rule in RULES.values():
        meanings[rule.kind] = meanings.get(rule.kind) or rule.meaning
    return dict(sorted(meanings.items(), key=lambda entry: entry[0].lower()))


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


def without_consequences(problems: Sequence[AnyJudged]) -> list[AnyJudged]:
    """Return the problems that are not consequences of others: with wrong lengths every tensor looks wrong."""
    wrong = any(problem.kind == "millimetres" and problem.severity != "note" for problem in problems)
    misplaced = {p.where for p in problems if p.kind == "centre of mass outside" and p.text.endswith("millimetres?")}
    return [problem for problem in problems if not (problem.by_length and (wrong or problem.where in misplaced))]


def find_problems(*parts: Facts) -> Iterator[Problem]:
    """Yield the problems of bodies, joints, angles or robots, in the order of `parts`."""
    rules = tuple(RULES.items())
    for part in parts:
        for name, rule in rules:
            if isinstance(part, rule.about):
                for severity, text, where, about in rule.doubts(part):
                    if severity not in SEVERITIES:
                        raise unknown(f"severity of rule {name!r}:", severity, SEVERITIES)
                    yield Problem(rule.kind, where or part.name, severity, text, about, rule.by_length)
