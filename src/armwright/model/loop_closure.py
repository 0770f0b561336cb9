"""Closing a loop: two links of a robot held together, and which joints that moves.

A loop is cut at one place, where a frame on one link meets a frame on another. In a plane it may move two of its
joints, which are then no coordinates of the robot any more: they are found from the others in closed form (see
`formulations.parts.loops`). A loop whose joints move in proportion, as those of a parallelogram do, becomes a coupling
of joints, which is never singular. Without such joints the loop is held by forces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from armwright.algebra import Array, Scalar
from armwright.errors import InputError, ModelError, unknown
from armwright.formulations.parts.coordinates import placed, positions
from armwright.formulations.parts.loops import Angle, dyad, ends, gap, openings
from armwright.mechanism import Loop, Mechanism
from armwright.model.description import (
    NO_TRANSFORM,
    Description,
    JointModel,
    LoopModel,
    Transform,
    compose,
    transform,
)
from armwright.model.mimic import Mimic
from armwright.model.references import Links
from armwright.model.values import Reader

CLOSED = 1e-11
"""Of the size of a loop: nearer than this, its ends meet."""

PARALLEL = 1e-9
"""Radians by which axes of a loop in a plane may differ."""

SINGULAR = 1e-9
"""Of the size of a loop: a determinant below its square cannot be divided by."""

STEPS = 100
"""Of Newton's method, until a loop is given up."""

PROPORTIONAL = 1e-10
"""Radians by which joints that move in proportion may seem not to."""

AROUND = (-0.7, -0.3, 0.2, 0.5)
"""Radians or metres from the reference at which a loop is looked at for proportions."""

KINDS = ("point", "weld", "differential")
KEYS = ("name", "kind", "links", "at", "dependent", "reference", "joint", "terms", "offset")

TRANSFORM_ROWS = (4, 7)
"""How many entries a transform has: four rows, or a position and a quaternion. A point has three."""

if TYPE_CHECKING:
    from armwright.model.dh import Table
    from armwright.model.tree import TreeLoop

AnyRobot = TypeVar("AnyRobot", bound=Description)


def close(
    robot: AnyRobot, data: Mapping[str, Any], where: Callable[[str | None], str], table: Table | None = None
) -> AnyRobot:
    """The robot with a loop closed that a person wrote down, in a [[loop]] of a file or as arguments.

    `table` is where its links are written, in frames that need not be the canonical ones.
    """
    entry = Reader({key: value for key, value in data.items() if value is not None}, where)
    entry.check_keys(KEYS)
    kind = entry.text("kind", "point")
    if kind not in KINDS:
        entry.fail("kind", str(unknown("kind of loop", kind, KINDS)))
    if kind == "differential":
        terms = _numbers(entry, "terms")
        return with_differential(robot, str(entry.need("joint")), terms, entry.number("offset", 0.0))
    names = entry.need("links")
    if not isinstance(names, Sequence) or isinstance(names, str) or len(names) != 2:
        entry.fail("links", f"links = {names!r}; expected the names of two links, or 'base' for the base")
    links = Links(tuple(link.name for link in robot.links)) if table is None else table.names
    one, two = (links.find(entry, "links", name) for name in names)
    if one == two:
        entry.fail("links", f"links = {list(names)!r} are one body, which no loop can hold; expected two that move")
    places: Any = entry.data.get("at", ((0.0, 0.0, 0.0),) * 2)
    if isinstance(places, str) or not hasattr(places, "__len__") or len(places) != 2:
        entry.fail("at", f"at = {places!r}; expected a point, a transform or the name of a frame for each of two links")
    frames = {} if table is None else dict(enumerate(table.ends))
    poses = _pose(robot, entry, places[0], one, frames), _pose(robot, entry, places[1], two, frames)
    loop = LoopModel(entry.text("name", f"{names[0]}-{names[1]}"), (one, two), poses, kind == "weld")
    dependent = entry.texts("dependent") if "dependent" in entry.data else _passive(robot, loop)
    if loop.name in (other.name for other in robot.loops):
        entry.fail("name", f"several loops are called {loop.name!r}; expected a name of its own for each")
    return with_loop(robot, replace(loop, dependent=dependent), _numbers(entry, "reference"))


