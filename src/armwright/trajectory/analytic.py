"""Motions by formula: the cycloid of the papers, and any Python function of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array, Scalar, cos, sin
from armwright.arrays import whole_number
from armwright.errors import InputError
from armwright.trajectory.argument_checks import FLOAT64, end_positions, number, one_per_joint, positive, seconds, short
from armwright.trajectory.motion_base import OneFormula, State, Traced, numeric_trace

TimeFunction: TypeAlias = Callable[[Any], Any]
"""A function of t that gives one number for each joint."""

DIFFERENCE_NODES = np.arange(-4, 5)
"""Offsets, in steps, of the nine samples of differences of order eight."""

STEPS_PER_SPAN = 256  # of the default difference step


@dataclass(frozen=True, repr=False)
class Cycloid(OneFormula):
    """q0 + rate (t' - sin(frequency t') / frequency), t' = t - start: Angeles, Ma and Rojas (1989), example 1."""

    q0: tuple[float, ...]
    rate: tuple[float, ...]
    frequency: float

    @property
    def n(self) -> int:
        return len(self.q0)

    def trace(self, t: Scalar) -> Traced:
        time = t - self.span[0]
        s, c = sin(time * self.frequency), cos(time * self.frequency)
        progress, speed, acceleration = time - s / self.frequency, 1 - c, s * self.frequency
        q = [first + rate * progress for first, rate in zip(self.q0, self.rate, strict=True)]
        return q, [rate * speed for rate in self.rate], [rate * acceleration for rate in self.rate]

    def _at(self, t: Array) -> State:
        """Return the formula, with an acceleration of exactly zero after whole periods."""
        q, qd, qdd = super()._at(t)
        angle = (t - self.span[0]) * self.frequency
        whole_period = np.abs(np.sin(angle / 2)) <= 2 * np.finfo(FLOAT64).eps * np.abs(angle)
        return q, qd, np.where(whole_period[..., np.newaxis], 0.0, qdd)


def cycloid(
    q0: ArrayLike, rate: ArrayLike, frequency: float, duration: float | None = None, start: float = 0.0
) -> Cycloid:
    """Return q0 + A (t - sin(B t)/B), A the `rate` and B the `frequency`, for a duration, by default one period 2 pi/B.

    This is example 1 of Angeles, Ma and Rojas (1989). A is the mean velocity; t counts from the start.
    """
    first = one_per_joint("q0", q0)
    rates = one_per_joint("rate", rate, first.size)
    B = positive("frequency", frequency, "radians per second, more than zero")
    length = 2 * math.pi / B if duration is None else seconds(duration)
    begin = number("start", start, "seconds")
    return Cycloid((begin, begin + length), tuple(first.tolist()), tuple(rates.tolist()), B)


def cycloidal(q0: ArrayLike, q1: ArrayLike, duration: float, start: float = 0.0) -> Cycloid:
    """Return q0 + (q1 - q0) (t/T - sin(2 pi t/T)/(2 pi)), from rest to rest: Mohan and Saha (2007), eq. 38.

    Velocity and acceleration vanish at both end_positions.
    """
    first, last = end_positions(q0, q1)
    length = seconds(duration)
    return cycloid(first, (last - first) / length, 2 * math.pi / length, length, start)


