"""The scalars of a state: double or single precision, or objects with arithmetic, such as mpmath's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armwright.algebra import Array
from armwright.errors import InputError


@dataclass(frozen=True)
class Scalars:
    """The dtype of a state, the constructor `number` of times and coefficients, and the rounding `eps` of a time.

    The time of a state in single precision is a double, so that adding small steps to it loses no digits.
    """

    dtype: np.dtype[Any]
    number: Callable[[Any], Any]
    eps: float

    @property
    def objects(self) -> bool:
        return self.dtype.kind == "O"

    def finite(self, array: Array) -> bool:
        if self.objects:
            return all(x - x == 0 for x in array)
        # the sum of squares is faster; only its overflow leaves the answer open
        return math.isfinite(array.dot(array)) or bool(np.isfinite(array).all())

    def floats(self, array: Array) -> NDArray[np.float64]:
        return array.astype(np.float64, copy=False)

    def time(self, name: str, value: Any) -> Any:
        """Return a time of the user as a scalar."""
        try:
            time = self.number(value)
            if time - time == 0 and not isinstance(value, str):
                return time
        except (TypeError, ValueError, ArithmeticError):
            pass
        raise InputError(f"{name} = {value!r} is not a time; expected a finite number")


def state(name: str, value: ArrayLike) -> tuple[Array, Scalars]:
    """Return a copy of a state of the user, and its scalars."""
    expected = "expected a one-dimensional array of float64, float32 or objects such as mpmath.mpf"
    if np.ma.is_masked(value):
        raise InputError(f"{name} has masked entries; fill them first")
    try:
        array = np.array(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers ({error}); {expected}") from None
    if array.ndim != 1 or not array.size:
        raise InputError(f"{name} has shape {array.shape}; {expected}")
    scalars = _objects(name, array) if array.dtype.kind == "O" else _floats(array.dtype)
    if scalars is None:
        raise InputError(f"{name} holds {array.dtype.name} values; {expected}")
    array = array.astype(scalars.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = scalars.finite(array)
    if not finite:
        raise InputError(f"{name} = {value!r} contains a number that is not finite")
    return array, scalars


def _floats(dtype: np.dtype[Any]) -> Scalars | None:
    if dtype.kind in "iu":
        dtype = np.dtype(np.float64)
    eps = float(np.finfo(np.float64).eps)
    return Scalars(dtype, float, eps) if dtype in (np.float32, np.float64) else None


def _objects(name: str, array: Array) -> Scalars:
    types = {type(x) for x in array} - {int}
    if len(types) != 1:
        listed = ", ".join(sorted(x.__name__ for x in types)) or "int"
        raise InputError(f"{name} mixes objects of the types {listed}; expected numbers of one type")
    (number,) = types
    if number is float:
        return Scalars(np.dtype(np.float64), float, float(np.finfo(np.float64).eps))
    try:
        return Scalars(array.dtype, number, _eps(number))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds objects of the type {number.__name__}, not numbers ({error})") from None


def _eps(number: Callable[[Any], Any]) -> float:
    """Return the distance from 1 to the next number, or a very small one for exact fractions."""
    one = eps = number(1)
    for _ in range(1000):
        if one + eps / 2 == one:
            break
        eps = eps / 2
    return float(eps)
