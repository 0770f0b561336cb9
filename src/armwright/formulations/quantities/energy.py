"""Kinetic energy from the velocities of the links, potential energy from their heights; no mass matrix."""

from armwright.algebra import IDENTITY, Matrix, Scalar, Vector, Z
from armwright.formulations.parts.recursion import outward
from armwright.formulations.parts.spatial import ZERO_PAIR, Pair
from armwright.formulations.parts.types import Coordinates
from armwright.mechanism import Joint, Mechanism, Pose


def kinetic_energy(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> Scalar:
    """Sum of 1/2 m v.v + v.(w x h) + 1/2 w.J w per link, and 1/2 armature qd^2 per rotor."""
    energy: Scalar = 0
    twists = outward(mechanism.parents, twist_step, ZERO_PAIR, mechanism.joints, q, qd)
    for joint, link, qdi, (v, w) in zip(mechanism.joints, mechanism.links, qd, twists, strict=True):
        twice = link.mass * v.dot(v) + 2 * v.dot(w.cross(link.moment)) + w.dot(link.origin_inertia @ w)
        energy = energy + (twice + joint.armature * qdi * qdi) * 0.5
    return energy


def twist_step(last: Pair, joint: Joint, q: Scalar, qd: Scalar) -> Pair:
    """Return the velocity of the origin of a link and its angular velocity, in its frame."""
    R = joint.rotation(q)
    v, w = R.T @ (last.linear + last.angular.cross(joint.offset(q))), R.T @ last.angular
    return Pair(v + Z * qd, w) if joint.prismatic else Pair(v, w + Z * qd)


def _place(last: Pose, joint: Joint, q: Scalar) -> Pose:
    R = joint.rotation(q)
    o = last.position + last.rotation @ joint.offset(q)
    return Pose(Matrix(*(R.T @ row for row in last.rotation)), o)


def potential_energy(mechanism: Mechanism, q: Coordinates) -> Scalar:
    """-sum of m g.p, zero where every centre of mass is level with the origin of the world frame."""
    energy: Scalar = 0
    frames = outward(mechanism.parents, _place, Pose(IDENTITY, _base_origin(mechanism)), mechanism.joints, q)
    for link, frame in zip(mechanism.links, frames, strict=True):
        W, o = frame.rotation, frame.position
        energy = energy - mechanism.gravity.dot(o * link.mass + W @ link.moment)
    return energy


def _base_origin(mechanism: Mechanism) -> Vector:
    """The origin of frame 0 seen from the world, in the axes of frame 0."""
    return mechanism.base.rotation.T @ mechanism.base.position
