"""The algebra of closed loops: where the joints are that a loop moves, and how fast.

A loop holds a frame on one link to a frame on another. From the link on which the ways to both part, its ends move by

    g(q) = 0      J qd = 0      J qdd + Jd qd = 0

with columns for the joints on both ways and no others. Of a loop in a plane two joints, d, are found in closed form:
cut at both of them and at its end, it is three rigid pieces, a triangle with two known sides and one known angle or
three known sides. Then

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
from armwright.mechanism import Drive, Joint, Loop, Mechanism, Pose

_sqrt = elementary("sqrt")

Row: TypeAlias = dict[int, Scalar]
"""By coordinate: how one number depends on the rates of the robot."""


class Angle:
    """An angle known by its cosine and sine, plus a constant: what a revolute joint needs of its position."""

    __array_ufunc__ = None

    def __init__(self, c: Scalar, s: Scalar, more: Scalar = 0) -> None:
        self.c, self.s, self.more = c, s, more

    def __add__(self, angle: Scalar) -> Angle:
        return Angle(self.c, self.s, self.more + angle)

    __radd__ = __add__

    def cos(self) -> Scalar:
        return self._turned()[0]

    def sin(self) -> Scalar:
        return self._turned()[1]

    def _turned(self) -> tuple[Scalar, Scalar]:
        if self.more == 0:
            return self.c, self.s
        c, s = elementary("cos")(self.more), elementary("sin")(self.more)
        return self.c * c - self.s * s, self.s * c + self.c * s


class Flat(NamedTuple):
    """A vector in the plane of a loop."""

    x: Scalar
    y: Scalar

    def plus(self, v: Flat) -> Flat:
        return Flat(self.x + v.x, self.y + v.y)

    def times(self, k: Scalar) -> Flat:
        return Flat(self.x * k, self.y * k)

    def dot(self, v: Flat) -> Scalar:
        return self.x * v.x + self.y * v.y

    def cross(self, v: Flat) -> Scalar:
        return self.x * v.y - self.y * v.x

    def turned(self, c: Scalar, s: Scalar) -> Flat:
        return Flat(c * self.x - s * self.y, s * self.x + c * self.y)


class Piece(NamedTuple):
    """A part of a loop that is rigid as long as the dependent joints are not looked at.

    `pose` is its end seen from its start; `joint` is what moves there, `outward` as the loop is gone along.
    """

    pose: Pose
    joint: int = -1
    outward: bool = True


def composed(one: Pose, two: Pose) -> Pose:
    """One frame after the other."""
    R = one.rotation if two.rotation is IDENTITY else one.rotation.dot(two.rotation)
    return Pose(two.rotation if one.rotation is IDENTITY else R, one.position + one.rotation @ two.position)


def inverted(pose: Pose) -> Pose:
    back = pose.rotation.T
    return Pose(back, -(back @ pose.position))


def moved(joint: Joint, q: Scalar) -> Pose:
    """The frame of a link seen from that of its parent."""
    return Pose(joint.rotation(q).matrix, joint.offset(q))


def fixed(joint: Joint) -> Pose:
    """The same before the joint moves: what is constant of it."""
    return moved(replace(joint, prismatic=True, theta=0, quarters=0, d=0), 0)


def closed(mechanism: Mechanism, x: list[Scalar]) -> Mechanism:
    """The mechanism with every joint that a loop moves at its place; `x` are the positions of the others."""
    drives = list(mechanism.drives)
    loops = list[Loop]()
    for given in mechanism.loops:
        found = dyad(mechanism, given, x) if given.dependent else {}
        for i, at in found.items():
            x[i] = at
        loop = replace(given, at={i: x[i] for way in mechanism.between(given.links) for i in way})
        loops.append(loop)
        if found:
            J = plane_columns(mechanism, loop)
            rows = solved(loop, J, weighted(J, {i: dict(drive.terms) for i, drive in enumerate(drives)}))
            for i, at in found.items():
                drives[i] = Drive(tuple(sorted(rows[i].items())), at=at)
    return replace(mechanism, drives=tuple(drives), loops=tuple(loops))


def pieces(mechanism: Mechanism, loop: Loop, x: Sequence[Scalar]) -> list[Piece]:
    """The loop from one end round to the other, cut at the joints it moves."""
    first, second = mechanism.between(loop.links)
    found, pose = list[Piece](), inverted(loop.ends[1])
    for i in reversed(second):
        joint = mechanism.joints[i]
        if i in loop.dependent:
            found.append(Piece(pose, i, False))
            pose = inverted(fixed(joint))
        else:
            pose = composed(pose, inverted(moved(joint, x[i])))
    for i in first:
        joint = mechanism.joints[i]
        if i in loop.dependent:
            found.append(Piece(composed(pose, fixed(joint)), i, True))
            pose = Pose()
        else:
            pose = composed(pose, moved(joint, x[i]))
    return [*found, Piece(composed(pose, loop.ends[0]))]


def dyad(mechanism: Mechanism, loop: Loop, x: Sequence[Scalar]) -> dict[int, Scalar]:
    """Where the two joints are that a loop in a plane moves."""
    start, middle, end = pieces(mechanism, loop, x)
    joints = [mechanism.joints[piece.joint] for piece in (start, middle)]
    a, e = inverted(start.pose).position, end.pose.position
    M, p = middle.pose.rotation, middle.pose.position
    if not (joints[0].prismatic or joints[1].prismatic):
        turns = _three_sides(_flat(a), _flat(p), M, _flat(e), loop.assembly)
        return {
            piece.joint: _position(joint, piece, c, s)
            for piece, joint, (c, s) in zip((start, middle), joints, turns, strict=True)
        }
    if joints[1].prismatic:
        slide, pivot, f = middle, start, _flat(a)
        u = M @ (Z if slide.outward else -Z)
        w = p + M @ _set(joints[1], slide, e)
    else:
        slide, pivot, f = start, middle, _flat(e)
        u = M.T @ (-Z if slide.outward else Z)
        w = M.T @ (_set(joints[0], slide, a, back=True) - p)
    s, (c, sine) = _along(f, _flat(w), _flat(u), loop.assembly)
    turned = (c, -sine) if pivot is start else (c, sine)
    joint = mechanism.joints[slide.joint]
    return {slide.joint: s - joint.d, pivot.joint: _position(mechanism.joints[pivot.joint], pivot, *turned)}


def _flat(v: Vector) -> Flat:
    return Flat(v.x, v.y)


def _three_sides(a: Flat, p: Flat, M: Matrix, e: Flat, assembly: int) -> tuple[tuple[Scalar, Scalar], ...]:
    """Cosine and sine of both turns with a = Rot1 (p + M Rot2 e)."""
    f = Flat(M.x.x * p.x + M.y.x * p.y, M.x.y * p.x + M.y.y * p.y)  # p in the axes of the second joint
    along, across = f.dot(e), e.cross(f)
    size = f.dot(f) * e.dot(e)
    k = (a.dot(a) - p.dot(p) - e.dot(e)) * 0.5
    h = assembly * root(size - k * k)
    inverse = 1 / size
    c, s = (k * along - h * across) * inverse, (k * across + h * along) * inverse
    turned = e.turned(c, s)
    v = p.plus(Flat(M.x.x * turned.x + M.x.y * turned.y, M.y.x * turned.x + M.y.y * turned.y))
    return _turn(v, a), (c, s)


def _along(f: Flat, w: Flat, u: Flat, assembly: int) -> tuple[Scalar, tuple[Scalar, Scalar]]:
    """s, and cosine and sine of the turn, with Rot f = w + u s for a unit vector u."""
    off = w.cross(u)
    s = assembly * root(f.dot(f) - off * off) - w.dot(u)
    return s, _turn(f, w.plus(u.times(s)))


def _turn(v: Flat, to: Flat) -> tuple[Scalar, Scalar]:
    """Cosine and sine of the angle from one vector to another of the same length."""
    inverse = 1 / v.dot(v)
    return v.dot(to) * inverse, v.cross(to) * inverse


def _set(joint: Joint, piece: Piece, v: Vector, back: bool = False) -> Vector:
    """A vector turned by the constant angle of a prismatic joint."""
    R = replace(joint, ca=1, sa=0, cg=1, sg=0, stand=None).rotation(0)
    return R @ v if piece.outward != back else R.T @ v


def _position(joint: Joint, piece: Piece, c: Scalar, s: Scalar) -> Angle:
    """q of a revolute joint, by cosine and sine of how far the loop turns there."""
    s = s if piece.outward else -s
    c, s = ((c, s), (s, -c), (-c, -s), (-s, c))[joint.quarters % 4]
    return Angle(c, s, -joint.theta)


def root(x: Scalar) -> Scalar:
    """The square root; not a number where there is none, whatever the scalar."""
    return math.nan if type(x) is float and x < 0 else _sqrt(x)


class Column(NamedTuple):
    """What one joint adds to the velocity of one end of a loop relative to the other, and to the angular velocity."""

    l: Vector  # noqa: E741
    e: Vector


class Ends(NamedTuple):
    """Both ends of a loop seen from the link on which the ways to them part, and the columns of J, by joint."""

    poses: tuple[Pose, Pose]
    columns: dict[int, Column]


def ends(mechanism: Mechanism, loop: Loop) -> Ends:
    """The end on the first link relative to that on the second."""
    columns, poses = dict[int, Column](), list[Pose]()
    for sign, way, end in zip((1, -1), mechanism.between(loop.links), loop.ends, strict=True):
        frames = along(mechanism, way, loop.at)
        last = composed(frames[-1], end) if way else end
        for i, frame in zip(way, frames, strict=True):
            axis = (frame.rotation @ Z) * sign
            arm = last.position - frame.position
            columns[i] = Column(axis, ZERO) if mechanism.joints[i].prismatic else Column(axis.cross(arm), axis)
        poses.append(last)
    return Ends((poses[0], poses[1]), columns)


def along(mechanism: Mechanism, way: Iterable[int], x: Mapping[int, Scalar]) -> list[Pose]:
    """The frames on a way, seen from the link on which it starts."""
    frames, last = list[Pose](), Pose()
    for i in way:
        last = composed(last, moved(mechanism.joints[i], x[i]))
        frames.append(last)
    return frames


def gap(mechanism: Mechanism, loop: Loop) -> list[Scalar]:
    """g: how far the first end is from the second, and of a weld the sine of the angle by which it is turned."""
    one, two = ends(mechanism, loop).poses
    apart = list(one.position - two.position)
    if not loop.weld:
        return apart
    turned = ZERO
    for u, v in zip(two.rotation.T, one.rotation.T, strict=True):
        turned = turned + u.cross(v)
    return [*apart, *(turned * 0.5)]


def turned_apart(mechanism: Mechanism, loop: Loop) -> Vector:
    """The turn from the second end of a weld to the first, along its axis and as long as 2 sin(angle / 2).

    That is largest at half a turn, where the sine of the whole angle is zero again. It is twice the vector part of a
    quaternion of which four columns are known, each times one of its entries: the longest is taken.
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
    chosen, scalar = w, square
    for own, (vector, last) in zip("xyz", columns, strict=True):
        longer = getattr(vector, own) - square
        taken = (1 + sign_of(sign_of(longer) - 0.5)) * 0.5
        square = square + longer * taken
        chosen, scalar = chosen + (vector - chosen) * taken, scalar + (last - scalar) * taken
    upward: Scalar = sign_of(sign_of(scalar) + 0.5) / _sqrt(square)
    turn: Vector = chosen * upward
    return turn


