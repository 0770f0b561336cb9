"""Alignment of two robots, joint by joint, which finds different signs, zeros and lengths.

The axes of the joints are lines in space for any choice of frames, so they are compared. From the base outwards, a
motion W moves link i of the first robot, at q = 0, onto link i of the second at q = 0. If the next axes do not
coincide, the cheapest explanation is chosen: a reversed axis; another zero of the joint before; or, at the highest
cost, another shape of the link between them. Errors show only at later joints, so several candidates are kept.
The freedoms of a ball, free or planar joint have no signs and zeros: their frames are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array
from armwright.formulations.parts.coordinates import mechanism_at, positions
from armwright.formulations.quantities.kinematics import link_frames
from armwright.mechanism import Pose
from armwright.model.description import Description

MAX_CANDIDATES = 32
"""Largest number of candidate explanations."""

SHIFT_COST, SHAPE_COST = 1.0, 10.0
"""Costs of a reversed axis or a shifted zero, and of another shape of a link."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The line of a joint in the world at q = 0."""

    point: Array
    direction: Array
    prismatic: bool

    def moved(self, W: Array) -> Axis:
        """Return the axis after a motion."""
        return Axis(W[:3, :3] @ self.point + W[:3, 3], W[:3, :3] @ self.direction, self.prismatic)

    def normal_part(self, v: Array) -> Array:
        """Return the part of a vector normal to the axis."""
        normal: Array = v - (v @ self.direction) * self.direction
        return normal


@dataclass(frozen=True, eq=False)
class JointShift:
    """A shift of the zero of a joint: the motion of its link, and the change of its coordinate."""

    motion: Array
    value: float
    joint: int


NO_SHIFT = JointShift(np.eye(4), 0.0, -1)


@dataclass(frozen=True, eq=False)
class Deviation:
    """Deviation of an axis (or the tool, for i = n) from its expected place, radians and metres."""

    i: int
    angle: float
    distance: float


