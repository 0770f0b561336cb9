"""Trajectories: position, velocity and acceleration of every joint at any time of a span.

A trajectory consists of the number of joints `n`, the `knots` at which its formula changes (the first is its start, the
last its end), and `trace(t)`, the formulas over any scalar. Shifting, stretching, reversing and joining return new
trajectories.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array, Scalar
from armwright.arrays import check_memory, stacked
from armwright.errors import InputError
from armwright.lazy import cached_property
from armwright.presentation import present
from armwright.trajectory.argument_checks import FLOAT64, is_numeric, number, numbers, positive, seconds, short

State: TypeAlias = tuple[Array, Array, Array]
"""q, qd and qdd, each of shape t.shape + (n,)."""

Traced: TypeAlias = tuple[list[Scalar], list[Scalar], list[Scalar]]
"""q, qd and qdd, each a list of n scalars."""

MAX_COMPILED_PIECES = 32
"""Largest number of pieces of a compiled trajectory; code for more would mostly select the piece."""

TIME_TOLERANCE = 1e-9  # seconds by which t may lie outside the span and still mean its end
JOIN_TOLERANCE = 1e-9  # radians or metres by which a part may miss the end of the part before
REST_TOLERANCE = 1e-11  # speeds below this part of the fastest are rounding


class Trajectory(ABC):
    """A motion of n joints over [start, end]. Call it with a time, or an array of times, for q, qd and qdd."""

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of joints."""

    @property
    @abstractmethod
    def knots(self) -> Sequence[float]:
        """The times at which the formula changes, from start to end."""

    @abstractmethod
    def trace(self, t: Scalar) -> Traced:
        """Return q, qd and qdd as lists of n scalars, for any scalar t: a number, an array, a traced expression.

        t must lie inside the span: outside, formulas extrapolate or raise an InputError. A scalar that does not depend
        on t may be a plain number.
        """

    @property
    def start(self) -> float:
        return self.knots[0]

    @property
    def end(self) -> float:
        return self.knots[-1]

    @property
    def duration(self) -> float:
        return self.end - self.start

    @property
    def traceable(self) -> bool:
        """True if `trace` accepts a traced expression and the result is short enough to compile."""
        return len(self.knots) <= MAX_COMPILED_PIECES + 1

    def __call__(self, t: ArrayLike) -> State:
        """Return q, qd and qdd at t, each of shape t.shape + (n,); at a knot those just before it."""
        times = numbers("t", t, "a time in seconds, or an array of them")
        check_memory("q, qd, qdd", (3, *times.shape, self.n), FLOAT64)
        if self.start == -math.inf and self.end == math.inf:
            return self._at(times)
        slack = TIME_TOLERANCE + 1e-15 * max(abs(self.start), abs(self.end))
        outside = (times < self.start - slack) | (times > self.end + slack)
        if outside.any():
            worst = short(times[outside].flat[0])
            raise InputError(
                f"t = {worst} s lies outside the trajectory, which runs from {short(self.start)} to "
                f"{short(self.end)} s; choose t inside, or use .holding() to rest at its ends"
            )
        return self._at(np.clip(times, self.start, self.end))

    def __repr__(self) -> str:
        joints = f"{self.n} joint{'s' if self.n > 1 else ''}"
        return f"<{type(self).__name__} of {joints} from {short(self.knots[0])} to {short(self.knots[-1])} s>"

    def _repr_html_(self) -> str:
        """Return the range of every joint and the curves of positions as HTML, for notebooks."""
        return str(present("trajectory_cell", self))

    def _at(self, t: Array) -> State:
        """Return the values at times inside the span."""
        q, qd, qdd = (stacked(values, t.shape, FLOAT64) for values in self.trace(t))
        return q, qd, qdd

    def _retimed(self, start: float, rate: float) -> Trajectory:
        return RetimedTrajectory(self, start, rate)

    def shifted(self, by: float) -> Trajectory:
        """Return the same motion, `by` seconds later."""
        return self._retimed(self.knots[0] + number("by", by, "seconds"), 1.0)

    def scaled(self, factor: float) -> Trajectory:
        """Return the same path from the same start in `factor` times the time: 2 is half as fast."""
        times = positive("factor", factor, "more than zero: 2 is half as fast; .reversed() runs backwards")
        return self._retimed(self.knots[0], 1 / times)

    def lasting(self, duration: float) -> Trajectory:
        """Return the same path from the same start, stretched or shortened to last `duration` seconds."""
        return self._retimed(self.knots[0], (self.knots[-1] - self.knots[0]) / seconds(duration))

    def reversed(self) -> Trajectory:
        """Return the same path in the same span of time, from its end to its start."""
        return self._retimed(self.knots[0], -1.0)

    def holding(self) -> Trajectory:
        """Return the same motion, at rest in its first position before its span and in its last position after it.

        It starts at -inf and ends at inf; its knots are still those of the motion.
        """
        return HoldingTrajectory(self)

    def then(self, other: Trajectory, allow_jump: bool = False) -> Trajectory:
        """Return this motion followed by `other`, shifted in time to start where this one ends.

        Positions must be continuous, unless `allow_jump`. Velocities may jump: to avoid it, join motions that end and
        start alike. If either motion holds its ends, the result does too.
        """
        if isinstance(other, HoldingTrajectory):
            return self.then(other.of, allow_jump).holding()
        return joined(self, other, allow_jump)