def columns_in_time(mechanism: Mechanism, loop: Loop, rates: Mapping[int, Scalar]) -> dict[int, Column]:
    """dJ/dt by joint: a column turns with its link, and its lever arm grows by what lies beyond."""
    J, found = ends(mechanism, loop).columns, dict[int, Column]()
    for sign, way in zip((1, -1), mechanism.between(loop.links), strict=True):
        w, turning = ZERO, list[Vector]()
        for i in way:
            w = w + J[i].e * (sign * rates[i])
            turning.append(w)
        beyond = ZERO
        for i, w in zip(reversed(way), reversed(turning), strict=True):
            own = J[i]
            found[i] = Column(w.cross(own.l) + (own.e * sign).cross(beyond), w.cross(own.e))
            beyond = beyond + own.l * rates[i]
    return found


def plane_columns(mechanism: Mechanism, loop: Loop) -> dict[int, Flat]:
    """J of a loop in its plane."""
    return _in_plane(mechanism, loop, ends(mechanism, loop).columns)


def _in_plane(mechanism: Mechanism, loop: Loop, columns: Mapping[int, Column]) -> dict[int, Flat]:
    """In the axes of the first revolute joint before it turns, which are constant."""
    for way in mechanism.between(loop.links):
        pose = Pose()
        for i in way:
            if not mechanism.joints[i].prismatic:
                x, y, _ = composed(pose, fixed(mechanism.joints[i])).rotation.T
                return {k: Flat(x.dot(column.l), y.dot(column.l)) for k, column in columns.items()}
            pose = composed(pose, moved(mechanism.joints[i], 0))
    raise AssertionError("a loop in a plane has a joint that turns")


