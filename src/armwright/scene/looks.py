"""The shapes on every link and on the base, and how large all of it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armwright.errors import ModelError
from armwright.model.description import NO_TRANSFORM
from armwright.model.visual import Mesh, Sphere, Visual
from armwright.robot import Robot
from armwright.scene.bodies import PAYLOAD, base_bodies, bodies, moved_to, size_of
from armwright.scene.triangles import triangles

DENSITY = 2000.0
"""kg/m^3 of a payload, of which only the mass is known."""


@dataclass(frozen=True, eq=False)
class Looks:
    """Shapes seen from the frame of each link, and of frame 0 for the base; `made` if they were made of its frames."""

    base: tuple[Visual, ...]
    links: tuple[tuple[Visual, ...], ...]
    size: float
    """Metres from the base to what is farthest."""
    made: bool
    notes: tuple[str, ...] = ()
    """What could not be shown, and why."""


def looks(robot: Robot) -> Looks:
    """What a robot looks like; where it stands is `robot.base` and `robot.link_poses(q)`.

    Of meshes that cannot be read the shapes are left out, and where nothing is left, bodies are made.
    """
    size, notes = size_of(robot), list[str]()
    base = _readable(robot.base_visuals, notes)
    links = [_readable(link.visuals, notes) for link in robot.links]
    made = not any(links)
    if made:
        base, links = base_bodies(robot, size), bodies(robot, size)
    if robot.payload is not None and robot.tip is not None:
        links[robot.tip] += (_payload(robot),)
    return Looks(tuple(base), tuple(tuple(link) for link in links), size, made, tuple(notes))


def _readable(visuals: tuple[Visual, ...], notes: list[str]) -> tuple[Visual, ...]:
    """Those whose meshes can be read."""
    good = []
    for visual in visuals:
        try:
            if isinstance(visual.shape, Mesh):
                triangles(visual.shape)
            good.append(visual)
        except ModelError as error:
            notes.append(str(error))
    return tuple(good)


def _payload(robot: Robot) -> Visual:
    """A ball of the payload's mass where its centre of mass is."""
    assert robot.payload is not None
    radius = (3 * robot.payload.mass / (4 * np.pi * DENSITY)) ** (1 / 3)
    at = np.asarray(robot.hand.pose) @ moved_to(robot.payload.com)
    return Visual(Sphere(float(radius)), NO_TRANSFORM, PAYLOAD, "payload").moved(at)
