"""Bodies fixed to each other as one body."""

from __future__ import annotations

from functools import reduce

from armwright.algebra import point_inertia
from armwright.mechanism import Link


def _merged_pair(one: Link, two: Link) -> Link:
    mass = one.mass + two.mass
    com = (one.moment + two.moment) * (1 / mass) if mass else one.com
    inertia = one.inertia + two.inertia
    for part in (one, two):
        inertia = inertia + point_inertia(part.com - com) * part.mass
    return Link(mass, com, inertia)


def composite(parts: list[Link]) -> Link:
    """Return bodies fixed to each other as one."""
    return reduce(_merged_pair, parts)
