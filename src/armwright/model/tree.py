"""A tree of links, as robot files have it, and the serial chain that is picked out of it.

Fixed and locked joints weld their links together exactly; side branches are locked, and what they weigh is carried by
the link they sit on. Joints that move keep their names, signs and zeros; their frames become canonical (`canonical`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

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
    Mimic,
    Tensor,
    Transform,
    Triple,
    joined,
    parted,
    tensor,
)

if TYPE_CHECKING:
    from armwright.model.visual import Visual

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
    visuals: tuple[Visual, ...] = ()


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
    leaders = _leaders(tree, held)
    path, end = _path(tree, start, tip, held, leaders)
    free = _free(path, held, leaders)
    moving = [joint for joint in path if joint.name in free or _follows(joint, leaders, free)]
    if not moving:
        raise ModelError(f"{tree.name}: no joint moves between {start!r} and {end!r}; choose base= and tip=")
    names = {joint.name for joint in tree.joints}
    for joint in path:
        if joint.name in leaders and leaders[joint.name].joint not in names:
            raise unknown(f"joint for {joint.name!r} to mimic:", leaders[joint.name].joint, names)
        if joint.kind in ("floating", "planar"):
            raise ModelError(
                f"{tree.name}: joint {joint.name!r} is {joint.kind}; a chain has joints that turn or slide"
            )
    values, notes = _values(tree, held, {joint.name for joint in moving}, leaders)
    chosen = Chosen(
        path, moving, {joint.name: leaders[joint.name] for joint in moving if joint.name in leaders}, values
    )
    return _picked(tree, start, end, chosen, notes)


def _leaders(tree: Tree, held: Mapping[str, float]) -> dict[str, Mimic]:
    """For each joint that mimics, the one it follows, maybe by way of others: which moves by itself, or is held."""
    joints = {joint.name: joint for joint in tree.joints}
    found: dict[str, Mimic] = {}
    for joint in tree.joints:
        if joint.mimic is None or not joint.moves or joint.name in held:
            continue
        name, factor, offset = joint.mimic
        seen = {joint.name}
        while True:
            if name in seen:
                raise ModelError(f"{tree.name}: joint {joint.name!r} mimics itself, by way of {name!r}")
            inner = joints[name].mimic if name in joints and name not in held and joints[name].moves else None
            if inner is None:
                break
            seen.add(name)
            name, factor, offset = inner[0], factor * inner[1], factor * inner[2] + offset
        found[joint.name] = Mimic(name, factor, offset)
    return found


def _locked(tree: Tree, locked: Mapping[str, float]) -> dict[str, float]:
    names = [joint.name for joint in tree.joints]
    for name, value in locked.items():
        if name not in names:
            raise unknown("joint to lock", name, names)
        if not isinstance(value, (int, float)) or not np.isfinite(value):
            raise ModelError(f"locked[{name!r}] = {value!r}: expected a position, radians or metres")
    return {name: float(value) for name, value in locked.items()}


def _free(path: list[TreeJoint], held: Mapping[str, float], leaders: Mapping[str, Mimic]) -> set[str]:
    """The joints on a path that move by themselves."""
    return {joint.name for joint in path if joint.moves and joint.name not in held and joint.name not in leaders}


def _follows(joint: TreeJoint, leaders: Mapping[str, Mimic], free: set[str]) -> bool:
    """Whether a joint moves with one that is free; one that follows a joint which stands still stands still."""
    return joint.name in leaders and leaders[joint.name].joint in free and leaders[joint.name].factor != 0


def _path(
    tree: Tree, base: str, tip: str | None, held: Mapping[str, float], leaders: Mapping[str, Mimic]
) -> tuple[list[TreeJoint], str]:
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
    paths = {leaf: _up(parents, base, leaf) for leaf in leaves}
    moves = {leaf: _moves_of(path, held, leaders) for leaf, path in paths.items()}
    longest = max(len(names) for names in moves.values())
    best = [leaf for leaf in leaves if len(moves[leaf]) == longest]
    if len({moves[leaf] for leaf in best}) > 1:
        listed = ", ".join(f"{leaf!r} ({len(moves[leaf])} joints)" for leaf in best[:12])
        raise ModelError(f"{tree.name}: several chains are equally long; choose one with tip=: {listed}")
    leaf = max(best, key=lambda leaf: len(paths[leaf]))
    path, moved = paths[leaf], set(moves[leaf])
    last = max((i for i, j in enumerate(path) if j.name in moved or _follows(j, leaders, moved)), default=-1)
    stop = next((i for i, j in enumerate(path) if i > last and j.moves), len(path))
    path = path[:stop]  # the chain ends before the fingers
    return path, path[-1].child if path else base


def _moves_of(path: list[TreeJoint], held: Mapping[str, float], leaders: Mapping[str, Mimic]) -> tuple[str, ...]:
    """The joints on a path that move by themselves, without those at its end that lead others beside it: a hand."""
    on_path = {joint.name for joint in path}
    grips = {mimic.joint for name, mimic in leaders.items() if name not in on_path}
    free = _free(path, held, leaders)
    names = [joint.name for joint in path if joint.name in free]
    while names and names[-1] in grips:
        names.pop()
    return tuple(names)


def _up(parents: Mapping[str, TreeJoint], base: str, tip: str) -> list[TreeJoint]:
    path: list[TreeJoint] = []
    link = tip
    while link != base:
        if link not in parents:
            raise ModelError(f"link {tip!r} does not hang on {base!r}; choose a base= above it")
        path.append(parents[link])
        link = parents[link].parent
    return path[::-1]


def _values(
    tree: Tree, held: Mapping[str, float], moving: set[str], leaders: Mapping[str, Mimic]
) -> tuple[dict[str, float], list[str]]:
    """Where every joint stands that does not move with the chain, and what to tell of it."""
    values, notes = dict(held), []
    names = {joint.name for joint in tree.joints}
    for joint in tree.joints:
        if joint.moves and joint.name not in moving and joint.name not in values and joint.name not in leaders:
            values[joint.name] = 0.0
            notes.append(f"{joint.name} is not on the chain and stands locked at 0")
    beside = {name: mimic for name, mimic in leaders.items() if name not in moving}
    led = [name for name, mimic in beside.items() if mimic.joint in moving and mimic.factor]
    if led:
        followed = ", ".join(sorted({beside[name].joint for name in led}))
        raise ModelError(
            f"{tree.name}: beside the chain, {', '.join(led)} would move with {followed}, and side branches stand "
            f"still; lock them, as in locked={dict.fromkeys(led, 0.0)}, or the joint they follow"
        )
    for name, mimic in beside.items():
        values[name] = mimic.factor * values.get(mimic.joint, 0.0) + mimic.offset
        missing = "" if mimic.joint in names else ", which there is not; it is not on the chain"
        notes.append(f"{name} follows {mimic.joint}{missing} and stands locked at {values[name]:g}")
    return values, notes


@dataclass(frozen=True)
class Chosen:
    """The joints from base to tip, those of them that move, which of these follow others, where the rest stand."""

    path: list[TreeJoint]
    moving: list[TreeJoint]
    followers: dict[str, Mimic]
    values: Mapping[str, float]


def _picked(tree: Tree, base: str, tip: str, chosen: Chosen, notes: list[str]) -> Picked:
    path, moving, values = chosen.path, chosen.moving, chosen.values
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
                _carried(joint.child, list(_welded(tree, joint.child, children, stops, values))),
            )
        )
        before = np.eye(4)
    table = canonical(placed)
    joints, followers = parted([
        JointModel(
            name=joint.name, type=joint.kind, alpha=row.alpha, a=row.a, d=row.d, theta=row.theta, limits=joint.limits,
            viscous=joint.viscous, coulomb=joint.coulomb, rotor_inertia=joint.armature, max_velocity=joint.velocity,
            max_torque=joint.effort, mimic=chosen.followers.get(joint.name),
        )
        for joint, row in zip(moving, table.rows, strict=True)
    ])  # fmt: skip
    tool: Transform = tuple((a, b, c, d) for a, b, c, d in before.tolist())
    to_base = np.linalg.inv(np.asarray(table.base))
    with np.errstate(over="ignore", invalid="ignore"):
        still = tuple(v.moved(to_base @ T) for x, T in _welded(tree, base, children, stops, values) for v in x.visuals)
    description = Description(
        tree.name, joints, table.links, tree.gravity, table.base, tool, None, "", (), table.flange, followers, still
    )
    return Picked(description, base, tip, tuple(notes), tuple(placed))


def _welded(
    tree: Tree, start: str, children: Mapping[str, list[TreeJoint]], stops: set[str], values: Mapping[str, float]
) -> Iterator[tuple[TreeLink, Array]]:
    """Everything that moves with a link, and where it is in that link's frame."""
    stack = [(start, np.eye(4))]
    while stack:
        name, T = stack.pop()
        yield tree.links[name], T
        for below in children.get(name, []):
            if below.name not in stops:
                stack.append((below.child, T @ below.at(values.get(below.name, 0.0))))


def _carried(name: str, welded: list[tuple[TreeLink, Array]]) -> LinkModel:
    """Links that move together as one, in the frame of the first."""
    bodies = [_seen(link, T) for link, T in welded if link.mass or np.any(link.inertia)]
    visuals = tuple(visual.moved(T) for link, T in welded for visual in link.visuals)
    if not bodies:
        return LinkModel(name, 0.0, (0.0, 0.0, 0.0), welded[0][0].inertia, visuals)
    body = joined(bodies)
    com: Triple = (float(body.com.x), float(body.com.y), float(body.com.z))
    return LinkModel(name, float(body.mass), com, tensor(body.inertia), visuals)


def _seen(link: TreeLink, T: Array) -> Link:
    R = T[:3, :3]
    com = R @ np.asarray(link.com) + T[:3, 3]
    inertia = R @ np.asarray(link.inertia) @ R.T
    six = (inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2])
    return Link(link.mass, Vector(*com.tolist()), Symmetric(*map(float, six)))
