"""The numbers of a URDF document, or of a tree of links from another reader, as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.check.file_model import NOT_EDITABLE, Angles, Body, FileModel, Hinge
from armwright.check.link_shapes import LinkShape, ShapeGroup
from armwright.errors import ModelError
from armwright.model import xml
from armwright.model.meshes import MeshFolders
from armwright.model.mimic import Mimic
from armwright.model.refusal import OutsideFolder
from armwright.model.tree import Tree
from armwright.model.urdf_visuals import origin_of, scale_of

URDF_LIMIT_KEYS = ("lower", "upper", "effort", "velocity")
TENSOR_KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True)
class JointTree:
    """The joints of a tree by parent link and by child link, and the links that move."""

    by_parent: dict[str, list[Hinge]]
    by_child: dict[str, list[Hinge]]
    moving: set[str]

    @classmethod
    def of(cls, hinges: Sequence[Hinge]) -> JointTree:
        by_parent: dict[str, list[Hinge]] = {}
        by_child: dict[str, list[Hinge]] = {}
        for hinge in hinges:
            by_parent.setdefault(hinge.parent, []).append(hinge)
            by_child.setdefault(hinge.child, []).append(hinge)
        moving, reached = set(), [hinge.child for hinge in hinges if hinge.kind != "fixed"]
        while reached:
            if (link := reached.pop()) not in moving:
                moving.add(link)
                reached += [hinge.child for hinge in by_parent.get(link, ())]
        return cls(by_parent, by_child, moving)

    def body_fields(self, link: str, solids: Sequence[LinkShape] = ()) -> dict[str, Any]:
        """Return the fields of a body that its joints and solids determine."""
        before, after = self.by_child.get(link, ()), [hinge.placement[:3, 3] for hinge in self.by_parent.get(link, ())]
        return {
            "points": np.vstack([np.zeros(3), *after, *(solid.corners for solid in solids)]),
            "parent_distance": max((hinge.length for hinge in before), default=0.0),
            "spin_axis": self._spin_axis(before),
            "moves": link in self.moving,
            "welded": any(hinge.kind == "fixed" for hinge in before),
        }

    def _spin_axis(self, before: Sequence[Hinge]) -> Array | None:
        """Return the axis of a link that rotates about a fixed axis, or None."""
        for hinge in before:
            if hinge.rotary and hinge.parent not in self.moving:
                length = np.linalg.norm(hinge.axis)
                return hinge.axis / length if length else None
        return None


def urdf_model(root: xml.Element, data: bytes, packages: Mapping[str, str | Path] | None = None) -> FileModel:
    """Return the numbers of a URDF document, which may be faulty: the checks report the faults."""
    if root.tag != "robot":
        root.fail(f"<{root.tag}> is not a URDF robot; expected <robot> as the outermost element")
    packages = packages or {}
    places = {id(element): i for i, element in enumerate(root.walk())}
    hinges = tuple(_hinge(element, places) for element in root.all("joint"))
    joints = JointTree.of(hinges)
    files, composite = MeshFolders.around(root.file, packages), _composite_links(root, hinges)
    bodies = tuple(_body(element, joints, places, files, composite) for element in root.all("link"))
    angles = tuple(_angles(root, places))
    name = root.attributes.get("name", "robot") or "robot"
    return FileModel(root.file, "urdf", name, bodies, hinges, angles, data=data, packages=packages)


def tree_model(tree: Tree, format_: str) -> FileModel:
    """Return the numbers of a tree from a reader, which can be checked but not repaired."""
    hinges = tuple(Hinge(**vars(joint)) for joint in tree.joints)
    joints = JointTree.of(hinges)
    bodies = tuple(
        Body(link.name, link.mass, np.array(link.com), np.array(link.inertia), **joints.body_fields(link.name))
        for link in tree.links.values()
    )
    return FileModel(tree.file or tree.name, format_, tree.name, bodies, hinges, gravity=tree.gravity)


def _body(
    element: xml.Element, tree: JointTree, places: dict[int, int], files: MeshFolders, composite: set[str]
) -> Body:
    """Return the body of a link; collision solids come first, since they have one density more often."""
    name = element.text_of("name")
    groups = [ShapeGroup(tuple(_shapes(element.all(tag), files))) for tag in ("collision", "visual")]
    solids = tuple(shape for group in groups for shape in group.shapes if shape.solid)
    common = tree.body_fields(name, solids) | {
        "solids": solids,
        "shape_groups": () if name in composite else tuple(groups),
    }
    inertial = element.one("inertial")
    if inertial is None:
        return Body(name, 0.0, np.zeros(3), np.zeros((3, 3)), has_inertial=False, line=element.line, **common)
    pose, six = origin_of(inertial), inertial.one("inertia")
    xx, xy, xz, yy, yz, zz = (six.number(key, 0.0) if six else 0.0 for key in TENSOR_KEYS)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    place = places[id(six)] if six else NOT_EDITABLE
    mass, line = inertial.need("mass").number("value"), (six or inertial).line
    return Body(name, mass, pose[:3, 3], tensor, rotation=pose[:3, :3], place=place, form="xml", line=line, **common)


def _composite_links(root: xml.Element, hinges: Sequence[Hinge]) -> set[str]:
    """Return links whose mass may include that of others: shapes without mass are welded to them."""
    links = [link for link in root.all("link") if link.all("visual") or link.all("collision")]
    massless = {link.text_of("name") for link in links if not link.all("inertial")}
    return {hinge.parent for hinge in hinges if hinge.kind == "fixed" and hinge.child in massless}


def _shapes(parts: list[xml.Element], files: MeshFolders) -> Iterator[LinkShape]:
    """Yield the shapes of visual or collision elements."""
    for part in parts:
        for shape in (child for geometry in part.all("geometry") for child in geometry.children):
            if shape.tag == "mesh":
                name = shape.attributes.get("filename", "")
                yield LinkShape("mesh", np.array(scale_of(shape)), origin_of(part), _mesh(name, files), name)
            elif (sides := _sides(shape)) is not None:
                yield LinkShape(shape.tag, sides, origin_of(part))
            else:
                yield LinkShape("", np.zeros(3), origin_of(part))


def _mesh(name: str, files: MeshFolders) -> Path | None:
    """Return the file of a mesh if it may be read."""
    try:
        return files.find(files.package_name(name))
    except (OutsideFolder, ModelError):
        return None


def _sides(shape: xml.Element) -> Array | None:
    if shape.tag == "box":
        return np.array(shape.vector("size", (0.0, 0.0, 0.0)))
    if shape.tag == "cylinder":
        width = 2 * shape.number("radius", 0.0)
        return np.array([width, width, shape.number("length", 0.0)])
    if shape.tag == "sphere":
        return np.full(3, 2 * shape.number("radius", 0.0))
    return None


def _hinge(element: xml.Element, places: dict[int, int]) -> Hinge:
    axis, limit, dynamics, mimic = (element.one(tag) for tag in ("axis", "limit", "dynamics", "mimic"))
    bounds = {key: limit.number(key) for key in URDF_LIMIT_KEYS if key in limit.attributes} if limit else {}
    kind = element.text_of("type")
    limited = kind != "continuous" and bounds.keys() & {"lower", "upper"}
    return Hinge(
        name=element.text_of("name"),
        kind=kind,
        parent=element.need("parent").text_of("link"),
        child=element.need("child").text_of("link"),
        placement=origin_of(element),
        axis=np.array((axis or element).vector("xyz", (1.0, 0.0, 0.0))),
        limits=(bounds.get("lower", 0.0), bounds.get("upper", 0.0)) if limited else None,
        effort=bounds.get("effort"),
        velocity=bounds.get("velocity"),
        viscous=dynamics.number("damping", 0.0) if dynamics else 0.0,
        coulomb=dynamics.number("friction", 0.0) if dynamics else 0.0,
        mimic=Mimic.of(mimic) if mimic else None,
        places={child.tag: places[id(child)] for child in (axis, limit) if child is not None},
        line=element.line,
    )


def _angles(root: xml.Element, places: dict[int, int]) -> Iterator[Angles]:
    """Yield the rpy of joints and of inertial frames; those of shapes affect no motion."""
    owners = [(joint, joint) for joint in root.all("joint")]
    owners += [(link, inertial) for link in root.all("link") for inertial in link.all("inertial")]
    for owner, element in owners:
        origin = element.one("origin")
        if origin is not None and "rpy" in origin.attributes:
            texts = tuple(origin.attributes["rpy"].split())
            values = origin.vector("rpy", (0.0, 0.0, 0.0))
            yield Angles(owner.text_of("name"), "rpy", values, texts, places[id(origin)], origin.line)
