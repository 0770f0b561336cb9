"""Findings about the bodies of a file: masses, centres of mass and tensors, one link at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from armwright.algebra import Array
from armwright.check.about_origin import Twins, about_origin
from armwright.check.mistaken import SLIPS, by_meshes, by_twin
from armwright.check.report import Edit, Finding
from armwright.check.tensors import (
    CLOSE,
    FULL,
    flipped,
    near,
    possible,
    second_moment,
    steiner,
    turned_away,
)
from armwright.check.written import NOWHERE, Body, Written
from armwright.model.problems import ROUNDING

TYPICAL = 0.08
"""Largest moment over m L^2 of a usual link: a rod has 1/12."""

USUAL = (0.003, 5.0)
"""Largest moment over m L^2 of links of real arms, with L as in `_units`: 0.03 to 2, with some room on both sides."""

UNITS = {1e-4: "kg cm^2", 1e-6: "kg mm^2", 1e-7: "g cm^2", 1e-9: "g mm^2"}

NOISE = 1e-2
"""Relative asymmetry up to which the mean of two entries is what was meant."""

LONGEST = 10.0
"""Metres: links of cranes and of the arms in orbit stay below."""


def body_findings(written: Written) -> Iterator[Finding]:
    twins = Twins.among(written.bodies)
    for body in written.bodies:
        if body.given:
            yield from _mass(written, body)
            yield from _asymmetry(body)
            yield from _tensor(written, body, twins)
            yield from _centre(written, body)
            if written.format != "toml":  # of whose links all are on the chain, which `aw.problems` has sizes of
                yield from _units(written, body)


def found(severity: str, kind: str, body: Body, text: str, edits: tuple[Edit, ...] = ()) -> Finding:
    return Finding(severity, kind, body.name, text, body.line, edits)


def tensor_edits(body: Body, inertia: Array) -> tuple[Edit, ...]:
    """What to write so that the body has this tensor, given in the axes of the link frame."""
    if body.place == NOWHERE:
        return ()
    own = body.turn.T @ inertia @ body.turn
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = ((own + own.T) / 2).tolist()
    if body.form == "xml":
        six = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
        return tuple(Edit(body.place, key, repr(value)) for key, value in six.items())
    value = [xx, yy, zz, xy, xz, yz] if body.form == "six" else [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return (Edit(body.place, "inertia", repr(value)),)


def _mass(written: Written, body: Body) -> Iterator[Finding]:
    some = not _none(body)
    if body.mass < 0:
        yield found("error", "non-positive mass", body, f"its mass is negative ({body.mass:g} kg)")
    elif body.mass == 0 and some and not _only_spins(body):
        yield found(
            "warning" if body.moves else "note",
            "inertia without mass",
            body,
            f"it has a tensor of up to {np.max(np.abs(body.tensor)):.3g} kg m^2 and no mass, as no body can",
        )
    elif body.mass > 0 and not some:
        soft = written.minor(body) or body.welded
        yield found(
            "note" if soft else "warning",
            "missing inertia",
            body,
            f"its tensor is zero for a mass of {body.mass:g} kg: a point mass, or a value nobody filled in",
        )


def _none(body: Body) -> bool:
    """Whether there is no tensor: all zero, or as small as the rounding errors of a program that wrote it."""
    return bool(np.max(np.abs(body.tensor)) <= 1e-10 * max(body.mass, 0.0))


def _only_spins(body: Body) -> bool:
    """Only a moment about the axis of the first joint: often all that is known of that link, and all that matters."""
    if body.spin is None:
        return False
    about = float(body.spin @ body.inertia @ body.spin)
    return about > 0 and near(body.inertia, about * np.outer(body.spin, body.spin), ROUNDING)


def _asymmetry(body: Body) -> Iterator[Finding]:
    """Only a 3x3 tensor can be asymmetric."""
    largest, difference = float(np.max(np.abs(body.tensor))), np.abs(body.tensor - body.tensor.T).max()
    if not difference:
        return
    noise = bool(difference <= NOISE * largest)
    severity = "note" if difference <= ROUNDING * largest else "warning" if noise else "error"
    yield found(
        severity,
        "asymmetric inertia",
        body,
        f"mirrored entries of its tensor differ by up to {difference:.3g} kg m^2"
        + (", which is noise: their mean is meant" if noise else ", so it is no inertia tensor; one of them is wrong"),
        tensor_edits(body, body.inertia) if noise else (),
    )


def _tensor(written: Written, body: Body, twins: Twins) -> Iterator[Finding]:
    if _none(body) or _only_spins(body):
        return
    if not possible(body.inertia):
        yield from _impossible(body)
    elif body.mass > 0 and (evidence := about_origin(body, twins)) is not None:
        sure, why, own = evidence
        yield found(
            "error" if sure == "certain" else "warning",
            "inertia about the origin",
            body,
            f"its tensor seems to be about the origin of the link frame, not about the centre of mass: {why}",
            tensor_edits(body, own) if sure == "certain" and np.any(own) else (),
        )
    elif body.mass > 0 and (slip := _slip(written, body, twins)) is not None:
        yield slip
    elif body.mass > 0:
        yield from _turned(body)


def _slip(written: Written, body: Body, twins: Twins) -> Finding | None:
    """Signs or moments that a twin or the meshes have otherwise. Which of two is wrong is for a person to say."""
    if written.format != "toml" and (told := by_twin(body, twins)) is not None:  # of which no chain has any
        how, twin = told
        text = f"{how} its tensor would be that of its twin {twin}; as it stands it is not, so one of the two is wrong"
        return found("note" if written.minor(body) else "warning", SLIPS[how][0], body, text)
    if not written.minor(body) and (seen := by_meshes(body)) is not None:
        how, given, then = seen
        text = (
            f"{how} its tensor would be much nearer to that of its meshes, filled evenly ({then:.1f} instead of "
            f"{given:.1f}); links are not filled evenly, so that it is left to a person"
        )
        return found("note", SLIPS[how][0], body, text)
    return None


def _impossible(body: Body) -> Iterator[Finding]:
    a, b, c = np.linalg.eigvalsh(body.inertia)
    moments = f"principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m^2"
    if a < -ROUNDING * max(abs(a), abs(c)):
        yield found("error", "not positive definite", body, f"no body has this tensor: {moments}, one is negative")
    else:
        text = f"no body has this tensor: {moments}, one is larger than the sum of the others"
        yield found("error", "triangle inequality", body, text)
    if possible(flipped(body.inertia)):
        text = (
            "with the signs of its products turned a body could have it: SolidWorks prints them with the other sign; "
            "another number may as well be wrong, so that it is left to a person"
        )
        yield found("warning", "flipped products", body, text)
    elif body.mass > 0 and possible(body.inertia + steiner(body.mass, body.com)):
        text = "with m (r^2 1 - r r^T) added a body could have it: the parallel-axis term was subtracted once too often"
        yield found("warning", "parallel axis twice", body, text)


def _turned(body: Body) -> Iterator[Finding]:
    """A slender body that does not lie along its link. Links can be made so; hence only a note."""
    for solid in body.solids:
        own = solid.tensor(body.mass)
        if near(body.inertia, own, 0.05):
            return
        if near(flipped(body.inertia), own, CLOSE):
            text = f"its products of inertia have the other sign than those of its {solid.kind}, which they else fit"
            yield found("error", "flipped products", body, text, tensor_edits(body, flipped(body.inertia)))
            return
    if (angles := turned_away(body)) is None:
        return
    given, mirrored = angles
    if given > 20 and mirrored < min(5.0, given / 4):
        text = (
            f"its mass is stretched {given:.0f} degrees away from the next joint, and along it ({mirrored:.0f}) "
            "if the signs of its products are turned; links may be made so, so that it is left to a person"
        )
        yield found("note", "flipped products", body, text)
    elif given > 70 and _squeezed(body):
        text = f"its mass is stretched {given:.0f} degrees across the link; is the tensor in the link's axes?"
        yield found("note", "turned tensor", body, text)


def _squeezed(body: Body) -> bool:
    """Whether a body whose centre is halfway between its joints hardly reaches either of them."""
    end = body.points[int(np.argmax(np.linalg.norm(body.points, axis=1)))]
    length = float(np.linalg.norm(end))
    u = end / length
    spread = math.sqrt(max(0.0, float(u @ second_moment(body.inertia) @ u)) / body.mass)
    return 0.3 < float(body.com @ u) / length < 0.7 and spread < 0.1 * length


def _units(written: Written, body: Body) -> Iterator[Finding]:
    """A link whose joints are all in one place may lie on the way to it."""
    least = max(body.length, 2 * float(np.linalg.norm(body.com)), 0.5 * written.segment)
    most = least if body.length else max(least, body.stem)
    largest = float(np.max(np.abs(body.inertia)))
    if body.mass <= 0 or least <= 0 or least > LONGEST or _none(body) or not possible(body.inertia):
        return
    high, low = largest / (body.mass * most * most), largest / (body.mass * least * least)
    if high <= USUAL[1] and low >= USUAL[0]:
        return
    ratio, size = (high, most) if high > USUAL[1] else (low, least)
    far = not USUAL[0] / 30 <= ratio <= USUAL[1] * 30
    usual, much = TYPICAL * body.mass * size * size, "large" if ratio > 1 else "small"
    yield found(
        "note" if not body.moves or (not far and (written.minor(body) or body.welded)) else "warning",
        "suspicious units",
        body,
        f"its inertia ({largest:.3g} kg m^2) is far too {much} for {body.mass:.3g} kg over {size:.2g} m, where about "
        f"{usual:.2g} is usual; {unit_guess(ratio, body.mass)}",
    )


def unit_guess(ratio: float, mass: float) -> str:
    """Which unit would explain a moment that is `ratio` m L^2."""
    wanted = math.log10(ratio / TYPICAL)
    if ratio < TYPICAL:
        grams = abs(wanted + 3) < 1.2 and mass > 20
        return "is the mass in grams?" if grams else "check the units of mass, inertia and lengths"
    factor = min(UNITS, key=lambda factor: abs(wanted + math.log10(factor)))
    close = abs(wanted + math.log10(factor)) < 1.2
    return f"is it in {UNITS[factor]}?" if close else "check the units of mass, inertia and lengths"


def _centre(written: Written, body: Body) -> Iterator[Finding]:
    low, high = body.points.min(axis=0), body.points.max(axis=0)
    outside = float(np.linalg.norm(np.maximum(0, np.maximum(low - body.com, body.com - high))))
    spread = math.sqrt(max(0.0, float(np.linalg.eigvalsh(second_moment(body.inertia))[2])) / abs(body.mass or 1.0))
    size = max(body.length, written.segment, FULL * spread)
    if body.mass <= 0 or size <= 0 or outside <= 3 * size:
        return
    guess = "; millimetres?" if outside > LONGEST or outside > 100 * size else ""
    yield found(
        "note" if (written.minor(body) or body.welded) and not guess else "warning",
        "centre of mass outside",
        body,
        f"its centre of mass is {outside:.3g} m off the joints and shapes of a link {size:.2g} m long{guess}",
    )
