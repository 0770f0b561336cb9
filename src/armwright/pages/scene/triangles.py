"""Meshes and shapes as triangles."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError
from armwright.interrupts import deferred
from armwright.model.visual import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Solid, Sphere

MAX_MESH_BYTES = 100 << 20
"""Of a mesh file."""

MESH_SUFFIXES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")

ROUND_SIDES = 32
"""Sides of what is round."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """Vertices (v, 3) in metres, faces (f, 3), and a colour for each vertex (v, 4), 0 to 255, if the file has any."""

    vertices: Array
    faces: Array
    colours: Array | None = None

    def coarser(self, most: int) -> Triangles:
        """With at most so many faces, or a few more: vertices in one cell of a grid become one, their mean."""
        made, cells = self, 2.0 * most**0.5
        while len(made.faces) > most and cells > 2:
            made, cells = self._clustered(int(cells)), cells * 0.8
        return made

    def _clustered(self, cells: int) -> Triangles:
        low, high = self.vertices.min(axis=0), self.vertices.max(axis=0)
        grid = np.floor((self.vertices - low) / max(float((high - low).max()), 1e-12) * cells).astype(np.int64)
        _, which = np.unique(grid, axis=0, return_inverse=True)
        which = which.ravel()
        count = np.bincount(which)

        def means(values: Array) -> Array:
            return np.stack([np.bincount(which, column) / count for column in values.T], axis=1)

        faces = which[self.faces]
        a, b, c = faces.T
        faces = np.unique(faces[(a != b) & (b != c) & (c != a)], axis=0)
        colours = None if self.colours is None else means(self.colours.astype(float)).astype(np.uint8)
        return Triangles(means(self.vertices), faces, colours)


def triangles(shape: Shape, sides: int = ROUND_SIDES) -> Triangles:
    """A shape as triangles in its own frame, what is round with so many sides.

    A `ModelError` if its file cannot be read.
    """
    if isinstance(shape, Mesh):
        path = shape.find()
        read = _read(path, os.stat(path).st_mtime_ns)
        return Triangles(read.vertices * np.asarray(shape.scale), read.faces, read.colours)
    return _solid(shape, sides)


@lru_cache(maxsize=256)
@deferred()
def _read(path: Path, changed: int) -> Triangles:
    """The triangles of a file, all its parts together."""
    import trimesh  # noqa: PLC0415  (takes a while)

    if path.suffix.lower() not in MESH_SUFFIXES:
        raise ModelError(
            f"mesh {path.name} is a {path.suffix or 'nameless'} file; expected one of {', '.join(MESH_SUFFIXES)}"
        )
    if path.stat().st_size > MAX_MESH_BYTES:
        raise ModelError(
            f"mesh {path.name} has {path.stat().st_size >> 20} MB; expected at most {MAX_MESH_BYTES >> 20}"
        )
    try:
        loaded: Any = trimesh.load(path, process=False)
        listed = loaded.dump() if isinstance(loaded, trimesh.Scene) else [loaded]
        parts = [part for part in listed if isinstance(part, trimesh.Trimesh) and len(part.faces)]
        vertices = np.concatenate([np.array(part.vertices, dtype=float) for part in parts])
        begins = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
        faces = np.concatenate([np.asarray(part.faces) + begin for part, begin in zip(parts, begins, strict=True)])
        colours = [_colours(part) for part in parts]
    except Exception as error:  # readers of foreign files may raise anything
        raise ModelError(f"mesh {path.name} cannot be read: {type(error).__name__}: {error}") from None
    if not np.isfinite(vertices).all():
        raise ModelError(f"mesh {path.name} has vertices that are not finite")
    plain = any(colour is None for colour in colours)
    return Triangles(vertices, faces, None if plain else np.concatenate([c for c in colours if c is not None]))


def _colours(part: Any) -> Array | None:
    """The colour of every vertex of a part, if its file says any."""
    visual, count = part.visual, len(part.vertices)
    if visual.kind is None:
        return None
    if visual.kind == "texture":
        main = np.asarray(visual.material.main_color, np.uint8)
        return np.tile(main, (count, 1))
    return np.asarray(visual.vertex_colors, np.uint8)


@lru_cache(maxsize=256)
@deferred()
def _solid(shape: Solid, sides: int) -> Triangles:
    import trimesh  # noqa: PLC0415

    make: Any = trimesh.creation
    if isinstance(shape, Box):
        made = make.box(shape.size)
    elif isinstance(shape, Cylinder):
        made = make.cylinder(shape.radius, shape.length, sections=sides)
    elif isinstance(shape, Sphere):
        made = make.uv_sphere(shape.radius, count=[sides // 2, sides])
    elif isinstance(shape, Capsule):
        made = make.capsule(shape.length, shape.radius, count=[sides // 2, sides])
        made.apply_translation(-made.bounds.mean(axis=0))
    else:
        assert isinstance(shape, Ellipsoid)
        made = make.uv_sphere(1.0, count=[sides // 2, sides])
        made.apply_scale(shape.radii)
    return Triangles(np.asarray(made.vertices, float), np.asarray(made.faces))
