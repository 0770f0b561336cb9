"""A robot, a torque law and an integrator become a motion.

Built-in laws are compiled together with the dynamics and the integrator into one loop (`rollouts`). With a Python
function as a law, an event, an implicit or a Taylor method, or a chain of more joints than are compiled as straight
code, the integration runs step by step from Python (`python_integration`), by the same rules: it takes the same steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.backends.interface import EVENT_NOT_FINITE, NOT_FINITE, STEP_TOO_SMALL, TOO_MANY_STEPS
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

    torque      None (it falls), numbers, a law of `armwright.torque`, or a function (t, q, qd) -> tau
    q0, qd0     where it starts, nq and n numbers; by default where the law's trajectory does, else neutral and at rest
    duration    seconds; by default as long as the law's trajectory or table lasts
    integrator  a name of `armwright.integrate.methods()`, "radau", "bdf", "lsoda", "taylor", "semi_implicit_euler", or
                "T6,5" and the like: Taylor polynomials of these orders for positions and velocities, in fixed steps; by
                default dop853, or radau where dry friction of joints at rest would hold that to very short steps
    rtol, atol  error of positions and velocities (and of the memory of the law) allowed per step: 1e-9, and rtol/1000;
                the Taylor series has an rtol of 2.2e-16 by default
    step        the length of fixed steps instead; between two records they are equal, and none is longer than this
    every       seconds between records
    events      of `armwright.events`, compiled with the motion, or `armwright.integrate.Event`s, Python functions of
                (t, y), y = (q, qd, ...), which are slower: a terminal one ends the run
    progress    whether to show a progress bar; by default when the run takes long and a person is watching
    max_step    the longest step that may be chosen
    smooth      the speed within which dry friction of the robot is rounded off, coulomb tanh(qd / smooth): a joint that
                sticks creeps at less than this. Zero for friction that jumps at rest, which few integrators survive
    stops       True for stops at the limits of the joints, stiff and damped; `armwright.torque.stops` for others. The
                energy that they store and take is among the losses

    Raise an InputError for wrong arguments, and a SimulationError, with the `run` so far, where the motion fails.
    """
    chosen = settings(EXPLICIT if integrator is None else integrator, rtol, atol, step, max_step)
    planned = plan(robot, torque, chosen, duration, every, start, smooth, stops)
    listed = tuple(events) if isinstance(events, Iterable) else (events,)
    on_robot = events_on(robot, listed)
    layout, (q, qd) = planned.layout, start_state(planned, q0, qd0)
    random = planned.law_parameters.random
    if integrator is None and step is None and smooth and not random:
        seconds = float(planned.times[-1] - planned.times[0])
        chosen = replace(chosen, integrator=method_for(planned.robot, q, seconds))
        planned = replace(planned, settings=chosen)
    y0 = layout.joined({"q": q, "qd": qd, "memory": np.array(planned.law.start(robot.n))})
    final = tuple(event for event in on_robot if isinstance(event, RobotEvent) and int(event.terminal) == 1)
    compiled = planned.compilable and chosen.integrator in INTEGRATORS
    if random and not (compiled and len(final) == len(on_robot)):
        raise InputError(NOISE_ERROR)
    if not planned.law.traceable:
        warnings.warn(
            f"the torque law is called from Python at every evaluation, which is slower: {planned.law!r}",
            SlowWarning,
            stacklevel=2,
        )
    if compiled and len(final) == len(on_robot):
        run = _compiled_run(replace(planned, events=with_start_tolerance(final, q)), y0, progress)
        return replace(run, again=RepeatableSimulation(planned, run.q[0], run.qd[0], listed))
    if compiled:
        slow = next(event for event in on_robot if event not in final)
        cause = f"{slow.name!r} is only noted"
        if not isinstance(slow, RobotEvent):
            cause = f"{slow.title!r} is a Python function"
        warnings.warn(
            f"event {cause}, so that all steps are taken from Python, which is slower: "
            "what armwright.events makes is compiled where it ends the run",
            SlowWarning,
            stacklevel=2,
        )
    in_python = [
        python_event(with_start_tolerance((x,), q)[0], planned.robot, layout) if isinstance(x, RobotEvent) else x
        for x in on_robot
    ]
    run = integrate_in_python(planned, y0, in_python)
    return replace(run, again=RepeatableSimulation(planned, run.q[0], run.qd[0], listed))


