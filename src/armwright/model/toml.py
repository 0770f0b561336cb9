"""Robots as TOML: the rows of `dh` under [[link]], the robot's own keys on top. Reading back is exact."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.errors import ModelError, unknown
from armwright.files import contents
from armwright.mechanism import only_leaf
from armwright.model.bodies import BASE_KEYS, COMPENSATED
from armwright.model.description import (
    EARTH,
    NO_TENSOR,
    NO_TRANSFORM,
    Description,
    Frame,
    LinkModel,
    Payload,
    Transform,
    Triple,
    compose,
    six,
)
from armwright.model.dh import CONVENTIONS, Table, read_table
from armwright.model.in_si import BODY_KINDS, robot_in_si, table_in_si
from armwright.model.loop_closure import written
from armwright.model.references import Links
from armwright.model.rows import as_row
from armwright.model.units import SI
from armwright.model.values import Reader

if TYPE_CHECKING:
    from armwright.model.meshes import Places
    from armwright.model.visual import Visual

TOP_KEYS = (
    *("name", "source", "licence", "convention", "gravity", "base", "flange", "tool", "accept", "visuals", "payload"),
    *("rated_payload", "link", "units", "floating", "base_link", "tip", "frame", "loop", "actuators"),
)
PAYLOAD_KEYS = ("mass", "com", "inertia")
FRAME_KEYS = ("name", "link", "pose")

LARGEST = 1 << 20
"""Bytes of a file, which take about a second; a robot of a thousand links has a third of it."""

DEEPEST = 32
"""Parts of a key a.b.c, of which Python's reader takes memory with their square; brackets in one another."""

MOST_LINKS = 10_000
"""Rows of a table, as many as the joints of a tree."""

