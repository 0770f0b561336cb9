"""Actuators scaled by laws of similarity: estimates of motors, gearboxes, brakes and cylinders of any size.

A machine l times as large at the same stresses has l^3 times the torque and mass and l^5 times the inertia: mass is
proportional to torque, inertia to its power 5/3. A motor loses torque^2 / l^5 watts, which its surface gives off at the
same temperature, and its thermal times grow with l^2. Prices grow with the power 0.6 of size, as for most machines. The
reference machines are not products: their figures are round numbers typical of a 400 W servo motor, a strain wave gear
for 107 N m and a planetary gearbox for 80 N m. They come from no data sheet; do not order by them.
"""

from __future__ import annotations

import math
from numbers import Real

from armwright.actuators.actuator import Brake, Cylinder, Gearbox, Motor
from armwright.errors import InputError

__all__ = ["cylinder", "holding", "iso_6020_2", "planetary", "servo", "strain_wave"]

TYPICAL_SOURCE = "round numbers scaled by laws of similarity (armwright.sizing.scaling); no product, from no data sheet"
ISO_SOURCE = (
    "bore, rods and 16 MPa of ISO 6020-2; flow for 0.5 m/s outward, the usual largest speed of such cylinders; mass "
    "estimated as armwright.sizing.scaling.cylinder does, not published"
)
INERTIA_EXPONENT = 5 / 3
PRICE_EXPONENT = 0.6


def servo(torque: float, name: str = "") -> Motor:
    """Return a brushless servo motor of a continuous torque, N m, for a DC bus of 280 V."""
    size = _scale_factor(torque, 1.27)
    length = size ** (1 / 3)
    speed = min(628.0, 628.0 / length)
    constant = 0.9 * 280.0 / speed
    loss_factor = 15.5 * length**-5
    lost = loss_factor * torque**2
    rise = 100.0 / (lost * (1 + 0.00393 * 100.0))
    return Motor(
        name=name or f"typical servo {torque:.4g} N m",
        rotor_inertia=3.0e-5 * size**INERTIA_EXPONENT,
        peak_torque=3.0 * torque,
        mass=1.3 * size,
        continuous_torque=torque,
        max_speed=speed,
        torque_constant=constant,
        resistance=loss_factor * constant**2,
        voltage=280.0,
        thermal_resistances=(0.25 * rise, 0.75 * rise),
        thermal_times=(30.0 * length**2, 1500.0 * length**2),
        max_temperature=120.0,
        dry_friction=0.02 * torque,
        price=300.0 * size**PRICE_EXPONENT,
        source=TYPICAL_SOURCE,
    )


def strain_wave(torque: float, ratio: float, name: str = "") -> Gearbox:
    """Return a strain wave gear of a repeated peak torque at its output, N m."""
    size = _scale_factor(torque, 107.0)
    return Gearbox(
        name=name or f"typical strain wave {torque:.4g} N m 1:{ratio:g}",
        ratio=ratio,
        efficiency=0.75,
        peak_torque=torque,
        mass=1.0 * size,
        inertia=1.9e-5 * size**INERTIA_EXPONENT,
        continuous_torque=0.6 * torque,
        max_input_speed=min(680.0, 680.0 / size ** (1 / 3)),
        dry_friction=0.04 * size,
        stiffness=1.6e4 * size,
        backlash=0.0,
        price=700.0 * size**PRICE_EXPONENT,
        source=TYPICAL_SOURCE,
    )


def planetary(torque: float, ratio: float, name: str = "") -> Gearbox:
    """Return a planetary gearbox of a peak torque at its output, N m: one stage up to 1:10, then two."""
    size, stages = _scale_factor(torque, 80.0), 1 if ratio <= 10 else 2
    return Gearbox(
        name=name or f"typical planetary {torque:.4g} N m 1:{ratio:g}",
        ratio=ratio,
        efficiency=0.97**stages,
        peak_torque=torque,
        mass=(0.6 + 0.3 * stages) * size,
        inertia=1.3e-5 * size**INERTIA_EXPONENT,
        continuous_torque=0.5 * torque,
        max_input_speed=min(628.0, 628.0 / size ** (1 / 3)),
        dry_friction=0.03 * size,
        stiffness=1.0e4 * size,
        backlash=0.0015 * stages,
        price=(150.0 + 100.0 * stages) * size**PRICE_EXPONENT,
        source=TYPICAL_SOURCE,
    )


def cylinder(bore: float, stroke: float, name: str = "") -> Cylinder:
    """Return a double-acting steel cylinder for 20 MPa, whose rod takes half of the area, with a valve for 0.3 m/s.

    bore and stroke are in metres. The mass is that of a wall of a tenth of the bore, the rod, and two solid ends.
    """
    area = math.pi / 4 * bore**2
    return Cylinder(
        name=name or f"typical cylinder {1000 * bore:.4g} mm x {1000 * stroke:.4g} mm",
        head_area=area,
        rod_area=0.5 * area,
        pressure=2e7,
        flow=0.3 * area,
        stroke=stroke,
        mass=_steel(bore, 0.5 * area, stroke),
        price=250.0 * _scale_factor(bore, 0.08, "bore", "metres") ** (3 * PRICE_EXPONENT),
        source=TYPICAL_SOURCE,
    )


def iso_6020_2(bore: float, rod: float, stroke: float) -> Cylinder:
    """Return a cylinder of the compact 16 MPa series of ISO 6020-2, dimensions in metres; its mass is estimated."""
    area, cut = math.pi / 4 * bore**2, math.pi / 4 * rod**2
    return Cylinder(
        name=f"ISO 6020-2 {1000 * bore:.4g}/{1000 * rod:.4g} x {1000 * stroke:.4g} mm",
        head_area=area,
        rod_area=area - cut,
        pressure=1.6e7,
        flow=0.5 * area,
        stroke=stroke,
        mass=_steel(bore, cut, stroke),
        source=ISO_SOURCE,
    )


def _scale_factor(value: float, reference: float, name: str = "torque", unit: str = "N m") -> float:
    """Return the size of a machine relative to the reference machine; an InputError unless it is above zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not value > 0:
        raise InputError(f"{name} = {value!r}: expected {unit}, above zero")
    return value / reference


def _steel(bore: float, rod_area: float, stroke: float) -> float:
    """Return the kilograms of a wall of a tenth of the bore, the rod, and two solid ends as long as the bore."""
    area = math.pi / 4 * bore**2
    return 7850 * (area * (0.44 * stroke + 2 * bore) + rod_area * stroke)


def holding(torque: float, name: str = "") -> Brake:
    """Return a spring-applied brake of a holding torque, N m."""
    size = _scale_factor(torque, 1.3)
    return Brake(
        name=name or f"typical brake {torque:.4g} N m",
        holding_torque=torque,
        mass=0.4 * size,
        inertia=2.0e-6 * size**INERTIA_EXPONENT,
        price=90.0 * size**PRICE_EXPONENT,
        source=TYPICAL_SOURCE,
    )
