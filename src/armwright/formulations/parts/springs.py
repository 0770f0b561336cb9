"""Springs at the joints and weight compensation, added in the same way to every formulation.

    tau += k x + k2 x^2 + k3 x^3        x = q - rest        stores k x^2/2 + k2 x^3/3 + k3 x^4/4

The rotation of a ball or free joint has one spring for all three freedoms, and x is the rotation vector that leads
from the rest to the position, which is at most half a turn. The translation of a free or planar joint has a spring
along each axis of the frame in which the joint is placed. If a loop moves a revolute joint, x is the shorter turn.

Compensated weight is that of separate masses, by an inward recursion of their forces and moments.
"""

from collections.abc import Iterator
from typing import NamedTuple

from armwright.algebra import IDENTITY, ZERO, Rotation, Scalar, Vector, structural, total
from armwright.formulations.parts.coordinates import to_coordinates
from armwright.formulations.parts.loop_geometry import Angle
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.rotors_and_friction import placement_rotation
from armwright.formulations.parts.types import Coordinates
from armwright.manifold import angle_of, curvature_factor, quaternion_of, rotation_between
from armwright.mechanism import Ball, Joint, Link, Mechanism


def torques(mechanism: Mechanism, x: Coordinates) -> list[Scalar]:
    """Return the torques that hold the springs of a placed mechanism, less compensated weight, per coordinate.

    `x` are the positions of the joints.
    """
    if not (mechanism.compensated or any(joint.sprung for joint in mechanism.joints)):
        return [0] * mechanism.coordinate_count
    return to_coordinates(mechanism, joint_torques(mechanism, x))


def joint_torques(mechanism: Mechanism, x: Coordinates) -> list[Scalar]:
    """Return the same torques per joint."""
    torques: list[Scalar] = [0] * mechanism.n
    for i in _single_joints(mechanism):
        torques[i] = _spring_torque(mechanism.joints[i], _deflection(mechanism.joints[i], x[i]))
    for ball in mechanism.balls:
        if ball.at:
            torques[ball.rows.start : ball.rows.stop] = _ball_spring_torques(mechanism, ball)
    if mechanism.compensated:
        torques = [spring + weight for spring, weight in zip(torques, _weight_torques(mechanism, x), strict=True)]
    return torques


class Weight(NamedTuple):
    """The weight of a link and everything outwards: force and moment."""

    force: Vector
    moment: Vector


def _weight_torques(mechanism: Mechanism, x: Coordinates) -> list[Scalar]:
    """Return the torques of the compensated weight on the joints."""
    base = Rotation(1, 0, 1, 0), mechanism.gravity
    gravity = outward(mechanism.parents, _gravity_step, base, mechanism.joints, x)
    tip = Weight(ZERO, ZERO)
    return inward(mechanism.parents, _weight_step, tip, mechanism.joints, mechanism.compensated, gravity, x)


def _gravity_step(last: tuple[Rotation, Vector], joint: Joint, x: Scalar) -> tuple[Rotation, Vector]:
    """Return the rotation of a joint, and gravity in the axes of its link."""
    R = joint.rotation(x)
    return R, R.T @ last[1]


def _weight_step(
    outer: Weight, joint: Joint, part: Link, frame: tuple[Rotation, Vector], x: Scalar
) -> tuple[Weight, Scalar]:
    R, g = frame
    force, moment = g * part.mass + outer.force, part.moment.cross(g) + outer.moment
    parent_force = R @ force
    inner = Weight(parent_force, R @ moment + joint.offset(x).cross(parent_force))
    return inner, force.z if joint.prismatic else moment.z


def energy(mechanism: Mechanism, x: Coordinates) -> Scalar:
    """Return the energy stored in the springs of a placed mechanism."""
    stored: Scalar = 0
    for i in _single_joints(mechanism):
        stored = stored + _energy_of(mechanism.joints[i], _deflection(mechanism.joints[i], x[i]))
    for ball in mechanism.balls:
        if ball.at:
            for i, deflection in zip(ball.rows, _ball_deflections(mechanism, ball), strict=True):
                stored = stored + _energy_of(mechanism.joints[i], deflection)
    return stored


def slopes(mechanism: Mechanism, x: Coordinates) -> Iterator[tuple[int, int, Scalar]]:
    """Yield (i, j, derivative of the spring torque of joint i by joint j) of a placed mechanism.

    After a small rotation d, the rotation vector r grows by d + r x d / 2 + c r x (r x d) with a = |r| / 2 and
    c = (1 - a cot(a)) / r.r.
    """
    for i in _single_joints(mechanism):
        joint = mechanism.joints[i]
        deflection, slope = _deflection(joint, x[i]), joint.spring_stiffness
        for k, factor in enumerate(joint.spring_curve, start=2):
            slope = slope + k * factor * _power(deflection, k - 1)
        yield i, i, slope
    for ball in mechanism.balls:
        if ball.at:
            yield from _ball_slopes(mechanism, ball)


