"""Equations between joints, solved so that all of them hold: which joint follows which, and how.

Linear ones between two joints each come first. Several may name one joint: q_c = q_a and q_c = q_b say that b follows
a, too; equations around a ring either repeat each other, or hold a joint at one position, or contradict each other.
Then sums of several joints, each of which makes one joint follow the others; and last curves, each of a joint that
follows no other yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

REPEAT_TOLERANCE = 1e-9
"""Relative to what is compared: equations nearer than this repeat each other."""

ROUNDED_FACTORS = 1e-3
"""Relative factors of two equations that differ by less were meant to be the same, and would hold a joint still."""


@dataclass(frozen=True)
class Following:
    """How a joint follows others, by their numbers: offset + sum of factors q, and for one with factors of powers.

    Without `terms` it stands still at the offset.
    """

    terms: tuple[tuple[int, float], ...]
    offset: float
    curve: tuple[float, ...] = ()


Relation = tuple[int | None, float, float]
"""Another joint, factor and offset; or no other, and where the joint stands."""


class Contradiction(Exception):  # noqa: N818
    """An equation that cannot hold with those before it, or nearly repeats them; whoever catches it knows the names."""


@dataclass
class Elimination:
    """The joints that follow another, by their number: q = factor q_other + offset, or q = offset without another.

    `lines` lead as `by_joint` does, but further at once. `sums` are joints that follow several, `curves` those that
    follow one by a polynomial, each with its factors from the constant on.
    """

    by_joint: dict[int, Relation] = field(default_factory=dict)
    lines: dict[int, Relation] = field(default_factory=dict)
    sums: dict[int, tuple[dict[int, float], float]] = field(default_factory=dict)
    curves: dict[int, tuple[int, tuple[float, ...]]] = field(default_factory=dict)

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

    def add_sum(self, factors: Mapping[int, float], value: float) -> None:
        """The equation that the sum of factors q is a value; after all equations of two joints."""
        left, rest = self._reduced(factors, -value)
        if not left:
            if not _same(rest, 0.0):
                raise Contradiction
            return
        pivot = max(left, key=lambda joint: abs(left[joint]))
        others = {joint: -k / left[pivot] for joint, k in left.items() if joint != pivot}
        if len(others) < 2:
            other, factor = next(iter(others.items()), (None, 0.0))
            self.add(pivot, other, factor, -rest / left[pivot])
        else:
            self.sums[pivot] = others, -rest / left[pivot]

    def add_curve(self, joint: int, other: int, factors: Sequence[float]) -> bool:
        """The equation q = factors[0] + factors[1] q_other + ..., if the joint follows none; after all other equations.

        False where it does, or leads what it would follow.
        """
        leading = {k for others, _ in self._solved_sums().values() for k in others}
        if joint in self.lines or joint in self.sums or joint in self.curves or joint in leading:
            return False
        at: int | None = other
        while at is not None:
            at = self._end(at)[0]
            if at == joint or at in self.sums:
                return False
            at = self.curves[at][0] if at in self.curves else None
        self.curves[joint] = other, tuple(factors)
        return True

    def solved(self) -> dict[int, Following]:
        """How every joint follows; one that follows a joint which stands still stands still."""
        sums = self._solved_sums()
        found = {joint: Following(tuple(others.items()), value) for joint, (others, value) in sums.items()}
        for joint, (other, (offset, factor, *curve)) in self.curves.items():
            end, f, o = self._end(other)
            if end is None:
                at = sum(k * o**power for power, k in enumerate((offset, factor, *curve)))
                found[joint] = Following((), at)
            else:
                found[joint] = Following(((other, factor),), offset, tuple(curve))
        for joint, (leader, factor, offset) in self.by_joint.items():
            end, f, o = self._end(joint)
            if end is None or leader is None:
                found[joint] = Following((), o)
            elif end in sums and not sums[end][0]:
                found[joint] = Following((), f * sums[end][1] + o)
            elif end in self.curves and not found[end].terms:
                found[joint] = Following((), f * found[end].offset + o)
            else:
                found[joint] = Following(((leader, factor),), offset)
        return found

    def _solved_sums(self) -> dict[int, tuple[dict[int, float], float]]:
        """The joints that follow several, by those that follow none."""
        return {joint: self._reduced(others, value) for joint, (others, value) in self.sums.items()}

    def _reduced(self, factors: Mapping[int, float], value: float) -> tuple[dict[int, float], float]:
        """A sum plus a value, by joints that follow none."""
        left: dict[int, float] = {}
        largest, waiting = 0.0, list(factors.items())
        while waiting:
            joint, k = waiting.pop()
            end, f, o = self._end(joint)
            value += k * o
            if end is not None and end in self.sums:
                others, rest = self.sums[end]
                value += k * f * rest
                waiting += [(other, k * f * factor) for other, factor in others.items()]
            elif end is not None:
                left[end] = left.get(end, 0.0) + k * f
                largest = max(largest, abs(k * f))
        return {joint: k for joint, k in sorted(left.items()) if abs(k) > REPEAT_TOLERANCE * largest}, value

    def _ring(self, joint: int | None, one: tuple[float, float], two: tuple[float, float]) -> None:
        """f q + o = g q + p, which repeats what is known, or holds the joint at one position."""
        (f, o), (g, p) = one, two
        if joint is not None and not _same(f, g):
            if abs(f - g) <= ROUNDED_FACTORS * max(abs(f), abs(g)):
                raise Contradiction
            self._follow(joint, None, 0.0, (p - o) / (f - g))
        elif not _same(o, p):
            raise Contradiction

    def _follow(self, joint: int, other: int | None, factor: float, offset: float) -> None:
        self.by_joint[joint] = self.lines[joint] = other, factor, offset

    def _end(self, joint: int) -> Relation:
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
    return abs(one - two) <= REPEAT_TOLERANCE * max(1.0, abs(one), abs(two))
