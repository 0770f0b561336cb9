"""A published number beside ours, and what to say of the two."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.report.plot import Plot, figures


class Verdict(Enum):
    """From best to worst; what cannot be checked is no worse than what was never claimed."""

    EQUAL = "equal"
    DIGITS = "same within the printed digits"
    ORDER = "same order"
    UNCHECKABLE = "not checkable"
    DIFFERS = "differs"

    @property
    def rank(self) -> int:
        return list(Verdict).index(self)


@dataclass(frozen=True)
class Finding:
    """`where` in the paper, `what` it says, both numbers as text, and `why` where they differ or cannot be compared.

    `timed` marks what depends on the machine: it is shown, never held against a later run.
    """

    where: str
    what: str
    published: str
    obtained: str
    verdict: Verdict
    why: str = ""
    timed: bool = False

    def __post_init__(self) -> None:
        if self.verdict in (Verdict.DIFFERS, Verdict.UNCHECKABLE) and not self.why:
            raise ValueError(f"{self.key}: say why it {self.verdict.value}")

    @property
    def key(self) -> str:
        return f"{self.where}: {self.what}"


Part: TypeAlias = tuple[list[Finding], list[Plot]]
"""What one table, figure or section comes to."""


@dataclass(frozen=True)
class Study:
    """All findings of a paper, its figures redrawn, and a few sentences that sum it up."""

    paper: str
    title: str
    summary: str
    findings: tuple[Finding, ...]
    plots: tuple[Plot, ...] = ()

    def __post_init__(self) -> None:
        keys = [finding.key for finding in self.findings]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise ValueError(f"{self.paper}: two findings are called {sorted(twice)[0]!r}")

    @classmethod
    def of(cls, paper: str, title: str, summary: str, parts: Iterable[Part]) -> Study:
        findings, plots = together(parts)
        return cls(paper, title, summary, tuple(findings), tuple(plots))

    def page(self) -> str:
        """One page with the table of findings and all figures."""
        rows = [["where", "what", "published", "obtained", "verdict", "why"]]
        rows += [[f.where, f.what, f.published, f.obtained, f.verdict.value, f.why] for f in self.findings]
        return figures(self.title, self.summary, self.plots, [("Published beside obtained", rows)])


def together(parts: Iterable[Part]) -> Part:
    """Several parts as one."""
    found = list(parts)
    return [finding for findings, _ in found for finding in findings], [plot for _, plots in found for plot in plots]


def compare(
    where: str, what: str, published: str | float, obtained: float, why: str = "", unit: str = "", timed: bool = False
) -> Finding:
    """A finding whose verdict follows from the two numbers; a published one given as text counts by its digits."""
    printed = str(published)
    verdict = judged(printed, obtained)
    shown = f"{obtained:.10g}" if not float(obtained).is_integer() else f"{obtained:.0f}"
    ours, theirs = (f"{x} {unit}".strip() for x in (shown, printed))
    return Finding(where, what, theirs, ours, verdict, why, timed)


def judged(published: str, obtained: float) -> Verdict:
    """By how many of the printed digits are the same."""
    number = float(published)
    if not math.isfinite(obtained):
        return Verdict.DIFFERS
    if obtained == number:
        return Verdict.EQUAL
    if abs(obtained - number) <= 0.5 * last_digit(published) * (1 + 1e-9):
        return Verdict.DIGITS
    if number and 0.1 < obtained / number < 10:
        return Verdict.ORDER
    return Verdict.DIFFERS


_NUMBER = re.compile(r"^[+-]?\d*(?:\.(?P<decimals>\d*))?(?:[eE](?P<power>[+-]?\d+))?$")


def last_digit(text: str) -> float:
    """What one unit in the last printed digit is worth: 0.01 for "3.14", 100 for "1.2e3"."""
    parts = _NUMBER.match(text.strip())
    if parts is None:
        raise ValueError(f"{text!r} is not a number")
    return float(10.0 ** (int(parts["power"] or 0) - len(parts["decimals"] or "")))


def unchecked(where: str, what: str, published: str, why: str) -> Finding:
    """Something published that cannot be run again, because the paper leaves data out."""
    return Finding(where, what, published, "-", Verdict.UNCHECKABLE, why)


def claim(
    where: str, what: str, published: str, obtained: str, holds: bool, why: str = "", *, remark: str = "",
    timed: bool = False,
) -> Finding:  # fmt: skip
    """A statement instead of a number. `why` is said where it does not hold, `remark` either way."""
    if holds:
        return Finding(where, what, published, obtained, Verdict.EQUAL, remark, timed)
    reason = why or remark or "the statement does not hold"
    return Finding(where, what, published, obtained, Verdict.DIFFERS, reason, timed)


def stored(where: str, what: str, text: str, ours: Callable[[Array], Array], allowed: float, why: str) -> Finding:
    """Our values at the times of a stored table, none of which may be off by more than `allowed`."""
    table = np.array([line.split() for line in text.strip().splitlines()], dtype=float)
    off = np.abs(ours(table[:, 0]) - table[:, 1:]).max()
    verdict = Verdict.DIGITS if off <= allowed else Verdict.DIFFERS
    return Finding(where, f"{table[:, 1:].size} {what}", "six decimals", f"off by {off:.1e} at most", verdict, why)


def rough(error: float) -> str:
    """An error near rounding, in words that are the same on another machine."""
    return "rounding" if error < 1e-12 else f"{error:.0e}"


def tally(findings: Sequence[Finding]) -> str:
    """How many of each verdict."""
    counts = {v: sum(f.verdict is v for f in findings) for v in Verdict}
    return ", ".join(f"{count} {v.value}" for v, count in counts.items() if count)
