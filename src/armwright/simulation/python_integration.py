"""The same integration, one evaluation at a time from Python: for what cannot be compiled as a whole.

Every integrator has one way in here, `PYTHON_INTEGRATORS`, and honours every option that `plan.settings` lets through.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import Kernel
from armwright.errors import InputError, SimulationError, SingularError
from armwright.formulations import problem_of
from armwright.formulations.parts.coordinates import placed
from armwright.formulations.parts.rotors_and_friction import friction
from armwright.integrate import (
    POLYNOMIALS,
    STIFF,
    Event,
    IntegrationError,
    Solution,
    Stopped,
    semi_implicit_euler,
    solve,
    solve_increments,
    solve_stiff,
)
from armwright.layout import IMPULSE
from armwright.progress import progress_callback
from armwright.simulation.integration_settings import MACHINE_EPSILON, MAX_STEPS_PER_RECORD
from armwright.simulation.kernels import derivative_kernel, increment_kernel, jacobian_kernel, taylor_series
from armwright.simulation.law_repeatability import LawCalls
from armwright.simulation.loop_limits import loop_limit_error
from armwright.simulation.momentum import impulse_rates
from armwright.simulation.motion_programs import position_rates
from armwright.simulation.observables import run_of
from armwright.simulation.plan import Plan
from armwright.simulation.run import Run
from armwright.simulation.run_files import DetectedEvent, Statistics
from armwright.simulation.stop_hits import HitDetector
from armwright.torque import Moment
from armwright.torque.law import rates_of, shared_of
from armwright.trace.evaluation_strategy import max_unrolled_joints
from armwright.trace.solvability import check_solvable


def integrate_in_python(plan: Plan, y0: Array, events: Sequence[Event]) -> Run:
    """The motion from y0, and the events on the way."""
    check_solvable(problem_of("forward_dynamics"), plan.robot)
    begin = time.perf_counter()
    error: IntegrationError | None = None
    stopped = ""
    watcher = HitDetector(plan.law, partial(_moment, plan), float(plan.times[0]), y0) if plan.has_stops else None
    calls = LawCalls(plan.robot, plan.times)
    asked = IntegrationRequest(plan, _with_progress(plan, _rate(plan, calls)), y0, tuple(events), watcher)
    try:
        default = _polynomials if plan.settings.integrator in POLYNOMIALS else _runge_kutta
        solution = PYTHON_INTEGRATORS.get(plan.settings.integrator, default)(asked)
    except IntegrationError as caught:
        if caught.solution is None:
            raise SimulationError(str(caught), None, float(caught.t)) from None
        solution, error = caught.solution, caught
    except Stopped as stop:
        solution, stopped = stop.solution, f"stopped by the user after t = {stop.solution.t[-1]:g} s"
    found = solution.statistics
    statistics = Statistics(found.accepted, found.rejected or 0, found.evaluations, time.perf_counter() - begin)
    message = solution.message if error is not None else stopped
    stops = watcher.hits if watcher else None
    times, states = np.asarray(solution.t), np.asarray(solution.y)
    run = run_of(plan, times, states, statistics, message, error is not None, stops)
    noticed = calls.doubts(run.t, states, run.tau + run.drag)
    q, qd = plan.layout["q"], plan.layout["qd"]
    found_events = tuple(DetectedEvent(e.name, float(e.t), e.y[q].copy(), e.y[qd].copy()) for e in solution.events)
    ended_by = ", ".join(solution.ended_by)
    run = replace(run, events=found_events, ended_by=ended_by, noticed=tuple(noticed))
    if error is not None:
        raise loop_limit_error(
            plan.robot, SimulationError(str(error), run, float(error.t)), np.asarray(solution.y)[-1, q]
        ) from None
    return run


def _rate(plan: Plan, calls: LawCalls) -> Callable[[float, Array], Array]:
    """dy/dt, compiled where the law can be, at least with the motion it follows as a further input."""
    robot, law, layout = plan.robot, plan.law, plan.layout
    if plan.compilable or (plan.law_with_inputs is not None and law.reference is not None):
        kernel = derivative_kernel(plan.dynamics)
        followed = None if plan.compilable or law.reference is None else law.reference.trace
        return _evaluated(kernel, (layout.size,), plan.dynamics_parameters, followed)
    mechanism = robot.mechanism()

    def rate(t: float, y: Array) -> Array:
        parts = layout.split(layout.unit(np.ascontiguousarray(y)))
        q, qd, at = parts["q"], parts["qd"], _moment(plan, t, y)
        tau, drag = np.array(shared_of(law, at), dtype=float)
        calls.note(t, y, tau + drag, lambda: np.array(shared_of(law, at), dtype=float).sum(axis=0))
        rub = np.array(friction(placed(mechanism, at.q), at.qd)) - drag
        moving = position_rates(mechanism, y[layout["q"]].tolist(), at.q, at.qd) if layout.unit_vectors else qd
        outside = []
        if parts["impulse"].size:
            outside = impulse_rates(
                mechanism, at.q, at.qd, (tau + drag)[:IMPULSE].tolist(), lambda: robot.mass_matrix(q)
            )
        try:
            qdd = robot.forward_dynamics(q, qd, tau + drag)
        except SingularError as error:
            raise IntegrationError(str(error), t, y) from None
        return np.concatenate([moving, qdd, rates_of(law, at), [tau @ qd, rub @ qd], outside])

    return rate


def _moment(plan: Plan, t: float, y: Array) -> Moment:
    """A state as a law sees it, with quaternions of unit length."""
    parts = plan.layout.split(plan.layout.unit(np.ascontiguousarray(y)))
    q, qd, memory = (parts[name].tolist() for name in ("q", "qd", "memory"))
    return Moment(t, q, qd, plan.robot.mechanism(), memory)


def _with_progress(plan: Plan, rate: Callable[[float, Array], Array]) -> Callable[[float, Array], Array]:
    """Return the same function; it reports progress to a listener."""
    if (tell := progress_callback()) is None:
        return rate
    begin, length = plan.times[0], plan.times[-1] - plan.times[0]

    def call(t: float, y: Array) -> Array:
        tell(float((t - begin) / length))
        return rate(t, y)

    return call


def _evaluated(
    kernel: Kernel, shape: tuple[int, ...], numbers: Array, followed: Callable[[float], Sequence[Any]] | None = None
) -> Callable[[float, Array], Array]:
    """A kernel of (t, y), open numbers and what is `followed` at t, for one state at a time."""

    def call(t: float, y: Array) -> Array:
        out = np.empty(shape)
        arrays = [np.array([[t]], dtype=float), np.ascontiguousarray(y, dtype=float)[None, :]]
        if followed is not None:
            motion = np.array(followed(t), dtype=float).reshape(1, -1)
            arrays.append(np.concatenate([numbers, motion], axis=1))
        elif numbers.size:
            arrays.append(numbers)
        kernel.run(arrays, out.reshape(1, -1))
        return out

    return call


@dataclass(frozen=True)
class IntegrationRequest:
    """The arguments of an integrator."""

    plan: Plan
    rate: Callable[[float, Array], Array]
    y0: Array
    events: tuple[Event, ...]
    on_step: Callable[[float, Array], None] | None = None

    @property
    def span(self) -> tuple[float, Array, float]:
        return float(self.plan.times[0]), self.y0, float(self.plan.times[-1])

    @property
    def output(self) -> dict[str, Any]:
        layout = self.plan.layout
        projected = {"project": layout.unit} if layout.unit_vectors else {}
        return {"times": self.plan.times, "events": self.events, "on_step": self.on_step, **projected}

    @property
    def chosen(self) -> dict[str, Any]:
        """The options of a method that chooses its steps."""
        how, most = self.plan.settings, MAX_STEPS_PER_RECORD * (len(self.plan.times) - 1)
        limits = {"max_step": how.max_step, "max_steps": most, "controlled": self.plan.layout.controlled}
        return {"rtol": how.rtol, "atol": how.atol, **limits, **self.output}


def _runge_kutta(asked: IntegrationRequest) -> Solution:
    plan = asked.plan
    if plan.settings.step is not None:
        return solve(asked.rate, *asked.span, plan.settings.integrator, step=plan.fixed_step_ends, **asked.output)
    return solve(asked.rate, *asked.span, plan.settings.integrator, first_step=plan.first_step, **asked.chosen)


def _implicit(asked: IntegrationRequest) -> Solution:
    plan, size = asked.plan, asked.plan.layout.size
    jacobian = None
    if plan.compilable:
        kernel = jacobian_kernel(plan.dynamics)
        jacobian = _evaluated(kernel, (size, size), plan.dynamics_parameters)
    options = {name: value for name, value in asked.chosen.items() if name != "max_steps"}  # it takes few and long ones
    return solve_stiff(asked.rate, *asked.span, plan.settings.integrator, jacobian=jacobian, **options)


def _taylor(asked: IntegrationRequest) -> Solution:
    plan = asked.plan
    _check_traced(plan)
    assert plan.settings.rtol is not None
    series: Any = taylor_series(plan.dynamics, max(plan.settings.rtol, MACHINE_EPSILON))
    chosen, numbers = plan.settings, plan.dynamics_parameters[0]
    options: dict[str, Any] = {"atol": chosen.atol, "max_step": chosen.max_step, "numbers": numbers}
    solution: Solution = series.solve(*asked.span, **options, **asked.output)
    return solution


def _polynomials(asked: IntegrationRequest) -> Solution:
    plan = asked.plan
    _check_traced(plan)
    kernel = increment_kernel(plan.dynamics, plan.settings.integrator)
    numbers = [plan.dynamics_parameters] if plan.dynamics_parameters.size else []

    def increment(t: float, h: float, y: Array) -> Array:
        out = np.empty(y.shape)
        kernel.run([np.array([[t, h]]), np.ascontiguousarray(y)[None, :], *numbers], out.reshape(1, -1))
        return out

    return solve_increments(increment, *asked.span, step=plan.fixed_step_ends, **asked.output)


def _check_traced(plan: Plan) -> None:
    if not plan.compilable:
        raise InputError(
            f"{plan.settings.integrator} needs the Taylor series of the motion: expected a law of armwright.torque "
            f"that can be compiled, and up to {max_unrolled_joints()} joints; a Runge-Kutta method takes any law"
        )


def _semi_implicit(asked: IntegrationRequest) -> Solution:
    layout, (t0, y0, t1) = asked.plan.layout, asked.span
    q, qd = layout["q"], layout["qd"]

    def rates(t: float, *parts: Array) -> Array:
        return asked.rate(t, np.concatenate(parts))[qd.start :]

    mechanism = asked.plan.robot.mechanism()

    def velocity(q: Array, qd: Array) -> Array:
        """Of unit quaternions, which every step begins with."""
        return np.array(position_rates(mechanism, q.tolist(), q.tolist(), qd.tolist())) if layout.unit_vectors else qd

    further: dict[str, Any] = {"z0": y0[qd.stop :], "velocity": velocity}
    return semi_implicit_euler(rates, t0, y0[q], y0[qd], t1, step=asked.plan.fixed_step_ends, **further, **asked.output)


PYTHON_INTEGRATORS = {
    **dict.fromkeys(STIFF, _implicit),
    "taylor": _taylor,
    "semi_implicit_euler": _semi_implicit,
}
"""The integrators that are neither Runge-Kutta methods nor Taylor polynomials."""
