"""A robot as an environment drives it: its ranges and motors, what an action makes of them, and its compiled step."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.errors import ArmwrightError, InputError, LimitWarning, listed, unknown
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.lazy import cached_property
from armwright.learn.gym.random_streams import Streams, normal
from armwright.mechanism import FREEDOMS_OF_KIND
from armwright.model.records import JointModel
from armwright.robot import Robot
from armwright.simulation.plan import with_smooth_friction

ACTIONS = ("velocity", "position", "torque")
"""What an action in [-1, 1] is a share of: the speed of a joint, its range, or what its motor can do."""

USUAL_SPEED = {True: 0.5, False: 2.0}
"""m/s of a prismatic joint, rad/s of another, where a robot has no limit."""
USUAL_ACCELERATION = 10.0
"""rad/s^2 or m/s^2 that a motor of unknown strength gives beside twice what gravity wants."""
USUAL_RANGE = {True: 0.5, False: math.pi}
"""m and rad to both sides of zero where positions of a joint without limits are drawn."""
SMOOTH = 0.1
"""rad/s or m/s within which dry friction rounds off: more than in a simulation, which may take shorter steps."""
STABLE = 2.0
"""How many times of the fastest decay a step of RK4 may last (it is unstable from 2.78 on)."""
LEAST_SUBSTEPS, MOST_SUBSTEPS = 4, 1000
LONGEST = 0.01
"""Seconds that a step of RK4 lasts at most: in 50 ms an arm in fast motion is lost."""
SAMPLES = 64
"""Positions at which it is looked up, once, what a robot has to do with."""


@dataclass(frozen=True)
class Plant:
    """A robot, the frame that is its tip, what actions are, how often there are some, and how fast it follows them."""

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
        turned = bool(without) and self.action != "torque"
        if not falls and not turned:
            return
        said = [f"no motor moves {listed(without)} as action={self.action!r} asks for"] if turned else []
        wanted = ["action='torque'"] if turned else []
        if falls:
            said.append("its base floats and would fall")
            wanted.append("a robot on a fixed base or one without weight: with_gravity([0, 0, 0])")
        raise InputError(f"{self.robot.name}: {', and '.join(said)}; expected {', and '.join(wanted)}")

    @cached_property
    def floating(self) -> bool:
        return any(joint.kind == "free" for joint in self.robot.joints)

    @cached_property
    def motors(self) -> Array:
        """Which joints have one; an action has an entry for each."""
        return np.flatnonzero([_driven(joint) for joint in self.robot.joints])

    @cached_property
    def single(self) -> Array | slice:
        """Which joints have one entry of q."""
        if not self.robot.balls:
            return slice(None)
        return np.flatnonzero([joint.kind not in FREEDOMS_OF_KIND for joint in self.robot.joints])

    @cached_property
    def entries(self) -> Array | slice:
        """The entries of q of these."""
        return np.array(self.robot.entries, int)[self.single] if self.robot.balls else slice(None)

    @cached_property
    def limits(self) -> Array:
        """Where these may be, (2, single), infinite where they have no limits."""
        every_joint = np.array([joint.limits or (-math.inf, math.inf) for joint in self.robot.joints])
        found: Array = every_joint[self.single].T
        return found

    @cached_property
    def span(self) -> Array:
        """From where to where their positions are drawn, (2, single)."""
        usual = np.array([USUAL_RANGE[joint.prismatic] for joint in self.robot.joints])[self.single]
        low, high = self.limits
        low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * usual, -usual))
        return np.stack([low, np.where(np.isfinite(high), high, low + 2 * usual)])

    @cached_property
    def speed(self) -> Array:
        """The most that is asked of its joints, (n,)."""
        return np.array([_finite(joint.max_velocity, USUAL_SPEED[joint.prismatic]) for joint in self.robot.joints])

    @cached_property
    def strength(self) -> Array:
        """The most that its motors give, (n,); zero where there is none."""
        joints = self.robot.joints
        known = np.array([_finite(joint.max_torque, math.nan) if _driven(joint) else 0.0 for joint in joints])
        if len(unsaid := np.flatnonzero(np.isnan(known))):
            inertia = np.abs(np.diagonal(self.robot.mass_matrix(self.samples), axis1=-2, axis2=-1)).max(axis=0)
            gravity = np.abs(self.robot.gravity_torque(self.samples)).max(axis=0)
            known[unsaid] = (2 * gravity + USUAL_ACCELERATION * inertia)[unsaid]
            warnings.warn(
                f"{self.robot.name} does not say how strong its motors are: taken is "
                f"{listed([f'{known[i]:.3g} for {joints[i].name}' for i in unsaid])}, twice what gravity wants and "
                f"{USUAL_ACCELERATION:g} rad/s^2 or m/s^2; with_limits(torque=...) says otherwise",
                LimitWarning,
                stacklevel=5,  # who calls `vector`
            )
        return known

    @cached_property
    def samples(self) -> Array:
        """Positions anywhere in the ranges, always the same ones."""
        q = self.positions(Streams(range(SAMPLES)).unit(np.arange(SAMPLES), self.numbers))
        return q[self.closed(q)]

    @cached_property
    def size(self) -> float:
        """How far apart two places of the tip may be, about."""
        tips = self.tip(self.samples)
        return float(np.nanmax(np.linalg.norm(tips[:, None] - tips, axis=-1))) or 1.0

    @property
    def numbers(self) -> int:
        """How many numbers in [0, 1) a position is made of."""
        return len(self.span[0]) + 4 * len(self.robot.balls)

    def positions(self, unit: Array, share: float = 1.0) -> Array:
        """Positions (states, nq) made of numbers in [0, 1): in the middle `share` of every range, balls turned anyhow.

        A base stays where it is.
        """
        q = np.tile(self.robot.neutral, (len(unit), 1))
        low, high = self.span
        q[:, self.entries] = (low + high) / 2 + share * (unit[:, : len(low)] - 0.5) * (high - low)
        balls = [ball for ball in self.robot.balls if ball.kind == "ball"]
        for k, ball in enumerate(balls):
            q[:, ball.unit_vector] = normal(unit[:, len(low) + 4 * k :][:, :4])
        return self.robot.unit(q) if balls else q

    def tip(self, q: Array) -> Array:
        """Where the tip is, (states, 3); nan where a loop cannot be closed."""
        return _where_it_can(self._pose, q)[:, :3, 3]

    def closed(self, q: Array) -> Array:
        """Where all loops close."""
        if not self.robot.loops:
            return np.ones(len(q), bool)
        if held := [loop.name for loop in self.robot.loops if not loop.dependent]:
            raise InputError(
                f"forces hold {listed(held)} of {self.robot.name}, and positions that are drawn would not keep them "
                "closed; expected reset=..., which draws ones that do, and limits of torque"
            )
        return self.closable(q)

    def closable(self, q: Array) -> Array:
        """Where the joints that depend on others can be where their loops want them."""
        if not any(loop.dependent for loop in self.robot.loops):
            return np.ones(len(q), bool)
        good: Array = self._places(q, raises=False)[1]
        return good

    def way(self, q: Array, to: Array) -> Array:
        """The way (states, n) from one position to another."""
        return self.robot.difference(q, to) if self.robot.balls else to - q

    def inside(self, q: Array, slack: float = 0.0) -> Array:
        """Whether all joints are within their limits, or not further beyond than a share of their range."""
        beyond = slack * (self.span[1] - self.span[0])
        x = q[:, self.entries]
        return every((x >= self.limits[0] - beyond) & (x <= self.limits[1] + beyond))

    def torques(self, q: Array, qd: Array, action: Array) -> Array:
        """What the motors do in states (states, n) until the next action, for actions (states, motors) in [-1, 1].

        Where these are velocities or positions, qd is to approach v as exp(-t / response). The torques are those of the
        accelerations that lead there, halfway: held for the whole step, they err by its square only.
        """
        if self.action == "torque":
            tau = np.zeros_like(qd)
            tau[:, self.motors] = action * self.strength[self.motors]
            return tau
        qdd = (self._velocities(q, action) - qd) * (-math.expm1(-self.dt / self.response) / self.dt)
        half = self.dt / 2
        halfway, meanwhile = qd + half * qdd, half * (qd + half / 2 * qdd)
        q = self.robot.integrate(q, meanwhile) if self.robot.balls else q + meanwhile
        tau = _where_it_can(self._inverse, q, halfway, qdd)
        return np.clip(tau, -self.strength, self.strength)

    def _velocities(self, q: Array, action: Array) -> Array:
        """What actions ask for: to come to rest at a position, or to go on; but never into a limit."""
        slow = 4 * self.response  # x'' = (v - x') / response and v = -x / slow: critically damped
        x = q[:, self.entries]
        if self.action == "velocity":
            v = action * self.speed
        else:
            middle, half = (self.span[1] + self.span[0]) / 2, (self.span[1] - self.span[0]) / 2
            v = np.clip((middle + action * half - x) / slow, -self.speed, self.speed)
        v[:, self.single] = np.clip(v[:, self.single], *((limit - x) / slow for limit in self.limits))
        return v

    @cached_property
    def substeps(self) -> int:
        """Steps of RK4 from one action to the next: short ones, or shorter if the fastest decay by friction asks."""
        least = max(LEAST_SUBSTEPS, math.ceil(self.dt / LONGEST - 1e-6))
        if not any(row.viscous or row.coulomb for row in self._smooth.rows):
            return least
        q, n, crawl = self.samples[:8], self.robot.n, 1e-3 * SMOOTH
        ways = np.broadcast_to(crawl * np.eye(n)[:, None], (n, len(q), n))
        forward, back = (self._inverse(np.broadcast_to(q, (n, *q.shape)), way, 0 * way) for way in (ways, -ways))
        damping = np.moveaxis(forward - back, 0, -1) / (2 * crawl)
        decay = np.linalg.eigvals(np.linalg.solve(self.robot.mass_matrix(q), damping))
        wanted = math.ceil(self.dt * float(np.abs(decay).max()) / STABLE)
        if wanted > MOST_SUBSTEPS:
            raise InputError(
                f"friction brings {self.robot.name} to rest so fast that {self.dt:g} s would take {wanted} substeps; "
                "expected a shorter dt, substeps=..., or less friction: with_friction(...)"
            )
        return max(least, wanted)

    @cached_property
    def _smooth(self) -> Robot:
        return with_smooth_friction(self.robot, SMOOTH)

    @cached_property
    def _pose(self) -> Function:
        return compile_function(self.robot, "forward_kinematics", frame=self.frame)

    @cached_property
    def _places(self) -> Function:
        return compile_function(self.robot, "link_positions")

    @cached_property
    def _inverse(self) -> Function:
        return compile_function(self._smooth, "inverse_dynamics")


def every(entries: Array) -> Array:
    """Whether all of a row are true; in the commonest case, all of all, this is found much faster."""
    return np.ones(len(entries), bool) if entries.all() else np.asarray(entries.all(axis=1))


def _where_it_can(function: Function, *state: Array) -> Array:
    """What a function gives, nan in states where it gives nothing."""
    try:
        return function(*state)
    except ArmwrightError:
        return function(*state, raises=False)[0]


def _driven(joint: JointModel) -> bool:
    """Whether a motor moves it: not a free base, nor a joint whose largest torque is zero."""
    return joint.kind != "free" and joint.max_torque != 0


def _finite(value: float | None, otherwise: float) -> float:
    return otherwise if value is None or not math.isfinite(value) else value
