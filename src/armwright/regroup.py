"""Inertial parameters regrouped to base parameters, after Gautier and Khalil: same torques, fewer of them.

M. Gautier, W. Khalil, 'Direct calculation of minimum set of inertial parameters of serial robots', IEEE Trans. Robotics
and Automation 6 (1990). Of a link on a revolute joint, whatever is unchanged when the link turns might as well be
fixed to the link before it: its mass and the first moment along the axis, and a moment Iyy about both x and y. Of a
link on a prismatic joint, its tensor might. What is moved inward leaves zeros behind, and zeros cost nothing.

Torque, mass matrix and accelerations stay the same; potential energy changes by a constant.
"""

from __future__ import annotations

from dataclasses import replace

from armwright.algebra import ZERO, Rotation, Symmetric, Vector
from armwright.chain import AnyLink, Chain, Joint, MomentLink
from armwright.formulations.composite_body import Body, to_parent
from armwright.formulations.spatial import Screw


def regrouped(chain: Chain) -> Chain:
    """The chain with every link reduced to its base parameters, from the tip inward."""
    links: list[AnyLink] = list(chain.links)
    for i in reversed(range(1, chain.n)):
        links[i], moved = _split(chain.joints[i], links[i])
        inner = links[i - 1]
        links[i - 1] = MomentLink(inner.mass + moved.m, inner.moment + moved.h, inner.origin_inertia + moved.J)
    return replace(chain, links=tuple(links))


def _split(joint: Joint, link: AnyLink) -> tuple[MomentLink, Body]:
    """What stays with a link, and what moves to the one before it, in that one's frame."""
    h, J = link.moment, link.origin_inertia
    if joint.prismatic:
        moved = Body(0, ZERO, joint.rotation(0).similar(J))
        return MomentLink(link.mass, h, Symmetric(0, 0, 0, 0, 0, 0)), moved
    unchanged = Body(link.mass, Vector(0, 0, h.z), Symmetric(J.yy, J.yy, 0, 0, 0, 0))
    at_zero = Screw(Rotation(joint.ca, joint.sa, 1, 0), joint.a, joint.d)
    stays = MomentLink(0, Vector(h.x, h.y, 0), Symmetric(J.xx - J.yy, 0, J.zz, J.xy, J.xz, J.yz))
    return stays, to_parent(unchanged, at_zero)
