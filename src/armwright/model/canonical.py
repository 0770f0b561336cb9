"""Canonical frames for joints placed anywhere, as in URDF and MJCF.

z_i lies on the axis of joint i. x_i lies on the common normal with the axis of one joint after it. Most entries of the
placements are then zero: modified DH; Khalil and Kleinfinger 1986 where a link has several children.

Nearly parallel axes have a distant common normal. The frame then stays near the link, x_i has the direction of the
normal, and p has a second entry (Hayati). Free choices produce zeros:

- the first frame and the frames of leaves need no offset of their joint
- the normal of parallel axes starts where that of the joint before ends
- a prismatic axis passes through the frame before it
- the frame of a leaf is rotated for zeros of its centre of mass

Ball and free joints keep the frame of the file, in whose axes they move. Each frame is computed in the file's frame of
its link, each placement from two adjacent frames: no sums along the tree lose digits.
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
"""The largest offset of a common normal along the axes, relative to the distance of the joints."""

MAX_COORDINATE = 1e6
"""The largest coordinate of a joint, m; beyond it positions lose significant digits."""

MAX_TRIED_CHILDREN = 12
"""The number of children of a link whose common normals are tried for its frame."""


@dataclass(frozen=True)
class Placement:
    """The transform to the next frame: Rot(z, gamma) Trans(a, y, z) Rot(x, alpha) Rot(z, theta) Trans(z, d)."""

    gamma: float = 0.0
    a: float = 0.0
    y: float = 0.0
    z: float = 0.0
    alpha: float = 0.0
    theta: float = 0.0
    d: float = 0.0


@dataclass(frozen=True)
class CanonicalTree:
    """The placements of all joints, and the links in the frames after them.

    `base` is frame 0 in the frame of the base; `file_frames` are the frames of the file in the canonical frames.
    """

    base: Transform
    rows: tuple[Placement, ...]
    links: tuple[LinkModel, ...]
    file_frames: tuple[Transform, ...]


def canonical_tree(joints: Sequence[FileJoint], straighten: float = 0.0) -> CanonicalTree:
    """Return the same tree in canonical frames.

    Angles within `straighten` (radians) of a right angle become right angles; axes within it of parallel become
    parallel.
    """
    if not all(np.abs(joint.placement).max() < MAX_COORDINATE for joint in joints):
        raise ModelError(f"links are more than {MAX_COORDINATE:g} m apart, or not finite; check the joints' positions")
    search = _FrameSearch(joints, straighten)
    links = [link_in_frame(joint.body, inverse(K)) for joint, K in zip(joints, search.frames, strict=True)]
    file_frames = [rounded_transform(inverse(K)) for K in search.frames]
    return CanonicalTree(rounded_transform(search.base), tuple(search.rows), tuple(links), tuple(file_frames))


class _FrameSearch:
    """The canonical frames, each in the file's frame of its link, and the placements between them."""

    def __init__(self, joints: Sequence[FileJoint], straighten: float) -> None:
        self.tolerance = max(ROUNDING_TOLERANCE, straighten)
        self.joints = straightened(joints, straighten) if straighten else joints
        self.children: dict[int, list[int]] = {}
        for i, joint in enumerate(joints):
            self.children.setdefault(joint.parent, []).append(i)
        self.chain_lengths = _chain_lengths(joints)
        first = max(self.children[-1], key=lambda i: self.chain_lengths[i])
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
        """Return the length of the longest chain of links, m."""
        lengths = list[float]()
        for joint in self.joints:
            start = self.origin if joint.parent < 0 else np.zeros(3)
            distance = float(np.linalg.norm(joint.placement[:3, 3] - start))
            lengths.append(distance + (lengths[joint.parent] if joint.parent >= 0 else 0.0))
        return max(lengths)

    def _frame(self, i: int, before: Array | None) -> Array:
        """Return the frame of link i; `before` is its parent's at q = 0, or None if the two may coincide."""
        joint = self.joints[i]
        if joint.kind not in SINGLE_TYPES:
            return np.eye(4) if joint.kind != "planar" else _frame(_link_axis(joint.z, None), joint.z, np.zeros(3))
        z, x0 = joint.z, _x_without_theta(before, joint.z)
        beyond = [c for c in self.children.get(i, []) if self.joints[c].kind in SINGLE_TYPES]
        start = self._start(joint, before, beyond)
        if not beyond:
            F = _frame(_link_axis(z, x0), z, start)
            return F if joint.prismatic or i in self.children else self._rotated(i, F, before)
        tried = sorted(beyond, key=lambda c: -self.chain_lengths[c])[:MAX_TRIED_CHILDREN]
        frames = [self._towards(z, start, x0, self.joints[c]) for c in tried]
        return frames[0] if len(beyond) == 1 else min(frames, key=lambda F: self._operations(F, beyond))

    def _start(self, joint: FileJoint, before: Array | None, beyond: Sequence[int]) -> Array:
        """Return the point of the axis with the simplest placement from the frame before."""
        if before is None:
            return self.joints[beyond[0]].placement[:3, 3] if joint.prismatic and beyond else np.zeros(3)
        if joint.prismatic:
            return before[:3, 3]
        t = _nearest_point(before, joint.z)
        return t * joint.z if abs(t) <= self.length else np.zeros(3)

    def _towards(self, z: Array, start: Array, x0: Array, child: FileJoint) -> Array:
        """Return the frame on the common normal with the axis of a child, or at `start` if that normal is distant.

        `x0` is the direction of x that needs no theta.
        """
        point, f = child.line
        across, apart = np.cross(z, f), point - start
        sine = float(np.linalg.norm(across))
        if sine <= ROUNDING_TOLERANCE:
            normal = apart - (apart @ z) * z
            parallel = np.linalg.norm(normal) > ROUNDING_TOLERANCE * self.length
            return _frame(normal_to(z, normal) if parallel else x0, z, start)
        x = normal_to(z, across)
        here, there = (float(np.cross(apart, axis) @ across) / sine**2 for axis in (f, z))
        limit = MAX_NORMAL_RATIO * float(np.linalg.norm(point)) + ROUNDING_TOLERANCE * self.length
        foot = start + here * z
        distance = float(apart @ x)
        if abs(distance) > ROUNDING_TOLERANCE * self.length:
            x = x * math.copysign(1.0, distance)
        elif x @ x0 < -ROUNDING_TOLERANCE:
            x = -x
        close = abs(there) <= limit and (abs(float(foot @ z)) <= limit or abs(here) <= ROUNDING_TOLERANCE * self.length)
        return _frame(x, z, foot if close else start)

    def _operations(self, F: Array, beyond: Sequence[int]) -> int:
        """Return an estimate of the operations from a frame to those of several children."""
        operations, into_F = 0, inverse(F)
        for c in beyond:
            child = self.joints[c]
            before = inverse(child.placement) @ F
            start = before[:3, 3] if child.prismatic else _nearest_point(before, child.z) * child.z
            along, p = into_F[:3, :3] @ child.line[1], into_F @ child.placement @ [*start, 1.0]
            operations += GAMMA_OPERATIONS * (min(abs(along[0]), abs(along[1])) > self.tolerance)
            operations += OFFSET_OPERATIONS * int(np.sum(np.abs(p[:3]) > ROUNDING_TOLERANCE * self.length))
        return operations

    def _row(self, M: Array) -> Placement:
        """Return the placement for a transform between two frames."""
        x, y, _ = M[:3, 2]
        gamma = 0.0 if max(abs(x), abs(y)) <= self.tolerance else self._angle(x * math.copysign(1.0, -y), abs(y))
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
        """Return the angle of a sine and a cosine; right angles are exact."""
        if abs(sine) <= self.tolerance:
            return 0.0 if cosine > 0 else math.pi
        return math.copysign(math.pi / 2, sine) if abs(cosine) <= self.tolerance else math.atan2(sine, cosine)

    def _rotated(self, i: int, F: Array, before: Array | None) -> Array:
        """Return the frame of a leaf, rotated about its axis if a zero of its body saves operations."""
        body, planar = self.joints[i].body, self._planar(i)
        link = link_in_frame(body, inverse(F))
        (xx, xy, _), (_, yy, _), _ = link.inertia
        frames = [F]
        for angle in (math.atan2(link.com[1], link.com[0]), math.atan2(2 * xy, xx - yy) / 2):
            c, s = math.cos(angle), math.sin(angle)
            frames.append(_frame(c * F[:3, 0] + s * F[:3, 1], F[:3, 2], F[:3, 3]))
        return min(frames, key=lambda frame: self._cost(frame, body, before, planar))

    def _cost(self, F: Array, body: LinkModel, before: Array | None, planar: bool) -> int:
        """Return the operations that depend on the rotation of a leaf's frame about its axis."""
        link = link_in_frame(body, inverse(F))
        offset = before is not None and self._row(inverse(before) @ F).theta % (math.pi / 2) != 0
        entries = [x != 0 and body.mass != 0 for x in link.com]
        if planar:
            return offset + PLANAR_COM_OPERATIONS * sum(entries[:2])
        (_, xy, xz), (_, _, yz), _ = link.inertia
        return offset + COM_OPERATIONS[sum(entries)] + PRODUCT_OPERATIONS * sum(x != 0 for x in (xy, xz, yz))

    def _planar(self, i: int) -> bool:
        """Return whether a link rotates about a single direction in every position."""
        direction = self.joints[i].z
        while i >= 0:
            joint = self.joints[i]
            if joint.kind not in SINGLE_TYPES or (
                not joint.prismatic and np.linalg.norm(np.cross(joint.z, direction)) > 1e-12
            ):
                return False
            direction, i = joint.placement[:3, :3] @ direction, joint.parent
        return True


