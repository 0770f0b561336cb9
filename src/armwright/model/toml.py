"""Robots from TOML: the rows of `dh_tables` under [[link]], the robot's keys at the top."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.errors import ModelError, unknown
from armwright.files import contents
from armwright.mechanism import only_leaf
from armwright.model.description import EARTH_GRAVITY
from armwright.model.dh_tables import DH_CONVENTIONS, DHTable, read_table
from armwright.model.records import Frame, Payload
from armwright.model.row_bodies import BASE_KEYS
from armwright.model.si_conversion import BODY_QUANTITIES, robot_in_si, table_in_si
from armwright.model.table_reader import Reader
from armwright.model.toml_lines import MAX_TOML_BYTES, line_number, line_numbers, parse_toml
from armwright.model.transforms import IDENTITY_TRANSFORM, ZERO_TENSOR, Transform, Triple, compose
from armwright.model.units import SI

if TYPE_CHECKING:
    from armwright.model.meshes import MeshFolders
    from armwright.model.visual import Visual

ROBOT_KEYS = (
    *("name", "source", "licence", "convention", "gravity", "base", "flange", "tool", "accept", "visuals", "payload"),
    *("rated_payload", "link", "units", "floating", "base_link", "tip", "frame", "loop", "actuators"),
)
PAYLOAD_KEYS = ("mass", "com", "inertia")
FRAME_KEYS = ("name", "link", "pose")

MAX_TABLE_ROWS = 10_000
"""The largest number of rows of a table, equal to that of the joints of a tree."""


@dataclass(frozen=True)
class RobotFields:
    """The contents of a TOML file, as fields of a `Description`."""

    name: str
    table: DHTable
    gravity: Triple
    base: Transform
    flange: Transform
    tool: Transform
    payload: Payload | None
    source: str
    licence: str
    accept: tuple[str, ...]
    visuals: tuple[Visual, ...]
    tip: int | None
    frames: tuple[Frame, ...]
    loops: tuple[tuple[Mapping[str, Any], Callable[[str | None], str]], ...] = ()
    actuators: tuple[Mapping[str, Any], Callable[[str | None], str]] | None = None
    rated_payload: float | None = None


def read(
    path: Path,
    packages: Mapping[str, str | Path] | None = None,
    visuals: bool = True,
    floating: bool | None = None,
) -> RobotFields:
    """Return the contents of a robot file."""
    try:
        text = contents(path, MAX_TOML_BYTES).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        text = "does not exist; expected a robot file, or the name of a packaged robot (armwright.robots())"
        raise ModelError(f"{path} {text}") from None
    except IsADirectoryError:
        raise ModelError(f"{path} is a folder; expected a robot file that ends in .toml") from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} cannot be read: {error}; save it as UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return parse(text, path.name, path.stem, path, packages, visuals, floating)


def parse(
    text: str,
    file: str = "TOML",
    default_name: str = "robot",
    path: Path | None = None,
    packages: Mapping[str, str | Path] | None = None,
    visuals: bool = True,
    floating: bool | None = None,
) -> RobotFields:
    """Return the contents of the text of a robot file, called `file` in messages.

    `path` and `packages` locate meshes. With `visuals=False` shapes are not read. `floating` overrides the file.
    """
    data = parse_toml(text, file)
    lines = line_numbers(text)

    def line(table: str, index: int, key: str | None) -> str:
        number = line_number(lines, table, index, key)
        return f"{file}, line {number}: " if number else f"{file}: "

    rows = data.get("link", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ModelError(f"{line('', 0, 'link')}robot: the links must be written as [[link]] tables, one per link")
    if not rows and "base_link" not in data:
        if "robot" in data:
            raise ModelError(
                f"{file} is a scenario or a study, not a robot; its robot is {data['robot']!r}; armwright simulate and "
                "sweep run such a file"
            )
        raise ModelError(f"{file}: the robot is empty; expected one [[link]] table per joint")
    check_row_count(rows, file)
    entries = [entry for entry in (data, data.get("base_link"), *rows) if isinstance(entry, dict)]
    if not visuals:
        for entry in entries:
            entry.pop("visuals", None)
    places = _places(path, packages) if path and any("visuals" in entry for entry in entries) else None
    if floating is not None:
        data["floating"] = floating
    return fields({"name": default_name, "link": rows, **data}, line, "robot", places)


def fields(
    data: Mapping[str, Any], where: Callable[[str, int, str | None], str], robot: str, places: MeshFolders | None = None
) -> RobotFields:
    """Return the contents of a robot's keys; `where(table, index, key)` and `robot` name places for messages."""
    data = robot_in_si(data, where, robot)
    top = Reader(data, lambda key: where("", 0, key) + robot)
    top.check_keys(ROBOT_KEYS)
    rows = data["link"]
    floats = top.flag("floating")
    convention = top.need("convention", f"; expected one of {', '.join(DH_CONVENTIONS)}")
    if not isinstance(convention, str) or convention not in DH_CONVENTIONS:
        top.fail("convention", str(unknown("DH convention", convention, DH_CONVENTIONS)))
    base = _base_link(top, floats, lambda key: where("base_link", 0, key) + "base_link")
    table = read_table(rows, convention, lambda i, key: where("link", i, key), places, base, floats)
    tip = _tip(top, table)
    end = IDENTITY_TRANSFORM if tip is None else table.ends[tip]
    rated = top.at_least_zero("rated_payload", "kilograms") if "rated_payload" in top.data else None
    return RobotFields(
        name=top.text("name", "robot"),
        table=table,
        gravity=top.triple("gravity", EARTH_GRAVITY),
        base=top.transform("base", IDENTITY_TRANSFORM),
        flange=compose(end, top.transform("flange", IDENTITY_TRANSFORM)),
        tool=top.transform("tool", IDENTITY_TRANSFORM),
        payload=_payload(top, lambda key: where("payload", 0, key) + "payload"),
        source=top.text("source", ""),
        licence=top.text("licence", ""),
        accept=top.texts("accept"),
        visuals=_base_visuals(top, places) + (() if base is None or floats else _base_visuals(base, places)),
        tip=tip,
        frames=_frames(top, table, where),
        loops=_loops(top, where),
        actuators=_actuators(top, where),
        rated_payload=rated,
    )


