"""URDF: a tree of links read from a file, and a robot written as one.

Read: inertias, origins, axes of any sign, limits, damping and friction, mimic joints, reflected rotor inertia where a
transmission gives it, and what a viewer shows. Meshes are never opened. Written: each link in the frame that has its
name, if it was read from a file, or with z on the axis of its joint; other frames and the tool with its payload fixed
to them; a free joint as `floating` and a planar one, other joints of several freedoms as several joints; an ellipsoid,
which URDF has not, as a comment. Where a name is taken already, or occurs twice, it is numbered.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import ModelError
from armwright.mechanism import FREEDOMS
from armwright.model import xml
from armwright.model.acting import warn_of_urdf
from armwright.model.canonical import inverse, moved
from armwright.model.description import (
    NO_TENSOR,
    Description,
    Frame,
    JointModel,
    LinkModel,
    cos_sin,
    six,
    tensor,
    triple,
)
from armwright.model.mimic import Mimic
from armwright.model.tree import MOVING, Tree, TreeJoint, checked, few_enough, loop, parents_of
from armwright.model.urdf_parts import ROUND, Shown, origin_of
from armwright.model.visual import Box, Ellipsoid, Mesh, Visual, lengths

FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML document may hold, not even as numbers."""

UNLIMITED = 1e6
"""Effort and velocity of a joint whose limits are not known; URDF wants numbers there."""


SIX = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")

TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "floating",
    "planar": "planar",
}


WRITTEN = {"free": "floating", "planar": "planar"}
"""Joints of several freedoms that URDF has, by its names."""


def read(path: str | Path) -> Tree:
    """The tree of a URDF file."""
    return tree_of(xml.read(path))


def tree_of(root: xml.Element, packages: Mapping[str, str | Path] | None = None, visuals: bool = True) -> Tree:
    """The tree of a parsed URDF document; `packages` says where meshes may be, see `model.meshes`."""
    if root.tag != "robot":
        root.fail(
            f"<{root.tag}> is not a URDF robot; expected <robot> (URDF) or <mujoco> (MJCF) as the outermost element"
        )
    few_enough(len(root.all("joint")), root.file)
    links: dict[str, LinkModel] = {}
    shown = Shown(root, packages) if visuals else None
    for element in root.all("link"):
        link = _read_link(element, tuple(shown.on(element)) if shown else ())
        if link.name in links:
            element.fail(f"a second link is called {link.name!r}")
        links[link.name] = link
    if not links:
        root.fail("the robot has no links")
    rotors = _rotors(root)
    joints = [_read_joint(element, rotors) for element in root.all("joint")]
    if shown:
        shown.tell(root.file)
    parents = parents_of(links, joints, root.file)
    roots = [name for name in links if name not in parents]
    if not roots:
        raise ModelError(loop(next(iter(links)), parents, root.file))
    if len(roots) > 1:
        listed = ", ".join(map(repr, roots[:8]))
        root.fail(f"{len(roots)} links hang on no joint ({listed}); expected one, the root")
    return checked(
        Tree(root.attributes.get("name", "robot") or "robot", links, joints, roots[0], file=root.file, by_name=True)
    )


def _read_link(element: xml.Element, visuals: tuple[Visual, ...]) -> LinkModel:
    name = element.text_of("name")
    inertial = element.one("inertial")
    if inertial is None:
        return LinkModel(name, 0.0, (0.0, 0.0, 0.0), NO_TENSOR, visuals)
    T = origin_of(inertial)
    mass = inertial.need("mass").number("value")
    inertia = inertial.one("inertia")
    own = np.array(tensor(inertia.number(key, 0.0) if inertia else 0.0 for key in SIX))
    if mass < 0:
        inertial.need("mass").fail(f"mass = {mass!r} is negative")
    turned = own if np.array_equal(T[:3, :3], np.eye(3)) else T[:3, :3] @ own @ T[:3, :3].T
    return LinkModel(name, mass, triple(T[:3, 3]), tensor(six(turned)), visuals)


