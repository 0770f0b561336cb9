"""A robot as MJCF: one body per link, the payload a body of its own, the tool and other frames sites.

Names that occur twice, or that are taken (`world` by MuJoCo, `tool` by a link), are numbered.

| joint       | in MuJoCo                                                                                        |
|-------------|--------------------------------------------------------------------------------------------------|
| revolute    | hinge                                                                                            |
| prismatic   | slide                                                                                            |
| helical     | hinge and slide, held together by <equality>                                                     |
| cylindrical | hinge and slide                                                                                  |
| universal   | two hinges                                                                                       |
| planar      | two slides and a hinge: its velocities are in the axes of the parent                             |
| ball        | ball                                                                                             |
| free        | free where it starts from the world's origin; elsewhere three slides and a ball, from its parent |

What cannot be written, because MuJoCo computes with none:

- a moving link without mass, or with a principal moment of inertia of zero; it gets LEAST in place of zero
- a tensor with a negative principal moment, or with one larger than the sum of the others; it is written as it is,
  with a comment, a warning says so, and MuJoCo refuses the file. Its `balanceinertia` would make another robot of it.
  Of a link that turns on the base, only zz has an effect: it is written with a tensor that a body can have and the same
  zz
- greatest speeds, limits on one side only, and what a planar, ball or free joint can do at most

Shapes that are seen are written as geoms of group 2 that touch nothing and have no mass. Meshes are named in comments
only: MuJoCo refuses a file if it cannot read one of its meshes, or if one is of a kind it does not know.

Joints that follow others, and loops, are written as <equality>, which MuJoCo keeps by forces: almost, and not exactly.
"""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array, Vector
from armwright.errors import ModelError, ModelWarning
from armwright.manifold import quaternion_of
from armwright.mechanism import FREEDOMS
from armwright.model.description import NO_TENSOR, Description, JointModel, LinkModel, Tensor, Triple
from armwright.model.mjcf.pose import rotation
from armwright.model.urdf import at_zero, distinct, unused, written
from armwright.model.visual import HALVES, Mesh, Solid, Visual, lengths

LEAST = 1e-14
"""Mass and moments of inertia of a link that has none; MuJoCo's own limit is 1e-15."""

MOST_LINKS = 490
"""Bodies are within each other, and MuJoCo reads 500 elements deep."""

SMALLEST = 1e-12
"""Metres: the size of a shape that can be written."""


def text(robot: Description) -> str:
    """The robot as MJCF; 17 digits wherever they are needed, so that nothing is lost."""
    _check_depth(robot)
    root = ET.Element("mujoco", model=robot.name)
    compiler = ET.SubElement(root, "compiler", angle="radian", balanceinertia="false")
    if any(_least(link) < LEAST for link in robot.links):
        compiler.attrib.update(boundmass=repr(LEAST), boundinertia=repr(LEAST))
    ET.SubElement(root, "option", gravity=_numbers(robot.gravity))
    world = ET.SubElement(root, "worldbody")
    _show(world, robot.base_visuals, np.asarray(robot.base))
    names = distinct((link.name for link in robot.links), reserved=("world",))
    placed = _placed(robot)
    bodies = [world]  # the world, and that of each link
    for i, link in enumerate(robot.links):
        body = _body(bodies[robot.parents[i] + 1], names[i], placed[i].pose)
        _inertial(body, link.mass, link.com, _possible(robot, i))
        _compensate(body, link, f"{names[i]}_compensated", np.asarray(robot.hand.pose) if i == robot.tip else np.eye(4))
        for joint in placed[i].joints:
            _joint(body, joint)
        _show(body, link.visuals, np.eye(4))
        bodies.append(body)
    if robot.payload is not None:
        names.append(unused("payload", names))
        held = _body(bodies[robot.hand.link + 1], names[-1], np.asarray(robot.hand.pose))
        _inertial(held, robot.payload.mass, robot.payload.com, robot.payload.inertia)
    _sites(robot, bodies, unused("tool", names))
    _couple(root, placed)
    _close(root, robot, bodies)
    if refused := [names[i] for i in range(len(robot.links)) if _impossible(principal(_possible(robot, i))[0])]:
        warnings.warn(
            f"{robot.name}: MuJoCo refuses this file, as no body has the tensor of {', '.join(refused)}",
            ModelWarning,
            stacklevel=3,
        )
    return written(root)


def _check_depth(robot: Description) -> None:
    depths: list[int] = []
    for parent in robot.parents:
        depths.append(1 + (depths[parent] if parent >= 0 else 0))
    if max(depths) > MOST_LINKS:
        raise ModelError(
            f"{robot.name} has a chain of {max(depths)} links; MuJoCo reads chains of {MOST_LINKS} at most"
        )


