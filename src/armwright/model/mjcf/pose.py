"""Rotation matrices, quaternions (w, x, y, z), transforms and principal axes of MJCF files."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.model.transforms import Tensor


def rotation_matrix(quaternion: Array) -> Array:
    """Return the rotation matrix of a quaternion (w, x, y, z); right angles are exact."""
    w, x, y, z = (quaternion / np.linalg.norm(quaternion)).tolist()
    R = np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    rounded = np.round(R)
    exact: Array = np.where(np.abs(R - rounded) < 1e-15, rounded + 0.0, R)
    return exact


def transform(position: Array, quaternion: Array) -> Array:
    """Return the 4x4 transform of a position and a quaternion."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation_matrix(quaternion), position
    return T


def translation(offset: Array) -> Array:
    """Return the 4x4 transform of a translation."""
    T = np.eye(4)
    T[:3, 3] = offset
    return T


def principal_axes(inertia: Tensor) -> tuple[Array, Array]:
    """Return the principal moments in ascending order, and the rotation matrix whose columns are their axes.

    Rounding errors are removed: a moment just below zero becomes zero, and a largest moment just above the sum of the
    others becomes that sum.
    """
    tensor = np.array(inertia, dtype=float)
    if not np.any(tensor - np.diag(np.diag(tensor))):
        order = np.argsort(np.diag(tensor), kind="stable")
        moments, axes = np.diag(tensor)[order], np.eye(3)[:, order]
    else:
        moments, axes = np.linalg.eigh(tensor)
    rounding = 1e-14 * np.abs(moments).max()
    moments = np.where(np.abs(moments) <= rounding, 0.0, moments)
    limit = moments[0] + moments[1]
    if limit < moments[2] <= limit + rounding:
        moments[2] = limit
    return moments, axes * np.sign(np.linalg.det(axes))


def quaternion(R: Array) -> Array:
    """Return the unit quaternion (w, x, y, z) of a rotation matrix, computed from its largest entry."""
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
