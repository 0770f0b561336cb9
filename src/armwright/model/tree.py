"""A tree of links, as robot files have it, and the serial chain that is picked out of it.

Fixed and locked joints weld their links together exactly; side branches are locked, and what they weigh is carried by
the link they sit on. Joints that move keep their names, signs and zeros; their frames become canonical (`canonical`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array, Symmetric, Vector
from armwright.chain import Link
from armwright.errors import ModelError, ModelWarning, unknown
from armwright.model.canonical import Placed, canonical
from armwright.model.description import (
    EARTH,
    Cycle,
    Description,
    JointModel,
    LinkModel,
    Mimic,
    Tensor,
    Transform,
    Triple,
    joined,
    parted,
    resolved,
    tensor,
)
from armwright.model.longest import ends

if TYPE_CHECKING:
    from armwright.model.visual import Visual


MOVING = ("revolute", "prismatic")
STUCK = {"floating": "floating", "planar": "planar", "ball": "a ball joint"}
"""Kinds that have more than one freedom, in words."""
KINDS = (*MOVING, "fixed", *STUCK)

MOST_JOINTS = 10_000
"""Of a file, fixed ones too. It takes some seconds to load as many."""

BEYOND = 1e-6
"""By so much, relatively, a position may lie beyond a limit and is not told of."""

LISTED = 4
"""Joints that are told of one by one; more are told of together."""


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

    `mimic` is (joint, factor, offset): this one moves as factor q + offset of the other. `place` is the file and line
    it is written in, if they are known.
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
    place: str = ""

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

    def at(self, joint: TreeJoint) -> str:
        """Where a joint is, for a message."""
        return joint.place or self.file or self.name


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
    few_enough(len(tree.joints), tree.file or tree.name)
    parents = parents_of(tree.links, tree.joints, tree.file or tree.name)
    if tree.root in parents:
        raise ModelError(loop(tree.root, parents, tree.file or tree.name))
    reached, stack = {tree.root}, [tree.root]
    children = _children(tree)
    while stack:
        for joint in children.get(stack.pop(), []):
            reached.add(joint.child)
            stack.append(joint.child)
    left = [name for name in tree.links if name not in reached]
    if left:
        told = loop(left[0], parents, tree.file or tree.name)
        raise ModelError(f"{told}; {len(left)} links do not hang on {tree.root!r}, the first is {left[0]!r}")
    return tree


def few_enough(count: int, where: str) -> None:
    if count > MOST_JOINTS:
        raise ModelError(f"{where} has {count} joints; expected at most {MOST_JOINTS}")


def parents_of(links: Mapping[str, TreeLink], joints: Sequence[TreeJoint], where: str) -> dict[str, TreeJoint]:
    """The joint that each link hangs on, if it is one, has a name of its own, and is between links that are there."""
    parents: dict[str, TreeJoint] = {}
    names: dict[str, TreeJoint] = {}
    for joint in joints:
        for what, end in (("parent", joint.parent), ("child", joint.child)):
            if end not in links:
                place = f" ({joint.place})" if joint.place else ""
                raise unknown(f"link, the {what} of joint {joint.name!r}{place}:", end, links)
        if joint.name in names:
            first = names[joint.name].place.rpartition(", ")[2]
            other = f", the other in {first}" if first else ""
            raise ModelError(f"{joint.place or where}: two joints are called {joint.name!r}{other}")
        if joint.child in parents:
            both = f"{parents[joint.child].name!r} and {joint.name!r}"
            raise ModelError(
                f"{joint.place or where}: link {joint.child!r} hangs on two joints, {both}; a chain has no loops"
            )
        names[joint.name] = parents[joint.child] = joint
    return parents


def loop(link: str, parents: Mapping[str, TreeJoint], where: str) -> str:
    """What to say of links that hang on each other, found upwards from one that does not hang on the root."""
    way: dict[str, TreeJoint] = {}
    while link not in way:
        if link not in parents:
            return f"{where}: link {link!r} hangs on no joint"
        way[link] = parents[link]
        link = parents[link].parent
    around = list(way)[list(way).index(link) :][::-1]
    shown = [*around[:LISTED], "..."] if len(around) > LISTED + 1 else around
    joint = way[link]
    return f"{joint.place or where}: the links form a loop, which joint {joint.name!r} closes: {', '.join(shown)}"


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
    for joint in path:
        if joint.kind in STUCK:
            below = f", such as base={joint.child!r}" if moving else ""
            raise ModelError(
                f"{tree.at(joint)}: joint {joint.name!r} is {STUCK[joint.kind]} and cannot be part of a chain, whose "
                f"joints turn or slide; choose base= and tip={below}"
            )
    if not moving:
        stuck = next((f"; joint {j.name!r} is {STUCK[j.kind]}" for j in tree.joints if j.kind in STUCK), "")
        raise ModelError(f"{tree.name}: no joint moves between {start!r} and {end!r}{stuck}; choose base= and tip=")
    names = dict.fromkeys(joint.name for joint in tree.joints)
    for joint in path:
        if joint.name in leaders and leaders[joint.name].joint not in names:
            place = f" ({joint.place})" if joint.place else ""
            raise unknown(f"joint for {joint.name!r} to mimic{place}:", leaders[joint.name].joint, names)
    values, notes = _values(tree, held, {joint.name for joint in moving}, leaders)
    chosen = Chosen(
        path, moving, {joint.name: leaders[joint.name] for joint in moving if joint.name in leaders}, values
    )
    return _picked(tree, start, end, chosen, notes)


def _leaders(tree: Tree, held: Mapping[str, float]) -> dict[str, Mimic]:
    """For each joint that mimics, the one it follows, maybe by way of others: which moves by itself, or is held."""
    joints = {joint.name: joint for joint in tree.joints}
    follows = {j.name: Mimic(*j.mimic) for j in tree.joints if j.mimic is not None and j.moves and j.name not in held}
    try:
        return resolved(follows)
    except Cycle as cycle:
        name = cycle.names[0]
        raise ModelError(f"{tree.at(joints[name])}: joint {name!r} mimics itself{cycle.way}") from None


def _locked(tree: Tree, locked: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(locked, Mapping):
        raise ModelError(f"locked = {locked!r}; expected a mapping of joints to positions, as in {{'finger': 0.04}}")
    joints = {joint.name: joint for joint in tree.joints}
    for name, value in locked.items():
        if name not in joints:
            raise unknown("joint to lock", name, joints)
        if not isinstance(value, Real) or not math.isfinite(_float(value)):
            raise ModelError(f"locked[{name!r}] = {value!r}: expected a position, radians or metres")
        _tell_outside(joints[name], float(value))
    return {name: float(value) for name, value in locked.items()}


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _tell_outside(joint: TreeJoint, value: float) -> None:
    """A joint locked where it cannot be: degrees, perhaps."""
    if joint.limits is None:
        return
    low, high = joint.limits
    if not low - BEYOND * (1 + abs(low)) <= value <= high + BEYOND * (1 + abs(high)):
        unit = "m" if joint.kind == "prismatic" else "rad"
        warnings.warn(
            f"locked[{joint.name!r}] = {value:g} is outside of its limits, {low:g} to {high:g} {unit}",
            ModelWarning,
            stacklevel=6,
        )


def _free(path: Sequence[TreeJoint], held: Mapping[str, float], leaders: Mapping[str, Mimic]) -> set[str]:
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
    found = ends(base, tree.joints, _free(tree.joints, held, leaders), leaders)
    longest = max(end.length for end in found)
    best = [end for end in found if end.length == longest]
    if len({end.last for end in best}) > 1:
        listed = ", ".join(f"{end.leaf!r} ({end.length} joint{'s' if end.length > 1 else ''})" for end in best[:12])
        raise ModelError(f"{tree.name}: several chains are equally long; choose one with tip=: {listed}")
    chosen = max(best, key=lambda end: end.depth)
    path = _up(parents, base, chosen.leaf)
    counted = [joint.name for joint in path].index(chosen.last) + 1 if chosen.last is not None else 0
    moved = _free(path[:counted], held, leaders)
    last = max((i for i, j in enumerate(path) if j.name in moved or _follows(j, leaders, moved)), default=-1)
    stop = next((i for i, j in enumerate(path) if i > last and j.moves), len(path))
    path = path[:stop]  # the chain ends before the fingers
    return path, path[-1].child if path else base


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
    names = {joint.name for joint in tree.joints}
    still = [j.name for j in tree.joints if j.moves and not (j.name in moving or j.name in held or j.name in leaders)]
    values = {**held, **dict.fromkeys(still, 0.0)}
    notes = [f"{name} is not on the chain and stands locked at 0" for name in still]
    if len(still) > LISTED:
        notes = [f"{len(still)} joints are not on the chain and stand locked at 0: {_first(still)}"]
    beside = {name: mimic for name, mimic in leaders.items() if name not in moving}
    led = [name for name, mimic in beside.items() if mimic.joint in moving and mimic.factor]
    if led:
        followed = ", ".join(sorted({beside[name].joint for name in led}))
        raise ModelError(
            f"{tree.name}: beside the chain, {', '.join(led)} would move with {followed}, and side branches stand "
            f"still; lock them, as in locked={dict.fromkeys(led, 0.0)}, or the joint they follow"
        )
    values |= {name: m.factor * values.get(m.joint, 0.0) + m.offset for name, m in beside.items()}
    lost = {name: None for name, mimic in beside.items() if mimic.joint not in names}
    for name in lost:
        notes.append(
            f"{name} follows {beside[name].joint}, which there is not; it is not on the chain and stands locked at "
            f"{values[name]:g}"
        )
    led = [name for name in beside if name not in lost]
    if len(led) > LISTED:
        notes.append(
            f"{len(led)} joints follow others and stand locked: {_first([f'{n} at {values[n]:g}' for n in led])}"
        )
    else:
        notes += [f"{name} follows {beside[name].joint} and stands locked at {values[name]:g}" for name in led]
    return values, notes


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[: 2 * LISTED]) + (", ..." if len(names) > 2 * LISTED else "")


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
