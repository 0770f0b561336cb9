"""Random numbers by counter: the number of rollout i depends only on the seed, its name and i.

    draws = aw.draws(seed=1)
    aw.simulate_batch(arm, law, rollouts=1000, q0=draws.normal(q, 0.01), vary={"payload.mass": draws.uniform(0, 2)})

Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, Parallel random numbers: as easy as 1, 2, 3) makes four words of a
counter and a key. Everything after it is sums, products, quotients and square roots, which round alike everywhere. So a
rollout has the same numbers, bit by bit, on a CPU and a GPU (`backends.cuda.kernels.random_numbers`), and for any
number of rollouts. Numbers that change in time have the index of their sampling instant in the counter.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import numbers as checked
from armwright.arrays import whole_number
from armwright.errors import InputError

__all__ = ["Draw", "Draws", "draws"]

PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
PHILOX_WEYL = (0x9E3779B9, 0xBB67AE85)
PHILOX_ROUNDS = 10
LOW_WORD = 0xFFFFFFFF

DRAW_BLOCK = 1 << 14
"""Numbers drawn at once, so that all intermediate results stay in the cache."""

RolloutIndices: TypeAlias = "int | Array"
"""Rollouts: the index of the first of some, or an array of all (rollouts,)."""

FIRST_INSTANT = np.zeros((1, 1), np.int64)
"""The sampling instant of numbers that are drawn once."""


@dataclass(frozen=True)
class DrawnColumn:
    """One random number of each rollout: the distribution and its two parameters, the key and the column."""

    kind: str
    first: float
    second: float
    key: tuple[int, int]
    column: int
    hold: float = 0.0
    """Seconds between new numbers; zero for constant ones."""

    def numbers(self, which: RolloutIndices, count: int, instants: Array = FIRST_INSTANT) -> Array:
        """Return the numbers (instants, rollouts) at instants (instants, 1) or (instants, rollouts)."""
        blocks, size = [], max(1, DRAW_BLOCK // len(instants))
        for k in range(0, count, size):
            some = slice(k, min(k + size, count))
            rollouts = np.arange(which + some.start, which + some.stop) if isinstance(which, int) else which[some]
            blocks.append(self.at(rollouts, instants if instants.shape[1] == 1 else instants[:, some]))
        return np.concatenate(blocks, axis=1)

    def at(self, rollouts: Array, instants: Array) -> Array:
        """Return the numbers of some rollouts at some instants, integer arrays that broadcast."""
        share = _shares(self.key, self.column, rollouts, instants)
        if self.kind == "uniform":
            return self.first + (self.second - self.first) * share
        return self.first + self.second * _normal(share)


@dataclass(frozen=True)
class Draw:
    """A distribution for a name; `first` and `second` are one number, or one for each entry."""

    seed: int
    kind: str
    first: Array
    second: Array
    hold: float = 0.0
    """Seconds between new numbers; zero for constant ones."""

    def columns(self, name: str, size: int) -> tuple[DrawnColumn, ...]:
        """Return one column for each entry of a name."""
        for array in (self.first, self.second):
            if array.shape not in ((), (1,), (size,)):
                raise InputError(f"{name} is drawn with {array.shape[-1]} numbers; expected one, or {size}")
        pairs = zip(*(np.broadcast_to(x, size).tolist() for x in (self.first, self.second)), strict=True)
        digest = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
        key = (int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little"))
        return tuple(DrawnColumn(self.kind, a, b, key, k, self.hold) for k, (a, b) in enumerate(pairs))

    @property
    def size(self) -> int | None:
        """The number of entries; None for any."""
        return max((len(x) for x in (self.first, self.second) if x.ndim and len(x) > 1), default=None)

    @property
    def lower_bound(self) -> float:
        """The lower bound of the numbers."""
        return float(self.first.min()) if self.kind == "uniform" else -math.inf


@dataclass(frozen=True)
class Draws:
    """The distributions of one seed."""

    seed: int

    def uniform(self, low: ArrayLike, high: ArrayLike) -> Draw:
        """Return the uniform distribution from low to high: one number for all entries, or one for each."""
        draw = Draw(self.seed, "uniform", _numbers("low", low), _numbers("high", high))
        if (draw.first > draw.second).any():
            raise InputError(f"uniform from {low!r} to {high!r}: expected low not above high")
        return draw

    def normal(self, mean: ArrayLike, std: ArrayLike) -> Draw:
        """Return the normal distribution with this mean and standard deviation."""
        draw = Draw(self.seed, "normal", _numbers("mean", mean), _numbers("std", std))
        if (draw.second < 0).any():
            raise InputError(f"std = {std!r}: expected zero or more")
        return draw


def draws(seed: int) -> Draws:
    """Return random numbers for `simulate_batch`: the same for the same seed on any machine."""
    return Draws(whole_number("seed", seed, 0))


def _numbers(name: str, value: ArrayLike) -> Array:
    array = checked(name, value, "expected a number, or one for each entry").astype(float)
    if array.ndim > 1 or not array.size or not np.isfinite(array).all():
        raise InputError(f"{name} = {value!r}: expected a finite number, or one for each entry")
    return array


def philox(counter: tuple[Any, ...], key: tuple[int, int]) -> tuple[Any, ...]:
    """Return four words of 32 bits from a counter of four and a key of two, arrays of 64-bit integers or numbers."""
    a, b, c, d = counter
    for k in range(PHILOX_ROUNDS):
        first, second = ((x + k * step) & LOW_WORD for x, step in zip(key, PHILOX_WEYL, strict=True))
        x, y = a * PHILOX_MULTIPLIERS[0], c * PHILOX_MULTIPLIERS[1]
        a, b, c, d = (y >> 32) ^ b ^ first, y & LOW_WORD, (x >> 32) ^ d ^ second, x & LOW_WORD
    return a, b, c, d


def _shares(key: tuple[int, int], column: int, rollouts: Array, instants: Array) -> Array:
    """Return numbers strictly between zero and one, of 52 bits."""
    index, instant = (np.atleast_1d(x).astype(np.uint64) for x in (rollouts, instants))
    entry = np.full(1, column, np.uint64)
    words = philox((index & np.uint64(LOW_WORD), index >> np.uint64(32), entry, instant & np.uint64(LOW_WORD)), key)
    bits = (words[0] << np.uint64(20)) | (words[1] >> np.uint64(12))
    shares: Array = (bits.astype(np.float64) + 0.5) * 2.0**-52
    return shares


def _normal(share: Array) -> Array:
    """Return the quantile of the normal distribution (Wichura 1988, algorithm AS 241)."""
    q = share - 0.5
    found: Array = q * _ratio(0.180625 - q * q, CENTRAL)
    out = np.abs(q) > 0.425
    r = np.sqrt(-_logarithm(np.minimum(share[out], 1.0 - share[out])))
    tail = np.where(r <= 5.0, _ratio(r - 1.6, NEAR_TAIL), _ratio(r - 5.0, FAR_TAIL))
    found[out] = np.where(q[out] < 0, -tail, tail)
    return found


def _ratio(x: Array, both: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    above, below = (_polynomial(x, coefficients) for coefficients in both)
    ratio: Array = above / below
    return ratio


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    value = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        value = value * x + c
    return value


def _logarithm(x: Array) -> Array:
    """Return ln x of a positive number by sums and products alone: libraries differ in the last bit."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < SQRT_HALF
    mantissa = np.where(low, mantissa * 2.0, mantissa)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    logarithm: Array = (exponent - low) * LN2 + s * _polynomial(s * s, ARTANH_SERIES)
    return logarithm


SQRT_HALF, LN2 = math.sqrt(0.5), math.log(2.0)
ARTANH_SERIES = tuple(2.0 / (2 * k + 1) for k in range(12))
"""The coefficients of the series of 2 artanh s."""

CENTRAL = (
    (
        3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
        4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
    ),
    (
        1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
        2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
    ),
)  # fmt: skip
NEAR_TAIL = (
    (
        1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
        1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
    ),
    (
        1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
        1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
    ),
)  # fmt: skip
FAR_TAIL = (
    (
        6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
        2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
    ),
    (
        1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
        7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
    ),
)  # fmt: skip
