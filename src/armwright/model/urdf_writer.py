"""A robot as URDF text.

A link has the frame with its name, if it was read from a file, else one with z on the axis of its joint. Other frames,
and the tool with its payload, are fixed links. Free and planar joints are `floating` and `planar`; other joints with
several freedoms are several joints. An ellipsoid, which URDF lacks, is a comment. Repeated names are numbered.
"""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import ModelError, ModelWarning, listed
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model import xml
from armwright.model.description import Description
from armwright.model.frame_change import inverse, link_in_frame, zero_placement
from armwright.model.records import Frame, JointModel, LinkModel
from armwright.model.transforms import ZERO_TENSOR, tensor_entries
from armwright.model.urdf import TENSOR_ATTRIBUTES, UNKNOWN_LIMIT
from armwright.model.urdf_visuals import ROUND_SHAPES
from armwright.model.visual import Box, Ellipsoid, Mesh, Visual, shape_lengths
from armwright.model.xml_writer import unique_names, unused_name, xml_text

URDF_NAMES = {"free": "floating", "planar": "planar"}
"""Joint types with several freedoms, and their names in URDF."""


def urdf_text(robot: Description) -> str:
    """Return the robot as URDF, with the payload as a fixed link. Gravity, springs and compensation are lost."""
    _warn_of_losses(robot)
    return xml_text(_Writer(robot).root)


class _Writer:
    """The document of a robot: each link in the frame with its name, if any, and other frames fixed to links."""

    def __init__(self, robot: Description) -> None:
        _check_written(robot)
        self.robot, self.root = robot, ET.Element("robot", name=robot.name)
        self.names = unique_names(link.name for link in robot.links)
        names = unique_names(row.name for row in robot.rows)
        self.joints = [replace(joint, name=name) for joint, name in zip(robot.rows, names, strict=True)]
        self.file_frames = [self._file_frame(i) for i in range(len(robot.links))]  # in the canonical frames
        at_base = [frame.name for frame in robot.frames if frame.link < 0 and _is_identity(self._in_base(frame))]
        free = robot.rows[0].kind == "free"
        self.base = unused_name(at_base[0] if at_base else "world" if free else "base_link", self.names)
        _add_visuals(ET.SubElement(self.root, "link", name=self.base), robot.base_visuals, np.asarray(robot.base))
        for i in range(len(robot.links)):
            self._link(i)
        self._frames()
        for joint in self.joints:
            if joint.armature and joint.kind not in FREEDOMS_OF_KIND:
                _transmission(self.root, joint)

    def _file_frame(self, i: int) -> Array:
        """Return the file's frame of a link, if the axis of its joint passes through it, else the identity."""
        frames = [frame for frame in self.robot.frames if (frame.name, frame.link) == (self.names[i], i)]
        T, joint = np.asarray(frames[0].pose) if frames else np.eye(4), self.robot.rows[self.robot.link_rows[i]]
        on_axis = joint.prismatic or not np.any(T[:2, 3])
        return T if on_axis and joint.kind not in FREEDOMS_OF_KIND else np.eye(4)

    def _in_base(self, frame: Frame) -> Array:
        T: Array = np.asarray(self.robot.base) @ np.asarray(frame.pose)
        return T

    def _is_link_frame(self, frame: Frame) -> bool:
        """Return whether a frame is that of the link with its name."""
        if frame.link < 0:
            return frame.name == self.base and _is_identity(self._in_base(frame))
        return frame.name == self.names[frame.link] and np.array_equal(self.file_frames[frame.link], frame.pose)

    def _link(self, i: int) -> None:
        """Add a link and its joint, or its joints with massless links between them."""
        robot, name, T = self.robot, self.names[i], self.file_frames[i]
        last, k = robot.link_rows[i], robot.parents[i]
        first = last - robot.rows[last].freedom
        parent = self.base if k < 0 else self.names[k]
        before = np.asarray(robot.base) if k < 0 else inverse(self.file_frames[k])
        link = robot.links[i] if np.array_equal(T, np.eye(4)) else link_in_frame(robot.links[i], inverse(T))
        _link(self.root, replace(link, name=name))
        if robot.rows[first].kind in FREEDOMS_OF_KIND:
            joint = self.joints[first]
            joint_name, kind = joint.name.rpartition(".")[0] or joint.name, URDF_NAMES[robot.rows[first].kind]
            element = _joint(self.root, joint_name, kind, parent, name, before @ zero_placement(joint))
            ET.SubElement(element, "axis", xyz="0 0 1")
            return
        for joint in self.joints[first:last]:
            massless = unused_name(f"{joint.name}_link", self.names)
            ET.SubElement(self.root, "link", name=massless)
            _moving_joint(self.root, joint, parent, massless, before @ zero_placement(joint), np.eye(3)[2])
            parent, before = massless, np.eye(4)
        joint = self.joints[last]
        _moving_joint(self.root, joint, parent, name, before @ zero_placement(joint) @ T, T[2, :3])

    def _frames(self) -> None:
        """Add the tool with its payload, and the frames that are not those of links."""
        robot, used = self.robot, [self.base, *self.names]
        frames = [frame for frame in robot.frames if not self._is_link_frame(frame)]
        tools = [] if robot.tip is None else [replace(robot.tool_frame, name="tool")]
        names = unique_names([*used, *(frame.name for frame in (*frames, *tools))])[len(used) :]
        joint_names = unique_names([*(joint.name for joint in self.joints), *(f"{name}_joint" for name in names)])
        for frame, name, joint in zip((*frames, *tools), names, joint_names[len(self.joints) :], strict=True):
            payload = robot.payload if tools and frame is tools[0] else None
            body = (payload.mass, payload.com, payload.inertia) if payload else (0.0, (0.0,) * 3, ZERO_TENSOR)
            _link(self.root, LinkModel(name, *body))
            parent = self.base if frame.link < 0 else self.names[frame.link]
            T = (
                self._in_base(frame)
                if frame.link < 0
                else inverse(self.file_frames[frame.link]) @ np.asarray(frame.pose)
            )
            _joint(self.root, joint, "fixed", parent, name, T)


