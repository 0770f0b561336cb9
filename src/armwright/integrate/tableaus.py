"""Explicit Runge-Kutta methods: their coefficients with sources, and checks of their orders.

    built_in_tableau("dop853").stages
    built_in_tableau("rk10").residual(10)             # 1e-51: all 1205 order conditions hold
    built_in_tableau("rkf78").exact(mpmath.mpf).b     # for integration in high precision

The coefficients are in `tableaus.toml`. Names that begin with rk are those of Machado and Galhano 1995, table 1,
without brackets: rkf45 is RKF4(5). The first number of a pair is the order of the propagated formula.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from armwright.errors import InputError
from armwright.integrate import trees

Row = tuple[Any, ...]

HIGHEST_ORDER = 10
"""The highest order of a method; there are 1205 conditions up to it."""


@dataclass(frozen=True)
class Steps:
    """Coefficients of a step. `error` is None for fixed steps; `error2` is a second error estimate (DOP853)."""

    a: tuple[Row, ...]
    b: Row
    c: Row
    error: Row | None = None
    error2: Row | None = None
    fsal: bool = False

    @property
    def stages(self) -> int:
        """The number of stages per step; fixed steps omit those used only for the error."""
        if self.error is not None:
            return len(self.b)
        return max(j for j, x in enumerate(self.b) if x) + 1


@dataclass(frozen=True)
class Tableau:
    """k_i = f(t + c_i h, y + h sum_j a_ij k_j), y(t + h) = y + h sum_i b_i k_i, for a formula b of this order.

    Of a pair, `error` is b - bhat and `embedded` the order of bhat; `error2` and `embedded2` belong to a second
    estimate, which only dop853 has. `digits` is the number of correct decimals, None if the coefficients are exact.
    `status` is "published", or "stand-in" for a pair in place of another one whose coefficients are unknown.
    """

    name: str
    order: int
    a: tuple[Row, ...]
    b: Row
    c: Row
    embedded: int | None = None
    embedded2: int | None = None
    error: Row | None = None
    error2: Row | None = None
    digits: int | None = None
    source: str = ""
    note: str = ""
    status: str = "published"
    rational: Tableau | None = field(default=None, repr=False, compare=False)
    """The same method in exact fractions, from which all other versions are rounded."""

    def __post_init__(self) -> None:
        if self.rational is not None:
            return  # a rounding of numbers that were checked
        self._check_shape()
        stages = range(self.stages)
        if [len(row) for row in self.a] != list(stages) or len(self.c) != self.stages:
            raise InputError(f"{self.name}: expected {self.stages} nodes c and rows a of 0, 1, 2, ... numbers")
        for i, row in enumerate(self.a):
            self._check_sum(f"row {i + 1} of a", row, self.c[i])
        self._check_sum("b", self.b, 1)
        for error in (self.error, self.error2):
            if error is not None:
                self._check_sum("b - bhat", error, 0)

    def _check_shape(self) -> None:
        """Check orders and lengths, and convert all rows to tuples."""
        for name in ("a", "b", "c", "error", "error2"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, tuple(map(tuple, value)) if name == "a" else tuple(value))
        for name, error in (("embedded", self.error), ("embedded2", self.error2)):
            if (getattr(self, name) is None) != (error is None):
                raise InputError(f"{self.name}: expected {name} with {name.replace('embedded', 'error')}, or neither")
            if error is not None and len(error) != self.stages:
                raise InputError(f"{self.name}: an error of {len(error)} numbers; expected {self.stages}, as b")
        for order in (self.order, self.embedded, self.embedded2):
            if order is not None and not (type(order) is int and 1 <= order <= HIGHEST_ORDER):
                raise InputError(f"{self.name}: order {order!r}; expected a whole number from 1 to {HIGHEST_ORDER}")

    def checked(self) -> Tableau:
        """Return the method in double precision; raise an InputError if it misses the conditions of its orders."""
        for weights, order in (("b", self.order), ("bhat", self.embedded), ("bhat2", self.embedded2)):
            if order is not None and not self.residual(order, weights) <= self.tolerance(order, weights):
                raise InputError(
                    f"{self.name}: {weights} misses the conditions of order {order} by "
                    f"{self.residual(order, weights):.1e}; expected {self.tolerance(order, weights):.1e} at most. A "
                    "coefficient is wrong, or the order is lower"
                )
        return self.exact(float)

    def _check_sum(self, what: str, row: Row, expected: Any) -> None:
        """Check the sum of a row, which finds most misprints at little cost; `residual` finds all."""
        size = 1 + sum(abs(float(x)) for x in row)
        if not abs(float(sum(row) - expected)) <= 10 * self.rounding * size:
            raise InputError(
                f"{self.name}: {what} sums to {float(sum(row))!r}, expected {float(expected)!r}; a coefficient is wrong"
            )

    @property
    def rounding(self) -> float:
        """The relative error of the coefficients as printed: one unit in the last digit of a number like 1.000."""
        source = self.rational or self
        digits = 16 if any(isinstance(x, (float, np.floating)) for x in source.b) else trees.DECIMAL_DIGITS
        return float(10.0 ** (1 - min(self.digits or trees.DECIMAL_DIGITS, digits)))

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def adaptive(self) -> bool:
        """True for a method with an error estimate."""
        return self.error is not None

    @property
    def fsal(self) -> bool:
        """First same as last: the last stage is the derivative at the end of the step, the first of the next one."""
        return self.stages > 1 and self.a[-1] == self.b[:-1] and self.b[-1] == 0 and self.c[-1] == 1

    def steps(self, fixed: bool = False) -> Steps:
        """Return the coefficients of a step; a `fixed` one has no error estimate."""
        if fixed:
            return Steps(self.a, self.b, self.c)
        return Steps(self.a, self.b, self.c, self.error, self.error2, self.fsal)

    @property
    def estimate_order(self) -> int:
        """The power of h to which the error estimate is proportional. Two estimates combine to e^2 / e2."""
        if self.embedded is None:
            raise InputError(f"{self.name} has no error estimate; expected a pair, such as dop853")
        lower = min(self.order, self.embedded) + 1
        return lower if self.embedded2 is None else 2 * lower - (self.embedded2 + 1)

    def exact(self, number: Callable[[Any], Any]) -> Tableau:
        """Return the method with each coefficient rounded once to another scalar: mpmath.mpf, Fraction, numpy.float32.

        mpmath numbers get the current precision of mpmath.
        """
        if number is float and isinstance(self.b[0], float):
            return self
        source = self.rational or self

        def row(entries: Row) -> Row:
            return tuple(converted(x, number) for x in entries)

        return replace(
            source,
            a=tuple(map(row, source.a)),
            b=row(source.b),
            c=row(source.c),
            error=source.error and row(source.error),
            error2=source.error2 and row(source.error2),
            rational=source,
        )

    def residual(self, order: int, weights: str = "b") -> float:
        """Return the largest residual of the rooted-tree conditions up to this order.

        `weights` is "b", or "bhat" or "bhat2" for the embedded formulas.
        """
        exact = self.exact(Fraction)
        return trees.residual(exact.a, self._weights(exact, weights), order)

    def tolerance(self, order: int, weights: str = "b") -> float:
        """Return the largest `residual` that rounding of the coefficients can cause."""
        exact = self.exact(Fraction)
        return self.rounding * trees.sensitivity(exact.a, self._weights(exact, weights), order)

    def _weights(self, exact: Tableau, weights: str) -> Row:
        errors = {"b": (0,) * self.stages, "bhat": exact.error, "bhat2": exact.error2}
        error = errors.get(weights)
        if error is None:
            raise InputError(f"{self.name} has no weights {weights!r}; expected 'b', or 'bhat' of a pair")
        return tuple(b - e for b, e in zip(exact.b, error, strict=True))


def converted(x: Any, number: Callable[[Any], Any]) -> Any:
    """Return a fraction as another scalar, rounded once."""
    if number is Fraction or not isinstance(x, Fraction):
        return number(x)
    if number in (float, np.float64, np.float32):
        return number(float(x))  # numerator and denominator alone may overflow
    return number(x.numerator) / number(x.denominator)


@cache
def tableau_data() -> Mapping[str, Mapping[str, Any]]:
    """Return the tables of `tableaus.toml` by the names of the methods."""
    return tomllib.loads(resources.files("armwright.integrate").joinpath("tableaus.toml").read_text(encoding="utf-8"))


@cache
def built_in_tableau(name: str) -> Tableau:
    """Return a method of `tableaus.toml`, with coefficients in double precision."""
    data = tableau_data()[name]
    rows = {key: tuple(map(Fraction, data[key].split())) for key in ("c", "b", "bhat", "bhat2") if key in data}
    lines = data.get("a", "").strip().splitlines()
    return Tableau(
        name=name,
        order=data["order"],
        a=((), *(tuple(map(Fraction, line.split())) for line in lines)),
        b=rows["b"],
        c=rows["c"],
        error=_difference(rows, "bhat"),
        error2=_difference(rows, "bhat2"),
        **{key: data[key] for key in ("embedded", "embedded2", "digits", "source", "note", "status") if key in data},
    ).exact(float)


def _difference(rows: Mapping[str, Row], key: str) -> Row | None:
    return tuple(x - y for x, y in zip(rows["b"], rows[key], strict=True)) if key in rows else None
