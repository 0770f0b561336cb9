"""A tree of links as in robot files, checked.

`tree_selection` takes a robot out of it, and `assembly` puts its bodies together.
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
"""Kinds of joints with several freedoms."""

MAX_JOINTS = 10_000
"""The number of joints of a file, fixed ones included, which load in some seconds."""


MAX_LISTED = 4
"""The number of joints or links listed one by one in a message."""


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """A joint of a tree: `placement` is the pose of the child's frame in the parent's at q = 0; the axis is in the
    child's frame.

    `mimic` refers to other joints by name. `place` is the file and line, if known. `spring_rest` has a number for each
    freedom; friction, rotor and spring of a joint with several freedoms are those of each.
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
        """True unless the joint is fixed."""
        return self.kind != "fixed"

    @property
    def where(self) -> str:
        """Its place in brackets, for a message."""
        return f" ({self.place})" if self.place else ""

    def at(self, q: float) -> Array:
        """Return the transform from the parent's frame to the child's at q."""
        motion = np.eye(4)
        if self.kind == "prismatic":
            motion[:3, 3] = q * self.axis
        elif self.kind == "revolute":
            motion[:3, :3] = _rotation(self.axis, q)
        product: Array = self.placement @ motion
        return product


@dataclass(frozen=True, eq=False)
class Tree:
    """All links and joints of a file; with `by_name`, the branches of a link are in the order of the joints' names.

    `origins` has the frames that the file calls by the names of links, for links with another frame.
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
        """The joints on each link, in the order of their branches."""
        children = children_of(self.joints)
        if self.by_name:
            for hanging in children.values():
                hanging.sort(key=lambda joint: joint.name.encode())
        return children

    def at(self, joint: TreeJoint) -> str:
        """Return the place of a joint, for a message."""
        return joint.place or self.file or self.name


@dataclass(frozen=True, eq=False)
class TreeLoop:
    """Two links of a tree that meet in a frame on each: in position alone, or in rotation too for a `weld`."""

    name: str
    weld: bool
    links: tuple[str, str]
    poses: tuple[Array, Array]


def _rotation(axis: Array, angle: float) -> Array:
    """Return the rotation about an axis (Rodrigues' formula)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turn: Array = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return turn


def children_of(joints: Iterable[TreeJoint]) -> dict[str, list[TreeJoint]]:
    """Return the joints on each link."""
    children: dict[str, list[TreeJoint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    return children


def checked_tree(tree: Tree) -> Tree:
    """Return the tree. Raises a ModelError unless every link has at most one parent and is below the root."""
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
    """Raise a ModelError for too many joints."""
    if count > MAX_JOINTS:
        raise ModelError(f"{where} has {count} joints; expected at most {MAX_JOINTS}")


def parents_of(links: Mapping[str, LinkModel], joints: Sequence[TreeJoint], where: str) -> dict[str, TreeJoint]:
    """Return the joint above each link. Raises an error for unknown links, and for repeated names or parents."""
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
    """Return the message for a cycle of links, found from a link that is not below the root."""
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
