"""Units of a text such as "250 mm" or of a file. All numbers are converted to SI units and radians.

A unit is a product of powers of known units, `kg mm^2` or `N m s/rad`; each "/" divides by the next unit only.
Decimal numbers stay exact: "89.2 mm" is 0.0892 to the last bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from armwright.errors import ModelError, closest_name

Dimension: TypeAlias = tuple[int, int, int, int]
"""Powers of kilogram, metre, second and radian."""

MASS_POWERS, LENGTH_POWERS, TIME_POWERS, ANGLE_POWERS = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
FORCE_POWERS = (1, 1, -2, 0)
UNIT_ABBREVIATIONS = {"Nm": "N m", "Nmm": "N mm", "kNm": "kN m", "Nms": "N m s", "rpm": "turn/min"}
"""Products that are usually written as one word."""

MAX_LIST_DEPTH = 3
"""The largest depth of nested lists of numbers: a tensor has rows."""

MAX_QUANTITY_CHARS = 80
"""The largest number of characters of a number with its unit."""

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})(?:(\s*\*?\s*pi)(?:\s*/\s*([0-9]+))?)?\s*([^0-9\s.*/].*?)\s*")
_PI = re.compile(r"\s*([+-]?)\s*pi(?:\s*/\s*([0-9]+))?\s+([^0-9\s.*/].*?)\s*")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+")
_FACTOR = re.compile(r"([A-Za-zµ]+|°)(?:\^?(-?[0-9])|([²³]))?")


@dataclass(frozen=True)
class Unit:
    """A unit: its dimension, and its value in SI, factor pi^pi_power."""

    dimension: Dimension
    factor: Fraction = Fraction(1)
    pi_power: int = 0

    def times(self, other: Unit, power: int) -> Unit:
        """Return the product with a power of another unit."""
        dimension = tuple(a + power * b for a, b in zip(self.dimension, other.dimension, strict=True))
        kg, m, s, rad = dimension
        return Unit((kg, m, s, rad), self.factor * other.factor**power, self.pi_power + power * other.pi_power)

    def in_si(self, value: float) -> float:
        """Return a number of this unit in SI."""
        if not math.isfinite(value) or (self.factor == 1 and not self.pi_power):
            return value
        if self == DEGREE:
            return math.radians(value)
        try:
            return float(Fraction(repr(value)) * self.factor) * math.pi**self.pi_power
        except OverflowError:
            return math.copysign(math.inf, value)


DEGREE = Unit(ANGLE_POWERS, Fraction(1, 180), 1)
UNITS_BY_NAME = {
    "m": Unit(LENGTH_POWERS), "mm": Unit(LENGTH_POWERS, Fraction(1, 1000)), "cm": Unit(LENGTH_POWERS, Fraction(1, 100)),
    "um": Unit(LENGTH_POWERS, Fraction(1, 10**6)), "µm": Unit(LENGTH_POWERS, Fraction(1, 10**6)),
    "in": Unit(LENGTH_POWERS, Fraction(254, 10**4)), "ft": Unit(LENGTH_POWERS, Fraction(3048, 10**4)),
    "rad": Unit(ANGLE_POWERS), "mrad": Unit(ANGLE_POWERS, Fraction(1, 1000)),
    "turn": Unit(ANGLE_POWERS, Fraction(2), 1), "rev": Unit(ANGLE_POWERS, Fraction(2), 1),
    **dict.fromkeys(("deg", "degree", "degrees", "°"), DEGREE),
    "kg": Unit(MASS_POWERS), "g": Unit(MASS_POWERS, Fraction(1, 1000)),
    "lb": Unit(MASS_POWERS, Fraction(45359237, 10**8)),
    "s": Unit(TIME_POWERS), "ms": Unit(TIME_POWERS, Fraction(1, 1000)), "min": Unit(TIME_POWERS, Fraction(60)),
    "N": Unit(FORCE_POWERS), "kN": Unit(FORCE_POWERS, Fraction(1000)), "mN": Unit(FORCE_POWERS, Fraction(1, 1000)),
}  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """A quantity: its name for messages, its SI unit, an example, and other accepted units."""

    name: str
    unit: str
    example: str
    also: tuple[str, ...] = ()

    @property
    def units(self) -> tuple[Unit, ...]:
        """The accepted units."""
        return tuple(unit_of(text) for text in (self.unit, *self.also))


LENGTH = Quantity("a length", "m", "250 mm")
ANGLE = Quantity("an angle", "rad", "90 deg")
MASS = Quantity("a mass", "kg", "250 g")
INERTIA = Quantity("a moment of inertia", "kg m^2", "120 kg mm^2")
RATE = Quantity("an angular speed", "rad/s", "180 deg/s", ("rad",))
SPEED = Quantity("a speed", "m/s", "250 mm/s", ("m",))
TORQUE = Quantity("a torque", "N m", "50 N m")
FORCE = Quantity("a force", "N", "50 N")
TURNING_FRICTION = Quantity("viscous friction", "N m s/rad", "0.1 N m s/rad", ("N m s",))
SLIDING_FRICTION = Quantity("viscous friction", "N s/m", "20 N s/m")
TURNING_STIFFNESS = Quantity("a stiffness", "N m/rad", "40 N m/rad", ("N m",))
SLIDING_STIFFNESS = Quantity("a stiffness", "N/m", "2000 N/m")
PITCH = Quantity("a pitch", "m/rad", "5 mm/turn")
ACCELERATION = Quantity("an acceleration", "m/s^2", "9.81 m/s^2")
LINE_DENSITY = Quantity("a mass per length", "kg/m", "2 kg/m")

FILE_QUANTITIES = {"length": LENGTH, "angle": ANGLE, "mass": MASS, "inertia": INERTIA}
"""Quantities whose units a file may declare."""


class WrongUnit(Exception):  # noqa: N818
    """An unknown or unsuitable unit; the caller adds the place."""


@lru_cache(maxsize=256)
def unit_of(text: str) -> Unit:
    """Return a unit by name, or a product of units."""
    text = UNIT_ABBREVIATIONS.get(text.strip(), text.strip())
    unit, rest, power = Unit((0, 0, 0, 0)), text, 1
    while rest:
        factor = _FACTOR.match(rest)
        if factor is None:
            raise WrongUnit(f"{text!r} is not a unit; expected one such as 'mm', 'deg/s' or 'kg mm^2'")
        if factor[1] in UNIT_ABBREVIATIONS:
            one = unit_of(UNIT_ABBREVIATIONS[factor[1]])
        elif factor[1] in UNITS_BY_NAME:
            one = UNITS_BY_NAME[factor[1]]
        else:
            closest = closest_name(factor[1], UNITS_BY_NAME)
            known = ", ".join((*UNITS_BY_NAME, *UNIT_ABBREVIATIONS))
            guess = f"did you mean {closest!r}?" if closest else f"known are {known}"
            raise WrongUnit(f"unknown unit {factor[1]!r}; {guess}")
        exponent = int(factor[2]) if factor[2] else {"²": 2, "³": 3}.get(factor[3] or "", 1)
        unit = unit.times(one, power * exponent)
        separator = re.match(r"\s*([/*·]?)\s*", rest[factor.end() :])
        assert separator is not None
        rest, power = rest[factor.end() + separator.end() :], -1 if separator[1] == "/" else 1
        if separator[1] and not rest:
            raise WrongUnit(f"{text!r} is not a unit; something is missing after {separator[1]!r}")
    return unit


def read_quantity(text: str, quantity: Quantity) -> float | None:
    """Return a number with its unit in SI; None for any other text."""
    if len(text) > MAX_QUANTITY_CHARS:
        return None
    if match := _QUANTITY.fullmatch(text):
        number, pi, divisor, unit_text = float(match[1]), match[2], match[3], match[4]
    elif match := _PI.fullmatch(text):
        number, pi, divisor, unit_text = (-1.0 if match[1] == "-" else 1.0), "pi", match[2], match[3]
    else:
        return None
    if unit_text.startswith("pi") or _EXPONENT.fullmatch(unit_text) or float(divisor or 1) == 0:  # without a unit
        return None
    unit = unit_of(unit_text)
    if unit.dimension not in [one.dimension for one in quantity.units]:
        same = (f"a unit of {q.name}" for q in QUANTITIES if q.units[0].dimension == unit.dimension)
        kind = next(same, "another unit")
        raise WrongUnit(f"{text!r}: {unit_text!r} is {kind}; expected {quantity.name} such as {quantity.example!r}")
    return unit.in_si(number * math.pi / float(divisor or 1) if pi else number)


QUANTITIES = (
    *(LENGTH, ANGLE, MASS, INERTIA, RATE, SPEED, TORQUE, FORCE, TURNING_FRICTION, SLIDING_FRICTION, PITCH),
    *(ACCELERATION, LINE_DENSITY, TURNING_STIFFNESS, SLIDING_STIFFNESS),
)


@dataclass(frozen=True)
class Units:
    """The declared units of a file's bare numbers; other quantities are in SI."""

    named: Mapping[str, Unit] = field(default_factory=dict)

    def of(self, quantity: Quantity) -> Unit:
        """Return the unit of a quantity: speeds, pitches and masses per length follow lengths, angles and masses."""
        length, angle, mass, inertia = (self.named.get(key, FILE_QUANTITIES[key].units[0]) for key in FILE_QUANTITIES)
        units = {LENGTH: length, ANGLE: angle, MASS: mass, INERTIA: inertia}
        second, radian = UNITS_BY_NAME["s"], UNITS_BY_NAME["rad"]
        units |= {RATE: angle.times(second, -1), SPEED: length.times(second, -1), PITCH: length.times(radian, -1)}
        units |= {LINE_DENSITY: mass.times(length, -1)}
        return units.get(quantity, quantity.units[0])

    def in_si(self, value: Any, quantity: Quantity, depth: int = MAX_LIST_DEPTH) -> Any:
        """Return numbers, texts with units, and lists of them in SI; other values are unchanged."""
        if isinstance(value, str):
            number = read_quantity(value, quantity)
            return value if number is None else number
        if isinstance(value, memoryview):
            value = np.asarray(value)
        if isinstance(value, Sequence):
            return [self.in_si(entry, quantity, depth - 1) for entry in value] if depth else value
        if not self.named or isinstance(value, (bool, np.bool_)):
            return value
        if isinstance(value, np.ndarray) and not np.ma.isMaskedArray(value):
            return self.in_si(value.tolist(), quantity)
        return self.of(quantity).in_si(float(value)) if isinstance(value, Real) else value


