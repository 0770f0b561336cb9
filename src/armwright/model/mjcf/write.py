"""A robot as MJCF: one body per link, one for the payload, sites for the tool and other frames.

Repeated names, and those in use (`world` by MuJoCo, `tool` by a link), are numbered.

| joint       | in MuJoCo                                                                                        |
|-------------|--------------------------------------------------------------------------------------------------|
| revolute    | hinge                                                                                            |
| prismatic   | slide                                                                                            |
| helical     | hinge and slide, coupled by <equality>                                                           |
| cylindrical | hinge and slide                                                                                  |
| universal   | two hinges                                                                                       |
| planar      | two slides and a hinge: its velocities are in the axes of the parent                             |
| ball        | ball                                                                                             |
| free        | free if it starts at the world's origin; else three slides and a ball, from its parent           |

MuJoCo has no equivalent of these:

- a moving link without mass, or with a zero principal moment of inertia; it gets MIN_INERTIA in place of zero
- a tensor with a negative principal moment, or with one larger than the sum of the others; it is written unchanged,
  with a comment and a warning, and MuJoCo refuses the file. `balanceinertia` would change the robot. Of a link that
  rotates about a fixed axis only zz matters: it gets a possible tensor of the same zz
- speed limits, one-sided limits, and limits of speed and effort of planar, ball and free joints

Shapes are geoms of group 2 without contacts and mass. Meshes are named in comments, since MuJoCo refuses a file with a
mesh that it cannot read.

Followers and loops are <equality> constraints, which MuJoCo fulfils approximately, by forces.
"""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import ModelError, ModelWarning
from armwright.model.description import Description
from armwright.model.mjcf.mujoco_bodies import MjcfBody, MjcfJoint, mjcf_bodies
from armwright.model.mjcf.pose import principal_axes, quaternion
from armwright.model.records import JointModel, LinkModel
from armwright.model.transforms import ZERO_TENSOR, Tensor, Triple
from armwright.model.visual import MUJOCO_SIZE_FACTORS, Mesh, Solid, Visual, shape_lengths
from armwright.model.xml_writer import unique_names, unused_name, xml_text

MIN_INERTIA = 1e-14
"""Mass and moments of inertia in place of zero; MuJoCo requires 1e-15."""

MAX_CHAIN_LINKS = 490
"""The largest depth of nested bodies; MuJoCo reads 500 nested elements."""

MIN_SHAPE_SIZE = 1e-12
"""The smallest size of a shape, m."""


def mjcf_text(robot: Description) -> str:
    """Return the robot as MJCF, with 17 digits where needed."""
    _check_depth(robot)
    root = ET.Element("mujoco", model=robot.name)
    compiler = ET.SubElement(root, "compiler", angle="radian", balanceinertia="false")
    if any(_smallest_inertia(link) < MIN_INERTIA for link in robot.links):
        compiler.attrib.update(boundmass=repr(MIN_INERTIA), boundinertia=repr(MIN_INERTIA))
    ET.SubElement(root, "option", gravity=_numbers(robot.gravity))
    world = ET.SubElement(root, "worldbody")
    _add_visuals(world, robot.base_visuals, np.asarray(robot.base))
    names = unique_names((link.name for link in robot.links), reserved=("world",))
    placed = mjcf_bodies(robot)
    bodies = [world]  # the world, and that of each link
    for i, link in enumerate(robot.links):
        body = _body(bodies[robot.parents[i] + 1], names[i], placed[i].pose)
        _inertial(body, link.mass, link.com, _physical_tensor(robot, i))
        frame = np.asarray(robot.tool_frame.pose) if i == robot.tip else np.eye(4)
        _compensate(body, link, f"{names[i]}_compensated", frame)
        for joint in placed[i].joints:
            _joint(body, joint)
        _add_visuals(body, link.visuals, np.eye(4))
        bodies.append(body)
    if robot.payload is not None:
        names.append(unused_name("payload", names))
        payload = _body(bodies[robot.tool_frame.link + 1], names[-1], np.asarray(robot.tool_frame.pose))
        _inertial(payload, robot.payload.mass, robot.payload.com, robot.payload.inertia)
    _sites(robot, bodies, unused_name("tool", names))
    _add_couplings(root, placed)
    _add_loops(root, robot, bodies)
    moments = (principal_axes(_physical_tensor(robot, i))[0] for i in range(len(robot.links)))
    if refused := [name for name, x in zip(names, moments, strict=False) if _unphysical(x)]:
        text = f"MuJoCo refuses this file, as no body has the tensor of {', '.join(refused)}"
        warnings.warn(f"{robot.name}: {text}", ModelWarning, stacklevel=3)
    return xml_text(root)


