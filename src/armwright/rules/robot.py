"""The book applied to a robot as it is computed with: its canonical rows and links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.mechanism import FREEDOMS
from armwright.model.description import Description, JointModel, Payload, Transform, cos_sin
from armwright.rules.bodies import LONGEST, astray
from armwright.rules.book import Part, broken, fair
from armwright.rules.facts import AngleFacts, BodyFacts, JointFacts, RobotFacts, minor
from armwright.rules.problem import SEVERITIES, Problem
from armwright.rules.whole import NEAR_TOOL

SMALL = 1e-5
"""Metres: what is held may be as small, nearly a point, however far from the tool."""

FARTHER = 3.0
"""Of two middle sizes, how much the upper one may be above the lower and still be usual."""


def problems(robot: Description) -> list[Problem]:
    """Everything that looks wrong, the worst first, and base to tip.

    None of it stops a computation; all of it has made somebody's simulation wrong without a word.
    """
    if not isinstance(robot, Description):
        raise InputError(f"problems got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    with np.errstate(all="ignore"):
        return sorted(_found(robot), key=lambda problem: SEVERITIES.index(problem.severity))


def of_payload(robot: Description) -> list[Problem]:
    """What is wrong or suspicious about where and what a robot's payload is; any mass may be tried."""
    held = robot.payload
    if held is None or not (math.hypot(*held.com) > NEAR_TOOL or np.any(held.inertia)):
        return []  # whatever the robot is, no rule is broken
    with np.errstate(all="ignore"):
        facts = facts_of(robot)
        found = [*(_tensor_of(facts.payload) if facts.payload else ())]
        found += [problem for problem in broken(facts) if problem.kind == "centre of mass outside"]
    return [problem for problem in found if problem.severity != "note"]


def _tensor_of(held: BodyFacts) -> Iterator[Problem]:
    """What is wrong with the tensor of what is held, if it has one; a point is fine."""
    return broken(replace(held, off=0.0)) if np.any(held.inertia) else iter(())


def _found(robot: Description) -> list[Problem]:
    facts = facts_of(robot)
    parts: list[Part] = []
    bodies = dict(zip(robot.carriers, facts.bodies, strict=True))
    for i, (joint, angles) in enumerate(zip(facts.joints, _angles(robot), strict=True)):
        parts += joint, *angles, *([bodies[i]] if i in bodies else [])
    found = [problem for part in parts for problem in broken(part)]
    found += _tensor_of(facts.payload) if facts.payload is not None else ()
    known = {(problem.kind, problem.where) for problem in found}
    return fair(found + [p for p in (*broken(robot), *broken(facts)) if (p.kind, p.where) not in known])


def facts_of(robot: Description) -> RobotFacts:
    """What rules look at. A centre of mass that is astray says nothing of how long its link and others are."""
    coms = [np.array(link.com) for link in robot.links]
    sizes = _sizes(robot, coms)
    bodies = _bodies(robot, sizes)
    lost = {i for i, body in enumerate(bodies) if astray(body)}
    if lost:
        inside = [np.zeros(3) if i in lost else com for i, com in enumerate(coms)]
        better = _sizes(robot, inside)
        off = [sizes.off[i] if i in lost else value for i, value in enumerate(better.off)]
        sizes = replace(better, off=off)
        bodies = _bodies(robot, sizes)
    held = None if robot.payload is None else _held(robot.payload, max(sizes.usual, sum(sizes.joints), NEAR_TOOL))
    return RobotFacts(robot.name, tuple(bodies), tuple(_joints(robot, sizes, lost)), robot.gravity, held)


