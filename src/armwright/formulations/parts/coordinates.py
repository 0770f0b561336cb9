"""From the coordinates of the robot to the joints of its mechanism, and back.

Every formulation is written for joints of one freedom; these functions convert its arguments and results.

    q_joints = G q + offset      qd_joints = G qd      qdd_joints = G qdd + c      tau = G^T tau_joints      M = G^T M G

If each joint is a coordinate, G is the identity and the functions return their input. For a ball or free joint, q
places its body (`placed`), its freedoms are joints at zero in the axes of the body, and c is the effect of rotating
axes on their accelerations. Joints that a loop moves follow from the other joints (`loop_geometry`), and one that
follows by a curve is a polynomial of a coordinate: then G depends on q, and c is dG/dt qd. All functions except
`placed` and `tangent` take a placed mechanism.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from armwright.algebra import IDENTITY, ZERO, Matrix, Scalar, Vector, from_quaternion, sign, total
from armwright.formulations.parts import loop_geometry
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Ball, JointCoupling, Mechanism, Pose, position_entry


def mechanism_at(mechanism: Mechanism, q: Coordinates) -> Mechanism:
    """Return the mechanism with ball and free joints and the joints that loops move placed at q."""
    if mechanism.balls:
        joints, balls = list(mechanism.joints), list(mechanism.balls)
        for k, ball in enumerate(balls):
            joints[ball.joint] = replace(
                joints[ball.joint], placement=_ball_pose(joints[ball.joint].placement, ball, q)
            )
            if mechanism.has_directional_friction(ball) or any(joints[i].sprung for i in ball.rows):
                balls[k] = replace(ball, at=tuple(q[ball.entries]))
        mechanism = replace(mechanism, joints=tuple(joints), balls=tuple(balls))
    if mechanism.has_curves:
        couplings = [
            coupling.placed(q[position_entry(mechanism.balls, coupling.terms[0][0])]) if coupling.curve else coupling
            for coupling in mechanism.couplings
        ]
        mechanism = replace(mechanism, couplings=tuple(couplings))
    return loop_geometry.with_loops_closed(mechanism, list(positions(mechanism, q))) if mechanism.loops else mechanism


def _ball_pose(fixed: Pose | None, ball: Ball, q: Coordinates) -> Pose:
    """Return the pose of the body in the frame of its parent; `fixed` is its pose at the origin of the joint."""
    entries = q[ball.entries]
    position, rotation = POSES[ball.kind](_unit(entries, ball))
    if fixed is None:
        return Pose(rotation, position)
    R = rotation if fixed.rotation is IDENTITY else fixed.rotation.dot(rotation)
    return Pose(R, fixed.position + fixed.rotation @ position)


MAX_UNIT_ERROR = 1e-6
"""The largest difference of the square of a quaternion from one; beyond it results are not finite."""


def _unit(entries: Coordinates, ball: Ball) -> Coordinates:
    """Return the entries of q, not finite if the quaternion among them is not of unit length."""
    square: Scalar = 0
    for x in entries[ball.unit_vector.start - ball.first_entry :]:
        square = square + x * x
    excess = (square - 1) * (square - 1) - MAX_UNIT_ERROR * MAX_UNIT_ERROR
    one_or_infinite = 2 / (1 - sign(excess))
    return [*entries[:-1], entries[-1] * one_or_infinite]


POSES: dict[str, Callable[[Coordinates], tuple[Vector, Matrix]]] = {
    "ball": lambda q: (ZERO, from_quaternion(*q)),
    "free": lambda q: (Vector(*q[:3]), from_quaternion(*q[3:])),
    "planar": lambda q: (Vector(q[0], q[1], 0), Matrix(Vector(q[2], -q[3], 0), Vector(q[3], q[2], 0), Vector(0, 0, 1))),
}
"""Position and rotation of the body of such a joint from its entries of q."""


def positions(mechanism: Mechanism, q: Coordinates) -> Coordinates:
    """Return the position of every joint of the mechanism; those of a ball are at zero."""
    if not mechanism.couplings:
        return q
    balls = mechanism.ball_joints
    return [0 if i in balls else _position(mechanism, coupling, q) for i, coupling in enumerate(mechanism.couplings)]


def _position(mechanism: Mechanism, coupling: JointCoupling, q: Coordinates) -> Scalar:
    if coupling.at is not None:
        return coupling.at
    return total(factor * q[position_entry(mechanism.balls, c)] for c, factor in coupling.terms) + coupling.offset


def rates(mechanism: Mechanism, qd: Coordinates) -> Coordinates:
    """Return the rate of every joint of the mechanism."""
    if not mechanism.couplings:
        return qd
    return [total(factor * qd[c] for c, factor in coupling.terms) for coupling in mechanism.couplings]


def accelerations(mechanism: Mechanism, qd: Coordinates, qdd: Coordinates) -> Coordinates:
    """Return the acceleration of every joint of the mechanism."""
    if not (mechanism.balls or mechanism.has_varying_couplings):
        return rates(mechanism, qdd)
    parts = rates(mechanism, qdd), convective(mechanism, rates(mechanism, qd))
    return [part + more for part, more in zip(*parts, strict=True)]


def convective(mechanism: Mechanism, joint_rates: Coordinates) -> list[Scalar]:
    """Return c, the accelerations of the joints while no coordinate accelerates, from the rates of the joints."""
    shift: list[Scalar] = [0] * mechanism.n
    for ball in mechanism.balls:
        rows = slice(ball.rows.start, ball.rows.stop)
        shift[rows] = CONVECTIVE[ball.kind](*joint_rates[rows])
    for i, rate in loop_geometry.curve_rates(mechanism, joint_rates).items():
        shift[i] = mechanism.couplings[i].curvature * rate * rate
    loop_geometry.convective(mechanism, joint_rates, shift)
    return shift


def coordinate_accelerations(mechanism: Mechanism, qd: Coordinates, joint_qdd: Coordinates) -> list[Scalar]:
    """Return the accelerations of the coordinates from those of the joints; without coupled joints."""
    if not mechanism.balls:
        return to_coordinates(mechanism, joint_qdd)
    parts = joint_qdd, convective(mechanism, rates(mechanism, qd))
    return to_coordinates(mechanism, [part - more for part, more in zip(*parts, strict=True)])


def _rotation_convective(x: Scalar, y: Scalar, z: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return c of three successive joints about x, y and z."""
    return -(y * z), x * z, -(x * y)


