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
"""The least compensated mass of a group, relative to the sum of its absolute masses, so that a moment without a force
has a mass."""

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
        self.still: list[tuple[LinkModel, Array]] = []
        self.bodies = [_MovingBody(None, base, -1, np.eye(4))] if floating else list[_MovingBody]()
        self.places: dict[str, LinkPlace] = {}
        children = tree.children
        stack: list[tuple[str, LinkPlace, TreeJoint | None]] = [
            (base, LinkPlace(0 if floating else -1, np.eye(4)), None)
        ]
        while stack:
            link, place, joint = stack.pop()
            if joint is not None:
                self.bodies.append(_MovingBody(joint, link, place.body, place.pose))
                place = LinkPlace(len(self.bodies) - 1, np.eye(4))
            self.places[link] = place
            (self.bodies[place.body].welded if place.body >= 0 else self.still).append((tree.links[link], place.pose))
            for below in reversed(children.get(link, [])):
                moves = below.name in moving
                with np.errstate(over="ignore", invalid="ignore"):
                    T = place.pose @ (below.placement if moves else below.transform(values.get(below.name, 0.0)))
                stack.append((below.child, LinkPlace(place.body, T), below if moves else None))
        for link in tree.origins.keys() & self.places.keys():
            self.places[link] = replace(self.places[link], pose=self.places[link].pose @ tree.origins[link])
        self._check_floating(floating)
        self.placed = [self._placed(body) for body in self.bodies]

    @property
    def only_leaf(self) -> str | None:
        """The first link of the last body of a chain; None where the tree branches."""
        leaf = only_leaf([body.parent for body in self.bodies])
        return None if leaf is None else self.bodies[leaf].name

    def described(self, leaders: Mapping[str, Mimic], ends: Sequence[str], straighten: float) -> Description:
        """Return the robot in canonical frames. Its tool is in the only one of `ends`; with several
        ends it has no tip.
        """
        table = canonical_tree(self.placed, straighten)
        joints, followers = split_followers([
            row
            for body, placed, place in zip(self.bodies, self.placed, table.rows, strict=True)
            for row in _with_drive(body.joint, freedoms_of(placed.kind, self._joint(body.joint, leaders, place)))
        ])  # fmt: skip
        own, base = [np.asarray(T) for T in table.own], inverse(np.asarray(table.base))
        with np.errstate(over="ignore", invalid="ignore"):
            frames = tuple(
                Frame(name, place.body, rounded_transform((base if place.body < 0 else own[place.body]) @ place.pose))
                for name, place in self.places.items()
            )
            still = tuple(visual.moved(base @ T) for link, T in self.still for visual in link.visuals)
        tips = [self._tip(end) for end in ends]
        whole = Description(
            self.tree.name, joints, table.links, self.tree.gravity, table.base, followers=followers, base_visuals=still,
            parents=tuple(body.parent for body in self.bodies), frames=frames,
        )  # fmt: skip
        if len(tips) != 1:
            return whole
        (tip,) = tips
        return replace(whole, tip=tip.body, flange=table.own[tip.body], tool=rounded_transform(tip.pose))

    def _tip(self, end: str) -> LinkPlace:
        if self.places[end].body < 0:
            raise ModelError(
                f"{self.tree.name}: no joint moves between {self.base!r} and {end!r}; choose base= and tip="
            )
        return self.places[end]

    def _check_floating(self, floating: bool) -> None:
        for body in self.bodies if floating else ():
            if body.joint and body.joint.kind == "floating" and body.parent == 0:
                where, name = self.tree.place_of(body.joint), body.joint.name
                raise ModelError(f"{where}: floating=True, but joint {name!r} lets {body.name!r} float already")

    def _placed(self, body: _MovingBody) -> FileJoint:
        kind = body.joint.kind if body.joint else "floating"
        axis = body.joint.axis if body.joint else np.array([0.0, 0.0, 1.0])
        return FileJoint(
            body.placement, axis, MULTI_FREEDOM_TYPES.get(kind, kind), _welded_body(body.name, body.welded), body.parent
        )

    def _joint(self, joint: TreeJoint | None, leaders: Mapping[str, Mimic], row: Placement) -> JointModel:
        """Return a joint of the file in its canonical place; its type follows later."""
        placed = JointModel(ROOT_JOINT, "", row.alpha, row.a, row.d, row.theta, gamma=row.gamma, y=row.y, z=row.z)
        if joint is None:
            taken = any(body.joint and body.joint.name == ROOT_JOINT for body in self.bodies)
            return replace(placed, name=f"{ROOT_JOINT}_2") if taken else placed
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
    made = LinkModel(name, float(body.mass), triple(body.com), tensor(body.inertia), visuals)
    carried = [(link, T) for link, T in welded if link.compensated_mass]
    if not carried:
        return made
    mass = sum(link.compensated_mass for link, _ in carried)
    least = MIN_COMPENSATED_SHARE * sum(abs(link.compensated_mass) for link, _ in carried)
    if abs(mass) < least:  # a moment without a force: a slight mass far away has it
        mass = least
    if all(link.compensated_mass == link.mass and link.compensated_com == link.com for link, _ in carried):
        own = composite([_body_in_frame(link, T) for link, T in carried])
        return replace(made, compensated_mass=mass, compensated_com=triple(own.com))
    places = [link.compensated_mass * (T[:3, :3] @ np.asarray(link.compensated_com) + T[:3, 3]) for link, T in carried]
    return replace(made, compensated_mass=mass, compensated_com=triple(sum(places) / mass))


def _body_in_frame(link: LinkModel, T: Array) -> Link:
    """Return the body of a link whose frame has the pose T."""
    R = T[:3, :3]
    com = R @ np.asarray(link.com) + T[:3, 3]
    inertia = R @ np.asarray(link.inertia) @ R.T
    return Link(link.mass, Vector(*com.tolist()), Symmetric(*map(float, tensor_entries(inertia))))
