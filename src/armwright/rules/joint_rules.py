"""Rules about one joint, and about angles: limits, drives, lengths, and right angles written with few digits."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator

from armwright.model.transforms import QUARTER_TURN
from armwright.rules.body_rules import MAX_LINK_LENGTH
from armwright.rules.facts import AngleFacts, JointFacts
from armwright.rules.problem import Doubt, Rule

MAX_RADIAN_LIMIT = 30.0
"""Radians; larger limits are degrees, since no joint has five turns either way."""

UNLIMITED_ABOVE = 1e4
"""Larger limits stand for no limit."""

DEGREE_SPEEDS = (45.0, 720.0)
"""Range of speeds, rad/s, that may be degrees per second; larger numbers stand for no limit."""

MAX_SLIDE = 20.0
"""Metres; prismatic joints have shorter travels."""

MAX_SLIDE_SPEED = 20.0
"""m/s; drives are slower."""

MAX_SMOOTHING_SPEED = 2.0
"""rad/s; dry friction that is smoothed over a wider range has little effect."""

NEGLIGIBLE_ANGLE, NOTICEABLE_ANGLE = 1e-9, 1e-4
"""Radians that move the tip of an arm by a nanometre, and by a tenth of a millimetre."""

FULL_TURN = 2 * math.pi + 1e-9

ANGLE_ROUNDING = 1e-14
"""Radians: error of an angle that was computed from its sine and cosine."""

DEGREE_REMAINDERS: list[tuple[float, int]] = sorted(
    (math.remainder(n, 2 * math.pi), n) for n in (*range(-360, -6), *range(7, 361))
)
"""Remainders, modulo a turn, of whole degrees that are read as radians."""

MIN_DIGITS = {QUARTER_TURN: 2, math.pi / 4: 3, math.pi / 6: 3}
"""Smallest number of decimals of a rounded multiple of each angle."""


def reversed_limits(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt a lower limit above the upper one."""
    if joint.limits is not None and joint.limits[0] > joint.limits[1]:
        low, high = joint.limits
        yield Doubt("error", f"its limits are reversed: lower {low:g} above upper {high:g}")