def _joints(robot: Description, sizes: Sizes, lost: set[int]) -> Iterator[JointFacts]:
    """The joints; of links that are not lost, how far they are apart tells how long the way between is at least."""
    lengths = list(sizes.joints)
    for i, (carrier, parent) in enumerate(zip(robot.carriers, robot.parents, strict=True)):
        if sizes.apart[i] > LONGEST and not {i, parent} & lost:  # where axes are parallel no frame need be far
            lengths[carrier - robot.rows[carrier].freedom] = sizes.apart[i]
    for row, length in zip(robot.rows, lengths, strict=True):
        effort = (row.max_torque or None) if robot.loops else row.max_torque  # in a loop a joint may have no motor
        drive = (None, None) if row.mimic else (effort, row.max_velocity)
        more = (row.viscous, row.coulomb, length, row.armature, row.smooth)
        yield JointFacts(row.name, not row.prismatic, row.limits, *drive, *more)


def _bodies(robot: Description, sizes: Sizes) -> list[BodyFacts]:
    total, segment = sum(abs(link.mass) for link in robot.links), sum(sizes.joints) / len(sizes.joints)
    return [
        BodyFacts(
            name=link.name,
            mass=link.mass,
            inertia=np.array(link.inertia),
            least=sizes.least[i],
            most=sizes.most[i],
            length=segment,
            off=sizes.off[i],
            spin=np.array([0.0, 0.0, 1.0]) if robot.parents[i] < 0 and _turns(robot.rows[robot.carriers[i]]) else None,
            minor=minor(link.mass, total),
        )
        for i, link in enumerate(robot.links)
    ]


def _turns(row: JointModel) -> bool:
    """Whether a joint that hangs on the base lets its link turn about z and do nothing else."""
    return not (row.prismatic or row.kind)


def _held(payload: Payload, most: float) -> BodyFacts:
    """What the tool holds, which may be as long as the robot reaches."""
    off = math.hypot(*payload.com)
    return BodyFacts("payload", payload.mass, np.array(payload.inertia), SMALL, most, off=off)


def _angles(robot: Description) -> Iterator[list[AngleFacts]]:
    """Those of each row; the last angle of a standard table stands in the flange."""
    for i, row in enumerate(robot.rows):
        found = [("gamma", row.gamma), ("alpha", row.alpha), ("theta", row.theta)]
        ends = [("base", robot.base)] if i == 0 else []
        if robot.tip is not None and i == robot.carriers[robot.tip]:
            ends += [("flange", robot.flange), ("tool", robot.tool)]
        found += [(f"angle of the {key}", angle) for key, T in ends for angle in _turned_by(T)]
        if row.mimic is not None and not (row.prismatic or row.mimic.others or row.mimic.loop):
            found.append(("offset", row.mimic.offset))
        yield [AngleFacts(row.name, key, (value,), (f"{value:.15g}",)) for key, value in found]


def _turned_by(transform: Transform) -> Iterator[float]:
    """The angle of a rotation about x, y or z."""
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        if abs(transform[i][i] - 1) < 1e-15:
            yield math.atan2(transform[k][j], transform[j][j])
            return


@dataclass(frozen=True)
class Sizes:
    """How large the parts of a robot are, roughly and in metres.

    least, most   how long each link is
    usual         how long links of this robot usually are
    joints        how far each joint is from the one before
    off           how far the centre of mass of each link is from all its joints: from their axes, of which a prismatic
                  one has none; where it is farther than any link is long from their frames and the tool, from these
    apart         how far the centre of mass of each link is from that of its parent
    """

    least: list[float]
    most: list[float]
    usual: float
    joints: list[float]
    off: list[float]
    apart: list[float]


