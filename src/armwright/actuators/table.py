"""The table [actuators] in the file of a robot: the motor and gearbox, or the cylinder, of each joint.

[actuators]
catalogue = "typical"                  # the catalogue of the names below, or its path
in_links = true                        # the links include the masses of the actuators; by default they are added
joint2 = {motor = "typical servo 400 W", gearbox = "typical strain wave 107 N m 1:80", brake = "typical brake 1.3 N m"}
joint3 = {motor = {name = "M60", rotor_inertia = 2.9e-5, ...}, gearbox = "..."}      # a part of no catalogue
joint4 = {cylinder = "...", lever = {before = 0.9, on = 0.4, angle = "50 deg"}}
joint5 = {motor = "...", gearbox = "...", mount = {link = "forearm", point = [0, 0, 0.1]}}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from armwright.actuators.actuator import PART_TYPES, Actuator, CylinderLever, Drive, Hydraulic
from armwright.actuators.assignment import fitted
from armwright.actuators.catalogue import Catalogue, named, part_of_row, read
from armwright.errors import InputError, ModelError, UnknownNameError
from armwright.files import contents
from armwright.model.table_reader import Reader
from armwright.model.toml_lines import MAX_TOML_BYTES, line_numbers, parse_toml
from armwright.robot import Robot

PlaceName = Callable[[str | None], str]

ACTUATOR_TABLE_KEYS = ("catalogue", "in_links")
ELECTRIC_KEYS, HYDRAULIC_KEYS = ("motor", "gearbox", "brake", "mount"), ("cylinder", "lever", "mount")


def with_file(robot: Robot, path: str | Path) -> Robot:
    """Return the robot with the actuators of a separate file, whose top-level keys are those of [actuators]."""
    if not isinstance(path, str | Path):
        raise InputError(f"actuators = {path!r}: expected the path of a file")
    try:
        text = contents(path, MAX_TOML_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read the actuators {path}: {error}") from None
    lines, file = line_numbers(text), Path(path).name

    def where(key: str | None) -> str:
        number = lines.get(("", 0, key))
        return f"{file}, line {number}: actuators" if number else f"{file}: actuators"

    return with_table(robot, parse_toml(text, file), where, Path(path).parent)


def with_table(robot: Robot, data: Mapping[str, Any], where: PlaceName, folder: Path = Path()) -> Robot:
    """Return the robot with the actuators of a table; `where(key)` names a place for messages.

    A smaller max_torque or max_velocity of the robot stays. A joint with both an actuator and a rotor inertia is an
    error.
    """
    top, names = Reader(data, where), [joint.name for joint in robot.joints]
    top.check_keys((*ACTUATOR_TABLE_KEYS, *names))
    catalogue = _catalogue(top, folder)
    chosen = {name: _drive(top, name, catalogue) for name in names if name in data}
    for joint in robot.joints:
        if joint.rotor_inertia and joint.name in chosen:
            top.fail(joint.name, f"{joint.name} has an actuator and a rotor_inertia; expected one of them")
    places = {
        name: (data[name]["mount"]["link"], data[name]["mount"]["point"]) for name in chosen if "mount" in data[name]
    }
    try:
        equipped = fitted(robot, chosen, places, masses=not top.flag("in_links"))
    except InputError as error:
        raise ModelError(f"{where(None)}: {error}") from None
    before = {joint.name: joint for joint in robot.joints}

    def limited(joint: Any) -> Any:
        limits = {
            key: (getattr(joint, key), getattr(before[joint.name], key)) for key in ("max_torque", "max_velocity")
        }
        return replace(joint, **{k: min((x for x in xs if x is not None), default=None) for k, xs in limits.items()})

    names_of_drives = "; ".join(f"{name}: {drive.name}" for name, drive in chosen.items())
    source = f"{robot.source}\nwith actuators of {catalogue.name}: {names_of_drives}".strip()
    return replace(equipped.map_joints(limited), source=source)


def _catalogue(top: Reader, folder: Path) -> Catalogue:
    name = top.text("catalogue", "typical")
    path = folder / name
    try:
        return read(path if Path(name).suffix and path.exists() else name)
    except UnknownNameError as error:
        top.fail("catalogue", f"{error}")


def _drive(top: Reader, joint: str, catalogue: Catalogue) -> Drive:
    """Return the drive of one line."""
    data = top.data[joint]
    if not isinstance(data, Mapping):
        top.fail(joint, f'{joint} = {data!r}: expected {{motor = "...", gearbox = "..."}} or {{cylinder = "..."}}')
    row = Reader(data, lambda _key: f"{top.where(joint)}, {joint}")
    row.check_keys(HYDRAULIC_KEYS if "cylinder" in data else ELECTRIC_KEYS)
    mount = data.get("mount", {"link": "", "point": ()})
    if not isinstance(mount, Mapping) or set(mount) != {"link", "point"}:
        row.fail("mount", f'mount = {mount!r}: expected {{link = "...", point = [x, y, z]}}')
    if "cylinder" in data:
        return Hydraulic(_part("cylinder", row, catalogue), _lever(row))
    brake = _part("brake", row, catalogue) if "brake" in data else None
    return Actuator(_part("motor", row, catalogue), _part("gearbox", row, catalogue), brake)


def _part(kind: str, row: Reader, catalogue: Catalogue) -> Any:
    """Return a part of the catalogue by its name, or one that the row describes."""
    part = row.need(kind)
    if isinstance(part, Mapping):
        return part_of_row(PART_TYPES[kind], Reader(part, lambda _key: f"{row.where(None)}: {kind}"))
    try:
        return named(kind, row.text(kind, ""), catalogue.parts[kind])
    except UnknownNameError as error:
        row.fail(kind, f"{error}")


def _lever(row: Reader) -> CylinderLever | None:
    lever = row.data.get("lever")
    if lever is None:
        return None
    if not isinstance(lever, Mapping) or set(lever) != {"before", "on", "angle"}:
        row.fail("lever", f"lever = {lever!r}: expected {{before = m, on = m, angle = rad}}")
    try:
        return CylinderLever(**lever)
    except InputError as error:
        row.fail("lever", str(error))
