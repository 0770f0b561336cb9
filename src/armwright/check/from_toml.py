"""Rows of a DH table in TOML as `written`: link data stay in the frame of their own row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from armwright.algebra import Array, Symmetric
from armwright.check.written import Angles, Body, DHRow, Hinge, Written
from armwright.errors import ModelError
from armwright.model.description import EARTH, cos_sin
from armwright.model.toml import check_count, data_of, lines_of
from armwright.model.values import Reader

DISTAL = ("standard", "saha")
"""Conventions whose row i has its frame at the far end of link i."""


def from_toml(data: bytes, file: str, default_name: str) -> Written:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"{file} cannot be read: {error}; save it as UTF-8 text") from None
    top = data_of(text, file)
    rows = top.get("link")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise ModelError(f"{file}: expected one [[link]] table per joint")
    check_count(rows, file)
    lines, convention = lines_of(text), str(top.get("convention", ""))
    readers = [Reader(row, _place(file, i)) for i, row in enumerate(rows)]
    table = [_row(reader, convention) for reader in readers]
    bodies = (_body(reader, i, table, convention, lines) for i, reader in enumerate(readers))
    whole = Reader(top, lambda _key: file)
    return Written(
        file=file,
        format="toml",
        name=whole.text("name", default_name),
        bodies=tuple(body for body in bodies if body is not None),
        hinges=tuple(_hinge(reader, i, table[i], lines) for i, reader in enumerate(readers)),
        angles=tuple(angle for i, reader in enumerate(readers) for angle in _angles(reader, i, lines)),
        gravity=whole.triple("gravity", EARTH),
        gravity_line=lines.get(("", 0, "gravity")),
        convention=convention,
        rows=tuple(table),
        accept=whole.texts("accept"),
        data=data,
    )


def _place(file: str, i: int) -> Callable[[str | None], str]:
    return lambda _key: f"{file}: link {i + 1}"


def _row(row: Reader, convention: str) -> DHRow:
    shift = "b" if convention in ("angeles", "saha") else "d"
    d = row.number(shift, 0.0)
    com = np.array(row.triple("com")) if "com" in row.data and row.data.get("mass") else None
    return DHRow(row.angle("alpha", 0.0), row.number("a", 0.0), -d if convention == "angeles" else d, com)


def other_end(rows: Sequence[DHRow], i: int, distal: bool) -> Array:
    """The other joint of link i seen from the frame of row i: joint i if that frame is at the far end, else i + 1."""
    if not distal and i + 1 >= len(rows):
        return np.zeros(3)
    row, sign = (rows[i], -1.0) if distal else (rows[i + 1], 1.0)
    c, s = cos_sin(row.alpha)
    return np.array([sign * row.a, -row.d * s, sign * row.d * c], dtype=float)


def _body(row: Reader, i: int, table: Sequence[DHRow], convention: str, lines: dict[Any, int]) -> Body | None:
    """The body of a row that gives mass, centre and tensor; others are made of rods and points by armwright itself."""
    if not {"mass", "com", "inertia"} <= set(row.data) or "point_masses" in row.data:
        return None
    tensor = np.asarray(row.data["inertia"])
    form = {(6,): "six", (3, 3): "rows"}.get(tensor.shape, "")
    if not form or tensor.dtype.kind not in "iuf":
        return None
    if form == "six":
        tensor = np.array(Symmetric(*tensor.tolist()).matrix)
    distal = convention in DISTAL
    c, s = cos_sin(table[i].alpha) if distal else (1, 0)
    return Body(
        name=row.text("name", f"link{i + 1}"),
        mass=row.number("mass"),
        com=np.array(row.triple("com")),
        tensor=tensor.astype(float),
        points=np.vstack([np.zeros(3), other_end(table, i, distal)]),
        spin=np.array([0, s, c], dtype=float) if i == 0 and row.data.get("type") == "revolute" else None,
        place=i,
        form=form,
        line=lines.get(("link", i, "inertia")),
    )


def _hinge(row: Reader, i: int, geometry: DHRow, lines: dict[Any, int]) -> Hinge:
    kind = row.text("type", "revolute")
    placement = np.eye(4)
    placement[:3, 3] = geometry.a, 0.0, 0.0 if kind == "prismatic" else geometry.d
    return Hinge(
        name=row.text("joint", f"joint{i + 1}"),
        kind=kind,
        parent="" if i == 0 else f"link{i}",
        child=row.text("name", f"link{i + 1}"),
        placement=placement,
        axis=np.array([0.0, 0.0, 1.0]),
        limits=row.limits("limits", angles=kind == "revolute"),
        effort=row.number("max_torque") if "max_torque" in row.data else None,
        velocity=row.number("max_velocity") if "max_velocity" in row.data else None,
        viscous=row.number("viscous", 0.0),
        coulomb=row.number("coulomb", 0.0),
        marks={"limit": i},
        line=lines.get(("link", i, "limits"), lines.get(("link", i, None))),
    )


def _angles(row: Reader, i: int, lines: dict[Any, int]) -> Iterator[Angles]:
    """Angles written as numbers; "pi/2" and "90 deg" are exact."""
    for key in ("alpha", "theta"):
        value = row.data.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            where = row.text("joint", f"joint{i + 1}")
            yield Angles(where, key, (float(value),), (repr(value),), i, lines.get(("link", i, key)))
