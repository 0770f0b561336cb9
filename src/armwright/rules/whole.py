"""Rules about a robot as a whole: masses, placeholders and copies among its bodies, gravity, what its chain can do."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np

from armwright.model.description import Description, meeting_limits, right_angles
from armwright.rules.bodies import LONGEST
from armwright.rules.facts import BodyFacts, RobotFacts
from armwright.rules.idle import always_idle
from armwright.rules.problem import Doubt
from armwright.rules.tensors import near

DENSEST = 2000.0
"""kg over reach^3: real arms have 5 to 150."""

HEAVY, HEAVIER = 50.0, 200.0
"""kg that are not doubted; times what is usual on a robot."""

HEAVIEST_LOAD = 10.0
"""Times what a robot weighs."""

NEAR_TOOL = 1.0
"""Metres from the tool within which what is held may have its centre of mass, and how long it may be, however small the
robot is.
"""

STIFFEST, STRONGEST, LARGEST_ROTOR = 10.0, 100.0, 100.0
"""Friction and largest torque over what lifts the whole robot stretched out, a rotor over its inertia then.

Powers of ten are not judged: they are what is written where nothing is known.
"""

SLIGHT = 0.1
"""Relative difference of masses for which a copied tensor does little harm."""

UNKNOWN = ", as exporters write where they know nothing"

EARTH = (9.76, 9.84)
PLANETS = {1.62: "the Moon's", 3.71: "that of Mars", 8.87: "that of Venus", 24.8: "Jupiter's"}


def masses_in_grams(robot: RobotFacts) -> Iterator[Doubt]:
    """Of single bodies, or else of all."""
    bodies, mass = robot.weighty, sum(body.mass for body in robot.weighty)
    usual = sorted(body.mass for body in bodies)[len(bodies) // 2] if len(bodies) > 2 else math.inf
    heavy = [body for body in bodies if body.mass > max(HEAVY, HEAVIER * usual)]
    for body in heavy:
        text = f"its mass is {body.mass:.4g} kg where others have some {usual:.2g}; grams?"
        yield Doubt("warning", text, body.name)
    if not heavy and 0 < robot.reach < LONGEST and mass > max(HEAVY, DENSEST * robot.reach**3):
        text = f"it weighs {mass:.4g} kg with a reach of some {robot.reach:.2g} m; are its masses in grams?"
        yield Doubt("warning", text, about=tuple(body.name for body in bodies))


def payload_in_grams(robot: RobotFacts) -> Iterator[Doubt]:
    held = robot.payload
    if held is not None and held.mass > max(HEAVY, HEAVIEST_LOAD * robot.mass) and robot.mass:
        text = f"its mass is {held.mass:.4g} kg, and the robot weighs {robot.mass:.3g} kg; grams?"
        yield Doubt("warning", text, held.name)


def payload_far_off(robot: RobotFacts) -> Iterator[Doubt]:
    """Farther from the tool than the robot reaches."""
    held = robot.payload
    if held is not None and held.mass and held.off > max(robot.reach, NEAR_TOOL):
        guess = "; millimetres?" if robot.reach < LONGEST else ""
        text = f"its centre of mass is {held.off:.4g} m from the tool of a robot that reaches some {robot.reach:.2g} m"
        yield Doubt("warning", text + guess, held.name)


def _lifting(robot: RobotFacts) -> float:
    """N m that hold the whole robot stretched out on the Earth; infinite where its size is not known."""
    torque = 9.81 * robot.mass * robot.reach
    return torque if torque and robot.reach < LONGEST else math.inf


def friction_in_millimetres(robot: RobotFacts) -> Iterator[Doubt]:
    lifting = _lifting(robot)
    for joint in robot.joints:
        value = max(joint.coulomb, joint.viscous)
        if joint.turns and value > STIFFEST * lifting and not _power_of_ten(value):
            what, unit = ("dry", "N m") if joint.coulomb > joint.viscous else ("viscous", "N m s")
            text = f"its {what} friction is {value:.4g} {unit}, where {lifting:.2g} N m lift the whole robot; in N mm?"
            yield Doubt("warning", text, joint.name)


def large_rotors(robot: RobotFacts) -> Iterator[Doubt]:
    inertia = robot.mass * robot.reach**2 if robot.reach < LONGEST else 0.0
    for joint in robot.joints:
        if joint.turns and joint.armature > LARGEST_ROTOR * inertia > 0 and not _power_of_ten(joint.armature):
            text = (
                f"its rotor is felt as {joint.armature:.3g} kg m^2, where the whole robot has some {inertia:.2g}; is "
                "the inertia in g cm^2 or kg mm^2?"
            )
            yield Doubt("warning", text, joint.name)


def torque_in_millimetres(robot: RobotFacts) -> Iterator[Doubt]:
    lifting = _lifting(robot)
    for joint in robot.joints:
        most = joint.effort if joint.turns and joint.effort is not None else 0.0
        if most > STRONGEST * lifting and not _power_of_ten(most):
            text = f"its largest torque is {most:.4g} N m, where {lifting:.2g} N m lift the whole robot; in N mm?"
            yield Doubt("note", text, joint.name)


def far_frames(robot: Description) -> Iterator[Doubt]:
    """The tool, or a named frame, far from its link; one doubt for each link."""
    tools = [] if robot.tip is None else [robot.hand]
    told = set[int]()
    for frame in (*tools, *robot.frames):
        if frame.link < 0 or frame.link in told:
            continue
        at, link = np.asarray(frame.pose)[:3, 3], robot.links[frame.link]
        away = min(math.hypot(*at), math.hypot(*(at - link.com)))
        if away > LONGEST:
            told.add(frame.link)
            what = "its tool" if frame in tools else f"frame {frame.name}"
            yield Doubt("warning", f"{what} is {away:.4g} m away; millimetres?", link.name)


def far_base(robot: Description) -> Iterator[Doubt]:
    away = math.hypot(*(row[3] for row in robot.base[:3]))
    if away > LONGEST and not robot.rows[0].kind:
        yield Doubt("warning", f"it stands {away:.4g} m from the origin of the world; millimetres?", robot.rows[0].name)


def round_tensors(robot: RobotFacts) -> Iterator[Doubt]:
    found = [body for body in robot.weighty if _round(body)]
    for body in found:
        text = f"its tensor is {body.largest:g} times the unit matrix{UNKNOWN}"
        yield Doubt("note" if len(found) == 1 or body.minor else "warning", text, body.name)


def equal_masses(robot: RobotFacts) -> Iterator[Doubt]:
    bodies = robot.weighty
    if len(bodies) > 2 and len({body.mass for body in bodies}) == 1 and _power_of_ten(bodies[0].mass):
        text = f"all {len(bodies)} links have a mass of {bodies[0].mass:g} kg{UNKNOWN}"
        yield Doubt("warning", text, about=tuple(body.name for body in bodies))


def _round(body: BodyFacts) -> bool:
    return _power_of_ten(body.largest) and near(body.inertia, body.largest * np.eye(3), 1e-12)


def _power_of_ten(x: float) -> bool:
    return x > 0 and abs(math.log10(x) - round(math.log10(x))) < 1e-12


def copied_tensors(robot: RobotFacts) -> Iterator[Doubt]:
    """Equal parts have equal masses; the same principal moments on unequal ones were copied, whatever the axes."""
    groups: dict[tuple[float, ...], list[BodyFacts]] = {}
    for body in robot.weighty:
        if not body.empty and not _round(body):
            groups.setdefault(tuple(float(f"{x:.9g}") for x in body.moments), []).append(body)
    for group in groups.values():
        ordered = sorted(group, key=lambda body: body.mass)
        masses = [body.mass for body in ordered]
        for body in group:
            lighter, heavier = bisect_left(masses, 0.99 * body.mass), bisect_right(masses, 1.01 * body.mass)
            others = [*ordered[: min(lighter, 4)], *ordered[heavier:][:4]][:4]
            if others:
                names = ", ".join(other.name for other in others)
                text = f"its tensor is that of {names}, though the masses differ ({body.mass:g}, {others[0].mass:g} kg)"
                slight = max(body.mass - masses[0], masses[-1] - body.mass) <= SLIGHT * body.mass
                yield Doubt("note" if body.minor or slight else "warning", text, body.name)


def gravity(robot: RobotFacts) -> Iterator[Doubt]:
    if robot.gravity is None:
        return
    size, largest = math.hypot(*robot.gravity), max(robot.gravity, key=abs)
    if not size:
        yield Doubt("note", "it is weightless: gravity is 0 0 0")
        return
    if not EARTH[0] <= size <= EARTH[1]:
        known = next((text for value, text in PLANETS.items() if abs(size - value) < 0.02 * value), None)
        text = f"gravity is {size:.5g} m/s^2" + (f", {known}" if known else "; expected 9.81, or 0 for none")
        yield Doubt("note" if known else "warning", text)
    if largest > 0.5 * size:
        axis = "xyz"[robot.gravity.index(largest)]
        text = f"gravity points along {axis}, not against it" + ("; do things fall up?" if axis == "z" else "")
        yield Doubt("warning" if axis == "z" else "note", text)


def coaxial(robot: Description) -> Iterator[Doubt]:
    """Neighbouring joints that turn about the same line, or slide along parallel ones, each by itself."""
    rows, carriers = robot.rows, robot.carriers
    for carrier, parent in zip(carriers, robot.parents, strict=True):
        before, joint = rows[carriers[parent]], rows[carrier]
        if parent < 0 or before.mimic or joint.mimic or before.kind or joint.kind:  # a telescope, or made for it
            continue
        quarters = right_angles(joint.alpha)
        parallel = quarters is not None and quarters % 2 == 0
        if (
            parallel
            and before.prismatic == joint.prismatic
            and (joint.prismatic or math.hypot(joint.a, joint.y) < 1e-9)
        ):
            what = "slides along the same direction" if joint.prismatic else "turns about the same line"
            text = f"it {what} as {before.name}, so that the two do the work of one"
            yield Doubt("warning", text, joint.name, (before.name,))


def nowhere_to_follow(robot: Description) -> Iterator[Doubt]:
    leaders = {joint.name: joint for joint in robot.joints}
    for follower in robot.followers:
        leader = leaders[follower.mimic.joint] if follower.mimic else follower
        left = meeting_limits(leader.limits, follower)
        if left is not None and left[0] >= left[1]:
            text = f"its limits and those of {leader.name}, which it follows, leave no position for both"
            yield Doubt("warning", text, follower.name)


def moves_no_mass(robot: Description) -> Iterator[Doubt]:
    still = always_idle(robot)
    if not still:
        return
    names = ", ".join(robot.joints[i].name for i in still)
    row = next(i for i, coordinate in enumerate(driven(robot)) if coordinate in still)
    inmost = next(i for i, carrier in enumerate(robot.carriers) if carrier >= row)
    beyond = {inmost}
    for i, parent in enumerate(robot.parents):
        beyond |= {i} if parent in beyond else set()
    outer = [robot.links[i] for i in sorted(beyond)]
    empty = not any(link.mass or np.any(link.inertia) for link in outer)
    if empty and (robot.payload is None or not robot.payload.mass):
        what = f"nothing outside its joint has mass or inertia ({', '.join(link.name for link in outer)})"
    else:
        what = f"{names} can move without moving any mass"
    text = f"{what}, so the mass matrix is singular; give it a mass, a payload or a rotor inertia"
    yield Doubt("error", text, robot.links[inmost].name)


def driven(robot: Description) -> list[int]:
    """Which coordinate moves each joint; of several, as those of a loop, the first."""
    places = {joint.name: i for i, joint in enumerate(robot.joints)}
    return [places[row.mimic.joint if row.mimic else row.name] for row in robot.rows]
