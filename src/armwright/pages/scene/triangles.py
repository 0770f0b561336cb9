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
"""The largest size of a mesh file."""

MESH_SUFFIXES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")

ROUND_SIDES = 32
"""The number of sides of a circle."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """Vertices (v, 3) in metres, faces (f, 3), and a colour for each vertex (v, 4), 0 to 255, if the file has any."""

    vertices: Array
    faces: Array
    colours: Array | None = None

    def coarser(self, max_faces: int) -> Triangles:
        """Return a mesh of about `max_faces` faces: vertices in one cell of a grid are replaced by their mean."""
        mesh, cells = self, 2.0 * max_faces**0.5
        while len(mesh.faces) > max_faces and cells > 2:
            mesh, cells = self._clustered(int(cells)), cells * 0.8
        return mesh

    def _clustered(self, cells: int) -> Triangles:
        low, high = self.vertices.min(axis=0), self.vertices.max(axis=0)
        grid = np.floor((self.vertices - low) / max(float((high - low).max()), 1e-12) * cells).astype(np.int64)
        _, cell_of = np.unique(grid, axis=0, return_inverse=True)
        cell_of = cell_of.ravel()
        count = np.bincount(cell_of)

        def means(values: Array) -> Array:
            return np.stack([np.bincount(cell_of, column) / count for column in values.T], axis=1)

        faces = cell_of[self.faces]
        a, b, c = faces.T
        faces = np.unique(faces[(a != b) & (b != c) & (c != a)], axis=0)
        colours = None if self.colours is None else means(self.colours.astype(float)).astype(np.uint8)
        return Triangles(means(self.vertices), faces, colours)


def triangles(shape: Shape, sides: int = ROUND_SIDES) -> Triangles:
    """Return a shape as triangles in its own frame, circles with `sides`; a ModelError if its file cannot be read."""
    if isinstance(shape, Mesh):
        path = shape.find()
        read = _read(path, os.stat(path).st_mtime_ns)
        return Triangles(read.vertices * np.asarray(shape.scale), read.faces, read.colours)
    return _solid(shape, sides)


@lru_cache(maxsize=256)
@deferred()
def _read(path: Path, changed: int) -> Triangles:
    """Return the triangles of all parts of a file."""
    import trimesh  # noqa: PLC0415  (takes a while)

    if path.suffix.lower() not in MESH_SUFFIXES:
        kinds = ", ".join(MESH_SUFFIXES)
        raise ModelError(f"mesh {path.name} is a {path.suffix or 'nameless'} file; expected one of {kinds}")
    if (size := path.stat().st_size) > MAX_MESH_BYTES:
        raise ModelError(f"mesh {path.name} has {size >> 20} MB; expected at most {MAX_MESH_BYTES >> 20}")
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
    """Return the colour of every vertex of a part; None if it has none."""
    visual, count = part.visual, len(part.vertices)
    if visual.kind is None:
        return None
    if visual.kind == "texture":
        return np.tile(np.asarray(visual.material.main_color, np.uint8), (count, 1))
    return np.asarray(visual.vertex_colors, np.uint8)


@lru_cache(maxsize=256)
@deferred()
def _solid(shape: Solid, sides: int) -> Triangles:
    import trimesh  # noqa: PLC0415

    make: Any = trimesh.creation
    if isinstance(shape, Box):
        mesh = make.box(shape.size)
    elif isinstance(shape, Cylinder):
        mesh = make.cylinder(shape.radius, shape.length, sections=sides)
    elif isinstance(shape, Sphere):
        mesh = make.uv_sphere(shape.radius, count=[sides // 2, sides])
    elif isinstance(shape, Capsule):
        mesh = make.capsule(shape.length, shape.radius, count=[sides // 2, sides])
        mesh.apply_translation(-mesh.bounds.mean(axis=0))
    else:
        assert isinstance(shape, Ellipsoid)
        mesh = make.uv_sphere(1.0, count=[sides // 2, sides])
        mesh.apply_scale(shape.radii)
    return Triangles(np.asarray(mesh.vertices, float), np.asarray(mesh.faces))
