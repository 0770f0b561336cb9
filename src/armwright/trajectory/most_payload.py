"""The heaviest payload with which a robot still follows a motion.

    tau_j(t) = tau0_j(t) + m u_j(t)     the torque of joint j is a straight line in the mass m of the payload
    |tau_j| <= limit_j                  so each instant allows masses up to (limit_j - sign(u_j) tau0_j) / |u_j|

tau0 is the torque of the robot without the payload, u that of one more kilogram. Both come from inverse dynamics, with
gravity, inertia, friction, rotors and loops. The largest payload is the least of these masses over all joints and
instants. Instants are sampled at equal steps and on both sides of every knot, and refined around each minimum.
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
from armwright.trajectory.argument_checks import FLOAT64, check_scalar_joints
from armwright.trajectory.joint_limits import LimitedRobot, limits_of_robot, magnitudes
from armwright.trajectory.limit_checks import refined_peak, sample_times
from armwright.trajectory.motion_base import Trajectory, without_rounding
from armwright.trajectory.torques import torques

PAYLOAD_SAMPLES = 1000
"""Equal steps at which a motion is sampled."""

MAX_PAYLOAD_SAMPLES = 1_000_000

MINIMUM_REFINEMENTS = 5
"""Refinements of the time of a least mass, each ten times finer."""

TORQUE_TOLERANCE = 1e-9
"""Relative excess of a limit that counts as rounding."""

PAYLOAD_TORQUE_ROUNDING = 1e-12
"""Part of the largest torque below which the torque of a kilogram is rounding."""

POINT_INERTIA = np.zeros((3, 3))


class PayloadRobot(LimitedRobot, Protocol):
    """The methods of a robot that carries a payload."""

    @property
    def payload(self) -> Any: ...
    def mechanism(self) -> Mechanism: ...
    def with_payload(self, mass: float, com: ArrayLike, inertia: ArrayLike, *, beside: bool) -> Any: ...


@dataclass(frozen=True, eq=False)
class PayloadCurve:
    """The largest payload over time: t (k,) in seconds, and the masses (k, n) in kg that each joint allows."""

    t: Array
    masses: Array

    @property
    def least(self) -> Array:
        """The largest payload that all joints allow (k,), kg; inf where no limited joint feels it."""
        return np.asarray(self.masses.min(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class MostPayload:
    """The largest payload of a robot along one or several motions, and the joint that reaches its limit first.

    mass       kg, in addition to the present payload; inf if no limited joint feels a payload
    joint      the name of the joint that reaches its limit first, or ""; `index` is its place in q, from 0
    quantity   "torque" or "power", the quantity at its `limit` in SI units, with their `unit`
    time       seconds at which it is reached, in motion number `motion`, from 0
    by_joint   kg (n,) that each joint alone would allow
    curves     the largest payload over time, for each motion
    unlimited  names of joints without a limit of torque or power, which count as strong enough
    robot      the robot with this payload; an error if any mass is possible
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
        """The joint that reaches its limit first, and when."""
        if not self.joint:
            return "no joint with a limit feels it"
        which = f" of motion {self.motion + 1}" if len(self.curves) > 1 else ""
        limit = f"{self.limit:.4g} {self.unit}"
        return f"{shown(self.joint)} gives out first: at {self.time:.4g} s{which} it needs all of its {limit}"

    def __str__(self) -> str:
        present = self.holder.payload
        besides = f" besides the {present.mass:.4g} kg it holds" if present is not None and present.mass else ""
        mass = f"{self.mass:.4g} kg" if math.isfinite(self.mass) else "any payload"
        com = ", ".join(f"{x:g}" for x in self.com)
        lines = [f"{shown(self.holder.name)} can hold {mass} at ({com}) m of its tool{besides}; {self.reason}"]
        if self.unlimited:
            lines.append(f"without a limit, so taken as strong enough: {', '.join(map(shown, self.unlimited))}")
        return "\n".join(lines)

    __repr__ = __str__


class _Limits(NamedTuple):
    """Magnitudes (n,), inf where there is none."""

    torque: Array
    power: Array
    velocity: Array


