"""The tree of links and joints of a robot file, and its checks.

`tree_selection` selects a robot in it, and `assembly` builds the bodies of that robot.
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
"""The kinds of joints with several freedoms."""

MAX_JOINTS = 10_000
"""The largest number of joints in a file, fixed ones included; they load in seconds."""

MAX_LISTED = 4
"""The largest number of joints or links that a message lists."""


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """A joint of a tree: `placement` is the pose of the child's frame in the parent's at q = 0, `axis` in the child's.

    `mimic` names other joints. `place` is the file and line, if known. `spring_rest` has a number for each freedom;
    friction, armature and stiffness apply to each freedom.
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
        """The file and line in brackets, for a message."""
        return f" ({self.place})" if self.place else ""

    def transform(self, q: float) -> Array:
        """Return the pose of the child's frame in the parent's at q."""
        motion = np.eye(4)
        if self.kind == "prismatic":
            motion[:3, 3] = q * self.axis
        elif self.kind == "revolute":
            motion[:3, :3] = _rotation(self.axis, q)
        product: Array = self.placement @ motion
        return product


@dataclass(frozen=True, eq=False)
class Tree:
    """All links and joints of a file; with `by_name`, the joints on a link are sorted by name.

    `file_frames` maps a link to the pose of its frame in the file, where the frame used here is another.
    """

    name: str
    links: dict[str, LinkModel]
    joints: list[TreeJoint]
    root: str
    gravity: Triple = EARTH_GRAVITY
    file: str = ""
    by_name: bool = False
    file_frames: Mapping[str, Array] = field(default_factory=dict)
    loops: tuple[TreeLoop, ...] = ()

    @property
    def children(self) -> dict[str, list[TreeJoint]]:
        """The joints on each link, in order."""
        children = children_of(self.joints)
        if self.by_name:
            for branches in children.values():
                branches.sort(key=lambda joint: joint.name.encode())
        return children

    def place_of(self, joint: TreeJoint) -> str:
        """Return the file and line of a joint, for a message."""
        return joint.place or self.file or self.name


@dataclass(frozen=True, eq=False)
class TreeLoop:
    """A loop: frames of two links coincide in position, and for a `weld` also in rotation."""

    name: str
    weld: bool
    links: tuple[str, str]
    poses: tuple[Array, Array]


def _rotation(axis: Array, angle: float) -> Array:
    """Return the rotation about an axis (Rodrigues' formula)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rotation: Array = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return rotation


def children_of(joints: Iterable[TreeJoint]) -> dict[str, list[TreeJoint]]:
    """Return the joints on each link."""
    children: dict[str, list[TreeJoint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    return children


def checked_tree(tree: Tree) -> Tree:
    """Return the tree; raise a ModelError unless every link has at most one parent and descends from the root."""
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
    unreached = [name for name in tree.links if name not in reached]
    if unreached:
        cycle = cycle_message(unreached[0], parents, tree.file or tree.name)
        count, first = len(unreached), unreached[0]
        raise ModelError(f"{cycle}; {count} links are not attached to {tree.root!r}, the first is {first!r}")
    return tree


def check_joint_count(count: int, where: str) -> None:
    """Raise a ModelError for too many joints."""
    if count > MAX_JOINTS:
        raise ModelError(f"{where} has {count} joints; expected at most {MAX_JOINTS}")


def parents_of(links: Mapping[str, LinkModel], joints: Sequence[TreeJoint], where: str) -> dict[str, TreeJoint]:
    """Return the parent joint of each link; raise an error for unknown links, repeated names or second parents."""
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
            text = f"link {joint.child!r} is attached to two joints, {both}; a chain has no loops"
            raise ModelError(f"{joint.place or where}: {text}")
        names[joint.name] = parents[joint.child] = joint
    return parents


def cycle_message(link: str, parents: Mapping[str, TreeJoint], where: str) -> str:
    """Return the message for the cycle of links above a link that is not below the root."""
    parent_of: dict[str, TreeJoint] = {}
    while link not in parent_of:
        if link not in parents:
            return f"{where}: link {link!r} is attached to no joint"
        parent_of[link] = parents[link]
        link = parents[link].parent
    cycle = list(parent_of)[list(parent_of).index(link) :][::-1]
    listed = [*cycle[:MAX_LISTED], "..."] if len(cycle) > MAX_LISTED + 1 else cycle
    joint = parent_of[link]
    return f"{joint.place or where}: the links form a loop, which joint {joint.name!r} closes: {', '.join(listed)}"
