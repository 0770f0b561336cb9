"""Joints placed anywhere, as URDF and MJCF have them, to the canonical chain: frames along the common normals.

z_i lies on the axis of joint i and x_i on the common normal of the axes i and i+1, so that most of what moves one frame
to the next is zero. Where the choice is free it is made for zeros: the first and the last frame stand where their joint
leaves nothing to add, parallel axes have their normal where the last one ended, a prismatic axis goes through the frame
before it, the last frame is turned for zeros of its centre of mass.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError, ModelWarning
from armwright.model.description import QUARTER_TURN, LinkModel, Transform, six, tensor, transform, triple

SNAP = 1e-11
"""Angles this close to a right angle and lengths this close to zero are taken to be so."""

PARALLEL = 3e-6
"""Axes this close to parallel are taken to be so: their common normal is so far away that rounding does more harm."""

REPORTED = 1e-9
"""A bend of axes that are taken to be parallel is warned of from here on; torques change by as much, relatively."""

DUST = 1e-13
"""Of the trace of a tensor: entries this small are taken to be zero."""

FARTHEST = 1e6
"""Metres: beyond, distances lose the digits that matter."""


@dataclass(frozen=True)
class FileJoint:
    """A joint and its link as a file has them.

    `placement` leads from the frame of the link before to this link's frame at q = 0; the axis is in this frame and
    goes through its origin. `body` is in this frame too.
    """

    placement: Array
    axis: Array
    prismatic: bool
    body: LinkModel


@dataclass(frozen=True)
class Row:
    """One row of the modified DH table."""

    alpha: float
    a: float
    d: float
    theta: float


@dataclass(frozen=True)
class Canonical:
    """The table, the links in its frames, and where it stands: `base` before frame 0, `flange` after frame n."""

    base: Transform
    rows: tuple[Row, ...]
    links: tuple[LinkModel, ...]
    flange: Transform


def canonical(joints: Sequence[FileJoint]) -> Canonical:
    """The same chain in canonical frames; `flange` ends in the last link's own frame."""
    with np.errstate(over="ignore", invalid="ignore"):
        T = accumulate((joint.placement for joint in joints), np.matmul, initial=np.eye(4))
        own = list(T)[1:]  # the frames of the links in the base, at q = 0
    if not all(np.abs(T).max() < FARTHEST for T in own):
        raise ModelError(f"the links lie more than {FARTHEST:g} m apart, or nowhere; check the positions of the joints")
    frames = _frames(joints, own)
    rows = [Row(0.0, 0.0, 0.0, 0.0), *(_row(*pair) for pair in pairwise(frames))]
    links = [moved(joint.body, _inverse(F) @ T) for joint, F, T in zip(joints, frames, own, strict=True)]
    return Canonical(_transform(frames[0]), tuple(rows), tuple(links), _transform(_inverse(frames[-1]) @ own[-1]))


def _frames(joints: Sequence[FileJoint], own: Sequence[Array]) -> list[Array]:
    """The canonical frames in the base; `own` are those of the file."""
    axes = [T[:3, :3] @ (joint.axis / np.linalg.norm(joint.axis)) for T, joint in zip(own, joints, strict=True)]
    points = [T[:3, 3] for T in own]
    if joints[0].prismatic and len(joints) > 1:
        points[0] = points[1]
    _straighten(axes, joints)
    frames: list[Array] = []
    before: Array | None = None
    for i, (joint, z) in enumerate(zip(joints, axes, strict=True)):
        if joint.prismatic and before is not None:
            points[i] = before[:3, 3]
        start = _on_axis(before, points[i], z)
        x, origin = _normal(before, start, z, points[i + 1 : i + 2], axes[i + 1 : i + 2])
        frames.append(_frame(x if i + 1 < len(joints) else _own_axis(own[i], z, x), z, origin))
        before = frames[-1]
    if not joints[-1].prismatic:
        turning = [z for z, joint in zip(axes, joints, strict=True) if not joint.prismatic]
        planar = all(np.linalg.norm(np.cross(turning[0], z)) <= SNAP for z in turning)
        frames[-1] = _turned(frames[-1], joints[-1].body, own[-1], frames[-2] if len(frames) > 1 else None, planar)
    return frames


def _straighten(axes: list[Array], joints: Sequence[FileJoint]) -> None:
    """Nearly parallel axes made parallel."""
    for i in range(len(axes) - 1):
        z, following = axes[i], axes[i + 1]
        bend = float(np.linalg.norm(np.cross(z, following)))
        if bend > PARALLEL:
            continue
        axes[i + 1] = math.copysign(1.0, z @ following) * z
        if bend > REPORTED:
            warnings.warn(
                f"the axes of the joints that carry {joints[i].body.name!r} and {joints[i + 1].body.name!r} are "
                f"{bend:.1e} rad from parallel; they are taken to be parallel",
                ModelWarning,
                stacklevel=2,
            )


def _row(before: Array, frame: Array) -> Row:
    """The row of the table that leads from one frame to the next."""
    x, z, apart = before[:3, 0], frame[:3, 2], frame[:3, 3] - before[:3, 3]
    return Row(_angle(before[:3, 2], z, x), _length(apart @ x), _length(apart @ z), _angle(x, frame[:3, 0], z))


def _on_axis(before: Array | None, point: Array, z: Array) -> Array:
    """Where x of the frame before, which is normal to both axes, meets this axis."""
    if before is None:
        return point
    last_x, origin = before[:3, 0], before[:3, 3]
    across = np.cross(z, last_x)  # of length one, as x is normal to z
    return point + float(np.cross(origin - point, last_x) @ across) * z


