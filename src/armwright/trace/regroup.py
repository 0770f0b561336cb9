"""Inertial parameters regrouped to base parameters, after Gautier and Khalil: the same torques from fewer parameters.

M. Gautier, W. Khalil, 'Direct calculation of minimum set of inertial parameters of serial robots', IEEE Trans. Robotics
and Automation 6 (1990). Some parameters of a link on a revolute joint do not change when the link turns: its mass, the
first moment along the axis, and any moment I about both x and y. They may be fixed to the link before it. So may the
tensor of a link on a prismatic joint. Moving them inward leaves zeros, which are free.

The moment I can be chosen. Iyy leaves a zero in the inertia tensor, as in the paper; the integral of z^2 leaves one in
Euler's tensor, for formulations that use that one.

Torque, mass matrix and accelerations stay the same; potential energy changes by a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from armwright.algebra import ZERO, Rotation, Scalar, Symmetric, Vector
from armwright.formulations.composite_body import CompositeBody, to_parent
from armwright.formulations.parts.spatial import Screw
from armwright.mechanism import AnyLink, EulerLink, Joint, Mechanism, MomentLink

ROUNDING_SHARE = 1e-14
"""The share of the largest entry below which an entry is rounding, and becomes zero."""


def regrouped(mechanism: Mechanism, euler: bool = False) -> Mechanism:
    """Return the robot with every link reduced to its base parameters, from the tips inward; balls stay unchanged.

    `euler` makes zeros in Euler's tensors instead of the inertia tensors.
    """
    links: list[AnyLink] = list(mechanism.links)
    for i, inner in reversed(list(enumerate(mechanism.parents))):
        if inner < 0 or i in mechanism.ball_joints:
            continue
        joint = mechanism.joints[i]
        links[i], unchanged = split_fixed(joint, links[i], euler)
        R = joint.rotation(0)
        if not joint.prismatic:
            R = Rotation(joint.ca, joint.sa, 1, 0, joint.cg, joint.sg)
        links[inner] = with_body(links[inner], to_parent(unchanged, Screw(R, joint.a, joint.d, joint.y, joint.z)))
    return replace(mechanism, links=tuple(links))


def split_fixed(joint: Joint, link: AnyLink, euler: bool) -> tuple[AnyLink, CompositeBody]:
    """Return the part of a link that stays, and the part fixed to the link before it, both in this frame."""
    h, J = _without_rounding(link.moment), _without_rounding(link.origin_inertia)
    if joint.prismatic:
        return MomentLink(link.mass, h, Symmetric(0, 0, 0, 0, 0, 0)), CompositeBody(0, ZERO, J)
    reduced: AnyLink
    if euler:
        K = _without_rounding(J.euler)
        moment = K.zz
        reduced = EulerLink(0, Vector(h.x, h.y, 0), Symmetric(K.xx, K.yy, 0, K.xy, K.xz, K.yz))
    else:
        moment = J.yy
        reduced = MomentLink(0, Vector(h.x, h.y, 0), Symmetric(J.xx - moment, 0, J.zz, J.xy, J.xz, J.yz))
    return reduced, CompositeBody(link.mass, Vector(0, 0, h.z), Symmetric(moment, moment, 0, 0, 0, 0))


def with_body(link: AnyLink, body: CompositeBody) -> MomentLink:
    """Return a link and a body fixed to it as one."""
    return MomentLink(link.mass + body.m, link.moment + body.h, link.origin_inertia + body.J)


def _without_rounding(entries: Any) -> Any:
    """Return a numeric vector or tensor with zeros for entries that are rounding; return symbols unchanged."""
    if not is_numeric(entries):
        return entries
    threshold = ROUNDING_SHARE * max(map(abs, entries))
    return type(entries)(*(0 if abs(x) <= threshold else x for x in entries))


def is_numeric(numbers: Sequence[Scalar]) -> bool:
    """Return True if all entries are numbers."""
    return all(isinstance(x, (int, float)) for x in numbers)
