"""Read a sizing file, in TOML: a robot, its motions and payloads, and a catalogue (docs/sizing.md).

robot = "ur5e"                         # or the path of a robot file, or {file = "arm.urdf", tip = "flange"}
catalogue = "typical"                  # or the path of a catalogue
objective = "mass"                     # or "price", "energy"
payloads = [0.0, 5.0]                  # kilograms, or tables with mass, com and inertia
reserve = 0.1                          # the part of every limit to leave unused
inertia_ratio = 30.0                   # also max_twist, min_frequency, ambient, samples, sets, brakes and gravity, as
                                       # in `armwright.size`

[[motion]]                             # each as the [trajectory] of a scenario
type = "quintic"
times = [0, 1, 2]
points = [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]

[mounts]                               # actuators that are not on the link before their joint, at the joint
joint4 = {link = "forearm", point = [0.0, 0.0, 0.1]}

[without_drives]                       # by link, kilograms of drives that the link includes already
forearm = 1.5                          # or {mass = 1.5, point = [0.3, 0, 0]}

[levers]                               # joints that cylinders move
joint2 = {before = 0.9, on = 0.4, angle = "90 deg"}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from armwright.actuators.actuator import CylinderLever
from armwright.actuators.catalogue import read as read_catalogue
from armwright.errors import InputError, ModelError
from armwright.files import contents, missing
from armwright.model.table_reader import Reader
from armwright.model.toml_lines import MAX_TOML_BYTES, line_numbers, parse_toml
from armwright.robot import Robot
from armwright.scenario import robot_in, trajectory_of
from armwright.trajectory import Trajectory

__all__ = ["parse", "read"]

SIZING_NUMBER_KEYS = ("reserve", "inertia_ratio", "min_frequency", "ambient")
COUNT_KEYS = ("samples", "sets")
SIZING_KEYS = (
    "robot",
    "catalogue",
    "objective",
    "payloads",
    "brakes",
    "gravity",
    "motion",
    "mounts",
    "levers",
    "without_drives",
    "max_twist",
    *SIZING_NUMBER_KEYS,
    *COUNT_KEYS,
)


def read(path: str | Path) -> dict[str, Any]:
    """Read a sizing file and return the arguments of `size`; a ModelError names the line that is wrong."""
    if wrong := missing(path, "a sizing file in TOML (docs/sizing.md)"):
        raise ModelError(wrong)
    try:
        text = contents(path, MAX_TOML_BYTES).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return parse(text, Path(path).name, Path(path).parent)


def parse(text: str, file: str = "sizing", folder: Path = Path()) -> dict[str, Any]:
    """Read the text of a sizing file; `file` is its name in messages."""
    data, lines = parse_toml(text, file), line_numbers(text)

    def where(table: str, index: int, key: str | None) -> str:
        number = lines.get((table, index, key), lines.get((table, index, None)))
        return f"{file}, line {number}" if number else file

    top = Reader(data, lambda key: where("", 0, key))
    top.check_keys(SIZING_KEYS)
    top.need("robot", '; such as robot = "ur5e"')
    robot = robot_in(top, folder)
    if "gravity" in data:
        robot = robot.with_gravity(top.triple("gravity"))
    motions = data.get("motion", [])
    if not isinstance(motions, list) or not motions or not all(isinstance(motion, Mapping) for motion in motions):
        top.fail("motion", "a robot is sized for motions; expected at least one [[motion]] table")
    parts = [Reader(m, lambda key, i=i: where("motion", i, key) + f", motion {i + 1}") for i, m in enumerate(motions)]  # type: ignore[misc]
    options: dict[str, Any] = {key: top.number(key) for key in SIZING_NUMBER_KEYS if key in data}
    options |= {key: data[key] for key in (*COUNT_KEYS, "brakes", "max_twist") if key in data}
    return {
        "robot": robot,
        "motions": _motions(parts, robot, folder),
        "payloads": _payloads(top),
        "catalogue": read_catalogue(catalogue_path(folder, top.text("catalogue", "typical"))),
        "objective": top.text("objective", "mass"),
        "mounts_at": _mounts(top),
        "without_drives": _drives(top),
        "levers": _levers(top, lambda key: where("levers", 0, key) + ", levers"),
        **options,
    }


def _motions(parts: Sequence[Reader], robot: Robot, folder: Path) -> dict[str, Trajectory]:
    """Return the motions by their `name`; those without one are numbered."""
    named: dict[str, Trajectory] = {}
    for k, part in enumerate(parts):
        name = part.text("name", f"motion {k + 1}" if len(parts) > 1 else "motion")
        if name in named:
            part.fail("name", f"name = {name!r} is the name of another [[motion]] too; expected different names")
        plain = Reader({key: value for key, value in part.data.items() if key != "name"}, part.where)
        named[name] = trajectory_of(plain, robot, folder)
    return named


def catalogue_path(folder: Path, name: str) -> str | Path:
    """Return the path of a catalogue file in the folder of the sizing file; else the name."""
    path = folder / name
    return path if Path(name).suffix and path.exists() else name


def _payloads(top: Reader) -> Any:
    """Return the payloads; by default the payload of the robot."""
    listed: Any = top.data.get("payloads", [None])
    if not isinstance(listed, list) or not listed:
        top.fail("payloads", f"payloads = {listed!r}: expected a list of kilograms, or of tables with mass and com")
    for payload in listed if "payloads" in top.data else ():
        if isinstance(payload, Mapping) and "mass" in payload and not set(payload) - {"mass", "com", "inertia"}:
            continue
        if isinstance(payload, bool) or not isinstance(payload, int | float):
            top.fail("payloads", f"payload {payload!r}: expected kilograms, or a table with mass, com and inertia")
    return listed


def _levers(top: Reader, where: Callable[[str | None], str]) -> dict[str, CylinderLever | None]:
    """Return the levers of cylinders by joint; a table without keys is for a prismatic joint."""
    table, levers = top.data.get("levers", {}), dict[str, CylinderLever | None]()
    if not isinstance(table, Mapping):
        top.fail("levers", f"levers = {table!r}: expected a table [levers] with a joint in each line")
    for joint, value in table.items():
        if not isinstance(value, Mapping) or set(value) not in (set(), {"before", "on", "angle"}):
            raise ModelError(f"{where(joint)}: {joint} = {value!r}: expected {{before = m, on = m, angle = rad}}")
        try:
            levers[joint] = CylinderLever(**value) if value else None
        except InputError as error:
            raise ModelError(f"{where(joint)}: {joint}: {error}") from None
    return levers


def _drives(top: Reader) -> dict[str, Any]:
    """Return the drives that links include already, by link."""
    table = top.data.get("without_drives", {})
    if not isinstance(table, Mapping):
        top.fail("without_drives", f"without_drives = {table!r}: expected a table with a link in each line")
    for link, value in table.items():
        if isinstance(value, Mapping) and set(value) != {"mass", "point"}:
            top.fail("without_drives", f"{link} = {value!r}: expected kilograms, or {{mass = kg, point = [x, y, z]}}")
    return {name: (x["mass"], x["point"]) if isinstance(x, Mapping) else x for name, x in table.items()}


def _mounts(top: Reader) -> dict[str, Any]:
    """Return the mounts of actuators by joint."""
    table = top.data.get("mounts", {})
    if not isinstance(table, Mapping):
        top.fail("mounts", f"mounts = {table!r}: expected a table [mounts] with a joint in each line")
    for joint, place in table.items():
        if not isinstance(place, Mapping) or set(place) != {"link", "point"}:
            top.fail("mounts", f'{joint} = {place!r}: expected {{link = "...", point = [x, y, z]}}')
    return {joint: (place["link"], place["point"]) for joint, place in table.items()}
