"""Error against computing time for every integrator on one robot (Machado and Galhano, figures 2 to 7, for any robot).

The robot falls freely from rest. Each method runs with a row of steps or tolerances, compiled with the dynamics; the
error is the largest difference of any position at any record from a run with a far tighter tolerance.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armwright.errors import SimulationError
from armwright.integrate import method, methods
from armwright.report.plot import Curve, Plot, figures
from armwright.robot import Robot
from armwright.simulation import simulate

Array = NDArray[Any]

TOLERANCES = tuple(10.0**-k for k in range(2, 14))
STEPS = tuple(0.1 / 2**k for k in range(12))
ACCURACIES = tuple(10.0**-k for k in (3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
REPEATS = 5
RECORDS = 10
LONGEST = 0.05
"""Seconds: a method that takes longer is not asked for more."""


@dataclass(frozen=True)
class Point:
    """One run: its step or tolerance, the largest error, the least time of several repeats, and its evaluations."""

    setting: float
    error: float
    seconds: float
    evaluations: int


@dataclass(frozen=True)
class Line:
    """All runs of one method."""

    name: str
    order: int
    adaptive: bool
    points: tuple[Point, ...]

    def time_for(self, accuracy: float) -> float | None:
        """The least time in which this error was reached."""
        good = [p.seconds for p in self.points if p.error <= accuracy]
        return min(good) if good else None


@dataclass(frozen=True)
class WorkPrecision:
    robot: str
    duration: float
    lines: tuple[Line, ...]

    def best(self, accuracy: float) -> tuple[str, float] | None:
        """The quickest method that reached this accuracy, and its time."""
        reached = [(seconds, line.name) for line in self.lines if (seconds := line.time_for(accuracy)) is not None]
        return (min(reached)[1], min(reached)[0]) if reached else None

    def page(self) -> str:
        rows = [["error allowed", "best method", "time", "best fixed step", "time", "best pair", "time"]]
        for accuracy in ACCURACIES:
            row = [f"{accuracy:.0e}"]
            for kind in (None, False, True):
                part = WorkPrecision(
                    self.robot, self.duration, tuple(x for x in self.lines if kind in (None, x.adaptive))
                )
                found = part.best(accuracy)
                row += [found[0], f"{found[1] * 1e6:.0f} us"] if found else ["-", "-"]
            rows.append(row)
        fixed, pairs = ([x for x in self.lines if x.adaptive is kind] for kind in (False, True))
        plots = [_plot("Fixed steps", fixed), _plot("Embedded pairs", pairs)]
        introduction = (
            f"{self.robot} falls for {self.duration:g} s. Largest error of any joint against the time of the "
            "integration, compiled, on one core: measured, best of several. Lower left is better."
        )
        return figures(
            f"Integrators on {self.robot}", introduction, plots, [("The best method for each accuracy", rows)]
        )


def _plot(title: str, lines: Sequence[Line]) -> Plot:
    curves = [
        Curve(line.name, [p.seconds for p in line.points], [p.error for p in line.points], marks=True) for line in lines
    ]
    height = max(420, 80 + 17 * len(curves))
    return Plot(title, "seconds", "largest error, rad or m", curves, x_log=True, y_log=True, height=height)


def work_precision(
    robot: Robot,
    duration: float = 1.0,
    names: Sequence[str] | None = None,
    q0: ArrayLike | None = None,
    torque: Any = None,
) -> WorkPrecision:
    """Every method (or those named) over its row of steps or tolerances."""
    every = duration / RECORDS
    start = np.full(robot.n, 0.3) if q0 is None else np.asarray(q0, dtype=float)
    common: dict[str, Any] = {"torque": torque, "q0": start, "duration": duration, "every": every}
    exact = simulate(robot, **common, integrator="dop853", rtol=1e-14, atol=1e-15).q
    lines = []
    for name in names or methods():
        tableau = method(name)
        settings = STEPS if tableau.error is None else TOLERANCES
        key = "step" if tableau.error is None else "rtol"
        points: list[Point] = []
        for setting in settings:
            if points and points[-1].seconds > LONGEST:
                break  # the next would take longer still
            point = _measured(robot, common, name, {key: setting}, exact)
            points += [point] if point is not None else []
        lines.append(Line(name, tableau.order, tableau.error is not None, tuple(points)))
    return WorkPrecision(robot.name, duration, tuple(lines))


def _measured(robot: Robot, common: dict[str, Any], name: str, how: dict[str, Any], exact: Array) -> Point | None:
    best = np.inf
    for _ in range(REPEATS):
        begin = time.perf_counter()
        try:
            run = simulate(robot, **common, integrator=name, **how)
        except SimulationError:
            return None
        best = min(best, run.statistics.seconds)
        if time.perf_counter() - begin > 0.5:
            break
    error = float(np.max(np.abs(run.q - exact)))
    return Point(next(iter(how.values())), error, best, run.statistics.evaluations) if np.isfinite(error) else None
