"""Rules about a robot: units of masses, friction and torques, placeholders, copied tensors, gravity, joints."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np

from armwright.model.description import Description
from armwright.model.followers import limits_with_follower
from armwright.model.transforms import right_angles
from armwright.rules.body_rules import MAX_LINK_LENGTH
from armwright.rules.facts import BodyFacts, RobotFacts
from armwright.rules.massless_joints import massless_joints
from armwright.rules.problem import Doubt, Rule
from armwright.rules.tensors import tensors_agree

MAX_DENSITY = 2000.0
"""Mass over reach^3, kg/m^3; real arms have 5 to 150."""

UNDOUBTED_MASS, MAX_MASS_RATIO = 50.0, 200.0
"""Mass in kg up to which there is no doubt, and largest ratio of a mass to the median of the robot."""

MAX_PAYLOAD_RATIO = 10.0
"""Largest mass of a payload over that of the robot."""

PAYLOAD_REACH = 1.0
"""Metres: distance from tool to payload, and length of the payload, up to which there is no doubt."""

MAX_FRICTION_RATIO, MAX_TORQUE_RATIO, MAX_ROTOR_RATIO = 10.0, 100.0, 100.0
"""Friction and largest torque over the torque that lifts the outstretched robot; rotor inertia over that of the robot.

