"""The shapes of an MJCF file for a viewer, placed by MuJoCo without opening a mesh.

MuJoCo gets only bodies and shapes, with a point for each mesh. Classes, frames, angles and `fromto` thus have MuJoCo's
meaning, and a mesh has the pose of its vertices in the file, not that of its centre of mass.

A body shows its shapes for display, without contacts (contype and conaffinity are 0) or of group 2, else all shapes.
Planes, height fields and shapes fitted to a mesh are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.model.meshes import MeshFolders
from armwright.model.mjcf.model_files import Document, attachment_assets
from armwright.model.mjcf.mujoco_engine import parsed, refusals, sentence
from armwright.model.mjcf.numbered_xml import NumberedXml
from armwright.model.mjcf.pose import rotation_matrix, transform
from armwright.model.mjcf.strip import mesh_name
from armwright.model.refusal import OutsideFolder
from armwright.model.transforms import Triple, triple
from armwright.model.visual import MUJOCO_SIZE_FACTORS, SOLIDS, Colour, Mesh, Visual, visual_pose
from armwright.model.xml import Element

POSE_ATTRIBUTES = ("pos", "quat", "axisangle", "xyaxes", "zaxis", "euler")
CONTACT_ATTRIBUTES = ("contype", "conaffinity", "group")
VISIBLE_ATTRIBUTES = {
    "mujoco": ("model",),
    "compiler": ("angle", "eulerseq"),
    "default": ("class",),
    "asset": (),
    "model": ("name", "file"),
    "attach": ("model", "body", "frame", "prefix"),
    "material": ("name", "class", "rgba"),
    "mesh": ("name", "class", "scale", "refpos", "refquat"),
    "worldbody": (),
    "body": ("name", "childclass", *POSE_ATTRIBUTES),
    "frame": ("name", "childclass", *POSE_ATTRIBUTES),
    "replicate": ("count", "offset", "euler", "sep", "childclass"),
    "geom": (
        *("name", "class", "type", "size", "fromto", "mesh", "rgba", "material"),
        *(*POSE_ATTRIBUTES, *CONTACT_ATTRIBUTES),
    ),
}
"""The elements and attributes that define shapes and their poses."""

VISUAL_GROUP = 2

GEOM_KINDS = {2: "sphere", 3: "capsule", 4: "ellipsoid", 5: "cylinder", 6: "box", 7: "mesh"}
"""Shapes by mjtGeom."""

DEFAULT_COLOUR = (0.5, 0.5, 0.5, 1.0)
"""A shape of this colour has that of its material."""


@dataclass(frozen=True)
class BodyVisuals:
    """The shapes of each body, in the body's frame, and a list of those that cannot be shown."""

    by_body: dict[int, list[Visual]]
    unread: list[str]


@dataclass(frozen=True)
class _Geom:
    """A shape with its class applied. `for_display`: it has no contacts, or is in the group of shapes for display."""

    kind: int
    name: str
    mesh: str
    for_display: bool


@dataclass(frozen=True)
class _Asset:
    """A mesh: its package name, and the scale of its vertices, followed by the motion T."""

    file: str
    scale: Triple
    T: Array


def visuals(mujoco: Any, main: Document, places: MeshFolders, dynamics_model: Any) -> BodyVisuals:
    """Return the shapes of each body of a compiled model, or raise an error for a mesh outside of its folder."""
    files, lines = _files(main, places, {}), NumberedXml()
    names = {id(document): f"model{k}.xml" for k, document in enumerate(main.documents())}
    texts = {names[id(document)]: lines.add(_visible(document, names)) for document in main.documents()}
    try:
        text = texts.pop(names[id(main)])
        spec = parsed(mujoco, text, {name: text.encode() for name, text in texts.items()}, {})
        geoms, assets = _without_meshes(mujoco, spec, files)
        model = spec.compile()
    except refusals(mujoco) as error:
        reason = lines.with_file_lines(sentence(error), main.root.file)
        return BodyVisuals({}, [f"the shapes, which MuJoCo refuses ({reason})"])
    if not np.array_equal(model.body_parentid, dynamics_model.body_parentid):
        return BodyVisuals({}, ["the shapes, whose bodies are not those of the masses"])
    by_body: dict[int, list[tuple[bool, Visual]]] = {}
    for i in range(model.ngeom):
        geom = geoms[model.geom(i).name]
        on_body = by_body.setdefault(int(model.geom_bodyid[i]), [])
        on_body.append((geom.for_display, _visual(model, i, geom, assets, places)))
    return BodyVisuals({body: _displayed(pairs) for body, pairs in by_body.items()}, [])


def _displayed(pairs: list[tuple[bool, Visual]]) -> list[Visual]:
    chosen = [visual for for_display, visual in pairs if for_display] or [visual for _, visual in pairs]
    return [visual for visual in chosen if visual.rgba is None or visual.rgba[3] > 0]


