"""Rules about one joint, and about angles: limits, drives, lengths, and right angles written with few digits."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator

from armwright.model.description import QUARTER_TURN
from armwright.rules.bodies import LONGEST
from armwright.rules.facts import AngleFacts, JointFacts
from armwright.rules.problem import Doubt

DEGREES = 30.0
"""Limits above are degrees: no joint turns five times either way. Between one turn and this a whole number may be."""

NO_LIMIT = 1e4
"""Limits above mean that there is none."""

FAST = (45.0, 720.0)
"""rad/s that may be degrees per second: seven turns a second are seldom meant, a hundred mean no limit."""

FARTHEST_SLIDE = 20.0
"""Metres that no joint slides."""

FASTEST_SLIDE = 20.0
"""m/s that no drive reaches."""

SMOOTHEST = 2.0
"""rad/s: dry friction that rounds off more slowly is none."""

UNFELT, FELT = 1e-9, 1e-4
"""Radians: what moves the tip of an arm by a nanometre; by a tenth of a millimetre."""

TURN = 2 * math.pi + 1e-9

SAME = 1e-14
"""Radians: an angle that went through its sine and cosine."""

LEFT_OVER = sorted((math.remainder(n, 2 * math.pi), n) for n in (*range(-360, -6), *range(7, 361)))
"""What is left of whole degrees that are taken for radians when whole turns are lost."""

FEWEST = {QUARTER_TURN: 2, math.pi / 4: 3, math.pi / 6: 3}
"""How many digits after the point an angle that is a multiple of this may be written with."""


def reversed_limits(joint: JointFacts) -> Iterator[Doubt]:
    if joint.limits is not None and joint.limits[0] > joint.limits[1]:
        low, high = joint.limits
        yield Doubt("error", f"its limits are reversed: lower {low:g} above upper {high:g}")


def equal_limits(joint: JointFacts) -> Iterator[Doubt]:
    if joint.limits is not None and joint.limits[0] == joint.limits[1]:
        yield Doubt("warning", f"its limits are equal ({joint.limits[0]:g}), so it cannot move")


def limits_in_degrees(joint: JointFacts) -> Iterator[Doubt]:
    if not joint.turns or joint.limits is None:
        return
    low, high = joint.limits
    largest = max((abs(x) for x in joint.limits if abs(x) < NO_LIMIT), default=0.0)
    if largest > DEGREES:
        yield Doubt("warning", f"its limits ({low:g}, {high:g}) are many turns in radians; degrees?")
    elif largest > 2 * math.pi + 0.01 and all((5.0 * x).is_integer() for x in joint.limits):
        yield Doubt("note", f"its limits ({low:g}, {high:g}) are round and more than a turn in radians; degrees?")


def speed_in_degrees(joint: JointFacts) -> Iterator[Doubt]:
    if joint.turns and joint.velocity is not None and FAST[0] <= joint.velocity <= FAST[1]:
        yield Doubt("note", f"its largest speed is {joint.velocity:g} rad/s; degrees?")


def slides_far(joint: JointFacts) -> Iterator[Doubt]:
    """By limits or speed in millimetres; what is beyond NO_LIMIT means that there is none."""
    if joint.turns:
        return
    if joint.limits is not None and any(FARTHEST_SLIDE < abs(x) < NO_LIMIT for x in joint.limits):
        low, high = joint.limits
        yield Doubt("warning", f"its limits ({low:g}, {high:g}) would be metres; millimetres?")
    if joint.velocity is not None and FASTEST_SLIDE < joint.velocity < NO_LIMIT:
        yield Doubt("note", f"its largest speed is {joint.velocity:g} m/s; millimetres per second?")


def smooth_in_degrees(joint: JointFacts) -> Iterator[Doubt]:
    """Friction that is rounded off within a speed which the joint hardly reaches."""
    if joint.turns and joint.coulomb and joint.smooth > SMOOTHEST:
        text = f"its dry friction rounds off within {joint.smooth:g} rad/s, so that there is hardly any; degrees?"
        yield Doubt("warning", text)


def cannot_drive(joint: JointFacts) -> Iterator[Doubt]:
    for name, most in (("effort", joint.effort), ("speed", joint.velocity)):
        if most is not None and most <= 0:
            yield Doubt("warning", f"its largest {name} is {most:g}, so it could never move")


def drives_itself(joint: JointFacts) -> Iterator[Doubt]:
    for name, value in (("damping", joint.viscous), ("friction", joint.coulomb)):
        if value < 0:
            yield Doubt("error", f"its {name} is negative ({value:g}), so it drives the joint")


def far_away(joint: JointFacts) -> Iterator[Doubt]:
    if joint.length > LONGEST:
        yield Doubt("warning", f"it is {joint.length:.4g} m from the joint before it; millimetres?")


def angle_in_degrees(angles: AngleFacts) -> Iterator[Doubt]:
    """Also one that has lost its whole turns in a matrix: 90 radians are 2.0354 then, which nobody writes."""
    for value, text in zip(angles.values, angles.texts, strict=True):
        if abs(value) > TURN:
            yield Doubt("warning", f"{angles.key} = {text} is more than a full turn in radians; degrees?")
        elif (degrees := _turns_lost(value)) is not None:
            yield Doubt("warning", f"{angles.key} = {text} is {degrees} radians less whole turns; degrees?")


def _turns_lost(angle: float) -> int | None:
    """The whole number of radians that an angle is, but for whole turns."""
    left = math.remainder(angle, 2 * math.pi)
    i = bisect_left(LEFT_OVER, (left - 100 * SAME, 0))
    return LEFT_OVER[i][1] if i < len(LEFT_OVER) and LEFT_OVER[i][0] <= left + 100 * SAME else None


def rounded_angle(angles: AngleFacts) -> Iterator[Doubt]:
    """One doubt for all angles under one name, as they are repaired together."""
    meant = [(value, text, rounded(value)) for value, text in zip(angles.values, angles.texts, strict=True)]
    lost = {text: (abs(value - exact), exact) for value, text, exact in meant if exact is not None}
    if lost:
        worst = max(off for off, _ in lost.values())
        said = [f"{text} is {exact / QUARTER_TURN:.3g} right angle(s)" for text, (_, exact) in lost.items()]
        exact = ", ".join(repr(exact) for _, exact in lost.values())
        text = f"{angles.key} = {', '.join(said)} rounded to a few digits: {worst:.1e} rad are lost; write {exact}"
        yield Doubt("warning" if worst > FELT else "note", text)


def rounded(angle: float) -> float | None:
    """The multiple of 30 or 45 degrees that an angle is with few digits, rounded or cut, but not exactly."""
    if abs(angle) > TURN:
        return None
    for part, fewest in FEWEST.items():
        exact = round(angle / part) * part
        if not exact or abs(angle - exact) <= UNFELT:
            continue
        if any(abs(angle - x) <= SAME for n in range(fewest, 11) for x in (round(exact, n), _cut(exact, n))):
            return exact
    return None


def _cut(x: float, digits: int) -> float:
    """A number whose further digits were left out, not rounded."""
    return float(f"{math.trunc(x * 10**digits)}e-{digits}")
