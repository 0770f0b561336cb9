"""Findings about the joints of a file: axes, limits, friction, and angles written with few digits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armwright.check.report import Edit, Finding
from armwright.check.written import Angles, Hinge, Written
from armwright.model.description import QUARTER_TURN, right_angles

DEGREES = 30.0
"""Limits above are degrees: no joint turns five times either way. Between one turn and this a whole number may be."""

NO_LIMIT = 1e4
"""Limits above mean that there is none."""

UNFELT, FELT = 1e-10, 1e-4
"""Radians: what every reader may round off; what moves the tip by a tenth of a millimetre."""

FAST = (45.0, 720.0)
"""rad/s that may be degrees per second: seven turns a second are seldom meant, a hundred mean no limit."""


def joint_findings(written: Written) -> Iterator[Finding]:
    for hinge in written.hinges:
        if hinge.moves:
            yield from _axis(hinge)
            yield from _limits(written, hinge)
            yield from _drive(written, hinge)
    for angles in written.angles:
        yield from _angles(written, angles)
    if written.format == "toml":
        yield from _no_limits(written)


def found(severity: str, kind: str, hinge: Hinge, text: str, edits: tuple[Edit, ...] = ()) -> Finding:
    return Finding(severity, kind, hinge.name, text, hinge.line, edits)


def _axis(hinge: Hinge) -> Iterator[Finding]:
    if hinge.axis is None:
        return
    length = float(np.linalg.norm(hinge.axis))
    if not length:
        yield found("error", "axis length", hinge, "its axis is 0 0 0; expected a direction such as 0 0 1")
    elif abs(length - 1) > 1e-9 and "axis" in hinge.marks:
        unit = " ".join(repr(float(x)) for x in hinge.axis / length)
        severity = "warning" if abs(length - 1) > 1e-3 else "note"
        text = f"its axis is {length:.6g} long, which readers take for 1 or refuse; write {unit}"
        yield found(severity, "axis length", hinge, text, (Edit(hinge.marks["axis"], "xyz", unit),))


def _limits(written: Written, hinge: Hinge) -> Iterator[Finding]:
    if hinge.kind == "continuous":
        return
    if hinge.lower is None and hinge.upper is None:
        if written.format == "urdf" and not hinge.mimics:
            yield found("warning", "missing limits", hinge, "it has no limits, which URDF wants of every such joint")
        return
    low, high = hinge.lower or 0.0, hinge.upper or 0.0
    if low > high:
        text = f"its limits are reversed: lower {low:g} above upper {high:g}"
        yield found("error", "reversed limits", hinge, text, _swapped(written, hinge, low, high))
    elif low == high:
        yield found("warning", "no travel", hinge, f"its limits are equal ({low:g}), so it cannot move")
    if hinge.turns:
        yield from _degrees(hinge, low, high)


def _swapped(written: Written, hinge: Hinge, low: float, high: float) -> tuple[Edit, ...]:
    if "limit" not in hinge.marks:
        return ()
    place = hinge.marks["limit"]
    if written.format == "toml":
        return (Edit(place, "limits", repr([high, low])),)
    return Edit(place, "lower", repr(high)), Edit(place, "upper", repr(low))


def _degrees(hinge: Hinge, low: float, high: float) -> Iterator[Finding]:
    largest = max((abs(x) for x in (low, high) if abs(x) < NO_LIMIT), default=0.0)
    if largest > DEGREES:
        text = f"its limits ({low:g}, {high:g}) are many turns in radians; degrees?"
        yield found("warning", "degrees", hinge, text)
    elif largest > 2 * math.pi + 0.01 and all(5 * x == round(5 * x) for x in (low, high)):
        text = f"its limits ({low:g}, {high:g}) are round and more than a turn in radians; degrees?"
        yield found("note", "degrees", hinge, text)


def _drive(written: Written, hinge: Hinge) -> Iterator[Finding]:
    for name, value in (("damping", hinge.viscous), ("friction", hinge.coulomb)):
        if value < 0:
            text = f"its {name} is negative ({value:g}), so it drives the joint"
            yield found("error", "negative damping", hinge, text)
    for name, limit in (("effort", hinge.effort), ("speed", hinge.velocity)):
        if limit is not None and limit <= 0 and hinge.kind != "continuous" and not hinge.mimics:
            yield found("warning", "zero effort", hinge, f"its largest {name} is {limit:g}, so it could never move")
    if hinge.turns and hinge.velocity is not None and FAST[0] <= hinge.velocity <= FAST[1]:
        text = f"its largest speed is {hinge.velocity:g} rad/s; degrees?"
        yield found("note", "degrees", hinge, text)


def _no_limits(written: Written) -> Iterator[Finding]:
    """DH tables of papers seldom have limits, so all of them are one note."""
    bare = [hinge.name for hinge in written.hinges if hinge.lower is None]
    if bare:
        text = "no joint has limits" if len(bare) == len(written.hinges) else f"no limits: {', '.join(bare)}"
        yield Finding("note", "missing limits", written.name, text, about=tuple(bare))


def _angles(written: Written, angles: Angles) -> Iterator[Finding]:
    """One finding for all angles under one key, repaired together."""
    worst, texts, snapped = 0.0, [], list(angles.texts)
    for i, value in enumerate(angles.values):
        if abs(value) > 2 * math.pi + 1e-9:
            text = f"{angles.key} has {value:g}, more than a full turn in radians; degrees?"
            yield Finding("warning", "degrees", angles.where, text, angles.line)
        elif (exact := rounded(value)) is not None and abs(value - exact) > UNFELT:
            worst = max(worst, abs(value - exact))
            texts.append(f"{angles.texts[i]} for {exact!r}")
            if right_angles(exact) is not None:
                snapped[i] = _exact(written, exact)
    if texts:
        edits = (Edit(angles.place, angles.key, " ".join(snapped)),) if snapped != list(angles.texts) else ()
        text = f"{angles.key} has {', '.join(texts)}: {worst:.1e} rad are lost to rounding"
        yield Finding("warning" if worst > FELT else "note", "rounded angle", angles.where, text, angles.line, edits)


def _exact(written: Written, angle: float) -> str:
    if written.format != "toml":
        return repr(angle)
    quarters = round(angle / QUARTER_TURN)
    halves, odd = divmod(abs(quarters), 2)
    number = abs(quarters) if odd else halves
    return f'"{"-" if quarters < 0 else ""}{number if number > 1 else ""}pi{"/2" if odd else ""}"'


def rounded(angle: float) -> float | None:
    """The multiple of 30 or 45 degrees that an angle is with few digits, if it is one and not exactly."""
    for part, fewest in ((QUARTER_TURN, 2), (math.pi / 4, 3), (math.pi / 6, 3)):
        count = round(angle / part)
        exact = count * part
        if not count or abs(angle - exact) <= 1e-14 * abs(count):
            continue
        if any(angle in (round(exact, digits), _cut(exact, digits)) for digits in range(fewest, 14)):
            return exact
    return None


def _cut(x: float, digits: int) -> float:
    """A number whose further digits were left out, not rounded."""
    return float(f"{math.trunc(x * 10**digits)}e-{digits}")
