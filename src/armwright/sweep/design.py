"""The design of a study: the numbers of every rollout. Row k does not depend on how many rows are drawn at once.

random             counter-based numbers (Philox): row k needs none of the rows before it
sobol              a scrambled Sobol sequence (Joe and Kuo's directions, SciPy), advanced to row k
latin_hypercube    drawn complete (SciPy), then cut into rows
sobol_indices      the rows that Sobol indices need: two points A and B of a Sobol sequence of twice the dimension, and
                   A with each of its numbers in turn taken from B; k + 2 rows for each, one after the other
grid               every combination of listed numbers, the last varying fastest
list               the first number of every list, then the second of every list, and so on

Correlated numbers have a Gaussian copula: uniform numbers become normal, are mixed by the Cholesky factor of the
correlations, and become uniform again; so every number keeps its distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import closest_name, name_hint
from armwright.model.table_reader import Reader
from armwright.sweep.distributions import DISTRIBUTIONS, Quantile, quantile_function
from armwright.sweep.study import Study

LISTED_METHODS, DRAWN_METHODS, INDICES = ("grid", "list"), ("random", "latin_hypercube", "sobol"), "sobol_indices"
DESIGN_METHODS = (*LISTED_METHODS, *DRAWN_METHODS, INDICES)

MAX_ROWS = 1_000_000_000
MAX_LISTED_NUMBERS = 20_000_000
"""Limit of the numbers of a Latin hypercube, which is drawn complete, and of all lists together."""

SOBOL_BITS = 30


@dataclass(frozen=True, eq=False)
class Design:
    """The rows of a study: the names of what varies, and the method that gives a row its numbers."""

    names: tuple[str, ...]
    method: str
    rows: int
    seed: int
    listed: tuple[Array, ...] = ()
    """The listed numbers of each name, for a grid or a list."""
    quantiles: tuple[Quantile, ...] = ()
    """The quantile function of each name, where numbers are drawn."""
    mixing: Array | None = None
    """The Cholesky factor of the correlations."""

    def draw(self, first: int, count: int) -> dict[str, Array]:
        """Return the numbers of rows first to first + count - 1 by name, (count,) each."""
        rows = np.arange(first, first + count)
        if self.method == "list":
            return {name: x[rows] for name, x in zip(self.names, self.listed, strict=True)}
        if self.method == "grid":
            indices = np.unravel_index(rows, tuple(map(len, self.listed)))
            return {name: x[index] for name, x, index in zip(self.names, self.listed, indices, strict=True)}
        u = self._uniform(first, count)
        if self.mixing is not None:
            z = _normal().ppf(u)
            u = _normal().cdf(sum(z[:, k, None] * self.mixing[:, k] for k in range(len(self.names))))
        columns = zip(self.names, self.quantiles, np.ascontiguousarray(u.T), strict=True)
        return {name: quantile(column) for name, quantile, column in columns}

    def _uniform(self, first: int, count: int) -> Array:
        """Return numbers strictly between 0 and 1, (count, names)."""
        d = len(self.names)
        if self.method == "latin_hypercube":
            return _hypercube(self.rows, d, self.seed)[first : first + count]
        if self.method == "sobol":
            return _sobol(first, count, d, self.seed)
        if self.method == INDICES:
            base, last = first // (d + 2), (first + count - 1) // (d + 2)
            begin = first - base * (d + 2)
            return _saltelli_rows(_sobol(base, last - base + 1, 2 * d, self.seed))[begin : begin + count]
        blocks = -(-d // 4)  # a step of the counter gives four numbers
        stream = np.random.Philox(key=self.seed).advance(first * blocks)
        raw = stream.random_raw(count * blocks * 4).reshape(count, -1)[:, :d]
        return ((raw >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52


def design_of(study: Study) -> Design:
    """Return the design of a study; the names of what varies are not checked here."""
    vary, part = study.reader("vary"), study.reader("design")
    part.check_keys(("method", "count", "seed", "correlations"))
    entries = entries_of(vary)
    if not entries:
        vary.fail(None, 'nothing varies; expected an entry such as "payload.mass" = {uniform = [0, 3]}')
    sources = _sources(vary, entries)
    listed = all(isinstance(source, np.ndarray) for source in sources.values())
    method = part.text("method", "grid" if listed else "random")
    if method not in DESIGN_METHODS:
        hint = name_hint(method, DESIGN_METHODS)
        part.fail("method", f"unknown method {method!r}; {hint}Known: {', '.join(DESIGN_METHODS)}")
    seed = _whole_number(part, "seed", 0, 0, 2**63 - 1)
    if method in LISTED_METHODS:
        return _listed_design(vary, part, method, seed, sources)
    rows = _whole_number(part, "count", None, 1, MAX_ROWS)
    if method == INDICES:
        rows = _index_rows(part, rows, len(sources))
    if method == "latin_hypercube" and rows * len(sources) > MAX_LISTED_NUMBERS:
        part.fail("count", f"a Latin hypercube of {rows} rows is too large; choose sobol or random")
    quantiles = tuple(_equal_choice(x) if isinstance(x, np.ndarray) else x for x in sources.values())
    return Design(tuple(sources), method, rows, seed, (), quantiles, _mixing(part, tuple(sources)))


def entries_of(part: Reader) -> dict[str, Any]:
    """Return the entries of [vary] by full name; payload.mass without quotes is a table in TOML."""
    entries: dict[str, Any] = {}
    distribution_keys = (*DISTRIBUTIONS, "from", "count", "scipy")

    def collect(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping) and value and not any(closest_name(key, distribution_keys) for key in value):
            for key, inner in value.items():
                collect(f"{prefix}.{key}", inner)
        else:
            entries[prefix] = value

    for key, value in part.data.items():
        collect(str(key), value)
    return entries


def _sources(vary: Reader, entries: Mapping[str, Any]) -> dict[str, Array | Quantile]:
    """Return the list or the quantile function of each name; lists of too many numbers are refused."""
    sources: dict[str, Array | Quantile] = {}
    left = MAX_LISTED_NUMBERS
    for name, value in entries.items():
        sources[name] = source = _entry(vary, name, value)
        left -= len(source) if isinstance(source, np.ndarray) else 0
        if left < 0:
            vary.fail(name, f"the study lists more than {MAX_LISTED_NUMBERS} numbers; expected a distribution")
    return sources


def _entry(part: Reader, name: str, value: Any) -> Array | Quantile:
    """Return listed numbers, or the quantile function of a distribution."""
    if isinstance(value, (list, tuple, np.ndarray)):
        try:
            numbers = np.asarray(value)
        except ValueError:  # lists that are not equally long
            numbers = np.zeros(0)
        if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iuf":
            part.fail(name, f"{value!r} is not a list of numbers; expected one such as [0, 1, 2]")
        return _finite(part, name, numbers.astype(float))
    if not isinstance(value, Mapping):
        part.fail(name, f"{value!r}: expected a list of numbers, {{from =, to =, count =}}, or {{uniform = [0, 3]}}")
    reader = Reader(value, lambda key: part.where(name))
    if "from" in value or "to" in value:
        reader.check_keys(("from", "to", "count"))
        low, high = reader.number("from"), reader.number("to")
        count = _whole_number(reader, "count", None, 1, MAX_LISTED_NUMBERS)
        return np.linspace(low, high, count)
    return quantile_function(reader)


def _finite(part: Reader, name: str, numbers: Array) -> Array:
    if not np.isfinite(numbers).all():
        part.fail(name, f"{numbers[~np.isfinite(numbers)][0]} is not finite; expected numbers")
    return numbers


def _equal_choice(numbers: Array) -> Quantile:
    """Return the quantile function of listed numbers of equal probability."""
    return lambda u: numbers[np.minimum((u * len(numbers)).astype(int), len(numbers) - 1)]


def _listed_design(
    vary: Reader, part: Reader, method: str, seed: int, sources: Mapping[str, Array | Quantile]
) -> Design:
    for name, source in sources.items():
        if not isinstance(source, np.ndarray):
            vary.fail(name, f"a {method} has no distributions; list its numbers, or choose another method in [design]")
    for key in ("count", "correlations"):
        if key in part.data:
            part.fail(key, f"a {method} has all listed numbers in their order; remove {key}")
    listed = tuple(np.asarray(source) for source in sources.values())
    lengths = [len(numbers) for numbers in listed]
    if method == "list" and len(set(lengths)) > 1:
        lengths_by_name = ", ".join(f"{name} has {count}" for name, count in zip(sources, lengths, strict=True))
        vary.fail(None, f'{lengths_by_name}; expected lists of equal length for method = "list"')
    rows = lengths[0] if method == "list" else math.prod(lengths)
    if rows > MAX_ROWS:
        vary.fail(None, f"the grid has {rows} points; expected at most {MAX_ROWS}")
    return Design(tuple(sources), method, rows, seed, listed)


def _index_rows(part: Reader, base: int, d: int) -> int:
    """Return the number of rows of a design for Sobol indices, which need independent numbers."""
    if part.data.get("correlations"):
        part.fail("correlations", "Sobol indices need independent numbers; remove these, or choose another method")
    if (rows := base * (d + 2)) > MAX_ROWS:
        part.fail("count", f"{base} base samples of {d} numbers are {rows} rollouts; expected at most {MAX_ROWS}")
    return rows


def _mixing(part: Reader, names: tuple[str, ...]) -> Array | None:
    """Return the Cholesky factor of the correlations; None if there are none."""
    pairs = part.data.get("correlations", ())
    if not isinstance(pairs, (list, tuple)):
        part.fail("correlations", f'{pairs!r}: expected pairs such as [["payload.mass", "payload.com.z", 0.5]]')
    matrix = np.eye(len(names))
    for entry in pairs:
        if not isinstance(entry, (list, tuple)) or len(entry) != 3:
            part.fail("correlations", f"{entry!r}: expected two names and a number between -1 and 1")
        *pair, value = entry
        for name in pair:
            if name not in names:
                part.fail("correlations", f"{name!r} does not vary; expected two of {', '.join(names)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1 < value < 1 or pair[0] == pair[1]:
            part.fail("correlations", f"{entry!r}: expected two names and a number between -1 and 1")
        i, k = (names.index(name) for name in pair)
        if matrix[i, k]:
            part.fail("correlations", f"{pair[0]} and {pair[1]} have two correlations; expected one")
        matrix[i, k] = matrix[k, i] = value
    if not pairs:
        return None
    if np.linalg.eigvalsh(matrix)[0] < 1e-10:
        part.fail("correlations", "their matrix is not positive definite; make some of them smaller")
    return np.linalg.cholesky(matrix)


def _whole_number(part: Reader, key: str, default: int | None, smallest: int, largest: int) -> int:
    value = part.data.get(key, default) if default is not None else part.need(key, "; expected a whole number")
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not smallest <= value <= largest:
        part.fail(key, f"{key} = {value!r}: expected a whole number from {smallest} to {largest}")
    return int(value)


def _sobol(first: int, count: int, d: int, seed: int) -> Array:
    """Return points first to first + count - 1 of a scrambled Sobol sequence, (count, d)."""
    from scipy.stats import qmc  # noqa: PLC0415  (takes a second)

    sequence = qmc.Sobol(d, scramble=True, bits=SOBOL_BITS, seed=seed)
    if first:
        sequence.fast_forward(first)
    drawn = count if first else 1 << (count - 1).bit_length()  # SciPy warns of a first part that is no power
    return np.asarray(sequence.random(drawn))[:count] + 0.5 ** (SOBOL_BITS + 1)


def _saltelli_rows(pairs: Array) -> Array:
    """Return rows A, B, A with its first number from B, ... for points A and B in `pairs` (base samples, 2 d)."""
    d = pairs.shape[1] // 2
    a, b = pairs[:, :d], pairs[:, d:]
    rows = np.repeat(a[:, None], d + 2, axis=1)
    rows[:, 1] = b
    for k in range(d):
        rows[:, 2 + k, k] = b[:, k]
    return rows.reshape(-1, d)


@lru_cache(maxsize=2)
def _hypercube(rows: int, d: int, seed: int) -> Array:
    from scipy.stats import qmc  # noqa: PLC0415  (takes a second)

    u = np.asarray(qmc.LatinHypercube(d, seed=seed).random(rows))
    inner: Array = np.clip(u, 2.0**-53, 1 - 2.0**-53)
    return inner


def _normal() -> Any:
    from scipy import stats  # noqa: PLC0415  (takes a second)

    return stats.norm
