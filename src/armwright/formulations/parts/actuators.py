"""Rotor inertia and friction: added in the same way to every formulation.

    tau = (rigid links) + armature qdd + viscous qd + coulomb sign(qd), or tanh(qd / smooth) for the sign

The rotor counts as a flywheel on its own joint axis (armature = rotor inertia times gear ratio squared); its
gyroscopic coupling with the motion of the links is neglected, as is usual for geared arms.

The freedoms of a ball have rotors A (translation) and J (rotation) in the axes of its body, and so, with v and w there,

    force = A vd + w x A v      moment = J wd + w x J w + v x A v

Friction of the translation of a free or planar joint acts along the axes of the frame in which the joint is placed.
"""

from collections.abc import Iterator, Sequence

from armwright.algebra import Matrix, Scalar, Vector, from_quaternion, sign, structural, tanh
from armwright.formulations.parts.coordinates import convective, gathered, rates
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Ball, Joint, Mechanism, known_to_be


def rubbed(viscous: Scalar, coulomb: Scalar, smooth: Scalar, qd: Scalar) -> Scalar:
    """Viscous and dry friction; the latter jumps at rest, or rounds off within the speed `smooth`."""
    jumps = isinstance(smooth, (int, float)) and smooth == 0
    return viscous * qd + coulomb * (sign(qd) if jumps else tanh(qd * (1 / smooth)))


def rubbing(joint: Joint, qd: Scalar) -> Scalar:
    """The friction of one joint that is not of a ball."""
    if structural(joint.viscous, 0) and structural(joint.coulomb, 0):
        return 0
    return rubbed(joint.viscous, joint.coulomb, joint.smooth, qd)


def joint_friction(mechanism: Mechanism, joint_rates: Coordinates) -> list[Scalar]:
    """The friction of each joint of a placed mechanism."""
    found = [rubbing(joint, v) for joint, v in zip(mechanism.joints, joint_rates, strict=True)]
    for ball in mechanism.balls:
        if mechanism.rubs_along_placement(ball):
            own = slice(ball.joint, ball.joint + ball.slides)
            found[own] = _along_placement(ball, mechanism.joints[own], joint_rates[own])
    return found


def friction(mechanism: Mechanism, qd: Coordinates) -> list[Scalar]:
    """The friction that each coordinate of the robot feels."""
    return gathered(mechanism, joint_friction(mechanism, rates(mechanism, qd)))


def _along_placement(ball: Ball, joints: Sequence[Joint], v: Coordinates) -> list[Scalar]:
    """The friction of a translation, given in the axes of the body and felt in those of the placement."""
    R = rotation_of(ball)
    seen = R @ Vector(*v, *[0] * (3 - len(joints)))
    rub = [rubbed(j.viscous, j.coulomb, j.smooth, x) for j, x in zip(joints, seen, strict=False)]
    return list(R.T @ Vector(*rub, *[0] * (3 - len(joints))))[: len(joints)]


def rotation_of(ball: Ball) -> Matrix:
    """From the axes of the body of a free or planar joint to those in which it is placed."""
    if ball.kind == "planar":
        c, s = ball.at[2:]
        return Matrix(Vector(c, -s, 0), Vector(s, c, 0), Vector(0, 0, 1))
    return from_quaternion(*ball.at[3:])


def rotor_torque(mechanism: Mechanism, joint_qdd: Coordinates) -> list[Scalar]:
    """What it takes to accelerate the rotors, per coordinate of the robot, by the accelerations of the joints."""
    return gathered(mechanism, [joint.armature * a for joint, a in zip(mechanism.joints, joint_qdd, strict=True)])


def rotors_turning(mechanism: Mechanism, joint_rates: Coordinates) -> list[Scalar]:
    """What rotors of balls take besides their armature times the accelerations of their joints; per joint."""
    found: list[Scalar] = [0] * mechanism.n
    shift = None
    for ball, A, J in rotors_of_balls(mechanism):
        shift = shift or convective(mechanism, joint_rates)
        own, count = slice(ball.rows.start, ball.rows.stop), ball.slides
        v, w = _spatial(ball, joint_rates[own])
        p, L = _scaled(A, v), _scaled(J, w)
        force, moment = w.cross(p), w.cross(L) + v.cross(p)
        wanted = [*list(force)[:count], *([moment.z] if ball.kind == "planar" else moment)]
        inside = [joint.armature * a for joint, a in zip(mechanism.joints[own], shift[own], strict=True)]
        found[own] = [x - y for x, y in zip(wanted, inside, strict=True)]
    return found


