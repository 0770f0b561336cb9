"""A robot as TOML text, from which it is read again exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from armwright.mechanism import only_leaf
from armwright.model.description import Description
from armwright.model.link_names import LinkNames
from armwright.model.loop_tables import loop_tables
from armwright.model.records import LinkModel, Payload
from armwright.model.row_bodies import COMPENSATION_KEYS
from armwright.model.row_joints import joint_row
from armwright.model.transforms import IDENTITY_TRANSFORM, tensor_entries

if TYPE_CHECKING:
    from armwright.model.visual import Visual


def toml_text(robot: Description) -> str:
    """Return the robot as TOML in the modified convention, with numbers exact to the last bit."""
    links = LinkNames(tuple(link.name for link in robot.links))
    parts = ["\n".join(_top(robot, links))]
    rows, carriers = robot.rows, robot.link_rows
    for i, (link, last) in enumerate(zip(robot.links, carriers, strict=True)):
        row: dict[str, Any] = {"name": link.name}
        if robot.parents[i] != i - 1:
            row["parent"] = links.reference(robot.parents[i])
        row |= joint_row(rows[last - rows[last].freedom : last + 1])
        parts.append("\n".join(["[[link]]", *_body(link, row), *_visuals(link.visuals)]))
    for frame in robot.frames:
        pose = {"pose": frame.pose} if frame.pose != IDENTITY_TRANSFORM else {}
        parts.append(
            "\n".join(["[[frame]]", *_keys({"name": frame.name, "link": links.reference(frame.link), **pose})])
        )
    for loop in loop_tables(robot):
        parts.append("\n".join(["[[loop]]", *_keys(loop)]))
    if robot.payload is not None:
        parts.append("\n".join(["[payload]", *_body(robot.payload, {})]))
    return "\n\n".join(parts) + "\n"


def _body(body: LinkModel | Payload, row: Mapping[str, Any]) -> list[str]:
    """Return the lines of a row that ends with a body."""
    keys = {**row, "mass": body.mass, "com": body.com, "inertia": tensor_entries(body.inertia)}
    if isinstance(body, LinkModel) and body.compensated_mass:
        keys |= {key: getattr(body, key) for key in COMPENSATION_KEYS}
    return _keys(keys)


def _keys(row: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in row.items()]


def _top(robot: Description, links: LinkNames) -> Iterator[str]:
    yield f"name = {_value(robot.name)}"
    for key in ("source", "licence"):
        if text := getattr(robot, key):
            yield f"{key} = {_value(text)}"
    yield 'convention = "modified"'
    yield f"gravity = {_value(robot.gravity)}"
    ends = [] if robot.tip is None else [("flange", robot.flange), ("tool", robot.tool)]
    for key, transform in (("base", robot.base), *ends):
        if transform != IDENTITY_TRANSFORM:
            yield f"{key} = {_value(transform)}"
    if robot.tip is not None and robot.tip != only_leaf(robot.parents):
        yield f"tip = {_value(links.reference(robot.tip))}"
    if robot.rated_payload is not None:
        yield f"rated_payload = {_value(robot.rated_payload)}"
    if robot.accept:
        yield f"accept = {_value(robot.accept)}"
    yield from _visuals(robot.base_visuals)


def _visuals(visuals: Sequence[Visual]) -> Iterator[str]:
    """Yield the shapes, one on each line."""
    if visuals:
        yield "\n".join(["visuals = [", *(f"  {_value(visual.as_row())}," for visual in visuals), "]"])


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(x)}' for key, x in value.items())} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return repr(int(value)) if isinstance(value, int) else repr(float(value))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    """Return a basic string; JSON escapes are TOML escapes, except that TOML also forbids a raw DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
