"""Joints as a file places them, and the same with nearly right angles made right."""

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
    """A joint and its link as a file has them.

    `placement` leads from the frame of the parent, by its number or -1 for the base, to this link's frame at q = 0; the
    axis is in this frame and goes through its origin. `body` is in this frame too. `kind` is revolute, prismatic,
    planar, ball or free.
    """

    placement: Array
    axis: Array
    kind: str
    body: LinkModel
    parent: int

    @property
    def prismatic(self) -> bool:
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
    """The unit vector along `across` that is normal to z to the last digit.

    Where axes nearly coincide, their distance is a small difference: what rounding has left of it along z is large once
    the length is one. So it is taken away from the unit vector, twice.
    """
    x: Array = across / np.linalg.norm(across)
    for _ in range(2):
        x = x - (x @ z) * z
        x = x / np.linalg.norm(x)
    return x


def straightened(joints: Sequence[FileJoint], within: float) -> list[FileJoint]:
    """The joints with angles that are nearly right, and axes that are nearly parallel or normal to others, made so."""
    found = list[FileJoint]()
    for joint in joints:
        T, axis = np.array(joint.placement), rounded_zeros(joint.z, within)
        T[:3, :3] = rotation_xyz(*(_right_angle(angle, within) for angle in roll_pitch_yaw(T[:3, :3])))
        parent = found[joint.parent] if joint.parent >= 0 else None
        straight = replace(joint, placement=T, axis=axis)
        if joint.kind in SINGLE_TYPES and (parent is None or parent.kind in SINGLE_TYPES):
            z = parent.z if parent else np.eye(3)[int(np.argmax(np.abs(straight.line[1])))]
            straight = replace(straight, placement=_straight_placement(straight, z, within))
        found.append(straight)
    return found


def _right_angle(angle: float, within: float) -> float:
    quarters = round(angle / QUARTER_TURN)
    return quarters * QUARTER_TURN if abs(angle - quarters * QUARTER_TURN) <= within else angle


def _straight_placement(joint: FileJoint, z: Array, within: float) -> Array:
    """A placement turned as little as makes its axis parallel to z, or normal to it, if it nearly is."""
    f = joint.line[1]
    along = float(f @ z)
    if np.linalg.norm(np.cross(z, f)) <= within:
        wanted = math.copysign(1.0, along) * z
    elif abs(along) <= within:
        wanted = normal_to(z, f)
    else:
        return joint.placement
    v = np.cross(f, wanted)
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    T = np.array(joint.placement)
    T[:3, :3] = (np.eye(3) + cross + cross @ cross / (1 + f @ wanted)) @ T[:3, :3]
    return T