def _read_joint(element: xml.Element, rotors: dict[str, float]) -> TreeJoint:
    name, kind = element.text_of("name"), element.text_of("type")
    if kind not in TYPES:
        element.fail(f"joint {name!r} has type {kind!r}; expected {', '.join(TYPES)}")
    axis = np.array((element.one("axis") or element).vector("xyz", (1.0, 0.0, 0.0)))
    length = float(np.linalg.norm(axis))
    if TYPES[kind] in MOVING and not length > 1e-9:
        element.fail(f"the axis of joint {name!r} has no length")
    limit, dynamics, mimic = element.one("limit"), element.one("dynamics"), element.one("mimic")
    return TreeJoint(
        name=name,
        kind=TYPES[kind],
        parent=element.need("parent").text_of("link"),
        child=element.need("child").text_of("link"),
        placement=origin_of(element),
        axis=axis / length if length > 1e-9 else axis,
        limits=_limits(limit, kind),
        velocity=_known(limit, "velocity"),
        effort=_known(limit, "effort"),
        viscous=dynamics.number("damping", 0.0) if dynamics else 0.0,
        coulomb=dynamics.number("friction", 0.0) if dynamics else 0.0,
        armature=rotors.get(name, 0.0),
        mimic=Mimic.of(mimic) if mimic else None,
        place=f"{element.file}, line {element.line}",
    )


def _limits(limit: xml.Element | None, kind: str) -> tuple[float, float] | None:
    """The limits as they are written: `problems` tells those that are reversed."""
    if kind == "continuous" or limit is None or not {"lower", "upper"} & set(limit.attributes):
        return None
    low, high = limit.number("lower", 0.0), limit.number("upper", 0.0)
    if low == high or high - low >= 2 * UNLIMITED:
        return None
    return low, high


def _known(limit: xml.Element | None, name: str) -> float | None:
    """A limit of speed or effort; zero and millions mean that nobody knew."""
    value = limit.number(name, 0.0) if limit is not None else 0.0
    return value if 0 < value < UNLIMITED else None


def _rotors(root: xml.Element) -> dict[str, float]:
    """Rotor inertia as the joint feels it, from transmissions that give it with their reduction."""
    found: dict[str, float] = {}
    for transmission in root.all("transmission"):
        joints, actuators = transmission.all("joint"), transmission.all("actuator")
        if len(joints) != 1 or len(actuators) != 1 or "name" not in joints[0].attributes:
            continue  # a differential: what each joint feels of each rotor is not said
        parts = (*transmission.children, *joints[0].children, *actuators[0].children)
        values = {child.tag: child for child in parts}
        inertia = values.get("rotorInertia") or values.get("motorInertia") or values.get("rotor_inertia")
        if inertia is not None:
            found[joints[0].attributes["name"]] = _reflected(inertia, values.get("mechanicalReduction"))
    return found


def _reflected(inertia: xml.Element, ratio: xml.Element | None) -> float:
    try:
        gear = float(ratio.text) if ratio is not None else 1.0
        return float(inertia.text) * gear * gear
    except ValueError:
        inertia.fail(f"rotor inertia {inertia.text!r} or its reduction is not a number")


def text(robot: Description) -> str:
    """The robot as URDF. Gravity, springs and compensation have no place there; the payload is a fixed link."""
    warn_of_urdf(robot)
    return written(_Writer(robot).root)


