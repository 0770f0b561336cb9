"""The shapes of a link, which bound the positions of its mass."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from armwright.algebra import Array
from armwright.check.mesh_files import UnreadableMesh, mesh_triangles
from armwright.lazy import cached_property

CIRCLE_SIDES = 24
"""Number of sides that approximate a circle."""


@dataclass(frozen=True, eq=False)
class LinkShape:
    """A box, cylinder (along z), sphere or mesh on a link, with its pose and the sides of its bounding box.

    Of a mesh `sides` is the scale, `name` that in the file. Other shapes, and meshes without `file`, are unreadable.
    """

    kind: str
    sides: Array
    pose: Array
    file: Path | None = None
    name: str = ""

    @property
    def triangles(self) -> Array:
        """Triangles in the link frame, all with the same orientation; an unreadable shape raises `UnreadableMesh`."""
        if self.kind == "mesh" and self.file is not None:
            local = mesh_triangles(self.file)
        elif self.kind in _PROFILES:
            local = _revolved(*_PROFILES[self.kind])
        else:
            raise UnreadableMesh(self.kind)
        return self._in_link_frame(local)

    @property
    def corners(self) -> Array:
        """Corners of the bounding box in the link frame."""
        return self._in_link_frame(np.array(list(itertools.product((-0.5, 0.5), repeat=3))))

    def _in_link_frame(self, local: Array) -> Array:
        placed: Array = (local * self.sides) @ self.pose[:3, :3].T + self.pose[:3, 3]
        return placed

    @property
    def solid(self) -> bool:
        """The shape has a volume that is known without a mesh file."""
        return self.kind in _PROFILES and bool(np.all(self.sides > 0))

    def tensor(self, mass: float) -> Array:
        """Return the tensor for one density about the centre, in the axes of the link frame."""
        x, y, z = self.sides**2
        if self.kind == "box":
            moments = np.array([y + z, x + z, x + y]) / 12
        elif self.kind == "cylinder":
            moments = np.array([x / 16 + z / 12, x / 16 + z / 12, x / 8])
        else:
            moments = np.array([x, x, x]) / 10
        R = self.pose[:3, :3]
        tensor: Array = R @ np.diag(mass * moments) @ R.T
        return tensor


def _revolved(profile: Sequence[tuple[float, float]], sides: int) -> Array:
    """Return the triangles of a profile of radii and heights revolved about z; four sides make a box."""
    angles = (np.arange(sides) + 0.5) * 2 * np.pi / sides
    rings = [np.stack([r * np.cos(angles), r * np.sin(angles), np.full(sides, z)], axis=1) for r, z in profile]
    triangles = []
    for one, two in itertools.pairwise(rings):
        next_one, next_two = np.roll(one, -1, axis=0), np.roll(two, -1, axis=0)
        triangles += [np.stack([one, next_one, next_two], axis=1), np.stack([one, next_two, two], axis=1)]
    return np.concatenate(triangles)


_HALF_CIRCLE = [(0.5 * float(np.sin(a)), -0.5 * float(np.cos(a))) for a in np.linspace(0, np.pi, CIRCLE_SIDES // 2 + 1)]
_PROFILES = {
    "box": ([(0.0, -0.5), (0.5**0.5, -0.5), (0.5**0.5, 0.5), (0.0, 0.5)], 4),
    "cylinder": ([(0.0, -0.5), (0.5, -0.5), (0.5, 0.5), (0.0, 0.5)], CIRCLE_SIDES),
    "sphere": (_HALF_CIRCLE, CIRCLE_SIDES),
}
"""Profiles of shapes with sides of length one, and their numbers of sides."""


@dataclass(frozen=True, eq=False)
class ShapeGroup:
    """The visual shapes, or the collision shapes, of a link."""

    shapes: tuple[LinkShape, ...]

    @property
    def meshes(self) -> bool:
        """One of the shapes is a mesh."""
        return any(shape.kind == "mesh" for shape in self.shapes)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the meshes that are missing or may not be read."""
        return tuple(shape.name for shape in self.shapes if shape.kind == "mesh" and shape.file is None)

    @cached_property
    def hull(self) -> Hull | None:
        """Hull of all shapes, read on first use; None without shapes or with an unreadable one."""
        try:
            triangles = [_outwards(shape.triangles) for shape in self.shapes]
        except UnreadableMesh:
            return None
        return Hull(np.concatenate(triangles)) if triangles else None


def _outwards(triangles: Array) -> Array:
    """Return triangles with outward normals; shapes may be mirrored."""
    middle = triangles.reshape(-1, 3).mean(axis=0)
    return triangles[:, ::-1] if np.linalg.det(triangles - middle).sum() < 0 else triangles


@dataclass(frozen=True, eq=False)
class Hull:
    """Triangles (n, 3, 3) in the link frame that enclose a body."""

    triangles: Array

    @cached_property
    def corners(self) -> Array:
        """Corners of all triangles."""
        corners: Array = self.triangles.reshape(-1, 3)
        return corners

    @cached_property
    def filled(self) -> tuple[Array, Array] | None:
        """Centre, and second moment about it, of a body with one density and mass 1.

        They are sums over signed tetrahedra from the mean corner to each triangle. None if, due to holes, the volume is
        less than a hundredth of the bounding box.
        """
        mean = self.corners.mean(axis=0)
        arms = self.triangles - mean
        volumes = np.linalg.det(arms) / 6
        if not volumes.sum() > 0.01 * np.prod(np.ptp(self.corners, axis=0)) > 0:
            return None
        shares, sums = volumes / volumes.sum(), arms.sum(axis=1)
        middle = shares @ sums / 4
        squares = np.einsum("t,tki,tkj->ij", shares, arms, arms) + np.einsum("t,ti,tj->ij", shares, sums, sums)
        moment: Array = squares / 20 - np.outer(middle, middle)
        return (mean + middle, moment) if np.linalg.eigvalsh(moment)[0] > 0 else None

    def span(self, u: Array) -> tuple[float, float]:
        """Return the smallest and largest coordinate along a direction."""
        along = self.corners @ u
        return float(along.min()), float(along.max())