def _check_depth(robot: Description) -> None:
    depths: list[int] = []
    for parent in robot.parents:
        depths.append(1 + (depths[parent] if parent >= 0 else 0))
    if max(depths) > MAX_CHAIN_LINKS:
        text = f"a chain of {max(depths)} links; MuJoCo reads chains of {MAX_CHAIN_LINKS} at most"
        raise ModelError(f"{robot.name} has {text}")


def _sites(robot: Description, bodies: Sequence[ET.Element], tool: str) -> None:
    """Add sites for the tool and for every named frame."""
    frames = [*([] if robot.tip is None else [replace(robot.tool_frame, name=tool)]), *robot.frames]
    for name, frame in zip(unique_names([frame.name for frame in frames]), frames, strict=True):
        T = np.asarray(frame.pose)
        pose = np.asarray(robot.base) @ T if frame.link < 0 else T
        site = {"name": name, "pos": _numbers(pose[:3, 3]), "quat": _numbers(quaternion(pose[:3, :3]))}
        ET.SubElement(bodies[frame.link + 1], "site", site)


def _add_couplings(root: ET.Element, placed: Iterable[MjcfBody]) -> None:
    """Add followers as equations."""
    joints = [(joint.name, joint.model) for body in placed for joint in body.joints if joint.model]
    mjcf_names = {model.name: name for name, model in joints}
    followers = [(name, model, model.mimic) for name, model in joints if model.mimic and not model.mimic.loop]
    if not followers:
        return
    equality = ET.SubElement(root, "equality")
    for name, model, mimic in followers:
        if mimic.others:
            raise ModelError(
                f"joint {model.name!r} follows several others, and a joint of MuJoCo follows one; write it as TOML "
                "(to_toml)"
            )
        if len(mimic.curve) > MAX_EXTRA_POWERS:
            raise ModelError(
                f"joint {model.name!r} follows by a curve of {len(mimic.curve) + 1} powers, and MuJoCo has four; "
                "write it as TOML (to_toml)"
            )
        factors = _numbers([mimic.offset, mimic.factor, *mimic.curve, 0.0, 0.0, 0.0][: MAX_EXTRA_POWERS + 2])
        ET.SubElement(equality, "joint", joint1=name, joint2=mjcf_names[mimic.joint], polycoef=factors)


MAX_EXTRA_POWERS = 3
"""Powers of MuJoCo's polynomials beyond the first."""


def _add_loops(root: ET.Element, robot: Description, bodies: Sequence[ET.Element]) -> None:
    """Add loops, each as two sites that MuJoCo constrains."""
    equality = root.find("equality")
    if robot.loops and equality is None:
        equality = ET.SubElement(root, "equality")
    for loop in robot.loops:
        names = [f"{loop.name}.{k}" for k in (1, 2)]
        for name, link, pose in zip(names, loop.links, loop.poses, strict=True):
            T = np.asarray(robot.base) @ np.asarray(pose) if link < 0 else np.asarray(pose)
            site = {"name": name, "pos": _numbers(T[:3, 3]), "quat": _numbers(quaternion(T[:3, :3]))}
            ET.SubElement(bodies[link + 1], "site", site)
        assert equality is not None
        ET.SubElement(equality, "weld" if loop.weld else "connect", name=loop.name, site1=names[0], site2=names[1])


def _physical_tensor(robot: Description, i: int) -> Tensor:
    """Return the tensor of a link; for an impossible tensor of a link on the base, one with the same zz."""
    inertia, joint = robot.links[i].inertia, robot.rows[robot.link_rows[i]]
    zz = inertia[2][2]
    spins = robot.parents[i] < 0 and not (joint.kind or joint.prismatic)
    if not spins or zz < 0 or not _unphysical(principal_axes(inertia)[0]):
        return inertia
    return (zz, 0.0, 0.0), (0.0, zz, 0.0), (0.0, 0.0, zz)


def _unphysical(moments: Array) -> bool:
    return bool(moments[0] < 0 or moments[2] > moments[0] + moments[1])


def _body(parent: ET.Element, name: str, T: Array) -> ET.Element:
    return ET.SubElement(parent, "body", name=name, pos=_numbers(T[:3, 3]), quat=_numbers(quaternion(T[:3, :3])))


