"""A robot drawn as SVG, for notebooks and documents: triangles from back to front, in the light of a lamp above."""

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
"""Triangles of a picture, shared by all shapes; finer meshes become coarser."""

MAX_DRAWING_EDGE, MAX_EDGE_SPLITS = 0.16, 6
"""The longest edge of a triangle in a picture, as a part of the picture, and how often one is cut in two for it."""

CYLINDER_SIDES = 14
DEFAULT_AZIMUTH, DEFAULT_ELEVATION = -55.0, 18.0
"""The default view of a picture, degrees."""


def parts(
    robot: Robot, most: int = MAX_DRAWING_TRIANGLES, sides: int = CYLINDER_SIDES
) -> Iterator[tuple[int, Array, Colour]]:
    """Every shape of a robot: its link (-1 for the base), its triangles (f, 3, 3) in the link's frame, its colour."""
    seen = appearance_of(robot)
    shapes = [(-1, visual) for visual in seen.base]
    shapes += [(i, visual) for i, link in enumerate(seen.links) for visual in link]
    share = max(200, most // max(len(shapes), 1))
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
    robot: Robot, q: ArrayLike | None = None, most: int = MAX_DRAWING_TRIANGLES, sides: int = CYLINDER_SIDES
) -> Iterator[tuple[Array, Colour]]:
    """The triangles (f, 3, 3) of every shape of a robot in the world, at q or where it is neutral, with its colour."""
    poses = robot.link_poses(robot.neutral if q is None else q)
    for link, faces, colour in parts(robot, most, sides):
        T = np.asarray(robot.base) if link < 0 else poses[link]
        yield faces @ T[:3, :3].T + T[:3, 3], colour


def view_axes(azimuth: float, elevation: float) -> Array:
    """The axes of a picture seen from a direction in degrees: right, up, and toward who looks, as rows."""
    a, e = np.radians([azimuth, elevation])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    toward = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    return np.stack([right, np.cross(toward, right), toward])


def lit_colours(faces: Array, colour: Colour) -> Array:
    """The colours (f, 3) of triangles in the light."""
    normals = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    facing = np.clip((normals / np.maximum(lengths, 1e-300)) @ LIGHT_DIRECTION, 0.0, 1.0)
    lit: Array = np.clip((AMBIENT_LIGHT + DIRECT_LIGHT * facing)[:, None] * np.array(colour[:3]), 0.0, 1.0)
    return lit


def svg(robot: Robot, q: ArrayLike | None = None, width: int = 320) -> str:
    """A picture of a robot, seen from the side and a little above."""
    shapes = list(coloured_triangles(robot, q))
    faces = np.concatenate([part for part, _ in shapes])
    colours = np.concatenate([lit_colours(part, colour) for part, colour in shapes])
    faces, colours = split_long_edges(faces, colours, MAX_DRAWING_EDGE * float(np.ptp(faces, axis=(0, 1)).max()))
    seen = faces @ view_axes(DEFAULT_AZIMUTH, DEFAULT_ELEVATION).T
    order = back_to_front(seen)
    low, high = seen[..., :2].min(axis=(0, 1)), seen[..., :2].max(axis=(0, 1))
    scale = 0.92 * width / max(float((high - low).max()), 1e-9)
    height = int(np.ceil(scale * (high - low)[1] / 0.92)) + 8
    middle = (low + high) / 2
    flat = (seen[..., :2] - middle) * scale * [1, -1] + [width / 2, height / 2]
    lines = [
        f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in flat[i])}" fill="{(colour := _hex(colours[i]))}" '
        f'stroke="{colour}"/>'
        for i in order
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join([f'{head} role="img" stroke-width="0.4" stroke-linejoin="round">', *lines, "</svg>"])


def back_to_front(seen: Array) -> Array:
    """The order in which triangles (f, 3, 3) in the axes of a picture are drawn; those that look away are left out."""
    normal = np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])[:, 2]
    order = np.argsort(seen[:, :, 2].mean(axis=1), kind="stable")
    found: Array = order[normal[order] > 0]
    return found


def split_long_edges(faces: Array, colours: Array, longest: float) -> tuple[Array, Array]:
    """Triangles cut in two until no edge is too long: what is long has no one place between back and front."""
    for _ in range(MAX_EDGE_SPLITS):
        edges = np.linalg.norm(np.roll(faces, -1, axis=1) - faces, axis=2)
        cut = edges.max(axis=1) > longest
        if not cut.any():
            break
        turned = faces[cut][np.arange(cut.sum())[:, None], (edges[cut].argmax(axis=1)[:, None] + np.arange(3)) % 3]
        middle = (turned[:, 0] + turned[:, 1]) / 2
        halves = np.stack([turned[:, 0], middle, turned[:, 2]], 1), np.stack([middle, turned[:, 1], turned[:, 2]], 1)
        faces = np.concatenate([faces[~cut], *halves])
        colours = np.concatenate([colours[~cut], colours[cut], colours[cut]])
    return faces, colours


def _hex(colour: Array) -> str:
    red, green, blue = (round(255 * x) for x in colour.tolist())
    return f"#{red:02x}{green:02x}{blue:02x}"
