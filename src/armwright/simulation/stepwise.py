"""The same integration, one evaluation at a time from Python: for what cannot be compiled as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import backend
from armwright.errors import InputError, SimulationError, SingularError
from armwright.formulations.parts.actuators import friction
from armwright.integrate import (
    STIFF,
    Event,
    IntegrationError,
    Solution,
    Taylor,
    semi_implicit_euler,
    solve,
    solve_stiff,
)
from armwright.robot import Robot
from armwright.simulation.motion import derivative, jacobian
from armwright.simulation.plan import Plan
from armwright.simulation.rollouts import motion_of, remembered
from armwright.simulation.run import Found, Run, Statistics, integral
from armwright.simulation.seen import seen
from armwright.torque import Law, Moment
from armwright.trace.form import straight, unrolled


def stepwise(plan: Plan, y0: tuple[Array, Array], events: Sequence[Event]) -> Run:
    """The same integration, one evaluation at a time from Python."""
    n = plan.robot.n
    begin = time.perf_counter()
    error: IntegrationError | None = None
    try:
        solution = _solved(plan, _rate(plan), y0, tuple(events))
    except IntegrationError as caught:
        if caught.solution is None:
            raise SimulationError(str(caught), None, float(caught.t)) from None
        solution, error = caught.solution, caught
    except SingularError as caught:
        raise SimulationError(str(caught), None, float(plan.times[0])) from None
    found = solution.statistics
    statistics = Statistics(found.accepted, found.rejected or 0, found.evaluations, time.perf_counter() - begin)
    records = np.asarray(solution.y)
    if records.shape[1] == 2 * n:
        records = _with_work(plan, np.asarray(solution.t), records)
    message = solution.message if error is not None else ""
    run = seen(plan, np.asarray(solution.t), records, statistics, message)
    hits = tuple(Found(e.name, float(e.t), e.y[:n].copy(), e.y[n : 2 * n].copy()) for e in solution.events)
    run = replace(run, events=hits)
    if error is not None:
        raise SimulationError(str(error), run, float(error.t)) from None
    return run


def _rate(plan: Plan) -> Callable[[float, Array], Array]:
    """dy/dt of y = (q, qd, work, losses), compiled where the law can be."""
    robot, n, law = plan.robot, plan.robot.n, plan.law
    if law.traceable and straight(robot):
        return _evaluated(_slopes(robot, law), 2 * n + 2)
    chain = robot.chain()

    def rate(t: float, y: Array) -> Array:
        q, qd = np.ascontiguousarray(y[:n]), np.ascontiguousarray(y[n : 2 * n])
        tau, drag = np.array(law.shared(Moment(t, q.tolist(), qd.tolist(), chain)), dtype=float)
        rub = np.array(friction(chain, qd.tolist())) - drag
        return np.concatenate([qd, robot.forward_dynamics(q, qd, tau + drag), [tau @ qd, rub @ qd]])

    return rate


@remembered
def _slopes(robot: Robot, law: Law) -> Any:
    return backend("cpu").kernel(derivative(motion_of(robot, law)), "float64")


@remembered
def _jacobian(robot: Robot, law: Law) -> Any:
    return backend("cpu").kernel(jacobian(derivative(motion_of(robot, law))), "float64")


@remembered
def _taylor(robot: Robot, law: Law, tolerance: float) -> Taylor:
    return Taylor(derivative(motion_of(robot, law)), tolerance)


def _evaluated(kernel: Any, size: int) -> Callable[[float, Array], Array]:
    """A kernel of (t, y) for one state at a time."""

    def call(t: float, y: Array) -> Array:
        out = np.empty((1, size))
        kernel.run([np.array([[t]], dtype=float), np.ascontiguousarray(y, dtype=float)[None, :]], out)
        result: Array = out[0]
        return result

    return call


def _solved(
    plan: Plan, rate: Callable[[float, Array], Array], y0: tuple[Array, Array], events: tuple[Event, ...]
) -> Solution:
    t0, t1, n = float(plan.times[0]), float(plan.times[-1]), plan.robot.n
    y = np.concatenate([*y0, np.zeros(2)])
    traced = plan.law.traceable and straight(plan.robot)
    output: dict[str, Any] = {"times": plan.times, "events": events}
    if plan.integrator in STIFF:
        size = 2 * n + 2
        matrix = None
        if traced:
            flat = _evaluated(_jacobian(plan.robot, plan.law), size * size)
            matrix = partial(_shaped, flat, (size, size))
        tolerances: dict[str, Any] = {"rtol": plan.rtol, "atol": plan.atol}
        return solve_stiff(rate, t0, y, t1, plan.integrator, jacobian=matrix, **tolerances, **output)
    if plan.integrator == "taylor":
        if not traced:
            raise InputError(f"the Taylor method needs a law that can be compiled, for up to {unrolled()} joints")
        series: Taylor = _taylor(plan.robot, plan.law, max(plan.rtol, 2.3e-16))
        return series.solve(t0, y, t1, **output)
    if plan.integrator == "semi_implicit_euler":

        def acceleration(t: float, q: Array, qd: Array) -> Array:
            return rate(t, np.concatenate([q, qd, np.zeros(2)]))[n : 2 * n]

        return semi_implicit_euler(acceleration, t0, *y0, t1, step=plan.step, **output)
    how: dict[str, Any] = {"step": plan.step} if plan.step is not None else {"rtol": plan.rtol, "atol": plan.atol}
    return solve(rate, t0, y, t1, plan.integrator, **how, **output)


def _shaped(call: Callable[[float, Array], Array], shape: tuple[int, int], t: float, y: Array) -> Array:
    return call(t, y).reshape(shape)


def _with_work(plan: Plan, times: Array, records: Array) -> Array:
    """States (k, 2n) with work and losses beside them, integrated over the records."""
    rate = _rate(plan)
    power = np.array(
        [rate(float(t), np.concatenate([y, np.zeros(2)]))[-2:] for t, y in zip(times, records, strict=True)]
    )
    return np.concatenate([records, np.stack([integral(times, p) for p in power.T], axis=-1)], axis=1)
