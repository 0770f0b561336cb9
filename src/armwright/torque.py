"""What drives a robot: torque laws, written over any scalar so that they compile together with the dynamics.

A law gives the torques of one moment (t, q, qd). Laws add up (`a + b`) and can be limited (`a.limited(...)`).
The controllers among them know a model of the robot: by default the robot that is simulated, as it is described (what
`vary` changes of it is a surprise to them), or another one given as `model`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Scalar
from armwright.chain import Chain
from armwright.errors import InputError
from armwright.formulations import find
from armwright.formulations.parts.actuators import rubbed
from armwright.model.description import Description
from armwright.trace.regroup import regrouped

MOST_PIECES = 32
"""A table with more intervals is looked up in Python: compiled, every step would compare with all of them."""


class Moment(NamedTuple):
    """When and where the torques are asked for; `chain` is the controller's model of the robot."""

    t: Scalar
    q: Sequence[Scalar]
    qd: Sequence[Scalar]
    chain: Chain


class Motion(Protocol):
    """What a law needs of a trajectory (`armwright.trajectory`)."""

    @property
    def n(self) -> int: ...
    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def knots(self) -> Sequence[float]: ...
    @property
    def traceable(self) -> bool: ...
    def trace(self, t: Any, /) -> tuple[list[Any], list[Any], list[Any]]: ...
    def __call__(self, t: Any, /) -> tuple[Any, Any, Any]: ...


class Law:
    """Base of all laws. `n` is the number of joints, None for any; `reference` the motion it is meant to produce."""

    model: Description | None = None

    def torques(self, at: Moment) -> list[Scalar]:
        """One torque per joint."""
        raise NotImplementedError

    def shared(self, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
        """The torques as what the drives give and what friction laws take: their sum is `torques`."""
        return self.torques(at), [0] * len(at.q)

    @property
    def n(self) -> int | None:
        return None

    @property
    def traceable(self) -> bool:
        """Whether it can be compiled with the dynamics; otherwise it is called from Python, step by step."""
        return True

    @property
    def span(self) -> tuple[float, float] | None:
        """The times it is defined for; None for all."""
        return None

    @property
    def reference(self) -> Motion | None:
        return None

    @property
    def exact(self) -> bool:
        """Whether the robot should follow the reference without error, as far as the model is right."""
        return False

    @property
    def parts(self) -> tuple[Law, ...]:
        return (self,)

    def __add__(self, other: Law) -> Law:
        if not isinstance(other, Law):
            return NotImplemented
        total = Sum((*self.parts, *other.parts))
        _ = total.n  # do they fit together
        return total

    def limited(self, limit: ArrayLike) -> Law:
        """The same law with every torque kept between -limit and limit (one number, or one per joint)."""
        kept = Limited(self, _numbers("limit", limit))
        _ = kept.n
        return kept


def _numbers(name: str, values: ArrayLike) -> tuple[float, ...]:
    """One number, or one per joint, all finite."""
    try:
        given = np.asarray(values)
    except (TypeError, ValueError):
        given = np.asarray("")
    if given.dtype.kind not in "fiu":
        raise InputError(f"{name} = {values!r} is not a number nor a list with one number per joint")
    array = np.atleast_1d(given.astype(float))
    if array.ndim != 1 or not array.size:
        raise InputError(f"{name} has shape {array.shape}; expected one number, or one per joint")
    if not np.isfinite(array).all():
        raise InputError(f"{name} = {array.tolist()} has a number that is not finite")
    return tuple(array.tolist())


def _common(*parameters: tuple[float, ...]) -> int | None:
    """The number of joints several parameters agree on; a single number fits any."""
    sizes = {len(p) for p in parameters if len(p) > 1}
    if len(sizes) > 1:
        raise InputError(f"parameters for {' and '.join(map(str, sorted(sizes)))} joints do not fit together")
    return sizes.pop() if sizes else None


def _each(values: tuple[float, ...], n: int) -> tuple[float, ...]:
    return values * n if len(values) == 1 else values


@dataclass(frozen=True)
class Free(Law):
    """No torque: the robot falls."""

    def torques(self, at: Moment) -> list[Scalar]:
        return [0] * len(at.q)


@dataclass(frozen=True)
class Constant(Law):
    values: tuple[float, ...]

    def torques(self, at: Moment) -> list[Scalar]:
        return list(_each(self.values, len(at.q)))

    @property
    def n(self) -> int | None:
        return _common(self.values)


def constant(values: ArrayLike) -> Constant:
    """The same torques at all times: one number, or one per joint."""
    return Constant(_numbers("values", values))


@dataclass(frozen=True)
class Table(Law):
    """Torques at given times, straight lines between them."""

    times: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]

    def torques(self, at: Moment) -> list[Scalar]:
        if isinstance(at.t, (int, float)):
            columns = zip(*self.rows, strict=True)
            return [float(np.interp(at.t, self.times, column)) for column in columns]
        return [self._traced(at.t, column) for column in zip(*self.rows, strict=True)]

    def _traced(self, t: Scalar, values: tuple[float, ...]) -> Scalar:
        result: Scalar = None
        for i in range(len(self.times) - 1):
            slope = (values[i + 1] - values[i]) / (self.times[i + 1] - self.times[i])
            line = slope * (t - self.times[i]) + values[i]
            result = line if result is None else (t - self.times[i]).select(line, result)
        return result

    @property
    def n(self) -> int:
        return len(self.rows[0])

    @property
    def traceable(self) -> bool:
        return len(self.times) <= MOST_PIECES + 1

    @property
    def span(self) -> tuple[float, float]:
        return self.times[0], self.times[-1]


