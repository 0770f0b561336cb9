"""Two descriptions of one robot: where kinematics and dynamics differ, by how much, and at which joint or link."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.check.acting import carried, pulls, rotors, rubbing, spring
from armwright.check.align import Alignment, Shape, Skeleton, align, apart
from armwright.check.numbers import evaluate, evaluated, states
from armwright.check.report import columns
from armwright.errors import InputError, ModelError, unknown
from armwright.load import load
from armwright.mechanism import JointCoupling
from armwright.model.description import Description
from armwright.model.link_order import in_link_order_of
from armwright.model.records import Frame
from armwright.names import shown, tidy
from armwright.pages.report.plot import Table, figures, write
from armwright.rules.robot_rules import driving_coordinates

TOLERANCE = 1e-6
"""Relative: to the reach for lengths, to the largest torque of a joint for torques; radians for angles."""

KINDS = {
    "joint type": "a joint turns here and slides there",
    "base": "the robots stand elsewhere",
    "sign": "a joint counts the other way",
    "offset": "a joint counts from another zero",
    "geometry": "the next axis lies elsewhere: another length or twist",
    "tool": "the tool frames differ",
    "mass": "the masses of a link differ",
    "centre of mass": "it lies elsewhere on the link",
    "inertia": "the tensors about the centres of mass differ",
    "gravity": "another gravity",
    "coupling": "a joint follows another one here and not there, or in another way",
    "rotor": "another rotor inertia, as the joint feels it",
    "spring": "another spring beside the joint",
    "compensation": "another part of the weight is carried by no drive",
    "friction": "another viscous or Coulomb friction, or speed at which it is smooth",
    "torque": "torques differ though nothing above does",
    "limits": "other limits of position, speed or effort; never counts",
    "names": "other names; never counts",
}
SILENT = ("limits", "names")

IDLE = ", without effect on any torque"

NO_LIMITS = (-math.inf, math.inf)

DRIVES = (("rotor", "armature"), ("friction", "viscous"), ("friction", "coulomb"), ("friction", "smooth"))


@dataclass(frozen=True)
class Difference:
    """One thing that differs, at a joint, a link, the base or the tool. `matters` if it makes the robots differ."""

    kind: str
    where: str
    text: str
    matters: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(frozen=True)
class Quantity:
    """The worst difference over all states; `mapped` after signs, zeros and base are taken over."""

    name: str
    unit: str
    worst: float
    mapped: float
    allowed: float


@dataclass(frozen=True)
class Felt:
    """What one joint feels of the difference, relative to its largest torque, signs and zeros taken over."""

    joint: str
    gravity: float
    mass_matrix: float
    torque: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """How two robots differ. `outermost` is the joint nearest to the tip that feels it when it moves alone."""

    names: tuple[str, str]
    tolerance: float
    differences: tuple[Difference, ...]
    quantities: tuple[Quantity, ...] = ()
    joints: tuple[Felt, ...] = ()
    outermost: str | None = None

    @property
    def same(self) -> bool:
        return not any(difference.matters for difference in self.differences)

    def __repr__(self) -> str:
        verdict = "the same" if self.same else "different"
        return f"<{' and '.join(self.names)}: {verdict}, {len(self.differences)} differences listed>"

    def __str__(self) -> str:
        here, there = self.names
        parts = [f"{here} (here) and {there} (there)"]
        rows = [(d.where, d.kind, d.text + ("" if d.matters else " (does not count)")) for d in self.differences]
        parts[0] += f"\n{columns(('where', 'kind', 'what'), rows)}" if rows else ""
        if self.quantities:
            parts.append(columns(QUANTITIES, self.quantity_rows()))
        if self.outermost is not None:
            felt = [(j.joint, *(f"{x:.1e}" for x in (j.gravity, j.mass_matrix, j.torque))) for j in self.joints]
            parts.append(
                "felt by each joint, relative to its own torque\n"
                f"{columns(('joint', 'gravity', 'mass matrix', 'torque'), felt)}\n"
                f"The outermost joint that feels a difference is {self.outermost}."
            )
        parts.append(f"the same to {self.tolerance:g}" if self.same else "different")
        return "\n\n".join(parts)

    def as_dict(self) -> dict[str, Any]:
        return {
            "robots": list(self.names),
            "same": self.same,
            "tolerance": self.tolerance,
            "differences": [vars(difference) for difference in self.differences],
            "quantities": [vars(quantity) for quantity in self.quantities],
            "joints": [vars(joint) for joint in self.joints],
            "outermost": self.outermost,
        }

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2)

    def to_html(self, path: str | Path) -> Path:
        """Write a page with the differences, and what each joint feels of them."""
        here, there = map(shown, self.names)
        verdict = f"the same to {self.tolerance:g}" if self.same else "different"
        rows = [(d.where, d.kind, "counts" if d.matters else "does not count", d.text) for d in self.differences]
        tables: list[Table] = [("Differences", [("where", "kind", "counts", "what"), *rows])] if rows else []
        if self.quantities:
            tables.append(("Kinematics and dynamics", [QUANTITIES, *self.quantity_rows()]))
        if self.outermost is not None:
            felt = [(j.joint, tidy(j.gravity), tidy(j.mass_matrix), tidy(j.torque)) for j in self.joints]
            head = f"Felt by each joint, relative to its own torque; the outermost is {self.outermost}"
            tables.append((head, [("joint", "gravity", "mass matrix", "torque"), *felt]))
        title = f"{here} and {there}: {verdict}"
        words = f"{here} is what is called here, {there} there."
        return write(path, figures(title, words, [], tables, "compare", {"counts": "bad", "does not count": "none"}))

    def quantity_rows(self) -> list[tuple[str, ...]]:
        """As `QUANTITIES` has it."""
        return [(q.name, f"{tidy(q.worst)} {q.unit}", tidy(q.mapped), f"{q.allowed:.0e}") for q in self.quantities]


QUANTITIES = ("quantity", "largest difference", "signs, zeros and base taken over", "allowed")


def compare(
    one: str | Path | Description,
    two: str | Path | Description,
    *,
    tolerance: float = TOLERANCE,
    ignore: Sequence[str] = (),
    packages: Mapping[str, str | Path] | None = None,
) -> Comparison:
    """Two robots, or files of robots, held against each other joint by joint.

    Joints are matched by their names, or where these differ in their order. `ignore` lists kinds of differences that do
    not count, such as "tool" where one file ends at the flange. `packages` are those of `armwright.load`, for both
    files.
    """
    a, b = (_robot(which, packages) for which in (one, two))
    led = (a, b := in_link_order_of(b, a))
    a, b = a.without_couplings(), b.without_couplings()
    for kind in ignore:
        if kind not in KINDS:
            raise unknown("kind of difference to ignore:", kind, KINDS)
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise InputError(f"tolerance = {tolerance!r}: expected a small positive number such as 1e-6")
    if a.n != b.n:
        raise ModelError(
            f"{a.name} has {a.n} joints ({', '.join(j.name for j in a.joints)}) and {b.name} has {b.n} "
            f"({', '.join(j.name for j in b.joints)}); choose the same part of both by base=, tip=, locked= of load"
        )
    pairs = enumerate(zip(a.joints, b.joints, strict=True), start=1)
    types = [
        Difference(
            "joint type", both(x.name, y.name), f"joint {i} is {x.kind or x.type} here and {y.kind or y.type} there"
        )
        for i, (x, y) in pairs
        if (x.type, x.kind) != (y.type, y.kind)
    ]
    if types:
        return Comparison((a.name, b.name), tolerance, tuple(types))
    _check_branches(a, b)
    return _Pair(led, tolerance).comparison(set(ignore) | set(SILENT))


def _check_branches(a: Description, b: Description) -> None:
    """Links that hang on others are not laid over each other."""
    if len(a.links) != len(b.links):
        raise ModelError(
            f"{a.name} has {len(a.links)} links here and {len(b.links)} there; choose the same part of both by base=, "
            "tip=, locked= of load"
        )
    for i, (here, there) in enumerate(zip(a.parents, b.parents, strict=True)):
        if here != there:
            on = ["the base" if k < 0 else robot.links[k].name for robot, k in ((a, here), (b, there))]
            raise ModelError(
                f"link {both(a.links[i].name, b.links[i].name)} hangs on {on[0]} here and on {on[1]} there; expected "
                "the same branches, or the same names of joints in both"
            )


def _ended(a: Description, b: Description) -> tuple[Description, Description]:
    """The two with a tip where both leave it open: the frame of the last link that has its name in both."""
    if a.tip is not None or b.tip is not None:
        return a, b
    common = [link.name for link in a.links if link.name in b.frame_names]
    ends = [robot.frame(common[-1]) if common else Frame("tool", len(robot.links) - 1) for robot in (a, b)]
    one, two = (replace(robot, tip=at.link, flange=at.pose) for robot, at in zip((a, b), ends, strict=True))
    return one, two


def _robot(which: str | Path | Description, packages: Mapping[str, str | Path] | None) -> Description:
    if isinstance(which, Description):
        return which
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong with a file is for `check` to say
        return load(which, packages=packages, visuals=False)


def both(x: str, y: str) -> str:
    """One name, or the two a thing has."""
    return x if x == y else f"{x} / {y}"


def _leaders(robot: Description) -> list[int]:
    """Which of all joints move by themselves."""
    return [i for i, row in enumerate(robot.rows) if row.mimic is None]


class _Pair:
    """Two robots with the same joints, on the same random states.

    `a` and `b` are they with every joint on its own: these are laid over each other. Numbers are those of the
    coordinates: `led` are the robots as they are if both have the same joints in charge, else `a` and `b`; `own` are
    the joints that the coordinates belong to; `taken` are the second robot's positions for those.
    """

    def __init__(self, robots: tuple[Description, Description], tolerance: float) -> None:
        robots = _ended(*robots)
        self.robots, self.tolerance = robots, tolerance
        self.a, self.b = a, b = robots[0].without_couplings(), robots[1].without_couplings()
        one, two = Skeleton.of(a), Skeleton.of(b)
        self.reach = max(one.reach, two.reach)
        self.skeletons = (one, two)
        self.found: Alignment = align(one, two, tolerance, self._whole())
        self.alike = _leaders(robots[0]) == _leaders(robots[1])
        self.led = robots if self.alike else (a, b)
        self.own = _leaders(self.led[0])
        self.signs, offsets = (np.array(x)[self.own] for x in (self.found.signs, self.found.offsets))
        self.q, self.qd, self.qdd = states(self.led[0])
        more = [ball.rates.stop for ball in self.led[0].balls]  # of a ball nothing is taken over
        self.taken = np.insert(self.signs, more, 1.0) * self.q + np.insert(offsets, more, 0.0)

    def _whole(self) -> Array | None:
        """The motion between the two worlds, if one and the same explains all poses of the tool."""
        q = states(self.a)[0]
        here, there = (evaluate(robot, "forward_kinematics", q) for robot in (self.a, self.b))
        X = there @ np.linalg.inv(here)
        steady = np.max(np.abs(X - X[0])) <= self.tolerance * max(1.0, self.reach)
        return X[0] if steady else None

    def comparison(self, ignore: set[str]) -> Comparison:
        quantities = tuple(self._quantities())
        felt = tuple(self._felt())
        different = any(max(f.gravity, f.mass_matrix, f.torque) > self.tolerance for f in felt)
        couplings = dict(self._couplings())
        found = [*self._kinematics(couplings), *self._bodies(different), *couplings.values()]
        found += [
            *self._coordinates(),
            *self._gravity(),
            *self._drives(different),
            *self._springs(),
            *self._compensation(),
        ]
        found += self._rest()
        moves = any(quantity.worst > quantity.allowed for quantity in quantities)
        if moves and not any(difference.matters for difference in found):
            worst = max(quantities, key=lambda quantity: quantity.worst / quantity.allowed)
            text = f"{worst.name} differs by {worst.worst:.3g} {worst.unit}, and no single cause was found"
            found.append(Difference("torque", both(self.a.name, self.b.name), text))
        listed = tuple(Difference(d.kind, d.where, d.text, d.matters and d.kind not in ignore) for d in found)
        names = (self.a.name, self.b.name)
        return Comparison(names, self.tolerance, listed, quantities, felt, self._outermost())

    def joint(self, i: int) -> str:
        """The name of a joint, all of them counted."""
        return both(self.a.joints[i].name, self.b.joints[i].name)

    def link(self, i: int) -> str:
        return both(self.a.links[i].name, self.b.links[i].name)

    def _kinematics(self, couplings: Mapping[int, Difference]) -> Iterator[Difference]:
        """What a follower counts does not matter, if it follows as the other one does."""
        for i, (sign, offset) in enumerate(zip(self.found.signs, self.found.offsets, strict=True)):
            matters = i in self.own or i in couplings
            follows = "" if matters else ", and follows accordingly"
            if sign < 0:
                text = f"it counts the other way: q there is minus q here{follows}"
                yield Difference("sign", self.joint(i), text, matters)
            if offset:
                unit = "m" if self.a.joints[i].prismatic else "rad"
                turned = "" if unit == "m" else f" ({math.degrees(offset):.4g} degrees)"
                other = ", or the tool is set otherwise" if i == self.skeletons[0].hand else ""
                text = f"q = 0 here is {offset:.6g} {unit}{turned} there{other}{follows}"
                yield Difference("offset", self.joint(i), text, matters)
        for shape in self.found.shapes:
            yield self._shape(shape)

    def _shape(self, shape: Shape) -> Difference:
        distance, angle = (x if x > 1e-12 else 0.0 for x in (shape.distance, shape.angle))
        much = f"{distance:.4g} m and {angle:.4g} rad"
        if shape.i == self.a.n:
            on = "the last link" if self.a.tip in (None, len(self.a.links) - 1) else self.link(self.a.tool_frame.link)
            return Difference("tool", "tool", f"the tool frames are {much} apart on {on}")
        if shape.i == 0:
            return Difference("base", "base", f"they stand {much} apart: mounted elsewhere, or another first frame")
        parent = self.skeletons[0].parents[shape.i]
        lengths = [self._between(skeleton, shape.i) if parent >= 0 else (0.0, 0.0) for skeleton in self.skeletons]
        text = f"the axis of {self.joint(shape.i)} is {much} from where it should be on this link"
        for what, unit, x, y in zip(("distance", "angle"), ("m", "rad"), *lengths, strict=True):
            if abs(x - y) > self.tolerance * max(1.0, self.reach):
                text += f"; {what} of the axes {x:.6g} {unit} here, {y:.6g} there"
        return Difference("geometry", self._carried(parent), text)

    def _carried(self, row: int) -> str:
        """The link that a joint carries, or the next one beyond where it is one of several freedoms."""
        return "base" if row < 0 else self.link(next(i for i, carrier in enumerate(self.a.link_rows) if carrier >= row))

    @staticmethod
    def _between(skeleton: Skeleton, i: int) -> tuple[float, float]:
        """Distance of and angle between an axis and the one before it."""
        x, y = skeleton.axes[skeleton.parents[i]], skeleton.axes[i]
        across = np.cross(x.direction, y.direction)
        sine = float(np.linalg.norm(across))
        gap = y.point - x.point
        distance = abs(float(gap @ across)) / sine if sine > 1e-9 else float(np.linalg.norm(x.across(gap)))
        return distance, math.atan2(sine, float(x.direction @ y.direction))

    def _bodies(self, different: bool) -> Iterator[Difference]:
        """Bodies in the world at the zero position, the first robot's moved onto the second's."""
        here, there = self.skeletons
        one, two = (robot.mechanism().bodies for robot in (self.a, self.b))
        for i, row in enumerate(here.solid):
            m, c, inertia = _seen(one[row], self.found.moves[row] @ here.frames[row])
            n, d, other = _seen(two[row], there.frames[row])
            heavy, idle = max(abs(m), abs(n)), "" if different else IDLE
            if abs(m - n) > self.tolerance * heavy:
                yield Difference("mass", self.link(i), f"{m:.6g} kg here, {n:.6g} kg there{idle}", different)
            away = float(np.linalg.norm(c - d))
            if heavy and away > self.tolerance * self.reach:
                yield Difference("centre of mass", self.link(i), f"{away:.4g} m apart on the link{idle}", different)
            scale = max(float(np.max(np.abs(inertia))), float(np.max(np.abs(other))))
            off = float(np.max(np.abs(inertia - other)))
            if off > self.tolerance * scale:
                text = f"entries differ by up to {off:.4g} kg m^2 ({off / scale:.2g} of the largest){idle}"
                yield Difference("inertia", self.link(i), text, different)

    def _compensation(self) -> Iterator[Difference]:
        """Weight that is carried, in the world at the zero position."""
        here, there = self.skeletons
        for k, row in enumerate(here.solid):
            frames = self.found.moves[row] @ here.frames[row], there.frames[row]
            text = carried((self.a.links[k], self.b.links[k]), frames, self.tolerance, self.reach)
            if text:
                yield Difference("compensation", self.link(k), text)

    def _gravity(self) -> Iterator[Difference]:
        g = self.found.base[:3, :3] @ np.array(self.a.gravity)
        h = np.array(self.b.gravity)
        if np.max(np.abs(g - h)) > self.tolerance * max(np.linalg.norm(g), np.linalg.norm(h)):
            text = f"{_vector(g)} here, {_vector(h)} there, in m/s^2 and the second robot's axes"
            yield Difference("gravity", "base", text)

    def _drives(self, different: bool) -> Iterator[Difference]:
        """Friction and rotors. What a coordinate feels is a sum over its joints, and may differ in its parts only."""
        movers = list(zip(*map(driving_coordinates, self.led), strict=True))
        speeds = self.qd * np.logspace(-4, 0, len(self.qd))[:, None]  # of every size; friction is the same both ways
        felt = {"friction": self._differs(rubbing, speeds), "rotor": self._differs(rotors, self.qdd) & different}
        for kind, name in DRIVES:
            for i, (x, y) in enumerate(zip(self.a.joints, self.b.joints, strict=True)):
                one, two = getattr(x, name), getattr(y, name)
                if self._apart(one, two):
                    matters = bool(felt[kind][list(movers[i])].any())
                    text = f"{name} is {one:g} here and {two:g} there" + ("" if matters else IDLE)
                    yield Difference(kind, self.joint(i), text, matters)

    def _springs(self) -> Iterator[Difference]:
        """Springs that pull another way at the same positions; where they are at rest goes with the zeros."""
        if not any(row.sprung for robot in self.robots for row in robot.rows):
            return
        ours, theirs = evaluated(pulls, self.led[0], self.q), evaluated(pulls, self.led[1], self.taken) * self.signs
        off = _relative(ours, theirs, 0.0) > self.tolerance
        for i, differs in zip(self.own, off, strict=True):
            if differs:
                here, there = (spring(robot.rows[i]) for robot in (self.a, self.b))
                yield Difference("spring", self.joint(i), f"{here} here and {there} there")

    def _differs(self, torque: Callable[..., object], rates: Array) -> Array:
        """Whether each coordinate feels another torque."""
        ours, theirs = (evaluated(torque, robot, rates) for robot in self.led)
        differs: Array = _relative(ours, theirs, 0.0) > self.tolerance
        return differs

    def _apart(self, one: float, two: float) -> bool:
        return abs(one - two) > self.tolerance * max(abs(one), abs(two))

    def _coordinates(self) -> Iterator[Difference]:
        if not self.alike:
            here, there = (", ".join(joint.name for joint in robot.joints) for robot in self.robots)
            text = (
                f"what moves by itself is {here} here and {there} there; numbers are those with every joint on its own"
            )
            yield Difference("coupling", both(self.a.name, self.b.name), text)

    def _couplings(self) -> Iterator[tuple[int, Difference]]:
        """How joints follow each other, in the coordinates of the second robot; by which joint it is."""
        if not any(robot.followers for robot in self.robots):
            return
        alone = tuple(JointCoupling(((i, 1),)) for i in range(self.a.n))
        here, there = (robot.couplings or alone for robot in self.robots)
        leaders, signs, offsets = [_leaders(robot) for robot in self.robots], self.found.signs, self.found.offsets
        for i, (x, y) in enumerate(zip(here, there, strict=True)):
            if x.curve or y.curve:
                yield from self._curves(i, (x, y), (leaders[0], leaders[1]))
                continue
            one = {leaders[0][c]: signs[i] * signs[leaders[0][c]] * factor for c, factor in x.terms}
            two = {leaders[1][c]: float(factor) for c, factor in y.terms}
            offset = signs[i] * x.offset - sum(factor * offsets[k] for k, factor in one.items()) + offsets[i]
            mapped = 0.0 if i in one or not one else float(offset)
            apart = mapped - y.offset
            if not self.a.joints[i].prismatic:
                apart = math.remainder(apart, math.tau)
            off = [abs(one.get(k, 0.0) - two.get(k, 0.0)) for k in {*one, *two}]
            if one.keys() != two.keys() or max([abs(apart), *off]) > self.tolerance:
                text = f"{self._led(i, one, mapped)} here, {self._led(i, two, y.offset)} there"
                yield i, Difference("coupling", self.joint(i), text)

    def _curves(
        self, i: int, drives: tuple[JointCoupling, JointCoupling], leaders: tuple[Sequence[int], Sequence[int]]
    ) -> Iterator[tuple[int, Difference]]:
        """Of a joint that follows by a curve, here or there, or both."""
        (one,), (two,) = ([own[c] for c, _ in drive.terms] or [-1] for drive, own in zip(drives, leaders, strict=True))
        signs, offsets = self.found.signs, self.found.offsets
        q = np.linspace(-1.0, 1.0, 9)
        here, there = (
            drive.placed(at).at for drive, at in zip(drives, (q, signs[one] * q + offsets[one]), strict=True)
        )
        if one != two or np.abs(signs[i] * here + offsets[i] - there).max() > self.tolerance:
            yield i, Difference("coupling", self.joint(i), "it follows by another curve")

    def _led(self, i: int, leaders: Mapping[int, float], offset: float) -> str:
        if not leaders:
            return "a loop moves it"
        terms = " ".join(f"{factor:+g} {self.joint(k)}" for k, factor in leaders.items()).removeprefix("+")
        return "it moves by itself" if i in leaders else f"it is at {terms} {offset:+g}"

    def _rest(self) -> Iterator[Difference]:
        """What makes no difference to any motion."""
        for i, (x, y) in enumerate(zip(self.a.joints, self.b.joints, strict=True)):
            one, there = x.limits or NO_LIMITS, y.limits or NO_LIMITS
            two = tuple(sorted(self.found.signs[i] * (limit - self.found.offsets[i]) for limit in there))
            if one != two and not np.allclose(one, two, rtol=0, atol=self.tolerance):
                text = f"{one[0]:g} to {one[1]:g} here, {two[0]:g} to {two[1]:g} there, counted as here"
                yield Difference("limits", self.joint(i), text, False)
            for what, name in (("largest speed", "max_velocity"), ("largest effort", "max_torque")):
                most = [getattr(joint, name) for joint in (x, y)]
                if most[0] != most[1] and (None in most or self._apart(*most)):
                    known = ["not known" if value is None else f"{value:g}" for value in most]
                    yield Difference("limits", self.joint(i), f"{what} {known[0]} here, {known[1]} there", False)
        others = [self.joint(i) for i in range(self.a.n) if self.a.joints[i].name != self.b.joints[i].name]
        if others:
            yield Difference("names", both(self.a.name, self.b.name), f"joints matched: {', '.join(others)}", False)

    def _quantities(self) -> Iterator[Quantity]:
        here, there = (evaluate(robot, "forward_kinematics", self.q) for robot in self.led)
        taken = evaluate(self.led[1], "forward_kinematics", self.taken)
        raw = [apart(x, y) for x, y in zip(here, there, strict=True)]
        mapped = [apart(self.found.base @ x, y) for x, y in zip(here, taken, strict=True)]
        for i, name, unit, allowed in (
            (1, "tip position", "m", self.tolerance * self.reach),
            (0, "tip orientation", "rad", self.tolerance),
        ):
            yield Quantity(name, unit, max(x[i] for x in raw), max(x[i] for x in mapped), allowed)
        for problem, (ours, plain, over) in self.torques.items():
            worst, left = (float(np.max(_relative(ours, theirs))) for theirs in (plain, over))
            yield Quantity(problem.replace("_", " "), "relative", worst, left, self.tolerance)

    @cached_property
    def torques(self) -> dict[str, tuple[Array, Array, Array]]:
        """By problem: of the first robot, of the second as it is, and of the second with signs and zeros taken over."""
        found = {}
        for problem, rates in (("gravity_torque", ()), ("mass_matrix", ()), ("inverse_dynamics", (self.qd, self.qdd))):
            ours, plain = (evaluate(robot, problem, self.q, *rates) for robot in self.led)
            over = evaluate(self.led[1], problem, self.taken, *(self.signs * x for x in rates))
            signs = self.signs[:, None] * self.signs if problem == "mass_matrix" else self.signs
            found[problem] = (ours, plain, over * signs)
        return found

    def _felt(self) -> Iterator[Felt]:
        columns = (_relative(ours, over) for ours, _, over in self.torques.values())
        for i, row in enumerate(zip(*columns, strict=True)):
            yield Felt(self.joint(self.own[i]), *map(float, row))

    def _outermost(self) -> str | None:
        """The joint nearest to the tip whose torque differs when it, or one beyond it, moves alone.

        Its own torque, and what it does to the joints beyond it, depends on the bodies from its link outwards only;
        with followers, from the innermost link that moves with it.
        """
        M, _, N = self.torques["mass_matrix"]
        ours, _, over = self.torques["gravity_torque"]
        weight = _relative(ours, over)
        movers, here = driving_coordinates(self.led[0]), self.skeletons[0]
        innermost = {c: movers.index(c) for c in range(len(self.own))}
        for c in sorted(innermost, key=innermost.__getitem__, reverse=True):
            outer = here.beyond(innermost[c], len(here.axes))
            moved = [c, *(k for k, row in innermost.items() if row in outer and k != c)]
            block = np.ix_(range(len(M)), moved, moved)
            if max(float(_relative(M[block], N[block])[0]), float(weight[c])) > self.tolerance:
                return self.joint(self.own[c])
        return None


def _seen(body: Any, T: Array) -> tuple[float, Array, Array]:
    """Mass, centre of mass and tensor of a body whose frame is T."""
    R = T[:3, :3]
    inertia = R @ np.array(body.inertia.matrix, dtype=float) @ R.T
    return float(body.mass), R @ np.array(body.com, dtype=float) + T[:3, 3], inertia


def _relative(one: Array, two: Array, least: float = 1e-6) -> Array:
    """For each joint the largest difference of its torques over the largest torque; of a matrix, of its row.

    A joint that hardly has any counts as having `least` of the largest of all.
    """
    axes = tuple(i for i in range(one.ndim) if i != 1)
    largest = np.maximum(np.max(np.abs(one), axis=axes), np.max(np.abs(two), axis=axes))
    floor = least * float(np.max(largest, initial=0.0))
    off: Array = np.max(np.abs(one - two), axis=axes) / np.maximum(largest, max(floor, 1e-300))
    return off


def _vector(v: Array) -> str:
    return " ".join(f"{x:.5g}" for x in np.where(np.abs(v) > 1e-12, v, 0.0))
