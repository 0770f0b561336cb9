"""DH tables in four conventions, converted once to the canonical mechanism.

| convention | one row moves a frame by                                | link data are in      | displacement |
|------------|---------------------------------------------------------|-----------------------|--------------|
| modified   | Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, d)     | the frame of that row | d            |
| angeles    | Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, -b)    | the frame of that row | b = -d       |
| standard   | Rot(z, theta) Trans(z, d) Trans(x, a) Rot(x, alpha)     | the frame of that row | d            |
| saha       | Rot(z, theta) Trans(z, b) Trans(x, a) Rot(x, alpha)     | frame i+1, on link i  | b            |

Standard tables and those of Saha place frames equally; they differ in numbering and in the letter. The joint variable
is added to theta (revolute) or to d or b (prismatic). A prismatic joint with b = -d keeps its meaning: its z axis is
reversed.

Trees are written in the modified convention, in which a row places its joint in the frame of any parent: after
Khalil and Kleinfinger Rot(z, gamma) and Trans(z, z) come first, after Hayati also Trans(y, y). In a standard table all
children of a link would move about one axis, the z of its frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from armwright.errors import ModelError, unknown
from armwright.model.followers import split_followers
from armwright.model.joint_types import freedoms_of
from armwright.model.link_names import BASE_NAME, LinkNames, row_parents
from armwright.model.records import JointModel, LinkModel
from armwright.model.row_bodies import base_link, link_of, x_transform
from armwright.model.row_joints import read_joint
from armwright.model.table_reader import Reader
from armwright.model.transforms import IDENTITY_TRANSFORM, Transform, compose, cos_sin, tensor, tensor_entries

if TYPE_CHECKING:
    from armwright.model.meshes import MeshFolders

DH_CONVENTIONS = ("modified", "standard", "angeles", "saha")

Where = Callable[[int, str | None], str]


@dataclass(frozen=True)
class DHTable:
    """A DH table in canonical form; `ends` are the frames of the rows in the frames of their links.

    `written` are the rows in their convention. `names` finds links by the names in the table.
    """

    joints: tuple[JointModel, ...]
    followers: tuple[JointModel, ...]
    links: tuple[LinkModel, ...]
    parents: tuple[int, ...]
    ends: tuple[Transform, ...]
    names: LinkNames
    written: tuple[JointModel, ...] = ()


FIRST_AXIS_FRAME: Transform = ((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
"""The frame of a link on a universal joint with z on the first axis and x on the second, in its canonical frame with z
on the second."""


def read_table(
    rows: Sequence[Mapping[str, Any]],
    convention: str,
    where: Where | None = None,
    places: MeshFolders | None = None,
    base: Reader | None = None,
    floats: bool = False,
) -> DHTable:
    """Read, check and convert the rows; `where(row, key)` names a place for error messages.

    `places` finds meshes, by default around the working directory. `base` is the body of the base. If it floats, it
    becomes the first link, on a free joint.
    """
    readers = [Reader(row, _place_of(i, row, where)) for i, row in enumerate(rows)]
    joint_rows = [read_joint(reader, i, convention) for i, reader in enumerate(readers)]
    names = [reader.text("name", f"link{i + 1}") for i, reader in enumerate(readers)]
    body = base_link(base, places) if base is not None else None
    floating = [body] if body is not None and floats else []
    first = len(floating)
    known = LinkNames((*(link.name for link in floating), *names), floats, body.name if body is not None else BASE_NAME)
    parents = row_parents(readers, known)
    joints = [row.freedoms[0] for row in joint_rows]
    frames = [(0.0, 0.0)] * len(rows)  # (alpha, a) from the canonical frame of link i to the frame its data are in
    if convention in ("standard", "saha"):
        frames = [(joint.alpha, joint.a) for joint in joints]
        before = zip(joints, [(0.0, 0.0), *frames], strict=False)
        joints = [replace(joint, alpha=alpha, a=a) for joint, (alpha, a) in before]
    children: dict[int, list[JointModel]] = {i: [] for i in range(-1, len(known.names))}
    for joint, parent in zip(joints, parents, strict=True):
        children[parent].append(joint)
    link_data = zip(readers, names, joints, frames, list(children.values())[first + 1 :], strict=True)
    links = [link_of(*data, places) for data in link_data]
    ends = [x_transform(*frame) for frame in frames]
    for i, joint in enumerate(joints):
        if convention == "angeles" and joint.prismatic:
            _reverse_axis(i, joints, links, ends)
    for i, row in enumerate(joint_rows):
        if row.z_axis == "first":
            links[i], ends[i] = _on_second_axis(links[i]), FIRST_AXIS_FRAME
            pairs = zip(joints, parents, strict=True)
            joints = [_from_first_axis(j) if parent == first + i else j for j, parent in pairs]
    freedoms = [one for joint, row in zip(joints, joint_rows, strict=True) for one in (joint, *row.freedoms[1:])]
    if base is not None and floats:
        root = JointModel(base.text("joint", "root_joint"), "revolute", 0.0, 0.0, 0.0, 0.0)
        freedoms = [*freedoms_of("free", root), *freedoms]
    return DHTable(
        *split_followers(freedoms),
        (*floating, *links),
        (*(-1 for _ in floating), *parents),
        (*(IDENTITY_TRANSFORM for _ in floating), *ends),
        known,
        tuple(row.written for row in joint_rows),
    )


def check_rows(rows: object, convention: object) -> None:
    """Raise an error unless `rows` is a sequence of mappings and `convention` a known one."""
    if not isinstance(convention, str) or convention not in DH_CONVENTIONS:
        raise unknown("DH convention", convention, DH_CONVENTIONS)
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Sequence):
        raise ModelError(f"a DH table is a sequence of rows, each a mapping; got {type(rows).__name__}")
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            text = f"{row!r}; expected a mapping with keys like 'alpha' and 'mass'"
            raise ModelError(f"row {i + 1} of the DH table is {text}")


def _place_of(i: int, row: Mapping[str, Any], where: Where | None) -> Callable[[str | None], str]:
    name = f" ({row['name']})" if isinstance(row.get("name"), str) else ""
    return lambda key: (where(i, key) if where else "") + f"link {i + 1}{name}"


def _reverse_axis(i: int, joints: list[JointModel], links: list[LinkModel], ends: list[Transform]) -> None:
    """Rotate z_i by half a turn about x_i, which reverses the joint variable; frame i+1 rotates back."""
    joint, link = joints[i], links[i]
    joints[i] = replace(joint, alpha=_half_turn(joint.alpha), theta=_reverse(joint.theta), d=_reverse(joint.d))
    xx, yy, zz, xy, xz, yz = tensor_entries(link.inertia)
    x, y, z = link.com
    y, z, xy, xz = map(_reverse, (y, z, xy, xz))
    visuals = tuple(visual.moved(x_transform(math.pi, 0.0)) for visual in link.visuals)
    u, v, w = link.compensated_com
    compensated_com = (u, _reverse(v), _reverse(w)) if link.compensated_mass else link.compensated_com
    links[i] = replace(
        link, com=(x, y, z), inertia=tensor((xx, yy, zz, xy, xz, yz)), visuals=visuals, compensated_com=compensated_com
    )
    ends[i] = compose(x_transform(math.pi, 0.0), ends[i])
    if i + 1 < len(joints):
        joints[i + 1] = replace(joints[i + 1], alpha=_half_turn(joints[i + 1].alpha))


def _on_second_axis(link: LinkModel) -> LinkModel:
    """Return a body on a universal joint in the canonical frame (z on the second axis) from one with z on the first."""
    (x, y, z), (a, b, c), (xx, yy, zz, xy, xz, yz) = link.com, link.compensated_com, tensor_entries(link.inertia)
    inertia = tensor((yy, zz, xx, yz, xy, xz))
    visuals = tuple(visual.moved(FIRST_AXIS_FRAME) for visual in link.visuals)
    return replace(link, com=(y, z, x), compensated_com=(b, c, a), inertia=inertia, visuals=visuals)


def _from_first_axis(joint: JointModel) -> JointModel:
    """Return a joint placed in FIRST_AXIS_FRAME as placed in the frame around it."""
    (ca, sa), (cg, sg) = cos_sin(joint.alpha), cos_sin(joint.gamma)
    across = math.hypot(cg * sa, ca)  # the sine between its z axis and that of the outer frame
    alpha, gamma = 0.0 - math.atan2(across, sg * sa), math.atan2(cg * sa, ca) if across else 0.0
    turn = math.atan2(-cg, sg * ca) if across else math.atan2(-cg * ca, sg)
    c, s = cos_sin(gamma)
    x, y, z = sg * joint.a + cg * joint.y, joint.z, cg * joint.a - sg * joint.y
    x, y = float(c * x + s * y), float(c * y - s * x)
    return replace(joint, gamma=gamma, a=x, y=y, z=float(z), alpha=alpha, theta=joint.theta + turn)


def _reverse(x: float) -> float:
    return 0.0 - x  # not -x, which makes a negative zero of zero


def _half_turn(angle: float) -> float:
    return angle - math.pi if angle > 0 else angle + math.pi
