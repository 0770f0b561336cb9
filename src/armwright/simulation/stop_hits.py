"""Hits of stops in a motion: the largest depth and torque of each joint, and the first time.

They are evaluated in every step of an integration, as a hit may begin and end between records. Within a step the depth
is the cubic through depths and rates at both ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from armwright.algebra import Array, Scalar, maximum, minimum, select
from armwright.torque import Law, Moment, Stops

NEVER = -1e30
"""The time of something that did not happen."""

STEP_FRACTIONS = (0.25, 0.5, 0.75, 1.0)
"""The parts of a step after which the torque of a stop is evaluated, besides that of the largest depth."""

HIT_STARTS = {"stop depth": 0.0, "stop torque": 0.0, "until hit": NEVER}
"""The initial totals of each freedom; "until hit" is the time of the first hit, negated."""


def stops_in(law: Law) -> list[Stops]:
    """Return all stops in a law and its parts."""
    inside = [stops for part in law.made_of for stops in stops_in(part)]
    return [law, *inside] if isinstance(law, Stops) else inside


def stop_torques(law: Law, at: Moment) -> list[Scalar]:
    """Return the torques of all stops in a law, one for each freedom."""
    rows = [stops.torques(at) for stops in stops_in(law)]
    return [sum(column, start=0) for column in zip([0] * at.n, *rows, strict=True)]


def hits_in_step(law: Law, start: Moment, end: Moment) -> dict[str, list[Scalar]]:
    """Return the entries of `HIT_STARTS` for one step from `start` to `end`, over any scalar."""
    hits: dict[str, list[Scalar]] = {name: [0 if name != "until hit" else NEVER] * start.n for name in HIT_STARTS}
    for stops in stops_in(law):
        rows = zip(stops.joints, stops.places, stops.lower, stops.upper, stops.stiffness, stops.damping, strict=True)
        for i, place, low, high, k, c in rows:
            span = _StopDepth.of(start, end, i, place, low, high)
            deepest, at = span.deepest()
            torque = reduce(maximum, (_stop_torque(k, c, *span.at(s)) for s in (at, *STEP_FRACTIONS)))
            hit = select(deepest, -(start.t + (end.t - start.t) * span.entered(at)), NEVER)
            for name, value in zip(HIT_STARTS, (maximum(deepest, 0), torque, hit), strict=True):
                hits[name][i] = maximum(hits[name][i], value)
    return hits


def _stop_torque(k: Scalar, c: Scalar, depth: Scalar, rate: Scalar) -> Scalar:
    """Return the torque of a stop, as in `torque.Stops`."""
    return k * maximum(depth, 0) * maximum(1 + c * rate, 0)


@dataclass(frozen=True)
class _StopDepth:
    """The depth in the nearer stop of a joint during a step, as a Hermite cubic."""

    length: Scalar
    depths: tuple[Scalar, Scalar]
    rates: tuple[Scalar, Scalar]

    @classmethod
    def of(cls, start: Moment, end: Moment, i: int, place: int, low: Scalar, high: Scalar) -> _StopDepth:
        upper = start.q[place] + end.q[place] - (low + high)
        depths = [select(upper, at.q[place] - high, low - at.q[place]) for at in (start, end)]
        rates = [select(upper, at.qd[i], -at.qd[i]) for at in (start, end)]
        return cls(end.t - start.t, (depths[0], depths[1]), (rates[0], rates[1]))

    def _powers(self) -> tuple[Scalar, Scalar, Scalar]:
        """Return the coefficients of s, s^2 and s^3, s from 0 to 1."""
        change, m0, m1 = self.depths[1] - self.depths[0], *(self.length * rate for rate in self.rates)
        return m0, 3 * change - 2 * m0 - m1, m0 + m1 - 2 * change

    def at(self, s: Scalar) -> tuple[Scalar, Scalar]:
        """Return depth and rate after a part of the step."""
        a, b, c = self._powers()
        return self.depths[0] + s * (a + s * (b + s * c)), (a + s * (2 * b + 3 * s * c)) / self.length

    def deepest(self) -> tuple[Scalar, Scalar]:
        """Return the largest depth, and the part of the step after which it occurs."""
        a, b, c = self._powers()
        inner = minimum(a, -(a + 2 * b + 3 * c))  # above zero if the depth grows at the start and shrinks at the end
        square = maximum(b * b - 3 * a * c, 0)
        root = square.sqrt() if hasattr(square, "sqrt") else np.sqrt(square)
        between = a / select(inner, root - b, 1)
        s = select(inner, between, select(self.depths[1] - self.depths[0], 1, 0))
        return self.at(s)[0], s

    def entered(self, deepest: Scalar) -> Scalar:
        """Return the approximate part of the step after which the stop was touched, before it was `deepest`."""
        outside = maximum(-self.depths[0], 0)
        inside = maximum(self.at(deepest)[0], 0)
        return deepest * outside / select(outside + inside, outside + inside, 1)


@dataclass(frozen=True, eq=False)
class StopHits:
    """The hits of stops: the largest depth (rad or m) and torque of each freedom, and the time of the first hit.

    Arrays are (n,), or (rollouts, n); `hit_at` is nan for joints without a hit.
    """

    depth: Array
    torque: Array
    hit_at: Array

    @classmethod
    def of(cls, totals: Mapping[str, Array]) -> StopHits:
        """Return the hits from totals with the keys of `HIT_STARTS`."""
        hit = -totals["until hit"]
        return cls(totals["stop depth"] + 0.0, totals["stop torque"] + 0.0, np.where(hit < -NEVER / 2, hit, np.nan))

    @classmethod
    def joined(cls, parts: Sequence[StopHits | None]) -> StopHits | None:
        """Return the hits of consecutive motions, some of them without stops."""
        known = [part for part in parts if part is not None]
        if not known:
            return None
        with np.errstate(all="ignore"):
            hits = np.fmin.reduce([part.hit_at for part in known])
        depth, torque = (np.max([getattr(x, name) for x in known], axis=0) for name in ("depth", "torque"))
        return cls(depth, torque, hits)

    @property
    def hit(self) -> Array:
        """True for each joint that has hit a stop."""
        hit: Array = self.depth > 0
        return hit

    def shifted(self, by: float) -> StopHits:
        """Return the hits `by` seconds later."""
        return StopHits(self.depth, self.torque, self.hit_at + by)

    def lists(self) -> dict[str, list[Any]]:
        """Return lists by name, with None for nan."""
        return {name: [None if np.isnan(x) else x for x in values.tolist()] for name, values in vars(self).items()}

    @classmethod
    def of_lists(cls, lists: Mapping[str, Sequence[Any]], n: int) -> StopHits:
        """Return the hits from `lists` for n joints; raise a ValueError for other lists."""
        arrays = [np.array([np.nan if x is None else x for x in lists[name]], float) for name in STOP_HIT_FIELDS]
        if any(array.shape != (n,) for array in arrays):
            raise ValueError(f"its hits of stops are not for {n} joints")
        return cls(*arrays)


STOP_HIT_FIELDS = ("depth", "torque", "hit_at")


class HitDetector:
    """Detects hits of stops in an integration from Python; it is called after every step."""

    def __init__(self, law: Law, moment: Any, t: float, y: Array) -> None:
        self._law, self._moment, self._last = law, moment, moment(t, y)
        self._maxima = {name: np.full(self._last.n, begin) for name, begin in HIT_STARTS.items()}

    def __call__(self, t: float, y: Array) -> None:
        at = self._moment(t, y)
        for name, values in hits_in_step(self._law, self._last, at).items():
            np.fmax(self._maxima[name], np.array(values, float), out=self._maxima[name])
        self._last = at

    @property
    def hits(self) -> StopHits:
        return StopHits.of(self._maxima)