def _numbers(entry: Reader, key: str) -> dict[str, float]:
    """A table of numbers by name."""
    table = entry.data.get(key, {})
    if not isinstance(table, Mapping):
        entry.fail(key, f"{key} = {table!r} is not a table; expected numbers by the names of joints")
    inner = Reader(table, lambda _key: entry.where(key))
    return {name: inner.angle(name) for name in table}


def _pose(robot: Description, entry: Reader, place: Any, link: int, frames: Mapping[int, Transform]) -> Transform:
    """A point, a transform or the name of a frame on a link, in its canonical frame; it is written in `frames`."""
    if isinstance(place, str):
        found = robot.frame(place)
        if found.link != link:
            entry.fail("at", f"frame {place!r} is on another link than the one the loop holds there")
        return found.pose
    inner = Reader({"at": place}, entry.where)
    if hasattr(place, "__len__") and len(place) in TRANSFORM_ROWS:
        pose = inner.transform("at", NO_TRANSFORM)
    else:
        x, y, z = inner.triple("at")
        pose = (1.0, 0.0, 0.0, x), (0.0, 1.0, 0.0, y), (0.0, 0.0, 1.0, z), (0.0, 0.0, 0.0, 1.0)
    return compose(frames[link], pose) if link in frames else pose


def _passive(robot: Description, loop: LoopModel) -> tuple[str, ...]:
    """The joints of a loop that no motor moves: those whose largest torque is zero."""
    mechanism, carriers = robot.mechanism(), robot.carriers
    one, two = (carriers[i] if i >= 0 else -1 for i in loop.links)
    inside = [robot.rows[i] for way in mechanism.between((one, two)) for i in way]
    return tuple(row.name for row in inside if row.max_torque == 0 and row.mimic is None)


def written(robot: Description) -> Iterator[dict[str, Any]]:
    """The loops and differentials of a robot as tables that `close` reads."""
    links = Links(tuple(link.name for link in robot.links))
    for follower in robot.followers:
        if follower.mimic and follower.mimic.others:
            terms = dict(follower.mimic.leaders)
            yield {"kind": "differential", "joint": follower.name, "terms": terms, "offset": follower.mimic.offset}
    for loop in robot.loops:
        names = [links.said(i) for i in loop.links]
        row = {"name": loop.name, "kind": "weld" if loop.weld else "point", "links": names, "at": loop.poses}
        yield {**row, "dependent": loop.dependent, "reference": dict(loop.reference)}


def from_tree(robot: Description, loop: TreeLoop) -> LoopModel | None:
    """A loop of a file, held by forces; None where one of its links is not in the robot, or both are of one body."""
    if not set(loop.links) <= set(robot.frame_names):
        return None
    one, two = (robot.frame(name) for name in loop.links)
    poses = tuple(compose(frame.pose, transform(pose)) for frame, pose in zip((one, two), loop.poses, strict=True))
    if one.link == two.link:
        return None
    return LoopModel(loop.name, (one.link, two.link), (poses[0], poses[1]), loop.weld)


def with_loop(robot: AnyRobot, loop: LoopModel, reference: Mapping[str, float] | None = None) -> AnyRobot:
    """The robot with a loop closed.

    `reference` says about where the joints of the loop are when it is closed; of the two ways to put a loop together
    the one is meant that is nearer. Joints that it does not name are at zero.
    """
    names = [row.name for row in robot.rows]
    for name in reference or ():
        if name not in names:
            raise unknown(f"joint of {robot.name} in the reference of loop {loop.name!r}", name, names)
    if not loop.dependent:
        return replace(robot, loops=(*robot.loops, loop))
    cut = _Cut(robot, loop, dict(reference or {}))
    closed: AnyRobot = cut.coupled() or cut.embedded()
    return closed


