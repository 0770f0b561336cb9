"""Findings about the joints of a file: by the rules, by axes and missing limits, and by followers."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armwright.check.file_model import Angles, FileModel, Hinge
from armwright.check.findings import Edit, Finding
from armwright.model.description import Description
from armwright.model.transforms import QUARTER_TURN, right_angles
from armwright.rules import find_problems
from armwright.rules.joint_rules import exact_angle


def joint_findings(model: FileModel) -> Iterator[Finding]:
    """Yield the findings about all joints and angles of a file."""
    for hinge, facts in zip(model.hinges, model.facts.joints, strict=True):
        for problem in find_problems(facts):
            edits = _exchanged_limits(model, hinge) if problem.kind == "reversed limits" else ()
            yield Finding.of(problem, hinge.line, edits)
        if hinge.moves:
            yield from _axis_length(hinge)
    for angles in model.angles:
        for problem in find_problems(angles):
            edits = _exact_angles(model, angles) if problem.kind == "rounded angle" else ()
            yield Finding.of(problem, angles.line, edits)
    yield from _missing_limits(model)


def _exchanged_limits(model: FileModel, hinge: Hinge) -> tuple[Edit, ...]:
    if "limit" not in hinge.places or hinge.limits is None:
        return ()
    place, (high, low) = hinge.places["limit"], hinge.limits
    if model.format == "toml":
        return (Edit(place, "limits", model.toml_text([low, high], "rad" if hinge.rotary else "m")),)
    return Edit(place, "lower", repr(low)), Edit(place, "upper", repr(high))


def _exact_angles(model: FileModel, angles: Angles) -> tuple[Edit, ...]:
    """Return edits that write multiples of 90 degrees exactly; other rounded angles may be intended."""
    exact = [(text, exact_angle(value)) for value, text in zip(angles.values, angles.texts, strict=True)]
    texts = [_angle_text(model, x) if x is not None and right_angles(x) is not None else text for text, x in exact]
    return (Edit(angles.place, angles.key, " ".join(texts)),) if texts != list(angles.texts) else ()


def _angle_text(model: FileModel, angle: float) -> str:
    if model.format != "toml":
        return repr(angle)
    quarters = round(angle / QUARTER_TURN)
    halves, odd = divmod(abs(quarters), 2)
    number = abs(quarters) if odd else halves
    return f'"{"-" if quarters < 0 else ""}{number if number > 1 else ""}pi{"/2" if odd else ""}"'


def _axis_length(hinge: Hinge) -> Iterator[Finding]:
    length = float(np.linalg.norm(hinge.axis))
    if not length:
        text = "its axis is 0 0 0; expected a direction such as 0 0 1"
        yield Finding("error", "axis length", hinge.name, text, hinge.line)
    elif abs(length - 1) > 1e-9 and "axis" in hinge.places:
        unit = " ".join(repr(float(x)) for x in hinge.axis / length)
        text = f"its axis has the length {length:.6g}, which readers normalise or refuse; write {unit}"
        severity, edits = "warning" if abs(length - 1) > 1e-3 else "note", (Edit(hinge.places["axis"], "xyz", unit),)
        yield Finding(severity, "axis length", hinge.name, text, hinge.line, edits)


def _missing_limits(model: FileModel) -> Iterator[Finding]:
    """Yield joints without limits; a DH table seldom has any, so it gets one note."""
    unlimited = [hinge for hinge in model.hinges if hinge.moves and hinge.limits is None]
    if model.format == "urdf":
        for hinge in unlimited:
            if hinge.kind != "continuous" and hinge.mimic is None:
                text = "it has no limits, which URDF requires of such a joint"
                yield Finding("warning", "missing limits", hinge.name, text, hinge.line)
    elif model.format == "toml" and unlimited:
        names = tuple(hinge.name for hinge in unlimited)
        text = "no joint has limits" if len(unlimited) == len(model.hinges) else f"no limits: {', '.join(names)}"
        yield Finding("note", "missing limits", model.name, text, about=names)


def follower_findings(robot: Description, model: FileModel) -> Iterator[Finding]:
    """Yield joints whose followers reduce their range or speed."""
    hinges = {hinge.name: hinge for hinge in model.hinges}
    for joint in robot.joints:
        hinge = hinges.get(joint.name)
        followers = tuple(f.name for f in robot.followers if f.mimic is not None and f.mimic.joint == joint.name)
        if hinge is None or not followers:
            continue
        reductions = []
        low, high = hinge.limits or (-math.inf, math.inf)
        if joint.limits is not None and (joint.limits[0] > low + 1e-9 or joint.limits[1] < high - 1e-9):
            reductions.append(f"moves only from {joint.limits[0]:.6g} to {joint.limits[1]:.6g}")
        if joint.max_velocity is not None and joint.max_velocity < (hinge.velocity or math.inf) * (1 - 1e-9):
            reductions.append(f"has a speed of at most {joint.max_velocity:.6g}")
        if reductions:
            who = f"{', '.join(followers)}, which follow{'s' if len(followers) == 1 else ''} it"
            text = f"it {' and '.join(reductions)}, due to the limits of {who}"
            yield Finding("note", "held back", joint.name, text, hinge.line, about=followers)