@dataclass(frozen=True)
class Moved:
    """One of MuJoCo's joints, in the frame of its body; `model` is what it is here, where that is a joint by itself.

    `drive` is where its friction, rotor and spring are from, if that is another.
    """

    name: str
    type: str
    axis: Array
    at: Array
    model: JointModel | None = None
    drive: JointModel | None = None


@dataclass(frozen=True)
class Placed:
    """A body in that of its parent while all its joints are at zero, and these joints."""

    pose: Array
    joints: tuple[Moved, ...]


def _placed(robot: Description) -> list[Placed]:
    """Every link as a body; the names of joints are distinct."""
    found, rows = list[Placed](), robot.rows
    for parent, last in zip(robot.parents, robot.carriers, strict=True):
        before = np.asarray(robot.base) if parent < 0 else np.eye(4)
        freedoms = rows[last - rows[last].freedom : last + 1]
        several = freedoms[0].kind in FREEDOMS
        found.append(_ball(before, freedoms, parent < 0) if several else _hinged(before, freedoms))
    names = iter(distinct(joint.name for body in found for joint in body.joints))
    return [replace(body, joints=tuple(replace(joint, name=next(names)) for joint in body.joints)) for body in found]


def _hinged(before: Array, freedoms: Sequence[JointModel]) -> Placed:
    """A body on hinges and slides, which MuJoCo moves one after the other."""
    beyond, joints = np.eye(4), list[Moved]()  # from the frame of a freedom to that of the body
    for joint in reversed(freedoms):
        R = beyond[:3, :3]
        joints.append(Moved(joint.name, "slide" if joint.prismatic else "hinge", R[2], -R.T @ beyond[:3, 3], joint))
        beyond = at_zero(joint) @ beyond
    return Placed(before @ beyond, tuple(reversed(joints)))


def _ball(before: Array, freedoms: Sequence[JointModel], on_base: bool) -> Placed:
    """A body on a planar, ball or free joint."""
    first, last, x, origin = freedoms[0], freedoms[-1], np.eye(3), np.zeros(3)
    name, pose = first.name.rpartition(".")[0] or first.name, before @ at_zero(first)
    slides = [
        Moved(joint.name, "slide", x[i], origin, drive=joint) for i, joint in enumerate(freedoms) if joint.prismatic
    ]
    ball = Moved(name, "ball", x[2], origin, drive=last)
    _check_alike(name, freedoms[: len(slides)], "that slide", ("armature",))
    if first.kind == "planar":
        return Placed(pose, (*slides, Moved(last.name, "hinge", x[2], origin, drive=last)))
    _check_alike(name, freedoms[len(slides) :], "that turn")
    if first.kind == "free" and on_base and np.array_equal(pose, np.eye(4)) and _alike(freedoms):
        rest = np.eye(4)
        if last.sprung:  # which MuJoCo has where the body is drawn
            turn = quaternion_of(Vector(*(joint.spring_rest for joint in freedoms[3:])))
            rest[:3, :3], rest[:3, 3] = rotation(np.roll(turn, 1)), [joint.spring_rest for joint in freedoms[:3]]
        return Placed(rest, (replace(ball, type="free"),))
    if last.sprung and any(joint.spring_rest for joint in freedoms[len(slides) :]):
        raise ModelError(
            f"the spring of {name!r} is at rest where it is turned, and that of a ball of MuJoCo where it is not; "
            "write it as TOML (to_toml)"
        )
    return Placed(pose, (*slides, ball))


ACTING = ("viscous", "coulomb", "armature", "spring_stiffness")


def _alike(freedoms: Sequence[JointModel], fields: Sequence[str] = ACTING) -> bool:
    """Whether what acts in some freedoms is the same in all."""
    return all(getattr(joint, name) == getattr(freedoms[0], name) for joint in freedoms for name in fields)


def _check_alike(name: str, freedoms: Sequence[JointModel], which: str, fields: Sequence[str] = ACTING) -> None:
    if freedoms and not _alike(freedoms, fields):
        raise ModelError(
            f"the freedoms of {name!r} {which} have different {', '.join(fields)}, and MuJoCo has one for all; "
            "write it as TOML (to_toml)"
        )


