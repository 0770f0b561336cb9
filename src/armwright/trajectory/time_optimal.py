"""The fastest motion along a path within what the joints can do: torque, velocity, acceleration.

    s, x     the place on the path, and the square of the path speed s'
    u        s'', the same all along an interval between two places of a grid
    tau      a u + b x + c + f(s'), with a = M dq/ds, b what inertia makes of the curve, c gravity, f friction

All of them are inverse dynamics at many states in one call, so they contain payload, rotors, loops and
friction of the robot. Dry friction adds to c. Viscous friction grows with the root of x, which bounds on u and x that
are straight
lines cannot say: it is replaced by its tangent where the motion was the last time, until that does not change any more.
These are Newton's steps, so three or four of them do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import whole_number
from armwright.errors import InputError
from armwright.names import shown
from armwright.trajectory.argument_checks import check_numbers
from armwright.trajectory.joint_limits import JointLimits, limits_description, limits_of
from armwright.trajectory.motion_base import MAX_COMPILED_PIECES, PathMotion, State, Trajectory
from armwright.trajectory.path_speed import SpeedBounds, fastest_speeds
from armwright.trajectory.paths import INTERVAL_OFFSET, as_path, is_smooth, path_grid, position_text, third_derivative
from armwright.trajectory.polynomial import PiecewisePolynomial
from armwright.trajectory.smoothing import cut, smoothed
from armwright.trajectory.splines import quintic_pieces

MIN_SLOPE_SHARE = (
    1e-9  # of what bounds x: the least part of what bounds y, so that a bound on x alone is a steep one on both
)
MAX_JOINT_SPEED = 1e4  # rad/s or m/s: faster than any joint, where none has a limit of velocity
CREEP_SHARE = 1e-6  # of the largest pace: where the tangent of friction is taken at a stop
DRY_FRICTION_SPEED = 1e-9  # a pace at which friction is dry
SPEED_DIFFERENCE = 1e-3  # how much faster than a pace is the next one, to see how friction grows
FRICTION_TOLERANCE = 1e-5  # of a limit: how far friction may be from its tangent
MAX_FRICTION_ITERATIONS = 30
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
FRICTION_SPEED_FACTOR = (
    1.9  # times the pace at which friction takes all of the torque: at twice that pace, its tangent does so at rest
)
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

Friction: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""A function of the path speed (2, intervals): the friction of every limited quantity, and its slope."""


class DynamicRobot(Protocol):
    """The methods of a robot that a time-optimal motion requires."""

    @property
    def n(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def joints(self) -> Sequence[Any]: ...
    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, /) -> Array: ...


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


class PathDynamics(NamedTuple):
    """The dynamics along a path at the grid points s: arrays (2, intervals, ...) for both ends of every interval.

    q and `first`, dq/ds, are of every joint. The rest is of the limited quantities: the torques of the joints `driven`,
    then the accelerations of others, each a u + b x + c between low and high. `cap` is the largest x of every place.
    """

    s: Array
    q: Array
    first: Array
    driven: Array
    others: Array
    a: Array
    b: Array
    c: Array
    low: Array
    high: Array
    cap: Array

    @property
    def lengths(self) -> Array:
        return np.diff(self.s)

    def value(self, x: Array, b: Array, c: Array) -> Array:
        """Return the limited quantities at both ends of every interval for x at every grid point."""
        u = np.diff(x) / (2 * self.lengths)
        return np.asarray(self.a * u[:, None] + b * _interval_ends(x)[..., None] + c)


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
    course = _path_dynamics(robot, way, limits, points)
    motion, used = _fastest(robot, way, limits._replace(jerk=np.full(robot.n, np.inf)), course)
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
    robot: DynamicRobot, way: Trajectory, limits: JointLimits, course: PathDynamics
) -> tuple[TimeOptimal, Array]:
    """The fastest motion, with limits tightened where it exceeds them between places, and what it uses of them."""
    friction = _friction(robot, course)
    _check_creep(robot, way, course, friction)
    course = _within_at_rest(course, friction)
    x: Array | None = None
    for _ in range(MAX_TIGHTENINGS):
        x = _fastest_on_grid(robot, course, friction, x)
        motion = TimeOptimal(way, _path_timing(way, course.s, x), ())
        used = _limit_use(robot, motion, limits)
        if used.max() <= 1 + LIMIT_EXCESS_TOLERANCE:
            break
        course = _tightened(course, friction, used - 1)
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


def _path_dynamics(robot: DynamicRobot, way: Trajectory, limits: JointLimits, points: int) -> PathDynamics:
    """Return the dynamics along the path that do not depend on the speed."""
    s, stopped = path_grid(way, points)
    aside = INTERVAL_OFFSET * np.diff(s)
    (q, first, second), middle = way(np.stack([s[:-1] + aside, s[1:] - aside])), way((s[:-1] + s[1:]) / 2)[1]
    still = np.zeros_like(q)
    here = np.stack([q, q, q, q])
    rates, gains = np.stack([still, still, first, -first]), np.stack([still, first, second, second])
    c, a, forth, back = robot.inverse_dynamics(here, rates, gains)
    driven, others = (np.flatnonzero(np.isfinite(x)) for x in (limits.torque, limits.acceleration))
    low, high = _through_gears(first, limits)
    most = np.broadcast_to(limits.acceleration, q.shape)

    def both(torques: Array, accelerations: Array) -> Array:
        return np.concatenate([torques[..., driven], accelerations[..., others]], axis=-1)

    return PathDynamics(
        *(s, q, first, driven, others),
        a=both(a - c, first),
        b=both((forth + back) / 2 - c, second),  # friction is as large there as back
        c=both(c, still),
        low=both(low, -most),
        high=both(high, most),
        cap=_cap(first, middle, limits.velocity, stopped),
    )


