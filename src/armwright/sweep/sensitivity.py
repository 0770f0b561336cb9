"""What a result depends on: parts of its variance, by Sobol indices, exactly over a grid, or by ranks.

The first order index of a number is the part of the variance that would go if that number alone were known; the total
one is what would stay if all others were. Where they differ, numbers act together.

From A, B and AB_i (`sobol_indices` of a design), with f about its mean and V its variance,

    first_i = mean f(B) (f(AB_i) - f(A)) / V      Saltelli et al. 2010, doi:10.1016/j.cpc.2009.09.018, table 2 (b)
    total_i = mean (f(A) - f(AB_i))^2 / (2 V)     Jansen 1999; there table 2 (f)

Each is a mean over base samples divided by another, so its error follows from how both vary together (delta method),
as if base samples were drawn at random; those of a Sobol sequence do better than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array
from armwright.sweep.design import INDICES, Design

CERTAIN = 1.959963984540054
"""Standard deviations to either side of a mean within which 95 of 100 lie."""

FLAT = 1e-12
"""A result that varies by less than this part of itself is rounding, and depends on nothing."""

LEAST = 8
"""Base samples of which something can be said."""


@dataclass(frozen=True, eq=False)
class Indices:
    """Sobol indices, one of each kind for each number that varies, and how far off they may be in 95 of 100 cases."""

    first: Array
    total: Array
    first_error: Array
    total_error: Array
    used: int
    """Base samples, or points of a grid."""
    left_out: int = 0
    """Base samples of which a rollout is missing, failed, or has no such number."""


def sobol_indices(values: Array) -> Indices | None:
    """Of a result f (base samples, k + 2): f(A), f(B), f(AB_1) ...; None where nothing varies or too little is there.

    A base sample with anything that is not finite is left out as a whole.
    """
    fine = np.isfinite(values).all(axis=1)
    f = values[fine]
    if len(f) < LEAST or _flat(f):
        return None
    f = f - np.mean(f[:, :2])
    a, b, mixed = f[:, :1], f[:, 1:2], f[:, 2:]
    squares = (a**2 + b**2) / 2
    first, first_error = _quotient(b * (mixed - a), squares)
    total, total_error = _quotient((a - mixed) ** 2 / 2, squares)
    return Indices(first, total, first_error, total_error, len(f), int(np.sum(~fine)))


def grid_indices(values: Array) -> Indices | None:
    """The same exactly, of a result at all points of a grid, each as likely as the others; None where one has none."""
    if not np.isfinite(values).all() or _flat(values):
        return None
    axes, variance = range(values.ndim), np.var(values)
    first = [np.var(np.mean(values, axis=tuple(k for k in axes if k != i))) / variance for i in axes]
    total = [1 - np.var(np.mean(values, axis=i)) / variance for i in axes]
    none = np.zeros(values.ndim)
    return Indices(np.array(first), np.array(total), none, none, values.size)


def rank_correlations(values: Array, varied: Mapping[str, Array]) -> list[float] | None:
    """Spearman's, of a result with each number that varies; None where nothing varies or too little is there."""
    fine = np.isfinite(values)
    if fine.sum() < 3 or _flat(values[fine]):
        return None
    own = _ranks(values[fine])
    return [float(own @ _ranks(x[fine])) for x in varied.values()]


def indices_of(design: Design, rows: Array, values: Array) -> Indices | None:
    """Those of a result in some rows of a design, or None: of numbers drawn otherwise there are none."""
    if design.method not in (INDICES, "grid"):
        return None
    if design.method == "grid":
        if len(rows) < design.rows:  # a grid with holes has none, and may be larger than memory
            return None
        found = np.full(design.rows, np.nan)
        found[rows] = values
        return grid_indices(found.reshape([len(numbers) for numbers in design.listed]))
    width = len(design.names) + 2
    base, place = np.divmod(rows, width)
    known, at = np.unique(base, return_inverse=True)
    found = np.full((len(known), width), np.nan)
    found[at, place] = values
    indices = sobol_indices(found)
    return indices and replace(indices, left_out=design.rows // width - indices.used)


def _flat(values: Array) -> bool:
    return bool(np.ptp(values) <= FLAT * np.max(np.abs(values)))


def _quotient(above: Array, below: Array) -> tuple[Array, Array]:
    """The quotients of means (base samples, k) over (base samples, 1), and how far off they may be."""
    whole = np.mean(below)
    value: Array = np.mean(above, axis=0) / whole
    spread = np.std(above - value * below, axis=0, ddof=1) / whole
    return value, CERTAIN * spread / np.sqrt(len(above))


def _ranks(x: Array) -> Array:
    """Ranks, those of equal numbers their mean, about zero and of length 1; all zero where nothing differs."""
    from scipy.stats import rankdata  # noqa: PLC0415  (takes a second)

    ranks: Array = rankdata(x) - (len(x) + 1) / 2
    length = float(np.linalg.norm(ranks))
    return ranks / length if length else ranks
