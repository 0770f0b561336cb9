"""The numbers of a DH table in TOML as written: link data stay in the frame of their row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from armwright.algebra import Array, Symmetric
from armwright.check.file_model import Angles, Body, DHRow, FileModel, Hinge
from armwright.errors import ModelError
from armwright.model.description import EARTH_GRAVITY
from armwright.model.link_names import LinkNames, row_parents
from armwright.model.si_conversion import robot_in_si
from armwright.model.table_reader import Reader
from armwright.model.toml import check_row_count
from armwright.model.toml_lines import line_number, line_numbers, parse_toml
from armwright.model.transforms import cos_sin
from armwright.model.units import units_of

DISTAL_CONVENTIONS = ("standard", "saha")
"""Conventions with frame i at the distal end of link i."""


def toml_model(data: bytes, file: str, default_name: str) -> FileModel:
    """Return the numbers of a TOML file."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"{file} cannot be read: {error}; save it as UTF-8 text") from None
    raw = parse_toml(text, file)
    lines = line_numbers(text)

    def where(table: str, index: int, key: str | None) -> str:
        number = line_number(lines, table, index, key)
        return f"{file}, line {number}: " if number else f"{file}: "

    top = robot_in_si(raw, where, "robot")
    rows = top.get("link")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise ModelError(f"{file}: expected one [[link]] table per joint")
    check_row_count(rows, file)
    units = units_of(raw.get("units"))
    convention = str(top.get("convention", ""))
    readers = [Reader(row, _place(file, i)) for i, row in enumerate(rows)]
    table = [_row(reader, convention) for reader in readers]
    top_reader = Reader(top, lambda _key: file)
    base = _base(top, file, lines)
    names = tuple(reader.text("name", f"link{i + 1}") for i, reader in enumerate(readers))
    floats = base is not None
    parents = [on - floats for on in row_parents(readers, LinkNames(((base.name,) if base else ()) + names, floats))]
    bodies = [_body(reader, i, table, parents, convention, lines) for i, reader in enumerate(readers)]
    serial = parents == list(range(-1, len(rows) - 1)) and not any({"gamma", "y", "z"} & set(row) for row in rows)
    hinges = [
        _hinge(reader, i, table[i], names[parents[i]] if parents[i] >= 0 else "", lines)
        for i, reader in enumerate(readers)
    ]
    if top.get("loop"):  # in a loop a joint may have no motor
        hinges = [replace(hinge, effort=hinge.effort or None) for hinge in hinges]
    return FileModel(
        file=file,
        format="toml",
        name=top_reader.text("name", default_name),
        bodies=tuple(body for body in (base, *bodies) if body is not None),
        hinges=tuple(hinges),
        angles=() if "angle" in units.named else tuple(_angles(raw["link"], lines)),
        gravity=top_reader.triple("gravity", EARTH_GRAVITY),
        gravity_line=lines.get(("", 0, "gravity")),
        convention=convention,
        rows=tuple(table) if serial else (),
        accept=top_reader.texts("accept"),
        named_units=bool(units.named),
        data=data,
    )


def _place(file: str, i: int) -> Callable[[str | None], str]:
    return lambda _key: f"{file}: link {i + 1}"


def _row(row: Reader, convention: str) -> DHRow:
    shift = "b" if convention in ("angeles", "saha") else "d"
    d = row.number(shift, 0.0)
    com = np.array(row.triple("com")) if "com" in row.data and row.data.get("mass") else None
    return DHRow(
        row.angle("alpha", 0.0), row.number("a", 0.0), -d if convention == "angeles" else d, com,
        row.angle("gamma", 0.0), row.number("y", 0.0), row.number("z", 0.0),
    )  # fmt: skip


def _base(top: Mapping[str, Any], file: str, lines: dict[Any, int]) -> Body | None:
    """Return the body of a floating base; repairs do not reach it."""
    if top.get("floating") is not True or not isinstance(top.get("base_link"), Mapping):
        return None
    row = Reader({"name": "base_link", **top["base_link"]}, lambda _key: f"{file}: base_link")
    tensor, form = _tensor(row)
    if tensor is None:
        return None
    return Body(
        name=row.text("name", ""),
        mass=row.number("mass"),
        com=np.array(row.triple("com")),
        tensor=tensor,
        points=np.zeros((1, 3)),
        form=form,
        line=lines.get(("base_link", 0, "inertia")),
    )


