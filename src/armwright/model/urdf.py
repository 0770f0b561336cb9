"""A robot as URDF text: one link per joint with z on its axis, the tool and the payload fixed to the last one."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armwright.model.description import NO_TENSOR, Description, JointModel, LinkModel, cos_sin

Array: TypeAlias = NDArray[Any]

UNLIMITED = 1e6
"""Effort and velocity of a joint whose limits are not known; URDF wants numbers there."""


def text(robot: Description) -> str:
    """The robot as URDF. Gravity and the payload's tool frame have no place in URDF: the payload is a fixed link."""
    root = ET.Element("robot", name=robot.name)
    ET.SubElement(root, "link", name="base_link")
    parent, before = "base_link", np.asarray(robot.base)
    for joint, link in zip(robot.joints, robot.links, strict=True):
        _link(root, link)
        kind = "prismatic" if joint.prismatic else "revolute" if joint.limits else "continuous"
        element = _joint(root, joint.name, kind, parent, link.name, before @ at_zero(joint))
        ET.SubElement(element, "axis", xyz="0 0 1")
        low, high = joint.limits or (-UNLIMITED, UNLIMITED)
        limit = ET.SubElement(element, "limit", effort=repr(UNLIMITED), velocity=repr(UNLIMITED))
        if kind != "continuous":
            limit.attrib.update(lower=repr(low), upper=repr(high))
        if joint.viscous or joint.coulomb:
            ET.SubElement(element, "dynamics", damping=repr(joint.viscous), friction=repr(joint.coulomb))
        parent, before = link.name, np.eye(4)
    tool = np.asarray(robot.flange) @ np.asarray(robot.tool)
    held = robot.payload
    _link(root, LinkModel("tool", *((held.mass, held.com, held.inertia) if held else (0.0, (0.0,) * 3, NO_TENSOR))))
    _joint(root, "tool_joint", "fixed", parent, "tool", tool)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def at_zero(joint: JointModel) -> Array:
    """The transform from the frame before to the frame of a joint at q = 0."""
    (ca, sa), (ct, st) = cos_sin(joint.alpha), cos_sin(joint.theta)
    x = np.array([[1, 0, 0, joint.a], [0, ca, -sa, 0], [0, sa, ca, 0], [0, 0, 0, 1]], dtype=float)
    z = np.array([[ct, -st, 0, 0], [st, ct, 0, 0], [0, 0, 1, joint.d], [0, 0, 0, 1]], dtype=float)
    T: Array = x @ z
    return T


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def _link(root: ET.Element, link: LinkModel) -> None:
    element = ET.SubElement(root, "link", name=link.name)
    if not link.mass and not np.any(link.inertia):
        return
    inertial = ET.SubElement(element, "inertial")
    ET.SubElement(inertial, "origin", xyz=_numbers(link.com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(float(link.mass)))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = link.inertia
    six = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
    ET.SubElement(inertial, "inertia", {key: repr(float(x)) for key, x in six.items()})


def _joint(root: ET.Element, name: str, kind: str, parent: str, child: str, T: Array) -> ET.Element:
    element = ET.SubElement(root, "joint", name=name, type=kind)
    ET.SubElement(element, "origin", xyz=_numbers(T[:3, 3]), rpy=_numbers(roll_pitch_yaw(T[:3, :3])))
    ET.SubElement(element, "parent", link=parent)
    ET.SubElement(element, "child", link=child)
    return element


def roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """Angles with R = Rot(z, yaw) Rot(y, pitch) Rot(x, roll)."""
    sine = -R[2, 0]
    if abs(sine) > 1 - 1e-12:  # roll and yaw turn about the same axis: all of it is yaw
        return 0.0, math.copysign(math.pi / 2, sine), math.atan2(-R[0, 1], R[1, 1])
    return math.atan2(R[2, 1], R[2, 2]), math.asin(sine), math.atan2(R[1, 0], R[0, 0])
