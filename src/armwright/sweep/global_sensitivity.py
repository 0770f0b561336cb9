"""Global sensitivity of results: Sobol indices, estimated or exact over a grid, and rank correlations.

The first order index of a number is the part of the variance that would vanish if this number alone were known. The
total index is the part that would remain if all others were known. Where they differ, numbers interact.

From the samples A, B and AB_i of a design by the method "sobol_indices", with f about its mean and V its variance,

    first_i = mean f(B) (f(AB_i) - f(A)) / V      Saltelli et al. 2010, doi:10.1016/j.cpc.2009.09.018, table 2 (b)
    total_i = mean (f(A) - f(AB_i))^2 / (2 V)     Jansen 1999; there table 2 (f)

Each is a quotient of two means over base samples. Its error follows from the covariance of both (delta method), as if
base samples were drawn at random; with a Sobol sequence the true error is smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array
from armwright.sweep.design import INDICES, Design

NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution, for 95 % confidence intervals."""

ROUNDING_SPREAD = 1e-12
"""A result whose relative spread is smaller is constant but for rounding."""

MIN_BASE_SAMPLES = 8
"""Fewer base samples give no indices."""


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """First order and total Sobol indices for each number that varies, with half widths of 95 % intervals."""

    first: Array
    total: Array
    first_error: Array
    total_error: Array
    used: int
    """The number of base samples used, or of points of the grid."""
    left_out: int = 0
    """Base samples left out because a rollout is missing, failed, or has no finite result."""


def sobol_indices(values: Array) -> SobolIndices | None:
    """Return the indices of a result (base samples, k + 2) = f(A), f(B), f(AB_1) ...; None if it is constant or short.

    Base samples with a value that is not finite are left out.
    """
    finite = np.isfinite(values).all(axis=1)
    f = values[finite]
    if len(f) < MIN_BASE_SAMPLES or _constant(f):
        return None
    f = f - np.mean(f[:, :2])
    a, b, mixed = f[:, :1], f[:, 1:2], f[:, 2:]
    squares = (a**2 + b**2) / 2
    first, first_error = _quotient(b * (mixed - a), squares)
    total, total_error = _quotient((a - mixed) ** 2 / 2, squares)
    return SobolIndices(first, total, first_error, total_error, len(f), int(np.sum(~finite)))


def grid_indices(values: Array) -> SobolIndices | None:
    """Return exact indices of a result at all points of a grid of equal probability; None if a point has no result."""
    if not np.isfinite(values).all() or _constant(values):
        return None
    axes, variance = range(values.ndim), np.var(values)
    first = [np.var(np.mean(values, axis=tuple(k for k in axes if k != i))) / variance for i in axes]
    total = [1 - np.var(np.mean(values, axis=i)) / variance for i in axes]
    none = np.zeros(values.ndim)
    return SobolIndices(np.array(first), np.array(total), none, none, values.size)


def rank_correlations(values: Array, varied: Mapping[str, Array]) -> list[float] | None:
    """Return Spearman correlations of a result with each number that varies; None if it is constant or too short."""
    finite = np.isfinite(values)
    if finite.sum() < 3 or _constant(values[finite]):
        return None
    ranks = _centred_ranks(values[finite])
    return [float(ranks @ _centred_ranks(x[finite])) for x in varied.values()]


def indices_of(design: Design, rows: Array, values: Array) -> SobolIndices | None:
    """Return the indices of a result in some rows of a design; None if its method gives none."""
    if design.method not in (INDICES, "grid"):
        return None
    if design.method == "grid":
        if len(rows) < design.rows:  # an incomplete grid has none, and may be larger than memory
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


def _constant(values: Array) -> bool:
    return bool(np.ptp(values) <= ROUNDING_SPREAD * np.max(np.abs(values)))


def _quotient(numerators: Array, denominators: Array) -> tuple[Array, Array]:
    """Return quotients of means, of (base samples, k) by (base samples, 1), and half widths of their 95 % intervals."""
    mean = np.mean(denominators)
    value: Array = np.mean(numerators, axis=0) / mean
    deviation = np.std(numerators - value * denominators, axis=0, ddof=1) / mean
    return value, NORMAL_95 * deviation / np.sqrt(len(numerators))


def _centred_ranks(x: Array) -> Array:
    """Return ranks (mean ranks for ties) shifted to mean zero and scaled to length one; zeros if all are equal."""
    from scipy.stats import rankdata  # noqa: PLC0415  (takes a second)

    ranks: Array = rankdata(x) - (len(x) + 1) / 2
    length = float(np.linalg.norm(ranks))
    return ranks / length if length else ranks