Powers of ten cause no doubt: they stand for unknown values.
"""

SLIGHT_MASS_DIFFERENCE = 0.1
"""Relative difference of masses up to which a copied tensor is a note."""

PLACEHOLDER_REASON = ", a placeholder of exporters"

EARTH_GRAVITY_RANGE = (9.76, 9.84)
PLANET_GRAVITY = {1.62: "the Moon's", 3.71: "that of Mars", 8.87: "that of Venus", 24.8: "Jupiter's"}


def masses_in_grams(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt masses that are far above the others, or else the total mass of the robot."""
    bodies, mass = robot.massive, sum(body.mass for body in robot.massive)
    median = sorted(body.mass for body in bodies)[len(bodies) // 2] if len(bodies) > 2 else math.inf
    heavy = [body for body in bodies if body.mass > max(UNDOUBTED_MASS, MAX_MASS_RATIO * median)]
    for body in heavy:
        text = f"its mass is {body.mass:.4g} kg, the median is {median:.2g} kg; grams?"
        yield Doubt("warning", text, body.name)
    if not heavy and 0 < robot.reach < MAX_LINK_LENGTH and mass > max(UNDOUBTED_MASS, MAX_DENSITY * robot.reach**3):
        text = f"it weighs {mass:.4g} kg with a reach of about {robot.reach:.2g} m; are its masses in grams?"
        yield Doubt("warning", text, about=tuple(body.name for body in bodies))


def payload_in_grams(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt a payload that is much heavier than the robot."""
    payload = robot.payload
    if payload is not None and payload.mass > max(UNDOUBTED_MASS, MAX_PAYLOAD_RATIO * robot.mass) and robot.mass:
        text = f"its mass is {payload.mass:.4g} kg, and the robot weighs {robot.mass:.3g} kg; grams?"
        yield Doubt("warning", text, payload.name)


def payload_far_off(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt a centre of mass that is farther from the tool than the robot reaches."""
    payload = robot.payload
    if payload is not None and payload.mass and payload.offset > max(robot.reach, PAYLOAD_REACH):
        guess = "; millimetres?" if robot.reach < MAX_LINK_LENGTH else ""
        text = f"its centre of mass is {payload.offset:.4g} m from the tool; the robot reaches {robot.reach:.2g} m"
        yield Doubt("warning", text + guess, payload.name)


def _lifting_torque(robot: RobotFacts) -> float:
    """Return the torque, N m, that holds the outstretched robot on the Earth; infinite if its size is unknown."""
    torque = 9.81 * robot.mass * robot.reach
    return torque if torque and robot.reach < MAX_LINK_LENGTH else math.inf


def friction_in_millimetres(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt friction that is far above the torque of lifting the robot."""
    lifting = _lifting_torque(robot)
    for joint in robot.joints:
        value = max(joint.coulomb, joint.viscous)
        if joint.rotary and value > MAX_FRICTION_RATIO * lifting and not _power_of_ten(value):
            what, unit = ("dry", "N m") if joint.coulomb > joint.viscous else ("viscous", "N m s")
            text = f"its {what} friction is {value:.4g} {unit}, but {lifting:.2g} N m lift the whole robot; in N mm?"
            yield Doubt("warning", text, joint.name)


def large_rotors(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt rotors with far more inertia than the robot."""
    inertia = robot.mass * robot.reach**2 if robot.reach < MAX_LINK_LENGTH else 0.0
    for joint in robot.joints:
        if joint.rotary and joint.armature > MAX_ROTOR_RATIO * inertia > 0 and not _power_of_ten(joint.armature):
            text = (
                f"the rotor inertia at the joint is {joint.armature:.3g} kg m^2, that of the robot {inertia:.2g}; is "
                "the inertia in g cm^2 or kg mm^2?"
            )
            yield Doubt("warning", text, joint.name)


def torque_in_millimetres(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt torques that are far above the torque of lifting the robot."""
    lifting = _lifting_torque(robot)
    for joint in robot.joints:
        torque = joint.effort if joint.rotary and joint.effort is not None else 0.0
        if torque > MAX_TORQUE_RATIO * lifting and not _power_of_ten(torque):
            text = f"its largest torque is {torque:.4g} N m, but {lifting:.2g} N m lift the whole robot; in N mm?"
            yield Doubt("note", text, joint.name)


def far_frames(robot: Description) -> Iterator[Doubt]:
    """Doubt a tool or a named frame far from its link; one doubt per link."""
    tools = [] if robot.tip is None else [robot.tool_frame]
    doubted = set[int]()
    for frame in (*tools, *robot.frames):
        if frame.link < 0 or frame.link in doubted:
            continue
        at, link = np.asarray(frame.pose)[:3, 3], robot.links[frame.link]
        distance = min(math.hypot(*at), math.hypot(*(at - link.com)))
        if distance > MAX_LINK_LENGTH:
            doubted.add(frame.link)
            what = "its tool" if frame in tools else f"frame {frame.name}"
            yield Doubt("warning", f"{what} is {distance:.4g} m away; millimetres?", link.name)


def far_base(robot: Description) -> Iterator[Doubt]:
    """Doubt a base far from the origin of the world."""
    distance = math.hypot(*(row[3] for row in robot.base[:3]))
    if distance > MAX_LINK_LENGTH and not robot.rows[0].kind:
        yield Doubt("warning", f"it is {distance:.4g} m from the origin of the world; millimetres?", robot.rows[0].name)


def round_tensors(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt tensors that are a power of ten times the unit matrix."""
    rounded = [body for body in robot.massive if _round(body)]
    for body in rounded:
        text = f"its tensor is {body.largest:g} times the unit matrix{PLACEHOLDER_REASON}"
        yield Doubt("note" if len(rounded) == 1 or body.minor else "warning", text, body.name)


def equal_masses(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt masses that are all the same power of ten."""
    bodies = robot.massive
    if len(bodies) > 2 and len({body.mass for body in bodies}) == 1 and _power_of_ten(bodies[0].mass):
        text = f"all {len(bodies)} links have a mass of {bodies[0].mass:g} kg{PLACEHOLDER_REASON}"
        yield Doubt("warning", text, about=tuple(body.name for body in bodies))


def _round(body: BodyFacts) -> bool:
    return _power_of_ten(body.largest) and tensors_agree(body.inertia, body.largest * np.eye(3), 1e-12)


def _power_of_ten(x: float) -> bool:
    return x > 0 and abs(math.log10(x) - round(math.log10(x))) < 1e-12


def copied_tensors(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt equal principal moments on links of different masses: they were copied, possibly with other axes."""
    groups: dict[tuple[float, ...], list[BodyFacts]] = {}
    for body in robot.massive:
        if not body.without_inertia and not _round(body):
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
                slight = max(body.mass - masses[0], masses[-1] - body.mass) <= SLIGHT_MASS_DIFFERENCE * body.mass
                yield Doubt("note" if body.minor or slight else "warning", text, body.name)


def gravity(robot: RobotFacts) -> Iterator[Doubt]:
    """Doubt gravity that points up or is not that of the Earth."""
    if robot.gravity is None:
        return
    size, largest = math.hypot(*robot.gravity), max(robot.gravity, key=abs)
    if not size:
        yield Doubt("note", "it is weightless: gravity is 0 0 0")
        return
    if not EARTH_GRAVITY_RANGE[0] <= size <= EARTH_GRAVITY_RANGE[1]:
        known = next((text for value, text in PLANET_GRAVITY.items() if abs(size - value) < 0.02 * value), None)
        text = f"gravity is {size:.5g} m/s^2" + (f", {known}" if known else "; expected 9.81, or 0 for none")
        yield Doubt("note" if known else "warning", text)
    if largest > 0.5 * size:
        axis = "xyz"[robot.gravity.index(largest)]
        text = f"gravity points along +{axis}" + ("; do things fall up?" if axis == "z" else "")
        yield Doubt("warning" if axis == "z" else "note", text)


def coaxial_joints(robot: Description) -> Iterator[Doubt]:
    """Doubt neighbouring joints that rotate about the same line, or slide along parallel ones, and are not coupled."""
    rows, carriers = robot.rows, robot.link_rows
    for carrier, parent in zip(carriers, robot.parents, strict=True):
        before, joint = rows[carriers[parent]], rows[carrier]
        if parent < 0 or before.mimic or joint.mimic or before.kind or joint.kind:  # telescopes, balls
            continue
        quarters = right_angles(joint.alpha)
        parallel = quarters is not None and quarters % 2 == 0
        same_line = joint.prismatic or math.hypot(joint.a, joint.y) < 1e-9
        if parallel and before.prismatic == joint.prismatic and same_line:
            what = "slides along the same direction" if joint.prismatic else "rotates about the same line"
            text = f"it {what} as {before.name}, so one of the two is redundant"
            yield Doubt("warning", text, joint.name, (before.name,))


def conflicting_follower_limits(robot: Description) -> Iterator[Doubt]:
    """Doubt limits of a follower and its leader that no position fulfils."""
    leaders = {joint.name: joint for joint in robot.joints}
    for follower in robot.followers:
        leader = leaders[follower.mimic.joint] if follower.mimic else follower
        common = limits_with_follower(leader.limits, follower)
        if common is not None and common[0] >= common[1]:
            text = f"no position fulfils its limits and those of {leader.name}, which it follows"
            yield Doubt("warning", text, follower.name)


def massless_motion(robot: Description) -> Iterator[Doubt]:
    """Doubt joints that can move without moving any mass."""
    massless = massless_joints(robot)
    if not massless:
        return
    names = ", ".join(robot.joints[i].name for i in massless)
    row = next(i for i, coordinate in enumerate(driving_coordinates(robot)) if coordinate in massless)
    innermost = next(i for i, carrier in enumerate(robot.link_rows) if carrier >= row)
    subtree = {innermost}
    for i, parent in enumerate(robot.parents):
        subtree |= {i} if parent in subtree else set()
    outer = [robot.links[i] for i in sorted(subtree)]
    empty = not any(link.mass or np.any(link.inertia) for link in outer)
    if empty and (robot.payload is None or not robot.payload.mass):
        what = f"nothing outside its joint has mass or inertia ({', '.join(link.name for link in outer)})"
    else:
        what = f"{names} can move without moving any mass"
    text = f"{what}, so the mass matrix is singular; give it a mass, a payload or a rotor inertia"
    yield Doubt("error", text, robot.links[innermost].name)


def driving_coordinates(robot: Description) -> list[int]:
    """Return the coordinate that moves each joint, the first of several."""
    places = {joint.name: i for i, joint in enumerate(robot.joints)}
    return [places[row.mimic.joint if row.mimic else row.name] for row in robot.rows]


ROBOT_RULES = (
    Rule(RobotFacts, "suspicious units", masses_in_grams),
    Rule(RobotFacts, "suspicious units", payload_in_grams),
    Rule(RobotFacts, "centre of mass outside", payload_far_off),
    Rule(RobotFacts, "suspicious units", friction_in_millimetres),
    Rule(RobotFacts, "suspicious units", large_rotors),
    Rule(RobotFacts, "suspicious units", torque_in_millimetres),
    Rule(RobotFacts, "placeholder", round_tensors, "round values that exporters write for unknown ones"),
    Rule(RobotFacts, "placeholder", equal_masses),
    Rule(RobotFacts, "identical inertia", copied_tensors, "the same tensor on links of different mass"),
    Rule(RobotFacts, "gravity", gravity, "gravity that points up, or is not that of the Earth"),
    Rule(Description, "millimetres", far_frames),
    Rule(Description, "millimetres", far_base),
    Rule(Description, "coaxial joints", coaxial_joints, "neighbouring joints that do the same motion"),
    Rule(Description, "no travel", conflicting_follower_limits),
    Rule(Description, "singular mass matrix", massless_motion, "a joint that can move without moving any mass"),
)
