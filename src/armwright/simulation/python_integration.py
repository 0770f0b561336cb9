"""Integration by steps in Python, for laws, events and integrators that cannot be compiled into one loop.

`PYTHON_INTEGRATORS` has a function for each integrator, which supports all its options.
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
from armwright.formulations.parts.coordinates import mechanism_at
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
    """Return the run from y0 with its events."""
    check_solvable(problem_of("forward_dynamics"), plan.robot)
    begin = time.perf_counter()
    error: IntegrationError | None = None
    stopped = ""
    detector = HitDetector(plan.law, partial(_moment, plan), float(plan.times[0]), y0) if plan.has_stops else None
    calls = LawCalls(plan.robot, plan.times)
    request = IntegrationRequest(plan, _with_progress(plan, _rate(plan, calls)), y0, tuple(events), detector)
    try:
        default = _polynomials if plan.settings.integrator in POLYNOMIALS else _runge_kutta
        solution = PYTHON_INTEGRATORS.get(plan.settings.integrator, default)(request)
    except IntegrationError as caught:
        if caught.solution is None:
            raise SimulationError(str(caught), None, float(caught.t)) from None
        solution, error = caught.solution, caught
    except Stopped as stop:
        solution, stopped = stop.solution, f"stopped by the user after t = {stop.solution.t[-1]:g} s"
    counts = solution.statistics
    statistics = Statistics(counts.accepted, counts.rejected or 0, counts.evaluations, time.perf_counter() - begin)
    message = solution.message if error is not None else stopped
    stops = detector.hits if detector else None
    times, states = np.asarray(solution.t), np.asarray(solution.y)
    run = run_of(plan, times, states, statistics, message, error is not None, stops)
    noticed = calls.doubts(run.t, states, run.tau + run.drag)
    q, qd = plan.layout["q"], plan.layout["qd"]
    detected = tuple(DetectedEvent(e.name, float(e.t), e.y[q].copy(), e.y[qd].copy()) for e in solution.events)
    run = replace(run, events=detected, ended_by=", ".join(solution.ended_by), noticed=tuple(noticed))
    if error is not None:
        raise loop_limit_error(plan.robot, SimulationError(str(error), run, float(error.t)), states[-1, q]) from None
    return run


def _rate(plan: Plan, calls: LawCalls) -> Callable[[float, Array], Array]:
    """Return the function dy/dt, compiled if the law can be, perhaps with its reference motion as an input."""
    robot, law, layout = plan.robot, plan.law, plan.layout
    if plan.compilable or (plan.law_with_reference_inputs is not None and law.reference is not None):
        kernel = derivative_kernel(plan.dynamics)
        reference = None if plan.compilable or law.reference is None else law.reference.trace
        return _evaluated(kernel, (layout.size,), plan.dynamics_parameters, reference)
    mechanism = robot.mechanism()

    def rate(t: float, y: Array) -> Array:
        parts = layout.split(layout.unit(np.ascontiguousarray(y)))
        q, qd, at = parts["q"], parts["qd"], _moment(plan, t, y)
        tau, drag = np.array(shared_of(law, at), dtype=float)
        calls.record_call(t, y, tau + drag, lambda: np.array(shared_of(law, at), dtype=float).sum(axis=0))
        rub = np.array(friction(mechanism_at(mechanism, at.q), at.qd)) - drag
        velocities = position_rates(mechanism, y[layout["q"]].tolist(), at.q, at.qd) if layout.unit_vectors else qd
        impulse = []
        if parts["impulse"].size:
            force = (tau + drag)[:IMPULSE].tolist()
            impulse = impulse_rates(mechanism, at.q, at.qd, force, lambda: robot.mass_matrix(q))
        try:
            qdd = robot.forward_dynamics(q, qd, tau + drag)
        except SingularError as error:
            raise IntegrationError(str(error), t, y) from None
        return np.concatenate([velocities, qdd, rates_of(law, at), [tau @ qd, rub @ qd], impulse])

    return rate


def _moment(plan: Plan, t: float, y: Array) -> Moment:
    """Return the moment of a state for a law, with quaternions of unit length."""
    parts = plan.layout.split(plan.layout.unit(np.ascontiguousarray(y)))
    q, qd, memory = (parts[name].tolist() for name in ("q", "qd", "memory"))
    return Moment(t, q, qd, plan.robot.mechanism(), memory)


def _with_progress(plan: Plan, rate: Callable[[float, Array], Array]) -> Callable[[float, Array], Array]:
    """Return the function with reports to the progress callback, if there is one."""
    if (report := progress_callback()) is None:
        return rate
    begin, length = plan.times[0], plan.times[-1] - plan.times[0]

    def call(t: float, y: Array) -> Array:
        report(float((t - begin) / length))
        return rate(t, y)

    return call


def _evaluated(
    kernel: Kernel, shape: tuple[int, ...], numbers: Array, reference: Callable[[float], Sequence[Any]] | None = None
) -> Callable[[float, Array], Array]:
    """Return a function of (t, y) by a kernel of (t, y), runtime parameters and a `reference` motion at t."""

    def call(t: float, y: Array) -> Array:
        out = np.empty(shape)
        arrays = [np.array([[t]], dtype=float), np.ascontiguousarray(y, dtype=float)[None, :]]
        if reference is not None:
            motion = np.array(reference(t), dtype=float).reshape(1, -1)
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
    def adaptive(self) -> dict[str, Any]:
        """The options of a method with adaptive steps."""
        chosen, max_steps = self.plan.settings, MAX_STEPS_PER_RECORD * (len(self.plan.times) - 1)
        limits = {"max_step": chosen.max_step, "max_steps": max_steps, "controlled": self.plan.layout.controlled}
        return {"rtol": chosen.rtol, "atol": chosen.atol, **limits, **self.output}


def _runge_kutta(request: IntegrationRequest) -> Solution:
    plan = request.plan
    if plan.settings.step is not None:
        return solve(request.rate, *request.span, plan.settings.integrator, step=plan.fixed_step_ends, **request.output)
    return solve(request.rate, *request.span, plan.settings.integrator, first_step=plan.first_step, **request.adaptive)


def _implicit(request: IntegrationRequest) -> Solution:
    plan, size = request.plan, request.plan.layout.size
    jacobian = None
    if plan.compilable:
        kernel = jacobian_kernel(plan.dynamics)
        jacobian = _evaluated(kernel, (size, size), plan.dynamics_parameters)
    options = {name: value for name, value in request.adaptive.items() if name != "max_steps"}
    return solve_stiff(request.rate, *request.span, plan.settings.integrator, jacobian=jacobian, **options)


def _taylor(request: IntegrationRequest) -> Solution:
    plan = request.plan
    _check_traced(plan)
    assert plan.settings.rtol is not None
    series: Any = taylor_series(plan.dynamics, max(plan.settings.rtol, MACHINE_EPSILON))
    chosen, numbers = plan.settings, plan.dynamics_parameters[0]
    options: dict[str, Any] = {"atol": chosen.atol, "max_step": chosen.max_step, "numbers": numbers}
    solution: Solution = series.solve(*request.span, **options, **request.output)
    return solution


def _polynomials(request: IntegrationRequest) -> Solution:
    plan = request.plan
    _check_traced(plan)
    kernel = increment_kernel(plan.dynamics, plan.settings.integrator)
    numbers = [plan.dynamics_parameters] if plan.dynamics_parameters.size else []

    def increment(t: float, h: float, y: Array) -> Array:
        out = np.empty(y.shape)
        kernel.run([np.array([[t, h]]), np.ascontiguousarray(y)[None, :], *numbers], out.reshape(1, -1))
        return out

    return solve_increments(increment, *request.span, step=plan.fixed_step_ends, **request.output)


def _check_traced(plan: Plan) -> None:
    if not plan.compilable:
        raise InputError(
            f"{plan.settings.integrator} needs the Taylor series of the motion: expected a law of armwright.torque "
            f"that can be compiled, and up to {max_unrolled_joints()} joints; a Runge-Kutta method takes any law"
        )


def _semi_implicit(request: IntegrationRequest) -> Solution:
    layout, (t0, y0, t1) = request.plan.layout, request.span
    q, qd = layout["q"], layout["qd"]

    def rates(t: float, *parts: Array) -> Array:
        return request.rate(t, np.concatenate(parts))[qd.start :]

    mechanism = request.plan.robot.mechanism()

    def velocity(q: Array, qd: Array) -> Array:
        """Return dq/dt; quaternions have unit length at the start of a step."""
        return np.array(position_rates(mechanism, q.tolist(), q.tolist(), qd.tolist())) if layout.unit_vectors else qd

    options = {"step": request.plan.fixed_step_ends, "z0": y0[qd.stop :], "velocity": velocity, **request.output}
    return semi_implicit_euler(rates, t0, y0[q], y0[qd], t1, **options)


PYTHON_INTEGRATORS = {
    **dict.fromkeys(STIFF, _implicit),
    "taylor": _taylor,
    "semi_implicit_euler": _semi_implicit,
}
"""The integrators that are neither Runge-Kutta methods nor Taylor polynomials."""
