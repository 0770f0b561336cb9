"""Loops as tables: read from a file or a call, converted from a tree of links, and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from armwright.errors import unknown
from armwright.model.description import AnyDescription, Description
from armwright.model.followers import with_differential
from armwright.model.link_names import LinkNames
from armwright.model.loop_closure import with_loop
from armwright.model.records import LoopModel
from armwright.model.table_reader import Reader
from armwright.model.transforms import IDENTITY_TRANSFORM, Transform, compose, transform

if TYPE_CHECKING:
    from armwright.model.dh_tables import DHTable
    from armwright.model.tree import TreeLoop

LOOP_KINDS = ("point", "weld", "differential")
LOOP_KEYS = ("name", "kind", "links", "at", "dependent", "reference", "joint", "terms", "offset")

TRANSFORM_LENGTHS = (4, 7)
"""Numbers of entries of a transform: four rows, or a position and a quaternion. A point has three."""


def with_loop_table(
    robot: AnyDescription, data: Mapping[str, Any], where: Callable[[str | None], str], table: DHTable | None = None
) -> AnyDescription:
    """Return the robot with a loop closed, as written in a [[loop]] table or in the arguments of a call.

    `table` is the table of its links, whose frames need not be canonical.
    """
    entry = Reader({key: value for key, value in data.items() if value is not None}, where)
    entry.check_keys(LOOP_KEYS)
    kind = entry.text("kind", "point")
    if kind not in LOOP_KINDS:
        entry.fail("kind", str(unknown("kind of loop", kind, LOOP_KINDS)))
    if kind == "differential":
        terms = _numbers(entry, "terms")
        return with_differential(robot, str(entry.need("joint")), terms, entry.number("offset", 0.0))
    names = entry.need("links")
    if not isinstance(names, Sequence) or isinstance(names, str) or len(names) != 2:
        entry.fail("links", f"links = {names!r}; expected the names of two links, or 'base' for the base")
    links = LinkNames(tuple(link.name for link in robot.links)) if table is None else table.names
    one, two = (links.find(entry, "links", name) for name in names)
    if one == two:
        entry.fail("links", f"links = {list(names)!r} are one body, which no loop can connect; expected two that move")
    places: Any = entry.data.get("at", ((0.0, 0.0, 0.0),) * 2)
    if isinstance(places, str) or not hasattr(places, "__len__") or len(places) != 2:
        entry.fail("at", f"at = {places!r}; expected a point, a transform or the name of a frame for each of two links")
    frames = {} if table is None else dict(enumerate(table.ends))
    poses = _pose(robot, entry, places[0], one, frames), _pose(robot, entry, places[1], two, frames)
    loop = LoopModel(entry.text("name", f"{names[0]}-{names[1]}"), (one, two), poses, kind == "weld")
    dependent = entry.texts("dependent") if "dependent" in entry.data else _unactuated(robot, loop)
    if loop.name in (other.name for other in robot.loops):
        entry.fail("name", f"several loops are called {loop.name!r}; expected a different name for each")
    return with_loop(robot, replace(loop, dependent=dependent), _numbers(entry, "reference"))


def _numbers(entry: Reader, key: str) -> dict[str, float]:
    """Return a table of numbers by name."""
    table = entry.data.get(key, {})
    if not isinstance(table, Mapping):
        entry.fail(key, f"{key} = {table!r} is not a table; expected numbers by the names of joints")
    inner = Reader(table, lambda _key: entry.where(key))
    return {name: inner.angle(name) for name in table}


def _pose(robot: Description, entry: Reader, place: Any, link: int, frames: Mapping[int, Transform]) -> Transform:
    """Return a point, transform or named frame on a link in its canonical frame; `frames` has those of the file."""
    if isinstance(place, str):
        frame = robot.frame(place)
        if frame.link != link:
            entry.fail("at", f"frame {place!r} is not on the link that the loop connects there")
        return frame.pose
    inner = Reader({"at": place}, entry.where)
    if hasattr(place, "__len__") and len(place) in TRANSFORM_LENGTHS:
        pose = inner.transform("at", IDENTITY_TRANSFORM)
    else:
        x, y, z = inner.triple("at")
        pose = (1.0, 0.0, 0.0, x), (0.0, 1.0, 0.0, y), (0.0, 0.0, 1.0, z), (0.0, 0.0, 0.0, 1.0)
    return compose(frames[link], pose) if link in frames else pose


def _unactuated(robot: Description, loop: LoopModel) -> tuple[str, ...]:
    """Return the joints of a loop whose largest torque is zero."""
    mechanism, carriers = robot.mechanism(), robot.link_rows
    one, two = (carriers[i] if i >= 0 else -1 for i in loop.links)
    inside = [robot.rows[i] for path in mechanism.joints_between((one, two)) for i in path]
    return tuple(row.name for row in inside if row.max_torque == 0 and row.mimic is None)


def loop_tables(robot: Description) -> Iterator[dict[str, Any]]:
    """Yield the loops and differentials of a robot as tables for `with_loop_table`."""
    links = LinkNames(tuple(link.name for link in robot.links))
    for follower in robot.followers:
        if follower.mimic and follower.mimic.others:
            terms = dict(follower.mimic.leaders)
            yield {"kind": "differential", "joint": follower.name, "terms": terms, "offset": follower.mimic.offset}
    for loop in robot.loops:
        names = [links.reference(i) for i in loop.links]
        row = {"name": loop.name, "kind": "weld" if loop.weld else "point", "links": names, "at": loop.poses}
        yield {**row, "dependent": loop.dependent, "reference": dict(loop.reference)}


def loop_from_tree(robot: Description, loop: TreeLoop) -> LoopModel | None:
    """Return a loop of a file as a constraint; None if a link is not in the robot, or both are on one body."""
    if not set(loop.links) <= set(robot.frame_names):
        return None
    one, two = (robot.frame(name) for name in loop.links)
    poses = tuple(compose(frame.pose, transform(pose)) for frame, pose in zip((one, two), loop.poses, strict=True))
    if one.link == two.link:
        return None
    return LoopModel(loop.name, (one.link, two.link), (poses[0], poses[1]), loop.weld)
