"""Joints placed anywhere, as URDF and MJCF have them, in canonical frames: on common normals, and never far away.

z_i lies on the axis of joint i and x_i on the common normal with the axis of one joint beyond it, so that most of what
leads from a frame to the next is zero (modified DH; Khalil and Kleinfinger 1986 where a link has several children).
Where that normal is far away, as that of nearly parallel axes is, the frame stays near the link with x_i along the
normal's direction, and p has a second entry (Hayati). Where the choice is free it is made for zeros: the first frame
and those of leaves stand where their joint leaves nothing to add, parallel axes have their normal where the last one
ended, a prismatic axis goes through the frame before it, a leaf is turned for zeros of its centre of mass. Ball and
free joints keep the frame of the file, in whose axes they move.

Every frame is found in the frame that the file has for its link, and every placement from two neighbours: nothing is
summed up along the tree, so nothing is lost along it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError
from armwright.model.file_joints import FileJoint, normal_to, straightened
from armwright.model.frame_change import ROUNDING_TOLERANCE, inverse, link_in_frame, rounded_transform
from armwright.model.joint_types import SINGLE_TYPES
from armwright.model.records import LinkModel
from armwright.model.transforms import Transform, cos_sin

MAX_NORMAL_RATIO = 2.0
"""Distances of two joints: no farther along their axes their common normal has the frame."""

MAX_COORDINATE = 1e6
"""Metres: beyond, distances lose the digits that matter."""

MAX_TRIED_CHILDREN = 12
"""Children of a link whose normals are tried for its frame."""


@dataclass(frozen=True)
class Placement:
    """From one frame to the next: Rot(z, gamma) Trans(a, y, z) Rot(x, alpha) Rot(z, theta) Trans(z, d)."""

    gamma: float = 0.0
    a: float = 0.0
    y: float = 0.0
    z: float = 0.0
    alpha: float = 0.0
    theta: float = 0.0
    d: float = 0.0


@dataclass(frozen=True)
class CanonicalTree:
    """A row for each joint, the links in the frames they lead to, and where it all stands.

    `base` is frame 0 in that of the base, `own` are the frames of the file in the canonical ones.
    """

    base: Transform
    rows: tuple[Placement, ...]
    links: tuple[LinkModel, ...]
    own: tuple[Transform, ...]


def canonical_tree(joints: Sequence[FileJoint], straighten: float = 0.0) -> CanonicalTree:
    """The same tree in canonical frames.

    Angles that are within `straighten` of a right angle, and axes within it of parallel, are made so.
    """
    if not all(np.abs(joint.placement).max() < MAX_COORDINATE for joint in joints):
        raise ModelError(
            f"the links lie more than {MAX_COORDINATE:g} m apart, or nowhere; check the positions of the joints"
        )
    found = _FrameSearch(joints, straighten)
    links = [link_in_frame(joint.body, inverse(K)) for joint, K in zip(joints, found.frames, strict=True)]
    own = [rounded_transform(inverse(K)) for K in found.frames]
    return CanonicalTree(rounded_transform(found.base), tuple(found.rows), tuple(links), tuple(own))


class _FrameSearch:
    """The canonical frames, each in the frame that the file has for its link, and what leads from one to the next."""

    def __init__(self, joints: Sequence[FileJoint], straighten: float) -> None:
        self.within = max(ROUNDING_TOLERANCE, straighten)
        self.joints = straightened(joints, straighten) if straighten else joints
        self.children: dict[int, list[int]] = {}
        for i, joint in enumerate(joints):
            self.children.setdefault(joint.parent, []).append(i)
        self.size = _chain_lengths(joints)
        first = max(self.children[-1], key=lambda i: self.size[i])
        self.origin = self.joints[first].placement[:3, 3]
        self.length = self._length()
        self.base = self.joints[first].placement @ self._frame(first, None)
        self.frames: list[Array] = []
        self.rows: list[Placement] = []
        for i, joint in enumerate(self.joints):
            before = inverse(joint.placement) @ (self.base if joint.parent < 0 else self.frames[joint.parent])
            self.frames.append(self._frame(i, None if i == first else before))
            self.rows.append(Placement() if i == first else self._row(inverse(before) @ self.frames[i]))

    def _length(self) -> float:
        """How far the farthest joint is, along the links between."""
        lengths = list[float]()
        for joint in self.joints:
            start = self.origin if joint.parent < 0 else np.zeros(3)
            way = float(np.linalg.norm(joint.placement[:3, 3] - start))
            lengths.append(way + (lengths[joint.parent] if joint.parent >= 0 else 0.0))
        return max(lengths)

    def _frame(self, i: int, before: Array | None) -> Array:
        """The frame of link i; `before` is that of its parent at q = 0, None where that one may stand in this one."""
        joint = self.joints[i]
        if joint.kind not in SINGLE_TYPES:
            return np.eye(4) if joint.kind != "planar" else _frame(_link_axis(joint.z, None), joint.z, np.zeros(3))
        z, stay = joint.z, _x_without_theta(before, joint.z)
        beyond = [c for c in self.children.get(i, []) if self.joints[c].kind in SINGLE_TYPES]
        start = self._start(joint, before, beyond)
        if not beyond:
            F = _frame(_link_axis(z, stay), z, start)
            return F if joint.prismatic or i in self.children else self._turned(i, F, before)
        tried = sorted(beyond, key=lambda c: -self.size[c])[:MAX_TRIED_CHILDREN]
        ways = [self._towards(z, start, stay, self.joints[c]) for c in tried]
        return ways[0] if len(beyond) == 1 else min(ways, key=lambda F: self._spread(F, beyond))

    def _start(self, joint: FileJoint, before: Array | None, beyond: Sequence[int]) -> Array:
        """A point of the axis from which little leads to the frame before."""
        if before is None:
            return self.joints[beyond[0]].placement[:3, 3] if joint.prismatic and beyond else np.zeros(3)
        if joint.prismatic:
            return before[:3, 3]
        t = _nearest_point(before, joint.z)
        return t * joint.z if abs(t) <= self.length else np.zeros(3)

    def _towards(self, z: Array, start: Array, stay: Array, child: FileJoint) -> Array:
        """The frame on the common normal with the axis of a child; if that is far away, beside the start."""
        point, f = child.line
        across, apart = np.cross(z, f), point - start
        sine = float(np.linalg.norm(across))
        if sine <= ROUNDING_TOLERANCE:
            aside = apart - (apart @ z) * z
            return _frame(
                normal_to(z, aside) if np.linalg.norm(aside) > ROUNDING_TOLERANCE * self.length else stay, z, start
            )
        x = normal_to(z, across)
        here, there = (float(np.cross(apart, way) @ across) / sine**2 for way in (f, z))
        near = MAX_NORMAL_RATIO * float(np.linalg.norm(point)) + ROUNDING_TOLERANCE * self.length
        foot = start + here * z
        distance = float(apart @ x)
        if abs(distance) > ROUNDING_TOLERANCE * self.length:
            x = x * math.copysign(1.0, distance)
        elif x @ stay < -ROUNDING_TOLERANCE:
            x = -x
        fits = abs(there) <= near and (abs(float(foot @ z)) <= near or abs(here) <= ROUNDING_TOLERANCE * self.length)
        return _frame(x, z, foot if fits else start)

    def _spread(self, F: Array, beyond: Sequence[int]) -> int:
        """About how many operations it takes to get from a frame to those of several children."""
        operations, back = 0, inverse(F)
        for c in beyond:
            child = self.joints[c]
            before = inverse(child.placement) @ F
            start = before[:3, 3] if child.prismatic else _nearest_point(before, child.z) * child.z
            along, p = back[:3, :3] @ child.line[1], back @ child.placement @ [*start, 1.0]
            operations += GAMMA_OPERATIONS * (min(abs(along[0]), abs(along[1])) > self.within)
            operations += OFFSET_OPERATIONS * int(np.sum(np.abs(p[:3]) > ROUNDING_TOLERANCE * self.length))
        return operations

    def _row(self, M: Array) -> Placement:
        """What leads from one frame to the next."""
        x, y, _ = M[:3, 2]
        gamma = 0.0 if max(abs(x), abs(y)) <= self.within else self._angle(x * math.copysign(1.0, -y), abs(y))
        N = _about_z(-gamma) @ M
        alpha = self._angle(-N[1, 2], N[2, 2])
        (ca, sa), (a, y, z) = cos_sin(alpha), N[:3, 3].tolist()
        theta = self._angle(ca * N[1, 0] + sa * N[2, 0], N[0, 0])
        if abs(ca) > abs(sa):
            d = z / ca
            y, z = y + sa * d, 0.0
        else:
            d = -y / sa
            y, z = 0.0, z - ca * d
        a, y, z, d = (x if abs(x) > ROUNDING_TOLERANCE * self.length else 0.0 for x in (a, y, z, d))
        return Placement(gamma, a, y, z, alpha, theta, d)

    def _angle(self, sine: float, cosine: float) -> float:
        """The angle of these, right angles exactly."""
        if abs(sine) <= self.within:
            return 0.0 if cosine > 0 else math.pi
        return math.copysign(math.pi / 2, sine) if abs(cosine) <= self.within else math.atan2(sine, cosine)

    def _turned(self, i: int, F: Array, before: Array | None) -> Array:
        """The frame of a leaf turned about its axis, for a centre of mass without y or no product xy, if it pays."""
        body, planar = self.joints[i].body, self._planar(i)
        turned = link_in_frame(body, inverse(F))
        (xx, xy, _), (_, yy, _), _ = turned.inertia
        ways = [F]
        for angle in (math.atan2(turned.com[1], turned.com[0]), math.atan2(2 * xy, xx - yy) / 2):
            c, s = math.cos(angle), math.sin(angle)
            ways.append(_frame(c * F[:3, 0] + s * F[:3, 1], F[:3, 2], F[:3, 3]))
        return min(ways, key=lambda way: self._cost(way, body, before, planar))

    def _cost(self, F: Array, body: LinkModel, before: Array | None, planar: bool) -> int:
        """The operations that depend on how the frame of a leaf is turned."""
        link = link_in_frame(body, inverse(F))
        offset = before is not None and self._row(inverse(before) @ F).theta % (math.pi / 2) != 0
        entries = [x != 0 and body.mass != 0 for x in link.com]
        if planar:
            return offset + PLANAR_COM_OPERATIONS * sum(entries[:2])
        (_, xy, xz), (_, _, yz), _ = link.inertia
        return offset + COM_OPERATIONS[sum(entries)] + PRODUCT_OPERATIONS * sum(x != 0 for x in (xy, xz, yz))

    def _planar(self, i: int) -> bool:
        """Whether a link turns about one direction only, whatever moves."""
        turning = self.joints[i].z
        while i >= 0:
            joint = self.joints[i]
            if joint.kind not in SINGLE_TYPES or (
                not joint.prismatic and np.linalg.norm(np.cross(joint.z, turning)) > 1e-12
            ):
                return False
            turning, i = joint.placement[:3, :3] @ turning, joint.parent
        return True


COM_OPERATIONS = (0, 18, 33, 45)
"""Operations of Newton and Euler's recursion for a centre of mass that has no, one, two or three entries."""

