"""The dynamics along a path: limited quantities as linear functions of s'' and s'^2, friction linearised.

The symbols are those of `time_optimal`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.names import shown
from armwright.trajectory.joint_limits import JointLimits, LimitedRobot
from armwright.trajectory.motion_base import Trajectory
from armwright.trajectory.path_speed import SpeedBounds, fastest_speeds
from armwright.trajectory.paths import INTERVAL_OFFSET, path_grid, position_text

MIN_SLOPE_SHARE = 1e-9  # least slope of a bound in y, relative to that in x, which makes bounds on x alone steep
MAX_JOINT_SPEED = 1e4  # rad/s or m/s, for joints without a limit of velocity
CREEP_SHARE = 1e-6  # of the largest speed: where friction is linearised at a stop
DRY_FRICTION_SPEED = 1e-9  # path speed at which friction is dry
SPEED_DIFFERENCE = 1e-3  # relative step of path speed for the slope of friction
FRICTION_TOLERANCE = 1e-5  # of a limit: error of linearised friction
MAX_FRICTION_ITERATIONS = 30
FRICTION_SPEED_FACTOR = 1.9  # of the speed at which friction takes all torque; at 2, its tangent does so at rest

Friction: TypeAlias = Callable[[Array], tuple[Array, Array]]
"""A function of the path speed (2, intervals): the friction of every limited quantity, and its slope."""


class DynamicRobot(LimitedRobot, Protocol):
    """The methods of a robot that a time-optimal motion requires."""

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, /) -> Array: ...


class PathDynamics(NamedTuple):
    """The dynamics along a path at the grid points s: arrays (2, intervals, ...) for both ends of every interval.

    q and dq_ds are those of every joint. The limited quantities are the torques of the joints with a torque limit, then
    the accelerations of the joints with an acceleration limit: each is a u + b x + c between low and high. `cap` is the
    largest x at every grid point.
    """

    s: Array
    q: Array
    dq_ds: Array
    torque_joints: Array
    acceleration_joints: Array
    a: Array
    b: Array
    c: Array
    low: Array
    high: Array
    cap: Array

    @property
    def lengths(self) -> Array:
        return np.diff(self.s)


def path_dynamics(robot: DynamicRobot, path: Trajectory, limits: JointLimits, points: int) -> PathDynamics:
    """Return the dynamics along the path that do not depend on the speed."""
    s, stopped = path_grid(path, points)
    offset = INTERVAL_OFFSET * np.diff(s)
    (q, dq_ds, d2q_ds2), middle = path(np.stack([s[:-1] + offset, s[1:] - offset])), path((s[:-1] + s[1:]) / 2)[1]
    zeros = np.zeros_like(q)
    qd, qdd = np.stack([zeros, zeros, dq_ds, -dq_ds]), np.stack([zeros, dq_ds, d2q_ds2, d2q_ds2])
    c, a, forward, backward = robot.inverse_dynamics(np.stack([q, q, q, q]), qd, qdd)
    torque_joints, acceleration_joints = (np.flatnonzero(np.isfinite(x)) for x in (limits.torque, limits.acceleration))
    low, high = geared_torque_limits(dq_ds, limits)
    max_acceleration = np.broadcast_to(limits.acceleration, q.shape)

    def both(torques: Array, accelerations: Array) -> Array:
        return np.concatenate([torques[..., torque_joints], accelerations[..., acceleration_joints]], axis=-1)

    return PathDynamics(
        *(s, q, dq_ds, torque_joints, acceleration_joints),
        a=both(a - c, dq_ds),
        b=both((forward + backward) / 2 - c, d2q_ds2),  # without friction, which cancels
        c=both(c, zeros),
        low=both(low, -max_acceleration),
        high=both(high, max_acceleration),
        cap=_cap(dq_ds, middle, limits.velocity, stopped),
    )


def geared_torque_limits(dq_ds: Array, limits: JointLimits) -> tuple[Array, Array]:
    """Return the lowest and highest torques at the joints; the losses of gears help a motor that brakes."""
    drives, brakes = limits.torque * limits.efficiency, limits.torque / limits.efficiency
    return np.where(dq_ds < 0, -drives, np.where(dq_ds > 0, -brakes, -drives)), np.where(dq_ds < 0, brakes, drives)


def _cap(dq_ds: Array, middle: Array, velocity: Array, stopped: Array) -> Array:
    """Return the largest x at grid points within the velocity limits, on both sides and midway to the next."""
    with np.errstate(divide="ignore"):
        before, after, between = np.min(np.minimum(velocity, MAX_JOINT_SPEED) / np.abs([*dq_ds, middle]), axis=-1) ** 2
    cap = _smaller_side(before, after)
    less = np.minimum(1.0, between / _interval_ends(cap).mean(axis=0))
    return np.where(stopped, 0.0, _smaller_side(less, less) * cap)


def _smaller_side(begins: Array, ends: Array) -> Array:
    """Return the lesser value at each grid point of those at the beginning of one interval and the end of another."""
    return np.asarray(np.minimum(np.append(begins, np.inf), np.append(np.inf, ends)))


def _interval_ends(x: Array) -> Array:
    """Return values at grid points as values at the beginnings and ends of the intervals."""
    return np.stack([x[:-1], x[1:]])


def friction_of(robot: DynamicRobot, dynamics: PathDynamics) -> Friction:
    """Return the friction over the path speed, which is linear unless dry friction of a joint is smoothed."""
    if any(joint.smooth for joint in robot.joints):
        return partial(_friction_at, robot, dynamics)
    speed = 1 / np.abs(dynamics.dq_ds).max(axis=-1)
    slow, slope = _friction_at(robot, dynamics, speed)
    dry = slow - slope * speed[..., None]
    return lambda speed: (dry + slope * speed[..., None], slope)


def _friction_at(robot: DynamicRobot, dynamics: PathDynamics, speed: Array) -> tuple[Array, Array]:
    """Return friction and its slope at a speed, by half the difference of torques forward and backward."""
    faster = speed * (1 + SPEED_DIFFERENCE)
    qd = np.stack([speed, faster])[..., None] * dynamics.dq_ds
    q, zeros = np.broadcast_to(dynamics.q, (2, *qd.shape)), np.zeros((2, *qd.shape))
    forward, backward = robot.inverse_dynamics(q, np.stack([qd, -qd]), zeros)
    slow, fast = np.zeros((2, *dynamics.c.shape))
    count, joints = len(dynamics.torque_joints), dynamics.torque_joints
    slow[..., :count], fast[..., :count] = ((forward - backward) / 2)[..., joints]
    return slow, (fast - slow) / (faster - speed)[..., None]


def check_creep(robot: DynamicRobot, path: Trajectory, dynamics: PathDynamics, friction: Friction) -> None:
    """Raise an InputError if the robot cannot move very slowly past some grid point."""
    needed = dynamics.c + _dry_friction(dynamics, friction)
    excess = np.maximum(needed - dynamics.high, dynamics.low - needed)
    if excess.max() < 0:
        return
    end, interval, k = np.unravel_index(np.argmax(excess), excess.shape)
    joint, torque = dynamics.torque_joints[k], needed[end, interval, k]
    model, limit = robot.joints[joint], (dynamics.high if torque > 0 else dynamics.low)[end, interval, k]
    unit = "N" if model.prismatic else "N m"
    raise InputError(
        f"joint {joint + 1} ({shown(model.name)}) is too weak to creep along the path at "
        f"{position_text(path, dynamics.s[interval + end])}: that takes {abs(torque):.4g} {unit}, it has "
        f"{abs(limit):.4g} {unit}; choose another path, a lighter payload or a stronger joint"
    )


def within_at_rest(dynamics: PathDynamics, friction: Friction) -> PathDynamics:
    """Return the dynamics with limits that also hold at rest, where no dry friction helps to brake."""
    resting = dynamics.cap == 0
    resting[[0, -1]] = True
    dry = _dry_friction(dynamics, friction)
    low = (1 - INTERVAL_OFFSET) * dynamics.low + np.maximum(dry, 0)
    high = (1 - INTERVAL_OFFSET) * dynamics.high + np.minimum(dry, 0)
    holds = _interval_ends(resting)[..., None] & (low < dynamics.c + dry) & (dynamics.c + dry < high)
    return dynamics._replace(low=np.where(holds, low, dynamics.low), high=np.where(holds, high, dynamics.high))


def fastest_on_grid(robot: DynamicRobot, dynamics: PathDynamics, friction: Friction, x: Array | None = None) -> Array:
    """Return the largest x at every grid point, from a guess `x`."""
    b, c = dynamics.b, dynamics.c + _dry_friction(dynamics, friction)
    if x is not None:
        b, c = _tangent(dynamics, friction, x)[:2]
    for _ in range(MAX_FRICTION_ITERATIONS):
        x = fastest_speeds(_bounds(dynamics, b, c))
        assumed, ends = (b, c), _interval_ends(x)
        b, c, friction_torque = _tangent(dynamics, friction, x)
        exact = dynamics.b, dynamics.c + friction_torque
        error = np.abs((exact[0] - assumed[0]) * ends[..., None] + exact[1] - assumed[1]) / dynamics.high
        if error[ends > 0].max(initial=0.0) < FRICTION_TOLERANCE:
            return x
    raise InputError(
        f"the fastest motion of {robot.name} along this path was not found in {MAX_FRICTION_ITERATIONS} rounds: "
        "friction takes nearly all of the torque; give a lower velocity="
    )


def _tangent(dynamics: PathDynamics, friction: Friction, x: Array) -> tuple[Array, Array, Array]:
    """Return b and c with the tangent of friction at x, and the friction there."""
    speed = np.maximum(np.sqrt(_interval_ends(x)), CREEP_SHARE * np.sqrt(x.max()))
    friction_torque, slope = friction(speed)
    at_tangent = friction_torque
    max_speed = _max_tangent_speed(dynamics, at_tangent - slope * speed[..., None], slope)
    if (speed > max_speed).any():
        speed = np.minimum(speed, max_speed)
        at_tangent, slope = friction(speed)
    b, c = dynamics.b + slope / (2 * speed[..., None]), dynamics.c + at_tangent - slope * speed[..., None] / 2
    return b, c, friction_torque


def _max_tangent_speed(dynamics: PathDynamics, dry: Array, slope: Array) -> Array:
    """Return the speed (2, intervals) above which the tangent of friction does not allow rest."""
    margin = np.where(slope > 0, dynamics.high, dynamics.low) - dynamics.c - dry
    speed = np.divide(margin, slope, out=np.full_like(margin, np.inf), where=slope != 0)
    return np.asarray(FRICTION_SPEED_FACTOR * speed.min(axis=-1))


def _bounds(dynamics: PathDynamics, b: Array, c: Array) -> SpeedBounds:
    """Return low <= a u + b x + c <= high at both ends of an interval as bounds on y, x at its end, by x at its start.

    Where inertia is so small that a higher x here means a lower y, the motion would oscillate between fast and slow:
    there x is limited to values that need no acceleration.
    """
    per_x = dynamics.a / (2 * dynamics.lengths[:, None])
    by_x = np.stack([b[0] - per_x[0], -per_x[1]])
    by_y = np.stack([per_x[0], per_x[1] + b[1]])
    negative = by_y < 0
    sign = np.where(negative, -1.0, 1.0)
    scale = np.maximum(np.abs(by_y), MIN_SLOPE_SHARE * np.abs(by_x)) + np.finfo(float).tiny
    high, low = dynamics.high - c, dynamics.low - c
    parts = (-by_x * sign, np.where(negative, -low, high), np.where(negative, -high, low))
    with np.errstate(over="ignore"):  # a joint at rest has no bound
        slope, upper, lower = (np.concatenate(list(part / scale), axis=-1) for part in parts)
    steady = np.divide(np.where(b > 0, high, low), b, out=np.full_like(b, np.inf), where=by_x * by_y > 0).min(axis=-1)
    return SpeedBounds(slope, upper, lower, np.minimum(dynamics.cap, _smaller_side(*steady)))


def tightened(dynamics: PathDynamics, friction: Friction, excess: Array) -> PathDynamics:
    """Return limits reduced by their relative excess in each interval, at most halfway to slow motion."""
    n = dynamics.q.shape[-1]
    factors = np.clip(1 - excess, 0.5, 1.0)
    part = np.concatenate([factors[:, dynamics.torque_joints], factors[:, n + dynamics.acceleration_joints]], axis=-1)
    creeping = dynamics.c + _dry_friction(dynamics, friction)
    low, high = (
        creeping + np.maximum((limit * part - creeping) / (limit - creeping), 0.5) * (limit - creeping)
        for limit in (dynamics.low, dynamics.high)
    )
    slower = factors[:, 2 * n : 3 * n].min(axis=-1) ** 2
    return dynamics._replace(low=low, high=high, cap=dynamics.cap * _smaller_side(slower, slower))


def _dry_friction(dynamics: PathDynamics, friction: Friction) -> Array:
    """Return the friction of a very slow motion."""
    return friction(np.full(dynamics.q.shape[:2], DRY_FRICTION_SPEED))[0]
