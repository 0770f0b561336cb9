"""Criteria of electric drives: torque, speed, voltage, power and heat of the motor, limits of gearbox and brake."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.actuators.actuator import COPPER_TEMPERATURE_COEFFICIENT, DATA_SHEET_TEMPERATURE, Actuator
from armwright.algebra import Array
from armwright.sizing.criteria import JointDemand, Requirements, smallest_magnitude
from armwright.sizing.loads import JointLoad

SCREENING_INSTANTS = 48
"""Instants at which the quick check computes the peak torque."""


@dataclass(frozen=True)
class ElectricDrives:
    """The numbers of many electric drives, an array each; missing limits are infinite, unknown numbers nan."""

    ratio: Array
    forward: Array
    backward: Array
    inertia: Array
    dry: Array
    viscous: Array
    peak: Array
    continuous: Array
    speed: Array
    voltage: Array
    constant: Array
    resistance: Array
    power: Array
    loss_factor: Array
    resistances: Array
    times: Array
    temperature: Array
    gear_peak: Array
    gear_continuous: Array
    gear_speed: Array
    holding: Array
    stiffness: Array
    backlash: Array

    @classmethod
    def of(cls, actuators: Sequence[Actuator]) -> ElectricDrives:
        """Return the numbers of these actuators."""
        return cls(*(np.array(column, dtype=float) for column in zip(*map(_row, actuators), strict=True)))

    def subset(self, rows: Array) -> ElectricDrives:
        """Return some of the actuators."""
        return ElectricDrives(*(column[rows] for column in vars(self).values()))

    def passes_screening(self, demand: JointDemand, max_use: float) -> Array:
        """Return False for actuators that a quick check finds to use more than the part `max_use` of a limit."""
        return passes_screening(demand, self, max_use)

    def utilisation(self, demand: JointDemand, requirements: Requirements) -> dict[str, Array]:
        """Return by criterion the part of its limit that each actuator uses at least."""
        return utilisation(demand, self, requirements)

    def motion_of_first(self, demand: JointDemand) -> tuple[Array, Array, Array]:
        """Return shaft speed, shaft torque and joint torque of the first drive under a known load."""
        load, torque = demand.load, demand.torque[0]
        full, alone = (shaft_torques(self, x, x, load.qd, load.qdd)[0][0] for x in (torque, 0 * torque))
        return self.ratio[0] * load.qd, full, torque + self.ratio[0] * alone

    def optional_limits(self, requirements: Requirements) -> dict[str, bool]:
        """Return False for optional criteria for which the first actuator has no limit."""
        limits = {
            "RMS torque": self.continuous[0],
            "voltage": self.voltage[0],
            "power": self.power[0],
            "heat": self.temperature[0],
            "gear RMS": self.gear_continuous[0],
            "gear speed": self.gear_speed[0],
            "inertia ratio": requirements.inertia_ratio,
            "brake": self.holding[0],
            "frequency": 1 / requirements.frequency if requirements.frequency else math.inf,
        }
        return {name: bool(np.isfinite(limit)) for name, limit in limits.items()} | {"twist": bool(requirements.twist)}


def _row(drive: Actuator) -> tuple[object, ...]:
    m, g = drive.motor, drive.gearbox
    electric = m.voltage is not None and m.loss_factor is not None
    hot = 1 + COPPER_TEMPERATURE_COEFFICIENT * ((m.max_temperature or DATA_SHEET_TEMPERATURE) - DATA_SHEET_TEMPERATURE)
    return (
        g.ratio,
        g.efficiency,
        g.backward,
        drive.inertia,
        drive.dry_friction,
        drive.viscous_friction,
        m.peak_torque,
        m.continuous_torque or math.inf,
        m.top_speed,
        m.voltage if electric else math.inf,
        m.torque_constant if electric else 1.0,
        m.resistance if electric else 0.0,
        m.peak_power or math.inf,
        math.nan if m.loss_factor is None else m.loss_factor * hot,
        m.thermal_resistances if m.warms else (0.0, 0.0),
        m.thermal_times if m.warms else (1.0, 1.0),
        m.max_temperature if m.warms else math.inf,
        g.peak_torque,
        g.continuous_torque or math.inf,
        g.max_input_speed or math.inf,
        drive.brake.holding_torque if drive.brake else math.inf,
        g.stiffness or math.nan,
        math.nan if g.backlash is None else g.backlash,
    )


def shaft_torques(c: ElectricDrives, low: Array, high: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Return bounds of the motor torques, (actuators, instants), for loads between two bounds."""
    ratio = c.ratio[:, None]
    drive = c.inertia[:, None] * ratio * qdd + c.dry[:, None] * np.sign(qd) + (c.viscous[:, None] * ratio) * qd
    driving, driven = 1 / (c.forward * c.ratio), c.backward / c.ratio
    ends = []
    for load in (low, high):
        factor = np.where(load * qd >= 0, driving[:, None], driven[:, None])
        ends.append(drive + factor * load)
    return ends[0], ends[1]


