"""Many rollouts under way in compiled code: the arrays the loop reads and writes, stretch by stretch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import LANES, Steps, backend
from armwright.integrate import Tableau, method
from armwright.robot import Robot
from armwright.simulation.motion import Driven, derivative, driven, view
from armwright.simulation.plan import MOST_STEPS, Plan
from armwright.torque import Law

FIRST_STEP = 1e-3
"""Seconds to begin with; the step control finds the right length within a few steps."""

PATIENCE = 2.0
"""Seconds after which a run shows a progress bar."""

WINDOW = 0.1
"""Seconds a compiled stretch should take, so that Ctrl-C is heard and progress is seen."""

KEPT = 32
"""How many compiled motions are remembered."""


def remembered(make: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps the last results for the same robot and an equal law (the same one, if it holds arrays or functions)."""
    kept: dict[tuple[Any, ...], tuple[Any, Any, Any]] = {}

    def call(robot: Robot, law: Law, *rest: Any) -> Any:
        try:
            same: Any = (hash(law), law)
        except TypeError:
            same = id(law)
        key = (id(robot), same, *rest)
        if key not in kept:
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept)))
            kept[key] = (robot, law, make(robot, law, *rest))
        return kept[key][2]

    return call


@remembered
def motion_of(robot: Robot, law: Law, vary: tuple[str, ...] = ()) -> Driven:
    return driven(robot, law, vary)


@remembered
def kernel_of(robot: Robot, law: Law, vary: tuple[str, ...], integrator: str, fixed: bool, dtype: str) -> Any:
    program, steps = derivative(motion_of(robot, law, vary)), _steps(method(integrator), fixed)
    return backend("cpu").rollout(program, steps, 2 * robot.n, dtype)


@remembered
def viewer_of(robot: Robot, law: Law, vary: tuple[str, ...], dtype: str) -> Any:
    return backend("cpu").kernel(view(motion_of(robot, law, vary)), dtype)


def _steps(tableau: Tableau, fixed: bool) -> Steps:
    if fixed:
        return Steps(tableau.a, tableau.b, tableau.c)
    return Steps(tableau.a, tableau.b, tableau.c, tableau.error, tableau.error2, tableau.fsal)


def _options(tableau: Tableau, plan: Plan, dtype: str) -> Array:
    """The numbers of `rollout.OPTIONS`."""
    order = 7 if tableau.error2 is not None else min(tableau.order, tableau.embedded or tableau.order)
    exponent = 1 / (order + 1)
    beta = 0.4 * exponent if order < 6 else 0.0
    longest = min(plan.longest, 1e30)
    return np.array([plan.rtol, plan.atol, longest, 0.9, exponent - 0.75 * beta, beta, 0.2, 10.0], dtype=dtype)


class Rollouts:
    """Many rollouts under way: the arrays that the compiled loop reads and writes."""

    def __init__(self, plan: Plan, kernel: Any, y: Array, p: Array) -> None:
        dtype, width = kernel.dtype, kernel.width
        self.plan, self.kernel, self.count = plan, kernel, y.shape[1]
        self.room = -(-self.count // width) * width
        spare = np.minimum(np.arange(self.room), self.count - 1)  # lanes without a rollout repeat the last one
        self.y, self.p = (np.ascontiguousarray(x[:, spare], dtype=dtype) for x in (y, p))
        span = float(plan.times[-1] - plan.times[0])
        first = min(FIRST_STEP, span / 10, plan.longest)
        begin = {"t": plan.times[0], "h": first, "previous": 1e-4}
        self.lanes = {name: np.full(self.room, begin.get(name, 0.0), dtype=dtype) for name in LANES}
        self.records = np.zeros((len(plan.times), kernel.entries, self.room), dtype=dtype)
        self.records[0] = self.y
        self.done = 1
        tableau = method(plan.integrator)
        self.options = _options(tableau, plan, dtype.name)
        self.stages = _steps(tableau, plan.step is not None).stages
        gaps = np.diff(plan.times)
        self.substeps = np.maximum(1, np.ceil(gaps / (plan.step or np.inf) - 1e-9)).astype(np.int64)

    def advance(self, count: int, threads: int = 1) -> None:
        """Go on for so many records."""
        begin, end = self.done, min(self.done + count, len(self.plan.times))
        fields: dict[str, Array | int] = {
            "y": self.y,
            "p": self.p,
            **self.lanes,
            "records": self.records[begin:end],
            "times": np.ascontiguousarray(self.plan.times[begin:end], dtype=self.y.dtype),
            "count": end - begin,
            "stride": self.room,
            "substeps": self.substeps[begin - 1 : end - 1],
            "limit": MOST_STEPS,
            "options": self.options,
        }
        self.kernel.run(fields, self.room, threads)
        self.done = end

    @property
    def broken(self) -> Array:
        """Which rollouts cannot go on."""
        wrong = self.lanes["state"][: self.count] != 0
        finite: Array = wrong | ~np.isfinite(self.y[:, : self.count]).all(axis=0)
        return finite

    @property
    def finished(self) -> bool:
        return self.done >= len(self.plan.times)

    @property
    def steps(self) -> Array:
        """Accepted steps of every rollout."""
        if self.plan.step is None:
            return self.lanes["accepted"][: self.count].astype(np.int64)
        return np.full(self.count, int(self.substeps[: self.done - 1].sum()))

    def travel(self, threads: int, show: bool | None, stop: Callable[[], bool] = lambda: False) -> tuple[float, str]:
        """To the end, in stretches of a fraction of a second; returns the seconds it took and why it stopped early."""
        window, begin, message = 1, time.perf_counter(), ""
        bar = _bar(show)
        try:
            while not self.finished and not stop():
                before = time.perf_counter()
                self.advance(window, threads)
                took = time.perf_counter() - before
                window = max(1, int(window * min(16.0, WINDOW / max(took, 1e-6))))
                bar(self.done / len(self.plan.times), time.perf_counter() - begin)
        except KeyboardInterrupt:
            message = f"stopped by the user after t = {self.plan.times[self.done - 1]:g} s"
        finally:
            bar(None, 0.0)
        return time.perf_counter() - begin, message


def _bar(show: bool | None) -> Callable[[float | None, float], None]:
    """A progress bar that appears once a run has taken a while; told None, it goes."""
    made: list[tuple[Any, Any]] = []

    def update(share: float | None, seconds: float) -> None:
        if share is None:
            for progress, _ in made:
                progress.stop()
            return
        if not made and show is not False and seconds > PATIENCE:
            from rich.progress import Progress  # noqa: PLC0415  (most runs are over before it is needed)

            progress = Progress(transient=True)
            if show or progress.console.is_terminal:
                progress.start()
                made.append((progress, progress.add_task("simulating", total=1.0)))
        for progress, task in made:
            progress.update(task, completed=share)

    return update
