"""The extent of a robot in the world, and the height of the floor below it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.model.visual import Box, Capsule, Cylinder, Ellipsoid, Mesh, Solid, Sphere, Visual
from armwright.pages.scene.appearance import Appearance
from armwright.pages.scene.triangles import triangles
from armwright.robot import Robot

FLOOR_TOLERANCE = 0.01
"""The part of a robot's size by which its base may be below z = 0 with the floor still there."""

MIN_FLOOR_COSINE = 0.7
"""The z of up below which the plane z = 0 is a wall rather than a floor or a ceiling."""


def extent(robot: Robot, seen: Appearance, q: ArrayLike) -> tuple[Array, Array]:
    """The least and the largest x, y and z of all shapes at q, in the world."""
    frames = zip(robot.link_poses(q), seen.links, strict=True)
    boxes = [*_base(robot, seen), *(_box(visual, frame) for frame, shapes in frames for visual in shapes)]
    lows, highs = zip(*boxes, strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _base(robot: Robot, seen: Appearance) -> list[tuple[Array, Array]]:
    return [_box(visual, np.asarray(robot.base, dtype=float)) for visual in seen.base]


def view_directions(gravity: ArrayLike) -> tuple[Array, Array, Array]:
    """To the right of who looks, towards them, and up, which is against gravity, along z where there is none.

    Where gravity is not along z, the plane z = 0 is a wall, which is looked at from before.
    """
    pull = np.asarray(gravity, dtype=float)
    length = float(np.linalg.norm(pull))
    up = -pull / length if length else np.array([0.0, 0.0, 1.0])
    toward = np.array([0.0, 0.0, 1.0]) if abs(up[2]) < MIN_FLOOR_COSINE else np.array([0.0, -1.0, 0.0])
    toward = toward - (toward @ up) * up
    toward /= np.linalg.norm(toward)
    return np.cross(up, toward), toward, up


def floor_below(robot: Robot, seen: Appearance, q: ArrayLike) -> float:
    """The z of the floor: 0, or where a base ends that goes below it, or where a robot that floats would stand."""
    if any(robot.rows[i].kind == "free" for i in robot.link_rows):
        low = float(extent(robot, seen, q)[0][2])
        return min(low, 0.0)
    low = min((float(least[2]) for least, _ in _base(robot, seen)), default=0.0)
    return low if low < -FLOOR_TOLERANCE * seen.size else 0.0


def _box(visual: Visual, frame: Array) -> tuple[Array, Array]:
    """The box around a shape, along the axes of the world."""
    pose = frame @ np.asarray(visual.pose)
    if isinstance(visual.shape, Mesh):
        vertices = triangles(visual.shape).vertices @ pose[:3, :3].T + pose[:3, 3]
        return vertices.min(axis=0), vertices.max(axis=0)
    half = _half_extent(visual.shape, pose[:3, :3])
    return pose[:3, 3] - half, pose[:3, 3] + half


def _half_extent(shape: Solid, R: Array) -> Array:
    """Return the half extent of a solid along each axis of the world."""
    if isinstance(shape, Box):
        return np.asarray(np.abs(R) @ np.asarray(shape.size) / 2)
    if isinstance(shape, Sphere):
        return np.full(3, shape.radius)
    if isinstance(shape, Ellipsoid):
        return np.asarray(np.sqrt(((R * np.asarray(shape.radii)) ** 2).sum(axis=1)))
    along = np.abs(R[:, 2])
    assert isinstance(shape, (Cylinder, Capsule))
    across = np.sqrt(np.maximum(1 - along**2, 0)) if isinstance(shape, Cylinder) else 1.0
    return np.asarray(along * shape.length / 2 + across * shape.radius)
