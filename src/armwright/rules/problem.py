"""The records of rules: a rule, a doubt that it yields, and the problem that reports the doubt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from armwright.errors import unknown
from armwright.former_names import add_former_names
from armwright.model.description import Description
from armwright.names import shown

SEVERITIES = ("error", "warning", "note")
"""Wrong, suspicious, worth knowing. Loading warns of errors and warnings, and they make a check fail."""


class Doubt(NamedTuple):
    """A doubt of a rule: severity, sentence, and the link or joint `where`, by default the examined one.

    `about` lists all links and joints concerned.
    """

    severity: str
    text: str
    where: str = ""
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule, with the texts that users read.

    about      type of the facts that it examines, or `Description`.
    kind       kind of problem that it finds, as users list it under `accept`.
    doubts     function of the facts that yields a `Doubt` per problem, with severity and sentence.
    meaning    meaning of the kind in a few words; one rule of each kind has it.
    by_length  it compares a tensor with the size of its link, and is ignored where that size is wrong.
    """

    about: type
    kind: str
    doubts: Callable[[Any], Iterable[Doubt]]
    meaning: str = ""
    by_length: bool = False


add_former_names(Rule, name="doubts.__name__")


class Problem(str):
    """A sentence, with the kind of problem, its link or joint, and its severity.

    `by_length` marks a tensor that was compared with the size of its link.
    """

    kind: str
    where: str
    severity: str
    text: str
    about: tuple[str, ...]
    by_length: bool

    def __new__(
        cls, kind: str, where: str, severity: str, text: str, about: tuple[str, ...] = (), by_length: bool = False
    ) -> Problem:
        problem = super().__new__(cls, shown(f"{where}: {text}"))
        problem.kind, problem.where, problem.severity, problem.text, problem.about = kind, where, severity, text, about
        problem.by_length = by_length
        return problem

    def accepted_by(self, robot: Description) -> bool:
        """Return whether the robot accepts the problem."""
        return accepted(self.kind, self.where, robot.accept)


def accepted(kind: str, where: str, accept: Iterable[str]) -> bool:
    """Return whether a list names a problem: by its kind, or by "where: kind"."""
    return bool({kind, f"{where}: {kind}"} & set(accept))


def check_accepted(accept: Iterable[str], kinds: Collection[str], what: str) -> None:
    """Raise an error for an entry with an unknown kind; `what` describes the list in the message."""
    for entry in accept:
        kind = entry.rpartition(": ")[2]
        if kind not in kinds:
            raise unknown(f"kind of {what}:", kind, kinds)
