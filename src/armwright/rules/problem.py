"""What a rule says: a sentence, its kind, where it is, and how bad it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from armwright.errors import unknown
from armwright.model.description import Description
from armwright.names import shown

SEVERITIES = ("error", "warning", "note")
"""Wrong; suspicious; worth knowing. Loading warns of the first two, and they make a check fail."""


class Doubt(NamedTuple):
    """What a rule has against what it looked at, or against `where`; `about` are all links and joints concerned."""

    severity: str
    text: str
    where: str = ""
    about: tuple[str, ...] = ()


class Problem(str):
    """A sentence, with the kind of problem, the link or joint it is about, and its severity.

    `by_length` says that a tensor was judged by the size of its link.
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
        """Whether the robot's author knows of it."""
        return accepted(self.kind, self.where, robot.accept)


def accepted(kind: str, where: str, accept: Iterable[str]) -> bool:
    """Whether a list has a problem: by its kind, or by "where: kind"."""
    return bool({kind, f"{where}: {kind}"} & set(accept))


def check_accepted(accept: Iterable[str], kinds: Collection[str], what: str) -> None:
    """An error for an entry whose kind there is not; `what` says what is accepted, and where."""
    for entry in accept:
        kind = entry.rpartition(": ")[2]
        if kind not in kinds:
            raise unknown(f"kind of {what}:", kind, kinds)
