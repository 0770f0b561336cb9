"""Newton-Euler in the ten linear parameters of each link, after Khalil, Kleinfinger and Gautier.

W. Khalil, J. F. Kleinfinger, M. Gautier, 'Reducing the computational burden of the dynamic models of robots', IEEE
Int. Conf. Robotics and Automation (1986); W. Khalil, E. Dombre, 'Modeling, identification and control of robots',
section 9.6. Torque is linear in these parameters, so links regrouped to base parameters are allowed: they may have a
first moment without mass.

    Omega    wd~ + w~ w~ (their U)                               sdd     acceleration of the link origin (their Vd)
    F, N     inertia force, and moment about the link origin     f, n    force and moment on the link at its joint
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Vector, euler_moment
from armwright.formulations.parts.link_motion import TensorMotion, tensor_motion
from armwright.formulations.parts.recursion import inward
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import AnyLink, Joint, Mechanism, Wrench


class KhalilForce(NamedTuple):
    f: Vector
    n: Vector


def inverse_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint torques."""
    motions = tensor_motion(mechanism, q, qd, qdd)
    return inward(
        mechanism.parents, force_step, KhalilForce(ZERO, ZERO), mechanism.joints, mechanism.links, motions, loads
    )


def force_step(
    outer: KhalilForce, joint: Joint, link: AnyLink, m: TensorMotion, load: Wrench
) -> tuple[KhalilForce, Scalar]:
    """Add a link to the force and moment of its children and return the torque of its joint (inward)."""
    F = link.mass * m.sdd + m.Omega @ link.moment
    N = euler_moment(m.Omega, link.origin_euler) + link.moment.cross(m.sdd)
    f = F + outer.f - load.force
    n = N + outer.n - load.moment
    tau = f.z if joint.prismatic else n.z
    f_inner = m.R @ f
    return KhalilForce(f_inner, m.R @ n + m.s.cross(f_inner)), tau
