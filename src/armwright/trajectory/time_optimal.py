"""The fastest motion along a path within limits of the joints: torque, velocity, acceleration, jerk.

    s, x     the position on the path, and the square of the path speed s'
    u        s'', constant between two grid points
    tau      a u + b x + c + f(s'), with a = M dq/ds, b from the curvature of the path, c gravity, f friction

The torques come from inverse dynamics at many states in one call, with payload, rotors, loops and friction. Dry
friction adds to c. Viscous friction grows with the root of x: it is linearised at the previous motion until it
converges. These are Newton steps; three or four suffice.
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
from armwright.trajectory.argument_checks import check_scalar_joints
from armwright.trajectory.joint_limits import JointLimits, limits_description, limits_of
from armwright.trajectory.motion_base import MAX_COMPILED_PIECES, PathMotion, State, Trajectory
from armwright.trajectory.path_dynamics import (
    DynamicRobot,
    PathDynamics,
    check_creep,
    fastest_on_grid,
    friction_of,
    geared_torque_limits,
    path_dynamics,
    tightened,
    within_at_rest,
)
from armwright.trajectory.paths import INTERVAL_OFFSET, as_path, is_smooth, position_text, third_derivative
from armwright.trajectory.polynomial import PiecewisePolynomial
from armwright.trajectory.smoothing import smoothed, with_breaks_at
from armwright.trajectory.splines import quintic_pieces

CHECKED_FRACTIONS = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the time of an interval: instants between grid points
LIMIT_EXCESS_TOLERANCE = 4e-4  # relative excess of a limit between grid points
MAX_PATH_INTERVALS = 1_000_000  # more intervals of a path do not fit into memory
MAX_SLOWDOWNS = 200  # small slowdowns of a motion until it is within its limits
EXACT_SLOWDOWNS, EXACT_TOLERANCE = 20, 1e-10  # slowdowns until the smaller tolerance, of a limit, is given up
UNEVEN_EXCESS = 0.02  # relative excess of a limit that shows that the path is uneven and other peaks may be missed
UNCHECKED_SHARE = 0.1  # of an excess: reserve for peaks between the five instants of an interval
MAX_TIGHTENINGS = 6  # motions that are computed within tightened limits
CHECKS_PER_PIECE = 8  # instants in a piece
JUMP_FACTOR = 5.0  # a change of acceleration larger than this times the changes nearby is a jump
NEIGHBOUR_INTERVALS = 3
SMOOTHING_WINDOWS = (0.003, 1.5, 14)  # shortest and longest window for limited jerk, of the duration, and their number
WINDOW_REFINEMENTS = 12  # windows tried between the neighbours of the best one
DURATION_POWERS = (2, 2, 1, 3)  # powers of the duration by which torque, acceleration, velocity and jerk fall
BINDING_SHARE = 0.99  # of a limit, above which it counts as binding


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
    """A motion along a path, and the limits that bind it; see `time_optimal`."""

    path: Trajectory
    law: PiecewisePolynomial
    limiting: tuple[BindingLimit, ...]
    within: str = ""
    """The description of the limits, as by `limits_description`."""

    @property
    def n(self) -> int:
        return self.path.n

    instead = "use trajectory.in_pieces(), which is near it"

    def along(self, s: Array) -> State:
        """Return q, q' and q'' at s, which rounding may have put beyond the ends of the path."""
        return self.path._at(np.clip(s, self.path.start, self.path.end))

    def jerk(self, t: Array) -> Array:
        """Return the rates of the accelerations at times inside the pieces."""
        s, sd, sdd = self.law._at(t)
        piece = np.searchsorted(self.law.breaks[1:-1], t)
        powers = self.law.coefficients
        sddd = powers[:, :, 3] * 6 if powers.shape[-1] > 3 else 0 * self.law.breaks[:-1, None]
        _, dq_ds, d2q_ds2 = self.along(s[..., 0])
        d3q_ds3 = third_derivative(self.path, s[..., 0])
        return np.asarray(d3q_ds3 * sd**3 + 3 * d2q_ds2 * sd * sdd + dq_ds * sddd[piece])

    def in_pieces(self, pieces: int = MAX_COMPILED_PIECES) -> PiecewisePolynomial:
        """Return nearly the same motion in this many quintic pieces; up to 32 can be traced and compiled.

        Pieces end where accelerations jump, as another limit becomes binding, and where the error is largest.
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
    """Return the fastest motion from rest to rest along a path.

    path          points (m, n) of a cubic spline, or a trajectory, of which only the path counts; the motion stops at
                  corners of the path
    velocity      limits, magnitudes, one for all joints or one for each, inf for none; by default those of the robot
    acceleration  likewise; by default there are none
    torque        likewise, of the motors, at the joint after the gear; by default those of the robot
    jerk          likewise, by default there are none
    efficiency    of each gear, above zero: the part of the motor torque that drives the joint, and the part of the
                  joint torque that a braking motor must hold
    points        number of intervals of the path

    The dynamics include payload and friction. A point that the robot is too weak to pass very slowly is an error, even
    if it might pass with momentum. `limiting` of the result has the binding limits and their times, `within` describes
    all limits.

    With a limit of jerk, the motion is the moving average of the fastest one over a window of time, slowed down if it
    exceeds a limit; the window is the one with the shortest duration. For a single joint within velocity and
    acceleration nothing is faster; in general faster motions may exist.
    """
    if not callable(getattr(robot, "inverse_dynamics", None)):
        raise InputError(f"time_optimal got {robot!r}; expected a robot, such as aw.load('panda')")
    check_scalar_joints(robot, "a trajectory")
    path = as_path(path, robot.n, robot.name)
    limits = limits_of(robot, velocity, acceleration, torque, jerk, efficiency)
    if whole_number("points", points, 8) > MAX_PATH_INTERVALS:
        raise InputError(f"points = {points}: expected at most {MAX_PATH_INTERVALS}")
    dynamics = path_dynamics(robot, path, limits, points)
    motion, used = _fastest(robot, path, limits._replace(jerk=np.full(robot.n, np.inf)), dynamics)
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
        f"between two points of the path {robot.name} is too weak even to creep; choose another path, a lighter "
        "payload or a stronger joint"
    )


def _fastest(
    robot: DynamicRobot, path: Trajectory, limits: JointLimits, dynamics: PathDynamics
) -> tuple[TimeOptimal, Array]:
    """Return the fastest motion, with limits tightened where it exceeds them, and its use of the limits."""
    friction = friction_of(robot, dynamics)
    check_creep(robot, path, dynamics, friction)
    dynamics = within_at_rest(dynamics, friction)
    x: Array | None = None
    for _ in range(MAX_TIGHTENINGS):
        x = fastest_on_grid(robot, dynamics, friction, x)
        motion = TimeOptimal(path, _path_timing(path, dynamics.s, x), ())
        used = _limit_use(robot, motion, limits)
        if used.max() <= 1 + LIMIT_EXCESS_TOLERANCE:
            break
        dynamics = tightened(dynamics, friction, used - 1)
    return motion, used


def _within_jerk(robot: DynamicRobot, motion: TimeOptimal, limits: JointLimits) -> TimeOptimal:
    """Return the motion smoothed in time, with the window of the shortest duration within all limits."""
    if not is_smooth(motion.path):
        raise InputError("jerk= needs a path of continuous curvature; give points, or a trajectory such as quintic")

    def within(window: float) -> TimeOptimal:
        law = with_breaks_at(smoothed(motion.law, np.exp(window)), np.array(motion.path.knots[1:-1]))
        used = _limit_use(robot, replace(motion, law=law), limits).max(axis=0)
        orders = np.repeat(DURATION_POWERS, robot.n)
        return replace(motion, law=_slowed(law, max(1.0, float(np.max(used ** (1 / orders))))))

    from scipy.optimize import minimize_scalar  # noqa: PLC0415  (takes a third of a second)

    windows = np.log(motion.duration * np.geomspace(*SMOOTHING_WINDOWS))
    durations = [within(window).duration for window in windows]
    best = int(np.argmin(durations))
    between = windows[max(best - 1, 0)], windows[min(best + 1, len(windows) - 1)]
    minimum = minimize_scalar(
        lambda x: within(x).duration, bounds=between, method="bounded", options={"maxiter": WINDOW_REFINEMENTS}
    )
    return within(minimum.x if minimum.fun < durations[best] else windows[best])


def _slowed(law: PiecewisePolynomial, factor: float) -> PiecewisePolynomial:
    """Return the motion slowed down by a factor."""
    powers = factor ** np.arange(law.coefficients.shape[-1])
    return PiecewisePolynomial(law.breaks * factor, law.coefficients / powers)


def _jumps(u: Array) -> Array:
    """Return the jumps between accelerations, zero where those nearby change as much."""
    steps = np.abs(np.diff(u))
    padded = np.pad(steps, NEIGHBOUR_INTERVALS)
    nearby = np.maximum(padded[: -2 * NEIGHBOUR_INTERVALS], padded[2 * NEIGHBOUR_INTERVALS :])
    return np.where(steps > JUMP_FACTOR * nearby, steps, 0.0)


def _quintics(motion: Trajectory, knots: Array) -> PiecewisePolynomial:
    """Return the quintic pieces with the positions, velocities and accelerations of a motion at their ends."""
    q, qd, ends = motion(knots)
    begins = motion(knots[:-1] + INTERVAL_OFFSET * np.diff(knots))[2]
    return quintic_pieces(knots, q, qd, begins, ends[1:])


def _limit_use(robot: DynamicRobot, motion: TimeOptimal, limits: JointLimits) -> Array:
    """Return the share of its limit that every torque, acceleration, velocity and jerk takes, (intervals, 4 n)."""
    knots = np.array(motion.knots)
    t = knots[:-1] + np.array(CHECKED_FRACTIONS)[:, None] * np.diff(knots)
    q, qd, qdd = motion(t)
    low, high = geared_torque_limits(qd, limits)
    tau = robot.inverse_dynamics(q, qd, qdd)
    jerk = motion.jerk(t) if np.isfinite(limits.jerk).any() else np.zeros_like(q)
    parts = np.maximum(tau / low, tau / high), qdd / limits.acceleration, qd / limits.velocity, jerk / limits.jerk
    return np.asarray(np.abs(np.concatenate(parts, axis=-1)).max(axis=0))


def _path_timing(path: Trajectory, s: Array, x: Array) -> PiecewisePolynomial:
    """Return s over time from the squares of the path speed at grid points."""
    speed, lengths = np.sqrt(x), np.diff(s)
    stuck = speed[:-1] + speed[1:] <= 0
    if stuck.any():
        where = position_text(path, s[int(np.argmax(stuck))])
        raise InputError(
            f"the motion comes to rest at {where}, and no torque is left to move on from there; give more points=, a "
            "path of less curvature there, or a stronger joint"
        )
    times = np.concatenate([[0.0], np.cumsum(2 * lengths / (speed[:-1] + speed[1:]))])
    return PiecewisePolynomial(times, np.stack([s[:-1], speed[:-1], np.diff(x) / lengths / 4], axis=-1)[:, None])


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
