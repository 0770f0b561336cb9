"""Inertial parameters regrouped to base parameters, after Gautier and Khalil: same torques, fewer of them.

M. Gautier, W. Khalil, 'Direct calculation of minimum set of inertial parameters of serial robots', IEEE Trans.
Robotics and Automation 6 (1990). Of a link on a revolute joint, whatever is unchanged when the link turns might
as well be fixed to the link before it: its mass, the first moment along the axis, and any moment I about both x
and y. Of a link on a prismatic joint, its tensor might. What is moved inward leaves zeros behind, and zeros
cost nothing.

The moment I is free to choose: Iyy leaves a zero in the inertia tensor, as the paper has it, the integral of
z^2 leaves a zero in Euler's tensor, for formulations that work with that one.

Torque, mass matrix and accelerations stay the same; potential energy changes by a constant.
"""

from __future__ import annotations

from dataclasses import replace

from armwright.algebra import ZERO, Rotation, Symmetric, Vector
from armwright.chain import AnyLink, Chain, Joint, MomentLink
from armwright.formulations.composite_body import Body, to_parent
from armwright.formulations.spatial import Screw


def regrouped(chain: Chain, euler: bool = False) -> Chain:
    """The chain with every link reduced to its base parameters, from the tip inward.

    `euler` makes zeros in Euler's tensors instead of the inertia tensors.
    """
    links: list[AnyLink] = list(chain.links)
    for i in reversed(range(1, chain.n)):
        links[i], moved = _split(chain.joints[i], links[i], euler)
        inner = links[i - 1]
        links[i - 1] = MomentLink(inner.mass + moved.m, inner.moment + moved.h, inner.origin_inertia + moved.J)
    return replace(chain, links=tuple(links))


def _split(joint: Joint, link: AnyLink, euler: bool) -> tuple[MomentLink, Body]:
    """What stays with a link, and what moves to the one before it, in that one's frame."""
    h, J = link.moment, link.origin_inertia
    if joint.prismatic:
        moved = Body(0, ZERO, joint.rotation(0).similar(J))
        return MomentLink(link.mass, h, Symmetric(0, 0, 0, 0, 0, 0)), moved
    moment = (J.xx + J.yy - J.zz) * 0.5 if euler else J.yy
    unchanged = Body(link.mass, Vector(0, 0, h.z), Symmetric(moment, moment, 0, 0, 0, 0))
    at_zero = Screw(Rotation(joint.ca, joint.sa, 1, 0), joint.a, joint.d)
    yy = J.yy - moment if euler else 0
    stays = MomentLink(0, Vector(h.x, h.y, 0), Symmetric(J.xx - moment, yy, J.zz, J.xy, J.xz, J.yz))
    return stays, to_parent(unchanged, at_zero)
