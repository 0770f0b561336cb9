"""The link at the end of a chain, and other possible end links."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from armwright.algebra import Array
from armwright.model.assembly import Assembly
from armwright.model.tree import MAX_LISTED, Tree, children_of

SAME_FRAME = 1e-6
"""Metres and radians below which frames are equal as tips."""


def chain_end(tree: Tree, assembly: Assembly) -> tuple[str | None, str]:
    """Return the link at the end of a chain, and a note on other possible ends; None where the tree branches."""
    last = assembly.only_leaf
    if last is None:
        return None, ""
    children = children_of(joint for joint in tree.joints if not joint.moves)
    frames, depths = dict[str, Array](), dict[str, int]()
    stack = [(last, 0)]
    while stack:
        link, depth = stack.pop()
        below = children.get(link, [])
        stack.extend((joint.child, depth + 1) for joint in reversed(below))
        if not below:
            frames[link], depths[link] = assembly.places[link].pose, depth
    tip = max(frames, key=lambda link: depths[link])
    return tip, _other_tips(frames, tip)


def _other_tips(frames: Mapping[str, Array], tip: str) -> str:
    """Return a note on the other possible ends of the chain, with their distances."""
    with np.errstate(over="ignore", invalid="ignore"):
        distances = {name: _distance(frames[tip], T) for name, T in frames.items()}
    others = [f"{name!r} ({distance})" for name, distance in distances.items() if distance]
    if not others:
        return ""
    more = f" and {len(others) - 2 * MAX_LISTED} more" if len(others) > 2 * MAX_LISTED else ""
    return f"the chain ends in {tip!r}; it could also end in {', '.join(others[: 2 * MAX_LISTED])}{more}"


def _distance(A: Array, B: Array) -> str:
    """Return the distance and the angle between two frames as text, empty for equal ones."""
    length = float(np.linalg.norm(A[:3, 3] - B[:3, 3]))
    angle = math.degrees(2 * math.asin(min(1.0, float(np.linalg.norm(A[:3, :3] - B[:3, :3])) / math.sqrt(8))))
    parts = [f"{1e3 * length:.3g} mm"] if length > SAME_FRAME else []
    return " and ".join([*parts, *([f"{angle:.3g} deg"] if math.radians(angle) > SAME_FRAME else [])])
