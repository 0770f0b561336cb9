"""Runs along a time line: the state of each at the cursor, and their curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armwright.algebra import Array
from armwright.names import shown
from armwright.pages.report.run_page import sampled_records
from armwright.simulation.run import Run
from armwright.simulation.utilisation import Use

MAX_PLOT_POINTS = 600
"""The largest number of points of a curve."""

PLAYBACK_SPEEDS = {"0.1x": 0.1, "0.25x": 0.25, "0.5x": 0.5, "1x": 1.0, "2x": 2.0, "5x": 5.0}


@dataclass(frozen=True)
class RunState:
    """The state of a run at a time, interpolated between its records."""

    t: float
    q: Array
    uses: tuple[Use, ...]
    """Torque and speed of every freedom in place of peaks."""
    tau: Array
    qd: Array
    kinetic: float
    potential: float
    power: float
    payload_mass: float
    """The mass of the payload, kg, which may differ between phases."""


@dataclass(frozen=True)
class Curves:
    """Times, and a row of values for each name, with their unit."""

    unit: str
    t: Array
    names: tuple[str, ...]
    values: Array

    @property
    def range(self) -> tuple[float, float]:
        """The range of a plot: all values and zero, with a margin."""
        low, high = float(self.values.min(initial=0.0)), float(self.values.max(initial=0.0))
        margin = 0.05 * (high - low) or 1.0
        return low - margin, high + margin


class Playback:
    """One or several runs with a common cursor in time, and its speed."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = tuple(runs)
        self.begin = float(min(run.t[0] for run in runs))
        self.end = float(max(run.t[-1] for run in runs))
        self.t, self.speed, self.playing = self.begin, 1.0, False

    @property
    def first(self) -> Run:
        return self.runs[0]

    def seek(self, t: float) -> None:
        """Move the cursor to a time within the runs; to their start if it is not finite."""
        self.t = float(np.clip(t if np.isfinite(t) else self.begin, self.begin, self.end))

    def play(self) -> None:
        """Play from the cursor, or from the start if the cursor is at the end."""
        self.t = self.begin if self.t >= self.end else self.t
        self.playing = True

    def pause(self) -> None:
        self.playing = False

    def advance(self, seconds: float) -> None:
        """Move the cursor by seconds of wall-clock time, times the speed."""
        if self.playing:
            self.seek(self.t + seconds * self.speed)
            self.playing = self.t < self.end

    def at(self, run: Run) -> RunState:
        """Return the state of a run at the cursor, held constant before its first and after its last record."""
        k = int(np.clip(np.searchsorted(run.t, self.t, side="right") - 1, 0, max(len(run.t) - 2, 0)))
        after = min(k + 1, len(run.t) - 1)
        gap = float(run.t[after] - run.t[k])
        share = float(np.clip((self.t - run.t[k]) / gap, 0.0, 1.0)) if gap else 0.0

        def interpolated(values: Array) -> Array:
            return np.asarray((1 - share) * values[k] + share * values[after])

        tau, qd = interpolated(run.tau), interpolated(run.qd)
        uses = tuple(
            Use(shown(j.name), j.prismatic, abs(a), j.max_torque, abs(b), j.max_velocity, self.t, self.t)
            for j, a, b in zip(run.robot.joints, tau.tolist(), qd.tolist(), strict=True)
        )
        energies = float(interpolated(run.kinetic)), float(interpolated(run.potential))
        phase = next((phase for phase in reversed(run.phases) if phase.t[0] <= self.t), run)
        mass = 0.0 if phase.robot.payload is None else phase.robot.payload.mass
        return RunState(self.t, run.robot.unit(interpolated(run.q)), uses, tau, qd, *energies, float(tau @ qd), mass)


def torques(run: Run) -> Curves:
    """Return the torque of every joint."""
    return _by_joint(run, "N m" if not _slides(run) else "N m or N", run.tau)


def speeds(run: Run) -> Curves:
    """Return the speed of every joint."""
    return _by_joint(run, "rad/s" if not _slides(run) else "rad/s or m/s", run.qd)


def positions(run: Run) -> Curves:
    """Return the position of every joint."""
    return _by_joint(run, "rad" if not _slides(run) else "rad or m", run.places)


def torque_use(run: Run) -> Curves:
    """Return the share of its torque limit that every joint uses, in percent."""
    limits = np.array([joint.max_torque or np.nan for joint in run.robot.joints])
    return _by_joint(run, "% of the largest torque", 100 * np.abs(run.tau) / limits)


def energies(run: Run) -> Curves:
    """Return kinetic, potential and total energy."""
    values = np.stack([run.kinetic, run.potential, run.energy], axis=1)
    return _sampled_curves("J", run.t, ("kinetic", "potential", "total"), values)


def with_other_run(curves: Curves, other: Curves) -> Curves:
    """Return the curves of one run and those of another with the same names, at the times of the first."""
    rows = [other.values[other.names.index(name)] for name in curves.names if name in other.names]
    if len(rows) < len(curves.names):
        return curves
    values = np.concatenate([curves.values, [np.interp(curves.t, other.t, row) for row in rows]])
    return Curves(curves.unit, curves.t, (*curves.names, *(f"{name}, other" for name in curves.names)), values)


QUANTITY_CURVES = {
    "torque": torques,
    "speed": speeds,
    "position": positions,
    "energy": energies,
    "use of torque": torque_use,
}


def curves_of(run: Run, what: str) -> Curves:
    """Return the curves of a quantity, one of `QUANTITY_CURVES`."""
    return QUANTITY_CURVES[what](run)


def _slides(run: Run) -> bool:
    return any(joint.prismatic for joint in run.robot.joints)


def _by_joint(run: Run, unit: str, values: Array) -> Curves:
    return _sampled_curves(unit, run.t, tuple(shown(joint.name) for joint in run.robot.joints), values)


def _sampled_curves(unit: str, t: Array, names: tuple[str, ...], values: Array) -> Curves:
    """Return curves at evenly spaced records, without those that are not finite."""
    records = sampled_records(len(t), MAX_PLOT_POINTS)
    complete = [i for i in range(len(names)) if np.isfinite(values[:, i]).all()]
    return Curves(unit, t[records], tuple(names[i] for i in complete), values[records][:, complete].T)
