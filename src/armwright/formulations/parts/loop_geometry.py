"""The geometry of closed loops: positions and rates of the joints that a loop moves.

A loop closes a frame on one link with a frame on another. Seen from the last common ancestor of both, its ends move by

    g(q) = 0      J qd = 0      J qdd + Jd qd = 0

with columns for the joints on both paths. In a plane a loop moves two joints, d, computed in closed form. Cut at both
and at its end, the loop is three rigid pieces: a triangle with three known sides, or two and an angle. Then

    G_d = -J_d^-1 J_i G_i      Gd_d = -J_d^-1 (Jd_d G_d + Jd_i G_i + J_i Gd_i)

    a, e     the end in the frame of the first of the two joints, and of the second
    M, p     the frame of the second joint, before it moves, seen from that of the first, after it has moved
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from armwright.algebra import IDENTITY, ZERO, Matrix, Scalar, Vector, Z, elementary, structural
from armwright.algebra import sign as sign_of
from armwright.formulations.parts.types import Coordinates
from armwright.mechanism import Joint, JointCoupling, Loop, Mechanism, Pose

_sqrt = elementary("sqrt")

Row: TypeAlias = dict[int, Scalar]
"""Derivatives of one number by the rates of the robot, by coordinate."""


class Angle:
    """An angle known by its cosine and sine, plus a constant; a revolute joint needs no more of its position."""

    __array_ufunc__ = None

    def __init__(self, c: Scalar, s: Scalar, offset: Scalar = 0) -> None:
        self.c, self.s, self.offset = c, s, offset

    def __add__(self, angle: Scalar) -> Angle:
        return Angle(self.c, self.s, self.offset + angle)

    __radd__ = __add__

    def cos(self) -> Scalar:
        return self._rotated()[0]

    def sin(self) -> Scalar:
        return self._rotated()[1]

    def _rotated(self) -> tuple[Scalar, Scalar]:
        if self.offset == 0:
            return self.c, self.s
        c, s = elementary("cos")(self.offset), elementary("sin")(self.offset)
        return self.c * c - self.s * s, self.s * c + self.c * s


class PlaneVector(NamedTuple):
    """A vector in the plane of a loop."""

    x: Scalar
    y: Scalar

    def plus(self, v: PlaneVector) -> PlaneVector:
        return PlaneVector(self.x + v.x, self.y + v.y)

    def times(self, k: Scalar) -> PlaneVector:
        return PlaneVector(self.x * k, self.y * k)

    def dot(self, v: PlaneVector) -> Scalar:
        return self.x * v.x + self.y * v.y

    def cross(self, v: PlaneVector) -> Scalar:
        return self.x * v.y - self.y * v.x

    def turned(self, c: Scalar, s: Scalar) -> PlaneVector:
        return PlaneVector(c * self.x - s * self.y, s * self.x + c * self.y)


class LoopPiece(NamedTuple):
    """A part of a loop that is rigid while the dependent joints are fixed.

    `pose` is its end in the frame of its start; `joint` moves there, `outward` along the direction of the loop.
    """

    pose: Pose
    joint: int = -1
    outward: bool = True


def composed(one: Pose, two: Pose) -> Pose:
    """Return the product of two poses."""
    R = one.rotation if two.rotation is IDENTITY else one.rotation.dot(two.rotation)
    return Pose(two.rotation if one.rotation is IDENTITY else R, one.position + one.rotation @ two.position)


def inverted(pose: Pose) -> Pose:
    """Return the inverse of a pose."""
    back = pose.rotation.T
    return Pose(back, -(back @ pose.position))


def joint_pose(joint: Joint, q: Scalar) -> Pose:
    """Return the frame of a link in that of its parent."""
    return Pose(joint.rotation(q).matrix, joint.offset(q))


def joint_base_pose(joint: Joint) -> Pose:
    """Return the constant part of that pose, before the joint moves."""
    return joint_pose(replace(joint, prismatic=True, theta=0, quarters=0, d=0), 0)


def with_loops_closed(mechanism: Mechanism, x: list[Scalar]) -> Mechanism:
    """Return the mechanism with the joints that loops move at their positions; `x` are those of the others."""
    couplings = list(mechanism.couplings)
    loops = list[Loop]()
    for unclosed in mechanism.loops:
        dependent = dyad(mechanism, unclosed, x) if unclosed.dependent else {}
        for i, at in dependent.items():
            x[i] = at
        loop = replace(unclosed, at={i: x[i] for path in mechanism.joints_between(unclosed.links) for i in path})
        loops.append(loop)
        if dependent:
            J = plane_columns(mechanism, loop)
            rows = dependent_rows(
                loop, J, weighted_columns(J, {i: dict(coupling.terms) for i, coupling in enumerate(couplings)})
            )
            for i, at in dependent.items():
                couplings[i] = JointCoupling(tuple(sorted(rows[i].items())), at=at)
    return replace(mechanism, couplings=tuple(couplings), loops=tuple(loops))


def pieces(mechanism: Mechanism, loop: Loop, x: Sequence[Scalar]) -> list[LoopPiece]:
    """Return the pieces of the loop from one end to the other, cut at the joints it moves."""
    first, second = mechanism.joints_between(loop.links)
    parts, pose = list[LoopPiece](), inverted(loop.ends[1])
    for i in reversed(second):
        joint = mechanism.joints[i]
        if i in loop.dependent:
            parts.append(LoopPiece(pose, i, False))
            pose = inverted(joint_base_pose(joint))
        else:
            pose = composed(pose, inverted(joint_pose(joint, x[i])))
    for i in first:
        joint = mechanism.joints[i]
        if i in loop.dependent:
            parts.append(LoopPiece(composed(pose, joint_base_pose(joint)), i, True))
            pose = Pose()
        else:
            pose = composed(pose, joint_pose(joint, x[i]))
    return [*parts, LoopPiece(composed(pose, loop.ends[0]))]


def dyad(mechanism: Mechanism, loop: Loop, x: Sequence[Scalar]) -> dict[int, Scalar]:
    """Return the positions of the two joints that a planar loop moves."""
    start, middle, end = pieces(mechanism, loop, x)
    joints = [mechanism.joints[piece.joint] for piece in (start, middle)]
    a, e = inverted(start.pose).position, end.pose.position
    M, p = middle.pose.rotation, middle.pose.position
    if not (joints[0].prismatic or joints[1].prismatic):
        rotations = _three_sides(_planar(a), _planar(p), M, _planar(e), loop.assembly)
        return {
            piece.joint: _position(joint, piece, c, s)
            for piece, joint, (c, s) in zip((start, middle), joints, rotations, strict=True)
        }
    if joints[1].prismatic:
        slide, pivot, f = middle, start, _planar(a)
        u = M @ (Z if slide.outward else -Z)
        w = p + M @ _fixed_rotated(joints[1], slide, e)
    else:
        slide, pivot, f = start, middle, _planar(e)
        u = M.T @ (-Z if slide.outward else Z)
        w = M.T @ (_fixed_rotated(joints[0], slide, a, back=True) - p)
    s, (c, sine) = _along(f, _planar(w), _planar(u), loop.assembly)
    rotation = (c, -sine) if pivot is start else (c, sine)
    joint = mechanism.joints[slide.joint]
    return {slide.joint: s - joint.d, pivot.joint: _position(mechanism.joints[pivot.joint], pivot, *rotation)}


def _planar(v: Vector) -> PlaneVector:
    return PlaneVector(v.x, v.y)


def _three_sides(
    a: PlaneVector, p: PlaneVector, M: Matrix, e: PlaneVector, assembly: int
) -> tuple[tuple[Scalar, Scalar], ...]:
    """Return cosine and sine of both turns with a = Rot1 (p + M Rot2 e)."""
    f = PlaneVector(M.x.x * p.x + M.y.x * p.y, M.x.y * p.x + M.y.y * p.y)  # p in the axes of the second joint
    frames_along, across = f.dot(e), e.cross(f)
    size = f.dot(f) * e.dot(e)
    k = (a.dot(a) - p.dot(p) - e.dot(e)) * 0.5
    h = assembly * root(size - k * k)
    inverse = 1 / size
    c, s = (k * frames_along - h * across) * inverse, (k * across + h * frames_along) * inverse
    rotated = e.turned(c, s)
    v = p.plus(PlaneVector(M.x.x * rotated.x + M.x.y * rotated.y, M.y.x * rotated.x + M.y.y * rotated.y))
    return _turn(v, a), (c, s)


def _along(f: PlaneVector, w: PlaneVector, u: PlaneVector, assembly: int) -> tuple[Scalar, tuple[Scalar, Scalar]]:
    """Return s, and cosine and sine of the turn, with Rot f = w + u s for a unit vector u."""
    off = w.cross(u)
    s = assembly * root(f.dot(f) - off * off) - w.dot(u)
    return s, _turn(f, w.plus(u.times(s)))


def _turn(v: PlaneVector, to: PlaneVector) -> tuple[Scalar, Scalar]:
    """Return cosine and sine of the angle from one vector to another of the same length."""
    inverse = 1 / v.dot(v)
    return v.dot(to) * inverse, v.cross(to) * inverse


def _fixed_rotated(joint: Joint, piece: LoopPiece, v: Vector, back: bool = False) -> Vector:
    """Return a vector turned by the constant angle of a prismatic joint."""
    R = replace(joint, ca=1, sa=0, cg=1, sg=0, placement=None).rotation(0)
    return R @ v if piece.outward != back else R.T @ v


def _position(joint: Joint, piece: LoopPiece, c: Scalar, s: Scalar) -> Angle:
    """Return q of a revolute joint from cosine and sine of the turn of the loop there."""
    s = s if piece.outward else -s
    c, s = ((c, s), (s, -c), (-c, -s), (-s, c))[joint.quarters % 4]
    return Angle(c, s, -joint.theta)


def root(x: Scalar) -> Scalar:
    """Return the square root of any scalar; nan for a negative one."""
    return math.nan if type(x) is float and x < 0 else _sqrt(x)


class LoopColumn(NamedTuple):
    """The velocity and angular velocity of one end of a loop relative to the other, per unit rate of one joint."""

    l: Vector  # noqa: E741
    e: Vector


class Ends(NamedTuple):
    """Both ends of a loop in the frame of their last common ancestor, and the columns of J, by joint."""

    poses: tuple[Pose, Pose]
    columns: dict[int, LoopColumn]


def ends(mechanism: Mechanism, loop: Loop) -> Ends:
    """Return the ends of a loop; the columns are those of the first end relative to the second."""
    columns, poses = dict[int, LoopColumn](), list[Pose]()
    for sign, path, end in zip((1, -1), mechanism.joints_between(loop.links), loop.ends, strict=True):
        frames = frames_along(mechanism, path, loop.at)
        last = composed(frames[-1], end) if path else end
        for i, frame in zip(path, frames, strict=True):
            axis = (frame.rotation @ Z) * sign
            arm = last.position - frame.position
            columns[i] = LoopColumn(axis, ZERO) if mechanism.joints[i].prismatic else LoopColumn(axis.cross(arm), axis)
        poses.append(last)
    return Ends((poses[0], poses[1]), columns)


def frames_along(mechanism: Mechanism, path: Iterable[int], x: Mapping[int, Scalar]) -> list[Pose]:
    """Return the frames on a path, in the frame of the link where it starts."""
    frames, last = list[Pose](), Pose()
    for i in path:
        last = composed(last, joint_pose(mechanism.joints[i], x[i]))
        frames.append(last)
    return frames


def closure_error(mechanism: Mechanism, loop: Loop) -> list[Scalar]:
    """Return g: the first end relative to the second and, for a weld, the sine of the angle between them."""
    one, two = ends(mechanism, loop).poses
    apart = list(one.position - two.position)
    if not loop.weld:
        return apart
    rotation = ZERO
    for u, v in zip(two.rotation.T, one.rotation.T, strict=True):
        rotation = rotation + u.cross(v)
    return [*apart, *(rotation * 0.5)]


def closure_rotation(mechanism: Mechanism, loop: Loop) -> Vector:
    """Return the rotation from the second end of a weld to the first: its axis times 2 sin(angle / 2).

    That is largest at half a turn, where the sine of the angle is zero again. It is twice the vector part of a
    quaternion. Four multiples of the quaternion are known, one by each of its entries; the longest is used.
    """
    one, two = ends(mechanism, loop).poses
    x, y, z = one.rotation.dot(two.rotation.T)
    w = Vector(z.y - y.z, x.z - z.x, y.x - x.y)
    columns = (
        (Vector(1 + x.x - y.y - z.z, x.y + y.x, x.z + z.x), w.x),
        (Vector(x.y + y.x, 1 + y.y - x.x - z.z, y.z + z.y), w.y),
        (Vector(x.z + z.x, y.z + z.y, 1 + z.z - x.x - y.y), w.z),
    )
    square: Scalar = 1 + x.x + y.y + z.z
    longest, scalar = w, square
    for axis, (vector, entry) in zip("xyz", columns, strict=True):
        difference = getattr(vector, axis) - square
        use = (1 + sign_of(sign_of(difference) - 0.5)) * 0.5
        square = square + difference * use
        longest, scalar = longest + (vector - longest) * use, scalar + (entry - scalar) * use
    upward: Scalar = sign_of(sign_of(scalar) + 0.5) / _sqrt(square)
    turn: Vector = longest * upward
    return turn


def column_rates(mechanism: Mechanism, loop: Loop, rates: Mapping[int, Scalar]) -> dict[int, LoopColumn]:
    """Return dJ/dt by joint: a column rotates with its link, and its lever arm changes with the motion beyond it."""
    J, rates_of_columns = ends(mechanism, loop).columns, dict[int, LoopColumn]()
    for sign, path in zip((1, -1), mechanism.joints_between(loop.links), strict=True):
        w, turning = ZERO, list[Vector]()
        for i in path:
            w = w + J[i].e * (sign * rates[i])
            turning.append(w)
        beyond = ZERO
        for i, w in zip(reversed(path), reversed(turning), strict=True):
            column = J[i]
            rates_of_columns[i] = LoopColumn(w.cross(column.l) + (column.e * sign).cross(beyond), w.cross(column.e))
            beyond = beyond + column.l * rates[i]
    return rates_of_columns


def plane_columns(mechanism: Mechanism, loop: Loop) -> dict[int, PlaneVector]:
    """Return J of a loop in its plane."""
    return _in_plane(mechanism, loop, ends(mechanism, loop).columns)


def _in_plane(mechanism: Mechanism, loop: Loop, columns: Mapping[int, LoopColumn]) -> dict[int, PlaneVector]:
    """Return columns in the axes of the first revolute joint before it turns, which are constant."""
    for path in mechanism.joints_between(loop.links):
        pose = Pose()
        for i in path:
            if not mechanism.joints[i].prismatic:
                x, y, _ = composed(pose, joint_base_pose(mechanism.joints[i])).rotation.T
                return {k: PlaneVector(x.dot(column.l), y.dot(column.l)) for k, column in columns.items()}
            pose = composed(pose, joint_pose(mechanism.joints[i], 0))
    raise AssertionError("a planar loop has a revolute joint")


def weighted_columns(columns: Mapping[int, PlaneVector], rows: Mapping[int, Row]) -> dict[int, PlaneVector]:
    """Return the sum of columns times the derivatives of their joints, by coordinate."""
    sums: dict[int, PlaneVector] = {}
    for i, column in columns.items():
        for coordinate, factor in rows[i].items():
            term = column.times(factor)
            sums[coordinate] = sums[coordinate].plus(term) if coordinate in sums else term
    return sums


def dependent_rows(loop: Loop, J: Mapping[int, PlaneVector], sums: Mapping[int, PlaneVector]) -> dict[int, Row]:
    """Return -J_d^-1 times sums: the derivatives of the joints that a loop moves, by coordinate."""
    one, two = loop.dependent
    u, v = J[one], J[two]
    inverse = 1 / u.cross(v)
    rows: dict[int, Row] = {one: {}, two: {}}
    for coordinate, b in sums.items():
        rows[one][coordinate] = v.cross(b) * inverse
        rows[two][coordinate] = b.cross(u) * inverse
    return rows


def singularity_measures(mechanism: Mechanism) -> list[tuple[Scalar, Scalar]]:
    """Return the distance of each embedded loop from a singularity: a squared sine, as (numerator, denominator).

    It is zero where the loop is stretched or folded, so that its two joints could move in two ways.
    """
    measures = list[tuple[Scalar, Scalar]]()
    for loop in mechanism.embedded:
        J = plane_columns(mechanism, loop)
        u, v = (J[i] for i in loop.dependent)
        across = u.cross(v)
        measures.append((across * across, u.dot(u) * v.dot(v)))
    return measures


def convective(mechanism: Mechanism, rates: Coordinates, shift: list[Scalar]) -> None:
    """Add to `shift` the accelerations of the joints that loops move while no coordinate accelerates."""
    for loop in mechanism.embedded:
        by_joint = dict(enumerate(rates))
        J_rate = _in_plane(mechanism, loop, column_rates(mechanism, loop, by_joint))
        J = plane_columns(mechanism, loop)
        sums = [column.times(rates[i]) for i, column in J_rate.items()]
        sums += [column.times(shift[i]) for i, column in J.items() if i not in loop.dependent]
        rows = dependent_rows(loop, J, {0: _total(sums)})
        for i in loop.dependent:
            shift[i] = rows[i][0]


def curve_rates(mechanism: Mechanism, rates: Coordinates) -> dict[int, Scalar]:
    """Return the joints that follow coordinates by curves, each with the rate of its coordinate."""
    return {
        i: rates[mechanism.joint_of(coupling.terms[0][0])]
        for i, coupling in enumerate(mechanism.couplings)
        if not structural(coupling.curvature, 0)
    }


def coupling_rates(mechanism: Mechanism, rates: Coordinates) -> dict[int, Row]:
    """Return the rows of dG/dt of the joints that loops move and of those that follow by curves."""
    couplings = mechanism.couplings
    rows: dict[int, Row] = {
        i: {couplings[i].terms[0][0]: couplings[i].curvature * rate}
        for i, rate in curve_rates(mechanism, rates).items()
    }
    for loop in mechanism.embedded:
        J = plane_columns(mechanism, loop)
        J_rate = _in_plane(mechanism, loop, column_rates(mechanism, loop, dict(enumerate(rates))))
        sums = weighted_columns(J_rate, {i: dict(mechanism.couplings[i].terms) for i in J_rate})
        inner = {i: column for i, column in J.items() if i in rows and i not in loop.dependent}
        for coordinate, term in weighted_columns(inner, rows).items():
            sums[coordinate] = sums[coordinate].plus(term) if coordinate in sums else term
        rows |= dependent_rows(loop, J, sums)
    return rows


def _total(vectors: Sequence[PlaneVector]) -> PlaneVector:
    total = vectors[0]
    for v in vectors[1:]:
        total = total.plus(v)
    return total
