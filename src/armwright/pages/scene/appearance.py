"""The shapes on every link and on the base, and how large all of it is."""

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
"""kg/m^3 of a payload, of which only the mass is known."""


@dataclass(frozen=True, eq=False)
class Appearance:
    """Shapes seen from the frame of each link, and of frame 0 for the base; `made` if they were made of its frames."""

    base: tuple[Visual, ...]
    links: tuple[tuple[Visual, ...], ...]
    size: float
    """Metres from the base to what is farthest."""
    made: bool
    notes: tuple[str, ...] = ()
    """What could not be shown, and why."""


def appearance_of(robot: Robot) -> Appearance:
    """Return the shapes of a robot; `robot.base` and `robot.link_poses(q)` place them.

    Where a mesh cannot be read its link has bodies made from frames instead.
    """
    size, lost = robot_size(robot), dict[Mesh, str]()
    seen = [robot.base_visuals, *(link.visuals for link in robot.links)]
    base, *links = (tuple(visual for visual in visuals if _reads(visual.shape, lost)) for visuals in seen)
    made = not any(links)
    if made:
        base, links = base_shapes(robot, size), link_shapes(robot, size)
    elif lost:
        holes = [any(visual.shape in lost for visual in visuals) for visuals in seen]
        fill = zip(holes, (base, *links), (base_shapes(robot, size), *link_shapes(robot, size)), strict=True)
        base, *links = (left + bare if hole else left for hole, left, bare in fill)
    if robot.payload is not None and robot.tip is not None:
        links[robot.tip] += (_payload(robot),)
    meshes = {visual.shape for visuals in seen for visual in visuals if isinstance(visual.shape, Mesh)}
    return Appearance(
        tuple(base), tuple(tuple(link) for link in links), size, made, tuple(_mesh_notes(lost, len(meshes)))
    )


def _reads(shape: Shape, lost: dict[Mesh, str]) -> bool:
    """Return True if a shape can be drawn; a lost mesh has a reason, "" if there is no such file."""
    if not isinstance(shape, Mesh):
        return True
    try:
        triangles(shape)
    except ModelError as error:
        lost[shape] = "" if isinstance(error, MissingMeshError) else str(error)
    return shape not in lost


def _mesh_notes(lost: Mapping[Mesh, str], count: int) -> Iterator[str]:
    """Return notes: one sentence for all missing meshes, and one for each that cannot be read."""
    yield from (why for why in lost.values() if why)
    missing = [mesh.file for mesh, why in lost.items() if not why]
    if not missing:
        return
    text = f"{len(missing)} of {count} meshes not found, bodies stand in for them; "
    package, _, rest = missing[0].removeprefix(SCHEME).partition("/")
    if missing[0].startswith(SCHEME):
        text += f"give --package {package}=FOLDER with the folder that has {rest} in it (in Python: packages)"
    else:
        text += f"{missing[0]} is not in a file"
    yield text


def _payload(robot: Robot) -> Visual:
    """A ball of the payload's mass where its centre of mass is."""
    assert robot.payload is not None
    radius = (3 * robot.payload.mass / (4 * np.pi * PAYLOAD_DENSITY)) ** (1 / 3)
    at = np.asarray(robot.tool_frame.pose) @ translation(robot.payload.com)
    return Visual(Sphere(float(radius)), IDENTITY_TRANSFORM, PAYLOAD_COLOUR, "payload").moved(at)