@dataclass
class _Cut:
    """A robot with a loop that is about to be closed: still with all joints of it moving by themselves."""

    robot: Any
    loop: LoopModel
    reference: dict[str, float]

    def __post_init__(self) -> None:
        self.mechanism = self.robot.mechanism()
        self.names = [row.name for row in self.robot.rows]
        carriers = self.robot.carriers
        links = tuple(carriers[i] if i >= 0 else -1 for i in self.loop.links)
        self.ways = self.mechanism.between((links[0], links[1]))
        self.inside = [i for way in self.ways for i in way]
        self._check()
        probe = replace(self.robot, loops=(*self.robot.loops, self.loop)).mechanism().loops[-1]
        self.probe: Loop = probe
        self.q = np.array(self.robot.neutral)
        for name, value in self.reference.items():
            if name in (joint.name for joint in self.robot.joints):
                self.q[self._place(name)] = value
        self._check_plane()
        self.q = self.closed_at(self.q)
        self._check_regular()
        self.probe = replace(self.probe, assembly=self._assembly())

    def fail(self, text: str) -> ModelError:
        return ModelError(f"robot {self.robot.name!r}, loop {self.loop.name!r}: {text}")

    def _place(self, name: str) -> int:
        """Of a joint in q."""
        entries: tuple[int, ...] = self.robot.entries
        return entries[[joint.name for joint in self.robot.joints].index(name)]

    def _check(self) -> None:
        moving, loop = [joint.name for joint in self.robot.joints], self.loop
        inside = [self.names[i] for i in self.inside]
        for name in loop.dependent:
            if name not in self.names:
                raise unknown(f"joint of {self.robot.name} for loop {loop.name!r} to move:", name, self.names)
            if name not in inside:
                raise self.fail(
                    f"it cannot move {name!r}, which is not in it; expected joints out of {', '.join(inside) or 'none'}"
                )
            if name not in moving:
                raise self.fail(f"it cannot move {name!r}, which follows other joints already")
            if any(name in dict(f.mimic.leaders) for f in self.robot.followers if f.mimic):
                raise self.fail(f"it cannot move {name!r}, which other joints follow; let them follow another one")
        if loop.weld:
            raise self.fail(
                "a weld fixes three freedoms in a plane and six in space, and is redundant where it moves two joints; "
                "expected kind = 'point', or no dependent joints, so that forces hold it"
            )
        if len(set(loop.dependent)) != 2:
            raise self.fail(
                f"it is to move {', '.join(map(repr, loop.dependent))}; a loop in a plane moves two joints, more would "
                "leave it loose and fewer make it redundant; expected two names, or none, so that forces hold it"
            )
        if all(self.mechanism.joints[self.names.index(name)].prismatic for name in loop.dependent):
            raise self.fail("it is to move two joints that slide; expected that at least one of them turns")
        for i in self.inside:
            if self.robot.rows[i].kind:
                raise self.fail(
                    f"{self.names[i]!r} is part of a {self.robot.rows[i].kind} joint; expected single joints"
                )
        if len(self.inside) < 3:
            raise self.fail(
                f"only {' and '.join(inside)} are in it, so that nothing moves; expected three joints or more"
            )

    def _rows(self, q: Array) -> tuple[Mechanism, Loop]:
        """The mechanism at a position, and the loop there."""
        there = placed(self.mechanism, q.tolist())
        x = positions(there, q.tolist())
        return there, replace(self.probe, at={i: x[i] for i in self.inside})

    def closed_at(self, q: Array) -> Array:
        """The position with the dependent joints where the loop is closed, by Newton's method."""
        entries = [self._place(name) for name in self.loop.dependent]
        joints = [self.names.index(name) for name in self.loop.dependent]
        q, smallest = q.copy(), math.inf
        for _ in range(STEPS):
            there, loop = self._rows(q)
            e = np.array(gap(there, loop), float)
            smallest = min(smallest, float(np.linalg.norm(e)))
            if np.linalg.norm(e) <= CLOSED * self._size(there, loop):
                return q
            columns = ends(there, loop).columns
            J = np.array([[*columns[i].l] for i in joints], float).T
            step = -np.linalg.lstsq(J.T @ J + 1e-9 * float(e @ e) * np.eye(2), J.T @ e, rcond=None)[0]
            q[entries] += step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        where = ", ".join(f"{name} = {q[self._place(name)]:.4g}" for name in self._leading())
        raise self.fail(
            f"it cannot be closed with {where}: its ends stay {smallest:.3g} m apart; expected a reference at which it "
            "closes, or other lengths"
        )

    def _leading(self) -> list[str]:
        """The coordinates that move the loop, by joints of it or by what those follow."""
        return list(dict.fromkeys(name for i in self.inside for name in self._moves(i)))

    def _moves(self, i: int) -> Iterator[str]:
        row: JointModel = self.robot.rows[i]
        if row.mimic is None:
            yield from (() if row.name in self.loop.dependent else (row.name,))
        elif not row.mimic.loop:
            yield from (name for name, _ in row.mimic.leaders)
        else:
            place = [loop.name for loop in self.robot.loops].index(row.mimic.loop)
            inner = self.mechanism.loops[place]
            ways = self.mechanism.between(inner.links)
            yield from (name for way in ways for k in way if k not in inner.dependent for name in self._moves(k))

    def _size(self, there: Mechanism, loop: Loop) -> float:
        found = ends(there, loop)
        arms = [np.linalg.norm(np.array(column.l, float)) for column in found.columns.values()]
        return float(max(*arms, *(np.linalg.norm(np.array(pose.position, float)) for pose in found.poses)))

    def _check_plane(self) -> None:
        there, loop = self._rows(self.q)
        found = ends(there, loop)
        turning = {i: np.array(c.e, float) for i, c in found.columns.items() if not there.joints[i].prismatic}
        normal = next(iter(turning.values()))
        for i, column in found.columns.items():
            off = np.cross(normal, turning[i]) if i in turning else normal @ np.array(column.l, float)
            if np.linalg.norm(off) > PARALLEL:
                raise self.fail(
                    f"{self.names[i]} does not move in the plane of the others; expected parallel axes, or no "
                    "dependent joints, so that forces hold it"
                )

    def _check_regular(self) -> None:
        columns = ends(*self._rows(self.q)).columns
        u, v = (np.array(columns[self.names.index(name)].l, float) for name in self.loop.dependent)
        if np.linalg.norm(np.cross(u, v)) <= SINGULAR * np.linalg.norm(u) * np.linalg.norm(v):
            raise self.fail(
                f"at its reference it does not say where {' and '.join(self.loop.dependent)} are: it is singular "
                "there; expected another reference"
            )

    def _solution(self, q: Array, assembly: int) -> dict[int, float]:
        """Where the dependent joints are, in closed form."""
        there, _ = self._rows(q)
        x = list(positions(there, q.tolist()))
        found = dyad(there, replace(self.probe, assembly=assembly), x)
        return {i: angle_of(at) for i, at in found.items()}

    def _assembly(self) -> int:
        """The sign of the root with which the closed form has the reference."""

        def off(assembly: int) -> float:
            found = self._solution(self.q, assembly).items()
            return sum(_apart(self.mechanism, i, at, self.q[self._place(self.names[i])]) for i, at in found)

        return min((1, -1), key=off)

    def coupled(self) -> Any:
        """The robot with a coupling in place of the loop, if its joints move in proportion; else None."""
        leading = self._leading()
        if any(self.mechanism.joints[i].prismatic for i in self.inside):
            return None
        rows = [self._proportion(name) for name in leading]
        if any(row is None for row in rows):
            return None
        mimics = {}
        for d in self.probe.dependent:
            terms = [(name, row[d]) for name, row in zip(leading, rows, strict=True) if row and row[d]]
            if not terms:
                return None
            offset = self._at(self.names[d]) - sum(factor * self._at(name) for name, factor in terms)
            mimics[self.names[d]] = Mimic(*terms[0], offset, d, tuple(terms[1:]))
        return following(self.robot, mimics)

    def _at(self, name: str) -> float:
        """Where a joint is at the reference."""
        return float(self.q[self._place(name)])

    def _proportion(self, name: str) -> dict[int, float] | None:
        """By how much each dependent joint moves with a coordinate, if that is once, not or once back everywhere."""
        start = self._solution(self.q, self.probe.assembly)
        found: list[dict[int, float]] = []
        for by in AROUND:
            q = self.q.copy()
            q[self._place(name)] += by
            changes = {
                d: math.remainder(at - start[d], math.tau) for d, at in self._solution(q, self.probe.assembly).items()
            }
            near = {
                d: float(f) for d, change in changes.items() for f in (-1, 0, 1) if abs(change - f * by) < PROPORTIONAL
            }
            found.append(near)
        return found[0] if len(found[0]) == len(start) and all(one == found[0] for one in found) else None

    def embedded(self) -> Any:
        """The robot without the joints that the loop moves among its coordinates."""
        leading = self._leading()
        if not leading:
            raise self.fail("no joint is left to move it; expected three joints or more that move by themselves")
        mimics = {
            name: Mimic(leading[0], place=self.names.index(name), loop=self.loop.name) for name in self.loop.dependent
        }
        own = {joint.name for joint in self.robot.joints}
        reference = tuple((self.names[i], self._at(self.names[i])) for i in self.inside if self.names[i] in own)
        closed = replace(self.loop, assembly=self.probe.assembly, reference=reference)
        robot = following(replace(self.robot, loops=()), mimics)
        return replace(robot, loops=(*self.robot.loops, closed))