def _warn_of_losses(robot: Description) -> None:
    """Warn of springs, compensation and drives that URDF does not have."""
    several = [row for row in robot.rows if row.kind in FREEDOMS_OF_KIND]
    lost = [
        *(f"the spring of {row.name}" for row in robot.rows if row.sprung),
        *(f"the compensated weight of {link.name}" for link in robot.links if link.compensated_mass),
        *(f"friction and rotor of {row.name}" for row in several if row.viscous or row.coulomb or row.armature),
    ]
    if lost:
        warnings.warn(f"{robot.name}: URDF has no place for {listed(lost)}", ModelWarning, stacklevel=4)


def _check_written(robot: Description) -> None:
    """Raise a ModelError for a joint or a loop that URDF does not have."""
    wrong = [f"the ball joint {row.name.rpartition('.')[0]!r}" for row in robot.rows if row.kind == "ball"]
    wrong += [f"the loop {loop.name!r}" for loop in robot.loops]
    wrong += [f"{row.name!r}, which follows by a curve" for row in robot.followers if row.mimic and row.mimic.curve]
    sums = [f"{row.name!r}, which follows several joints" for row in robot.followers if row.mimic and row.mimic.others]
    if wrong or sums:
        others = "TOML (to_toml); MJCF has none either" if sums else "TOML (to_toml) or MJCF (to_mjcf)"
        raise ModelError(f"{robot.name}: URDF has no place for {(sums or wrong)[0]}; write it as {others}")


def _is_identity(T: Array) -> bool:
    return bool(np.abs(T - np.eye(4)).max() <= 1e-14)