def _ball_slopes(mechanism: Mechanism, ball: Ball) -> Iterator[tuple[int, int, Scalar]]:
    rows, count = ball.rows, ball.translations
    stiffness = [mechanism.joints[i].spring_stiffness for i in rows]
    if count:
        force = Vector(*_ball_spring_torques(mechanism, ball)[:count], *[0] * (3 - count))
        K = [Vector(*(k * entry for entry in row)) for k, row in zip(stiffness, placement_rotation(ball), strict=False)]
        R = placement_rotation(ball).T
        for i, row in zip(rows, R, strict=False):
            for j, column in zip(rows[:count], zip(*K, strict=True), strict=False):
                yield i, j, total(a * b for a, b in zip(row, column, strict=False))
        turning = {"planar": (2,), "free": (0, 1, 2)}[ball.kind]
        for j, k in zip(rows[count:], turning, strict=True):
            unit = Vector(*(int(k == axis) for axis in range(3)))
            yield from ((i, j, x) for i, x in zip(rows[:count], force.cross(unit), strict=False))
    if ball.kind == "planar":
        yield rows[-1], rows[-1], stiffness[-1]
        return
    r, curvature = Vector(*_ball_deflections(mechanism, ball)[count:]), curvature_factor(*_quaternions(mechanism, ball))
    for j, unit in zip(rows[count:], IDENTITY, strict=True):
        across = r.cross(unit)
        column = (unit + across * 0.5 + r.cross(across) * curvature) * stiffness[-1]
        yield from ((i, j, x) for i, x in zip(rows[count:], column, strict=True))


def _single_joints(mechanism: Mechanism) -> list[int]:
    """Return the joints of one freedom with springs."""
    balls = mechanism.ball_joints
    return [i for i, joint in enumerate(mechanism.joints) if joint.sprung and i not in balls]


def _deflection(joint: Joint, at: Scalar) -> Scalar:
    if isinstance(at, Angle):
        rotation = at + -joint.spring_rest
        return angle_of(rotation.cos(), rotation.sin())
    return at - joint.spring_rest


def _spring_torque(joint: Joint, deflection: Scalar) -> Scalar:
    torque = joint.spring_stiffness * deflection
    for k, factor in enumerate(joint.spring_curve, start=2):
        torque = torque + factor * _power(deflection, k)
    return torque


def _energy_of(joint: Joint, deflection: Scalar) -> Scalar:
    stored = joint.spring_stiffness * (deflection * deflection) * 0.5
    for k, factor in enumerate(joint.spring_curve, start=2):
        stored = stored + factor * _power(deflection, k + 1) * (1 / (k + 1))
    return stored


def _power(x: Scalar, k: int) -> Scalar:
    power = x
    for _ in range(k - 1):
        power = power * x
    return power


def _ball_spring_torques(mechanism: Mechanism, ball: Ball) -> list[Scalar]:
    """Return the spring torque of each freedom of a ball; forces are in the axes of its body."""
    joints, stretches = [mechanism.joints[i] for i in ball.rows], _ball_deflections(mechanism, ball)
    torques = [joint.spring_stiffness * deflection for joint, deflection in zip(joints, stretches, strict=True)]
    if not ball.translations:
        return torques
    count = ball.translations
    force = placement_rotation(ball).T @ Vector(*torques[:count], *[0] * (3 - count))
    return [*list(force)[:count], *torques[count:]]


def _ball_deflections(mechanism: Mechanism, ball: Ball) -> list[Scalar]:
    """Return the deflection of each freedom of a ball: along the axes of its placement, and as a rotation vector."""
    rest = [mechanism.joints[i].spring_rest for i in ball.rows]
    along = [at - start for at, start in zip(ball.at[: ball.translations], rest, strict=False)]
    if ball.kind == "planar":
        c, s = ball.at[2:]
        rotation = Angle(c, s, -rest[2])
        return [*along, angle_of(rotation.cos(), rotation.sin())]
    return [*along, *rotation_between(*_quaternions(mechanism, ball))]


def _quaternions(mechanism: Mechanism, ball: Ball) -> tuple[Coordinates, Coordinates]:
    """Return the quaternions of a ball at rest and at its position."""
    rest = [mechanism.joints[i].spring_rest for i in ball.rows[ball.translations :]]
    start = (0, 0, 0, 1) if all(structural(r, 0) for r in rest) else quaternion_of(Vector(*rest))
    return start, ball.at[ball.translations :]