def _sites(robot: Description, bodies: Sequence[ET.Element], tool: str) -> None:
    """The tool, where there is one, and every frame that has a name."""
    frames = [*([] if robot.tip is None else [replace(robot.hand, name=tool)]), *robot.frames]
    for name, frame in zip(distinct([frame.name for frame in frames]), frames, strict=True):
        T = np.asarray(frame.pose)
        seen = np.asarray(robot.base) @ T if frame.link < 0 else T
        site = {"name": name, "pos": _numbers(seen[:3, 3]), "quat": _numbers(quaternion(seen[:3, :3]))}
        ET.SubElement(bodies[frame.link + 1], "site", site)


def _couple(root: ET.Element, placed: Iterable[Placed]) -> None:
    """What follows another joint, as equations."""
    joints = [(joint.name, joint.model) for body in placed for joint in body.joints if joint.model]
    called = {model.name: name for name, model in joints}
    led = [(name, model) for name, model in joints if model.mimic and not model.mimic.loop]
    if not led:
        return
    equality = ET.SubElement(root, "equality")
    for name, model in led:
        if model.mimic and model.mimic.others:
            raise ModelError(
                f"joint {model.name!r} follows several others, and a joint of MuJoCo follows one; write it as TOML "
                "(to_toml)"
            )
        if model.mimic and len(model.mimic.curve) > POWERS:
            raise ModelError(
                f"joint {model.name!r} follows by a curve of {len(model.mimic.curve) + 1} powers, and MuJoCo has four; "
                "write it as TOML (to_toml)"
            )
        if model.mimic:
            line = _numbers([model.mimic.offset, model.mimic.factor, *model.mimic.curve, 0.0, 0.0, 0.0][: POWERS + 2])
            ET.SubElement(equality, "joint", joint1=name, joint2=called[model.mimic.joint], polycoef=line)


POWERS = 3
"""Of MuJoCo's polynomials, beyond the first."""


def _close(root: ET.Element, robot: Description, bodies: Sequence[ET.Element]) -> None:
    """Loops, each by a site on both of its bodies that MuJoCo holds together."""
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


def _possible(robot: Description, i: int) -> Tensor:
    """The tensor of a link; of one that turns on the base, if no body has its tensor, another one with the same zz."""
    inertia, joint = robot.links[i].inertia, robot.rows[robot.carriers[i]]
    zz = inertia[2][2]
    turns = robot.parents[i] < 0 and not (joint.kind or joint.prismatic)
    if not turns or zz < 0 or not _impossible(principal(inertia)[0]):
        return inertia
    return (zz, 0.0, 0.0), (0.0, zz, 0.0), (0.0, 0.0, zz)


def _impossible(moments: Array) -> bool:
    return bool(moments[0] < 0 or moments[2] > moments[0] + moments[1])


def _body(parent: ET.Element, name: str, T: Array) -> ET.Element:
    return ET.SubElement(parent, "body", name=name, pos=_numbers(T[:3, 3]), quat=_numbers(quaternion(T[:3, :3])))


def _joint(body: ET.Element, joint: Moved) -> None:
    drive = joint.model or joint.drive
    if joint.type == "free" and not (drive and _acting(drive)):
        ET.SubElement(body, "freejoint", name=joint.name)
        return
    element = ET.SubElement(body, "joint", name=joint.name, type=joint.type)
    if joint.type not in ("ball", "free"):
        element.set("axis", _numbers(joint.axis))
    if joint.at.any():
        element.set("pos", _numbers(joint.at))
    if joint.model is not None:
        _drive(element, joint.model)
    if drive is not None:
        element.attrib.update(_acting(drive))
        if drive.sprung and joint.type not in ("ball", "free"):
            element.set("springref", repr(float(drive.spring_rest)))


def _acting(joint: JointModel) -> dict[str, str]:
    """Friction, rotor and spring of a joint, as far as it has them."""
    spring = _numbers((joint.spring_stiffness, *joint.spring_curve)) if joint.sprung else ""
    own = {"damping": joint.viscous, "frictionloss": joint.coulomb, "armature": joint.armature}
    found = {key: repr(float(value)) for key, value in own.items() if value}
    return found | ({"stiffness": spring} if spring else {})


def _drive(element: ET.Element, joint: JointModel) -> None:
    if joint.limits is not None and np.isfinite(joint.limits).all():
        element.attrib.update(limited="true", range=_numbers(joint.limits))
    if joint.max_torque:
        element.attrib.update(
            actuatorfrclimited="true", actuatorfrcrange=_numbers((-joint.max_torque, joint.max_torque))
        )