def equal_limits(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt limits that are equal."""
    if joint.limits is not None and joint.limits[0] == joint.limits[1]:
        yield Doubt("warning", f"its limits are equal ({joint.limits[0]:g}), so it cannot move")


def limits_in_degrees(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt limits of several turns."""
    if not joint.rotary or joint.limits is None:
        return
    low, high = joint.limits
    largest = max((abs(x) for x in joint.limits if abs(x) < UNLIMITED_ABOVE), default=0.0)
    if largest > MAX_RADIAN_LIMIT:
        yield Doubt("warning", f"its limits ({low:g}, {high:g}) are many turns in radians; degrees?")
    elif largest > 2 * math.pi + 0.01 and all((5.0 * x).is_integer() for x in joint.limits):
        yield Doubt("note", f"its limits ({low:g}, {high:g}) are round and more than a turn in radians; degrees?")


def speed_in_degrees(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt a speed that is too large for rad/s."""
    if joint.rotary and joint.velocity is not None and DEGREE_SPEEDS[0] <= joint.velocity <= DEGREE_SPEEDS[1]:
        yield Doubt("note", f"its largest speed is {joint.velocity:g} rad/s; degrees?")


def long_slide(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt limits and speeds of a prismatic joint that may be in millimetres."""
    if joint.rotary:
        return
    if joint.limits is not None and any(MAX_SLIDE < abs(x) < UNLIMITED_ABOVE for x in joint.limits):
        low, high = joint.limits
        yield Doubt("warning", f"its limits ({low:g}, {high:g}) would be metres; millimetres?")
    if joint.velocity is not None and MAX_SLIDE_SPEED < joint.velocity < UNLIMITED_ABOVE:
        yield Doubt("note", f"its largest speed is {joint.velocity:g} m/s; millimetres per second?")


def smoothing_in_degrees(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt dry friction that is smoothed up to a speed that the joint seldom reaches."""
    if joint.rotary and joint.coulomb and joint.smooth > MAX_SMOOTHING_SPEED:
        text = f"its dry friction is smoothed below {joint.smooth:g} rad/s and has little effect; degrees?"
        yield Doubt("warning", text)


def no_effort(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt a limit of effort or speed that is not above zero."""
    for name, limit in (("effort", joint.effort), ("speed", joint.velocity)):
        if limit is not None and limit <= 0:
            yield Doubt("warning", f"its largest {name} is {limit:g}, so it could never move")


def negative_damping(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt friction that drives the joint."""
    for name, value in (("damping", joint.viscous), ("friction", joint.coulomb)):
        if value < 0:
            yield Doubt("error", f"its {name} is negative ({value:g}), so it drives the joint")


def far_joint(joint: JointFacts) -> Iterator[Doubt]:
    """Doubt a joint tens of metres from the one before."""
    if joint.length > MAX_LINK_LENGTH:
        yield Doubt("warning", f"it is {joint.length:.4g} m from the joint before it; millimetres?")


def angle_in_degrees(angles: AngleFacts) -> Iterator[Doubt]:
    """Doubt angles above a turn, and those that were reduced modulo a turn: 90 radians become 2.0354."""
    for value, text in zip(angles.values, angles.texts, strict=True):
        if abs(value) > FULL_TURN:
            yield Doubt("warning", f"{angles.key} = {text} is more than a full turn in radians; degrees?")
        elif (degrees := _whole_radians(value)) is not None:
            yield Doubt("warning", f"{angles.key} = {text} is {degrees} radians modulo a full turn; degrees?")


def _whole_radians(angle: float) -> int | None:
    """Return the whole number of radians that an angle equals modulo a turn, or None."""
    remainder, slack = math.remainder(angle, 2 * math.pi), 100 * ANGLE_ROUNDING
    i = bisect_left(DEGREE_REMAINDERS, (remainder - slack, 0))
    equal = i < len(DEGREE_REMAINDERS) and DEGREE_REMAINDERS[i][0] <= remainder + slack
    return DEGREE_REMAINDERS[i][1] if equal else None


def rounded_angle(angles: AngleFacts) -> Iterator[Doubt]:
    """Doubt right angles written with few digits: one doubt per name, since its angles are repaired together."""
    candidates = [(value, text, exact_angle(value)) for value, text in zip(angles.values, angles.texts, strict=True)]
    errors = {text: (abs(value - exact), exact) for value, text, exact in candidates if exact is not None}
    if errors:
        worst = max(error for error, _ in errors.values())
        roundings = [f"{text} is {exact / QUARTER_TURN:.3g} right angle(s)" for text, (_, exact) in errors.items()]
        exact = ", ".join(repr(exact) for _, exact in errors.values())
        text = f"{angles.key} = {', '.join(roundings)} rounded to a few digits: {worst:.1e} rad are lost; write {exact}"
        yield Doubt("warning" if worst > NOTICEABLE_ANGLE else "note", text)


def exact_angle(angle: float) -> float | None:
    """Return the multiple of 30 or 45 degrees that an angle approximates with few digits, or None if it is exact."""
    if abs(angle) > FULL_TURN:
        return None
    for part, min_digits in MIN_DIGITS.items():
        exact = round(angle / part) * part
        if not exact or abs(angle - exact) <= NEGLIGIBLE_ANGLE:
            continue
        shortened = (x for n in range(min_digits, 11) for x in (round(exact, n), _truncated(exact, n)))
        if any(abs(angle - x) <= ANGLE_ROUNDING for x in shortened):
            return exact
    return None


def _truncated(x: float, digits: int) -> float:
    """Return a number truncated to `digits` decimals."""
    return float(f"{math.trunc(x * 10**digits)}e-{digits}")


JOINT_RULES = (
    Rule(JointFacts, "reversed limits", reversed_limits, "the lower limit above the upper one"),
    Rule(JointFacts, "no travel", equal_limits, "limits that allow no motion"),
    Rule(JointFacts, "degrees", limits_in_degrees, "an angle, limit or speed that looks like degrees"),
    Rule(JointFacts, "degrees", speed_in_degrees),
    Rule(JointFacts, "zero effort", no_effort, "an effort or speed limit of zero"),
    Rule(JointFacts, "negative damping", negative_damping, "friction that drives"),
    Rule(JointFacts, "degrees", smoothing_in_degrees),
    Rule(JointFacts, "millimetres", far_joint, "lengths of tens of metres and more"),
    Rule(JointFacts, "millimetres", long_slide),
    Rule(AngleFacts, "degrees", angle_in_degrees),
    Rule(
        AngleFacts, "rounded angle", rounded_angle, "a right angle (or half or a third of one) written with few digits"
    ),
)
