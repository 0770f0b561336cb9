"""Findings about the joints of a file: by the rules, and what only the file can tell of axes and missing limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armwright.check.report import Edit, Finding
from armwright.check.written import Angles, Hinge, Written
from armwright.model.description import Description
from armwright.model.transforms import QUARTER_TURN, right_angles
from armwright.rules import find_problems
from armwright.rules.joint_rules import exact_angle


def joint_findings(written: Written) -> Iterator[Finding]:
    for hinge, facts in zip(written.hinges, written.facts.joints, strict=True):
        for problem in find_problems(facts):
            edits = _swapped(written, hinge) if problem.kind == "reversed limits" else ()
            yield Finding.of(problem, hinge.line, edits)
        if hinge.moves:
            yield from _axis(hinge)
    for angles in written.angles:
        for problem in find_problems(angles):
            edits = _exact(written, angles) if problem.kind == "rounded angle" else ()
            yield Finding.of(problem, angles.line, edits)
    yield from _no_limits(written)


def _swapped(written: Written, hinge: Hinge) -> tuple[Edit, ...]:
    if "limit" not in hinge.marks or hinge.limits is None:
        return ()
    place, (high, low) = hinge.marks["limit"], hinge.limits
    if written.format == "toml":
        return (Edit(place, "limits", written.said([low, high], "rad" if hinge.turns else "m")),)
    return Edit(place, "lower", repr(low)), Edit(place, "upper", repr(high))


def _exact(written: Written, angles: Angles) -> tuple[Edit, ...]:
    """Right angles written out; halves and thirds of them may be meant as they are."""
    meant = [(text, exact_angle(value)) for value, text in zip(angles.values, angles.texts, strict=True)]
    texts = [_written_out(written, x) if x is not None and right_angles(x) is not None else text for text, x in meant]
    return (Edit(angles.place, angles.key, " ".join(texts)),) if texts != list(angles.texts) else ()


def _written_out(written: Written, angle: float) -> str:
    if written.format != "toml":
        return repr(angle)
    quarters = round(angle / QUARTER_TURN)
    halves, odd = divmod(abs(quarters), 2)
    number = abs(quarters) if odd else halves
    return f'"{"-" if quarters < 0 else ""}{number if number > 1 else ""}pi{"/2" if odd else ""}"'


def _axis(hinge: Hinge) -> Iterator[Finding]:
    length = float(np.linalg.norm(hinge.axis))
    if not length:
        text = "its axis is 0 0 0; expected a direction such as 0 0 1"
        yield Finding("error", "axis length", hinge.name, text, hinge.line)
    elif abs(length - 1) > 1e-9 and "axis" in hinge.marks:
        unit = " ".join(repr(float(x)) for x in hinge.axis / length)
        text = f"its axis is {length:.6g} long, which readers take for 1 or refuse; write {unit}"
        severity, edits = "warning" if abs(length - 1) > 1e-3 else "note", (Edit(hinge.marks["axis"], "xyz", unit),)
        yield Finding(severity, "axis length", hinge.name, text, hinge.line, edits)


def _no_limits(written: Written) -> Iterator[Finding]:
    """DH tables of papers seldom have limits, so all of them are one note."""
    bare = [hinge for hinge in written.hinges if hinge.moves and hinge.limits is None]
    if written.format == "urdf":
        for hinge in bare:
            if hinge.kind != "continuous" and hinge.mimic is None:
                text = "it has no limits, which URDF wants of every such joint"
                yield Finding("warning", "missing limits", hinge.name, text, hinge.line)
    elif written.format == "toml" and bare:
        names = tuple(hinge.name for hinge in bare)
        text = "no joint has limits" if len(bare) == len(written.hinges) else f"no limits: {', '.join(names)}"
        yield Finding("note", "missing limits", written.name, text, about=names)


def follower_findings(robot: Description, written: Written) -> Iterator[Finding]:
    """Joints that go less far, or less fast, than their own limits say, because those that follow them cannot."""
    hinges = {hinge.name: hinge for hinge in written.hinges}
    for joint in robot.joints:
        own = hinges.get(joint.name)
        behind = tuple(f.name for f in robot.followers if f.mimic is not None and f.mimic.joint == joint.name)
        if own is None or not behind:
            continue
        who, less = f"{', '.join(behind)}, which follow{'s' if len(behind) == 1 else ''} it", []
        low, high = own.limits or (-math.inf, math.inf)
        if joint.limits is not None and (joint.limits[0] > low + 1e-9 or joint.limits[1] < high - 1e-9):
            less.append(f"goes from {joint.limits[0]:.6g} to {joint.limits[1]:.6g} only")
        if joint.max_velocity is not None and joint.max_velocity < (own.velocity or math.inf) * (1 - 1e-9):
            less.append(f"is no faster than {joint.max_velocity:.6g}")
        if less:
            text = f"it {' and '.join(less)}, by the limits of {who}"
            yield Finding("note", "held back", joint.name, text, own.line, about=behind)
