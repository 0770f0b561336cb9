"""Findings about a file as a whole: units, placeholders, gravity, conventions, and joints that repeat each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from armwright.check.bodies import LONGEST
from armwright.check.from_toml import DISTAL, far_end, near_end
from armwright.check.report import Finding
from armwright.check.tensors import remoteness
from armwright.check.written import Array, Body, Written
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
        yield Finding("warning", "suspicious units", written.name, text)
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
        yield Finding("warning", "placeholder", written.name, text)


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
        for body in group:
            others = [other for other in group if abs(other.mass - body.mass) > 0.01 * body.mass]
            if others:
                names = ", ".join(other.name for other in others[:4])
                text = f"its tensor is that of {names}, though the masses differ ({body.mass:g}, {others[0].mass:g} kg)"
                soft = written.minor(body) or all(abs(o.mass - body.mass) <= SLIGHT * body.mass for o in others)
                yield Finding("note" if soft else "warning", "identical inertia", body.name, text, body.line)


def _all_about_origins(written: Written) -> Iterator[Finding]:
    """One tensor that could be about the origin is no news; where hardly any could not be, most are.

    Of the URDF files of example-robot-data only those of Laikago and Romeo are like that.
    """
    counted = (remoteness(body) for body in written.bodies if body.moves and body.given and not written.minor(body))
    remote = [value for value in counted if value is not None]
    away = sum(value > 0.25 for value in remote)
    beyond = sum(value > 1 for value in remote)
    if away >= max(4, 0.5 * len(remote)) and beyond <= 0.1 * len(remote):
        text = (
            f"of {away} tensors whose centre of mass is well off the origin, {away - beyond} could be about the origin "
            "of the link frame, where usually most could not; are all of them?"
        )
        yield Finding("warning", "inertia about the origin", written.name, text)


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
    yield Finding("warning", "DH convention", written.name, text)


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
            yield Finding("warning", "coaxial joints", joint.name, text)
