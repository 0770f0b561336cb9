"""Joints as a file places them, optionally with nearly right angles made exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array
from armwright.model.frame_change import rounded_zeros
from armwright.model.joint_types import SINGLE_TYPES
from armwright.model.records import LinkModel
from armwright.model.transforms import QUARTER_TURN
from armwright.model.xml import roll_pitch_yaw, rotation_xyz


@dataclass(frozen=True)
class FileJoint:
    """A joint and its link as in a file.

    `placement` is the frame of the link at q = 0 in the frame of its parent (a number, -1 for the base). The axis
    passes through the origin of the link's frame, which is also that of `body`. `kind` is revolute, prismatic, planar,
    ball or free.
    """

    placement: Array
    axis: Array
    kind: str
    body: LinkModel
    parent: int

    @property
    def prismatic(self) -> bool:
        """True for a translation."""
        return self.kind == "prismatic"

    @property
    def z(self) -> Array:
        """The unit vector along the axis."""
        unit: Array = self.axis / np.linalg.norm(self.axis)
        return unit

    @property
    def line(self) -> tuple[Array, Array]:
        """A point of the axis and its direction, in the frame of the parent."""
        return self.placement[:3, 3], self.placement[:3, :3] @ self.z


def normal_to(z: Array, across: Array) -> Array:
    """Return the unit vector along `across`, orthogonal to z to rounding.

    The direction of a short difference has a large relative error along z. Two projections remove it.
    """
    x: Array = across / np.linalg.norm(across)
    for _ in range(2):
        x = x - (x @ z) * z
        x = x / np.linalg.norm(x)
    return x


def straightened(joints: Sequence[FileJoint], tolerance: float) -> list[FileJoint]:
    """Return the joints with right angles, and parallel or normal axes, where they are so within a tolerance."""
    result = list[FileJoint]()
    for joint in joints:
        T, axis = np.array(joint.placement), rounded_zeros(joint.z, tolerance)
        T[:3, :3] = rotation_xyz(*(_right_angle(angle, tolerance) for angle in roll_pitch_yaw(T[:3, :3])))
        parent = result[joint.parent] if joint.parent >= 0 else None
        straight = replace(joint, placement=T, axis=axis)
        if joint.kind in SINGLE_TYPES and (parent is None or parent.kind in SINGLE_TYPES):
            z = parent.z if parent else np.eye(3)[int(np.argmax(np.abs(straight.line[1])))]
            straight = replace(straight, placement=_straight_placement(straight, z, tolerance))
        result.append(straight)
    return result


def _right_angle(angle: float, tolerance: float) -> float:
    quarters = round(angle / QUARTER_TURN)
    return quarters * QUARTER_TURN if abs(angle - quarters * QUARTER_TURN) <= tolerance else angle


def _straight_placement(joint: FileJoint, z: Array, tolerance: float) -> Array:
    """Return a placement with its axis rotated to be parallel or normal to z, if it nearly is."""
    f = joint.line[1]
    along = float(f @ z)
    if np.linalg.norm(np.cross(z, f)) <= tolerance:
        target = math.copysign(1.0, along) * z
    elif abs(along) <= tolerance:
        target = normal_to(z, f)
    else:
        return joint.placement
    v = np.cross(f, target)
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    T = np.array(joint.placement)
    T[:3, :3] = (np.eye(3) + cross + cross @ cross / (1 + f @ target)) @ T[:3, :3]
    return T