def _inertial(body: ET.Element, mass: float, com: Triple, inertia: Tensor) -> None:
    """Principal moments and axes, which lose less than MuJoCo's own search for them."""
    moments, axes = principal(inertia)
    if _impossible(moments):
        body.append(ET.Comment(f" no body has the principal moments {_numbers(moments)}: MuJoCo refuses them "))
    ET.SubElement(
        body, "inertial", pos=_numbers(com), quat=_numbers(quaternion(axes)), mass=repr(float(mass)),
        diaginertia=_numbers(moments),
    )  # fmt: skip


def _compensate(body: ET.Element, link: LinkModel, name: str, frame: Array) -> None:
    """The weight that is carried: a share of the body's, or, where its centre is another, that of a mote there.

    The body of that mote stands in a `frame` that is there already, so that a chain has no second end.
    """
    if not link.compensated_mass:
        return
    if link.mass and link.compensated_com == link.com:
        body.set("gravcomp", repr(float(link.compensated_mass / link.mass)))
        return
    x, y, z = frame[:3, :3].T @ (np.asarray(link.compensated_com) - frame[:3, 3])
    mote = _body(body, name, frame)
    mote.set("gravcomp", repr(1.0 / MOTE))
    _inertial(mote, link.compensated_mass * MOTE, (x, y, z), NO_TENSOR)


MOTE = 1e-13
"""Of the mass whose weight is carried: what a body beside the link has, which MuJoCo asks a mass of."""


def _show(body: ET.Element, visuals: Sequence[Visual], T: Array) -> None:
    """The visuals of a body in whose frame theirs is T, without their names: MuJoCo refuses one that occurs twice."""
    for visual in visuals:
        shape, pose = visual.shape, T @ np.asarray(visual.pose)
        place = {"pos": _numbers(pose[:3, 3]), "quat": _numbers(quaternion(pose[:3, :3]))}
        if isinstance(shape, Mesh):
            named = {"mesh": shape.file, "scale": _numbers(shape.scale), **place}
            words = " ".join(f"{key}={value!r}" for key, value in named.items())
            body.append(ET.Comment(f" {re.sub('-(?=-)', '- ', words)} "))  # two dashes would end the comment
            continue
        kind, size = _sizes(shape)
        if min(size) < SMALLEST:
            body.append(ET.Comment(f" a {kind} without extent is left out: MuJoCo has none "))
            continue
        shown = {"group": "2", "contype": "0", "conaffinity": "0", "mass": "0"}
        colour = {"rgba": _numbers(visual.rgba)} if visual.rgba is not None else {}
        ET.SubElement(body, "geom", {"type": kind, "size": _numbers(size), **place, **shown, **colour})


def _sizes(shape: Solid) -> tuple[str, list[float]]:
    """MuJoCo's name of a shape, and its radii and half lengths."""
    kind, sizes = lengths(shape)
    return kind, [size * part for size, part in zip(sizes, HALVES[kind], strict=True)]


def _least(link: LinkModel) -> float:
    return min(float(link.mass), float(principal(link.inertia)[0][0]))


def principal(inertia: Tensor) -> tuple[Array, Array]:
    """Principal moments, smallest first, and the rotation to their axes.

    What rounding took from a body without extent along an axis is given back: moments just below zero are zero, and
    the largest is no more than the sum of the others where it is just above it.
    """
    tensor = np.array(inertia, dtype=float)
    if not np.any(tensor - np.diag(np.diag(tensor))):
        order = np.argsort(np.diag(tensor), kind="stable")
        moments, axes = np.diag(tensor)[order], np.eye(3)[:, order]
    else:
        moments, axes = np.linalg.eigh(tensor)
    dust = 1e-14 * np.abs(moments).max()
    moments = np.where(np.abs(moments) <= dust, 0.0, moments)
    most = moments[0] + moments[1]
    if most < moments[2] <= most + dust:
        moments[2] = most
    return moments, axes * np.sign(np.linalg.det(axes))


def quaternion(R: Array) -> Array:
    """w x y z of a rotation; the largest of the four is computed first and the others from it."""
    trace = np.trace(R)
    squares = np.array([trace, *(2 * np.diag(R) - trace)])
    i = int(np.argmax(squares))
    if i == 0:
        q = np.array([1 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        j, k = i % 3 + 1, (i + 1) % 3 + 1
        q = np.zeros(4)
        q[0] = R[k - 1, j - 1] - R[j - 1, k - 1]
        q[i] = 1 + squares[i]
        q[j] = R[j - 1, i - 1] + R[i - 1, j - 1]
        q[k] = R[k - 1, i - 1] + R[i - 1, k - 1]
    unit: Array = q / np.linalg.norm(q)
    return unit


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(x) + 0.0) for x in np.ravel(values))
