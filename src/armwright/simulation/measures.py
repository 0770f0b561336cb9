"""What can be measured of many motions while they go on: largest torques, energies, errors, without keeping histories.

A gauge is a number, or one for each freedom, of time, state and torques, of which the largest, the integral over time
or the last is kept in compiled code. A measure is what one or two of them say when all is over. Gauges are looked at
where a motion begins and at its records; between these, integrals go by the trapezoidal rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from armwright.algebra import Array, Scalar, dot, maximum, select
from armwright.errors import InputError, unknown
from armwright.graph.expression import Expr, Graph
from armwright.manifold import difference
from armwright.simulation.stop_hits import NEVER, PRESSED, hits_in_step
from armwright.torque import Law, Moment
from armwright.torque.runtime_parameters import Structure

WITHIN = 0.01
"""Radians or metres from its target within which a joint has settled, if nothing else is said."""


@dataclass(frozen=True)
class Asked:
    """What is measured; goal (one number for each entry of q, or none) and within are open, one for each rollout."""

    gauges: tuple[str, ...]
    goal: tuple[float, ...] = ()
    within: tuple[float, ...] = ()


Gauged: TypeAlias = "Structure[Asked]"


class Scene(NamedTuple):
    """A robot at a moment, as gauges see it."""

    at: Moment
    torque: Sequence[Scalar]
    law: Law
    asked: Asked

    @property
    def power(self) -> list[Scalar]:
        return [tau * speed for tau, speed in zip(self.torque, self.at.qd, strict=True)]

    @property
    def error(self) -> list[Scalar]:
        """How far each freedom is from where it should be."""
        motion = self.law.reference
        q = self.law.positions["target"] if motion is None else motion.trace(self.at.t)[0]
        return self.at.displacement_to(q)

    @property
    def away(self) -> list[Scalar]:
        """How far each freedom is from where it should be at last."""
        return self.error if self.law.reference is None else self.at.displacement_to(self.asked.goal)

    @property
    def until_away(self) -> list[Scalar]:
        """The time, where a freedom is farther away than allowed."""
        (within,) = self.asked.within
        return [select(x * x - within * within, self.at.t, NEVER) for x in self.away]

    @property
    def until_lost(self) -> list[Scalar]:
        """The time, where all is finite."""
        there = [*self.at.q, *self.at.qd]
        return [select(1 / (1 + dot(there, there)), self.at.t, NEVER)]


def _sizes(values: Sequence[Scalar]) -> list[Scalar]:
    return [maximum(x, -x) for x in values]


def _squares(values: Sequence[Scalar]) -> list[Scalar]:
    return [x * x for x in values]


LARGEST: dict[str, Callable[[Scene], list[Scalar]]] = {
    "torque": lambda x: _sizes(x.torque),
    "speed": lambda x: _sizes(x.at.qd),
    "power": lambda x: _sizes(x.power),
    "error": lambda x: _sizes(x.error),
    "before the goal": lambda x: x.away,
    "beyond the goal": lambda x: [-away for away in x.away],
    "until away": lambda x: x.until_away,
    "until lost": lambda x: x.until_lost,
}
INTEGRALS: dict[str, Callable[[Scene], list[Scalar]]] = {
    "torque squared": lambda x: _squares(x.torque),
    "speed squared": lambda x: _squares(x.at.qd),
    "power squared": lambda x: _squares(x.power),
    "error squared": lambda x: _squares(x.error),
    "work": lambda x: x.power,
    "energy": lambda x: [maximum(power, 0) for power in x.power],
}
LAST: dict[str, Callable[[Scene], list[Scalar]]] = {"last error": lambda x: _sizes(x.error)}
GAUGES = {**LARGEST, **INTEGRALS, **LAST}
"""Every gauge that is looked at at records, by its name, in the order in which they are computed.

