"""Step size control: how large an error estimate is, and how long the next step should be.

A rule is asked for the `ratio` of the estimated error of a step to what is tolerated, which must not exceed 1, and then
for the `factor` by which to change the step. The same rule runs in Python (`runge_kutta`) and in compiled loops
(`backends`), which take their numbers from `Gains` and the length of a step from `ahead`: a motion has the same
steps either way.
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
"""A step may be so much longer if it then ends at a stop: what would be left of the way is not worth a step."""

STEP_ROUNDING = 1 + 1e-12
"""Factor by which the longest step may be exceeded, so that a whole number fits between two stops."""

MIN_ERROR_RATIO, MIN_PREVIOUS_RATIO = 1e-10, 1e-4
"""Smallest error ratios that count: of a step, and of the step before."""


@dataclass(frozen=True)
class Gains:
    """The numbers of a step rule.

    After an accepted step h is changed by safety ratio^-alpha before^beta, `before` being the ratio of the step before
    that was as long as proposed; after a rejected one by safety ratio^-retry, and the first accepted step after
    it changes h by at most `hold`. Every change is limited to shrink ... grow.
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

        The error goes as h^k. The exponents are 0.7/k and 0.4/k; from k = 7 on the memory is left out, as in Hairer's
        DOP853.
        """
        k = tableau.estimate_order
        return cls(1 / k, 0.0, 1 / k) if k >= 7 else cls(0.7 / k, 0.4 / k, 1 / k)

    @classmethod
    def machado(cls, tableau: Tableau, consistent: bool = False) -> Gains:
        """Equation (14) of Machado and Galhano 1995: h is changed by 0.9 (TOL / LTE)^(1 / (max(p, q) + 1)).

        By their own (13) the exponent should be 1 / (min(p, q) + 1): that is `consistent`. They give no limits, but LTE
        may vanish: here 0.1 ... 10.
        """
        printed = max(tableau.order, tableau.embedded or 0) + 1
        power = 1 / (tableau.estimate_order if consistent else printed)
        return cls(power, 0.0, power, shrink=0.1, hold=10.0)


Norm = Callable[[Array, Array, Array], float]


class StepRule:
    """A rule of step sizes: the size of an error, and the memory of previous steps.

    `before` and `held` (whether the last try was rejected) may be set, to go on where a run was left.
    """

    def __init__(self, gains: Gains, norm: Norm, order: int) -> None:
        self.gains, self.norm, self.order = gains, norm, order
        self.before, self.held = MIN_PREVIOUS_RATIO, False

    def ratio(self, errors: Sequence[Array], y: Array, y_end: Array) -> float:
        """The size of an error estimate; two are combined to e^2 / sqrt(e^2 + 0.01 e2^2), as in Hairer's DOP853."""
        sizes = [self.norm(error, y, y_end) for error in errors]
        if len(sizes) == 1 or not sizes[0]:
            return sizes[0]
        return sizes[0] ** 2 / math.hypot(sizes[0], 0.1 * sizes[1])

    def factor(self, ratio: float, whole: bool) -> float:
        """`whole` tells steps as long as was proposed from those cut short to end at a given time."""
        g = self.gains
        if not ratio <= 1:
            self.held = True
            return max(g.shrink, g.safety * ratio**-g.retry) if math.isfinite(ratio) else g.shrink
        size = max(ratio, MIN_ERROR_RATIO)
        factor: float = g.safety * size**-g.alpha * self.before**g.beta
        most = g.hold if self.held else g.grow
        self.held = False
        if whole:
            self.before = max(ratio, MIN_PREVIOUS_RATIO)
        return min(max(factor, g.shrink), most)


def next_length(left: float, h: float, longest: float) -> tuple[float, bool, bool]:
    """Return the length of a step with a stop `left` away, and two flags: it ends there, it is shorter than h.

    What is left before a stop is never very short: of less than two steps half is gone.
    """
    if left <= min(MAX_STEP_EXTENSION * h, STEP_ROUNDING * longest):
        return left, True, left < h
    return (left / 2, False, True) if left < 2 * h else (h, False, False)


def mean_square(scalars: Scalars, rtol: Any, atol: Any, controlled: int) -> Norm:
    """The root mean square of the first `controlled` entries, each over atol + rtol |y|."""
    part = slice(controlled)
    relative, absolute = (x if np.ndim(x) == 0 else x[part] for x in (rtol, atol))

    def norm(x: Array, y: Array, y_end: Array) -> float:
        largest = np.maximum(abs(y[part]), abs(y_end[part]))
        entries = scalars.floats(x[part] / (absolute + relative * largest))
        return math.sqrt(float(entries @ entries) / entries.size)

    return norm


def largest_ratio(scalars: Scalars, tolerance: Any, controlled: int) -> Norm:
    """The largest of the first `controlled` entries over its tolerance, one for all in Machado and Galhano's LTE."""
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
    """A rule for a state of this size, of which the first `controlled` entries count in the error (None: all)."""
    if name not in STEP_RULES:
        raise unknown("step rule", name, STEP_RULES)
    relative, absolute = tolerances(scalars, rtol, atol, size)
    coarse = float(np.finfo(scalars.dtype).eps) if not scalars.objects else scalars.eps
    if name == "pi" and float(np.min(relative)) < coarse:
        raise InputError(
            f"rtol = {rtol!r} is finer than {scalars.dtype} numbers are ({coarse:.1e}); give a larger rtol, or a state "
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
    """rtol and atol as numbers that mix with the state; each may be one number or one for each entry."""
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
    """Return a tolerance as a number that mixes with the state."""
    try:
        number = scalars.number(value)
        if number > 0 and number - number == 0:
            return number
    except (TypeError, ValueError, ArithmeticError):
        pass
    raise InputError(f"{name} = {value!r} is not a tolerance; expected a positive number")
