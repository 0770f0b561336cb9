"""Findings about the bodies of a file: by the rules, and what only the file can tell of a tensor.

In which axes it is given, about which point and with which signs hangs on the frames of the file, which are gone when a
robot is made of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armwright.algebra import Array
from armwright.check.about_origin import CLOSE, Twins, about_origin
from armwright.check.mistaken import SLIPS, by_meshes, by_twin
from armwright.check.report import Edit, Finding
from armwright.check.written import NOWHERE, Body, Written
from armwright.rules import find_problems
from armwright.rules.tensors import (
    TENSOR_SLACK,
    is_physical,
    parallel_axis_term,
    second_moment,
    tensors_agree,
    with_negated_products,
)

NOISE = 1e-2
"""Relative asymmetry up to which the mean of two entries is what was meant."""


def body_findings(written: Written) -> Iterator[Finding]:
    twins = Twins.among(written.bodies)
    for body, facts in zip(written.weighty, written.facts.bodies, strict=True):
        yield from (Finding.of(problem, body.line) for problem in find_problems(facts))
        yield from _asymmetry(written, body)
        if not (facts.without_inertia or facts.only_spins):
            yield from _tensor(written, body, twins)


def found(severity: str, kind: str, body: Body, text: str, edits: tuple[Edit, ...] = ()) -> Finding:
    return Finding(severity, kind, body.name, text, body.line, edits)


def tensor_edits(written: Written, body: Body, inertia: Array) -> tuple[Edit, ...]:
    """What to write so that the body has this tensor, given in the axes of the link frame."""
    if body.place == NOWHERE:
        return ()
    own = body.turn.T @ inertia @ body.turn
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = ((own + own.T) / 2).tolist()
    if body.form == "xml":
        six = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
        return tuple(Edit(body.place, key, repr(value)) for key, value in six.items())
    value = [xx, yy, zz, xy, xz, yz] if body.form == "six" else [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return (Edit(body.place, "inertia", written.said(value, "kg m^2")),)


def _asymmetry(written: Written, body: Body) -> Iterator[Finding]:
    """Only a 3x3 tensor can be asymmetric."""
    largest, difference = float(np.max(np.abs(body.tensor))), np.abs(body.tensor - body.tensor.T).max()
    if not difference:
        return
    noise = bool(difference <= NOISE * largest)
    severity = "note" if difference <= TENSOR_SLACK * largest else "warning" if noise else "error"
    yield found(
        severity,
        "asymmetric inertia",
        body,
        f"mirrored entries of its tensor differ by up to {difference:.3g} kg m^2"
        + (", which is noise: their mean is meant" if noise else ", so it is no inertia tensor; one of them is wrong"),
        tensor_edits(written, body, body.inertia) if noise else (),
    )


def _tensor(written: Written, body: Body, twins: Twins) -> Iterator[Finding]:
    if not is_physical(body.inertia):
        yield from _meant(body)
    elif body.mass > 0 and (evidence := about_origin(body, twins)) is not None:
        sure, why, own = evidence
        yield found(
            "error" if sure == "certain" else "warning",
            "inertia about the origin",
            body,
            f"its tensor seems to be about the origin of the link frame, not about the centre of mass: {why}",
            tensor_edits(written, body, own) if sure == "certain" and np.any(own) else (),
        )
    elif body.mass > 0 and (slip := _slip(written, body, twins)) is not None:
        yield slip
    elif body.mass > 0:
        yield from _turned(written, body)


def _slip(written: Written, body: Body, twins: Twins) -> Finding | None:
    """Signs or moments that a twin or the meshes have otherwise. Which of two is wrong is for a person to say."""
    if written.format != "toml" and (twin := by_twin(body, twins)) is not None:  # of which no chain has any
        how, name = twin
        text = f"{how} its tensor would be that of its twin {name}; as it stands it is not, so one of the two is wrong"
        return found("note" if written.minor(body) else "warning", SLIPS[how][0], body, text)
    if not written.minor(body) and (shape := by_meshes(body)) is not None:
        how, given, then = shape
        text = (
            f"{how} its tensor would be much nearer to that of its meshes, filled evenly ({then:.1f} instead of "
            f"{given:.1f}); links are not filled evenly, so that it is left to a person"
        )
        return found("note", SLIPS[how][0], body, text)
    return None


def _meant(body: Body) -> Iterator[Finding]:
    """What an impossible tensor could have been."""
    if is_physical(with_negated_products(body.inertia)):
        text = (
            "with the signs of its products turned a body could have it: SolidWorks prints them with the other sign; "
            "another number may as well be wrong, so that it is left to a person"
        )
        yield found("warning", "flipped products", body, text)
    elif body.mass > 0 and is_physical(body.inertia + parallel_axis_term(body.mass, body.com)):
        text = "with m (r^2 1 - r r^T) added a body could have it: the parallel-axis term was subtracted once too often"
        yield found("warning", "parallel axis twice", body, text)


def _turned(written: Written, body: Body) -> Iterator[Finding]:
    """A slender body that does not lie along its link. Links can be made so; hence only a note."""
    for solid in body.solids:
        own = solid.tensor(body.mass)
        if tensors_agree(body.inertia, own, 0.05):
            return
        if tensors_agree(with_negated_products(body.inertia), own, CLOSE):
            text = f"its products of inertia have the other sign than those of its {solid.kind}, which they else fit"
            yield found(
                "error",
                "flipped products",
                body,
                text,
                tensor_edits(written, body, with_negated_products(body.inertia)),
            )
            return
    end = body.points[int(np.argmax(np.linalg.norm(body.points, axis=1)))]
    length = float(np.linalg.norm(end))
    if not length or (angles := _turned_away(body, end / length)) is None:
        return
    given, mirrored = angles
    if given > 20 and mirrored < min(5.0, given / 4):
        text = (
            f"its mass is stretched {given:.0f} degrees away from the next joint, and along it ({mirrored:.0f}) "
            "if the signs of its products are turned; links may be made so, so that it is left to a person"
        )
        yield found("note", "flipped products", body, text)
    elif given > 70 and _squeezed(body, end / length, length):
        text = f"its mass is stretched {given:.0f} degrees across the link; is the tensor in the link's axes?"
        yield found("note", "turned tensor", body, text)


def _turned_away(body: Body, u: Array) -> tuple[float, float] | None:
    """Degrees between a slender body and a direction: as written, and with the signs of the products turned."""
    angles = []
    for inertia in (body.inertia, with_negated_products(body.inertia)):
        values, vectors = np.linalg.eigh(second_moment(inertia))
        if values[2] < 3 * max(values[1], 1e-300):
            return None
        angles.append(float(np.degrees(np.arccos(min(1.0, abs(float(vectors[:, 2] @ u)))))))
    return angles[0], angles[1]


def _squeezed(body: Body, u: Array, length: float) -> bool:
    """Whether a body whose centre is halfway between its joints hardly reaches either of them."""
    spread = math.sqrt(max(0.0, float(u @ second_moment(body.inertia) @ u)) / body.mass)
    return 0.3 < float(body.com @ u) / length < 0.7 and spread < 0.1 * length
