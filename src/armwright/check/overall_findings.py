"""Findings about a file as one: by the rules, and about reference points, conventions and missing meshes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armwright.algebra import Array
from armwright.check.file_model import Body, FileModel
from armwright.check.findings import Finding
from armwright.check.toml_model import DISTAL_CONVENTIONS, other_joint
from armwright.rules import find_problems
from armwright.rules.tensors import second_moment


def overall_findings(model: FileModel) -> Iterator[Finding]:
    """Yield the findings about the file as one."""
    lines = {body.name: body.line for body in model.described_bodies}
    for problem in find_problems(model.facts):
        yield Finding.of(problem, model.gravity_line if problem.kind == "gravity" else lines.get(problem.where))
    yield from _all_about_origins(model)
    yield from _missing_meshes(model)
    if model.rows:
        yield from _convention(model)


def _all_about_origins(model: FileModel) -> Iterator[Finding]:
    """Yield a finding if nearly all tensors could be about the origin; a few in each file could.

    Of the URDF files of example-robot-data only those of Laikago and Romeo have this finding.
    """
    major = [body for body in model.bodies if body.moves and body.has_inertial and not model.minor(body)]
    remoteness = {body.name: value for body in major if (value := _remoteness(body)) is not None}
    far = sum(value > 0.25 for value in remoteness.values())
    impossible = sum(value > 1 for value in remoteness.values())
    if far >= max(4, 0.5 * len(remoteness)) and impossible <= 0.1 * len(remoteness):
        text = (
            f"of {far} tensors with a centre of mass far from the origin, {far - impossible} could be about the origin "
            "of the link frame; usually most could not. Are all of them about it?"
        )
        suspects = tuple(name for name, value in remoteness.items() if value <= 1)
        yield Finding("warning", "inertia about the origin", model.name, text, about=suspects)


def _remoteness(body: Body) -> float | None:
    """Return m c^T S^-1 c: above 1 the tensor is too small to be about the origin.

    None for rods, plates and unknown tensors.
    """
    moment = second_moment(body.inertia)
    values = np.linalg.eigvalsh(moment)
    if body.mass <= 0 or values[0] <= 1e-9 * abs(values[2]):
        return None
    return float(body.mass * (body.com @ np.linalg.solve(moment, body.com)))


def _missing_meshes(model: FileModel) -> Iterator[Finding]:
    """Yield a note about links with a mass of which every group of shapes lacks a mesh."""
    incomplete = {}
    for body in model.bodies:
        groups = [group for group in body.shape_groups if group.meshes]
        if body.has_inertial and body.mass > 0 and groups and all(group.missing for group in groups):
            incomplete[body.name] = groups[-1].missing[0]
    if incomplete:
        (link, mesh), count = next(iter(incomplete.items())), len(incomplete)
        package = mesh.partition("://")[2].partition("/")[0] if mesh.startswith(("package://", "model://")) else "name"
        text = (
            f"the meshes of {count} link{'s' if count > 1 else ''} were not found (first: {mesh[:80]!r} of {link}); "
            f"they reveal more mistakes: packages={{{package!r}: folder}}"
        )
        yield Finding("note", "meshes not found", model.name, text)


def _convention(model: FileModel) -> Iterator[Finding]:
    """Yield a finding if a table looks like another convention.

    The first row of a modified table, and the last of a standard one, usually has no alpha and no a.
    """
    rows, distal = model.rows, model.convention in DISTAL_CONVENTIONS
    if len(rows) < 3:
        return
    first, last = (not rows[i].alpha and not rows[i].a for i in (0, -1))
    looks_other = (first and not last) if distal else (last and not first)
    here, there = _distances(model, distal), _distances(model, not distal)
    if not looks_other or (there > 2 * here and there > 0):
        return
    other, end, opposite, row = (
        ("modified", "last", "first", rows[-1]) if distal else ("standard", "first", "last", rows[0])
    )
    text = (
        f"the table is read as {model.convention} and looks like a {other} one: its {end} row has alpha = "
        f"{row.alpha:.4g} and a = {row.a:.4g}, the {opposite} row neither"
    )
    if here > 2 * there:
        text += f"; and centres of mass would lie on the links (mean distance {there:.2g} m in place of {here:.2g})"
    about = tuple(hinge.name for hinge in model.hinges)
    yield Finding("warning", "DH convention", model.name, text, about=about)


def _distances(model: FileModel, distal: bool) -> float:
    """Return the mean distance of centres of mass from the lines between joints, for frames at one end of links."""
    rows = model.rows
    distances = [
        _from_segment(row.com, other_joint(rows, i, distal)) for i, row in enumerate(rows) if row.com is not None
    ]
    return sum(distances) / len(distances) if distances else 0.0


def _from_segment(point: Array, end: Array) -> float:
    square = float(end @ end)
    share = min(1.0, max(0.0, float(point @ end) / square)) if square else 0.0
    return float(np.linalg.norm(point - share * end))
