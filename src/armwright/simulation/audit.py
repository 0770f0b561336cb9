"""The audit of a run: balances and limits that say if it can be trusted.

energy     work in - losses - change of energy: zero for an exact integration
momentum   of a robot that nothing holds: linear and angular momentum less what weight and outer forces have changed
power      tau . qd - friction - d(energy)/dt at every record: zero for exact accelerations (Mohan and Saha, figure 8)
condition  the condition number of the mass matrix: times rounding, the relative error of the accelerations; infinite
           where M is not positive definite, which no robot's is
neighbour  how far a run is away that began next to it: where it leaves, nobody can say where the robot is
target     the distance from the trajectory the law was to follow, if it had one
limits     of positions, speeds and torques: beyond them a real robot does something else
stops      where there are some, how deep joints have pressed them in; what they hold and take is among the losses
base       of a robot that nothing holds: forces that the law puts on it, where no motor is
loops      how far the ends of loops that forces hold have drifted apart

Each of them can raise a doubt, and one doubt is enough for a run not to be trusted. Limits are doubts of another kind:
the numbers are right, and the motor is too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.algebra import Array
from armwright.kinematics import LOOP_TOLERANCE
from armwright.layout import IMPULSE
from armwright.model.records import JointModel
from armwright.names import PRINT_ROUNDING, shown
from armwright.notebook import box, lines
from armwright.simulation.momentum import momentum
from armwright.simulation.stop_hits import StopHits

if TYPE_CHECKING:
    from armwright.robot import Robot
    from armwright.simulation.run import Run

MAX_CONDITIONS = 400
"""At most so many mass matrices are looked at along a run."""

MAX_ENERGY_ERROR = 1e-6
"""The share of the energy that may be missing before a run is called untrustworthy."""

MAX_POWER_ERROR = 1e-6
"""Of the power, likewise."""

MAX_MOMENTUM_ERROR = 1e-6
"""Of the momentum, likewise."""

MAX_CONDITION = 1e10
MAX_TARGET_ERROR = 1e-3
"""Radians or metres from the target at which a robot has left it, where the law is meant to follow it exactly."""

FIXED_STEP_DISTANCE, MIN_DISTANCE = 1e-9, 1e-14
"""How far from a run with given steps its neighbour begins, and at least where a tolerance says it."""

DIVERGENCE_RATIO = 1e3
"""A neighbour has left when it is `MAX_TARGET_ERROR` away, or so many times as far as at first."""


@dataclass(frozen=True)
class Doubt:
    """From when on the result should not be trusted, and why; beyond a `limit` the numbers are right, the robot not."""

    t: float
    why: str
    limit: bool = False

    def __str__(self) -> str:
        return f"from t = {self.t:.4g} s: {self.why}"


@dataclass(frozen=True, eq=False)
class MomentumBalance:
    """The defects of linear momentum and of angular momentum about the centre of mass (k, 3), in the world's axes.

    The scales are the largest momenta that the energy of the motion allows, sqrt(2 m T) and sqrt(2 I T), or what has
    acted from outside where that is more.
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
        now = momentum(run.robot, run.q, run.qd, run.kinetic)
        weight = now.mass * np.array(run.robot.gravity) * (run.t - run.t[0])[:, None]
        force, moment = run.impulse[:, :3], run.impulse[:, 3:]
        linear, angular = now.linear - now.linear[0] - force - weight, now.angular - now.angular[0] - moment
        scales = [
            max(*(float(np.max(np.abs(x))) for x in sizes), _TINY)
            for sizes in ((now.most_linear, force, weight), (now.most_angular, moment))
        ]
        return cls(linear, angular, *scales)


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The balances along a run (k,), relative to `scale`, the energy that is moved about.

    `neighbour` (k,) is None where none was sent along and none can be. `followed` says whether the law claims to follow
    its target without error, `integrated` whether this was a simulation. `momentum` is None but for robots that hang on
    one free joint. `doubts` are in the order of their times.
    `loop_errors` (k,) are the largest distances between ends of loops that forces hold, None where there are none.
    `stops` is what stops have done to each joint, None where there are no stops.
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
        """The largest share of the energy that is missing."""
        return float(np.max(np.abs(self.energy_defect), initial=0.0)) / self.scale

    @property
    def power_error(self) -> float:
        return float(np.max(np.abs(self.power_defect), initial=0.0)) / self.power_scale

    @property
    def momentum_error(self) -> float | None:
        """The largest share of linear or angular momentum that is missing; None where something holds the robot."""
        return None if self.momentum is None else max(self.momentum.linear_error, self.momentum.angular_error)

    @property
    def trustworthy(self) -> bool:
        return not self.doubts

    @property
    def verdict(self) -> str:
        """A word: "trusted", "beyond limits" where all doubts are about limits, or "doubted"."""
        if all(doubt.limit for doubt in self.doubts):
            return "beyond limits" if self.doubts else "trusted"
        return "doubted"

    @property
    def first_doubt(self) -> Doubt | None:
        return next(iter(self.doubts), None)

    def __str__(self) -> str:
        lines = [
            f"energy balance    {_part(self.energy_error)} of {self.scale:.4g} J",
            f"power balance     {_part(self.power_error)} of {self.power_scale:.4g} W",
        ]
        if (found := self.momentum) is not None:
            lines.append(f"momentum          {_part(found.linear_error)} of {found.linear_scale:.4g} kg m/s")
            lines.append(f"angular momentum  {_part(found.angular_error)} of {found.angular_scale:.4g} kg m^2/s")
        lines.append(f"condition of M    {self.condition.min():.3g} to {self.condition.max():.3g}")
        if self.integrated and self.neighbour is None:
            lines.append("a neighbour       none was sent along, so chaos would not be noticed")
        if self.neighbour is not None:
            lines.append(
                f"a neighbour       {np.max(self.neighbour):.1e} away at most, {self.neighbour[0]:.0e} at first"
            )
        if self.target_error is not None:
            loosely = "" if self.followed else "; the law does not claim to follow it exactly"
            lines.append(f"off the target    {np.max(self.target_error):.1e} at most (rad or m){loosely}")
        if self.loop_errors is not None:
            lines.append(f"loops are open by {np.max(self.loop_errors):.1e} at most (m or rad)")
        if self.stops is not None:
            lines.append(f"stops             {_hits(self.stops)}")
        words = {True: "beyond a limit", False: "do not trust it"}
        return "\n".join([*lines, *(f"{words[doubt.limit]} {doubt}" for doubt in self.doubts)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For notebooks: the lines of it, with doubts in their colour."""
        return box(self.verdict, lines(str(self), bad=not self.trustworthy))


def _hits(stops: StopHits) -> str:
    """Return the number of joints that have hit a stop, the first time, the depth and the torque."""
    said = f"{np.count_nonzero(stops.hit)} of {len(stops.depth)} joints have hit one"
    if not stops.hit.any():
        return said
    force = "" if np.isnan(stops.torque).all() else f" and {np.nanmax(stops.torque):.3g} N m or N"
    first = "" if np.isnan(stops.hit_at).all() else f" first at {np.nanmin(stops.hit_at):.4g} s,"
    return f"{said},{first} pressed in by {np.max(stops.depth):.2e} rad or m{force} at most"


def _part(x: float) -> str:
    """A part that is missing, which is nothing but rounding below some size."""
    return f"{x:.1e}" if not x < PRINT_ROUNDING else f"below {PRINT_ROUNDING:g}"


@dataclass(frozen=True, eq=False, repr=False)
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

    __repr__ = __str__

    @property
    def largest(self) -> float:
        """The largest difference of all positions at all times."""
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


def start_distance(rtol: float | None) -> float:
    """Return the distance at which the neighbour of a run begins: the error allowed per step."""
    return FIXED_STEP_DISTANCE if rtol is None else max(rtol, MIN_DISTANCE)


def audited(run: Run) -> Audit:
    """Return the audit of a run."""
    robot = run.robot
    change = run.energy - run.energy[0]
    energy_defect = run.work - run.losses - change
    stops = (run.stops or _at_records(run)) if run.settings.get("stops") else None
    sprung = 0.0 if stops is None else float(np.nansum(stops.torque * stops.depth)) / 2  # energy that was in the stops
    scale = max(*(float(np.max(np.abs(x))) for x in (change, run.work, run.kinetic - run.kinetic[0])), sprung, _TINY)
    needed = robot.inverse_dynamics(run.q, run.qd, run.qdd)  # the rate of the energy and the robot's own friction
    power_defect = np.sum((run.tau + run.drag - needed) * run.qd, axis=-1)
    flows = np.abs(run.tau * run.qd) + np.abs(robot.gravity_torque(run.q) * run.qd)
    power_scale = max(float(np.max(np.sum(flows, axis=-1))), _TINY)
    every = max(1, len(run.t) // MAX_CONDITIONS)
    target_error = None
    if run.reference is not None:
        target_error = np.max(np.abs(run.q - run.reference[0]), axis=-1)
    audit = Audit(
        scale=scale,
        energy_defect=energy_defect,
        power_defect=power_defect,
        power_scale=power_scale,
        condition_times=run.t[::every],
        condition=_condition(robot.mass_matrix(run.q[::every])),
        neighbour=run.neighbour,
        target_error=target_error,
        followed=run.exact,
        integrated=run.statistics.accepted > 0,
        momentum=MomentumBalance.of(run) if run.impulse.size else None,
        loop_errors=loop_errors(robot, run.q),
        stops=stops,
    )
    return replace(audit, doubts=tuple(sorted(_doubts(run, audit), key=lambda doubt: doubt.t)))


def loop_errors(robot: Robot, q: Array) -> Array | None:
    """Return the largest gap of loop constraints at states (k, nq); None if there are none."""
    if all(loop.dependent for loop in robot.loops):
        return None
    largest: Array = np.abs(robot.loop_errors(q)).max(axis=(-2, -1))
    return largest


def _at_records(run: Run) -> StopHits:
    """Return the hits of stops from records, as an old file has nothing else."""
    ranges = [joint.limits or (-np.inf, np.inf) for joint in run.robot.joints]
    q = run.q[:, list(run.robot.entries)]
    low, high = np.array(ranges).T
    depth = np.maximum(low - q, q - high)
    hit = np.where((depth > 0).any(axis=0), run.t[np.argmax(depth > 0, axis=0)], np.nan)
    return StopHits(np.maximum(np.max(depth, axis=0), 0.0), np.full(len(hit), np.nan), hit)


def _condition(mass_matrices: Array) -> Array:
    """The condition numbers of mass matrices (k, n, n), infinite for those that are not positive definite."""
    finite = np.isfinite(mass_matrices).all(axis=(1, 2), keepdims=True)
    values = np.linalg.eigvalsh(np.where(finite, mass_matrices, 0.0))
    least, largest = values[:, 0], values[:, -1]
    condition: Array = np.where(least > 0, largest / np.where(least > 0, least, 1.0), np.inf)
    return condition


_TINY = 1e-6
"""Joules and watts below which nothing is worth a doubt."""


def _doubts(run: Run, audit: Audit) -> Iterator[Doubt]:
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
        start = float(audit.loop_errors[0])  # of loops that cannot be closed exactly
        for i in _first(~(audit.loop_errors <= LOOP_TOLERANCE + (start if start > LOOP_TOLERANCE else 0.0))):
            yield Doubt(float(run.t[i]), f"a loop is open by {audit.loop_errors[i]:.1g} m or rad")
    yield from _beyond_limits(run, audit.stops)
    yield from run.noticed
    if run.message:
        yield Doubt(float(run.t[-1]), run.message)


def divergence_doubts(t: Array, neighbour: Array) -> Iterator[Doubt]:
    """From when on a neighbour has left."""
    begin = neighbour[0]
    for i in _first(~(neighbour <= max(MAX_TARGET_ERROR, DIVERGENCE_RATIO * begin))):
        why = f"a run that began {begin:.0e} away is {neighbour[i]:.1g} away; where it is depends on rounding"
        yield Doubt(float(t[i]), why)


def _missing_momentum(run: Run, found: MomentumBalance | None) -> Iterator[Doubt]:
    if found is None:
        return
    for name, unit, defect, scale in (
        ("momentum", "kg m/s", found.linear_defect, found.linear_scale),
        ("angular momentum", "kg m^2/s", found.angular_defect, found.angular_scale),
    ):
        size = np.linalg.norm(defect, axis=-1)
        for i in _first(~(size <= MAX_MOMENTUM_ERROR * scale)):
            yield Doubt(float(run.t[i]), f"{size[i]:.2g} {unit} of {name} are missing (of {scale:.3g})")


def _driven_base(run: Run) -> Iterator[Doubt]:
    """Nothing drives the base of a free robot, unless it has freedoms with a largest force, as thrusters give."""
    if not run.impulse.size:
        return
    bare = [i for i in range(IMPULSE) if run.robot.joints[i].max_torque is None]
    force = np.abs((run.tau + run.drag)[:, bare])
    for i in _first((force > LIMIT_ROUNDING).any(axis=1)):
        joint = run.robot.joints[bare[int(np.argmax(force[i]))]]
        yield Doubt(
            float(run.t[i]),
            f"the law puts {np.max(force[i]):.3g} {'N' if joint.prismatic else 'N m'} on {shown(joint.name)}, but the "
            "base has no motor: give gains with zeros for its six freedoms, or .limited with zeros for them; where "
            "something does drive it, its max_torque says so",
        )


def _first(wrong: Array) -> Array:
    """Return the first place at which it is wrong, in an array that is empty if there is none."""
    return np.flatnonzero(wrong)[:1]


MAX_STOP_DEPTH = 0.05
"""Radians or metres by which a joint may press a stop in: deeper, the stop is too soft for what hits it."""

LIMIT_ROUNDING = 1e-9
"""Radians or metres by which a limit may be exceeded: rounding is no reason for a doubt."""


def _beyond(joint: JointModel, q: Array, t: Array, first: int) -> str:
    """Return a sentence: how far a joint exceeds its limits, at the first such record and at the worst."""
    (low, high), unit = joint.limits or (-np.inf, np.inf), "m" if joint.prismatic else "rad"
    over = np.maximum(low - q, q - high)
    worst = int(np.argmax(over))
    later = f", and by {over[worst]:.3g} {unit} at {t[worst]:.4g} s" if worst != first else ""
    return f"{shown(joint.name)} is beyond its limits {low:.4g} to {high:.4g} {unit} by {over[first]:.3g} {unit}{later}"


def _beyond_limits(run: Run, stops: StopHits | None) -> Iterator[Doubt]:
    """A real joint would have hit its stop, and a real drive would have been too weak or too slow."""
    for i, (joint, use) in enumerate(zip(run.robot.joints, run.utilisation.joints, strict=True)):
        if joint.limits is not None and stops is not None and stops.depth[i] > MAX_STOP_DEPTH:
            (low, high), begun = joint.limits, run.q[0, run.robot.entries[i]]
            begins = max(low - begun, begun - high)
            why = f"{shown(joint.name)} is {stops.depth[i]:.3g} beyond its limits"
            why += ": its stop is too soft, give torque.stops a larger stiffness"
            if begins > MAX_STOP_DEPTH:
                why = f"{shown(joint.name)} begins {begins:.3g} beyond its limits, pressed into its stop"
            yield Doubt(float(stops.hit_at[i]), why)
        elif joint.limits is not None and stops is None:
            low, high = joint.limits
            q = run.q[:, run.robot.entries[i]]
            for k in _first((q < low - LIMIT_ROUNDING) | (q > high + LIMIT_ROUNDING)):
                yield Doubt(float(run.t[k]), _beyond(joint, q, run.t, k), limit=True)
        for values, most, why in (
            (run.qd[:, i], joint.max_velocity, use.slowness),
            (run.tau[:, i], joint.max_torque, use.weakness),
        ):
            if why:
                yield Doubt(float(run.t[_first(np.abs(values) > most)[0]]), why, limit=True)
