"""From the coordinates of the robot to the joints of its mechanism, and back.

Every formulation is written for joints of one freedom, each at some position; these functions stand before and after.

    q_joints = G q + offset      qd_joints = G qd      qdd_joints = G qdd + c      tau = G^T tau_joints      M = G^T M G

Where each joint has its own coordinate, G is the identity and they return what they were given. Of a ball or free joint
q is no such sum: its body stands where q says (`placed`), its freedoms are joints at zero in the axes of the body, and
c is what turning axes make of their accelerations. What a loop moves is found from the other joints (`loops`), and what
follows by a curve is at a polynomial of a coordinate: there G depends on q, and c is dG/dt qd. All but `placed` and
`tangent` are for a mechanism that is placed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from armwright.algebra import IDENTITY, ZERO, Matrix, Scalar, Vector, from_quaternion, sign, total
from armwright.formulations.parts import loops
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Ball, Drive, Mechanism, Pose, entry


def placed(mechanism: Mechanism, q: Coordinates) -> Mechanism:
    """The mechanism with the bodies of ball and free joints, and what loops move, where they are."""
    if mechanism.balls:
        joints, balls = list(mechanism.joints), list(mechanism.balls)
        for k, ball in enumerate(balls):
            joints[ball.joint] = replace(joints[ball.joint], stand=_stand(joints[ball.joint].stand, ball, q))
            if mechanism.rubs_along_placement(ball) or any(joints[i].sprung for i in ball.rows):
                balls[k] = replace(ball, at=tuple(q[ball.entries]))
        mechanism = replace(mechanism, joints=tuple(joints), balls=tuple(balls))
    if mechanism.curved:
        drives = [
            drive.placed(q[entry(mechanism.balls, drive.terms[0][0])]) if drive.curve else drive
            for drive in mechanism.drives
        ]
        mechanism = replace(mechanism, drives=tuple(drives))
    return loops.closed(mechanism, list(positions(mechanism, q))) if mechanism.loops else mechanism


def _stand(fixed: Pose | None, ball: Ball, q: Coordinates) -> Pose:
    """Where the body is, seen from its parent; `fixed` leads to where it would be at the origin of the joint."""
    entries = q[ball.entries]
    position, rotation = POSES[ball.kind](_unit(entries, ball))
    if fixed is None:
        return Pose(rotation, position)
    turned = rotation if fixed.rotation is IDENTITY else fixed.rotation.dot(rotation)
    return Pose(turned, fixed.position + fixed.rotation @ position)


NOT_UNIT = 1e-6
"""By so much the square of a quaternion may differ from one; beyond, results are not finite, and an error says why."""


def _unit(entries: Coordinates, ball: Ball) -> Coordinates:
    """The entries of q, unless the quaternion among them is not of unit length: then there is no finite result."""
    square: Scalar = 0
    for x in entries[ball.unit_vector.start - ball.place :]:
        square = square + x * x
    apart = (square - 1) * (square - 1) - NOT_UNIT * NOT_UNIT
    whole = 2 / (1 - sign(apart))
    return [*entries[:-1], entries[-1] * whole]


POSES: dict[str, Callable[[Coordinates], tuple[Vector, Matrix]]] = {
    "ball": lambda q: (ZERO, from_quaternion(*q)),
    "free": lambda q: (Vector(*q[:3]), from_quaternion(*q[3:])),
    "planar": lambda q: (
        Vector(q[0], q[1], 0),
        Matrix(Vector(q[2], -q[3], 0), Vector(q[3], q[2], 0), Vector(0, 0, 1)),
    ),
}
"""Where the body of such a joint is, by its entries of q."""


def positions(mechanism: Mechanism, q: Coordinates) -> Coordinates:
    """Where every joint of the mechanism is; those of a ball are at zero."""
    if not mechanism.drives:
        return q
    still = mechanism.of_balls
    return [0 if i in still else _position(mechanism, drive, q) for i, drive in enumerate(mechanism.drives)]


def _position(mechanism: Mechanism, drive: Drive, q: Coordinates) -> Scalar:
    if drive.at is not None:
        return drive.at
    return total(factor * q[entry(mechanism.balls, c)] for c, factor in drive.terms) + drive.offset


def rates(mechanism: Mechanism, qd: Coordinates) -> Coordinates:
    """How fast every joint of the mechanism moves."""
    if not mechanism.drives:
        return qd
    return [total(factor * qd[c] for c, factor in drive.terms) for drive in mechanism.drives]


def accelerations(mechanism: Mechanism, qd: Coordinates, qdd: Coordinates) -> Coordinates:
    """How every joint of the mechanism accelerates."""
    if not (mechanism.balls or mechanism.shifting):
        return rates(mechanism, qdd)
    parts = rates(mechanism, qdd), convective(mechanism, rates(mechanism, qd))
    return [own + more for own, more in zip(*parts, strict=True)]


def convective(mechanism: Mechanism, joint_rates: Coordinates) -> list[Scalar]:
    """How every joint of the mechanism accelerates while no coordinate does: c, by the rates of the joints."""
    shift: list[Scalar] = [0] * mechanism.n
    for ball in mechanism.balls:
        own = slice(ball.rows.start, ball.rows.stop)
        shift[own] = CONVECTIVE[ball.kind](*joint_rates[own])
    for i, rate in loops.bends(mechanism, joint_rates).items():
        shift[i] = mechanism.drives[i].bend * rate * rate
    loops.convective(mechanism, joint_rates, shift)
    return shift


def coordinate_accelerations(mechanism: Mechanism, qd: Coordinates, joint_qdd: Coordinates) -> list[Scalar]:
    """The accelerations of the coordinates, by those of the joints; for joints that do not move together."""
    if not mechanism.balls:
        return gathered(mechanism, joint_qdd)
    parts = joint_qdd, convective(mechanism, rates(mechanism, qd))
    return gathered(mechanism, [own - more for own, more in zip(*parts, strict=True)])


def _turning(x: Scalar, y: Scalar, z: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Of three joints about x, y and z, one after the other, so that the body accelerates as its coordinates do."""
    return -(y * z), x * z, -(x * y)


