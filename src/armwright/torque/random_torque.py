"""Random torques that are constant over intervals of time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

from armwright.algebra import Scalar
from armwright.draws import Draw, DrawnColumn
from armwright.errors import InputError
from armwright.torque.law import Law
from armwright.torque.moment import Moment


@dataclass(frozen=True)
class Noise(Law):
    """A random torque for each joint; compiled rollouts put the present values into `now`.

    As a field of another law it has as many numbers as `draw`, or one for each freedom.
    """

    draw: Draw
    now: tuple[DrawnColumn, ...] = field(default=(), repr=False)

    def torques(self, at: Moment) -> list[Scalar]:
        if not self.now or any(isinstance(x, DrawnColumn) for x in self.now):
            raise InputError(NOISE_ERROR)
        return list(self.now)

    @property
    def n(self) -> int | None:
        return self.draw.size

    def sized(self, n: int) -> Law:
        return replace(self, now=self.draw.columns("the noise of the torques", self.draw.size or n))


NOISE_ERROR = (
    "only compiled rollouts draw noise; expected laws and events that compile and a Runge-Kutta method, or no noise"
)


def noise(draw: Draw, hold: float | None = None) -> Noise:
    """Return random torques, such as `noise(aw.draws(seed=1).normal(0, 0.5), hold=0.01)`: one, or one per joint.

    Each joint of each rollout draws new numbers every `hold` seconds from its start; without `hold`, once. They depend
    only on the seed, the joint, the number of the rollout and that of the interval, counted from time zero; `simulate`
    is rollout 0. Two laws of noise need two seeds.
    """
    if not isinstance(draw, Draw):
        raise InputError(f"noise of {draw!r}; expected a distribution, such as armwright.draws(seed=1).normal(0, 0.5)")
    return Noise(replace(draw, hold=0.0 if hold is None else _seconds(hold)))


def _seconds(hold: Any) -> float:
    if isinstance(hold, bool) or not isinstance(hold, Real) or not MIN_HOLD <= float(hold) < math.inf:
        raise InputError(f"hold = {hold!r}: expected seconds, {MIN_HOLD:g} or more")
    return float(hold)


MIN_HOLD = 1e-9
