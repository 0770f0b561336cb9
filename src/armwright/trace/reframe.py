"""Frames that cost less, for what does not depend on where the frames of links are.

Where an axis is parallel to the next, the frame may stand anywhere along it, so all distances along a row of parallel
axes can be gathered in one; the last frame may also be turned about its axis. And where the first axes meet in a point,
as those of a spherical shoulder, their frames may all stand in it (`meeting`).

Torque, mass matrix and accelerations stay the same; potential energy changes by a constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from armwright.algebra import Matrix, Rotation, Scalar, Vector
from armwright.chain import AnyLink, Chain, EulerLink, Joint, MomentLink, Pose
from armwright.formulations.composite_body import Body, to_parent
from armwright.formulations.parts.spatial import Screw
from armwright.trace.regroup import plain


def reframed(chain: Chain, level: bool = True, turn: bool = True) -> Chain:
    """The chain with frames that cost less, for what does not depend on where the frames of links are.

    If `level`, distances along parallel axes are gathered in one of them, and the last frame stands where its joint
    leaves nothing to add; if `turn`, it has the centre of mass on x.
    """
    chain = levelled(chain) if level else chain
    return _turned(chain) if turn else chain


def levelled(chain: Chain) -> Chain:
    """Each row of parallel axes with one distance among them, and with none if it ends the chain."""
    if not all(plain((joint.sa, joint.ca, joint.d)) for joint in chain.joints):
        return chain
    ends = [i for i in range(chain.n) if i + 1 == chain.n or chain.joints[i + 1].sa != 0]
    for first, last in zip([0, *(i + 1 for i in ends)], ends, strict=False):
        keep = chain.n if last + 1 == chain.n else _keeper(chain.joints, first, last)
        for k in range(first, min(keep, chain.n)):
            chain = _raised(chain, k, -chain.joints[k].d)
        for k in range(last, keep, -1):
            chain = _raised(chain, k - 1, chain.joints[k].ca * chain.joints[k].d)
    return chain


def _keeper(joints: tuple[Joint, ...], first: int, last: int) -> int:
    """Where the distance of a row costs least: before all motion, with a travel, or as late as possible."""
    if first == 0:
        return 0
    return next((k for k in range(first, last + 1) if joints[k].prismatic), last)


def _raised(chain: Chain, i: int, by: Scalar) -> Chain:
    """The same chain with frame i moved along its axis, where the next axis, if any, is parallel."""
    if by == 0:
        return chain
    joints, links, tool = list(chain.joints), list(chain.links), chain.tool
    joints[i] = replace(joints[i], d=joints[i].d + by)
    links[i] = _shifted(links[i], by)
    if i + 1 < chain.n:
        joints[i + 1] = replace(joints[i + 1], d=joints[i + 1].d - joints[i + 1].ca * by)
    else:
        tool = Pose(tool.rotation, tool.position - Vector(0, 0, by))
    return replace(chain, joints=tuple(joints), links=tuple(links), tool=tool)


def _shifted(link: AnyLink, by: Scalar) -> MomentLink:
    """A link seen from an origin further along z."""
    body = to_parent(Body(link.mass, link.moment, link.origin_inertia), Screw(Rotation(1, 0, 1, 0), 0, -by))
    return MomentLink(body.m, body.h, body.J)


def _turned(chain: Chain) -> Chain:
    """The same chain with the last frame turned so that the centre of mass has no y."""
    joint, link = chain.joints[-1], chain.links[-1]
    h, J = link.moment, link.origin_inertia
    if joint.prismatic or not plain((*h, *J, joint.theta)) or not (h.x and h.y):
        return chain
    size = math.hypot(h.x, h.y)
    c, s = h.x / size, h.y / size
    body = MomentLink(link.mass, Vector(size, 0, h.z), J.turned_z(c, -s))
    back = Matrix(Vector(c, s, 0), Vector(-s, c, 0), Vector(0, 0, 1))
    return replace(
        chain,
        joints=(*chain.joints[:-1], replace(joint, theta=joint.theta + math.atan2(h.y, h.x))),
        links=(*chain.links[:-1], body),
        tool=Pose(back.dot(chain.tool.rotation), back @ chain.tool.position),
    )


@dataclass(frozen=True)
class RaisedJoint(Joint):
    """A joint that is placed from a point `rise` above the origin of the frame before.

    That is no row of a DH table: only for formulations that know a joint by its rotation and offset.
    """

    rise: Scalar = 0

    def offset(self, q: Scalar) -> Vector:
        s = super().offset(q)
        return Vector(s.x, s.y, s.z + self.rise)


def leaving(chain: Chain) -> int | None:
    """The first frame that stands elsewhere than those before it although its axis meets theirs; none if none does."""
    for i, joint in enumerate(chain.joints[:-1]):
        if joint.prismatic or not plain((joint.a, joint.d)) or (i and joint.a):
            return None
        if i and joint.d:
            return i
    return None


def meeting(chain: Chain) -> Chain:
    """The chain with that frame moved to the others, so that the point they stand in does not accelerate."""
    i = leaving(chain)
    if i is None:
        return chain
    joints, links, by = list(chain.joints), list(chain.links), -chain.joints[i].d
    m, h, K = links[i].mass, links[i].moment, links[i].origin_euler
    zz = K.zz + by * (m * by - 2 * h.z)
    links[i] = EulerLink(m, Vector(h.x, h.y, h.z - m * by), K._replace(zz=zz, xz=K.xz - h.x * by, yz=K.yz - h.y * by))
    joints[i] = replace(joints[i], d=0)
    joints[i + 1] = RaisedJoint(**vars(joints[i + 1]), rise=-by)
    return replace(chain, joints=tuple(joints), links=tuple(links))
