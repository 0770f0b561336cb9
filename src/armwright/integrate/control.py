"""Step size control: how large an error estimate is, and how long the next step should be.

A rule computes the `ratio` of the estimated error of a step to the tolerance, at most 1 for an accepted step, and the
`factor` by which to change the step. Compiled loops (`backends`) apply the same rule as Python (`runge_kutta`), with
the same `Gains` and `next_length`, so a motion has the same steps either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError, unknown
from armwright.integrate.scalars import Scalars
from armwright.integrate.tableaus import Tableau

MAX_STEP_EXTENSION = 1.01
"""Factor by which a step may grow to end at a stop, instead of leaving a very short step."""

STEP_ROUNDING = 1 + 1e-12
"""Factor by which a step may exceed the longest one, so that a whole number of steps fits between two stops."""

MIN_ERROR_RATIO, MIN_PREVIOUS_RATIO = 1e-10, 1e-4
"""Lower bounds of the error ratios of a step and of the step before."""


@dataclass(frozen=True)
class Gains:
    """The constants of a step rule.

    An accepted step changes h by the factor safety ratio^-alpha previous^beta, with the ratio of the previous step of
    full length. A rejected step changes h by safety ratio^-retry, and the first accepted step after it by at most
    `hold`. All factors are limited to shrink ... grow.
    """

    alpha: float
    beta: float
    retry: float
    safety: float = 0.9
    shrink: float = 0.2
    grow: float = 10.0
    hold: float = 1.0

    @classmethod
    def pi(cls, tableau: Tableau) -> Gains:
        """Proportional-integral control (Gustafsson; Hairer and Wanner, Solving ODEs II, IV.2).

        The error goes as h^k. The exponents are 0.7/k and 0.4/k; for k >= 7 there is no integral part, as in Hairer's
        DOP853.
        """
        k = tableau.estimate_order
        return cls(1 / k, 0.0, 1 / k) if k >= 7 else cls(0.7 / k, 0.4 / k, 1 / k)

    @classmethod
    def machado(cls, tableau: Tableau, consistent: bool = False) -> Gains:
        """Equation (14) of Machado and Galhano 1995: h is changed by 0.9 (TOL / LTE)^(1 / (max(p, q) + 1)).

        By their (13) the exponent should be 1 / (min(p, q) + 1), which is `consistent`. They give no limits of the
        factor; as LTE may vanish, these are 0.1 ... 10 here.
        """
        printed = max(tableau.order, tableau.embedded or 0) + 1
        power = 1 / (tableau.estimate_order if consistent else printed)
        return cls(power, 0.0, power, shrink=0.1, hold=10.0)


Norm = Callable[[Array, Array, Array], float]


class StepRule:
    """A step rule with its memory: the error ratio of the previous step, and whether the last attempt was rejected.

    Set `previous_ratio` and `rejected` to continue an interrupted run.
    """

    def __init__(self, gains: Gains, norm: Norm, order: int) -> None:
        self.gains, self.norm, self.order = gains, norm, order
        self.previous_ratio, self.rejected = MIN_PREVIOUS_RATIO, False

    def ratio(self, errors: Sequence[Array], y: Array, y_end: Array) -> float:
        """Return the norm of the error; two estimates give e^2 / sqrt(e^2 + 0.01 e2^2), as in Hairer's DOP853."""
        sizes = [self.norm(error, y, y_end) for error in errors]
        if len(sizes) == 1 or not sizes[0]:
            return sizes[0]
        return sizes[0] ** 2 / math.hypot(sizes[0], 0.1 * sizes[1])

    def factor(self, ratio: float, full_length: bool) -> float:
        """Return the factor for the next step; `full_length` is False for a step shortened to end at a stop."""
        g = self.gains
        if not ratio <= 1:
            self.rejected = True
            return max(g.shrink, g.safety * ratio**-g.retry) if math.isfinite(ratio) else g.shrink
        factor: float = g.safety * max(ratio, MIN_ERROR_RATIO) ** -g.alpha * self.previous_ratio**g.beta
        largest = g.hold if self.rejected else g.grow
        self.rejected = False
        if full_length:
            self.previous_ratio = max(ratio, MIN_PREVIOUS_RATIO)
        return min(max(factor, g.shrink), largest)


