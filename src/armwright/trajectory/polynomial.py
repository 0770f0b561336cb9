"""Piecewise polynomials, and the motions between two positions that are polynomials."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array, Scalar
from armwright.errors import InputError
from armwright.trajectory.argument_checks import (
    FLOAT64,
    ends,
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
"""What is left of terms that cancel is rounding below this part of them."""


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
        find = self._selected if hasattr(t, "select") else self._piece
        origin, joints = find(t)
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
        """The same for a traced t, whose piece is one of [first, last).

        Choosing coefficients and then evaluating one polynomial is cheaper than evaluating all of them.
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
        """The formulas; where a piece ends at rest, its rates are zero and not the rounding of large terms."""
        q, *rates = super()._at(t)
        piece = np.searchsorted(self.breaks[1:-1], t, side="left")
        ends = (t == self.breaks[1:][piece])[..., np.newaxis]
        qd, qdd = (np.where(ends & rests[piece], 0.0, x) for x, rests in zip(rates, self._rests, strict=True))
        return q, qd, qdd

    @cached_property
    def _rests(self) -> tuple[Array, Array]:
        """Which joints have no speed, and which no acceleration, at the end of each piece: no more than rounding."""
        h = np.diff(self.breaks)[:, np.newaxis]
        terms = self.coefficients * h[..., np.newaxis] ** np.arange(self.coefficients.shape[2])
        _, *left = horner(list(np.moveaxis(terms, -1, 0)), 1.0)
        _, *whole = horner(list(np.moveaxis(np.abs(terms), -1, 0)), 1.0)
        speed, growth = (
            np.abs(x) <= np.full_like(h, CANCELLATION_TOLERANCE) * y for x, y in zip(left, whole, strict=True)
        )
        return speed, growth


def horner(powers: Sequence[Scalar], x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """A polynomial and its first two derivatives, by Horner's rule applied to itself."""
    value, slope, half = 0, 0, 0
    for power in reversed(powers):
        half = half * x + slope
        slope = slope * x + value
        value = value * x + power
    return value, slope, half + half


def rest(q: ArrayLike, duration: float, start: float = 0.0) -> PiecewisePolynomial:
    """Stand still at q."""
    position = one_per_joint("q", q)
    begin, length = number("start", start, "seconds"), seconds(duration)
    return PiecewisePolynomial(np.array([begin, begin + length]), position[np.newaxis, :, np.newaxis])


def linear(times: ArrayLike, points: ArrayLike) -> PiecewisePolynomial:
    """Constant velocity from each point to the next. Velocities jump at the points: a law, not a motion of a robot."""
    t = increasing("times", times)
    q = table("points", points, t)
    slopes = np.diff(q, axis=0) / np.diff(t)[:, np.newaxis]
    return PiecewisePolynomial(t, np.stack([q[:-1], slopes], axis=-1))


def normal_spline(q0: ArrayLike, q1: ArrayLike, duration: float, start: float = 0.0) -> PiecewisePolynomial:
    """From rest to rest by the polynomial 4-5-6-7, the normal spline of Angeles, Ma and Rojas (1989).

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
    """From rest to rest on a straight line in joint space: speed up, cruise, slow down, all joints together.

    Limits on velocity and acceleration (one for all joints, or one for each) give the fastest such motion: the joint
    nearest to its limits sets the pace, and the cruise falls away if the top speed is not reached. A duration besides
    them stretches that motion. A duration alone spends a third of it on each phase.
    """
    first, last = ends(q0, q1)
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
    fastest = _trapezoid(
        first, last, _pace("velocity", velocity, distance), _pace("acceleration", acceleration, distance), start
    )
    if duration is None:
        return fastest
    if (length := seconds(duration)) < fastest.duration * (1 - 1e-12):
        raise InputError(
            f"duration = {short(length)} s is too short: within these limits the motion takes "
            f"{short(fastest.duration)} s; allow more time or raise the limits"
        )
    return fastest.lasting(length)


def _pace(name: str, limit: ArrayLike, distance: Array) -> float:
    """The limit on the progress from 0 to 1 that keeps every joint within its own limit."""
    limits = one_per_joint(name, limit, distance.size)
    if (limits <= 0).any():
        raise InputError(f"{name} = {limits.tolist()} must be above zero for every joint")
    moving = distance > 0
    return float(np.min(limits[moving] / distance[moving]))


def _trapezoid(q0: Array, q1: Array, velocity: float, acceleration: float, start: float) -> PiecewisePolynomial:
    """Progress from 0 to 1 at the given top speed, or as near to it as the way allows."""
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
    """q0 + (q1 - q0) s(t), where row k of `progress` has the powers of s in piece k."""
    first, last = ends(q0, q1)
    coefficients = (last - first)[:, np.newaxis] * np.asarray(progress)[:, np.newaxis, :]
    coefficients[:, :, 0] += first
    return PiecewisePolynomial(np.array(times) + number("start", start, "seconds"), coefficients)
