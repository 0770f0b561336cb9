"""Shapes on the links of a robot, for a viewer. They have no influence on computations.

Lengths are in metres. Boxes are centred; cylinders and capsules lie along z about their middle. The length of a capsule
is that of its straight part. The vertices of a mesh are multiplied by `scale`. A colour is red, green, blue and opacity
from 0 to 1. In a TOML robot a shape is an inline table in `visuals`, of a [[link]], or at the top level for the base.

    visuals = [{mesh = "meshes/link1.stl", scale = [1.0, 1.0, 1.0], pose = [[...], ...], rgba = [...], name = "..."},
               {box = [0.1, 0.2, 0.3]}, {cylinder = [radius, length]}, {sphere = radius},
               {capsule = [radius, length]}, {ellipsoid = [a, b, c]}]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError
from armwright.model.meshes import MeshFolders
from armwright.model.refusal import OutsideFolder
from armwright.model.table_reader import Reader
from armwright.model.transforms import IDENTITY_TRANSFORM, Transform, Triple, transform, triple

Colour: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Mesh:
    """Triangles in a file, which is not opened here. `file` is its package name (`model.meshes`)."""

    file: str
    scale: Triple = (1.0, 1.0, 1.0)
    places: MeshFolders | None = field(default=None, compare=False, repr=False)

    def find(self, packages: Mapping[str, str | Path] | None = None) -> Path:
        """Return the file on this machine; `packages` adds folders of packages to those of `load`.

        Raises a `ModelError` if it is missing, or outside of the model's folder and the packages.
        """
        return (self.places or MeshFolders.around("robot")).find(self.file, packages)


@dataclass(frozen=True)
class Box:
    """A box with sides (x, y, z), centred."""

    size: Triple


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z about its middle."""

    radius: float
    length: float


@dataclass(frozen=True)
class Sphere:
    """A sphere about the origin."""

    radius: float


@dataclass(frozen=True)
class Capsule:
    """A capsule along z; `length` is that of its straight part."""

    radius: float
    length: float


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid with radii along x, y and z."""

    radii: Triple


Solid: TypeAlias = Box | Cylinder | Sphere | Capsule | Ellipsoid
Shape: TypeAlias = Mesh | Solid

SOLIDS: dict[str, Callable[..., Solid]] = {
    "box": lambda *size: Box(triple(size)),
    "cylinder": Cylinder,
    "sphere": Sphere,
    "capsule": Capsule,
    "ellipsoid": lambda *radii: Ellipsoid(triple(radii)),
}
"""The constructors of shapes from lengths, in the order of `shape_lengths`."""

MUJOCO_SIZE_FACTORS = {
    "box": (0.5, 0.5, 0.5), "cylinder": (1, 0.5), "sphere": (1,), "capsule": (1, 0.5), "ellipsoid": (1, 1, 1),
}  # fmt: skip
"""The factor of each length in MuJoCo: 1 for a radius, 0.5 for a side."""


def shape_lengths(shape: Solid) -> tuple[str, tuple[float, ...]]:
    """Return the name of a shape in files, and its lengths: sides, radii, or radius and length."""
    values = astuple(shape)
    return type(shape).__name__.lower(), values[0] if isinstance(values[0], tuple) else values


@dataclass(frozen=True)
class Visual:
    """A shape, its pose in the frame of its link, its colour if it has one, and its name ("" for none)."""

    shape: Shape
    pose: Transform = IDENTITY_TRANSFORM
    rgba: Colour | None = None
    name: str = ""

    def moved(self, T: Array | Transform) -> Visual:
        """Return the shape in another frame, in which its current frame has the pose T."""
        with np.errstate(over="ignore", invalid="ignore"):
            return replace(self, pose=visual_pose(np.asarray(T) @ np.asarray(self.pose)))

    def as_row(self) -> dict[str, Any]:
        """Return the table for `read_visuals`, without defaults."""
        row: dict[str, Any] = {}
        if isinstance(self.shape, Mesh):
            row |= {"mesh": self.shape.file, "scale": self.shape.scale}
        else:
            kind, sizes = shape_lengths(self.shape)
            row[kind] = sizes if len(sizes) > 1 else sizes[0]
        row |= {"pose": self.pose, "rgba": self.rgba, "name": self.name}
        defaults = {"scale": (1.0, 1.0, 1.0), "pose": IDENTITY_TRANSFORM, "rgba": None, "name": ""}
        return {key: value for key, value in row.items() if key not in defaults or value != defaults[key]}


def visual_pose(T: Array) -> Transform:
    """Return a transform as numbers, with rounding errors set to zero."""
    if not np.isfinite(T).all():
        raise ModelError("the pose of a shape on a link is not finite; check the origins in the file")
    return transform(np.where(np.abs(T) <= 1e-14, 0.0, T))


SHAPE_KEYS = ("mesh", *SOLIDS)
VISUAL_KEYS = (*SHAPE_KEYS, "scale", "pose", "rgba", "name")


def read_visuals(row: Reader, places: MeshFolders | None) -> tuple[Visual, ...]:
    """Return the `visuals` of a table in a TOML file, or of a DH row."""
    entries = row.data.get("visuals", ())
    if not isinstance(entries, Sequence) or not all(isinstance(entry, Mapping) for entry in entries):
        row.fail("visuals", f"visuals = {entries!r} is not a list of tables with keys {', '.join(VISUAL_KEYS)}")
    readers = (Reader(entry, lambda _key: row.where("visuals")) for entry in entries)
    return tuple(_visual(reader, places or MeshFolders.around("robot")) for reader in readers)


def _visual(entry: Reader, places: MeshFolders) -> Visual:
    entry.check_keys(VISUAL_KEYS)
    kinds = [key for key in SHAPE_KEYS if key in entry.data]
    if len(kinds) != 1:
        entry.fail(None, f"a visual has {' and '.join(kinds) or 'no shape'}; expected one of {', '.join(SHAPE_KEYS)}")
    if "scale" in entry.data and kinds != ["mesh"]:
        entry.fail("scale", f"scale is for a mesh; a {kinds[0]} has its size")
    rgba = entry.numbers("rgba", 4) if "rgba" in entry.data else None
    return Visual(
        _shape(entry, kinds[0], places),
        entry.transform("pose", IDENTITY_TRANSFORM),
        (rgba[0], rgba[1], rgba[2], rgba[3]) if rgba else None,
        entry.text("name", ""),
    )


def _shape(entry: Reader, kind: str, places: MeshFolders) -> Shape:
    if kind == "mesh":
        try:
            return Mesh(places.package_name(entry.text("mesh", "")), entry.triple("scale", (1.0, 1.0, 1.0)), places)
        except OutsideFolder as error:
            entry.fail("mesh", str(error))
    if kind == "sphere":
        return Sphere(entry.at_least_zero("sphere", "a radius in metres"))
    sizes = entry.numbers(kind, len(MUJOCO_SIZE_FACTORS[kind]))
    if min(sizes) < 0:
        entry.fail(kind, f"{kind} = {entry.data[kind]!r} has a negative length")
    return SOLIDS[kind](*sizes)


def shape_counts(visuals: Sequence[Visual]) -> str:
    """Return the number of each kind as text, such as '7 meshes, 1 box'."""
    kinds = [type(visual.shape).__name__.lower() for visual in visuals]
    plural = {"mesh": "meshes", "box": "boxes"}
    counts = ((kind, kinds.count(kind)) for kind in SHAPE_KEYS if kind in kinds)
    return ", ".join(f"{n} {kind if n == 1 else plural.get(kind, kind + 's')}" for kind, n in counts)
