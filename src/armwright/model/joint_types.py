"""Joint types, and the freedoms of joints that have several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from armwright.errors import unknown
from armwright.model.mimic import Mimic
from armwright.model.records import JointModel
from armwright.model.transforms import QUARTER_TURN

SINGLE_TYPES = ("revolute", "prismatic")
"""Joint types with one freedom."""


def freedoms_of(kind: str, joint: JointModel, pitch: float = 0.0) -> tuple[JointModel, ...]:
    """Return the freedoms of a joint of the given kind, placed as `joint` and named after it.

    | kind                 | freedoms                                                         |
    |----------------------|------------------------------------------------------------------|
    | revolute, prismatic  | about or along z                                                 |
    | helical              | about z, and along z by `pitch` metres per radian                |
    | cylindrical          | about z, and along z                                             |
    | universal            | about z, then about the x axis that this rotation moves          |
    | planar               | along x and y, then about z; in the axes of the body             |
    | ball                 | about x, y and z; in the axes of the body                        |
    | free                 | along and about x, y and z; in the axes of the body              |
    """
    if kind in SINGLE_TYPES:
        return (replace(joint, type=kind, kind="", freedom=0),)
    if kind not in COMPOUND_TYPES:
        raise unknown("kind of joint", kind, (*SINGLE_TYPES, *COMPOUND_TYPES))
    return COMPOUND_TYPES[kind](replace(joint, kind=kind), pitch)


def _body_axes(*names: str) -> Callable[[JointModel, float], tuple[JointModel, ...]]:
    """Return a function that makes freedoms in the axes of the body; names with w are rotations."""

    def freedoms(joint: JointModel, _pitch: float) -> tuple[JointModel, ...]:
        types = ["revolute" if name.startswith("w") else "prismatic" for name in names]
        first = replace(joint, name=f"{joint.name}.{names[0]}", type=types[0], limits=None)
        others = [_next_freedom(joint, names[i], types[i], i) for i in range(1, len(names))]
        return (first, *others)

    return freedoms


def _helical(joint: JointModel, pitch: float) -> tuple[JointModel, ...]:
    along = _next_freedom(joint, "along", "prismatic", 1)
    return replace(joint, type="revolute"), replace(along, mimic=Mimic(joint.name, pitch))


def _cylindrical(joint: JointModel, _pitch: float) -> tuple[JointModel, ...]:
    about = replace(joint, name=f"{joint.name}.about", type="revolute")
    return about, _next_freedom(joint, "along", "prismatic", 1)


def _universal(joint: JointModel, _pitch: float) -> tuple[JointModel, ...]:
    first = replace(joint, name=f"{joint.name}.z", type="revolute")
    second = replace(_next_freedom(joint, "x", "revolute", 1), alpha=QUARTER_TURN, gamma=QUARTER_TURN)
    return first, second


def _next_freedom(joint: JointModel, name: str, type_: str, freedom: int) -> JointModel:
    """Return a further freedom of a joint in the frame of the one before, without limits or drive."""
    return JointModel(f"{joint.name}.{name}", type_, 0.0, 0.0, 0.0, 0.0, kind=joint.kind, freedom=freedom)


COMPOUND_TYPES: dict[str, Callable[[JointModel, float], tuple[JointModel, ...]]] = {
    "helical": _helical,
    "cylindrical": _cylindrical,
    "universal": _universal,
    "planar": _body_axes("x", "y", "wz"),
    "ball": _body_axes("wx", "wy", "wz"),
    "free": _body_axes("x", "y", "z", "wx", "wy", "wz"),
}
"""Joint types with several freedoms, and the functions that make the freedoms."""
