"""The facts of a robot for the rules: sizes, bodies, joints and angles of its canonical rows and links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.description import Description
from armwright.model.records import JointModel, Payload
from armwright.model.transforms import Transform, cos_sin
from armwright.rules.body_rules import MAX_LINK_LENGTH, has_misplaced_centre
from armwright.rules.facts import AngleFacts, BodyFacts, JointFacts, RobotFacts, is_minor
from armwright.rules.robot_rules import PAYLOAD_REACH

MIN_PAYLOAD_SIZE = 1e-5
"""Metres; a payload may be nearly a point, at any distance from the tool."""

MAX_SIZE_RATIO = 3.0
"""Largest ratio of the two middle sizes of a robot up to which both are usual."""


def robot_facts(robot: Description) -> RobotFacts:
    """Return the facts of a robot; a misplaced centre of mass does not count for the lengths of links."""
    coms = [np.array(link.com) for link in robot.links]
    sizes = _sizes(robot, coms)
    bodies = _bodies(robot, sizes)
    misplaced = {i for i, body in enumerate(bodies) if has_misplaced_centre(body)}
    if misplaced:
        corrected = _sizes(robot, [np.zeros(3) if i in misplaced else com for i, com in enumerate(coms)])
        offsets = [sizes.offsets[i] if i in misplaced else value for i, value in enumerate(corrected.offsets)]
        sizes = replace(corrected, offsets=offsets)
        bodies = _bodies(robot, sizes)
    max_size = max(sizes.usual, sum(sizes.joints), PAYLOAD_REACH)
    payload = None if robot.payload is None else _payload_facts(robot.payload, max_size)
    return RobotFacts(robot.name, tuple(bodies), tuple(_joints(robot, sizes, misplaced)), robot.gravity, payload)


def _joints(robot: Description, sizes: Sizes, misplaced: set[int]) -> Iterator[JointFacts]:
    """Yield the joints; a large gap between well-placed centres of mass counts as the distance of joints."""
    lengths = list(sizes.joints)
    for i, (carrier, parent) in enumerate(zip(robot.link_rows, robot.parents, strict=True)):
        if sizes.gaps[i] > MAX_LINK_LENGTH and not {i, parent} & misplaced:  # frames of parallel axes may be close
            lengths[carrier - robot.rows[carrier].freedom] = sizes.gaps[i]
    for row, length in zip(robot.rows, lengths, strict=True):
        effort = (row.max_torque or None) if robot.loops else row.max_torque  # a joint of a loop may have no motor
        drive = (None, None) if row.mimic else (effort, row.max_velocity)
        numbers = (row.viscous, row.coulomb, length, row.armature, row.smooth)
        yield JointFacts(row.name, not row.prismatic, row.limits, *drive, *numbers)


def _bodies(robot: Description, sizes: Sizes) -> list[BodyFacts]:
    total, segment = sum(abs(link.mass) for link in robot.links), sum(sizes.joints) / len(sizes.joints)
    return [
        BodyFacts(
            name=link.name,
            mass=link.mass,
            inertia=np.array(link.inertia),
            min_size=sizes.smallest[i],
            max_size=sizes.largest[i],
            length=segment,
            offset=sizes.offsets[i],
            spin_axis=np.array([0.0, 0.0, 1.0]) if _rotates_on_base(robot, i) else None,
            minor=is_minor(link.mass, total),
        )
        for i, link in enumerate(robot.links)
    ]


def _rotates_on_base(robot: Description, link: int) -> bool:
    """Return whether a link is on the base and can only rotate about z."""
    row = robot.rows[robot.link_rows[link]]
    return robot.parents[link] < 0 and not (row.prismatic or row.kind)


def _payload_facts(payload: Payload, max_size: float) -> BodyFacts:
    """Return the facts of the payload, which may be as long as the reach of the robot."""
    offset = math.hypot(*payload.com)
    return BodyFacts("payload", payload.mass, np.array(payload.inertia), MIN_PAYLOAD_SIZE, max_size, offset=offset)


def angle_facts(robot: Description) -> Iterator[list[AngleFacts]]:
    """Yield the angles of each row; the flange has the last angle of a standard table."""
    for i, row in enumerate(robot.rows):
        angles = [("gamma", row.gamma), ("alpha", row.alpha), ("theta", row.theta)]
        ends = [("base", robot.base)] if i == 0 else []
        if robot.tip is not None and i == robot.link_rows[robot.tip]:
            ends += [("flange", robot.flange), ("tool", robot.tool)]
        angles += [(f"angle of the {key}", angle) for key, T in ends for angle in _rotation_angle(T)]
        if row.mimic is not None and not (row.prismatic or row.mimic.others or row.mimic.loop):
            angles.append(("offset", row.mimic.offset))
        yield [AngleFacts(row.name, key, (value,), (f"{value:.15g}",)) for key, value in angles]


def _rotation_angle(transform: Transform) -> Iterator[float]:
    """Yield the angle of a rotation about x, y or z."""
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        if abs(transform[i][i] - 1) < 1e-15:
            yield math.atan2(transform[k][j], transform[j][j])
            return


@dataclass(frozen=True)
class Sizes:
    """Approximate sizes of the parts of a robot in metres.

    smallest, largest  bounds of the length of each link
    usual              usual length of links of this robot
    joints             distance of each joint from the one before
    offsets            distance of each link's centre of mass from the axes of its revolute joints, or from its frames
                       and the tool, if it is more than MAX_LINK_LENGTH from these
    gaps               distance of each link's centre of mass from that of its parent
    """

    smallest: list[float]
    largest: list[float]
    usual: float
    joints: list[float]
    offsets: list[float]
    gaps: list[float]


@np.errstate(over="ignore", invalid="ignore")  # distances may overflow
def _sizes(robot: Description, coms: Sequence[Array]) -> Sizes:
    """Return the sizes of a robot whose links have these centres of mass.

    The distances do not depend on frames: twice that of the centre of mass from either axis, that of the axes, and the
    gap along the joint between neighbouring centres of mass; the largest size includes the distance to the tool. A
    prismatic joint has a direction and no line. No link counts as smaller than usual. The usual size is the lower of
    the two middle sizes, for the largest size the upper one: a locked joint, which removes a link, must not make the
    others look too heavy. Both are computed for all links and for those that are not minor; the milder result counts.
    """
    rows = robot.rows
    tools = {} if robot.tip is None else {robot.tip: np.asarray(robot.tool_frame.pose)[:3, 3]}
    n = len(coms)
    frame_distance = np.array([math.hypot(*com) for com in coms])  # distance from the frames of its joints and the tool
    gaps = np.zeros(n)
    low, inward, outward, axis_distance, joints = (
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.full(n, np.inf),
        [0.0] * len(rows),
    )
    for tip, tool in tools.items():
        axis_distance[tip] = math.hypot(*(tool - coms[tip]))
        frame_distance[tip] = min(frame_distance[tip], axis_distance[tip])
    for i, (carrier, parent) in enumerate(zip(robot.link_rows, robot.parents, strict=True)):
        first = carrier - rows[carrier].freedom
        row = rows[first]
        if parent >= 0:
            frame_distance[parent] = min(frame_distance[parent], math.hypot(*(coms[parent] - _joint_origin(row))))
        if row.kind in FREEDOMS_OF_KIND:
            axis_distance[i] = 0.0
            continue
        inner, outer = _centres_in_axis_frame(row, coms[parent] if parent >= 0 else np.zeros(3), coms[i])
        apart = outer - inner
        from_inner, from_outer = (0.0, 0.0) if row.prismatic else (np.hypot(*inner[:2]), np.hypot(*outer[:2]))
        low[i], axis_distance[i] = max(low[i], 2 * from_outer), min(axis_distance[i], from_outer)
        gap = math.hypot(*apart)
        joints[first] = _joint_distance(row, gap)
        if parent >= 0:
            gaps[i] = gap
            inward[i] = np.hypot(*apart[:2]) if row.prismatic else abs(apart[2])
            outward[parent] = max(outward[parent], inward[i])
            across = 0.0 if row.prismatic else math.hypot(row.a, row.y)
            low[parent], axis_distance[parent] = (
                max(low[parent], across, 2 * from_inner),
                min(axis_distance[parent], from_inner),
            )
    low = np.maximum(low, np.maximum(inward, outward) / 4)
    for tip, tool in tools.items():
        outward[tip] = max(outward[tip], math.hypot(*(tool - coms[tip])))
    high = np.maximum(low, np.maximum(inward, outward))
    total = sum(abs(link.mass) for link in robot.links)
    heavy = [size for size, link in zip(high, robot.links, strict=True) if not is_minor(link.mass, total)]
    lower, upper = zip(*(_middle(sizes) for sizes in (high, heavy or high)), strict=True)
    usual = min(lower)
    smallest, largest = np.maximum(low, usual), np.maximum(high, min(max(upper), MAX_SIZE_RATIO * max(lower)))
    offsets = np.where(frame_distance > MAX_LINK_LENGTH, frame_distance, axis_distance)
    return Sizes(smallest.tolist(), largest.tolist(), usual, joints, offsets.tolist(), gaps.tolist())


def _middle(sizes: Iterable[float]) -> tuple[float, float]:
    """Return the lower and the upper of the two middle sizes."""
    ordered = sorted(map(float, sizes))
    return ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]


def _centres_in_axis_frame(row: JointModel, before: Array, after: Array) -> tuple[Array, Array]:
    """Return the centres of mass before and after a joint in a frame on its axis, at q = 0."""
    (ca, sa), (ct, st), (cg, sg) = cos_sin(-row.alpha), cos_sin(row.theta), cos_sin(-row.gamma)
    (x, y, z), (u, v, w) = before, after
    x, y, z = cg * x - sg * y - row.a, sg * x + cg * y - row.y, z - row.z
    inner = np.array([x, ca * y - sa * z, sa * y + ca * z])
    return inner, np.array([ct * u - st * v, st * u + ct * v, w + row.d])


def _joint_origin(row: JointModel) -> Array:
    """Return the origin of the frame of a joint in the frame of its parent, at q = 0."""
    (ca, sa), (cg, sg) = cos_sin(row.alpha), cos_sin(row.gamma)
    x, y, z = row.a, row.y - sa * row.d, row.z + ca * row.d
    return np.array([cg * x - sg * y, sg * x + cg * y, z], dtype=float)


def _joint_distance(row: JointModel, gap: float) -> float:
    """Return the distance from the joint before, limited by the gap of the centres of mass if a frame is far away."""
    return min(math.hypot(row.a, row.y, row.z, 0.0 if row.prismatic else row.d), max(gap, MAX_LINK_LENGTH))
