"""Kinetic energy from the velocities of the links, potential energy from their heights; no mass matrix."""

from armwright.algebra import IDENTITY, ZERO, Matrix, Scalar, Vector, Z
from armwright.chain import Chain
from armwright.formulations.parts.types import Coordinates


def kinetic_energy(chain: Chain, q: Coordinates, qd: Coordinates) -> Scalar:
    """Sum of 1/2 m v.v + v.(w x h) + 1/2 w.J w per link, and 1/2 armature qd^2 per rotor."""
    v, w = ZERO, ZERO
    energy: Scalar = 0
    for joint, link, qi, qdi in zip(chain.joints, chain.links, q, qd, strict=True):
        R = joint.rotation(qi)
        v, w = R.T @ (v + w.cross(joint.offset(qi))), R.T @ w
        if joint.prismatic:
            v = v + Z * qdi
        else:
            w = w + Z * qdi
        twice = link.mass * v.dot(v) + 2 * v.dot(w.cross(link.moment)) + w.dot(link.origin_inertia @ w)
        energy = energy + (twice + joint.armature * qdi * qdi) * 0.5
    return energy


def potential_energy(chain: Chain, q: Coordinates) -> Scalar:
    """-sum of m g.p, zero where every centre of mass is level with the origin of the world frame."""
    W, o = IDENTITY, _base_origin(chain)
    energy: Scalar = 0
    for joint, link, qi in zip(chain.joints, chain.links, q, strict=True):
        R = joint.rotation(qi)
        o = o + W @ joint.offset(qi)
        W = Matrix(*(R.T @ row for row in W))
        energy = energy - chain.gravity.dot(o * link.mass + W @ link.moment)
    return energy


def _base_origin(chain: Chain) -> Vector:
    """The origin of frame 0 seen from the world, in the axes of frame 0."""
    return chain.base.rotation.T @ chain.base.position