def select_formula(condition: Scalar, positive: Scalar, otherwise: Scalar) -> Scalar:
    """Return `positive` where the condition is above zero, `otherwise` where it is not, for any scalar."""
    if hasattr(condition, "select"):
        return condition.select(positive, otherwise)
    if isinstance(condition, np.ndarray):  # plain numbers must not widen an array of float32
        return np.where(condition > 0, np.asarray(positive, condition.dtype), np.asarray(otherwise, condition.dtype))
    return positive if condition > 0 else otherwise


def without_rounding(qd: Array, fastest: Array | float) -> Array:
    """Return speeds with rounding errors set to zero, so that dry friction does not take their sign."""
    return np.where(np.abs(qd) > REST_TOLERANCE * fastest, qd, 0.0)


def numeric_trace(trajectory: Trajectory, t: Scalar, remedy: str = "use sampled(trajectory)") -> Traced:
    """Return `trace` for a trajectory that can only be evaluated in float64, at numbers and arrays of them."""
    if not is_numeric(t):
        raise InputError(f"{trajectory!r} cannot be traced: t is a {type(t).__name__}, expected numbers; {remedy}")
    kind = t.dtype if isinstance(t, (np.generic, np.ndarray)) and t.dtype.kind == "f" else FLOAT64
    q, qd, qdd = (list(np.moveaxis(values.astype(kind), -1, 0)) for values in trajectory(t))
    return q, qd, qdd


class PathMotion(Trajectory):
    """A motion along a path, whose `law` is the progress s over time; it cannot be traced."""

    law: Trajectory
    instead: ClassVar[str]
    """The advice of the error for tracing it."""

    @abstractmethod
    def along(self, s: Array) -> State:
        """Return q, q' and q'' at s."""

    @property
    def knots(self) -> Sequence[float]:
        return self.law.knots

    @property
    def traceable(self) -> bool:
        return False

    def trace(self, t: Scalar) -> Traced:
        return numeric_trace(self, t, self.instead)

    def _at(self, t: Array) -> State:
        s, sd, sdd = self.law._at(t)
        q, dq_ds, d2q_ds2 = self.along(s[..., 0])
        return q, dq_ds * sd, d2q_ds2 * sd**2 + dq_ds * sdd


@dataclass(frozen=True, repr=False)
class OneFormula(Trajectory):
    """A motion by one formula over its whole span."""

    span: tuple[float, float]

    @property
    def knots(self) -> Sequence[float]:
        return self.span


@dataclass(frozen=True, repr=False)
class DerivedTrajectory(Trajectory):
    """A trajectory derived from another one."""

    of: Trajectory

    @property
    def n(self) -> int:
        return self.of.n

    @property
    def traceable(self) -> bool:
        return self.of.traceable


@dataclass(frozen=True, repr=False)
class RetimedTrajectory(DerivedTrajectory):
    """Another trajectory from the time `at` on, `rate` times as fast; backwards where the rate is negative."""

    at: float
    rate: float
    origin: float = field(init=False)
    times: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        inner = self.of.knots if self.rate > 0 else tuple(reversed(self.of.knots))
        object.__setattr__(self, "times", tuple(self.at + (time - inner[0]) / self.rate for time in inner))
        object.__setattr__(self, "origin", self.of.start if self.rate > 0 else self.of.end)

    @property
    def knots(self) -> Sequence[float]:
        return self.times

    def trace(self, t: Scalar) -> Traced:
        q, qd, qdd = self.of.trace(self._inner(t))
        return q, [v * self.rate for v in qd], [a * (self.rate * self.rate) for a in qdd]

    def _inner(self, t: Scalar) -> Scalar:
        """Return the time of the other trajectory."""
        return (t - self.at) * self.rate + self.origin

    def _at(self, t: Array) -> State:
        first, last = (self.of.start, self.of.end) if self.rate > 0 else (self.of.end, self.of.start)
        inner = np.where(t >= self.end, last, np.where(t <= self.start, first, self._inner(t)))
        q, qd, qdd = self.of._at(np.clip(inner, self.of.start, self.of.end))
        return q, qd * self.rate, qdd * self.rate**2

    def _retimed(self, start: float, rate: float) -> Trajectory:
        return RetimedTrajectory(self.of, start, self.rate * rate)


