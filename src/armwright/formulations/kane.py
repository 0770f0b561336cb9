"""Kane's equations after Angeles, Ma and Rojas (1989).

J. Angeles, O. Ma, A. Rojas, 'An algorithm for the inverse dynamics of n-axis general manipulators using Kane's
equations', Computers Math. Applic. 17 (1989).

    Q        rotation from frame i to frame i-1 (7)          a       vector from the origin of frame i-1 to frame i (8)
    rho      centre of mass in the link frame                w, wd   angular velocity and acceleration of the link
    W        wd~ + w~ w~ (18)                                p       acceleration of the centre of mass, minus gravity
    hd       rate of angular momentum (29)                   v, k    the sums of (46)-(49); their `w` is called `moment`

Deviations: the canonical chain counts d = -b, so (8) and (20) carry the opposite sign; stage 2 adds W (a - rho) where
the paper prints a minus; stage 3 of link i passes v and w to frame i-1, instead of reading those of i+1, which
is the same arithmetic; the wrench on a link is subtracted from its inertia force (phi_d of (29)).
"""

from typing import NamedTuple

from armwright.algebra import IDENTITY, ZERO, Matrix, Rotation, Scalar, Vector, Z, acceleration_tensor
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import Joint, Link, Mechanism, Wrench


class Accelerated(NamedTuple):
    Q: Rotation
    a: Vector
    rho: Vector
    w: Vector
    wd: Vector
    W: Matrix
    p: Vector


class KaneSums(NamedTuple):
    v: Vector
    moment: Vector


def inverse_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint torques."""
    base = Accelerated(Rotation(1, 0, 1, 0), ZERO, ZERO, ZERO, ZERO, IDENTITY * 0, -mechanism.gravity)
    motions = outward(mechanism.parents, motion, base, mechanism.joints, mechanism.bodies, q, qd, qdd)
    return inward(mechanism.parents, _sums, KaneSums(ZERO, ZERO), mechanism.joints, mechanism.bodies, motions, loads)


def motion(last: Accelerated, joint: Joint, link: Link, q: Scalar, qd: Scalar, qdd: Scalar) -> Accelerated:
    """Return the motion of a link from that of its parent (outward)."""
    Q, a, rho = joint.rotation(q), joint.offset(q), link.com
    w, wd = Q.T @ last.w, Q.T @ last.wd
    p = Q.T @ (last.p + last.W @ (a - last.rho))
    if joint.prismatic:
        p = p + 2 * w.cross(Z * qd) + Z * qdd  # (20)
    else:
        wd = wd + w.cross(Z * qd) + Z * qdd  # (11), with (23)
        w = w + Z * qd  # (10)
    W = acceleration_tensor(w, wd)
    return Accelerated(Q, a, rho, w, wd, W, p + W @ rho)  # (18)


def _sums(outer: KaneSums, joint: Joint, link: Link, m: Accelerated, load: Wrench) -> tuple[KaneSums, Scalar]:
    hd = link.inertia @ m.wd + m.w.cross(link.inertia @ m.w)  # (29)
    u = link.mass * m.p
    v = outer.v + u - load.force  # (49)
    moment = outer.moment + hd + link.com.cross(u) - load.moment  # (46), (47)
    tau = v.z if joint.prismatic else moment.z
    v_inner = m.Q @ v
    return KaneSums(v_inner, m.Q @ moment + m.a.cross(v_inner)), tau
