"""Measures of rollouts that a study can request: one number, or one for each joint.

Most are computed in the compiled loop (`simulation.measures`), the others from records. All of them use the records,
one every `every` seconds; a shorter `every` finds shorter peaks.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError, listed
from armwright.function import compile as compile_
from armwright.lazy import cached_property
from armwright.simulation import BatchRun
from armwright.simulation.measures import MEASURES as SIMULATION_MEASURES
from armwright.simulation.measures import Measure


@dataclass(frozen=True, eq=False)
class MeasuredRollouts:
    """Simulated rollouts with their measures, and with records (rollouts, k) where these are kept."""

    run: BatchRun
    vary: Mapping[str, Array]
    """The parameters of the robot that vary, as `simulate_batch` received them."""
    windings: tuple[float, ...]
    window: float

    @cached_property
    def t(self) -> Array:
        """Times of the records, (rollouts, k)."""
        return np.broadcast_to(self.run.t, self.run.q.shape[:2])

    @property
    def duration(self) -> Array:
        """Seconds that each rollout lasted, (rollouts, 1)."""
        return (self.run.reached - self.t[:, 0])[:, None]

    def at_records(self, problem: str) -> Array:
        """Return a matrix of the robot at every record, (rollouts, k, rows, columns)."""
        run, names = self.run, tuple(self.vary)
        function = compile_(run.robot, problem, vary=names)
        values = [self.vary[name][:, None] for name in names]
        found: Array = function(run.q, *values, raises=False)[0]
        return found


def _continuous_torque(rollouts: MeasuredRollouts) -> Array:
    """Return the largest root mean square over any `window` seconds, or over all if the rollouts are shorter."""
    squares, t = rollouts.run.tau**2, rollouts.t - rollouts.t[:, :1]
    heat = np.zeros_like(squares)
    for k, gap in enumerate(np.diff(t, axis=1).T):  # in the order of time, so that the bits do not depend on the batch
        heat[:, k + 1] = heat[:, k] + (squares[:, k] + squares[:, k + 1]) * (gap / 2)[:, None]
    grid = t[0]
    begin = np.maximum(grid - rollouts.window, 0.0)
    place = np.clip(np.searchsorted(grid, begin, side="right") - 1, 0, len(grid) - 2)
    share = ((begin - grid[place]) / (grid[place + 1] - grid[place]))[:, None]
    before = heat[:, place] + (heat[:, place + 1] - heat[:, place]) * share
    found: Array = np.sqrt((heat - before).max(axis=1) / min(rollouts.window, float(grid[-1])))
    return found


def _largest_condition(problem: str) -> Callable[[MeasuredRollouts], Array]:
    def condition(rollouts: MeasuredRollouts) -> Array:
        values = np.linalg.svd(rollouts.at_records(problem), compute_uv=False)
        found: Array = (values[..., 0] / values[..., -1]).max(axis=1)[:, None]
        return found

    return condition


@dataclass(frozen=True)
class StudyMeasure:
    """A measure of a study: a sentence with its unit, its formula, and the measures of simulations that it needs."""

    text: str
    of: Callable[[MeasuredRollouts], Array]
    made_of: tuple[str, ...] = ()
    """Measures of `simulate_batch`."""
    units: tuple[str, str] = ("", "")
    """Units for revolute and for prismatic joints."""
    needs_records: bool = False
    needs_target: bool = False
    """True if the law must follow a motion or a target."""
    per_joint: bool = True
    """False if it is one number, not one for each joint."""


RECORD_MEASURES = {
    "heat": StudyMeasure("heat produced in the windings, J: [want] windings, W per (N m)^2 of each joint",
        lambda x: np.array(x.windings) * x.run.measured["rms_torque"] ** 2 * x.duration, ("rms_torque",), ("J", "J")),
    "continuous_torque": StudyMeasure("largest root mean square over any `window` seconds, N m or N",
        _continuous_torque, units=("N m", "N"), needs_records=True),
    "mass_condition": StudyMeasure("largest condition number of the mass matrix", _largest_condition("mass_matrix"),
        needs_records=True, per_joint=False),
    "jacobian_condition": StudyMeasure("largest condition number of the Jacobian, metres and radians mixed",
        _largest_condition("jacobian"), needs_records=True, per_joint=False),
    "final_q": StudyMeasure("position at the end, one for each entry of q", lambda x: x.run.q[:, -1],
        units=("rad", "m")),
    "final_qd": StudyMeasure("velocity at the end", lambda x: x.run.qd[:, -1], units=("rad/s", "m/s")),
}  # fmt: skip
"""Measures that studies compute from records, from final states, or from other measures."""

DEFAULT_MEASURES = ("final_q", "final_qd")


class StudyMeasures(Mapping[str, StudyMeasure]):
    """All measures of `simulate_batch`, registered ones included, and those of studies alone."""

    def __getitem__(self, name: str) -> StudyMeasure:
        if name in RECORD_MEASURES:
            return RECORD_MEASURES[name]
        of = SIMULATION_MEASURES[name]
        requirements = {"needs_target": of.follows, "per_joint": of.per_joint}
        return StudyMeasure(of.text, lambda x: x.run.measured[name], (name,), of.units, **requirements)

    def __iter__(self) -> Iterator[str]:
        return iter([*SIMULATION_MEASURES, *RECORD_MEASURES])

    def __len__(self) -> int:
        return len(SIMULATION_MEASURES) + len(RECORD_MEASURES)


STUDY_MEASURES = StudyMeasures()
"""Every measure by its name."""


def check_measures_of_workers(names: Iterable[str]) -> None:
    """Raise an InputError for a measure that was registered by a call in this process: worker processes lack it."""
    parts = {part for name in names for part in STUDY_MEASURES[name].made_of}
    if local := sorted(part for part in parts if SIMULATION_MEASURES.is_local(part)):
        raise InputError(
            f"worker processes do not have {listed(local)}, registered by a call in this process; expected threads=, "
            "or an installed package that offers it as an entry point of the group armwright.measures"
        )


def measure_sources(names: Iterable[str]) -> dict[str, str]:
    """Return the hashes of the source code of those measures that are not part of armwright."""
    parts = dict.fromkeys(part for name in names for part in STUDY_MEASURES[name].made_of)
    registered = (part for part in parts if part not in SIMULATION_MEASURES.built_in)
    return {part: _source_digest(SIMULATION_MEASURES[part]) for part in registered}


def _source_digest(measure: Measure) -> str:
    """Return the hash of the modules that define the formulas of a measure; of their names where there is no file."""
    formulas = [formula for formula in (measure.formula, *(gauge.formula for gauge in measure.gauges)) if formula]
    names = sorted({formula.__module__ for formula in formulas})
    modules = [sys.modules[name] for name in names]
    texts = [inspect.getsource(x) if getattr(x, "__file__", None) else x.__name__ for x in modules]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


HEAT_WINDOW = 10.0
"""The default time, s, over which the heating of a motor is averaged."""

HISTORY_NAMES = ("q", "qd", "qdd", "tau")