def _normal(
    before: Array | None, start: Array, z: Array, points: Sequence[Array], axes: Sequence[Array]
) -> tuple[Array, Array]:
    """Direction of the common normal with the next axis, and where it leaves this one."""
    stay = before[:3, 0] if before is not None else _any_normal(z)
    if not axes:
        return stay, start
    apart, following = points[0] - start, axes[0]
    across = np.cross(z, following)
    if np.linalg.norm(across) <= SNAP:
        apart = apart - (apart @ z) * z
        return (_normal_to(z, apart) if np.linalg.norm(apart) > SNAP else stay), start
    x = across / np.linalg.norm(across)
    t = float(np.cross(apart, following) @ across) / float(across @ across)
    distance = float(apart @ x)
    if abs(distance) > SNAP:
        x = x * math.copysign(1.0, distance)
    elif x @ stay < -SNAP:
        x = -x
    return x, start + t * z


def _normal_to(z: Array, across: Array) -> Array:
    """The unit vector along `across` that is normal to z to the last digit.

    Where axes nearly coincide, their distance is a small difference: what rounding has left of it along z is large once
    the length is one. So it is taken away from the unit vector, twice.
    """
    x: Array = across / np.linalg.norm(across)
    for _ in range(2):
        x = x - (x @ z) * z
        x = x / np.linalg.norm(x)
    return x


def _own_axis(T: Array, z: Array, x: Array) -> Array:
    """The axis of the link's own frame nearest to x that is normal to z, so that zeros of its inertia stay; else x."""
    axes = [sign * T[:3, k] for k in range(3) for sign in (1, -1)]
    fitting = [axis for axis in axes if abs(axis @ z) <= SNAP]
    return max(fitting, key=lambda axis: float(axis @ x)) if fitting else x


def _turned(F: Array, body: LinkModel, own: Array, before: Array | None, planar: bool) -> Array:
    """The last frame turned about its axis, for a centre of mass without y or no product of inertia xy, if it pays.

    `own` is the frame the body is given in; `planar` says that the link turns about one direction only.
    """
    turned = moved(body, _inverse(F) @ own)
    (xx, xy, _), (_, yy, _), _ = turned.inertia
    ways = [F]
    for angle in (math.atan2(turned.com[1], turned.com[0]), math.atan2(2 * xy, xx - yy) / 2):
        c, s = math.cos(angle), math.sin(angle)
        ways.append(_frame(c * F[:3, 0] + s * F[:3, 1], F[:3, 2], F[:3, 3]))
    return min(ways, key=lambda way: _cost(way, body, own, before, planar))


SPREAD = (0, 18, 33, 45)
"""Operations of Newton and Euler's recursion for a centre of mass that has no, one, two or three entries."""

IN_PLANE = 5
"""The same for x or y where all axes are parallel."""

PRODUCT = 8
"""Operations for a product of inertia."""


def _cost(F: Array, body: LinkModel, own: Array, before: Array | None, planar: bool) -> int:
    """The operations that depend on how the last frame is turned."""
    link = moved(body, _inverse(F) @ own)
    offset = before is not None and _angle(before[:3, 0], F[:3, 0], F[:3, 2]) % QUARTER_TURN != 0
    entries = [x != 0 and body.mass != 0 for x in link.com]
    if planar:
        return offset + IN_PLANE * sum(entries[:2])
    (_, xy, xz), (_, _, yz), _ = link.inertia
    return offset + SPREAD[sum(entries)] + PRODUCT * sum(x != 0 for x in (xy, xz, yz))


def _any_normal(z: Array) -> Array:
    """The unit vector that is normal to z and closest to an axis."""
    unit = np.eye(3)[int(np.argmin(np.abs(z)))]
    across = unit - (unit @ z) * z
    normal: Array = across / np.linalg.norm(across)
    return normal


def _frame(x: Array, z: Array, origin: Array) -> Array:
    F = np.eye(4)
    F[:3, 0], F[:3, 1], F[:3, 2], F[:3, 3] = x, np.cross(z, x), z, origin
    return F


def _angle(start: Array, end: Array, about: Array) -> float:
    """From one unit vector to another about a third, right angles exactly."""
    angle = math.atan2(float(np.cross(start, end) @ about), float(start @ end))
    quarters = round(angle / QUARTER_TURN)
    return quarters * QUARTER_TURN if abs(angle - quarters * QUARTER_TURN) <= SNAP else angle


def _length(x: Any) -> float:
    return float(x) if abs(x) > SNAP else 0.0


def _inverse(T: Array) -> Array:
    inverse = np.eye(4)
    inverse[:3, :3], inverse[:3, 3] = T[:3, :3].T, -T[:3, :3].T @ T[:3, 3]
    return inverse


def moved(body: LinkModel, T: Array) -> LinkModel:
    """A body seen from a frame in which its own frame is T."""
    R = T[:3, :3]
    com = _without_dust(R @ np.asarray(body.com) + T[:3, 3], SNAP)
    inertia = R @ np.asarray(body.inertia) @ R.T
    clean = _without_dust(inertia, DUST * float(np.trace(inertia)))
    turned, visuals = tensor(six((clean + clean.T) / 2)), tuple(visual.moved(T) for visual in body.visuals)
    return LinkModel(body.name, body.mass, triple(com), turned, visuals)


def _without_dust(x: Array, least: float) -> Array:
    """What rounding has left where zeros were would be computed with, and cost operations."""
    return np.where(np.abs(x) <= abs(least), 0.0, x)


def _transform(T: Array) -> Transform:
    rounded = np.array(T)
    for whole in (-1.0, 0.0, 1.0):
        rounded[:3, :3][np.abs(T[:3, :3] - whole) <= SNAP] = whole
    rounded[:3, 3] = _without_dust(T[:3, 3], SNAP)
    return transform(rounded)
