"""The joint of one row of a table: where it is placed, what kind it is, its limits and its drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from armwright.errors import ModelError
from armwright.mechanism import FREEDOMS
from armwright.model.bodies import BODY
from armwright.model.description import JointModel
from armwright.model.freedoms import KINDS, PLAIN, rows_of
from armwright.model.mimic import Mimic
from armwright.model.values import Reader

SPRING = ("spring_stiffness", "spring_rest", "spring_curve")
DRIVE = ("limits", "max_velocity", "max_torque", "viscous", "coulomb", "smooth", "rotor_inertia", "gear", *SPRING)
BALL_DRIVE = tuple(key for key in DRIVE if key not in ("limits", "spring_curve"))
"""Of the freedoms of a joint whose position is a quaternion: it has no limits, and its spring no curve."""
MIMIC = ("joint", "factor", "offset", "curve")
FURTHER = ("parent", "gamma", "y", "z", "pitch", "freedoms", "z_axis")
"""Keys of the modified convention only: of trees, of general placements, and of joints of several freedoms."""
KEYS = ("name", "joint", "parent", "type", "gamma", "alpha", "a", "y", "z", "d", "b", "theta", "pitch", *BODY, *DRIVE,
        "mimic", "freedoms", "z_axis", "visuals")  # fmt: skip

VARIABLE = {
    "revolute": ("theta",),
    "prismatic": ("d", "b"),
    "helical": ("theta", "d"),
    "cylindrical": ("theta", "d"),
    "universal": ("theta",),
    **dict.fromkeys(FREEDOMS, ("alpha", "a", "theta", "d")),
}
"""What of a placement may be left out and is then zero: what the joint moves along or about."""


@dataclass(frozen=True)
class Row:
    """A joint as it is written, and its freedoms; `z_axis` says which axis of a universal joint its data have as z."""

    written: JointModel
    freedoms: tuple[JointModel, ...]
    z_axis: str = ""


def row_of(row: Reader, i: int, convention: str) -> Row:
    """The joint of row i, counted from 0."""
    shift = "b" if convention in ("angeles", "saha") else "d"
    _check_keys(row, convention, shift)
    kind = _kind(row, convention)
    optional = VARIABLE[kind]
    d = row.number(shift, default=0.0 if shift in optional else None)
    placed = JointModel(
        name=row.text("joint", f"joint{i + 1}"),
        type=kind if kind in PLAIN else "revolute",
        alpha=row.angle("alpha", default=0.0 if "alpha" in optional else None),
        a=row.number("a", default=0.0 if "a" in optional else None),
        d=0.0 - d if convention == "angeles" else d,
        theta=row.angle("theta", default=0.0 if "theta" in optional else None),
        gamma=row.angle("gamma", default=0.0),
        y=row.number("y", default=0.0),
        z=row.number("z", default=0.0),
    )
    if kind in PLAIN:
        if "freedoms" in row.data:
            row.fail("freedoms", f"a {kind} joint has one freedom: write {', '.join(DRIVE[:2])}, ... in the row itself")
        joint = _driven(row, placed)
        return Row(joint, (joint,))
    return Row(replace(placed, kind=kind), _several(row, kind, placed), _z_axis(row) if kind == "universal" else "")


def _z_axis(row: Reader) -> str:
    """The axis of a universal joint that is z of the frame its link data are in: "first" (by default) or "second"."""
    axis = row.text("z_axis", "first")
    if axis not in ("first", "second"):
        row.fail("z_axis", f"z_axis = {axis!r}; expected 'first' or 'second'")
    return axis


def _check_keys(row: Reader, convention: str, shift: str) -> None:
    hint = f"the {convention} convention writes {shift}; " if ({"b", "d"} - {shift}) & set(row.data) else ""
    known = [key for key in KEYS if key not in ("b", "d") or key == shift]
    if convention != "modified":
        known = [key for key in known if key not in FURTHER]
        if set(FURTHER) & set(row.data):
            hint += "trees, general placements and joints of several freedoms are written in the modified convention; "
    row.check_keys(known, hint)


def _kind(row: Reader, convention: str) -> str:
    kind = row.need("type")
    if not isinstance(kind, str) or kind not in (*PLAIN, *KINDS):
        row.fail("type", f"unknown joint type {kind!r}; expected one of {', '.join((*PLAIN, *KINDS))}")
    if kind in KINDS and convention != "modified":
        row.fail("type", f"a {kind} joint is written in the modified convention; {convention} has {', '.join(PLAIN)}")
    if "pitch" in row.data and kind != "helical":
        row.fail("pitch", f"pitch is for helical joints; this one is {kind}")
    if "z_axis" in row.data and kind != "universal":
        row.fail("z_axis", f"z_axis is for universal joints; this one is {kind}")
    return kind


def _several(row: Reader, kind: str, placed: JointModel) -> tuple[JointModel, ...]:
    """The freedoms of a joint that has several; a helical one has one that moves by itself, and its drive."""
    if kind == "helical":
        pitch = row.number("pitch") if "pitch" in row.data else 0.0
        if not pitch:
            row.fail("pitch", "a helical joint needs its pitch, metres per radian and not zero")
        made = rows_of(kind, _driven(row, placed), pitch)
    else:
        if given := [key for key in (*DRIVE, "mimic") if key in row.data]:
            what = "has none" if kind in FREEDOMS and given[0] not in BALL_DRIVE else "has several freedoms"
            row.fail(given[0], f"{given[0]}: a {kind} joint {what}; {_ALTERNATIVE}")
        made = rows_of(kind, placed)
    entries = row.data.get("freedoms", [{}] * len(made))
    if not isinstance(entries, Sequence) or not all(isinstance(entry, Mapping) for entry in entries):
        row.fail("freedoms", f"freedoms = {entries!r} is not a list of tables, such as [{{viscous = 0.1}}, {{}}]")
    if len(entries) != len(made):
        row.fail("freedoms", f"freedoms has {len(entries)} entries; a {kind} joint has {len(made)} freedoms")
    return tuple(_freedom(row, entry, one) for entry, one in zip(entries, made, strict=True))


_ALTERNATIVE = "expected freedoms = [{...}, {...}], a table for each"


def _freedom(row: Reader, data: Mapping[str, Any], made: JointModel) -> JointModel:
    """One freedom of several, with what is written of it."""
    entry = Reader(data, lambda _key: row.where("freedoms"))
    if made.kind in FREEDOMS:
        hint = f"a {made.kind} joint has no limits, and its spring no curve; "
        entry.check_keys(("joint", *BALL_DRIVE), hint if set(data) & {*DRIVE, "mimic"} else "")
    else:
        entry.check_keys(("joint", *DRIVE, "mimic"))
    return replace(_driven(entry, made), name=entry.text("joint", made.name))


def _driven(row: Reader, joint: JointModel) -> JointModel:
    """The joint with the limits and the drive that are written of it."""
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
        max_velocity=_most(row, "max_velocity", "rad/s or m/s", joint.max_velocity),
        max_torque=_most(row, "max_torque", "N m or N", joint.max_torque),
        spring_stiffness=row.number("spring_stiffness", default=joint.spring_stiffness),
        spring_rest=(row.angle if angles else row.number)("spring_rest", default=joint.spring_rest),
        spring_curve=_factors(row, "spring_curve", 2) if "spring_curve" in row.data else joint.spring_curve,
        mimic=_mimic(row, joint) if row.data.get("mimic") is not None else joint.mimic,
    )


def _most(row: Reader, key: str, unit: str, otherwise: float | None) -> float | None:
    return row.at_least_zero(key, unit) if key in row.data else otherwise


MOST_POWERS = 16
"""Of a curve by which a joint follows another, beyond the first."""


def _factors(row: Reader, key: str, most: int) -> tuple[float, ...]:
    """The factors of x^2, x^3 and so on in a polynomial."""
    given = row.data[key]
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) > most:
        row.fail(key, f"{key} = {given!r}; expected {most} numbers at most, the factors of x^2, x^3, ...")
    return tuple(Reader({key: factor}, row.where).number(key) for factor in given)


def _mimic(row: Reader, joint: JointModel) -> Mimic:
    """mimic = {joint, factor, offset, curve}: which joint this one follows, and how."""
    data = row.data["mimic"]
    if not isinstance(data, Mapping):
        row.fail("mimic", f"mimic = {data!r} is not a table; expected keys {', '.join(MIMIC)}")
    entry = Reader(data, lambda _key: row.where("mimic"))
    entry.check_keys(MIMIC)
    if not isinstance(entry.need("joint"), str):
        entry.fail("joint", f"joint = {data['joint']!r}: expected the name of the joint to follow")
    offset = (entry.number if joint.prismatic else entry.angle)("offset", default=0.0)
    curve = _factors(entry, "curve", MOST_POWERS) if "curve" in data else ()
    factor = entry.number("factor", default=0.0 if any(curve) else 1.0)
    return Mimic(data["joint"], factor, offset, curve=curve if any(curve) else ())


PLACEMENT = ("alpha", "a", "d", "theta", "gamma", "y", "z")


def as_row(freedoms: Sequence[JointModel]) -> dict[str, Any]:
    """What `row_of` reads of the freedoms of one joint, in the modified convention, and no more than it needs."""
    first, kind = freedoms[0], freedoms[0].kind
    placement = {key: getattr(first, key) for key in PLACEMENT}
    row: dict[str, Any] = {"joint": first.name, "type": kind or first.type}
    row |= {key: value for key, value in placement.items() if value or key in PLACEMENT[:4]}
    if not kind:
        return row | _drive(first, JointModel)
    bare = JointModel("", "revolute", **placement)
    row["joint"] = first.name.removesuffix(rows_of(kind, bare)[0].name)
    bare = replace(bare, name=row["joint"])
    if kind == "helical" and (mimic := freedoms[1].mimic):
        row["pitch"] = mimic.factor / (first.mimic.factor if first.mimic else 1.0)
        row |= _drive(first, JointModel)
        bare = replace(first, kind="", freedom=0)
    made = rows_of(kind, bare, row.get("pitch", 0.0))
    if any(
        getattr(one, key) != getattr(two, key) for one, two in zip(freedoms, made, strict=True) for key in PLACEMENT
    ):
        raise ModelError(f"the freedoms of the {kind} joint {row['joint']!r} are placed as no {kind} joint's are")
    entries = [
        ({"joint": one.name} if one.name != other.name else {}) | _drive(one, other)
        for one, other in zip(freedoms, made, strict=True)
    ]
    axis = {"z_axis": "second"} if kind == "universal" else {}  # canonical frames have z on the axis of their joint
    return row | ({"freedoms": entries} if any(entries) else {}) | axis


def _drive(joint: JointModel, default: Any) -> dict[str, Any]:
    """What of the limits and the drive of a joint is not as it would be if nothing were written."""
    keys = BALL_DRIVE if joint.kind in FREEDOMS else DRIVE
    found = {key: value for key in keys if (value := getattr(joint, key)) != getattr(default, key)}
    in_loop = joint.mimic is not None and bool(joint.mimic.loop or joint.mimic.others)  # written as [[loop]]
    if joint.mimic and not in_loop and (not default.mimic or replace(joint.mimic, place=0) != default.mimic):
        found["mimic"] = {key: value for key in MIMIC if (value := getattr(joint.mimic, key)) or key != "curve"}
    return found
