"""The description of the robot in the header of exported code, as lines of a comment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

import numpy as np

from armwright.export.names import argument_names, comment_text
from armwright.formulations.parts.coordinates import mechanism_at, positions
from armwright.formulations.problem import ARGUMENT_MEANINGS
from armwright.formulations.quantities.kinematics import link_frames
from armwright.mechanism import FREEDOMS_OF_KIND, Pose
from armwright.model.description import Description
from armwright.model.records import JointModel
from armwright.model.robot_parameters import parameter_values
from armwright.model.transforms import IDENTITY_TRANSFORM, Transform

_PARAMETER_UNITS = {
    "mass": "kg",
    "com": "m",
    "inertia": "kg m^2, as xx yy zz xy xz yz",
    "gravity": "m/s^2 in the world",
}


def digest(robot: Description) -> str:
    """Return a digest of all numbers and names of a robot, but not of its visuals."""
    content: dict[str, object] = {f.name: getattr(robot, f.name) for f in fields(Description) if f.hash is not False}
    content["links"] = [(link.name, link.mass, link.com, link.inertia) for link in robot.links]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def notes(robot: Description, vary: Sequence[str] = (), wrenches: Sequence[str] = ()) -> list[str]:
    """Return lines on the source, joints in order, frames, what is included, and runtime parameters."""
    lines = [f"Digest of the robot: {digest(robot)}."]
    if source := " ".join(robot.source.split()):
        lines.append(f"Source: {comment_text(source)}")
    return [
        *lines,
        *_joints(robot),
        *_quaternions(robot),
        *_followers(robot),
        *_frames(robot),
        *_included(robot),
        *_arguments(robot, vary, wrenches),
    ]


def _joints(robot: Description) -> Iterator[str]:
    if robot.balls:
        yield f"qd, qdd and tau have {robot.n} entries, one for each freedom, in this order; q has {robot.nq}:"
    else:
        yield f"q, qd, qdd and tau have {robot.n} entries, one for each joint, in this order:"
    frames = _frames_at_zero(robot)
    numbers = [i for i, row in enumerate(robot.rows) if row.mimic is None]
    for i, (joint, row) in enumerate(zip(robot.joints, numbers, strict=True)):
        yield f"  [{i}] {comment_text(joint.name)}: {_joint_text(joint)}{_axis(joint, frames[row]) if frames else ''}"
    if frames:
        yield "Axes and origins are those in the world with every joint at zero; positive is by the right hand."


def _joint_text(joint: JointModel) -> str:
    """Return type, units and limits of a joint."""
    length, force = ("m", "N") if joint.prismatic else ("rad", "N m")
    text = f"{joint.type}, {length}, {force}"
    if joint.limits is not None:
        text += f", {joint.limits[0]:.6g} to {joint.limits[1]:.6g}"
    if joint.max_velocity is not None:
        text += f", at most {joint.max_velocity:.6g} {length}/s"
    if joint.max_torque is not None:
        text += f", at most {joint.max_torque:.6g} {force}"
    return text


def _frames_at_zero(robot: Description) -> list[Pose]:
    """Return the frame after every joint, all at zero; none for robots with loops, which may not reach that."""
    if robot.loops:
        return []
    q = robot.neutral.tolist()
    mechanism = mechanism_at(robot.mechanism(), q)
    return link_frames(mechanism, positions(mechanism, q))


def _axis(joint: JointModel, frame: Pose) -> str:
    if joint.kind in FREEDOMS_OF_KIND:
        return ""
    relation = "along" if joint.prismatic else "about"
    return f"; {relation} {_triple(row.z for row in frame.rotation)} through {_triple(frame.position)}"


def _triple(numbers: Iterable[float]) -> str:
    return f"({', '.join(f'{round(float(x), 9) + 0.0:.6g}' for x in numbers)})"


def _quaternions(robot: Description) -> list[str]:
    """Return lines on the entries of ball, free and planar joints, and the axes of their velocities."""
    meaning = {
        "ball": "a unit quaternion (x, y, z, w)",
        "free": "the position (x, y, z), then a unit quaternion (x, y, z, w)",
        "planar": "x and y, then cosine and sine of the angle",
    }
    moving = {
        "ball": "angular, in the axes of its body",
        "free": "of the origin of its body, linear before angular, both in the axes of the body",
        "planar": "linear, in the axes of its body, then angular",
    }
    lines = []
    for ball in robot.balls:
        name, first = comment_text(robot.rows[ball.joint].name.rpartition(".")[0]), ball.first_entry
        lines.append(f"  q[{first}] to q[{first + ball.freedoms}] of {name}, {ball.kind}: {meaning[ball.kind]}")
        one, last = ball.coordinate, ball.coordinate + ball.freedoms - 1
        lines.append(f"  [{one}] to [{last}] of qd, qdd (the rates of qd) and tau of {name}: {moving[ball.kind]}")
    if lines:
        others = "Other joints have their entries of q in the same order."
        lines.append(f"{others} A quaternion that is not of unit length gives no finite result.")
    return lines


def _followers(robot: Description) -> Iterator[str]:
    for joint in robot.followers:
        m = joint.mimic
        if m is not None and m.loop:
            yield f"  {comment_text(joint.name)} is moved by the loop {comment_text(m.loop)}"
        elif m is not None:
            curve = [(f"{m.joint}^{power}", k) for power, k in enumerate(m.curve, start=2) if k]
            terms = " ".join(f"{factor:+g} {comment_text(name)}" for name, factor in (*m.leaders, *curve))
            yield f"  {comment_text(joint.name)} follows: {terms.removeprefix('+')} {m.offset:+g}"


def _frames(robot: Description) -> Iterator[str]:
    yield f"Gravity is {_triple(robot.gravity)} m/s^2 in the world."
    yield (
        "Poses are in the world frame, in which the base transform places frame 0. Jacobians are those of the "
        "origin of the tool. Link frames are the canonical ones of print(robot), with z on the axis of the joint "
        "before."
    )
    if robot.base != IDENTITY_TRANSFORM:
        yield f"Frame 0 stands in the world at {_placed(robot.base)}"
    zero_frames, carriers = _frames_at_zero(robot), robot.link_rows
    for link, carrier in zip(robot.links, carriers, strict=True):
        where = ""
        if zero_frames:
            zero_frame = zero_frames[carrier]
            where = f", at zero at {_triple(zero_frame.position)}, x {_triple(row.x for row in zero_frame.rotation)}"
        yield f"  link {comment_text(link.name)}, behind {comment_text(robot.rows[carrier].name)}{where}"
    for frame in (*([] if robot.tip is None else [robot.tool_frame]), *robot.frames):
        on = "the base" if frame.link < 0 else f"link {comment_text(robot.links[frame.link].name)}"
        yield f"  frame {comment_text(frame.name)}, on {on} at {_placed(frame.pose)}"


def _placed(pose: Transform) -> str:
    """Return the origin of a transform and, if it rotates, its axes."""
    where, axes = _triple(row[3] for row in pose[:3]), [[row[k] for row in pose[:3]] for k in range(3)]
    rotated = [f"{name} {_triple(axis)}" for name, axis in zip("xyz", axes, strict=True)]
    return ", ".join([where, *([] if axes == np.eye(3).tolist() else rotated)])


def _included(robot: Description) -> list[str]:
    """Return lines on friction, rotors, springs and payload, as far as they are included."""
    rows = robot.rows
    dry = any(row.viscous or row.coulomb for row in rows)
    friction = [f"{comment_text(row.name)} {row.viscous:g}, {row.coulomb:g}" for row in rows] if dry else []
    rotors = [f"{comment_text(row.name)} {row.armature:g}" for row in rows if row.armature]
    law = "coulomb * sign(qd)" if not any(row.smooth for row in rows) else "coulomb * tanh(qd / smooth)"
    springs = [f"{comment_text(row.name)} {_spring(row)}" for row in rows if row.sprung]
    carried = [f"{comment_text(link.name)} {link.compensated_mass:g}" for link in robot.links if link.compensated_mass]
    payload = robot.payload
    return [
        f"Friction, viscous * qd + {law}, is included: {'; '.join(friction)}" if dry else "No friction.",
        "Rotor inertias at the joints are included: " + "; ".join(rotors) if rotors else "No rotor inertias.",
        *([f"Springs at joints are included: {'; '.join(springs)}"] if springs else []),
        *([f"Counterbalanced mass of links is subtracted, in kg: {'; '.join(carried)}"] if carried else []),
        f"A payload of {payload.mass:g} kg at {_triple(payload.com)} m in the tool frame is included."
        if payload
        else "No payload.",
    ]


def _spring(row: JointModel) -> str:
    curve = "".join(f" + {k:g} x^{power}" for power, k in enumerate(row.spring_curve, start=2) if k)
    return f"{row.spring_stiffness:g} x{curve}, x = q - {row.spring_rest:g}"


def _arguments(robot: Description, vary: Sequence[str], wrenches: Sequence[str]) -> Iterator[str]:
    """Yield lines on runtime parameters and wrenches, the last arguments."""
    for name, argument in argument_names(vary).items():
        field = name.rpartition(".")[2]
        unit = f", {_PARAMETER_UNITS[field]}" if field in _PARAMETER_UNITS else ""
        numbers = ", ".join(f"{x:g}" for x in parameter_values(robot, name))
        yield f"{argument} is {comment_text(name)} of the robot; its value is ({numbers}){unit}."
    for name in wrenches:
        yield f"{name} is {ARGUMENT_MEANINGS[name]}, exerted by the surroundings; N and N m."
