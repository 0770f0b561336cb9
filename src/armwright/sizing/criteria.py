"""Criteria of actuators: the part of each limit that an actuator uses, for many actuators at once.

The load of a joint is known, or known to lie between two bounds. Between bounds, a criterion is the least that any load
between them could use: the motor torque grows with the load, so it lies between two bounds too, and its smallest
magnitude at each instant counts. A known load has equal bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from armwright.algebra import Array
from armwright.sizing.loads import JointLoad

CRITERIA = (
    *("peak torque", "RMS torque", "speed", "voltage", "power", "heat"),
    *("gear peak", "gear RMS", "gear speed", "inertia ratio", "brake", "twist", "frequency"),
    *("push", "pull", "flow", "stroke"),
)


@dataclass(frozen=True)
class JointDemand:
    """The load of a joint at each instant, between two bounds; a known load has equal bounds."""

    load: JointLoad
    torque: tuple[Array, Array]
    gravity: tuple[Array, Array]
    inertia: float

    @classmethod
    def between(cls, load: JointLoad, low: Array, high: Array) -> JointDemand:
        """Return the demand for carried actuators (load.carried) with masses from `low` to `high`."""
        inertia = float(np.max(load.inertia.at(low)))
        return cls(load, load.torque.within(low, high), load.gravity.within(low, high), inertia)

    def at(self, instants: Array) -> tuple[Array, Array, Array, Array]:
        """Return lower and upper torque, velocity and acceleration at some instants."""
        low, high = self.torque
        return low[instants], high[instants], self.load.qd[instants], self.load.qdd[instants]


@dataclass(frozen=True)
class Requirements:
    """Requirements on all actuators: ambient temperature, inertia ratio, twist by joint, natural frequency, energy."""

    ambient: float = 40.0
    inertia_ratio: float = math.inf
    energy: bool = False
    twist: Mapping[str, float] = field(default_factory=dict)
    frequency: float = 0.0


class DriveNumbers(Protocol):
    """The numbers of many actuators of one kind."""

    def subset(self, rows: Array) -> DriveNumbers:
        """Return some of the actuators."""

    def passes_screening(self, demand: JointDemand, max_use: float) -> Array:
        """Return False for actuators that a quick check finds to use more than the part `max_use` of a limit."""

    def utilisation(self, demand: JointDemand, requirements: Requirements) -> dict[str, Array]:
        """Return by criterion the part of its limit that each actuator uses at least."""

    def motion_of_first(self, demand: JointDemand) -> tuple[Array, Array, Array]:
        """Return speed and torque (or force) of the first drive, and the joint torque, under a known load."""

    def optional_limits(self, requirements: Requirements) -> dict[str, bool]:
        """Return False for optional criteria for which the first actuator has no limit."""


def smallest_magnitude(low: Array, high: Array) -> Array:
    """Return the smallest magnitude of numbers between two bounds."""
    magnitude: Array = np.maximum(np.maximum(low, -high), 0.0)
    return magnitude


def within_limits(used: dict[str, Array], max_use: float) -> Array:
    """Return True for actuators that use at most the part `max_use` of every limit."""
    good: Array = np.all([used[name] <= max_use for name in CRITERIA if name in used], axis=0)
    return good
