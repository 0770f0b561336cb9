"""Simulation of a robot under a torque law.

Law, dynamics and integrator are compiled into one loop (`rollouts`). Python takes the same steps (`python_integration`)
for a law or event that is a Python function, an implicit or Taylor method, or a chain with too many joints for straight
code.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.backends.rollout_interface import EVENT_NOT_FINITE, NOT_FINITE, STEP_TOO_SMALL, TOO_MANY_STEPS
from armwright.errors import InputError, SimulationError, SlowWarning
from armwright.integrate import INTEGRATORS, method
from armwright.integrate import Event as PythonEvent
from armwright.robot import Robot
from armwright.simulation.audit import start_distance
from armwright.simulation.events import Event, RobotEvent, events_on, python_event, with_start_tolerance
from armwright.simulation.integration_settings import (
    MAX_STEPS_PER_RECORD,
    IntegrationSettings,
    refined,
    settings,
)
from armwright.simulation.kernels import rollout_of
from armwright.simulation.loop_limits import loop_limit_error
from armwright.simulation.observables import run_of
from armwright.simulation.plan import SMOOTHING_SPEED, Plan, plan
from armwright.simulation.python_integration import integrate_in_python
from armwright.simulation.rollouts import Rollouts
from armwright.simulation.run import Run
from armwright.simulation.run_files import DetectedEvent, Statistics
from armwright.simulation.start_states import start_state
from armwright.simulation.stiff_friction import EXPLICIT, method_for, short_step_reason
from armwright.torque import Stops
from armwright.torque.random_torque import NOISE_ERROR


def simulate(
    robot: Robot,
    torque: Any = None,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    duration: float | None = None,
    integrator: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    every: float = 0.01,
    events: Sequence[Event | PythonEvent] = (),
    start: float = 0.0,
    progress: bool | None = None,
    max_step: float | None = None,
    smooth: float = SMOOTHING_SPEED,
    stops: Stops | bool | None = None,
) -> Run:
    """Return the motion of a robot under a torque law.

    torque      None (no torque), numbers, a law of `armwright.torque`, or a function (t, q, qd) -> tau
    q0, qd0     start state, nq and n numbers; by default that of the law's trajectory, else neutral and at rest
    duration    seconds; by default those of the law's trajectory or table
    integrator  a name of `armwright.integrate.methods()`, "radau", "bdf", "lsoda", "taylor", "semi_implicit_euler", or
                "T6,5" and the like: Taylor polynomials of these orders for positions and velocities, in fixed steps; by
                default dop853, or radau if dry friction of joints at rest would need very short steps of it
    rtol, atol  error allowed per step, of positions, velocities and the law's memory: by default 1e-9 (Taylor series:
                2.2e-16), and rtol/1000
    step        largest length of fixed steps, without error control; steps between two records are equal
    every       seconds between records
    events      of `armwright.events`, compiled with the motion, or `armwright.integrate.Event`s, Python functions of
                (t, y), y = (q, qd, ...), which are slower: a terminal event ends the run
    progress    True to show a progress bar; by default for long runs in a terminal or notebook
    max_step    the longest step that error control may choose
    smooth      speed scale of the robot's dry friction, coulomb tanh(qd / smooth): sticking joints creep more slowly.
                Zero for friction that jumps at rest, which few integrators can handle
    stops       True for stiff, damped stops at the joint limits; `armwright.torque.stops` for others. The energy that
                they store and dissipate counts as losses

    Raise an InputError for wrong arguments, or a SimulationError with the `run` so far if the motion fails.
    """
    chosen = settings(EXPLICIT if integrator is None else integrator, rtol, atol, step, max_step)
    planned = plan(robot, torque, chosen, duration, every, start, smooth, stops)
    given_events = tuple(events) if isinstance(events, Iterable) else (events,)
    robot_events = events_on(robot, given_events)
    layout, (q, qd) = planned.layout, start_state(planned, q0, qd0)
    random = planned.law_parameters.random
    if integrator is None and step is None and smooth and not random:
        seconds = float(planned.times[-1] - planned.times[0])
        chosen = replace(chosen, integrator=method_for(planned.robot, q, seconds))
        planned = replace(planned, settings=chosen)
    y0 = layout.joined({"q": q, "qd": qd, "memory": np.array(planned.law.start(robot.n))})
    terminal = tuple(event for event in robot_events if isinstance(event, RobotEvent) and int(event.terminal) == 1)
    compiled = planned.compilable and chosen.integrator in INTEGRATORS
    if random and not (compiled and len(terminal) == len(robot_events)):
        raise InputError(NOISE_ERROR)
    if not planned.law.traceable:
        warnings.warn(
            f"the torque law is called from Python at every evaluation, which is slower: {planned.law!r}",
            SlowWarning,
            stacklevel=2,
        )
    if compiled and len(terminal) == len(robot_events):
        run = _compiled_run(replace(planned, events=with_start_tolerance(terminal, q)), y0, progress)
        return replace(run, repeatable=RepeatableSimulation(planned, run.q[0], run.qd[0], given_events))
    if compiled:
        uncompiled = next(event for event in robot_events if event not in terminal)
        cause = f"{uncompiled.name!r} is not terminal"
        if not isinstance(uncompiled, RobotEvent):
            cause = f"{uncompiled.title!r} is a Python function"
        warnings.warn(
            f"event {cause}, so that all steps are taken from Python, which is slower; "
            "armwright.events are compiled if they end the run",
            SlowWarning,
            stacklevel=2,
        )
    in_python = [
        python_event(with_start_tolerance((x,), q)[0], planned.robot, layout) if isinstance(x, RobotEvent) else x
        for x in robot_events
    ]
    run = integrate_in_python(planned, y0, in_python)
    return replace(run, repeatable=RepeatableSimulation(planned, run.q[0], run.qd[0], given_events))


@dataclass(frozen=True, eq=False)
class RepeatableSimulation:
    """A simulation that can be repeated: its plan, its start and its events."""

    planned: Plan
    q0: Array
    qd0: Array
    events: tuple[Any, ...]

    def run(self, factor: float) -> Run:
        """Return the run with a tolerance or step smaller by a factor."""
        gap = float(self.planned.times[1] - self.planned.times[0])
        return self._repeated(self.q0, self.qd0, refined(self.planned.settings, factor, gap), self.events)

    def neighbour_distance(self, run: Run) -> Array:
        """Return the distance of a run from a slightly different start, at each record."""
        q, qd = self.planned.robot.unit(perturbed(self.planned, self.q0)), perturbed(self.planned, self.qd0)
        try:
            other = self._repeated(q, qd, self.planned.settings, (), float(run.t[-1] - run.t[0])).q
        except SimulationError as error:
            other = error.run.q if isinstance(error.run, Run) else q[None]
        return largest_difference(run.q, other)

    def _repeated(
        self,
        q0: Array,
        qd0: Array,
        chosen: IntegrationSettings,
        events: tuple[Any, ...],
        duration: float | None = None,
    ) -> Run:
        first, last = float(self.planned.times[0]), float(self.planned.times[-1])
        gap = float(self.planned.times[1]) - first
        seconds = last - first if duration is None else duration
        options: dict[str, Any] = {"every": gap, "start": first, "events": events, "smooth": 0.0, **chosen.options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SlowWarning)
            return simulate(self.planned.robot, self.planned.law, q0, qd0, seconds, **options)


def perturbed(plan: Plan, values: Array) -> Array:
    """Return positions or velocities changed by plus and minus the start distance in turn."""
    result: Array = values + start_distance(plan.settings.rtol) * (-1.0) ** np.arange(len(values))
    return result


def largest_difference(q: Array, other: Array) -> Array:
    """Return the largest difference of positions (k, n) at each time, infinite where `other` ends earlier."""
    gaps = np.full(len(q), np.inf)
    count = min(len(q), len(other))
    gaps[:count] = np.max(np.abs(q[:count] - other[:count]), axis=1)
    return np.where(np.isfinite(gaps), gaps, np.inf)


def _compiled_run(plan: Plan, y0: Array, progress: bool | None) -> Run:
    """Return the run of the compiled loop, with its neighbour as a second rollout."""
    chosen, robot, layout = plan.settings, plan.robot, plan.layout
    kernel = rollout_of(plan.record(), chosen.integrator, chosen.fixed)
    parts = layout.split(y0)
    starts = {name: perturbed(plan, parts[name]) for name in ("q", "qd")}
    neighbour = layout.unit(layout.joined({**parts, **starts}))
    rollouts = Rollouts(plan, kernel, np.stack([y0, neighbour]), plan.runtime_parameters)
    lanes = rollouts.lanes
    lanes["event"][1:] = -1  # no event ends the neighbour
    seconds, message = rollouts.integrate(1, progress, lambda: bool(lanes["stop_reason"][0]), stacklevel=4)
    states, others = rollouts.states
    times = plan.times[: rollouts.done]
    good = np.isfinite(states).all(axis=1) & (times <= lanes["t"][0] + 1e-12)
    count = int(np.argmin(good)) if not good.all() else len(good)
    times, states = times[:count], states[:count]
    distances = largest_difference(states[:, layout["q"]], others[:count, layout["q"]])
    if rollouts.ended[0] and lanes["t"][0] > times[-1]:
        times = np.append(times, lanes["t"][0])
        states = np.vstack([states, rollouts.y[:, 0]])
        distances = np.append(distances, distances[-1])  # the neighbour has no record at that instant
    accepted, rejected = int(rollouts.accepted[0]), int(rollouts.rejected[0])
    per_step = rollouts.stages - (not chosen.fixed and method(chosen.integrator).fsal)
    statistics = Statistics(accepted, rejected, (accepted + rejected) * per_step, seconds)
    stops = plan.gauges.hits(robot.n, rollouts.totals[:, 0])
    run = run_of(plan, times, states, statistics, message, bool(rollouts.failed[0]), stops)
    run = replace(run, neighbour_distances=distances[: len(run.t)])
    if rollouts.ended[0]:
        event = plan.events[int(lanes["event"][0]) - 1]
        found = DetectedEvent(event.name, float(times[-1]), run.q[-1].copy(), run.qd[-1].copy())
        run = replace(run, events=(found,), ended_by=event.name)
    if rollouts.failed[0]:
        y = rollouts.y[:, 0]
        error = _failure(plan, run, lanes["stop_reason"][0], float(lanes["t"][0]), y)
        last = y[layout["q"]]
        error = loop_limit_error(robot, error, last if np.isfinite(last).all() or not len(run.q) else run.q[-1])
        error.run = replace(run, message=str(error))
        raise error
    return run


def _failure(plan: Plan, run: Run, reason: float, t: float, y: Array) -> SimulationError:
    """Return the error of a run that failed, with its records so far."""
    robot, parts = plan.robot, plan.layout.split(y)
    q, qd = parts["q"], parts["qd"]
    if reason == EVENT_NOT_FINITE:
        names = ", ".join(repr(event.name) for event in plan.events)
        return SimulationError(
            f"an event ({names}) is not finite after t = {t:g} s; expected a finite number all along the motion", run, t
        )
    if reason == TOO_MANY_STEPS:
        step = float(plan.times[1] - plan.times[0]) / MAX_STEPS_PER_RECORD
        why = (
            short_step_reason(robot, q, step)
            or 'the law is stiff (integrator="radau"), or the tolerance too small (rtol=)'
        )
        return SimulationError(
            f"more than {MAX_STEPS_PER_RECORD} steps between two records at t = {t:g} s: {why}", run, t
        )
    if not np.isfinite(y).all():
        finite = np.isfinite(qd) & np.isfinite(q[list(robot.entries)])
        joint = robot.joints[int(np.argmin(finite))].name
        return SimulationError(
            f"the motion of {robot.name} diverges after t = {run.t[-1] if len(run.t) else t:g} s ({joint} first); take "
            "a smaller step=, or an integrator with error control",
            run,
            t,
        )
    with np.errstate(all="ignore"):
        condition = float(np.linalg.cond(robot.mass_matrix(q)))
    fast = int(np.argmax(np.abs(qd)))
    where = f"at t = {t:.6g} s, where {robot.joints[fast].name} moves at {qd[fast]:.3g}"
    if not condition < 1e14:
        return SimulationError(
            f"the mass matrix of {robot.name} is singular (condition {condition:.1e}) {where}", run, t
        )
    why = "the accelerations are not finite" if reason == NOT_FINITE else "the step falls below rounding"
    assert reason in (NOT_FINITE, STEP_TOO_SMALL)
    return SimulationError(f"{why} {where}; the torque law may jump there, or the motion diverge", run, t)