def passes_screening(demand: JointDemand, c: ElectricDrives, max_use: float) -> Array:
    """Return False for actuators that a quick check at a few instants finds too weak or too slow."""
    low, high = demand.torque
    speed = float(np.max(np.abs(demand.load.qd)))
    good = speed * c.ratio <= max_use * np.minimum(c.speed, c.gear_speed)
    good &= float(np.max(smallest_magnitude(low, high))) <= max_use * c.gear_peak
    rows = np.flatnonzero(good)
    if len(rows):
        size = np.maximum(np.abs(low), np.abs(high))
        signals = (size, demand.load.qdd, size * demand.load.qd)
        largest = [np.argsort(-np.abs(x))[: SCREENING_INSTANTS // 3] for x in signals]
        motor = shaft_torques(c.subset(rows), *demand.at(np.unique(np.concatenate(largest))))
        good[rows] = np.max(smallest_magnitude(*motor), axis=1) <= max_use * c.peak[rows]
    return good


def utilisation(demand: JointDemand, c: ElectricDrives, requirements: Requirements) -> dict[str, Array]:
    """Return by criterion the part of its limit that each actuator uses at least; nan where it has none."""
    load = demand.load
    motor = shaft_torques(c, *demand.torque, load.qd, load.qdd)
    small = smallest_magnitude(*motor)
    speeds = np.abs(load.qd)
    speed = float(np.max(speeds)) * c.ratio
    gear = smallest_magnitude(*demand.torque)
    holding = float(np.max(smallest_magnitude(*demand.gravity)))
    used = {
        "peak torque": np.max(small, axis=1) / c.peak,
        "RMS torque": _rms(small, load) / c.continuous,
        "speed": speed / c.speed,
        "voltage": _voltage(motor, c, load.qd),
        "power": np.max(small * speeds, axis=1) * c.ratio / c.power,
        "heat": _heat(small, c, load, requirements.ambient),
        "gear peak": float(np.max(gear)) / c.gear_peak,
        "gear RMS": _rms(gear[None], load)[0] / c.gear_continuous,
        "gear speed": speed / c.gear_speed,
        "inertia ratio": demand.inertia / np.maximum(c.ratio**2 * c.inertia, 1e-300) / requirements.inertia_ratio,
        "brake": holding / (c.holding * c.ratio),
    }
    if (max_twist := requirements.twist.get(load.name)) is not None:
        used["twist"] = _known(gearbox_twist(float(np.max(gear)), c.stiffness, c.backlash)) / max_twist
    if requirements.frequency:
        used["frequency"] = 2 * math.pi * requirements.frequency * _known(np.sqrt(demand.inertia / c.stiffness))
    if requirements.energy:
        used["energy"] = _energy(motor, c, load)
    return used


def gearbox_twist(torque: Any, stiffness: Any, backlash: Any) -> Any:
    """Return the twist of a gearbox under a torque at its output, in rad or m: |torque| / stiffness + backlash / 2."""
    return np.abs(torque) / stiffness + backlash / 2


def _known(values: Array) -> Array:
    """Return numbers with infinity for unknown ones, with which a gearbox cannot meet a requirement."""
    known: Array = np.where(np.isnan(values), math.inf, values)
    return known


def _rms(small: Array, load: JointLoad) -> Array:
    """Return the largest root mean square of all cases, each repeated endlessly."""
    means = [small[:, case] ** 2 @ load.weights[case] for case in load.cases]
    rms: Array = np.sqrt(np.max(means, axis=0))
    return rms


def _voltage(motor: tuple[Array, Array], c: ElectricDrives, qd: Array) -> Array:
    """Return the part of the voltage that back-EMF and resistance need."""
    back_emf = (c.constant * c.ratio)[:, None] * qd
    low, high = (back_emf + (c.resistance / c.constant)[:, None] * torque for torque in motor)
    used: Array = np.max(smallest_magnitude(low, high), axis=1) / c.voltage
    return used


def _heat(small: Array, c: ElectricDrives, load: JointLoad, ambient: float) -> Array:
    """Return the winding's temperature rise in endless cycles, as a part of the rise allowed; resistances are hot.

    Winding to housing and housing to air are each a low-pass filter of the losses. In a cycle that repeats, the state
    at the start is the state at the end.
    """
    used = np.zeros(len(small))
    rows = np.flatnonzero(np.isfinite(c.temperature))
    if not len(rows):
        return used
    allowed = c.temperature[rows] - ambient
    for case in load.cases:
        loss = c.loss_factor[rows, None] * small[rows, case] ** 2
        step = load.times[case][1] - load.times[case][0]
        rise = sum(c.resistances[rows, k, None] * _repeated(loss, np.exp(-step / c.times[rows, k])) for k in range(2))
        with np.errstate(divide="ignore"):
            used[rows] = np.maximum(used[rows], np.where(allowed > 0, np.max(rise, axis=1) / allowed, np.inf))
    return used


def _repeated(loss: Array, decay: Array) -> Array:
    """Return the periodic solution of the low-pass x[i + 1] = decay x[i] + (1 - decay) (mean loss over the step)."""
    middle = (loss[:, 1:] + loss[:, :-1]) / 2
    count = middle.shape[1]
    z = np.exp(2j * np.pi * np.arange(count // 2 + 1) / count)
    response = ((1 - decay)[:, None]) / (z - decay[:, None])
    x: Array = np.fft.irfft(np.fft.rfft(middle, axis=1) * response, count, axis=1)
    return x


def _energy(motor: tuple[Array, Array], c: ElectricDrives, load: JointLoad) -> Array:
    """Return the joules that the drive takes in all cases: work on the shaft and heat, without recuperation."""
    w, k = c.ratio[:, None] * load.qd, c.loss_factor[:, None]
    low, high = motor
    power = [k * torque**2 + w * torque for torque in motor]
    generating = np.where(w > 0, -w, 0.0) / k, np.where(w < 0, -w, 0.0) / k
    free = (low <= generating[1]) & (high >= generating[0])
    consumed = np.where(free, 0.0, np.minimum(*power))
    lengths = [load.times[case][-1] - load.times[case][0] for case in load.cases]
    energies = [consumed[:, case] @ load.weights[case] * x for case, x in zip(load.cases, lengths, strict=True)]
    total: Array = np.sum(energies, axis=0)
    return total