def following(robot: AnyRobot, mimics: Mapping[str, Mimic]) -> AnyRobot:
    """The robot with some of its joints following others."""
    led = [*robot.followers, *(replace(j, mimic=mimics[j.name]) for j in robot.joints if j.name in mimics)]
    return replace(
        robot,
        joints=tuple(joint for joint in robot.joints if joint.name not in mimics),
        followers=tuple(sorted(led, key=lambda joint: joint.mimic.place if joint.mimic else 0)),
    )


def angle_of(at: Scalar) -> float:
    """A position as a number."""
    return math.atan2(float(at.sin()), float(at.cos())) if isinstance(at, Angle) else float(at)


def _apart(mechanism: Mechanism, i: int, one: float, two: float) -> float:
    return abs(one - two) if mechanism.joints[i].prismatic else abs(math.remainder(one - two, math.tau))


def with_differential(robot: AnyRobot, joint: str, terms: Mapping[str, float], offset: float = 0.0) -> AnyRobot:
    """The robot with a joint at the sum of others times factors, plus an offset: a differential."""
    names = [row.name for row in robot.rows]
    moving = [own.name for own in robot.joints]
    if not isinstance(terms, Mapping):
        raise InputError(f"terms = {terms!r}: expected numbers by the names of joints, such as {{'left': 0.5}}")
    for what, value in (*((f"the factor of {name!r}", factor) for name, factor in terms.items()), ("offset", offset)):
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            raise InputError(f"robot {robot.name!r}, differential of {joint!r}: {what} is {value!r}; expected a number")
    for name in (joint, *terms):
        if name not in names:
            raise unknown(f"joint of {robot.name}", name, names)
        if name not in moving:
            raise ModelError(f"robot {robot.name!r}: {name!r} follows other joints already; expected one that does not")
    if not terms or joint in terms:
        raise ModelError(
            f"robot {robot.name!r}: {joint!r} is to follow {', '.join(terms) or 'nothing'}; expected other joints"
        )
    (leader, factor), *others = terms.items()
    mimic = Mimic(leader, float(factor), float(offset), names.index(joint), tuple((n, float(f)) for n, f in others))
    return following(robot, {joint: mimic})


def apart(robot: Description, q: Sequence[float], mechanism: Mechanism | None = None) -> str | None:
    """The name of the first loop that cannot close at a position; None if all can. `mechanism` has other lengths."""
    mechanism = mechanism or robot.mechanism()
    for k, loop in enumerate(robot.loops):
        if loop.dependent:
            there = placed(replace(mechanism, loops=mechanism.loops[: k + 1]), q)
            at = there.loops[-1].at
            if not all(math.isfinite(angle_of(at[i])) for i in there.loops[-1].dependent):
                return loop.name
    return None


def ending(robot: Description, q: Sequence[float], within: float) -> str | None:
    """The name of the first loop that is this near to its end, by the sine of an angle, or beyond; None if none is."""
    names = [loop.name for loop in robot.loops if loop.dependent]
    for name, (across, whole) in zip(names, openings(placed(robot.mechanism(), q)), strict=True):
        if not float(across) > within * within * float(whole):
            return name
    return None
