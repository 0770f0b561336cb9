"""Sample and hold: random numbers are drawn every `hold` seconds from the start of a rollout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import Array
from armwright.errors import InputError

MAX_SAMPLES = 5_000_000

SAMPLING_TOLERANCE = 1e-6
"""The part of an interval that counts as rounding: a time within it of the end is at the end."""


@dataclass(frozen=True)
class SamplingInstants:
    """Numbered intervals between sampling instants of rollouts from `begin` to `end`, shifted by `offsets` (rollouts,).

    Offsets (1,) are for all rollouts. `holds` are the lengths of intervals.
    """

    begin: float
    end: float
    offsets: Array
    holds: tuple[float, ...]

    def __post_init__(self) -> None:
        for hold in self.holds:
            if self.end - self.begin > MAX_SAMPLES * hold:
                raise InputError(
                    f"hold = {hold:g} s: numbers would be drawn anew more than {MAX_SAMPLES} times in "
                    f"{self.end - self.begin:g} s; choose a longer hold="
                )

    def _tolerance(self, hold: float) -> float:
        furthest = max(abs(self.begin), abs(self.end)) + float(np.abs(self.offsets).max())
        return SAMPLING_TOLERANCE + 4 * float(np.finfo(float).eps) * furthest / hold

    def intervals_before(self, hold: float, t: Array) -> NDArray[np.int64]:
        """Return the number of intervals that have ended at times without offsets."""
        return np.floor((t - self.begin) / hold + self._tolerance(hold)).astype(np.int64)

    def intervals_at(self, hold: float, t: Array) -> NDArray[np.int64]:
        """Return the numbers of the intervals at times (offsets, times).

        A run that continues another one has the same intervals if it begins at a multiple of `hold`.
        """
        intervals: NDArray[np.int64] = self.first_interval(hold)[:, None] + self.intervals_before(hold, t)
        return intervals

    def first_interval(self, hold: float) -> NDArray[np.int64]:
        """Return the number of the first interval of each rollout (offsets,)."""
        return np.floor((self.begin + self.offsets) / hold + self._tolerance(hold)).astype(np.int64)

    def merged_with(self, times: Array) -> Array:
        """Return these times and the sampling instants between them."""
        ends = times
        for hold in self.holds:
            instants = self.begin + hold * np.arange(1.0, 1.0 + int(self.intervals_before(hold, times[-1:])[0]))
            place = np.searchsorted(ends, instants)
            gaps = instants - ends[place - 1], ends[np.minimum(place, len(ends) - 1)] - instants
            apart = np.minimum(gaps[0], np.abs(gaps[1])) > self._tolerance(hold) * hold
            ends = np.sort(np.concatenate([ends, instants[apart]]))
        return ends

    def changes(self, ends: Array) -> NDArray[np.bool_]:
        """Return a mask of the times at which a number is drawn."""
        mask = np.zeros(len(ends), bool)
        for hold in self.holds:
            mask[1:] |= np.diff(self.intervals_before(hold, ends)) > 0
        return mask
