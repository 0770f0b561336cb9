"""Gauges: numbers of which compiled code keeps the largest, the integral over time or the last value, without records.

A gauge is an expression of time, state and torques: one number for each freedom, or one for the motion. It is evaluated
at the start of a motion and at its records; integrals use the trapezoidal rule between records. Hits of stops
(`stop_hits`) are evaluated in every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from armwright.algebra import Array, Scalar, dot, maximum, select
from armwright.errors import InputError
from armwright.graph.expression import Expr, Graph
from armwright.simulation.stop_hits import HIT_STARTS, NEVER, StopHits, hits_in_step
from armwright.torque import Law, Moment
from armwright.torque.runtime_parameters import Structure

__all__ = ["REDUCTIONS", "Gauge", "GaugeRequest", "GaugeStructure", "GaugedMoment"]

REDUCTIONS = ("largest", "integral", "last")
"""The reductions of gauges over a motion, in the order of the totals."""


class Gauge:
    """A number of a moment and its reduction over a motion. Two gauges are equal only if they are the same object.

    name       its name in error messages
    reduction  "largest", "integral" (over time) or "last"
    formula    function of a `GaugedMoment` that returns one number for each freedom, or [one] for the motion
    per_joint  True for one number per freedom, False for one per motion
    needs      "target" if the law must follow a motion or a target, "goal" if also its end is used
    """

    def __init__(
        self,
        name: str,
        reduction: str,
        formula: Callable[[GaugedMoment], Sequence[Scalar]],
        per_joint: bool = True,
        needs: str = "",
    ) -> None:
        if reduction not in REDUCTIONS:
            raise InputError(f"reduction = {reduction!r} of gauge {name!r}: expected one of {', '.join(REDUCTIONS)}")
        if not callable(formula):
            raise InputError(f"formula = {formula!r} of gauge {name!r}: expected a function of a GaugedMoment")
        self.name, self.reduction, self.formula = name, reduction, formula
        self.per_joint, self.needs = per_joint, needs

    def __repr__(self) -> str:
        return f"<gauge: {self.reduction} {self.name}>"

    def size(self, n: int) -> int:
        """Return the number of entries for n freedoms."""
        return n if self.per_joint else 1

    def expressions(self, moment: GaugedMoment, graph: Graph) -> list[Expr]:
        """Return the numbers as expressions of a graph; raise an InputError if their count is wrong."""
        values = [graph.lift(x) for x in self.formula(moment)]
        if len(values) != (size := self.size(moment.at.n)):
            raise InputError(f"gauge {self.name!r} gives {len(values)} numbers; expected {size}")
        return values


@dataclass(frozen=True)
class GaugeRequest:
    """The gauges of a motion, sorted by reduction. `goal` (entries of q) and `within` are runtime parameters."""

    gauges: tuple[Gauge, ...] = ()
    goal: tuple[float, ...] = ()
    within: tuple[float, ...] = ()
    stop_hits: bool = False
    """True to record hits of stops, too; their numbers come last."""

    @classmethod
    def of(cls, gauges: Iterable[Gauge], stop_hits: bool = False) -> GaugeRequest:
        """Return a request of each gauge once, built-in ones first within a reduction."""
        places = {gauge: k for k, gauge in enumerate(BUILT_IN_GAUGES)}
        ranked = sorted(dict.fromkeys(gauges), key=lambda gauge: places.get(gauge, len(places)))
        return cls(tuple(sorted(ranked, key=lambda gauge: REDUCTIONS.index(gauge.reduction))), stop_hits=stop_hits)

    def __bool__(self) -> bool:
        return bool(self.gauges) or self.stop_hits

    @property
    def uses_goal(self) -> bool:
        return any(gauge.needs == "goal" for gauge in self.gauges)

    def count(self, n: int, reduction: str) -> int:
        """Return the number of entries with this reduction, without those of stops."""
        return sum(gauge.size(n) for gauge in self.gauges if gauge.reduction == reduction)

    def initial_totals(self, n: int) -> Array:
        """Return the totals before the first evaluation (numbers,)."""
        starts = [NEVER if g.reduction == "largest" else 0.0 for g in self.gauges for _ in range(g.size(n))]
        return np.array([*starts, *(x for x in HIT_STARTS.values() if self.stop_hits for _ in range(n))])

    def split(self, n: int, totals: Array) -> dict[Gauge, Array]:
        """Return the totals of each gauge (rollouts, freedoms or 1), from all totals (numbers, rollouts)."""
        ends = np.cumsum([0, *(gauge.size(n) for gauge in self.gauges)])
        return {gauge: totals[ends[k] : ends[k + 1]].T for k, gauge in enumerate(self.gauges)}

    def hits(self, n: int, totals: Array) -> StopHits | None:
        """Return the hits of stops (rollouts, freedoms), from all totals (numbers, rollouts); None without stops."""
        if not self.stop_hits:
            return None
        parts = np.split(totals[len(totals) - len(HIT_STARTS) * n :], len(HIT_STARTS))
        return StopHits.of({name: part.T for name, part in zip(HIT_STARTS, parts, strict=True)})

    def record_expressions(self, moment: GaugedMoment, graph: Graph) -> list[Expr]:
        """Return the expressions that are evaluated at records."""
        return [x for gauge in self.gauges for x in gauge.expressions(moment, graph)]

    def step_expressions(self, graph: Graph, start: Moment, end: Moment, law: Law) -> list[Expr]:
        """Return the expressions that are evaluated in every step, from its start and end."""
        hits = hits_in_step(law, start, end) if self.stop_hits else {}
        return [graph.lift(x) for values in hits.values() for x in values]


GaugeStructure: TypeAlias = "Structure[GaugeRequest]"
"""The gauges of a motion without their runtime parameters."""


class GaugedMoment(NamedTuple):
    """A moment `at` (t, q, qd, memory, `compute`), the torques of the drives there, and the law behind them."""

    at: Moment
    torque: Sequence[Scalar]
    law: Law
    request: GaugeRequest

    @property
    def power(self) -> list[Scalar]:
        """The power of each drive, W."""
        return [tau * speed for tau, speed in zip(self.torque, self.at.qd, strict=True)]

    @property
    def error(self) -> list[Scalar]:
        """The displacement of each freedom to the motion or target of the law."""
        motion = self.law.reference
        q = self.law.positions["target"] if motion is None else motion.trace(self.at.t)[0]
        return self.at.displacement_to(q)

    @property
    def goal_error(self) -> list[Scalar]:
        """The displacement of each freedom to the end of the motion of the law, or to its target."""
        return self.error if self.law.reference is None else self.at.displacement_to(self.request.goal)

    @property
    def time_outside_goal(self) -> list[Scalar]:
        """The time if a freedom is farther from its goal than `within`, else `NEVER`."""
        (within,) = self.request.within
        return [select(x * x - within * within, self.at.t, NEVER) for x in self.goal_error]

    @property
    def time_if_finite(self) -> list[Scalar]:
        """The time if the state is finite, else `NEVER`."""
        state = [*self.at.q, *self.at.qd]
        return [select(1 / (1 + dot(state, state)), self.at.t, NEVER)]


def absolute(values: Sequence[Scalar]) -> list[Scalar]:
    """Return the absolute values of expressions."""
    return [maximum(x, -x) for x in values]


def squares(values: Sequence[Scalar]) -> list[Scalar]:
    """Return the squares of expressions."""
    return [x * x for x in values]


PEAK_TORQUE = Gauge("torque", "largest", lambda x: absolute(x.torque))
PEAK_SPEED = Gauge("speed", "largest", lambda x: absolute(x.at.qd))
PEAK_POWER = Gauge("power", "largest", lambda x: absolute(x.power))
PEAK_ERROR = Gauge("error", "largest", lambda x: absolute(x.error), needs="target")
BEFORE_GOAL = Gauge("distance before the goal", "largest", lambda x: x.goal_error, needs="goal")
BEYOND_GOAL = Gauge("distance beyond the goal", "largest", lambda x: [-e for e in x.goal_error], needs="goal")
LAST_OUTSIDE_GOAL = Gauge("last time outside the goal", "largest", lambda x: x.time_outside_goal, needs="goal")
LAST_FINITE = Gauge("last time with a finite state", "largest", lambda x: x.time_if_finite, per_joint=False)
SQUARED_TORQUE = Gauge("torque squared", "integral", lambda x: squares(x.torque))
SQUARED_SPEED = Gauge("speed squared", "integral", lambda x: squares(x.at.qd))
SQUARED_POWER = Gauge("power squared", "integral", lambda x: squares(x.power))
SQUARED_ERROR = Gauge("error squared", "integral", lambda x: squares(x.error), needs="target")
NET_WORK = Gauge("work", "integral", lambda x: x.power)
SUPPLIED_ENERGY = Gauge("supplied energy", "integral", lambda x: [maximum(power, 0) for power in x.power])
FINAL_ERROR = Gauge("final error", "last", lambda x: absolute(x.error), needs="target")

BUILT_IN_GAUGES = (
    PEAK_TORQUE, PEAK_SPEED, PEAK_POWER, PEAK_ERROR, BEFORE_GOAL, BEYOND_GOAL, LAST_OUTSIDE_GOAL, LAST_FINITE,
    SQUARED_TORQUE, SQUARED_SPEED, SQUARED_POWER, SQUARED_ERROR, NET_WORK, SUPPLIED_ENERGY, FINAL_ERROR,
)  # fmt: skip
"""The gauges of armwright, in the order in which they are computed."""
