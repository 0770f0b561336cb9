"""Doubts about a run: the times and reasons for which its audit does not trust it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.kinematics import LOOP_TOLERANCE
from armwright.layout import IMPULSE
from armwright.model.records import JointModel
from armwright.names import shown
from armwright.simulation.stop_hits import StopHits

if TYPE_CHECKING:
    from armwright.simulation.audit import Audit, MomentumBalance
    from armwright.simulation.run import Run

MAX_ENERGY_ERROR = 1e-6
"""The largest relative error of the energy balance that raises no doubt."""

MAX_POWER_ERROR = 1e-6
"""The largest relative error of the power balance."""

MAX_MOMENTUM_ERROR = 1e-6
"""The largest relative error of the momentum balance."""

MAX_CONDITION = 1e10
MAX_TARGET_ERROR = 1e-3
"""The largest distance (rad or m) from the target that raises no doubt, if the law should follow it exactly."""

DIVERGENCE_RATIO = 1e3
"""A neighbour diverges at `MAX_TARGET_ERROR`, or at this multiple of its first distance if that is larger."""

MAX_STOP_DEPTH = 0.05
"""The depth (rad or m) beyond which a stop is too soft for what hits it."""

LIMIT_ROUNDING = 1e-9
"""The rounding error (rad or m) by which a limit may be exceeded."""


@dataclass(frozen=True)
class Doubt:
    """When a result becomes doubtful, and why. For a `limit`, the numbers are right but the robot cannot do it."""

    t: float
    why: str
    limit: bool = False

    def __str__(self) -> str:
        return f"from t = {self.t:.4g} s: {self.why}"


def doubts_of(run: Run, audit: Audit) -> Iterator[Doubt]:
    """Yield every doubt about a run."""
    energy, power = (np.abs(x) for x in (audit.energy_defect, audit.power_defect))
    for i in _first(~(energy <= MAX_ENERGY_ERROR * audit.scale)):
        yield Doubt(float(run.t[i]), f"{energy[i]:.2g} J of energy are missing ({audit.scale:.3g} J are moved)")
    for i in _first(~(power <= MAX_POWER_ERROR * audit.power_scale)):
        why = f"{power[i]:.2g} W of power are missing ({audit.power_scale:.3g} W flow)"
        yield Doubt(float(run.t[i]), f"{why}: torques and accelerations do not belong together")
    yield from _missing_momentum(run, audit.momentum)
    yield from _driven_base(run)
    for i in _first(~(audit.condition < MAX_CONDITION)):
        singular = f"nearly singular, condition number {audit.condition[i]:.1e}"
        why = "not positive definite" if np.isinf(audit.condition[i]) else singular
        yield Doubt(float(audit.condition_times[i]), f"the mass matrix is {why}")
    if audit.neighbour is not None:
        yield from divergence_doubts(run.t, audit.neighbour)
    if run.reference is not None and audit.target_error is not None and audit.followed:
        for i in _first(~(audit.target_error <= MAX_TARGET_ERROR)):
            joint = run.robot.joints[int(np.argmax(np.abs(run.q[i] - run.reference[0][i])))]
            why = f"{shown(joint.name)} is {audit.target_error[i]:.2g} off the trajectory it was to follow"
            yield Doubt(float(run.t[i]), why)
    if audit.loop_errors is not None:
        start = float(audit.loop_errors[0])  # nonzero for loops that cannot be closed exactly
        for i in _first(~(audit.loop_errors <= LOOP_TOLERANCE + (start if start > LOOP_TOLERANCE else 0.0))):
            yield Doubt(float(run.t[i]), f"a loop is open by {audit.loop_errors[i]:.1g} m or rad")
    yield from _beyond_limits(run, audit.stops)
    yield from run.noticed
    if run.message:
        yield Doubt(float(run.t[-1]), run.message)


def divergence_doubts(t: Array, neighbour: Array) -> Iterator[Doubt]:
    """Yield a doubt if a neighbour diverges."""
    begin = neighbour[0]
    for i in _first(~(neighbour <= max(MAX_TARGET_ERROR, DIVERGENCE_RATIO * begin))):
        why = f"a run that began {begin:.0e} away is {neighbour[i]:.1g} away; where it is depends on rounding"
        yield Doubt(float(t[i]), why)


def _missing_momentum(run: Run, balance: MomentumBalance | None) -> Iterator[Doubt]:
    if balance is None:
        return
    for name, unit, defect, scale in (
        ("momentum", "kg m/s", balance.linear_defect, balance.linear_scale),
        ("angular momentum", "kg m^2/s", balance.angular_defect, balance.angular_scale),
    ):
        size = np.linalg.norm(defect, axis=-1)
        for i in _first(~(size <= MAX_MOMENTUM_ERROR * scale)):
            yield Doubt(float(run.t[i]), f"{size[i]:.2g} {unit} of {name} are missing (of {scale:.3g})")


def _driven_base(run: Run) -> Iterator[Doubt]:
    """Yield a doubt if the law drives a free base without max_torque, which thrusters have."""
    if not run.impulse.size:
        return
    undriven = [i for i in range(IMPULSE) if run.robot.joints[i].max_torque is None]
    force = np.abs((run.tau + run.drag)[:, undriven])
    for i in _first((force > LIMIT_ROUNDING).any(axis=1)):
        joint = run.robot.joints[undriven[int(np.argmax(force[i]))]]
        yield Doubt(
            float(run.t[i]),
            f"the law puts {np.max(force[i]):.3g} {'N' if joint.prismatic else 'N m'} on {shown(joint.name)}, but the "
            "base has no motor: give gains with zeros for its six freedoms, or .limited with zeros for them; if it has "
            "thrusters, give their max_torque",
        )


def _first(wrong: Array) -> Array:
    """Return the index of the first True, as an array that is empty if there is none."""
    return np.flatnonzero(wrong)[:1]


def _beyond(joint: JointModel, q: Array, t: Array, first: int) -> str:
    """Return a sentence on how much a joint exceeds its limits, first and at most."""
    (low, high), unit = joint.limits or (-np.inf, np.inf), "m" if joint.prismatic else "rad"
    over = np.maximum(low - q, q - high)
    worst = int(np.argmax(over))
    later = f", and by {over[worst]:.3g} {unit} at {t[worst]:.4g} s" if worst != first else ""
    return f"{shown(joint.name)} is beyond its limits {low:.4g} to {high:.4g} {unit} by {over[first]:.3g} {unit}{later}"


def _beyond_limits(run: Run, stops: StopHits | None) -> Iterator[Doubt]:
    """Yield doubts about joints beyond their limits and drives that are too weak or too slow."""
    for i, (joint, use) in enumerate(zip(run.robot.joints, run.utilisation.joints, strict=True)):
        if joint.limits is not None and stops is not None and stops.depth[i] > MAX_STOP_DEPTH:
            (low, high), q0 = joint.limits, run.q[0, run.robot.entries[i]]
            initial_depth = max(low - q0, q0 - high)
            why = f"{shown(joint.name)} is {stops.depth[i]:.3g} beyond its limits"
            why += ": its stop is too soft, give torque.stops a larger stiffness"
            if initial_depth > MAX_STOP_DEPTH:
                why = f"{shown(joint.name)} begins {initial_depth:.3g} beyond its limits, pressed into its stop"
            yield Doubt(float(stops.hit_at[i]), why)
        elif joint.limits is not None and stops is None:
            low, high = joint.limits
            q = run.q[:, run.robot.entries[i]]
            for k in _first((q < low - LIMIT_ROUNDING) | (q > high + LIMIT_ROUNDING)):
                yield Doubt(float(run.t[k]), _beyond(joint, q, run.t, k), limit=True)
        for values, limit, why in (
            (run.qd[:, i], joint.max_velocity, use.slowness),
            (run.tau[:, i], joint.max_torque, use.weakness),
        ):
            if why:
                yield Doubt(float(run.t[_first(np.abs(values) > limit)[0]]), why, limit=True)
