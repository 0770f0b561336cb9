"""Equations between joints, solved together: the joints that follow others, and their rules.

Linear equations of two joints come first. Several may name one joint: from q_c = q_a and q_c = q_b, b follows a.
Equations in a cycle repeat each other, fix a joint, or contradict each other. Sums of several joints follow, each of
which makes one joint a follower. Polynomials are last, each for a joint that follows no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

REPEAT_TOLERANCE = 1e-9
"""The relative difference below which two equations are the same."""

ROUNDED_FACTORS = 1e-3
"""The relative difference of factors that are meant to be equal; solved, they would fix a joint."""


@dataclass(frozen=True)
class Following:
    """The rule of a follower, by joint numbers: offset + sum of factors q, or a polynomial of one joint.

    Without `terms` the joint is fixed at the offset.
    """

    terms: tuple[tuple[int, float], ...]
    offset: float
    curve: tuple[float, ...] = ()


Relation = tuple[int | None, float, float]
"""Another joint, factor and offset; or None, zero and the position of a fixed joint."""


class Contradiction(Exception):  # noqa: N818
    """An equation that contradicts, or nearly repeats, those before it; the caller adds the names."""


@dataclass
class Elimination:
    """The followers, by joint number: q = factor q_other + offset, or q = offset without another.

    `lines` are as `by_joint` with chains shortened. `sums` are followers of several joints, `curves` those by a
    polynomial, with its factors from the constant on.
    """

    by_joint: dict[int, Relation] = field(default_factory=dict)
    lines: dict[int, Relation] = field(default_factory=dict)
    sums: dict[int, tuple[dict[int, float], float]] = field(default_factory=dict)
    curves: dict[int, tuple[int, tuple[float, ...]]] = field(default_factory=dict)

    def add(self, joint: int, other: int | None, factor: float, offset: float) -> None:
        """Add the equation q = factor q_other + offset. Raises a `Contradiction`."""
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
        """Add the equation that a sum of factors q is a value; after all equations of two joints."""
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
        """Add the equation q = factors[0] + factors[1] q_other + ...; after all other equations.

        Returns False if the joint follows others already, or leads the other joint.
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
        """Return the rule of every follower; a follower of a fixed joint is fixed."""
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
        """Return the followers of several joints, in terms of independent joints."""
        return {joint: self._reduced(others, value) for joint, (others, value) in self.sums.items()}

    def _reduced(self, factors: Mapping[int, float], value: float) -> tuple[dict[int, float], float]:
        """Return a sum plus a value in terms of independent joints."""
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
        """Add f q + o = g q + p: a repetition, or an equation that fixes the joint."""
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
        """Return the independent joint at the end of a chain, and the rule of this one."""
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
