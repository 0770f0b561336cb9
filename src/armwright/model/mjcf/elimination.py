"""Elimination of joint coordinates by the equality constraints between them.

Linear equations of two joints come first: from q_c = q_a and q_c = q_b, b follows a. An equation that closes a cycle
repeats the others, fixes a joint, or contradicts them. Sums of several joints are next; each makes one joint a
follower. Polynomials are last, each for a joint that does not follow another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

EQUALITY_TOLERANCE = 1e-9
"""The relative difference below which two equations are the same."""

NEAR_REPEAT_TOLERANCE = 1e-3
"""The relative difference below which factors differ by the rounding of the file; a solution would fix the joint."""


@dataclass(frozen=True)
class FollowerRule:
    """The rule of a follower: offset + sum of factor q over `terms` (joint, factor), or a polynomial of one joint.

    Without `terms` the joint is fixed at the offset.
    """

    terms: tuple[tuple[int, float], ...]
    offset: float
    curve: tuple[float, ...] = ()


Line = tuple[int | None, float, float]
"""A straight line in another joint: (joint, factor, offset), or (None, 0, position) for a fixed joint."""


class Contradiction(Exception):  # noqa: N818
    """An equation contradicts or nearly repeats earlier ones; the caller adds the names."""


@dataclass
class Elimination:
    """Followers by joint number. `by_joint` has lines in one joint, `shortened` those in an independent joint.

    `sums` has followers of several joints, `curves` polynomials with the factors of increasing powers.
    """

    by_joint: dict[int, Line] = field(default_factory=dict)
    shortened: dict[int, Line] = field(default_factory=dict)
    sums: dict[int, tuple[dict[int, float], float]] = field(default_factory=dict)
    curves: dict[int, tuple[int, tuple[float, ...]]] = field(default_factory=dict)

    def add(self, joint: int, other: int | None, factor: float, offset: float) -> None:
        """Add the equation q = factor q_other + offset, or raise a `Contradiction`."""
        one, f, o = self._independent(joint)
        two, g, p = self._independent(other) if other is not None and factor else (None, 0.0, 0.0)
        g, p = factor * g, factor * p + offset
        if one == two:
            self._close_cycle(one, (f, o), (g, p))
        elif one == joint:
            self._follow(joint, *((None, 0.0, p) if two is None else (other, factor, offset)))
        elif one is not None:
            self._follow(one, two, g / f, (p - o) / f)
        elif two is not None:
            self._follow(two, None, 0.0, (o - p) / g)

    def add_sum(self, factors: Mapping[int, float], value: float) -> None:
        """Add the equation sum of factor q = value, after all equations of two joints."""
        coefficients, rest = self._in_independent(factors, -value)
        if not coefficients:
            if not _same(rest, 0.0):
                raise Contradiction
            return
        pivot = max(coefficients, key=lambda joint: abs(coefficients[joint]))
        others = {joint: -k / coefficients[pivot] for joint, k in coefficients.items() if joint != pivot}
        if len(others) < 2:
            other, factor = next(iter(others.items()), (None, 0.0))
            self.add(pivot, other, factor, -rest / coefficients[pivot])
        else:
            self.sums[pivot] = others, -rest / coefficients[pivot]

    def add_curve(self, joint: int, other: int, factors: Sequence[float]) -> bool:
        """Add the equation q = factors[0] + factors[1] q_other + ...; after all other equations.

        Return False if the joint is a follower already, or the other joint depends on it.
        """
        leading = {k for others, _ in self._solved_sums().values() for k in others}
        if joint in self.shortened or joint in self.sums or joint in self.curves or joint in leading:
            return False
        at: int | None = other
        while at is not None:
            at = self._independent(at)[0]
            if at == joint or at in self.sums:
                return False
            at = self.curves[at][0] if at in self.curves else None
        self.curves[joint] = other, tuple(factors)
        return True

    def solved(self) -> dict[int, FollowerRule]:
        """Return the rule of every follower; a follower of a fixed joint is fixed."""
        sums = self._solved_sums()
        rules = {joint: FollowerRule(tuple(others.items()), value) for joint, (others, value) in sums.items()}
        for joint, (other, (offset, factor, *curve)) in self.curves.items():
            end, f, o = self._independent(other)
            if end is None:
                at = sum(k * o**power for power, k in enumerate((offset, factor, *curve)))
                rules[joint] = FollowerRule((), at)
            else:
                rules[joint] = FollowerRule(((other, factor),), offset, tuple(curve))
        for joint, (leader, factor, offset) in self.by_joint.items():
            end, f, o = self._independent(joint)
            if end is None or leader is None:
                rules[joint] = FollowerRule((), o)
            elif end in sums and not sums[end][0]:
                rules[joint] = FollowerRule((), f * sums[end][1] + o)
            elif end in self.curves and not rules[end].terms:
                rules[joint] = FollowerRule((), f * rules[end].offset + o)
            else:
                rules[joint] = FollowerRule(((leader, factor),), offset)
        return rules

    def _solved_sums(self) -> dict[int, tuple[dict[int, float], float]]:
        """Return `sums` in terms of independent joints."""
        return {joint: self._in_independent(others, value) for joint, (others, value) in self.sums.items()}

    def _in_independent(self, factors: Mapping[int, float], value: float) -> tuple[dict[int, float], float]:
        """Return a sum of factor q plus a value, in terms of independent joints."""
        coefficients: dict[int, float] = {}
        largest, pending = 0.0, list(factors.items())
        while pending:
            joint, k = pending.pop()
            end, f, o = self._independent(joint)
            value += k * o
            if end is not None and end in self.sums:
                others, rest = self.sums[end]
                value += k * f * rest
                pending += [(other, k * f * factor) for other, factor in others.items()]
            elif end is not None:
                coefficients[end] = coefficients.get(end, 0.0) + k * f
                largest = max(largest, abs(k * f))
        return {joint: k for joint, k in sorted(coefficients.items()) if abs(k) > EQUALITY_TOLERANCE * largest}, value

    def _close_cycle(self, joint: int | None, one: tuple[float, float], two: tuple[float, float]) -> None:
        """Add f q + o = g q + p, which repeats other equations or fixes the joint."""
        (f, o), (g, p) = one, two
        if joint is not None and not _same(f, g):
            if abs(f - g) <= NEAR_REPEAT_TOLERANCE * max(abs(f), abs(g)):
                raise Contradiction
            self._follow(joint, None, 0.0, (p - o) / (f - g))
        elif not _same(o, p):
            raise Contradiction

    def _follow(self, joint: int, other: int | None, factor: float, offset: float) -> None:
        self.by_joint[joint] = self.shortened[joint] = other, factor, offset

    def _independent(self, joint: int) -> Line:
        """Return the line of a joint in the independent joint at the end of its chain; shorten the chain."""
        chain: list[int] = []
        at: int | None = joint
        while at is not None and at in self.shortened:
            chain.append(at)
            at = self.shortened[at][0]
        f, o = 1.0, 0.0
        for follower in reversed(chain):
            _, factor, offset = self.shortened[follower]
            f, o = factor * f, factor * o + offset
            self.shortened[follower] = at, f, o
        return at, f, o


def _same(one: float, two: float) -> bool:
    return abs(one - two) <= EQUALITY_TOLERANCE * max(1.0, abs(one), abs(two))
