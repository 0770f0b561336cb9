"""Quaternions w x y z and positions to transforms."""

from __future__ import annotations

import numpy as np

from armwright.algebra import Array


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
