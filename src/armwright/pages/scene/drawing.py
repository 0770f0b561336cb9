"""Draw a robot as SVG for notebooks and documents: shaded triangles from back to front."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.model.visual import Colour, Mesh
from armwright.pages.scene.appearance import appearance_of
from armwright.pages.scene.triangles import triangles
from armwright.robot import Robot

MESH_COLOUR: Colour = (0.72, 0.75, 0.79, 1.0)
LIGHT_DIRECTION = np.array([0.35, -0.45, 0.82])
AMBIENT_LIGHT, DIRECT_LIGHT = 0.55, 0.45
MAX_DRAWING_TRIANGLES = 4000
"""The largest number of triangles of a picture; finer meshes are made coarser."""

MAX_DRAWING_EDGE, MAX_EDGE_SPLITS = 0.16, 6
"""The longest edge of a triangle, as a part of the picture, and the largest number of times that one is halved."""

CYLINDER_SIDES = 14
DEFAULT_AZIMUTH, DEFAULT_ELEVATION = -55.0, 18.0
"""The default view of a picture, degrees."""


def link_triangles(
    robot: Robot, max_triangles: int = MAX_DRAWING_TRIANGLES, sides: int = CYLINDER_SIDES
) -> Iterator[tuple[int, Array, Colour]]:
    """Yield every shape: its link (-1 for the base), its triangles (f, 3, 3) in the frame of the link, its colour."""
    appearance = appearance_of(robot)
    shapes = [(-1, visual) for visual in appearance.base]
    shapes += [(i, visual) for i, link in enumerate(appearance.links) for visual in link]
    share = max(200, max_triangles // max(len(shapes), 1))
    for link, visual in shapes:
        mesh = triangles(visual.shape, sides)
        mesh = mesh.coarser(share) if isinstance(visual.shape, Mesh) else mesh
        T = np.asarray(visual.pose)
        colour = visual.rgba or MESH_COLOUR
        if visual.rgba is None and mesh.colours is not None:
            red, green, blue, opacity = (mesh.colours.mean(axis=0) / 255).tolist()
            colour = (red, green, blue, opacity)
        yield link, (mesh.vertices @ T[:3, :3].T + T[:3, 3])[mesh.faces], colour


def coloured_triangles(
    robot: Robot, q: ArrayLike | None = None, max_triangles: int = MAX_DRAWING_TRIANGLES, sides: int = CYLINDER_SIDES
) -> Iterator[tuple[Array, Colour]]:
    """Yield the triangles (f, 3, 3) of every shape in the world at q, by default the neutral pose, and its colour."""
    poses = robot.link_poses(robot.neutral if q is None else q)
    for link, faces, colour in link_triangles(robot, max_triangles, sides):
        T = np.asarray(robot.base) if link < 0 else poses[link]
        yield faces @ T[:3, :3].T + T[:3, 3], colour


def view_axes(azimuth: float, elevation: float) -> Array:
    """Return the axes of a view, angles in degrees, as rows: right, up, and towards the viewer."""
    a, e = np.radians([azimuth, elevation])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    toward = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    return np.stack([right, np.cross(toward, right), toward])


def lit_colours(faces: Array, colour: Colour) -> Array:
    """Return the shaded colours (f, 3) of triangles."""
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    facing = np.clip((normals / np.maximum(lengths, 1e-300)) @ LIGHT_DIRECTION, 0.0, 1.0)
    lit: Array = np.clip((AMBIENT_LIGHT + DIRECT_LIGHT * facing)[:, None] * np.array(colour[:3]), 0.0, 1.0)
    return lit


def svg(robot: Robot, q: ArrayLike | None = None, width: int = 320) -> str:
    """Return a picture of a robot, seen from the side and a little above."""
    shapes = list(coloured_triangles(robot, q))
    faces = np.concatenate([part for part, _ in shapes])
    colours = np.concatenate([lit_colours(part, colour) for part, colour in shapes])
    faces, colours = split_long_edges(faces, colours, MAX_DRAWING_EDGE * float(np.ptp(faces, axis=(0, 1)).max()))
    viewed = faces @ view_axes(DEFAULT_AZIMUTH, DEFAULT_ELEVATION).T
    order = back_to_front(viewed)
    low, high = viewed[..., :2].min(axis=(0, 1)), viewed[..., :2].max(axis=(0, 1))
    scale = 0.92 * width / max(float((high - low).max()), 1e-9)
    height = int(np.ceil(scale * (high - low)[1] / 0.92)) + 8
    middle = (low + high) / 2
    pixels = (viewed[..., :2] - middle) * scale * [1, -1] + [width / 2, height / 2]
    lines = [
        f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in pixels[i])}" fill="{(colour := _hex(colours[i]))}" '
        f'stroke="{colour}"/>'
        for i in order
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join([f'{head} role="img" stroke-width="0.4" stroke-linejoin="round">', *lines, "</svg>"])


def back_to_front(faces: Array) -> Array:
    """Return the order in which to draw triangles (f, 3, 3) in view axes, without those that face away."""
    normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])[:, 2]
    order = np.argsort(faces[:, :, 2].mean(axis=1), kind="stable")
    visible: Array = order[normal[order] > 0]
    return visible


def split_long_edges(faces: Array, colours: Array, longest: float) -> tuple[Array, Array]:
    """Return triangles halved until no edge is too long, as long triangles cannot be sorted by distance."""
    for _ in range(MAX_EDGE_SPLITS):
        edges = np.linalg.norm(np.roll(faces, -1, axis=1) - faces, axis=2)
        long = edges.max(axis=1) > longest
        if not long.any():
            break
        rotated = faces[long][np.arange(long.sum())[:, None], (edges[long].argmax(axis=1)[:, None] + np.arange(3)) % 3]
        middle = (rotated[:, 0] + rotated[:, 1]) / 2
        halves = (
            np.stack([rotated[:, 0], middle, rotated[:, 2]], 1),
            np.stack([middle, rotated[:, 1], rotated[:, 2]], 1),
        )
        faces = np.concatenate([faces[~long], *halves])
        colours = np.concatenate([colours[~long], colours[long], colours[long]])
    return faces, colours


def _hex(colour: Array) -> str:
    red, green, blue = (round(255 * x) for x in colour.tolist())
    return f"#{red:02x}{green:02x}{blue:02x}"
