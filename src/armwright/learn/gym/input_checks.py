"""What a user gives, looked at before it is used: numbers of a task, what its parts return, seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.arrays import masked, whole_number
from armwright.errors import InputError

KINDS: dict[type, tuple[str, str]] = {
    bool: ("b", "True or False"),
    float: ("fiub", "numbers"),
    object: ("fiubcUS", "numbers, True or False, or text"),
}
"""What may stand in an array that is to hold these."""

FROM_ZERO = ("mass", "viscous", "coulomb", "armature")
"""Parameters of a robot that are never negative."""


def check_number(name: str, value: object, good: Callable[[float], bool], wanted: str) -> None:
    """Refuse what is no finite number, or not one of those that are wanted."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value) or not good(value):  # type: ignore[arg-type]
        raise InputError(f"{name} = {value!r}: expected {wanted}")


def check_share(name: str, value: object) -> None:
    check_number(name, value, lambda x: 0 < x <= 1, "a share of the ranges of the joints, more than 0 and up to 1")


def number_array(name: str, value: object, dtype: type = float) -> Array:
    """What is given as an array, if it holds what is asked for: no text, complex number or masked entry."""
    kinds, wanted = KINDS[dtype]
    try:
        found = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} is no array ({error}); expected {wanted}") from None
    if found.dtype.kind not in kinds or masked(value):
        held = "masked entries" if masked(value) else f"{found.dtype.name} values"
        raise InputError(f"{name} holds {held}; expected {wanted}")
    return found


def check_finite_rows(name: str, found: Array) -> None:
    """Refuse rows of which one is nan or infinite."""
    if not np.isfinite(found).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
        raise InputError(
            f"{name} is {found[place]} in row {place[0]}; expected finite numbers: look for a division by zero, "
            "a root or a logarithm there"
        )


def checked_rows(name: str, value: object, shape: tuple[int, ...], dtype: type = float) -> Array:
    """A copy of what is given, one row for each environment, all of it finite."""
    found: Array = np.array(number_array(name, value, dtype), dtype)
    if found.shape != shape:
        raise InputError(f"{name} has shape {found.shape}; expected {shape}, a row for each environment")
    if dtype is float:
        check_finite_rows(name, found)
    return found


def checked_mapping(name: str, value: object, example: str) -> Mapping[str, Any]:
    """What is given, if it has names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{name} is {value!r}; expected arrays by name, such as {example}")
    return value


def check_parameter(name: str, value: Array) -> None:
    """Refuse parameters that no robot has."""
    field = name.rpartition(".")[2]
    if field in FROM_ZERO and (value < 0).any():
        raise InputError(f"reset gives {name!r} of {value.min():g}; expected zero or more everywhere")
    if field == "inertia":
        least = np.linalg.eigvalsh(value[:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]])[:, 0]
        if (least < -1e-9 * np.abs(value).max(axis=1)).any():
            raise InputError(
                f"reset gives {name!r} with a principal moment of {least.min():g}; expected zero or more, of xx, yy, "
                "zz, xy, xz, yz"
            )


def seed_list(seed: object, count: int) -> list[int | None]:
    """A seed for each environment, None for those that go on drawing: seed + i, or the i-th of a list."""
    if isinstance(seed, Integral):
        first = whole_number("seed", seed, 0)
        return [first + i for i in range(count)]
    if isinstance(seed, str) or not isinstance(seed, (Sequence, np.ndarray)) or not np.ndim(seed):
        raise InputError(f"seed = {seed!r}: expected a whole number, 0 or more, or a list with one for each of {count}")
    if len(seed) != count:
        raise InputError(f"got {len(seed)} seeds; expected one number, or one for each of {count}")
    return [None if value is None else whole_number(f"seed[{i}]", value, 0) for i, value in enumerate(seed)]
