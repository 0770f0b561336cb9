"""The shapes of every link and of the base, and the size of a robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from armwright.errors import ModelError
from armwright.model.meshes import MissingMeshError
from armwright.model.packages import SCHEME
from armwright.model.transforms import IDENTITY_TRANSFORM
from armwright.model.visual import Mesh, Shape, Sphere, Visual
from armwright.pages.scene.link_shapes import PAYLOAD_COLOUR, base_shapes, link_shapes, robot_size, translation
from armwright.pages.scene.triangles import triangles
from armwright.robot import Robot

PAYLOAD_DENSITY = 2000.0
"""The density, kg/m^3, with which a payload is drawn as a sphere."""


@dataclass(frozen=True, eq=False)
class Appearance:
    """The shapes of each link in its frame, and of the base in frame 0; `generated` if the file has none."""

    base: tuple[Visual, ...]
    links: tuple[tuple[Visual, ...], ...]
    size: float
    """The distance from the base to the farthest frame, m."""
    generated: bool
    notes: tuple[str, ...] = ()
    """Sentences on meshes that are not shown."""


def appearance_of(robot: Robot) -> Appearance:
    """Return the shapes of a robot; `robot.base` and `robot.link_poses(q)` place them.

    A link with a mesh that cannot be read gets generated shapes instead.
    """
    size, unreadable = robot_size(robot), dict[Mesh, str]()
    described = [robot.base_visuals, *(link.visuals for link in robot.links)]
    base, *links = (tuple(x for x in visuals if _is_readable(x.shape, unreadable)) for visuals in described)
    generated = not any(links)
    if generated:
        base, links = base_shapes(robot, size), link_shapes(robot, size)
    elif unreadable:
        incomplete = [any(visual.shape in unreadable for visual in visuals) for visuals in described]
        bodies = zip(incomplete, (base, *links), (base_shapes(robot, size), *link_shapes(robot, size)), strict=True)
        base, *links = (read + generic if missing else read for missing, read, generic in bodies)
    if robot.payload is not None and robot.tip is not None:
        links[robot.tip] += (_payload(robot),)
    meshes = {visual.shape for visuals in described for visual in visuals if isinstance(visual.shape, Mesh)}
    notes = tuple(_mesh_notes(unreadable, len(meshes)))
    return Appearance(tuple(base), tuple(map(tuple, links)), size, generated, notes)


def _is_readable(shape: Shape, unreadable: dict[Mesh, str]) -> bool:
    """Return True if a shape can be drawn; else add its mesh and the reason, "" for a missing file, to `unreadable`."""
    if not isinstance(shape, Mesh):
        return True
    try:
        triangles(shape)
    except ModelError as error:
        unreadable[shape] = "" if isinstance(error, MissingMeshError) else str(error)
    return shape not in unreadable


def _mesh_notes(unreadable: Mapping[Mesh, str], count: int) -> Iterator[str]:
    """Yield one sentence for each mesh that cannot be read, and one for all missing meshes."""
    yield from (why for why in unreadable.values() if why)
    missing = [mesh.file for mesh, why in unreadable.items() if not why]
    if not missing:
        return
    text = f"{len(missing)} of {count} meshes not found, generated shapes replace them; "
    package, _, rest = missing[0].removeprefix(SCHEME).partition("/")
    if missing[0].startswith(SCHEME):
        text += f"give --package {package}=FOLDER with the folder that has {rest} in it (in Python: packages)"
    else:
        text += f"{missing[0]} is not in a file"
    yield text


def _payload(robot: Robot) -> Visual:
    """Return a sphere with the mass of the payload at its centre of mass."""
    assert robot.payload is not None
    radius = (3 * robot.payload.mass / (4 * np.pi * PAYLOAD_DENSITY)) ** (1 / 3)
    pose = np.asarray(robot.tool_frame.pose) @ translation(robot.payload.com)
    return Visual(Sphere(float(radius)), IDENTITY_TRANSFORM, PAYLOAD_COLOUR, "payload").moved(pose)
