"""Frames that save operations, for results that do not depend on the frames of links.

Along parallel axes a frame may stand anywhere, so all distances of a row of parallel axes can be gathered in one. The
last frame of a branch may also be rotated about its axis. Where the first axes meet in a point, as in a spherical
shoulder, their frames may all stand there (`with_common_origin`).

Torque, mass matrix and accelerations stay the same; potential energy changes by a constant.
"""

from __future__ import annotations

import math
from dataclasses import replace

from armwright.algebra import Matrix, Rotation, Scalar, Vector, structural, vanishes
from armwright.formulations.composite_body import CompositeBody, to_parent
from armwright.formulations.parts.spatial import Screw
from armwright.mechanism import AnyLink, EulerLink, Mechanism, MomentLink, Pose
from armwright.trace.regroup import is_numeric


def reframed(mechanism: Mechanism, level: bool = True, turn_tool: bool = True) -> Mechanism:
    """Return the robot with frames that save operations.

    `level` gathers distances along parallel axes in one of them. The last frame of a branch has the centre of mass on
    x, that of the tool only with `turn_tool`.
    """
    mechanism = levelled(mechanism) if level else mechanism
    parents = set(mechanism.parents)
    for i in range(mechanism.n):
        if i not in parents and (turn_tool or i != mechanism.tip):
            mechanism = _with_com_on_x(mechanism, i)
    return mechanism


def levelled(mechanism: Mechanism) -> Mechanism:
    """Return the robot with one distance in each row of parallel axes, and none in rows that end a branch."""
    if not all(is_numeric((joint.sa, joint.ca, joint.d)) for joint in mechanism.joints):
        return mechanism
    for row in _rows(mechanism):
        last = len(row) - 1
        target = last + 1 if row[last] not in mechanism.parents else _distance_joint(mechanism, row)
        for k in row[: min(target, last + 1)]:
            mechanism = _with_frame_shifted(mechanism, k, -mechanism.joints[k].d)
        for k in range(last, target, -1):
            joint = mechanism.joints[row[k]]
            mechanism = _with_frame_shifted(mechanism, row[k - 1], joint.ca * joint.d)
    return mechanism


def _rows(mechanism: Mechanism) -> list[list[int]]:
    """Return rows of links with parallel axes, each link the only child of the one before."""
    rows: dict[int, list[int]] = {}  # by their last link
    for i, (joint, inner) in enumerate(zip(mechanism.joints, mechanism.parents, strict=True)):
        if movable(mechanism, i):
            only_child = inner in rows and mechanism.parents.count(inner) == 1
            rows[i] = [*rows.pop(inner), i] if only_child and vanishes(joint.sa) else [i]
    return list(rows.values())


def movable(mechanism: Mechanism, i: int) -> bool:
    """Return True for a link on a DH row; frames of balls, branches, loops and compensated links stay."""
    joint = mechanism.joints[i]
    if any(i in loop.links for loop in mechanism.loops):
        return False
    if mechanism.compensated and not structural(mechanism.compensated[i].mass, 0):
        return False
    of_ball = i in mechanism.ball_joints
    return not of_ball and all(structural(x, 0) for x in (joint.y, joint.z, joint.sg))


def _distance_joint(mechanism: Mechanism, row: list[int]) -> int:
    """Return where the distance of a row is cheapest: before all motion, at a prismatic joint, or at the end."""
    if mechanism.parents[row[0]] < 0:
        return 0
    return next((k for k, i in enumerate(row) if mechanism.joints[i].prismatic), len(row) - 1)


def _with_frame_shifted(mechanism: Mechanism, i: int, distance: Scalar) -> Mechanism:
    """Return the robot with frame i moved along its axis; the next axis, if any, is parallel."""
    if vanishes(distance):
        return mechanism
    joints, links, tool = list(mechanism.joints), list(mechanism.links), mechanism.tool
    joints[i] = replace(joints[i], d=joints[i].d + distance)
    links[i] = _shifted_link(links[i], distance)
    for k, inner in enumerate(mechanism.parents):
        if inner == i:
            joints[k] = replace(joints[k], d=joints[k].d - joints[k].ca * distance)
    if i == mechanism.tip:
        tool = _shifted_tool(tool, distance)
    return replace(mechanism, joints=tuple(joints), links=tuple(links), tool=tool)


def _shifted_tool(tool: Pose, distance: Scalar) -> Pose:
    """Return the tool relative to an origin further along z."""
    return Pose(tool.rotation, tool.position - Vector(0, 0, distance))


def _shifted_link(link: AnyLink, distance: Scalar) -> MomentLink:
    """Return a link relative to an origin further along z."""
    body = CompositeBody(link.mass, link.moment, link.origin_inertia)
    return MomentLink(*to_parent(body, Screw(Rotation(1, 0, 1, 0), 0, -distance)))


def _with_com_on_x(mechanism: Mechanism, i: int) -> Mechanism:
    """Return the robot with the last frame i of a branch rotated so that its centre of mass has no y."""
    joint, link, tool = mechanism.joints[i], mechanism.links[i], mechanism.tool
    h, J = link.moment, link.origin_inertia
    if joint.prismatic or not movable(mechanism, i) or not is_numeric((*h, *J, joint.theta)) or not (h.x and h.y):
        return mechanism
    radius = math.hypot(h.x, h.y)
    c, s = h.x / radius, h.y / radius
    joints, links = list(mechanism.joints), list(mechanism.links)
    joints[i] = replace(joint, theta=joint.theta + math.atan2(h.y, h.x))
    links[i] = MomentLink(link.mass, Vector(radius, 0, h.z), J.rotate_z(c, -s))
    if i == mechanism.tip:
        rotation = Matrix(Vector(c, s, 0), Vector(-s, c, 0), Vector(0, 0, 1))
        tool = Pose(rotation.dot(tool.rotation), rotation @ tool.position)
    return replace(mechanism, joints=tuple(joints), links=tuple(links), tool=tool)


def first_separate_frame(mechanism: Mechanism) -> int | None:
    """Return the first frame apart from those before it whose axis meets theirs, or None."""
    for i, joint in enumerate(mechanism.joints[:-1]):
        only_child = mechanism.parents[i] == i - 1 and mechanism.parents.count(i) == 1 and movable(mechanism, i)
        if joint.prismatic or not only_child or not is_numeric((joint.a, joint.d)) or (i and joint.a):
            return None
        if i and joint.d:
            return i
    return None


def with_common_origin(mechanism: Mechanism) -> Mechanism:
    """Return the robot with the `first_separate_frame` moved to the others, whose common point does not accelerate."""
    i = first_separate_frame(mechanism)
    if i is None:
        return mechanism
    joints, links, dz = list(mechanism.joints), list(mechanism.links), -mechanism.joints[i].d
    m, h, K = links[i].mass, links[i].moment, links[i].origin_euler
    zz = K.zz + dz * (m * dz - 2 * h.z)
    links[i] = EulerLink(m, Vector(h.x, h.y, h.z - m * dz), K._replace(zz=zz, xz=K.xz - h.x * dz, yz=K.yz - h.y * dz))
    joints[i] = replace(joints[i], d=0)
    child = mechanism.parents.index(i)
    joints[child] = replace(joints[child], z=joints[child].z - dz)
    tool = _shifted_tool(mechanism.tool, dz) if i == mechanism.tip else mechanism.tool
    return replace(mechanism, joints=tuple(joints), links=tuple(links), tool=tool)