def _moving(v: Vector, w: Vector) -> Vector:
    """Of the origin, whose velocity is given in axes that turn."""
    return w.cross(v)


CONVECTIVE: dict[str, Callable[..., Sequence[Scalar]]] = {
    "ball": _turning,
    "free": lambda vx, vy, vz, wx, wy, wz: (*_moving(Vector(vx, vy, vz), Vector(wx, wy, wz)), *_turning(wx, wy, wz)),
    "planar": lambda vx, vy, w: (*_moving(Vector(vx, vy, 0), Vector(0, 0, w))[:2], 0),
}
"""What the joints of a ball accelerate by while its coordinates of qd are constant."""


def gathered(mechanism: Mechanism, row: Sequence[Scalar]) -> list[Scalar]:
    """What one number per joint, a torque or an entry of a Jacobian, is per coordinate of the robot."""
    if not mechanism.drives:
        return list(row)
    sums: list[Scalar] = [0] * mechanism.coordinates
    for drive, x in zip(mechanism.drives, row, strict=True):
        for coordinate, factor in drive.terms:
            sums[coordinate] = sums[coordinate] + factor * x
    return sums


def gathered_in_time(mechanism: Mechanism, joint_rates: Coordinates, row: Sequence[Scalar]) -> list[Scalar]:
    """What `gathered` changes by in time while the numbers of the joints are constant: by dG/dt."""
    sums: list[Scalar] = [0] * mechanism.coordinates
    for i, factors in loops.factors_in_time(mechanism, joint_rates).items():
        for coordinate, factor in factors.items():
            sums[coordinate] = sums[coordinate] + factor * row[i]
    return sums


def congruent(mechanism: Mechanism, matrix: SquareMatrix) -> SquareMatrix:
    """The matrix of a quadratic form in the joints of the mechanism, in the coordinates of the robot."""
    if not mechanism.drives:
        return matrix
    columns = zip(*(gathered(mechanism, row) for row in matrix), strict=True)
    return [list(row) for row in zip(*(gathered(mechanism, column) for column in columns), strict=True)]


def tangent(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    """dq/dt = T qd, as rows of T: the identity but for balls."""
    entries = [entry(mechanism.balls, c) for c in range(mechanism.coordinates)]
    rows = [[int(j == own) for own in entries] for j in range(mechanism.places)]
    for ball in mechanism.balls:
        for k, row in enumerate(TANGENTS[ball.kind](q[ball.entries]), start=ball.place):
            rows[k][ball.rates.start : ball.rates.stop] = row
    return rows


def _quaternion_rates(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> SquareMatrix:
    """Half the product of a quaternion and an angular velocity in the axes of the body."""
    x, y, z, w = x * 0.5, y * 0.5, z * 0.5, w * 0.5
    return [[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]


def _free_rates(q: Coordinates) -> SquareMatrix:
    R = from_quaternion(*q[3:])
    return [*([*row, 0, 0, 0] for row in R), *([0, 0, 0, *row] for row in _quaternion_rates(*q[3:]))]


TANGENTS: dict[str, Callable[[Coordinates], SquareMatrix]] = {
    "ball": lambda q: _quaternion_rates(*q),
    "free": _free_rates,
    "planar": lambda q: [[q[2], -q[3], 0], [q[3], q[2], 0], [0, 0, -q[3]], [0, 0, q[2]]],
}
"""How the entries of q change, by those of qd."""
