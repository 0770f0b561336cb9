"""Actuators of a joint: motor, gearbox, brake, hydraulic cylinder. SI units; unknown values are None.

A motor turns `ratio` times as fast as its joint. The torque on its shaft is

    tau_m = through(tau) / ratio + (rotor, gearbox and brake) ratio qdd + dry friction sign(qd) + viscous ratio qd

where tau is the load torque of the joint, and through(tau) is tau / efficiency while the motor drives the joint, and
tau times the backward efficiency while the joint drives the motor. At rest the motor counts as driving.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError, ModelError
from armwright.model.table_reader import Reader

POSITIVE_VALUE, NON_NEGATIVE_VALUE, FRACTION_VALUE = "above zero", "zero or more", "above zero, at most 1"
"""Ranges of the numbers of an actuator."""

COPPER_TEMPERATURE_COEFFICIENT = 0.00393
"""Relative increase of the resistance of copper per kelvin, at 20 degrees Celsius."""

MAX_ROTOR_RADIUS = 0.5
"""Metres: upper bound of the radius of gyration of a rotor, computed with the mass of the motor."""

MAX_TORQUE_PER_MASS = 1000.0
"""Newton metres per kilogram: several times that of any motor, even with a built-in gearbox."""

DATA_SHEET_TEMPERATURE = 20.0
"""Degrees Celsius at which data sheets give resistances."""


def _quantity(unit: str, allowed_range: str = POSITIVE_VALUE, default: Any = ...) -> Any:
    """Return a field for a number in a unit, which is required without a default."""
    metadata = {"unit": unit, "allowed_range": allowed_range}
    return field(metadata=metadata) if default is ... else field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Motor:
    """A motor with its drive. Continuous torque, a thermal model of the winding, or both are known.

    `max_speed` is by default the no-load speed voltage / torque_constant.
    `thermal_resistances` (K/W) and `thermal_times` (s) are those from winding to housing and from housing to the air.
    `goes_with` names the compatible gearboxes; by default all are.
    """

    name: str
    rotor_inertia: float = _quantity("kg m^2", NON_NEGATIVE_VALUE)
    peak_torque: float = _quantity("N m")
    mass: float = _quantity("kg")
    continuous_torque: float | None = _quantity("N m", default=None)
    max_speed: float | None = _quantity("rad/s", default=None)
    torque_constant: float | None = _quantity("N m/A", default=None)
    resistance: float | None = _quantity("ohm", default=None)
    voltage: float | None = _quantity("V", default=None)
    peak_power: float | None = _quantity("W", default=None)
    thermal_resistances: tuple[float, float] | None = _quantity("K/W", default=None)
    thermal_times: tuple[float, float] | None = _quantity("s", default=None)
    max_temperature: float | None = _quantity("degrees Celsius", default=None)
    dry_friction: float | None = _quantity("N m", NON_NEGATIVE_VALUE, None)
    viscous_friction: float | None = _quantity("N m s", NON_NEGATIVE_VALUE, None)
    price: float | None = _quantity("any currency", NON_NEGATIVE_VALUE, None)
    goes_with: tuple[str, ...] | None = None
    source: str = ""

    def __post_init__(self) -> None:
        _check_part(self)

    @property
    def top_speed(self) -> float:
        """The largest speed, rad/s: `max_speed`, or the no-load speed at the voltage."""
        if self.max_speed is not None:
            return self.max_speed
        return (self.voltage or math.inf) / (self.torque_constant or math.inf)

    @property
    def loss_factor(self) -> float | None:
        """Heat in the winding over the square of the torque, W/(N m)^2, at 20 degrees Celsius; None if unknown."""
        if self.torque_constant is None or self.resistance is None:
            return None
        return self.resistance / self.torque_constant**2

    @property
    def warms(self) -> bool:
        """True if all data of the thermal model of the winding are known."""
        return None not in (self.loss_factor, self.thermal_resistances, self.thermal_times, self.max_temperature)


@dataclass(frozen=True)
class Gearbox:
    """A gearbox, or with `linear` a screw whose ratio is in radians per metre and whose limits are forces.

    Torques are at the output; inertia, friction and speed at the input. `efficiency` covers the losses that grow with
    the load; `efficiency_backward` is by default 2 - 1 / efficiency, which loses equally in both directions.
    `goes_with` names the compatible motors; by default all are.
    """

    name: str
    ratio: float = _quantity("turns of the motor per turn, or rad/m")
    efficiency: float = _quantity("a fraction", FRACTION_VALUE)
    peak_torque: float = _quantity("N m or N")
    mass: float = _quantity("kg", NON_NEGATIVE_VALUE)
    inertia: float = _quantity("kg m^2", NON_NEGATIVE_VALUE)
    efficiency_backward: float | None = _quantity("a fraction", FRACTION_VALUE, None)
    continuous_torque: float | None = _quantity("N m or N", default=None)
    max_input_speed: float | None = _quantity("rad/s", default=None)
    dry_friction: float | None = _quantity("N m", NON_NEGATIVE_VALUE, None)
    viscous_friction: float | None = _quantity("N m s", NON_NEGATIVE_VALUE, None)
    stiffness: float | None = _quantity("N m/rad or N/m", default=None)
    backlash: float | None = _quantity("rad or m", NON_NEGATIVE_VALUE, None)
    price: float | None = _quantity("any currency", NON_NEGATIVE_VALUE, None)
    goes_with: tuple[str, ...] | None = None
    linear: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        _check_part(self)

    @property
    def backward(self) -> float:
        """The efficiency while the joint drives the motor; zero for a self-locking gearbox."""
        return self.efficiency_backward or max(0.0, 2 - 1 / self.efficiency)


@dataclass(frozen=True)
class Brake:
    """A brake on the shaft of a motor, which holds the arm when the power is off."""

    name: str
    holding_torque: float = _quantity("N m")
    mass: float = _quantity("kg", NON_NEGATIVE_VALUE)
    inertia: float = _quantity("kg m^2", NON_NEGATIVE_VALUE)
    price: float | None = _quantity("any currency", NON_NEGATIVE_VALUE, None)
    source: str = ""

    def __post_init__(self) -> None:
        _check_part(self)


@dataclass(frozen=True)
class Cylinder:
    """A hydraulic cylinder: areas on the side of the head and of the rod, pressure, flow of its valve, stroke."""

    name: str
    head_area: float = _quantity("m^2")
    rod_area: float = _quantity("m^2")
    pressure: float = _quantity("Pa")
    flow: float = _quantity("m^3/s")
    stroke: float = _quantity("m")
    mass: float = _quantity("kg")
    price: float | None = _quantity("any currency", NON_NEGATIVE_VALUE, None)
    source: str = ""

    def __post_init__(self) -> None:
        _check_part(self)

    @property
    def push(self) -> float:
        """The largest force outward."""
        return self.pressure * self.head_area

    @property
    def pull(self) -> float:
        """The largest force inward."""
        return self.pressure * self.rod_area

    @property
    def speeds(self) -> tuple[float, float]:
        """The largest speed outward and inward, by the flow."""
        return self.flow / self.head_area, self.flow / self.rod_area


@dataclass(frozen=True)
class Actuator:
    """A motor with its gearbox, and a brake if there is one."""

    motor: Motor
    gearbox: Gearbox
    brake: Brake | None = None

    def __post_init__(self) -> None:
        for part, kind in ((self.motor, Motor), (self.gearbox, Gearbox), (self.brake, Brake | None)):
            if not isinstance(part, kind):
                raise InputError(f"Actuator got {part!r}; expected a Motor, a Gearbox, and a Brake or none")

    @property
    def parts(self) -> tuple[Motor | Gearbox | Brake, ...]:
        return (self.motor, self.gearbox) if self.brake is None else (self.motor, self.gearbox, self.brake)

    @property
    def names(self) -> tuple[str, str]:
        """The names of motor and gearbox."""
        return self.motor.name, self.gearbox.name

    @property
    def name(self) -> str:
        return " + ".join(part.name for part in self.parts)

    @property
    def mass(self) -> float:
        return sum(part.mass for part in self.parts)

    @property
    def price(self) -> float | None:
        """The price of all parts; None where one of them has none."""
        prices = [part.price for part in self.parts if part.price is not None]
        return sum(prices) if len(prices) == len(self.parts) else None

    @property
    def inertia(self) -> float:
        """The total inertia on the shaft of the motor, kg m^2."""
        return self.motor.rotor_inertia + self.gearbox.inertia + (self.brake.inertia if self.brake else 0.0)

    @property
    def dry_friction(self) -> float:
        """The known dry friction on the shaft of the motor, N m."""
        return (self.motor.dry_friction or 0.0) + (self.gearbox.dry_friction or 0.0)

    @property
    def viscous_friction(self) -> float:
        """The known viscous friction on the shaft of the motor, N m s."""
        return (self.motor.viscous_friction or 0.0) + (self.gearbox.viscous_friction or 0.0)

    @property
    def max_torque(self) -> float:
        """The largest torque of the joint, as the motor or the gearbox limits it."""
        gearbox = self.gearbox
        return min(self.motor.peak_torque * gearbox.ratio * gearbox.efficiency, gearbox.peak_torque)

    @property
    def max_velocity(self) -> float:
        """The largest speed of the joint."""
        return min(self.motor.top_speed, self.gearbox.max_input_speed or math.inf) / self.gearbox.ratio


@dataclass(frozen=True)
class CylinderLever:
    """The lever of a cylinder, whose two eyes lie in a plane normal to the joint axis.

    `before` and `on` are the distances, m, from the axis to the eye on the link before the joint and to that on the
    link after it; `angle` is the angle between the two at q = 0. The length of the cylinder is
    sqrt(before^2 + on^2 - 2 before on cos(q + angle)).
    """

    before: float
    on: float
    angle: float

    def __post_init__(self) -> None:
        row = Reader(vars(self), lambda _key: "lever")
        try:
            for key in ("before", "on"):
                _check_number(row, key, row.number(key), {"unit": "metres", "allowed_range": POSITIVE_VALUE})
            object.__setattr__(self, "angle", row.angle("angle"))
        except ModelError as error:
            raise InputError(str(error)) from None

    def length(self, q: Array) -> Array:
        """Return the length of the cylinder from eye to eye, m."""
        a, b = self.before, self.on
        length: Array = np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(q + self.angle))
        return length

    def arm(self, q: Array) -> Array:
        """Return the lever arm, d length / d q: the joint torque is the force times this."""
        arm: Array = self.before * self.on * np.sin(q + self.angle) / self.length(q)
        return arm


@dataclass(frozen=True)
class Hydraulic:
    """A cylinder with its lever; without a lever it drives a prismatic joint directly."""

    cylinder: Cylinder
    lever: CylinderLever | None = None

    @property
    def parts(self) -> tuple[Cylinder, ...]:
        return (self.cylinder,)

    @property
    def names(self) -> tuple[str, str]:
        return self.cylinder.name, "-"

    @property
    def name(self) -> str:
        return self.cylinder.name

    @property
    def mass(self) -> float:
        return self.cylinder.mass

    @property
    def price(self) -> float | None:
        return self.cylinder.price


def compatible(motor: Motor, gearbox: Gearbox) -> bool:
    """Return True if neither motor nor gearbox restricts its partners to others."""
    pairs = ((motor, gearbox), (gearbox, motor))
    return all(one.goes_with is None or other.name in one.goes_with for one, other in pairs)


Drive: TypeAlias = Actuator | Hydraulic
ActuatorPart = Motor | Gearbox | Brake | Cylinder

PART_TYPES: dict[str, type[ActuatorPart]] = {"motor": Motor, "gearbox": Gearbox, "brake": Brake, "cylinder": Cylinder}
"""The classes of parts by the names of their tables in a catalogue."""


def check(kind: type[ActuatorPart], row: Reader) -> None:
    """Raise a ModelError if the data of a part are unknown, incomplete or impossible; `row` names the place."""
    known = {f.name: f for f in fields(kind)}
    row.check_keys(known)
    for name, spec in known.items():
        if row.data.get(name) is None:
            if "unit" in spec.metadata and spec.default is not None:
                row.fail(None, f"missing key {name!r}: expected a number in {spec.metadata['unit']}")
            continue
        if name.startswith("thermal_"):
            values = row.numbers(name, 2)
        elif "unit" in spec.metadata:
            values = [row.number(name)]
        else:
            continue
        for value in values:
            _check_number(row, name, value, spec.metadata)
    if not row.text("name", row.need("name")):
        row.fail("name", "name = '': expected a name")
    row.text("source", "")
    row.flag("linear")
    if row.data.get("goes_with") is not None:
        row.texts("goes_with")
    if kind is Motor:
        _check_motor(row)


def _check_number(row: Reader, name: str, value: float, metadata: Mapping[str, Any]) -> None:
    unit, allowed = metadata["unit"], metadata["allowed_range"]
    if value < 0 or (value == 0 and allowed != NON_NEGATIVE_VALUE) or (value > 1 and allowed == FRACTION_VALUE):
        row.fail(name, f"{name} = {value!r}: expected {unit}, {allowed}")


def _check_motor(row: Reader) -> None:
    """Check the numbers of a motor of which one may stand in for another."""
    known = {key for key, value in row.data.items() if value is not None}
    if not (known & {"max_speed"} or {"voltage", "torque_constant"} <= known):
        row.fail(None, "its largest speed is not known; expected max_speed, or voltage and torque_constant")
    thermal = {"torque_constant", "resistance", "thermal_resistances", "thermal_times", "max_temperature"}
    if "continuous_torque" not in known and not thermal <= known:
        expected = f"continuous_torque, or the thermal data of its winding: {', '.join(sorted(thermal))}"
        row.fail(None, f"its continuous torque is not known; expected {expected}")
    if "max_temperature" in known and row.number("max_temperature") <= DATA_SHEET_TEMPERATURE:
        text = f"max_temperature = {row.data['max_temperature']!r}: expected more than {DATA_SHEET_TEMPERATURE:g}"
        row.fail("max_temperature", text)
    _check_units(row, known)
    if "continuous_torque" in known and row.number("continuous_torque") > row.number("peak_torque"):
        torque, peak = row.data["continuous_torque"], row.data["peak_torque"]
        row.fail("continuous_torque", f"continuous_torque = {torque!r} is more than peak_torque = {peak!r}")


def _check_units(row: Reader, known: set[str]) -> None:
    """Raise a ModelError for numbers that seem to be in other units."""
    mass, inertia, peak = (row.number(key) for key in ("mass", "rotor_inertia", "peak_torque"))
    if inertia > mass * MAX_ROTOR_RADIUS**2:
        row.fail("rotor_inertia", f"rotor_inertia = {inertia!r} of a motor of {mass:g} kg; expected kg m^2, not g cm^2")
    if peak > mass * MAX_TORQUE_PER_MASS:
        row.fail("peak_torque", f"peak_torque = {peak!r} of a motor of {mass:g} kg; expected N m, not mN m")
    if {"max_speed", "voltage", "torque_constant"} <= known:
        no_load_speed = row.number("voltage") / row.number("torque_constant")
        if row.number("max_speed") > 6 * no_load_speed:
            text = f"max_speed = {row.data['max_speed']!r}, while voltage / torque_constant is {no_load_speed:.4g}"
            row.fail("max_speed", f"{text}; expected rad/s, not turns per minute, and N m/A")


def _check_part(part: ActuatorPart) -> None:
    """Check a part that was constructed in Python."""
    kind = type(part).__name__
    try:
        check(type(part), Reader(vars(part), lambda _key: f"{kind} {part.name!r}"))
    except ModelError as error:
        raise InputError(str(error)) from None
