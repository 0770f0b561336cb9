"""What springs, dampers and friction do, whatever the drives want."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from armwright.algebra import Scalar
from armwright.errors import InputError
from armwright.formulations.parts.actuators import rubbed
from armwright.manifold import difference
from armwright.model.description import Description
from armwright.torque.law import Law, Moment, each, least, numbers


@dataclass(frozen=True)
class SpringDamper(Law):
    """tau = -k (q - rest) - d qd (Grigorov 2013, equation (14); he prints the spring with a plus, which diverges)."""

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
        stretched = difference(at.mechanism.balls, self._at_rest(at), at.q)
        rows = zip(each(self.stiffness, at.n), each(self.damping, at.n), stretched, at.qd, strict=True)
        return [-(k * x) - d * qd for k, d, x, qd in rows]

    def _at_rest(self, at: Moment) -> list[Scalar]:
        """One number is for all joints; a quaternion it can only be if it is zero, for no rotation."""
        rest: list[Scalar] = list(each(self.rest, len(at.q)))
        if len(self.rest) > 1:
            return rest
        for ball in at.mechanism.balls:
            rest[ball.circle.start if ball.kind == "planar" else ball.circle.stop - 1] = 1.0
        return rest


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
        return [0] * at.n, self.torques(at)

    def torques(self, at: Moment) -> list[Scalar]:
        rows = zip(each(self.viscous, at.n), each(self.coulomb, at.n), at.qd, strict=True)
        return [-rubbed(v, c, self.smooth, qd) for v, c, qd in rows]


def friction(viscous: ArrayLike = 0.0, coulomb: ArrayLike = 0.0, smooth: float = 0.0) -> Friction:
    """Friction besides what the robot has by itself. `smooth` is the speed within which Coulomb friction rounds off."""
    rounding, *more = numbers("smooth", smooth)
    if more:
        raise InputError(f"smooth = {smooth!r}: expected one speed for all joints")
    law = Friction(numbers("viscous", viscous), numbers("coulomb", coulomb), rounding)
    for name, values in (("viscous", law.viscous), ("coulomb", law.coulomb), ("smooth", (rounding,))):
        if least(values) < 0:
            raise InputError(f"{name} = {list(values)}: friction takes energy, so it is zero or more")
    return law
