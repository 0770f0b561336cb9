"""What somebody who has nothing but the exported code must know of the robot, as lines of a comment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

import numpy as np

from armwright.export.names import arguments, shown
from armwright.formulations.parts.coordinates import placed, positions
from armwright.formulations.problem import ARGUMENT_MEANINGS
from armwright.formulations.quantities.kinematics import link_frames
from armwright.mechanism import FREEDOMS_OF_KIND, Pose
from armwright.model.description import Description
from armwright.model.records import JointModel
from armwright.model.robot_parameters import parameter_values
from armwright.model.transforms import IDENTITY_TRANSFORM, Transform

_UNITS = {"mass": "kg", "com": "m", "inertia": "kg m^2, as xx yy zz xy xz yz", "gravity": "m/s^2 in the world"}


def digest(robot: Description) -> str:
    """A name for exactly this robot: all its numbers and names, but not what it looks like."""
    told: dict[str, object] = {f.name: getattr(robot, f.name) for f in fields(Description) if f.hash is not False}
    told["links"] = [(link.name, link.mass, link.com, link.inertia) for link in robot.links]
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def notes(robot: Description, vary: Sequence[str] = (), wrenches: Sequence[str] = ()) -> list[str]:
    """Where it comes from, joints in their order, frames, what is included and what is left open."""
    said = [f"Digest of the robot: {digest(robot)}."]
    if source := " ".join(robot.source.split()):
        said.append(f"Source: {shown(source)}")
    return [
        *said,
        *_joints(robot),
        *_quaternions(robot),
        *_followers(robot),
        *_frames(robot),
        *_included(robot),
        *_open(robot, vary, wrenches),
    ]


def _joints(robot: Description) -> Iterator[str]:
    if robot.balls:
        yield f"qd, qdd and tau have {robot.n} entries, one for each freedom, in this order; q has {robot.nq}:"
    else:
        yield f"q, qd, qdd and tau have {robot.n} entries, one for each joint, in this order:"
    frames = _at_zero(robot)
    numbers = [i for i, row in enumerate(robot.rows) if row.mimic is None]
    for i, (joint, row) in enumerate(zip(robot.joints, numbers, strict=True)):
        yield f"  [{i}] {shown(joint.name)}: {_said(joint)}{_axis(joint, frames[row]) if frames else ''}"
    if frames:
        yield "Axes and origins are those in the world with every joint at zero; positive is by the right hand."


def _said(joint: JointModel) -> str:
    """Kind, units and limits."""
    length, force = ("m", "N") if joint.prismatic else ("rad", "N m")
    text = f"{joint.type}, {length}, {force}"
    if joint.limits is not None:
        text += f", {joint.limits[0]:.6g} to {joint.limits[1]:.6g}"
    if joint.max_velocity is not None:
        text += f", at most {joint.max_velocity:.6g} {length}/s"
    if joint.max_torque is not None:
        text += f", at most {joint.max_torque:.6g} {force}"
    return text


def _at_zero(robot: Description) -> list[Pose]:
    """The frame behind every joint when all are at zero; none where loops hold the robot, which may not get there."""
    if robot.loops:
        return []
    q = robot.neutral.tolist()
    there = placed(robot.mechanism(), q)
    return link_frames(there, positions(there, q))


def _axis(joint: JointModel, frame: Pose) -> str:
    if joint.kind in FREEDOMS_OF_KIND:
        return ""
    way = "along" if joint.prismatic else "about"
    return f"; {way} {_triple(row.z for row in frame.rotation)} through {_triple(frame.position)}"


def _triple(numbers: Iterable[float]) -> str:
    return f"({', '.join(f'{round(float(x), 9) + 0.0:.6g}' for x in numbers)})"


def _quaternions(robot: Description) -> list[str]:
    """Which entries of q are those of a ball, free or planar joint, and in which axes it moves; others are as in qd."""
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
    said = []
    for ball in robot.balls:
        name, first = shown(robot.rows[ball.joint].name.rpartition(".")[0]), ball.first_entry
        said.append(f"  q[{first}] to q[{first + ball.freedoms}] of {name}, {ball.kind}: {meaning[ball.kind]}")
        one, last = ball.coordinate, ball.coordinate + ball.freedoms - 1
        said.append(f"  [{one}] to [{last}] of qd, qdd (the rates of qd) and tau of {name}: {moving[ball.kind]}")
    if said:
        others = "Other joints have their entries of q in the same order."
        said.append(f"{others} A quaternion that is not of unit length gives no finite result.")
    return said


def _followers(robot: Description) -> Iterator[str]:
    for joint in robot.followers:
        m = joint.mimic
        if m is not None and m.loop:
            yield f"  {shown(joint.name)} is moved by the loop {shown(m.loop)}"
        elif m is not None:
            bent = [(f"{m.joint}^{power}", k) for power, k in enumerate(m.curve, start=2) if k]
            terms = " ".join(f"{factor:+g} {shown(name)}" for name, factor in (*m.leaders, *bent)).removeprefix("+")
            yield f"  {shown(joint.name)} follows: {terms} {m.offset:+g}"


def _frames(robot: Description) -> Iterator[str]:
    yield f"Gravity is {_triple(robot.gravity)} m/s^2 in the world."
    yield (
        "Poses are seen from the world, where the base transform places frame 0; jacobians are those of the tool's "
        "origin; link frames are the canonical ones that print(robot) shows, with z on the axis of the joint before."
    )
    if robot.base != IDENTITY_TRANSFORM:
        yield f"Frame 0 stands in the world at {_placed(robot.base)}"
    at_zero, carriers = _at_zero(robot), robot.link_rows
    for link, carrier in zip(robot.links, carriers, strict=True):
        where = ""
        if at_zero:
            stood = at_zero[carrier]
            where = f", at zero at {_triple(stood.position)}, x {_triple(row.x for row in stood.rotation)}"
        yield f"  link {shown(link.name)}, behind {shown(robot.rows[carrier].name)}{where}"
    for frame in (*([] if robot.tip is None else [robot.tool_frame]), *robot.frames):
        on = "the base" if frame.link < 0 else f"link {shown(robot.links[frame.link].name)}"
        yield f"  frame {shown(frame.name)}, on {on} at {_placed(frame.pose)}"


def _placed(pose: Transform) -> str:
    """A transform by its origin and, where it turns, its axes."""
    where, axes = _triple(row[3] for row in pose[:3]), [[row[k] for row in pose[:3]] for k in range(3)]
    turned = [f"{name} {_triple(axis)}" for name, axis in zip("xyz", axes, strict=True)]
    return ", ".join([where, *([] if axes == np.eye(3).tolist() else turned)])


def _included(robot: Description) -> list[str]:
    """Which of friction, rotors, springs and payload are in the numbers."""
    rows = robot.rows
    dry = any(row.viscous or row.coulomb for row in rows)
    rubbing = [f"{shown(row.name)} {row.viscous:g}, {row.coulomb:g}" for row in rows] if dry else []
    rotors = [f"{shown(row.name)} {row.armature:g}" for row in rows if row.armature]
    law = "coulomb * sign(qd)" if not any(row.smooth for row in rows) else "coulomb * tanh(qd / smooth)"
    springs = [f"{shown(row.name)} {_spring(row)}" for row in rows if row.sprung]
    carried = [f"{shown(link.name)} {link.compensated_mass:g}" for link in robot.links if link.compensated_mass]
    held = robot.payload
    return [
        f"Friction, viscous * qd + {law}, is included: {'; '.join(rubbing)}" if dry else "No friction.",
        "Rotor inertias as joints feel them are included: " + "; ".join(rotors) if rotors else "No rotor inertias.",
        *([f"Springs beside joints are included: {'; '.join(springs)}"] if springs else []),
        *([f"Weight that no drive carries is taken off, in kg: {'; '.join(carried)}"] if carried else []),
        f"A payload of {held.mass:g} kg at {_triple(held.com)} m in the tool frame is included."
        if held
        else "No payload.",
    ]


def _spring(row: JointModel) -> str:
    curve = "".join(f" + {k:g} x^{power}" for power, k in enumerate(row.spring_curve, start=2) if k)
    return f"{row.spring_stiffness:g} x{curve}, x = q - {row.spring_rest:g}"


def _open(robot: Description, vary: Sequence[str], wrenches: Sequence[str]) -> Iterator[str]:
    """What stays open: arguments behind the others."""
    for name, argument in arguments(vary).items():
        field = name.rpartition(".")[2]
        unit = f", {_UNITS[field]}" if field in _UNITS else ""
        numbers = ", ".join(f"{x:g}" for x in parameter_values(robot, name))
        yield f"{argument} is {shown(name)} of the robot in place of its own ({numbers}){unit}."
    for name in wrenches:
        yield f"{name} is {ARGUMENT_MEANINGS[name]}, exerted by the surroundings; N and N m."
