"""Generated shapes for a robot without any: a housing on every axis, tubes between these, and a base plate.

They follow from frames and masses alone. Between links a tube runs at a right angle to the next axis, then along it,
like a and d of DH parameters. Links that carry more mass are thicker.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.model.transforms import IDENTITY_TRANSFORM
from armwright.model.visual import Box, Capsule, Colour, Cylinder, Ellipsoid, Visual, visual_pose
from armwright.robot import Robot

TUBE_COLOUR: Colour = (0.87, 0.89, 0.92, 1.0)
HOUSING_COLOUR: Colour = (0.26, 0.30, 0.37, 1.0)
PLATE_COLOUR: Colour = (0.42, 0.46, 0.53, 1.0)
PAYLOAD_COLOUR: Colour = (0.95, 0.60, 0.15, 1.0)
JOINT_SHAPE = "joint"
"""The name of shapes of a joint, which a page may draw in the colour of the joint."""

MAX_HOUSING_RADIUS, MIN_HOUSING_RADIUS = 0.055, 0.02
"""The radius of a housing, as a part of the robot's size."""

TUBE_RATIO = 0.72
"""The radius of a tube, as a part of that of its housing."""

HOUSING_HALF_LENGTH = 1.2
"""Half of the length of a housing, as a part of its radius."""

UPRIGHT_COSINE = 0.99
"""The cosine from which an axis counts as parallel to z."""

MIN_TUBE_LENGTH = 0.03
"""The length, as a part of the robot's size, below which a tube is inside a housing and not drawn."""


def robot_size(robot: Robot) -> float:
    """Return the length from frame 0 to the farthest frame of the stretched robot, m, at least a centimetre."""
    poses, lengths = _poses(robot), np.zeros(len(robot.links))
    for i, parent in enumerate(robot.parents):
        before = np.asarray(robot.base) if parent < 0 else poses[parent]
        free = parent < 0 and robot.rows[robot.link_rows[i]].kind == "free"
        step = 0.0 if free else float(np.linalg.norm(poses[i][:3, 3] - before[:3, 3]))
        lengths[i] = step + (0.0 if parent < 0 else lengths[parent])
    tool = float(np.linalg.norm(np.asarray(robot.tool_frame.pose)[:3, 3])) if robot.tip is not None else 0.0
    coms = [np.linalg.norm(link.com) for link in robot.links]
    return float(max(lengths.max(initial=0.0) + tool, 2 * max(coms, default=0.0), 0.01))


def link_shapes(robot: Robot, size: float) -> list[tuple[Visual, ...]]:
    """Return the shapes of every link, in its frame."""
    radii, poses = _radii(robot, size), _poses(robot)
    children: list[list[int]] = [[] for _ in robot.links]
    for i, parent in enumerate(robot.parents):
        if parent >= 0:
            children[parent].append(i)
    return [_link(robot, i, children[i], radii, poses, size) for i in range(len(robot.links))]


def base_shapes(robot: Robot, size: float) -> tuple[Visual, ...]:
    """Return a plate on the floor and a column from it to the first joint, in frame 0; none for a floating base."""
    rows, poses, shapes = robot.rows, _poses(robot), list[Visual]()
    roots = [i for i, parent in enumerate(robot.parents) if parent < 0 and rows[robot.link_rows[i]].kind != "free"]
    if not roots:
        return ()
    radii, frame, foot = _radii(robot, size), np.asarray(robot.base), _foot(robot, size)
    thickest, lowest = max(radii[i] for i in roots), 0.0
    for i in roots:
        origin, axis = _next_axis(frame, poses[i])
        shapes += _tubes(np.zeros(3), origin, axis, radii[i], size)
        if abs(axis[2]) > UPRIGHT_COSINE:
            lowest = min(lowest, float(origin[2]) - HOUSING_HALF_LENGTH * float(radii[i]))
    depth = float(np.linalg.norm(foot[:3, 3]))
    if depth > max(MIN_TUBE_LENGTH * size, thickest):  # the round end of the column stays above the floor
        shapes.append(_tube(foot[:3, 3] * (1 - thickest / depth), np.zeros(3), 0.9 * thickest))
    thickness = 0.4 * thickest
    if not depth and lowest < 0:  # the plate is below the housing of the first axis
        foot[2, 3] = lowest - thickness
    pose = visual_pose(foot @ translation((0, 0, thickness / 2)))
    return (*shapes, Visual(Cylinder(1.6 * thickest, thickness), pose, PLATE_COLOUR, "base"))


def _foot(robot: Robot, size: float) -> Array:
    """Return the pose of the base plate in frame 0: on the floor, or at frame 0 if this is tilted or far above."""
    base = np.asarray(robot.base)
    height = float(base[2, 3])
    if not 0 < height <= size or base[2, 2] < 1 - 1e-9:
        return np.eye(4)
    return translation(base[:3, :3].T @ [0.0, 0.0, -height])


def translation(offset: ArrayLike) -> Array:
    """Return the transform of a translation."""
    T = np.eye(4)
    T[:3, 3] = offset
    return T


def _poses(robot: Robot) -> Array:
    """Return the frames of all links in the neutral pose."""
    poses: Array = robot.link_poses(robot.neutral)
    return poses


