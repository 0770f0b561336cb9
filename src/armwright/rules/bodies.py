"""Rules about one body: its mass, its tensor, and where its centre of mass is."""

from __future__ import annotations

import math
from collections.abc import Iterator

from armwright.rules.facts import BodyFacts
from armwright.rules.problem import Doubt
from armwright.rules.tensors import FULL, ROUNDING, possible

TYPICAL = 0.08
"""Largest moment over m L^2 of a usual link: a rod has 1/12."""

USUAL = (0.003, 4.0)
"""Largest moment over m L^2 of links of real arms, with L as long as the link may be.

Of 690 links in published files all others are made up: the identified first link of a Panda has 2.9, the wrists of the
UR5, cylinders with a radius of 0.6 m in place of 0.06 m, have 5.0.
"""

FAR = 40.0
"""Times a usual limit: even a link that hardly matters is not so by chance."""

UNITS = {-3: "grams", 4: "kg cm^2", 6: "kg mm^2", 7: "g cm^2", 9: "g mm^2"}
"""By how many powers of ten a moment is off that is given so."""

LONGEST = 10.0
"""Metres: links of cranes and of the arms in orbit stay below."""


def no_mass(body: BodyFacts) -> Iterator[Doubt]:
    if body.mass < 0:
        yield Doubt("error", f"its mass is negative ({body.mass:g} kg)")
    elif body.mass == 0 and not (body.part or body.only_spins):
        yield Doubt("warning", "its mass is zero")


def tensor_without_mass(body: BodyFacts) -> Iterator[Doubt]:
    if body.mass == 0 and possible(body.inertia):
        text = f"it has a tensor of up to {body.largest:.3g} kg m^2 and no mass, as no body can"
        yield Doubt("warning" if body.moves else "note", text)


def mass_without_tensor(body: BodyFacts) -> Iterator[Doubt]:
    if body.mass > 0 and body.empty:
        text = f"its inertia is missing: the tensor is zero for {body.mass:g} kg; a point, or a value nobody filled in?"
        yield Doubt("note" if body.minor else "warning", text)


def negative_moment(body: BodyFacts) -> Iterator[Doubt]:
    if _impossible(body) and _indefinite(body):
        yield Doubt("error", f"its inertia tensor is not positive definite: principal moments {_listed(body)}")


def large_moment(body: BodyFacts) -> Iterator[Doubt]:
    if _impossible(body) and not _indefinite(body):
        text = f"its principal moments {_listed(body)} break the triangle inequality: one exceeds the sum of the others"
        yield Doubt("error", text)


def _impossible(body: BodyFacts) -> bool:
    return not (body.empty or body.only_spins or possible(body.inertia))


def _indefinite(body: BodyFacts) -> bool:
    a, _, c = body.moments
    return bool(a < -ROUNDING * max(abs(a), abs(c)))


def _listed(body: BodyFacts) -> str:
    return "{:.4g}, {:.4g}, {:.4g} kg m^2".format(*body.moments)


def units(body: BodyFacts) -> Iterator[Doubt]:
    if body.mass <= 0 or body.least <= 0 or body.empty or _impossible(body):
        return
    if body.largest > USUAL[1] * body.mass * body.most * body.most:
        much, size = "large", body.most
    elif body.largest < USUAL[0] * body.mass * body.least * body.least:
        much, size = "small", body.least
    else:
        return
    decades = math.log10(body.largest) - math.log10(body.mass) - 2 * math.log10(size) - math.log10(TYPICAL)
    far = not math.log10(USUAL[0] / FAR / TYPICAL) <= decades <= math.log10(USUAL[1] * FAR / TYPICAL)
    power = min(UNITS, key=lambda power: abs(decades - power))
    likely = abs(decades - power) < 1.2 and (body.mass > 20 or UNITS[power] != "grams")
    guess = ": lengths in millimetres?" if size > LONGEST else f": {UNITS[power]}?" if likely else ""
    yield Doubt(
        "note" if not body.moves or (body.minor and not far) else "warning",
        f"its inertia ({body.largest:.3g} kg m^2) is far too {much} for {body.mass:.3g} kg over {size:.2g} m, where "
        f"about {TYPICAL * body.mass * size * size:.2g} is usual; check the units{guess}",
    )


def centre_outside(body: BodyFacts) -> Iterator[Doubt]:
    size = _extent(body)
    if not 0 < 3 * size < body.off:
        return
    guess = "; millimetres?" if astray(body) else ""
    text = f"its centre of mass is {body.off:.3g} m off the joints and shapes of a link {size:.2g} m long{guess}"
    yield Doubt("note" if body.minor and not guess else "warning", text)


def astray(body: BodyFacts) -> bool:
    """Whether its centre of mass is so far off that it says nothing of how long the link is."""
    size = _extent(body)
    return 0 < 3 * size < body.off and (body.off > LONGEST or body.off > 100 * size)


def _extent(body: BodyFacts) -> float:
    """How long a link is, by its joints and by how far its mass is spread; 0 where it has none."""
    if body.mass <= 0:
        return 0.0
    a, b, c = body.moments
    spread = math.sqrt(max(0.0, (b + c - a) / 2) / body.mass)
    return max(body.length, min(float(FULL * spread), LONGEST / 3))  # what is held far away spreads the mass of a link
