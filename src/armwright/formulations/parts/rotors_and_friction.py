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
from armwright.formulations.parts.coordinates import convective, rates, to_coordinates
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Ball, Joint, Mechanism, known_equal


def friction_at(viscous: Scalar, coulomb: Scalar, smooth: Scalar, qd: Scalar) -> Scalar:
    """Return viscous and dry friction; dry friction jumps at rest, or changes smoothly within the speed `smooth`."""
    jumps = isinstance(smooth, (int, float)) and smooth == 0
    return viscous * qd + coulomb * (sign(qd) if jumps else tanh(qd * (1 / smooth)))


def single_joint_friction(joint: Joint, qd: Scalar) -> Scalar:
    """Return the friction of a joint of one freedom."""
    if structural(joint.viscous, 0) and structural(joint.coulomb, 0):
        return 0
    return friction_at(joint.viscous, joint.coulomb, joint.smooth, qd)


def joint_friction(mechanism: Mechanism, joint_rates: Coordinates) -> list[Scalar]:
    """Return the friction of each joint of a placed mechanism."""
    torques = [single_joint_friction(joint, v) for joint, v in zip(mechanism.joints, joint_rates, strict=True)]
    for ball in mechanism.balls:
        if mechanism.has_directional_friction(ball):
            rows = slice(ball.joint, ball.joint + ball.translations)
            torques[rows] = _along_placement(ball, mechanism.joints[rows], joint_rates[rows])
    return torques


def friction(mechanism: Mechanism, qd: Coordinates) -> list[Scalar]:
    """Return the friction on each coordinate of the robot."""
    return to_coordinates(mechanism, joint_friction(mechanism, rates(mechanism, qd)))


def _along_placement(ball: Ball, joints: Sequence[Joint], v: Coordinates) -> list[Scalar]:
    """Return the friction of a translation, in the axes of the body; it acts along the axes of the placement."""
    R = placement_rotation(ball)
    velocity = R @ Vector(*v, *[0] * (3 - len(joints)))
    friction_ = [friction_at(j.viscous, j.coulomb, j.smooth, x) for j, x in zip(joints, velocity, strict=False)]
    return list(R.T @ Vector(*friction_, *[0] * (3 - len(joints))))[: len(joints)]


def placement_rotation(ball: Ball) -> Matrix:
    """Return the rotation from the axes of the body of a free or planar joint to those of its placement."""
    if ball.kind == "planar":
        c, s = ball.at[2:]
        return Matrix(Vector(c, -s, 0), Vector(s, c, 0), Vector(0, 0, 1))
    return from_quaternion(*ball.at[3:])


def rotor_torques(mechanism: Mechanism, joint_qdd: Coordinates) -> list[Scalar]:
    """Return the torques that accelerate the rotors, per coordinate, from the accelerations of the joints."""
    return to_coordinates(mechanism, [joint.armature * a for joint, a in zip(mechanism.joints, joint_qdd, strict=True)])


_BALL_AXES = {"ball": (3, 4, 5), "planar": (0, 1, 5), "free": range(6)}
"""The axes of the freedoms of a ball: three of translation, three of rotation."""


def ball_rotor_torques(mechanism: Mechanism, joint_rates: Coordinates) -> list[Scalar]:
    """Return the torques of ball rotors beyond armature times acceleration, per joint."""
    torques: list[Scalar] = [0] * mechanism.n
    shift = None
    for ball, A, J in ball_rotors(mechanism):
        shift = shift or convective(mechanism, joint_rates)
        rows, count = slice(ball.rows.start, ball.rows.stop), ball.translations
        v, w = _linear_and_angular(ball, joint_rates[rows])
        p, L = _scaled(A, v), _scaled(J, w)
        force, moment = w.cross(p), w.cross(L) + v.cross(p)
        total = [*list(force)[:count], *([moment.z] if ball.kind == "planar" else moment)]
        armature_part = [joint.armature * a for joint, a in zip(mechanism.joints[rows], shift[rows], strict=True)]
        torques[rows] = [x - y for x, y in zip(total, armature_part, strict=True)]
    return torques


