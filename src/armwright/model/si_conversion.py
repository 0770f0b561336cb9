"""The tables of a robot with every number converted to SI units and radians.

Conversion comes first, so that readers, rules and checks see the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from armwright.errors import ModelError
from armwright.model.joint_types import COMPOUND_TYPES, freedoms_of
from armwright.model.records import JointModel
from armwright.model.units import (
    ACCELERATION,
    ANGLE,
    FORCE,
    INERTIA,
    LENGTH,
    LINE_DENSITY,
    MASS,
    PITCH,
    RATE,
    SLIDING_FRICTION,
    SLIDING_STIFFNESS,
    SPEED,
    TORQUE,
    TURNING_FRICTION,
    TURNING_STIFFNESS,
    Quantity,
    Units,
    WrongUnit,
    units_of,
)

Where: TypeAlias = Callable[[str, int, str | None], str]
"""A function of (table, index, key) that names the place for messages."""

POSE_KEY = "pose"
"""The kind of a transform, whose position is a length."""

Quantities: TypeAlias = Mapping[str, Any]
"""For each key its quantity, POSE_KEY, a table of quantities, or None for a value without unit."""

BODY_QUANTITIES: Quantities = {"mass": MASS, "com": LENGTH, "inertia": INERTIA}
VISUAL_QUANTITIES: Quantities = {
    **dict.fromkeys(("box", "cylinder", "sphere", "capsule", "ellipsoid"), LENGTH),
    **dict.fromkeys(("mesh", "scale", "rgba", "name")),
    "pose": POSE_KEY,
}
ROW_QUANTITIES: Quantities = {
    **BODY_QUANTITIES,
    **dict.fromkeys(("alpha", "theta", "gamma"), ANGLE),
    **dict.fromkeys(("a", "d", "b", "y", "z"), LENGTH),
    **dict.fromkeys(("name", "joint", "parent", "type", "gear", "z_axis", "freedoms", "spring_curve")),
    "pitch": PITCH,
    "compensated_mass": MASS,
    "compensated_com": LENGTH,
    "rotor_inertia": INERTIA,
    "slender": {"rho": LINE_DENSITY, "mass": MASS, "payload": MASS, "hub": INERTIA, "length": LENGTH},
    "point_masses": {"mass": MASS, "at": LENGTH},
    "visuals": VISUAL_QUANTITIES,
}
"""Quantities of a row that do not depend on the type of its joint."""

ROBOT_QUANTITIES: Quantities = {
    **dict.fromkeys(("base", "flange", "tool"), POSE_KEY),
    "gravity": ACCELERATION,
    "rated_payload": MASS,
    "visuals": VISUAL_QUANTITIES,
}
"""Quantities of the top-level keys of a robot."""


def drive_quantities(turns: bool) -> Quantities:
    """Return the quantities of the limits and drive of a revolute (`turns`) or prismatic joint."""
    position, speed, effort = (ANGLE, RATE, TORQUE) if turns else (LENGTH, SPEED, FORCE)
    return {
        **dict.fromkeys(("limits", "spring_rest"), position),
        **dict.fromkeys(("max_velocity", "smooth"), speed),
        **dict.fromkeys(("max_torque", "coulomb"), effort),
        "viscous": TURNING_FRICTION if turns else SLIDING_FRICTION,
        "spring_stiffness": TURNING_STIFFNESS if turns else SLIDING_STIFFNESS,
        "mimic": {"offset": position},
    }


def robot_in_si(data: Mapping[str, Any], where: Where, robot: str) -> dict[str, Any]:
    """Return the keys of a robot in SI, malformed values unchanged; `where` and `robot` name places for messages."""
    units = _units(data.get("units"), where, robot)

    def place(table: str, index: int, name: str) -> Callable[[str | None], str]:
        return lambda key: where(table, index, key) + name

    def converted(table: str, change: Callable[[Any, Callable[[str | None], str]], Any]) -> list[Any]:
        named = [(one, place(table, i, f"{table} {i + 1}{_name(one)}")) for i, one in enumerate(data[table])]
        return [change(one, at) if isinstance(one, Mapping) else one for one, at in named]

    result = table_in_si(data, ROBOT_QUANTITIES, units, place("", 0, robot))
    for key in ("payload", "base_link"):
        if isinstance(data.get(key), Mapping):
            kinds = BODY_QUANTITIES if key == "payload" else ROW_QUANTITIES
            result[key] = table_in_si(data[key], kinds, units, place(key, 0, key))
    if _is_list(data.get("frame")):
        result["frame"] = converted("frame", lambda frame, at: table_in_si(frame, {"pose": POSE_KEY}, units, at))
    if _is_list(data.get("link")):
        result["link"] = converted("link", lambda row, at: row_in_si(row, units, at))
    if _is_list(data.get("loop")):
        revolute = _revolute(data.get("link"))
        result["loop"] = converted("loop", lambda loop, at: _loop_in_si(loop, revolute, units, at))
    return result


def _units(data: Any, where: Where, robot: str) -> Units:
    try:
        return units_of(data)
    except WrongUnit as error:
        place = where("units", 0, None) if isinstance(data, Mapping) else where("", 0, "units")
        raise ModelError(f"{place}{robot}: {error}") from None


def row_in_si(row: Mapping[str, Any], units: Units, where: Callable[[str | None], str]) -> dict[str, Any]:
    """Return a row of a table in SI, with the freedoms of its joint."""
    result = table_in_si(row, {**ROW_QUANTITIES, **drive_quantities(row.get("type") != "prismatic")}, units, where)
    entries = row.get("freedoms")
    turns = [freedom.type == "revolute" for freedom in _freedoms(row)]
    if _is_list(entries) and len(entries) == len(turns):
        kinds = [{**drive_quantities(turn), "rotor_inertia": INERTIA} for turn in turns]
        result["freedoms"] = [
            table_in_si(entry, kind, units, lambda _key: where("freedoms")) if isinstance(entry, Mapping) else entry
            for entry, kind in zip(entries, kinds, strict=True)
        ]
    return result


def _freedoms(row: Mapping[str, Any]) -> Sequence[JointModel]:
    """Return the freedoms of the joint of a row, with only their names and types."""
    kind, name = row.get("type"), row.get("joint")
    if not isinstance(kind, str) or kind not in ("revolute", "prismatic", *COMPOUND_TYPES):
        return ()
    return freedoms_of(kind, JointModel(name if isinstance(name, str) else "", "revolute", 0.0, 0.0, 0.0, 0.0))


def _revolute(rows: Any) -> dict[str, bool]:
    """Return for each joint of a table, by name, whether it is revolute."""
    revolute: dict[str, bool] = {}
    for i, row in enumerate(rows if _is_list(rows) else ()):
        if isinstance(row, Mapping):
            named = {"joint": f"joint{i + 1}", **row}
            revolute |= {freedom.name: freedom.type == "revolute" for freedom in _freedoms(named)}
    return revolute


def _loop_in_si(
    loop: Mapping[str, Any], turning: Mapping[str, bool], units: Units, where: Callable[[str | None], str]
) -> dict[str, Any]:
    """Return the points, transforms and reference of a loop in SI."""
    positions = {name: drive_quantities(turns)["limits"] for name, turns in turning.items()}
    known: Quantities = {"reference": positions, "offset": positions.get(str(loop.get("joint")), ANGLE)}
    result = table_in_si(loop, known, units, where)
    if _is_list(places := loop.get("at")):
        kinds = [POSE_KEY if _is_list(place) and len(place) != 3 else LENGTH for place in places]
        result["at"] = [
            place if isinstance(place, str) else table_in_si({"at": place}, {"at": kind}, units, where)["at"]
            for place, kind in zip(places, kinds, strict=True)
        ]
    return result


def table_in_si(
    data: Mapping[str, Any], kinds: Quantities, units: Units, where: Callable[[str | None], str]
) -> dict[str, Any]:
    """Return a table with the numbers of its quantities in SI."""
    result = dict(data)
    for key, kind in kinds.items():
        if key in data and kind is not None:
            try:
                result[key] = _in_si(data[key], kind, units)
            except WrongUnit as error:
                raise ModelError(f"{where(key)}: {key}: {error}") from None
    return result


def _in_si(value: Any, kind: Any, units: Units) -> Any:
    if isinstance(kind, Quantity):
        return units.in_si(value, kind)
    if isinstance(value, Mapping) and isinstance(kind, Mapping):
        return {key: _in_si(one, kind[key], units) if kind.get(key) else one for key, one in value.items()}
    if not isinstance(value, (list, tuple, np.ndarray)):
        return value
    if kind == POSE_KEY:
        return _pose(value, units)
    return [_in_si(one, kind, units) if isinstance(one, Mapping) else one for one in value]  # a list of tables


def _pose(value: Any, units: Units) -> Any:
    """Return x, y, z and a quaternion, or four rows of four, with lengths in SI."""
    rows = value.tolist() if isinstance(value, np.ndarray) else list(value)
    if len(rows) == 7:
        return [*(units.in_si(x, LENGTH) for x in rows[:3]), *rows[3:]]
    if len(rows) == 4 and all(_is_list(row) and len(row) == 4 for row in rows):
        return [*([*row[:3], units.in_si(row[3], LENGTH)] for row in rows[:3]), rows[3]]
    return value


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _name(table: Any) -> str:
    return f" ({table['name']})" if isinstance(table, Mapping) and isinstance(table.get("name"), str) else ""
