"""Controllers that follow a position or a trajectory.

They compute with a model of the robot: `model`, or by default the simulated robot without the changes of `vary`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from numpy.typing import ArrayLike

from armwright.algebra import Scalar, vanishes
from armwright.errors import InputError
from armwright.formulations import find_formulation
from armwright.graph.expression import Expr, Graph
from armwright.layout import IMPULSE
from armwright.mechanism import Mechanism
from armwright.model.description import Description
from armwright.torque.law import Law, Reference, numbers, per_freedom, with_model_of
from armwright.torque.moment import Moment
from armwright.trace.regroup import regrouped
from armwright.trajectory import Trajectory
from armwright.trajectory.motion_base import OneFormula, Traced


@dataclass(frozen=True)
class TrackingTarget:
    """The target of a controller: a fixed position, or a trajectory."""

    position: tuple[float, ...] = ()
    motion: Reference | None = None

    def at(self, at: Moment) -> tuple[Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]]:
        if self.motion is None:
            rest = [0] * at.n
            return self.position, rest, rest
        return self.motion.trace(at.t)

    @property
    def n(self) -> int:
        return self.motion.n if self.motion is not None else len(self.position)


@dataclass(frozen=True, repr=False)
class ReferenceInputs(OneFormula):
    """A motion whose q, qd and qdd are inputs of the program at every moment."""

    joints: int

    @property
    def n(self) -> int:
        return self.joints

    def inputs(self, graph: Graph) -> list[Expr]:
        """Return q, then qd, then qdd."""
        return [graph.input(f"reference{k + 1}") for k in range(3 * self.n)]

    def trace(self, t: Scalar) -> Traced:
        inputs, n = self.inputs(t.graph), self.n
        return inputs[:n], inputs[n : 2 * n], inputs[2 * n :]


def with_reference_inputs(law: Law) -> Law | None:
    """Return the law with its motion as program inputs if that makes it compile; None otherwise."""
    motions = {id(motion): motion for motion in _motions(law)}
    if len(motions) != 1:
        return None
    (motion,) = motions.values()
    law = law.following(ReferenceInputs((-math.inf, math.inf), motion.n))
    return law if law.traceable else None


def _motions(law: Law) -> Iterator[Reference]:
    if isinstance(law, Tracking) and law.target.motion is not None:
        yield law.target.motion
    for part in law.made_of:
        yield from _motions(part)


def _tracking_target(value: ArrayLike | Reference) -> TrackingTarget:
    if isinstance(value, Trajectory):
        return TrackingTarget(motion=value)
    return TrackingTarget(position=numbers("target", value))


@dataclass(frozen=True)
class Tracking(Law):
    """Base of the laws that follow a target."""

    target: TrackingTarget
    kp: tuple[float, ...] = (0.0,)
    kd: tuple[float, ...] = (0.0,)
    model: Description | None = None
    per_joint: ClassVar[tuple[str, ...]] = ("kp", "kd")

    @property
    def n(self) -> int | None:
        """The number of freedoms, from the gains and the motion."""
        gains = super().n
        if self.target.motion is None:
            return gains
        if gains not in (None, self.target.n):
            raise InputError(self.misfit(gains or 0, self.target.n))
        return self.target.n

    @property
    def nq(self) -> int | None:
        return self.target.n

    def misfit(self, n: int, nq: int) -> str:
        message = f"gains for {n} joints and a target for {nq}; expected one gain, or one per freedom: {nq}"
        fewer = f", or one fewer for each ball, free or planar joint: {nq - 1} where the base floats"
        return message + fewer if nq > IMPULSE else message

    @property
    def positions(self) -> dict[str, tuple[float, ...]]:
        return {} if self.target.motion is not None else {"target": self.target.position}

    @property
    def traceable(self) -> bool:
        return self.target.motion is None or self.target.motion.traceable

    @property
    def span(self) -> tuple[float, float] | None:
        motion = self.target.motion
        return None if motion is None else (motion.start, motion.end)

    @property
    def reference(self) -> Reference | None:
        return self.target.motion

    def following(self, reference: Reference) -> Tracking:
        return self if self.target.motion is None else replace(self, target=TrackingTarget(motion=reference))

    def known(self, at: Moment) -> Mechanism:
        """Return the controller's model of the robot."""
        return with_model_of(self, at).mechanism

    def correction(self, at: Moment, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return kp (q_d - q) + kd (qd_d - qd)."""
        rows = zip(
            per_freedom(self.kp, at.n), per_freedom(self.kd, at.n), at.displacement_to(q), qd, at.qd, strict=True
        )
        return [kp * error + kd * (a - b) for kp, kd, error, a, b in rows]


class PD(Tracking):
    """Proportional and derivative feedback."""

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, _ = self.target.at(at)
        return self.correction(at, q, qd)


@dataclass(frozen=True)
class PID(Tracking):
    """PD feedback, and ki times the integral of the error, which is the memory of the law."""

    ki: tuple[float, ...] = (0.0,)
    per_joint = ("kp", "kd", "ki")

    def start(self, n: int) -> tuple[float, ...]:
        return (0.0,) * n

    def rates(self, at: Moment) -> list[Scalar]:
        q, _, _ = self.target.at(at)
        return at.displacement_to(q)

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, _ = self.target.at(at)
        rows = zip(self.correction(at, q, qd), per_freedom(self.ki, at.n), at.memory, strict=True)
        return [pd + ki * integral for pd, ki, integral in rows]


class PDGravity(Tracking):
    """PD feedback, and the torques that hold the robot against gravity where it is."""

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, _ = self.target.at(at)
        weight = find_formulation("gravity_torque")(regrouped(self.known(at), euler=True), list(at.q))
        return [a + b for a, b in zip(self.correction(at, q, qd), weight, strict=True)]


class InverseDynamicsLaw(Tracking):
    """Base of the laws that compute torques from accelerations by their model."""

    @property
    def exact(self) -> bool:
        return self.model is None

    def moving(self, at: Moment, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
        mechanism = self.known(at)
        state = (list(q), list(qd), list(qdd))
        formulation = find_formulation("inverse_dynamics", "cartesian_tensor")
        torques: list[Scalar] = formulation(regrouped(mechanism, euler=True), *state, loads=mechanism.wrenches())
        return torques


class ComputedTorque(InverseDynamicsLaw):
    """Inverse dynamics at the measured state with the acceleration qdd_d + kd (qd_d - qd) + kp (q_d - q)."""

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, qdd = self.target.at(at)
        acceleration = [a + b for a, b in zip(qdd, self.correction(at, q, qd), strict=True)]
        return self.moving(at, at.q, at.qd, acceleration)


class FeedForward(InverseDynamicsLaw):
    """Inverse dynamics along the target, plus PD feedback with gains."""

    def torques(self, at: Moment) -> list[Scalar]:
        q, qd, qdd = self.target.at(at)
        planned = self.moving(at, q, qd, qdd)
        if all(map(vanishes, (*self.kp, *self.kd))):
            return planned
        return [a + b for a, b in zip(planned, self.correction(at, q, qd), strict=True)]


TrackingType = TypeVar("TrackingType", bound=Tracking)


def tracking_law(
    kind: type[TrackingType],
    target: ArrayLike | Reference,
    kp: ArrayLike = 0.0,
    kd: ArrayLike = 0.0,
    model: Description | None = None,
    **gains: ArrayLike,
) -> TrackingType:
    """Return a law of this class with checked target and gains."""
    if model is not None and not isinstance(model, Description):
        raise InputError(f"model = {model!r}: expected a Robot, such as armwright.load('puma560')")
    others = {name: numbers(name, values) for name, values in gains.items()}
    law = kind(_tracking_target(target), numbers("kp", kp), numbers("kd", kd), model, **others)
    if model is not None and (model.nq != law.nq or law.n not in (None, model.n)):
        raise InputError(f"the model has {model.nq} joints, the target {law.nq}")
    return law


def pd(target: ArrayLike | Reference, kp: ArrayLike, kd: ArrayLike) -> PD:
    """Return the law kp (q_d - q) + kd (qd_d - qd) for a position or a trajectory."""
    return tracking_law(PD, target, kp, kd)


def pid(target: ArrayLike | Reference, kp: ArrayLike, ki: ArrayLike, kd: ArrayLike) -> PID:
    """Return PD feedback and ki times the integral of q_d - q from zero; torque limits do not limit the integral."""
    return tracking_law(PID, target, kp, kd, ki=ki)


def pd_gravity(
    target: ArrayLike | Reference, kp: ArrayLike, kd: ArrayLike, model: Description | None = None
) -> PDGravity:
    """Return PD feedback with gravity compensation."""
    return tracking_law(PDGravity, target, kp, kd, model)


def computed_torque(
    trajectory: ArrayLike | Reference, kp: ArrayLike, kd: ArrayLike, model: Description | None = None
) -> ComputedTorque:
    """Return feedback linearisation: the error obeys e'' + kd e' + kp e = 0 if the model is right."""
    return tracking_law(ComputedTorque, trajectory, kp, kd, model)


def feed_forward(
    trajectory: ArrayLike | Reference, kp: ArrayLike = 0.0, kd: ArrayLike = 0.0, model: Description | None = None
) -> FeedForward:
    """Return the torques of inverse dynamics along a trajectory, and PD feedback with gains."""
    return tracking_law(FeedForward, trajectory, kp, kd, model)