def _actuators(
    top: Reader, line: Callable[[str, int, str | None], str]
) -> tuple[Mapping[str, Any], Callable[[str | None], str]] | None:
    """Return the table of actuators and a function that names its places; `armwright.actuators` reads it."""
    data = top.data.get("actuators")
    if data is not None and not isinstance(data, Mapping):
        top.fail("actuators", "actuators must be one table: [actuators] with a joint in each line")
    return None if data is None else (data, lambda key: line("actuators", 0, key) + "actuators")


def _base_link(top: Reader, floats: bool, where: Callable[[str | None], str]) -> Reader | None:
    """Return a reader of the body of the base: required if the base floats, else optional."""
    data = top.data.get("base_link")
    if data is None and not floats:
        return None
    if not isinstance(data, Mapping):
        got = "there is none (a robot with a free joint floats without this key)" if data is None else f"got {data!r}"
        top.fail("base_link", f"a base that floats is a body; expected a table base_link with its mass, and {got}")
    base = Reader(data, where)
    base.check_keys(BASE_KEYS)
    return base


def _tip(top: Reader, table: DHTable) -> int | None:
    """Return the link that carries the tool: by default the only link that carries no other."""
    if top.data.get("tip") is None:
        tip = only_leaf(table.parents) if table.parents else None
        if tip is None and (keys := [key for key in ("flange", "tool", "payload") if top.data.get(key) is not None]):
            top.fail(keys[0], f'{keys[0]} is at the tip, and the robot has several; name the link with tip = "..."')
        return tip
    tip = table.names.find(top, "tip", top.data["tip"])
    if tip < 0:
        top.fail("tip", "tip = the base, which does not move; expected a link")
    return tip


def _frames(top: Reader, table: DHTable, where: Callable[[str, int, str | None], str]) -> tuple[Frame, ...]:
    """Return the named frames, each in the canonical frame of its link."""
    entries = top.data.get("frame", ())
    if not isinstance(entries, Sequence) or not all(isinstance(entry, Mapping) for entry in entries):
        top.fail("frame", f"frames must be written as [[frame]] tables with {', '.join(FRAME_KEYS)}, one per frame")
    frames = list[Frame]()
    for i, entry in enumerate(entries):
        frame = Reader(entry, lambda key, i=i: f"{where('frame', i, key)}frame {i + 1}")  # type: ignore[misc]
        frame.check_keys(FRAME_KEYS)
        frame.need("name")
        link = table.names.find(frame, "link", frame.need("link"))
        pose = frame.transform("pose", IDENTITY_TRANSFORM)
        frames.append(Frame(frame.text("name", ""), link, compose(table.ends[link], pose) if link >= 0 else pose))
    names = [frame.name for frame in frames]
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        top.fail("frame", f"several frames are called {duplicate!r}; expected a different name for each")
    return tuple(frames)


def _loops(
    top: Reader, line: Callable[[str, int, str | None], str]
) -> tuple[tuple[Mapping[str, Any], Callable[[str | None], str]], ...]:
    """Return the [[loop]] tables, each with a function that names its places. Differentials come first, as
    other loops may contain the joints that they couple."""
    entries = top.data.get("loop", [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        top.fail("loop", "loops must be written as [[loop]] tables, one per loop")
    loops = [(entry, lambda key, i=i: line("loop", i, key) + f"loop {i + 1}") for i, entry in enumerate(entries)]
    return tuple(sorted(loops, key=lambda loop: loop[0].get("kind") != "differential"))


def check_row_count(rows: Sequence[object], file: str) -> None:
    """Raise a ModelError if a table has too many rows."""
    if len(rows) > MAX_TABLE_ROWS:
        raise ModelError(f"{file} has {len(rows)} links; expected at most {MAX_TABLE_ROWS}")


def _places(path: Path, packages: Mapping[str, str | Path] | None) -> MeshFolders:
    from armwright.model.meshes import MeshFolders  # noqa: PLC0415  (few files have meshes)

    return MeshFolders.around(path, packages)


def _base_visuals(top: Reader, places: MeshFolders | None) -> tuple[Visual, ...]:
    if "visuals" not in top.data:
        return ()
    from armwright.model import visual  # noqa: PLC0415  (few files have shapes)

    return visual.read_visuals(top, places)


def _payload(top: Reader, where: Callable[[str | None], str]) -> Payload | None:
    data = top.data.get("payload")
    if data is not None and not isinstance(data, Mapping):
        top.fail("payload", "payload must be one table: [payload] with mass, com and inertia")
    return None if data is None else read_payload(data, where)


def read_payload(data: Mapping[str, Any], where: Callable[[str | None], str]) -> Payload:
    """Return the payload of a table with mass, com and inertia."""
    entry = Reader(table_in_si(data, BODY_QUANTITIES, SI, where), where)
    entry.check_keys(PAYLOAD_KEYS)
    mass = entry.at_least_zero("mass", "kilograms")
    return Payload(mass, entry.triple("com", (0.0, 0.0, 0.0)), entry.tensor("inertia", ZERO_TENSOR))
