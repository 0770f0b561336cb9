"""Is a cylinder enough for its joint? The criteria of `judge` for pushing and pulling, flow and stroke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armwright.actuators.actuator import CylinderLever, Hydraulic
from armwright.algebra import Array
from armwright.sizing.criteria import Asked, Terms
from armwright.sizing.loads import JointLoad


@dataclass(frozen=True)
class Cylinders:
    """The numbers of many cylinders on one lever, an array each."""

    lever: CylinderLever | None
    push: Array
    pull: Array
    head: Array
    rod: Array
    flow: Array
    stroke: Array
    pressure: Array

    @classmethod
    def of(cls, drives: Sequence[Hydraulic]) -> Cylinders:
        rows = [
            (c.push, c.pull, c.head_area, c.rod_area, c.flow, c.stroke, c.pressure)
            for c in (drive.cylinder for drive in drives)
        ]
        return cls(drives[0].lever, *np.array(rows, dtype=float).T)

    def some(self, rows: Array) -> Cylinders:
        lever, *columns = vars(self).values()
        return Cylinders(lever, *(column[rows] for column in columns))

    def hopeful(self, asked: Asked, most: float) -> Array:
        del asked, most
        return np.ones(len(self.push), dtype=bool)

    def uses(self, asked: Asked, terms: Terms) -> dict[str, Array]:
        """By criterion, the part of its limit that each cylinder uses, at least."""
        load = asked.load
        length, arm = self._geometry(load)
        low, high = _forces(asked.torque, arm)
        speed = arm * load.qd
        found = {
            "push": np.max(np.maximum(low, 0.0)) / self.push,
            "pull": np.max(np.maximum(-high, 0.0)) / self.pull,
            "flow": np.maximum(max(speed.max(), 0.0) * self.head, max(-speed.min(), 0.0) * self.rod) / self.flow,
            "stroke": np.ptp(length) / self.stroke,
        }
        if terms.energy:
            found["energy"] = self._energy(load, speed)
        return found

    def moving(self, asked: Asked) -> tuple[Array, Array, Array]:
        """At a load that is known: speed and force of the rod, and the torque of the joint."""
        _, arm = self._geometry(asked.load)
        return arm * asked.load.qd, _forces(asked.torque, arm)[0], asked.torque[0]

    def limited(self, terms: Terms) -> dict[str, bool]:
        del terms
        return {}

    def _geometry(self, load: JointLoad) -> tuple[Array, Array]:
        """How long the cylinder is at each instant, and how that grows with the joint."""
        if self.lever is None:
            return load.q, np.ones_like(load.q)
        return self.lever.length(load.q), self.lever.arm(load.q)

    def _energy(self, load: JointLoad, speed: Array) -> Array:
        """Joules that a supply of constant pressure gives: what flows in, whatever the load."""
        total = np.zeros(len(self.push))
        for case in load.cases:
            seconds = load.times[case][-1] - load.times[case][0]
            out, back = (np.maximum(s * speed[case], 0.0) @ load.weights[case] * seconds for s in (1, -1))
            total += self.pressure * (self.head * out + self.rod * back)
        return total


def _forces(torque: tuple[Array, Array], arm: Array) -> tuple[Array, Array]:
    """The forces for torques between two; at a dead centre they are infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (np.nan_to_num(tau / arm, nan=0.0, posinf=np.inf, neginf=-np.inf) for tau in torque)
    return np.minimum(one, two), np.maximum(one, two)
