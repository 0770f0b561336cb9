"""A robot as printed tables, in the manner of a robotics book."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.description import Description
from armwright.model.mimic import Mimic
from armwright.model.records import JointModel, LoopModel
from armwright.model.transforms import IDENTITY_TRANSFORM, Transform, right_angles, tensor_entries
from armwright.names import shown
from armwright.notebook import table

MAX_LINE_WIDTH = 80
"""The width of a table in characters; only a long name exceeds it."""


def as_table(robot: Description) -> str:
    """Return the tables of a robot as text: joints, limits, bodies, drives, springs, payload, frames, loops, source."""
    parts = [_title(robot)]
    if robot.parents != tuple(range(-1, len(robot.links) - 1)):
        parts.append("\n".join(_branches(robot)))
    parts += _within_width(_joints(robot), 3)
    parts += [_wrapped(_curve(row.name, row.mimic)) for row in robot.followers if row.mimic and row.mimic.curve]
    if any(_general(j) for j in robot.rows):
        parts.append(_layout(_placements(robot)))
    if any(j.limits or j.max_velocity or j.max_torque for j in robot.rows):
        parts += _within_width(_limits(robot), 2)
    parts += [_layout(_links(robot)), _layout(_tensors(robot))]
    if any(j.viscous or j.coulomb or j.rotor_inertia for j in robot.rows):
        parts += _within_width(_drives(robot), 2)
    if compensated := [
        f"{link.compensated_mass:g} kg of {shown(link.name)} at {_vector(link.compensated_com)} m"
        for link in robot.links
        if link.compensated_mass
    ]:
        parts.append(_wrapped(f"weight that no drive carries: {'; '.join(compensated)}"))
    if any(j.sprung for j in robot.rows):
        parts += _within_width(_springs(robot), 2)
    if (p := robot.payload) is not None:
        body = f"{p.mass:g} kg at {_vector(p.com)} m, inertia {_vector(tensor_entries(p.inertia))} kg m^2"
        parts.append(_wrapped(f"payload in the tool frame: {body}"))
    if robot.tip is not None and robot.tip != len(robot.links) - 1:
        parts.append(_wrapped(f"the tool is on {shown(robot.links[robot.tip].name)}"))
    for name in ("base", "flange", "tool"):
        if (transform := getattr(robot, name)) != IDENTITY_TRANSFORM:
            parts.append(f"{name} transform:\n{_transform(transform)}")
    if robot.frames:
        links = ["the base", *(link.name for link in robot.links)]
        parts.append(_wrapped("frames: " + ", ".join(shown(f"{f.name} on {links[f.link + 1]}") for f in robot.frames)))
    parts += [_wrapped(_loop(robot, loop)) for loop in robot.loops]
    if robot.base_visuals or any(link.visuals for link in robot.links):
        parts.append(_visuals(robot))
    licence = f"Licence: {robot.licence}" if robot.licence else ""
    source = [_wrapped(shown(line)) for line in f"{robot.source.strip()}\n{licence}".strip().splitlines()]
    return "\n\n".join([*parts, *(["\n".join(source)] if source else [])])


def as_html(robot: Description) -> str:
    """Return joints, limits and bodies as HTML tables for a notebook."""
    parts = [_joints(robot), _links(robot)]
    if any(j.limits or j.max_velocity or j.max_torque for j in robot.rows):
        parts.insert(1, _limits(robot))
    return "".join(table(rows[0], rows[1:]) for rows in parts)


def _loop(robot: Description, loop: LoopModel) -> str:
    """Return a sentence on the ends of a loop and on the joints that depend on it."""
    links = ["the base", *(link.name for link in robot.links)]
    (one, two), (here, there) = ([links[i + 1] for i in loop.links], [[row[3] for row in p[:3]] for p in loop.poses])
    ends = f"{one} at {_vector(here)} m {'is welded to' if loop.weld else 'meets'} {two} at {_vector(there)} m"
    closure = f"embedded: {' and '.join(loop.dependent)} depend on it" if loop.dependent else "held by forces"
    return shown(f"loop {loop.name}: {ends}; {closure}")


def _curve(name: str, mimic: Mimic) -> str:
    """Return the polynomial by which a joint follows another."""
    powers = enumerate((mimic.offset, mimic.factor, *mimic.curve))
    terms = [f"{k:+g}" + (f" q^{power}" if power > 1 else " q" * power) for power, k in powers if k]
    return shown(f"{name} is at {' '.join(terms).removeprefix('+')} where {mimic.joint} is at q")


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, MAX_LINE_WIDTH, break_long_words=False, break_on_hyphens=False))


def _visuals(robot: Description) -> str:
    """Return the numbers of shapes, by kind and by link."""
    from armwright.model.visual import shape_counts  # noqa: PLC0415  (few robots have shapes)

    on = [("the base", robot.base_visuals), *((link.name, link.visuals) for link in robot.links)]
    every = [visual for _, visuals in on for visual in visuals]
    places = [f"{len(visuals)} on {name}" for name, visuals in on if visuals]
    return _wrapped(f"visuals: {shape_counts(every)}; {', '.join(map(shown, places))}")


def _title(robot: Description) -> str:
    followers = f"; {count} more moving with them" if (count := follower_count(robot)) else ""
    placement = "frames by gamma, a, y, z, alpha, theta, d" if any(map(_general, robot.rows)) else "modified DH (Craig)"
    joints = f"{joint_count(robot)} ({robot.joint_types}){followers}"
    return _wrapped(f"{shown(robot.name)}: {joints}, gravity {_vector(robot.gravity)} m/s^2, {placement}")


def joint_count(robot: Description) -> str:
    """Return the number of independent joints as text, with that of their freedoms where it is larger."""
    count = len(robot.joint_types)
    more = f" with {robot.n} freedoms" if count < robot.n else ""
    return f"{count} joint{'s' if count > 1 else ''}{more}"


def follower_count(robot: Description) -> int:
    """Return the number of followers; the translation of a helical joint is not counted."""
    return sum(not follower.freedom for follower in robot.followers)


def _branches(robot: Description) -> list[str]:
    """Return the tree as lines: a link below its parent, indented where the parent has several children."""
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(robot.parents):
        children.setdefault(parent, []).append(i)
    lines, waiting = ["base"], [(i, "", i == children[-1][-1]) for i in reversed(children[-1])]
    while waiting:
        i, margin, last = waiting.pop()
        row = robot.rows[robot.link_rows[i]]
        branch = f"{margin}{'`-' if last else '|-'}"
        lines.append(f"{branch} {shown(robot.links[i].name)}: {shown(_named(row))}, {_kind(row)}")
        inner = margin + ("   " if last else "|  ")
        while len(next_links := children.get(i, [])) == 1:
            i = next_links[0]
            row = robot.rows[robot.link_rows[i]]
            lines.append(f"{inner}{shown(robot.links[i].name)}: {shown(_named(row))}, {_kind(row)}")
        waiting += [(j, inner, j == next_links[-1]) for j in reversed(next_links)]
    return lines


def _named(row: JointModel) -> str:
    """Return the name of the joint that a freedom belongs to."""
    return row.name.rpartition(".")[0] if row.kind and (row.kind != "helical" or row.freedom) else row.name


def _kind(row: JointModel) -> str:
    return row.kind or row.type


def _general(row: JointModel) -> bool:
    return bool(row.gamma or row.y or row.z)


def _joints(robot: Description) -> list[list[str]]:
    rows = [["i", "joint", "type", "alpha [deg]", "a [m]", "theta [deg]", "d [m]"]]
    for i, (joint, q) in enumerate(zip(robot.rows, _variables(robot), strict=True), start=1):
        if joint.kind in FREEDOMS_OF_KIND:
            if not joint.freedom:
                numbers = (_degrees(joint.alpha), f"{joint.a:g}", _degrees(joint.theta), f"{joint.d:g}")
                rows.append([str(i), shown(_named(joint)), f"{joint.kind} {q}", *numbers])
            continue
        offset = joint.mimic.offset if joint.mimic and not joint.mimic.curve else 0.0
        if joint.prismatic:
            theta, d = _degrees(joint.theta), _added(q, joint.d + offset, f"{abs(joint.d + offset):g}")
        else:
            angle = joint.theta + offset
            theta, d = _added(q, angle, _degrees(abs(angle))), f"{joint.d:g}"
        rows.append([str(i), shown(joint.name), joint.type, _degrees(joint.alpha), f"{joint.a:g}", theta, d])
    return rows


def _placements(robot: Description) -> list[list[str]]:
    """Return the entries of placements that a DH row lacks: gamma, y and z."""
    rows = [["i", "joint", "gamma [deg]", "y [m]", "z [m]"]]
    for i, row in enumerate(robot.rows, start=1):
        if _general(row):
            rows.append([str(i), shown(_named(row)), _degrees(row.gamma), f"{row.y:g}", f"{row.z:g}"])
    return rows


def _added(variable: str, constant: float, text: str) -> str:
    return f"{variable} {'+' if constant > 0 else '-'} {text}" if constant else variable


def _variables(robot: Description) -> list[str]:
    """Return q1, q2, ..., and for followers terms such as -2 q1; offsets are added to theta or d.

    The entries of a ball, free or planar joint are a range: "q1-q7".
    """
    names = {}
    for i, joint in enumerate(robot.joints):
        names[joint.name] = f"q{1 + robot.entries[i]}"
    for ball in robot.balls:
        first = ball.first_entry + 1
        names[robot.joints[ball.coordinate].name] = f"q{first}-q{first + ball.freedoms}"
    variables = []
    for row in robot.rows:
        if row.mimic and row.mimic.loop:
            variables.append(f"by {shown(row.mimic.loop)}")
            continue
        if row.mimic and row.mimic.curve:
            variables.append(f"f({names[row.mimic.joint]})")
            continue
        terms = [_times(factor, names[name]) for name, factor in (row.mimic.leaders if row.mimic else ((row.name, 1),))]
        variables.append(" + ".join(terms).replace("+ -", "- "))
    return variables


def _times(factor: float, variable: str) -> str:
    return ("" if factor == 1 else "-" if factor == -1 else f"{factor:g} ") + variable


def _limits(robot: Description) -> list[list[str]]:
    rows = [["i", "joint", "position", "speed", "torque"]]
    for i, joint in _limited_rows(robot):
        unit, force = ("m", "N") if joint.prismatic else ("rad", "N m")
        speed, torque = (
            f"{limit:.4g} {unit_text}" if limit else "-"
            for limit, unit_text in ((joint.max_velocity, f"{unit}/s"), (joint.max_torque, force))
        )
        rows.append([str(i), shown(joint.name), _range(joint), speed, torque])
    return rows


def _limited_rows(robot: Description) -> Iterator[tuple[int, JointModel]]:
    """Return the rows that can have limits, with their numbers: not those of ball, free and planar joints."""
    return ((i, row) for i, row in enumerate(robot.rows, start=1) if row.kind not in FREEDOMS_OF_KIND)


def _range(joint: JointModel) -> str:
    if joint.limits is None:
        return "-"
    if joint.prismatic:
        return f"{joint.limits[0]:g} to {joint.limits[1]:g} m"
    low, high = map(math.degrees, joint.limits)
    return f"{low:.4g} to {high:.4g} deg"


def _links(robot: Description) -> list[list[str]]:
    rows = [["i", "link", "mass [kg]", "com x [m]", "y", "z"]]
    for i, link in enumerate(robot.links, start=1):
        rows.append([str(i), shown(link.name), *map(_number, (link.mass, *link.com))])
    return rows


def _tensors(robot: Description) -> list[list[str]]:
    """Return the tensors about the centres of mass in the axes of the link frames; names would exceed the width."""
    rows = [["i", "Ixx [kg m^2]", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"]]
    for i, link in enumerate(robot.links, start=1):
        rows.append([str(i), *map(_number, tensor_entries(link.inertia))])
    return rows


def _drives(robot: Description) -> list[list[str]]:
    rows = [["i", "joint", "rotor inertia", "gear", "at the joint", "viscous", "coulomb"]]
    for i, j in enumerate(robot.rows, start=1):
        if j.kind not in FREEDOMS_OF_KIND or j.viscous or j.coulomb or j.rotor_inertia:
            numbers = (j.rotor_inertia, j.gear, j.armature, j.viscous, j.coulomb)
            rows.append([str(i), shown(j.name), *map(_number, numbers)])
    return rows


def _springs(robot: Description) -> list[list[str]]:
    """Return the springs of the joints that have one."""
    rows = [["i", "joint", "spring", "x^2", "x^3", "at rest"]]
    for i, j in enumerate(robot.rows, start=1):
        if j.sprung:
            force, length = ("N", "m") if j.prismatic else ("N m", "rad")
            rest = f"{j.spring_rest:g} m" if j.prismatic else f"{_degrees(j.spring_rest)} deg"
            curve = [_number(k) for k in (*j.spring_curve, 0.0, 0.0)[:2]]
            rows.append([str(i), shown(j.name), f"{_number(j.spring_stiffness)} {force}/{length}", *curve, rest])
    return rows


def _degrees(angle: float) -> str:
    quarters = right_angles(angle)
    return str(90 * quarters) if quarters is not None else f"{math.degrees(angle):.6g}"


def _number(x: float) -> str:
    return f"{x + 0.0:.5g}"  # + 0.0 makes zero of a negative zero


def _vector(v: Sequence[float]) -> str:
    return "(" + ", ".join(f"{x + 0.0:g}" for x in v) + ")"


PRINTED_ZERO = 1e-9
"""Entries of a transform (rad or m) up to this are printed as zero: rounding of decimal right angles."""


def _transform(transform: Transform) -> str:
    rows = [[0.0 if abs(x) < PRINTED_ZERO else x for x in row] for row in transform]
    return "\n".join("  " + "  ".join(f"{x:>10.6g}" for x in row) for row in rows)


def _within_width(rows: list[list[str]], columns: int) -> list[str]:
    """Return the table; if it is too wide, in two parts, the first with `columns`."""
    text = _layout(rows)
    if max(map(len, text.splitlines())) <= MAX_LINE_WIDTH:
        return [text]
    return [_layout([row[:columns] for row in rows]), _layout([[row[0], *row[columns:]] for row in rows])]


def _layout(rows: list[list[str]]) -> str:
    """Return columns of equal width, with words to the left and numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    aligned = [str.ljust if head in ("joint", "link", "type") else str.rjust for head in rows[0]]
    lines = [
        "  ".join(align(cell, width) for cell, width, align in zip(row, widths, aligned, strict=True)) for row in rows
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(line.rstrip() for line in lines)
