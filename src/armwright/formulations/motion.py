"""The outward recursion of every formulation that works with the angular acceleration tensor.

R, s     rotation from frame i to frame i-1, and the vector from the origin of frame i-1 to that of frame i
w, wd    angular velocity and acceleration of the link
Omega    wd~ + w~ w~
sdd      acceleration of the link origin; gravity is an upward acceleration of the base
"""

from typing import NamedTuple

from armwright.algebra import IDENTITY, ZERO, Matrix, Rotation, Scalar, Vector, Z, acceleration_tensor
from armwright.chain import Chain, Joint
from armwright.formulations.recursion import outward
from armwright.formulations.types import Coordinates


class Motion(NamedTuple):
    R: Rotation
    s: Vector
    w: Vector
    wd: Vector
    Omega: Matrix
    sdd: Vector


def tensor_motion(chain: Chain, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[Motion]:
    base = Motion(Rotation(1, 0, 1, 0), ZERO, ZERO, ZERO, IDENTITY * 0, -chain.gravity)
    return outward(_step, base, chain.joints, q, qd, qdd)


def _step(last: Motion, joint: Joint, q: Scalar, qd: Scalar, qdd: Scalar) -> Motion:
    R, s = joint.rotation(q), joint.offset(q)
    w, wd = R.T @ last.w, R.T @ last.wd
    sdd = R.T @ (last.sdd + last.Omega @ s)
    if joint.prismatic:
        sdd = sdd + 2 * w.cross(Z * qd) + Z * qdd
    else:
        wd = wd + Z * qdd + w.cross(Z * qd)
        w = w + Z * qd
    return Motion(R, s, w, wd, acceleration_tensor(w, wd), sdd)
