"""The plant of an environment: a robot with its ranges and motors, and the torques that follow from actions."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.errors import ArmwrightError, InputError, LimitWarning, listed, unknown
from armwright.former_names import add_former_names
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.lazy import cached_property
from armwright.learn.gym.random_streams import Streams, normal
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.records import JointModel
from armwright.robot import Robot
from armwright.simulation.plan import with_smooth_friction

ACTIONS = ("velocity", "position", "torque")
"""An action in [-1, 1] is a share of the speed of a joint, of its range, or of its motor torque."""

DEFAULT_SPEED = {True: 0.5, False: 2.0}
"""m/s of a prismatic joint, rad/s of another, where a robot has no limit."""
DEFAULT_ACCELERATION = 10.0
"""Acceleration, rad/s^2 or m/s^2, of a motor of unknown torque, added to twice the gravity torque."""
DEFAULT_RANGE = {True: 0.5, False: math.pi}
"""Half the range, m or rad, from which positions of a joint without limits are drawn."""
FRICTION_SMOOTHING = 0.1
"""Speed, rad/s or m/s, below which dry friction is smoothed; a simulation takes less, with shorter steps."""
MAX_DECAY_STEP = 2.0
"""Largest step of RK4, in time constants of the fastest decay (it is unstable from 2.78 on)."""
MIN_SUBSTEPS, MAX_SUBSTEPS = 4, 1000
MAX_SUBSTEP = 0.01
"""Longest step of RK4, s: with 50 ms a fast motion diverges."""
SAMPLED_POSITIONS = 64
"""Positions at which inertia, gravity and size of a robot are computed once."""


@dataclass(frozen=True)
class Plant:
    """A robot, its tip frame, the meaning of actions, the time between them, and the time constant of the response."""

    robot: Robot
    frame: str | None = None
    action: str = "velocity"
    dt: float = 0.04
    response: float = 0.1

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise unknown("action", self.action, ACTIONS)
        if self.frame is not None and self.robot.frame(self.frame).link < 0:
            raise InputError(f"frame {self.frame!r} is fixed to the base; expected one that moves")
        self._check_motors()
        if self.action == "position" and self.robot.balls:
            raise InputError(
                f"action='position' with {self.robot.name}, whose q has {self.robot.nq} entries for {self.robot.n} "
                "freedoms; expected action='velocity' or 'torque' where there are ball joints"
            )

    def _check_motors(self) -> None:
        without = [joint.name for joint in self.robot.joints if not _driven(joint)]
        falls = self.floating and any(self.robot.gravity)
        undriven = bool(without) and self.action != "torque"
        if not falls and not undriven:
            return
        problems = [f"no motor moves {listed(without)} as action={self.action!r} requires"] if undriven else []
        expected = ["action='torque'"] if undriven else []
        if falls:
            problems.append("its base floats and would fall")
            expected.append("a robot on a fixed base or one without weight: with_gravity([0, 0, 0])")
        raise InputError(f"{self.robot.name}: {', and '.join(problems)}; expected {', and '.join(expected)}")

    @cached_property
    def floating(self) -> bool:
        """True if the base is free."""
        return any(joint.kind == "free" for joint in self.robot.joints)

    @cached_property
    def motors(self) -> Array:
        """Indices of the joints with motors; an action has an entry for each."""
        return np.flatnonzero([_driven(joint) for joint in self.robot.joints])

    @cached_property
    def single(self) -> Array | slice:
        """The joints with one entry of q."""
        if not self.robot.balls:
            return slice(None)
        return np.flatnonzero([joint.kind not in FREEDOMS_OF_KIND for joint in self.robot.joints])

    @cached_property
    def entries(self) -> Array | slice:
        """The entries of q of the single joints."""
        return np.array(self.robot.entries, int)[self.single] if self.robot.balls else slice(None)

    @cached_property
    def limits(self) -> Array:
        """Position limits of the single joints, (2, single); infinite where there are none."""
        every_joint = np.array([joint.limits or (-math.inf, math.inf) for joint in self.robot.joints])
        found: Array = every_joint[self.single].T
        return found

    @cached_property
    def span(self) -> Array:
        """The ranges in which positions of the single joints are drawn, (2, single)."""
        half_range = np.array([DEFAULT_RANGE[joint.prismatic] for joint in self.robot.joints])[self.single]
        low, high = self.limits
        low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * half_range, -half_range))
        return np.stack([low, np.where(np.isfinite(high), high, low + 2 * half_range)])

    @cached_property
    def speed(self) -> Array:
        """The largest joint speeds of actions, (n,)."""
        return np.array([_finite(joint.max_velocity, DEFAULT_SPEED[joint.prismatic]) for joint in self.robot.joints])

    @cached_property
    def strength(self) -> Array:
        """The largest motor torques, (n,); zero for joints without motors."""
        joints = self.robot.joints
        known = np.array([_finite(joint.max_torque, math.nan) if _driven(joint) else 0.0 for joint in joints])
        if len(unknown := np.flatnonzero(np.isnan(known))):
            inertia = np.abs(np.diagonal(self.robot.mass_matrix(self.samples), axis1=-2, axis2=-1)).max(axis=0)
            gravity = np.abs(self.robot.gravity_torque(self.samples)).max(axis=0)
            known[unknown] = (2 * gravity + DEFAULT_ACCELERATION * inertia)[unknown]
            warnings.warn(
                f"{self.robot.name} has no motor torques; assumed are "
                f"{listed([f'{known[i]:.3g} for {joints[i].name}' for i in unknown])}, twice the gravity torque and "
                f"{DEFAULT_ACCELERATION:g} rad/s^2 or m/s^2; set others by with_limits(torque=...)",
                LimitWarning,
                stacklevel=5,  # the caller of `armwright.learn.gym.vector`
            )
        return known

    @cached_property
    def samples(self) -> Array:
        """Fixed positions spread over the ranges, (k, nq)."""
        q = self.positions(Streams(range(SAMPLED_POSITIONS)).unit(np.arange(SAMPLED_POSITIONS), self.numbers))
        return q[self.closed(q)]

    @cached_property
    def size(self) -> float:
        """The approximate diameter of the workspace, m."""
        tips = self.tip(self.samples)
        return float(np.nanmax(np.linalg.norm(tips[:, None] - tips, axis=-1))) or 1.0

    @property
    def numbers(self) -> int:
        """The number of random numbers for a position."""
        return len(self.span[0]) + 4 * len(self.robot.balls)

    def positions(self, unit: Array, share: float = 1.0) -> Array:
        """Return positions (states, nq) from numbers in [0, 1): joints in the middle `share` of their ranges.

        Ball joints get any rotation; a floating base stays.
        """
        q = np.tile(self.robot.neutral, (len(unit), 1))
        low, high = self.span
        q[:, self.entries] = (low + high) / 2 + share * (unit[:, : len(low)] - 0.5) * (high - low)
        balls = [ball for ball in self.robot.balls if ball.kind == "ball"]
        for k, ball in enumerate(balls):
            q[:, ball.unit_vector] = normal(unit[:, len(low) + 4 * k :][:, :4])
        return self.robot.unit(q) if balls else q

    def tip(self, q: Array) -> Array:
        """Return the positions of the tip, (states, 3); nan where a loop cannot be closed."""
        return _nan_where_undefined(self._pose, q)[:, :3, 3]

    def closed(self, q: Array) -> Array:
        """Return True where all loops close; an InputError for loops that forces close."""
        if not self.robot.loops:
            return np.ones(len(q), bool)
        if constrained := [loop.name for loop in self.robot.loops if not loop.dependent]:
            raise InputError(
                f"forces close {listed(constrained)} of {self.robot.name}, and random positions would not keep them "
                "closed; expected reset=... with positions that do"
            )
        return self.closable(q)

    def closable(self, q: Array) -> Array:
        """Return True where the loops can be closed by their dependent joints."""
        if not any(loop.dependent for loop in self.robot.loops):
            return np.ones(len(q), bool)
        good: Array = self._places(q, raises=False)[1]
        return good

    def displacement(self, q: Array, to: Array) -> Array:
        """Return the displacement (states, n) from one position to another."""
        return self.robot.difference(q, to) if self.robot.balls else to - q

    def inside(self, q: Array, slack: float = 0.0) -> Array:
        """Return True where all joints are within their limits, extended by the part `slack` of their ranges."""
        margin = slack * (self.span[1] - self.span[0])
        x = q[:, self.entries]
        return all_in_row((x >= self.limits[0] - margin) & (x <= self.limits[1] + margin))

    def torques(self, q: Array, qd: Array, action: Array) -> Array:
        """Return the motor torques (states, n) until the next action, for actions (states, motors) in [-1, 1].

        For velocities and positions, qd approaches the requested v as exp(-t / response). The torques are those of the
        required accelerations at half the step, so that the error of constant torques is of second order.
        """
        if self.action == "torque":
            tau = np.zeros_like(qd)
            tau[:, self.motors] = action * self.strength[self.motors]
            return tau
        qdd = (self._velocities(q, action) - qd) * (-math.expm1(-self.dt / self.response) / self.dt)
        half = self.dt / 2
        qd_half, step_half = qd + half * qdd, half * (qd + half / 2 * qdd)
        q = self.robot.integrate(q, step_half) if self.robot.balls else q + step_half
        tau = _nan_where_undefined(self._inverse, q, qd_half, qdd)
        return np.clip(tau, -self.strength, self.strength)

    def _velocities(self, q: Array, action: Array) -> Array:
        """Return the velocities requested by actions, reduced near the limits of the joints."""
        time_constant = 4 * self.response  # x'' = (v - x') / response, v = -x / time_constant: critically damped
        x = q[:, self.entries]
        if self.action == "velocity":
            v = action * self.speed
        else:
            middle, half = (self.span[1] + self.span[0]) / 2, (self.span[1] - self.span[0]) / 2
            v = np.clip((middle + action * half - x) / time_constant, -self.speed, self.speed)
        v[:, self.single] = np.clip(v[:, self.single], *((limit - x) / time_constant for limit in self.limits))
        return v

    @cached_property
    def substeps(self) -> int:
        """The number of RK4 steps from one action to the next; friction with a fast decay requires more."""
        smallest = max(MIN_SUBSTEPS, math.ceil(self.dt / MAX_SUBSTEP - 1e-6))
        if not any(row.viscous or row.coulomb for row in self._smooth.rows):
            return smallest
        q, n, small_speed = self.samples[:8], self.robot.n, 1e-3 * FRICTION_SMOOTHING
        speeds = np.broadcast_to(small_speed * np.eye(n)[:, None], (n, len(q), n))
        forward, back = (self._inverse(np.broadcast_to(q, (n, *q.shape)), qd, 0 * qd) for qd in (speeds, -speeds))
        damping = np.moveaxis(forward - back, 0, -1) / (2 * small_speed)
        decay = np.linalg.eigvals(np.linalg.solve(self.robot.mass_matrix(q), damping))
        required = math.ceil(self.dt * float(np.abs(decay).max()) / MAX_DECAY_STEP)
        if required > MAX_SUBSTEPS:
            raise InputError(
                f"friction brings {self.robot.name} to rest so fast that {self.dt:g} s would take {required} substeps; "
                "expected a shorter dt, substeps=..., or less friction: with_friction(...)"
            )
        return max(smallest, required)

    @cached_property
    def _smooth(self) -> Robot:
        return with_smooth_friction(self.robot, FRICTION_SMOOTHING)

    @cached_property
    def _pose(self) -> Function:
        return compile_function(self.robot, "forward_kinematics", frame=self.frame)

    @cached_property
    def _places(self) -> Function:
        return compile_function(self.robot, "link_positions")

    @cached_property
    def _inverse(self) -> Function:
        return compile_function(self._smooth, "inverse_dynamics")


add_former_names(Plant, way="displacement")


def all_in_row(entries: Array) -> Array:
    """Return True for rows with all entries true; fastest in the common case that all are."""
    return np.ones(len(entries), bool) if entries.all() else np.asarray(entries.all(axis=1))


def _nan_where_undefined(function: Function, *state: Array) -> Array:
    """Return the values of a function, nan in states where it has none."""
    try:
        return function(*state)
    except ArmwrightError:
        return function(*state, raises=False)[0]


def _driven(joint: JointModel) -> bool:
    """Return True if a motor drives the joint: not for a free base or a largest torque of zero."""
    return joint.kind != "free" and joint.max_torque != 0


def _finite(value: float | None, default: float) -> float:
    return default if value is None or not math.isfinite(value) else value
