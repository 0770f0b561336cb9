"""Printed operation counts, with a check of formulas at n = 6, and printed tables."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import resources
from typing import Any

_TERM = re.compile(r"(?P<sign>[+-]?)(?P<number>\d+(\.\d+)?)?(?P<n>n)?(\^(?P<power>\d))?(/(?P<divisor>\d+))?")


@dataclass(frozen=True)
class Published:
    """A row of a table of operation counts: for six joints, and as polynomials in n such as "11.5n^2+19.5n-49".

    `ours` is our formulation that is compared with it, `why` explains a difference, `part` names what is counted if it
    is a part of the problem.
    """

    table: str
    authors: str
    problem: str
    ours: str
    six: tuple[int, int]
    why: str
    products: str = ""
    sums: str = ""
    part: str = ""

    def __post_init__(self) -> None:
        if self.products and self.at(6) != self.six:
            raise ValueError(f"{self.table}, {self.authors}: the formulas give {self.at(6)} for n = 6, not {self.six}")

    def at(self, n: int) -> tuple[Fraction | int, Fraction | int] | None:
        """Return products and sums for n joints; None if the paper has none."""
        if self.products:
            return evaluate(self.products, n), evaluate(self.sums, n)
        return self.six if n == 6 else None


def evaluate(formula: str, n: int) -> Fraction:
    """Return the value of a printed formula for n joints."""
    value = Fraction(0)
    for term in filter(None, (match[0] for match in _TERM.finditer(formula))):
        parts = _TERM.fullmatch(term)
        assert parts is not None
        size = Fraction(parts["number"] or 1) / int(parts["divisor"] or 1)
        power = int(parts["power"] or 1) if parts["n"] else 0
        value += (-1 if parts["sign"] == "-" else 1) * size * n**power
    return value


@dataclass(frozen=True)
class Customised:
    """A count for one robot. `total` is used if the paper prints only the sum of multiplications and additions."""

    robot: str
    authors: str
    problem: str
    why: str
    products: int = 0
    sums: int = 0
    total: int = 0

    def __str__(self) -> str:
        return f"{self.total} in all" if self.total else f"{self.products} mul, {self.sums} add"

    @property
    def size(self) -> int:
        return self.total or self.products + self.sums


def _data(file: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("armwright.study").joinpath(file).read_text(encoding="utf-8"))


def tables(paper: str) -> dict[str, Any]:
    """Return the other tables of a paper, and results of earlier programs for the same examples."""
    data: dict[str, Any] = _data("tables.toml")[paper]
    return data


_DATA = _data("published.toml")


def _shared(rows: list[Published]) -> Iterator[Published]:
    """Yield the rows, with a note on other rows of the table that have the same count of ours."""

    def key(row: Published) -> tuple[str, ...]:
        return row.table, row.problem, row.ours, row.part

    for row in rows:
        others = " and for ".join(r.authors for r in rows if r is not row and key(r) == key(row))
        yield replace(row, why=f"{row.why}; our {row.ours} stands for {others} too") if others else row


PUBLISHED = tuple(_shared([Published(**{**row, "six": tuple(row["six"])}) for row in _DATA["row"]]))
CUSTOMISED = tuple(Customised(**row) for row in _DATA["customised"])
