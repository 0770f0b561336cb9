"""Articulated-body forward dynamics, after Featherstone (1983).

R. Featherstone, 'The calculation of robot dynamics using articulated-body inertias', Int. J. Robotics Research
2 (1983); 'Rigid body dynamics algorithms' (2008), chapter 7. One outward sweep for velocities, one inward for
inertias and bias forces, one outward for accelerations.

    IA, pA   articulated-body inertia and bias force: force on the link = IA a + pA
    a        acceleration of the link origin and angular acceleration, gravity included
    zeta     centripetal acceleration of the next origin, w x (w x s), in the frame of the inner link
    c        the rest of the velocity-product acceleration, in the frame of the outer link

Accelerations are those of points, not spatial ones: the linear velocity of the links is then never needed.
Inertias and forces are carried across a joint as two screws (`spatial`).
"""

from typing import NamedTuple

from armwright.algebra import ZERO, Matrix, Scalar, Vector, Z, acceleration_tensor
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.spatial import ZERO_PAIR, Inertia, Pair, Screw, axis, eliminate, rigid, screw
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.mechanism import AnyLink, Joint, Mechanism, Wrench


class Velocity(NamedTuple):
    X: Screw
    w: Vector
    centripetal: Matrix  # w~ w~ of this link
    zeta: Vector
    c: Pair


class Articulated(NamedTuple):
    IA: Inertia | None
    pA: Pair


class EliminatedBody(NamedTuple):
    """qdd_i = u / D - psi . a', with a' the acceleration of the link before the joint accelerates."""

    motion: Velocity
    psi: Pair
    u: Scalar


def forward_dynamics(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, tau: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the joint accelerations."""
    base = Velocity(screw(mechanism.joints[0], q[0]), ZERO, acceleration_tensor(ZERO, ZERO), ZERO, ZERO_PAIR)
    motions = outward(mechanism.parents, motion_step, base, mechanism.joints, q, qd)
    solved = inward(
        mechanism.parents,
        articulate_step,
        Articulated(None, ZERO_PAIR),
        mechanism.joints,
        mechanism.links,
        motions,
        tau,
        loads,
    )
    states = outward(mechanism.parents, accelerate_step, (Pair(-mechanism.gravity, ZERO), 0), mechanism.joints, solved)
    return [qdd for _, qdd in states]


def motion_step(last: Velocity, joint: Joint, q: Scalar, qd: Scalar) -> Velocity:
    """Return the velocity of a link from that of its parent (outward)."""
    X = screw(joint, q)
    w = X.R.T @ last.w
    zeta = last.centripetal @ joint.offset(q)
    if joint.prismatic:
        c = Pair(2 * w.cross(Z * qd), ZERO)
    else:
        c = Pair(ZERO, w.cross(Z * qd))
        w = w + Z * qd
    return Velocity(X, w, acceleration_tensor(w, ZERO), zeta, c)


def articulate_step(
    outer: Articulated, joint: Joint, link: AnyLink, m: Velocity, tau: Scalar, load: Wrench
) -> tuple[Articulated, EliminatedBody]:
    """Add a link to its articulated body and eliminate its joint (inward)."""
    gyroscopic = _gyroscopic_moment(m.centripetal, link)
    pA = outer.pA.plus(Pair(m.centripetal @ link.moment - load.force, gyroscopic - load.moment))
    IA = rigid(link) if outer.IA is None else rigid(link).plus(outer.IA)
    pivot = eliminate(IA, joint)
    u = tau - pA.along(joint)
    pa = pA.plus(pivot.rest.times(m.c)).plus(pivot.psi.times(u))
    carried = m.X.inertia_to_parent(pivot.rest)
    along_zeta = Pair(carried.A @ m.zeta, carried.B.T @ m.zeta)
    inner = Articulated(carried, m.X.wrench_to_parent(pa).plus(along_zeta))
    return inner, EliminatedBody(m, pivot.psi, u * pivot.inverse)


def _gyroscopic_moment(centripetal: Matrix, link: AnyLink) -> Vector:
    """w x I w from w~ w~: euler_moment of a symmetric tensor, its off-diagonal pairs taken together (12 products)."""
    (x, y, z), j = centripetal, link.origin_euler
    return Vector(
        (z.z - y.y) * j.yz + x.z * j.xy - x.y * j.xz + y.z * (j.yy - j.zz),
        (x.x - z.z) * j.xz + x.y * j.yz - y.z * j.xy + x.z * (j.zz - j.xx),
        (y.y - x.x) * j.xy + y.z * j.xz - x.z * j.yz + x.y * (j.xx - j.yy),
    )


def accelerate_step(last: tuple[Pair, Scalar], joint: Joint, link: EliminatedBody) -> tuple[Pair, Scalar]:
    """Return the acceleration of a link and its joint from that of its parent (outward)."""
    m, (v, w) = link.motion, last[0]
    a = m.X.twist_to_child(Pair(v + m.zeta, w)).plus(m.c)
    qdd = link.u - link.psi.dot(a)
    return a.plus(axis(joint, qdd)), qdd