@dataclass(frozen=True, repr=False)
class FunctionOfTime(OneFormula):
    """A motion given as a Python function; see `function`."""

    f: TimeFunction
    joints: int
    derivatives: tuple[TimeFunction, TimeFunction] | None
    any_scalar: bool
    step: float

    @property
    def n(self) -> int:
        return self.joints

    @property
    def traceable(self) -> bool:
        return self.any_scalar

    def trace(self, t: Scalar) -> Traced:
        if not self.any_scalar or self.derivatives is None:
            return numeric_trace(
                self,
                t,
                "give function(...) both derivatives and traceable=True if they work for any scalar, or use "
                "sampled(trajectory)",
            )
        velocity, acceleration = self.derivatives
        return list(self.f(t)), list(velocity(t)), list(acceleration(t))

    def _at(self, t: Array) -> State:
        result = np.empty((3, *t.shape, self.n))
        for place in np.ndindex(*t.shape):
            result[(slice(None), *place)] = self._state(float(t[place]))
        q, qd, qdd = result
        return q, qd, qdd

    def _state(self, t: float) -> Sequence[Array]:
        if self.derivatives is None:
            return self._differences(t)
        return [self._values(f, t) for f in (self.f, *self.derivatives)]

    def _differences(self, t: float) -> Sequence[Array]:
        """Return the function and its derivatives by differences of samples inside the span."""
        q = self._values(self.f, t)
        reach = DIFFERENCE_NODES[-1] * self.step
        middle = min(max(t, self.span[0] + reach), self.span[1] - reach)
        nodes = np.clip(middle + DIFFERENCE_NODES * self.step, *self.span)
        samples = np.array([self._values(self.f, float(node)) for node in nodes])
        first, second = difference_weights((t - middle) / self.step)
        return q, first @ samples / self.step, second @ samples / self.step**2

    def _values(self, f: TimeFunction, t: float) -> Array:
        try:
            values = np.asarray(f(t), FLOAT64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{_name(f)}({short(t)}) did not give numbers: {error}") from error
        values = values.reshape(1) if values.ndim == 0 else values
        if values.shape != (self.n,):
            raise InputError(
                f"{_name(f)}({short(t)}) gave shape {values.shape}; expected ({self.n},): one number for each joint"
            )
        if not np.isfinite(values).all():
            raise InputError(f"{_name(f)}({short(t)}) = {values.tolist()} is not finite")
        return values


def function(
    f: TimeFunction,
    start: float,
    end: float,
    n: int,
    derivatives: tuple[TimeFunction, TimeFunction] | None = None,
    *,
    traceable: bool = False,
    step: float | None = None,
) -> FunctionOfTime:
    """Return a motion by any Python function of t in seconds that returns n numbers.

    `derivatives` are functions of its first and second derivative. Without them, differences of order eight over nine
    samples `step` apart (by default a 256th of the span) inside [start, end] replace them. For a smooth function that
    changes on the scale of the span, velocities have about 12 correct digits and accelerations about 10. For one that
    oscillates k times choose a step of about 1/(100 k) of the span.

    Pass traceable=True if f and its derivatives use only + - * / and functions of `armwright.algebra`, and do not
    branch on t.
    """
    begin, last = number("start", start, "seconds"), number("end", end, "seconds")
    if last <= begin:
        raise InputError(f"end = {short(last)} s does not come after start = {short(begin)} s; expected end > start")
    joints = whole_number("n", n, 1, "the number of joints")
    if derivatives is not None and (not isinstance(derivatives, (tuple, list)) or len(derivatives) != 2):
        raise InputError(f"derivatives = {derivatives!r}; expected two functions of t: velocity and acceleration")
    for candidate in (f, *(derivatives or ())):
        if not callable(candidate):
            raise InputError(f"{candidate!r} is not a function of t")
    if traceable and derivatives is None:
        raise InputError("traceable=True needs the derivatives: differences cannot be traced")
    size = (last - begin) / STEPS_PER_SPAN if step is None else positive("step", step, "seconds, more than zero")
    if size * 2 * DIFFERENCE_NODES[-1] > last - begin:
        raise InputError(
            f"step = {short(size)} s is too long: nine samples must fit into {short(last - begin)} s; "
            f"expected {short((last - begin) / 2 / DIFFERENCE_NODES[-1])} s or less"
        )
    pair = None if derivatives is None else (derivatives[0], derivatives[1])
    return FunctionOfTime((begin, last), f, joints, pair, traceable, size)


def difference_weights(x: float) -> tuple[Array, Array]:
    """Return the weights of nine samples in the first two derivatives at x steps from their middle."""
    k, basis = np.arange(len(DIFFERENCE_NODES)), _lagrange()
    powers = x**k
    return basis[:, 1:] @ (k[1:] * powers[:-1]), basis[:, 2:] @ (k[2:] * (k[2:] - 1) * powers[:-2])


@cache
def _lagrange() -> Array:
    """Return the Lagrange basis: row j is the polynomial that is 1 at node j and 0 at the others."""
    rows = []
    for node in DIFFERENCE_NODES:
        others = DIFFERENCE_NODES[node != DIFFERENCE_NODES]
        rows.append(np.poly(others)[::-1] / np.prod(node - others))
    return np.array(rows)


def _name(f: TimeFunction) -> str:
    return getattr(f, "__name__", type(f).__name__)
