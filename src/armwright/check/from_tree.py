"""URDF elements, and trees of links from any reader, as `written`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from armwright.check.extents import Part, Skin
from armwright.check.written import NOWHERE, Angles, Array, Body, Hinge, Solid, Written
from armwright.errors import ModelError
from armwright.model import urdf, xml
from armwright.model.meshes import Outside, Places
from armwright.model.tree import Tree, TreeJoint

SIX = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def from_urdf(root: xml.Element, data: bytes) -> Written:
    """A URDF document. It need not be a good one: what is missing or reversed is for the checks to tell."""
    if root.tag != "robot":
        root.fail(f"<{root.tag}> is not a URDF robot; expected <robot> as the outermost element")
    places = {id(element): i for i, element in enumerate(root.walk())}
    hinges = tuple(_hinge(element, places) for element in root.all("joint"))
    moving = _moved_by(hinges)
    skins = _skins(root, hinges)
    bodies = tuple(_body(element, hinges, moving, places, skins) for element in root.all("link"))
    angles = tuple(_angles(root, places))
    name = root.attributes.get("name", "robot") or "robot"
    return Written(root.file, "urdf", name, bodies, hinges, angles, data=data)


def from_tree(tree: Tree, format_: str) -> Written:
    """What is left of a file after its own reader: nothing of it can be repaired, everything physical be checked."""
    hinges = tuple(_tree_hinge(joint) for joint in tree.joints)
    moving = _moved_by(hinges)
    bodies = tuple(
        Body(
            link.name, link.mass, np.array(link.com), np.array(link.inertia), _ends(link.name, hinges, ()),
            stem=_stem(link.name, hinges), spin=_spin(link.name, hinges, moving), moves=link.name in moving,
            welded=_welded(link.name, hinges),
        )
        for link in tree.links.values()
    )  # fmt: skip
    return Written(tree.file or tree.name, format_, tree.name, bodies, hinges, gravity=tree.gravity)


def _tree_hinge(joint: TreeJoint) -> Hinge:
    low, high = joint.limits or (None, None)
    return Hinge(
        name=joint.name,
        kind=joint.kind,
        parent=joint.parent,
        child=joint.child,
        offset=joint.placement[:3, 3],
        axis=joint.axis,
        lower=low,
        upper=high,
        effort=joint.effort,
        velocity=joint.velocity,
        viscous=joint.viscous,
        coulomb=joint.coulomb,
        mimics=joint.mimic is not None,
    )


def _moved_by(hinges: tuple[Hinge, ...]) -> set[str]:
    """The links that some joint moves."""
    parents = {hinge.child: hinge for hinge in hinges}
    moved: set[str] = set()
    for link in parents:
        seen, at = set(), link
        while at in parents and at not in seen:
            seen.add(at)
            if parents[at].kind != "fixed":
                moved.add(link)
                break
            at = parents[at].parent
    return moved


def _welded(link: str, hinges: tuple[Hinge, ...]) -> bool:
    return any(hinge.child == link and hinge.kind == "fixed" for hinge in hinges)


def _stem(link: str, hinges: tuple[Hinge, ...]) -> float:
    return max((float(np.linalg.norm(hinge.offset)) for hinge in hinges if hinge.child == link), default=0.0)


def _spin(link: str, hinges: tuple[Hinge, ...], moving: set[str]) -> Array | None:
    """The axis of a link that turns on something that stands still."""
    for hinge in hinges:
        if hinge.child == link and hinge.turns and hinge.parent not in moving:
            axis = hinge.axis if hinge.axis is not None else np.array([1.0, 0.0, 0.0])
            length = np.linalg.norm(axis)
            return axis / length if length else None
    return None


def _ends(link: str, hinges: tuple[Hinge, ...], solids: tuple[Solid, ...]) -> Array:
    joints = [hinge.offset for hinge in hinges if hinge.parent == link]
    return np.vstack([np.zeros(3), *joints, *(solid.corners for solid in solids)])


def _body(
    element: xml.Element,
    hinges: tuple[Hinge, ...],
    moving: set[str],
    places: dict[int, int],
    skins: dict[str, tuple[Skin, ...]],
) -> Body:
    name = element.text_of("name")
    solids = tuple(_solids(element))
    common: dict[str, Any] = {
        "points": _ends(name, hinges, solids),
        "solids": solids,
        "skins": skins.get(name, ()),
        "stem": _stem(name, hinges),
        "spin": _spin(name, hinges, moving),
        "moves": name in moving,
        "welded": _welded(name, hinges),
    }
    inertial = element.one("inertial")
    if inertial is None:
        return Body(name, 0.0, np.zeros(3), np.zeros((3, 3)), given=False, line=element.line, **common)
    pose, six = urdf.origin_of(inertial), inertial.one("inertia")
    xx, xy, xz, yy, yz, zz = (six.number(key, 0.0) if six else 0.0 for key in SIX)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    place = places[id(six)] if six else NOWHERE
    mass, line = inertial.need("mass").number("value"), (six or inertial).line
    return Body(name, mass, pose[:3, 3], tensor, turn=pose[:3, :3], place=place, form="xml", line=line, **common)


def _solids(link: xml.Element) -> Iterator[Solid]:
    """The shapes without a mesh; those for contact first, as they are the cruder and the more often uniform ones."""
    for part in (*link.all("collision"), *link.all("visual")):
        for shape in (child for geometry in part.all("geometry") for child in geometry.children):
            sides = _sides(shape)
            if sides is not None and np.all(sides > 0):
                yield Solid(shape.tag, sides, urdf.origin_of(part))


def _skins(root: xml.Element, hinges: tuple[Hinge, ...]) -> dict[str, tuple[Skin, ...]]:
    """Of links that weigh what they show: those are not welded to them that have shapes and no mass of their own."""
    files = Places.around(root.file)
    links = {link.text_of("name"): link for link in root.all("link")}
    bare = {name for name, link in links.items() if not link.all("inertial") and _shown(link)}
    covered = {hinge.parent for hinge in hinges if hinge.kind == "fixed" and hinge.child in bare}
    return {
        name: tuple(Skin(tuple(_parts(link.all(tag), files))) for tag in ("collision", "visual"))
        for name, link in links.items()
        if name not in covered
    }


def _shown(link: xml.Element) -> bool:
    return bool(link.all("visual") or link.all("collision"))


def _parts(shown: list[xml.Element], files: Places) -> Iterator[Part]:
    for part in shown:
        for shape in (child for geometry in part.all("geometry") for child in geometry.children):
            if shape.tag == "mesh":
                yield Part(
                    "mesh",
                    np.array(urdf.scale_of(shape)),
                    urdf.origin_of(part),
                    _mesh(shape.attributes.get("filename", ""), files),
                )
            elif (sides := _sides(shape)) is not None:
                yield Part(shape.tag, sides, urdf.origin_of(part))
            else:
                yield Part("", np.zeros(3), urdf.origin_of(part))


def _mesh(name: str, files: Places) -> Path | None:
    """The file of a mesh, if it may be read."""
    try:
        return files.find(files.kept(name))
    except (Outside, ModelError):
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
    axis, limit, dynamics = element.one("axis"), element.one("limit"), element.one("dynamics")
    marks = {tag: places[id(child)] for tag, child in (("axis", axis), ("limit", limit)) if child is not None}

    def bound(key: str) -> float | None:
        return limit.number(key) if limit is not None and key in limit.attributes else None

    return Hinge(
        name=element.text_of("name"),
        kind=element.text_of("type"),
        parent=element.need("parent").text_of("link"),
        child=element.need("child").text_of("link"),
        offset=urdf.origin_of(element)[:3, 3],
        axis=np.array(axis.vector("xyz", (1.0, 0.0, 0.0))) if axis is not None else None,
        lower=bound("lower"),
        upper=bound("upper"),
        effort=bound("effort"),
        velocity=bound("velocity"),
        viscous=dynamics.number("damping", 0.0) if dynamics is not None else 0.0,
        coulomb=dynamics.number("friction", 0.0) if dynamics is not None else 0.0,
        mimics=element.one("mimic") is not None,
        marks=marks,
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
            yield Angles(owner.text_of("name"), "rpy", texts, values, places[id(origin)], origin.line)
