"""The joint of a row of a table: its type, placement, limits and drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from armwright.errors import ModelError
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.joint_types import COMPOUND_TYPES, SINGLE_TYPES, freedoms_of
from armwright.model.mimic import Mimic
from armwright.model.records import JointModel
from armwright.model.row_bodies import BODY_KEYS
from armwright.model.table_reader import Reader

SPRING_KEYS = ("spring_stiffness", "spring_rest", "spring_curve")
DRIVE_KEYS = ("limits", "max_velocity", "max_torque", "viscous", "coulomb", "smooth", "rotor_inertia", "gear",
              *SPRING_KEYS)  # fmt: skip
BALL_DRIVE_KEYS = tuple(key for key in DRIVE_KEYS if key not in ("limits", "spring_curve"))
"""Keys of the freedoms of ball, free and planar joints: without limits and without a curve of the spring."""
MIMIC_KEYS = ("joint", "factor", "offset", "curve")
MODIFIED_KEYS = ("parent", "gamma", "y", "z", "pitch", "freedoms", "z_axis")
"""Keys of the modified convention only: trees, general placements, and joints with several freedoms."""
ROW_KEYS = ("name", "joint", "parent", "type", "gamma", "alpha", "a", "y", "z", "d", "b", "theta", "pitch",
            *BODY_KEYS, *DRIVE_KEYS, "mimic", "freedoms", "z_axis", "visuals")  # fmt: skip

OPTIONAL_KEYS = {
    "revolute": ("theta",),
    "prismatic": ("d", "b"),
    "helical": ("theta", "d"),
    "cylindrical": ("theta", "d"),
    "universal": ("theta",),
    **dict.fromkeys(FREEDOMS_OF_KIND, ("alpha", "a", "theta", "d")),
}
"""Keys of a placement that default to zero, by joint type, since the joint varies them."""


@dataclass(frozen=True)
class RowJoint:
    """A joint in its convention, and its freedoms; `z_axis` is the axis of a universal joint that is z of its data."""

    written: JointModel
    freedoms: tuple[JointModel, ...]
    z_axis: str = ""


def read_joint(row: Reader, i: int, convention: str) -> RowJoint:
    """Return the joint of row i, from 0."""
    shift = "b" if convention in ("angeles", "saha") else "d"
    _check_keys(row, convention, shift)
    kind = _kind(row, convention)
    optional = OPTIONAL_KEYS[kind]
    d = row.number(shift, default=0.0 if shift in optional else None)
    placed = JointModel(
        name=row.text("joint", f"joint{i + 1}"),
        type=kind if kind in SINGLE_TYPES else "revolute",
        alpha=row.angle("alpha", default=0.0 if "alpha" in optional else None),
        a=row.number("a", default=0.0 if "a" in optional else None),
        d=0.0 - d if convention == "angeles" else d,
        theta=row.angle("theta", default=0.0 if "theta" in optional else None),
        gamma=row.angle("gamma", default=0.0),
        y=row.number("y", default=0.0),
        z=row.number("z", default=0.0),
    )
    if kind in SINGLE_TYPES:
        if "freedoms" in row.data:
            keys = ", ".join(DRIVE_KEYS[:2])
            row.fail("freedoms", f"a {kind} joint has one freedom: write {keys}, ... in the row itself")
        joint = _with_drive(row, placed)
        return RowJoint(joint, (joint,))
    z_axis = _z_axis(row) if kind == "universal" else ""
    return RowJoint(replace(placed, kind=kind), _freedoms(row, kind, placed), z_axis)


def _z_axis(row: Reader) -> str:
    """Return the axis of a universal joint that is z of its link data: "first" (default) or "second"."""
    axis = row.text("z_axis", "first")
    if axis not in ("first", "second"):
        row.fail("z_axis", f"z_axis = {axis!r}; expected 'first' or 'second'")
    return axis


def _check_keys(row: Reader, convention: str, shift: str) -> None:
    hint = f"the {convention} convention writes {shift}; " if ({"b", "d"} - {shift}) & set(row.data) else ""
    known = [key for key in ROW_KEYS if key not in ("b", "d") or key == shift]
    if convention != "modified":
        known = [key for key in known if key not in MODIFIED_KEYS]
        if set(MODIFIED_KEYS) & set(row.data):
            hint += "trees, general placements and joints with several freedoms need the modified convention; "
    row.check_keys(known, hint)


def _kind(row: Reader, convention: str) -> str:
    kind = row.need("type")
    if not isinstance(kind, str) or kind not in (*SINGLE_TYPES, *COMPOUND_TYPES):
        row.fail("type", f"unknown joint type {kind!r}; expected one of {', '.join((*SINGLE_TYPES, *COMPOUND_TYPES))}")
    if kind in COMPOUND_TYPES and convention != "modified":
        types = ", ".join(SINGLE_TYPES)
        row.fail("type", f"a {kind} joint is written in the modified convention; {convention} has {types}")
    if "pitch" in row.data and kind != "helical":
        row.fail("pitch", f"pitch is for helical joints; this one is {kind}")
    if "z_axis" in row.data and kind != "universal":
        row.fail("z_axis", f"z_axis is for universal joints; this one is {kind}")
    return kind


def _freedoms(row: Reader, kind: str, placed: JointModel) -> tuple[JointModel, ...]:
    """Return the freedoms of a joint with several; a helical joint has one independent freedom with the drive."""
    if kind == "helical":
        pitch = row.number("pitch") if "pitch" in row.data else 0.0
        if not pitch:
            row.fail("pitch", "a helical joint needs its pitch, metres per radian and not zero")
        freedoms = freedoms_of(kind, _with_drive(row, placed), pitch)
    else:
        if key := next((key for key in (*DRIVE_KEYS, "mimic") if key in row.data), None):
            none = kind in FREEDOMS_OF_KIND and key not in BALL_DRIVE_KEYS
            row.fail(key, f"{key}: a {kind} joint has {'none' if none else 'several freedoms'}; {_ALTERNATIVE}")
        freedoms = freedoms_of(kind, placed)
    entries = row.data.get("freedoms", [{}] * len(freedoms))
    if not isinstance(entries, Sequence) or not all(isinstance(entry, Mapping) for entry in entries):
        row.fail("freedoms", f"freedoms = {entries!r} is not a list of tables, such as [{{viscous = 0.1}}, {{}}]")
    if len(entries) != len(freedoms):
        row.fail("freedoms", f"freedoms has {len(entries)} entries; a {kind} joint has {len(freedoms)} freedoms")
    return tuple(_freedom(row, entry, one) for entry, one in zip(entries, freedoms, strict=True))


_ALTERNATIVE = "expected freedoms = [{...}, {...}], a table for each"


def _freedom(row: Reader, data: Mapping[str, Any], joint: JointModel) -> JointModel:
    """Return one freedom of several, with its data."""
    entry = Reader(data, lambda _key: row.where("freedoms"))
    if joint.kind in FREEDOMS_OF_KIND:
        hint = f"a {joint.kind} joint has no limits, and its spring no curve; "
        entry.check_keys(("joint", *BALL_DRIVE_KEYS), hint if set(data) & {*DRIVE_KEYS, "mimic"} else "")
    else:
        entry.check_keys(("joint", *DRIVE_KEYS, "mimic"))
    return replace(_with_drive(entry, joint), name=entry.text("joint", joint.name))


def _with_drive(row: Reader, joint: JointModel) -> JointModel:
    """Return the joint with the limits and the drive of a row."""
    angles = not joint.prismatic
    if "gear" in row.data and row.number("gear") == 0:
        row.fail("gear", "gear = 0 would uncouple the motor; expected a gear ratio such as 1 or -62.6")
    return replace(
        joint,
        limits=row.limits("limits", angles) if "limits" in row.data else joint.limits,
        viscous=row.at_least_zero("viscous", "N m s or N s/m", default=joint.viscous),
        coulomb=row.at_least_zero("coulomb", "N m or N", default=joint.coulomb),
        smooth=row.at_least_zero("smooth", "rad/s or m/s", default=joint.smooth),
        rotor_inertia=row.at_least_zero("rotor_inertia", "kg m^2", default=joint.rotor_inertia),
        gear=row.number("gear", default=joint.gear),
        max_velocity=_optional_limit(row, "max_velocity", "rad/s or m/s", joint.max_velocity),
        max_torque=_optional_limit(row, "max_torque", "N m or N", joint.max_torque),
        spring_stiffness=row.number("spring_stiffness", default=joint.spring_stiffness),
        spring_rest=(row.angle if angles else row.number)("spring_rest", default=joint.spring_rest),
        spring_curve=_factors(row, "spring_curve", 2) if "spring_curve" in row.data else joint.spring_curve,
        mimic=_mimic(row, joint) if row.data.get("mimic") is not None else joint.mimic,
    )


def _optional_limit(row: Reader, key: str, unit: str, otherwise: float | None) -> float | None:
    return row.at_least_zero(key, unit) if key in row.data else otherwise


MAX_CURVE_POWERS = 16
"""The largest number of powers beyond the first in the curve of a follower."""


def _factors(row: Reader, key: str, max_count: int) -> tuple[float, ...]:
    """Return the factors of x^2, x^3 and so on of a polynomial."""
    factors = row.data[key]
    if isinstance(factors, str) or not isinstance(factors, Sequence) or len(factors) > max_count:
        row.fail(key, f"{key} = {factors!r}; expected {max_count} numbers at most, the factors of x^2, x^3, ...")
    return tuple(Reader({key: factor}, row.where).number(key) for factor in factors)


def _mimic(row: Reader, joint: JointModel) -> Mimic:
    """Return the rule in mimic = {joint, factor, offset, curve}."""
    data = row.data["mimic"]
    if not isinstance(data, Mapping):
        row.fail("mimic", f"mimic = {data!r} is not a table; expected keys {', '.join(MIMIC_KEYS)}")
    entry = Reader(data, lambda _key: row.where("mimic"))
    entry.check_keys(MIMIC_KEYS)
    if not isinstance(entry.need("joint"), str):
        entry.fail("joint", f"joint = {data['joint']!r}: expected the name of the joint to follow")
    offset = (entry.number if joint.prismatic else entry.angle)("offset", default=0.0)
    curve = _factors(entry, "curve", MAX_CURVE_POWERS) if "curve" in data else ()
    factor = entry.number("factor", default=0.0 if any(curve) else 1.0)
    return Mimic(data["joint"], factor, offset, curve=curve if any(curve) else ())


PLACEMENT_KEYS = ("alpha", "a", "d", "theta", "gamma", "y", "z")


def joint_row(freedoms: Sequence[JointModel]) -> dict[str, Any]:
    """Return the freedoms of one joint as a minimal row for `read_joint`, in the modified convention."""
    first, kind = freedoms[0], freedoms[0].kind
    placement = {key: getattr(first, key) for key in PLACEMENT_KEYS}
    row: dict[str, Any] = {"joint": first.name, "type": kind or first.type}
    row |= {key: value for key, value in placement.items() if value or key in PLACEMENT_KEYS[:4]}
    if not kind:
        return row | _drive(first, JointModel)
    bare = JointModel("", "revolute", **placement)
    row["joint"] = first.name.removesuffix(freedoms_of(kind, bare)[0].name)
    bare = replace(bare, name=row["joint"])
    if kind == "helical" and (mimic := freedoms[1].mimic):
        row["pitch"] = mimic.factor / (first.mimic.factor if first.mimic else 1.0)
        row |= _drive(first, JointModel)
        bare = replace(first, kind="", freedom=0)
    default_freedoms = freedoms_of(kind, bare, row.get("pitch", 0.0))
    pairs = list(zip(freedoms, default_freedoms, strict=True))
    if any(getattr(one, key) != getattr(two, key) for one, two in pairs for key in PLACEMENT_KEYS):
        text = f"the freedoms of the {kind} joint {row['joint']!r} do not have the placements of a {kind} joint"
        raise ModelError(text)
    entries = [({"joint": one.name} if one.name != other.name else {}) | _drive(one, other) for one, other in pairs]
    axis = {"z_axis": "second"} if kind == "universal" else {}  # canonical frames have z on the axis of their joint
    return row | ({"freedoms": entries} if any(entries) else {}) | axis


def _drive(joint: JointModel, default: Any) -> dict[str, Any]:
    """Return the limits and drive of a joint that differ from the defaults."""
    keys = BALL_DRIVE_KEYS if joint.kind in FREEDOMS_OF_KIND else DRIVE_KEYS
    settings = {key: value for key in keys if (value := getattr(joint, key)) != getattr(default, key)}
    in_loop = joint.mimic is not None and bool(joint.mimic.loop or joint.mimic.others)  # written as [[loop]]
    if joint.mimic and not in_loop and (not default.mimic or replace(joint.mimic, place=0) != default.mimic):
        settings["mimic"] = {key: value for key in MIMIC_KEYS if (value := getattr(joint.mimic, key)) or key != "curve"}
    return settings
