"""The longest chain of a tree of links, in one pass over it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.algebra import Array

if TYPE_CHECKING:
    from armwright.model.description import Mimic
    from armwright.model.tree import TreeJoint


class End(NamedTuple):
    """A leaf, how many joints lead to it, how many of them count, and the name of the last that does."""

    leaf: str
    depth: int
    length: int
    last: str | None


def ends(base: str, joints: list[TreeJoint], free: set[str], leaders: Mapping[str, Mimic]) -> list[End]:
    """Where the chains from `base` end. Joints in `free` count, but not those at the end that lead others beside it.

    Such joints are a hand: its fingers are no longer than the arm.
    """
    children = children_of(joints)
    parents = {joint.child: joint for joint in joints}
    links = _preorder(base, children)
    place, size = {link: i for i, link in enumerate(links)}, dict.fromkeys(links, 1)
    depth, count, last = {base: 0}, {base: 0}, dict[str, str | None]({base: None})
    for link in links[1:]:
        joint = parents[link]
        counts = joint.name in free
        depth[link], count[link] = depth[joint.parent] + 1, count[joint.parent] + counts
        last[link] = link if counts else last[joint.parent]
    for link in reversed(links[1:]):
        size[parents[link].parent] += size[link]
    carried = {joint.name: joint.child for joint in joints}
    led: dict[str, list[str]] = {}
    for name, mimic in leaders.items():
        led.setdefault(mimic.joint, []).append(carried[name])

    def on_the_way(link: str, leaf: str) -> bool:
        return link in place and place[link] <= place[leaf] < place[link] + size[link]

    def end(leaf: str) -> End:
        at = last[leaf]
        while at is not None and not all(on_the_way(link, leaf) for link in led.get(parents[at].name, ())):
            at = last[parents[at].parent]
        return End(leaf, depth[leaf], 0 if at is None else count[at], None if at is None else parents[at].name)

    return [end(link) for link in links if link not in children]


def welded_ends(link: str, joints: Iterable[TreeJoint], tip: str) -> dict[str, Array]:
    """The links that a chain which comes to `link` may end in without another joint, with their frames in `link`.

    The one it does end in, `tip`, is among them, whatever hangs on it.
    """
    children = children_of(joint for joint in joints if not joint.moves)
    found: dict[str, Array] = {}
    stack = [(link, np.eye(4))]
    while stack:
        at, T = stack.pop()
        below = children.get(at, [])
        stack.extend((joint.child, T @ joint.placement) for joint in reversed(below))
        if at == tip or not below:
            found[at] = T
    return found


def children_of(joints: Iterable[TreeJoint]) -> dict[str, list[TreeJoint]]:
    """The joints that hang on each link."""
    children: dict[str, list[TreeJoint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    return children


def _preorder(base: str, children: Mapping[str, list[TreeJoint]]) -> list[str]:
    links, stack = [], [base]
    while stack:
        links.append(stack.pop())
        stack.extend(joint.child for joint in reversed(children.get(links[-1], [])))
    return links
