"""The bodies of a tree of links: links welded to their carriers, and the joints that move between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array, Symmetric, Vector
from armwright.errors import ModelError
from armwright.mechanism import Link, only_leaf
from armwright.model.canonical import Placement, canonical_tree
from armwright.model.composite import composite
from armwright.model.description import Description
from armwright.model.file_joints import FileJoint
from armwright.model.followers import split_followers
from armwright.model.frame_change import inverse, rounded_transform
from armwright.model.joint_types import freedoms_of
from armwright.model.mimic import Mimic
from armwright.model.records import Frame, JointModel, LinkModel
from armwright.model.transforms import tensor, tensor_entries, triple

if TYPE_CHECKING:
    from armwright.model.tree import Tree, TreeJoint

ROOT_JOINT = "root_joint"
"""The joint of a floating base, named as in Pinocchio."""

MIN_COMPENSATED_SHARE = 2.0**-40
"""The smallest compensated mass of a group over its absolute masses: a moment without a force has one, too."""

MULTI_FREEDOM_TYPES = {"floating": "free", "planar": "planar", "ball": "ball"}
"""Joint types with several freedoms in files, and their names in `joint_types.freedoms_of`."""


@dataclass(frozen=True, eq=False)
class LinkPlace:
    """The body of a link (-1 for the base), and the pose of the link in the frame of the body's first link."""

    body: int
    pose: Array


@dataclass(eq=False)
class _MovingBody:
    """A moving joint, None for the free joint before the root, and the links that move with it."""

    joint: TreeJoint | None
    name: str
    parent: int
    placement: Array
    welded: list[tuple[LinkModel, Array]] = field(default_factory=list)


class Assembly:
    """The bodies below a link of a tree: joints in `moving` move, the others are fixed at `values`."""

    def __init__(self, tree: Tree, base: str, moving: set[str], values: Mapping[str, float], floating: bool) -> None:
        self.tree, self.base = tree, base
        self.fixed: list[tuple[LinkModel, Array]] = []
        self.bodies = [_MovingBody(None, base, -1, np.eye(4))] if floating else list[_MovingBody]()
        self.places: dict[str, LinkPlace] = {}
        children = tree.children
        root = LinkPlace(0 if floating else -1, np.eye(4))
        stack: list[tuple[str, LinkPlace, TreeJoint | None]] = [(base, root, None)]
        while stack:
            link, place, joint = stack.pop()
            if joint is not None:
                self.bodies.append(_MovingBody(joint, link, place.body, place.pose))
                place = LinkPlace(len(self.bodies) - 1, np.eye(4))
            self.places[link] = place
            (self.bodies[place.body].welded if place.body >= 0 else self.fixed).append((tree.links[link], place.pose))
            for below in reversed(children.get(link, [])):
                moves = below.name in moving
                with np.errstate(over="ignore", invalid="ignore"):
                    T = place.pose @ (below.placement if moves else below.transform(values.get(below.name, 0.0)))
                stack.append((below.child, LinkPlace(place.body, T), below if moves else None))
        for link in tree.file_frames.keys() & self.places.keys():
            self.places[link] = replace(self.places[link], pose=self.places[link].pose @ tree.file_frames[link])
        self._check_floating(floating)
        self.file_joints = [self._file_joint(body) for body in self.bodies]

    @property
    def only_leaf(self) -> str | None:
        """The first link of the last body of a chain; None where the tree branches."""
        leaf = only_leaf([body.parent for body in self.bodies])
        return None if leaf is None else self.bodies[leaf].name

    def description(self, leaders: Mapping[str, Mimic], ends: Sequence[str], straighten: float) -> Description:
        """Return the robot in canonical frames. A single one of `ends` has the tool; with several there is no tip."""
        table = canonical_tree(self.file_joints, straighten)
        joints, followers = split_followers([
            row
            for body, joint, place in zip(self.bodies, self.file_joints, table.rows, strict=True)
            for row in _with_drive(body.joint, freedoms_of(joint.kind, self._joint(body.joint, leaders, place)))
        ])  # fmt: skip
        file_frames, base = [np.asarray(T) for T in table.file_frames], inverse(np.asarray(table.base))
        with np.errstate(over="ignore", invalid="ignore"):
            poses = [(base if p.body < 0 else file_frames[p.body]) @ p.pose for p in self.places.values()]
            frames = tuple(
                Frame(name, place.body, rounded_transform(pose))
                for (name, place), pose in zip(self.places.items(), poses, strict=True)
            )
            base_visuals = tuple(visual.moved(base @ T) for link, T in self.fixed for visual in link.visuals)
        tips = [self._tip(end) for end in ends]
        description = Description(
            self.tree.name, joints, table.links, self.tree.gravity, table.base, followers=followers, frames=frames,
            parents=tuple(body.parent for body in self.bodies), base_visuals=base_visuals,
        )  # fmt: skip
        if len(tips) != 1:
            return description
        (tip,) = tips
        return replace(description, tip=tip.body, flange=table.file_frames[tip.body], tool=rounded_transform(tip.pose))

    def _tip(self, end: str) -> LinkPlace:
        if self.places[end].body < 0:
            text = f"no joint moves between {self.base!r} and {end!r}; choose base= and tip="
            raise ModelError(f"{self.tree.name}: {text}")
        return self.places[end]

    def _check_floating(self, floating: bool) -> None:
        for body in self.bodies if floating else ():
            if body.joint and body.joint.kind == "floating" and body.parent == 0:
                where, name = self.tree.place_of(body.joint), body.joint.name
                raise ModelError(f"{where}: floating=True, but joint {name!r} lets {body.name!r} float already")

    def _file_joint(self, body: _MovingBody) -> FileJoint:
        kind = body.joint.kind if body.joint else "floating"
        axis = body.joint.axis if body.joint else np.array([0.0, 0.0, 1.0])
        link = _welded_body(body.name, body.welded)
        return FileJoint(body.placement, axis, MULTI_FREEDOM_TYPES.get(kind, kind), link, body.parent)

    def _joint(self, joint: TreeJoint | None, leaders: Mapping[str, Mimic], row: Placement) -> JointModel:
        """Return a joint of the file in its canonical place, still without its type."""
        placed = JointModel(ROOT_JOINT, "", row.alpha, row.a, row.d, row.theta, gamma=row.gamma, y=row.y, z=row.z)
        if joint is None:
            in_use = any(body.joint and body.joint.name == ROOT_JOINT for body in self.bodies)
            return replace(placed, name=f"{ROOT_JOINT}_2") if in_use else placed
        if joint.kind in MULTI_FREEDOM_TYPES:
            return replace(placed, name=joint.name)
        return replace(
            placed, name=joint.name, limits=joint.limits, viscous=joint.viscous, coulomb=joint.coulomb,
            rotor_inertia=joint.armature, max_velocity=joint.velocity, max_torque=joint.effort,
            mimic=leaders.get(joint.name), spring_stiffness=joint.spring_stiffness, spring_rest=joint.spring_rest[0],
            spring_curve=joint.spring_curve,
        )  # fmt: skip


