"""Rules about one body: its mass, its tensor and its centre of mass."""

from __future__ import annotations

import math
from collections.abc import Iterator

from armwright.rules.facts import BodyFacts
from armwright.rules.problem import Doubt, Rule
from armwright.rules.tensors import ROD_HALF_LENGTH, TENSOR_SLACK, is_physical

TYPICAL_MOMENT_RATIO = 0.08
"""Largest moment of a typical link over m L^2; a rod has 1/12."""

USUAL_MOMENT_RATIOS = (0.003, 4.0)
"""Range of the largest moment over m L^2 for links of real arms, L being the largest plausible length.

Of 690 links in published files, only invented ones are outside of it. The identified first link of a Panda has 2.9.
The wrists of the UR5, cylinders with a radius of 0.6 m in place of 0.06 m, have 5.0.
"""

UNIT_MARGIN = 40.0
"""Factor beyond the usual range from which even a minor link gets a warning."""

MOMENT_UNITS = {-3: "grams", 4: "kg cm^2", 6: "kg mm^2", 7: "g cm^2", 9: "g mm^2"}
"""Units of moments by the power of ten in one kg m^2."""

MAX_LINK_LENGTH = 10.0
"""Metres; links of cranes and of space robots are shorter."""


def no_mass(body: BodyFacts) -> Iterator[Doubt]:
    """Doubt a mass that is not positive."""
    if body.mass < 0:
        yield Doubt("error", f"its mass is negative ({body.mass:g} kg)")
    elif body.mass == 0 and not (body.weldable or body.only_spins):
        yield Doubt("warning", "its mass is zero")


def tensor_without_mass(body: BodyFacts) -> Iterator[Doubt]:
    """Doubt a tensor of a body without mass."""
    if body.mass == 0 and is_physical(body.inertia):
        text = f"it has a tensor of up to {body.largest:.3g} kg m^2 and no mass, which is impossible"
        yield Doubt("warning" if body.moves else "note", text)


def mass_without_tensor(body: BodyFacts) -> Iterator[Doubt]:
    """Doubt a body whose tensor is zero."""
    if body.mass > 0 and body.without_inertia:
        text = f"its inertia is missing: the tensor is zero for {body.mass:g} kg; a point mass, or a missing value?"
        yield Doubt("note" if body.minor else "warning", text)


def negative_moment(body: BodyFacts) -> Iterator[Doubt]:
    """Doubt a tensor with a negative principal moment."""
    if _impossible(body) and _indefinite(body):
        yield Doubt("error", f"its inertia tensor is not positive definite: principal moments {_listed(body)}")


def large_moment(body: BodyFacts) -> Iterator[Doubt]:
    """Doubt a principal moment above the sum of the others."""
    if _impossible(body) and not _indefinite(body):
        text = f"its principal moments {_listed(body)} break the triangle inequality: one exceeds the sum of the others"
        yield Doubt("error", text)


def _impossible(body: BodyFacts) -> bool:
    return not (body.without_inertia or body.only_spins or is_physical(body.inertia))


def _indefinite(body: BodyFacts) -> bool:
    a, _, c = body.moments
    return bool(a < -TENSOR_SLACK * max(abs(a), abs(c)))


def _listed(body: BodyFacts) -> str:
    return "{:.4g}, {:.4g}, {:.4g} kg m^2".format(*body.moments)


def tensor_units(body: BodyFacts) -> Iterator[Doubt]:
    """Doubt a tensor that is far too large or small for the mass and size of the body."""
    if body.mass <= 0 or body.min_size <= 0 or body.without_inertia or _impossible(body):
        return
    if body.largest > USUAL_MOMENT_RATIOS[1] * body.mass * body.max_size * body.max_size:
        direction, size = "large", body.max_size
    elif body.largest < USUAL_MOMENT_RATIOS[0] * body.mass * body.min_size * body.min_size:
        direction, size = "small", body.min_size
    else:
        return
    decades = math.log10(body.largest) - math.log10(body.mass) - 2 * math.log10(size) - math.log10(TYPICAL_MOMENT_RATIO)
    low, high = USUAL_MOMENT_RATIOS[0] / UNIT_MARGIN, USUAL_MOMENT_RATIOS[1] * UNIT_MARGIN
    extreme = not math.log10(low / TYPICAL_MOMENT_RATIO) <= decades <= math.log10(high / TYPICAL_MOMENT_RATIO)
    power = min(MOMENT_UNITS, key=lambda power: abs(decades - power))
    likely = abs(decades - power) < 1.2 and (body.mass > 20 or MOMENT_UNITS[power] != "grams")
    guess = ": lengths in millimetres?" if size > MAX_LINK_LENGTH else f": {MOMENT_UNITS[power]}?" if likely else ""
    yield Doubt(
        "note" if not body.moves or (body.minor and not extreme) else "warning",
        f"its inertia ({body.largest:.3g} kg m^2) is far too {direction} for {body.mass:.3g} kg over {size:.2g} m; "
        f"about {TYPICAL_MOMENT_RATIO * body.mass * size * size:.2g} is usual; check the units{guess}",
    )


def centre_outside(body: BodyFacts) -> Iterator[Doubt]:
    """Doubt a centre of mass that is far from all joints and shapes of its link."""
    size = _extent(body)
    if not 0 < 3 * size < body.offset:
        return
    guess = "; millimetres?" if has_misplaced_centre(body) else ""
    text = f"its centre of mass is {body.offset:.3g} m off the joints and shapes of a link {size:.2g} m long{guess}"
    yield Doubt("note" if body.minor and not guess else "warning", text)


def has_misplaced_centre(body: BodyFacts) -> bool:
    """Return whether the centre of mass is too far off to indicate the length of the link."""
    size = _extent(body)
    return 0 < 3 * size < body.offset and (body.offset > MAX_LINK_LENGTH or body.offset > 100 * size)


def _extent(body: BodyFacts) -> float:
    """Return the length of a link by its joints and by the spread of its mass; 0 without a mass."""
    if body.mass <= 0:
        return 0.0
    a, b, c = body.moments
    spread = math.sqrt(max(0.0, (b + c - a) / 2) / body.mass)
    return max(body.length, min(float(ROD_HALF_LENGTH * spread), MAX_LINK_LENGTH / 3))


BODY_RULES = (
    Rule(BodyFacts, "non-positive mass", no_mass, "a link that moves and has no mass, or a negative one"),
    Rule(BodyFacts, "inertia without mass", tensor_without_mass, "a tensor on a link without mass"),
    Rule(BodyFacts, "missing inertia", mass_without_tensor, "a mass with a tensor of zero"),
    Rule(BodyFacts, "not positive definite", negative_moment, "a tensor with a negative principal moment"),
    Rule(BodyFacts, "triangle inequality", large_moment, "a principal moment above the sum of the other two"),
    Rule(
        BodyFacts, "suspicious units", tensor_units, "mass or inertia out of proportion to the size of the link", True
    ),
    Rule(
        BodyFacts,
        "centre of mass outside",
        centre_outside,
        "a centre of mass far from all joints and shapes of its link",
    ),
)
