"""Findings about a file as a whole: units, placeholders, gravity, conventions, and joints that repeat each other."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from armwright.algebra import Array
from armwright.check.bodies import LONGEST
from armwright.check.from_toml import DISTAL, far_end, near_end
from armwright.check.report import Finding
from armwright.check.tensors import remoteness
from armwright.check.written import Body, Written
from armwright.model.description import Description, right_angles

DENSEST = 2000.0
"""kg over reach^3: real arms have 5 to 150."""

SLIGHT = 0.1
"""Relative difference of masses for which a copied tensor does little harm."""

EARTH = (9.76, 9.84)
PLANETS = {1.62: "the Moon's", 3.71: "that of Mars", 8.87: "that of Venus", 24.8: "Jupiter's"}


def whole_findings(written: Written) -> Iterator[Finding]:
    yield from _lengths(written)
    yield from _masses(written)
    yield from _placeholders(written)
    yield from _same_tensors(written)
    yield from _all_about_origins(written)
    yield from _gravity(written)
    yield from _lost_meshes(written)
    if written.rows:
        yield from _convention(written)


def _lengths(written: Written) -> Iterator[Finding]:
    for hinge in written.hinges:
        length = float(np.linalg.norm(hinge.offset))
        if length > LONGEST:
            text = f"it is {length:.4g} m from the joint before it; millimetres?"
            yield Finding("warning", "millimetres", hinge.name, text, hinge.line)


def _masses(written: Written) -> Iterator[Finding]:
    reach = sum(float(np.linalg.norm(hinge.offset)) for hinge in written.hinges)
    if 0 < reach < LONGEST and written.mass > DENSEST * reach**3 and written.mass > 50:
        text = f"it weighs {written.mass:.4g} kg with a reach of some {reach:.2g} m; are its masses in grams?"
        heavy = tuple(body.name for body in _weighty(written))
        yield Finding("warning", "suspicious units", written.name, text, about=heavy)
        return
    masses = sorted(body.mass for body in written.bodies if body.moves and body.mass > 0)
    usual = masses[len(masses) // 2] if masses else 0.0
    for body in written.bodies:
        if body.moves and body.mass > 50 and body.mass > 200 * usual and len(masses) > 2:
            text = f"its mass is {body.mass:.4g} kg where others have some {usual:.2g}; grams?"
            yield Finding("warning", "suspicious units", body.name, text, body.line)


def _weighty(written: Written) -> list[Body]:
    return [body for body in written.bodies if body.moves and body.mass > 0]


def _placeholders(written: Written) -> Iterator[Finding]:
    bodies = _weighty(written)
    round_ones = [body for body in bodies if _round(body)]
    for body in round_ones:
        text = f"its tensor is {body.tensor[0, 0]:g} times the unit matrix, as exporters write where they know nothing"
        alone = len(round_ones) == 1 or written.minor(body)
        yield Finding("note" if alone else "warning", "placeholder", body.name, text, body.line)
    mass = bodies[0].mass if bodies else 0.0
    if len(bodies) > 2 and all(body.mass == mass for body in bodies) and _power_of_ten(mass):
        text = f"all {len(bodies)} links have a mass of {mass:g} kg, as exporters write where they know nothing"
        yield Finding("warning", "placeholder", written.name, text, about=tuple(body.name for body in bodies))


def _round(body: Body) -> bool:
    value = float(body.tensor[0, 0])
    return value > 0 and np.array_equal(body.tensor, value * np.eye(3)) and _power_of_ten(value)


def _power_of_ten(x: float) -> bool:
    return x > 0 and abs(math.log10(x) - round(math.log10(x))) < 1e-12


def _same_tensors(written: Written) -> Iterator[Finding]:
    """Equal parts have equal masses; the same tensor on unequal ones was copied."""
    groups: dict[bytes, list[Body]] = {}
    for body in _weighty(written):
        if np.any(body.tensor) and not _round(body):
            groups.setdefault(body.tensor.tobytes(), []).append(body)
    for group in groups.values():
        ordered = sorted(group, key=lambda body: body.mass)
        masses = [body.mass for body in ordered]
        for body in group:
            lighter, heavier = bisect_left(masses, 0.99 * body.mass), bisect_right(masses, 1.01 * body.mass)
            others = [*ordered[: min(lighter, 4)], *ordered[heavier:][:4]][:4]
            if others:
                names = ", ".join(other.name for other in others)
                text = f"its tensor is that of {names}, though the masses differ ({body.mass:g}, {others[0].mass:g} kg)"
                soft = written.minor(body) or max(body.mass - masses[0], masses[-1] - body.mass) <= SLIGHT * body.mass
                yield Finding("note" if soft else "warning", "identical inertia", body.name, text, body.line)


def _all_about_origins(written: Written) -> Iterator[Finding]:
    """One tensor that could be about the origin is no news; where hardly any could not be, most are.

    Of the URDF files of example-robot-data only those of Laikago and Romeo are like that.
    """
    major = [body for body in written.bodies if body.moves and body.given and not written.minor(body)]
    remote = {body.name: value for body in major if (value := remoteness(body)) is not None}
    away = sum(value > 0.25 for value in remote.values())
    beyond = sum(value > 1 for value in remote.values())
    if away >= max(4, 0.5 * len(remote)) and beyond <= 0.1 * len(remote):
        text = (
            f"of {away} tensors whose centre of mass is well off the origin, {away - beyond} could be about the origin "
            "of the link frame, where usually most could not; are all of them?"
        )
        suspects = tuple(name for name, value in remote.items() if value <= 1)
        yield Finding("warning", "inertia about the origin", written.name, text, about=suspects)


def _gravity(written: Written) -> Iterator[Finding]:
    if written.gravity is None:
        return
    g = np.array(written.gravity)
    size, largest = float(np.linalg.norm(g)), float(g[int(np.argmax(np.abs(g)))])
    if not size:
        yield Finding("note", "gravity", written.name, "it is weightless: gravity is 0 0 0", written.gravity_line)
        return
    if not EARTH[0] <= size <= EARTH[1]:
        known = next((text for value, text in PLANETS.items() if abs(size - value) < 0.02 * value), None)
        text = f"gravity is {size:.5g} m/s^2" + (f", {known}" if known else "; expected 9.81, or 0 for none")
        yield Finding("note" if known else "warning", "gravity", written.name, text, written.gravity_line)
    if largest > 0.5 * size:
        axis = "xyz"[int(np.argmax(np.abs(g)))]
        text = f"gravity points along {axis}, not against it" + ("; do things fall up?" if axis == "z" else "")
        yield Finding("warning" if axis == "z" else "note", "gravity", written.name, text, written.gravity_line)


def _lost_meshes(written: Written) -> Iterator[Finding]:
    """Links that weigh something and of which nothing can be seen that has all its meshes."""
    lost = {}
    for body in written.bodies:
        shown = [skin for skin in body.skins if skin.meshes]
        if body.given and body.mass > 0 and shown and all(skin.lost for skin in shown):
            lost[body.name] = shown[-1].lost[0]
    if lost:
        (link, mesh), count = next(iter(lost.items())), len(lost)
        package = mesh.partition("://")[2].partition("/")[0] if mesh.startswith(("package://", "model://")) else "name"
        text = (
            f"the meshes of {count} link{'s' if count > 1 else ''} were not found (first: {mesh[:80]!r} of {link}); "
            f"with them more can be told: packages={{{package!r}: folder}}"
        )
        yield Finding("note", "meshes not found", written.name, text)


def _convention(written: Written) -> Iterator[Finding]:
    """In a modified table the first row, in a standard one the last, has usually no alpha and no a."""
    rows, distal = written.rows, written.convention in DISTAL
    if len(rows) < 3:
        return
    first, last = (not rows[i].alpha and not rows[i].a for i in (0, -1))
    looks_other = (first and not last) if distal else (last and not first)
    here, there = _distances(written, distal), _distances(written, not distal)
    if not looks_other or (there > 2 * here and there > 0):
        return
    other = "modified" if distal else "standard"
    end = "last" if distal else "first"
    text = (
        f"the table is read as {written.convention} and looks like a {other} one: its {end} row has alpha = "
        f"{rows[-1 if distal else 0].alpha:.4g} and a = {rows[-1 if distal else 0].a:.4g}, the "
        f"{'first' if distal else 'last'} neither"
    )
    if here > 2 * there:
        text += f"; and centres of mass would lie on the links ({there:.2g} m off in the mean, not {here:.2g})"
    about = tuple(hinge.name for hinge in written.hinges)
    yield Finding("warning", "DH convention", written.name, text, about=about)


def _distances(written: Written, distal: bool) -> float:
    """How far centres of mass lie from the line between the joints of their links, in the mean, read one way."""
    offs = []
    for i, row in enumerate(written.rows):
        if row.com is not None:
            end = near_end(written.rows, i) if distal else far_end(written.rows, i)
            offs.append(_from_segment(row.com, end))
    return sum(offs) / len(offs) if offs else 0.0


def _from_segment(point: Array, end: Array) -> float:
    square = float(end @ end)
    share = min(1.0, max(0.0, float(point @ end) / square)) if square else 0.0
    return float(np.linalg.norm(point - share * end))


def chain_findings(robot: Description) -> Iterator[Finding]:
    """Neighbouring joints that turn about the same line, or slide along parallel ones, each by itself."""
    for before, joint in pairwise(robot.rows):
        if before.mimic or joint.mimic:  # a telescope
            continue
        quarters = right_angles(joint.alpha)
        parallel = quarters is not None and quarters % 2 == 0
        if parallel and before.prismatic == joint.prismatic and (joint.prismatic or abs(joint.a) < 1e-9):
            what = "slides along the same direction" if joint.prismatic else "turns about the same line"
            text = f"it {what} as {before.name}, so that the two do the work of one"
            yield Finding("warning", "coaxial joints", joint.name, text, about=(before.name,))


def follower_findings(robot: Description, written: Written) -> Iterator[Finding]:
    """Joints that go less far, or less fast, than their own limits say, because those that follow them cannot."""
    hinges = {hinge.name: hinge for hinge in written.hinges}
    for joint in robot.joints:
        own = hinges.get(joint.name)
        behind = tuple(f.name for f in robot.followers if f.mimic is not None and f.mimic.joint == joint.name)
        if own is None or not behind:
            continue
        who, less = f"{', '.join(behind)}, which follow{'s' if len(behind) == 1 else ''} it", []
        low, high = own.lower if own.lower is not None else -math.inf, own.upper if own.upper is not None else math.inf
        if joint.limits is not None and (joint.limits[0] > low + 1e-9 or joint.limits[1] < high - 1e-9):
            less.append(f"goes from {joint.limits[0]:.6g} to {joint.limits[1]:.6g} only")
        if joint.max_velocity is not None and joint.max_velocity < (own.velocity or math.inf) * (1 - 1e-9):
            less.append(f"is no faster than {joint.max_velocity:.6g}")
        if less:
            text = f"it {' and '.join(less)}, by the limits of {who}"
            yield Finding("note", "held back", joint.name, text, own.line, about=behind)
