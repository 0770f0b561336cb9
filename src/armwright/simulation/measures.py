"""Measures of motions, such as largest torques, energies and errors, computed in the compiled loop without records.

A measure is a function of the totals of one or two gauges. `MEASURES` is the registry:
`aw.register("measure", name, Measure(...))` adds to it, as do entry points of the group `armwright.measures`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError, unknown
from armwright.manifold import difference
from armwright.registry import Registry
from armwright.simulation import gauges as g
from armwright.simulation.gauges import Gauge
from armwright.torque import Law

__all__ = ["DEFAULT_WITHIN", "MEASURES", "GaugeTotals", "Measure"]

DEFAULT_WITHIN = 0.01
"""Radians or metres from its target within which a joint has settled, by default."""


class GaugeTotals(NamedTuple):
    """The totals of gauges (rollouts, freedoms or 1), and the times and displacements of the motions."""

    totals: Mapping[Gauge, Array]
    times: Array
    """The times of the records, seconds after the start."""
    start: Array
    """When each rollout starts, seconds (rollouts,)."""
    end: Array
    """When each rollout ends, seconds (rollouts,)."""
    displacement: Callable[[], Array]
    """Returns the displacement of each rollout from its start to its goal (rollouts, freedoms)."""

    def rms(self, gauge: Gauge) -> Array:
        """Return the root mean square over the motion of a gauge that integrates a square."""
        rms: Array = np.sqrt(self.totals[gauge] / (self.end - self.start)[:, None])
        return rms

    @property
    def settling_time(self) -> Array:
        """Seconds after which a freedom stays within its goal; nan if it never does."""
        last = self.totals[g.LAST_OUTSIDE_GOAL] - self.start[:, None]
        place = np.searchsorted(self.times, last + 1e-9 * self.times[-1], side="right")
        never = last >= (self.end - self.start)[:, None] - 1e-9 * self.times[-1]
        return np.where(never, np.nan, self.times[np.minimum(place, len(self.times) - 1)])

    @property
    def overshoot(self) -> Array:
        """The largest distance of a freedom beyond its goal, in the direction from its start to its goal."""
        displacement = self.displacement()
        beyond = np.where(displacement > 0, self.totals[g.BEYOND_GOAL], self.totals[g.BEFORE_GOAL])
        return np.where(displacement == 0, 0.0, np.maximum(beyond, 0.0))


@dataclass(frozen=True, eq=False)
class Measure:
    """A result of a motion: one number for each freedom, or one for the motion.

    sentence  its description in a few words
    units     of revolute and of prismatic joints, such as ("N m", "N")
    gauges    the gauges that it needs
    example   an expression of `aw`, `arm` and `law` that computes it
    formula   function of `GaugeTotals` that returns an array (rollouts, freedoms or 1); by default the totals of the
              first gauge
    """

    sentence: str
    units: tuple[str, str]
    gauges: tuple[Gauge, ...]
    example: str
    formula: Callable[[GaugeTotals], Array] | None = None

    @property
    def follows(self) -> bool:
        """True if the law must follow a motion or a target."""
        return any(gauge.needs for gauge in self.gauges)

    @property
    def per_joint(self) -> bool:
        """True for one number per freedom, False for one per motion."""
        return self.gauges[0].per_joint

    @property
    def text(self) -> str:
        """The sentence with its units."""
        return f"{self.sentence}, {' or '.join(dict.fromkeys(self.units))}"

    def values(self, found: GaugeTotals) -> Array:
        """Return the measure of every rollout (rollouts, freedoms or 1)."""
        # + 0.0 removes negative zeros
        return found.totals[self.gauges[0]] + 0.0 if self.formula is None else self.formula(found)


def checked_measure(name: str, entry: Any) -> Measure:
    """Return the entry of a registry; raise an InputError if it is no measure, or if its name cannot be a column."""
    if not isinstance(entry, Measure):
        raise InputError(f"measure {name!r} is a {type(entry).__name__}; expected an armwright.simulation.Measure")
    if not re.fullmatch(r"[a-z](\w*[a-z_])?", name):
        raise InputError(f"the name of a measure is {name!r}; expected letters, digits and _, no digit at its end")
    if not entry.gauges or not all(isinstance(gauge, Gauge) for gauge in entry.gauges):
        raise InputError(f"gauges = {entry.gauges!r} of measure {name!r}: expected at least one Gauge")
    if len(entry.units) != 2 or not entry.sentence or not entry.example:
        raise InputError(f"measure {name!r}: expected a sentence, units of revolute and prismatic joints, an example")
    return entry


def _example(name: str) -> str:
    return f'aw.simulate_batch(arm, law, duration=0.1, measure="{name}").measured["{name}"]'


def _rms_of(gauge: Gauge) -> Callable[[GaugeTotals], Array]:
    return lambda totals: totals.rms(gauge)


_TORQUE, _SPEED, _POWER, _ENERGY = ("N m", "N"), ("rad/s", "m/s"), ("W", "W"), ("J", "J")
DISTANCE, TIME = ("rad", "m"), ("s", "s")

MEASURES: Registry[Measure] = Registry(
    "measure",
    {
        name: Measure(sentence, units, gauges, _example(name), formula)
        for name, sentence, units, gauges, formula in (
            ("peak_torque", "largest torque of the drive", _TORQUE, (g.PEAK_TORQUE,), None),
            ("rms_torque", "root mean square of the torque", _TORQUE, (g.SQUARED_TORQUE,), _rms_of(g.SQUARED_TORQUE)),
            ("peak_speed", "largest speed", _SPEED, (g.PEAK_SPEED,), None),
            ("rms_speed", "root mean square of the speed", _SPEED, (g.SQUARED_SPEED,), _rms_of(g.SQUARED_SPEED)),
            ("peak_power", "largest power of the drive", _POWER, (g.PEAK_POWER,), None),
            ("rms_power", "root mean square of the power", _POWER, (g.SQUARED_POWER,), _rms_of(g.SQUARED_POWER)),
            ("work", "energy that the drive puts in less what it takes back", _ENERGY, (g.NET_WORK,), None),
            ("energy", "energy that the drive puts in", _ENERGY, (g.SUPPLIED_ENERGY,), None),
            ("tracking_error", "largest distance to the motion or target", DISTANCE, (g.PEAK_ERROR,), None),
            ("rms_tracking_error", "root mean square of the distance to the motion or target", DISTANCE,
                (g.SQUARED_ERROR,), _rms_of(g.SQUARED_ERROR)),
            ("final_error", "distance to the motion or target at the end", DISTANCE, (g.FINAL_ERROR,), None),
            ("settling_time", "time until a joint stays `within` its target, nan if never", TIME,
                (g.LAST_OUTSIDE_GOAL,), lambda totals: totals.settling_time),
            ("overshoot", "largest distance of a joint beyond its target", DISTANCE,
                (g.BEFORE_GOAL, g.BEYOND_GOAL), lambda totals: totals.overshoot),
        )
    },
    checked_measure,
)  # fmt: skip
"""Every measure by its name."""


def checked_measures(names: Any, law: Law) -> tuple[str, ...]:
    """Return names of measures that this law allows; raise an InputError for another one."""
    listed = (names,) if isinstance(names, str) else tuple(names)
    for name in listed:
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
        if MEASURES[name].follows and law.reference is None and "target" not in law.positions:
            raise InputError(
                f"measure {name!r} needs a law with a motion or target, which this one lacks; expected such a law "
                "or other measures"
            )
    return listed


def displacements(balls: Any, q: Array, goal: Sequence[Any]) -> Array:
    """Return the displacements from positions (rollouts, nq) to a goal (rollouts, freedoms).

    Each entry of the goal is one number, or an array (rollouts,).
    """
    columns = difference(balls, list(q.T), list(goal))
    return np.stack([np.broadcast_to(np.asarray(x, float), len(q)) for x in columns], axis=1)