def table(times: ArrayLike, torques: ArrayLike) -> Table:
    """Torques (times, n) at the given times, straight lines between them."""
    try:
        t, tau = np.asarray(times, dtype=float), np.asarray(torques, dtype=float)
    except (TypeError, ValueError):
        raise InputError("times and torques must be arrays of numbers, (k,) and (k, n)") from None
    if t.ndim != 1 or tau.ndim != 2 or len(t) != len(tau) or len(t) < 2:
        raise InputError(f"times {t.shape} and torques {tau.shape}; expected (k,) and (k, n), k at least 2")
    if not np.isfinite(t).all() or not np.isfinite(tau).all():
        raise InputError("the torque table has a number that is not finite")
    if not (np.diff(t) > 0).all():
        raise InputError(f"times must increase; entry {int(np.argmin(np.diff(t) > 0)) + 1} does not")
    return Table(tuple(t.tolist()), tuple(tuple(row) for row in tau.tolist()))


@dataclass(frozen=True)
class Function(Law):
    """Any Python function (t, q, qd) -> torques; it is called from Python at every evaluation."""

    call: Callable[[float, Any, Any], ArrayLike]

    def torques(self, at: Moment) -> list[Scalar]:
        n = len(at.q)
        given = self.call(at.t, np.asarray(at.q, dtype=float), np.asarray(at.qd, dtype=float))
        if np.asarray(given).dtype.kind not in "fiu":
            raise InputError(f"the torque function returned {given!r} at t = {at.t}; expected {n} numbers")
        result = np.asarray(given, dtype=float)
        if result.shape != (n,):
            raise InputError(f"the torque function returned shape {result.shape} at t = {at.t}; expected ({n},)")
        if not np.isfinite(result).all():
            joint = int(np.argmin(np.isfinite(result)))
            raise InputError(f"the torque function returned {result[joint]} for joint {joint + 1} at t = {at.t}")
        torques: list[Scalar] = result.tolist()
        return torques

    @property
    def traceable(self) -> bool:
        return False


@dataclass(frozen=True)
class SpringDamper(Law):
    """tau = -k (q - rest) - d qd (Grigorov 2013, equation (14); he prints the spring with a plus, which diverges)."""

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    rest: tuple[float, ...]

    def torques(self, at: Moment) -> list[Scalar]:
        n = len(at.q)
        rows = zip(_each(self.stiffness, n), _each(self.damping, n), _each(self.rest, n), at.q, at.qd, strict=True)
        return [-(k * (q - rest)) - d * qd for k, d, rest, q, qd in rows]

    @property
    def n(self) -> int | None:
        return _common(self.stiffness, self.damping, self.rest)


def spring_damper(stiffness: ArrayLike, damping: ArrayLike, rest: ArrayLike = 0.0) -> SpringDamper:
    """A spring and a damper on every joint: closed valves with compressed oil behind them, for one."""
    law = SpringDamper(_numbers("stiffness", stiffness), _numbers("damping", damping), _numbers("rest", rest))
    _ = law.n
    return law