@np.errstate(over="ignore", invalid="ignore")  # bodies may be at the end of the world
def _sizes(robot: Description, coms: Sequence[Array]) -> Sizes:
    """The sizes of a robot whose links have their centres of mass there.

    Links are judged by distances that stay when frames slide along their axes: twice that of the centre of mass from
    either axis, that of the axes, and the gap that a joint always leaves between neighbouring centres of mass, of which
    each may bridge little; for the largest size also the way to the tool. A prismatic joint has a direction and no
    line. Nothing counts as smaller than what is usual: the lower of the two middle sizes, and for the largest size the
    upper one, so that locking a joint, which leaves a link less, does not make the others look too heavy. Of all links
    and of those that weigh something, which fingers do not, the milder is taken.
    """
    rows = robot.rows
    tools = {} if robot.tip is None else {robot.tip: np.asarray(robot.hand.pose)[:3, 3]}
    n = len(coms)
    near = np.array([math.hypot(*com) for com in coms])  # how far from the frames of its joints and the tool
    gaps = np.zeros(n)
    low, inward, outward, off, joints = np.zeros(n), np.zeros(n), np.zeros(n), np.full(n, np.inf), [0.0] * len(rows)
    for tip, tool in tools.items():
        off[tip] = math.hypot(*(tool - coms[tip]))
        near[tip] = min(near[tip], off[tip])
    for i, (carrier, parent) in enumerate(zip(robot.carriers, robot.parents, strict=True)):
        first = carrier - rows[carrier].freedom
        row = rows[first]
        if parent >= 0:
            near[parent] = min(near[parent], math.hypot(*(coms[parent] - _start(row))))
        if row.kind in FREEDOMS:
            off[i] = 0.0
            continue
        inner, outer = _beside(row, coms[parent] if parent >= 0 else np.zeros(3), coms[i])
        apart = outer - inner
        from_inner, from_outer = (0.0, 0.0) if row.prismatic else (np.hypot(*inner[:2]), np.hypot(*outer[:2]))
        low[i], off[i] = max(low[i], 2 * from_outer), min(off[i], from_outer)
        gap = math.hypot(*apart)
        joints[first] = _way(row, gap)
        if parent >= 0:
            gaps[i] = gap
            inward[i] = np.hypot(*apart[:2]) if row.prismatic else abs(apart[2])
            outward[parent] = max(outward[parent], inward[i])
            across = 0.0 if row.prismatic else math.hypot(row.a, row.y)
            low[parent], off[parent] = max(low[parent], across, 2 * from_inner), min(off[parent], from_inner)
    low = np.maximum(low, np.maximum(inward, outward) / 4)
    for tip, tool in tools.items():
        outward[tip] = max(outward[tip], math.hypot(*(tool - coms[tip])))
    high = np.maximum(low, np.maximum(inward, outward))
    total = sum(abs(link.mass) for link in robot.links)
    heavy = [size for size, link in zip(high, robot.links, strict=True) if not minor(link.mass, total)]
    lower, upper = zip(*(_middle(sizes) for sizes in (high, heavy or high)), strict=True)
    usual = min(lower)
    least, most = np.maximum(low, usual), np.maximum(high, min(max(upper), FARTHER * max(lower)))
    far = np.where(near > LONGEST, near, off)
    return Sizes(least.tolist(), most.tolist(), usual, joints, far.tolist(), gaps.tolist())


def _middle(sizes: Iterable[float]) -> tuple[float, float]:
    """The lower and the upper of the two middle ones."""
    ordered = sorted(map(float, sizes))
    return ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]


def _beside(row: JointModel, before: Array, after: Array) -> tuple[Array, Array]:
    """The centres of mass before and after a joint, seen from a frame on its axis, at its zero."""
    (ca, sa), (ct, st), (cg, sg) = cos_sin(-row.alpha), cos_sin(row.theta), cos_sin(-row.gamma)
    (x, y, z), (u, v, w) = before, after
    x, y, z = cg * x - sg * y - row.a, sg * x + cg * y - row.y, z - row.z
    inner = np.array([x, ca * y - sa * z, sa * y + ca * z])
    return inner, np.array([ct * u - st * v, st * u + ct * v, w + row.d])


def _start(row: JointModel) -> Array:
    """Where the frame of a joint is at its zero, in that of its parent."""
    (ca, sa), (cg, sg) = cos_sin(row.alpha), cos_sin(row.gamma)
    x, y, z = row.a, row.y - sa * row.d, row.z + ca * row.d
    return np.array([cg * x - sg * y, sg * x + cg * y, z], dtype=float)


def _way(row: JointModel, apart: float) -> float:
    """From the joint before. A frame may stand far off on its axis, and centres of mass be near to each other."""
    return min(math.hypot(row.a, row.y, row.z, 0.0 if row.prismatic else row.d), max(apart, LONGEST))