def weighted(columns: Mapping[int, Flat], rows: Mapping[int, Row]) -> dict[int, Flat]:
    """The sum of columns times what each joint is per coordinate: by coordinate."""
    sums: dict[int, Flat] = {}
    for i, column in columns.items():
        for coordinate, factor in rows[i].items():
            term = column.times(factor)
            sums[coordinate] = sums[coordinate].plus(term) if coordinate in sums else term
    return sums


def solved(loop: Loop, J: Mapping[int, Flat], sums: Mapping[int, Flat]) -> dict[int, Row]:
    """-J_d^-1 times sums: what the joints that a loop moves are per coordinate."""
    one, two = loop.dependent
    u, v = J[one], J[two]
    inverse = 1 / u.cross(v)
    rows: dict[int, Row] = {one: {}, two: {}}
    for coordinate, b in sums.items():
        rows[one][coordinate] = v.cross(b) * inverse
        rows[two][coordinate] = b.cross(u) * inverse
    return rows


def openings(mechanism: Mechanism) -> list[tuple[Scalar, Scalar]]:
    """Of each loop that moves joints, how far it is from its end: the square of a sine, as a fraction of two numbers.

    Zero where it is stretched or folded, and its two joints could go on in two ways.
    """
    found = list[tuple[Scalar, Scalar]]()
    for loop in mechanism.embedded:
        J = plane_columns(mechanism, loop)
        u, v = (J[i] for i in loop.dependent)
        across = u.cross(v)
        found.append((across * across, u.dot(u) * v.dot(v)))
    return found