@dataclass(frozen=True)
class Friction(Law):
    """-viscous qd - coulomb sign(qd), or with tanh(qd / smooth) in place of the sign."""

    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]
    smooth: float

    def shared(self, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
        return [0] * len(at.q), self.torques(at)

    def torques(self, at: Moment) -> list[Scalar]:
        n = len(at.q)
        rows = zip(_each(self.viscous, n), _each(self.coulomb, n), at.qd, strict=True)
        return [-rubbed(v, c, self.smooth, qd) for v, c, qd in rows]

    @property
    def n(self) -> int | None:
        return _common(self.viscous, self.coulomb)


def friction(viscous: ArrayLike = 0.0, coulomb: ArrayLike = 0.0, smooth: float = 0.0) -> Friction:
    """Friction besides what the robot has by itself. `smooth` is the speed within which Coulomb friction rounds off."""
    (rounding,) = _numbers("smooth", smooth)
    law = Friction(_numbers("viscous", viscous), _numbers("coulomb", coulomb), rounding)
    for name, values in (("viscous", law.viscous), ("coulomb", law.coulomb), ("smooth", (rounding,))):
        if min(values) < 0:
            raise InputError(f"{name} = {list(values)}: friction takes energy, so it is zero or more")
    _ = law.n
    return law


@dataclass(frozen=True)
class Target:
    """Where a controller wants to be: a fixed position, or a trajectory."""

    position: tuple[float, ...] = ()
    motion: Motion | None = None

    def at(self, t: Scalar) -> tuple[Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]]:
        if self.motion is None:
            rest = [0] * len(self.position)
            return self.position, rest, rest
        return self.motion.trace(t)

    @property
    def n(self) -> int:
        return self.motion.n if self.motion is not None else len(self.position)


def _target(value: ArrayLike | Motion) -> Target:
    if hasattr(value, "trace"):
        return Target(motion=value)  # type: ignore[arg-type]
    return Target(position=_numbers("target", value))


