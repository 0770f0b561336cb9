"""Write the packaged catalogues: typical actuators by the laws of `armwright.sizing.scaling`, with four digits, products
and standard cylinders as `published_parts` has them, with six.

python tools/package_catalogue.py
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from published_parts import OWN_LICENCE, products, standard_cylinders

from armwright.sizing import Catalogue, scaling

MOTORS = {
    50: 0.159,
    100: 0.318,
    200: 0.637,
    400: 1.27,
    750: 2.39,
    1000: 3.18,
    1500: 4.77,
    2000: 6.37,
    3000: 9.55,
    5000: 15.9,
}
"""Watts at 3000 turns a minute, and newton metres."""
STRAIN_WAVES = [(torque, ratio) for torque in (18, 35, 70, 107, 200, 400, 800) for ratio in (50, 80, 120, 160)]
PLANETARIES = [(torque, ratio) for torque in (20, 80, 200, 500, 1200) for ratio in (5, 10, 25, 50)]
BRAKES = (0.32, 1.3, 3.2, 8.0, 16.0)
FOLDER = Path(__file__).parent.parent / "src" / "armwright" / "actuators" / "library"


def rounded(part: Any, most: int = 4) -> Any:
    """A part with that many digits of every number."""

    def digits(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(digits, value))
        return float(f"{value:.{most}g}") if isinstance(value, float) else value

    return replace(part, **{f.name: digits(getattr(part, f.name)) for f in fields(part)})


def all_rounded(book: Catalogue, most: int) -> Catalogue:
    parts = [tuple(rounded(p, most) for p in parts) for parts in book.parts.values()]
    return Catalogue(book.name, *parts, book.source, book.licence)


def typical() -> Catalogue:
    source = f"{scaling.TYPICAL_SOURCE}; tools/package_catalogue.py wrote it. Prices are in arbitrary units."
    made = Catalogue(
        "typical",
        tuple(scaling.servo(torque, f"typical servo {watts} W") for watts, torque in MOTORS.items()),
        tuple(scaling.strain_wave(*size) for size in STRAIN_WAVES)
        + tuple(scaling.planetary(*size) for size in PLANETARIES),
        tuple(scaling.holding(torque) for torque in BRAKES),
        source=source,
    )
    bare = [tuple(replace(part, source="") for part in parts) for parts in made.parts.values()]
    return all_rounded(Catalogue("typical", *bare, source, OWN_LICENCE), 4)


def catalogues() -> list[Catalogue]:
    return [typical(), all_rounded(products(), 6), all_rounded(standard_cylinders(), 6)]


if __name__ == "__main__":
    for book in catalogues():
        book.to_toml(FOLDER / f"{book.name}.toml")
