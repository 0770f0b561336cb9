"""The body of a row of a table: mass, centre and tensor, or rods and points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from armwright.algebra import ZERO, Symmetric, Vector
from armwright.mechanism import Link
from armwright.model.composite import composite
from armwright.model.joint_types import SINGLE_TYPES
from armwright.model.records import JointModel, LinkModel
from armwright.model.table_reader import Reader
from armwright.model.transforms import ZERO_TENSOR, Transform, cos_sin, symmetric, tensor, triple

if TYPE_CHECKING:
    from armwright.model.meshes import MeshFolders
    from armwright.model.visual import Visual

COMPENSATION_KEYS = ("compensated_mass", "compensated_com")
BODY_KEYS = ("mass", "com", "inertia", "slender", "point_masses", *COMPENSATION_KEYS)
SLENDER_KEYS = ("rho", "mass", "payload", "hub", "length")
BASE_KEYS = ("name", "joint", "mass", "com", "inertia", "point_masses", *COMPENSATION_KEYS, "visuals")


def link_of(
    row: Reader,
    name: str,
    joint: JointModel,
    frame: tuple[float, float],
    children: Sequence[JointModel],
    places: MeshFolders | None,
) -> LinkModel:
    """Return the body and shapes of one row, in the canonical frame of its link.

    `frame` is (alpha, a) from that frame to the frame of the data, and `children` are the joints on the link.
    """
    parts = [_in_link_frame(point, frame) for point in _point_masses(row)]
    if "slender" in row.data:
        for key in ("mass", "com", "inertia"):
            if key in row.data:
                row.fail(key, f"{key} and slender both describe the body; give one of them")
        parts.insert(0, _slender(row, joint, _rod(row, frame, children)))
    elif "mass" in row.data or not parts:
        mass, com = row.at_least_zero("mass", "kilograms"), Vector(*row.triple("com"))
        parts.insert(0, _in_link_frame(Link(mass, com, symmetric(row.tensor("inertia"))), frame))
    body = composite(parts)
    visuals = _visuals(row, frame, places) if "visuals" in row.data else ()
    link = LinkModel(row.text("name", name), float(body.mass), triple(body.com), tensor(body.inertia), visuals)
    return _compensated(row, link, frame)


def _compensated(row: Reader, link: LinkModel, frame: tuple[float, float]) -> LinkModel:
    """Return the link with its compensated weight, by default at its centre of mass."""
    mass = row.number("compensated_mass", 0.0)
    if "compensated_com" not in row.data:
        return replace(link, compensated_mass=mass, compensated_com=link.com) if mass else link
    part = Link(mass, Vector(*row.triple("compensated_com")), Symmetric(0, 0, 0, 0, 0, 0))
    com = triple(_in_link_frame(part, frame).com)
    return replace(link, compensated_mass=mass, compensated_com=com) if mass else link


def base_link(base: Reader, places: MeshFolders | None) -> LinkModel:
    """Return the body of a floating base."""
    base.check_keys(BASE_KEYS)
    return link_of(base, "base_link", JointModel("root_joint", "revolute", 0.0, 0.0, 0.0, 0.0), (0.0, 0.0), (), places)


def _visuals(row: Reader, frame: tuple[float, float], places: MeshFolders | None) -> tuple[Visual, ...]:
    """Return the shapes on the link of one row, in its canonical frame."""
    from armwright.model import visual  # noqa: PLC0415  (few tables have shapes)

    visuals = visual.read_visuals(row, places)
    return visuals if frame == (0.0, 0.0) else tuple(one.moved(x_transform(*frame)) for one in visuals)


def _in_link_frame(body: Link, frame: tuple[float, float]) -> Link:
    """Return a body, described in a frame at Rot(x, alpha) Trans(x, a), in the canonical frame."""
    c, s = cos_sin(frame[0])
    com = body.com
    moved = Vector(com.x + frame[1], c * com.y - s * com.z, s * com.y + c * com.z)
    return Link(body.mass, moved, body.inertia.rotate_x(c, s))


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
        mass = entry.at_least_zero("mass", "kilograms")
        bodies.append(Link(mass, Vector(*entry.triple("at")), Symmetric(0, 0, 0, 0, 0, 0)))
    return bodies


def _rod(row: Reader, frame: tuple[float, float], children: Sequence[JointModel]) -> float:
    """Return the length of a slender link along x: to the frame of its data, or to its only child."""
    if len(children) > 1 or any((joint.gamma, joint.y, joint.z) != (0.0, 0.0, 0.0) for joint in children):
        row.fail("slender", "a slender link ends at one child on its x axis; give mass, com and inertia instead")
    return children[0].a if children else frame[1]


def _slender(row: Reader, joint: JointModel, rod: float) -> Link:
    """Return the link of Mohan and Saha: rods of lengths b_i along z_i and a_i along x, a payload and a hub inertia.

    On a prismatic joint b_i varies; the rod along z has a fixed `length`.
    """
    data = row.data["slender"]
    if not isinstance(data, Mapping):
        row.fail("slender", f"slender = {data!r} is not a table; expected keys {', '.join(SLENDER_KEYS)}")
    entry = Reader(data, lambda _key: row.where("slender"))
    entry.check_keys(SLENDER_KEYS)
    if (kind := joint.kind or joint.type) not in SINGLE_TYPES:
        entry.fail(None, f"a slender link is attached to a revolute or prismatic joint, not to a {kind} one")
    if joint.prismatic:
        low, high = -entry.at_least_zero("length", "metres"), 0.0
    else:
        if "length" in data:
            entry.fail("length", "length is for prismatic joints; on a revolute joint the rod has the length of b or d")
        low, high = min(-joint.d, 0.0), max(-joint.d, 0.0)
    total = high - low + abs(rod)
    if ("mass" in data) == ("rho" in data):
        entry.fail("rho", "slender needs either rho (the mass per length) or mass (of both rods)")
    mass_or_density = entry.at_least_zero("mass", "kilograms") if "mass" in data else entry.at_least_zero("rho", "kg/m")
    if mass_or_density and not total:
        entry.fail("rho", "the rods have no length and so no mass; give mass, com and inertia instead")
    rho = mass_or_density if "rho" in data else mass_or_density / total if total else 0.0
    payload = entry.at_least_zero("payload", "kilograms", default=0.0)
    along_z, along_x = rho * (high - low), rho * abs(rod)
    about_x, about_z = (high - low) ** 2 * along_z / 12, rod**2 * along_x / 12
    return composite([
        Link(along_z, Vector(0.0, 0.0, (low + high) / 2), Symmetric(about_x, about_x, 0, 0, 0, 0)),
        Link(along_x, Vector(rod / 2, 0.0, 0.0), Symmetric(0, about_z, about_z, 0, 0, 0)),
        Link(payload, Vector(rod, 0.0, 0.0), Symmetric(0, 0, 0, 0, 0, 0)),
        Link(0.0, ZERO, symmetric(_hub(entry))),
    ])  # fmt: skip


def _hub(entry: Reader) -> Any:
    """Return the hub inertia: a number (about the joint axis), or a tensor."""
    value = entry.data.get("hub", 0.0)
    if isinstance(value, Real):
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, entry.number("hub", default=0.0))
    return entry.tensor("hub", ZERO_TENSOR)


def x_transform(alpha: float, a: float) -> Transform:
    """Return the transform Rot(x, alpha) Trans(x, a)."""
    c, s = map(float, cos_sin(alpha))
    return (1.0, 0.0, 0.0, a), (0.0, c, 0.0 - s, 0.0), (0.0, s, c, 0.0), (0.0, 0.0, 0.0, 1.0)
