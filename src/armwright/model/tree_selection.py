"""The robot in a tree of links: the entire tree, a branch, or chains to given tips.

Fixed and locked joints weld their links exactly. Joints of side branches of a chain are locked, and the link that
carries a branch has its weight. Moving joints keep their names, signs and zeros.
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
"""The largest relative excess of a limit without a warning."""


@dataclass(frozen=True)
class Selection:
    """A robot from a tree, with notes on the choices made.

    `ends` are the tips of chains. `tips` names other possible tips of a chain if none was chosen; `file_joints` are
    its joints in the frames of the file.
    """

    description: Description
    base: str
    ends: tuple[str, ...]
    notes: tuple[str, ...]
    tips: str = ""
    file_joints: tuple[FileJoint, ...] = ()


@dataclass(frozen=True)
class JointRoles:
    """The positions of locked joints, and the rules of followers."""

    locked: Mapping[str, float]
    leaders: Mapping[str, Mimic]

    def moving(self, joints: Sequence[TreeJoint]) -> set[str]:
        """Return the names of the joints that move: independent ones, and followers of these."""
        free = {j.name for j in joints if j.moves and not (j.name in self.locked or j.name in self.leaders)}
        followers = {name for name, mimic in self.leaders.items() if _is_moved(mimic, free)}
        return free | {joint.name for joint in joints if joint.name in followers}

    def without_fixed_leaders(self, moving: set[str]) -> JointRoles:
        """Return the roles with rules of followers in terms of moving joints; the others are constants."""
        leaders = {name: _without_fixed(mimic, moving, self.locked) for name, mimic in self.leaders.items()}
        return JointRoles(self.locked, leaders)


def _is_moved(mimic: Mimic, moving: set[str]) -> bool:
    """Return whether a moving joint moves the follower."""
    first = mimic.joint in moving and mimic.moves
    return first or any(name in moving and factor for name, factor in mimic.others)


def _without_fixed(mimic: Mimic, moving: set[str], locked: Mapping[str, float]) -> Mimic:
    if not mimic.others or not _is_moved(mimic, moving):
        return mimic
    (first, factor), *others = [(name, k) for name, k in mimic.leaders if name in moving]
    constant = sum(k * locked.get(name, 0.0) for name, k in mimic.leaders if name not in moving)
    return Mimic(first, factor, mimic.offset + constant, others=tuple(others))


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
    positions = _locked(tree, locked or {})
    start = tree.root if base is None else base
    chosen = () if tip is None else (tip,) if isinstance(tip, str) else tuple(tip)
    for end in (start, *chosen):
        if end not in tree.links:
            raise unknown("link", end, tree.links)
    roles = JointRoles(positions, _leaders(tree, positions))
    below, selected = _selected_joints(tree, start, chosen)
    moving = roles.moving(selected)
    _check_leaders(tree, [joint for joint in selected if joint.moves], roles)
    roles = roles.without_fixed_leaders(moving)
    if not moving and not floating:
        place = f" between {start!r} and {' or '.join(map(repr, chosen))}" if chosen else f" below {start!r}"
        free = "" if chosen else ", or let it float by floating=True"
        raise ModelError(f"{tree.name}: no joint moves{place}; choose base= and tip={free}")
    values, notes = _fixed_values(tree, below, roles, moving)
    assembly = Assembly(tree, start, moving, values, floating)
    last, tips = (None, "") if chosen else chain_end(tree, assembly)
    ends = chosen or ((last,) if last else ())
    description = assembly.description(roles.leaders, ends, straighten)
    return Selection(description, start, ends, tuple(notes), tips, tuple(assembly.file_joints))


def _selected_joints(tree: Tree, base: str, tips: Sequence[str]) -> tuple[list[TreeJoint], list[TreeJoint]]:
    """Return the joints below the base, and those on the path to a tip: all of them without tips."""
    children = tree.children
    below, stack = list[TreeJoint](), [base]
    while stack:
        attached = children.get(stack.pop(), [])
        below += attached
        stack += [joint.child for joint in attached]
    if not tips:
        return below, below
    parents = {joint.child: joint for joint in tree.joints}
    on_path = {joint.name for tip in tips for joint in _path(parents, base, tip)}
    return below, [joint for joint in below if joint.name in on_path]


def _check_leaders(tree: Tree, selected: Sequence[TreeJoint], roles: JointRoles) -> None:
    """Raise an error unless the joints that others follow exist and have one freedom."""
    kinds = {joint.name: joint.kind for joint in tree.joints}
    for joint in selected:
        for leader, _ in roles.leaders[joint.name].leaders if joint.name in roles.leaders else ():
            if leader not in kinds:
                raise unknown(f"joint for {joint.name!r} to mimic{joint.where}:", leader, kinds)
            if kinds[leader] in MULTI_FREEDOM_KINDS:
                raise ModelError(
                    f"{tree.place_of(joint)}: joint {joint.name!r} mimics {leader!r}, which is {kinds[leader]}; "
                    "expected a revolute or prismatic joint"
                )


def _leaders(tree: Tree, locked: Mapping[str, float]) -> dict[str, Mimic]:
    """Return for each follower the rule by which it follows an independent or locked joint."""
    joints = {joint.name: joint for joint in tree.joints}
    follows = {j.name: j.mimic for j in tree.joints if j.mimic and j.kind in SINGLE_TYPES and j.name not in locked}
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
            kind = joints[name].kind
            raise ModelError(f"locked[{name!r}] = {value!r}: a {kind} joint can only be locked at 0")
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
        text = f"locked[{joint.name!r}] = {value:g} is outside of its limits, {low:g} to {high:g} {unit}"
        warnings.warn(text, ModelWarning, stacklevel=6)


def _path(parents: Mapping[str, TreeJoint], base: str, tip: str) -> list[TreeJoint]:
    path: list[TreeJoint] = []
    link = tip
    while link != base:
        if link not in parents:
            raise ModelError(f"link {tip!r} is not attached to {base!r}; choose a base= above it")
        path.append(parents[link])
        link = parents[link].parent
    return path[::-1]


def _fixed_values(
    tree: Tree, below: Sequence[TreeJoint], roles: JointRoles, moving: set[str]
) -> tuple[dict[str, float], list[str]]:
    """Return the positions of all fixed joints below the base, with notes."""
    below_base = {joint.name for joint in below}
    side_followers = {name: mimic for name, mimic in roles.leaders.items() if name in below_base and name not in moving}
    _check_side_branches(tree, side_followers, moving)
    others, names = {*moving, *roles.locked, *roles.leaders}, {joint.name for joint in tree.joints}
    unused = [j.name for j in tree.joints if j.name in below_base and j.moves and j.name not in others]
    values = {**roles.locked, **dict.fromkeys(unused, 0.0)}
    values |= {name: m.at(lambda other: values.get(other, 0.0)) for name, m in side_followers.items()}
    each = [f"{name} is not on the chain and stands locked at 0" for name in unused]
    notes = _notes(each, "joints are not on the chain and stand locked at 0", unused)
    notes += [
        f"{name} follows {mimic.joint}, which does not exist; it is not on the chain and stands locked at "
        f"{values[name]:g}"
        for name, mimic in side_followers.items()
        if mimic.joint not in names
    ]
    known = [(name, mimic.joint) for name, mimic in side_followers.items() if mimic.joint in names]
    each = [f"{name} follows {leader} and stands locked at {values[name]:g}" for name, leader in known]
    positions = [f"{name} at {values[name]:g}" for name, _ in known]
    return values, notes + _notes(each, "joints follow others and stand locked", positions)


def _check_side_branches(tree: Tree, side_followers: Mapping[str, Mimic], moving: set[str]) -> None:
    """Raise a ModelError if a joint of a side branch follows a joint of the chain."""
    moved = {name: mimic.joint for name, mimic in side_followers.items() if _is_moved(mimic, moving)}
    if moved:
        leading = ", ".join(sorted({*moved.values()}))
        raise ModelError(
            f"{tree.name}: on side branches, which are locked, {', '.join(moved)} would move with {leading}; lock "
            f"them, as in locked={dict.fromkeys(moved, 0.0)}, or the joint they follow"
        )


def _notes(each: list[str], summary: str, names: Sequence[str]) -> list[str]:
    """Return a note for each joint, or one summary for more than MAX_LISTED."""
    if len(names) <= MAX_LISTED:
        return each
    more = ", ..." if len(names) > 2 * MAX_LISTED else ""
    return [f"{len(names)} {summary}: {', '.join(names[: 2 * MAX_LISTED])}{more}"]
