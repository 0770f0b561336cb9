"""Closed kinematic loops, and their dependent joints.

A loop is cut where a frame on one link meets a frame on another. A planar loop may determine two of its joints. These
are not coordinates; they follow from the others in closed form (`formulations.parts.loop_geometry`). Where joints move
in proportion, as in a parallelogram, the loop becomes a coupling, which is never singular. Other loops are constraints.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import ModelError, unknown
from armwright.formulations.parts.coordinates import mechanism_at, positions
from armwright.formulations.parts.loop_geometry import closure_error, dyad, ends
from armwright.mechanism import Loop, Mechanism
from armwright.model.description import AnyDescription
from armwright.model.followers import with_followers
from armwright.model.loop_positions import angle_of
from armwright.model.mimic import Mimic
from armwright.model.records import JointModel, LoopModel

LOOP_GAP_TOLERANCE = 1e-11
"""The largest gap of a closed loop, relative to its size."""

MAX_AXIS_ANGLE = 1e-9
"""The largest angle between the axes of a planar loop, rad."""

MIN_LOOP_DETERMINANT = 1e-9
"""The smallest determinant of a loop, relative to the square of its size."""

MAX_CLOSURE_STEPS = 100
"""The largest number of Newton steps that close a loop."""

PROPORTION_TOLERANCE = 1e-10
"""The tolerance for joints that move in proportion, rad."""

PROPORTION_OFFSETS = (-0.7, -0.3, 0.2, 0.5)
"""Offsets from the reference at which proportions are tested, rad or m."""


def with_loop(robot: AnyDescription, loop: LoopModel, reference: Mapping[str, float] | None = None) -> AnyDescription:
    """Return the robot with a loop closed.

    `reference` has approximate positions of its joints in the closed loop, by default zero. It selects one of the two
    assemblies.
    """
    names = [row.name for row in robot.rows]
    for name in reference or ():
        if name not in names:
            raise unknown(f"joint of {robot.name} in the reference of loop {loop.name!r}", name, names)
    if not loop.dependent:
        return replace(robot, loops=(*robot.loops, loop))
    open_loop = _OpenLoop(robot, loop, dict(reference or {}))
    closed: AnyDescription = open_loop.coupled() or open_loop.embedded()
    return closed


@dataclass
class _OpenLoop:
    """A robot with a loop that is still open: all of its joints are independent."""

    robot: Any
    loop: LoopModel
    reference: dict[str, float]

    def __post_init__(self) -> None:
        self.mechanism = self.robot.mechanism()
        self.names = [row.name for row in self.robot.rows]
        carriers = self.robot.link_rows
        links = tuple(carriers[i] if i >= 0 else -1 for i in self.loop.links)
        self.inside = [i for path in self.mechanism.joints_between((links[0], links[1])) for i in path]
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

    def error(self, text: str) -> ModelError:
        return ModelError(f"robot {self.robot.name!r}, loop {self.loop.name!r}: {text}")

    def _place(self, name: str) -> int:
        """Return the entry of q of a joint."""
        entries: tuple[int, ...] = self.robot.entries
        return entries[[joint.name for joint in self.robot.joints].index(name)]

    def _check(self) -> None:
        independent, loop = [joint.name for joint in self.robot.joints], self.loop
        inside = [self.names[i] for i in self.inside]
        for name in loop.dependent:
            if name not in self.names:
                raise unknown(f"joint of {self.robot.name} for loop {loop.name!r} to move:", name, self.names)
            if name not in inside:
                expected = ", ".join(inside) or "none"
                raise self.error(f"it cannot move {name!r}, which is not in it; expected joints out of {expected}")
            if name not in independent:
                raise self.error(f"it cannot move {name!r}, which follows other joints already")
            if any(name in dict(f.mimic.leaders) for f in self.robot.followers if f.mimic):
                raise self.error(f"it cannot move {name!r}, which other joints follow; expected another joint")
        if loop.weld:
            raise self.error(
                "a weld fixes three freedoms in a plane and six in space, too many for two dependent joints; expected "
                "kind = 'point', or no dependent joints for a loop with constraint forces"
            )
        if len(set(loop.dependent)) != 2:
            raise self.error(
                f"its dependent joints are {', '.join(map(repr, loop.dependent))}; a planar loop determines two, "
                "neither more nor fewer; expected two names, or none for a loop with constraint forces"
            )
        if all(self.mechanism.joints[self.names.index(name)].prismatic for name in loop.dependent):
            raise self.error("both of its dependent joints are prismatic; expected at least one revolute joint")
        for i in self.inside:
            if self.robot.rows[i].kind:
                kind = self.robot.rows[i].kind
                raise self.error(f"{self.names[i]!r} is part of a {kind} joint; expected single joints")
        if len(self.inside) < 3:
            joints = " and ".join(inside)
            raise self.error(f"only {joints} are in it, so that nothing moves; expected three joints or more")

    def _loop_at(self, q: Array) -> tuple[Mechanism, Loop]:
        """Return the mechanism and the loop at a position."""
        mechanism = mechanism_at(self.mechanism, q.tolist())
        x = positions(mechanism, q.tolist())
        return mechanism, replace(self.probe, at={i: x[i] for i in self.inside})

    def closed_at(self, q: Array) -> Array:
        """Return the position with the loop closed by Newton steps of the dependent joints."""
        entries = [self._place(name) for name in self.loop.dependent]
        joints = [self.names.index(name) for name in self.loop.dependent]
        q, smallest = q.copy(), math.inf
        for _ in range(MAX_CLOSURE_STEPS):
            there, loop = self._loop_at(q)
            e = np.array(closure_error(there, loop), float)
            smallest = min(smallest, float(np.linalg.norm(e)))
            if np.linalg.norm(e) <= LOOP_GAP_TOLERANCE * self._size(there, loop):
                return q
            columns = ends(there, loop).columns
            J = np.array([[*columns[i].l] for i in joints], float).T
            step = -np.linalg.lstsq(J.T @ J + 1e-9 * float(e @ e) * np.eye(2), J.T @ e, rcond=None)[0]
            q[entries] += step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        where = ", ".join(f"{name} = {q[self._place(name)]:.4g}" for name in self._leaders())
        raise self.error(
            f"it cannot be closed with {where}: its ends stay {smallest:.3g} m apart; expected a reference at which it "
            "closes, or other lengths"
        )

    def _leaders(self) -> list[str]:
        """Return the coordinates that move the loop: its joints, or the joints that these follow."""
        return list(dict.fromkeys(name for i in self.inside for name in self._leaders_of(i)))

    def _leaders_of(self, i: int) -> Iterator[str]:
        row: JointModel = self.robot.rows[i]
        if row.mimic is None:
            yield from (() if row.name in self.loop.dependent else (row.name,))
        elif not row.mimic.loop:
            yield from (name for name, _ in row.mimic.leaders)
        else:
            place = [loop.name for loop in self.robot.loops].index(row.mimic.loop)
            inner = self.mechanism.loops[place]
            paths = self.mechanism.joints_between(inner.links)
            joints = [k for path in paths for k in path if k not in inner.dependent]
            yield from (name for k in joints for name in self._leaders_of(k))

    def _size(self, there: Mechanism, loop: Loop) -> float:
        loop_ends = ends(there, loop)
        arms = [np.linalg.norm(np.array(column.l, float)) for column in loop_ends.columns.values()]
        return float(max(*arms, *(np.linalg.norm(np.array(pose.position, float)) for pose in loop_ends.poses)))

    def _check_plane(self) -> None:
        there, loop = self._loop_at(self.q)
        loop_ends = ends(there, loop)
        axes = {i: np.array(c.e, float) for i, c in loop_ends.columns.items() if not there.joints[i].prismatic}
        normal = next(iter(axes.values()))
        for i, column in loop_ends.columns.items():
            deviation = np.cross(normal, axes[i]) if i in axes else normal @ np.array(column.l, float)
            if np.linalg.norm(deviation) > MAX_AXIS_ANGLE:
                raise self.error(
                    f"{self.names[i]} does not move in the plane of the others; expected parallel axes, or no "
                    "dependent joints for a loop with constraint forces"
                )

    def _check_regular(self) -> None:
        columns = ends(*self._loop_at(self.q)).columns
        u, v = (np.array(columns[self.names.index(name)].l, float) for name in self.loop.dependent)
        if np.linalg.norm(np.cross(u, v)) <= MIN_LOOP_DETERMINANT * np.linalg.norm(u) * np.linalg.norm(v):
            raise self.error(
                f"it is singular at its reference and does not determine {' and '.join(self.loop.dependent)} there; "
                "expected another reference"
            )

    def _solution(self, q: Array, assembly: int) -> dict[int, float]:
        """Return the positions of the dependent joints in closed form."""
        there, _ = self._loop_at(q)
        x = list(positions(there, q.tolist()))
        solution = dyad(there, replace(self.probe, assembly=assembly), x)
        return {i: angle_of(at) for i, at in solution.items()}

    def _assembly(self) -> int:
        """Return the sign of the root for which the closed form gives the reference."""

        def distance(assembly: int) -> float:
            solution = self._solution(self.q, assembly).items()
            return sum(_joint_distance(self.mechanism, i, at, self.q[self._place(self.names[i])]) for i, at in solution)

        return min((1, -1), key=distance)

    def coupled(self) -> Any:
        """Return the robot with a coupling in place of the loop, or None if its joints do not move in proportion."""
        leading = self._leaders()
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
        factors: list[dict[int, float]] = []
        for step in PROPORTION_OFFSETS:
            q = self.q.copy()
            q[self._place(name)] += step
            changes = {
                d: math.remainder(at - start[d], math.tau) for d, at in self._solution(q, self.probe.assembly).items()
            }
            nearest = {
                d: float(f)
                for d, change in changes.items()
                for f in (-1, 0, 1)
                if abs(change - f * step) < PROPORTION_TOLERANCE
            }
            factors.append(nearest)
        return factors[0] if len(factors[0]) == len(start) and all(one == factors[0] for one in factors) else None

    def embedded(self) -> Any:
        """Return the robot with the dependent joints as followers."""
        leading = self._leaders()
        if not leading:
            raise self.error("no coordinate moves it; expected three joints or more that do not follow others")
        mimics = {
            name: Mimic(leading[0], place=self.names.index(name), loop=self.loop.name) for name in self.loop.dependent
        }
        independent = {joint.name for joint in self.robot.joints}
        reference = tuple((self.names[i], self._at(self.names[i])) for i in self.inside if self.names[i] in independent)
        closed = replace(self.loop, assembly=self.probe.assembly, reference=reference)
        robot = with_followers(replace(self.robot, loops=()), mimics)
        return replace(robot, loops=(*self.robot.loops, closed))


def _joint_distance(mechanism: Mechanism, i: int, one: float, two: float) -> float:
    return abs(one - two) if mechanism.joints[i].prismatic else abs(math.remainder(one - two, math.tau))