class _Writer:
    """A robot being written: each link in its own frame where a frame has its name, all other frames fixed to them."""

    def __init__(self, robot: Description) -> None:
        _check_written(robot)
        self.robot, self.root = robot, ET.Element("robot", name=robot.name)
        self.names = distinct(link.name for link in robot.links)
        self.joints = [
            replace(joint, name=name)
            for joint, name in zip(robot.rows, distinct(row.name for row in robot.rows), strict=True)
        ]
        self.turns = [self._own(i) for i in range(len(robot.links))]  # the frames that are written, in ours
        here = [frame.name for frame in robot.frames if frame.link < 0 and _same(self._in_base(frame))]
        free = robot.rows[0].kind == "free"
        self.base = unused(here[0] if here else "world" if free else "base_link", self.names)
        _show(ET.SubElement(self.root, "link", name=self.base), robot.base_visuals, np.asarray(robot.base))
        for i in range(len(robot.links)):
            self._link(i)
        self._frames()
        for joint in self.joints:
            if joint.armature and joint.kind not in FREEDOMS:
                _transmission(self.root, joint)

    def _own(self, i: int) -> Array:
        """The frame of the file that a link is from, if it can be written: the axis of the joint goes through it."""
        frames = [frame for frame in self.robot.frames if (frame.name, frame.link) == (self.names[i], i)]
        T, joint = np.asarray(frames[0].pose) if frames else np.eye(4), self.robot.rows[self.robot.carriers[i]]
        on_axis = joint.prismatic or not np.any(T[:2, 3])
        return T if on_axis and joint.kind not in FREEDOMS else np.eye(4)

    def _in_base(self, frame: Frame) -> Array:
        T: Array = np.asarray(self.robot.base) @ np.asarray(frame.pose)
        return T

    def _is_there(self, frame: Frame) -> bool:
        """Whether it is that of a link which has its name."""
        if frame.link < 0:
            return frame.name == self.base and _same(self._in_base(frame))
        return frame.name == self.names[frame.link] and np.array_equal(self.turns[frame.link], frame.pose)

    def _link(self, i: int) -> None:
        """A link and its joint, or its joints with links without mass between them."""
        robot, name, T = self.robot, self.names[i], self.turns[i]
        last, above = robot.carriers[i], robot.parents[i]
        first = last - robot.rows[last].freedom
        parent = self.base if above < 0 else self.names[above]
        before = np.asarray(robot.base) if above < 0 else inverse(self.turns[above])
        link = robot.links[i] if np.array_equal(T, np.eye(4)) else moved(robot.links[i], inverse(T))
        _link(self.root, replace(link, name=name))
        if robot.rows[first].kind in FREEDOMS:
            kind, called = robot.rows[first].kind, self.joints[first].name.rpartition(".")[0] or self.joints[first].name
            element = _joint(self.root, called, WRITTEN[kind], parent, name, before @ at_zero(self.joints[first]))
            ET.SubElement(element, "axis", xyz="0 0 1")
            return
        for k in range(first, last):
            between = unused(f"{self.joints[k].name}_link", self.names)
            ET.SubElement(self.root, "link", name=between)
            _moving_joint(self.root, self.joints[k], parent, between, before @ at_zero(self.joints[k]), np.eye(3)[2])
            parent, before = between, np.eye(4)
        joint = self.joints[last]
        _moving_joint(self.root, joint, parent, name, before @ at_zero(joint) @ T, T[2, :3])

    def _frames(self) -> None:
        """The tool with what it holds, and the frames that are not those of links."""
        robot, taken = self.robot, [self.base, *self.names]
        frames = [frame for frame in robot.frames if not self._is_there(frame)]
        tools = [] if robot.tip is None else [replace(robot.hand, name="tool")]
        names = distinct([*taken, *(frame.name for frame in (*frames, *tools))])[len(taken) :]
        joint_names = distinct([*(joint.name for joint in self.joints), *(f"{name}_joint" for name in names)])
        for frame, name, joint in zip((*frames, *tools), names, joint_names[len(self.joints) :], strict=True):
            held = robot.payload if tools and frame is tools[0] else None
            body = (held.mass, held.com, held.inertia) if held else (0.0, (0.0,) * 3, NO_TENSOR)
            _link(self.root, LinkModel(name, *body))
            parent = self.base if frame.link < 0 else self.names[frame.link]
            T = self._in_base(frame) if frame.link < 0 else inverse(self.turns[frame.link]) @ np.asarray(frame.pose)
            _joint(self.root, joint, "fixed", parent, name, T)


def _check_written(robot: Description) -> None:
    """What has no place in URDF is not left out without a word."""
    wrong = [f"the ball joint {row.name.rpartition('.')[0]!r}" for row in robot.rows if row.kind == "ball"]
    wrong += [f"the loop {loop.name!r}" for loop in robot.loops]
    wrong += [f"{row.name!r}, which follows by a curve" for row in robot.followers if row.mimic and row.mimic.curve]
    sums = [f"{row.name!r}, which follows several joints" for row in robot.followers if row.mimic and row.mimic.others]
    if wrong or sums:
        others = "TOML (to_toml); MJCF has none either" if sums else "TOML (to_toml) or MJCF (to_mjcf)"
        raise ModelError(f"{robot.name}: URDF has no place for {(sums or wrong)[0]}; write it as {others}")


def _same(T: Array) -> bool:
    return bool(np.abs(T - np.eye(4)).max() <= 1e-14)


