"""Step size control: how large an error estimate is, and how long the next step should be.

A rule is asked for the `ratio` of the estimated error of a step to what is tolerated, which must not exceed 1, and
then for the `factor` by which to change the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError, unknown
from armwright.integrate.scalars import Scalars
from armwright.integrate.tableaus import Tableau

SAFETY = 0.9


class Rule(Protocol):
    """`whole` tells steps as long as was proposed from those cut short to end at a given time."""

    def norm(self, x: Array, y: Array, y_end: Array) -> float: ...
    def factor(self, ratio: float, whole: bool) -> float: ...


def ratio(rule: Rule, errors: Sequence[Array], y: Array, y_end: Array) -> float:
    """The size of an error estimate; two are combined to e^2 / sqrt(e^2 + 0.01 e2^2), as in Hairer's DOP853."""
    sizes = [rule.norm(error, y, y_end) for error in errors]
    if len(sizes) == 1 or not sizes[0]:
        return sizes[0]
    return sizes[0] ** 2 / math.hypot(sizes[0], 0.1 * sizes[1])


class PI:
    """Proportional-integral control (Gustafsson; Hairer and Wanner, Solving ODEs II, IV.2).

    The error is measured by the root mean square of its entries, each over atol + rtol |y|; it goes as h^k, and is
    aimed at 0.9^k. After an accepted step h is changed by (ratio / aim)^(-0.7/k) (ratio before / aim)^(0.4/k); after
    a rejected one by (ratio / aim)^(-1/k), and then it does not grow at once. The change is limited to 0.2 ... 10.
    """

    SHRINK, GROW = 0.2, 10.0

    def __init__(self, tableau: Tableau, scalars: Scalars, rtol: Any, atol: Any) -> None:
        self.k, self.scalars, self.rtol, self.atol = tableau.estimate_order, scalars, rtol, atol
        self.aim: float = SAFETY**self.k
        self.before = self.aim
        self.rejected = False

    def norm(self, x: Array, y: Array, y_end: Array) -> float:
        entries = self.scalars.floats(x / (self.atol + self.rtol * np.maximum(abs(y), abs(y_end))))
        return math.sqrt(float(entries @ entries) / entries.size)

    def factor(self, ratio: float, whole: bool) -> float:
        if not ratio <= 1:
            self.rejected = True
            return max(self.SHRINK, (self.aim / ratio) ** (1 / self.k)) if math.isfinite(ratio) else self.SHRINK
        size = max(ratio, 1e-10)
        factor: float = (self.aim / size) ** (0.7 / self.k) * (self.before / self.aim) ** (0.4 / self.k)
        most = 1.0 if self.rejected else self.GROW
        self.rejected = False
        if whole:
            self.before = size
        return min(max(factor, self.SHRINK), most)


class Machado:
    """Equation (14) of Machado and Galhano 1995: h is changed by 0.9 (TOL / LTE)^(1 / (max(p, q) + 1)).

    LTE is the largest entry of |y - yhat|, against one tolerance for all entries. By their own (13) the exponent
    should be 1 / (min(p, q) + 1): that is `consistent`. They give no limits, but LTE may vanish: here 0.1 ... 10.
    """

    SHRINK, GROW = 0.1, 10.0

    def __init__(self, tableau: Tableau, scalars: Scalars, tolerance: Any, consistent: bool) -> None:
        printed = max(tableau.order, tableau.embedded or 0) + 1
        self.power = -1 / (tableau.estimate_order if consistent else printed)
        self.scalars, self.tolerance = scalars, tolerance

    def norm(self, x: Array, y: Array, y_end: Array) -> float:
        return float(max(abs(self.scalars.floats(x / self.tolerance))))

    def factor(self, ratio: float, whole: bool) -> float:
        if not math.isfinite(ratio):
            return self.SHRINK
        return min(max(SAFETY * ratio**self.power, self.SHRINK), self.GROW) if ratio else self.GROW


RULES: dict[str, Callable[[Tableau, Scalars, Any, Any], Rule]] = {
    "pi": PI,
    "machado": lambda tableau, scalars, rtol, atol: Machado(tableau, scalars, rtol, consistent=False),
    "machado_consistent": lambda tableau, scalars, rtol, atol: Machado(tableau, scalars, rtol, consistent=True),
}
"""The step rules by name."""


def find_rule(name: str, tableau: Tableau, scalars: Scalars, rtol: Any, atol: ArrayLike, size: int) -> Rule:
    if name not in RULES:
        raise unknown("step rule", name, RULES)
    relative, absolute = tolerances(scalars, rtol, atol, size)
    coarse = float(np.finfo(scalars.dtype).eps) if not scalars.objects else scalars.eps
    if name == "pi" and float(relative) < coarse:
        raise InputError(
            f"rtol = {rtol} is finer than {scalars.dtype} numbers are ({coarse:.1e}); give a larger rtol, or a state "
            "of finer numbers: float64, or mpmath.mpf with enough digits"
        )
    return RULES[name](tableau, scalars, relative, absolute)


def tolerances(scalars: Scalars, rtol: Any, atol: ArrayLike, size: int) -> tuple[Any, Any]:
    """rtol and atol as numbers that mix with the state; atol may be one number or one for each entry."""
    array = np.asarray(atol)
    if array.shape not in ((), (size,)):
        raise InputError(f"atol has shape {array.shape}; expected a number, or {size} of them, one for each entry of y")
    entries = [_positive("atol", x, scalars) for x in array.ravel().tolist()]
    relative = _positive("rtol", rtol, scalars)
    return relative, entries[0] if array.ndim == 0 else np.array(entries, scalars.dtype)


def _positive(name: str, value: Any, scalars: Scalars) -> Any:
    try:
        number = scalars.number(value)
        if number > 0 and number - number == 0:
            return number
    except (TypeError, ValueError):
        pass
    raise InputError(f"{name} = {value!r} is not a tolerance; expected a positive number")
