"""Composite bodies in motion, for the derivatives of the dynamics and the Coriolis matrix.

A composite body is link i and everything outwards, about the origin of link i, in its axes. Velocities are relative to
that origin, so that the speed of the base does not enter.

    m, h, J      mass, first moment, inertia             p, l, Jd     momentum, angular momentum, rate of the inertia
    V            velocity of the origin of a link relative to that of its parent, in the axes of the parent
    before, after   angular velocity before a joint and after it
    nu, omega    velocity and angular velocity of the latter relative to the former
    x, a, b      a change of motion: of angular velocity, of the acceleration of the origin, of angular acceleration
    u, y         its effect on joint i: u . (a, b) + y . x

Under such a change, a point at r with velocity rd gains the acceleration a + b x r + 2 x x rd. For the composite body
this requires the force and moment

    f = m a + b x h - 2 p x x        n = h x a + J b + (Jd - l~) x

which are I and 2 B of Echeandia and Wensing (2021) and of Singh, Russell and Wensing (2022), with
2 B = [[0, -2 p~], [0, Jd - l~]].

The freedoms of a ball or free joint are rows of joints placed at its body. For each of them, `before` is before the
first and `after` is after the last.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Symmetric, Vector, Z, cross_inertia
from armwright.formulations.composite_body import CompositeBody, to_parent
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.spatial import Pair, Screw, axis, screw
from armwright.formulations.parts.types import Coordinates
from armwright.mechanism import AnyLink, Joint, Mechanism


class JointFreedom(NamedTuple):
    """The motion of a joint together with the others of its ball, and whether it is the first of them."""

    first: bool
    nu: Vector
    omega: Vector


def freedoms(mechanism: Mechanism, qd: Coordinates) -> list[JointFreedom]:
    """Return the motion of each joint, in the axes of its link."""
    motions = [JointFreedom(True, *axis(joint, rate)) for joint, rate in zip(mechanism.joints, qd, strict=True)]
    for ball in mechanism.balls:
        nu: list[Scalar] = [0, 0, 0]
        omega: list[Scalar] = [0, 0, 0]
        rows = ball.rows
        for k, i in enumerate(rows):
            (nu if mechanism.joints[i].prismatic else omega)[k % 3] = qd[i]
        for k, i in enumerate(rows):
            axes = [(k + 1) % 3, (k + 2) % 3, k % 3]  # z of a row is x of the one before
            motions[i] = JointFreedom(k == 0, Vector(*(nu[c] for c in axes)), Vector(*(omega[c] for c in axes)))
    return motions


class RelativeVelocity(NamedTuple):
    """The pose and the velocity of a link relative to its parent."""

    X: Screw
    s: Vector
    freedom: JointFreedom
    before: Vector
    after: Vector
    V: Vector


def velocities(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> list[RelativeVelocity]:
    """Return the velocity of each link relative to its parent."""
    base = RelativeVelocity(screw(mechanism.joints[0], q[0]), ZERO, JointFreedom(True, ZERO, ZERO), ZERO, ZERO, ZERO)
    return outward(mechanism.parents, _turn, base, mechanism.joints, q, freedoms(mechanism, qd))


def _turn(last: RelativeVelocity, joint: Joint, q: Scalar, freedom: JointFreedom) -> RelativeVelocity:
    X, s = screw(joint, q), joint.offset(q)
    if freedom.first:
        before, V = X.R.T @ last.after, last.after.cross(s) + X.R @ freedom.nu
    else:
        before, V = X.R.T @ last.before, ZERO
    return RelativeVelocity(X, s, freedom, before, before + freedom.omega, V)


class MovingBody(NamedTuple):
    """A composite body and its motion about its origin."""

    body: CompositeBody
    p: Vector
    l: Vector  # noqa: E741
    Jd: Symmetric

    def plus(self, other: "MovingBody") -> "MovingBody":
        (m, h, J), more = self.body, other.body
        body = CompositeBody(m + more.m, h + more.h, J + more.J)
        return MovingBody(body, self.p + other.p, self.l + other.l, self.Jd + other.Jd)

    def column(self, joint: Joint) -> tuple[Pair, Vector]:
        """Return u and y of the joint of the innermost link."""
        (m, h, J), p, l, Jd = self  # noqa: E741
        if joint.prismatic:
            return Pair(Z * m, h.cross(Z)), Vector(p.y + p.y, -(p.x + p.x), 0)
        return Pair(Z.cross(h), J.third_column), Vector(Jd.xz + l.y, Jd.yz - l.x, Jd.zz)

    def wrench_of(self, change: "MotionChange") -> Pair:
        """Return the wrench that a change of the motion of the innermost link requires."""
        (m, h, J), p, l, Jd = self  # noqa: E741
        x, a, b = change
        return Pair(a * m + b.cross(h) - (p + p).cross(x), h.cross(a) + J @ b + Jd @ x - l.cross(x))


class MotionChange(NamedTuple):
    """A change of a motion: of angular velocity, acceleration of the origin, angular acceleration."""

    x: Vector
    a: Vector
    b: Vector

    def torque_on(self, u: Pair, y: Vector) -> Scalar:
        """Return the torque of the change on the joint with u and y."""
        return u.dot(Pair(self.a, self.b)) + y.dot(self.x)


def moving_bodies(mechanism: Mechanism, links: list[RelativeVelocity]) -> list[MovingBody]:
    """Return the composite body of each link."""
    return inward(mechanism.parents, _composite, None, mechanism.links, links)


def _composite(outer: MovingBody | None, link: AnyLink, v: RelativeVelocity) -> tuple[MovingBody, MovingBody]:
    w, h, J = v.after, link.moment, link.origin_inertia
    link_body = MovingBody(CompositeBody(link.mass, h, J), w.cross(h), J @ w, _rotation_rate(J, w))
    composite = link_body if outer is None else link_body.plus(outer)
    body, R = to_parent(composite.body, v.X), v.X.R
    p, s = R @ composite.p, v.s
    l = R @ composite.l + s.cross(p) + body.h.cross(v.V)  # noqa: E741
    Jd = R.rotate(composite.Jd) + cross_inertia(s, p) + cross_inertia(body.h, v.V)
    return MovingBody(body, p + v.V * body.m, l, Jd), composite


def _rotation_rate(J: Symmetric, w: Vector) -> Symmetric:
    """Return w~ J - J w~, the rate of a turning tensor."""
    x, y, z = w.y * J.xz, w.z * J.xy, w.x * J.yz
    xx, yy, zz = x - y, y - z, z - x
    return Symmetric(
        xx + xx,
        yy + yy,
        zz + zz,
        w.z * (J.xx - J.yy) + w.y * J.yz - w.x * J.xz,
        w.y * (J.zz - J.xx) + w.x * J.xy - w.z * J.yz,
        w.x * (J.yy - J.zz) + w.z * J.xz - w.y * J.xy,
    )


def inward_path(
    mechanism: Mechanism,
    links: list[RelativeVelocity],
    i: int,
    column: tuple[Pair, Vector],
    wrenches: list[Pair],
    beyond: Pair | None,
) -> Iterator[tuple[int, Pair, Vector, list[Pair]]]:
    """Yield link i and its ancestors, with u, y and the wrenches in their frames.

    `beyond` is added to the last of the wrenches at the parent of the ball that joint i belongs to.
    """
    u, y = column
    yield i, u, y, wrenches
    for k, j in pairwise(mechanism.inward_from(i)):
        X, V = links[k].X, links[k].V
        if beyond is not None and links[k].freedom.first:
            wrenches, beyond = [*wrenches[:-1], wrenches[-1].plus(beyond)], None
        beyond = None if beyond is None else X.wrench_to_parent(beyond)
        u, wrenches = X.wrench_to_parent(u), [X.wrench_to_parent(f) for f in wrenches]
        y = X.R @ y - u.linear.cross(V + V)
        yield j, u, y, wrenches
