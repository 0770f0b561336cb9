"""Random numbers for many environments at once, each from a stream of its own.

The k-th number of a stream is a hash of its seed and k (SplitMix64: Steele, Lea and Flood 2014), so that thousands of
streams are drawn from in a few array operations, and what an environment draws depends on its own seed alone: not on
how many others there are, nor on when they are reset.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array

WEYL = np.uint64(0x9E3779B97F4A7C15)
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
WORD = 2**64


def mixed(x: Array) -> Array:
    """The finalizer of SplitMix64: every bit of the result depends on every bit of x."""
    for shift, factor in MIX:
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    found: Array = x ^ (x >> np.uint64(31))
    return found


class Streams:
    """One stream for each of `seeds`; each goes on where it was."""

    def __init__(self, seeds: ArrayLike) -> None:
        self._keys = mixed(mixed(np.array([int(seed) % WORD for seed in np.ravel(seeds)], np.uint64) + WEYL))
        self._drawn = np.zeros(len(self._keys), np.uint64)

    def __len__(self) -> int:
        return len(self._keys)

    def seed(self, lanes: Array, seeds: ArrayLike) -> None:
        """Let the streams of some environments begin anew."""
        self._keys[lanes], self._drawn[lanes] = Streams(seeds)._keys, 0

    def unit(self, lanes: Array, size: int) -> Array:
        """Numbers in [0, 1) for some environments, (lanes, size)."""
        places = self._drawn[lanes][:, None] + np.arange(1, size + 1, dtype=np.uint64)
        self._drawn[lanes] += np.uint64(size)
        words = mixed(self._keys[lanes][:, None] + places * WEYL)
        numbers: Array = (words >> np.uint64(11)) * 2.0**-53
        return numbers


def normal(unit: Array) -> Array:
    """As many normally distributed numbers as there are in [0, 1), an even number in each row (Box and Muller)."""
    radius, angle = np.sqrt(-2 * np.log1p(-unit[..., ::2])), 2 * np.pi * unit[..., 1::2]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
