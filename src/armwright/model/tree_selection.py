"""The robot in a tree of links: all of it, a branch, or chains to some tips.

Fixed and locked joints weld their links exactly. Joints of branches beside a chain are locked, and the link that
carries the branch has its weight. Moving joints keep their names, signs and zeros.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

from armwright.errors import ModelError, ModelWarning, unknown
from armwright.model.assembly import Assembly
from armwright.model.description import Description
from armwright.model.file_joints import FileJoint
from armwright.model.joint_types import SINGLE_TYPES
from armwright.model.mimic import Mimic, MimicCycle, resolve_mimics
from armwright.model.tree import MAX_LISTED, MULTI_FREEDOM_KINDS, Tree, TreeJoint, checked_tree
from armwright.model.tree_tips import chain_end

LOCKED_LIMIT_TOLERANCE = 1e-6
"""The relative excess of a limit without a warning."""


@dataclass(frozen=True)
class Selection:
    """A robot from a tree, with notes on the choices made.

    `ends` are the tips of chains. `tips` names other possible tips of a chain if none was chosen; `placed` are its
    joints in the frames of the file.
    """

    description: Description
    base: str
    ends: tuple[str, ...]
    notes: tuple[str, ...]
    tips: str = ""
    placed: tuple[FileJoint, ...] = ()


@dataclass(frozen=True)
class JointRoles:
    """The positions of fixed joints, and the rules of followers."""

    held: Mapping[str, float]
    leaders: Mapping[str, Mimic]

    def moving(self, joints: Sequence[TreeJoint]) -> set[str]:
        """Return the names of the joints that move: independent ones, and followers of these."""
        free = {j.name for j in joints if j.moves and not (j.name in self.held or j.name in self.leaders)}
        led = {name for name, mimic in self.leaders.items() if _is_moved(mimic, free)}
        return free | {joint.name for joint in joints if joint.name in led}

    def standing(self, moving: set[str]) -> JointRoles:
        """Return the same, with followers of several joints reduced to those that move; the others are constants."""
        leaders = {name: _without_fixed(mimic, moving, self.held) for name, mimic in self.leaders.items()}
        return JointRoles(self.held, leaders)


def _is_moved(mimic: Mimic, moving: set[str]) -> bool:
    """Return whether a moving joint moves the follower."""
    first = mimic.joint in moving and mimic.moves
    return first or any(name in moving and factor for name, factor in mimic.others)


def _without_fixed(mimic: Mimic, moving: set[str], held: Mapping[str, float]) -> Mimic:
    if not mimic.others or not _is_moved(mimic, moving):
        return mimic
    (first, factor), *others = [(name, k) for name, k in mimic.leaders if name in moving]
    still = sum(k * held.get(name, 0.0) for name, k in mimic.leaders if name not in moving)
    return Mimic(first, factor, mimic.offset + still, others=tuple(others))


def select(
    tree: Tree,
    base: str | None = None,
    tip: str | Sequence[str] | None = None,
    locked: Mapping[str, float] | None = None,
    floating: bool = False,
    straighten: float = 0.0,
) -> Selection:
    """Return the robot below `base` (by default the root), or the chains from there to each `tip`, other joints locked.

    With `floating`, a free joint carries the base. `straighten` is passed to `canonical_tree`.
    """
    checked_tree(tree)
    held = _locked(tree, locked or {})
    start = tree.root if base is None else base
    chosen = () if tip is None else (tip,) if isinstance(tip, str) else tuple(tip)
    for end in (start, *chosen):
        if end not in tree.links:
            raise unknown("link", end, tree.links)
    roles = JointRoles(held, _leaders(tree, held))
    below, taken = _selected_joints(tree, start, chosen)
    moving = roles.moving(taken)
    _check_leaders(tree, [joint for joint in taken if joint.moves], roles)
    roles = roles.standing(moving)
    if not moving and not floating:
        way = f" between {start!r} and {' or '.join(map(repr, chosen))}" if chosen else f" below {start!r}"
        free = "" if chosen else ", or let it float by floating=True"
        raise ModelError(f"{tree.name}: no joint moves{way}; choose base= and tip={free}")
    values, notes = _fixed_values(tree, below, roles, moving)
    whole = Assembly(tree, start, moving, values, floating)
    last, tips = (None, "") if chosen else chain_end(tree, whole)
    ends = chosen or ((last,) if last else ())
    description = whole.description(roles.leaders, ends, straighten)
    return Selection(description, start, ends, tuple(notes), tips, tuple(whole.file_joints))


def _selected_joints(tree: Tree, base: str, tips: Sequence[str]) -> tuple[list[TreeJoint], list[TreeJoint]]:
    """Return the joints below the base, and those on the way to a tip: all of them without tips."""
    children = tree.children
    below, stack = list[TreeJoint](), [base]
    while stack:
        hanging = children.get(stack.pop(), [])
        below += hanging
        stack += [joint.child for joint in hanging]
    if not tips:
        return below, below
    parents = {joint.child: joint for joint in tree.joints}
    on_the_way = {joint.name for tip in tips for joint in _path(parents, base, tip)}
    return below, [joint for joint in below if joint.name in on_the_way]


def _check_leaders(tree: Tree, taken: Sequence[TreeJoint], roles: JointRoles) -> None:
    """Raise an error unless the joints that others follow exist and have one freedom."""
    kinds = {joint.name: joint.kind for joint in tree.joints}
    for joint in taken:
        for leader, _ in roles.leaders[joint.name].leaders if joint.name in roles.leaders else ():
            if leader not in kinds:
                raise unknown(f"joint for {joint.name!r} to mimic{joint.where}:", leader, kinds)
            if kinds[leader] in MULTI_FREEDOM_KINDS:
                raise ModelError(
                    f"{tree.place_of(joint)}: joint {joint.name!r} mimics {leader!r}, which is {kinds[leader]}; "
                    "expected a joint that turns or slides"
                )


def _leaders(tree: Tree, held: Mapping[str, float]) -> dict[str, Mimic]:
    """Return for each follower the rule by which it follows an independent or locked joint."""
    joints = {joint.name: joint for joint in tree.joints}
    follows = {j.name: j.mimic for j in tree.joints if j.mimic and j.kind in SINGLE_TYPES and j.name not in held}
    try:
        return resolve_mimics(follows)
    except MimicCycle as cycle:
        name = cycle.names[0]
        raise ModelError(f"{tree.place_of(joints[name])}: joint {name!r} mimics itself{cycle.path}") from None


def _locked(tree: Tree, locked: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(locked, Mapping):
        raise ModelError(f"locked = {locked!r}; expected a mapping of joints to positions, as in {{'finger': 0.04}}")
    joints = {joint.name: joint for joint in tree.joints}
    for name, value in locked.items():
        if name not in joints:
            raise unknown("joint to lock", name, joints)
        if not isinstance(value, Real) or not math.isfinite(_float(value)):
            raise ModelError(f"locked[{name!r}] = {value!r}: expected a position, radians or metres")
        if joints[name].kind in MULTI_FREEDOM_KINDS and value:
            raise ModelError(
                f"locked[{name!r}] = {value!r}: the joint is {joints[name].kind}, which is locked at 0 only"
            )
        _warn_of_limits(joints[name], float(value))
    return {name: float(value) for name, value in locked.items()}


def _float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _warn_of_limits(joint: TreeJoint, value: float) -> None:
    """Warn of a joint locked outside of its limits, perhaps in degrees."""
    if joint.limits is None:
        return
    low, high = joint.limits
    if not low - LOCKED_LIMIT_TOLERANCE * (1 + abs(low)) <= value <= high + LOCKED_LIMIT_TOLERANCE * (1 + abs(high)):
        unit = "m" if joint.kind == "prismatic" else "rad"
        warnings.warn(
            f"locked[{joint.name!r}] = {value:g} is outside of its limits, {low:g} to {high:g} {unit}",
            ModelWarning,
            stacklevel=6,
        )


def _path(parents: Mapping[str, TreeJoint], base: str, tip: str) -> list[TreeJoint]:
    path: list[TreeJoint] = []
    link = tip
    while link != base:
        if link not in parents:
            raise ModelError(f"link {tip!r} does not hang on {base!r}; choose a base= above it")
        path.append(parents[link])
        link = parents[link].parent
    return path[::-1]


def _fixed_values(
    tree: Tree, below: Sequence[TreeJoint], roles: JointRoles, moving: set[str]
) -> tuple[dict[str, float], list[str]]:
    """Return the positions of all fixed joints below the base, with notes."""
    hanging = {joint.name for joint in below}
    beside = {name: mimic for name, mimic in roles.leaders.items() if name in hanging and name not in moving}
    _check_side_branches(tree, beside, moving)
    others, names = {*moving, *roles.held, *roles.leaders}, {joint.name for joint in tree.joints}
    still = [j.name for j in tree.joints if j.name in hanging and j.moves and j.name not in others]
    values = {**roles.held, **dict.fromkeys(still, 0.0)}
    values |= {name: m.at(lambda other: values.get(other, 0.0)) for name, m in beside.items()}
    led = [name for name, mimic in beside.items() if mimic.joint in names]
    each = [f"{name} is not on the chain and stands locked at 0" for name in still]
    notes = _notes(each, "joints are not on the chain and stand locked at 0", still)
    notes += [
        f"{name} follows {mimic.joint}, which there is not; it is not on the chain and stands locked at "
        f"{values[name]:g}"
        for name, mimic in beside.items()
        if mimic.joint not in names
    ]
    each = [f"{name} follows {beside[name].joint} and stands locked at {values[name]:g}" for name in led]
    return values, notes + _notes(
        each, "joints follow others and stand locked", [f"{name} at {values[name]:g}" for name in led]
    )


def _check_side_branches(tree: Tree, beside: Mapping[str, Mimic], moving: set[str]) -> None:
    """Raise a ModelError if a joint beside the chain follows a joint of it."""
    led = {name: mimic.joint for name, mimic in beside.items() if _is_moved(mimic, moving)}
    if led:
        leading = ", ".join(sorted({*led.values()}))
        raise ModelError(
            f"{tree.name}: beside the chain, {', '.join(led)} would move with {leading}, and side branches stand "
            f"still; lock them, as in locked={dict.fromkeys(led, 0.0)}, or the joint they follow"
        )


def _notes(each: list[str], together: str, names: Sequence[str]) -> list[str]:
    """Return a note for each joint, or one for all of many."""
    if len(names) <= MAX_LISTED:
        return each
    more = ", ..." if len(names) > 2 * MAX_LISTED else ""
    return [f"{len(names)} {together}: {', '.join(names[: 2 * MAX_LISTED])}{more}"]
