"""Reading numbers, vectors and tensors that a person wrote, with errors that say where and what."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

import numpy as np

from armwright.errors import ModelError
from armwright.model.description import Tensor, Transform, Triple

_PI = re.compile(r"^\s*(-?)\s*(?:(\d+(?:\.\d*)?)\s*\*?\s*)?pi(?:\s*/\s*(\d+(?:\.\d*)?))?\s*$")
_DEGREES = re.compile(r"^\s*(-?\d+(?:\.\d*)?)\s*deg\s*$")


class Reader:
    """One mapping (a DH row, a TOML table) being read. `where(key)` names the place of a key for messages."""

    def __init__(self, data: Mapping[str, Any], where: Callable[[str | None], str]) -> None:
        self.data, self.where = data, where

    def fail(self, key: str | None, message: str) -> NoReturn:
        raise ModelError(f"{self.where(key)}: {message}")

    def check_keys(self, known: Iterable[str]) -> None:
        names = list(known)
        for key in self.data:
            if key not in names:
                near = get_close_matches(str(key), names, n=1)
                guess = f"did you mean {near[0]!r}? " if near else ""
                self.fail(key, f"unknown key {key!r}; {guess}Known keys: {', '.join(names)}")

    def need(self, key: str) -> Any:
        if key not in self.data:
            self.fail(None, f"missing key {key!r}")
        return self.data[key]

    def number(self, key: str, default: float | None = None) -> float:
        if default is not None and key not in self.data:
            return default
        return self._finite(key, self.need(key))

    def angle(self, key: str, default: float | None = None) -> float:
        """Radians, or a string such as "pi/2", "-3pi/4", "90 deg"."""
        if default is not None and key not in self.data:
            return default
        value = self.need(key)
        if not isinstance(value, str):
            return self._finite(key, value)
        if degrees := _DEGREES.match(value):
            return math.radians(float(degrees[1]))
        if parts := _PI.match(value):
            sign, factor, divisor = parts.groups()
            return (-1 if sign else 1) * float(factor or 1) * math.pi / float(divisor or 1)
        self.fail(key, f"{key} = {value!r} is not an angle; expected radians, or a string like 'pi/2' or '90 deg'")

    def text(self, key: str, default: str) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str):
            self.fail(key, f"{key} = {value!r} is not a text; write it in quotes")
        return value

    def triple(self, key: str, default: Triple | None = None) -> Triple:
        if default is not None and key not in self.data:
            return default
        x, y, z = self._numbers(key, self.need(key), 3)
        return x, y, z

    def pair(self, key: str) -> tuple[float, float] | None:
        if self.data.get(key) is None:
            return None
        low, high = self._numbers(key, self.data[key], 2, finite=False)
        return low, high

    def tensor(self, key: str, default: Tensor | None = None) -> Tensor:
        """A 3x3 matrix, or its six values xx yy zz xy xz yz."""
        if default is not None and key not in self.data:
            return default
        value = self.need(key)
        expected = "expected 3 rows of 3, or the six values xx yy zz xy xz yz"
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            self.fail(key, f"{key} = {value!r} is not a tensor; {expected}")
        if array.shape == (6,):
            xx, yy, zz, xy, xz, yz = array.tolist()
            array = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if array.shape != (3, 3):
            self.fail(key, f"{key} has shape {array.shape}; {expected}")
        if not np.isfinite(array).all():
            self.fail(key, f"{key} = {value!r} contains a number that is not finite")
        if not np.allclose(array, array.T, rtol=1e-9, atol=1e-12 * abs(array).max()):
            self.fail(key, f"{key} = {value!r} is not symmetric; an inertia tensor is")
        x, y, z = ((row[0], row[1], row[2]) for row in ((array + array.T) / 2).tolist())
        return x, y, z

    def transform(self, key: str, default: Transform) -> Transform:
        """A 4x4 homogeneous transform."""
        if self.data.get(key) is None:
            return default
        return as_transform(self.data[key], lambda message: self.fail(key, f"{key}: {message}"))

    def _finite(self, key: str, value: Any) -> float:
        if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.number)):
            self.fail(key, f"{key} = {value!r} is not a number")
        if not math.isfinite(value):
            self.fail(key, f"{key} = {value!r} is not finite")
        return float(value)

    def _numbers(self, key: str, value: Any, length: int, finite: bool = True) -> list[float]:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != length:
            self.fail(key, f"{key} = {value!r} does not fit; expected {length} numbers")
        if finite:
            return [self._finite(key, x) for x in value]
        if any(isinstance(x, (bool, str)) or not isinstance(x, (int, float)) or math.isnan(x) for x in value):
            self.fail(key, f"{key} = {value!r} does not fit; expected {length} numbers")
        return [float(x) for x in value]


def as_transform(value: Any, fail: Callable[[str], NoReturn]) -> Transform:
    """A checked 4x4 homogeneous transform: rotation and position over a row 0 0 0 1."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        fail(f"{value!r} is not a transform; expected 4 rows of 4 numbers")
    if array.shape != (4, 4):
        fail(f"got shape {array.shape}; expected a 4x4 homogeneous transform")
    if not np.isfinite(array).all() or not np.array_equal(array[3], [0, 0, 0, 1]):
        fail(f"the last row must be 0 0 0 1 and every number finite; got {array.tolist()}")
    R = array[:3, :3]
    if not np.allclose(R @ R.T, np.eye(3), atol=1e-9) or np.linalg.det(R) < 0:
        fail(f"its upper left 3x3 block is not a rotation: R R^T or the determinant is not 1 in {R.tolist()}")
    return tuple((a, b, c, d) for a, b, c, d in array.tolist())
