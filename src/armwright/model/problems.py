"""What is physically or formally wrong with a robot, as sentences.

None of it stops a computation; all of it has made somebody's simulation wrong without a word. One thing is not judged:
a first link that turns on the base and of which only Izz is given, as nothing else of its tensor has any effect.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.model.description import (
    QUARTER_TURN,
    Description,
    JointModel,
    LinkModel,
    compose,
    cos_sin,
    meeting_limits,
    right_angles,
)
from armwright.model.idle import idle

ROUNDING = 1e-9
"""Relative slack: published tensors are rounded to a few digits, and rods and plates sit exactly on the boundary."""

USUAL = (0.003, 6.0)
"""Largest moment over m L^2, with L as in `_sizes`. Of 690 links in published files all others are made up."""

FARTHER = 3.0
"""Of two middle sizes, how much the upper one may be above the lower and still be usual."""

KINDS = (
    "non-positive mass",
    "missing inertia",
    "not positive definite",
    "triangle inequality",
    "suspicious units",
    "singular mass matrix",
    "reversed limits",
    "no travel",
    "rounded angle",
    "degrees",
)


class Problem(str):
    """A sentence, with the kind of problem and the link or joint it is about."""

    kind: str
    where: str

    def __new__(cls, kind: str, where: str, text: str) -> Problem:
        problem = super().__new__(cls, f"{where}: {text}")
        problem.kind, problem.where = kind, where
        return problem

    def accepted_by(self, robot: Description) -> bool:
        """Whether the robot's author knows of it: by its kind, or by "where: kind"."""
        return bool({self.kind, f"{self.where}: {self.kind}"} & set(robot.accept))


