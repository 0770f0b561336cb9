"""Error against computing time for every integrator on one robot (Machado and Galhano, figures 2 to 7, for any robot).

The robot falls freely from rest. Each method runs with a row of steps or tolerances, compiled with the dynamics; the
error is the largest difference of any position at any record from a run with a far tighter tolerance.

Timing: the compiled loop repeats the motion several times in one call, so that the call from Python (some 20
microseconds) does not count. The result is the smallest CPU time of several calls, on which other programs have little
effect. The loop integrates a vector of motions at once, here equal ones, so a time is that of a vector of motions.
heyoka's Taylor series integrate one motion with scalars.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.backends.interface import backend
from armwright.backends.rollout_interface import Rollout, step_options
from armwright.errors import ArmwrightError, InputError, SimulationError
from armwright.graph.program import Program
from armwright.integrate import POLYNOMIALS, Tableau, Taylor, method, methods
from armwright.integrate.control import STEP_RULES, Gains
from armwright.integrate.integrators import EULER, TaylorPolynomials, polynomials
from armwright.integrate.jets import increment
from armwright.integrate.tableaus import Steps
from armwright.pages.report.plot import Curve, Plot, figures
from armwright.progress import tracked
from armwright.robot import Robot
from armwright.simulation.integration_settings import settings
from armwright.simulation.kernels import equations_of
from armwright.simulation.motion_programs import derivative
from armwright.simulation.motion_record import MotionRecord, layout_of
from armwright.simulation.plan import plan, with_smooth_friction
from armwright.simulation.rollouts import Rollouts
from armwright.torque.conversion import law_for
from armwright.trace.evaluation_strategy import has_straight_code, max_unrolled_joints

WORK_ACCURACIES = tuple(10.0**-k for k in (3, 4, 5, 6, 7, 8, 9, 10, 11, 12))
RECORDS = 5
TOLERANCE_SWEEP = tuple(10.0**-k for k in range(2, 15))
REFERENCE_SUBSTEPS = tuple(2**k for k in range(13))
"""The numbers of steps between records."""

SERIES_TOLERANCES = (1e-4, 1e-7, 1e-10, 1e-13)
"""Tolerances of Taylor series; heyoka compiles a series for each."""

MAX_COMPILE_SECONDS = 10.0
"""The seconds after which no further series is compiled."""

MAX_EVALUATIONS = 100_000
"""The number of evaluations after which a method gets no finer settings; seconds would depend on the machine."""

REPEAT_LIMIT_SECONDS = 0.05
"""The seconds after which a run is not repeated for timing."""

MIN_CALL_SECONDS = 5e-4
"""The smallest duration of a timed call, s, so that its overhead in Python does not count."""

WORK_REPEATS = 5
ROUNDING_ERROR = 1e-11
"""The error below which a finer setting without gain has reached rounding."""

_FINE_CLOCK = time.get_clock_info("process_time").resolution < 1e-6
clock = time.process_time if _FINE_CLOCK else time.perf_counter
"""The CPU time of the process if its resolution is fine enough; long motions run in another thread."""

Cost = Literal["seconds", "evaluations", "steps"]


@dataclass(frozen=True)
class Point:
    """A run: its step or tolerance, largest error, time of one motion, and numbers of evaluations and steps.

    `steps` are accepted ones. An evaluation is one of the derivative, or of all coefficients of a series.
    """

    setting: float
    error: float
    seconds: float
    evaluations: int
    steps: int
    rejected: int = 0


@dataclass(frozen=True)
class MethodLine:
    """All runs of one method, from coarse to fine."""

    name: str
    order: int
    family: str
    points: tuple[Point, ...]

    def cost_of_accuracy(self, accuracy: float, cost: Cost = "seconds") -> float | None:
        """Return the cost of this error, by logarithmic interpolation between runs; None if it was not reached."""
        runs = sorted((float(getattr(p, cost)), max(p.error, 1e-17)) for p in self.points)
        if runs and runs[0][1] <= accuracy:
            return runs[0][0]
        for (less, worse), (more, better) in pairwise(runs):
            if better <= accuracy < worse:
                share = np.log(worse / accuracy) / np.log(worse / better)
                return float(less * (more / less) ** share)
        return None


@dataclass(frozen=True)
class WorkPrecision:
    """Lines of cost over error for many methods on one motion."""

    robot: str
    duration: float
    lines: tuple[MethodLine, ...]

    def best(self, accuracy: float, family: str | None = None) -> tuple[str, float] | None:
        """Return the fastest method (of a family) that reaches an accuracy, and its time; None if there is none."""
        reached = [
            (seconds, line.name)
            for line in self.lines
            if family in (None, line.family) and (seconds := line.cost_of_accuracy(accuracy)) is not None
        ]
        return (min(reached)[1], min(reached)[0]) if reached else None

    def line(self, name: str) -> MethodLine:
        return next(line for line in self.lines if line.name == name)

    @property
    def families(self) -> list[str]:
        return list(dict.fromkeys(line.family for line in self.lines))

    def page(self) -> str:
        head = [x for family in self.families for x in (family, "time")]
        rows = [["error allowed", "best method", "time", *head]]
        for accuracy in WORK_ACCURACIES:
            found = [self.best(accuracy, family) for family in (None, *self.families)]
            cells = [x for best in found for x in ((best[0], f"{best[1] * 1e6:.0f} us") if best else ("-", "-"))]
            rows.append([f"{accuracy:.0e}", *cells])
        plots = [self.plot(family) for family in self.families]
        if len(plots) > 1:
            plots.insert(0, self.champions())
        introduction = (
            f"{self.robot} falls for {self.duration:g} s. Largest error of any joint against the time of the "
            "integration, compiled, on one core: measured, best of several. Lower left is better."
        )
        best = [("The best method for each accuracy", rows)]
        return figures(f"Integrators on {self.robot}", introduction, plots, best, "integrators")

    def plot(self, family: str, title: str = "", note: str = "") -> Plot:
        lines = [line for line in self.lines if line.family == family]
        curves = [
            Curve(line.name, [p.seconds for p in line.points], [p.error for p in line.points], marks=True)
            for line in lines
        ]
        return log_log(title or family, curves, note)

    def champions(self, title: str = "The best of each family", note: str = "") -> Plot:
        """Return the plot of the best method of each family, at each accuracy."""
        curves = []
        for family in self.families:
            found = [(best[1], accuracy) for accuracy in WORK_ACCURACIES if (best := self.best(accuracy, family))]
            curves.append(Curve(family, [x for x, _ in found], [y for _, y in found], marks=True))
        return log_log(title, curves, note)


def log_log(title: str, curves: Sequence[Curve], note: str = "") -> Plot:
    """Return the plot of lines over logarithmic axes."""
    return Plot(title, "seconds", "largest error, rad or m", curves, x_log=True, y_log=True, note=note)


FIXED_STEPS, MODERN = "Fixed steps", "Dormand-Prince, modern"


def family_of(tableau: Tableau) -> str:
    """Return the family of a method on pages."""
    if tableau.error is None:
        return FIXED_STEPS
    if tableau.status == "stand-in":
        return "Butcher (stand-ins)"
    return "Fehlberg, Verner" if tableau.name.startswith(("rkf", "rkv")) else MODERN


class TimedMotion:
    """A motion of a robot, on which integrators are measured.

    `q0` may be several starts (k, n): an error is then their median. With `repeats` = 0 times are rough.
    """

    def __init__(
        self,
        robot: Robot,
        duration: float = 1.0,
        q0: ArrayLike | None = None,
        torque: Any = None,
        records: int = RECORDS,
        repeats: int = WORK_REPEATS,
    ) -> None:
        robot = with_smooth_friction(robot)  # as `simulate` does
        self.robot, self.duration, self.every, self.repeats = robot, duration, duration / records, repeats
        self.law = law_for(torque, robot)
        if not self.law.traceable or not has_straight_code(robot):
            raise InputError(
                "integrators are timed compiled: with the laws of armwright.torque, and robots of up to "
                f"{max_unrolled_joints()} joints; got {self.law!r} and {len(robot.links)} joints"
            )
        driven = equations_of(MotionRecord(robot, self.law))
        self.program, self.smooth = derivative(driven), derivative(driven, loop_limits=False)
        starts = np.atleast_2d(robot.unit(np.full(robot.nq, 0.3)) if q0 is None else np.asarray(q0, dtype=float))
        self.layout = layout_of(robot, self.law)
        self.starts = self.layout.joined({"q": starts}, (len(starts),))
        self._kernels: dict[Any, Rollout] = {}
        tight = self._rollouts(self._kernel("exact", method("dop853").steps()), "dop853", rtol=1e-14, atol=1e-15)
        _timed(tight)
        if tight.failed.any():
            t = float(tight.lanes["t"].min())
            raise SimulationError(
                f"there is no accurate motion of {robot.name} to compare with: at t = {t:.4g} s the step falls below "
                "rounding or the motion diverges; shorten duration",
                None,
                t,
            )
        self.exact = _records(tight)

    def fixed(self, tableau: Tableau, step: float) -> Point | None:
        """Return the run with fixed steps by a method, or by the propagated formula of a pair; None if it fails."""
        steps = tableau.steps(fixed=True)
        kernel = self._kernel((tableau.name, "fixed"), steps)
        return self._measured(step, lambda copies: self._rollouts(kernel, "rk1", copies, step=step), steps.stages)

    def pair(self, tableau: Tableau, tolerance: float, rule: str = "pi") -> Point | None:
        """Return the run with adaptive steps by rule "pi" of `simulate`, or one of `MACHADO`; None if it fails."""
        kernel = self._kernel((tableau.name, "pair"), tableau.steps())
        gains = STEP_RULES[rule](tableau)

        def make(copies: int) -> Rollouts:
            rollouts = self._rollouts(kernel, tableau.name, copies, rtol=tolerance, gains=gains)
            if rule in MACHADO:
                rollouts.options = machado_options(gains, tolerance, self.layout.controlled)
            return rollouts

        return self._measured(tolerance, make, tableau.stages - tableau.fsal)

    def polynomials(self, orders: TaylorPolynomials, step: float) -> Point | None:
        """Return the run of compiled Taylor polynomials, with Euler's method for the steps; None if it fails."""
        key = ("jets", *orders.weights)
        if key not in self._kernels:
            self._kernels[key] = self._compiled(self.increment(orders), EULER)
        return self._measured(step, lambda copies: self._rollouts(self._kernels[key], "rk1", copies, step=step), 1)

    def increment(self, orders: TaylorPolynomials) -> Program:
        n, (positions, velocities) = self.robot.nq, orders.weights
        return increment(self.smooth, [positions] * n + [velocities] * (self.layout.size - n))

    def series(self, tolerance: float) -> Point | None:
        """Return the run of heyoka's Taylor series, whose order follows from the tolerance; None if it fails."""
        checked = Taylor(self.smooth, tolerance)
        longest = np.diff(checked.solve(0.0, self.starts[0], self.duration).t).max()
        integrator = checked._integrator  # its own loop: that of Taylor.solve is Python, and chooses safer steps
        times = np.linspace(0.0, self.duration, len(self.exact))
        best, spent, steps, found = np.inf, 0.0, 0, self.exact
        for _ in range(max(1, self.repeats)):
            integrator.time, integrator.state[:] = 0.0, self.starts[0]
            begin = clock()
            *_, steps, _, states = integrator.propagate_grid(times, max_delta_t=longest)
            took = clock() - begin
            best, spent, found = min(best, took), spent + took, states[:, :, None]
            if spent > REPEAT_LIMIT_SECONDS or len(found) < len(times):
                break
        return self._point(tolerance, found, best, steps, steps, 0) if len(found) == len(times) else None

    def _kernel(self, key: Any, steps: Steps) -> Rollout:
        if key not in self._kernels:
            self._kernels[key] = self._compiled(self.program, steps)
        return self._kernels[key]

    def _compiled(self, program: Program, steps: Steps) -> Rollout:
        return backend("cpu").rollout(program, steps, self.layout, None, None, "float64")

    def _rollouts(
        self, kernel: Rollout, integrator: str, copies: int = 1, *, rtol: float | None = None,
        atol: float | None = None, step: float | None = None, gains: Gains | None = None,
    ) -> Rollouts:  # fmt: skip
        """Return rollouts of `copies` of the motion, each in all lanes of a vector."""
        planned = plan(self.robot, self.law, settings(integrator, rtol, atol, step), self.duration, self.every)
        y = np.tile(self.starts, (copies * max(1, kernel.width // len(self.starts)), 1))
        return Rollouts(planned, kernel, y, np.zeros((len(y), 1)), gains)

    def _measured(self, setting: float, make: Callable[[int], Rollouts], stages: int) -> Point | None:
        """Return the run with the smallest time of several calls, each with copies for a minimum duration."""
        first, begin = make(1), clock()
        best = _timed(first)
        if first.failed.any():
            return None
        copies = int(np.clip(MIN_CALL_SECONDS / best, 1, 64))
        for _ in range(self.repeats):
            if clock() - begin > REPEAT_LIMIT_SECONDS:
                break
            best = min(best, _timed(make(copies)))
        steps, rejected = int(first.accepted[0]), int(first.lanes["rejected"][0])
        return self._point(setting, _records(first), best, (steps + rejected) * stages, steps, rejected)

    def _point(
        self, setting: float, found: Array, seconds: float, evaluations: int, steps: int, rejected: int
    ) -> Point | None:
        """Return the point of a run; None if its error is 1 or more."""
        n = self.robot.n
        error = float(np.median(np.max(np.abs(found[:, :n] - self.exact[:, :n]), axis=(0, 1))))
        return Point(setting, error, seconds, evaluations, steps, rejected) if error < 1 else None


def _timed(rollouts: Rollouts) -> float:
    """Integrate to the end; return the seconds of one vector of motions."""
    begin = clock()
    rollouts.advance(len(rollouts.plan.times))
    return float((clock() - begin) * rollouts.kernel.width / rollouts.padded)


def _records(rollouts: Rollouts) -> Array:
    """Return the records (records, entries, motions)."""
    records: Array = rollouts.records[:, :, : rollouts.count]
    return records


MACHADO = ("machado", "machado_consistent")


def machado_options(gains: Gains, tolerance: float, entries: int) -> Array:
    """Return the options of rule (14) for the compiled loop, as in `integrate.control` except for the norm.

    The paper compares each variable with TOL. The root mean square of the loop is scaled to the Euclidean norm, which
    is 1 to sqrt(entries) times the largest variable.
    """
    return step_options(gains, 0.0, tolerance / np.sqrt(entries), np.inf, "float64")


def measured_line(
    name: str, order: int, family: str, settings: Sequence[float], measure: Callable[[float], Point | None]
) -> MethodLine:
    """Return the runs of a method by setting, until it needs too many evaluations or reaches rounding."""
    points: list[Point] = []
    for setting in settings:
        point = measure(setting)
        if point is None:
            continue
        if points and 0.5 * points[-1].error < point.error < ROUNDING_ERROR:
            break
        points.append(point)
        if point.evaluations > MAX_EVALUATIONS:
            break
    return MethodLine(name, order, family, tuple(points))


def fixed_line(motion: TimedMotion, tableau: Tableau, substeps: Sequence[int] = REFERENCE_SUBSTEPS) -> MethodLine:
    """Return the line of a method with fixed steps."""
    steps = [motion.every / k for k in substeps]
    return measured_line(tableau.name, tableau.order, FIXED_STEPS, steps, lambda h: motion.fixed(tableau, h))


TAYLOR_POLYNOMIALS = "Taylor polynomials"
RECOMMENDED = ("T6,5", "T8,8", "T10,9", "T10,10")
"""The polynomials that are timed by default: the fastest for each accuracy on small arms."""


def polynomial_line(
    motion: TimedMotion, orders: TaylorPolynomials, substeps: Sequence[int] = REFERENCE_SUBSTEPS, name: str = ""
) -> MethodLine:
    """Return the line of one of the T_ij of Machado and Galhano, by default under this name of theirs."""
    steps = [motion.every / k for k in substeps]
    return measured_line(
        name or f"T{orders.terms[0]},{orders.terms[1]}",
        orders.order,
        TAYLOR_POLYNOMIALS,
        steps,
        lambda h: motion.polynomials(orders, h),
    )


def pair_line(
    motion: TimedMotion, name: str, rule: str = "pi", tolerances: Sequence[float] = TOLERANCE_SWEEP
) -> MethodLine:
    """Return the line of a pair over tolerances."""
    tableau = method(name)
    return measured_line(name, tableau.order, family_of(tableau), tolerances, lambda x: motion.pair(tableau, x, rule))


def series_line(motion: TimedMotion, tolerances: Sequence[float] = SERIES_TOLERANCES) -> MethodLine | None:
    """Return the line of heyoka's Taylor series; None if it is not installed or the torque law is not smooth."""
    begin = time.perf_counter()
    points = []
    for tolerance in tolerances if find_spec("heyoka") else ():
        if time.perf_counter() - begin > MAX_COMPILE_SECONDS:
            break
        try:
            point = motion.series(tolerance)
        except ArmwrightError:
            return None
        points += [point] if point is not None else []
    return MethodLine("taylor", 20, MODERN, tuple(points)) if points else None


def recommended(motion: TimedMotion) -> list[MethodLine]:
    """Return the lines of recommended Taylor polynomials that compile in time; none for laws that are not smooth."""
    begin, lines = time.perf_counter(), list[MethodLine]()
    for name in RECOMMENDED:
        if time.perf_counter() - begin > MAX_COMPILE_SECONDS:
            break
        try:
            lines.append(polynomial_line(motion, polynomials(name), name=name))
        except InputError:
            break
    return lines


def work_precision(
    robot: Robot,
    duration: float = 1.0,
    names: Sequence[str] | None = None,
    q0: ArrayLike | None = None,
    torque: Any = None,
) -> WorkPrecision:
    """Return the lines of all methods, or those named, over steps or tolerances; "taylor" is that of heyoka.

    Without names they include the `RECOMMENDED` Taylor polynomials that compile within `MAX_COMPILE_SECONDS`.
    """
    motion = TimedMotion(robot, duration, q0, torque)
    lines: list[MethodLine | None] = []
    for name in tracked(names or [*methods(), "taylor"]):
        if name == "taylor":
            lines.append(series_line(motion))
        elif name in POLYNOMIALS:
            lines.append(polynomial_line(motion, polynomials(name), name=name))
        else:
            lines.append(fixed_line(motion, method(name)) if method(name).error is None else pair_line(motion, name))
    lines += [] if names else recommended(motion)
    return WorkPrecision(robot.name, duration, tuple(line for line in lines if line is not None and line.points))
