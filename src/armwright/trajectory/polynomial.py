"""Piecewise polynomials, and the motions between two positions that are polynomials."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array, Scalar
from armwright.errors import InputError
from armwright.lazy import cached_property
from armwright.trajectory.argument_checks import (
    FLOAT64,
    end_positions,
    increasing,
    number,
    numbers,
    one_per_joint,
    read_only,
    seconds,
    short,
    table,
)
from armwright.trajectory.motion_base import State, Traced, Trajectory

NORMAL_COEFFICIENTS = (0.0, 0.0, 0.0, 0.0, 35.0, -84.0, 70.0, -20.0)
"""35 x^4 - 84 x^5 + 70 x^6 - 20 x^7: from 0 to 1 with no velocity, acceleration or jerk at either end."""

CANCELLATION_TOLERANCE = 8 * float(np.finfo(FLOAT64).eps)
"""Relative size below which the sum of terms that cancel is rounding."""


@dataclass(frozen=True, repr=False, eq=False)
class PiecewisePolynomial(Trajectory):
    """Between breaks[k] and breaks[k + 1], joint j is at sum over p of coefficients[k, j, p] (t - breaks[k])^p."""

    breaks: Array
    coefficients: Array

    def __post_init__(self) -> None:
        breaks = increasing("breaks", self.breaks)
        coefficients = numbers("coefficients", self.coefficients, "an array (pieces, joints, powers)")
        pieces = breaks.size - 1
        if coefficients.ndim != 3 or len(coefficients) != pieces or not coefficients.size:
            raise InputError(
                f"coefficients have shape {coefficients.shape}; expected ({pieces}, n, powers) for {breaks.size} breaks"
            )
        object.__setattr__(self, "breaks", read_only(breaks))
        object.__setattr__(self, "coefficients", read_only(coefficients))

    @property
    def n(self) -> int:
        return int(self.coefficients.shape[1])

    @cached_property
    def knots(self) -> Sequence[float]:
        return tuple(self.breaks.tolist())

    def trace(self, t: Scalar) -> Traced:
        origin, joints = self._selected(t) if hasattr(t, "select") else self._piece(t)
        q, qd, qdd = zip(*(horner(powers, t - origin) for powers in joints), strict=True)
        return list(q), list(qd), list(qdd)

    def _piece(self, t: Scalar) -> tuple[Scalar, Sequence[Sequence[Scalar]]]:
        """Return the first break and the coefficients of the piece of t, a number or an array."""
        if isinstance(t, np.ndarray) and t.ndim:
            pieces = np.searchsorted(self.breaks[1:-1], t, side="left")
            kind = t.dtype if t.dtype.kind == "f" else FLOAT64
            powers = np.moveaxis(self.coefficients[pieces].astype(kind), (-2, -1), (0, 1))
            return self.breaks[pieces].astype(kind), [list(joint) for joint in powers]
        piece = bisect_left(self.knots, t, 1, len(self.knots) - 1) - 1
        return self.knots[piece], self.coefficients[piece].tolist()

    def _selected(self, t: Scalar, first: int = 0, last: int | None = None) -> tuple[Scalar, list[list[Scalar]]]:
        """Return the same for a traced t, whose piece is one of [first, last).

        Selecting coefficients and evaluating one polynomial is cheaper than evaluating all of them.
        """
        last = len(self.coefficients) if last is None else last
        if last - first == 1:
            return self.knots[first], self.coefficients[first].tolist()
        middle = (first + last) // 2
        (early, before), (late, after) = self._selected(t, first, middle), self._selected(t, middle, last)
        past = t - self.knots[middle]
        joints = [[past.select(a, b) for b, a in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)]
        return past.select(late, early), joints

    def _at(self, t: Array) -> State:
        """Return the formulas; rates at the end of a piece are exactly zero where they are only rounding."""
        q, *rates = super()._at(t)
        piece = np.searchsorted(self.breaks[1:-1], t, side="left")
        ends = (t == self.breaks[1:][piece])[..., np.newaxis]
        qd, qdd = (np.where(ends & rests[piece], 0.0, x) for x, rests in zip(rates, self._rests, strict=True))
        return q, qd, qdd

    @cached_property
    def _rests(self) -> tuple[Array, Array]:
        """The joints whose speed, and those whose acceleration, is only rounding at the end of each piece."""
        h = np.diff(self.breaks)[:, np.newaxis]
        terms = self.coefficients * h[..., np.newaxis] ** np.arange(self.coefficients.shape[2])
        _, *rates = horner(list(np.moveaxis(terms, -1, 0)), 1.0)
        _, *sizes = horner(list(np.moveaxis(np.abs(terms), -1, 0)), 1.0)
        tolerance = np.full_like(h, CANCELLATION_TOLERANCE)
        speed, acceleration = (np.abs(x) <= tolerance * y for x, y in zip(rates, sizes, strict=True))
        return speed, acceleration


def horner(powers: Sequence[Scalar], x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return a polynomial and its first two derivatives, by repeated Horner's rule."""
    value, slope, half = 0, 0, 0
    for power in reversed(powers):
        half = half * x + slope
        slope = slope * x + value
        value = value * x + power
    return value, slope, half + half


