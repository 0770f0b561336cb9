"""The outward recursions that several formulations share.

    R, s     rotation from frame i to frame i-1, and the vector from the origin of frame i-1 to that of frame i
    w, wd    angular velocity and acceleration of the link
    vd, sdd  acceleration of the link origin; gravity may enter as an upward acceleration of the base
    Omega    wd~ + w~ w~

`point_motion` works with cross products (Luh, Walker, Paul; Craig (6.45)-(6.47)), `tensor_motion` with the angular
acceleration tensor.
"""

from typing import NamedTuple

from armwright.algebra import IDENTITY, ZERO, Matrix, Rotation, Scalar, Vector, Z, acceleration_tensor
from armwright.formulations.parts.recursion import outward
from armwright.formulations.parts.types import Coordinates
from armwright.mechanism import Joint, Mechanism


class PointMotion(NamedTuple):
    R: Rotation
    s: Vector
    w: Vector
    wd: Vector
    vd: Vector


class TensorMotion(NamedTuple):
    R: Rotation
    s: Vector
    w: Vector
    wd: Vector
    Omega: Matrix
    sdd: Vector


def point_motion(
    mechanism: Mechanism, start: Vector, q: Coordinates, qd: Coordinates, qdd: Coordinates
) -> list[PointMotion]:
    """Return the motions of all links when the base accelerates by `start`."""
    base = PointMotion(Rotation(1, 0, 1, 0), ZERO, ZERO, ZERO, start)
    return outward(mechanism.parents, _point_step, base, mechanism.joints, q, qd, qdd)


def _point_step(last: PointMotion, joint: Joint, q: Scalar, qd: Scalar, qdd: Scalar) -> PointMotion:
    R, s = joint.rotation(q), joint.offset(q)
    w, wd = R.T @ last.w, R.T @ last.wd
    vd = R.T @ (last.vd + last.wd.cross(s) + last.w.cross(last.w.cross(s)))  # (6.47)
    if joint.prismatic:
        vd = vd + 2 * w.cross(Z * qd) + Z * qdd  # (6.35)
    else:
        wd = wd + w.cross(Z * qd) + Z * qdd  # (6.46)
        w = w + Z * qd  # (6.45)
    return PointMotion(R, s, w, wd, vd)


def tensor_motion(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[TensorMotion]:
    """Return the motion of every link by angular acceleration tensors."""
    return outward(mechanism.parents, tensor_step, base_motion(mechanism), mechanism.joints, q, qd, qdd)


def base_motion(mechanism: Mechanism) -> TensorMotion:
    """Return the motion of the base, which gravity accelerates upward."""
    return TensorMotion(Rotation(1, 0, 1, 0), ZERO, ZERO, ZERO, IDENTITY * 0, -mechanism.gravity)


def tensor_step(last: TensorMotion, joint: Joint, q: Scalar, qd: Scalar, qdd: Scalar) -> TensorMotion:
    """Return the motion of a link from that of its parent."""
    R, s = joint.rotation(q), joint.offset(q)
    w, wd = R.T @ last.w, R.T @ last.wd
    sdd = R.T @ (last.sdd + last.Omega @ s)
    if joint.prismatic:
        sdd = sdd + 2 * w.cross(Z * qd) + Z * qdd
    else:
        wd = wd + Z * qdd + w.cross(Z * qd)
        w = w + Z * qd
    return TensorMotion(R, s, w, wd, acceleration_tensor(w, wd), sdd)