def _through_gears(first: Array, limits: JointLimits) -> tuple[Array, Array]:
    """The lowest and highest torques at the joints: where a motor brakes, what gears lose helps it."""
    drives, brakes = limits.torque * limits.efficiency, limits.torque / limits.efficiency
    return np.where(first < 0, -drives, np.where(first > 0, -brakes, -drives)), np.where(first < 0, brakes, drives)


def _cap(first: Array, middle: Array, velocity: Array, stopped: Array) -> Array:
    """The largest x of every place within the limits of velocity, on both of its sides and midway to the next."""
    with np.errstate(divide="ignore"):
        before, after, between = np.min(np.minimum(velocity, MAX_JOINT_SPEED) / np.abs([*first, middle]), axis=-1) ** 2
    cap = _smaller_side(before, after)
    less = np.minimum(1.0, between / _interval_ends(cap).mean(axis=0))
    return np.where(stopped, 0.0, _smaller_side(less, less) * cap)


def _smaller_side(begins: Array, ends: Array) -> Array:
    """The lesser of what stands at both sides of a place: the beginning of one interval and the end of another."""
    return np.asarray(np.minimum(np.append(begins, np.inf), np.append(np.inf, ends)))


def _interval_ends(x: Array) -> Array:
    """Return values at grid points as values at the beginnings and ends of the intervals."""
    return np.stack([x[:-1], x[1:]])


def _friction(robot: DynamicRobot, course: PathDynamics) -> Friction:
    """Return the friction over the path speed: linear, unless the dry part of a joint rounds off."""
    if any(joint.smooth for joint in robot.joints):
        return partial(_friction_at, robot, course)
    pace = 1 / np.abs(course.first).max(axis=-1)
    slow, growth = _friction_at(robot, course, pace)
    dry = slow - growth * pace[..., None]
    return lambda pace: (dry + growth * pace[..., None], growth)


def _friction_at(robot: DynamicRobot, course: PathDynamics, pace: Array) -> tuple[Array, Array]:
    """Friction at a pace, and how it grows with it: half of what torques forth differ by from those back."""
    more = pace * (1 + SPEED_DIFFERENCE)
    qd = np.stack([pace, more])[..., None] * course.first
    here, still = np.broadcast_to(course.q, (2, *qd.shape)), np.zeros((2, *qd.shape))
    forth, back = robot.inverse_dynamics(here, np.stack([qd, -qd]), still)
    slow, fast = np.zeros((2, *course.c.shape))
    slow[..., : len(course.driven)], fast[..., : len(course.driven)] = ((forth - back) / 2)[..., course.driven]
    return slow, (fast - slow) / (more - pace)[..., None]


def _check_creep(robot: DynamicRobot, way: Trajectory, course: PathDynamics, friction: Friction) -> None:
    """Raise an InputError if the robot cannot creep past every grid point."""
    needed = course.c + _dry_friction(course, friction)
    beyond = np.maximum(needed - course.high, course.low - needed)
    if beyond.max() < 0:
        return
    end, interval, k = np.unravel_index(np.argmax(beyond), beyond.shape)
    joint, torque = course.driven[k], needed[end, interval, k]
    model, has = robot.joints[joint], (course.high if torque > 0 else course.low)[end, interval, k]
    unit = "N" if model.prismatic else "N m"
    raise InputError(
        f"joint {joint + 1} ({shown(model.name)}) is too weak to creep along the path at "
        f"{position_text(way, course.s[interval + end])}: that takes {abs(torque):.4g} {unit}, it has "
        f"{abs(has):.4g} {unit}; choose another path, a lighter payload or a stronger joint"
    )


def _within_at_rest(course: PathDynamics, friction: Friction) -> PathDynamics:
    """Return the dynamics with limits that hold where the motion rests, too: there no dry friction helps to brake."""
    resting = course.cap == 0
    resting[[0, -1]] = True
    dry = _dry_friction(course, friction)
    low, high = (
        (1 - INTERVAL_OFFSET) * course.low + np.maximum(dry, 0),
        (1 - INTERVAL_OFFSET) * course.high + np.minimum(dry, 0),
    )
    holds = _interval_ends(resting)[..., None] & (low < course.c + dry) & (course.c + dry < high)
    return course._replace(low=np.where(holds, low, course.low), high=np.where(holds, high, course.high))