def _tensor(row: Reader) -> tuple[Array | None, str]:
    """Return the tensor of a body with mass, centre and tensor, and its notation; None for other bodies."""
    if not {"mass", "com", "inertia"} <= set(row.data) or "point_masses" in row.data:
        return None, ""
    tensor = np.asarray(row.data["inertia"])
    form = {(6,): "six", (3, 3): "rows"}.get(tensor.shape, "")
    if not form or tensor.dtype.kind not in "iuf":
        return None, ""
    matrix: Array = np.array(Symmetric(*tensor.tolist()).matrix if form == "six" else tensor, dtype=float)
    return matrix, form


def other_joint(rows: Sequence[DHRow], i: int, distal: bool) -> Array:
    """Return the other joint of link i in the frame of row i: joint i if that frame is distal, else i + 1."""
    if not distal:
        return _origin(rows[i + 1]) if i + 1 < len(rows) else np.zeros(3)
    c, s = cos_sin(rows[i].alpha)
    return np.array([-rows[i].a, -rows[i].d * s, -rows[i].d * c], dtype=float)


def _origin(row: DHRow) -> Array:
    """Return the origin of the frame of a row in the frame of its parent, at q = 0."""
    (c, s), (cg, sg) = cos_sin(row.alpha), cos_sin(row.gamma)
    x, y, z = row.a, row.y - row.d * s, row.z + row.d * c
    return np.array([cg * x - sg * y, sg * x + cg * y, z], dtype=float)


def _body(
    row: Reader, i: int, table: Sequence[DHRow], parents: Sequence[int], convention: str, lines: dict[Any, int]
) -> Body | None:
    """Return the body of a row with mass, centre and tensor; those of rods and points are computed on loading."""
    tensor, form = _tensor(row)
    if tensor is None:
        return None
    distal = convention in DISTAL_CONVENTIONS
    c, s = cos_sin(table[i].alpha) if distal else (1, 0)
    ends = [other_joint(table, i, distal)] if distal else [_origin(table[k]) for k, on in enumerate(parents) if on == i]
    rotary = parents[i] < 0 and row.data.get("type") == "revolute"
    return Body(
        name=row.text("name", f"link{i + 1}"),
        mass=row.number("mass"),
        com=np.array(row.triple("com")),
        tensor=tensor,
        points=np.vstack([np.zeros(3), *ends]),
        spin_axis=np.array([0, s, c], dtype=float) if rotary else None,
        place=i,
        form=form,
        line=lines.get(("link", i, "inertia")),
    )


def _hinge(row: Reader, i: int, geometry: DHRow, parent: str, lines: dict[Any, int]) -> Hinge:
    kind = row.text("type", "revolute")
    placement = np.eye(4)
    placement[:3, 3] = geometry.a, geometry.y, geometry.z + (0.0 if kind == "prismatic" else geometry.d)
    return Hinge(
        name=row.text("joint", f"joint{i + 1}"),
        kind=kind,
        parent=parent,
        child=row.text("name", f"link{i + 1}"),
        placement=placement,
        axis=np.array([0.0, 0.0, 1.0]),
        limits=row.limits("limits", angles=kind == "revolute"),
        effort=row.number("max_torque") if "max_torque" in row.data else None,
        velocity=row.number("max_velocity") if "max_velocity" in row.data else None,
        viscous=row.number("viscous", 0.0),
        coulomb=row.number("coulomb", 0.0),
        places={"limit": i},
        line=lines.get(("link", i, "limits"), lines.get(("link", i, None))),
    )


def _angles(rows: Sequence[Mapping[str, Any]], lines: dict[Any, int]) -> Iterator[Angles]:
    """Yield angles that are numbers in radians; "pi/2" and "90 deg" are exact."""
    for i, row in enumerate(rows):
        for key in ("alpha", "theta"):
            value = row.get(key)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                where = str(row.get("joint", f"joint{i + 1}"))
                yield Angles(where, key, (float(value),), (repr(value),), i, lines.get(("link", i, key)))
