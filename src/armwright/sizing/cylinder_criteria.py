"""Criteria of hydraulic cylinders: pushing and pulling force, flow and stroke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armwright.actuators.actuator import CylinderLever, Hydraulic
from armwright.algebra import Array
from armwright.sizing.criteria import JointDemand, Requirements
from armwright.sizing.loads import JointLoad


@dataclass(frozen=True)
class CylinderDrives:
    """The numbers of many cylinders on one lever, an array each; lever None for a prismatic joint."""

    lever: CylinderLever | None
    push: Array
    pull: Array
    head: Array
    rod: Array
    flow: Array
    stroke: Array
    pressure: Array

    @classmethod
    def of(cls, drives: Sequence[Hydraulic]) -> CylinderDrives:
        """Return the numbers of these cylinders."""
        rows = [
            (c.push, c.pull, c.head_area, c.rod_area, c.flow, c.stroke, c.pressure)
            for c in (drive.cylinder for drive in drives)
        ]
        return cls(drives[0].lever, *np.array(rows, dtype=float).T)

    def subset(self, rows: Array) -> CylinderDrives:
        """Return some of the cylinders."""
        lever, *columns = vars(self).values()
        return CylinderDrives(lever, *(column[rows] for column in columns))

    def passes_screening(self, demand: JointDemand, max_use: float) -> Array:
        """Return True for all: cylinders have no quick check."""
        del demand, max_use
        return np.ones(len(self.push), dtype=bool)

    def utilisation(self, demand: JointDemand, requirements: Requirements) -> dict[str, Array]:
        """Return by criterion the part of its limit that each cylinder uses at least."""
        load = demand.load
        length, arm = self._geometry(load)
        low, high = _forces(demand.torque, arm)
        speed = arm * load.qd
        used = {
            "push": np.max(np.maximum(low, 0.0)) / self.push,
            "pull": np.max(np.maximum(-high, 0.0)) / self.pull,
            "flow": np.maximum(max(speed.max(), 0.0) * self.head, max(-speed.min(), 0.0) * self.rod) / self.flow,
            "stroke": np.ptp(length) / self.stroke,
        }
        if requirements.energy:
            used["energy"] = self._energy(load, speed)
        return used

    def motion_of_first(self, demand: JointDemand) -> tuple[Array, Array, Array]:
        """Return speed and force of the rod, and the joint torque, under a known load."""
        _, arm = self._geometry(demand.load)
        return arm * demand.load.qd, _forces(demand.torque, arm)[0], demand.torque[0]

    def optional_limits(self, requirements: Requirements) -> dict[str, bool]:
        """Return no optional criteria: a cylinder has all its limits."""
        del requirements
        return {}

    def _geometry(self, load: JointLoad) -> tuple[Array, Array]:
        """Return the length of the cylinder at each instant, and its derivative by the joint position."""
        if self.lever is None:
            return load.q, np.ones_like(load.q)
        return self.lever.length(load.q), self.lever.arm(load.q)

    def _energy(self, load: JointLoad, speed: Array) -> Array:
        """Return the joules of a supply of constant pressure: pressure times inflow, independent of the load."""
        total = np.zeros(len(self.push))
        for case in load.cases:
            seconds = load.times[case][-1] - load.times[case][0]
            outward, inward = (np.maximum(s * speed[case], 0.0) @ load.weights[case] * seconds for s in (1, -1))
            total += self.pressure * (self.head * outward + self.rod * inward)
        return total


def _forces(torque: tuple[Array, Array], arm: Array) -> tuple[Array, Array]:
    """Return bounds of the rod forces for torques between two bounds; infinite at a dead centre."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (np.nan_to_num(tau / arm, nan=0.0, posinf=np.inf, neginf=-np.inf) for tau in torque)
    return np.minimum(one, two), np.maximum(one, two)