def _files(document: Document, places: MeshFolders, known: dict[int, dict[str, str]]) -> dict[str, str]:
    """Return the files of all meshes by their names after attachment; `known` has those of attached models."""
    files: dict[str, str] = {}
    for section in document.root.all("asset"):
        for mesh in section.all("mesh"):
            if "file" in mesh.attributes:
                try:
                    files[mesh_name(mesh)] = document.mesh_file(mesh, places)
                except OutsideFolder as error:
                    mesh.fail(str(error))
    for model in document.models.values():
        if id(model) not in known:
            known[id(model)] = _files(model, places, known)
    for element in document.root.walk():
        if element.tag == "attach":
            prefix, model = element.attributes.get("prefix", ""), document.models[element.attributes["model"]]
            files |= {prefix + name: file for name, file in known[id(model)].items()}
    return files


def _visible(document: Document, names: Mapping[int, str]) -> Element:
    """Return the elements of a document that define shapes; `names` are the files of its attached models."""
    root = _visible_element(document.root)
    for section in root.all("asset"):
        section.children = [child for child in section.children if child.tag != "model"]
    models = attachment_assets(document, names)
    return replace(root, children=[*root.children, *models])


def _visible_element(element: Element, parent: str = "") -> Element:
    """Return an element with only VISIBLE_ATTRIBUTES, and without the files of meshes."""
    attributes = {name: text for name, text in element.attributes.items() if name in VISIBLE_ATTRIBUTES[element.tag]}
    if element.tag == "mesh" and parent == "asset":
        attributes |= {"name": mesh_name(element), "file": "none.stl"}
    children = [_visible_element(child, element.tag) for child in element.children if child.tag in VISIBLE_ATTRIBUTES]
    return replace(element, attributes=attributes, children=children)


def _without_meshes(mujoco: Any, spec: Any, files: dict[str, str]) -> tuple[dict[str, _Geom], dict[str, _Asset]]:
    """Return the shapes under unique names, with points for meshes, and the removed meshes."""
    assets = {mesh.name: asset for mesh in spec.meshes if (asset := _asset(mesh, files)) is not None}
    geoms: dict[str, _Geom] = {}
    for geom in list(spec.geoms):
        kind, mesh = int(geom.type), geom.meshname
        is_mesh = kind == int(mujoco.mjtGeom.mjGEOM_MESH)
        if kind not in GEOM_KINDS or (mesh in assets) != is_mesh or (mesh and not is_mesh):
            spec.delete(geom)
            continue
        for_display = geom.group == VISUAL_GROUP or (geom.contype == 0 and geom.conaffinity == 0)
        name = f"geom{len(geoms)}"
        geoms[name] = _Geom(kind, geom.name, mesh, for_display)
        geom.name = name
        if is_mesh:
            geom.type, geom.meshname, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, "", (1e-3, 0.0, 0.0)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    return geoms, assets


def _asset(mesh: Any, files: dict[str, str]) -> _Asset | None:
    """Return a mesh with vertices scale (R^T (vertex - refpos)); None unless that is a scale and a motion."""
    if mesh.name not in files:
        return None
    scale, R = np.array(mesh.scale), rotation_matrix(np.array(mesh.refquat))
    T = np.eye(4)
    if np.array_equal(R, np.eye(3)) or np.ptp(scale) == 0:
        T[:3, :3] = R.T
        T[:3, 3] = -scale * (R.T @ np.array(mesh.refpos))
        return _Asset(files[mesh.name], triple(scale), T)
    return None


def _visual(model: Any, i: int, geom: _Geom, assets: dict[str, _Asset], places: MeshFolders) -> Visual:
    T = transform(model.geom_pos[i], model.geom_quat[i])
    if not geom.mesh:
        kind = GEOM_KINDS[geom.kind]  # sizes are radii and half lengths, three numbers for every shape
        pairs = zip(model.geom_size[i].tolist(), MUJOCO_SIZE_FACTORS[kind], strict=False)
        shape = SOLIDS[kind](*(size / factor for size, factor in pairs))
        return Visual(shape, visual_pose(T), _colour(model, i), geom.name)
    asset = assets[geom.mesh]
    return Visual(Mesh(asset.file, asset.scale, places), visual_pose(T @ asset.T), _colour(model, i), geom.name)


def _colour(model: Any, i: int) -> Colour | None:
    """Return the colour of a shape or its material, converted from single precision so that 0.1 is 0.1."""
    colour, material = model.geom_rgba[i], int(model.geom_matid[i])
    if tuple(colour.tolist()) == DEFAULT_COLOUR:
        if material < 0:
            return None
        colour = model.mat_rgba[material]
    red, green, blue, opacity = (float(str(x)) for x in colour)
    return red, green, blue, opacity
