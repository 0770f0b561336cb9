"""Robots that share compiled code: they differ only in payload, tool, gravity or mounting.

The body at the tip (with its payload) and the gravity in the frame of the base are inputs of the compiled code. For an
upright robot without payload they are constants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from armwright.model.description import EARTH_GRAVITY, Description
from armwright.model.robot_parameters import BASE_GRAVITY, TIP_BODY
from armwright.model.transforms import IDENTITY_TRANSFORM

COMMON_GRAVITIES = (EARTH_GRAVITY, (0.0, 0.0, -9.80665), (0.0, 0.0, 0.0))
"""Gravities that are compiled in as constants."""


class SharedCode(NamedTuple):
    """The robot whose code is used, the names of its runtime parameters, and their values.

    `base_potential_energy` is the potential energy due to the position of the base, J.
    """

    robot: Description
    names: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()
    base_potential_energy: float = 0.0


def shared_code(robot: Description, vary: tuple[str, ...] = (), moved: bool = True) -> SharedCode:
    """Return the robot whose compiled code serves `robot`: itself if `vary` names a parameter that sharing needs.

    With `moved`, base and tool are set to identity; a law that reads them needs `moved=False`.
    """
    moved = moved and not robot.balls
    loaded = robot.payload is not None
    if any(name == "gravity" or name.startswith("payload.") for name in vary):
        return SharedCode(robot)
    if loaded and any(name.startswith(f"{robot.links[robot.tool_frame.link].name}.") for name in vary):
        return SharedCode(robot)
    base = IDENTITY_TRANSFORM if moved else robot.base
    relative = replace(
        robot, payload=None, base=base, tool=IDENTITY_TRANSFORM if moved else robot.tool, gravity=EARTH_GRAVITY
    )
    upright = robot.gravity in COMMON_GRAVITIES and robot.base == base
    if upright and not loaded:
        return SharedCode(replace(relative, gravity=robot.gravity))
    mechanism = robot.mechanism()
    names: tuple[str, ...] = (BASE_GRAVITY,)
    numbers = tuple(mechanism.gravity)
    if loaded:
        body = mechanism.links[mechanism.solid[robot.tool_frame.link]]
        names, numbers = (*names, TIP_BODY), (*numbers, body.mass, *body.moment, *body.origin_inertia)
    mass = sum(link.mass for link in mechanism.without_compensated_weight.links)
    height = mechanism.base.rotation.T @ mechanism.base.position if moved else None
    base_potential_energy = 0.0 if height is None else -mass * float(mechanism.gravity.dot(height))
    return SharedCode(relative, names, tuple(map(float, numbers)), base_potential_energy)
