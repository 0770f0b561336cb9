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

import numpy as np

from armwright.algebra import Array, Symmetric, Vector
from armwright.errors import ModelError, ModelWarning, unknown
from armwright.mechanism import Link
from armwright.model.canonical import FileJoint, canonical
from armwright.model.description import (
    EARTH,
    Cycle,
    Description,
    JointModel,
    LinkModel,
    Mimic,
    Triple,
    joined,
    parted,
    resolved,
    six,
    tensor,
    transform,
    triple,
)
from armwright.model.longest import End, children_of, ends, welded_ends

MOVING = ("revolute", "prismatic")
STUCK = {"floating": "floating", "planar": "planar", "ball": "a ball joint"}
"""Kinds that have more than one freedom, in words."""
KINDS = (*MOVING, "fixed", *STUCK)

MOST_JOINTS = 10_000
"""Of a file, fixed ones too. It takes some seconds to load as many."""

BEYOND = 1e-6
"""By so much, relatively, a position may lie beyond a limit without a warning."""

SAME = 1e-6
"""Metres and radians: frames nearer than this are the same to whoever chooses a tip."""

LISTED = 4
"""Joints that have a note each; more have one together."""


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

    @property
    def where(self) -> str:
        """Its place in brackets, for a message."""
        return f" ({self.place})" if self.place else ""

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
    links: dict[str, LinkModel]
    joints: list[TreeJoint]
    root: str
    gravity: Triple = EARTH
    file: str = ""

    def at(self, joint: TreeJoint) -> str:
        """Where a joint is, for a message."""
        return joint.place or self.file or self.name


@dataclass(frozen=True)
class Picked:
    """A chain out of a tree, and what was decided on the way.

    `tips` says which other links it could as well end in, where nobody chose one; `placed` are its joints in the frames
    of the file.
    """

    description: Description
    base: str
    tip: str
    notes: tuple[str, ...]
    tips: str = ""
    placed: tuple[FileJoint, ...] = ()


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
    children = children_of(tree.joints)
    while stack:
        for joint in children.get(stack.pop(), []):
            reached.add(joint.child)
            stack.append(joint.child)
    left = [name for name in tree.links if name not in reached]
    if left:
        around = loop(left[0], parents, tree.file or tree.name)
        raise ModelError(f"{around}; {len(left)} links do not hang on {tree.root!r}, the first is {left[0]!r}")
    return tree


def few_enough(count: int, where: str) -> None:
    if count > MOST_JOINTS:
        raise ModelError(f"{where} has {count} joints; expected at most {MOST_JOINTS}")


def parents_of(links: Mapping[str, LinkModel], joints: Sequence[TreeJoint], where: str) -> dict[str, TreeJoint]:
    """The joint that each link hangs on, if it is one, has a name of its own, and is between links that are there."""
    parents: dict[str, TreeJoint] = {}
    names: dict[str, TreeJoint] = {}
    for joint in joints:
        for what, end in (("parent", joint.parent), ("child", joint.child)):
            if end not in links:
                raise unknown(f"link, the {what} of joint {joint.name!r}{joint.where}:", end, links)
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


@dataclass(frozen=True)
class Roles:
    """Which joints are held, and where; and which follow another one, and how."""

    held: Mapping[str, float]
    leaders: Mapping[str, Mimic]

    def free(self, path: Sequence[TreeJoint]) -> set[str]:
        """The joints on a path that move by themselves."""
        return {
            joint.name for joint in path if joint.moves and not (joint.name in self.held or joint.name in self.leaders)
        }

    def moving(self, path: Sequence[TreeJoint], first: int | None = None) -> list[TreeJoint]:
        """Those of the `first` on a path that move by themselves, and all on it that move with one of these.

        A joint that follows one which stands still stands still.
        """
        free = self.free(path[:first])
        led = {name for name, mimic in self.leaders.items() if mimic.joint in free and mimic.factor}
        return [joint for joint in path if joint.name in free or joint.name in led]


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
    roles = Roles(held, _leaders(tree, held))
    path, end = _path(tree, start, tip, roles)
    moving = roles.moving(path)
    _check_path(tree, path, bool(moving), roles)
    if not moving:
        stuck = next((f"; joint {j.name!r} is {STUCK[j.kind]}" for j in tree.joints if j.kind in STUCK), "")
        raise ModelError(f"{tree.name}: no joint moves between {start!r} and {end!r}{stuck}; choose base= and tip=")
    values, notes = _standing(tree, roles, {joint.name for joint in moving})
    description, placed = _described(tree, start, path, moving, roles, values)
    tips = _other_tips(tree, moving[-1], end) if tip is None else ""
    return Picked(description, start, end, tuple(notes), tips, placed)