def _joint(body: ET.Element, joint: MjcfJoint) -> None:
    drive = joint.model or joint.drive
    if joint.type == "free" and not (drive and _drive_attributes(drive)):
        ET.SubElement(body, "freejoint", name=joint.name)
        return
    element = ET.SubElement(body, "joint", name=joint.name, type=joint.type)
    if joint.type not in ("ball", "free"):
        element.set("axis", _numbers(joint.axis))
    if joint.at.any():
        element.set("pos", _numbers(joint.at))
    if joint.model is not None:
        _add_limits(element, joint.model)
    if drive is not None:
        element.attrib.update(_drive_attributes(drive))
        if drive.sprung and joint.type not in ("ball", "free"):
            element.set("springref", repr(float(drive.spring_rest)))


def _drive_attributes(joint: JointModel) -> dict[str, str]:
    """Return the attributes for friction, rotor and spring of a joint."""
    spring = {"stiffness": _numbers((joint.spring_stiffness, *joint.spring_curve))} if joint.sprung else {}
    numbers = {"damping": joint.viscous, "frictionloss": joint.coulomb, "armature": joint.armature}
    return {key: repr(float(value)) for key, value in numbers.items() if value} | spring


def _add_limits(element: ET.Element, joint: JointModel) -> None:
    if joint.limits is not None and np.isfinite(joint.limits).all():
        element.attrib.update(limited="true", range=_numbers(joint.limits))
    if joint.max_torque:
        limits = _numbers((-joint.max_torque, joint.max_torque))
        element.attrib.update(actuatorfrclimited="true", actuatorfrcrange=limits)


def _inertial(body: ET.Element, mass: float, com: Triple, inertia: Tensor) -> None:
    """Add principal moments and axes, which are more precise than those that MuJoCo computes."""
    moments, axes = principal_axes(inertia)
    if _unphysical(moments):
        body.append(ET.Comment(f" no body has the principal moments {_numbers(moments)}: MuJoCo refuses them "))
    ET.SubElement(
        body, "inertial", pos=_numbers(com), quat=_numbers(quaternion(axes)), mass=repr(float(mass)),
        diaginertia=_numbers(moments),
    )  # fmt: skip


def _compensate(body: ET.Element, link: LinkModel, name: str, frame: Array) -> None:
    """Add compensated weight: a share of the weight of the body, or of a tiny mass on a separate body.

    That body has an existing `frame`, so that a chain keeps one end.
    """
    if not link.compensated_mass:
        return
    if link.mass and link.compensated_com == link.com:
        body.set("gravcomp", repr(float(link.compensated_mass / link.mass)))
        return
    x, y, z = frame[:3, :3].T @ (np.asarray(link.compensated_com) - frame[:3, 3])
    tiny = _body(body, name, frame)
    tiny.set("gravcomp", repr(1.0 / COMPENSATION_SHARE))
    _inertial(tiny, link.compensated_mass * COMPENSATION_SHARE, (x, y, z), ZERO_TENSOR)


COMPENSATION_SHARE = 1e-13
"""The mass of a compensating body, relative to the compensated mass; MuJoCo requires a mass."""


def _add_visuals(body: ET.Element, visuals: Sequence[Visual], T: Array) -> None:
    """Add shapes to a body, in whose frame their frame is T, without names, which MuJoCo requires to be unique."""
    for visual in visuals:
        shape, pose = visual.shape, T @ np.asarray(visual.pose)
        place = {"pos": _numbers(pose[:3, 3]), "quat": _numbers(quaternion(pose[:3, :3]))}
        if isinstance(shape, Mesh):
            values = {"mesh": shape.file, "scale": _numbers(shape.scale), **place}
            text = " ".join(f"{key}={value!r}" for key, value in values.items())
            body.append(ET.Comment(f" {re.sub('-(?=-)', '- ', text)} "))  # two dashes would end the comment
            continue
        kind, size = _sizes(shape)
        if min(size) < MIN_SHAPE_SIZE:
            body.append(ET.Comment(f" a {kind} without extent is left out: MuJoCo has none "))
            continue
        display = {"group": "2", "contype": "0", "conaffinity": "0", "mass": "0"}
        colour = {"rgba": _numbers(visual.rgba)} if visual.rgba is not None else {}
        ET.SubElement(body, "geom", {"type": kind, "size": _numbers(size), **place, **display, **colour})


def _sizes(shape: Solid) -> tuple[str, list[float]]:
    """Return MuJoCo's name of a shape, and its radii and half lengths."""
    kind, sizes = shape_lengths(shape)
    return kind, [size * part for size, part in zip(sizes, MUJOCO_SIZE_FACTORS[kind], strict=True)]


def _smallest_inertia(link: LinkModel) -> float:
    return min(float(link.mass), float(principal_axes(link.inertia)[0][0]))


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(x) + 0.0) for x in np.ravel(values))
