"""What springs, dampers and friction do, whatever the drives want."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from armwright.algebra import Scalar
from armwright.errors import InputError
from armwright.formulations.parts.actuators import rubbed
from armwright.torque.law import Law, Moment, each, numbers


@dataclass(frozen=True)
class SpringDamper(Law):
    """tau = -k (q - rest) - d qd (Grigorov 2013, equation (14); he prints the spring with a plus, which diverges)."""

    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    rest: tuple[float, ...]
    per_joint = ("stiffness", "damping", "rest")

    def torques(self, at: Moment) -> list[Scalar]:
        n = len(at.q)
        rows = zip(each(self.stiffness, n), each(self.damping, n), each(self.rest, n), at.q, at.qd, strict=True)
        return [-(k * (q - rest)) - d * qd for k, d, rest, q, qd in rows]


def spring_damper(stiffness: ArrayLike, damping: ArrayLike, rest: ArrayLike = 0.0) -> SpringDamper:
    """A spring and a damper on every joint: closed valves with compressed oil behind them, for one."""
    return SpringDamper(numbers("stiffness", stiffness), numbers("damping", damping), numbers("rest", rest))


@dataclass(frozen=True)
class Friction(Law):
    """-viscous qd - coulomb sign(qd), or with tanh(qd / smooth) in place of the sign."""

    viscous: tuple[float, ...]
    coulomb: tuple[float, ...]
    smooth: float
    per_joint = ("viscous", "coulomb")

    def shared(self, at: Moment) -> tuple[list[Scalar], list[Scalar]]:
        return [0] * len(at.q), self.torques(at)

    def torques(self, at: Moment) -> list[Scalar]:
        n = len(at.q)
        rows = zip(each(self.viscous, n), each(self.coulomb, n), at.qd, strict=True)
        return [-rubbed(v, c, self.smooth, qd) for v, c, qd in rows]


def friction(viscous: ArrayLike = 0.0, coulomb: ArrayLike = 0.0, smooth: float = 0.0) -> Friction:
    """Friction besides what the robot has by itself. `smooth` is the speed within which Coulomb friction rounds off."""
    rounding, *more = numbers("smooth", smooth)
    if more:
        raise InputError(f"smooth = {smooth!r}: expected one speed for all joints")
    law = Friction(numbers("viscous", viscous), numbers("coulomb", coulomb), rounding)
    for name, values in (("viscous", law.viscous), ("coulomb", law.coulomb), ("smooth", (rounding,))):
        if min(values) < 0:
            raise InputError(f"{name} = {list(values)}: friction takes energy, so it is zero or more")
    return law
