"""A tree of links, as robot files have it, and the serial chain that is picked out of it.

Fixed and locked joints weld their links together exactly; side branches are locked, and what they weigh is carried by
the link they sit on. Joints that move keep their names, signs and zeros; their frames become canonical (`canonical`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import Symmetric, Vector
from armwright.chain import Link
from armwright.errors import ModelError, unknown
from armwright.model.canonical import Placed, canonical
from armwright.model.description import (
    EARTH,
    Description,
    JointModel,
    LinkModel,
    Tensor,
    Transform,
    Triple,
    joined,
    tensor,
)

Array: TypeAlias = NDArray[Any]

MOVING = ("revolute", "prismatic")
KINDS = (*MOVING, "fixed", "floating", "planar")


@dataclass(frozen=True)
class TreeLink:
    """A body in its own link frame; `inertia` is about the centre of mass."""

    name: str
    mass: float
    com: Triple
    inertia: Tensor


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """`placement` leads from the parent's frame to the child's at q = 0; the axis is in the child's frame.

    `mimic` is (joint, factor, offset): this one moves as factor q + offset of the other.
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: Array
    axis: Array
    limits: tuple[float, float] | None = None
    velocity: float | None = None
    effort: float | None = None
    viscous: float = 0.0
    coulomb: float = 0.0
    armature: float = 0.0
    mimic: tuple[str, float, float] | None = None

    @property
    def moves(self) -> bool:
        return self.kind in MOVING

    def at(self, q: float) -> Array:
        """The transform from the parent's frame to the child's."""
        motion = np.eye(4)
        if self.kind == "prismatic":
            motion[:3, 3] = q * self.axis
        elif self.kind == "revolute":
            motion[:3, :3] = _turn(self.axis, q)
        product: Array = self.placement @ motion
        return product


@dataclass(frozen=True, eq=False)
class Tree:
    """All links and joints of a file."""

    name: str
    links: dict[str, TreeLink]
    joints: list[TreeJoint]
    root: str
    gravity: Triple = EARTH
    file: str = ""


@dataclass(frozen=True)
class Picked:
    """A chain out of a tree, and what was decided on the way; `placed` are its joints in the frames of the file."""

    description: Description
    base: str
    tip: str
    notes: tuple[str, ...]
    placed: tuple[Placed, ...] = ()


