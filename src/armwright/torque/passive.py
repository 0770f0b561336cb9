"""Laws without a drive: springs, dampers, friction and stops."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Scalar
from armwright.errors import InputError
from armwright.formulations import find_formulation
from armwright.formulations.parts.rotors_and_friction import friction_at
from armwright.manifold import difference
from armwright.model.description import Description
from armwright.model.records import JointModel
from armwright.torque.law import Law, numbers, per_freedom, smallest
from armwright.torque.moment import Moment


@dataclass(frozen=True)
class SpringDamper(Law):
    """tau = -k (q - rest) - d qd: Grigorov 2013, equation (14), with the sign of the spring corrected."""

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    rest: tuple[float, ...]
    per_joint = ("stiffness", "damping")
    per_entry = ("rest",)

    def check(self, robot: Description) -> None:
        for ball in robot.balls if self.rest != (0.0,) and len(self.rest) == 1 else ():
            raise InputError(
                f"rest = {self.rest[0]:g} for all joints has no meaning for a {ball.kind} joint; give all {robot.nq} "
                "entries of q, such as robot.neutral"
            )

    def torques(self, at: Moment) -> list[Scalar]:
        deflection = difference(at.mechanism.balls, self._at_rest(at), at.q)
        rows = zip(per_freedom(self.stiffness, at.n), per_freedom(self.damping, at.n), deflection, at.qd, strict=True)
        return [-(k * x) - d * qd for k, d, x, qd in rows]

    def _at_rest(self, at: Moment) -> list[Scalar]:
        """Return q at rest. One number is for all joints; for a quaternion it must be zero, no rotation."""
        rest: list[Scalar] = list(per_freedom(self.rest, len(at.q)))
        if len(self.rest) > 1:
            return rest
        for ball in at.mechanism.balls:
            rest[ball.unit_vector.start if ball.kind == "planar" else ball.unit_vector.stop - 1] = 1.0
        return rest


def spring_damper(stiffness: ArrayLike, damping: ArrayLike, rest: ArrayLike = 0.0) -> SpringDamper:
    """Return a spring and a damper on every joint."""
    return SpringDamper(numbers("stiffness", stiffness), numbers("damping", damping), numbers("rest", rest))


@dataclass(frozen=True)
class Friction(Law):
    """-viscous qd - coulomb sign(qd), or with tanh(qd / smooth) in place of the sign."""

    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]
    smooth: float
    per_joint = ("viscous", "coulomb")
    forked = ("smooth",)

    def shared(self, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
        return [0] * at.n, self.torques(at)

    def torques(self, at: Moment) -> list[Scalar]:
        rows = zip(per_freedom(self.viscous, at.n), per_freedom(self.coulomb, at.n), at.qd, strict=True)
        return [-friction_at(v, c, self.smooth, qd) for v, c, qd in rows]


def friction(viscous: ArrayLike = 0.0, coulomb: ArrayLike = 0.0, smooth: float = 0.0) -> Friction:
    """Return friction in addition to the robot's. `smooth` is the speed below which Coulomb friction is smoothed."""
    rounding, *more = numbers("smooth", smooth)
    if more:
        raise InputError(f"smooth = {smooth!r}: expected one speed for all joints")
    law = Friction(numbers("viscous", viscous), numbers("coulomb", coulomb), rounding)
    for name, values in (("viscous", law.viscous), ("coulomb", law.coulomb), ("smooth", (rounding,))):
        if smallest(values) < 0:
            raise InputError(f"{name} = {list(values)}: friction takes energy, so it is zero or more")
    return law


def reversed_limits_message(joint: JointModel) -> str:
    """Return the error for limits whose lower one is not below the upper."""
    low, high = joint.limits or (0.0, 0.0)
    return (
        f"the limits of {joint.name} are {low:g} to {high:g}, in reverse; expected the lower one first, such as "
        f"with_limits({{{joint.name!r}: ({high:g}, {low:g})}})"
    )