def _fastest_on_grid(robot: DynamicRobot, course: PathDynamics, friction: Friction, x: Array | None = None) -> Array:
    """The largest x at every place; the given one is a guess."""
    b, c = course.b, course.c + _dry_friction(course, friction)
    if x is not None:
        b, c = _tangent(course, friction, x)[:2]
    for _ in range(MAX_FRICTION_ITERATIONS):
        x = fastest_speeds(_bounds(course, b, c))
        assumed = course.value(x, b, c)
        b, c, rub = _tangent(course, friction, x)
        exact = course.value(x, course.b, course.c + rub)
        wrong = np.abs(exact - assumed) / course.high
        if wrong[_interval_ends(x) > 0].max(initial=0.0) < FRICTION_TOLERANCE:
            return x
    raise InputError(
        f"the fastest motion of {robot.name} along this path was not found in {MAX_FRICTION_ITERATIONS} rounds: "
        "friction takes nearly all of the torque; give a lower velocity="
    )


def _tangent(course: PathDynamics, friction: Friction, x: Array) -> tuple[Array, Array, Array]:
    """b and c with the tangent of friction at x, and friction there."""
    pace = np.maximum(np.sqrt(_interval_ends(x)), CREEP_SHARE * np.sqrt(x.max()))
    rub, slope = friction(pace)
    there = rub
    most = _max_tangent_speed(course, there - slope * pace[..., None], slope)
    if (pace > most).any():
        pace = np.minimum(pace, most)
        there, slope = friction(pace)
    return course.b + slope / (2 * pace[..., None]), course.c + there - slope * pace[..., None] / 2, rub


def _max_tangent_speed(course: PathDynamics, dry: Array, growth: Array) -> Array:
    """The pace (2, intervals) above which a tangent of friction does not let a joint stand still any more."""
    left = np.where(growth > 0, course.high, course.low) - course.c - dry
    at = np.divide(left, growth, out=np.full_like(left, np.inf), where=growth != 0)
    return np.asarray(FRICTION_SPEED_FACTOR * at.min(axis=-1))


def _bounds(course: PathDynamics, b: Array, c: Array) -> SpeedBounds:
    """low <= a u + b x + c <= high at both ends of an interval, as bounds on x at its end by x at its beginning.

    Where inertia is so small beside the rest that more speed here is less speed at the next place, a motion would go
    to and fro between fast and slow: there, x is kept to what needs no change of pace.
    """
    each = course.a / (2 * course.lengths[:, None])
    by_x = np.stack([b[0] - each[0], -each[1]])
    by_y = np.stack([each[0], each[1] + b[1]])
    down = by_y < 0
    sign = np.where(down, -1.0, 1.0)
    share = np.maximum(np.abs(by_y), MIN_SLOPE_SHARE * np.abs(by_x)) + np.finfo(float).tiny
    high, low = course.high - c, course.low - c
    parts = (-by_x * sign, np.where(down, -low, high), np.where(down, -high, low))
    with np.errstate(over="ignore"):  # a joint that stands still bounds nothing
        slope, most, least = (np.concatenate(list(part / share), axis=-1) for part in parts)
    steady = np.divide(np.where(b > 0, high, low), b, out=np.full_like(b, np.inf), where=by_x * by_y > 0).min(axis=-1)
    return SpeedBounds(slope, most, least, np.minimum(course.cap, _smaller_side(*steady)))


def _limit_use(robot: DynamicRobot, motion: TimeOptimal, limits: JointLimits) -> Array:
    """Return the share of its limit that every torque, acceleration, velocity and jerk takes, (intervals, 4 n)."""
    knots = np.array(motion.knots)
    t = knots[:-1] + np.array(CHECKED_FRACTIONS)[:, None] * np.diff(knots)
    q, qd, qdd = motion(t)
    low, high = _through_gears(qd, limits)
    tau = robot.inverse_dynamics(q, qd, qdd)
    jerk = motion.jerk(t) if np.isfinite(limits.jerk).any() else np.zeros_like(q)
    parts = np.maximum(tau / low, tau / high), qdd / limits.acceleration, qd / limits.velocity, jerk / limits.jerk
    return np.asarray(np.abs(np.concatenate(parts, axis=-1)).max(axis=0))


def _tightened(course: PathDynamics, friction: Friction, beyond: Array) -> PathDynamics:
    """The limits of intervals inside which they are exceeded, lower by so much, but at most halfway to creeping."""
    n = course.q.shape[-1]
    less = np.clip(1 - beyond, 0.5, 1.0)
    part = np.concatenate([less[:, course.driven], less[:, n + course.others]], axis=-1)
    creeping = course.c + _dry_friction(course, friction)
    low, high = (
        creeping + np.maximum((limit * part - creeping) / (limit - creeping), 0.5) * (limit - creeping)
        for limit in (course.low, course.high)
    )
    slower = less[:, 2 * n : 3 * n].min(axis=-1) ** 2
    return course._replace(low=low, high=high, cap=course.cap * _smaller_side(slower, slower))


def _dry_friction(course: PathDynamics, friction: Friction) -> Array:
    """Return the friction of a creeping motion."""
    return friction(np.full(course.q.shape[:2], DRY_FRICTION_SPEED))[0]


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