@dataclass(frozen=True)
class Tracking(Law):
    """Base of the laws that follow a target."""

    target: Target
    kp: tuple[float, ...] = (0.0,)
    kd: tuple[float, ...] = (0.0,)
    model: Description | None = None

    @property
    def n(self) -> int | None:
        sizes = {self.target.n, _common(self.kp, self.kd) or self.target.n}
        if len(sizes) > 1:
            raise InputError(f"gains for {max(sizes - {self.target.n})} joints and a target for {self.target.n}")
        return self.target.n

    @property
    def traceable(self) -> bool:
        return self.target.motion is None or self.target.motion.traceable

    @property
    def span(self) -> tuple[float, float] | None:
        motion = self.target.motion
        return None if motion is None else (motion.start, motion.end)

    @property
    def reference(self) -> Motion | None:
        return self.target.motion

    def known(self, at: Moment) -> Chain:
        """The robot as the controller knows it."""
        return at.chain if self.model is None else self.model.chain()

    def correction(self, at: Moment, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """kp (q_d - q) + kd (qd_d - qd)."""
        n = len(at.q)
        rows = zip(_each(self.kp, n), _each(self.kd, n), q, at.q, qd, at.qd, strict=True)
        return [kp * (a - b) + kd * (c - d) for kp, kd, a, b, c, d in rows]


class PD(Tracking):
    """Proportional and derivative feedback."""

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, _ = self.target.at(at.t)
        return self.correction(at, q, qd)


class PDGravity(Tracking):
    """PD feedback, and the torques that hold the robot against gravity where it is."""

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, _ = self.target.at(at.t)
        weight = find("gravity_torque")(regrouped(self.known(at), euler=True), list(at.q))
        return [a + b for a, b in zip(self.correction(at, q, qd), weight, strict=True)]


class ComputedTorque(Tracking):
    """Inverse dynamics at the measured state with the acceleration qdd_d + kd (qd_d - qd) + kp (q_d - q)."""

    @property
    def exact(self) -> bool:
        return self.model is None

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, qdd = self.target.at(at.t)
        wanted = [a + b for a, b in zip(qdd, self.correction(at, q, qd), strict=True)]
        return _inverse_dynamics(self.known(at), at.q, at.qd, wanted)


class FeedForward(Tracking):
    """Inverse dynamics along the target, whatever the robot does (plus PD feedback if gains are given)."""

    @property
    def exact(self) -> bool:
        return self.model is None

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, qdd = self.target.at(at.t)
        planned = _inverse_dynamics(self.known(at), q, qd, qdd)
        if not any(self.kp) and not any(self.kd):
            return planned
        return [a + b for a, b in zip(planned, self.correction(at, q, qd), strict=True)]


def _inverse_dynamics(chain: Chain, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    formulation = find("inverse_dynamics", "cartesian_tensor")
    torques: list[Scalar] = formulation(
        regrouped(chain, euler=True), list(q), list(qd), list(qdd), loads=chain.wrenches()
    )
    return torques


def _tracking(
    kind: type[Tracking], target: ArrayLike | Motion, kp: ArrayLike, kd: ArrayLike, model: Description | None
) -> Any:
    if model is not None and not isinstance(model, Description):
        raise InputError(f"model = {model!r}: expected a Robot, such as armwright.load('puma560')")
    law = kind(_target(target), _numbers("kp", kp), _numbers("kd", kd), model)
    if model is not None and model.n != law.n:
        raise InputError(f"the model has {model.n} joints, the target {law.n}")
    _ = law.n  # do the sizes fit
    return law


def pd(target: ArrayLike | Motion, kp: ArrayLike, kd: ArrayLike) -> PD:
    """kp (q_d - q) + kd (qd_d - qd) for a position or a trajectory."""
    law: PD = _tracking(PD, target, kp, kd, None)
    return law


def pd_gravity(target: ArrayLike | Motion, kp: ArrayLike, kd: ArrayLike, model: Description | None = None) -> PDGravity:
    """PD feedback with gravity compensated."""
    law: PDGravity = _tracking(PDGravity, target, kp, kd, model)
    return law


def computed_torque(
    trajectory: ArrayLike | Motion, kp: ArrayLike, kd: ArrayLike, model: Description | None = None
) -> ComputedTorque:
    """Feedback linearisation: the error obeys e'' + kd e' + kp e = 0 if the model is right."""
    law: ComputedTorque = _tracking(ComputedTorque, trajectory, kp, kd, model)
    return law


def feed_forward(
    trajectory: ArrayLike | Motion, kp: ArrayLike = 0.0, kd: ArrayLike = 0.0, model: Description | None = None
) -> FeedForward:
    """The torques of inverse dynamics along a trajectory; with gains, PD feedback besides."""
    law: FeedForward = _tracking(FeedForward, trajectory, kp, kd, model)
    return law


@dataclass(frozen=True)
class Limited(Law):
    """Another law, each torque kept between -limit and limit."""

    law: Law
    limit: tuple[float, ...]

    def torques(self, at: Moment) -> list[Scalar]:
        limits = _each(self.limit, len(at.q))
        return [_clipped(tau, limit) for tau, limit in zip(self.law.torques(at), limits, strict=True)]

    def __post_init__(self) -> None:
        if min(self.limit) < 0:
            raise InputError(f"limit = {list(self.limit)}: a torque limit is zero or more")

    @property
    def n(self) -> int | None:
        sizes = {size for size in (self.law.n, _common(self.limit)) if size is not None}
        if len(sizes) > 1:
            raise InputError(f"a law for {self.law.n} joints and limits for {_common(self.limit)}")
        return sizes.pop() if sizes else None

    @property
    def traceable(self) -> bool:
        return self.law.traceable

    @property
    def span(self) -> tuple[float, float] | None:
        return self.law.span

    @property
    def reference(self) -> Motion | None:
        return self.law.reference


def _clipped(x: Scalar, limit: float) -> Scalar:
    if hasattr(x, "minimum"):
        return x.minimum(limit).maximum(-limit)
    return min(max(x, -limit), limit)


@dataclass(frozen=True)
class Sum(Law):
    """Several laws at once."""

    laws: tuple[Law, ...]

    def torques(self, at: Moment) -> list[Scalar]:
        return [sum(column, start=0) for column in zip(*(law.torques(at) for law in self.laws), strict=True)]

    def shared(self, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
        parts = [law.shared(at) for law in self.laws]
        drive = [sum(column, start=0) for column in zip(*(part[0] for part in parts), strict=True)]
        drag = [sum(column, start=0) for column in zip(*(part[1] for part in parts), strict=True)]
        return drive, drag

    @property
    def parts(self) -> tuple[Law, ...]:
        return self.laws

    @property
    def n(self) -> int | None:
        sizes = {law.n for law in self.laws if law.n is not None}
        if len(sizes) > 1:
            raise InputError(f"laws for {' and '.join(map(str, sorted(sizes)))} joints cannot be added")
        return sizes.pop() if sizes else None

    @property
    def traceable(self) -> bool:
        return all(law.traceable for law in self.laws)

    @property
    def span(self) -> tuple[float, float] | None:
        spans = [law.span for law in self.laws if law.span is not None]
        return (max(a for a, _ in spans), min(b for _, b in spans)) if spans else None

    @property
    def reference(self) -> Motion | None:
        return next((law.reference for law in self.laws if law.reference is not None), None)


def as_law(torque: Any, n: int) -> Law:
    """None (free), numbers, a law or a Python function as a law for n joints."""
    if torque is None:
        return Free()
    if isinstance(torque, Law):
        law: Law = torque
    elif hasattr(torque, "trace"):
        raise InputError(
            "torque is a trajectory, which says where to be, not how to get there; use "
            "torque.computed_torque(trajectory, kp, kd) or torque.feed_forward(trajectory)"
        )
    elif callable(torque):
        law = Function(torque)
    else:
        law = constant(torque)
    if law.n not in (None, n):
        raise InputError(f"the torque law is for {law.n} joints; the robot has {n}")
    return law
