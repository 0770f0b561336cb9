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
from armwright.simulation.audit import neighbour_distance
from armwright.simulation.events import Event, RobotEvent, events_on, started
from armwright.simulation.events import called as event_called
from armwright.simulation.kernels import TARGET, rollout_of
from armwright.simulation.loop_limits import ended
from armwright.simulation.observables import run_of
from armwright.simulation.plan import (
    MACHINE_EPSILON,
    MAX_STEPS_PER_RECORD,
    SMOOTHING_SPEED,
    Plan,
    Settings,
    plan,
    settings,
    start_state,
)
from armwright.simulation.python_integration import integrate_in_python
from armwright.simulation.rollouts import Rollouts
from armwright.simulation.run import Found, Run, Statistics
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
    """The motion of a robot under a torque law.

    torque      None (it falls), numbers, a law of `armwright.torque`, or a function (t, q, qd) -> tau
    q0, qd0     where it starts, nq and n numbers; by default where the law's trajectory does, else neutral and at rest
    duration    seconds; by default as long as the law's trajectory or table lasts
    integrator  a name of `armwright.integrate.methods()`, "radau", "bdf", "lsoda", "taylor", "semi_implicit_euler", or
                "T6,5" and the like: Taylor polynomials of these orders for positions and velocities, in fixed steps; by
                default dop853, or radau where dry friction of joints at rest would hold that to very short steps
    rtol, atol  error of positions and velocities (and of what the law remembers) allowed per step: 1e-9, and rtol/1000;
                the Taylor series has an rtol of 2.2e-16 by default
    step        the length of fixed steps instead; between two records they are equal, and none is longer than this
    every       seconds between records
    events      of `armwright.events`, compiled with the motion, or `armwright.integrate.Event`s, Python functions of
                (t, y), y = (q, qd, ...), which are slower: a terminal one ends the run
    progress    whether to show a progress bar; by default when the run takes long and a person is watching
    max_step    the longest step that may be chosen
    smooth      the speed within which the robot's own dry friction rounds off, coulomb tanh(qd / smooth): a joint that
                sticks creeps at less than this. Zero for friction that jumps at rest, which few integrators survive
    stops       True for stops at the limits of the joints, stiff and damped; `armwright.torque.stops` for others. What
                they hold and take is among the losses
    """
    how = settings(EXPLICIT if integrator is None else integrator, rtol, atol, step, max_step)
    planned = plan(robot, torque, how, duration, every, start, smooth, stops)
    listed = tuple(events) if isinstance(events, Iterable) else (events,)
    watched = events_on(robot, listed)
    layout, (q, qd) = planned.layout, start_state(planned, q0, qd0)
    if integrator is None and step is None and smooth and not planned.numbers.random:
        seconds = float(planned.times[-1] - planned.times[0])
        planned = replace(planned, how=replace(how, integrator=method_for(planned.robot, q, seconds)))
    integrator = planned.how.integrator
    y0 = layout.joined({"q": q, "qd": qd, "memory": np.array(planned.law.start(robot.n))})
    ending = tuple(event for event in watched if isinstance(event, RobotEvent) and int(event.terminal) == 1)
    compiled = planned.traced and integrator in INTEGRATORS
    if planned.numbers.random and not (compiled and len(ending) == len(watched)):
        raise InputError(NOISE_ERROR)
    if not planned.law.traceable:
        warnings.warn(
            f"the torque law is called from Python at every evaluation, which is slower: {planned.law!r}",
            SlowWarning,
            stacklevel=2,
        )
    if compiled:
        if len(ending) == len(watched):
            run = _compiled(replace(planned, events=started(ending, q)), y0, progress)
            return replace(run, again=RepeatableSimulation(planned, run.q[0], run.qd[0], listed))
        slow = next(event for event in watched if event not in ending)
        told = (
            f"{slow.name!r} is only noted" if isinstance(slow, RobotEvent) else f"{slow.title!r} is a Python function"
        )
        warnings.warn(
            f"event {told}, so that all steps are taken from Python, which is slower: "
            "what armwright.events makes is compiled where it ends the run",
            SlowWarning,
            stacklevel=2,
        )
    called = [
        event_called(started((x,), q)[0], planned.robot, layout) if isinstance(x, RobotEvent) else x for x in watched
    ]
    run = integrate_in_python(planned, y0, called)
    return replace(run, again=RepeatableSimulation(planned, run.q[0], run.qd[0], listed))


@dataclass(frozen=True, eq=False)
class RepeatableSimulation:
    """How a simulation is made again: what was asked for, and from where."""

    planned: Plan
    q0: Array
    qd0: Array
    events: tuple[Any, ...]

    def run(self, factor: float) -> Run:
        gap = float(self.planned.times[1] - self.planned.times[0])
        return self._simulated(self.q0, self.qd0, refined(self.planned.how, factor, gap), self.events)

    def apart(self, run: Run) -> Array:
        q, qd = (
            self.planned.robot.unit(neighbouring(self.planned, self.q0)),
            neighbouring(self.planned, self.qd0),
        )
        try:
            other = self._simulated(q, qd, self.planned.how, (), float(run.t[-1] - run.t[0])).q
        except SimulationError as error:
            other = error.run.q if isinstance(error.run, Run) else q[None]
        return distance(run.q, other)

    def _simulated(
        self, q0: Array, qd0: Array, how: Settings, events: tuple[Any, ...], duration: float | None = None
    ) -> Run:
        first, last = float(self.planned.times[0]), float(self.planned.times[-1])
        gap = float(self.planned.times[1]) - first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SlowWarning)
            return simulate(
                self.planned.robot,
                self.planned.law,
                q0,
                qd0,
                last - first if duration is None else duration,
                every=gap,
                start=first,
                events=events,
                smooth=0.0,
                **how.said,
            )


