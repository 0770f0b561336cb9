"""Which numbers each rollout of a study has: row k of a design is the same however many are asked for at once.

random             counter-based numbers (Philox): row k is found without those before it
sobol              a scrambled Sobol sequence (Joe and Kuo's directions, SciPy), wound forward to row k
latin_hypercube    all rows at once (SciPy), of which some are taken
sobol_indices      what Sobol indices are found from: two points A and B of a Sobol sequence of twice the dimension, and
                   A with each of its numbers in turn taken from B; k + 2 rows for each, one after the other
grid, list         every combination of listed numbers, the last varying fastest; one after the other

Numbers that belong together have a Gaussian copula: uniform numbers become normal ones, are mixed by the Cholesky
factor of the correlations, and go back; so every number keeps its distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.errors import nearest
from armwright.model.table_reader import Reader
from armwright.sweep.study import Study

LISTED, DRAWN, INDICES = ("grid", "list"), ("random", "latin_hypercube", "sobol"), "sobol_indices"
METHODS = (*LISTED, *DRAWN, INDICES)

DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    "uniform": ("low", "high"),
    "log_uniform": ("low", "high"),
    "normal": ("mean", "deviation"),
    "truncated_normal": ("mean", "deviation", "low", "high"),
    "lognormal": ("median", "deviation of the logarithm"),
    "triangular": ("low", "mode", "high"),
    "beta": ("a", "b", "low", "high"),
    "gamma": ("shape", "scale"),
    "weibull": ("shape", "scale"),
    "exponential": ("scale",),
}
"""Their numbers, in the order in which they are written; {scipy = "name", ...} is any other one of scipy.stats."""

POSITIVE = ("deviation", "median", "deviation of the logarithm", "a", "b", "shape", "scale")

MOST_ROWS = 1_000_000_000
MOST_AT_ONCE = 20_000_000
"""Numbers of a Latin hypercube, which is made as a whole, and of all lists together."""

SOBOL_BITS = 30

Quantile: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Design:
    """The rows of a study: `names` of what varies, and how a row has its numbers."""

    names: tuple[str, ...]
    method: str
    rows: int
    seed: int
    listed: tuple[Array, ...] = ()
    """The numbers of each, of a grid or a list."""
    quantiles: tuple[Quantile, ...] = ()
    """From (0, 1) to the numbers of each, where they are drawn."""
    mixing: Array | None = None
    """The Cholesky factor of the correlations."""

    def draw(self, first: int, count: int) -> dict[str, Array]:
        """The numbers of some rows, by name, (count,) each."""
        rows = np.arange(first, first + count)
        if self.method == "list":
            return {name: x[rows] for name, x in zip(self.names, self.listed, strict=True)}
        if self.method == "grid":
            places = np.unravel_index(rows, tuple(map(len, self.listed)))
            return {name: x[at] for name, x, at in zip(self.names, self.listed, places, strict=True)}
        u = self._uniform(first, count)
        if self.mixing is not None:
            z = _normal().ppf(u)
            u = _normal().cdf(sum(z[:, k, None] * self.mixing[:, k] for k in range(len(self.names))))
        found = zip(self.names, self.quantiles, np.ascontiguousarray(u.T), strict=True)
        return {name: quantile(column) for name, quantile, column in found}

    def _uniform(self, first: int, count: int) -> Array:
        """Numbers strictly between 0 and 1, (count, names)."""
        d = len(self.names)
        if self.method == "latin_hypercube":
            return _hypercube(self.rows, d, self.seed)[first : first + count]
        if self.method == "sobol":
            return _sobol(first, count, d, self.seed)
        if self.method == INDICES:
            base, last = first // (d + 2), (first + count - 1) // (d + 2)
            begin = first - base * (d + 2)
            return _crossed(_sobol(base, last - base + 1, 2 * d, self.seed))[begin : begin + count]
        blocks = -(-d // 4)  # a step of the counter gives four numbers
        stream = np.random.Philox(key=self.seed).advance(first * blocks)
        raw = stream.random_raw(count * blocks * 4).reshape(count, -1)[:, :d]
        return ((raw >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52


def design_of(study: Study) -> Design:
    """The design that a study asks for, checked but for the names of what varies."""
    vary, part = study.reader("vary"), study.reader("design")
    part.check_keys(("method", "count", "seed", "correlations"))
    entries = entries_of(vary)
    if not entries:
        vary.fail(None, 'nothing varies; expected an entry such as "payload.mass" = {uniform = [0, 3]}')
    ways = _ways(vary, entries)
    listed = all(isinstance(way, np.ndarray) for way in ways.values())
    method = part.text("method", "grid" if listed else "random")
    if method not in METHODS:
        near = nearest(method, METHODS)
        guess = f"did you mean {near!r}? " if near else ""
        part.fail("method", f"unknown method {method!r}; {guess}Known: {', '.join(METHODS)}")
    seed = _whole(part, "seed", 0, 0, 2**63 - 1)
    if method in LISTED:
        return _listed(vary, part, method, seed, ways)
    rows = _whole(part, "count", None, 1, MOST_ROWS)
    if method == INDICES:
        rows = _indices(part, rows, len(ways))
    if method == "latin_hypercube" and rows * len(ways) > MOST_AT_ONCE:
        part.fail("count", f"a Latin hypercube of {rows} rows is too large to be made whole; take sobol or random")
    quantiles = tuple(_choice(way) if isinstance(way, np.ndarray) else way for way in ways.values())
    return Design(tuple(ways), method, rows, seed, (), quantiles, _mixing(part, tuple(ways)))


def entries_of(part: Reader) -> dict[str, Any]:
    """Every entry under its whole name: payload.mass without quotes is a table in TOML."""
    found: dict[str, Any] = {}
    words = (*DISTRIBUTIONS, "from", "count", "scipy")

    def look(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping) and value and not any(nearest(key, words) for key in value):
            for key, inner in value.items():
                look(f"{prefix}.{key}", inner)
        else:
            found[prefix] = value

    for key, value in part.data.items():
        look(str(key), value)
    return found


def _ways(vary: Reader, entries: Mapping[str, Any]) -> dict[str, Array | Quantile]:
    """How each number varies; those that are listed are not more than memory has room for."""
    ways: dict[str, Array | Quantile] = {}
    left = MOST_AT_ONCE
    for name, value in entries.items():
        ways[name] = way = _entry(vary, name, value)
        left -= len(way) if isinstance(way, np.ndarray) else 0
        if left < 0:
            vary.fail(name, f"with it more than {MOST_AT_ONCE} numbers are listed; expected fewer, or a distribution")
    return ways


def _entry(part: Reader, name: str, value: Any) -> Array | Quantile:
    """The numbers that are listed, or the quantile function of a distribution."""
    if isinstance(value, (list, tuple, np.ndarray)):
        try:
            numbers = np.asarray(value)
        except ValueError:  # lists that are not equally long
            numbers = np.zeros(0)
        if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iuf":
            part.fail(name, f"{value!r} is no list of numbers; expected such as [0, 1, 2]")
        return _finite(part, name, numbers.astype(float))
    if not isinstance(value, Mapping):
        part.fail(name, f"{value!r}: expected a list of numbers, {{from =, to =, count =}}, or {{uniform = [0, 3]}}")
    own = Reader(value, lambda key: part.where(name))
    if "from" in value or "to" in value:
        own.check_keys(("from", "to", "count"))
        low, high, count = own.number("from"), own.number("to"), _whole(own, "count", None, 1, MOST_AT_ONCE)
        return np.linspace(low, high, count)
    return _distribution(own)


def _finite(part: Reader, name: str, numbers: Array) -> Array:
    if not np.isfinite(numbers).all():
        part.fail(name, f"{numbers[~np.isfinite(numbers)][0]} is not finite; expected numbers")
    return numbers


def _distribution(own: Reader) -> Quantile:
    own.check_keys(("scipy", "args", "loc", "scale") if "scipy" in own.data else DISTRIBUTIONS)
    if "scipy" not in own.data and len(own.data) != 1:
        own.fail(None, f"{dict(own.data)!r}: expected one distribution, such as {{uniform = [0, 3]}}")
    (kind,) = own.data if "scipy" not in own.data else ("scipy",)
    frozen = _other(own) if kind == "scipy" else _frozen(own, kind)
    with np.errstate(all="ignore"):
        ends = np.asarray(frozen.ppf([0.25, 0.5, 0.75]), float)
    if not np.isfinite(ends).all():
        own.fail(kind, f"no number has the distribution {own.data[kind]!r}; look at the order and signs of its numbers")
    return _Quantile(frozen)


@dataclass(frozen=True, eq=False)
class _Quantile:
    """From (0, 1) to the numbers of a distribution."""

    frozen: Any

    def __call__(self, u: Array) -> Array:
        found: Array = self.frozen.ppf(u)
        return found


def _frozen(own: Reader, kind: str) -> Any:
    """A distribution of SciPy with its numbers in the order that `DISTRIBUTIONS` has."""
    from scipy import stats  # noqa: PLC0415  (takes a second)

    x = own.numbers(kind, len(DISTRIBUTIONS[kind]))
    if wrong := _wrong(kind, dict(zip(DISTRIBUTIONS[kind], x, strict=True))):
        own.fail(kind, f"{kind} = {own.data[kind]!r}, which is {', '.join(DISTRIBUTIONS[kind])}: {wrong}")
    made: dict[str, Callable[..., Any]] = {
        "uniform": lambda low, high: stats.uniform(low, high - low),
        "log_uniform": stats.loguniform,
        "normal": stats.norm,
        "truncated_normal": lambda m, s, low, high: stats.truncnorm((low - m) / s, (high - m) / s, m, s),
        "lognormal": lambda median, s: stats.lognorm(s, scale=median),
        "triangular": lambda low, mode, high: stats.triang((mode - low) / (high - low), low, high - low),
        "beta": lambda a, b, low, high: stats.beta(a, b, low, high - low),
        "gamma": lambda shape, scale: stats.gamma(shape, scale=scale),
        "weibull": lambda shape, scale: stats.weibull_min(shape, scale=scale),
        "exponential": lambda scale: stats.expon(scale=scale),
    }
    return made[kind](*x)


def _wrong(kind: str, numbers: Mapping[str, float]) -> str:
    """Why there is no such distribution; nothing if there is one."""
    for key, value in numbers.items():
        if value <= 0 and (key in POSITIVE or (key, kind) == ("low", "log_uniform")):
            return f"{key} = {value:g} is not above zero"
    low, high = numbers.get("low", 0.0), numbers.get("high", 1.0)
    if not low < high:
        return f"low = {low:g} is not below high = {high:g}"
    if not low <= (mode := numbers.get("mode", low)) <= high:
        return f"mode = {mode:g} is not between low = {low:g} and high = {high:g}"
    return ""


def _other(own: Reader) -> Any:
    """Any continuous distribution of SciPy by its name there."""
    from scipy import stats  # noqa: PLC0415

    kind = getattr(stats, own.text("scipy", ""), None)
    if not isinstance(kind, stats.rv_continuous):
        own.fail("scipy", f"scipy.stats has no continuous distribution {own.data['scipy']!r}")
    shapes = own.data.get("args", [])
    if not isinstance(shapes, Sequence) or len(shapes) != kind.numargs:
        own.fail("args", f"args = {shapes!r}; {own.data['scipy']} has {kind.numargs}: {kind.shapes or 'none'}")
    args = own.numbers("args", len(shapes)) if shapes else []
    return kind(*args, loc=own.number("loc", 0.0), scale=own.number("scale", 1.0))


def _choice(numbers: Array) -> Quantile:
    """Listed numbers, each as likely as the others."""
    return lambda u: numbers[np.minimum((u * len(numbers)).astype(int), len(numbers) - 1)]


def _listed(vary: Reader, part: Reader, method: str, seed: int, ways: Mapping[str, Array | Quantile]) -> Design:
    for name, way in ways.items():
        if not isinstance(way, np.ndarray):
            vary.fail(name, f"a {method} has no distributions; list its numbers, or take another method in [design]")
    for key in ("count", "correlations"):
        if key in part.data:
            part.fail(key, f"a {method} is all its numbers, in their order; leave {key} out")
    listed = tuple(np.asarray(way) for way in ways.values())
    lengths = [len(numbers) for numbers in listed]
    if method == "list" and len(set(lengths)) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in zip(ways, lengths, strict=True))
        vary.fail(None, f"{told}; a list goes through all of them together, so expected as many of each")
    rows = lengths[0] if method == "list" else math.prod(lengths)
    if rows > MOST_ROWS:
        vary.fail(None, f"the grid has {rows} points; expected at most {MOST_ROWS}")
    return Design(tuple(ways), method, rows, seed, listed)


def _indices(part: Reader, base: int, d: int) -> int:
    """The rows of a design for Sobol indices, which are of numbers that do not depend on each other."""
    if part.data.get("correlations"):
        part.fail(
            "correlations",
            "Sobol indices are of independent numbers; leave correlations out, or take another method, of which rank "
            "correlations are told",
        )
    if (rows := base * (d + 2)) > MOST_ROWS:
        part.fail("count", f"{base} base samples of {d} numbers are {rows} rollouts; expected at most {MOST_ROWS}")
    return rows


def _mixing(part: Reader, names: tuple[str, ...]) -> Array | None:
    """The Cholesky factor of the correlations, if there are any."""
    given = part.data.get("correlations", ())
    if not isinstance(given, (list, tuple)):
        part.fail("correlations", f'{given!r}: expected such as [["payload.mass", "payload.com.z", 0.5]]')
    matrix = np.eye(len(names))
    for entry in given:
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
            part.fail("correlations", f"{pair[0]} and {pair[1]} stand here twice; expected one number for them")
        matrix[i, k] = matrix[k, i] = value
    if not given:
        return None
    if np.linalg.eigvalsh(matrix)[0] < 1e-10:
        part.fail("correlations", "no numbers have all of these correlations at once; make some of them smaller")
    return np.linalg.cholesky(matrix)


def _whole(part: Reader, key: str, default: int | None, least: int, most: int) -> int:
    value = part.data.get(key, default) if default is not None else part.need(key, "; expected how many")
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        part.fail(key, f"{key} = {value!r}: expected a whole number from {least} to {most}")
    return int(value)


def _sobol(first: int, count: int, d: int, seed: int) -> Array:
    """Some points of a scrambled Sobol sequence, (count, d)."""
    from scipy.stats import qmc  # noqa: PLC0415  (takes a second)

    sequence = qmc.Sobol(d, scramble=True, bits=SOBOL_BITS, seed=seed)
    if first:
        sequence.fast_forward(first)
    asked = count if first else 1 << (count - 1).bit_length()  # SciPy warns of a first part that is no power
    return np.asarray(sequence.random(asked))[:count] + 0.5 ** (SOBOL_BITS + 1)


def _crossed(pairs: Array) -> Array:
    """Of points A and B (base samples, 2 d) the rows A, B, A with its first number of B, ... one after the other."""
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