def _check_path(tree: Tree, path: Sequence[TreeJoint], any_moves: bool, roles: Roles) -> None:
    """Every joint turns or slides, and whom it follows is there."""
    names = dict.fromkeys(joint.name for joint in tree.joints)
    for joint in path:
        if joint.kind in STUCK:
            below = f", such as base={joint.child!r}" if any_moves else ""
            raise ModelError(
                f"{tree.at(joint)}: joint {joint.name!r} is {STUCK[joint.kind]} and cannot be part of a chain, whose "
                f"joints turn or slide; choose base= and tip={below}"
            )
    for joint in path if any_moves else ():
        if joint.name in roles.leaders and roles.leaders[joint.name].joint not in names:
            raise unknown(f"joint for {joint.name!r} to mimic{joint.where}:", roles.leaders[joint.name].joint, names)


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
        _warn_outside(joints[name], float(value))
    return {name: float(value) for name, value in locked.items()}


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _warn_outside(joint: TreeJoint, value: float) -> None:
    """Of a joint locked where it cannot be: degrees, perhaps."""
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


def _path(tree: Tree, base: str, tip: str | None, roles: Roles) -> tuple[list[TreeJoint], str]:
    """The joints from base to tip, by default of the longest chain, which ends before the fingers; and its end."""
    parents = {joint.child: joint for joint in tree.joints}
    if tip is not None:
        return _up(parents, base, tip), tip
    longest = _longest(tree, base, roles)
    path = _up(parents, base, longest.leaf)
    counted = [joint.name for joint in path].index(longest.last) + 1 if longest.last is not None else 0
    moving = roles.moving(path, counted)
    last = path.index(moving[-1]) if moving else -1
    stop = next((i for i in range(last + 1, len(path)) if path[i].moves), len(path))
    return path[:stop], path[stop - 1].child if stop else base


def _longest(tree: Tree, base: str, roles: Roles) -> End:
    found = ends(base, tree.joints, roles.free(tree.joints), roles.leaders)
    longest = max(end.length for end in found)
    best = [end for end in found if end.length == longest]
    if len({end.last for end in best}) > 1:
        joints = f"{longest} joint{'s' if longest > 1 else ''}"
        listed = ", ".join(f"{end.leaf!r} ({joints})" for end in best[:12])
        raise ModelError(f"{tree.name}: several chains are equally long; choose one with tip=: {listed}")
    return max(best, key=lambda end: end.depth)


def _other_tips(tree: Tree, last: TreeJoint, tip: str) -> str:
    """The links that the chain could as well end in, and how far they are from the one that was taken."""
    with np.errstate(over="ignore", invalid="ignore"):
        frames = welded_ends(last.child, tree.joints, tip)
        here = frames.pop(tip)
        apart = {name: _apart(here, T) for name, T in frames.items()}
    others = [f"{name!r} ({distance})" for name, distance in apart.items() if distance]
    if not others:
        return ""
    more = f" and {len(others) - 2 * LISTED} more" if len(others) > 2 * LISTED else ""
    return f"the chain ends in {tip!r}; it could as well end in {', '.join(others[: 2 * LISTED])}{more}"


def _apart(A: Array, B: Array) -> str:
    """The distance between two frames and the angle, if they are not the same."""
    length = float(np.linalg.norm(A[:3, 3] - B[:3, 3]))
    turn = math.degrees(2 * math.asin(min(1.0, float(np.linalg.norm(A[:3, :3] - B[:3, :3])) / math.sqrt(8))))
    parts = [f"{1e3 * length:.3g} mm"] if length > SAME else []
    return " and ".join([*parts, *([f"{turn:.3g} deg"] if math.radians(turn) > SAME else [])])


def _up(parents: Mapping[str, TreeJoint], base: str, tip: str) -> list[TreeJoint]:
    path: list[TreeJoint] = []
    link = tip
    while link != base:
        if link not in parents:
            raise ModelError(f"link {tip!r} does not hang on {base!r}; choose a base= above it")
        path.append(parents[link])
        link = parents[link].parent
    return path[::-1]


