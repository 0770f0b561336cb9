"""Vectors, inertia tensors and transforms as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array, Matrix, Scalar, Symmetric, Vector, cos, sin
from armwright.mechanism import Pose

Triple: TypeAlias = tuple[float, float, float]

Tensor: TypeAlias = tuple[Triple, Triple, Triple]

Transform: TypeAlias = tuple[tuple[float, float, float, float], ...]

IDENTITY_TRANSFORM: Transform = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0))

ZERO_TENSOR: Tensor = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

QUARTER_TURN = math.pi / 2


def compose(first: Transform, second: Transform) -> Transform:
    """Return the product of two transforms."""
    if second == IDENTITY_TRANSFORM:
        return first
    if first == IDENTITY_TRANSFORM:
        return second
    return transform(np.asarray(first) @ np.asarray(second))


def right_angles(angle: float) -> int | None:
    """Return the number of right angles in an angle, or None if it is no integer up to rounding."""
    quarters = round(angle / QUARTER_TURN)
    return quarters if abs(angle - quarters * QUARTER_TURN) <= 1e-14 * max(1, abs(quarters)) else None


def cos_sin(angle: float, number: Callable[[float], Scalar] = float) -> tuple[Scalar, Scalar]:
    """Return cosine and sine, exactly 0, 1 or -1 at right angles, where they cost no operations."""
    quarters = right_angles(angle)
    if quarters is None:
        return cos(number(angle)), sin(number(angle))
    return ((1, 0), (0, 1), (-1, 0), (0, -1))[quarters % 4]


def tensor_entries(tensor: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    """Return xx, yy, zz, xy, xz, yz of a symmetric matrix."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
    return xx, yy, zz, xy, xz, yz


def symmetric(tensor: Tensor, number: Callable[[float], Scalar] = float) -> Symmetric:
    """Return a tensor over a scalar type."""
    return Symmetric(*map(number, tensor_entries(tensor)))


def tensor(tensor_entries: Iterable[Scalar]) -> Tensor:
    """Return the matrix of xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = map(float, tensor_entries)
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def triple(numbers: Iterable[Scalar]) -> Triple:
    """Return three numbers as floats."""
    x, y, z = map(float, numbers)
    return x, y, z


def transform(T: Array) -> Transform:
    """Return a 4x4 array as plain numbers."""
    return tuple((a, b, c, d) for a, b, c, d in T.tolist())


def pose_of(transform: Transform, number: Callable[[float], Scalar] = float) -> Pose:
    """Return a transform as a pose over a scalar type."""
    rows = [[number(x) for x in row] for row in transform[:3]]
    return Pose(Matrix(*(Vector(*row[:3]) for row in rows)), Vector(*(row[3] for row in rows)))