def ball_rotor_slopes(mechanism: Mechanism, joint_rates: Coordinates) -> Iterator[tuple[int, int, Scalar]]:
    """Yield (i, j, derivative of the torque on freedom i of a ball with a rotor by the rate of freedom j)."""
    for ball, A, J in ball_rotors(mechanism):
        v, w = _linear_and_angular(ball, joint_rates[ball.rows.start : ball.rows.stop])
        p, L = _scaled(A, v), _scaled(J, w)
        axes = _BALL_AXES[ball.kind]
        for j, k in zip(ball.rows, axes, strict=True):
            unit = Vector(*(int(axis == k % 3) for axis in range(3)))
            if k < 3:
                along = _scaled(A, unit)
                slope = *w.cross(along), *(unit.cross(p) + v.cross(along))
            else:
                slope = *unit.cross(p), *(unit.cross(L) + w.cross(_scaled(J, unit)))
            yield from ((i, j, slope[row]) for i, row in zip(ball.rows, axes, strict=True))


def with_ball_rotor_coriolis(mechanism: Mechanism, joint_rates: Coordinates, matrix: SquareMatrix) -> SquareMatrix:
    """Add the Coriolis matrix of ball rotors to that of the links; it is skew-symmetric."""
    for ball, A, J in ball_rotors(mechanism):
        v, w = _linear_and_angular(ball, joint_rates[ball.rows.start : ball.rows.stop])
        p, L = _cross(_scaled(A, v)), _cross(_scaled(J, w))
        axes = _BALL_AXES[ball.kind]
        for i, row in zip(ball.rows, axes, strict=True):
            for j, column in zip(ball.rows, axes, strict=True):
                lower = row >= 3 and column >= 3
                part = L if lower else p if row >= 3 or column >= 3 else None
                if part is not None:
                    matrix[i][j] = matrix[i][j] - part[row % 3][column % 3]
    return matrix


def ball_rotors(mechanism: Mechanism) -> Iterator[tuple[Ball, Vector, Vector]]:
    """Yield the balls with rotors, with their armatures along and about the axes of the body."""
    for ball in mechanism.balls:
        armatures = [mechanism.joints[i].armature for i in ball.rows]
        if not all(known_equal(x, 0) for x in armatures):
            yield ball, *_linear_and_angular(ball, armatures)


def _linear_and_angular(ball: Ball, entries: Coordinates) -> tuple[Vector, Vector]:
    """Return the entries of the freedoms of a ball as vectors of translation and rotation, in the axes of the body."""
    along, about = entries[: ball.translations], entries[ball.translations :]
    return Vector(*along, *[0] * (3 - len(along))), Vector(*[0] * (3 - len(about)), *about)


def _scaled(by: Vector, v: Vector) -> Vector:
    return Vector(*(k * x for k, x in zip(by, v, strict=True)))


def _cross(v: Vector) -> SquareMatrix:
    return [[0, -v.z, v.y], [v.z, 0, -v.x], [-v.y, v.x, 0]]


def with_rotors(mechanism: Mechanism, matrix: SquareMatrix) -> SquareMatrix:
    """Return the mass matrix with the armatures on its diagonal."""
    return [
        [entry + joint.armature if i == j else entry for j, entry in enumerate(row)]
        for i, (joint, row) in enumerate(zip(mechanism.joints, matrix, strict=True))
    ]


def friction_slope(joint: Joint, qd: Scalar) -> Scalar:
    """Return the derivative of the friction of one joint by its speed; a jump has no slope."""
    smooth = joint.smooth
    if isinstance(smooth, (int, float)) and smooth == 0:
        return joint.viscous
    sign_ = tanh(qd * (1 / smooth))
    return joint.viscous + joint.coulomb * (1 / smooth) * (1 - sign_ * sign_)
