"""Sampling instants: random numbers are drawn every `hold` seconds from the start of a rollout, and held in between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import Array
from armwright.errors import InputError

MAX_SAMPLES = 5_000_000

SAMPLING_TOLERANCE = 1e-6
"""The share of an interval that counts as rounding: a time so near to its end is at its end."""


@dataclass(frozen=True)
class SamplingInstants:
    """Numbered intervals between instants, of rollouts from `begin` to `end` that start by `offsets` later (rollouts,).

    Offsets of one number are for all rollouts. There may be several lengths of intervals, `holds`.
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
        """Return the number of intervals that are over at times, which do not have the offsets."""
        return np.floor((t - self.begin) / hold + self._tolerance(hold)).astype(np.int64)

    def intervals_at(self, hold: float, t: Array) -> NDArray[np.int64]:
        """Return the numbers of the intervals at times (offsets, times).

        A run that continues another one has the same numbers if it begins at a multiple of `hold`.
        """
        found: NDArray[np.int64] = self.first_interval(hold)[:, None] + self.intervals_before(hold, t)
        return found

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
        """Return True for each of some times at which a number is drawn."""
        found = np.zeros(len(ends), bool)
        for hold in self.holds:
            found[1:] |= np.diff(self.intervals_before(hold, ends)) > 0
        return found
