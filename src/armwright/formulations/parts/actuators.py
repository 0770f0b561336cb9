"""Rotor inertia and friction: added in the same way to every formulation.

    tau = (rigid links) + armature qdd + viscous qd + coulomb sign(qd), or tanh(qd / smooth) for the sign

The rotor counts as a flywheel on its own joint axis (armature = rotor inertia times gear ratio squared); its
gyroscopic coupling with the motion of the links is neglected, as is usual for geared arms.
"""

from armwright.algebra import Scalar, sign, tanh
from armwright.formulations.parts.coordinates import gathered, rates
from armwright.formulations.parts.types import Coordinates, SquareMatrix
from armwright.mechanism import Joint, Mechanism


def rubbed(viscous: Scalar, coulomb: Scalar, smooth: Scalar, qd: Scalar) -> Scalar:
    """Viscous and dry friction; the latter jumps at rest, or rounds off within the speed `smooth`."""
    jumps = isinstance(smooth, (int, float)) and smooth == 0
    return viscous * qd + coulomb * (sign(qd) if jumps else tanh(qd * (1 / smooth)))


def rubbing(joint: Joint, qd: Scalar) -> Scalar:
    """The friction of one joint."""
    return rubbed(joint.viscous, joint.coulomb, joint.smooth, qd)


def friction(mechanism: Mechanism, qd: Coordinates) -> list[Scalar]:
    """The friction that each coordinate of the robot feels."""
    return gathered(
        mechanism, [rubbing(joint, v) for joint, v in zip(mechanism.joints, rates(mechanism, qd), strict=True)]
    )


def rotor_torque(mechanism: Mechanism, joint_qdd: Coordinates) -> list[Scalar]:
    """What it takes to accelerate the rotors, per coordinate of the robot, by the accelerations of the joints."""
    return gathered(mechanism, [joint.armature * a for joint, a in zip(mechanism.joints, joint_qdd, strict=True)])


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
