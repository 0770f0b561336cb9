"""Prescribed torques: none, numbers, a table, a Python function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright import arrays
from armwright.algebra import Array, Scalar, maximum, minimum
from armwright.errors import InputError
from armwright.torque.law import Law, numbers, per_freedom
from armwright.torque.moment import Moment

MAX_COMPILED_INTERVALS = 32
"""Largest number of intervals of a compiled table, whose code compares with all of them in every step."""


@dataclass(frozen=True)
class Free(Law):
    """No torque: the robot falls."""

    def torques(self, at: Moment) -> list[Scalar]:
        return [0] * at.n


@dataclass(frozen=True)
class Constant(Law):
    """The same torques at all times."""

    values: tuple[float, ...]
    per_joint = ("values",)

    def torques(self, at: Moment) -> list[Scalar]:
        return list(per_freedom(self.values, at.n))


def constant(values: ArrayLike) -> Constant:
    """Return a law of the same torques at all times: one number, or one per joint."""
    return Constant(numbers("values", values))


@dataclass(frozen=True)
class Table(Law):
    """Torques at given times, straight lines between them."""

    times: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]
    slopes: tuple[tuple[float, ...], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        slopes = np.diff(self.rows, axis=0) / np.diff(self.times)[:, None]
        object.__setattr__(self, "slopes", tuple(map(tuple, slopes.tolist())))
        super().__post_init__()

    def torques(self, at: Moment) -> list[Scalar]:
        if isinstance(at.t, (int, float)):
            columns = zip(*self.rows, strict=True)
            return [float(np.interp(at.t, self.times, column)) for column in columns]
        columns, slopes = zip(*self.rows, strict=True), zip(*self.slopes, strict=True)
        return [self._traced(at.t, *pair) for pair in zip(columns, slopes, strict=True)]

    def _traced(self, t: Scalar, values: tuple[Scalar, ...], slopes: tuple[Scalar, ...]) -> Scalar:
        result: Scalar = None
        for time, value, slope in zip(self.times, values, slopes, strict=False):
            line = slope * (t - time) + value
            result = line if result is None else (t - time).select(line, result)
        return result

    @property
    def n(self) -> int:
        return len(self.rows[0])

    @property
    def traceable(self) -> bool:
        return len(self.times) <= MAX_COMPILED_INTERVALS + 1

    @property
    def span(self) -> tuple[float, float]:
        return self.times[0], self.times[-1]


def table(times: ArrayLike, torques: ArrayLike) -> Table:
    """Return a law of torques (times, n) at some times, with straight lines between them."""
    expected = "times and torques must be arrays of numbers, (k,) and (k, n)"
    t, tau = (
        arrays.numbers(name, value, expected).astype(float) for name, value in (("times", times), ("torques", torques))
    )
    if t.ndim != 1 or tau.ndim != 2 or len(t) != len(tau) or len(t) < 2:
        raise InputError(f"times {t.shape} and torques {tau.shape}; expected (k,) and (k, n), k at least 2")
    if not np.isfinite(t).all() or not np.isfinite(tau).all():
        raise InputError("the torque table has a number that is not finite")
    if not (np.diff(t) > 0).all():
        raise InputError(f"times must increase; entry {int(np.argmin(np.diff(t) > 0)) + 1} does not")
    return Table(tuple(t.tolist()), tuple(tuple(row) for row in tau.tolist()))


def interpolated(t: Scalar, times: Sequence[Scalar], values: ArrayLike) -> Array:
    """Return values (k, ...) at k times, interpolated linearly at t, and constant before the first and after the last.

    In laws, times and values may be runtime parameters. Every interval is evaluated, so few of them are best.
    """
    passed = [1, *(maximum(minimum((t - a) / (b - a), 1.0), 0.0) for a, b in pairwise(times)), 0]
    result: Array = np.tensordot(np.array([a - b for a, b in pairwise(passed)]), np.asarray(values), 1)
    return result


@dataclass(frozen=True)
class Called(Law):
    """Any Python function (t, q, qd) -> torques; it is called from Python at every evaluation."""

    call: Callable[[float, Any, Any], ArrayLike]

    def __repr__(self) -> str:
        return f"Called({getattr(self.call, '__qualname__', type(self.call).__name__)})"

    def torques(self, at: Moment) -> list[Scalar]:
        returned = self.call(at.t, np.asarray(at.q, dtype=float), np.asarray(at.qd, dtype=float))
        if arrays.masked(returned) or np.asarray(returned).dtype.kind not in "fiu":
            raise InputError(f"the torque function returned {returned!r} at t = {at.t}; expected {at.n} numbers")
        result = np.asarray(returned, dtype=float)
        if result.shape != (at.n,):
            raise InputError(f"the torque function returned shape {result.shape} at t = {at.t}; expected ({at.n},)")
        if not np.isfinite(result).all():
            joint = int(np.argmin(np.isfinite(result)))
            raise InputError(f"the torque function returned {result[joint]} for joint {joint + 1} at t = {at.t}")
        torques: list[Scalar] = result.tolist()
        return torques

    @property
    def traceable(self) -> bool:
        return False
