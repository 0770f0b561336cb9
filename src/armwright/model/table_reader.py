"""A reader of numbers, vectors and tensors in a table, with errors that name the place and the fault."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from armwright.algebra import from_quaternion
from armwright.arrays import masked
from armwright.errors import ModelError, name_hint
from armwright.model import units
from armwright.model.transforms import (
    IDENTITY_TRANSFORM,
    Tensor,
    Transform,
    Triple,
    tensor,
    tensor_entries,
    transform,
    triple,
)

_PI = re.compile(r"^\s*([+-]?)\s*(?:(\d+(?:\.\d*)?)\s*\*?\s*)?pi(?:\s*/\s*(\d+(?:\.\d*)?))?\s*$")


class Reader:
    """A reader of one mapping, a DH row or TOML table; `where(key)` names the place of a key for messages."""

    def __init__(self, data: Mapping[str, Any], where: Callable[[str | None], str]) -> None:
        self.data, self.where = data, where

    def fail(self, key: str | None, message: str) -> NoReturn:
        raise ModelError(f"{self.where(key)}: {message}")

    def check_keys(self, known: Iterable[str], hint: str = "") -> None:
        names = list(known)
        for key in self.data:
            if key not in names:
                self.fail(key, f"unknown key {key!r}; {name_hint(key, names)}{hint}Known keys: {', '.join(names)}")

    def need(self, key: str, hint: str = "") -> Any:
        if key not in self.data:
            self.fail(None, f"missing key {key!r}{hint}")
        return self.data[key]

    def number(self, key: str, default: float | None = None) -> float:
        if default is not None and key not in self.data:
            return default
        return self._finite(key, self.need(key))

    def at_least_zero(self, key: str, unit: str, default: float | None = None) -> float:
        value = self.number(key, default)
        if value < 0:
            self.fail(key, f"{key} = {value!r} is negative; expected {unit}, zero or more")
        return value

    def angle(self, key: str, default: float | None = None) -> float:
        """Return radians, also from a string such as "pi/2", "-3pi/4", "90 deg"."""
        if default is not None and key not in self.data:
            return default
        return self._angle(key, self.need(key))

    def text(self, key: str, default: str) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str):
            self.fail(key, f"{key} = {value!r} is not a text; write it in quotes")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false; false by default."""
        value = self.data.get(key, False)
        if not isinstance(value, (bool, np.bool_)):
            self.fail(key, f"{key} = {value!r}: expected true or false")
        return bool(value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key, ())
        if not isinstance(value, (list, tuple)) or not all(isinstance(entry, str) for entry in value):
            self.fail(key, f"{key} = {value!r} is not a list of texts")
        return tuple(value)

    def triple(self, key: str, default: Triple | None = None) -> Triple:
        if default is not None and key not in self.data:
            return default
        return triple(self.numbers(key, 3))

    def numbers(self, key: str, length: int) -> list[float]:
        return [self._finite(key, value) for value in self._sequence(key, self.need(key), length)]

    def limits(self, key: str, angles: bool) -> tuple[float, float] | None:
        """Return two numbers, which may be infinite; angles may be strings."""
        if self.data.get(key) is None:
            return None
        values = self._sequence(key, self.data[key], 2)
        low, high = (
            self._angle(key, value) if angles and isinstance(value, str) else self._real(key, value) for value in values
        )
        if math.isnan(low) or math.isnan(high):
            self.fail(key, f"{key} = {self.data[key]!r} contains nan; expected numbers, or inf for no limit")
        return low, high

    def tensor(self, key: str, default: Tensor | None = None) -> Tensor:
        """Return a tensor from a 3x3 matrix, or from xx yy zz xy xz yz."""
        if default is not None and key not in self.data:
            return default
        value = self.need(key)
        expected = "expected 3 rows of 3 numbers, or the six values xx yy zz xy xz yz"
        array = _numbers(value, lambda: self.fail(key, f"{key} = {value!r} is not a tensor; {expected}"))
        if array.shape == (6,):
            array = np.array(tensor(array))
        if array.shape != (3, 3):
            self.fail(key, f"{key} has shape {array.shape}; {expected}")
        if not np.isfinite(array).all():
            self.fail(key, f"{key} = {value!r} contains a number that is not finite")
        difference = np.abs(array - array.T).max()
        if difference > 1e-9 * np.abs(array).max():
            self.fail(key, f"{key} is not symmetric, as an inertia tensor is: entries differ by {difference:.3g}")
        return tensor(tensor_entries((array + array.T) / 2))

    def transform(self, key: str, default: Transform) -> Transform:
        """Return a 4x4 homogeneous transform, also from a position and a unit quaternion."""
        if self.data.get(key) is None:
            return default
        return as_transform(self.data[key], lambda message: self.fail(key, f"{key}: {message}"))

    def _angle(self, key: str, value: Any) -> float:
        if not isinstance(value, str):
            return self._finite(key, value)
        try:
            angle = units.read_quantity(value, units.ANGLE)
        except units.WrongUnit as error:
            self.fail(key, f"{key}: {error}")
        if angle is not None:
            return angle
        parts = _PI.match(value if len(value) <= units.MAX_QUANTITY_CHARS else "")
        if parts and float(parts[3] or 1):
            return (-1 if parts[1] == "-" else 1) * float(parts[2] or 1) * math.pi / float(parts[3] or 1)
        self.fail(key, f"{key} = {value!r} is not an angle; expected radians, or a string like 'pi/2' or '90 deg'")

    def _real(self, key: str, value: Any) -> float:
        if masked(value):
            self.fail(key, f"{key} is masked; give its number, or omit it")
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
            self.fail(key, f"{key} = {value!r} is not a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        return number

    def _finite(self, key: str, value: Any) -> float:
        number = self._real(key, value)
        if not math.isfinite(number):
            self.fail(key, f"{key} = {str(value)[:30]} is not finite")
        return number

    def _sequence(self, key: str, value: Any, length: int) -> Sequence[Any]:
        if masked(value):
            self.fail(key, f"{key} has masked entries; fill them first")
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != length:
            self.fail(key, f"{key} = {value!r} does not fit; expected {length} numbers")
        return value


def _numbers(value: Any, fail: Callable[[], NoReturn]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return an array of real numbers; texts, truth values and complex numbers fail."""
    try:
        array = np.asarray(value)
        entries = array.flat if isinstance(value, np.ndarray) else np.asarray(value, dtype=object).flat
        if array.dtype.kind not in "iuf" or masked(value) or any(isinstance(x, (bool, np.bool_)) for x in entries):
            fail()
        return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        fail()


def as_transform(value: Any, fail: Callable[[str], NoReturn]) -> Transform:
    """Return a checked 4x4 homogeneous transform.

    Seven numbers are a position and a unit quaternion x y z w, as in the q of a free joint.
    """
    array = _numbers(value, lambda: fail(f"{value!r} is not a transform; expected 4 rows of 4 numbers"))
    if array.shape == (7,):
        return _from_seven(array.tolist(), fail)
    if array.shape != (4, 4):
        fail(f"got shape {array.shape}; expected a 4x4 homogeneous transform, or x y z and a quaternion x y z w")
    if not np.isfinite(array).all() or not np.array_equal(array[3], [0, 0, 0, 1]):
        fail(f"the last row must be 0 0 0 1 and every number finite; got {array.tolist()}")
    R = array[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
        fail(f"its upper left 3x3 block is not a rotation: R R^T or the determinant is not 1 in {R.tolist()}")
    return transform(array)


def _from_seven(seven: Sequence[float], fail: Callable[[str], NoReturn]) -> Transform:
    x, y, z, *quaternion = seven
    length = math.hypot(*quaternion)
    if not all(map(math.isfinite, seven)) or abs(length - 1) > 1e-9:
        fail(f"the quaternion {quaternion} has length {length:.9g}; expected x y z w of length 1, and finite numbers")
    R = from_quaternion(*(entry / length for entry in quaternion))
    rows = [(*map(float, row), at) for row, at in zip(R, (x, y, z), strict=True)]
    return (*((a, b, c, d) for a, b, c, d in rows), IDENTITY_TRANSFORM[3])
