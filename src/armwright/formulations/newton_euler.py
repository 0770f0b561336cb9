"""Newton-Euler inverse dynamics after Luh, Walker and Paul (1980), in link frames.

J. Y. S. Luh, M. W. Walker, R. P. C. Paul, 'On-line computational scheme for mechanical manipulators', J. Dyn. Syst.
Meas. Control 102 (1980). Frames are the canonical ones (Craig, eqs. 6.45-6.53), not the distal ones of 1980.

    w, wd    angular velocity and acceleration of the link        vd     acceleration of its origin, gravity included
    F, N     inertia force and moment at the centre of mass       f, n   force and moment on the link at its joint
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Vector
from armwright.formulations.parts.link_motion import PointMotion, point_motion
from armwright.formulations.parts.recursion import inward
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import Joint, Link, Mechanism, Wrench


class JointForce(NamedTuple):
    f: Vector
    n: Vector


def inverse_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint torques."""
    motions = point_motion(mechanism, -mechanism.gravity, q, qd, qdd)
    return inward(mechanism.parents, _force, JointForce(ZERO, ZERO), mechanism.joints, mechanism.bodies, motions, loads)


def _force(outer: JointForce, joint: Joint, link: Link, m: PointMotion, load: Wrench) -> tuple[JointForce, Scalar]:
    com = link.com
    F = link.mass * (m.vd + m.wd.cross(com) + m.w.cross(m.w.cross(com)))  # (6.48), (6.49)
    N = link.inertia @ m.wd + m.w.cross(link.inertia @ m.w)  # (6.50)
    f = outer.f + F - load.force  # (6.51)
    n = outer.n + N + com.cross(F) - load.moment  # (6.52)
    tau = f.z if joint.prismatic else n.z  # (6.53)
    f_inner = m.R @ f
    return JointForce(f_inner, m.R @ n + m.s.cross(f_inner)), tau