def rotors_slopes(mechanism: Mechanism, joint_rates: Coordinates) -> Iterator[tuple[int, int, Scalar]]:
    """How the torque on one freedom of a ball with a rotor grows with the rate of another: both, and the slope."""
    for ball, A, J in rotors_of_balls(mechanism):
        v, w = _spatial(ball, joint_rates[ball.rows.start : ball.rows.stop])
        p, L = _scaled(A, v), _scaled(J, w)
        kept = {"ball": (3, 4, 5), "planar": (0, 1, 5), "free": range(6)}[ball.kind]
        for j, k in zip(ball.rows, kept, strict=True):
            unit = Vector(*(int(axis == k % 3) for axis in range(3)))
            if k < 3:
                along = _scaled(A, unit)
                grown = *w.cross(along), *(unit.cross(p) + v.cross(along))
            else:
                grown = *unit.cross(p), *(unit.cross(L) + w.cross(_scaled(J, unit)))
            yield from ((i, j, grown[row]) for i, row in zip(ball.rows, kept, strict=True))


def rotors_coriolis(mechanism: Mechanism, joint_rates: Coordinates, matrix: SquareMatrix) -> SquareMatrix:
    """The matrix C of the links with that of the rotors of balls: skew-symmetric, as their inertia is constant."""
    for ball, A, J in rotors_of_balls(mechanism):
        v, w = _spatial(ball, joint_rates[ball.rows.start : ball.rows.stop])
        p, L = _cross(_scaled(A, v)), _cross(_scaled(J, w))
        kept = {"ball": (3, 4, 5), "planar": (0, 1, 5), "free": range(6)}[ball.kind]
        for i, row in zip(ball.rows, kept, strict=True):
            for j, column in zip(ball.rows, kept, strict=True):
                lower = row >= 3 and column >= 3
                part = L if lower else p if row >= 3 or column >= 3 else None
                if part is not None:
                    matrix[i][j] = matrix[i][j] - part[row % 3][column % 3]
    return matrix


def rotors_of_balls(mechanism: Mechanism) -> Iterator[tuple[Ball, Vector, Vector]]:
    """Balls with rotors, and their armatures along and about the axes of the body."""
    for ball in mechanism.balls:
        own = [mechanism.joints[i].armature for i in ball.rows]
        if not all(known_to_be(x, 0) for x in own):
            along, about = own[: ball.slides], own[ball.slides :]
            yield ball, Vector(*along, *[0] * (3 - len(along))), Vector(*[0] * (3 - len(about)), *about)


def _spatial(ball: Ball, own: Coordinates) -> tuple[Vector, Vector]:
    """Velocity and angular velocity in the axes of the body."""
    along, about = own[: ball.slides], own[ball.slides :]
    return Vector(*along, *[0] * (3 - len(along))), Vector(*[0] * (3 - len(about)), *about)


def _scaled(by: Vector, v: Vector) -> Vector:
    return Vector(*(k * x for k, x in zip(by, v, strict=True)))


def _cross(v: Vector) -> SquareMatrix:
    return [[0, -v.z, v.y], [v.z, 0, -v.x], [-v.y, v.x, 0]]


def with_rotors(mechanism: Mechanism, matrix: SquareMatrix) -> SquareMatrix:
    """The mass matrix of the chain with the armature on its diagonal."""
    return [
        [entry + joint.armature if i == j else entry for j, entry in enumerate(row)]
        for i, (joint, row) in enumerate(zip(mechanism.joints, matrix, strict=True))
    ]


def friction_slope(joint: Joint, qd: Scalar) -> Scalar:
    """How the friction of one joint grows with its speed; not at all on either side of a jump."""
    smooth = joint.smooth
    if isinstance(smooth, (int, float)) and smooth == 0:
        return joint.viscous
    rounded = tanh(qd * (1 / smooth))
    return joint.viscous + joint.coulomb * (1 / smooth) * (1 - rounded * rounded)