SI = Units()


def units_of(data: Any) -> Units:
    """Return the units of a file: `units = "mm"`, a list of units of different quantities, or a table by quantity."""
    if data is None:
        return SI
    if isinstance(data, Mapping):
        return Units({key: _named(key, unit) for key, unit in data.items()})
    named: dict[str, Unit] = {}
    for text in data if isinstance(data, Sequence) and not isinstance(data, str) else [data]:
        keys = (key for key in FILE_QUANTITIES if isinstance(text, str) and _has_unit(FILE_QUANTITIES[key], text))
        key = next(keys, None)
        if key is None:
            quantities = " or ".join(FILE_QUANTITIES)
            raise WrongUnit(f"units = {data!r}: {text!r} is no unit of {quantities}, such as 'mm' or 'deg'")
        if key in named:
            raise WrongUnit(f"units = {data!r} has two units of {key}; expected one")
        named[key] = unit_of(text)
    return Units(named)


def _has_unit(quantity: Quantity, text: str) -> bool:
    return unit_of(text).dimension == quantity.units[0].dimension


def _named(key: str, text: Any) -> Unit:
    if key not in FILE_QUANTITIES:
        raise WrongUnit(f"unknown quantity {key!r}; expected {', '.join(FILE_QUANTITIES)}")
    if not isinstance(text, str) or not _has_unit(FILE_QUANTITIES[key], text):
        example = FILE_QUANTITIES[key].example.split(maxsplit=1)[1]
        raise WrongUnit(f"{key} = {text!r}: expected a unit of {key}, such as {example!r}")
    return unit_of(text)


def unit_error(error: WrongUnit, where: str) -> ModelError:
    """Return the error for a wrong unit at a place."""
    return ModelError(f"{where}: {error}")
