"""Composite bodies in motion, and what a change at one joint makes another feel: derivatives and Coriolis matrix.

A composite body is all from link i outwards. It is seen from the origin of link i, in its axes; velocities are relative
to that origin, so that nothing is computed with how fast the whole robot travels.

    m, h, J      mass, first moment, inertia             p, l, Jd     momentum, angular momentum, rate of the inertia
    V            velocity of the origin of a link relative to that of its parent, in the axes of the parent
    before, after   angular velocity of what is before a joint and of what is after it
    nu, omega    velocity and angular velocity of the latter relative to the former
    x, a, b      a change of motion: of angular velocity, of the acceleration of the origin, of angular acceleration
    u, y         what joint i feels of it: u . (a, b) + y . x

Where the motion of a rigid body, on which others move, changes so, a point at r with the velocity rd accelerates by
a + b x r + 2 x x rd more. Summed over the composite body that takes the force and moment

    f = m a + b x h - 2 p x x        n = h x a + J b + (Jd - l~) x

which are I and 2 B of Echeandia and Wensing (2021) and of Singh, Russell and Wensing (2022), 2 B = [[0, -2 p~],
[0, Jd - l~]] being all that is left of it.

The freedoms of a ball or free joint are rows of joints that stand where its body is. To each of them, `before` is what
is before the first and `after` what is after the last.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from armwright.algebra import ZERO, Scalar, Symmetric, Vector, Z, sweep
from armwright.formulations.composite_body import Body, to_parent
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.spatial import Pair, Screw, axis, screw
from armwright.formulations.parts.types import Coordinates
from armwright.mechanism import AnyLink, Joint, Mechanism


class Freedom(NamedTuple):
    """What a joint of the mechanism does together with the others of its ball, and whether it is the first of them."""

    first: bool
    nu: Vector
    omega: Vector


def freedoms(mechanism: Mechanism, qd: Coordinates) -> list[Freedom]:
    """Of each joint, in the axes of its link."""
    found = [Freedom(True, *axis(joint, rate)) for joint, rate in zip(mechanism.joints, qd, strict=True)]
    for ball in mechanism.balls:
        nu: list[Scalar] = [0, 0, 0]
        omega: list[Scalar] = [0, 0, 0]
        rows = ball.rows
        for k, i in enumerate(rows):
            (nu if mechanism.joints[i].prismatic else omega)[k % 3] = qd[i]
        for k, i in enumerate(rows):
            own = [(k + 1) % 3, (k + 2) % 3, k % 3]  # z of a row is x of the one before
            found[i] = Freedom(k == 0, Vector(*(nu[c] for c in own)), Vector(*(omega[c] for c in own)))
    return found


class Velocity(NamedTuple):
    """Where a link stands and how it turns, and how its origin moves, both seen from its parent."""

    X: Screw
    s: Vector
    freedom: Freedom
    before: Vector
    after: Vector
    V: Vector


def velocities(mechanism: Mechanism, q: Coordinates, qd: Coordinates) -> list[Velocity]:
    base = Velocity(screw(mechanism.joints[0], q[0]), ZERO, Freedom(True, ZERO, ZERO), ZERO, ZERO, ZERO)
    return outward(mechanism.parents, _turn, base, mechanism.joints, q, freedoms(mechanism, qd))


def _turn(last: Velocity, joint: Joint, q: Scalar, freedom: Freedom) -> Velocity:
    X, s = screw(joint, q), joint.offset(q)
    if freedom.first:
        before, V = X.R.T @ last.after, last.after.cross(s) + X.R @ freedom.nu
    else:
        before, V = X.R.T @ last.before, ZERO
    return Velocity(X, s, freedom, before, before + freedom.omega, V)


class Moving(NamedTuple):
    """A composite body and its motion about its origin."""

    body: Body
    p: Vector
    l: Vector  # noqa: E741
    Jd: Symmetric

    def plus(self, other: "Moving") -> "Moving":
        (m, h, J), more = self.body, other.body
        body = Body(m + more.m, h + more.h, J + more.J)
        return Moving(body, self.p + other.p, self.l + other.l, self.Jd + other.Jd)

    def column(self, joint: Joint) -> tuple[Pair, Vector]:
        """u and y of the joint of the innermost link."""
        (m, h, J), p, l, Jd = self  # noqa: E741
        if joint.prismatic:
            return Pair(Z * m, h.cross(Z)), Vector(p.y + p.y, -(p.x + p.x), 0)
        return Pair(Z.cross(h), J.third_column), Vector(Jd.xz + l.y, Jd.yz - l.x, Jd.zz)

    def felt(self, change: "Change") -> Pair:
        """The wrench that a change of the motion of the innermost link takes."""
        (m, h, J), p, l, Jd = self  # noqa: E741
        x, a, b = change
        return Pair(a * m + b.cross(h) - (p + p).cross(x), h.cross(a) + J @ b + Jd @ x - l.cross(x))


class Change(NamedTuple):
    """Of a motion: of the angular velocity, the acceleration of the origin and the angular acceleration."""

    x: Vector
    a: Vector
    b: Vector

    def seen(self, u: Pair, y: Vector) -> Scalar:
        """What a joint feels of it."""
        return u.dot(Pair(self.a, self.b)) + y.dot(self.x)


def moving_bodies(mechanism: Mechanism, links: list[Velocity]) -> list[Moving]:
    """The composite body of each link."""
    return inward(mechanism.parents, _composite, None, mechanism.links, links)


def _composite(outer: Moving | None, link: AnyLink, v: Velocity) -> tuple[Moving, Moving]:
    w, h, J = v.after, link.moment, link.origin_inertia
    own = Moving(Body(link.mass, h, J), w.cross(h), J @ w, _turning(J, w))
    whole = own if outer is None else own.plus(outer)
    body, R = to_parent(whole.body, v.X), v.X.R
    p, s = R @ whole.p, v.s
    l = R @ whole.l + s.cross(p) + body.h.cross(v.V)  # noqa: E741
    Jd = R.similar(whole.Jd) + sweep(s, p) + sweep(body.h, v.V)
    return Moving(body, p + v.V * body.m, l, Jd), whole


def _turning(J: Symmetric, w: Vector) -> Symmetric:
    """w~ J - J w~, the rate of a tensor that turns."""
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


def way_inward(
    mechanism: Mechanism,
    links: list[Velocity],
    i: int,
    column: tuple[Pair, Vector],
    felt: list[Pair],
    beyond: Pair | None,
) -> Iterator[tuple[int, Pair, Vector, list[Pair]]]:
    """Link i and its ancestors, with u, y and wrenches as they are there.

    `beyond` is added to the last of the wrenches where the ball that joint i belongs to is left behind.
    """
    u, y = column
    yield i, u, y, felt
    for k, j in pairwise(mechanism.inward_from(i)):
        X, V = links[k].X, links[k].V
        if beyond is not None and links[k].freedom.first:
            felt, beyond = [*felt[:-1], felt[-1].plus(beyond)], None
        beyond = None if beyond is None else X.wrench_to_parent(beyond)
        u, felt = X.wrench_to_parent(u), [X.wrench_to_parent(f) for f in felt]
        y = X.R @ y - u.linear.cross(V + V)
        yield j, u, y, felt