def convective(mechanism: Mechanism, rates: Coordinates, shift: list[Scalar]) -> None:
    """Adds to `shift` how the joints that loops move accelerate while no coordinate does."""
    for loop in mechanism.embedded:
        by_joint = dict(enumerate(rates))
        in_time = _in_plane(mechanism, loop, columns_in_time(mechanism, loop, by_joint))
        J = plane_columns(mechanism, loop)
        sums = [column.times(rates[i]) for i, column in in_time.items()]
        sums += [column.times(shift[i]) for i, column in J.items() if i not in loop.dependent]
        rows = solved(loop, J, {0: _total(sums)})
        for i in loop.dependent:
            shift[i] = rows[i][0]


def bends(mechanism: Mechanism, rates: Coordinates) -> dict[int, Scalar]:
    """The joints that follow coordinates by curves, each with the rate of its coordinate."""
    return {
        i: rates[mechanism.leading(drive.terms[0][0])]
        for i, drive in enumerate(mechanism.drives)
        if not structural(drive.bend, 0)
    }


def factors_in_time(mechanism: Mechanism, rates: Coordinates) -> dict[int, Row]:
    """dG/dt by rows of the joints that loops move, and of those that follow by curves."""
    drives = mechanism.drives
    found: dict[int, Row] = {
        i: {drives[i].terms[0][0]: drives[i].bend * rate} for i, rate in bends(mechanism, rates).items()
    }
    for loop in mechanism.embedded:
        J = plane_columns(mechanism, loop)
        in_time = _in_plane(mechanism, loop, columns_in_time(mechanism, loop, dict(enumerate(rates))))
        sums = weighted(in_time, {i: dict(mechanism.drives[i].terms) for i in in_time})
        inner = {i: column for i, column in J.items() if i in found and i not in loop.dependent}
        for coordinate, term in weighted(inner, found).items():
            sums[coordinate] = sums[coordinate].plus(term) if coordinate in sums else term
        found |= solved(loop, J, sums)
    return found


def _total(vectors: Sequence[Flat]) -> Flat:
    total = vectors[0]
    for v in vectors[1:]:
        total = total.plus(v)
    return total
