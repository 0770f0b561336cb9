"""URDF elements, and trees of links from any reader, as `written`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.check.extents import Part, Skin
from armwright.check.written import NOWHERE, Angles, Body, Hinge, Written
from armwright.errors import ModelError
from armwright.model import xml
from armwright.model.meshes import MeshFolders
from armwright.model.mimic import Mimic
from armwright.model.refusal import OutsideFolder
from armwright.model.tree import Tree
from armwright.model.urdf_visuals import origin_of, scale_of

BOUNDS = ("lower", "upper", "effort", "velocity")
SIX = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True)
class Family:
    """The joints of a tree by the link they hang on and by the link they carry, and the links that some joint moves."""

    below: dict[str, list[Hinge]]
    above: dict[str, list[Hinge]]
    moving: set[str]

    @classmethod
    def of(cls, hinges: Sequence[Hinge]) -> Family:
        below: dict[str, list[Hinge]] = {}
        above: dict[str, list[Hinge]] = {}
        for hinge in hinges:
            below.setdefault(hinge.parent, []).append(hinge)
            above.setdefault(hinge.child, []).append(hinge)
        moving, reached = set(), [hinge.child for hinge in hinges if hinge.kind != "fixed"]
        while reached:
            if (link := reached.pop()) not in moving:
                moving.add(link)
                reached += [hinge.child for hinge in below.get(link, ())]
        return cls(below, above, moving)

    def about(self, link: str, solids: Sequence[Part] = ()) -> dict[str, Any]:
        """What its joints and solids say about a link."""
        before, behind = self.above.get(link, ()), [hinge.placement[:3, 3] for hinge in self.below.get(link, ())]
        return {
            "points": np.vstack([np.zeros(3), *behind, *(solid.corners for solid in solids)]),
            "stem": max((hinge.length for hinge in before), default=0.0),
            "spin": self._spin(before),
            "moves": link in self.moving,
            "welded": any(hinge.kind == "fixed" for hinge in before),
        }

    def _spin(self, before: Sequence[Hinge]) -> Array | None:
        """The axis of a link that turns on something that stands still."""
        for hinge in before:
            if hinge.turns and hinge.parent not in self.moving:
                length = np.linalg.norm(hinge.axis)
                return hinge.axis / length if length else None
        return None


def from_urdf(root: xml.Element, data: bytes, packages: Mapping[str, str | Path] | None = None) -> Written:
    """A URDF document. It need not be a good one: what is missing or reversed is for the checks to tell."""
    if root.tag != "robot":
        root.fail(f"<{root.tag}> is not a URDF robot; expected <robot> as the outermost element")
    packages = packages or {}
    places = {id(element): i for i, element in enumerate(root.walk())}
    hinges = tuple(_hinge(element, places) for element in root.all("joint"))
    family = Family.of(hinges)
    files, covered = MeshFolders.around(root.file, packages), _covered(root, hinges)
    bodies = tuple(_body(element, family, places, files, covered) for element in root.all("link"))
    angles = tuple(_angles(root, places))
    name = root.attributes.get("name", "robot") or "robot"
    return Written(root.file, "urdf", name, bodies, hinges, angles, data=data, packages=packages)


def from_tree(tree: Tree, format_: str) -> Written:
    """What is left of a file after its own reader: nothing of it can be repaired, everything physical be checked."""
    hinges = tuple(Hinge(**vars(joint)) for joint in tree.joints)
    family = Family.of(hinges)
    bodies = tuple(
        Body(link.name, link.mass, np.array(link.com), np.array(link.inertia), **family.about(link.name))
        for link in tree.links.values()
    )
    return Written(tree.file or tree.name, format_, tree.name, bodies, hinges, gravity=tree.gravity)


def _body(element: xml.Element, family: Family, places: dict[int, int], files: MeshFolders, covered: set[str]) -> Body:
    """Solids for contact come first, as they are the cruder and the more often uniform ones."""
    name = element.text_of("name")
    skins = [Skin(tuple(_parts(element.all(tag), files))) for tag in ("collision", "visual")]
    solids = tuple(part for skin in skins for part in skin.parts if part.solid)
    common = family.about(name, solids) | {"solids": solids, "skins": () if name in covered else tuple(skins)}
    inertial = element.one("inertial")
    if inertial is None:
        return Body(name, 0.0, np.zeros(3), np.zeros((3, 3)), given=False, line=element.line, **common)
    pose, six = origin_of(inertial), inertial.one("inertia")
    xx, xy, xz, yy, yz, zz = (six.number(key, 0.0) if six else 0.0 for key in SIX)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    place = places[id(six)] if six else NOWHERE
    mass, line = inertial.need("mass").number("value"), (six or inertial).line
    return Body(name, mass, pose[:3, 3], tensor, turn=pose[:3, :3], place=place, form="xml", line=line, **common)


def _covered(root: xml.Element, hinges: Sequence[Hinge]) -> set[str]:
    """Links that do not weigh what they show: others are welded to them that have shapes and no mass of their own."""
    shown = [link for link in root.all("link") if link.all("visual") or link.all("collision")]
    bare = {link.text_of("name") for link in shown if not link.all("inertial")}
    return {hinge.parent for hinge in hinges if hinge.kind == "fixed" and hinge.child in bare}


def _parts(shown: list[xml.Element], files: MeshFolders) -> Iterator[Part]:
    for part in shown:
        for shape in (child for geometry in part.all("geometry") for child in geometry.children):
            if shape.tag == "mesh":
                name = shape.attributes.get("filename", "")
                yield Part("mesh", np.array(scale_of(shape)), origin_of(part), _mesh(name, files), name)
            elif (sides := _sides(shape)) is not None:
                yield Part(shape.tag, sides, origin_of(part))
            else:
                yield Part("", np.zeros(3), origin_of(part))


def _mesh(name: str, files: MeshFolders) -> Path | None:
    """The file of a mesh, if it may be read."""
    try:
        return files.find(files.kept(name))
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
    bounds = {key: limit.number(key) for key in BOUNDS if key in limit.attributes} if limit else {}
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
        marks={child.tag: places[id(child)] for child in (axis, limit) if child is not None},
        line=element.line,
    )


def _angles(root: xml.Element, places: dict[int, int]) -> Iterator[Angles]:
    """The rpy of joints and of centres of mass; those of meshes and shapes move nothing."""
    owners = [(joint, joint) for joint in root.all("joint")]
    owners += [(link, inertial) for link in root.all("link") for inertial in link.all("inertial")]
    for owner, element in owners:
        origin = element.one("origin")
        if origin is not None and "rpy" in origin.attributes:
            texts = tuple(origin.attributes["rpy"].split())
            values = origin.vector("rpy", (0.0, 0.0, 0.0))
            yield Angles(owner.text_of("name"), "rpy", values, texts, places[id(origin)], origin.line)
