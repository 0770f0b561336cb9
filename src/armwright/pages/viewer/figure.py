"""A robot in a viser scene: its shapes are sent once, then its links are moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.interrupts import deferred
from armwright.names import shown
from armwright.pages.scene import Appearance
from armwright.pages.scene.link_shapes import mass_spread
from armwright.pages.viewer.solids import ColouredMesh, Rgb, coloured_meshes, split_at_edges
from armwright.robot import Robot

CENTRE_COLOUR: Rgb = (250, 190, 40)
ELLIPSOID_COLOUR: Rgb = (70, 130, 220)
GHOST_COLOUR: Rgb = (250, 140, 50)
GHOST_OPACITY = 0.35


class RobotFigure:
    """The nodes of one robot under a name; a ghost is transparent and has one colour."""

    def __init__(self, server: Any, root: str, robot: Robot, size: float, ghost: bool = False) -> None:
        self._scene, self._root, self._robot, self._size, self._ghost = server.scene, root, robot, size, ghost
        axes = {"axes_length": 0.13 * size, "axes_radius": 0.004 * size, "origin_radius": 0.0, "show_axes": False}
        self._base = self._scene.add_frame(f"{root}/base", **axes, **viser_pose(np.asarray(robot.base)))
        self._links = [self._scene.add_frame(f"{root}/link{i}", **axes) for i in range(len(robot.links))]
        self._shapes: list[tuple[Any, float | None]] = []
        self._extras: dict[str, list[Any]] = {}
        self._poses: Array | None = None

    def add_shapes(self, appearance: Appearance) -> None:
        """Send the shapes of every link, and of the base unless this is a ghost."""
        for k, visual in enumerate(() if self._ghost else appearance.base):
            self._send(f"{self._root}/base/{k}", coloured_meshes(visual))
        for i, visuals in enumerate(appearance.links):
            for k, visual in enumerate(visuals):
                self._send(f"{self._root}/link{i}/{k}", coloured_meshes(visual))

    def _send(self, name: str, parts: list[ColouredMesh]) -> None:
        for k, part in enumerate(parts):
            if not len(part.faces):
                continue
            opacity = GHOST_OPACITY if self._ghost else part.opacity
            look: dict[str, Any] = {"color": GHOST_COLOUR if self._ghost else part.colour, "side": "double"}
            look |= {"opacity": opacity if opacity < 1 else None, "cast_shadow": not self._ghost}
            mesh = (f"{name}.{k}", part.vertices, part.faces)
            node = self._scene.add_mesh_simple(*mesh, receive_shadow=False, **look)
            self._shapes.append((node, node.opacity))

    def move(self, poses: Array) -> None:
        """Move every link whose pose in the world has changed."""
        for i, (node, T) in enumerate(zip(self._links, poses, strict=True)):
            if self._poses is None or not np.array_equal(self._poses[i], T):
                pose = viser_pose(T)
                node.position, node.wxyz = pose["position"], pose["wxyz"]
        self._poses = poses.copy()

    def remove(self) -> None:
        """Remove the robot from the scene."""
        for node in (self._base, *self._links):
            node.remove()

    def show(self, what: str, on: bool) -> None:
        """Show or hide shapes, frames, names, centres or inertia ellipsoids, or make shapes "transparent"."""
        if what == "shapes":
            for node, _ in self._shapes:
                node.visible = on
        elif what == "transparent":
            for node, opacity in self._shapes:
                node.opacity = min(GHOST_OPACITY, opacity or 1.0) if on else opacity
        elif what == "frames":
            for node in (self._base, *self._links):
                node.show_axes = on
        else:
            if what not in self._extras and on:
                self._extras[what] = [made for i in range(len(self._links)) if (made := self._extra(what, i))]
            for node in self._extras.get(what, ()):
                node.visible = on

    def _extra(self, what: str, i: int) -> Any:
        link, name = self._robot.links[i], f"{self._root}/link{i}/{what}"
        if what == "names":
            return self._scene.add_label(name, shown(link.name))
        if link.mass <= 0:
            return None
        if what == "centres":
            share = (link.mass / max(body.mass for body in self._robot.links)) ** (1 / 3)
            radius = self._size * (0.012 + 0.02 * share)
            return self._scene.add_icosphere(name, radius, color=CENTRE_COLOUR, position=link.com, cast_shadow=False)
        if (found := ellipsoid(link.mass, np.asarray(link.inertia, dtype=float))) is None:
            return None
        radii, axes = found
        vertices, faces = _unit_sphere()
        look = {"color": ELLIPSOID_COLOUR, "opacity": 0.45, "cast_shadow": False}
        return self._scene.add_mesh_simple(name, (vertices * radii) @ axes.T, faces, position=link.com, **look)


def ellipsoid(mass: float, inertia: Array) -> tuple[Array, Array] | None:
    """Return the semi-axes and directions of the uniform ellipsoid with this mass and inertia, or None."""
    if (spread := mass_spread(mass, inertia)) is None:
        return None
    squares, axes = spread
    # twice the mean square of each coordinate, which in a uniform ellipsoid is a fifth of the squared semi-axis
    return np.sqrt(2.5 * np.maximum(squares, 1e-4 * squares.max())), axes


@deferred()
def _unit_sphere() -> tuple[Array, Array]:
    """Return the vertices and faces of a unit sphere."""
    import trimesh  # noqa: PLC0415  (takes a while)

    made: Any = trimesh.creation.icosphere(subdivisions=3)
    return split_at_edges(np.asarray(made.vertices), np.asarray(made.faces))


def viser_pose(T: Array) -> dict[str, Any]:
    """Return a pose as viser takes it: position, and a quaternion with w first."""
    from viser.transforms import SO3  # noqa: PLC0415  (viser is optional)

    return {"position": T[:3, 3].copy(), "wxyz": SO3.from_matrix(T[:3, :3]).wxyz}


def pose_matrix(position: Array, wxyz: Array) -> Array:
    """Return the transform (4, 4) of a position and a quaternion with w first."""
    from viser.transforms import SO3  # noqa: PLC0415

    T = np.eye(4)
    T[:3, :3] = SO3(np.asarray(wxyz, float) / np.linalg.norm(wxyz)).as_matrix()
    T[:3, 3] = position
    return T