COM_OPERATIONS = (0, 18, 33, 45)
"""Operations of the Newton-Euler recursion for a centre of mass with zero, one, two or three entries."""

PLANAR_COM_OPERATIONS = 5
"""Operations for an entry x or y of the centre of mass where all axes are parallel."""

PRODUCT_OPERATIONS = 8
"""Operations for a product of inertia."""

GAMMA_OPERATIONS = 18
"""Operations for a gamma that is not a right angle."""

OFFSET_OPERATIONS = 6
"""Operations for an entry of p."""


def _chain_lengths(joints: Sequence[FileJoint]) -> list[int]:
    """Return the number of joints on the longest chain that starts with each joint."""
    sizes = [1] * len(joints)
    for i in reversed(range(len(joints))):
        if (parent := joints[i].parent) >= 0:
            sizes[parent] = max(sizes[parent], sizes[i] + 1)
    return sizes


def _nearest_point(before: Array, z: Array) -> float:
    """Return the coordinate along z of the point with the simplest placement from the frame before.

    It lies in that frame's xy plane, or on the common normal if the two axes are nearly perpendicular.
    """
    w, b = before[:3, 2], before[:3, 3]
    cosine = float(z @ w)
    if abs(cosine) > 0.5:
        return float(b @ w) / cosine
    across = np.cross(z, w)
    return float(np.cross(b, w) @ across) / float(across @ across)


def _x_without_theta(before: Array | None, z: Array) -> Array:
    """Return the x axis that needs no theta: that of the frame before, rotated by gamma."""
    if before is None:
        return _any_normal(z)
    if abs(before[:3, 0] @ z) <= ROUNDING_TOLERANCE:
        return normal_to(z, before[:3, 0])
    normal = normal_to(z, np.cross(before[:3, 2], z))
    return normal if normal @ before[:3, 0] > 0 else -normal


def _link_axis(z: Array, x: Array | None) -> Array:
    """Return the axis of the file's frame normal to z and nearest to x, which keeps zeros of the inertia; else x."""
    nearest = _any_normal(z) if x is None else x
    axes = [sign * axis for axis in np.eye(3) for sign in (1, -1)]
    normal_axes = [axis for axis in axes if abs(axis @ z) <= ROUNDING_TOLERANCE]
    return max(normal_axes, key=lambda axis: float(axis @ nearest)) if normal_axes else nearest


def _any_normal(z: Array) -> Array:
    """Return the unit vector normal to z in the plane of z and a coordinate axis."""
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
