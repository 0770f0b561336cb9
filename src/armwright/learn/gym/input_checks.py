"""Checks of input from users: numbers of a task, results of its functions, seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.arrays import masked, whole_number
from armwright.errors import InputError

ARRAY_KINDS: dict[type, tuple[str, str]] = {
    bool: ("b", "True or False"),
    float: ("fiub", "numbers"),
    object: ("fiubcUS", "numbers, True or False, or text"),
}
"""Kinds of NumPy arrays accepted for each type, and their name in errors."""

NON_NEGATIVE_PARAMETERS = ("mass", "viscous", "coulomb", "armature")
"""Parameters of a robot that are never negative."""


def check_number(name: str, value: object, good: Callable[[float], bool], expected: str) -> None:
    """Raise an InputError unless the value is a finite number for which `good` is true."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value) or not good(value):  # type: ignore[arg-type]
        raise InputError(f"{name} = {value!r}: expected {expected}")


def check_share(name: str, value: object) -> None:
    """Raise an InputError unless the value is above 0 and up to 1."""
    check_number(name, value, lambda x: 0 < x <= 1, "a share of the ranges of the joints, more than 0 and up to 1")


def number_array(name: str, value: object, dtype: type = float) -> Array:
    """Return the value as an array of numbers (or of `dtype`); an InputError for text, complex or masked entries."""
    kinds, expected = ARRAY_KINDS[dtype]
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} is no array ({error}); expected {expected}") from None
    if array.dtype.kind not in kinds or masked(value):
        content = "masked entries" if masked(value) else f"{array.dtype.name} values"
        raise InputError(f"{name} holds {content}; expected {expected}")
    return array


def check_finite_rows(name: str, array: Array) -> None:
    """Raise an InputError if an entry is nan or infinite; it names the row."""
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"{name} is {array[index]} in row {index[0]}; expected finite numbers: look for a division by zero, "
            "a root or a logarithm there"
        )


def checked_rows(name: str, value: object, shape: tuple[int, ...], dtype: type = float) -> Array:
    """Return a copy of the value with one row for each environment; an InputError unless all is finite."""
    array: Array = np.array(number_array(name, value, dtype), dtype)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}, a row for each environment")
    if dtype is float:
        check_finite_rows(name, array)
    return array


def checked_mapping(name: str, value: object, example: str) -> Mapping[str, Any]:
    """Return the value if it is a mapping from names; else raise an InputError."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{name} is {value!r}; expected arrays by name, such as {example}")
    return value


def check_parameter(name: str, value: Array) -> None:
    """Raise an InputError for values that a parameter of a robot cannot have."""
    field = name.rpartition(".")[2]
    if field in NON_NEGATIVE_PARAMETERS and (value < 0).any():
        raise InputError(f"reset gives {name!r} of {value.min():g}; expected zero or more everywhere")
    if field == "inertia":
        smallest = np.linalg.eigvalsh(value[:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]])[:, 0]
        if (smallest < -1e-9 * np.abs(value).max(axis=1)).any():
            raise InputError(
                f"reset gives {name!r} with a principal moment of {smallest.min():g}; expected zero or more, from xx, "
                "yy, zz, xy, xz, yz"
            )


def seed_list(seed: object, count: int) -> list[int | None]:
    """Return a seed for each environment: seed + i, or the i-th of a list; None continues a stream."""
    if isinstance(seed, Integral):
        first = whole_number("seed", seed, 0)
        return [first + i for i in range(count)]
    if isinstance(seed, str) or not isinstance(seed, (Sequence, np.ndarray)) or not np.ndim(seed):
        raise InputError(f"seed = {seed!r}: expected a whole number, 0 or more, or a list with one for each of {count}")
    if len(seed) != count:
        raise InputError(f"got {len(seed)} seeds; expected one number, or one for each of {count}")
    return [None if value is None else whole_number(f"seed[{i}]", value, 0) for i, value in enumerate(seed)]
