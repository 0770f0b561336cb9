"""Is an actuator enough for its joint? Many actuators at once, for a load that is known, or known to lie between two.

Each criterion is the part of a limit that is used. For a load between two, it is the least that any load between them
could use: through(tau) grows with tau, so the torque of the motor lies between two, too, and the least of its magnitude
is taken at each instant. A load that is known is one between itself and itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from armwright.actuators.actuator import HOT_COPPER, ROOM, Actuator
from armwright.algebra import Array
from armwright.sizing.loads import JointLoad

CRITERIA = (
    *("peak torque", "RMS torque", "speed", "voltage", "power", "heat"),
    *("gear peak", "gear RMS", "gear speed", "inertia ratio", "brake", "twist", "frequency"),
    *("push", "pull", "flow", "stroke"),
)
SCREEN = 48
"""Instants at which the peak is looked at before all others."""


class Numbers(Protocol):
    """Many actuators of one kind, by their numbers."""

    def some(self, rows: Array) -> Numbers: ...

    def hopeful(self, asked: Asked, most: float) -> Array: ...

    def uses(self, asked: Asked, terms: Terms) -> dict[str, Array]: ...

    def moving(self, asked: Asked) -> tuple[Array, Array, Array]: ...

    def limited(self, terms: Terms) -> dict[str, bool]: ...


@dataclass(frozen=True)
class Columns:
    """The numbers of many actuators, an array each; what has no limit is infinite, what is not known nan."""

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
    def of(cls, actuators: Sequence[Actuator]) -> Columns:
        return cls(*(np.array(column, dtype=float) for column in zip(*map(_row, actuators), strict=True)))

    def some(self, rows: Array) -> Columns:
        return Columns(*(column[rows] for column in vars(self).values()))

    def hopeful(self, asked: Asked, most: float) -> Array:
        return hopeful(asked, self, most)

    def uses(self, asked: Asked, terms: Terms) -> dict[str, Array]:
        return uses(asked, self, terms)

    def moving(self, asked: Asked) -> tuple[Array, Array, Array]:
        """Of the first, at a load that is known: speed and torque of its shaft, and all that it gives to the joint."""
        load, torque = asked.load, asked.torque[0]
        full, alone = (shaft(self, x, x, load.qd, load.qdd)[0][0] for x in (torque, 0 * torque))
        return self.ratio[0] * load.qd, full, torque + self.ratio[0] * alone

    def limited(self, terms: Terms) -> dict[str, bool]:
        """Whether the first has a limit for the criteria that need not have one."""
        limits = {
            "RMS torque": self.continuous[0],
            "voltage": self.voltage[0],
            "power": self.power[0],
            "heat": self.temperature[0],
            "gear RMS": self.gear_continuous[0],
            "gear speed": self.gear_speed[0],
            "inertia ratio": terms.inertia_ratio,
            "brake": self.holding[0],
            "frequency": 1 / terms.frequency if terms.frequency else math.inf,
        }
        return {name: bool(np.isfinite(limit)) for name, limit in limits.items()} | {"twist": bool(terms.twist)}


def _row(drive: Actuator) -> tuple[object, ...]:
    m, g = drive.motor, drive.gearbox
    electric = m.voltage is not None and m.loss_factor is not None
    hot = 1 + HOT_COPPER * ((m.max_temperature or ROOM) - ROOM)
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


@dataclass(frozen=True)
class Asked:
    """What a joint asks for: everything between `low` and `high` at each instant, or exactly that if they are equal."""

    load: JointLoad
    torque: tuple[Array, Array]
    gravity: tuple[Array, Array]
    inertia: float

    @classmethod
    def between(cls, load: JointLoad, low: Array, high: Array) -> Asked:
        """For actuators beyond with masses from `low` to `high`, which are those of load.carried."""
        inertia = float(np.max(load.inertia.at(low)))
        return cls(load, load.torque.within(low, high), load.gravity.within(low, high), inertia)

    def at(self, instants: Array) -> tuple[Array, Array, Array, Array]:
        low, high = self.torque
        return low[instants], high[instants], self.load.qd[instants], self.load.qdd[instants]


@dataclass(frozen=True)
class Terms:
    """What is asked of every actuator besides its own numbers."""

    ambient: float = 40.0
    inertia_ratio: float = math.inf
    energy: bool = False
    twist: Mapping[str, float] = field(default_factory=dict)
    frequency: float = 0.0


def least(low: Array, high: Array) -> Array:
    """The least magnitude between two."""
    found: Array = np.maximum(np.maximum(low, -high), 0.0)
    return found


def shaft(c: Columns, low: Array, high: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """The torque of the motors, (actuators, instants), for loads between two."""
    ratio = c.ratio[:, None]
    own = c.inertia[:, None] * ratio * qdd + c.dry[:, None] * np.sign(qd) + (c.viscous[:, None] * ratio) * qd
    driving, driven = 1 / (c.forward * c.ratio), c.backward / c.ratio
    ends = []
    for load in (low, high):
        factor = np.where(load * qd >= 0, driving[:, None], driven[:, None])
        ends.append(own + factor * load)
    return ends[0], ends[1]


def hopeful(asked: Asked, c: Columns, most: float) -> Array:
    """Which actuators are not seen to be too weak or too slow at a glance."""
    low, high = asked.torque
    speed = float(np.max(np.abs(asked.load.qd)))
    good = speed * c.ratio <= most * np.minimum(c.speed, c.gear_speed)
    good &= float(np.max(least(low, high))) <= most * c.gear_peak
    rows = np.flatnonzero(good)
    if len(rows):
        size = np.maximum(np.abs(low), np.abs(high))
        loudest = [np.argsort(-np.abs(x))[: SCREEN // 3] for x in (size, asked.load.qdd, size * asked.load.qd)]
        motor = shaft(c.some(rows), *asked.at(np.unique(np.concatenate(loudest))))
        good[rows] = np.max(least(*motor), axis=1) <= most * c.peak[rows]
    return good


def uses(asked: Asked, c: Columns, terms: Terms) -> dict[str, Array]:
    """By criterion, the part of its limit that each actuator uses, at least; nan where it has none."""
    load = asked.load
    motor = shaft(c, *asked.torque, load.qd, load.qdd)
    small = least(*motor)
    turning = np.abs(load.qd)
    speed = float(np.max(turning)) * c.ratio
    gear = least(*asked.torque)
    held = float(np.max(least(*asked.gravity)))
    found = {
        "peak torque": np.max(small, axis=1) / c.peak,
        "RMS torque": _rms(small, load) / c.continuous,
        "speed": speed / c.speed,
        "voltage": _voltage(motor, c, load.qd),
        "power": np.max(small * turning, axis=1) * c.ratio / c.power,
        "heat": _heat(small, c, load, terms.ambient),
        "gear peak": float(np.max(gear)) / c.gear_peak,
        "gear RMS": _rms(gear[None], load)[0] / c.gear_continuous,
        "gear speed": speed / c.gear_speed,
        "inertia ratio": asked.inertia / np.maximum(c.ratio**2 * c.inertia, 1e-300) / terms.inertia_ratio,
        "brake": held / (c.holding * c.ratio),
    }
    if (most := terms.twist.get(load.name)) is not None:
        found["twist"] = _known(float(np.max(gear)) / c.stiffness + c.backlash / 2) / most
    if terms.frequency:
        found["frequency"] = 2 * math.pi * terms.frequency * _known(np.sqrt(asked.inertia / c.stiffness))
    if terms.energy:
        found["energy"] = _energy(motor, c, load)
    return found


def _known(values: Array) -> Array:
    """What is not known of a gearbox cannot be shown to be enough where it is asked for."""
    known: Array = np.where(np.isnan(values), math.inf, values)
    return known


def fits(found: dict[str, Array], most: float) -> Array:
    """Which actuators use no more than a part of every limit."""
    good: Array = np.all([found[name] <= most for name in CRITERIA if name in found], axis=0)
    return good


def _rms(small: Array, load: JointLoad) -> Array:
    """The largest of all cases, each repeated for ever."""
    means = [small[:, case] ** 2 @ load.weights[case] for case in load.cases]
    most: Array = np.sqrt(np.max(means, axis=0))
    return most


def _voltage(motor: tuple[Array, Array], c: Columns, qd: Array) -> Array:
    """What the winding needs: that of the speed and that of the current, while it drives."""
    turning = (c.constant * c.ratio)[:, None] * qd
    low, high = (turning + (c.resistance / c.constant)[:, None] * torque for torque in motor)
    used: Array = np.max(least(low, high), axis=1) / c.voltage
    return used


def _heat(small: Array, c: Columns, load: JointLoad, ambient: float) -> Array:
    """The part of the rise from the air to the hottest winding, in cycles for ever, with the resistance it has hot.

    Winding over housing and housing over air are each a low-pass of the losses. In a case that repeats, the state at
    its start is that at its end.
    """
    used = np.zeros(len(small))
    rows = np.flatnonzero(np.isfinite(c.temperature))
    if not len(rows):
        return used
    room = c.temperature[rows] - ambient
    for case in load.cases:
        loss = c.loss_factor[rows, None] * small[rows, case] ** 2
        step = load.times[case][1] - load.times[case][0]
        rise = sum(c.resistances[rows, k, None] * _repeated(loss, np.exp(-step / c.times[rows, k])) for k in range(2))
        with np.errstate(divide="ignore"):
            used[rows] = np.maximum(used[rows], np.where(room > 0, np.max(rise, axis=1) / room, np.inf))
    return used


def _repeated(loss: Array, decay: Array) -> Array:
    """A low-pass of what repeats itself: x[i + 1] = decay x[i] + (1 - decay) (mean of loss over the step)."""
    middle = (loss[:, 1:] + loss[:, :-1]) / 2
    count = middle.shape[1]
    turn = np.exp(2j * np.pi * np.arange(count // 2 + 1) / count)
    answer = ((1 - decay)[:, None]) / (turn - decay[:, None])
    again: Array = np.fft.irfft(np.fft.rfft(middle, axis=1) * answer, count, axis=1)
    return again


def _energy(motor: tuple[Array, Array], c: Columns, load: JointLoad) -> Array:
    """Joules of all cases together that the drive takes and does not give back: work on the shaft and heat."""
    w, k = c.ratio[:, None] * load.qd, c.loss_factor[:, None]
    low, high = motor
    power = [k * torque**2 + w * torque for torque in motor]
    back = np.where(w > 0, -w, 0.0) / k, np.where(w < 0, -w, 0.0) / k
    free = (low <= back[1]) & (high >= back[0])
    taken = np.where(free, 0.0, np.minimum(*power))
    lengths = [load.times[case][-1] - load.times[case][0] for case in load.cases]
    total: Array = np.sum(
        [taken[:, case] @ load.weights[case] * length for case, length in zip(load.cases, lengths, strict=True)], axis=0
    )
    return total
