"""Findings about the bodies of a file: by the rules, and about tensors as written.

Axes, reference point and signs of a tensor depend on the frames of the file, which a loaded robot no longer has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armwright.algebra import Array
from armwright.check.file_model import NOT_EDITABLE, Body, FileModel
from armwright.check.findings import Edit, Finding
from armwright.check.origin_tensors import SEVERAL_AGREEMENT, Twins, origin_evidence
from armwright.check.tensor_slips import TENSOR_SLIPS, mesh_slip, twin_slip
from armwright.rules import find_problems
from armwright.rules.tensors import (
    TENSOR_SLACK,
    is_physical,
    parallel_axis_term,
    second_moment,
    tensors_agree,
    with_negated_products,
)

ASYMMETRY_NOISE = 1e-2
"""Relative asymmetry up to which the mean of two mirrored entries is taken as correct."""


def body_findings(model: FileModel) -> Iterator[Finding]:
    """Yield the findings about all bodies of a file."""
    twins = Twins.of_bodies(model.bodies)
    for body, facts in zip(model.described_bodies, model.facts.bodies, strict=True):
        yield from (Finding.of(problem, body.line) for problem in find_problems(facts))
        yield from _asymmetry(model, body)
        if not (facts.without_inertia or facts.only_spins):
            yield from _tensor(model, body, twins)


def body_finding(severity: str, kind: str, body: Body, text: str, edits: tuple[Edit, ...] = ()) -> Finding:
    """Return a finding about a body, at its line."""
    return Finding(severity, kind, body.name, text, body.line, edits)


def tensor_edits(model: FileModel, body: Body, inertia: Array) -> tuple[Edit, ...]:
    """Return the edits that give a body this tensor, which is in the axes of the link frame."""
    if body.place == NOT_EDITABLE:
        return ()
    tensor = body.rotation.T @ inertia @ body.rotation
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = ((tensor + tensor.T) / 2).tolist()
    if body.form == "xml":
        six = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
        return tuple(Edit(body.place, key, repr(value)) for key, value in six.items())
    value = [xx, yy, zz, xy, xz, yz] if body.form == "six" else [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return (Edit(body.place, "inertia", model.toml_text(value, "kg m^2")),)


def _asymmetry(model: FileModel, body: Body) -> Iterator[Finding]:
    """Yield a finding if mirrored entries of a 3x3 tensor differ."""
    largest, difference = float(np.max(np.abs(body.tensor))), np.abs(body.tensor - body.tensor.T).max()
    if not difference:
        return
    noise = bool(difference <= ASYMMETRY_NOISE * largest)
    severity = "note" if difference <= TENSOR_SLACK * largest else "warning" if noise else "error"
    yield body_finding(
        severity,
        "asymmetric inertia",
        body,
        f"mirrored entries of its tensor differ by up to {difference:.3g} kg m^2"
        + ("; this is noise, and their mean is used" if noise else "; one of them is wrong"),
        tensor_edits(model, body, body.inertia) if noise else (),
    )


def _tensor(model: FileModel, body: Body, twins: Twins) -> Iterator[Finding]:
    if not is_physical(body.inertia):
        yield from _impossible_tensor(body)
    elif body.mass > 0 and (evidence := origin_evidence(body, twins)) is not None:
        certainty, reason, tensor = evidence
        yield body_finding(
            "error" if certainty == "certain" else "warning",
            "inertia about the origin",
            body,
            f"its tensor seems to be about the origin of the link frame, not about the centre of mass: {reason}",
            tensor_edits(model, body, tensor) if certainty == "certain" and np.any(tensor) else (),
        )
    elif body.mass > 0 and (slip := _slip(model, body, twins)) is not None:
        yield slip
    elif body.mass > 0:
        yield from _orientation(model, body)


def _slip(model: FileModel, body: Body, twins: Twins) -> Finding | None:
    """Return a finding if a similar link or the meshes contradict signs or moments; a person decides which is wrong."""
    if model.format != "toml" and (twin := twin_slip(body, twins)) is not None:  # a chain has no similar links
        repair, name = twin
        text = f"{repair} its tensor would be that of the similar link {name}; now they differ, so one of them is wrong"
        return body_finding("note" if model.minor(body) else "warning", TENSOR_SLIPS[repair][0], body, text)
    if not model.minor(body) and (shape := mesh_slip(body)) is not None:
        repair, distance, corrected = shape
        text = (
            f"{repair} its tensor would be much closer to that of its meshes with one density ({corrected:.1f} instead "
            f"of {distance:.1f}); links are not of one density, so please decide"
        )
        return body_finding("note", TENSOR_SLIPS[repair][0], body, text)
    return None


def _impossible_tensor(body: Body) -> Iterator[Finding]:
    """Yield a finding if a known mistake explains an impossible tensor."""
    if is_physical(with_negated_products(body.inertia)):
        text = (
            "with opposite signs of its products it would be possible: SolidWorks prints them with the other sign; "
            "another number may be wrong as well, so please decide"
        )
        yield body_finding("warning", "flipped products", body, text)
    elif body.mass > 0 and is_physical(body.inertia + parallel_axis_term(body.mass, body.com)):
        text = "with m (r^2 1 - r r^T) added it would be possible: the parallel-axis term was subtracted twice"
        yield body_finding("warning", "parallel axis twice", body, text)


def _orientation(model: FileModel, body: Body) -> Iterator[Finding]:
    """Yield a note if a slender body does not lie along its link, as some links are designed."""
    for solid in body.solids:
        tensor = solid.tensor(body.mass)
        if tensors_agree(body.inertia, tensor, 0.05):
            return
        if tensors_agree(with_negated_products(body.inertia), tensor, SEVERAL_AGREEMENT):
            text = f"its products of inertia match its {solid.kind}, but have opposite signs"
            yield body_finding(
                "error", "flipped products", body, text, tensor_edits(model, body, with_negated_products(body.inertia))
            )
            return
    end = body.points[int(np.argmax(np.linalg.norm(body.points, axis=1)))]
    length = float(np.linalg.norm(end))
    if not length or (angles := _inclinations(body, end / length)) is None:
        return
    angle, mirrored = angles
    if angle > 20 and mirrored < min(5.0, angle / 4):
        text = (
            f"its long axis is {angle:.0f} degrees from the direction to the next joint, and {mirrored:.0f} degrees "
            "with opposite signs of its products; some links are designed so, so please decide"
        )
        yield body_finding("note", "flipped products", body, text)
    elif angle > 70 and _lies_across(body, end / length, length):
        text = f"its long axis is {angle:.0f} degrees from that of the link; is the tensor in the link's axes?"
        yield body_finding("note", "turned tensor", body, text)


def _inclinations(body: Body, u: Array) -> tuple[float, float] | None:
    """Return the angles, degrees, between a slender body and a direction: as written, and with negated products."""
    angles = []
    for inertia in (body.inertia, with_negated_products(body.inertia)):
        values, vectors = np.linalg.eigh(second_moment(inertia))
        if values[2] < 3 * max(values[1], 1e-300):
            return None
        angles.append(float(np.degrees(np.arccos(min(1.0, abs(float(vectors[:, 2] @ u)))))))
    return angles[0], angles[1]


def _lies_across(body: Body, u: Array, length: float) -> bool:
    """Return whether a body with its centre about halfway between its joints is short along the link."""
    spread = math.sqrt(max(0.0, float(u @ second_moment(body.inertia) @ u)) / body.mass)
    return 0.3 < float(body.com @ u) / length < 0.7 and spread < 0.1 * length
