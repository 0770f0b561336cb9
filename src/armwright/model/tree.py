"""A tree of links, as robot files have it, and what is picked out of it: all of it, a branch, or chains to some tips.

Fixed and locked joints weld their links together exactly; branches beside chains are locked, and what they weigh is
carried by the link they sit on. Joints that move keep their names, signs and zeros (`assembly` puts them together).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError, ModelWarning, unknown
from armwright.model.assembly import FREEDOMS, Assembly
from armwright.model.canonical import FileJoint
from armwright.model.description import EARTH, Description, LinkModel, Triple
from armwright.model.mimic import Cycle, Mimic, resolved

MOVING = ("revolute", "prismatic")
SEVERAL = tuple(FREEDOMS)
"""Kinds that have more than one freedom."""

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

    `mimic` says how this one follows others, by their names in the tree. `place` is the file and line
    it is written in, if they are known. `spring_rest` has a number for each freedom; friction, rotor and spring of a
    joint with several freedoms are those of each.
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
    mimic: Mimic | None = None
    place: str = ""
    spring_stiffness: float = 0.0
    spring_rest: tuple[float, ...] = (0.0,)
    spring_curve: tuple[float, ...] = ()

    @property
    def moves(self) -> bool:
        return self.kind != "fixed"

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
    """All links and joints of a file; `by_name` says that the branches of a link come by the names of their joints.

    `origins` say where the frame that the file means by the name of a link is, for links whose frame was moved.
    """

    name: str
    links: dict[str, LinkModel]
    joints: list[TreeJoint]
    root: str
    gravity: Triple = EARTH
    file: str = ""
    by_name: bool = False
    origins: Mapping[str, Array] = field(default_factory=dict)
    loops: tuple[TreeLoop, ...] = ()

    @property
    def children(self) -> dict[str, list[TreeJoint]]:
        """The joints that hang on each link, in the order of their branches."""
        children = children_of(self.joints)
        if self.by_name:
            for hanging in children.values():
                hanging.sort(key=lambda joint: joint.name.encode())
        return children

    def at(self, joint: TreeJoint) -> str:
        """Where a joint is, for a message."""
        return joint.place or self.file or self.name


@dataclass(frozen=True, eq=False)
class TreeLoop:
    """Two links of a tree that are held together by a frame on each, or only by the origins of these frames."""

    name: str
    weld: bool
    links: tuple[str, str]
    poses: tuple[Array, Array]


@dataclass(frozen=True)
class Picked:
    """A robot out of a tree, and what was decided on the way.

    `ends` are the links it leads to where it is a chain or tips were chosen. `tips` says which other links a chain
    could as well end in, where nobody chose one; `placed` are its joints in the frames of the file.
    """

    description: Description
    base: str
    ends: tuple[str, ...]
    notes: tuple[str, ...]
    tips: str = ""
    placed: tuple[FileJoint, ...] = ()


def _turn(axis: Array, angle: float) -> Array:
    """Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn: Array = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return turn


