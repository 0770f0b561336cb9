"""A tree of links, as robot files have it, and what is picked out of it: all of it, a branch, or chains to some tips.

Fixed and locked joints weld their links together exactly; branches beside chains are locked, and what they weigh is
carried by the link they sit on. Joints that move keep their names, signs and zeros (`assembly` puts them together).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError, unknown
from armwright.model.assembly import MULTI_FREEDOM_TYPES
from armwright.model.description import EARTH_GRAVITY
from armwright.model.mimic import Mimic
from armwright.model.records import LinkModel
from armwright.model.transforms import Triple

MULTI_FREEDOM_KINDS = tuple(MULTI_FREEDOM_TYPES)
"""Kinds that have more than one freedom."""

MAX_JOINTS = 10_000
"""Of a file, fixed ones too. It takes some seconds to load as many."""


MAX_LISTED = 4
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
            motion[:3, :3] = _rotation(self.axis, q)
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
    gravity: Triple = EARTH_GRAVITY
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


def _rotation(axis: Array, angle: float) -> Array:
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


def checked_tree(tree: Tree) -> Tree:
    """The tree, if it is one: every link is there, has at most one parent, and hangs on the root."""
    check_joint_count(len(tree.joints), tree.file or tree.name)
    parents = parents_of(tree.links, tree.joints, tree.file or tree.name)
    if tree.root in parents:
        raise ModelError(cycle_message(tree.root, parents, tree.file or tree.name))
    reached, stack = {tree.root}, [tree.root]
    children = children_of(tree.joints)
    while stack:
        for joint in children.get(stack.pop(), []):
            reached.add(joint.child)
            stack.append(joint.child)
    left = [name for name in tree.links if name not in reached]
    if left:
        around = cycle_message(left[0], parents, tree.file or tree.name)
        raise ModelError(f"{around}; {len(left)} links do not hang on {tree.root!r}, the first is {left[0]!r}")
    return tree


def check_joint_count(count: int, where: str) -> None:
    if count > MAX_JOINTS:
        raise ModelError(f"{where} has {count} joints; expected at most {MAX_JOINTS}")


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


def cycle_message(link: str, parents: Mapping[str, TreeJoint], where: str) -> str:
    """What to say of links that hang on each other, found upwards from one that does not hang on the root."""
    way: dict[str, TreeJoint] = {}
    while link not in way:
        if link not in parents:
            return f"{where}: link {link!r} hangs on no joint"
        way[link] = parents[link]
        link = parents[link].parent
    around = list(way)[list(way).index(link) :][::-1]
    shown = [*around[:MAX_LISTED], "..."] if len(around) > MAX_LISTED + 1 else around
    joint = way[link]
    return f"{joint.place or where}: the links form a loop, which joint {joint.name!r} closes: {', '.join(shown)}"
