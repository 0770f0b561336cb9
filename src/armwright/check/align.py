"""Two robots laid over each other, joint by joint: which signs, zeros and lengths differ.

The axes of the joints are lines in space whatever frames a file has chosen, so they are what is compared. Going
outwards, a motion W takes link i of the first robot, at its zero, onto link i of the second at its own. Where the next
axes do not meet, the cheapest explanation is sought: this axis is reversed; the joint before counts from another zero;
or, dearest, the link between them has another shape. As a wrong guess shows only further out, the best few are kept.
The freedoms of a ball, free or planar joint have no signs and zeros of their own: they lie where they lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array
from armwright.formulations.parts.coordinates import placed, positions
from armwright.formulations.quantities.kinematics import link_frames
from armwright.mechanism import Pose
from armwright.model.description import Description

KEPT = 32
"""Explanations followed at once."""

CHEAP, DEAR = 1.0, 10.0
"""What a reversed axis or a shifted zero costs; what another shape costs."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The line of a joint in the world at q = 0."""

    point: Array
    direction: Array
    prismatic: bool

    def moved(self, W: Array) -> Axis:
        return Axis(W[:3, :3] @ self.point + W[:3, 3], W[:3, :3] @ self.direction, self.prismatic)

    def across(self, v: Array) -> Array:
        """A vector less what of it is along the axis."""
        across: Array = v - (v @ self.direction) * self.direction
        return across


@dataclass(frozen=True, eq=False)
class Step:
    """A motion that a joint makes, with its coordinate."""

    motion: Array
    value: float
    joint: int


STAY = Step(np.eye(4), 0.0, -1)


@dataclass(frozen=True, eq=False)
class Shape:
    """How far an axis (or the tool, for i = n) lies from where it should, in radians and metres."""

    i: int
    angle: float
    distance: float