def _with_drive(joint: TreeJoint | None, freedoms: Sequence[JointModel]) -> Sequence[JointModel]:
    """Return the freedoms of a joint with several, each with the friction, rotor and spring of the joint."""
    if joint is None or joint.kind not in MULTI_FREEDOM_TYPES:
        return freedoms
    rest = joint.spring_rest if len(joint.spring_rest) > 1 else joint.spring_rest * len(freedoms)
    return [
        replace(
            row, viscous=joint.viscous, coulomb=joint.coulomb, rotor_inertia=joint.armature,
            spring_stiffness=joint.spring_stiffness, spring_rest=start,
        )
        for row, start in zip(freedoms, rest, strict=True)
    ]  # fmt: skip


def _welded_body(name: str, welded: list[tuple[LinkModel, Array]]) -> LinkModel:
    """Return links that move together as one link, in the frame of the first."""
    bodies = [_body_in_frame(link, T) for link, T in welded if link.mass or np.any(link.inertia)]
    visuals = tuple(visual.moved(T) for link, T in welded for visual in link.visuals)
    if not bodies:
        return LinkModel(name, 0.0, (0.0, 0.0, 0.0), welded[0][0].inertia, visuals)
    body = composite(bodies)
    link_model = LinkModel(name, float(body.mass), triple(body.com), tensor(body.inertia), visuals)
    compensated = [(link, T) for link, T in welded if link.compensated_mass]
    if not compensated:
        return link_model
    mass = sum(link.compensated_mass for link, _ in compensated)
    min_mass = MIN_COMPENSATED_SHARE * sum(abs(link.compensated_mass) for link, _ in compensated)
    if abs(mass) < min_mass:  # a moment without a force: that of a small mass at a large distance
        mass = min_mass
    if all(link.compensated_mass == link.mass and link.compensated_com == link.com for link, _ in compensated):
        centre_body = composite([_body_in_frame(link, T) for link, T in compensated])
        return replace(link_model, compensated_mass=mass, compensated_com=triple(centre_body.com))
    places = [
        link.compensated_mass * (T[:3, :3] @ np.asarray(link.compensated_com) + T[:3, 3]) for link, T in compensated
    ]
    return replace(link_model, compensated_mass=mass, compensated_com=triple(sum(places) / mass))


def _body_in_frame(link: LinkModel, T: Array) -> Link:
    """Return the body of a link whose frame has the pose T."""
    R = T[:3, :3]
    com = R @ np.asarray(link.com) + T[:3, 3]
    inertia = R @ np.asarray(link.inertia) @ R.T
    return Link(link.mass, Vector(*com.tolist()), Symmetric(*map(float, tensor_entries(inertia))))
