"""URDF: a tree of links read from a file.

The reader takes inertias, origins, axes, limits, damping and friction, mimic joints, reflected rotor inertia of
transmissions, and shapes. It never opens meshes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from armwright.errors import ModelError
from armwright.model import xml
from armwright.model.joint_types import SINGLE_TYPES
from armwright.model.mimic import Mimic
from armwright.model.records import LinkModel
from armwright.model.transforms import ZERO_TENSOR, tensor, tensor_entries, triple
from armwright.model.tree import Tree, TreeJoint, check_joint_count, checked_tree, cycle_message, parents_of
from armwright.model.urdf_visuals import UrdfVisuals, origin_of
from armwright.model.visual import Visual

UNKNOWN_LIMIT = 1e6
"""Effort and velocity of a joint with unknown limits, where URDF requires a number."""

TENSOR_ATTRIBUTES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")

URDF_JOINT_TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "floating",
    "planar": "planar",
}


def read(path: str | Path) -> Tree:
    """Return the tree of a URDF file."""
    return tree_of(xml.read(path))


def tree_of(root: xml.Element, packages: Mapping[str, str | Path] | None = None, visuals: bool = True) -> Tree:
    """Return the tree of a parsed URDF document; `packages` locates meshes (`model.meshes`)."""
    if root.tag != "robot":
        expected = "<robot> (URDF) or <mujoco> (MJCF) as the outermost element"
        root.fail(f"<{root.tag}> is not a URDF robot; expected {expected}")
    check_joint_count(len(root.all("joint")), root.file)
    links: dict[str, LinkModel] = {}
    shapes = UrdfVisuals(root, packages) if visuals else None
    for element in root.all("link"):
        link = _read_link(element, tuple(shapes.on(element)) if shapes else ())
        if link.name in links:
            element.fail(f"a second link is called {link.name!r}")
        links[link.name] = link
    if not links:
        root.fail("the robot has no links")
    rotors = _rotors(root)
    joints = [_read_joint(element, rotors) for element in root.all("joint")]
    if shapes:
        shapes.warn_of_repetitions(root.file)
    parents = parents_of(links, joints, root.file)
    roots = [name for name in links if name not in parents]
    if not roots:
        raise ModelError(cycle_message(next(iter(links)), parents, root.file))
    if len(roots) > 1:
        listed = ", ".join(map(repr, roots[:8]))
        root.fail(f"{len(roots)} links are attached to no joint ({listed}); expected one, the root")
    return checked_tree(
        Tree(root.attributes.get("name", "robot") or "robot", links, joints, roots[0], file=root.file, by_name=True)
    )


def _read_link(element: xml.Element, visuals: tuple[Visual, ...]) -> LinkModel:
    name = element.text_of("name")
    inertial = element.one("inertial")
    if inertial is None:
        return LinkModel(name, 0.0, (0.0, 0.0, 0.0), ZERO_TENSOR, visuals)
    T = origin_of(inertial)
    mass = inertial.need("mass").number("value")
    inertia = inertial.one("inertia")
    matrix = np.array(tensor(inertia.number(key, 0.0) if inertia else 0.0 for key in TENSOR_ATTRIBUTES))
    if mass < 0:
        inertial.need("mass").fail(f"mass = {mass!r} is negative")
    R = T[:3, :3]
    rotated = matrix if np.array_equal(R, np.eye(3)) else R @ matrix @ R.T
    return LinkModel(name, mass, triple(T[:3, 3]), tensor(tensor_entries(rotated)), visuals)


def _read_joint(element: xml.Element, rotors: dict[str, float]) -> TreeJoint:
    name, kind = element.text_of("name"), element.text_of("type")
    if kind not in URDF_JOINT_TYPES:
        element.fail(f"joint {name!r} has type {kind!r}; expected {', '.join(URDF_JOINT_TYPES)}")
    axis = np.array((element.one("axis") or element).vector("xyz", (1.0, 0.0, 0.0)))
    length = float(np.linalg.norm(axis))
    if URDF_JOINT_TYPES[kind] in SINGLE_TYPES and not length > 1e-9:
        element.fail(f"the axis of joint {name!r} has no length")
    limit, dynamics, mimic = element.one("limit"), element.one("dynamics"), element.one("mimic")
    return TreeJoint(
        name=name,
        kind=URDF_JOINT_TYPES[kind],
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
    """Return the limits in the file; `problems` reports reversed limits."""
    if kind == "continuous" or limit is None or not {"lower", "upper"} & set(limit.attributes):
        return None
    low, high = limit.number("lower", 0.0), limit.number("upper", 0.0)
    return None if low == high or high - low >= 2 * UNKNOWN_LIMIT else (low, high)


def _known(limit: xml.Element | None, name: str) -> float | None:
    """Return a limit of speed or effort; zero and millions mean unknown."""
    value = limit.number(name, 0.0) if limit is not None else 0.0
    return value if 0 < value < UNKNOWN_LIMIT else None


def _rotors(root: xml.Element) -> dict[str, float]:
    """Return the reflected rotor inertias of transmissions, by joint."""
    rotors: dict[str, float] = {}
    for transmission in root.all("transmission"):
        joints, actuators = transmission.all("joint"), transmission.all("actuator")
        if len(joints) != 1 or len(actuators) != 1 or "name" not in joints[0].attributes:
            continue  # a differential: the file does not divide its rotors among the joints
        values = {e.tag: e for e in (*transmission.children, *joints[0].children, *actuators[0].children)}
        inertia = values.get("rotorInertia") or values.get("motorInertia") or values.get("rotor_inertia")
        if inertia is not None:
            rotors[joints[0].attributes["name"]] = _reflected(inertia, values.get("mechanicalReduction"))
    return rotors


def _reflected(inertia: xml.Element, ratio: xml.Element | None) -> float:
    try:
        gear = float(ratio.text) if ratio is not None else 1.0
        return float(inertia.text) * gear * gear
    except ValueError:
        inertia.fail(f"rotor inertia {inertia.text!r} or its reduction is not a number")