def next_length(remaining: float, h: float, max_step: float) -> tuple[float, bool, bool]:
    """Return the length of the next step, whether it ends at the next stop, and whether it is shorter than h.

    `remaining` is the time to the stop. Less than two steps are halved, so that no very short step is left.
    """
    if remaining <= min(MAX_STEP_EXTENSION * h, STEP_ROUNDING * max_step):
        return remaining, True, remaining < h
    return (remaining / 2, False, True) if remaining < 2 * h else (h, False, False)


def mean_square(scalars: Scalars, rtol: Any, atol: Any, controlled: int) -> Norm:
    """Return the norm: root mean square of the first `controlled` entries, each divided by atol + rtol |y|."""
    part = slice(controlled)
    relative, absolute = (x if np.ndim(x) == 0 else x[part] for x in (rtol, atol))

    def norm(x: Array, y: Array, y_end: Array) -> float:
        largest = np.maximum(abs(y[part]), abs(y_end[part]))
        entries = scalars.floats(x[part] / (absolute + relative * largest))
        return math.sqrt(float(entries @ entries) / entries.size)

    return norm


def largest_ratio(scalars: Scalars, tolerance: Any, controlled: int) -> Norm:
    """Return the norm: the largest of the first `controlled` entries divided by its tolerance, as in Machado's LTE."""
    allowed = tolerance if np.ndim(tolerance) == 0 else tolerance[:controlled]

    def norm(x: Array, _y: Array, _y_end: Array) -> float:
        return float(max(abs(scalars.floats(x[:controlled] / allowed))))

    return norm


STEP_RULES: dict[str, Callable[[Tableau], Gains]] = {
    "pi": Gains.pi,
    "machado": Gains.machado,
    "machado_consistent": lambda tableau: Gains.machado(tableau, consistent=True),
}
"""The step rules by name."""


def find_rule(
    name: str,
    tableau: Tableau,
    scalars: Scalars,
    rtol: ArrayLike,
    atol: ArrayLike,
    size: int,
    controlled: int | None = None,
) -> StepRule:
    """Return the rule for a state of this size, whose first `controlled` entries count in the error (None: all)."""
    if name not in STEP_RULES:
        raise unknown("step rule", name, STEP_RULES)
    relative, absolute = tolerances(scalars, rtol, atol, size)
    eps = scalars.eps if scalars.objects else float(np.finfo(scalars.dtype).eps)
    if name == "pi" and float(np.min(relative)) < eps:
        raise InputError(
            f"rtol = {rtol!r} is finer than {scalars.dtype} numbers are ({eps:.1e}); give a larger rtol, or a state "
            "of finer numbers: float64, or mpmath.mpf with enough digits"
        )
    count = controlled_entries(size, controlled)
    norm = mean_square(scalars, relative, absolute, count) if name == "pi" else largest_ratio(scalars, relative, count)
    return StepRule(STEP_RULES[name](tableau), norm, tableau.estimate_order)


def controlled_entries(size: int, controlled: int | None) -> int:
    """Return the number of entries of a state that count in its error."""
    if controlled is not None and (not isinstance(controlled, Integral) or not 1 <= controlled <= size):
        raise InputError(f"controlled = {controlled!r}: expected 1 to {size}, how many entries of y count in the error")
    return size if controlled is None else controlled


def tolerances(scalars: Scalars, rtol: ArrayLike, atol: ArrayLike, size: int) -> tuple[Any, Any]:
    """Return rtol and atol in the scalars of the state, each one number or one for each entry."""
    return _tolerance("rtol", rtol, scalars, size), _tolerance("atol", atol, scalars, size)


def _tolerance(name: str, value: ArrayLike, scalars: Scalars, size: int) -> Any:
    try:
        array = np.asarray(value)
    except ValueError:  # rows that differ in length
        array = None
    if array is None or array.dtype.kind in "US" or np.ma.is_masked(value):
        raise InputError(
            f"{name} = {value!r} is not a tolerance; expected a positive number, or one for each entry of y"
        )
    if array.shape not in ((), (size,)):
        raise InputError(
            f"{name} has shape {array.shape}; expected a number, or {size} of them, one for each entry of y"
        )
    entries = [positive(name, x, scalars) for x in array.ravel().tolist()]
    return entries[0] if array.ndim == 0 else np.array(entries, scalars.dtype)


def positive(name: str, value: Any, scalars: Scalars) -> Any:
    """Return a tolerance in the scalars of the state; raise an InputError unless it is positive."""
    try:
        number = scalars.number(value)
        if number > 0 and number - number == 0:
            return number
    except (TypeError, ValueError, ArithmeticError):
        pass
    raise InputError(f"{name} = {value!r} is not a tolerance; expected a positive number")
