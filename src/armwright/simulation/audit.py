"""The audit of a run: balances and limits that show if it can be trusted.

energy     work in - losses - change of energy: zero for an exact integration
momentum   of a free robot: linear and angular momentum, less the impulses of weight and external forces
power      tau . qd - friction - d(energy)/dt at every record: zero for exact accelerations (Mohan and Saha, figure 8)
condition  the condition number of the mass matrix: times rounding it is the relative error of the accelerations;
           infinite if M is not positive definite, which is impossible for a robot
neighbour  the distance to a run with a slightly different start: if it diverges, the motion is not predictable
target     the distance from the trajectory that the law follows, if any
limits     of positions, speeds and torques, which a real robot cannot exceed
stops      the depth to which joints press them in; energy that they store and dissipate counts as losses
base       of a free robot: forces of the law on it, where there is no motor
loops      the gaps of loop constraints

Each can raise a doubt (`doubts`), and a run with a doubt is not trusted. Limits are doubts of another kind: the numbers
are right, but the motor is too small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.names import PRINT_ROUNDING
from armwright.notebook import box, lines
from armwright.simulation.doubts import Doubt, doubts_of
from armwright.simulation.momentum import momentum
from armwright.simulation.stop_hits import StopHits

if TYPE_CHECKING:
    from armwright.robot import Robot
    from armwright.simulation.run import Run

MAX_CONDITIONS = 400
"""The largest number of mass matrices checked along a run."""

FIXED_STEP_DISTANCE, MIN_DISTANCE = 1e-9, 1e-14
"""The start distance of the neighbour of a run with fixed steps, and the smallest one for other runs."""


@dataclass(frozen=True, eq=False)
class MomentumBalance:
    """The defects of linear momentum and of angular momentum about the centre of mass (k, 3), in the world's axes.

    The scales are the largest momenta possible with the kinetic energy, sqrt(2 m T) and sqrt(2 I T), or the external
    impulses if larger.
    """

    linear_defect: Array
    angular_defect: Array
    linear_scale: float
    angular_scale: float

    @property
    def linear_error(self) -> float:
        return float(np.max(np.linalg.norm(self.linear_defect, axis=-1), initial=0.0)) / self.linear_scale

    @property
    def angular_error(self) -> float:
        return float(np.max(np.linalg.norm(self.angular_defect, axis=-1), initial=0.0)) / self.angular_scale

    @classmethod
    def of(cls, run: Run) -> MomentumBalance:
        p = momentum(run.robot, run.q, run.qd, run.kinetic)
        weight = p.mass * np.array(run.robot.gravity) * (run.t - run.t[0])[:, None]
        force, moment = run.impulse[:, :3], run.impulse[:, 3:]
        linear, angular = p.linear - p.linear[0] - force - weight, p.angular - p.angular[0] - moment
        scales = [
            max(*(float(np.max(np.abs(x))) for x in sizes), _FLOOR)
            for sizes in ((p.max_linear, force, weight), (p.max_angular, moment))
        ]
        return cls(linear, angular, *scales)


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The balances along a run (k,); `scale` is the exchanged energy.

    `neighbour` (k,) is None if there is none. `followed` is True if the law should follow its target without error,
    `integrated` if this was a simulation. `momentum` is None unless the robot has a free base. `doubts` are in order of
    time. `loop_errors` (k,) are the largest gaps of loop constraints, None without any. `stops` has the hits of each
    joint, None without stops.
    """

    scale: float
    energy_defect: Array
    power_defect: Array
    power_scale: float
    condition_times: Array
    condition: Array
    neighbour: Array | None
    target_error: Array | None
    followed: bool
    integrated: bool = True
    momentum: MomentumBalance | None = None
    doubts: tuple[Doubt, ...] = ()
    loop_errors: Array | None = None
    stops: StopHits | None = None

    @property
    def pressed(self) -> Array | None:
        """The largest depth in the stops of each joint (n,), None where there are no stops."""
        return None if self.stops is None else self.stops.depth

    @property
    def energy_error(self) -> float:
        """The largest relative error of the energy balance."""
        return float(np.max(np.abs(self.energy_defect), initial=0.0)) / self.scale

    @property
    def power_error(self) -> float:
        return float(np.max(np.abs(self.power_defect), initial=0.0)) / self.power_scale

    @property
    def momentum_error(self) -> float | None:
        """The largest relative error of linear or angular momentum; None unless the base is free."""
        return None if self.momentum is None else max(self.momentum.linear_error, self.momentum.angular_error)

    @property
    def trustworthy(self) -> bool:
        return not self.doubts

    @property
    def verdict(self) -> str:
        """ "trusted", "beyond limits" if all doubts are about limits, or "doubted"."""
        if all(doubt.limit for doubt in self.doubts):
            return "beyond limits" if self.doubts else "trusted"
        return "doubted"

    @property
    def first_doubt(self) -> Doubt | None:
        return next(iter(self.doubts), None)

    def __str__(self) -> str:
        lines = [
            f"energy balance    {_relative(self.energy_error)} of {self.scale:.4g} J",
            f"power balance     {_relative(self.power_error)} of {self.power_scale:.4g} W",
        ]
        if (p := self.momentum) is not None:
            lines.append(f"momentum          {_relative(p.linear_error)} of {p.linear_scale:.4g} kg m/s")
            lines.append(f"angular momentum  {_relative(p.angular_error)} of {p.angular_scale:.4g} kg m^2/s")
        lines.append(f"condition of M    {self.condition.min():.3g} to {self.condition.max():.3g}")
        if self.integrated and self.neighbour is None:
            lines.append("rounding          sensitivity not measured, so chaos would not be noticed")
        if self.neighbour is not None:
            lines.append(
                f"rounding          sensitivity {np.max(self.neighbour):.1e}, from {self.neighbour[0]:.0e} at the start"
            )
        if self.target_error is not None:
            note = "" if self.followed else "; the law does not claim to follow it exactly"
            lines.append(f"off the target    {np.max(self.target_error):.1e} at most (rad or m){note}")
        if self.loop_errors is not None:
            lines.append(f"loops are open by {np.max(self.loop_errors):.1e} at most (m or rad)")
        if self.stops is not None:
            lines.append(f"stops             {_hits(self.stops)}")
        words = {True: "beyond a limit", False: "do not trust it"}
        return "\n".join([*lines, *(f"{words[doubt.limit]} {doubt}" for doubt in self.doubts)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the audit as HTML for notebooks, with doubts in their colour."""
        return box(self.verdict, lines(str(self), bad=not self.trustworthy))


def _hits(stops: StopHits) -> str:
    """Return a sentence: the number of joints that hit a stop, the first time, the depth and the torque."""
    text = f"{np.count_nonzero(stops.hit)} of {len(stops.depth)} joints have hit one"
    if not stops.hit.any():
        return text
    force = "" if np.isnan(stops.torque).all() else f" and {np.nanmax(stops.torque):.3g} N m or N"
    first = "" if np.isnan(stops.hit_at).all() else f" first at {np.nanmin(stops.hit_at):.4g} s,"
    return f"{text},{first} pressed in by {np.max(stops.depth):.2e} rad or m{force} at most"


def _relative(x: float) -> str:
    """Return a relative error as text; errors below `PRINT_ROUNDING` are rounding."""
    return f"{x:.1e}" if not x < PRINT_ROUNDING else f"below {PRINT_ROUNDING:g}"


def start_distance(rtol: float | None) -> float:
    """Return the start distance of the neighbour of a run: the error allowed per step."""
    return FIXED_STEP_DISTANCE if rtol is None else max(rtol, MIN_DISTANCE)


def audit_of(run: Run) -> Audit:
    """Return the audit of a run."""
    robot = run.robot
    change = run.energy - run.energy[0]
    stops = (run.stops or _hits_at_records(run)) if run.settings.get("stops") else None
    stored = 0.0 if stops is None else float(np.nansum(stops.torque * stops.depth)) / 2  # energy stored in the stops
    scale = max(*(float(np.max(np.abs(x))) for x in (change, run.work, run.kinetic - run.kinetic[0])), stored, _FLOOR)
    required = robot.inverse_dynamics(run.q, run.qd, run.qdd)  # energy rate and the robot's own friction
    flows = np.abs(run.tau * run.qd) + np.abs(robot.gravity_torque(run.q) * run.qd)
    every = max(1, len(run.t) // MAX_CONDITIONS)
    audit = Audit(
        scale=scale,
        energy_defect=run.work - run.losses - change,
        power_defect=np.sum((run.tau + run.drag - required) * run.qd, axis=-1),
        power_scale=max(float(np.max(np.sum(flows, axis=-1))), _FLOOR),
        condition_times=run.t[::every],
        condition=_condition(robot.mass_matrix(run.q[::every])),
        neighbour=run.neighbour,
        target_error=None if run.reference is None else np.max(np.abs(run.q - run.reference[0]), axis=-1),
        followed=run.exact,
        integrated=run.statistics.accepted > 0,
        momentum=MomentumBalance.of(run) if run.impulse.size else None,
        loop_errors=loop_errors(robot, run.q),
        stops=stops,
    )
    return replace(audit, doubts=tuple(sorted(doubts_of(run, audit), key=lambda doubt: doubt.t)))


def loop_errors(robot: Robot, q: Array) -> Array | None:
    """Return the largest gap of loop constraints at states (k, nq); None if there are none."""
    if all(loop.dependent for loop in robot.loops):
        return None
    largest: Array = np.abs(robot.loop_errors(q)).max(axis=(-2, -1))
    return largest


def _hits_at_records(run: Run) -> StopHits:
    """Return the hits of stops at records, for old files without hits."""
    q = run.q[:, list(run.robot.entries)]
    low, high = np.array([joint.limits or (-np.inf, np.inf) for joint in run.robot.joints]).T
    depth = np.maximum(low - q, q - high)
    hit = np.where((depth > 0).any(axis=0), run.t[np.argmax(depth > 0, axis=0)], np.nan)
    return StopHits(np.maximum(np.max(depth, axis=0), 0.0), np.full(len(hit), np.nan), hit)


def _condition(mass_matrices: Array) -> Array:
    """Return the condition numbers of mass matrices (k, n, n), infinite if not positive definite."""
    finite = np.isfinite(mass_matrices).all(axis=(1, 2), keepdims=True)
    values = np.linalg.eigvalsh(np.where(finite, mass_matrices, 0.0))
    smallest, largest = values[:, 0], values[:, -1]
    condition: Array = np.where(smallest > 0, largest / np.where(smallest > 0, smallest, 1.0), np.inf)
    return condition


_FLOOR = 1e-6
"""The smallest scale, in J, W, kg m/s or kg m^2/s, so that tiny errors raise no doubt."""