def _radii(robot: Robot, size: float) -> Array:
    """Return the radius of the housing of the joint before each link, by the mass that it carries."""
    carried = np.array([max(link.mass, 0.0) for link in robot.links])
    for i in reversed(range(len(robot.links))):
        if robot.parents[i] >= 0:
            carried[robot.parents[i]] += carried[i]
    share = (carried / max(float(carried.max(initial=0.0)), 1e-12)) ** (1 / 3)
    return np.clip(MAX_HOUSING_RADIUS * size * share, MIN_HOUSING_RADIUS * size, MAX_HOUSING_RADIUS * size)


def _next_axis(frame: Array, pose: Array) -> tuple[Array, Array]:
    """Return the origin of the next frame in this frame, and the direction of its axis."""
    T = np.linalg.inv(frame) @ pose
    return T[:3, 3], T[:3, 2]


def _link(robot: Robot, i: int, children: Sequence[int], radii: Array, poses: Array, size: float) -> tuple[Visual, ...]:
    rows, radius = robot.rows, float(radii[i])
    kind = rows[robot.link_rows[i]].kind
    shapes = [*_housing(kind, rows[robot.link_rows[i]].prismatic, radius)]
    if kind == "free" or len(children) > 1:
        shapes += _inertia_box(robot, i)
    for child in children:
        origin, axis = _next_axis(poses[i], poses[child])
        shapes += _tubes(np.zeros(3), origin, axis, float(radii[child]), size)
    if not children:
        shapes += _end(robot, i, radius, size)
    return tuple(shapes)


def _housing(kind: str, prismatic: bool, radius: float) -> list[Visual]:
    """Return the housing of the joint before a link, about its axis."""
    if kind == "free":
        return []
    if kind == "ball":
        return [Visual(Ellipsoid((radius, radius, radius)), IDENTITY_TRANSFORM, HOUSING_COLOUR, JOINT_SHAPE)]
    if prismatic:
        box = Box((1.7 * radius, 1.7 * radius, 2.6 * radius))
        return [Visual(box, IDENTITY_TRANSFORM, HOUSING_COLOUR, JOINT_SHAPE)]
    body, cap = Cylinder(radius, 2 * HOUSING_HALF_LENGTH * radius), Cylinder(1.04 * radius, 0.5 * radius)
    named = ((body, "housing"), (cap, JOINT_SHAPE))
    return [Visual(shape, IDENTITY_TRANSFORM, HOUSING_COLOUR, name) for shape, name in named]


def _tubes(begin: Array, end: Array, axis: Array, radius: float, size: float) -> list[Visual]:
    """Return tubes from one point to another, first at a right angle to an axis, then along it."""
    corner = end - axis * float((end - begin) @ axis)
    return [
        tube
        for a, b in ((begin, corner), (corner, end))
        if np.linalg.norm(b - a) > MIN_TUBE_LENGTH * size
        for tube in [_tube(a, b, TUBE_RATIO * radius)]
    ]


def _tube(a: Array, b: Array, radius: float) -> Visual:
    length = float(np.linalg.norm(b - a))
    T = np.eye(4)
    T[:3, :3] = _aligned_with((b - a) / length)
    T[:3, 3] = (a + b) / 2
    return Visual(Capsule(radius, length), visual_pose(T), TUBE_COLOUR, "tube")


def _aligned_with(z: Array) -> Array:
    """Return a rotation matrix with the third axis z."""
    other = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(other, z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _end(robot: Robot, i: int, radius: float, size: float) -> list[Visual]:
    """Return the end of a branch: at the tool, at a named frame such as a foot, or beyond the centre of mass."""
    named = [np.asarray(frame.pose)[:3, 3] for frame in robot.frames if frame.link == i]
    end = (
        np.asarray(robot.tool_frame.pose)[:3, 3]
        if i == robot.tip
        else max(named, key=np.linalg.norm, default=np.zeros(3))
    )
    if np.linalg.norm(end) < MIN_TUBE_LENGTH * size:
        end = 2 * np.asarray(robot.links[i].com, dtype=float)
    if np.linalg.norm(end) < MIN_TUBE_LENGTH * size:
        return []
    T = translation(end)
    T[:3, :3] = _aligned_with(end / np.linalg.norm(end))
    flange = Visual(Cylinder(TUBE_RATIO * radius, 0.3 * radius), visual_pose(T), HOUSING_COLOUR, "flange")
    return [_tube(np.zeros(3), end, 0.8 * TUBE_RATIO * radius), flange]


def _inertia_box(robot: Robot, i: int) -> list[Visual]:
    """Return the box of uniform density with the mass and inertia of a link."""
    link = robot.links[i]
    if link.mass <= 0:
        return []
    if (spread := mass_spread(link.mass, np.asarray(link.inertia, dtype=float))) is None:
        return []
    squares, axes = spread
    T = translation(link.com)
    T[:3, :3] = axes
    a, b, c = np.sqrt(6 * np.maximum(squares, 1e-3 * squares.max())).tolist()
    return [Visual(Box((a, b, c)), visual_pose(T), TUBE_COLOUR, "body")]


def mass_spread(mass: float, inertia: Array) -> tuple[Array, Array] | None:
    """Return twice the mean squared distances along the principal axes, and these axes; None for impossible inertias.

    The sides of a uniform box are the roots of 6 times these values, the semi-axes of an ellipsoid of 5/2 times.
    """
    moments, axes = np.linalg.eigh(inertia)
    squares = (moments.sum() - 2 * moments) / mass
    if not np.isfinite(squares).all() or squares.max() <= 0:
        return None
    return squares, axes * np.array([1, 1, np.sign(np.linalg.det(axes))])
