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
"""The part of a robot's size by which its base may reach below a floor at z = 0."""

MIN_FLOOR_COSINE = 0.7
"""The z of the up direction below which the plane z = 0 is a wall, not a floor or a ceiling."""


def extent(robot: Robot, appearance: Appearance, q: ArrayLike) -> tuple[Array, Array]:
    """Return the smallest and the largest x, y and z of all shapes at q, in the world."""
    frames = zip(robot.link_poses(q), appearance.links, strict=True)
    boxes = [*_base(robot, appearance), *(_box(visual, frame) for frame, shapes in frames for visual in shapes)]
    lows, highs = zip(*boxes, strict=True)
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _base(robot: Robot, appearance: Appearance) -> list[tuple[Array, Array]]:
    return [_box(visual, np.asarray(robot.base, dtype=float)) for visual in appearance.base]


def view_directions(gravity: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the directions right, towards the viewer, and up: against gravity, or along z without gravity.

    If the plane z = 0 is a wall, the viewer is in front of it.
    """
    g = np.asarray(gravity, dtype=float)
    length = float(np.linalg.norm(g))
    up = -g / length if length else np.array([0.0, 0.0, 1.0])
    toward = np.array([0.0, 0.0, 1.0]) if abs(up[2]) < MIN_FLOOR_COSINE else np.array([0.0, -1.0, 0.0])
    toward = toward - (toward @ up) * up
    toward /= np.linalg.norm(toward)
    return np.cross(up, toward), toward, up


def floor_below(robot: Robot, appearance: Appearance, q: ArrayLike) -> float:
    """Return z of the floor: 0, or lower, where the base ends or a floating robot would stand."""
    if any(robot.rows[i].kind == "free" for i in robot.link_rows):
        low = float(extent(robot, appearance, q)[0][2])
        return min(low, 0.0)
    low = min((float(lower[2]) for lower, _ in _base(robot, appearance)), default=0.0)
    return low if low < -FLOOR_TOLERANCE * appearance.size else 0.0


def _box(visual: Visual, frame: Array) -> tuple[Array, Array]:
    """Return the two corners of the box around a shape along the axes of the world."""
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
