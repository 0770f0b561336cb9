"""Assignment of actuators to the joints of a robot, with the places of their masses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armwright.actuators.actuator import Actuator, Drive, Hydraulic
from armwright.algebra import Symmetric, Vector
from armwright.errors import InputError, ModelError, unknown
from armwright.mechanism import Link
from armwright.model.composite import composite
from armwright.model.records import LinkModel
from armwright.model.table_reader import Reader
from armwright.model.transforms import symmetric, tensor, triple
from armwright.robot import Robot

INERTIA_TOLERANCE = 1e-9
"""Largest relative violation of the triangle inequality by principal inertias, due to rounding."""


@dataclass(frozen=True)
class Mount:
    """The place of an actuator as a point mass: a link, -1 for the base, and a point in its frame."""

    link: int
    point: Vector


def mounts(robot: Robot, places: Mapping[str, Any] | None = None) -> tuple[Mount, ...]:
    """Return the places of all actuators: by default on the link before, at the frame of the joint at q = 0.

    `places` overrides them by the names of joints: (link, point). The link is "base" or lies between the base and the
    joint, so that no actuator moves itself.
    """
    places = places or {}
    for row in robot.rows:
        if row.kind:
            raise InputError(
                f"{row.name} of {robot.name} is part of a {row.kind} joint; actuators are for joints of one freedom"
            )
    names = [joint.name for joint in robot.joints]
    for name in places:
        if name not in names:
            raise unknown(f"joint of {robot.name}:", name, names)
    rows = [row.name for row in robot.rows]
    return tuple(_mount(robot, rows.index(name), places.get(name)) for name in names)


def _mount(robot: Robot, row: int, place: Any) -> Mount:
    name = robot.rows[row].name
    if place is None:
        offset = robot.mechanism().joints[row].offset(0.0)
        return Mount(robot.parents[row], Vector(*map(float, offset)))
    if not isinstance(place, Sequence) or isinstance(place, str) or len(place) != 2:
        raise InputError(f"mounts: {name} has {place!r}; expected (link, point), such as ('forearm', (0, 0, 0.1))")
    before, i = {"base": -1}, robot.parents[row]
    while i >= 0:
        before[robot.links[i].name] = i
        i = robot.parents[i]
    if place[0] not in before:
        raise InputError(f"mounts: {name} on {place[0]!r}; expected a link that comes before it: {', '.join(before)}")
    point = Reader({"point": place[1]}, lambda _key: f"mounts, {name}").triple("point")
    return Mount(before[place[0]], Vector(*point))


def fitted(
    robot: Robot,
    drives: Mapping[str, Drive] | Sequence[Drive],
    mounts_at: Mapping[str, Any] | None = None,
    *,
    masses: bool = True,
) -> Robot:
    """Return the robot with its actuators, a list from base to tip or a mapping by the names of joints.

    Rotors, largest torques and speeds are those of the actuators. Their friction adds to the friction of the joints,
    which is that of the bearings. A cylinder has no rotor, and its limits vary with the lever: the robot has none.
    Masses are points on the link before each joint, or at the places of `mounts_at`; `masses=False` adds none, for a
    robot whose links include them.
    """
    chosen = by_joint(robot, drives)
    places = dict(zip([joint.name for joint in robot.joints], mounts(robot, mounts_at), strict=True))
    links = list(robot.links)
    for name, drive in chosen.items():
        if masses and (place := places[name]).link >= 0:
            links[place.link] = _with_point_mass(links[place.link], drive.mass, place.point)

    def with_drive(joint: Any) -> Any:
        drive = chosen.get(joint.name)
        if drive is None:
            return joint
        if isinstance(drive, Hydraulic):
            return replace(joint, rotor_inertia=0.0)
        ratio = drive.gearbox.ratio
        return replace(
            joint,
            rotor_inertia=drive.inertia,
            gear=ratio,
            coulomb=joint.coulomb + ratio * drive.dry_friction,
            viscous=joint.viscous + ratio**2 * drive.viscous_friction,
            max_torque=drive.max_torque,
            max_velocity=drive.max_velocity,
        )

    return replace(robot, links=tuple(links)).map_joints(with_drive)


def without_drives(robot: Robot, masses: Mapping[str, Any]) -> Robot:
    """Return the robot without the masses of its drives, so that others can be assigned.

    `masses` has by link the drives in it: kilograms, which scale the inertia with the mass, or (mass, (x, y, z)) with
    their point in the frame of the link.
    """
    links = {link.name: link for link in robot.links}
    for name, entry in masses.items():
        if name not in links:
            raise unknown(f"link of {robot.name}:", name, list(links))
        mass, point = entry if isinstance(entry, Sequence) and len(entry) == 2 else (entry, None)
        row = Reader({"mass": mass, "point": point}, lambda _key, name=name: f"without_drives, {name}")  # type: ignore[misc]
        try:
            removed = row.at_least_zero("mass", "kilograms")
            links[name] = _with_less_mass(links[name], removed, None if point is None else Vector(*row.triple("point")))
        except ModelError as error:
            raise InputError(str(error)) from None
    return replace(robot, links=tuple(links.values()))


def _with_less_mass(link: LinkModel, mass: float, point: Vector | None) -> LinkModel:
    """Return a link without a part of its mass, if the rest can be a body."""
    if mass >= link.mass > 0 or mass > link.mass:
        text = f"{link.name} has drives of {mass:g} kg; expected less than its {link.mass:g} kg"
        raise InputError(f"without_drives: {text}")
    if point is None:
        part = 1.0 if link.mass == 0 else 1 - mass / link.mass
        return replace(link, mass=link.mass * part, inertia=tensor(symmetric(link.inertia) * part))
    rest = _with_point_mass(link, -mass, point)
    principal = np.linalg.eigvalsh(np.array(rest.inertia))
    if principal[0] < 0 or principal[2] > (principal[0] + principal[1]) * (1 + INERTIA_TOLERANCE):
        values = ", ".join(f"{x:.3g}" for x in principal)
        raise InputError(
            f"without_drives: {link.name} without {mass:g} kg there would have principal inertias of {values} kg m^2, "
            "which no body has; expected less, another point, or the mass alone, which leaves a body of the same shape"
        )
    return rest


def by_joint(robot: Robot, drives: Mapping[str, Drive] | Sequence[Drive]) -> dict[str, Drive]:
    """Return the actuators by the names of joints."""
    names = [joint.name for joint in robot.joints]
    if not isinstance(drives, Mapping | Sequence):
        raise InputError(f"fitted got {drives!r}; expected actuators by joint, or a list from base to tip")
    if not isinstance(drives, Mapping):
        if len(drives) != len(names):
            raise InputError(f"fitted got {len(drives)} actuators; {robot.name} has {len(names)} joints")
        drives = dict(zip(names, drives, strict=True))
    for name, drive in drives.items():
        if name not in names:
            raise unknown(f"joint of {robot.name}:", name, names)
        if not isinstance(drive, Actuator | Hydraulic):
            raise InputError(f"fitted: {name} has {drive!r}; expected a sizing.Actuator or a sizing.Hydraulic")
    return dict(drives)


def _with_point_mass(link: LinkModel, mass: float, point: Vector) -> LinkModel:
    """Return a link with a point mass on it."""
    body = Link(link.mass, Vector(*link.com), symmetric(link.inertia))
    both = composite([body, Link(mass, point, Symmetric(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))])
    return replace(link, mass=both.mass, com=triple(both.com), inertia=tensor(both.inertia))
