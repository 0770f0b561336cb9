"""Meshes for a browser, each of one colour, with smooth surfaces and sharp edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.model.visual import Visual
from armwright.pages.scene import Triangles, triangles
from armwright.pages.scene.link_shapes import TUBE_COLOUR

SHARP_COSINE = np.cos(np.radians(35))
"""The cosine of the angle between two faces below which their edge is sharp."""

MAX_MESH_FACES = 60000
"""The largest number of faces of a mesh; larger meshes are made coarser."""

MAX_MESH_COLOURS = 12
"""The largest number of colours of a mesh; one with more is drawn in their mean."""

Rgb = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class ColouredMesh:
    """Vertices (v, 3) and faces (f, 3) in the frame of a link, of one colour (0 to 255) and opacity (0 to 1)."""

    vertices: Array
    faces: Array
    colour: Rgb
    opacity: float


def coloured_meshes(visual: Visual) -> list[ColouredMesh]:
    """Return a shape in the frame of its link as meshes of one colour each, from its file or the visual."""
    mesh = triangles(visual.shape).coarser(MAX_MESH_FACES)
    pose = np.asarray(visual.pose)
    placed = Triangles(mesh.vertices @ pose[:3, :3].T + pose[:3, 3], mesh.faces, mesh.colours)
    parts = _parts(placed, visual.rgba or TUBE_COLOUR)
    return [
        ColouredMesh(*split_at_edges(placed.vertices, placed.faces[faces]), colour, opacity)
        for faces, colour, opacity in parts
    ]


def _parts(mesh: Triangles, plain: tuple[float, ...]) -> list[tuple[Array, Rgb, float]]:
    """Return groups of faces with their colour and opacity."""
    if mesh.colours is None or not len(mesh.faces):
        return [(np.arange(len(mesh.faces)), _rgb(np.array(plain) * 255), float(np.clip(plain[3], 0, 1)))]
    colours = mesh.colours[mesh.faces[:, 0]].astype(int)
    known, colour_of = np.unique(colours, axis=0, return_inverse=True)
    if len(known) > MAX_MESH_COLOURS:
        return [(np.arange(len(mesh.faces)), _rgb(colours.mean(axis=0)), 1.0)]
    colour_of = colour_of.ravel()
    return [(np.nonzero(colour_of == k)[0], _rgb(c), float(c[3] / 255) or 1.0) for k, c in enumerate(known)]


def _rgb(colour: Array) -> Rgb:
    red, green, blue = np.clip(np.rint(colour[:3]), 0, 255).astype(int).tolist()
    return red, green, blue


def split_at_edges(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Return the surface with separate vertices on each side of a sharp edge, as normals are means over a vertex."""
    places, faces = _weld(vertices, faces)
    if not len(faces):
        return places.astype(np.float32), faces.astype(np.uint32)
    a, b, c = (places[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    corner = np.arange(3 * len(faces)).reshape(-1, 3)
    ends = np.concatenate([faces[:, [k, (k + 1) % 3]] for k in range(3)])
    corners = np.concatenate([corner[:, [k, (k + 1) % 3]] for k in range(3)])
    swap = ends[:, 0] > ends[:, 1]
    ends[swap], corners[swap] = ends[swap, ::-1], corners[swap, ::-1]
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, corners = ends[order], corners[order]
    face = corners[:, 0] // 3
    smooth = np.sum(normals[face[1:]] * normals[face[:-1]], axis=1) > SHARP_COSINE
    shared = (ends[1:] == ends[:-1]).all(axis=1) & smooth
    one, two = corners[:-1][shared].ravel(), corners[1:][shared].ravel()
    first, group = np.unique(_group_representatives(corner.size, one, two), return_inverse=True)
    return places[faces.ravel()[first]].astype(np.float32), group.reshape(-1, 3).astype(np.uint32)


def _group_representatives(count: int, one: Array, two: Array) -> Array:
    """Return for each vertex the smallest index in its group, which the pairs (one, two) connect."""
    smallest = np.arange(count)
    while True:
        before = smallest.copy()
        both = np.minimum(smallest[one], smallest[two])
        np.minimum.at(smallest, one, both)
        np.minimum.at(smallest, two, both)
        smallest = smallest[smallest]
        if np.array_equal(before, smallest):
            return smallest


def _weld(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Return the mesh with equal vertices merged, without unused vertices and faces without area."""
    used, faces = np.unique(faces, return_inverse=True)
    places, which = np.unique(vertices[used].astype(np.float32), axis=0, return_inverse=True)
    faces = which.ravel()[faces.reshape(-1, 3)]
    a, b, c = faces.T
    return places.astype(float), faces[(a != b) & (b != c) & (c != a)]