def _turn(axis: Array, angle: float) -> Array:
    """Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn: Array = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return turn


def checked(tree: Tree) -> Tree:
    """The tree, if it is one: every link is there, has at most one parent, and hangs on the root."""
    where = f"{tree.file}: " if tree.file else ""
    parents: dict[str, TreeJoint] = {}
    names: set[str] = set()
    for joint in tree.joints:
        if joint.name in names:
            raise ModelError(f"{where}two joints are called {joint.name!r}")
        names.add(joint.name)
        for end in (joint.parent, joint.child):
            if end not in tree.links:
                raise unknown(f"{where}link, in joint {joint.name!r},", end, tree.links)
        if joint.child in parents:
            both = f"{parents[joint.child].name!r} and {joint.name!r}"
            raise ModelError(f"{where}link {joint.child!r} hangs on two joints, {both}; a chain has no loops")
        parents[joint.child] = joint
    if tree.root in parents:
        raise ModelError(
            f"{where}the root {tree.root!r} hangs on joint {parents[tree.root].name!r}: the links form a loop"
        )
    reached, stack = {tree.root}, [tree.root]
    children = _children(tree)
    while stack:
        for joint in children.get(stack.pop(), []):
            reached.add(joint.child)
            stack.append(joint.child)
    left = [name for name in tree.links if name not in reached]
    if left:
        raise ModelError(f"{where}{len(left)} links do not hang on {tree.root!r}, the first is {left[0]!r}")
    return tree


def _children(tree: Tree) -> dict[str, list[TreeJoint]]:
    children: dict[str, list[TreeJoint]] = {}
    for joint in tree.joints:
        children.setdefault(joint.parent, []).append(joint)
    return children


def pick(
    tree: Tree, base: str | None = None, tip: str | None = None, locked: Mapping[str, float] | None = None
) -> Picked:
    """The chain from `base` to `tip` (by default from the root along the longest chain), other joints locked."""
    checked(tree)
    held = _locked(tree, locked or {})
    start = tree.root if base is None else base
    for end in (start, tip):
        if end is not None and end not in tree.links:
            raise unknown("link", end, tree.links)
    path, end = _path(tree, start, tip, held)
    moving = [joint for joint in path if joint.moves and joint.name not in held]
    if not moving:
        raise ModelError(f"{tree.name}: no joint moves between {start!r} and {end!r}; choose base= and tip=")
    for joint in path:
        if joint.kind in ("floating", "planar"):
            raise ModelError(
                f"{tree.name}: joint {joint.name!r} is {joint.kind}; a chain has joints that turn or slide"
            )
        if joint.mimic and joint.name not in held:
            master = joint.mimic[0]
            raise ModelError(
                f"{tree.name}: joint {joint.name!r} on the chain mimics {master!r}; joints that move together are not "
                f"supported. Lock it with locked={{{joint.name!r}: 0.0}}, or choose another tip="
            )
    values, notes = _values(tree, held, {joint.name for joint in moving})
    return _picked(tree, start, end, path, moving, values, notes)


def _locked(tree: Tree, locked: Mapping[str, float]) -> dict[str, float]:
    names = [joint.name for joint in tree.joints]
    for name, value in locked.items():
        if name not in names:
            raise unknown("joint to lock", name, names)
        if not isinstance(value, (int, float)) or not np.isfinite(value):
            raise ModelError(f"locked[{name!r}] = {value!r}: expected a position, radians or metres")
    return {name: float(value) for name, value in locked.items()}


def _path(tree: Tree, base: str, tip: str | None, held: Mapping[str, float]) -> tuple[list[TreeJoint], str]:
    """The joints from base to tip."""
    parents = {joint.child: joint for joint in tree.joints}
    if tip is not None:
        return _up(parents, base, tip), tip
    children = _children(tree)
    leaves, stack = [], [base]
    while stack:
        link = stack.pop()
        below = children.get(link, [])
        stack.extend(reversed([joint.child for joint in below]))
        if not below:
            leaves.append(link)
    grips = {joint.mimic[0] for joint in tree.joints if joint.mimic}  # a hand whose fingers close together
    held = {**dict.fromkeys(grips, 0.0), **held}
    paths = {leaf: _up(parents, base, leaf) for leaf in leaves}
    moves = {
        leaf: tuple(j.name for j in path if j.moves and j.name not in held and not j.mimic)
        for leaf, path in paths.items()
    }
    longest = max(len(names) for names in moves.values())
    best = [leaf for leaf in leaves if len(moves[leaf]) == longest]
    if len({moves[leaf] for leaf in best}) > 1:
        listed = ", ".join(f"{leaf!r} ({len(moves[leaf])} joints)" for leaf in best[:12])
        raise ModelError(f"{tree.name}: several chains are equally long; choose one with tip=: {listed}")
    path = paths[max(best, key=lambda leaf: len(paths[leaf]))]
    last = max((i for i, j in enumerate(path) if j.name in _moves_of(path, held)), default=-1)
    stop = next((i for i, j in enumerate(path) if i > last and j.moves), len(path))
    path = path[:stop]  # the chain ends before the fingers
    return path, path[-1].child if path else base


def _moves_of(path: list[TreeJoint], held: Mapping[str, float]) -> tuple[str, ...]:
    """The joints on a path that move by themselves."""
    return tuple(joint.name for joint in path if joint.moves and joint.name not in held and not joint.mimic)


def _up(parents: Mapping[str, TreeJoint], base: str, tip: str) -> list[TreeJoint]:
    path: list[TreeJoint] = []
    link = tip
    while link != base:
        if link not in parents:
            raise ModelError(f"link {tip!r} does not hang on {base!r}; choose a base= above it")
        path.append(parents[link])
        link = parents[link].parent
    return path[::-1]


def _values(tree: Tree, held: Mapping[str, float], moving: set[str]) -> tuple[dict[str, float], list[str]]:
    """Where every joint stands that does not move with the chain, and what to tell of it."""
    values, notes = dict(held), []
    for joint in tree.joints:
        if joint.moves and joint.name not in moving and joint.name not in values and not joint.mimic:
            values[joint.name] = 0.0
            notes.append(f"{joint.name} is not on the chain and stands locked at 0")
    for joint in tree.joints:
        if joint.mimic and joint.name not in values and joint.name not in moving:
            master, factor, offset = joint.mimic
            if master in moving:
                raise ModelError(
                    f"{tree.name}: {joint.name!r}, beside the chain, mimics {master!r}, which moves with it; lock "
                    "one of them with locked="
                )
            values[joint.name] = factor * values.get(master, 0.0) + offset
            notes.append(f"{joint.name} follows {master} and stands locked at {values[joint.name]:g}")
    return values, notes


def _picked(
    tree: Tree, base: str, tip: str, path: list[TreeJoint], moving: list[TreeJoint], values: Mapping[str, float],
    notes: list[str],
) -> Picked:  # fmt: skip
    stops = {joint.name for joint in moving}
    children = _children(tree)
    placed, before = [], np.eye(4)
    for joint in path:
        if joint.name not in stops:
            before = before @ joint.at(values.get(joint.name, 0.0))
            continue
        placed.append(
            Placed(
                before @ joint.placement,
                joint.axis,
                joint.kind == "prismatic",
                _carried(tree, joint, children, stops, values),
            )
        )
        before = np.eye(4)
    table = canonical(placed)
    joints = tuple(
        JointModel(
            name=joint.name, type=joint.kind, alpha=row.alpha, a=row.a, d=row.d, theta=row.theta, limits=joint.limits,
            viscous=joint.viscous, coulomb=joint.coulomb, rotor_inertia=joint.armature, max_velocity=joint.velocity,
            max_torque=joint.effort,
        )
        for joint, row in zip(moving, table.rows, strict=True)
    )  # fmt: skip
    tool: Transform = tuple((a, b, c, d) for a, b, c, d in before.tolist())
    description = Description(
        tree.name, joints, table.links, tree.gravity, table.base, tool, None, "", (), table.flange
    )
    return Picked(description, base, tip, tuple(notes), tuple(placed))


def _carried(
    tree: Tree, joint: TreeJoint, children: Mapping[str, list[TreeJoint]], stops: set[str], values: Mapping[str, float]
) -> LinkModel:
    """Everything that moves with the child of a joint, in the child's frame."""
    bodies, stack = [], [(joint.child, np.eye(4))]
    while stack:
        name, T = stack.pop()
        link = tree.links[name]
        if link.mass or np.any(link.inertia):
            bodies.append(_seen(link, T))
        for below in children.get(name, []):
            if below.name not in stops:
                stack.append((below.child, T @ below.at(values.get(below.name, 0.0))))
    if not bodies:
        return LinkModel(joint.child, 0.0, (0.0, 0.0, 0.0), tree.links[joint.child].inertia)
    body = joined(bodies)
    com: Triple = (float(body.com.x), float(body.com.y), float(body.com.z))
    return LinkModel(joint.child, float(body.mass), com, tensor(body.inertia))


def _seen(link: TreeLink, T: Array) -> Link:
    R = T[:3, :3]
    com = R @ np.asarray(link.com) + T[:3, 3]
    inertia = R @ np.asarray(link.inertia) @ R.T
    six = (inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2])
    return Link(link.mass, Vector(*com.tolist()), Symmetric(*map(float, six)))