def _standing(tree: Tree, roles: Roles, moving: set[str]) -> tuple[dict[str, float], list[str]]:
    """Where every joint stands that does not move with the chain, and notes of it."""
    beside = {name: mimic for name, mimic in roles.leaders.items() if name not in moving}
    _check_beside(tree, beside, moving)
    others, names = {*moving, *roles.held, *roles.leaders}, {joint.name for joint in tree.joints}
    still = [joint.name for joint in tree.joints if joint.moves and joint.name not in others]
    values = {**roles.held, **dict.fromkeys(still, 0.0)}
    values |= {name: m.factor * values.get(m.joint, 0.0) + m.offset for name, m in beside.items()}
    led = [name for name, mimic in beside.items() if mimic.joint in names]
    each = [f"{name} is not on the chain and stands locked at 0" for name in still]
    notes = _listed(each, "joints are not on the chain and stand locked at 0", still)
    notes += [
        f"{name} follows {mimic.joint}, which there is not; it is not on the chain and stands locked at "
        f"{values[name]:g}"
        for name, mimic in beside.items()
        if mimic.joint not in names
    ]
    each = [f"{name} follows {beside[name].joint} and stands locked at {values[name]:g}" for name in led]
    return values, notes + _listed(
        each, "joints follow others and stand locked", [f"{name} at {values[name]:g}" for name in led]
    )


def _check_beside(tree: Tree, beside: Mapping[str, Mimic], moving: set[str]) -> None:
    """Nothing beside the chain moves with a joint of it."""
    led = {name: mimic.joint for name, mimic in beside.items() if mimic.joint in moving and mimic.factor}
    if led:
        leading = ", ".join(sorted({*led.values()}))
        raise ModelError(
            f"{tree.name}: beside the chain, {', '.join(led)} would move with {leading}, and side branches stand "
            f"still; lock them, as in locked={dict.fromkeys(led, 0.0)}, or the joint they follow"
        )


def _listed(each: list[str], together: str, names: Sequence[str]) -> list[str]:
    """A note for each, or, where there are many, one for all."""
    if len(names) <= LISTED:
        return each
    more = ", ..." if len(names) > 2 * LISTED else ""
    return [f"{len(names)} {together}: {', '.join(names[: 2 * LISTED])}{more}"]


def _described(
    tree: Tree,
    base: str,
    path: list[TreeJoint],
    moving: list[TreeJoint],
    roles: Roles,
    values: Mapping[str, float],
) -> tuple[Description, tuple[FileJoint, ...]]:
    """The chain in canonical frames, and its joints in the frames of the file."""
    stops = {joint.name for joint in moving}
    children = children_of(tree.joints)
    placed, before = [], np.eye(4)
    for joint in path:
        if joint.name not in stops:
            before = before @ joint.at(values.get(joint.name, 0.0))
            continue
        placed.append(
            FileJoint(
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
            max_torque=joint.effort, mimic=roles.leaders.get(joint.name),
        )
        for joint, row in zip(moving, table.rows, strict=True)
    ])  # fmt: skip
    to_base = np.linalg.inv(np.asarray(table.base))
    with np.errstate(over="ignore", invalid="ignore"):
        still = tuple(v.moved(to_base @ T) for x, T in _welded(tree, base, children, stops, values) for v in x.visuals)
    description = Description(
        tree.name, joints, table.links, tree.gravity, table.base, transform(before),
        flange=table.flange, followers=followers, base_visuals=still,
    )  # fmt: skip
    return description, tuple(placed)


def _welded(
    tree: Tree, start: str, children: Mapping[str, list[TreeJoint]], stops: set[str], values: Mapping[str, float]
) -> Iterator[tuple[LinkModel, Array]]:
    """Everything that moves with a link, and where it is in that link's frame."""
    stack = [(start, np.eye(4))]
    while stack:
        name, T = stack.pop()
        yield tree.links[name], T
        for below in children.get(name, []):
            if below.name not in stops:
                stack.append((below.child, T @ below.at(values.get(below.name, 0.0))))


def _carried(name: str, welded: list[tuple[LinkModel, Array]]) -> LinkModel:
    """Links that move together as one, in the frame of the first."""
    bodies = [_at(link, T) for link, T in welded if link.mass or np.any(link.inertia)]
    visuals = tuple(visual.moved(T) for link, T in welded for visual in link.visuals)
    if not bodies:
        return LinkModel(name, 0.0, (0.0, 0.0, 0.0), welded[0][0].inertia, visuals)
    body = joined(bodies)
    return LinkModel(name, float(body.mass), triple(body.com), tensor(body.inertia), visuals)


def _at(link: LinkModel, T: Array) -> Link:
    """A body seen from a frame in which its own frame is T."""
    R = T[:3, :3]
    com = R @ np.asarray(link.com) + T[:3, 3]
    inertia = R @ np.asarray(link.inertia) @ R.T
    return Link(link.mass, Vector(*com.tolist()), Symmetric(*map(float, six(inertia))))