@dataclass(frozen=True, eq=False)
class Alignment:
    """q of the second robot is signs * q of the first + offsets; `moves[i]` takes body i over, `base` the world."""

    cost: float
    base: Array
    moves: tuple[Array, ...]
    signs: tuple[float, ...]
    offsets: tuple[float, ...]
    shapes: tuple[Shape, ...]

    def at(self, i: int) -> Array:
        """The motion of body i; -1 is the base."""
        return self.moves[i] if i >= 0 else self.base


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The frames and axes of all joints of a robot where it is neutral, its centres of mass and its tool frame.

    `parents` are those of the joints; `solid` are those with a body of the robot, `held` those of balls, and `hand`
    that of the tool. `reach` is the longest way along the axes.
    """

    frames: Array
    axes: tuple[Axis, ...]
    centres: Array
    tip: Array
    reach: float
    parents: tuple[int, ...]
    solid: tuple[int, ...]
    held: frozenset[int]
    hand: int

    @classmethod
    def of(cls, robot: Description) -> Skeleton:
        q = robot.neutral.tolist()
        mechanism = placed(robot.mechanism(), q)
        parents = mechanism.parents
        frames = np.array([_homogeneous(pose) for pose in link_frames(mechanism, positions(mechanism, q))])
        axes = tuple(Axis(T[:3, 3], T[:3, 2], j.prismatic) for T, j in zip(frames, mechanism.joints, strict=True))
        end = mechanism.n - 1 if mechanism.tip is None else mechanism.tip  # where none is chosen, the last link
        tip = frames[end] @ _homogeneous(mechanism.tool)
        coms = [[*map(float, body.com), 1.0] for body in mechanism.bodies]
        centres = np.einsum("nij,nj->ni", frames, np.array(coms))
        ways = list[float]()
        for axis, parent in zip(axes, parents, strict=True):
            ways.append(ways[parent] + float(np.linalg.norm(axis.point - axes[parent].point)) if parent >= 0 else 0.0)
        hand = ways[end] + float(np.linalg.norm(tip[:3, 3] - axes[end].point))
        held = frozenset(range(mechanism.n)) - frozenset(mechanism.single_freedom_joints)
        reach = max(*ways, hand, 1e-6)
        return cls(frames, axes, centres, tip, reach, parents, mechanism.solid, held, end)

    def way(self, i: int) -> list[int]:
        """The joints between the base and joint i, or the tool for i = n."""
        before, k = list[int](), self.parents[i] if i < len(self.axes) else self.hand
        while k >= 0:
            before.insert(0, k)
            k = self.parents[k]
        return before

    def beyond(self, k: int, count: int) -> set[int]:
        """Joint k and, of the first `count`, all that hangs on it."""
        found = {k}
        for i in range(k + 1, count):
            if self.parents[i] in found:
                found.add(i)
        return found


def _homogeneous(pose: Pose) -> Array:
    T: Array = np.eye(4)
    T[:3, :3], T[:3, 3] = np.array(pose.rotation, float), np.array(pose.position, float)
    return T


def align(one: Skeleton, two: Skeleton, tolerance: float, base: Array | None = None) -> Alignment:
    """The cheapest explanation of how the second skeleton differs from the first.

    `base` is where the second robot as a whole stands in the world of the first, if that explains everything.
    """
    length = tolerance * max(one.reach, two.reach)
    found = [Alignment(0.0, np.eye(4), (), (), (), ())]
    if base is not None:
        found.append(Alignment(DEAR - CHEAP / 2, base, (), (), (), (Shape(0, *apart(np.eye(4), base)),)))
    for i in range(len(one.axes)):
        following = [new for state in found for new in _next(state, i, one, two, tolerance, length)]
        found = sorted(following, key=lambda state: state.cost)[:KEPT]
    ends = [new for state in found for new in _tip(state, one, two, tolerance, length)]
    return min(ends, key=lambda state: state.cost + _misplaced(state, one, two, length))


def _misplaced(state: Alignment, one: Skeleton, two: Skeleton, length: float) -> float:
    """A little for every body that lies elsewhere: it decides between explanations that are else as good."""
    moved = np.einsum("nij,nj->ni", np.array(state.moves), one.centres)
    away = np.linalg.norm(moved - two.centres, axis=1) > length
    return 0.01 * np.count_nonzero(away[list(one.solid)])


def _next(
    state: Alignment, i: int, one: Skeleton, two: Skeleton, tolerance: float, length: float
) -> Iterator[Alignment]:
    """Every way to bring axis i of the first robot onto that of the second."""
    parent, explained = two.parents[i], False
    frame, axis = state.at(parent) @ one.frames[i], one.axes[i].moved(state.at(parent))
    for step in (STAY, *_turns(two, i, axis), *_slides(two, i, axis)):
        if i in two.held:
            angle, distance = apart(step.motion @ frame, two.frames[i])
            sign = float(angle <= tolerance and distance <= length)
        else:
            sign = same_line(axis.moved(step.motion), two.axes[i], tolerance, length)
        if sign and (step is STAY or abs(step.value) > tolerance):
            explained = True
            moved = _stepped(state, step, two)
            yield _with(moved, moved.cost + CHEAP * (sign < 0), sign, moved.at(parent))
    if not explained:
        bent = _bent(i, axis, two) if i not in two.held else _shifted(i, frame, two.frames[i])
        yield from _reshaped(state, bent, two, length)


def _reshaped(state: Alignment, bent: tuple[Array, Shape, float], two: Skeleton, length: float) -> Iterator[Alignment]:
    """No joint explains it: the link before has another shape, or the robots stand elsewhere.

    A shift along the axis before may as well lie inside of that axis; the bodies will tell which is meant.
    """
    motion, shape, sign = bent
    i, parent = shape.i, two.parents[shape.i]
    before = two.axes[parent] if parent >= 0 else None
    cost, shapes = state.cost + DEAR, state.shapes
    if i > 0:
        yield replace(_with(state, cost, sign, motion @ state.at(parent)), shapes=(*shapes, shape))
    if i == 0 or (before is not None and _within(before, motion, shape, length)):
        moved = replace(state, moves=tuple(motion @ m if k == parent else m for k, m in enumerate(state.moves)))
        if i < 2:
            moved = replace(moved, base=motion @ state.base)
        inner = replace(shape, i=max(parent, 0))
        yield replace(_with(moved, cost, sign, moved.at(parent)), shapes=(*shapes, inner))


def _within(before: Axis, motion: Array, shape: Shape, length: float) -> bool:
    """Whether a motion is a shift along the axis before."""
    along = bool(np.linalg.norm(before.across(motion[:3, 3])) <= length)
    return not before.prismatic and not shape.angle and along


def _stepped(state: Alignment, step: Step, two: Skeleton) -> Alignment:
    """A joint counted from another zero, and all bodies from its own outwards moved by that."""
    if step is STAY:
        return state
    k, outer = step.joint, two.beyond(step.joint, len(state.moves))
    offsets = (*state.offsets[:k], state.offsets[k] - step.value, *state.offsets[k + 1 :])
    moves = tuple(step.motion @ move if i in outer else move for i, move in enumerate(state.moves))
    return replace(state, cost=state.cost + CHEAP, moves=moves, offsets=offsets)


def _with(state: Alignment, cost: float, sign: float, move: Array) -> Alignment:
    """One joint further, its body moved like that until something tells otherwise."""
    return replace(
        state,
        cost=cost,
        moves=(*state.moves, move),
        signs=(*state.signs, sign),
        offsets=(*state.offsets, 0.0),
    )


def same_line(one: Axis, two: Axis, tolerance: float, length: float) -> float:
    """1 if they are the same, -1 if reversed, 0 if they differ; of a prismatic axis only the direction counts."""
    if np.linalg.norm(np.cross(one.direction, two.direction)) > tolerance:
        return 0.0
    if not one.prismatic and np.linalg.norm(two.across(one.point - two.point)) > length:
        return 0.0
    return math.copysign(1.0, float(one.direction @ two.direction))


def _turns(two: Skeleton, i: int, axis: Axis) -> Iterator[Step]:
    """Turns of the joint before that may bring an axis onto its target."""
    k, target = two.parents[i], two.axes[i]
    if k < 0 or k in two.held or two.axes[k].prismatic:
        return
    joint, u = two.axes[k], two.axes[k].direction
    for start, end in (
        (axis.direction, target.direction),
        (axis.direction, -target.direction),
        (axis.point - joint.point, target.point - joint.point),
    ):
        a, b = joint.across(start), joint.across(end)
        if min(np.linalg.norm(a), np.linalg.norm(b)) > 1e-9:
            angle = math.atan2(float(np.cross(a, b) @ u), float(a @ b))
            yield Step(turn_about(joint, angle), angle, k)


def _slides(two: Skeleton, i: int, axis: Axis) -> Iterator[Step]:
    """The same of prismatic joints: the one before, or one before that which slides along all axes between."""
    target = two.axes[i]
    if target.prismatic:
        return
    for k, joint in _sliders(two, two.way(i)):
        u = joint.direction
        across = target.across(u)
        if np.linalg.norm(across) > 1e-9:
            t = float((target.point - axis.point) @ across / (across @ across))
            yield Step(_slide(u * t), t, k)


def _sliders(two: Skeleton, way: Sequence[int]) -> Iterator[tuple[int, Axis]]:
    for k in reversed(way):
        if two.axes[k].prismatic and k not in two.held:
            yield k, two.axes[k]
        if np.linalg.norm(np.cross(two.axes[k].direction, two.axes[way[-1]].direction)) > 1e-9:
            return


def _slide(by: Array) -> Array:
    T: Array = np.eye(4)
    T[:3, 3] = by
    return T


def turn_about(axis: Axis, angle: float) -> Array:
    """The rotation about a line."""
    x, y, z = axis.direction
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T: Array = np.eye(4)
    T[:3, :3] += math.sin(angle) * cross + (1 - math.cos(angle)) * (cross @ cross)
    T[:3, 3] = axis.point - T[:3, :3] @ axis.point
    return T


def _bent(i: int, axis: Axis, two: Skeleton) -> tuple[Array, Shape, float]:
    """The smallest motion that brings an axis onto its target: turned about the point nearest to the axis before."""
    target = two.axes[i]
    sign = math.copysign(1.0, float(axis.direction @ target.direction))
    across = np.cross(axis.direction, sign * target.direction)
    sine = float(np.linalg.norm(across))
    angle = math.atan2(sine, abs(float(axis.direction @ target.direction)))
    point = _nearest(axis, two.axes[two.parents[i]]) if two.parents[i] >= 0 else axis.point
    turn = turn_about(Axis(point, across / sine, False), angle) if sine > 1e-12 else np.eye(4)
    apart = target.across(target.point - point)
    distance = 0.0 if axis.prismatic else float(np.linalg.norm(apart))
    motion = turn if axis.prismatic else _slide(apart) @ turn
    return motion, Shape(i, angle, distance), sign


def _shifted(i: int, frame: Array, target: Array) -> tuple[Array, Shape, float]:
    """The motion that brings a frame onto its target."""
    return target @ np.linalg.inv(frame), Shape(i, *apart(frame, target)), 1.0


def _nearest(axis: Axis, other: Axis) -> Array:
    """The point of an axis that is nearest to another line."""
    across = np.cross(axis.direction, other.direction)
    square = float(across @ across)
    if square < 1e-18:
        return axis.point
    t = float(np.cross(other.point - axis.point, other.direction) @ across) / square
    nearest: Array = axis.point + t * axis.direction
    return nearest


def _tip(state: Alignment, one: Skeleton, two: Skeleton, tolerance: float, length: float) -> Iterator[Alignment]:
    """The tool frames; turned about (or shifted along) the last axis, it may be the last joint's zero that differs."""
    here, by_joint = state.at(two.hand) @ one.tip, False
    for step in (STAY, *_tip_steps(two, here)):
        angle, distance = apart(step.motion @ here, two.tip)
        if angle <= tolerance and distance <= length:
            by_joint = True
            yield _stepped(state, step, two)
            if step is STAY:
                return
    shape = Shape(len(one.axes), *apart(here, two.tip))
    yield replace(state, cost=state.cost + (CHEAP if by_joint else DEAR), shapes=(*state.shapes, shape))


def _tip_steps(two: Skeleton, here: Array) -> Iterator[Step]:
    axis = two.axes[two.hand]
    if not axis.prismatic and two.hand not in two.held:
        R = two.tip[:3, :3] @ here[:3, :3].T
        sine = float(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) @ axis.direction) / 2
        angle = math.atan2(sine, (float(np.trace(R)) - 1) / 2)
        yield Step(turn_about(axis, angle), angle, two.hand)
    for k, slider in _sliders(two, two.way(len(two.axes))):
        t = float((two.tip[:3, 3] - here[:3, 3]) @ slider.direction)
        yield Step(_slide(slider.direction * t), t, k)


def apart(one: Array, two: Array) -> tuple[float, float]:
    """Radians and metres between two poses."""
    R = one[:3, :3].T @ two[:3, :3]
    sine = np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    angle = math.atan2(float(sine), (float(np.trace(R)) - 1) / 2)
    return angle, float(np.linalg.norm(one[:3, 3] - two[:3, 3]))
