"""Inertial parameters regrouped to base parameters, after Gautier and Khalil: same torques, fewer of them.

M. Gautier, W. Khalil, 'Direct calculation of minimum set of inertial parameters of serial robots', IEEE Trans.
Robotics and Automation 6 (1990). Of a link on a revolute joint, whatever is unchanged when the link turns might
as well be fixed to the link before it: its mass, the first moment along the axis, and any moment I about both x
and y. Of a link on a prismatic joint, its tensor might. What is moved inward leaves zeros behind, and zeros
cost nothing.

The moment I is free to choose: Iyy leaves a zero in the inertia tensor, as the paper has it, the integral of
z^2 leaves a zero in Euler's tensor, for formulations that work with that one.

Frames have freedom too (`reframed`). Where an axis is parallel to the next, the frame may stand anywhere along it, so
all distances along a row of parallel axes can be gathered in one; the last frame may also be turned about its axis. And
where the first axes meet in a point, as those of a spherical shoulder, their frames may all stand in it (`meeting`).

Torque, mass matrix and accelerations stay the same; potential energy changes by a constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from armwright.algebra import ZERO, Matrix, Rotation, Scalar, Symmetric, Vector
from armwright.chain import AnyLink, Chain, EulerLink, Joint, MomentLink, Pose
from armwright.formulations.composite_body import Body, to_parent
from armwright.formulations.spatial import Screw

DUST = 1e-14
"""Of the largest entry: what rounding has left where terms cancel. It would be computed with, and cost operations."""


def regrouped(chain: Chain, euler: bool = False) -> Chain:
    """The chain with every link reduced to its base parameters, from the tip inward.

    `euler` makes zeros in Euler's tensors instead of the inertia tensors.
    """
    links: list[AnyLink] = list(chain.links)
    for i in reversed(range(1, chain.n)):
        joint = chain.joints[i]
        links[i], unchanged = split(joint, links[i], euler)
        R = joint.rotation(0) if joint.prismatic else Rotation(joint.ca, joint.sa, 1, 0)
        links[i - 1] = with_body(links[i - 1], to_parent(unchanged, Screw(R, joint.a, joint.d)))
    return replace(chain, links=tuple(links))


def split(joint: Joint, link: AnyLink, euler: bool) -> tuple[AnyLink, Body]:
    """What stays with a link, and what might as well be fixed to the link before it; both in the frame of this one."""
    h, J = _without_dust(link.moment), _without_dust(link.origin_inertia)
    if joint.prismatic:
        return MomentLink(link.mass, h, Symmetric(0, 0, 0, 0, 0, 0)), Body(0, ZERO, J)
    stays: AnyLink
    if euler:
        K = _without_dust(J.euler)
        moment = K.zz
        stays = EulerLink(0, Vector(h.x, h.y, 0), Symmetric(K.xx, K.yy, 0, K.xy, K.xz, K.yz))
    else:
        moment = J.yy
        stays = MomentLink(0, Vector(h.x, h.y, 0), Symmetric(J.xx - moment, 0, J.zz, J.xy, J.xz, J.yz))
    return stays, Body(link.mass, Vector(0, 0, h.z), Symmetric(moment, moment, 0, 0, 0, 0))


def with_body(link: AnyLink, body: Body) -> MomentLink:
    """A link and what is fixed to it, as one."""
    return MomentLink(link.mass + body.m, link.moment + body.h, link.origin_inertia + body.J)


def _without_dust(entries: Any) -> Any:
    """A vector or tensor of plain numbers with zeros where rounding left next to nothing; any other as it is."""
    if not _plain(entries):
        return entries
    least = DUST * max(map(abs, entries))
    return type(entries)(*(0 if abs(x) <= least else x for x in entries))


def _plain(numbers: Sequence[Scalar]) -> bool:
    return all(isinstance(x, (int, float)) for x in numbers)


def reframed(chain: Chain, level: bool = True, turn: bool = True) -> Chain:
    """The chain with frames that cost less, for what does not depend on where the frames of links are.

    If `level`, distances along parallel axes are gathered in one of them, and the last frame stands where its joint
    leaves nothing to add; if `turn`, it has the centre of mass on x.
    """
    chain = levelled(chain) if level else chain
    return _turned(chain) if turn else chain


def levelled(chain: Chain) -> Chain:
    """Each row of parallel axes with one distance among them, and with none if it ends the chain."""
    if not all(_plain((joint.sa, joint.ca, joint.d)) for joint in chain.joints):
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
    if joint.prismatic or not _plain((*h, *J, joint.theta)) or not (h.x and h.y):
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
        if joint.prismatic or not _plain((joint.a, joint.d)) or (i and joint.a):
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
