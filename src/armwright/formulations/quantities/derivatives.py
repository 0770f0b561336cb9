"""Derivatives of the dynamics, by a recursion over the tree.

    dtau/dq, dtau/dqd, M             at given accelerations
    dqdd/dq, dqdd/dqd, M^-1          at given torques:  dqdd/dx = -M^-1 dtau/dx, at constant qdd

S. Singh, R. P. Russell, P. M. Wensing, 'Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra', IEEE Robotics and Automation Letters 7 (2022); J. Carpentier, N. Mansard, 'Analytical derivatives of rigid
body dynamics algorithms', Robotics: Science and Systems (2018). For the links beyond a joint, a displacement of the
joint is the opposite displacement of the rest of the robot, then a displacement of the robot as a rigid body:

    dtau_i/dq_j = S_i . (2 B_i psid_j + I_i psidd_j)
    dtau_j/dq_i = S_j . (2 B_i psid_i + I_i psidd_i + S_i x* F_i)       for j from i to the base, j not i
    dtau_i/dqd_j = S_i . (2 B_i S_j + I_i (psid_j + Sd_j))              and the same with i and j exchanged

with I_i, 2 B_i as in `parts.moving_bodies` and F_i the wrench on all from link i outwards. Between branches everything
is zero and nothing is computed. Accelerations are those of points, relative to the origin of a link; the paper's are
spatial ones.

Derivatives by q are by its tangent, as velocities are: of a ball or free joint by a small rotation and displacement in
the axes of its body. Coulomb friction counts as constant on either side of rest.
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Vector, Z, acceleration_tensor, euler_moment
from armwright.formulations import cartesian_tensor, composite_body
from armwright.formulations.parts import adapters
from armwright.formulations.parts.assembled import bias_of
from armwright.formulations.parts.linear import factor
from armwright.formulations.parts.link_motion import TensorMotion, base_motion, tensor_motion
from armwright.formulations.parts.moving_bodies import (
    MotionChange,
    RelativeVelocity,
    inward_path,
    moving_bodies,
    velocities,
)
from armwright.formulations.parts.recursion import inward
from armwright.formulations.parts.spatial import ZERO_PAIR, Pair
from armwright.formulations.parts.types import Coordinates, Loads, SquareMatrix
from armwright.formulations.parts.unsolved import UnsolvedDerivatives
from armwright.mechanism import AnyLink, Joint, Mechanism, Wrench


def of_inverse_dynamics(mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> list[SquareMatrix]:
    """Return [dtau/dq, dtau/dqd, M]."""
    return adapters.slopes(by_state, mechanism, q, qd, qdd, mechanism.wrenches())


def of_forward_dynamics(mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates) -> list[SquareMatrix]:
    """Return [dqdd/dq, dqdd/dqd, M^-1]."""
    return unsolved(mechanism, q, qd, tau).solved()


def unsolved(mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates) -> UnsolvedDerivatives:
    """Return the same without solving the systems of equations with M."""
    loads = mechanism.wrenches()
    bias = adapters.bias(_BIAS, mechanism, q, qd, loads)
    factors = factor(adapters.matrix(composite_body.mass_matrix, mechanism, q, loads))
    qdd = factors.solve([t - b for t, b in zip(tau, bias, strict=True)])
    by_q, by_qd, _ = adapters.slopes(by_state, mechanism, q, qd, qdd, loads)
    return UnsolvedDerivatives(factors, by_q, by_qd)


_BIAS = bias_of(cartesian_tensor.inverse_dynamics)


def by_state(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[SquareMatrix]:
    """Return [dtau/dq, dtau/dqd, M] of the links, in the joints of the mechanism."""
    n, joints = mechanism.n, mechanism.joints
    links, motions = velocities(mechanism, q, qd), tensor_motion(mechanism, q, qd, qdd)
    wrenches = inward(mechanism.parents, _force, ZERO_PAIR, mechanism.links, links, motions, loads)
    changes_by_qd = [_change_by_qd(joint, link) for joint, link in zip(joints, links, strict=True)]
    changes_by_q = [
        _change_by_q(joint, link, at)
        for joint, link, at in zip(joints, links, _before(mechanism, links, motions), strict=True)
    ]
    dq, dqd, M = ([[0] * n for _ in range(n)] for _ in range(3))
    for i, body in enumerate(moving_bodies(mechanism, links)):
        required = [body.wrench_of(changes_by_qd[i]), body.wrench_of(changes_by_q[i])]
        change = _wrench_change(joints[i], wrenches[i])
        for j, u, y, (by_qd, by_q) in inward_path(mechanism, links, i, body.column(joints[i]), required, change):
            dq[j][i], dqd[j][i] = by_q.along(joints[j]), by_qd.along(joints[j])
            dq[i][j], dqd[i][j] = changes_by_q[j].torque_on(u, y), changes_by_qd[j].torque_on(u, y)
            M[i][j] = M[j][i] = u.along(joints[j])
    return [dq, dqd, M]


def _force(outer: Pair, link: AnyLink, v: RelativeVelocity, m: TensorMotion, load: Wrench) -> tuple[Pair, Pair]:
    """Return F, the wrench on a link and everything outwards: in the parent's frame, and in its own."""
    force = link.mass * m.sdd + m.Omega @ link.moment
    moment = euler_moment(m.Omega, link.origin_euler) + link.moment.cross(m.sdd)
    wrench = outer.plus(Pair(force - load.force, moment - load.moment))
    return v.X.wrench_to_parent(wrench), wrench


class InnerMotion(NamedTuple):
    """The motion before a joint, at its link: angular acceleration, acceleration of the origin."""

    wd: Vector
    vd: Vector


def _before(mechanism: Mechanism, links: list[RelativeVelocity], motions: list[TensorMotion]) -> list[InnerMotion]:
    """Return the motion before each joint, in the axes of its link; for a ball, before its first freedom."""
    inner = list[InnerMotion]()
    for parent, link in zip(mechanism.parents, links, strict=True):
        if link.freedom.first:
            m = motions[parent] if parent >= 0 else base_motion(mechanism)
            wd, vd = m.wd, m.sdd + m.Omega @ link.s
        else:
            wd, vd = inner[parent]
        inner.append(InnerMotion(link.X.R.T @ wd, link.X.R.T @ vd))
    return inner


def _change_by_qd(joint: Joint, link: RelativeVelocity) -> MotionChange:
    """Return the change by qd: S, and psid + Sd."""
    rate = (link.before + link.after).cross(Z)
    return MotionChange(ZERO, rate, ZERO) if joint.prismatic else MotionChange(Z, Z.cross(link.freedom.nu), rate)


def _change_by_q(joint: Joint, link: RelativeVelocity, at: InnerMotion) -> MotionChange:
    """Return the change by q: psid and psidd."""
    z = Vector(*(row.z for row in acceleration_tensor(link.before, at.wd)))
    if joint.prismatic:
        return MotionChange(ZERO, z, ZERO)
    x = link.before.cross(Z)
    return MotionChange(x, at.vd.cross(Z) + (x + x).cross(link.freedom.nu), z)


def _wrench_change(joint: Joint, wrench: Pair) -> Pair:
    """Return S x* F, the change of a wrench turned about an axis or shifted along it."""
    f, n = wrench
    return Pair(ZERO, Z.cross(f)) if joint.prismatic else Pair(Z.cross(f), Z.cross(n))
