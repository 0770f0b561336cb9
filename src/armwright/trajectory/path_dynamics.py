"""The dynamics along a path: limited quantities as linear functions of s'' and s'^2, friction by its tangent.

The symbols are those of `time_optimal`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.names import shown
from armwright.trajectory.joint_limits import JointLimits
from armwright.trajectory.motion_base import Trajectory
from armwright.trajectory.path_speed import SpeedBounds, fastest_speeds
from armwright.trajectory.paths import INTERVAL_OFFSET, path_grid, position_text

MIN_SLOPE_SHARE = (
    1e-9  # of what bounds x: the least part of what bounds y, so that a bound on x alone is a steep one on both
)
MAX_JOINT_SPEED = 1e4  # rad/s or m/s: faster than any joint, where none has a limit of velocity
CREEP_SHARE = 1e-6  # of the largest pace: where the tangent of friction is taken at a stop
DRY_FRICTION_SPEED = 1e-9  # a pace at which friction is dry
SPEED_DIFFERENCE = 1e-3  # how much faster than a pace is the next one, to see how friction grows
FRICTION_TOLERANCE = 1e-5  # of a limit: how far friction may be from its tangent
MAX_FRICTION_ITERATIONS = 30
FRICTION_SPEED_FACTOR = (
    1.9  # times the pace at which friction takes all of the torque: at twice that pace, its tangent does so at rest
)

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


def path_dynamics(robot: DynamicRobot, way: Trajectory, limits: JointLimits, points: int) -> PathDynamics:
    """Return the dynamics along the path that do not depend on the speed."""
    s, stopped = path_grid(way, points)
    aside = INTERVAL_OFFSET * np.diff(s)
    (q, first, second), middle = way(np.stack([s[:-1] + aside, s[1:] - aside])), way((s[:-1] + s[1:]) / 2)[1]
    still = np.zeros_like(q)
    here = np.stack([q, q, q, q])
    rates, gains = np.stack([still, still, first, -first]), np.stack([still, first, second, second])
    c, a, forth, back = robot.inverse_dynamics(here, rates, gains)
    driven, others = (np.flatnonzero(np.isfinite(x)) for x in (limits.torque, limits.acceleration))
    low, high = through_gears(first, limits)
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


def through_gears(first: Array, limits: JointLimits) -> tuple[Array, Array]:
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


def friction_of(robot: DynamicRobot, dynamics: PathDynamics) -> Friction:
    """Return the friction over the path speed: linear, unless the dry part of a joint rounds off."""
    if any(joint.smooth for joint in robot.joints):
        return partial(_friction_at, robot, dynamics)
    pace = 1 / np.abs(dynamics.first).max(axis=-1)
    slow, growth = _friction_at(robot, dynamics, pace)
    dry = slow - growth * pace[..., None]
    return lambda pace: (dry + growth * pace[..., None], growth)


def _friction_at(robot: DynamicRobot, dynamics: PathDynamics, pace: Array) -> tuple[Array, Array]:
    """Friction at a pace, and how it grows with it: half of what torques forth differ by from those back."""
    more = pace * (1 + SPEED_DIFFERENCE)
    qd = np.stack([pace, more])[..., None] * dynamics.first
    here, still = np.broadcast_to(dynamics.q, (2, *qd.shape)), np.zeros((2, *qd.shape))
    forth, back = robot.inverse_dynamics(here, np.stack([qd, -qd]), still)
    slow, fast = np.zeros((2, *dynamics.c.shape))
    slow[..., : len(dynamics.driven)], fast[..., : len(dynamics.driven)] = ((forth - back) / 2)[..., dynamics.driven]
    return slow, (fast - slow) / (more - pace)[..., None]


def check_creep(robot: DynamicRobot, way: Trajectory, dynamics: PathDynamics, friction: Friction) -> None:
    """Raise an InputError if the robot cannot creep past every grid point."""
    needed = dynamics.c + _dry_friction(dynamics, friction)
    beyond = np.maximum(needed - dynamics.high, dynamics.low - needed)
    if beyond.max() < 0:
        return
    end, interval, k = np.unravel_index(np.argmax(beyond), beyond.shape)
    joint, torque = dynamics.driven[k], needed[end, interval, k]
    model, has = robot.joints[joint], (dynamics.high if torque > 0 else dynamics.low)[end, interval, k]
    unit = "N" if model.prismatic else "N m"
    raise InputError(
        f"joint {joint + 1} ({shown(model.name)}) is too weak to creep along the path at "
        f"{position_text(way, dynamics.s[interval + end])}: that takes {abs(torque):.4g} {unit}, it has "
        f"{abs(has):.4g} {unit}; choose another path, a lighter payload or a stronger joint"
    )


def within_at_rest(dynamics: PathDynamics, friction: Friction) -> PathDynamics:
    """Return the dynamics with limits that hold where the motion rests, too: there no dry friction helps to brake."""
    resting = dynamics.cap == 0
    resting[[0, -1]] = True
    dry = _dry_friction(dynamics, friction)
    low, high = (
        (1 - INTERVAL_OFFSET) * dynamics.low + np.maximum(dry, 0),
        (1 - INTERVAL_OFFSET) * dynamics.high + np.minimum(dry, 0),
    )
    holds = _interval_ends(resting)[..., None] & (low < dynamics.c + dry) & (dynamics.c + dry < high)
    return dynamics._replace(low=np.where(holds, low, dynamics.low), high=np.where(holds, high, dynamics.high))


def fastest_on_grid(robot: DynamicRobot, dynamics: PathDynamics, friction: Friction, x: Array | None = None) -> Array:
    """The largest x at every place; the given one is a guess."""
    b, c = dynamics.b, dynamics.c + _dry_friction(dynamics, friction)
    if x is not None:
        b, c = _tangent(dynamics, friction, x)[:2]
    for _ in range(MAX_FRICTION_ITERATIONS):
        x = fastest_speeds(_bounds(dynamics, b, c))
        assumed = dynamics.value(x, b, c)
        b, c, rub = _tangent(dynamics, friction, x)
        exact = dynamics.value(x, dynamics.b, dynamics.c + rub)
        wrong = np.abs(exact - assumed) / dynamics.high
        if wrong[_interval_ends(x) > 0].max(initial=0.0) < FRICTION_TOLERANCE:
            return x
    raise InputError(
        f"the fastest motion of {robot.name} along this path was not found in {MAX_FRICTION_ITERATIONS} rounds: "
        "friction takes nearly all of the torque; give a lower velocity="
    )


def _tangent(dynamics: PathDynamics, friction: Friction, x: Array) -> tuple[Array, Array, Array]:
    """b and c with the tangent of friction at x, and friction there."""
    pace = np.maximum(np.sqrt(_interval_ends(x)), CREEP_SHARE * np.sqrt(x.max()))
    rub, slope = friction(pace)
    there = rub
    most = _max_tangent_speed(dynamics, there - slope * pace[..., None], slope)
    if (pace > most).any():
        pace = np.minimum(pace, most)
        there, slope = friction(pace)
    return dynamics.b + slope / (2 * pace[..., None]), dynamics.c + there - slope * pace[..., None] / 2, rub


def _max_tangent_speed(dynamics: PathDynamics, dry: Array, growth: Array) -> Array:
    """The pace (2, intervals) above which a tangent of friction does not let a joint stand still any more."""
    left = np.where(growth > 0, dynamics.high, dynamics.low) - dynamics.c - dry
    at = np.divide(left, growth, out=np.full_like(left, np.inf), where=growth != 0)
    return np.asarray(FRICTION_SPEED_FACTOR * at.min(axis=-1))


def _bounds(dynamics: PathDynamics, b: Array, c: Array) -> SpeedBounds:
    """low <= a u + b x + c <= high at both ends of an interval, as bounds on x at its end by x at its beginning.

    Where inertia is so small beside the rest that more speed here is less speed at the next place, a motion would go
    to and fro between fast and slow: there, x is kept to what needs no change of pace.
    """
    each = dynamics.a / (2 * dynamics.lengths[:, None])
    by_x = np.stack([b[0] - each[0], -each[1]])
    by_y = np.stack([each[0], each[1] + b[1]])
    down = by_y < 0
    sign = np.where(down, -1.0, 1.0)
    share = np.maximum(np.abs(by_y), MIN_SLOPE_SHARE * np.abs(by_x)) + np.finfo(float).tiny
    high, low = dynamics.high - c, dynamics.low - c
    parts = (-by_x * sign, np.where(down, -low, high), np.where(down, -high, low))
    with np.errstate(over="ignore"):  # a joint that stands still bounds nothing
        slope, most, least = (np.concatenate(list(part / share), axis=-1) for part in parts)
    steady = np.divide(np.where(b > 0, high, low), b, out=np.full_like(b, np.inf), where=by_x * by_y > 0).min(axis=-1)
    return SpeedBounds(slope, most, least, np.minimum(dynamics.cap, _smaller_side(*steady)))


def tightened(dynamics: PathDynamics, friction: Friction, beyond: Array) -> PathDynamics:
    """The limits of intervals inside which they are exceeded, lower by so much, but at most halfway to creeping."""
    n = dynamics.q.shape[-1]
    less = np.clip(1 - beyond, 0.5, 1.0)
    part = np.concatenate([less[:, dynamics.driven], less[:, n + dynamics.others]], axis=-1)
    creeping = dynamics.c + _dry_friction(dynamics, friction)
    low, high = (
        creeping + np.maximum((limit * part - creeping) / (limit - creeping), 0.5) * (limit - creeping)
        for limit in (dynamics.low, dynamics.high)
    )
    slower = less[:, 2 * n : 3 * n].min(axis=-1) ** 2
    return dynamics._replace(low=low, high=high, cap=dynamics.cap * _smaller_side(slower, slower))


def _dry_friction(dynamics: PathDynamics, friction: Friction) -> Array:
    """Return the friction of a creeping motion."""
    return friction(np.full(dynamics.q.shape[:2], DRY_FRICTION_SPEED))[0]
