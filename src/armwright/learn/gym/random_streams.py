"""Random numbers for many environments at once, each from its own stream.

The k-th number of a stream is a hash of its seed and k (SplitMix64: Steele, Lea and Flood 2014), so that thousands of
streams take a few array operations, and the numbers of an environment depend on its seed alone, not on the number of
others nor on their resets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
WORD_RANGE = 2**64


def splitmix_hash(x: Array) -> Array:
    """Apply the finalizer of SplitMix64: every bit of the result depends on every bit of x."""
    for shift, factor in MIX_ROUNDS:
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    hashed: Array = x ^ (x >> np.uint64(31))
    return hashed


class Streams:
    """One stream of random numbers for each of `seeds`."""

    def __init__(self, seeds: ArrayLike) -> None:
        words = np.array([int(seed) % WORD_RANGE for seed in np.ravel(seeds)], np.uint64)
        self._keys = splitmix_hash(splitmix_hash(words + GOLDEN_GAMMA))
        self._drawn = np.zeros(len(self._keys), np.uint64)

    def __len__(self) -> int:
        return len(self._keys)

    def seed(self, lanes: Array, seeds: ArrayLike) -> None:
        """Restart the streams of some environments."""
        self._keys[lanes], self._drawn[lanes] = Streams(seeds)._keys, 0

    def unit(self, lanes: Array, size: int) -> Array:
        """Draw numbers in [0, 1) for some environments, (lanes, size)."""
        counters = self._drawn[lanes][:, None] + np.arange(1, size + 1, dtype=np.uint64)
        self._drawn[lanes] += np.uint64(size)
        words = splitmix_hash(self._keys[lanes][:, None] + counters * GOLDEN_GAMMA)
        numbers: Array = (words >> np.uint64(11)) * 2.0**-53
        return numbers


def normal(unit: Array) -> Array:
    """Return normally distributed numbers from as many in [0, 1), an even number in each row (Box and Muller)."""
    radius, angle = np.sqrt(-2 * np.log1p(-unit[..., ::2])), 2 * np.pi * unit[..., 1::2]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
