"""Linear equations between two joints each, solved so that all of them hold: which joint follows which, and how.

Several equations may name one joint. q_c = q_a and q_c = q_b say that b follows a, too; equations around a ring either
repeat each other, or hold a joint at one position, or contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SAME = 1e-9
"""Relative to what is compared: equations nearer than this repeat each other."""

ROUNDED = 1e-3
"""Relative factors of two equations that differ by less were meant to be the same, and would hold a joint still."""

Follows = tuple[int | None, float, float]


class Contradiction(Exception):  # noqa: N818
    """An equation that cannot hold with those before it, or nearly repeats them; whoever catches it knows the names."""


@dataclass
class Elimination:
    """The joints that follow another, by their number: q = factor q_other + offset, or q = offset without another.

    `lines` lead as `by_joint` does, but further at once.
    """

    by_joint: dict[int, Follows] = field(default_factory=dict)
    lines: dict[int, Follows] = field(default_factory=dict)

    def add(self, joint: int, other: int | None, factor: float, offset: float) -> None:
        """The equation q = factor q_other + offset; `Contradiction` if it cannot hold with those before."""
        one, f, o = self._end(joint)
        two, g, p = self._end(other) if other is not None and factor else (None, 0.0, 0.0)
        g, p = factor * g, factor * p + offset
        if one == two:
            self._ring(one, (f, o), (g, p))
        elif one == joint:
            self._follow(joint, *((None, 0.0, p) if two is None else (other, factor, offset)))
        elif one is not None:
            self._follow(one, two, g / f, (p - o) / f)
        elif two is not None:
            self._follow(two, None, 0.0, (o - p) / g)

    def solved(self) -> dict[int, Follows]:
        """As `by_joint`; a joint that follows one which stands still stands still."""
        ends = {joint: self._end(joint) for joint in self.by_joint}
        return {j: follows if ends[j][0] is not None else ends[j] for j, follows in self.by_joint.items()}

    def _ring(self, joint: int | None, one: tuple[float, float], two: tuple[float, float]) -> None:
        """f q + o = g q + p, which repeats what is known, or holds the joint at one position."""
        (f, o), (g, p) = one, two
        if joint is not None and not _same(f, g):
            if abs(f - g) <= ROUNDED * max(abs(f), abs(g)):
                raise Contradiction
            self._follow(joint, None, 0.0, (p - o) / (f - g))
        elif not _same(o, p):
            raise Contradiction

    def _follow(self, joint: int, other: int | None, factor: float, offset: float) -> None:
        self.by_joint[joint] = self.lines[joint] = other, factor, offset

    def _end(self, joint: int) -> Follows:
        """The joint at the end of the line, which follows none, and how this one follows it."""
        way: list[int] = []
        at: int | None = joint
        while at is not None and at in self.lines:
            way.append(at)
            at = self.lines[at][0]
        f, o = 1.0, 0.0
        for passed in reversed(way):
            _, factor, offset = self.lines[passed]
            f, o = factor * f, factor * o + offset
            self.lines[passed] = at, f, o
        return at, f, o


def _same(one: float, two: float) -> bool:
    return abs(one - two) <= SAME * max(1.0, abs(one), abs(two))