def _moving_joint(root: ET.Element, joint: JointModel, parent: str, child: str, T: Array, axis: Array) -> None:
    kind = "prismatic" if joint.prismatic else "revolute" if joint.limits else "continuous"
    element = _joint(root, joint.name, kind, parent, child, T)
    ET.SubElement(element, "axis", xyz=_numbers(axis))
    effort, velocity = (repr(x or UNKNOWN_LIMIT) for x in (joint.max_torque, joint.max_velocity))
    limit = ET.SubElement(element, "limit", effort=effort, velocity=velocity)
    if kind != "continuous":
        low, high = joint.limits or (-UNKNOWN_LIMIT, UNKNOWN_LIMIT)
        limit.attrib.update(lower=repr(low), upper=repr(high))
    if joint.viscous or joint.coulomb:
        ET.SubElement(element, "dynamics", damping=repr(joint.viscous), friction=repr(joint.coulomb))
    if joint.mimic:
        m = joint.mimic
        ET.SubElement(element, "mimic", joint=m.joint, multiplier=repr(m.factor), offset=repr(m.offset))


def _transmission(root: ET.Element, joint: JointModel) -> None:
    transmission = ET.SubElement(root, "transmission", name=f"{joint.name}_transmission")
    ET.SubElement(transmission, "joint", name=joint.name)
    actuator = ET.SubElement(transmission, "actuator", name=f"{joint.name}_motor")
    ET.SubElement(actuator, "rotorInertia").text = repr(joint.rotor_inertia)
    ET.SubElement(actuator, "mechanicalReduction").text = repr(joint.gear)


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def _link(root: ET.Element, link: LinkModel) -> None:
    element = ET.SubElement(root, "link", name=link.name)
    if link.mass or np.any(link.inertia):
        _inertial(element, link)
    _add_visuals(element, link.visuals, np.eye(4))


def _inertial(element: ET.Element, link: LinkModel) -> None:
    inertial = ET.SubElement(element, "inertial")
    ET.SubElement(inertial, "origin", xyz=_numbers(link.com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(float(link.mass)))
    moments = dict(zip(TENSOR_ATTRIBUTES, map(float, tensor_entries(link.inertia)), strict=True))
    ET.SubElement(inertial, "inertia", {key: repr(moments[key]) for key in sorted(TENSOR_ATTRIBUTES)})


def _add_visuals(link: ET.Element, visuals: Sequence[Visual], T: Array) -> None:
    """Add shapes to a link, in whose frame their frame is T."""
    for visual in visuals:
        shape = visual.shape
        if isinstance(shape, Ellipsoid):
            link.append(ET.Comment(f" an ellipsoid of {_numbers(shape.radii)} is left out: URDF has none "))
            continue
        element = ET.SubElement(link, "visual", {"name": visual.name} if visual.name else {})
        _origin(element, T @ np.asarray(visual.pose))
        geometry = ET.SubElement(element, "geometry")
        if isinstance(shape, Mesh):
            ET.SubElement(geometry, "mesh", filename=shape.file, scale=_numbers(shape.scale))
        elif isinstance(shape, Box):
            ET.SubElement(geometry, "box", size=_numbers(shape.size))
        else:
            kind, sizes = shape_lengths(shape)
            ET.SubElement(geometry, kind, dict(zip(ROUND_SHAPES[kind], map(repr, sizes), strict=True)))
        if visual.rgba is not None:
            colour = _numbers(visual.rgba)  # also its name, since a name must not have two colours
            ET.SubElement(ET.SubElement(element, "material", name=colour), "color", rgba=colour)


def _origin(element: ET.Element, T: Array) -> None:
    ET.SubElement(element, "origin", xyz=_numbers(T[:3, 3]), rpy=_numbers(xml.roll_pitch_yaw(T[:3, :3])))


def _joint(root: ET.Element, name: str, kind: str, parent: str, child: str, T: Array) -> ET.Element:
    element = ET.SubElement(root, "joint", name=name, type=kind)
    _origin(element, T)
    ET.SubElement(element, "parent", link=parent)
    ET.SubElement(element, "child", link=child)
    return element
