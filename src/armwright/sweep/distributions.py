"""Distributions of the numbers that vary in a study, from SciPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.model.table_reader import Reader

Quantile: TypeAlias = Callable[[Array], Array]
"""A quantile function: from (0, 1) to numbers."""

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
"""The parameters of each distribution, in the order of a study; {scipy = "name", ...} selects one of scipy.stats."""

POSITIVE_NUMBERS = ("deviation", "median", "deviation of the logarithm", "a", "b", "shape", "scale")


def quantile_function(reader: Reader) -> Quantile:
    """Return the quantile function of a table with one distribution, such as {uniform = [0, 3]}."""
    reader.check_keys(("scipy", "args", "loc", "scale") if "scipy" in reader.data else DISTRIBUTIONS)
    if "scipy" not in reader.data and len(reader.data) != 1:
        reader.fail(None, f"{dict(reader.data)!r}: expected one distribution, such as {{uniform = [0, 3]}}")
    (kind,) = reader.data if "scipy" not in reader.data else ("scipy",)
    distribution = _scipy_distribution(reader) if kind == "scipy" else _listed_distribution(reader, kind)
    with np.errstate(all="ignore"):
        quartiles = np.asarray(distribution.ppf([0.25, 0.5, 0.75]), float)
    if not np.isfinite(quartiles).all():
        reader.fail(kind, f"{reader.data[kind]!r} has no finite quartiles; check order and signs of its numbers")
    return _QuantileFunction(distribution)


@dataclass(frozen=True, eq=False)
class _QuantileFunction:
    """The quantile function of a distribution of SciPy, which can be pickled."""

    distribution: Any

    def __call__(self, u: Array) -> Array:
        found: Array = self.distribution.ppf(u)
        return found


def _listed_distribution(reader: Reader, kind: str) -> Any:
    """Return a distribution with its numbers in the order of `DISTRIBUTIONS`."""
    from scipy import stats  # noqa: PLC0415  (takes a second)

    x = reader.numbers(kind, len(DISTRIBUTIONS[kind]))
    if reason := _invalid_numbers(kind, dict(zip(DISTRIBUTIONS[kind], x, strict=True))):
        reader.fail(kind, f"{kind} = {reader.data[kind]!r}, which is {', '.join(DISTRIBUTIONS[kind])}: {reason}")
    constructors: dict[str, Callable[..., Any]] = {
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
    return constructors[kind](*x)


def _invalid_numbers(kind: str, numbers: Mapping[str, float]) -> str:
    """Return why there is no such distribution; an empty text if there is one."""
    for key, value in numbers.items():
        if value <= 0 and (key in POSITIVE_NUMBERS or (key, kind) == ("low", "log_uniform")):
            return f"{key} = {value:g} is not above zero"
    low, high = numbers.get("low", 0.0), numbers.get("high", 1.0)
    if not low < high:
        return f"low = {low:g} is not below high = {high:g}"
    if not low <= (mode := numbers.get("mode", low)) <= high:
        return f"mode = {mode:g} is not between low = {low:g} and high = {high:g}"
    return ""


def _scipy_distribution(reader: Reader) -> Any:
    """Return any continuous distribution of scipy.stats, by its name there."""
    from scipy import stats  # noqa: PLC0415

    kind = getattr(stats, reader.text("scipy", ""), None)
    if not isinstance(kind, stats.rv_continuous):
        reader.fail("scipy", f"scipy.stats has no continuous distribution {reader.data['scipy']!r}")
    shapes = reader.data.get("args", [])
    if not isinstance(shapes, Sequence) or len(shapes) != kind.numargs:
        reader.fail("args", f"args = {shapes!r}; {reader.data['scipy']} has {kind.numargs}: {kind.shapes or 'none'}")
    args = reader.numbers("args", len(shapes)) if shapes else []
    return kind(*args, loc=reader.number("loc", 0.0), scale=reader.number("scale", 1.0))