PLANAR_COM_OPERATIONS = 5
"""The same for x or y where all axes are parallel."""

PRODUCT_OPERATIONS = 8
"""Operations for a product of inertia."""

GAMMA_OPERATIONS = 18
"""Operations for a gamma that is no right angle."""

OFFSET_OPERATIONS = 6
"""Operations for an entry of p."""


def _chain_lengths(joints: Sequence[FileJoint]) -> list[int]:
    """How many joints are on the longest way out from each, itself included."""
    sizes = [1] * len(joints)
    for i in reversed(range(len(joints))):
        if (parent := joints[i].parent) >= 0:
            sizes[parent] = max(sizes[parent], sizes[i] + 1)
    return sizes


def _nearest_point(before: Array, z: Array) -> float:
    """Where, along the axis z through the origin, little leads to the frame before.

    That is in its plane of x and y, or, where the axis is across its z, at the common normal with it.
    """
    w, b = before[:3, 2], before[:3, 3]
    cosine = float(z @ w)
    if abs(cosine) > 0.5:
        return float(b @ w) / cosine
    across = np.cross(z, w)
    return float(np.cross(b, w) @ across) / float(across @ across)


def _x_without_theta(before: Array | None, z: Array) -> Array:
    """The x that needs no theta: that of the frame before, turned by gamma."""
    if before is None:
        return _any_normal(z)
    if abs(before[:3, 0] @ z) <= ROUNDING_TOLERANCE:
        return normal_to(z, before[:3, 0])
    normal = normal_to(z, np.cross(before[:3, 2], z))
    return normal if normal @ before[:3, 0] > 0 else -normal


def _link_axis(z: Array, x: Array | None) -> Array:
    """The axis of the link's own frame nearest to x that is normal to z, so that zeros of its inertia stay; else x."""
    nearest = _any_normal(z) if x is None else x
    axes = [sign * axis for axis in np.eye(3) for sign in (1, -1)]
    fitting = [axis for axis in axes if abs(axis @ z) <= ROUNDING_TOLERANCE]
    return max(fitting, key=lambda axis: float(axis @ nearest)) if fitting else nearest


def _any_normal(z: Array) -> Array:
    """The unit vector that is normal to z and closest to an axis."""
    return normal_to(z, np.eye(3)[int(np.argmin(np.abs(z)))] + 0.0)


def _frame(x: Array, z: Array, origin: Array) -> Array:
    F = np.eye(4)
    F[:3, 0], F[:3, 1], F[:3, 2], F[:3, 3] = x, np.cross(z, x), z, origin
    return F


def _about_z(angle: float) -> Array:
    T = np.eye(4)
    c, s = cos_sin(angle)
    T[:2, :2] = ((c, -s), (s, c))
    return T
