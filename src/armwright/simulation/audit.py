"""How far a simulated motion can be trusted.

energy    work in - losses - change of energy: zero for an exact integration
power     tau . qd - friction - d(energy)/dt at every record: zero for exact accelerations (Mohan and Saha, figure 8)
condition the condition number of the mass matrix: times rounding, the relative error of the accelerations
target    the distance from the trajectory the law was to follow, if it had one
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.formulations.parts.actuators import friction

if TYPE_CHECKING:
    from armwright.simulation.run import Run

SAMPLES = 400
"""At most so many mass matrices are looked at along a run."""

ENERGY_ALLOWED = 1e-6
"""The share of the energy that may be missing before a run is called untrustworthy."""

CONDITION_ALLOWED = 1e10
DEPARTED = 1e-3
"""Radians or metres from the target at which a robot has left it, where the law is meant to follow it exactly."""


@dataclass(frozen=True)
class Doubt:
    """From when on the result should not be trusted, and why."""

    t: float
    why: str

    def __str__(self) -> str:
        return f"from t = {self.t:.4g} s: {self.why}"


@dataclass(frozen=True, eq=False)
class Audit:
    """The balances along a run (k,), relative to `scale`, the energy that is moved about."""

    scale: float
    energy_defect: Array
    power_defect: Array
    power_scale: float
    condition_times: Array
    condition: Array
    target_error: Array | None
    doubts: tuple[Doubt, ...]

    @property
    def energy_error(self) -> float:
        """The largest share of the energy that is missing."""
        return float(np.max(np.abs(self.energy_defect), initial=0.0)) / self.scale

    @property
    def power_error(self) -> float:
        return float(np.max(np.abs(self.power_defect), initial=0.0)) / self.power_scale

    @property
    def trustworthy(self) -> bool:
        return not self.doubts

    @property
    def first_doubt(self) -> Doubt | None:
        return min(self.doubts, key=lambda doubt: doubt.t, default=None)

    def __str__(self) -> str:
        lines = [
            f"energy balance    {self.energy_error:.1e} of {self.scale:.4g} J",
            f"power balance     {self.power_error:.1e} of {self.power_scale:.4g} W",
            f"condition of M    {self.condition.min():.3g} to {self.condition.max():.3g}",
        ]
        if self.target_error is not None:
            lines.append(f"off the target    {np.max(self.target_error):.1e} at most (rad or m)")
        return "\n".join([*lines, *(f"do not trust it {doubt}" for doubt in self.doubts)])


def _beyond_limits(run: Run) -> list[Doubt]:
    """A real joint would have hit its stop."""
    doubts = []
    for i, joint in enumerate(run.robot.joints):
        if joint.limits is None:
            continue
        low, high = joint.limits
        past = np.flatnonzero((run.q[:, i] < low - SLACK) | (run.q[:, i] > high + SLACK))
        if past.size:
            value = run.q[past[0], i]
            why = f"{joint.name} is at {value:.4g}, beyond its limits {low:.4g} to {high:.4g}"
            doubts.append(Doubt(float(run.t[past[0]]), why))
    return doubts


SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Deviation:
    """A run against a tighter one: the largest difference per joint, and of all joints at every record."""

    factor: float
    t: Array
    q: Array
    qd: Array

    def __str__(self) -> str:
        late = self.exceeds(1e-3)
        when = f", more than 0.001 from t = {late:.4g} s on" if late is not None else ""
        return f"positions differ by at most {self.largest:.2g} from a run {self.factor:g} times finer{when}"

    @property
    def largest(self) -> float:
        """Of all positions at all times."""
        return float(np.max(self.q, initial=0.0))

    def exceeds(self, tolerance: float) -> float | None:
        """When positions first differ by more than this; None if they never do."""
        late = np.flatnonzero(self.q.max(axis=1) > tolerance)
        return float(self.t[late[0]]) if late.size else None

    @classmethod
    def between(cls, one: Run, other: Run, factor: float) -> Deviation:
        count = min(len(one.t), len(other.t))
        q, qd = (np.abs(getattr(one, name)[:count] - getattr(other, name)[:count]) for name in ("q", "qd"))
        return cls(factor, one.t[:count], q, qd)


def audited(run: Run) -> Audit:
    robot = run.robot
    change = run.energy - run.energy[0]
    energy_defect = run.work - run.losses - change
    scale = max(*(float(np.max(np.abs(x))) for x in (change, run.work, run.kinetic - run.kinetic[0])), _TINY)
    rate = _energy_rate(run)
    rubbing = _friction(run) - run.drag
    put_in = np.sum(run.tau * run.qd, axis=-1)
    power_defect = put_in - np.sum(rubbing * run.qd, axis=-1) - rate
    flows = np.abs(run.tau * run.qd) + np.abs(robot.gravity_torque(run.q) * run.qd)
    power_scale = max(float(np.max(np.sum(flows, axis=-1))), _TINY)
    every = max(1, len(run.t) // SAMPLES)
    with np.errstate(all="ignore"):
        condition = np.linalg.cond(robot.mass_matrix(run.q[::every]))
    target_error = None
    if run.reference is not None:
        target_error = np.max(np.abs(run.q - run.reference[0]), axis=-1)
    parts = (scale, energy_defect, power_defect, power_scale, run.t[::every], condition, target_error)
    return Audit(*parts, doubts=tuple(_doubts(run, *parts)))


_TINY = 1e-6
"""Joules and watts below which nothing is worth a doubt."""


def _energy_rate(run: Run) -> Array:
    """d(energy)/dt from positions, velocities and accelerations: qd . (M qdd + C qd + g), by the unloaded robot."""
    robot = run.robot
    torques = robot.inverse_dynamics(run.q, run.qd, run.qdd)
    rate: Array = np.sum((torques - _friction(run)) * run.qd, axis=-1)
    return rate


def _friction(run: Run) -> Array:
    return np.stack(np.broadcast_arrays(*friction(run.robot.chain(), list(run.qd.T))), axis=-1)


def _doubts(
    run: Run, scale: float, energy: Array, _power: Array, _power_scale: float, at: Array, condition: Array,
    target: Array | None,
) -> list[Doubt]:  # fmt: skip
    doubts = []
    missing = np.flatnonzero(np.abs(energy) > ENERGY_ALLOWED * scale)
    if missing.size:
        i = missing[0]
        doubts.append(Doubt(float(run.t[i]), f"{abs(energy[i]):.2g} J of energy are missing ({scale:.3g} J are moved)"))
    singular = np.flatnonzero(~(condition < CONDITION_ALLOWED))
    if singular.size:
        i = singular[0]
        why = f"the mass matrix is nearly singular, condition number {condition[i]:.1e}"
        doubts.append(Doubt(float(at[i]), why))
    if target is not None and run.exact:
        away = np.flatnonzero(target > DEPARTED)
        if away.size:
            i = away[0]
            joint = int(np.argmax(np.abs(run.q[i] - run.reference[0][i])))  # type: ignore[index]
            name = run.robot.joints[joint].name
            doubts.append(Doubt(float(run.t[i]), f"{name} is {target[i]:.2g} off the trajectory it was to follow"))
    doubts += _beyond_limits(run)
    if run.message:
        doubts.append(Doubt(float(run.t[-1]), run.message))
    return doubts
