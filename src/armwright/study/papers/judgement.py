"""Measured values, their references, and the verdicts that follow from them alone.

A judgement keeps its measured numbers, and `instead` returns the judgement of others: a test checks for every finding
of every paper that other measurements change the verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Literal, Protocol

from armwright.study.published import evaluate


class Verdict(Enum):
    """Verdicts from best to worst.

    - EQUAL: the same number, exactly
    - HOLDS: a statement is true, within the bounds that the row shows
    - PRINTED_DIGITS: rounds to the number the paper prints
    - MOSTLY: a statement is true in more than half of the cases, which the row counts
    - WITHIN_TENTH, WITHIN_FACTOR_2, WITHIN_FACTOR_10: near the printed number; the row shows the factor
    """

    EQUAL = "equal"
    HOLDS = "holds"
    PRINTED_DIGITS = "same within the printed digits"
    MOSTLY = "holds in most cases"
    WITHIN_TENTH = "within 10 %"
    WITHIN_FACTOR_2 = "within a factor of two"
    WITHIN_FACTOR_10 = "within a factor of ten"
    UNCHECKABLE = "not checkable"
    DIFFERS = "differs"

    @property
    def rank(self) -> int:
        return list(Verdict).index(self)


class Against(Enum):
    """The reference of a finding; each has a separate column.

    NUMBER     a number that the paper prints, against one of ours
    CLAIM      a statement of the paper, against measurements of ours
    PRINT      a number or statement of the paper, against other print of it: nothing is measured
    THEORY     a value that follows from theory, printed or not
    PROTOTYPE  numbers stored from an independent program, where the paper has none
    """

    NUMBER = "paper's number"
    CLAIM = "paper's claim"
    PRINT = "other print"
    THEORY = "theory"
    PROTOTYPE = "prototype"


class Judgement(Protocol):
    """`held_to` is the tolerance as text, `measured` the value that decides the verdict."""

    @property
    def verdict(self) -> Verdict: ...

    @property
    def held_to(self) -> str: ...

    @property
    def measured(self) -> tuple[float, ...]: ...

    def instead(self, measured: Sequence[float]) -> Judgement:
        """Return the judgement of other measurements."""
        ...


@dataclass(frozen=True)
class Printed:
    """A value against a printed number, judged by its digits; `exact` for whole numbers and consequences of print.

    Without `digits` it is judged by its factor alone, two at best, as digits of rounding errors are random.
    """

    printed: str
    value: float
    exact: bool = False
    digits: bool = True

    @property
    def ratio(self) -> float:
        """The value over the printed number; nan for a printed zero."""
        number = float(self.printed)
        return self.value / number if number else math.nan

    @property
    def verdict(self) -> Verdict:
        if self.digits and self.value == float(self.printed):
            return Verdict.EQUAL
        if self.exact:
            return Verdict.DIFFERS
        if not self.digits:
            return max(Verdict.WITHIN_FACTOR_2, by_factor([self.ratio]), key=lambda verdict: verdict.rank)
        if abs(self.value - float(self.printed)) <= self.half_a_digit * (1 + 1e-9):
            return Verdict.PRINTED_DIGITS
        return by_factor([self.ratio])

    @property
    def held_to(self) -> str:
        if self.verdict is Verdict.PRINTED_DIGITS:
            return f"printed +- {self.half_a_digit:g}"
        return _EXACTLY if self.exact else _FACTORS.get(self.verdict, _EXACTLY)

    @property
    def half_a_digit(self) -> float:
        return 0.5 * last_digit(self.printed)

    @property
    def measured(self) -> tuple[float, ...]:
        return (self.value,)

    def instead(self, measured: Sequence[float]) -> Printed:
        return replace(self, value=measured[0])


_EXACTLY = "printed, exactly"
_FACTORS = {
    Verdict.WITHIN_TENTH: "0.9 to 1.1 times the printed",
    Verdict.WITHIN_FACTOR_2: "1/2 to 2 times the printed",
    Verdict.WITHIN_FACTOR_10: "1/10 to 10 times the printed",
    Verdict.DIFFERS: "1/10 to 10 times the printed",
}


def by_factor(ratios: Iterable[float]) -> Verdict:
    """Return the verdict by ratios to the printed numbers; the worst decides."""
    listed = list(ratios)
    for verdict, low, high in (
        (Verdict.WITHIN_TENTH, 0.9, 1.1),
        (Verdict.WITHIN_FACTOR_2, 0.5, 2.0),
        (Verdict.WITHIN_FACTOR_10, 0.1, 10.0),
    ):
        if listed and all(low <= ratio <= high for ratio in listed):
            return verdict
    return Verdict.DIFFERS


_NUMBER = re.compile(r"^[+-]?\d*(?:\.(?P<decimals>\d*))?(?:[eE](?P<power>[+-]?\d+))?$")


def last_digit(text: str) -> float:
    """Return one unit in the last printed digit: 0.01 for "3.14", 100 for "1.2e3"."""
    parts = _NUMBER.match(text.strip())
    if parts is None:
        raise ValueError(f"{text!r} is not a number")
    return float(10.0 ** (int(parts["power"] or 0) - len(parts["decimals"] or "")))


Sense = Literal["<", "<=", ">", ">=", "="]


@dataclass(frozen=True)
class Bound:
    """A measured value and its limit."""

    value: float
    sense: Sense
    limit: float

    @property
    def holds(self) -> bool:
        return {
            "<": self.value < self.limit,
            "<=": self.value <= self.limit,
            ">": self.value > self.limit,
            ">=": self.value >= self.limit,
            "=": self.value == self.limit,
        }[self.sense]

    def __str__(self) -> str:
        return f"{self.sense} {self.limit:.4g}"


def below(value: float, limit: float) -> Bound:
    """Return the bound value < limit."""
    return Bound(float(value), "<", float(limit))


def at_most(value: float, limit: float) -> Bound:
    """Return the bound value <= limit."""
    return Bound(float(value), "<=", float(limit))


def above(value: float, limit: float) -> Bound:
    """Return the bound value > limit."""
    return Bound(float(value), ">", float(limit))


def at_least(value: float, limit: float) -> Bound:
    """Return the bound value >= limit."""
    return Bound(float(value), ">=", float(limit))


def same(value: float, other: float) -> Bound:
    """Return the bound value == other."""
    return Bound(float(value), "=", float(other))


@dataclass(frozen=True)
class JudgementBounds:
    """A statement: all its bounds must hold; with `most`, more than half give the verdict MOSTLY.

    `words` name the bounded value if the statement does not.
    """

    bounds: tuple[Bound, ...]
    words: str = ""
    most: bool = False

    def __post_init__(self) -> None:
        if not self.bounds:
            raise ValueError("a statement needs a measured number and a limit to it")

    @property
    def count(self) -> int:
        return sum(bound.holds for bound in self.bounds)

    @property
    def verdict(self) -> Verdict:
        if self.count == len(self.bounds):
            return Verdict.HOLDS
        return Verdict.MOSTLY if self.most and 2 * self.count > len(self.bounds) else Verdict.DIFFERS

    @property
    def held_to(self) -> str:
        limits = list(dict.fromkeys(map(str, self.bounds)))
        if self.most and len(limits) > 1:
            limits = [f"{sense} its counterpart" for sense in dict.fromkeys(bound.sense for bound in self.bounds)]
        return f"{self.words} {', '.join(limits)}".strip()

    @property
    def measured(self) -> tuple[float, ...]:
        return tuple(bound.value for bound in self.bounds)

    def instead(self, measured: Sequence[float]) -> JudgementBounds:
        pairs = zip(self.bounds, measured, strict=True)
        return replace(self, bounds=tuple(replace(bound, value=value) for bound, value in pairs))


@dataclass(frozen=True)
class Formula:
    """Counts for several n against a printed polynomial in n: they are equal for all n, or differ."""

    printed: str
    sizes: tuple[int, ...]
    counts: tuple[float, ...]

    @property
    def theirs(self) -> list[Fraction]:
        return [evaluate(self.printed, n) for n in self.sizes]

    @property
    def ratios(self) -> list[float]:
        return [ours / float(printed) for ours, printed in zip(self.counts, self.theirs, strict=True)]

    @property
    def verdict(self) -> Verdict:
        return Verdict.EQUAL if list(self.counts) == self.theirs else Verdict.DIFFERS

    @property
    def held_to(self) -> str:
        return f"{_EXACTLY}, n = {self.sizes[0]} to {self.sizes[-1]}"

    @property
    def measured(self) -> tuple[float, ...]:
        return self.counts

    def instead(self, measured: Sequence[float]) -> Formula:
        return replace(self, counts=tuple(measured))


@dataclass(frozen=True)
class Worst:
    """Several judgements in one row; the worst is reported."""

    parts: tuple[Judgement, ...]

    @property
    def verdict(self) -> Verdict:
        return max((part.verdict for part in self.parts), key=lambda verdict: verdict.rank)

    @property
    def held_to(self) -> str:
        return next(part.held_to for part in self.parts if part.verdict is self.verdict)

    @property
    def measured(self) -> tuple[float, ...]:
        return tuple(value for part in self.parts for value in part.measured)

    def instead(self, measured: Sequence[float]) -> Worst:
        rest = iter(measured)
        return Worst(tuple(part.instead([next(rest) for _ in part.measured]) for part in self.parts))


@dataclass(frozen=True)
class Uncheckable:
    """No reference for a measurement, and so no verdict."""

    verdict = Verdict.UNCHECKABLE
    held_to = "-"
    measured: tuple[float, ...] = ()

    def instead(self, measured: Sequence[float]) -> Uncheckable:
        return self
