"""An MJCF file as a tree of links: checked, compiled by MuJoCo, read from its compiled model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from armwright.errors import ModelError
from armwright.model import xml
from armwright.model.meshes import MeshFolders
from armwright.model.mjcf.actuators import joint_actuation
from armwright.model.mjcf.elimination import Contradiction
from armwright.model.mjcf.equality import loops
from armwright.model.mjcf.link_builder import LinkBuilder
from armwright.model.mjcf.model_files import read_document
from armwright.model.mjcf.mujoco_engine import engine, parsed, quiet, refusals, sentence
from armwright.model.mjcf.options import air, switch_off
from armwright.model.mjcf.strip import strip
from armwright.model.mjcf.unsupported import unsupported_effects, warn_of_unsupported
from armwright.model.mjcf.visuals import visuals as visuals_of
from armwright.model.transforms import triple
from armwright.model.tree import Tree, checked_tree


def read(path: str | Path, packages: Mapping[str, str | Path] | None = None, visuals: bool = True) -> Tree:
    """Return the tree of an MJCF file."""
    return tree_of(xml.read(path), packages, visuals)


def tree_of(root: xml.Element, packages: Mapping[str, str | Path] | None = None, visuals: bool = True) -> Tree:
    """Return the tree of a parsed MJCF file, and warn of effects that a tree of rigid bodies does not have.

    `packages` locates meshes outside of the model's folder (`model.meshes`).
    """
    path, places = Path(root.file), MeshFolders.around(root.file, packages)
    document = read_document(root, places)
    stripped = strip(document, places)
    mujoco = engine(path)
    with quiet(mujoco):
        try:
            spec = parsed(mujoco, stripped.text, stripped.models, stripped.meshes)
            drives = joint_actuation(mujoco, spec)
            model = spec.compile()
        except refusals(mujoco) as error:
            text = stripped.lines.with_file_lines(sentence(error), root.file)
            raise ModelError(f"{path}: MuJoCo refuses it: {text}") from None
        shapes = visuals_of(mujoco, document, places, model) if visuals else None
    switch_off(mujoco, model)
    name = spec.modelname if spec.modelname not in ("", "MuJoCo Model") else path.stem
    try:
        links = LinkBuilder(mujoco, model, drives)
    except Contradiction as error:
        raise ModelError(f"{path}: {error}") from None
    links.bodies()
    links.sites()
    if shapes is not None:
        links.add_visuals(shapes.by_body)
    unread = [*stripped.unread, *unsupported_effects(model, links), *air(model), *(shapes.unread if shapes else [])]
    warn_of_unsupported(path, unread)
    gravity, closed = triple(model.opt.gravity), tuple(loops(mujoco, model, links.names))
    return checked_tree(
        Tree(name, links.links, links.joints, "world", gravity, str(path), file_frames=links.origins, loops=closed)
    )
