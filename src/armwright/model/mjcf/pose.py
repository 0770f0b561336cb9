"""Quaternions w x y z and positions to transforms."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.model.transforms import Tensor


def rotation(quaternion: Array) -> Array:
    """The rotation of a unit quaternion w x y z, right angles exactly."""
    w, x, y, z = (quaternion / np.linalg.norm(quaternion)).tolist()
    R = np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    whole = np.round(R)
    exact: Array = np.where(np.abs(R - whole) < 1e-15, whole + 0.0, R)
    return exact


def transform(position: Array, quaternion: Array) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(quaternion), position
    return T


def moved(by: Array) -> Array:
    T = np.eye(4)
    T[:3, 3] = by
    return T


def principal(inertia: Tensor) -> tuple[Array, Array]:
    """Principal moments, smallest first, and the rotation to their axes.

    What rounding took from a body without extent along an axis is given back: moments just below zero are zero, and
    the largest is no more than the sum of the others where it is just above it.
    """
    tensor = np.array(inertia, dtype=float)
    if not np.any(tensor - np.diag(np.diag(tensor))):
        order = np.argsort(np.diag(tensor), kind="stable")
        moments, axes = np.diag(tensor)[order], np.eye(3)[:, order]
    else:
        moments, axes = np.linalg.eigh(tensor)
    dust = 1e-14 * np.abs(moments).max()
    moments = np.where(np.abs(moments) <= dust, 0.0, moments)
    most = moments[0] + moments[1]
    if most < moments[2] <= most + dust:
        moments[2] = most
    return moments, axes * np.sign(np.linalg.det(axes))


def quaternion(R: Array) -> Array:
    """w x y z of a rotation; the largest of the four is computed first and the others from it."""
    trace = np.trace(R)
    squares = np.array([trace, *(2 * np.diag(R) - trace)])
    i = int(np.argmax(squares))
    if i == 0:
        q = np.array([1 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        j, k = i % 3 + 1, (i + 1) % 3 + 1
        q = np.zeros(4)
        q[0] = R[k - 1, j - 1] - R[j - 1, k - 1]
        q[i] = 1 + squares[i]
        q[j] = R[j - 1, i - 1] + R[i - 1, j - 1]
        q[k] = R[k - 1, i - 1] + R[i - 1, k - 1]
    unit: Array = q / np.linalg.norm(q)
    return unit