class _JointTorques(NamedTuple):
    """Torques without the payload and per kilogram of it, largest allowed torques, and speeds, (k, n) each."""

    bare: Array
    per_kilogram: Array
    limit: Array
    qd: Array

    @property
    def masses(self) -> Array:
        """The masses (k, n) that each joint allows."""
        slope = np.abs(self.per_kilogram)
        affected = slope > PAYLOAD_TORQUE_ROUNDING * max(float(np.abs(self.bare).max()), float(slope.max()))
        margin = self.limit - np.sign(self.per_kilogram) * self.bare
        masses = np.divide(margin, slope, out=np.full_like(margin, np.inf), where=affected & np.isfinite(margin))
        return np.asarray(np.maximum(masses, 0.0))


class _Mechanisms(NamedTuple):
    """A robot without the payload, with one more kilogram, and, for a fixed inertia, with a point mass and a body."""

    bare: Mechanism
    heavier: Mechanism
    point_and_body: tuple[Mechanism, Mechanism] | None


class _PayloadMotion:
    """The torques of a robot along one motion, as functions of the mass of its payload."""

    def __init__(self, mechanisms: _Mechanisms, limits: _Limits, motion: Trajectory) -> None:
        self.mechanisms, self.limits, self.motion = mechanisms, limits, motion
        self.fastest = float(np.abs(motion(np.linspace(motion.start, motion.end, PAYLOAD_SAMPLES))[1]).max())

    def torques_at(self, t: Array) -> _JointTorques:
        q, qd, qdd = self.motion(t)
        qd = without_rounding(qd, self.fastest)
        bare, heavier = (torques(x, q, qd, qdd).T for x in self.mechanisms[:2])
        per_kilogram = heavier - bare
        if self.mechanisms.point_and_body is not None:
            point, body = (torques(x, q, qd, qdd).T for x in self.mechanisms.point_and_body)
            bare = bare + (body - point)
        speed = np.abs(qd)
        by_power = np.divide(self.limits.power, speed, out=np.full_like(speed, np.inf), where=speed > 0)
        return _JointTorques(bare, per_kilogram, np.minimum(self.limits.torque, by_power), qd)

    def least_mass(self, joint: int, times: Array, k: int) -> tuple[float, float]:
        """Return time and value of the least mass of a joint around sample k."""
        time, peak = refined_peak(lambda t: -self.torques_at(t).masses[:, joint], times, k, MINIMUM_REFINEMENTS)
        return time, -peak


