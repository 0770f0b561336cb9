"""The robot as the tables a robotics book would print."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from armwright.model.description import NO_TRANSFORM, Description, JointModel, Transform, right_angles, six

WIDEST = 128
"""Columns of the lines that say where a robot is from."""


def as_table(robot: Description) -> str:
    parts = [_title(robot), _layout(_joints(robot)), _layout(_links(robot))]
    if any(j.viscous or j.coulomb or j.rotor_inertia for j in robot.rows):
        parts.append(_layout(_drives(robot)))
    if (p := robot.payload) is not None:
        body = f"{p.mass:g} kg at {_vector(p.com)} m, inertia {_vector(six(p.inertia))} kg m^2"
        parts.append(f"payload in the tool frame: {body}")
    for name in ("base", "flange", "tool"):
        if (transform := getattr(robot, name)) != NO_TRANSFORM:
            parts.append(f"{name} transform:\n{_transform(transform)}")
    if robot.base_visuals or any(link.visuals for link in robot.links):
        parts.append(_visuals(robot))
    source = [part for line in robot.source.strip().splitlines() for part in textwrap.wrap(line, WIDEST)]
    return "\n\n".join([*parts, *(["\n".join(source)] if robot.source else [])])


def _visuals(robot: Description) -> str:
    """What a viewer shows, and of which links."""
    from armwright.model.visual import counted  # noqa: PLC0415  (loaded, where there is any)

    on = [("the base", robot.base_visuals), *((link.name, link.visuals) for link in robot.links)]
    every = [visual for _, visuals in on for visual in visuals]
    places = [f"{len(visuals)} on {name}" for name, visuals in on if visuals]
    return "\n".join(textwrap.wrap(f"visuals: {counted(every)}; {', '.join(places)}", 100))


def _title(robot: Description) -> str:
    return (
        f"{robot.name}: {robot.n} joint{'s' if robot.n > 1 else ''} ({robot.joint_types}), "
        + (f"{len(robot.followers)} more moving with them, " if robot.followers else "")
        + f"gravity {_vector(robot.gravity)} m/s^2, modified DH (Craig)"
    )


def _joints(robot: Description) -> list[list[str]]:
    rows = [["i", "joint", "type", "alpha", "a [m]", "theta", "d [m]", "limits"]]
    variables = _variables(robot)
    for i, (joint, q) in enumerate(zip(robot.rows, variables, strict=True), start=1):
        theta, d = _angle(joint.theta), f"{joint.d:g}"
        offset = joint.mimic.offset if joint.mimic else 0.0
        if joint.prismatic:
            d = q + (f" {joint.d + offset:+g}" if joint.d + offset else "")
        else:
            angle = joint.theta + offset
            theta = q + (f" {'+' if angle > 0 else '-'} {_angle(abs(angle))}" if angle else "")
        rows.append([str(i), joint.name, joint.type, _angle(joint.alpha), f"{joint.a:g}", theta, d, _limits(joint)])
    return rows


def _variables(robot: Description) -> list[str]:
    """q1, q2, ... and, for joints that follow others, such as -2 q1; their offset is added to theta or d."""
    names = {joint.name: f"q{i}" for i, joint in enumerate(robot.joints, start=1)}
    found = []
    for row in robot.rows:
        m = row.mimic
        factor = "" if m is None or m.factor == 1 else "-" if m.factor == -1 else f"{m.factor:g} "
        found.append(factor + names[m.joint if m else row.name])
    return found


def _limits(joint: JointModel) -> str:
    if joint.limits is None:
        return "-"
    if joint.prismatic:
        return f"{joint.limits[0]:g} .. {joint.limits[1]:g} m"
    low, high = map(math.degrees, joint.limits)
    return f"{low:.4g} .. {high:.4g} deg"


def _links(robot: Description) -> list[list[str]]:
    heads = ["i", "link", "mass [kg]", "com x", "y", "z [m]", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz [kg m^2]"]
    rows = [heads]
    for i, link in enumerate(robot.links, start=1):
        rows.append([str(i), link.name, *map(_number, (link.mass, *link.com, *six(link.inertia)))])
    return rows


def _drives(robot: Description) -> list[list[str]]:
    rows = [["i", "joint", "rotor inertia", "gear", "at the joint", "viscous", "coulomb"]]
    for i, j in enumerate(robot.rows, start=1):
        numbers = (j.rotor_inertia, j.gear, j.armature, j.viscous, j.coulomb)
        rows.append([str(i), j.name, *map(_number, numbers)])
    return rows


def _angle(angle: float) -> str:
    quarters = right_angles(angle)
    if quarters is not None:
        return f"{90 * quarters} deg"
    return f"{math.degrees(angle):.6g} deg"


def _number(x: float) -> str:
    return f"{x + 0.0:.5g}"  # + 0.0 makes zero of a negative zero


def _vector(v: Sequence[float]) -> str:
    return "(" + ", ".join(f"{x + 0.0:g}" for x in v) + ")"


def _transform(transform: Transform) -> str:
    return "\n".join("  " + "  ".join(f"{x + 0.0:>10.6g}" for x in row) for row in transform)


def _layout(rows: list[list[str]]) -> str:
    """Columns of equal width: names and types to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    words = [head in ("joint", "link", "type") for head in rows[0]]
    lines = [
        "  ".join(cell.ljust(w) if word else cell.rjust(w) for cell, w, word in zip(row, widths, words, strict=True))
        for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(line.rstrip() for line in lines)