def written(root: ET.Element) -> str:
    """The text of a document. Characters that no XML may hold are written out, as \\x1b, so that it can be read."""
    for element in root.iter():
        for key, value in element.attrib.items():
            element.attrib[key] = FORBIDDEN.sub(_written_out, value)
        if element.text:
            element.text = FORBIDDEN.sub(_written_out, element.text)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _written_out(character: re.Match[str]) -> str:
    return character[0].encode("unicode_escape").decode("ascii")


def _moving_joint(root: ET.Element, joint: JointModel, parent: str, child: str, T: Array, axis: Array) -> None:
    kind = "prismatic" if joint.prismatic else "revolute" if joint.limits else "continuous"
    element = _joint(root, joint.name, kind, parent, child, T)
    ET.SubElement(element, "axis", xyz=_numbers(axis))
    effort, velocity = (repr(x or UNLIMITED) for x in (joint.max_torque, joint.max_velocity))
    limit = ET.SubElement(element, "limit", effort=effort, velocity=velocity)
    if kind != "continuous":
        low, high = joint.limits or (-UNLIMITED, UNLIMITED)
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


def distinct(names: Iterable[str], reserved: Sequence[str] = ()) -> list[str]:
    """Names of which each occurs once, and none is reserved; the second of its kind is numbered."""
    given = list(names)
    taken, found, following = {*given, *reserved}, list[str](), dict.fromkeys(reserved, 2)
    for name in given:
        fresh = name
        while name in following and fresh in taken:
            fresh = f"{name}_{following[name]}"
            following[name] += 1
        following.setdefault(name, 2)
        taken.add(fresh)
        found.append(fresh)
    return found


def unused(name: str, names: Sequence[str]) -> str:
    """The name, or one like it that is not among these."""
    return distinct([*names, name])[-1]


def at_zero(joint: JointModel) -> Array:
    """The transform from the frame of the parent to the frame of a joint at q = 0."""
    (ca, sa), (ct, st), (cg, sg) = cos_sin(joint.alpha), cos_sin(joint.theta), cos_sin(joint.gamma)
    turn = np.array([[cg, -sg, 0, 0], [sg, cg, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
    x = np.array([[1, 0, 0, joint.a], [0, ca, -sa, joint.y], [0, sa, ca, joint.z], [0, 0, 0, 1]], dtype=float)
    z = np.array([[ct, -st, 0, 0], [st, ct, 0, 0], [0, 0, 1, joint.d], [0, 0, 0, 1]], dtype=float)
    T: Array = turn @ x @ z
    return T


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def _link(root: ET.Element, link: LinkModel) -> None:
    element = ET.SubElement(root, "link", name=link.name)
    if link.mass or np.any(link.inertia):
        _inertial(element, link)
    _show(element, link.visuals, np.eye(4))


def _inertial(element: ET.Element, link: LinkModel) -> None:
    inertial = ET.SubElement(element, "inertial")
    ET.SubElement(inertial, "origin", xyz=_numbers(link.com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=repr(float(link.mass)))
    moments = dict(zip(SIX, map(float, six(link.inertia)), strict=True))
    ET.SubElement(inertial, "inertia", {key: repr(moments[key]) for key in sorted(SIX)})


def _show(link: ET.Element, visuals: Sequence[Visual], T: Array) -> None:
    """The visuals of a link in whose frame theirs is T."""
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
            kind, sizes = lengths(shape)
            ET.SubElement(geometry, kind, dict(zip(ROUND[kind], map(repr, sizes), strict=True)))
        if visual.rgba is not None:
            colour = _numbers(visual.rgba)  # and its name, which must not mean another one elsewhere
            ET.SubElement(ET.SubElement(element, "material", name=colour), "color", rgba=colour)


def _origin(element: ET.Element, T: Array) -> None:
    ET.SubElement(element, "origin", xyz=_numbers(T[:3, 3]), rpy=_numbers(xml.roll_pitch_yaw(T[:3, :3])))


def _joint(root: ET.Element, name: str, kind: str, parent: str, child: str, T: Array) -> ET.Element:
    element = ET.SubElement(root, "joint", name=name, type=kind)
    _origin(element, T)
    ET.SubElement(element, "parent", link=parent)
    ET.SubElement(element, "child", link=child)
    return element