CONVECTIVE: dict[str, Callable[..., Sequence[Scalar]]] = {
    "ball": _rotation_convective,
    "free": lambda vx, vy, vz, *w: (*Vector(*w).cross(Vector(vx, vy, vz)), *_rotation_convective(*w)),
    "planar": lambda vx, vy, w: (*Vector(0, 0, w).cross(Vector(vx, vy, 0))[:2], 0),
}
"""Accelerations of the joints of a ball while its coordinates of qd are constant."""


def to_coordinates(mechanism: Mechanism, row: Sequence[Scalar]) -> list[Scalar]:
    """Return one number per coordinate from one per joint (torques, a row of a Jacobian): G^T x."""
    if not mechanism.couplings:
        return list(row)
    sums: list[Scalar] = [0] * mechanism.coordinate_count
    for coupling, x in zip(mechanism.couplings, row, strict=True):
        for coordinate, factor in coupling.terms:
            sums[coordinate] = sums[coordinate] + factor * x
    return sums


def to_coordinates_by_rate(mechanism: Mechanism, joint_rates: Coordinates, row: Sequence[Scalar]) -> list[Scalar]:
    """Return (dG/dt)^T x, the rate of `to_coordinates` for constant numbers of the joints."""
    sums: list[Scalar] = [0] * mechanism.coordinate_count
    for i, factors in loop_geometry.coupling_rates(mechanism, joint_rates).items():
        for coordinate, factor in factors.items():
            sums[coordinate] = sums[coordinate] + factor * row[i]
    return sums


def congruent(mechanism: Mechanism, matrix: SquareMatrix) -> SquareMatrix:
    """Return G^T M G: a quadratic form in the joints, in the coordinates of the robot."""
    if not mechanism.couplings:
        return matrix
    columns = zip(*(to_coordinates(mechanism, row) for row in matrix), strict=True)
    return [list(row) for row in zip(*(to_coordinates(mechanism, column) for column in columns), strict=True)]


def tangent(mechanism: Mechanism, q: Coordinates) -> SquareMatrix:
    """Return the rows of T with dq/dt = T qd: the identity without balls."""
    entries = [position_entry(mechanism.balls, c) for c in range(mechanism.coordinate_count)]
    rows = [[int(j == entry) for entry in entries] for j in range(mechanism.position_count)]
    for ball in mechanism.balls:
        for k, row in enumerate(TANGENTS[ball.kind](q[ball.entries]), start=ball.first_entry):
            rows[k][ball.rates.start : ball.rates.stop] = row
    return rows


def _quaternion_rates(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> SquareMatrix:
    """Return the matrix from angular velocity, in the axes of the body, to the rate of a quaternion."""
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
"""Rates of the entries of q of such a joint, as a matrix on its entries of qd."""