def problems(robot: Description) -> list[Problem]:
    """Everything that looks wrong, base to tip."""
    if not isinstance(robot, Description):
        raise InputError(f"problems got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    found: list[Problem] = []
    sizes, usual = _sizes(robot)
    for i, (joint, link) in enumerate(zip(robot.rows, robot.links, strict=True)):
        found += _joint_problems(joint)
        only_izz = i == 0 and not joint.prismatic and _only_izz(link)
        if link.mass or not only_izz:
            found += _mass_problems(link)
        if not only_izz:
            found += _tensor_problems(link)
        found += _unit_problems(link, *sizes[i])
    found += _follower_problems(robot)
    if robot.payload is not None:
        p = robot.payload
        body = LinkModel("payload", p.mass, p.com, p.inertia)
        found += _tensor_problems(body)
        size = max(2 * float(np.linalg.norm(p.com)), usual)
        found += _unit_problems(body, size, size)
    return found + list(_singular_matrix(robot))


def _joint_problems(joint: JointModel) -> Iterator[Problem]:
    if joint.limits is not None:
        low, high = joint.limits
        if low > high:
            yield Problem("reversed limits", joint.name, f"its limits are reversed: lower {low:g} above upper {high:g}")
        elif low == high:
            yield Problem("no travel", joint.name, f"its limits are equal ({low:g}), so it cannot move")
        if not joint.prismatic and any(30 < abs(limit) < np.inf for limit in joint.limits):
            yield Problem("degrees", joint.name, f"its limits ({low:g}, {high:g}) are many turns in radians; degrees?")
    for name, angle in (("alpha", joint.alpha), ("theta", joint.theta)):
        quarters = round(angle / QUARTER_TURN)
        exact = quarters * QUARTER_TURN
        if quarters and right_angles(angle) is None and any(angle == round(exact, digits) for digits in range(2, 14)):
            yield Problem(
                "rounded angle",
                joint.name,
                f"{name} = {angle!r} is {quarters} right angle(s) rounded to a few digits; write {exact!r}",
            )
        if abs(angle) > 2 * np.pi + ROUNDING:
            yield Problem("degrees", joint.name, f"{name} = {angle:g} is more than a full turn in radians; degrees?")


def _follower_problems(robot: Description) -> Iterator[Problem]:
    leaders = {joint.name: joint for joint in robot.joints}
    for follower in robot.followers:
        leader = leaders[follower.mimic.joint] if follower.mimic else follower
        left = meeting_limits(leader.limits, follower)
        if left is not None and left[0] >= left[1]:
            text = f"its limits and those of {leader.name}, which it follows, leave no position for both"
            yield Problem("no travel", follower.name, text)


def _only_izz(link: LinkModel) -> bool:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = link.inertia
    return zz > 0 and not any((xx, yy, xy, xz, yz))


def _mass_problems(link: LinkModel) -> Iterator[Problem]:
    if link.mass < 0:
        yield Problem("non-positive mass", link.name, f"its mass is negative ({link.mass:g} kg)")
    elif link.mass == 0:
        yield Problem("non-positive mass", link.name, "its mass is zero")
    elif not np.any(link.inertia):
        yield Problem(
            "missing inertia",
            link.name,
            f"its inertia is missing: the tensor is all zero for a mass of {link.mass:g} kg",
        )


def _tensor_problems(link: LinkModel) -> Iterator[Problem]:
    a, b, c = np.linalg.eigvalsh(np.asarray(link.inertia))
    slack = ROUNDING * max(abs(a), abs(c))
    if a < -slack:
        yield Problem(
            "not positive definite",
            link.name,
            f"its inertia tensor is not positive definite: principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m^2",
        )
    elif a + b < c - slack:
        yield Problem(
            "triangle inequality",
            link.name,
            f"its principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m^2 break the triangle inequality: "
            "no real body has one larger than the sum of the other two",
        )


def _sizes(robot: Description) -> tuple[list[tuple[float, float]], float]:
    """How long each link is at least and at most, roughly, and how long links of this robot usually are.

    Only distances that stay when frames slide along their axes: twice that of the centre of mass from either axis, that
    of the axes, and the gap that a joint always leaves between neighbouring centres of mass, of which each may bridge
    little; for the largest size also the way to the tool. A prismatic joint has a direction and no line. Nothing counts
    as smaller than what is usual: the lower of the two middle sizes, and for the largest size the upper one, so that
    locking a joint, which leaves a link less, does not make the others look too heavy.
    """
    coms = [np.array(link.com) for link in robot.links]
    low, gaps = np.zeros(len(coms)), np.zeros(len(coms) + 1)
    for i, joint in enumerate(robot.rows):
        outer = np.array([*_turned(coms[i][:2], joint.theta), coms[i][2] + joint.d])
        y, z = _turned(coms[i - 1][1:], -joint.alpha)
        inner = np.array([coms[i - 1][0] - joint.a, y, z])
        if not joint.prismatic:
            low[i] = max(low[i], 2 * np.hypot(*outer[:2]))
        if i:
            gaps[i] = np.hypot(*(outer - inner)[:2]) if joint.prismatic else abs(outer[2] - inner[2])
        if i and not joint.prismatic:
            low[i - 1] = max(low[i - 1], abs(joint.a), 2 * np.hypot(*inner[:2]))
    low = np.maximum(low, np.maximum(gaps[:-1], gaps[1:]) / 4)
    gaps[-1] = np.linalg.norm(np.asarray(compose(robot.flange, robot.tool))[:3, 3] - coms[-1])
    high = np.maximum(low, np.maximum(gaps[:-1], gaps[1:]))
    usual, upper = (float(np.sort(high)[i // 2]) for i in (len(coms) - 1, len(coms)))
    most = min(upper, FARTHER * usual)
    return [(max(a, usual), max(b, most)) for a, b in zip(low.tolist(), high.tolist(), strict=True)], usual


def _turned(v: Array, angle: float) -> Array:
    c, s = cos_sin(angle)
    turned: Array = np.array([c * v[0] - s * v[1], s * v[0] + c * v[1]])
    return turned


def _unit_problems(link: LinkModel, low: float, high: float) -> Iterator[Problem]:
    """For a link that is between `low` and `high` metres long."""
    largest = float(np.max(np.abs(link.inertia)))
    if largest <= 0 or link.mass <= 0 or low <= 0:
        return
    if largest > USUAL[1] * link.mass * high * high:
        much, size = "large", high
    elif largest < USUAL[0] * link.mass * low * low:
        much, size = "small", low
    else:
        return
    yield Problem(
        "suspicious units",
        link.name,
        f"its inertia ({largest:.3g} kg m^2) is far too {much} for {link.mass:.3g} kg over {size:.2g} m, where about "
        f"{0.1 * link.mass * size * size:.2g} is usual; check the units of both (kg mm^2? grams?)",
    )


def _singular_matrix(robot: Description) -> Iterator[Problem]:
    """Tried at a few positions: a matrix that is singular at all of them is singular by construction."""
    chain, n = robot.chain(), robot.n
    rng = np.random.default_rng(0)
    still: set[int] = set(range(n))
    for _ in range(3):
        still &= idle(chain, rng.uniform(-1, 1, n).tolist())
        if not still:
            return
    names = ", ".join(robot.joints[i].name for i in sorted(still))
    moved_by = [drive.coordinate for drive in robot.drives] or list(range(n))
    inmost = next(i for i, coordinate in enumerate(moved_by) if coordinate in still)
    outer = robot.links[inmost:]
    empty = not any(link.mass or np.any(link.inertia) for link in outer)
    if empty and (robot.payload is None or not robot.payload.mass):
        what = f"nothing outside its joint has mass or inertia ({', '.join(link.name for link in outer)})"
    else:
        what = f"{names} can move without moving any mass"
    yield Problem(
        "singular mass matrix",
        robot.links[inmost].name,
        f"{what}, so the mass matrix is singular; give it a mass, a payload or a rotor inertia",
    )
