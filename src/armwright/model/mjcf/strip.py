"""What of an MJCF file is handed to MuJoCo: bodies, joints and masses, checked, and nothing that opens files.

MuJoCo never sees the file itself but what is written here from our own parse of it, so that no trick of encoding makes
it read something else than what was checked. Meshes are kept where the mass of a body follows from them, and are read
here; with an <inertial> in every body none is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from xml.sax.saxutils import quoteattr

from armwright.files import contents
from armwright.model.mjcf import tendons
from armwright.model.xml import Element

LARGEST_MESHES = 256 << 20
MOST_COPIES = 1000
"""Of a <replicate>, those it is itself in included."""

REFUSED = {
    "include": "the file it names is not followed; load that one, or put its text here",
    "attach": "models within models are not followed",
    "model": "models within models are not followed",
    "composite": "a rope or cloth is not a serial robot",
    "flexcomp": "a soft body is not a serial robot",
}
SECTIONS = ("compiler", "option", "default", "asset", "worldbody", "tendon", "equality", "actuator")
"""Of the document; the others say what is seen, sensed and touched."""
EQUATIONS = ("joint", "tendon", "connect", "weld")
"""That are taken over."""
UNSEEN = ("camera", "light", "plugin", "texture", "material", "skin", "hfield")
UNUSED = ("material", "meshdir", "texturedir", "assetdir", "strippath", "fusestatic", "discardvisual")
"""Attributes of what is left out, and two that would leave out bodies."""


@dataclass(frozen=True)
class Stripped:
    """The text for MuJoCo, the meshes it names, and what was left out although it has an influence."""

    text: str
    meshes: dict[str, bytes]
    left_out: list[str]


def strip(root: Element, folder: Path) -> Stripped:
    """Check a document and keep what the dynamics need."""
    if root.tag != "mujoco":
        root.fail(f"<{root.tag}> is not an MJCF model; expected <mujoco> as the outermost element")
    _check(root)
    keep_inertials = compiler(root, "inertiafromgeom", "auto") != "true"
    coupled = tendons.coupling(root)
    sections = [_kept(section, keep_inertials) for section in coupled.children if section.tag in SECTIONS]
    used = {e.attributes["mesh"] for s in sections for e in s.walk() if e.tag == "geom" and "mesh" in e.attributes}
    meshes: dict[str, bytes] = {}
    for section in sections:
        if section.tag == "asset":
            section.children = [
                _mesh(mesh, root, folder, meshes) for mesh in section.all("mesh") if mesh_name(mesh) in used
            ]
    return Stripped(
        "".join(written(replace(root, children=sections))), meshes, [*_left_out(root), *tendons.left_out(root)]
    )


def _check(root: Element) -> None:
    stack = [(root, 1)]
    while stack:
        element, copies = stack.pop()
        if element.tag in REFUSED:
            element.fail(f"<{element.tag}> is refused: {REFUSED[element.tag]}")
        if element.tag == "replicate":
            copies *= max(1, int(min(element.number("count", 1.0), MOST_COPIES + 1)))
            if copies > MOST_COPIES:
                element.fail(f"<replicate> makes more than {MOST_COPIES} copies")
        for name, value in element.attributes.items():
            if name != "name" and any(_not_finite(word) for word in value.split()):
                element.fail(f'{name} = "{value[:60]}" has a number that is not finite')
        stack.extend((child, copies) for child in element.children)


def _not_finite(word: str) -> bool:
    try:
        return not math.isfinite(float(word))
    except ValueError:
        return False


def compiler(root: Element, name: str, default: str) -> str:
    """A setting of the last <compiler> that has it."""
    return next((e.attributes[name] for e in reversed(root.all("compiler")) if name in e.attributes), default)


def _kept(element: Element, keep_inertials: bool, shapes: bool = True) -> Element:
    """An element without what is only seen, and a body with its <inertial> without its shapes."""
    if element.tag in ("body", "worldbody"):
        weighed = keep_inertials and any(child.tag == "inertial" for child in element.children)
        shapes = not weighed and element.tag == "body"
    children = [
        _kept(child, keep_inertials, shapes)
        for child in element.children
        if child.tag not in UNSEEN and (shapes or child.tag != "geom") and not _foreign(element, child)
    ]
    attributes = {name: value for name, value in element.attributes.items() if name not in UNUSED}
    return replace(element, attributes=attributes, children=children)


def _foreign(section: Element, child: Element) -> bool:
    """Equations other than those of joints and loops, and actuators of other things than joints."""
    return (section.tag == "equality" and child.tag not in EQUATIONS) or (
        section.tag == "actuator" and not {"joint", "jointinparent"} & set(child.attributes)
    )


def mesh_name(mesh: Element) -> str:
    return mesh.attributes.get("name") or PurePosixPath(mesh.attributes.get("file", "").replace("\\", "/")).stem


def _mesh(mesh: Element, root: Element, folder: Path, meshes: dict[str, bytes]) -> Element:
    """A mesh that some body takes its mass from, under a name of ours; its file is read here, if it lies below."""
    if "file" not in mesh.attributes:
        return mesh
    under = compiler(root, "meshdir", compiler(root, "assetdir", ""))
    file = mesh.attributes["file"]
    for part in (under, file):
        if _leads_out(part):
            mesh.fail(f"mesh {file!r} in {under!r}: expected a path below the model's folder, without '..'")
    path = folder / under / file
    try:
        data = contents(path, LARGEST_MESHES - sum(map(len, meshes.values())))
    except (OSError, ValueError) as error:
        mesh.fail(
            f"cannot read {path} ({getattr(error, 'strerror', None) or error}), which a body takes its mass from; give "
            "the body an <inertial> and no mesh is needed"
        )
    name = f"mesh{len(meshes)}{path.suffix}"
    meshes[name] = data
    return replace(mesh, attributes={**mesh.attributes, "name": mesh_name(mesh), "file": name})


def _leads_out(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return ".." in parts or ":" in path or PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def _left_out(root: Element) -> list[str]:
    """What would have an influence on the motion but has no place in a chain of rigid bodies."""
    found = []
    for section in root.all("tendon"):
        active = ("stiffness", "damping", "frictionloss", "armature", "range")
        found += [f"the tendon of line {e.line}" for e in section.children if set(active) & set(e.attributes)]
    for section in root.all("equality"):
        others = [e for e in section.children if e.tag not in EQUATIONS and e.attributes.get("active") != "false"]
        found += [f"the equation of a {e.tag} in line {e.line}" for e in others]
    for option in root.all("option"):
        found += [f"the {name} of the air" for name in ("density", "viscosity", "wind") if _moving(option, name)]
    return found


def _moving(option: Element, name: str) -> bool:
    return any(word.strip("0.+-") for word in option.attributes.get(name, "").split())


def written(root: Element) -> Iterator[str]:
    """XML again, with every element in the line it had, so that MuJoCo's messages name the right one."""
    line = 1
    stack: list[Element | str] = [root]
    while stack:
        element = stack.pop()
        if isinstance(element, str):
            yield element
            continue
        yield "\n" * (element.line - line)
        line = max(line, element.line)
        yield (
            f"<{element.tag}" + "".join(f" {name}={quoteattr(text)}" for name, text in element.attributes.items()) + ">"
        )
        stack.append(f"</{element.tag}>")
        stack.extend(reversed(element.children))