@dataclass(frozen=True, eq=False)
class RepeatableSimulation:
    """A simulation that can be repeated: its plan, its start and its events."""

    planned: Plan
    q0: Array
    qd0: Array
    events: tuple[Any, ...]

    def run(self, factor: float) -> Run:
        """Return the same run with a tolerance or a step smaller by a factor."""
        gap = float(self.planned.times[1] - self.planned.times[0])
        return self._repeated(self.q0, self.qd0, refined(self.planned.settings, factor, gap), self.events)

    def neighbour_distance(self, run: Run) -> Array:
        """Return the distance of a run that begins next to this one, at its records."""
        q, qd = self.planned.robot.unit(neighbouring(self.planned, self.q0)), neighbouring(self.planned, self.qd0)
        try:
            other = self._repeated(q, qd, self.planned.settings, (), float(run.t[-1] - run.t[0])).q
        except SimulationError as error:
            other = error.run.q if isinstance(error.run, Run) else q[None]
        return distance(run.q, other)

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


def neighbouring(plan: Plan, values: Array) -> Array:
    """Return positions or velocities next to these: every other one a little more or less."""
    near: Array = values + start_distance(plan.settings.rtol) * (-1.0) ** np.arange(len(values))
    return near


def distance(q: Array, other: Array) -> Array:
    """Return the largest differences between positions (k, n) at equal times, infinite where `other` has none."""
    gaps = np.full(len(q), np.inf)
    both = min(len(q), len(other))
    gaps[:both] = np.max(np.abs(q[:both] - other[:both]), axis=1)
    return np.where(np.isfinite(gaps), gaps, np.inf)


def _compiled_run(plan: Plan, y0: Array, progress: bool | None) -> Run:
    """Return the run of the compiled loop, with a neighbour in a second rollout."""
    chosen, robot, layout = plan.settings, plan.robot, plan.layout
    kernel = rollout_of(plan.record(), chosen.integrator, chosen.fixed)
    parts = layout.split(y0)
    near = {name: neighbouring(plan, parts[name]) for name in ("q", "qd")}
    neighbour = layout.unit(layout.joined({**parts, **near}))
    rollouts = Rollouts(plan, kernel, np.stack([y0, neighbour]), plan.runtime_parameters)
    lanes = rollouts.lanes
    lanes["event"][1:] = -1  # events do not end the neighbour
    seconds, message = rollouts.integrate(1, progress, lambda: bool(lanes["stop_reason"][0]), stacklevel=4)
    states, others = rollouts.states
    times = plan.times[: rollouts.done]
    good = np.isfinite(states).all(axis=1) & (times <= lanes["t"][0] + 1e-12)
    count = int(np.argmin(good)) if not good.all() else len(good)
    times, states = times[:count], states[:count]
    away = distance(states[:, layout["q"]], others[:count, layout["q"]])
    if rollouts.ended[0] and lanes["t"][0] > times[-1]:
        times = np.append(times, lanes["t"][0])
        states = np.vstack([states, rollouts.y[:, 0]])
        away = np.append(away, away[-1])  # the neighbour has no record at that instant
    accepted, rejected = int(rollouts.accepted[0]), int(rollouts.rejected[0])
    per_step = rollouts.stages - (not chosen.fixed and method(chosen.integrator).fsal)
    statistics = Statistics(accepted, rejected, (accepted + rejected) * per_step, seconds)
    stops = plan.gauges.hits(robot.n, rollouts.totals[:, 0])
    run = run_of(plan, times, states, statistics, message, bool(rollouts.failed[0]), stops)
    run = replace(run, neighbour_distances=away[: len(run.t)])
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
            f"an event ({names}) is not a number after t = {t:g} s; expected one wherever the motion goes", run, t
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
