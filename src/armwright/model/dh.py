"""DH tables in four conventions, converted once to the canonical chain.

| convention | one row moves a frame by                                | link data are in      | displacement |
|------------|---------------------------------------------------------|-----------------------|--------------|
| modified   | Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, d)     | the frame of that row | d            |
| angeles    | Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, -b)    | the frame of that row | b = -d       |
| standard   | Rot(z, theta) Trans(z, d) Trans(x, a) Rot(x, alpha)     | the frame of that row | d            |
| saha       | Rot(z, theta) Trans(z, b) Trans(x, a) Rot(x, alpha)     | frame i+1, on link i  | b            |

Standard and Saha's tables place frames alike; they differ in numbering and in the letter. The joint variable is
added to theta (revolute) or to d or b (prismatic). A prismatic joint counted by b = -d keeps its meaning: its z
axis is turned round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from armwright.algebra import ZERO, Symmetric, Vector
from armwright.errors import ModelError, unknown
from armwright.mechanism import Link
from armwright.model.description import (
    NO_TENSOR,
    NO_TRANSFORM,
    JointModel,
    LinkModel,
    Mimic,
    Transform,
    compose,
    cos_sin,
    joined,
    parted,
    six,
    symmetric,
    tensor,
    triple,
)
from armwright.model.values import Reader

if TYPE_CHECKING:
    from armwright.model.meshes import Places
    from armwright.model.visual import Visual

CONVENTIONS = ("modified", "standard", "angeles", "saha")
TYPES = ("revolute", "prismatic")

GEOMETRY = ("type", "alpha", "a", "d", "b", "theta")
BODY = ("mass", "com", "inertia", "slender", "point_masses")
DRIVE = ("limits", "max_velocity", "max_torque", "viscous", "coulomb", "smooth", "rotor_inertia", "gear")
MIMIC = ("joint", "factor", "offset")
KEYS = ("name", "joint", *GEOMETRY, *BODY, *DRIVE, "mimic", "visuals")
SLENDER_KEYS = ("rho", "mass", "payload", "hub", "length")

Where = Callable[[int, str | None], str]


@dataclass(frozen=True)
class Table:
    """A DH table made canonical; `flange` leads from frame n to the last frame of the table.

    `written` are its rows as they were, and `centres` the centres of mass that stand in them (or zero).
    """

    joints: tuple[JointModel, ...]
    followers: tuple[JointModel, ...]
    links: tuple[LinkModel, ...]
    flange: Transform
    written: tuple[JointModel, ...] = ()
    centres: tuple[tuple[float, float, float], ...] = ()


NO_CENTRE = (0.0, 0.0, 0.0)


def read_table(
    rows: Sequence[Mapping[str, Any]], convention: str, where: Where | None = None, places: Places | None = None
) -> Table:
    """Read, check and convert the rows; `where(row, key)` names a place for error messages.

    `places` is where meshes may be; by default around the working directory.
    """
    _check_rows(rows, convention)
    readers = [Reader(row, _place(i, row, where)) for i, row in enumerate(rows)]
    joints = [_joint(reader, i, convention) for i, reader in enumerate(readers)]
    written = tuple(joints)
    frames = [(0.0, 0.0)] * len(rows)  # (alpha, a) from the canonical frame of link i to the frame its data are in
    if convention in ("standard", "saha"):
        frames = [(joint.alpha, joint.a) for joint in joints]
        before = zip(joints, [(0.0, 0.0), *frames], strict=False)
        joints = [replace(joint, alpha=alpha, a=a) for joint, (alpha, a) in before]
    rods = [*(joint.a for joint in joints[1:]), *(a for _, a in frames[-1:])]
    links = [_link(*each, places) for each in zip(readers, range(len(rows)), joints, frames, rods, strict=True)]
    last = _along_x(*frames[-1]) if frames else NO_TRANSFORM
    for i, joint in enumerate(joints):
        if convention == "angeles" and joint.prismatic:
            last = _turn_axis(i, joints, links, last)
    centres = tuple(reader.triple("com") if "com" in reader.data else NO_CENTRE for reader in readers)
    return Table(*parted(joints), tuple(links), last, written, centres)


def _check_rows(rows: object, convention: object) -> None:
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        raise unknown("DH convention", convention, CONVENTIONS)
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Sequence):
        raise ModelError(f"a DH table is a sequence of rows, each a mapping; got {type(rows).__name__}")
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ModelError(
                f"row {i + 1} of the DH table is {row!r}; expected a mapping with keys like 'alpha' and 'mass'"
            )


def _place(i: int, row: Mapping[str, Any], where: Where | None) -> Callable[[str | None], str]:
    name = f" ({row['name']})" if isinstance(row.get("name"), str) else ""
    return lambda key: (where(i, key) if where else "") + f"link {i + 1}{name}"


def _joint(row: Reader, i: int, convention: str) -> JointModel:
    shift = "b" if convention in ("angeles", "saha") else "d"
    hint = f"the {convention} convention writes {shift}; " if ({"b", "d"} - {shift}) & set(row.data) else ""
    row.check_keys((key for key in KEYS if key not in ("b", "d") or key == shift), hint)
    kind = row.need("type")
    if not isinstance(kind, str) or kind not in TYPES:
        row.fail("type", f"unknown joint type {kind!r}; expected 'revolute' or 'prismatic'")
    prismatic = kind == "prismatic"
    d = row.number(shift, default=0.0 if prismatic else None)
    gear = row.number("gear", default=1.0)
    if gear == 0:
        row.fail("gear", "gear = 0 would uncouple the motor; expected a gear ratio such as 1 or -62.6")
    return JointModel(
        name=row.text("joint", f"joint{i + 1}"),
        type=kind,
        alpha=row.angle("alpha"),
        a=row.number("a"),
        d=_reverse(d) if convention == "angeles" else d,
        theta=row.angle("theta", default=None if prismatic else 0.0),
        limits=row.limits("limits", angles=not prismatic),
        viscous=row.at_least_zero("viscous", "N m s or N s/m", default=0.0),
        coulomb=row.at_least_zero("coulomb", "N m or N", default=0.0),
        smooth=row.at_least_zero("smooth", "rad/s or m/s", default=0.0),
        rotor_inertia=row.at_least_zero("rotor_inertia", "kg m^2", default=0.0),
        gear=gear,
        max_velocity=row.at_least_zero("max_velocity", "rad/s or m/s") if "max_velocity" in row.data else None,
        max_torque=row.at_least_zero("max_torque", "N m or N") if "max_torque" in row.data else None,
        mimic=_mimic(row, prismatic),
    )


def _mimic(row: Reader, prismatic: bool) -> Mimic | None:
    """mimic = {joint, factor, offset}: which joint this one follows, and how."""
    data = row.data.get("mimic")
    if data is None:
        return None
    if not isinstance(data, Mapping):
        row.fail("mimic", f"mimic = {data!r} is not a table; expected keys {', '.join(MIMIC)}")
    entry = Reader(data, lambda _key: row.where("mimic"))
    entry.check_keys(MIMIC)
    if not isinstance(entry.need("joint"), str):
        entry.fail("joint", f"joint = {data['joint']!r}: expected the name of the joint to follow")
    offset = (entry.number if prismatic else entry.angle)("offset", default=0.0)
    return Mimic(data["joint"], entry.number("factor", default=1.0), offset)


def _link(
    row: Reader, i: int, joint: JointModel, frame: tuple[float, float], rod: float, places: Places | None
) -> LinkModel:
    """The body of one row, and what a viewer shows of it, moved to the canonical frame of its link."""
    parts = [_moved(point, frame) for point in _point_masses(row)]
    if "slender" in row.data:
        for key in ("mass", "com", "inertia"):
            if key in row.data:
                row.fail(key, f"{key} and slender both describe the body; give one of them")
        parts.insert(0, _slender(row, joint, rod))
    elif "mass" in row.data or not parts:
        mass, com = row.at_least_zero("mass", "kilograms"), Vector(*row.triple("com"))
        parts.insert(0, _moved(Link(mass, com, symmetric(row.tensor("inertia"))), frame))
    body = joined(parts)
    visuals = _visuals(row, frame, places) if "visuals" in row.data else ()
    name = row.text("name", f"link{i + 1}")
    return LinkModel(name, float(body.mass), triple(body.com), tensor(body.inertia), visuals)


def _visuals(row: Reader, frame: tuple[float, float], places: Places | None) -> tuple[Visual, ...]:
    """What a viewer shows of the link of one row, in its canonical frame."""
    from armwright.model import visual  # noqa: PLC0415  (few tables have some)

    found = visual.read(row, places)
    return found if frame == (0.0, 0.0) else tuple(one.moved(_along_x(*frame)) for one in found)


def _moved(body: Link, frame: tuple[float, float]) -> Link:
    """A body given in a frame that is Rot(x, alpha) Trans(x, a) away, in the canonical frame."""
    c, s = cos_sin(frame[0])
    com = body.com
    turned = Vector(com.x + frame[1], c * com.y - s * com.z, s * com.y + c * com.z)
    return Link(body.mass, turned, body.inertia.turned_x(c, s))


def _point_masses(row: Reader) -> list[Link]:
    points = row.data.get("point_masses", [])
    if not isinstance(points, Sequence) or not all(isinstance(p, Mapping) for p in points):
        row.fail("point_masses", "point_masses must be a list of tables {mass, at}")
    if "point_masses" in row.data and not points:
        row.fail("point_masses", "point_masses is empty; expected at least one {mass, at}")
    bodies = []
    for point in points:
        entry = Reader(point, lambda _key: row.where("point_masses"))
        entry.check_keys(("mass", "at"))
        bodies.append(
            Link(entry.at_least_zero("mass", "kilograms"), Vector(*entry.triple("at")), Symmetric(0, 0, 0, 0, 0, 0))
        )
    return bodies


def _slender(row: Reader, joint: JointModel, rod: float) -> Link:
    """Mohan and Saha's link: rods along z_i and x over b_i and a_i, a payload at the end, an inertia at the hub.

    On a prismatic joint b_i is the travel, so the rod along z has its own fixed `length`.
    """
    data = row.data["slender"]
    if not isinstance(data, Mapping):
        row.fail("slender", f"slender = {data!r} is not a table; expected keys {', '.join(SLENDER_KEYS)}")
    entry = Reader(data, lambda _key: row.where("slender"))
    entry.check_keys(SLENDER_KEYS)
    if joint.prismatic:
        low, high = -entry.at_least_zero("length", "metres"), 0.0
    else:
        if "length" in data:
            entry.fail("length", "length is for prismatic joints; on a revolute joint the rod has the length of b or d")
        low, high = min(-joint.d, 0.0), max(-joint.d, 0.0)
    total = high - low + abs(rod)
    if ("mass" in data) == ("rho" in data):
        entry.fail("rho", "slender needs either rho (the mass per length) or mass (of both rods)")
    given = entry.at_least_zero("mass", "kilograms") if "mass" in data else entry.at_least_zero("rho", "kg/m")
    if given and not total:
        entry.fail("rho", "the rods have no length and so no mass; give mass, com and inertia instead")
    rho = given if "rho" in data else given / total if total else 0.0
    payload = entry.at_least_zero("payload", "kilograms", default=0.0)
    along_z, along_x = rho * (high - low), rho * abs(rod)
    third = (high - low) ** 2 * along_z / 12
    across = rod**2 * along_x / 12
    return joined(
        [
            Link(along_z, Vector(0.0, 0.0, (low + high) / 2), Symmetric(third, third, 0, 0, 0, 0)),
            Link(along_x, Vector(rod / 2, 0.0, 0.0), Symmetric(0, across, across, 0, 0, 0)),
            Link(payload, Vector(rod, 0.0, 0.0), Symmetric(0, 0, 0, 0, 0, 0)),
            Link(0.0, ZERO, symmetric(_hub(entry))),
        ]
    )


def _hub(entry: Reader) -> Any:
    """The hub inertia: a number (about the joint axis), or a tensor."""
    value = entry.data.get("hub", 0.0)
    if isinstance(value, Real):
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, entry.number("hub", default=0.0))
    return entry.tensor("hub", NO_TENSOR)


def _along_x(alpha: float, a: float) -> Transform:
    c, s = map(float, cos_sin(alpha))
    return (1.0, 0.0, 0.0, a), (0.0, c, _reverse(s), 0.0), (0.0, s, c, 0.0), (0.0, 0.0, 0.0, 1.0)


def _turn_axis(i: int, joints: list[JointModel], links: list[LinkModel], last: Transform) -> Transform:
    """Turn z_i round, by half a turn about x_i, so that the joint counts the other way; frame i+1 turns back."""
    joint, link = joints[i], links[i]
    joints[i] = replace(joint, alpha=_half_turn(joint.alpha), theta=_reverse(joint.theta), d=_reverse(joint.d))
    xx, yy, zz, xy, xz, yz = six(link.inertia)
    x, y, z = link.com
    y, z, xy, xz = map(_reverse, (y, z, xy, xz))
    visuals = tuple(visual.moved(_along_x(math.pi, 0.0)) for visual in link.visuals)
    links[i] = replace(link, com=(x, y, z), inertia=tensor((xx, yy, zz, xy, xz, yz)), visuals=visuals)
    if i + 1 < len(joints):
        joints[i + 1] = replace(joints[i + 1], alpha=_half_turn(joints[i + 1].alpha))
        return last
    return compose(_along_x(math.pi, 0.0), last)


def _reverse(x: float) -> float:
    return 0.0 - x  # not -x, which makes a negative zero of zero


def _half_turn(angle: float) -> float:
    return angle - math.pi if angle > 0 else angle + math.pi
