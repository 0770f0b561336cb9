"""The checked part of an MJCF file for MuJoCo: bodies, joints and masses, without elements that open files.

MuJoCo gets a text written from our parse, not the file, so that no trick of encoding changes what it reads. Meshes are
read here only if they determine the mass of a body: none if every body has an <inertial>.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from armwright.files import contents
from armwright.model.meshes import MeshFolders, MissingMeshError
from armwright.model.mjcf import tendons
from armwright.model.mjcf.model_files import Document, attachment_assets
from armwright.model.mjcf.numbered_xml import NumberedXml
from armwright.model.refusal import OutsideFolder
from armwright.model.xml import Element

MAX_MODEL_BYTES = 256 << 20
MAX_COPIES = 1000
"""The largest number of copies of a <replicate>, multiplied with those around it."""

MAX_COPIED_ELEMENTS = 100_000
"""The largest number of elements that <replicate> and <attach> make."""

REFUSED_ELEMENTS = {
    "composite": "a rope or cloth is not a serial robot",
    "flexcomp": "a soft body is not a serial robot",
    "flex": "a soft body is not a serial robot",
}
DYNAMICS_SECTIONS = ("compiler", "option", "default", "asset", "worldbody", "tendon", "equality", "actuator")
"""Sections of the document that matter for dynamics; the others are for display, sensors and contact."""
READ_EQUATIONS = ("joint", "tendon", "connect", "weld")
"""Elements of <equality> that are read."""
IGNORED_ELEMENTS = ("camera", "light", "plugin", "texture", "material", "skin", "hfield")
IGNORED_ATTRIBUTES = {
    **dict.fromkeys(("meshdir", "texturedir", "assetdir", "strippath"), ("compiler",)),
    **dict.fromkeys(("fusestatic", "discardvisual"), ("compiler",)),
    **dict.fromkeys(("apirate", "collision", "mpr_iterations", "mpr_tolerance"), ("option",)),
    "material": ("geom", "site", "tendon", "fixed"),
    "content_type": ("mesh", "model"),
}
"""Attributes by their elements: those of ignored elements, of MuJoCo before 3, and those that remove bodies."""
PASSIVE_ATTRIBUTES = ("armature", "damping")
"""Effects of an actuator that do not depend on its control."""


@dataclass
class Stripped:
    """The text for MuJoCo, its files, and the effects that are not read."""

    text: str = ""
    models: dict[str, bytes] = field(default_factory=dict)
    meshes: dict[str, bytes] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    lines: NumberedXml = field(default_factory=NumberedXml)


def strip(main: Document, places: MeshFolders) -> Stripped:
    """Return the part of a document, and of its attached models, that dynamics need, after checks."""
    _check(main, {})
    documents = list(main.documents())
    keep_inertials = all(d.setting("inertiafromgeom", "auto") != "true" for d in documents)
    stripped = Stripped()
    names = {id(document): f"model{k}.xml" for k, document in enumerate(documents)}
    for document in documents:
        text = stripped.lines.add(_stripped(document, keep_inertials, names, places, stripped.meshes))
        if document is main:
            stripped.text = text
        else:
            stripped.models[names[id(document)]] = text.encode()
        stripped.unread += [*_unsupported(document.root), *tendons.unread_equations(document.root)]
    return stripped


def _stripped(
    document: Document, keep_inertials: bool, names: Mapping[int, str], places: MeshFolders, meshes: dict[str, bytes]
) -> Element:
    coupled = tendons.coupling(document.root)
    sections = [
        _without_visuals(section, keep_inertials) for section in coupled.children if section.tag in DYNAMICS_SECTIONS
    ]
    used = {e.attributes["mesh"] for s in sections for e in s.walk() if e.tag == "geom" and "mesh" in e.attributes}
    total_mass_set = any("settotalmass" in e.attributes for e in document.root.all("compiler"))
    for section in sections:
        if section.tag == "compiler" and total_mass_set:  # the total excludes bodies that are fused with the world
            section.attributes["fusestatic"] = document.setting("fusestatic", "false")
        if section.tag == "asset":
            section.children = [
                _mesh(mesh, document, places, meshes) for mesh in section.all("mesh") if mesh_name(mesh) in used
            ]
    return replace(document.root, children=[*sections, *attachment_assets(document, names)])


def _check(document: Document, counts: dict[int, int]) -> None:
    """Check all elements, and store in `counts` the number of elements that MuJoCo makes of the document."""
    for model in document.models.values():
        if id(model) not in counts:
            _check(model, counts)
    written, copied = 0, 0
    stack = [(document.root, 1)]
    while stack:
        element, copies = stack.pop()
        written += 1
        copied += copies - 1
        _check_element(element)
        if element.tag == "replicate":
            copies *= max(1, int(min(element.number("count", 1.0), MAX_COPIES + 1)))
            if copies > MAX_COPIES:
                element.fail(f"<replicate> makes more than {MAX_COPIES} copies")
        if element.tag == "attach":
            name = element.text_of("model")
            if name not in document.models:
                element.fail(f"<attach>: there is no <model> called {name!r} among the assets")
            copied += copies * counts[id(document.models[name])]
        if copied > MAX_COPIED_ELEMENTS:
            element.fail(f"<{element.tag}>: with it more than {MAX_COPIED_ELEMENTS} elements are copies")
        stack.extend((child, copies) for child in element.children)
    counts[id(document)] = written + copied


def _check_element(element: Element) -> None:
    if element.tag in REFUSED_ELEMENTS:
        element.fail(f"<{element.tag}> is refused: {REFUSED_ELEMENTS[element.tag]}")
    if element.tag.lower() == "include":
        element.fail(f"<{element.tag}> is not an element of MJCF; expected <include>")
    for name, value in element.attributes.items():
        if name != "name" and any(_not_finite(word) for word in value.split()):
            element.fail(f'{name} = "{value[:60]}" has a number that is not finite')


def _not_finite(word: str) -> bool:
    try:
        return not math.isfinite(float(word))
    except ValueError:
        return False


def _without_visuals(element: Element, keep_inertials: bool, shapes: bool = True) -> Element:
    """Return an element without visuals, and bodies with an <inertial> without their shapes."""
    if element.tag in ("body", "worldbody"):
        has_inertial = keep_inertials and any(child.tag == "inertial" for child in element.children)
        shapes = not has_inertial and element.tag == "body"
    if element.tag == "geom" and element.all("plugin"):
        element.fail("<plugin> is refused in a <geom> that gives its body a mass; give the body an <inertial>")
    children = [
        _without_visuals(child, keep_inertials, shapes)
        for child in element.children
        if child.tag not in IGNORED_ELEMENTS and (shapes or child.tag != "geom") and not _foreign(element, child)
    ]
    attributes = {
        name: value for name, value in element.attributes.items() if element.tag not in IGNORED_ATTRIBUTES.get(name, ())
    }
    return replace(element, attributes=attributes, children=children)


def _foreign(section: Element, child: Element) -> bool:
    """Return whether an equation is not about joints or loops, or an actuator not at a joint."""
    return (section.tag == "equality" and child.tag not in READ_EQUATIONS) or (
        section.tag == "actuator" and not {"joint", "jointinparent"} & set(child.attributes)
    )


def mesh_name(mesh: Element) -> str:
    """Return the name of a mesh, by default that of its file."""
    return mesh.attributes.get("name") or PurePosixPath(mesh.attributes.get("file", "").replace("\\", "/")).stem


def _mesh(mesh: Element, document: Document, places: MeshFolders, meshes: dict[str, bytes]) -> Element:
    """Return a mesh that determines the mass of a body, under a safe name, with its file read."""
    if "file" not in mesh.attributes:
        return mesh
    try:
        path = places.exact(document.mesh_file(mesh, places, "the mesh"), "the mesh")
        data = contents(path, MAX_MODEL_BYTES - sum(map(len, meshes.values())))
    except (OSError, ValueError, OutsideFolder, MissingMeshError) as error:
        mesh.fail(
            f"cannot read {mesh.attributes['file'][:80]!r} ({getattr(error, 'strerror', None) or error}), which "
            "gives a body its mass; give the body an <inertial>, which needs no mesh"
        )
    name = f"mesh{len(meshes)}{path.suffix}"
    meshes[name] = data
    return replace(mesh, attributes={**mesh.attributes, "name": mesh_name(mesh), "file": name})


def _unsupported(root: Element) -> list[str]:
    """Return effects on the motion that a tree of rigid bodies does not have."""
    effects = []
    active = {"stiffness", "damping", "frictionloss", "armature", "range"}
    by_default = any(active & set(e.attributes) for s in root.all("default") for e in s.walk() if e.tag == "tendon")
    for section in root.all("tendon"):
        tendons = [e for e in section.children if by_default or active & set(e.attributes)]
        effects += [f"the tendon of line {e.line}" for e in tendons]
    for section in root.all("equality"):
        others = [e for e in section.children if e.tag not in READ_EQUATIONS and e.attributes.get("active") != "false"]
        effects += [f"the equation of a {e.tag} in line {e.line}" for e in others]
    for section in root.all("actuator"):
        others = [e for e in section.children if _foreign(section, e) and set(PASSIVE_ATTRIBUTES) & set(e.attributes)]
        effects += [f"the armature and damping of the actuator of line {e.line}" for e in others]
    for section in root.all("worldbody"):
        effects += [
            f"the plugin {e.attributes.get('plugin', e.attributes.get('instance', ''))} of a body in line {e.line}"
            for body in section.walk()
            if body.tag in ("body", "worldbody")
            for e in body.all("plugin")
        ]
    return effects
