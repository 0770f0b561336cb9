"""The differences of two robots, by kind: kinematics, bodies, drives, springs, couplings, limits and names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.check.align import Deviation, Skeleton
from armwright.check.comparison import Comparison, Difference
from armwright.check.drive_loads import (
    compensation_difference,
    friction_torques,
    rotor_torques,
    spring_text,
    spring_torques,
)
from armwright.check.evaluation import evaluate_function
from armwright.check.robot_pair import RobotPair, joint_names, leaders_of, relative_differences
from armwright.mechanism import JointCoupling
from armwright.rules.robot_rules import driving_coordinates

WITHOUT_EFFECT = ", without effect on any torque"

NO_LIMITS = (-math.inf, math.inf)

DRIVE_DIFFERENCES = (("rotor", "armature"), ("friction", "viscous"), ("friction", "coulomb"), ("friction", "smooth"))
"""Kinds of differences, each with its field of a joint."""


def comparison_of(pair: RobotPair, ignore: set[str]) -> Comparison:
    """Return the comparison of two robots; kinds of differences in `ignore` do not count."""
    quantities = tuple(pair.quantities())
    effects = tuple(pair.joint_differences())
    different = any(max(f.gravity, f.mass_matrix, f.torque) > pair.tolerance for f in effects)
    couplings = dict(_coupling_differences(pair))
    differences = [*_kinematic_differences(pair, couplings), *_body_differences(pair, different), *couplings.values()]
    differences += [
        *_coordinate_difference(pair),
        *_gravity_difference(pair),
        *_drive_differences(pair, different),
        *_spring_differences(pair),
        *_compensation_differences(pair),
    ]
    differences += _uncounted_differences(pair)
    exceeded = any(quantity.worst > quantity.allowed for quantity in quantities)
    if exceeded and not any(difference.matters for difference in differences):
        worst = max(quantities, key=lambda quantity: quantity.worst / quantity.allowed)
        text = f"{worst.name} differs by {worst.worst:.3g} {worst.unit}, and no single cause was found"
        differences.append(Difference("torque", joint_names(pair.a.name, pair.b.name), text))
    listed = tuple(Difference(d.kind, d.where, d.text, d.matters and d.kind not in ignore) for d in differences)
    names = (pair.a.name, pair.b.name)
    return Comparison(names, pair.tolerance, listed, quantities, effects, pair.outermost())


def _kinematic_differences(pair: RobotPair, couplings: Mapping[int, Difference]) -> Iterator[Difference]:
    """Yield differences of signs, zeros and shapes; those of a follower matter only if its coupling differs, too."""
    for i, (sign, offset) in enumerate(zip(pair.alignment.signs, pair.alignment.offsets, strict=True)):
        matters = i in pair.coordinate_joints or i in couplings
        follows = "" if matters else ", and follows accordingly"
        if sign < 0:
            text = f"its sign is opposite: q there is minus q here{follows}"
            yield Difference("sign", pair.joint(i), text, matters)
        if offset:
            unit = "m" if pair.a.joints[i].prismatic else "rad"
            degrees = "" if unit == "m" else f" ({math.degrees(offset):.4g} degrees)"
            other = ", or the tool is mounted differently" if i == pair.skeletons[0].tip_joint else ""
            text = f"q = 0 here is {offset:.6g} {unit}{degrees} there{other}{follows}"
            yield Difference("offset", pair.joint(i), text, matters)
    for deviation in pair.alignment.deviations:
        yield _deviation_difference(pair, deviation)


def _deviation_difference(pair: RobotPair, deviation: Deviation) -> Difference:
    distance, angle = (x if x > 1e-12 else 0.0 for x in (deviation.distance, deviation.angle))
    size = f"{distance:.4g} m and {angle:.4g} rad"
    if deviation.i == pair.a.n:
        on = "the last link" if pair.a.tip in (None, len(pair.a.links) - 1) else pair.link(pair.a.tool_frame.link)
        return Difference("tool", "tool", f"the tool frames are {size} apart on {on}")
    if deviation.i == 0:
        return Difference("base", "base", f"their bases are {size} apart: another mounting, or another first frame")
    parent = pair.skeletons[0].parents[deviation.i]
    lengths = [
        _axis_distance_and_angle(skeleton, deviation.i) if parent >= 0 else (0.0, 0.0) for skeleton in pair.skeletons
    ]
    text = f"the axis of {pair.joint(deviation.i)} is {size} from its expected place on this link"
    for what, unit, x, y in zip(("distance", "angle"), ("m", "rad"), *lengths, strict=True):
        if abs(x - y) > pair.tolerance * max(1.0, pair.reach):
            text += f"; {what} of the axes {x:.6g} {unit} here, {y:.6g} there"
    return Difference("geometry", _carried_link(pair, parent), text)


def _body_differences(pair: RobotPair, different: bool) -> Iterator[Difference]:
    """Yield differences of bodies in the world at the zero position, those of the first robot mapped."""
    here, there = pair.skeletons
    one, two = (robot.mechanism().bodies for robot in (pair.a, pair.b))
    for i, row in enumerate(here.solid):
        m, c, inertia = _body_in_world(one[row], pair.alignment.moves[row] @ here.frames[row])
        n, d, other = _body_in_world(two[row], there.frames[row])
        mass, effect = max(abs(m), abs(n)), "" if different else WITHOUT_EFFECT
        if abs(m - n) > pair.tolerance * mass:
            yield Difference("mass", pair.link(i), f"{m:.6g} kg here, {n:.6g} kg there{effect}", different)
        distance = float(np.linalg.norm(c - d))
        if mass and distance > pair.tolerance * pair.reach:
            yield Difference("centre of mass", pair.link(i), f"{distance:.4g} m apart on the link{effect}", different)
        scale = max(float(np.max(np.abs(inertia))), float(np.max(np.abs(other))))
        change = float(np.max(np.abs(inertia - other)))
        if change > pair.tolerance * scale:
            text = f"entries differ by up to {change:.4g} kg m^2 ({change / scale:.2g} of the largest){effect}"
            yield Difference("inertia", pair.link(i), text, different)


def _compensation_differences(pair: RobotPair) -> Iterator[Difference]:
    """Yield differences of compensated weight in the world at the zero position."""
    here, there = pair.skeletons
    for k, row in enumerate(here.solid):
        frames = pair.alignment.moves[row] @ here.frames[row], there.frames[row]
        text = compensation_difference((pair.a.links[k], pair.b.links[k]), frames, pair.tolerance, pair.reach)
        if text:
            yield Difference("compensation", pair.link(k), text)


def _gravity_difference(pair: RobotPair) -> Iterator[Difference]:
    g = pair.alignment.base[:3, :3] @ np.array(pair.a.gravity)
    h = np.array(pair.b.gravity)
    if np.max(np.abs(g - h)) > pair.tolerance * max(np.linalg.norm(g), np.linalg.norm(h)):
        text = f"{_vector(g)} here, {_vector(h)} there, in m/s^2 and the second robot's axes"
        yield Difference("gravity", "base", text)


def _drive_differences(pair: RobotPair, different: bool) -> Iterator[Difference]:
    """Yield differences of friction and rotors; they matter if the sum over the joints of a coordinate differs."""
    movers = list(zip(*map(driving_coordinates, pair.compared), strict=True))
    speeds = pair.qd * np.logspace(-4, 0, len(pair.qd))[:, None]  # of all magnitudes; friction is symmetric
    differs = {
        "friction": pair.torque_differs(friction_torques, speeds),
        "rotor": pair.torque_differs(rotor_torques, pair.qdd) & different,
    }
    for kind, name in DRIVE_DIFFERENCES:
        for i, (x, y) in enumerate(zip(pair.a.joints, pair.b.joints, strict=True)):
            one, two = getattr(x, name), getattr(y, name)
            if pair.numbers_differ(one, two):
                matters = bool(differs[kind][list(movers[i])].any())
                text = f"{name} is {one:g} here and {two:g} there" + ("" if matters else WITHOUT_EFFECT)
                yield Difference(kind, pair.joint(i), text, matters)


def _spring_differences(pair: RobotPair) -> Iterator[Difference]:
    """Yield springs with other torques at the same positions; their rest positions are mapped with the zeros."""
    if not any(row.sprung for robot in pair.robots for row in robot.rows):
        return
    ours = evaluate_function(spring_torques, pair.compared[0], pair.q)
    theirs = evaluate_function(spring_torques, pair.compared[1], pair.mapped_q) * pair.signs
    different = relative_differences(ours, theirs, 0.0) > pair.tolerance
    for i, differs in zip(pair.coordinate_joints, different, strict=True):
        if differs:
            here, there = (spring_text(robot.rows[i]) for robot in (pair.a, pair.b))
            yield Difference("spring", pair.joint(i), f"{here} here and {there} there")


def _coordinate_difference(pair: RobotPair) -> Iterator[Difference]:
    if not pair.same_leaders:
        here, there = (", ".join(joint.name for joint in robot.joints) for robot in pair.robots)
        text = f"the leading joints are {here} here and {there} there; numbers are for independent joints"
        yield Difference("coupling", joint_names(pair.a.name, pair.b.name), text)


def _coupling_differences(pair: RobotPair) -> Iterator[tuple[int, Difference]]:
    """Yield differences of couplings by the index of the joint, in the coordinates of the second robot."""
    if not any(robot.followers for robot in pair.robots):
        return
    independent = tuple(JointCoupling(((i, 1),)) for i in range(pair.a.n))
    here, there = (robot.couplings or independent for robot in pair.robots)
    leaders, signs, offsets = [leaders_of(robot) for robot in pair.robots], pair.alignment.signs, pair.alignment.offsets
    for i, (x, y) in enumerate(zip(here, there, strict=True)):
        if x.curve or y.curve:
            yield from _curve_differences(pair, i, (x, y), (leaders[0], leaders[1]))
            continue
        one = {leaders[0][c]: signs[i] * signs[leaders[0][c]] * factor for c, factor in x.terms}
        two = {leaders[1][c]: float(factor) for c, factor in y.terms}
        offset = signs[i] * x.offset - sum(factor * offsets[k] for k, factor in one.items()) + offsets[i]
        mapped = 0.0 if i in one or not one else float(offset)
        change = mapped - y.offset
        if not pair.a.joints[i].prismatic:
            change = math.remainder(change, math.tau)
        factor_changes = [abs(one.get(k, 0.0) - two.get(k, 0.0)) for k in {*one, *two}]
        if one.keys() != two.keys() or max([abs(change), *factor_changes]) > pair.tolerance:
            text = f"{_follower_text(pair, i, one, mapped)} here, {_follower_text(pair, i, two, y.offset)} there"
            yield i, Difference("coupling", pair.joint(i), text)


def _curve_differences(
    pair: RobotPair, i: int, rules: tuple[JointCoupling, JointCoupling], leaders: tuple[Sequence[int], Sequence[int]]
) -> Iterator[tuple[int, Difference]]:
    """Yield the difference of a joint that follows a curve in one robot or both."""
    (one,), (two,) = ([of[c] for c, _ in rule.terms] or [-1] for rule, of in zip(rules, leaders, strict=True))
    signs, offsets = pair.alignment.signs, pair.alignment.offsets
    q = np.linspace(-1.0, 1.0, 9)
    here, there = (rule.placed(at).at for rule, at in zip(rules, (q, signs[one] * q + offsets[one]), strict=True))
    if one != two or np.abs(signs[i] * here + offsets[i] - there).max() > pair.tolerance:
        yield i, Difference("coupling", pair.joint(i), "it follows another curve")


def _follower_text(pair: RobotPair, i: int, leaders: Mapping[int, float], offset: float) -> str:
    if not leaders:
        return "a loop moves it"
    terms = " ".join(f"{factor:+g} {pair.joint(k)}" for k, factor in leaders.items()).removeprefix("+")
    return "it is independent" if i in leaders else f"it is at {terms} {offset:+g}"


def _uncounted_differences(pair: RobotPair) -> Iterator[Difference]:
    """Yield differences of limits and names, which affect no motion."""
    for i, (x, y) in enumerate(zip(pair.a.joints, pair.b.joints, strict=True)):
        one, there = x.limits or NO_LIMITS, y.limits or NO_LIMITS
        two = tuple(sorted(pair.alignment.signs[i] * (limit - pair.alignment.offsets[i]) for limit in there))
        if one != two and not np.allclose(one, two, rtol=0, atol=pair.tolerance):
            text = f"{one[0]:g} to {one[1]:g} here, {two[0]:g} to {two[1]:g} there, counted as here"
            yield Difference("limits", pair.joint(i), text, False)
        for what, name in (("largest speed", "max_velocity"), ("largest effort", "max_torque")):
            limits = [getattr(joint, name) for joint in (x, y)]
            if limits[0] != limits[1] and (None in limits or pair.numbers_differ(*limits)):
                known = ["not known" if value is None else f"{value:g}" for value in limits]
                yield Difference("limits", pair.joint(i), f"{what} {known[0]} here, {known[1]} there", False)
    others = [pair.joint(i) for i in range(pair.a.n) if pair.a.joints[i].name != pair.b.joints[i].name]
    if others:
        yield Difference("names", joint_names(pair.a.name, pair.b.name), f"joints matched: {', '.join(others)}", False)


def _carried_link(pair: RobotPair, row: int) -> str:
    """Return the name of the link that a joint carries, or of the next one if it is one of several freedoms."""
    return "base" if row < 0 else pair.link(next(i for i, carrier in enumerate(pair.a.link_rows) if carrier >= row))


def _axis_distance_and_angle(skeleton: Skeleton, i: int) -> tuple[float, float]:
    """Return distance and angle between an axis and the one before it."""
    x, y = skeleton.axes[skeleton.parents[i]], skeleton.axes[i]
    across = np.cross(x.direction, y.direction)
    sine = float(np.linalg.norm(across))
    gap = y.point - x.point
    distance = abs(float(gap @ across)) / sine if sine > 1e-9 else float(np.linalg.norm(x.normal_part(gap)))
    return distance, math.atan2(sine, float(x.direction @ y.direction))


def _body_in_world(body: Any, T: Array) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and tensor of a body whose frame is T."""
    R = T[:3, :3]
    inertia = R @ np.array(body.inertia.matrix, dtype=float) @ R.T
    return float(body.mass), R @ np.array(body.com, dtype=float) + T[:3, 3], inertia


def _vector(v: Array) -> str:
    return " ".join(f"{x:.5g}" for x in np.where(np.abs(v) > 1e-12, v, 0.0))
