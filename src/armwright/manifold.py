"""Differences and motions of positions that are no vectors: the velocity from one to another in one second, and back.

    difference(q0, q1) = v      moved(q0, v) = q1

For a joint whose position is a number, v is the difference. For a ball it is the rotation vector; for a free or planar
joint it is the twist of the screw motion between the poses, in body axes, linear before angular. This is what
Pinocchio's `difference` and `integrate` return. It works over any scalar, so laws compile: an arc tangent is a series,
after the angle has been halved a few times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from armwright.algebra import ZERO, Scalar, Vector, cos, elementary, from_quaternion, sign, sin
from armwright.mechanism import Ball

Entries: TypeAlias = Sequence[Scalar]
Quaternion: TypeAlias = tuple[Vector, Scalar]
"""A quaternion: its vector part, and w."""

sqrt = elementary("sqrt")

ATAN_HALVINGS = 3
"""Halvings of an angle, at most a right angle, before the series of the arc tangent."""

ATAN_TERMS = 12
"""The terms of that series: the next is below rounding."""

SQUARE_OFFSET = 1e-60
"""A number added to squares in denominators, so that zero angles work; its effect is below rounding."""


def difference(balls: Sequence[Ball], q0: Entries, q1: Entries) -> list[Scalar]:
    """Return the velocity, one entry per freedom, that leads from q0 to q1 in one second."""
    result: list[Scalar] = []
    place = 0
    for ball in balls:
        result += [b - a for a, b in zip(q0[place : ball.first_entry], q1[place : ball.first_entry], strict=True)]
        result += DIFFERENCES[ball.kind](q0[ball.entries], q1[ball.entries])
        place = ball.entries.stop
    return [*result, *(b - a for a, b in zip(q0[place:], q1[place:], strict=True))]


def moved(balls: Sequence[Ball], q: Entries, v: Entries) -> list[Scalar]:
    """Return the position to which the velocity v leads from q in one second."""
    result: list[Scalar] = []
    k = 0
    for ball in balls:
        place = len(result)
        result += [a + b for a, b in zip(q[place : ball.first_entry], v[k : ball.coordinate], strict=True)]
        k = ball.rates.stop
        result += MOTIONS[ball.kind](q[ball.entries], v[ball.rates.start : k])
    return [*result, *(a + b for a, b in zip(q[len(result) :], v[k:], strict=True))]


def _per_sine(w: Scalar, square: Scalar) -> Scalar:
    """Return a / sin(a) from w = cos(a) >= 0 and the square of sin(a)."""
    ratio: Scalar = 1
    for _ in range(ATAN_HALVINGS):
        w = sqrt((1 + w) * 0.5)
        ratio = ratio / w
    ratio = ratio / w
    tangent = square * ratio * ratio * 4.0**-ATAN_HALVINGS
    series: Scalar = 0.0
    for k in reversed(range(ATAN_TERMS)):
        series = series * tangent + (-1) ** k / (2 * k + 1)
    return ratio * series


def _sign(x: Scalar) -> Scalar:
    """Return 1, or -1 where x is below zero."""
    return sign(sign(x) + 0.5)


def _times(a: Quaternion, b: Quaternion) -> Quaternion:
    (u, s), (v, t) = a, b
    return v * s + u * t + u.cross(v), s * t - u.dot(v)


def _quaternion(entries: Entries) -> Quaternion:
    x, y, z, w = entries
    return Vector(x, y, z), w


def _between(q0: Entries, q1: Entries) -> Quaternion:
    """Return the rotation from one quaternion to the other, in body axes."""
    v, w = _quaternion(q0)
    return _times((-v, w), _quaternion(q1))


def _logarithm(turn: Quaternion) -> tuple[Vector, Scalar]:
    """Return the rotation vector r of a quaternion, and (1 - a cot(a)) / r.r with a half of its length."""
    up = _sign(turn[1])
    v, w = turn[0] * up, turn[1] * up
    factor = _per_sine(w, v.dot(v))
    rotation = v * (2 * factor)
    return rotation, (1 - w * factor) / (rotation.dot(rotation) + SQUARE_OFFSET)


def _twist(position: Vector, turn: Quaternion) -> list[Scalar]:
    """Return the twist of the screw motion to a pose: log of SE(3)."""
    rotation, more = _logarithm(turn)
    bent = rotation.cross(position)
    return [*(position - bent * 0.5 + rotation.cross(bent) * more), *rotation]


def _pose(linear: Vector, rotation: Vector) -> tuple[Vector, Quaternion]:
    """Return the pose after a screw motion: exp of SE(3)."""
    square = rotation.dot(rotation) + SQUARE_OFFSET
    angle = sqrt(square)
    sine, cosine = sin(angle * 0.5) / angle, cos(angle * 0.5)
    bent = rotation.cross(linear)
    more = (1 - 2 * sine * cosine) / square
    up = _sign(cosine)  # the nearer of the two quaternions
    return linear + bent * (2 * sine * sine) + rotation.cross(bent) * more, (rotation * (sine * up), cosine * up)


def _free_difference(q0: Entries, q1: Entries) -> list[Scalar]:
    position = from_quaternion(*q0[3:]).T @ (Vector(*q1[:3]) - Vector(*q0[:3]))
    return _twist(position, _between(q0[3:], q1[3:]))


def _free_moved(q: Entries, v: Entries) -> list[Scalar]:
    position, turn = _pose(Vector(*v[:3]), Vector(*v[3:]))
    vector, w = _times(_quaternion(q[3:]), turn)
    return [*(Vector(*q[:3]) + from_quaternion(*q[3:]) @ position), *vector, w]


def angle_of(c: Scalar, s: Scalar) -> Scalar:
    """Return the angle of a cosine and a sine, within half a turn."""
    up = _sign(c)
    return _per_sine(c * up, s * s) * s * up + (1 - up) * (math.pi / 2) * _sign(s)


def _planar_difference(q0: Entries, q1: Entries) -> list[Scalar]:
    (x0, y0, c0, s0), (x1, y1, c1, s1) = q0, q1
    c, s, x, y = c0 * c1 + s0 * s1, c0 * s1 - s0 * c1, x1 - x0, y1 - y0
    angle = angle_of(c, s)
    turn = Vector(0, 0, sin(angle * 0.5)), cos(angle * 0.5)
    return [*_twist(Vector(c0 * x + s0 * y, c0 * y - s0 * x, 0), turn)[:2], angle]


def _planar_moved(q: Entries, v: Entries) -> list[Scalar]:
    x, y, c0, s0 = q
    p, _ = _pose(Vector(v[0], v[1], 0), Vector(0, 0, v[2]))
    c, s = cos(v[2]), sin(v[2])
    return [x + c0 * p.x - s0 * p.y, y + s0 * p.x + c0 * p.y, c0 * c - s0 * s, s0 * c + c0 * s]


def rotation_between(q0: Entries, q1: Entries) -> list[Scalar]:
    """Return the rotation vector between two quaternions, at most half a turn, in body axes."""
    return list(_logarithm(_between(q0, q1))[0])


def curvature_factor(q0: Entries, q1: Entries) -> Scalar:
    """Return the factor of r x (r x d) in the rate of the rotation vector r between two quaternions, rotated by d."""
    return _logarithm(_between(q0, q1))[1]


def quaternion_of(rotation: Vector) -> list[Scalar]:
    """Return the quaternion (x, y, z, w) of a rotation vector."""
    vector, w = _pose(ZERO, rotation)[1]
    return [*vector, w]


def _ball_moved(q: Entries, v: Entries) -> list[Scalar]:
    vector, w = _times(_quaternion(q), _pose(ZERO, Vector(*v))[1])
    return [*vector, w]


DIFFERENCES: dict[str, Callable[[Entries, Entries], list[Scalar]]] = {
    "ball": rotation_between,
    "free": _free_difference,
    "planar": _planar_difference,
}
"""The velocity between two positions of a joint, by joint type."""

MOTIONS: dict[str, Callable[[Entries, Entries], list[Scalar]]] = {
    "ball": _ball_moved,
    "free": _free_moved,
    "planar": _planar_moved,
}
"""The position after a velocity, by joint type."""
