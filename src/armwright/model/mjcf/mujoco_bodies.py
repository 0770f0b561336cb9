"""Links and joints of a robot as bodies and joints of MuJoCo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array, Vector
from armwright.errors import ModelError
from armwright.manifold import quaternion_of
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.description import Description
from armwright.model.frame_change import zero_placement
from armwright.model.mjcf.pose import rotation_matrix
from armwright.model.records import JointModel
from armwright.model.xml_writer import unique_names


@dataclass(frozen=True)
class MjcfJoint:
    """One of MuJoCo's joints, in the frame of its body.

    `model` is the joint of the robot if that has one freedom; else `drive` has friction, rotor and spring.
    """

    name: str
    type: str
    axis: Array
    at: Array
    model: JointModel | None = None
    drive: JointModel | None = None


@dataclass(frozen=True)
class MjcfBody:
    """A body in the frame of its parent with its joints at zero, and these joints."""

    pose: Array
    joints: tuple[MjcfJoint, ...]


def mjcf_bodies(robot: Description) -> list[MjcfBody]:
    """Return every link as a body; joint names are unique."""
    bodies, rows = list[MjcfBody](), robot.rows
    for parent, last in zip(robot.parents, robot.link_rows, strict=True):
        before = np.asarray(robot.base) if parent < 0 else np.eye(4)
        freedoms = rows[last - rows[last].freedom : last + 1]
        several = freedoms[0].kind in FREEDOMS_OF_KIND
        bodies.append(_on_ball(before, freedoms, parent < 0) if several else _on_hinges(before, freedoms))
    names = iter(unique_names(joint.name for body in bodies for joint in body.joints))
    return [replace(body, joints=tuple(replace(joint, name=next(names)) for joint in body.joints)) for body in bodies]


def _on_hinges(before: Array, freedoms: Sequence[JointModel]) -> MjcfBody:
    """Return a body on hinges and slides, which MuJoCo applies in sequence."""
    T, joints = np.eye(4), list[MjcfJoint]()  # T: from the frame of a freedom to that of the body
    for joint in reversed(freedoms):
        R = T[:3, :3]
        joints.append(MjcfJoint(joint.name, "slide" if joint.prismatic else "hinge", R[2], -R.T @ T[:3, 3], joint))
        T = zero_placement(joint) @ T
    return MjcfBody(before @ T, tuple(reversed(joints)))


def _on_ball(before: Array, freedoms: Sequence[JointModel], on_base: bool) -> MjcfBody:
    """Return a body on a planar, ball or free joint."""
    first, last, x, origin = freedoms[0], freedoms[-1], np.eye(3), np.zeros(3)
    name, pose = first.name.rpartition(".")[0] or first.name, before @ zero_placement(first)
    slides = [
        MjcfJoint(joint.name, "slide", x[i], origin, drive=joint) for i, joint in enumerate(freedoms) if joint.prismatic
    ]
    ball = MjcfJoint(name, "ball", x[2], origin, drive=last)
    _check_equal_drives(name, freedoms[: len(slides)], "translations", ("armature",))
    if first.kind == "planar":
        return MjcfBody(pose, (*slides, MjcfJoint(last.name, "hinge", x[2], origin, drive=last)))
    _check_equal_drives(name, freedoms[len(slides) :], "rotations")
    if first.kind == "free" and on_base and np.array_equal(pose, np.eye(4)) and _have_equal_drives(freedoms):
        rest = np.eye(4)
        if last.sprung:  # MuJoCo has its rest at the initial pose of the body
            turn = quaternion_of(Vector(*(joint.spring_rest for joint in freedoms[3:])))
            rest[:3, :3], rest[:3, 3] = rotation_matrix(np.roll(turn, 1)), [joint.spring_rest for joint in freedoms[:3]]
        return MjcfBody(rest, (replace(ball, type="free"),))
    if last.sprung and any(joint.spring_rest for joint in freedoms[len(slides) :]):
        raise ModelError(
            f"the spring of {name!r} is at rest at a rotation, and that of a ball of MuJoCo at zero; write it as TOML "
            "(to_toml)"
        )
    return MjcfBody(pose, (*slides, ball))


COMMON_FIELDS = ("viscous", "coulomb", "armature", "spring_stiffness")


def _have_equal_drives(freedoms: Sequence[JointModel], fields: Sequence[str] = COMMON_FIELDS) -> bool:
    """Return whether the drives of these freedoms are equal."""
    return all(getattr(joint, name) == getattr(freedoms[0], name) for joint in freedoms for name in fields)


def _check_equal_drives(
    name: str, freedoms: Sequence[JointModel], motions: str, fields: Sequence[str] = COMMON_FIELDS
) -> None:
    if freedoms and not _have_equal_drives(freedoms, fields):
        raise ModelError(
            f"the {motions} of {name!r} have different {', '.join(fields)}, and MuJoCo has one for all; write it as "
            "TOML (to_toml)"
        )
