"""The shapes of a URDF document, and the origins of its elements."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from armwright.algebra import Array
from armwright.errors import VisualWarning
from armwright.model import xml
from armwright.model.meshes import MeshFolders
from armwright.model.refusal import OutsideFolder
from armwright.model.transforms import Triple, triple
from armwright.model.visual import SOLIDS, Colour, Mesh, Shape, Visual, visual_pose

ROUND_SHAPES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
"""The attributes of round shapes."""


class UrdfVisuals:
    """The visual shapes of a document. Of collision shapes only the names of meshes are checked."""

    def __init__(self, root: xml.Element, packages: Mapping[str, str | Path] | None) -> None:
        self.places = MeshFolders.around(root.file, packages)
        self.colours: dict[str, Colour | None] = {}
        self.repeated: list[xml.Element] = []
        for material in root.all("material"):
            self._colour(material)

    def on(self, link: xml.Element) -> Iterator[Visual]:
        """Yield the shapes of a link, in its frame."""
        for element in link.all("collision"):
            for mesh in (mesh for geometry in element.all("geometry") for mesh in geometry.all("mesh")):
                self._name(mesh)
        for element in link.all("visual"):
            material, shape = self._first(element, "material"), self._shape(element)
            colour = self._colour(material) if material is not None else None
            if shape is not None:
                yield Visual(shape, visual_pose(origin_of(element)), colour, element.attributes.get("name", ""))

    def _first(self, element: xml.Element, tag: str) -> xml.Element | None:
        """Return the first child with a tag, and record the others: in many files a visual has two materials."""
        children = element.all(tag)
        self.repeated += children[1:]
        return children[0] if children else None

    def warn_of_repetitions(self, file: str) -> None:
        """Warn of repeated elements, which are ignored."""
        if self.repeated:
            first, count = self.repeated[0], len(self.repeated)
            more = f" and {count - 1} more such element{'s' if count > 2 else ''}" if count > 1 else ""
            text = f"{file}, line {first.line}: a second <{first.tag}> in one element{more}; the first of each counts"
            warnings.warn(text, VisualWarning, stacklevel=5)

    def _colour(self, material: xml.Element) -> Colour | None:
        """Return the colour of a material, or that of the first one with its name."""
        name, color = material.attributes.get("name", ""), self._first(material, "color")
        if color is None:
            return self.colours.get(name)
        opaque = len(color.attributes.get("rgba", "").split()) == 3
        rgba = color.vector("rgba", (0.5, 0.5, 0.5, 1.0), 3 if opaque else 4)
        colour = (rgba[0], rgba[1], rgba[2], 1.0 if opaque else rgba[3])
        if name:
            self.colours.setdefault(name, colour)
        return colour

    def _shape(self, element: xml.Element) -> Shape | None:
        geometry = self._first(element, "geometry")
        for shape in geometry.children if geometry else ():
            if shape.tag == "mesh":
                return Mesh(self._name(shape), scale_of(shape), self.places)
            if shape.tag == "box":
                size = shape.vector("size", (0.0, 0.0, 0.0))
                if min(size) < 0:
                    shape.fail(f"size = {shape.attributes['size']!r} has a negative length")
                return SOLIDS["box"](*size)
            if shape.tag in ROUND_SHAPES:
                return SOLIDS[shape.tag](*(_length(shape, name) for name in ROUND_SHAPES[shape.tag]))
        return None

    def _name(self, mesh: xml.Element) -> str:
        try:
            return self.places.package_name(mesh.text_of("filename"))
        except OutsideFolder as error:
            mesh.fail(str(error))


def scale_of(mesh: xml.Element) -> Triple:
    """Return the scale of a mesh, three numbers; in some files a single one."""
    if len(mesh.attributes.get("scale", "").split()) == 1:
        [x] = mesh.vector("scale", (), 1)
        return x, x, x
    return triple(mesh.vector("scale", (1.0, 1.0, 1.0)))


def _length(shape: xml.Element, name: str) -> float:
    value = shape.number(name)
    if value < 0:
        shape.fail(f"{name} = {value!r} is negative")
    return value


def origin_of(element: xml.Element) -> Array:
    """Return the <origin> in an element as a transform, by default the identity."""
    T: Array = np.eye(4)
    origin = element.one("origin")
    if origin is not None:
        T[:3, 3] = origin.vector("xyz", (0.0, 0.0, 0.0))
        T[:3, :3] = _quaternion(origin) if "quat_xyzw" in origin.attributes else _angles(origin)
    return T


def _angles(origin: xml.Element) -> Array:
    return xml.rotation_xyz(*origin.vector("rpy", (0.0, 0.0, 0.0)))


def _quaternion(origin: xml.Element) -> Array:
    """Return the rotation of quat_xyzw, an attribute of URDF 1.2."""
    from armwright.model.mjcf.pose import rotation_matrix  # noqa: PLC0415  (the MJCF writer imports this module)

    if "rpy" in origin.attributes:
        origin.fail("both rpy and quat_xyzw; expected one of them")
    x, y, z, w = origin.vector("quat_xyzw", (), 4)
    length = math.hypot(x, y, z, w)
    if abs(length - 1) > 1e-6:
        origin.fail(f"quat_xyzw has the length {length:.9g}; expected a unit quaternion: divide it by its length")
    return rotation_matrix(np.array([w, x, y, z]))
