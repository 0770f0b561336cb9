"""Findings about a file as a whole: by the rules, and what only the file can tell of its conventions and meshes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armwright.algebra import Array
from armwright.check.from_toml import DISTAL, other_end
from armwright.check.report import Finding
from armwright.check.written import Body, Written
from armwright.rules import find_problems
from armwright.rules.tensors import second_moment


def whole_findings(written: Written) -> Iterator[Finding]:
    lines = {body.name: body.line for body in written.weighty}
    for problem in find_problems(written.facts):
        yield Finding.of(problem, written.gravity_line if problem.kind == "gravity" else lines.get(problem.where))
    yield from _all_about_origins(written)
    yield from _lost_meshes(written)
    if written.rows:
        yield from _convention(written)


def _all_about_origins(written: Written) -> Iterator[Finding]:
    """One tensor that could be about the origin is no news; where hardly any could not be, most are.

    Of the URDF files of example-robot-data only those of Laikago and Romeo are like that.
    """
    major = [body for body in written.bodies if body.moves and body.given and not written.minor(body)]
    remote = {body.name: value for body in major if (value := _remoteness(body)) is not None}
    away = sum(value > 0.25 for value in remote.values())
    beyond = sum(value > 1 for value in remote.values())
    if away >= max(4, 0.5 * len(remote)) and beyond <= 0.1 * len(remote):
        text = (
            f"of {away} tensors whose centre of mass is well off the origin, {away - beyond} could be about the origin "
            "of the link frame, where usually most could not; are all of them?"
        )
        suspects = tuple(name for name, value in remote.items() if value <= 1)
        yield Finding("warning", "inertia about the origin", written.name, text, about=suspects)


def _remoteness(body: Body) -> float | None:
    """m c S^-1 c: how far the origin lies outside of a body. Above 1 no tensor about the origin could be so small.

    None for rods and plates, and where nothing is known.
    """
    moment = second_moment(body.inertia)
    values = np.linalg.eigvalsh(moment)
    if body.mass <= 0 or values[0] <= 1e-9 * abs(values[2]):
        return None
    return float(body.mass * (body.com @ np.linalg.solve(moment, body.com)))


def _lost_meshes(written: Written) -> Iterator[Finding]:
    """Links that weigh something and that show nothing all of whose meshes are there."""
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
            f"with them more can be found: packages={{{package!r}: folder}}"
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
    other, end, far, row = ("modified", "last", "first", rows[-1]) if distal else ("standard", "first", "last", rows[0])
    text = (
        f"the table is read as {written.convention} and looks like a {other} one: its {end} row has alpha = "
        f"{row.alpha:.4g} and a = {row.a:.4g}, the {far} neither"
    )
    if here > 2 * there:
        text += f"; and centres of mass would lie on the links ({there:.2g} m off in the mean, not {here:.2g})"
    about = tuple(hinge.name for hinge in written.hinges)
    yield Finding("warning", "DH convention", written.name, text, about=about)


def _distances(written: Written, distal: bool) -> float:
    """How far centres of mass lie from the line between the joints of their links, in the mean, read one way."""
    rows = written.rows
    offs = [_from_segment(row.com, other_end(rows, i, distal)) for i, row in enumerate(rows) if row.com is not None]
    return sum(offs) / len(offs) if offs else 0.0


def _from_segment(point: Array, end: Array) -> float:
    square = float(end @ end)
    share = min(1.0, max(0.0, float(point @ end) / square)) if square else 0.0
    return float(np.linalg.norm(point - share * end))