def children_of(joints: Iterable[TreeJoint]) -> dict[str, list[TreeJoint]]:
    """The joints that hang on each link."""
    children: dict[str, list[TreeJoint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    return children


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

    def moving(self, joints: Sequence[TreeJoint]) -> set[str]:
        """Those of the joints that move by themselves, and those that move with one of these.

        A joint that follows one which stands still stands still.
        """
        free = {j.name for j in joints if j.moves and not (j.name in self.held or j.name in self.leaders)}
        led = {name for name, mimic in self.leaders.items() if _led(mimic, free)}
        return free | {joint.name for joint in joints if joint.name in led}

    def standing(self, moving: set[str]) -> Roles:
        """The same, where joints that follow several follow those that move; the others are held, or stand at 0."""
        leaders = {name: _among(mimic, moving, self.held) for name, mimic in self.leaders.items()}
        return Roles(self.held, leaders)


def _led(mimic: Mimic, moving: set[str]) -> bool:
    """Whether any of the joints that one follows moves it."""
    first = mimic.joint in moving and mimic.moves
    return first or any(name in moving and factor for name, factor in mimic.others)


def _among(mimic: Mimic, moving: set[str], held: Mapping[str, float]) -> Mimic:
    if not mimic.others or not _led(mimic, moving):
        return mimic
    (first, factor), *others = [(name, k) for name, k in mimic.leaders if name in moving]
    still = sum(k * held.get(name, 0.0) for name, k in mimic.leaders if name not in moving)
    return Mimic(first, factor, mimic.offset + still, others=tuple(others))


def pick(
    tree: Tree,
    base: str | None = None,
    tip: str | Sequence[str] | None = None,
    locked: Mapping[str, float] | None = None,
    floating: bool = False,
    straighten: float = 0.0,
) -> Picked:
    """All that hangs on `base` (by default the root), or the chains from there to each `tip`, other joints locked.

    If `floating`, a free joint carries the base. `straighten` is for `canonical`.
    """
    checked(tree)
    held = _locked(tree, locked or {})
    start = tree.root if base is None else base
    chosen = () if tip is None else (tip,) if isinstance(tip, str) else tuple(tip)
    for end in (start, *chosen):
        if end not in tree.links:
            raise unknown("link", end, tree.links)
    roles = Roles(held, _leaders(tree, held))
    below, taken = _taken(tree, start, chosen)
    moving = roles.moving(taken)
    _check_leaders(tree, [joint for joint in taken if joint.moves], roles)
    roles = roles.standing(moving)
    if not moving and not floating:
        way = f" between {start!r} and {' or '.join(map(repr, chosen))}" if chosen else f" below {start!r}"
        free = "" if chosen else ", or let it float by floating=True"
        raise ModelError(f"{tree.name}: no joint moves{way}; choose base= and tip={free}")
    values, notes = _standing(tree, below, roles, moving)
    whole = Assembly(tree, start, moving, values, floating)
    last, tips = (None, "") if chosen else _end(tree, whole)
    ends = chosen or ((last,) if last else ())
    description = whole.described(roles.leaders, ends, straighten)
    return Picked(description, start, ends, tuple(notes), tips, tuple(whole.placed))


def _taken(tree: Tree, base: str, tips: Sequence[str]) -> tuple[list[TreeJoint], list[TreeJoint]]:
    """The joints that hang on the base, and those of them that are on the way to a tip: all, if none was chosen."""
    children = tree.children
    below, stack = list[TreeJoint](), [base]
    while stack:
        hanging = children.get(stack.pop(), [])
        below += hanging
        stack += [joint.child for joint in hanging]
    if not tips:
        return below, below
    parents = {joint.child: joint for joint in tree.joints}
    on_the_way = {joint.name for tip in tips for joint in _up(parents, base, tip)}
    return below, [joint for joint in below if joint.name in on_the_way]


def _check_leaders(tree: Tree, taken: Sequence[TreeJoint], roles: Roles) -> None:
    """Whom a joint follows is there, and turns or slides."""
    kinds = {joint.name: joint.kind for joint in tree.joints}
    for joint in taken:
        for leader, _ in roles.leaders[joint.name].leaders if joint.name in roles.leaders else ():
            if leader not in kinds:
                raise unknown(f"joint for {joint.name!r} to mimic{joint.where}:", leader, kinds)
            if kinds[leader] in SEVERAL:
                raise ModelError(
                    f"{tree.at(joint)}: joint {joint.name!r} mimics {leader!r}, which is {kinds[leader]}; expected a "
                    "joint that turns or slides"
                )


def _leaders(tree: Tree, held: Mapping[str, float]) -> dict[str, Mimic]:
    """For each joint that mimics, the one it follows, maybe by way of others: which moves by itself, or is held."""
    joints = {joint.name: joint for joint in tree.joints}
    follows = {j.name: j.mimic for j in tree.joints if j.mimic and j.kind in MOVING and j.name not in held}
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
        if joints[name].kind in SEVERAL and value:
            raise ModelError(
                f"locked[{name!r}] = {value!r}: the joint is {joints[name].kind}, which is locked at 0 only"
            )
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


def _end(tree: Tree, whole: Assembly) -> tuple[str | None, str]:
    """The link that a chain ends in, and which others it could as well end in; none where there are branches."""
    last = whole.only_leaf
    if last is None:
        return None, ""
    children = children_of(joint for joint in tree.joints if not joint.moves)
    found, deepest = dict[str, Array](), dict[str, int]()
    stack = [(last, 0)]
    while stack:
        link, depth = stack.pop()
        below = children.get(link, [])
        stack.extend((joint.child, depth + 1) for joint in reversed(below))
        if not below:
            found[link], deepest[link] = whole.places[link].pose, depth
    tip = max(found, key=lambda link: deepest[link])
    return tip, _other_tips(found, tip)


def _other_tips(frames: Mapping[str, Array], tip: str) -> str:
    """The links that the chain could as well end in, and how far they are from the one that was taken."""
    with np.errstate(over="ignore", invalid="ignore"):
        apart = {name: _apart(frames[tip], T) for name, T in frames.items()}
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


def _standing(
    tree: Tree, below: Sequence[TreeJoint], roles: Roles, moving: set[str]
) -> tuple[dict[str, float], list[str]]:
    """Where every joint below the base stands that does not move, and notes of it."""
    hanging = {joint.name for joint in below}
    beside = {name: mimic for name, mimic in roles.leaders.items() if name in hanging and name not in moving}
    _check_beside(tree, beside, moving)
    others, names = {*moving, *roles.held, *roles.leaders}, {joint.name for joint in tree.joints}
    still = [j.name for j in tree.joints if j.name in hanging and j.moves and j.name not in others]
    values = {**roles.held, **dict.fromkeys(still, 0.0)}
    values |= {name: m.at(lambda other: values.get(other, 0.0)) for name, m in beside.items()}
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
    led = {name: mimic.joint for name, mimic in beside.items() if _led(mimic, moving)}
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
