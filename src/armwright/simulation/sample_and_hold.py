"""When numbers are drawn anew: every `hold` seconds from the start of a rollout on, in intervals that have a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import Array
from armwright.errors import InputError

MAX_SAMPLES = 5_000_000
"""Times that numbers may be drawn anew."""

SAMPLING_TOLERANCE = 1e-6
"""The share of an interval that counts as rounding: what is so near to its end is there."""


@dataclass(frozen=True)
class SamplingInstants:
    """Intervals of rollouts that go from `begin` to `end`, each `late` by some seconds or all of them (1,)."""

    begin: float
    end: float
    late: Array
    holds: tuple[float, ...]

    def __post_init__(self) -> None:
        for hold in self.holds:
            if self.end - self.begin > MAX_SAMPLES * hold:
                raise InputError(
                    f"hold = {hold:g} s: numbers would be drawn anew more than {MAX_SAMPLES} times in "
                    f"{self.end - self.begin:g} s; choose a longer hold="
                )

    def _slack(self, hold: float) -> float:
        furthest = max(abs(self.begin), abs(self.end)) + float(np.abs(self.late).max())
        return SAMPLING_TOLERANCE + 4 * float(np.finfo(float).eps) * furthest / hold

    def gone(self, hold: float, t: Array) -> NDArray[np.int64]:
        """How many intervals are over at some times, which are counted as if no rollout were late."""
        return np.floor((t - self.begin) / hold + self._slack(hold)).astype(np.int64)

    def of(self, hold: float, t: Array) -> NDArray[np.int64]:
        """The numbers of the intervals that begin or go on then (late, times): the same in a run that goes on with
        another, if that began at a multiple of `hold`."""
        found: NDArray[np.int64] = self.first(hold)[:, None] + self.gone(hold, t)
        return found

    def first(self, hold: float) -> NDArray[np.int64]:
        """The number of the interval with which each rollout begins (late,)."""
        return np.floor((self.begin + self.late) / hold + self._slack(hold)).astype(np.int64)

    def among(self, times: Array) -> Array:
        """These times, and between them those at which something is drawn anew."""
        ends = times
        for hold in self.holds:
            anew = self.begin + hold * np.arange(1.0, 1.0 + int(self.gone(hold, times[-1:])[0]))
            place = np.searchsorted(ends, anew)
            gaps = anew - ends[place - 1], ends[np.minimum(place, len(ends) - 1)] - anew
            apart = np.minimum(gaps[0], np.abs(gaps[1])) > self._slack(hold) * hold
            ends = np.sort(np.concatenate([ends, anew[apart]]))
        return ends

    def anew(self, ends: Array) -> NDArray[np.bool_]:
        """At which of some times something is drawn anew."""
        found = np.zeros(len(ends), bool)
        for hold in self.holds:
            found[1:] |= np.diff(self.gone(hold, ends)) > 0
        return found
