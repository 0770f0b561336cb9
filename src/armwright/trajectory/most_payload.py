"""The heaviest payload with which a robot still follows a motion.

    tau_j(t) = tau0_j(t) + m u_j(t)     the torque of joint j is a straight line in the mass m of the payload
    |tau_j| <= limit_j                  so each instant allows masses up to (limit_j - sign(u_j) tau0_j) / |u_j|

tau0 is the torque of the robot without the payload, u that of one more kilogram. Both come from inverse dynamics, so
gravity,
inertia, friction, rotors and loops are in them. The answer is the least of these masses over all joints and instants.
Only the instant is looked for: in equal steps, on both sides of every knot, and more closely around each least mass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array, whole_number
from armwright.errors import InfeasibleError, InputError
from armwright.mechanism import Mechanism
from armwright.names import shown
from armwright.trajectory.argument_checks import FLOAT64, check_numbers
from armwright.trajectory.joint_limits import LimitedRobot, limits_of_robot, magnitudes
from armwright.trajectory.motion_base import Trajectory, without_rounding
from armwright.trajectory.torques import torques

PAYLOAD_SAMPLES = 1000
"""Equal steps in which a motion is looked at."""

MAX_PAYLOAD_SAMPLES = 1_000_000

MINIMUM_REFINEMENTS = 5
"""Times that the neighbourhood of a least mass is looked at, each ten times more closely."""

TORQUE_TOLERANCE = 1e-9
"""Part of a limit by which it may be exceeded by rounding."""

NO_TORQUE = 1e-12
"""Part of the largest torque below which what a kilogram adds is rounding."""

POINT_INERTIA = np.zeros((3, 3))


class Holder(LimitedRobot, Protocol):
    """The methods of a robot that carries a payload."""

    @property
    def payload(self) -> Any: ...
    def mechanism(self) -> Mechanism: ...
    def with_payload(self, mass: float, com: ArrayLike, inertia: ArrayLike, *, beside: bool) -> Any: ...


@dataclass(frozen=True, eq=False)
class PayloadCurve:
    """The most payload at every time of one motion: t (k,) in seconds, masses (k, n) in kg, as each joint allows it."""

    t: Array
    masses: Array

    @property
    def least(self) -> Array:
        """The most payload that all joints allow at every time, (k,), kg; inf where no joint with a limit feels it."""
        return np.asarray(self.masses.min(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class MostPayload:
    """The largest payload of a robot along one or several motions, and the joint that gives out first.

    mass       kg, besides what the robot holds already; inf if no joint with a limit feels a payload
    joint      the name of the joint that gives out first, "" if none does; `index` is its place in q, from 0
    quantity   "torque" or "power": which of its limits is reached, `limit` in SI units, with which `unit`
    time       seconds: when it is reached, in motion number `motion`, from 0
    by_joint   kg (n,): what each joint alone would allow
    curves     the most payload at every time, for each motion
    unlimited  names of joints without a limit of torque or power, which count as strong enough
    robot      the robot that holds this payload; an error if any mass can be held
    """

    mass: float
    joint: str
    index: int | None
    quantity: str
    limit: float
    unit: str
    time: float
    motion: int
    by_joint: Array
    curves: tuple[PayloadCurve, ...]
    unlimited: tuple[str, ...]
    com: tuple[float, ...]
    holder: Any
    inertia: Array
    gyration: Array

    @property
    def robot(self) -> Any:
        if not math.isfinite(self.mass):
            raise InputError("any payload can be held along this motion, so there is no robot that holds the heaviest")
        return self.holder.with_payload(self.mass, self.com, self.inertia + self.mass * self.gyration, beside=True)

    @property
    def reason(self) -> str:
        """Which joint gives out first, and when."""
        if not self.joint:
            return "no joint with a limit feels it"
        which = f" of motion {self.motion + 1}" if len(self.curves) > 1 else ""
        known = f"its {self.limit:.4g} {self.unit}"
        return f"{shown(self.joint)} gives out first: at {self.time:.4g} s{which} it needs all of {known}"

    def __str__(self) -> str:
        held = self.holder.payload
        besides = f" besides the {held.mass:.4g} kg it holds" if held is not None and held.mass else ""
        mass = f"{self.mass:.4g} kg" if math.isfinite(self.mass) else "any payload"
        place = ", ".join(f"{x:g}" for x in self.com)
        lines = [f"{shown(self.holder.name)} can hold {mass} at ({place}) m of its tool{besides}; {self.reason}"]
        if self.unlimited:
            lines.append(f"without a limit, so taken as strong enough: {', '.join(map(shown, self.unlimited))}")
        return "\n".join(lines)

    __repr__ = __str__


class _Limits(NamedTuple):
    """Magnitudes (n,), inf where there is none."""

    torque: Array
    power: Array
    velocity: Array


class _Line(NamedTuple):
    """Torques of the robot without the payload, of one more kilogram, the largest ones, and speeds, (k, n) each."""

    own: Array
    each: Array
    most: Array
    qd: Array

    @property
    def masses(self) -> Array:
        """The masses (k, n) that each joint allows."""
        felt = np.abs(self.each) > NO_TORQUE * max(float(np.abs(self.own).max()), float(np.abs(self.each).max()))
        room = self.most - np.sign(self.each) * self.own
        found = np.divide(room, np.abs(self.each), out=np.full_like(room, np.inf), where=felt & np.isfinite(room))
        return np.asarray(np.maximum(found, 0.0))


class _Robots(NamedTuple):
    """A robot without the payload, and with one more kilogram; `turning`: at a point, and of fixed inertia."""

    own: Mechanism
    heavier: Mechanism
    turning: tuple[Mechanism, Mechanism] | None


class _Case:
    """A robot, what a kilogram more of payload changes of it, and its limits, along one motion."""

    def __init__(self, robots: _Robots, limits: _Limits, motion: Trajectory) -> None:
        self.robots, self.limits, self.motion = robots, limits, motion
        self.fastest = float(np.abs(motion(np.linspace(motion.start, motion.end, PAYLOAD_SAMPLES))[1]).max())

    def at(self, t: Array) -> _Line:
        q, qd, qdd = self.motion(t)
        qd = without_rounding(qd, self.fastest)
        own, heavier = (torques(x, q, qd, qdd).T for x in self.robots[:2])
        each = heavier - own
        if self.robots.turning is not None:
            point, body = (torques(x, q, qd, qdd).T for x in self.robots.turning)
            own = own + (body - point)
        speed = np.abs(qd)
        by_power = np.divide(self.limits.power, speed, out=np.full_like(speed, np.inf), where=speed > 0)
        return _Line(own, each, np.minimum(self.limits.torque, by_power), qd)

    def nearer(self, joint: int, times: Array, k: int) -> tuple[float, float]:
        """The least mass of a joint around sample k, and its time."""
        low, high, best_time, best = times[max(k - 1, 0)], times[min(k + 1, len(times) - 1)], float(times[k]), math.inf
        for _ in range(MINIMUM_REFINEMENTS):
            near = np.append(np.linspace(low, high, 21), best_time)
            masses = self.at(near).masses[:, joint]
            at = int(np.argmin(masses))
            best_time, best = float(near[at]), float(masses[at])
            width = (high - low) / 20
            low, high = max(times[0], best_time - width), min(times[-1], best_time + width)
        return best_time, best


def most_payload(
    robot: Holder,
    motions: Trajectory | Iterable[Trajectory],
    com: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
    gyration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    power: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    samples: int = PAYLOAD_SAMPLES,
) -> MostPayload:
    """Return the largest payload with which all joints stay within their limits along one motion or several.

    com        its centre of mass in the tool frame, metres
    inertia    its tensor about that centre, kg m^2, for any mass; by default a point
    gyration   its tensor per kilogram, m^2, in place of `inertia`: that of a body of this shape, however heavy
    torque     limits at the joints, magnitudes, one for all or one for each, inf for none; by default the robot's own
    power      likewise, watts; by default there are none
    velocity   likewise; by default the robot's own
    samples    equal steps at which each motion is evaluated, besides both sides of its knots

    The robot keeps its present payload. If it is too weak or too slow even for that, an `InfeasibleError` names the
    joint; a robot without limits of torque and power raises an `InputError`.
    """
    if not callable(getattr(robot, "with_payload", None)):
        raise InputError(f"most_payload got {robot!r}; expected a robot, such as aw.load('panda')")
    check_numbers(robot, "a trajectory")
    listed = _motions(robot, motions)
    limits = _limits(robot, torque, power, velocity)
    steps = whole_number("samples", samples, 2)
    if steps > MAX_PAYLOAD_SAMPLES:
        raise InputError(f"samples = {steps}: expected at most {MAX_PAYLOAD_SAMPLES}")
    centre = checked_array("com", com, (3,), FLOAT64, "x, y and z in the tool frame, metres")
    if inertia is not None and gyration is not None:
        raise InputError("inertia and gyration both say how the payload turns; give one of them")
    fixed, shape = (_tensor(name, x) for name, x in (("inertia", inertia), ("gyration", gyration)))
    robots = _robots(robot, centre, fixed, shape)
    curves, least = [], []
    for k, motion in enumerate(listed):
        case, times = _Case(robots, limits, motion), _times(motion, steps)
        line = case.at(times)
        _check_as_it_is(robot, line, limits, times, k if len(listed) > 1 else None)
        masses = line.masses
        curves.append(PayloadCurve(times, masses))
        least.append([case.nearer(j, times, int(i)) for j, i in enumerate(masses.argmin(axis=0))])
    found = np.array(least)  # motions, joints, (time, mass)
    k, j = (int(i) for i in np.unravel_index(np.argmin(found[..., 1]), found.shape[:2]))
    time, mass = (float(x) for x in found[k, j])
    limited = math.isfinite(mass)
    quantity, limit, unit = _reached(robot, limits, j, listed[k], time) if limited else ("", math.inf, "")
    return MostPayload(
        mass=mass,
        joint=robot.joints[j].name if limited else "",
        index=j if limited else None,
        quantity=quantity,
        limit=limit,
        unit=unit,
        time=time if limited else math.nan,
        motion=k,
        by_joint=found[..., 1].min(axis=0),
        curves=tuple(curves),
        unlimited=tuple(
            joint.name for joint, x in zip(robot.joints, np.minimum(limits.torque, limits.power), strict=True)
            if np.isinf(x)
        ),
        com=tuple(centre.tolist()),
        holder=robot,
        inertia=fixed,
        gyration=shape,
    )  # fmt: skip


def _robots(robot: Holder, centre: Array, fixed: Array, shape: Array) -> _Robots:
    """The mechanisms whose differences say what a payload adds to each torque."""
    point, heavier = (robot.with_payload(1.0, centre, x, beside=True).mechanism() for x in (POINT_INERTIA, shape))
    body = robot.with_payload(1.0, centre, fixed, beside=True).mechanism() if fixed.any() else None
    return _Robots(robot.mechanism(), heavier, None if body is None else (point, body))


def _motions(robot: Holder, motions: Any) -> list[Trajectory]:
    listed = [motions] if isinstance(motions, Trajectory) or not isinstance(motions, Iterable) else list(motions)
    if not listed:
        raise InputError("most_payload got no motions; expected a trajectory, or several")
    for motion in listed:
        if not isinstance(motion, Trajectory) or motion.n != robot.n:
            raise InputError(f"most_payload got the motion {motion!r}; expected a trajectory of {robot.n} joints")
        if not np.isfinite([motion.start, motion.end]).all():
            raise InputError("the motion holds its ends for ever; give it as it was before .holding()")
    return listed


def _limits(robot: Holder, torque: ArrayLike | None, power: ArrayLike | None, velocity: ArrayLike | None) -> _Limits:
    limits = _Limits(
        limits_of_robot(robot, "max_torque") if torque is None else magnitudes("torque", torque, robot.n, zero=True),
        magnitudes("power", np.inf if power is None else power, robot.n, zero=True),
        limits_of_robot(robot, "max_velocity")
        if velocity is None
        else magnitudes("velocity", velocity, robot.n, zero=True),
    )
    if not np.isfinite([limits.torque, limits.power]).any():
        raise InputError(
            f"no joint of {robot.name} has a largest torque, so no payload is too heavy for it; give torque=, one for "
            "all joints or one for each, or describe the robot with limits (max_torque, arm.with_limits(torque=...))"
        )
    return limits


def _tensor(name: str, value: ArrayLike | None) -> Array:
    """A 3x3 tensor, also from xx, yy, zz, xy, xz, yz."""
    if value is None:
        return POINT_INERTIA
    given = np.asarray(value, dtype=float) if np.shape(value) in ((6,), (3, 3)) else None
    if given is None or not np.isfinite(given).all():
        raise InputError(f"{name} = {value!r}: expected a 3x3 tensor, or its xx, yy, zz, xy, xz, yz")
    if given.ndim == 1:
        xx, yy, zz, xy, xz, yz = given
        given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return given


def _times(motion: Trajectory, samples: int) -> Array:
    """Equal steps, the knots, and the moments just after them, where accelerations may jump."""
    knots = np.array(motion.knots)
    after = knots[:-1] + 1e-9 * np.diff(knots)
    return np.unique(np.concatenate([np.linspace(knots[0], knots[-1], samples + 1), knots, after]))


def _check_as_it_is(robot: Holder, line: _Line, limits: _Limits, times: Array, motion: int | None) -> None:
    """That the robot can follow the motion without a payload."""
    held = robot.payload
    how = f"with the {held.mass:.4g} kg it holds" if held is not None and held.mass else "with an empty hand"
    which = "" if motion is None else f" of motion {motion + 1}"
    rounding = TORQUE_TOLERANCE * float(np.abs(line.own).max())
    needed = (
        ("torque", line.own, line.most, rounding, ("N m", "N")),
        ("speed", line.qd, np.broadcast_to(limits.velocity, line.qd.shape), 0.0, ("rad/s", "m/s")),
    )
    for quantity, value, most, slack, units in needed:
        least = np.where(most == 0, slack, most)
        used = np.divide(np.abs(value), least, out=np.zeros_like(value), where=np.isfinite(least) & (least > 0))
        k, j = (int(i) for i in np.unravel_index(np.argmax(used), used.shape))
        if used[k, j] <= 1 + TORQUE_TOLERANCE:
            continue
        joint = robot.joints[j]
        has = f"{most[k, j]:.4g} {units[bool(joint.prismatic)]}"
        why = "" if quantity == "speed" or most[k, j] == limits.torque[j] else " that its power allows"
        raise InfeasibleError(
            f"{robot.name} cannot follow this motion even {how}: {shown(joint.name)} needs "
            f"{abs(value[k, j]):.4g} {units[bool(joint.prismatic)]} at {times[k]:.4g} s{which}, more than the {has}"
            f"{why or ' it has'}; choose a slower motion (motion.scaled(2), on the command line --duration), another "
            "path or a stronger robot",
            joint.name,
            quantity,
            float(used[k, j]),
        )


def _reached(robot: Holder, limits: _Limits, j: int, motion: Trajectory, time: float) -> tuple[str, float, str]:
    """Which limit of a joint is reached at a time."""
    speed = abs(float(motion(time)[1][j]))
    if speed * limits.torque[j] > limits.power[j]:
        return "power", float(limits.power[j]), "W"
    return "torque", float(limits.torque[j]), "N" if robot.joints[j].prismatic else "N m"
