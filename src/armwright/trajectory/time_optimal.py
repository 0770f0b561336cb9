"""The fastest motion along a path within what the joints can do: torque, velocity, acceleration.

    s, x     the place on the path, and the square of the path speed s'
    u        s'', the same all along an interval between two places of a grid
    tau      a u + b x + c + f(s'), with a = M dq/ds, b what inertia makes of the curve, c gravity, f friction

The torques come from inverse dynamics at many states in one call, with payload, rotors, loops and friction. Dry
friction adds to c. Viscous friction grows with the root of x: its tangent at the previous motion replaces it, until it
does not change any more. These are Newton steps; three or four suffice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import whole_number
from armwright.errors import InputError
from armwright.names import shown
from armwright.trajectory.argument_checks import check_numbers
from armwright.trajectory.joint_limits import JointLimits, limits_description, limits_of
from armwright.trajectory.motion_base import MAX_COMPILED_PIECES, PathMotion, State, Trajectory
from armwright.trajectory.path_dynamics import (
    DynamicRobot,
    PathDynamics,
    check_creep,
    fastest_on_grid,
    friction_of,
    path_dynamics,
    through_gears,
    tightened,
    within_at_rest,
)
from armwright.trajectory.paths import INTERVAL_OFFSET, as_path, is_smooth, position_text, third_derivative
from armwright.trajectory.polynomial import PiecewisePolynomial
from armwright.trajectory.smoothing import cut, smoothed
from armwright.trajectory.splines import quintic_pieces

CHECKED_FRACTIONS = (
    0.05,
    0.25,
    0.5,
    0.75,
    0.95,
)  # of the time of an interval: where the motion is looked at between places
LIMIT_EXCESS_TOLERANCE = 4e-4  # of a limit: how far it may be exceeded between places
MAX_PATH_INTERVALS = 1_000_000  # more intervals of a path do not fit into memory
MAX_SLOWDOWNS = 200  # how many times a motion is slowed down a little for that
EXACT_SLOWDOWNS, EXACT_TOLERANCE = (
    20,
    1e-10,
)  # how many of these times until no limit is exceeded by more than this part of it
UNEVEN_EXCESS = 0.02  # of a limit: where it is exceeded by more, the path is so uneven that more may be unseen
UNCHECKED_SHARE = (
    0.1  # of what a limit was exceeded by: kept free, as no more than five instants of an interval are looked at
)
MAX_TIGHTENINGS = 6  # how many times a motion is found for that, within limits that are tightened
CHECKS_PER_PIECE = 8  # times at which a piece is looked at
JUMP_FACTOR = 5.0  # times what accelerations change by near by: what changes them by more is a jump
NEIGHBOUR_INTERVALS = 3  # intervals
SMOOTHING_WINDOWS = (0.003, 1.5, 14)  # of the duration, and how many: over which a motion is smoothed to limit its jerk
WINDOW_REFINEMENTS = 12  # windows tried between the neighbours of the best one
DURATION_POWERS = (
    2,
    2,
    1,
    3,
)  # by which power of its duration a motion takes less of torque, acceleration, velocity and jerk
BINDING_SHARE = 0.99  # of a limit: what is nearer to it limits the motion


class BindingLimit(NamedTuple):
    """The limit that binds a motion from one time to another: the joint from 0, its name and the quantity."""

    begin: float
    end: float
    joint: int
    name: str
    quantity: str

    def __str__(self) -> str:
        return (
            f"{self.quantity} of joint {self.joint + 1} ({shown(self.name)}) from {self.begin:.4g} to {self.end:.4g} s"
        )


@dataclass(frozen=True, repr=False, eq=False)
class TimeOptimal(PathMotion):
    """A path, how far along it the motion is at any time, and what limits it; see `time_optimal`."""

    path: Trajectory
    law: PiecewisePolynomial
    limiting: tuple[BindingLimit, ...]
    within: str = ""
    """Which limits it was found within, and which there are none of."""

    @property
    def n(self) -> int:
        return self.path.n

    instead = "use trajectory.in_pieces(), which is near it"

    def along(self, s: Array) -> State:
        """q, q' and q'' at s, which rounding may have put beyond the ends of the path."""
        return self.path._at(np.clip(s, self.path.start, self.path.end))

    def jerk(self, t: Array) -> Array:
        """The rates of the accelerations at times inside the pieces, where these do not jump."""
        s, sd, sdd = self.law._at(t)
        piece = np.searchsorted(self.law.breaks[1:-1], t)
        powers = (
            self.law.coefficients[:, :, 3] * 6
            if self.law.coefficients.shape[-1] > 3
            else 0 * self.law.breaks[:-1, None]
        )
        at, first, second = s[..., 0], *self.along(s[..., 0])[1:]
        return np.asarray(third_derivative(self.path, at) * sd**3 + 3 * second * sd * sdd + first * powers[piece])

    def in_pieces(self, pieces: int = MAX_COMPILED_PIECES) -> PiecewisePolynomial:
        """Nearly the same motion as so few quintic pieces, which can be traced and compiled up to 32.

        Accelerations jump where another limit takes over: pieces end there, and where else the motion is furthest off.
        """
        count = whole_number("pieces", pieces, 1)
        inner, jumps = self.law.breaks[1:-1], _jumps(self.law.coefficients[:, 0, 2])
        knots = self.law.breaks[[0, -1]]
        while True:
            near = _quintics(self, knots)
            t = np.linspace(knots[:-1], knots[1:], CHECKS_PER_PIECE + 2)[1:-1]
            k = int(np.argmax(np.abs(near(t)[1] - self(t)[1]).max(axis=(0, 2))))
            inside = np.flatnonzero((inner > knots[k]) & (inner < knots[k + 1]))
            if len(knots) > count or not len(inside):
                return near
            largest = inside[int(np.argmax(jumps[inside]))]
            knots = np.insert(knots, k + 1, inner[largest if jumps[largest] > 0 else inside[len(inside) // 2]])


def time_optimal(
    robot: DynamicRobot,
    path: Trajectory | ArrayLike,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    efficiency: ArrayLike = 1.0,
    points: int = 1000,
) -> TimeOptimal:
    """The fastest motion from rest to rest along a path.

    path          points (m, n), through which a cubic spline goes, or a trajectory, of which only the path counts;
                  where it has a corner, the motion stops
    velocity      limits, magnitudes, one for all joints or one for each, inf for none; by default those of the robot
    acceleration  likewise; by default there are none
    torque        likewise, of the motors, counted at the joint after the gear; by default those of the robot
    jerk          likewise, by default there are none; with them the motion is the fastest one smoothed, see below
    efficiency    of each gear, above zero: a joint that is driven gets this part of what its motor gives, and a motor
                  that brakes has to take this part of what comes from the joint
    points        in how many intervals the path is divided

    The dynamics are the robot's own, with its payload and its friction. A place where the robot is too weak to creep is
    an error, even where it might pass with momentum. `limiting` of the result says what holds it back, and when;
    `within` which limits there were.

    Within a jerk, the motion is the mean of the fastest one over a window of time, slower as a whole where that exceeds
    a limit; of all windows the one that takes the least time. Of a single joint within velocity and acceleration there
    is nothing faster; in general there may be.
    """
    if not callable(getattr(robot, "inverse_dynamics", None)):
        raise InputError(f"time_optimal got {robot!r}; expected a robot, such as aw.load('panda')")
    check_numbers(robot, "a trajectory")
    way = as_path(path, robot.n, robot.name)
    limits = limits_of(robot, velocity, acceleration, torque, jerk, efficiency)
    if whole_number("points", points, 8) > MAX_PATH_INTERVALS:
        raise InputError(f"points = {points}: expected at most {MAX_PATH_INTERVALS}")
    dynamics = path_dynamics(robot, way, limits, points)
    motion, used = _fastest(robot, way, limits._replace(jerk=np.full(robot.n, np.inf)), dynamics)
    if np.isfinite(limits.jerk).any():
        motion = _within_jerk(robot, motion, limits)
        used = _limit_use(robot, motion, limits)
    spare = UNCHECKED_SHARE * min(max(0.0, float(used.max()) - 1), LIMIT_EXCESS_TOLERANCE)
    for k in range(MAX_SLOWDOWNS):
        if used.max() <= 1 + (EXACT_TOLERANCE - spare if k < EXACT_SLOWDOWNS else LIMIT_EXCESS_TOLERANCE):
            stretches = _limiting(robot, used, motion.law.breaks)
            return replace(motion, limiting=stretches, within=limits_description(limits, robot.joints))
        orders = np.repeat(DURATION_POWERS, robot.n) if used.max() < 1 + UNEVEN_EXCESS else 1
        motion = replace(motion, law=_slowed(motion.law, float(np.max((used.max(axis=0) + spare) ** (1 / orders)))))
        used = _limit_use(robot, motion, limits)
    raise InputError(
        f"between two places of the path {robot.name} is too weak even to creep; choose another path, a lighter "
        "payload or a stronger joint"
    )


def _fastest(
    robot: DynamicRobot, way: Trajectory, limits: JointLimits, dynamics: PathDynamics
) -> tuple[TimeOptimal, Array]:
    """The fastest motion, with limits tightened where it exceeds them between places, and what it uses of them."""
    friction = friction_of(robot, dynamics)
    check_creep(robot, way, dynamics, friction)
    dynamics = within_at_rest(dynamics, friction)
    x: Array | None = None
    for _ in range(MAX_TIGHTENINGS):
        x = fastest_on_grid(robot, dynamics, friction, x)
        motion = TimeOptimal(way, _path_timing(way, dynamics.s, x), ())
        used = _limit_use(robot, motion, limits)
        if used.max() <= 1 + LIMIT_EXCESS_TOLERANCE:
            break
        dynamics = tightened(dynamics, friction, used - 1)
    return motion, used


def _within_jerk(robot: DynamicRobot, motion: TimeOptimal, limits: JointLimits) -> TimeOptimal:
    """The same motion smoothed in time, with the window with which it is soonest within all limits."""
    if not is_smooth(motion.path):
        raise InputError("jerk= needs a path that does not bend suddenly; give points, or a trajectory such as quintic")

    def within(window: float) -> TimeOptimal:
        made = replace(motion, law=cut(smoothed(motion.law, np.exp(window)), np.array(motion.path.knots[1:-1])))
        used = _limit_use(robot, made, limits).max(axis=0)
        orders = np.repeat(DURATION_POWERS, robot.n)
        return replace(made, law=_slowed(made.law, max(1.0, float(np.max(used ** (1 / orders))))))

    from scipy.optimize import minimize_scalar  # noqa: PLC0415  (takes a third of a second)

    windows = np.log(motion.duration * np.geomspace(*SMOOTHING_WINDOWS))
    durations = [within(window).duration for window in windows]
    best = int(np.argmin(durations))
    between = windows[max(best - 1, 0)], windows[min(best + 1, len(windows) - 1)]
    found = minimize_scalar(
        lambda x: within(x).duration, bounds=between, method="bounded", options={"maxiter": WINDOW_REFINEMENTS}
    )
    return within(found.x if found.fun < durations[best] else windows[best])


def _slowed(law: PiecewisePolynomial, factor: float) -> PiecewisePolynomial:
    """Return the motion slowed down by a factor."""
    powers = factor ** np.arange(law.coefficients.shape[-1])
    return PiecewisePolynomial(law.breaks * factor, law.coefficients / powers)


def _jumps(u: Array) -> Array:
    """By how much each acceleration jumps from the one before, zero where others near by change like it."""
    steps = np.abs(np.diff(u))
    padded = np.pad(steps, NEIGHBOUR_INTERVALS)
    return np.where(
        steps > JUMP_FACTOR * np.maximum(padded[: -2 * NEIGHBOUR_INTERVALS], padded[2 * NEIGHBOUR_INTERVALS :]),
        steps,
        0.0,
    )


def _quintics(motion: Trajectory, knots: Array) -> PiecewisePolynomial:
    """The quintic pieces with the positions, velocities and accelerations of a motion at their ends."""
    q, qd, ends = motion(knots)
    begins = motion(knots[:-1] + INTERVAL_OFFSET * np.diff(knots))[2]
    return quintic_pieces(knots, q, qd, begins, ends[1:])


def _limit_use(robot: DynamicRobot, motion: TimeOptimal, limits: JointLimits) -> Array:
    """Return the share of its limit that every torque, acceleration, velocity and jerk takes, (intervals, 4 n)."""
    knots = np.array(motion.knots)
    t = knots[:-1] + np.array(CHECKED_FRACTIONS)[:, None] * np.diff(knots)
    q, qd, qdd = motion(t)
    low, high = through_gears(qd, limits)
    tau = robot.inverse_dynamics(q, qd, qdd)
    jerk = motion.jerk(t) if np.isfinite(limits.jerk).any() else np.zeros_like(q)
    parts = np.maximum(tau / low, tau / high), qdd / limits.acceleration, qd / limits.velocity, jerk / limits.jerk
    return np.asarray(np.abs(np.concatenate(parts, axis=-1)).max(axis=0))


def _path_timing(way: Trajectory, s: Array, x: Array) -> PiecewisePolynomial:
    """Return the place over time from the squares of the path speed at grid points."""
    pace, lengths = np.sqrt(x), np.diff(s)
    stuck = pace[:-1] + pace[1:] <= 0
    if stuck.any():
        where = position_text(way, s[int(np.argmax(stuck))])
        raise InputError(
            f"the motion comes to rest at {where}, and no torque is left to move on from there; give more points=, a "
            "path that bends less there, or a stronger joint"
        )
    times = np.concatenate([[0.0], np.cumsum(2 * lengths / (pace[:-1] + pace[1:]))])
    return PiecewisePolynomial(times, np.stack([s[:-1], pace[:-1], np.diff(x) / lengths / 4], axis=-1)[:, None])


def _limiting(robot: DynamicRobot, used: Array, times: Array) -> tuple[BindingLimit, ...]:
    """Return the binding limits and their times."""
    kinds = ("torque", "acceleration", "velocity", "jerk")
    which = np.where(used.max(axis=1) >= BINDING_SHARE * used.max(), np.argmax(used, axis=1), -1)
    edges = np.flatnonzero(np.diff(which, prepend=-2, append=-2))
    return tuple(
        BindingLimit(float(times[i]), float(times[j]), joint, robot.joints[joint].name, kinds[kind])
        for i, j in pairwise(edges)
        if which[i] >= 0
        for kind, joint in [divmod(int(which[i]), robot.n)]
    )