def rest(q: ArrayLike, duration: float, start: float = 0.0) -> PiecewisePolynomial:
    """Return a motion that rests at q."""
    position = one_per_joint("q", q)
    begin, length = number("start", start, "seconds"), seconds(duration)
    return PiecewisePolynomial(np.array([begin, begin + length]), position[np.newaxis, :, np.newaxis])


def linear(times: ArrayLike, points: ArrayLike) -> PiecewisePolynomial:
    """Return a motion of constant velocity from each point to the next, as a law of progress: velocities jump."""
    t = increasing("times", times)
    q = table("points", points, t)
    slopes = np.diff(q, axis=0) / np.diff(t)[:, np.newaxis]
    return PiecewisePolynomial(t, np.stack([q[:-1], slopes], axis=-1))


def normal_spline(q0: ArrayLike, q1: ArrayLike, duration: float, start: float = 0.0) -> PiecewisePolynomial:
    """Return a motion from rest to rest by the polynomial 4-5-6-7, the normal spline of Angeles, Ma and Rojas (1989).

    Velocity, acceleration and jerk vanish at both ends.
    """
    length = seconds(duration)
    progress = np.array([NORMAL_COEFFICIENTS]) / length ** np.arange(len(NORMAL_COEFFICIENTS))
    return _along(q0, q1, [0.0, length], progress, start)


def trapezoidal(
    q0: ArrayLike,
    q1: ArrayLike,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    duration: float | None = None,
    start: float = 0.0,
) -> Trajectory:
    """Return a motion from rest to rest on a straight line in joint space: speed up, cruise, slow down.

    With limits on velocity and acceleration (one for all joints, or one for each) it is the fastest such motion; it has
    no cruise if the top speed is not reached. A duration in addition stretches it. With a duration alone, each phase
    takes a third.
    """
    first, last = end_positions(q0, q1)
    if (velocity is None) != (acceleration is None) or (velocity is None and duration is None):
        raise InputError(
            f"trapezoidal got velocity {velocity!r}, acceleration {acceleration!r}, duration {duration!r}; expected a "
            "velocity and an acceleration (one for all joints, or one for each), or a duration, or all three"
        )
    if velocity is None or acceleration is None:
        length = seconds(duration)  # type: ignore[arg-type]
        return _trapezoid(first, last, 1.5 / length, 4.5 / length**2, start)
    if not (distance := np.abs(last - first)).any():
        raise InputError("q0 and q1 are equal, so there is no fastest motion; use rest(q, duration) to stand still")
    limits = {"velocity": velocity, "acceleration": acceleration}
    top, ramp = (_progress_limit(name, x, distance) for name, x in limits.items())
    fastest = _trapezoid(first, last, top, ramp, start)
    if duration is None:
        return fastest
    if (length := seconds(duration)) < fastest.duration * (1 - 1e-12):
        raise InputError(
            f"duration = {short(length)} s is too short: within these limits the motion takes "
            f"{short(fastest.duration)} s; allow more time or raise the limits"
        )
    return fastest.lasting(length)


def _progress_limit(name: str, limit: ArrayLike, distance: Array) -> float:
    """Return the limit on the rate of progress from 0 to 1 that keeps every joint within its own limit."""
    limits = one_per_joint(name, limit, distance.size)
    if (limits <= 0).any():
        raise InputError(f"{name} = {limits.tolist()} must be above zero for every joint")
    moving = distance > 0
    return float(np.min(limits[moving] / distance[moving]))


def _trapezoid(q0: Array, q1: Array, velocity: float, acceleration: float, start: float) -> PiecewisePolynomial:
    """Return the motion whose progress from 0 to 1 has this top speed, or the largest that the distance allows."""
    top = min(velocity, math.sqrt(acceleration))
    ramp, half = top / acceleration, acceleration / 2
    length = 1 / top + ramp
    speeding, cruising, slowing = [0.0, 0.0, half], [top * ramp / 2, top, 0.0], [1 - top * ramp / 2, top, -half]
    if length - 2 * ramp <= 1e-12 * length:
        return _along(q0, q1, [0.0, ramp, 2 * ramp], [speeding, slowing], start)
    return _along(q0, q1, [0.0, ramp, length - ramp, length], [speeding, cruising, slowing], start)


def _along(
    q0: ArrayLike, q1: ArrayLike, times: Sequence[float], progress: ArrayLike, start: float
) -> PiecewisePolynomial:
    """Return q0 + (q1 - q0) s(t), where row k of `progress` has the coefficients of s in piece k."""
    first, last = end_positions(q0, q1)
    coefficients = (last - first)[:, np.newaxis] * np.asarray(progress)[:, np.newaxis, :]
    coefficients[:, :, 0] += first
    return PiecewisePolynomial(np.array(times) + number("start", start, "seconds"), coefficients)