def neighbouring(plan: Plan, values: Array) -> Array:
    """Positions or velocities next to these: every other one a little more or less."""
    near: Array = values + neighbour_distance(plan.how.rtol) * (-1.0) ** np.arange(len(values))
    return near


def distance(q: Array, other: Array) -> Array:
    """How far positions (k, n) are from others at the same times, infinitely far where these are missing."""
    gaps = np.full(len(q), np.inf)
    both = min(len(q), len(other))
    gaps[:both] = np.max(np.abs(q[:both] - other[:both]), axis=1)
    return np.where(np.isfinite(gaps), gaps, np.inf)


def refined(how: Settings, factor: float, gap: float) -> Settings:
    """The same with a tolerance or a step so many times as fine, and steps at most half as long as between records."""
    if how.step is not None:
        return replace(how, step=how.step / factor)
    assert how.rtol is not None
    refined = replace(how, rtol=max(how.rtol / factor, MACHINE_EPSILON), max_step=min(gap, how.longest) / 2)
    return refined if how.atol is None else replace(refined, atol=how.atol / factor)


def _compiled(plan: Plan, y0: Array, progress: bool | None) -> Run:
    fixed = plan.how.step is not None
    robot, known, *_ = plan.shared
    kernel = rollout_of(
        robot, plan.numbers.structure, (), plan.how.integrator, fixed, "float64", TARGET, known, **plan.watching
    )
    parts = plan.layout.split(y0)
    nudges = {name: neighbouring(plan, parts[name]) for name in ("q", "qd")}
    beside = plan.layout.unit(plan.layout.joined({**parts, **nudges}))
    rollouts = Rollouts(plan, kernel, np.stack([y0, beside]), plan.opens)
    rollouts.lanes["event"][1:] = -1  # the neighbour goes on
    seconds, message = rollouts.travel(1, progress, lambda: bool(rollouts.lanes["stop_reason"][0]), stacklevel=4)
    states, others = rollouts.states
    times = plan.times[: rollouts.done]
    good = np.isfinite(states).all(axis=1) & (times <= rollouts.lanes["t"][0] + 1e-12)
    count = int(np.argmin(good)) if not good.all() else len(good)
    times, states = times[:count], states[:count]
    away = distance(states[:, plan.layout["q"]], others[:count, plan.layout["q"]])
    if rollouts.ended[0] and rollouts.lanes["t"][0] > times[-1]:
        times = np.append(times, rollouts.lanes["t"][0])
        states = np.vstack([states, rollouts.y[:, 0]])
        away = np.append(away, away[-1])  # the neighbour has not been asked at that instant
    accepted, rejected = int(rollouts.steps[0]), int(rollouts.rejected[0])
    per_step = rollouts.stages - (not fixed and method(plan.how.integrator).fsal)
    statistics = Statistics(accepted, rejected, (accepted + rejected) * per_step, seconds)
    stops = plan.request.hits(robot.n, rollouts.totals[:, 0])
    run = run_of(plan, times, states, statistics, message, bool(rollouts.broken[0]), stops)
    run = replace(run, sent_along=away[: len(run.t)])
    if rollouts.ended[0]:
        event = plan.events[int(rollouts.lanes["event"][0]) - 1]
        found = Found(event.name, float(times[-1]), run.q[-1].copy(), run.qd[-1].copy())
        run = replace(run, events=(found,), ended_by=event.name)
    if rollouts.broken[0]:
        y = rollouts.y[:, 0]
        error = _broken(plan, run, rollouts.lanes["stop_reason"][0], float(rollouts.lanes["t"][0]), y)
        last = y[plan.layout["q"]]
        error = ended(plan.robot, error, last if np.isfinite(last).all() or not len(run.q) else run.q[-1])
        error.run = replace(run, message=str(error))
        raise error
    return run


def _broken(plan: Plan, run: Run, state: float, t: float, y: Array) -> SimulationError:
    """Why a run could not go on, with what there is of it."""
    robot, parts = plan.robot, plan.layout.split(y)
    q, qd = parts["q"], parts["qd"]
    if state == EVENT_NOT_FINITE:
        names = ", ".join(repr(event.name) for event in plan.events)
        return SimulationError(
            f"an event ({names}) is not a number after t = {t:g} s; expected one wherever the motion goes", run, t
        )
    if state == TOO_MANY_STEPS:
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
    why = "the accelerations are not finite" if state == NOT_FINITE else "the step falls below rounding"
    assert state in (NOT_FINITE, STEP_TOO_SMALL)
    return SimulationError(f"{why} {where}; the torque law may jump there, or the motion diverge", run, t)