def most_payload(
    robot: PayloadRobot,
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

    The arguments and errors are those of `Robot.most_payload`. Limits are magnitudes at the joints, one for all or one
    for each, inf for none; by default there are none of power.
    """
    if not callable(getattr(robot, "with_payload", None)):
        raise InputError(f"most_payload got {robot!r}; expected a robot, such as aw.load('panda')")
    check_scalar_joints(robot, "a trajectory")
    listed, limits = _motions(robot, motions), _limits(robot, torque, power, velocity)
    if whole_number("samples", samples, 2) > MAX_PAYLOAD_SAMPLES:
        raise InputError(f"samples = {samples}: expected at most {MAX_PAYLOAD_SAMPLES}")
    centre = checked_array("com", com, (3,), FLOAT64, "x, y and z in the tool frame, metres")
    if inertia is not None and gyration is not None:
        raise InputError("inertia and gyration both describe the inertia of the payload; give one of them")
    fixed, shape = (_tensor(name, x) for name, x in (("inertia", inertia), ("gyration", gyration)))
    mechanisms = _mechanisms(robot, centre, fixed, shape)
    curves, minima = [], []
    for k, motion in enumerate(listed):
        payload_motion, times = _PayloadMotion(mechanisms, limits, motion), sample_times(motion, samples + 1)
        sampled = payload_motion.torques_at(times)
        _check_without_payload(robot, sampled, limits, times, k if len(listed) > 1 else None)
        masses = sampled.masses
        curves.append(PayloadCurve(times, masses))
        minima.append([payload_motion.least_mass(j, times, int(i)) for j, i in enumerate(masses.argmin(axis=0))])
    least = np.array(minima)  # motions, joints, (time, mass)
    k, j = (int(i) for i in np.unravel_index(np.argmin(least[..., 1]), least.shape[:2]))
    time, mass = (float(x) for x in least[k, j])
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
        by_joint=least[..., 1].min(axis=0),
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


def _mechanisms(robot: PayloadRobot, centre: Array, fixed: Array, shape: Array) -> _Mechanisms:
    """Return the mechanisms whose differences are the torques of a payload."""
    point, heavier = (robot.with_payload(1.0, centre, x, beside=True).mechanism() for x in (POINT_INERTIA, shape))
    body = robot.with_payload(1.0, centre, fixed, beside=True).mechanism() if fixed.any() else None
    return _Mechanisms(robot.mechanism(), heavier, None if body is None else (point, body))


def _motions(robot: PayloadRobot, motions: Any) -> list[Trajectory]:
    listed = [motions] if isinstance(motions, Trajectory) or not isinstance(motions, Iterable) else list(motions)
    if not listed:
        raise InputError("most_payload got no motions; expected a trajectory, or several")
    for motion in listed:
        if not isinstance(motion, Trajectory) or motion.n != robot.n:
            raise InputError(f"most_payload got the motion {motion!r}; expected a trajectory of {robot.n} joints")
        if not np.isfinite([motion.start, motion.end]).all():
            raise InputError("the motion holds its ends for ever; pass the motion before .holding()")
    return listed


def _limits(robot: Any, torque: ArrayLike | None, power: ArrayLike | None, velocity: ArrayLike | None) -> _Limits:
    def limit(name: str, value: ArrayLike) -> Array:
        return magnitudes(name, value, robot.n, allow_zero=True)

    limits = _Limits(
        limits_of_robot(robot, "max_torque") if torque is None else limit("torque", torque),
        limit("power", np.inf if power is None else power),
        limits_of_robot(robot, "max_velocity") if velocity is None else limit("velocity", velocity),
    )
    if not np.isfinite([limits.torque, limits.power]).any():
        raise InputError(
            f"no joint of {robot.name} has a largest torque, so no payload is too heavy for it; give torque=, one for "
            "all joints or one for each, or describe the robot with limits (max_torque, arm.with_limits(torque=...))"
        )
    return limits


def _tensor(name: str, value: ArrayLike | None) -> Array:
    """Return a 3x3 tensor, also from xx, yy, zz, xy, xz, yz; zero for None."""
    if value is None:
        return POINT_INERTIA
    array = np.asarray(value, dtype=float) if np.shape(value) in ((6,), (3, 3)) else None
    if array is None or not np.isfinite(array).all():
        raise InputError(f"{name} = {value!r}: expected a 3x3 tensor, or its xx, yy, zz, xy, xz, yz")
    if array.ndim == 1:
        xx, yy, zz, xy, xz, yz = array
        array = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return array


def _check_without_payload(
    robot: PayloadRobot, sampled: _JointTorques, limits: _Limits, times: Array, motion: int | None
) -> None:
    """Raise an InfeasibleError if the robot cannot follow the motion with its present payload."""
    present = robot.payload
    how = f"with the {present.mass:.4g} kg it holds" if present is not None and present.mass else "without a payload"
    which = "" if motion is None else f" of motion {motion + 1}"
    rounding = TORQUE_TOLERANCE * float(np.abs(sampled.bare).max())
    needed = (
        ("torque", sampled.bare, sampled.limit, rounding, ("N m", "N")),
        ("speed", sampled.qd, np.broadcast_to(limits.velocity, sampled.qd.shape), 0.0, ("rad/s", "m/s")),
    )
    for quantity, value, limit, slack, units in needed:
        allowed = np.where(limit == 0, slack, limit)
        used = np.divide(np.abs(value), allowed, out=np.zeros_like(value), where=np.isfinite(allowed) & (allowed > 0))
        k, j = (int(i) for i in np.unravel_index(np.argmax(used), used.shape))
        if used[k, j] <= 1 + TORQUE_TOLERANCE:
            continue
        joint = robot.joints[j]
        unit = units[bool(joint.prismatic)]
        why = " it has" if quantity == "speed" or limit[k, j] == limits.torque[j] else " that its power allows"
        raise InfeasibleError(
            f"{robot.name} cannot follow this motion even {how}: {shown(joint.name)} needs "
            f"{abs(value[k, j]):.4g} {unit} at {times[k]:.4g} s{which}, more than the {limit[k, j]:.4g} {unit}{why}; "
            "choose a slower motion (motion.scaled(2), on the command line --duration), another path or another robot",
            joint.name,
            quantity,
            float(used[k, j]),
        )


def _reached(robot: PayloadRobot, limits: _Limits, j: int, motion: Trajectory, time: float) -> tuple[str, float, str]:
    """Return the quantity, the value and the unit of the limit that a joint reaches at a time."""
    speed = abs(float(motion(time)[1][j]))
    if speed * limits.torque[j] > limits.power[j]:
        return "power", float(limits.power[j]), "W"
    return "torque", float(limits.torque[j]), "N" if robot.joints[j].prismatic else "N m"
