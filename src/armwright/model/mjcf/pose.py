"""Quaternions w x y z, transforms and principal axes."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array
from armwright.model.transforms import Tensor


def rotation(quaternion: Array) -> Array:
    """Return the rotation of a quaternion w x y z, exact at right angles."""
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
    """Return the transform of a position and a quaternion."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation(quaternion), position
    return T


def moved(by: Array) -> Array:
    """Return a translation."""
    T = np.eye(4)
    T[:3, 3] = by
    return T


def principal(inertia: Tensor) -> tuple[Array, Array]:
    """Return the principal moments, smallest first, and the rotation to their axes.

    Rounding errors of a body without extent along an axis are removed: moments just below zero are zero, and the
    largest is at most the sum of the others if it is just above it.
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
    """Return w x y z of a rotation; the largest of the four is computed first."""
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
