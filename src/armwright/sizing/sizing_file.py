"""A question of sizing in a TOML file: which robot, along what, holding what, out of which catalogue (docs/sizing.md).

robot = "ur5e"                         # or the path of a robot file, or {file = "arm.urdf", tip = "flange"}
catalogue = "typical"                  # or the path of a catalogue
objective = "mass"                     # or "price", "energy"
payloads = [0.0, 5.0]                  # kilograms, or tables with mass, com and inertia
reserve = 0.1                          # the part of every limit that is to be left
inertia_ratio = 30.0                   # and max_twist, min_frequency, ambient, samples, sets, brakes, gravity, as
                                       # `armwright.size` has them

[[motion]]                             # each as the [trajectory] of a scenario
type = "quintic"
times = [0, 1, 2]
points = [[0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]

[mounts]                               # where actuators stand that are not on the link before their joint, at the joint
joint4 = {link = "forearm", point = [0.0, 0.0, 0.1]}

[without_drives]                       # by link, kilograms of drives that the robot has in it already
forearm = 1.5                          # or {mass = 1.5, point = [0.3, 0, 0]}

[levers]                               # joints that a cylinder moves
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

NUMBERS = ("reserve", "inertia_ratio", "min_frequency", "ambient")
COUNTS = ("samples", "sets")
TOP = (
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
    *NUMBERS,
    *COUNTS,
)


def read(path: str | Path) -> dict[str, Any]:
    """The arguments of `size` that a file says."""
    if wrong := missing(path, "a question of sizing, a .toml file (docs/sizing.md)"):
        raise ModelError(wrong)
    try:
        text = contents(path, MAX_TOML_BYTES).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return parse(text, Path(path).name, Path(path).parent)


def parse(text: str, file: str = "sizing", folder: Path = Path()) -> dict[str, Any]:
    """The same of a text; `file` is what messages call it."""
    data, lines = parse_toml(text, file), line_numbers(text)

    def where(table: str, index: int, key: str | None) -> str:
        number = lines.get((table, index, key), lines.get((table, index, None)))
        return f"{file}, line {number}" if number else file

    top = Reader(data, lambda key: where("", 0, key))
    top.check_keys(TOP)
    top.need("robot", '; such as robot = "ur5e"')
    robot = robot_in(top, folder)
    if "gravity" in data:
        robot = robot.with_gravity(top.triple("gravity"))
    motions = data.get("motion", [])
    if not isinstance(motions, list) or not motions or not all(isinstance(motion, Mapping) for motion in motions):
        top.fail("motion", "a robot is sized for motions; expected at least one [[motion]] table")
    parts = [Reader(m, lambda key, i=i: where("motion", i, key) + f", motion {i + 1}") for i, m in enumerate(motions)]  # type: ignore[misc]
    told: dict[str, Any] = {key: top.number(key) for key in NUMBERS if key in data}
    told |= {key: data[key] for key in (*COUNTS, "brakes", "max_twist") if key in data}
    return {
        "robot": robot,
        "motions": _motions(parts, robot, folder),
        "payloads": _payloads(top),
        "catalogue": read_catalogue(_beside(folder, top.text("catalogue", "typical"))),
        "objective": top.text("objective", "mass"),
        "mounts_at": _mounts(top),
        "without_drives": _drives(top),
        "levers": _levers(top, lambda key: where("levers", 0, key) + ", levers"),
        **told,
    }


def _motions(parts: Sequence[Reader], robot: Robot, folder: Path) -> dict[str, Trajectory]:
    """The motions by their `name`; those without one are numbered."""
    named: dict[str, Trajectory] = {}
    for k, part in enumerate(parts):
        name = part.text("name", f"motion {k + 1}" if len(parts) > 1 else "motion")
        if name in named:
            part.fail("name", f"name = {name!r} is that of another [[motion]]; expected names that differ")
        plain = Reader({key: value for key, value in part.data.items() if key != "name"}, part.where)
        named[name] = trajectory_of(plain, robot, folder)
    return named


def _beside(folder: Path, name: str) -> str | Path:
    """A file beside the one that names it, if there is one."""
    beside = folder / name
    return beside if Path(name).suffix and beside.exists() else name


def _payloads(top: Reader) -> Any:
    """What the tool holds; by default what the robot holds as it is."""
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
    """How cylinders move joints, by joint; {} for one that slides."""
    given, found = top.data.get("levers", {}), dict[str, CylinderLever | None]()
    if not isinstance(given, Mapping):
        top.fail("levers", f"levers = {given!r}: expected a table [levers] with a joint in each line")
    for joint, written in given.items():
        if not isinstance(written, Mapping) or set(written) not in (set(), {"before", "on", "angle"}):
            raise ModelError(f"{where(joint)}: {joint} = {written!r}: expected {{before = m, on = m, angle = rad}}")
        try:
            found[joint] = CylinderLever(**written) if written else None
        except InputError as error:
            raise ModelError(f"{where(joint)}: {joint}: {error}") from None
    return found


def _drives(top: Reader) -> dict[str, Any]:
    """What sits in links already, by link."""
    given = top.data.get("without_drives", {})
    if not isinstance(given, Mapping):
        top.fail("without_drives", f"without_drives = {given!r}: expected a table with a link in each line")
    for link, said in given.items():
        if isinstance(said, Mapping) and set(said) != {"mass", "point"}:
            top.fail("without_drives", f"{link} = {said!r}: expected kilograms, or {{mass = kg, point = [x, y, z]}}")
    return {name: (x["mass"], x["point"]) if isinstance(x, Mapping) else x for name, x in given.items()}


def _mounts(top: Reader) -> dict[str, Any]:
    """Where actuators stand, by joint."""
    given = top.data.get("mounts", {})
    if not isinstance(given, Mapping):
        top.fail("mounts", f"mounts = {given!r}: expected a table [mounts] with a joint in each line")
    for joint, place in given.items():
        if not isinstance(place, Mapping) or set(place) != {"link", "point"}:
            top.fail("mounts", f'{joint} = {place!r}: expected {{link = "...", point = [x, y, z]}}')
    return {joint: (place["link"], place["point"]) for joint, place in given.items()}