@dataclass(frozen=True, repr=False)
class HoldingTrajectory(DerivedTrajectory):
    """Another trajectory, at rest in its end positions outside its span; defined at all times."""

    @property
    def knots(self) -> Sequence[float]:
        return self.of.knots

    @property
    def start(self) -> float:
        return -math.inf

    @property
    def end(self) -> float:
        return math.inf

    def trace(self, t: Scalar) -> Traced:
        first, last = self.of.start, self.of.end
        before, after = first - t, t - last
        q, *rates = self.of.trace(select_formula(before, first, select_formula(after, last, t)))
        qd, qdd = ([select_formula(before, 0, select_formula(after, 0, x)) for x in rate] for rate in rates)
        return q, qd, qdd

    def _at(self, t: Array) -> State:
        q, qd, qdd = self.of._at(np.clip(t, self.of.start, self.of.end))
        moving = ((t >= self.of.start) & (t <= self.of.end))[..., np.newaxis]
        return q, np.where(moving, qd, 0.0), np.where(moving, qdd, 0.0)

    def _retimed(self, start: float, rate: float) -> Trajectory:
        return self.of._retimed(start, rate).holding()

    def holding(self) -> Trajectory:
        return self

    def then(self, other: Trajectory, allow_jump: bool = False) -> Trajectory:
        return self.of.then(other, allow_jump).holding()


@dataclass(frozen=True, repr=False)
class JoinedTrajectory(Trajectory):
    """Trajectories one after the other, each starting where the one before ends."""

    parts: tuple[Trajectory, ...]

    @property
    def n(self) -> int:
        return self.parts[0].n

    @cached_property
    def knots(self) -> Sequence[float]:
        return (self.parts[0].start, *(time for part in self.parts for time in part.knots[1:]))

    @property
    def traceable(self) -> bool:
        return super().traceable and all(part.traceable for part in self.parts)

    def trace(self, t: Scalar) -> Traced:
        if is_numeric(t):  # each part is evaluated in its own span
            return numeric_trace(self, t)
        q, qd, qdd = self.parts[0].trace(t)
        for part in self.parts[1:]:
            after = t - part.start
            q, qd, qdd = (
                [select_formula(after, new, old) for new, old in zip(*pair, strict=True)]
                for pair in zip(part.trace(t), (q, qd, qdd), strict=True)
            )
        return q, qd, qdd

    def _at(self, t: Array) -> State:
        which = np.searchsorted([part.start for part in self.parts[1:]], t, side="left")
        q, qd, qdd = np.empty((3, *t.shape, self.n))
        for k, part in enumerate(self.parts):
            inside = which == k
            q[inside], qd[inside], qdd[inside] = part._at(np.clip(t[inside], part.start, part.end))
        return q, qd, qdd


def joined(first: Trajectory, second: Trajectory, allow_jump: bool) -> Trajectory:
    """Return `first`, then `second`, which must start where the first ends."""
    if not isinstance(second, Trajectory):
        raise InputError(f"cannot join a {type(second).__name__}; expected a trajectory")
    if first.n != second.n:
        raise InputError(f"cannot join {first.n} joints with {second.n}; expected equal numbers of joints")
    if not allow_jump:
        _check_jump(first(first.end)[0], second(second.start)[0])
    parts = first.parts if isinstance(first, JoinedTrajectory) else (first,)
    return JoinedTrajectory((*parts, second._retimed(first.end, 1.0)))


def _check_jump(before: Array, after: Array) -> None:
    jumps = np.abs(after - before)
    joint = int(np.argmax(jumps))
    if jumps[joint] > JOIN_TOLERANCE * max(1.0, abs(before[joint])):
        raise InputError(
            f"joint {joint + 1} would jump from {short(before[joint])} to {short(after[joint])}; "
            "start where the first trajectory ends, or pass allow_jump=True"
        )
