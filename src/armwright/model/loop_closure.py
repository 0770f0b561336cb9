"""Closed kinematic loops, and the joints that they move.

A loop is cut where a frame on one link meets a frame on another. A planar loop may move two of its joints. These are no
longer coordinates; they follow from the others in closed form (`formulations.parts.loop_geometry`). Where the joints
move in proportion, as in a parallelogram, the loop becomes a coupling, which is never singular. Other loops are
constraints.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError, unknown
from armwright.formulations.parts.coordinates import placed, positions
from armwright.formulations.parts.loop_geometry import closure_error, dyad, ends
from armwright.mechanism import Loop, Mechanism
from armwright.model.description import AnyDescription
from armwright.model.followers import with_followers
from armwright.model.loop_positions import angle_of
from armwright.model.mimic import Mimic
from armwright.model.records import JointModel, LoopModel

LOOP_GAP_TOLERANCE = 1e-11
"""The gap of a closed loop, relative to its size."""

MAX_AXIS_ANGLE = 1e-9
"""The largest angle between the axes of a planar loop, rad."""

MIN_LOOP_DETERMINANT = 1e-9
"""The smallest determinant of a loop, relative to the square of its size."""

MAX_CLOSURE_STEPS = 100
"""The number of Newton steps before closing a loop fails."""

PROPORTION_TOLERANCE = 1e-10
"""The tolerance for joints that move in proportion, rad."""

PROPORTION_OFFSETS = (-0.7, -0.3, 0.2, 0.5)
"""Offsets from the reference at which proportions are tested, rad or m."""


if TYPE_CHECKING:
    pass


def with_loop(robot: AnyDescription, loop: LoopModel, reference: Mapping[str, float] | None = None) -> AnyDescription:
    """Return the robot with a loop closed.

    `reference` has approximate positions of its joints in the closed loop, zero by default. It selects the nearer of
    the two assemblies.
    """
    names = [row.name for row in robot.rows]
    for name in reference or ():
        if name not in names:
            raise unknown(f"joint of {robot.name} in the reference of loop {loop.name!r}", name, names)
    if not loop.dependent:
        return replace(robot, loops=(*robot.loops, loop))
    cut = _OpenLoop(robot, loop, dict(reference or {}))
    closed: AnyDescription = cut.coupled() or cut.embedded()
    return closed


@dataclass
class _OpenLoop:
    """A robot with a loop about to be closed, all of whose joints are still independent."""

    robot: Any
    loop: LoopModel
    reference: dict[str, float]

    def __post_init__(self) -> None:
        self.mechanism = self.robot.mechanism()
        self.names = [row.name for row in self.robot.rows]
        carriers = self.robot.link_rows
        links = tuple(carriers[i] if i >= 0 else -1 for i in self.loop.links)
        self.ways = self.mechanism.joints_between((links[0], links[1]))
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
        """Return the entry of q of a joint."""
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
        """Return the mechanism at a position, and the loop there."""
        there = placed(self.mechanism, q.tolist())
        x = positions(there, q.tolist())
        return there, replace(self.probe, at={i: x[i] for i in self.inside})

    def closed_at(self, q: Array) -> Array:
        """Return the position with the dependent joints moved by Newton's method until the loop closes."""
        entries = [self._place(name) for name in self.loop.dependent]
        joints = [self.names.index(name) for name in self.loop.dependent]
        q, smallest = q.copy(), math.inf
        for _ in range(MAX_CLOSURE_STEPS):
            there, loop = self._rows(q)
            e = np.array(closure_error(there, loop), float)
            smallest = min(smallest, float(np.linalg.norm(e)))
            if np.linalg.norm(e) <= LOOP_GAP_TOLERANCE * self._size(there, loop):
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
        """Return the coordinates that move the loop: its joints, or the joints that these follow."""
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
            ways = self.mechanism.joints_between(inner.links)
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
            if np.linalg.norm(off) > MAX_AXIS_ANGLE:
                raise self.fail(
                    f"{self.names[i]} does not move in the plane of the others; expected parallel axes, or no "
                    "dependent joints, so that forces hold it"
                )

    def _check_regular(self) -> None:
        columns = ends(*self._rows(self.q)).columns
        u, v = (np.array(columns[self.names.index(name)].l, float) for name in self.loop.dependent)
        if np.linalg.norm(np.cross(u, v)) <= MIN_LOOP_DETERMINANT * np.linalg.norm(u) * np.linalg.norm(v):
            raise self.fail(
                f"at its reference it does not say where {' and '.join(self.loop.dependent)} are: it is singular "
                "there; expected another reference"
            )

    def _solution(self, q: Array, assembly: int) -> dict[int, float]:
        """Return the positions of the dependent joints in closed form."""
        there, _ = self._rows(q)
        x = list(positions(there, q.tolist()))
        found = dyad(there, replace(self.probe, assembly=assembly), x)
        return {i: angle_of(at) for i, at in found.items()}

    def _assembly(self) -> int:
        """Return the sign of the root for which the closed form gives the reference."""

        def off(assembly: int) -> float:
            found = self._solution(self.q, assembly).items()
            return sum(_joint_distance(self.mechanism, i, at, self.q[self._place(self.names[i])]) for i, at in found)

        return min((1, -1), key=off)

    def coupled(self) -> Any:
        """Return the robot with a coupling in place of the loop, or None if its joints do not move in proportion."""
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
        return with_followers(self.robot, mimics)

    def _at(self, name: str) -> float:
        """Return the position of a joint at the reference."""
        return float(self.q[self._place(name)])

    def _proportion(self, name: str) -> dict[int, float] | None:
        """Return the factor (1, 0 or -1) of each dependent joint for a coordinate; None unless it is constant."""
        start = self._solution(self.q, self.probe.assembly)
        found: list[dict[int, float]] = []
        for by in PROPORTION_OFFSETS:
            q = self.q.copy()
            q[self._place(name)] += by
            changes = {
                d: math.remainder(at - start[d], math.tau) for d, at in self._solution(q, self.probe.assembly).items()
            }
            near = {
                d: float(f)
                for d, change in changes.items()
                for f in (-1, 0, 1)
                if abs(change - f * by) < PROPORTION_TOLERANCE
            }
            found.append(near)
        return found[0] if len(found[0]) == len(start) and all(one == found[0] for one in found) else None

    def embedded(self) -> Any:
        """Return the robot with the dependent joints as followers."""
        leading = self._leading()
        if not leading:
            raise self.fail("no joint is left to move it; expected three joints or more that move by themselves")
        mimics = {
            name: Mimic(leading[0], place=self.names.index(name), loop=self.loop.name) for name in self.loop.dependent
        }
        own = {joint.name for joint in self.robot.joints}
        reference = tuple((self.names[i], self._at(self.names[i])) for i in self.inside if self.names[i] in own)
        closed = replace(self.loop, assembly=self.probe.assembly, reference=reference)
        robot = with_followers(replace(self.robot, loops=()), mimics)
        return replace(robot, loops=(*self.robot.loops, closed))


def _joint_distance(mechanism: Mechanism, i: int, one: float, two: float) -> float:
    return abs(one - two) if mechanism.joints[i].prismatic else abs(math.remainder(one - two, math.tau))