STOP_FREQUENCY = 2 * math.pi * 40
"""Natural frequency, rad/s, of a free joint in a stop of the default stiffness."""

STOP_DEFLECTION = 0.01
"""Largest deflection, rad or m, of a stop under the largest torque of the drive."""


@dataclass(frozen=True)
class Stops(Law):
    """Stops at the limits of joints, which push back with k d (1 + c v) at depth d and speed v inward, and never pull.

    Hunt and Crossley 1975: the force starts at zero at any speed, and faster impacts dissipate more energy. `joints`
    are the freedoms that have limits, `places` their entries of q.
    """

    joints: tuple[int, ...]
    places: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]

    def check(self, robot: Description) -> None:
        if any(j >= robot.n or robot.joints[j].limits is None for j in self.joints):
            raise InputError(f"these stops are not those of {robot.name}; expected torque.stops(robot) of the same one")

    def shared(self, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
        return [0] * at.n, self.torques(at)

    def torques(self, at: Moment) -> list[Scalar]:
        torques: list[Scalar] = [0] * at.n
        rows = zip(self.joints, self.places, self.lower, self.upper, self.stiffness, self.damping, strict=True)
        for joint, place, low, high, k, c in rows:
            q, damping = at.q[place], c * at.qd[joint]
            push = k * _positive_part(low - q) * _positive_part(1.0 - damping)
            torques[joint] = push - k * _positive_part(q - high) * _positive_part(1.0 + damping)
        return torques


def _positive_part(x: Scalar) -> Scalar:
    """Return max(x, 0)."""
    return x.maximum(0.0) if hasattr(x, "maximum") else max(x, 0.0)


def stops(robot: Description, stiffness: ArrayLike | None = None, damping: ArrayLike = 1.0) -> Stops:
    """Return stops at the limits of all joints that have some.

    stiffness  N m/rad or N/m, one number or one for each joint of the robot; by default such that the natural frequency
               of a joint in its stop is at least 40 Hz, and the largest deflection under its drive 0.01 rad or m
    damping    relative increase of the force per rad/s or m/s of impact speed: with 1.0, an impact at 1 rad/s loses
               about half of the speed
    """
    joints = tuple(i for i, joint in enumerate(robot.joints) if joint.limits is not None)
    if not joints:
        raise InputError(f"no joint of {robot.name} has limits; expected at least one, for a stop")
    for low, high, joint in ((*(robot.joints[i].limits or (0, 0)), robot.joints[i]) for i in joints):
        if not low <= high:
            raise InputError(f"torque.stops: {reversed_limits_message(joint)}")
    arguments = {"stiffness": _stiffness(robot) if stiffness is None else stiffness, "damping": damping}
    listed = {}
    for name, argument in arguments.items():
        values = numbers(name, argument)
        if len(values) not in (1, robot.n):
            raise InputError(f"{name} has {len(values)} numbers; expected one, or one for each of {robot.n} joints")
        if smallest(values) < 0 or (name == "stiffness" and smallest(values) == 0):
            raise InputError(f"{name} = {list(values)}: a stop pushes back, so it is above zero")
        listed[name] = tuple(per_freedom(values, robot.n)[i] for i in joints)
    lower, upper = zip(*(map(float, robot.joints[i].limits or (0, 0)) for i in joints), strict=True)
    return Stops(joints, tuple(robot.entries[i] for i in joints), lower, upper, listed["stiffness"], listed["damping"])


def _stiffness(robot: Description) -> list[float]:
    M = np.array(find_formulation("mass_matrix")(robot.mechanism(), robot.neutral.tolist()), dtype=float)
    free_inertias = 1 / np.diag(np.linalg.inv(M))
    for_torque = [(joint.max_torque or 0.0) / STOP_DEFLECTION for joint in robot.joints]
    return [max(float(m) * STOP_FREQUENCY**2, k) for m, k in zip(free_inertias, for_torque, strict=True)]