Those of `PRESSED`, which come after them, are looked at in every step.
"""

LOST = "until lost"


class Totals(NamedTuple):
    """What gauges have found (rollouts, freedoms) by name, and of the motions what measures are made of besides."""

    found: Mapping[str, Array]
    times: Array
    """Of the records, seconds after the start."""
    late: Array
    """When each rollout starts (rollouts,)."""
    reached: Array
    """When each has come to its end (rollouts,)."""
    way: Callable[[], Array]
    """From where each was to where it should be at last (rollouts, freedoms)."""

    def rms(self, gauge: str) -> Array:
        found: Array = np.sqrt(self.found[gauge] / (self.reached - self.late)[:, None])
        return found

    @property
    def settled(self) -> Array:
        """Seconds after which a freedom stays where it should be; nan if it never does."""
        last = self.found["until away"] - self.late[:, None]
        place = np.searchsorted(self.times, last + 1e-9 * self.times[-1], side="right")
        never = last >= (self.reached - self.late)[:, None] - 1e-9 * self.times[-1]
        return np.where(never, np.nan, self.times[np.minimum(place, len(self.times) - 1)])

    @property
    def overshoot(self) -> Array:
        """How far a freedom has gone beyond where it should be at last, seen from where it was."""
        way = self.way()
        beyond = np.where(way > 0, self.found["beyond the goal"], self.found["before the goal"])
        return np.where(way == 0, 0.0, np.maximum(beyond, 0.0))


@dataclass(frozen=True)
class Measure:
    """What it is and in which unit, the gauges it needs, and what it makes of them."""

    text: str
    gauges: tuple[str, ...]
    of: Callable[[Totals], Array]

    @property
    def follows(self) -> bool:
        """Whether there must be something to follow."""
        return any(name in FOLLOWING for name in self.gauges)


FOLLOWING = ("error", "error squared", "last error", "before the goal", "beyond the goal", "until away")
TO_GOAL = FOLLOWING[3:]


def _kept(text: str, gauge: str) -> Measure:
    return Measure(text, (gauge,), lambda x: x.found[gauge] + 0.0)  # no zeros with a sign


def _rms(text: str, gauge: str) -> Measure:
    return Measure(text, (gauge,), lambda x: x.rms(gauge))


MEASURES: dict[str, Measure] = {
    "peak_torque": _kept("largest torque of the drive, N m or N", "torque"),
    "rms_torque": _rms("root mean square of the torque, N m or N", "torque squared"),
    "peak_speed": _kept("largest speed, rad/s or m/s", "speed"),
    "rms_speed": _rms("root mean square of the speed", "speed squared"),
    "peak_power": _kept("largest power of the drive, W", "power"),
    "rms_power": _rms("root mean square of the power, W", "power squared"),
    "work": _kept("what the drive has put in less what came back, J", "work"),
    "energy": _kept("what the drive has put in, J", "energy"),
    "tracking_error": _kept("largest distance from motion or target, rad or m", "error"),
    "rms_tracking_error": _rms("its root mean square", "error squared"),
    "final_error": _kept("distance at the end", "last error"),
    "settling_time": Measure("seconds until a joint stays `within` its target, nan if never", ("until away",),
        lambda x: x.settled),
    "overshoot": Measure("how far a joint goes beyond its target, rad or m", TO_GOAL[:2], lambda x: x.overshoot),
}  # fmt: skip
"""Every measure by its name; there is one number for each freedom."""


def chosen(names: Any, law: Law) -> tuple[str, ...]:
    """Names of measures, checked, for a law that must follow something if they ask how well."""
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
        if MEASURES[name].follows and law.reference is None and "target" not in law.positions:
            raise InputError(
                f"measure {name!r} is of a law that follows something, and this one does not; expected a motion or a "
                "target to follow, or other measures"
            )
    return listed


def gauges_of(names: Sequence[str], alone: bool, stops: bool = False) -> tuple[str, ...]:
    """What measures need, in the order in which it is computed; `alone` if no record says when a motion was lost.

    Where there are stops, what they do is looked at.
    """
    wanted = {gauge for name in names for gauge in MEASURES[name].gauges} | ({LOST} if alone else set())
    return (*(gauge for gauge in GAUGES if gauge in wanted), *(PRESSED if stops else ()))


def gauged(form: Gauged, graph: Graph, at: Moment, torque: Sequence[Scalar], law: Law) -> tuple[list[Expr], list[Expr]]:
    """All gauges as expressions of a graph, and the inputs for the open numbers."""
    asked, numbers = form.in_graph(graph, "gauge")
    scene = Scene(at, torque, law, asked)
    return [graph.lift(x) for name in asked.gauges if name in GAUGES for x in GAUGES[name](scene)], list(numbers)


def gauged_within(form: Gauged, graph: Graph, start: Moment, end: Moment, law: Law) -> list[Expr]:
    """What is looked at in every step, as expressions of where it starts and ends."""
    wanted = [name for name in form.template.gauges if name in PRESSED]
    found = hits_in_step(law, start, end) if wanted else {}
    return [graph.lift(x) for name in wanted for x in found[name]]


def sizes_of(gauges: Sequence[str], n: int) -> dict[str, int]:
    """How many numbers each gauge has."""
    return {name: 1 if name == LOST else n for name in gauges}


def beginnings(gauges: Sequence[str], n: int) -> Array:
    """What gauges have found before they look for the first time."""
    begin = {name: PRESSED.get(name, NEVER if name in LARGEST else 0.0) for name in gauges}
    return np.array([begin[name] for name, size in sizes_of(gauges, n).items() for _ in range(size)])


def split(gauges: Sequence[str], n: int, totals: Array) -> dict[str, Array]:
    """What each gauge has found (rollouts, freedoms), from all of it (gauges, rollouts)."""
    found, begin = {}, 0
    for name, size in sizes_of(gauges, n).items():
        found[name] = totals[begin : begin + size].T
        begin += size
    return found


def way_to(balls: Any, q: Array, goal: Sequence[Any]) -> Array:
    """From positions (rollouts, nq) to goals, entries of one number or (rollouts,) each: (rollouts, freedoms)."""
    way = difference(balls, list(q.T), list(goal))
    return np.stack([np.broadcast_to(np.asarray(x, float), len(q)) for x in way], axis=1)