@dataclass(frozen=True, eq=False)
class Alignment:
    """q of the second robot is signs * q of the first + offsets; `moves[i]` maps body i, `base` the world."""

    cost: float
    base: Array
    moves: tuple[Array, ...]
    signs: tuple[float, ...]
    offsets: tuple[float, ...]
    deviations: tuple[Deviation, ...]

    def at(self, i: int) -> Array:
        """Return the motion of body i; -1 is the base."""
        return self.moves[i] if i >= 0 else self.base


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The frames and axes of all joints of a robot at its neutral position, its centres of mass and its tool frame.

    `parents` are those of the joints, `solid` the joints that carry a body, `multiple` the freedoms of ball, free and
    planar joints, `tip_joint` the joint that moves the tool. `reach` is the longest path along the axes.
    """

    frames: Array
    axes: tuple[Axis, ...]
    centres: Array
    tip: Array
    reach: float
    parents: tuple[int, ...]
    solid: tuple[int, ...]
    multiple: frozenset[int]
    tip_joint: int

    @classmethod
    def of(cls, robot: Description) -> Skeleton:
        """Return the skeleton of a robot."""
        q = robot.neutral.tolist()
        mechanism = mechanism_at(robot.mechanism(), q)
        parents = mechanism.parents
        frames = np.array([_homogeneous(pose) for pose in link_frames(mechanism, positions(mechanism, q))])
        axes = tuple(Axis(T[:3, 3], T[:3, 2], j.prismatic) for T, j in zip(frames, mechanism.joints, strict=True))
        end = mechanism.n - 1 if mechanism.tip is None else mechanism.tip  # without a tip, the last link
        tip = frames[end] @ _homogeneous(mechanism.tool)
        coms = [[*map(float, body.com), 1.0] for body in mechanism.bodies]
        centres = np.einsum("nij,nj->ni", frames, np.array(coms))
        distances = list[float]()
        for axis, parent in zip(axes, parents, strict=True):
            distances.append(
                distances[parent] + float(np.linalg.norm(axis.point - axes[parent].point)) if parent >= 0 else 0.0
            )
        tip_distance = distances[end] + float(np.linalg.norm(tip[:3, 3] - axes[end].point))
        multiple = frozenset(range(mechanism.n)) - frozenset(mechanism.single_freedom_joints)
        reach = max(*distances, tip_distance, 1e-6)
        return cls(frames, axes, centres, tip, reach, parents, mechanism.solid, multiple, end)

    def path_to(self, i: int) -> list[int]:
        """Return the joints between the base and joint i, or the tool for i = n."""
        path, k = list[int](), self.parents[i] if i < len(self.axes) else self.tip_joint
        while k >= 0:
            path.insert(0, k)
            k = self.parents[k]
        return path

    def subtree(self, k: int, count: int) -> set[int]:
        """Return joint k and all joints after it, among the first `count`."""
        subtree = {k}
        for i in range(k + 1, count):
            if self.parents[i] in subtree:
                subtree.add(i)
        return subtree


def _homogeneous(pose: Pose) -> Array:
    T: Array = np.eye(4)
    T[:3, :3], T[:3, 3] = np.array(pose.rotation, float), np.array(pose.position, float)
    return T


def align(one: Skeleton, two: Skeleton, tolerance: float, base: Array | None = None) -> Alignment:
    """Return the cheapest explanation of the differences between two skeletons.

    `base` is the motion between the two worlds if it alone explains all differences.
    """
    length = tolerance * max(one.reach, two.reach)
    candidates = [Alignment(0.0, np.eye(4), (), (), (), ())]
    if base is not None:
        deviation = Deviation(0, *pose_error(np.eye(4), base))
        candidates.append(Alignment(SHAPE_COST - SHIFT_COST / 2, base, (), (), (), (deviation,)))
    for i in range(len(one.axes)):
        longer = [new for state in candidates for new in _with_axis(state, i, one, two, tolerance, length)]
        candidates = sorted(longer, key=lambda state: state.cost)[:MAX_CANDIDATES]
    complete = [new for state in candidates for new in _with_tip(state, one, two, tolerance, length)]
    return min(complete, key=lambda state: state.cost + _displacement_cost(state, one, two, length))


def _displacement_cost(state: Alignment, one: Skeleton, two: Skeleton, length: float) -> float:
    """Return a small cost per displaced body, which decides between explanations of equal cost."""
    moved = np.einsum("nij,nj->ni", np.array(state.moves), one.centres)
    displaced = np.linalg.norm(moved - two.centres, axis=1) > length
    return 0.01 * np.count_nonzero(displaced[list(one.solid)])


def _with_axis(
    state: Alignment, i: int, one: Skeleton, two: Skeleton, tolerance: float, length: float
) -> Iterator[Alignment]:
    """Yield every explanation that brings axis i of the first robot onto that of the second."""
    parent, explained = two.parents[i], False
    frame, axis = state.at(parent) @ one.frames[i], one.axes[i].moved(state.at(parent))
    for step in (NO_SHIFT, *_rotations(two, i, axis), *_translations(two, i, axis)):
        if i in two.multiple:
            angle, distance = pose_error(step.motion @ frame, two.frames[i])
            sign = float(angle <= tolerance and distance <= length)
        else:
            sign = line_sign(axis.moved(step.motion), two.axes[i], tolerance, length)
        if sign and (step is NO_SHIFT or abs(step.value) > tolerance):
            explained = True
            moved = _with_shift(state, step, two)
            yield _with_joint(moved, moved.cost + SHIFT_COST * (sign < 0), sign, moved.at(parent))
    if not explained:
        motion = _frame_motion(i, frame, two.frames[i]) if i in two.multiple else _axis_motion(i, axis, two)
        yield from _with_shape(state, motion, two, length)


def _with_shape(
    state: Alignment, change: tuple[Array, Deviation, float], two: Skeleton, length: float
) -> Iterator[Alignment]:
    """Yield explanations by another shape of the link before, or another place of the robots.

    A shift along the axis before may also lie before that axis; the positions of the bodies decide.
    """
    motion, deviation, sign = change
    i, parent = deviation.i, two.parents[deviation.i]
    before = two.axes[parent] if parent >= 0 else None
    cost, deviations = state.cost + SHAPE_COST, state.deviations
    if i > 0:
        yield replace(_with_joint(state, cost, sign, motion @ state.at(parent)), deviations=(*deviations, deviation))
    if i == 0 or (before is not None and _is_shift_along(before, motion, deviation, length)):
        moved = replace(state, moves=tuple(motion @ m if k == parent else m for k, m in enumerate(state.moves)))
        if i < 2:
            moved = replace(moved, base=motion @ state.base)
        inner = replace(deviation, i=max(parent, 0))
        yield replace(_with_joint(moved, cost, sign, moved.at(parent)), deviations=(*deviations, inner))


def _is_shift_along(before: Axis, motion: Array, deviation: Deviation, length: float) -> bool:
    """Return whether a motion is a shift along the axis before."""
    along = bool(np.linalg.norm(before.normal_part(motion[:3, 3])) <= length)
    return not before.prismatic and not deviation.angle and along


def _with_shift(state: Alignment, step: JointShift, two: Skeleton) -> Alignment:
    """Return the state with another zero of a joint, which moves its body and all after it."""
    if step is NO_SHIFT:
        return state
    k, outer = step.joint, two.subtree(step.joint, len(state.moves))
    offsets = (*state.offsets[:k], state.offsets[k] - step.value, *state.offsets[k + 1 :])
    moves = tuple(step.motion @ move if i in outer else move for i, move in enumerate(state.moves))
    return replace(state, cost=state.cost + SHIFT_COST, moves=moves, offsets=offsets)


def _with_joint(state: Alignment, cost: float, sign: float, move: Array) -> Alignment:
    """Return the state with one joint more, whose body has the given motion."""
    return replace(
        state, cost=cost, moves=(*state.moves, move), signs=(*state.signs, sign), offsets=(*state.offsets, 0.0)
    )


def line_sign(one: Axis, two: Axis, tolerance: float, length: float) -> float:
    """Return 1 for the same line, -1 for a reversed one, else 0; of a prismatic axis only the direction counts."""
    if np.linalg.norm(np.cross(one.direction, two.direction)) > tolerance:
        return 0.0
    if not one.prismatic and np.linalg.norm(two.normal_part(one.point - two.point)) > length:
        return 0.0
    return math.copysign(1.0, float(one.direction @ two.direction))


def _rotations(two: Skeleton, i: int, axis: Axis) -> Iterator[JointShift]:
    """Yield rotations of the joint before that may bring an axis onto its target."""
    k, target = two.parents[i], two.axes[i]
    if k < 0 or k in two.multiple or two.axes[k].prismatic:
        return
    joint, u = two.axes[k], two.axes[k].direction
    for start, end in (
        (axis.direction, target.direction),
        (axis.direction, -target.direction),
        (axis.point - joint.point, target.point - joint.point),
    ):
        a, b = joint.normal_part(start), joint.normal_part(end)
        if min(np.linalg.norm(a), np.linalg.norm(b)) > 1e-9:
            angle = math.atan2(float(np.cross(a, b) @ u), float(a @ b))
            yield JointShift(rotation_about(joint, angle), angle, k)


def _translations(two: Skeleton, i: int, axis: Axis) -> Iterator[JointShift]:
    """Yield shifts of prismatic joints: the one before, or an earlier one parallel to all axes between."""
    target = two.axes[i]
    if target.prismatic:
        return
    for k, joint in _sliders(two, two.path_to(i)):
        u = joint.direction
        across = target.normal_part(u)
        if np.linalg.norm(across) > 1e-9:
            t = float((target.point - axis.point) @ across / (across @ across))
            yield JointShift(_translation(u * t), t, k)


def _sliders(two: Skeleton, path: Sequence[int]) -> Iterator[tuple[int, Axis]]:
    """Yield the prismatic joints of a path from its end, as long as all axes are parallel."""
    for k in reversed(path):
        if two.axes[k].prismatic and k not in two.multiple:
            yield k, two.axes[k]
        if np.linalg.norm(np.cross(two.axes[k].direction, two.axes[path[-1]].direction)) > 1e-9:
            return


def _translation(displacement: Array) -> Array:
    T: Array = np.eye(4)
    T[:3, 3] = displacement
    return T


def rotation_about(axis: Axis, angle: float) -> Array:
    """Return the rotation about a line, shape (4, 4)."""
    x, y, z = axis.direction
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T: Array = np.eye(4)
    T[:3, :3] += math.sin(angle) * cross + (1 - math.cos(angle)) * (cross @ cross)
    T[:3, 3] = axis.point - T[:3, :3] @ axis.point
    return T


def _axis_motion(i: int, axis: Axis, two: Skeleton) -> tuple[Array, Deviation, float]:
    """Return the smallest motion of an axis onto its target: a rotation about the point nearest to the axis before."""
    target = two.axes[i]
    sign = math.copysign(1.0, float(axis.direction @ target.direction))
    across = np.cross(axis.direction, sign * target.direction)
    sine = float(np.linalg.norm(across))
    angle = math.atan2(sine, abs(float(axis.direction @ target.direction)))
    point = _nearest(axis, two.axes[two.parents[i]]) if two.parents[i] >= 0 else axis.point
    rotation = rotation_about(Axis(point, across / sine, False), angle) if sine > 1e-12 else np.eye(4)
    gap = target.normal_part(target.point - point)
    distance = 0.0 if axis.prismatic else float(np.linalg.norm(gap))
    motion = rotation if axis.prismatic else _translation(gap) @ rotation
    return motion, Deviation(i, angle, distance), sign


def _frame_motion(i: int, frame: Array, target: Array) -> tuple[Array, Deviation, float]:
    """Return the motion that brings a frame onto its target."""
    return target @ np.linalg.inv(frame), Deviation(i, *pose_error(frame, target)), 1.0


def _nearest(axis: Axis, other: Axis) -> Array:
    """Return the point of an axis that is nearest to another line."""
    across = np.cross(axis.direction, other.direction)
    square = float(across @ across)
    if square < 1e-18:
        return axis.point
    t = float(np.cross(other.point - axis.point, other.direction) @ across) / square
    nearest: Array = axis.point + t * axis.direction
    return nearest


def _with_tip(state: Alignment, one: Skeleton, two: Skeleton, tolerance: float, length: float) -> Iterator[Alignment]:
    """Yield explanations of the tool frames: the zero of the last joint, or another tool."""
    here, explained_by_joint = state.at(two.tip_joint) @ one.tip, False
    for step in (NO_SHIFT, *_tip_shifts(two, here)):
        angle, distance = pose_error(step.motion @ here, two.tip)
        if angle <= tolerance and distance <= length:
            explained_by_joint = True
            yield _with_shift(state, step, two)
            if step is NO_SHIFT:
                return
    deviation = Deviation(len(one.axes), *pose_error(here, two.tip))
    cost = state.cost + (SHIFT_COST if explained_by_joint else SHAPE_COST)
    yield replace(state, cost=cost, deviations=(*state.deviations, deviation))


def _tip_shifts(two: Skeleton, here: Array) -> Iterator[JointShift]:
    axis = two.axes[two.tip_joint]
    if not axis.prismatic and two.tip_joint not in two.multiple:
        R = two.tip[:3, :3] @ here[:3, :3].T
        sine = float(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) @ axis.direction) / 2
        angle = math.atan2(sine, (float(np.trace(R)) - 1) / 2)
        yield JointShift(rotation_about(axis, angle), angle, two.tip_joint)
    for k, slider in _sliders(two, two.path_to(len(two.axes))):
        t = float((two.tip[:3, 3] - here[:3, 3]) @ slider.direction)
        yield JointShift(_translation(slider.direction * t), t, k)


def pose_error(one: Array, two: Array) -> tuple[float, float]:
    """Return the angle and the distance between two poses, radians and metres."""
    R = one[:3, :3].T @ two[:3, :3]
    sine = np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    angle = math.atan2(float(sine), (float(np.trace(R)) - 1) / 2)
    return angle, float(np.linalg.norm(one[:3, 3] - two[:3, 3]))