_HEADER = re.compile(r"""^\s*(\[\[?)\s*([\w."'-]+)\s*\]""")
_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?(?:"{3,5}|\\?\Z)|"(?:\\.|[^"\\\n])*+(?:"|(?=\n)|\\?\Z)|'''  # texts between double quotes
    r"""'''.*?(?:'{3,5}|\Z)|'[^'\n]*+(?:'|(?=\n)|\Z)|"""  # those without escapes; an open one ends the search
    r"""#[^\n]*|[\[\]{}]|\n""",  # comments, brackets, ends of lines
    re.DOTALL,
)
_BRACKET = re.compile(r"[\[\]{}]")
_KEY = re.compile(r"""^\s*+["']?([^"'=#]++)["']?\s*+=""")
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")


@dataclass(frozen=True)
class Fields:
    """What a TOML file says, ready for a `Description`."""

    name: str
    table: Table
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
) -> Fields:
    try:
        text = contents(path, LARGEST).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise ModelError(
            f"{path} does not exist; expected a robot file, or the name of a packaged robot (armwright.robots())"
        ) from None
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
) -> Fields:
    """Read the text of a robot file; `file` is what messages call it.

    `path` and `packages` say where meshes may be. Without `visuals`, what a viewer shows is left out. `floating` stands
    above what the file says of its base.
    """
    data = data_of(text, file)
    lines = lines_of(text)

    def line(table: str, index: int, key: str | None) -> str:
        number = line_of(lines, table, index, key)
        return f"{file}, line {number}: " if number else f"{file}: "

    rows = data.get("link", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ModelError(f"{line('', 0, 'link')}robot: the links must be written as [[link]] tables, one per link")
    if not rows and "base_link" not in data:
        if "robot" in data:
            raise ModelError(
                f"{file} is a scenario or a study, not a robot: it has one, robot = {data['robot']!r}, which is asked "
                "for here; armwright simulate and sweep run such a file"
            )
        raise ModelError(f"{file}: the robot is empty; expected one [[link]] table per joint")
    check_count(rows, file)
    entries = [entry for entry in (data, data.get("base_link"), *rows) if isinstance(entry, dict)]
    if not visuals:
        for entry in entries:
            entry.pop("visuals", None)
    places = _places(path, packages) if path and any("visuals" in entry for entry in entries) else None
    if floating is not None:
        data["floating"] = floating
    return fields({"name": default_name, "link": rows, **data}, line, "robot", places)


def fields(
    data: Mapping[str, Any], where: Callable[[str, int, str | None], str], robot: str, places: Places | None = None
) -> Fields:
    """What the keys of a robot say; `where(table, index, key)` names a place for messages, and `robot` the robot."""
    data = robot_in_si(data, where, robot)
    top = Reader(data, lambda key: where("", 0, key) + robot)
    top.check_keys(TOP_KEYS)
    rows = data["link"]
    floats = top.flag("floating")
    convention = top.need("convention", f"; expected one of {', '.join(CONVENTIONS)}")
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        top.fail("convention", str(unknown("DH convention", convention, CONVENTIONS)))
    base = _base_link(top, floats, lambda key: where("base_link", 0, key) + "base_link")
    table = read_table(rows, convention, lambda i, key: where("link", i, key), places, base, floats)
    tip = _tip(top, table)
    return Fields(
        name=top.text("name", "robot"),
        table=table,
        gravity=top.triple("gravity", EARTH),
        base=top.transform("base", NO_TRANSFORM),
        flange=compose(NO_TRANSFORM if tip is None else table.ends[tip], top.transform("flange", NO_TRANSFORM)),
        tool=top.transform("tool", NO_TRANSFORM),
        payload=_payload(top, lambda key: where("payload", 0, key) + "payload"),
        source=top.text("source", ""),
        licence=top.text("licence", ""),
        accept=top.texts("accept"),
        visuals=_base_visuals(top, places) + (() if base is None or floats else _base_visuals(base, places)),
        tip=tip,
        frames=_frames(top, table, where),
        loops=_loops(top, where),
        actuators=_actuators(top, where),
        rated_payload=_rated(top),
    )


def _rated(top: Reader) -> float | None:
    """What the maker of a robot says it can hold, kg."""
    return top.at_least_zero("rated_payload", "kilograms") if "rated_payload" in top.data else None


def _actuators(
    top: Reader, line: Callable[[str, int, str | None], str]
) -> tuple[Mapping[str, Any], Callable[[str | None], str]] | None:
    """The table of actuators, with what names its place in messages; `armwright.actuators` reads it."""
    data = top.data.get("actuators")
    if data is not None and not isinstance(data, Mapping):
        top.fail("actuators", "actuators must be one table: [actuators] with a joint in each line")
    return None if data is None else (data, lambda key: line("actuators", 0, key) + "actuators")


def _base_link(top: Reader, floats: bool, where: Callable[[str | None], str]) -> Reader | None:
    """What is written of the body of the base; it must be where the base floats, and may be where it stands."""
    data = top.data.get("base_link")
    if data is None and not floats:
        return None
    if not isinstance(data, Mapping):
        given = "there is none (where a joint of the robot is free already, it floats as it is)"
        given = given if data is None else f"got {data!r}"
        top.fail("base_link", f"a base that floats is a body; expected a table base_link with its mass, and {given}")
    base = Reader(data, where)
    base.check_keys(BASE_KEYS)
    return base


def _tip(top: Reader, table: Table) -> int | None:
    """The link that carries the tool: by default the one that carries nothing else, if there is only one."""
    if top.data.get("tip") is None:
        tip = only_leaf(table.parents) if table.parents else None
        if tip is None and (held := [key for key in ("flange", "tool", "payload") if top.data.get(key) is not None]):
            top.fail(held[0], f'{held[0]} is of the tip, and the robot has several; name the link with tip = "..."')
        return tip
    tip = table.names.find(top, "tip", top.data["tip"])
    if tip < 0:
        top.fail("tip", "tip = the base, which does not move; expected a link")
    return tip


def _frames(top: Reader, table: Table, where: Callable[[str, int, str | None], str]) -> tuple[Frame, ...]:
    """Frames with names, each seen from the canonical frame of its link."""
    entries = top.data.get("frame", ())
    if not isinstance(entries, Sequence) or not all(isinstance(entry, Mapping) for entry in entries):
        top.fail("frame", f"frames must be written as [[frame]] tables with {', '.join(FRAME_KEYS)}, one per frame")
    found = list[Frame]()
    for i, entry in enumerate(entries):
        frame = Reader(entry, lambda key, i=i: f"{where('frame', i, key)}frame {i + 1}")  # type: ignore[misc]
        frame.check_keys(FRAME_KEYS)
        frame.need("name")
        link = table.names.find(frame, "link", frame.need("link"))
        pose = frame.transform("pose", NO_TRANSFORM)
        found.append(Frame(frame.text("name", ""), link, compose(table.ends[link], pose) if link >= 0 else pose))
    names = [frame.name for frame in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        top.fail(
            "frame", f"several frames are called {twice!r}; a frame is asked for by its name, so give each its own"
        )
    return tuple(found)


def _loops(
    top: Reader, line: Callable[[str, int, str | None], str]
) -> tuple[tuple[Mapping[str, Any], Callable[[str | None], str]], ...]:
    """The [[loop]] tables, each with what names its place in messages; differentials first, as loops may need them."""
    entries = top.data.get("loop", [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        top.fail("loop", "loops must be written as [[loop]] tables, one per loop")
    found = [(entry, lambda key, i=i: line("loop", i, key) + f"loop {i + 1}") for i, entry in enumerate(entries)]
    return tuple(sorted(found, key=lambda one: one[0].get("kind") != "differential"))


def data_of(text: str, file: str) -> dict[str, Any]:
    """What a TOML text says, if it is neither too large nor too deep for Python's reader to end soon."""
    if len(text) > LARGEST:
        raise ModelError(f"{file} has {len(text) >> 10} kB; expected at most {LARGEST >> 10}")
    bare = _TOKEN.sub(lambda token: "s" if token[0][0] in "\"'" else "" if token[0][0] == "#" else token[0], text)
    if deep := _DEEP_KEY.search(bare):
        raise ModelError(f"{file}: the key {deep[0][:20]}... has more than {DEEPEST} parts; expected a few")
    depths = itertools.accumulate(1 if bracket[0] in "[{" else -1 for bracket in _BRACKET.finditer(bare))
    if max(depths, default=0) > DEEPEST:  # which Python could neither read nor print
        raise ModelError(f"{file} is not valid TOML: its brackets are nested too deep, more than {DEEPEST}")
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise ModelError(f"{file} is not valid TOML: {error}") from None


def check_count(rows: Sequence[object], file: str) -> None:
    if len(rows) > MOST_LINKS:
        raise ModelError(f"{file} has {len(rows)} links; expected at most {MOST_LINKS}")


def _places(path: Path, packages: Mapping[str, str | Path] | None) -> Places:
    from armwright.model.meshes import Places  # noqa: PLC0415  (few files have meshes)

    return Places.around(path, packages)


def _base_visuals(top: Reader, places: Places | None) -> tuple[Visual, ...]:
    if "visuals" not in top.data:
        return ()
    from armwright.model import visual  # noqa: PLC0415  (few files have some)

    return visual.read(top, places)


def _payload(top: Reader, where: Callable[[str | None], str]) -> Payload | None:
    data = top.data.get("payload")
    if data is not None and not isinstance(data, Mapping):
        top.fail("payload", "payload must be one table: [payload] with mass, com and inertia")
    return None if data is None else make_payload(data, where)


def make_payload(data: Mapping[str, Any], where: Callable[[str | None], str]) -> Payload:
    entry = Reader(table_in_si(data, BODY_KINDS, SI, where), where)
    entry.check_keys(PAYLOAD_KEYS)
    mass = entry.at_least_zero("mass", "kilograms")
    return Payload(mass, entry.triple("com", (0.0, 0.0, 0.0)), entry.tensor("inertia", NO_TENSOR))


def line_of(lines: Mapping[tuple[str, int, str | None], int], table: str, index: int, key: str | None) -> int | None:
    """The line of a key, of the table it is in, or of the key on top that has this table."""
    places = ((table, index, key), (table, index, None), ("", 0, table))
    return next((lines[place] for place in places if place in lines), None)


def lines_of(text: str) -> dict[tuple[str, int, str | None], int]:
    """Line numbers of (table, index, key); key None is the table's own header. The top of the file is table ''."""
    found: dict[tuple[str, int, str | None], int] = {}
    counts: dict[str, int] = {}
    table = ("", 0)
    for number, content, inline in _statements(text):
        if header := _HEADER.match(content):
            name, _, inner = header[2].replace('"', "").replace("'", "").partition(".")
            if inner:  # [link.slender]: a key of the current link
                found.setdefault((name, counts.get(name, 0), inner), number)
                table = (header[2], 0)
            else:
                counts[name] = counts.get(name, -1) + 1
                table = (name, counts[name])
                found[*table, None] = number
                found.setdefault(("", 0, name), number)
        elif key := _KEY.match(content):
            name, _, inner = key[1].strip().partition(".")
            found[*table, key[1].strip()] = number
            if table == ("", 0):  # payload = {...}, link = [{...}, {...}], payload.mass = 1
                found.setdefault(("", 0, name), number)
                found |= {(name, i, None): line for i, line in enumerate(inline)}
                found |= {(name, 0, inner): number} if inner else {}
    return found


def _statements(text: str) -> Iterator[tuple[int, str, list[int]]]:
    """The lines of a valid file on which a statement begins, and those on which the inline tables in it begin.

    None is inside a multi-line string or a multi-line array; tables within tables do not count.
    """
    lines = text.split("\n")
    number, start, open_brackets, inline = 1, 1, "", list[int]()
    for token in _TOKEN.findall(text):
        if token == "{" and open_brackets in ("", "["):
            inline.append(number)
        if token in ("[", "{"):
            open_brackets += token
        elif token in ("]", "}"):
            open_brackets = open_brackets[:-1]
        number += token.count("\n")
        if token == "\n" and not open_brackets:
            yield start, lines[start - 1], inline
            start, inline = number, []
    yield start, lines[start - 1], inline


def write(robot: Description) -> str:
    """The robot as TOML, in the modified convention; numbers are written so that they read back bit for bit."""
    links = Links(tuple(link.name for link in robot.links))
    parts = ["\n".join(_top(robot, links))]
    rows, carriers = robot.rows, robot.carriers
    for i, (link, last) in enumerate(zip(robot.links, carriers, strict=True)):
        row: dict[str, Any] = {"name": link.name}
        if robot.parents[i] != i - 1:
            row["parent"] = links.said(robot.parents[i])
        row |= as_row(rows[last - rows[last].freedom : last + 1])
        parts.append("\n".join(["[[link]]", *_body(link, row), *_visuals(link.visuals)]))
    for frame in robot.frames:
        said: dict[str, Any] = {"name": frame.name, "link": links.said(frame.link)}
        said |= {"pose": frame.pose} if frame.pose != NO_TRANSFORM else {}
        parts.append("\n".join(["[[frame]]", *_keys(said)]))
    for loop in written(robot):
        parts.append("\n".join(["[[loop]]", *(f"{key} = {_value(value)}" for key, value in loop.items())]))
    if robot.payload is not None:
        parts.append("\n".join(["[payload]", *_body(robot.payload, {})]))
    return "\n\n".join(parts) + "\n"


def _body(body: LinkModel | Payload, row: Mapping[str, Any]) -> list[str]:
    """Lines of a row that ends with a body."""
    keys = {**row, "mass": body.mass, "com": body.com, "inertia": six(body.inertia)}
    if isinstance(body, LinkModel) and body.compensated_mass:
        keys |= {key: getattr(body, key) for key in COMPENSATED}
    return _keys(keys)


def _keys(row: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in row.items()]


def _top(robot: Description, links: Links) -> Iterator[str]:
    yield f"name = {_value(robot.name)}"
    for key in ("source", "licence"):
        if text := getattr(robot, key):
            yield f"{key} = {_value(text)}"
    yield 'convention = "modified"'
    yield f"gravity = {_value(robot.gravity)}"
    ends = [] if robot.tip is None else [("flange", robot.flange), ("tool", robot.tool)]
    for key, transform in (("base", robot.base), *ends):
        if transform != NO_TRANSFORM:
            yield f"{key} = {_value(transform)}"
    if robot.tip is not None and robot.tip != only_leaf(robot.parents):
        yield f"tip = {_value(links.said(robot.tip))}"
    if robot.rated_payload is not None:
        yield f"rated_payload = {_value(robot.rated_payload)}"
    if robot.accept:
        yield f"accept = {_value(robot.accept)}"
    yield from _visuals(robot.base_visuals)


def _visuals(visuals: Sequence[Visual]) -> Iterator[str]:
    """One on each line."""
    if visuals:
        yield "\n".join(["visuals = [", *(f"  {_value(visual.as_row())}," for visual in visuals), "]"])


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(x)}' for key, x in value.items())} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, int):
        return repr(int(value))
    return repr(float(value))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    """A basic string; JSON escapes are TOML escapes, except that TOML also forbids a raw DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
