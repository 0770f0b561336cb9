"""A robot with its links in the order of another one."""

from __future__ import annotations

from dataclasses import replace

from armwright.model.description import AnyDescription, Description
from armwright.model.followers import split_followers
from armwright.model.records import JointModel


def in_link_order_of(robot: AnyDescription, other: Description) -> AnyDescription:
    """Return the robot with its links in the order of another, if both have the same joints and branches."""
    mine, theirs = ([tuple(row.name for row in own) for own in _rows_by_link(r)] for r in (robot, other))
    if mine == theirs or sorted(mine) != sorted(theirs) or len(set(mine)) < len(mine):
        return robot
    order = [mine.index(names) for names in theirs]
    place = {old: new for new, old in enumerate(order)} | {-1: -1}
    parents = tuple(place[robot.parents[old]] for old in order)
    if any(parent >= i for i, parent in enumerate(parents)):
        return robot
    groups = _rows_by_link(robot)
    joints, followers = split_followers([row for old in order for row in groups[old]])
    return replace(
        robot,
        joints=joints,
        followers=followers,
        links=tuple(robot.links[old] for old in order),
        parents=parents,
        tip=None if robot.tip is None else place[robot.tip],
        frames=tuple(replace(frame, link=place[frame.link]) for frame in robot.frames),
    )


def _rows_by_link(robot: Description) -> list[tuple[JointModel, ...]]:
    """Return the rows before each link."""
    rows = robot.rows
    return [rows[end - rows[end].freedom : end + 1] for end in robot.link_rows]
