"""Implicit methods for stiff problems, by SciPy.

A motor with a stiff spring or strong friction makes a robot stiff. radau is an implicit Runge-Kutta method of order 5,
bdf and lsoda change their order from 1 to 5, and lsoda is explicit as long as the problem is not stiff.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import ArmwrightError, InputError, unknown
from armwright.integrate import control, march
from armwright.integrate.events import Event, IntegrationStep
from armwright.integrate.runge_kutta import Derivative
from armwright.integrate.scalars import state
from armwright.integrate.solution import IntegrationError, Solution, Statistics

STIFF = {"radau": "Radau", "bdf": "BDF", "lsoda": "LSODA"}
"""The names of the implicit methods, and their names in SciPy."""

MAX_STIFF_STEPS = 20_000
"""Implicit methods take few and long steps; if they need more than these, the equation is discontinuous."""

UNCONTROLLED_ATOL = 1e100
"""Absolute tolerance of entries that do not count in the error."""

FINEST_RTOL = 100 * float(np.finfo(float).eps)

Jacobian = Callable[[float, Array], ArrayLike]


def solve_stiff(
    derivative: Derivative,
    t0: float,
    y0: ArrayLike,
    t1: float,
    method: str = "radau",
    *,
    jacobian: Jacobian | None = None,
    rtol: float = 1e-9,
    atol: ArrayLike = 1e-12,
    controlled: int | None = None,
    first_step: float | None = None,
    max_step: float | None = None,
    times: ArrayLike | None = None,
    events: Iterable[Event] = (),
    max_steps: int = MAX_STIFF_STEPS,
    on_step: march.OnStep | None = None,
    project: march.Project = march.no_projection,
) -> Solution:
    """Return the solution of y' = derivative(t, y) by an implicit method, in double precision; otherwise as `solve`.

    jacobian(t, y) is the matrix of the partial derivatives of `derivative` by y. Without it the method takes
    differences, one evaluation for each entry of y. Output and events come from the polynomials of the method.
    `project` changes only the output: a method of several steps continues from the state without projection.
    """
    if method not in STIFF:
        raise unknown("implicit method", method, STIFF)
    y, scalars = state("y0", y0)
    if scalars.dtype != np.float64:
        raise InputError(f"y0 holds {scalars.dtype} values; {method} integrates in double precision, give floats")
    span, counts = march.TimeSpan(scalars, t0, t1, times), Statistics(rejected=None)
    relative, absolute = control.tolerances(scalars, rtol, atol, y.size)
    if np.ndim(relative):
        raise InputError(
            f"rtol has shape {np.shape(rtol)}; expected one number for {method}; atol may be one for each entry"
        )
    if relative < FINEST_RTOL:
        raise InputError(f"rtol = {rtol} is too fine for {method}; expected {FINEST_RTOL:.1e} or more")
    options = _scaled(relative, absolute, y.size, control.controlled_entries(y.size, controlled))
    for name, value in (("first_step", first_step), ("max_step", max_step)):
        if value is not None:
            options[name] = min(span.length(name, value), abs(span.end - span.start))
    if jacobian is not None:
        options["jac"] = partial(_jacobian, jacobian, counts, y.size)
    slope = partial(_slope, derivative, counts, y.size)
    create_solver = partial(_solver_class(method), slope, span.start, y, span.end, **options)
    return span.integrate(partial(_steps, create_solver, counts, max_steps, project), y, counts, events, on_step)


def _scaled(rtol: float, atol: Any, size: int, controlled: int) -> dict[str, Any]:
    """Return tolerances with which SciPy's root mean square counts only the first `controlled` entries."""
    share = np.sqrt(controlled / size)
    each = np.where(np.arange(size) < controlled, np.broadcast_to(atol, size) * share, UNCONTROLLED_ATOL)
    return {"rtol": rtol * share, "atol": each} if controlled < size else {"rtol": rtol, "atol": atol}


def _solver_class(method: str) -> Any:
    try:
        return getattr(import_module("scipy.integrate"), STIFF[method])
    except ImportError:
        raise ArmwrightError(f"the method {method} is SciPy's, which is not installed: pip install scipy") from None


def _slope(derivative: Derivative, counts: Statistics, size: int, t: float, y: Array) -> Array:
    counts.evaluations += 1
    slope = np.array(derivative(t, y), float)
    if slope.shape != (size,):
        raise InputError(f"the derivative has shape {slope.shape} at t = {t}; expected {(size,)}, as y0")
    if counts.evaluations == 1 and not np.isfinite(slope).all():
        raise IntegrationError(f"the derivative is not finite at t = {t}: it is {slope} for y = {y}", t, y)
    return slope


def _jacobian(jacobian: Jacobian, counts: Statistics, size: int, t: float, y: Array) -> Array:
    counts.jacobians += 1
    matrix = np.array(jacobian(t, y), float)
    if matrix.shape != (size, size):
        raise InputError(f"the jacobian has shape {matrix.shape} at t = {t}; expected {(size, size)}")
    if not np.isfinite(matrix).all():
        raise IntegrationError(f"the jacobian is not finite at t = {t}", t, y)
    return matrix


def _steps(
    create_solver: Callable[[], Any], counts: Statistics, max_steps: int, project: march.Project
) -> Iterator[IntegrationStep]:
    solver = create_solver()

    def within(time: Any) -> Array:
        return project(np.asarray(solver.dense_output()(time)))

    while solver.status == "running":
        t, y = float(solver.t), project(solver.y.copy())
        if counts.accepted >= max_steps:
            raise IntegrationError(f"{max_steps} steps were not enough: they led to t = {t}; raise max_steps", t, y)
        try:
            message = solver.step()
        except ValueError as error:
            if "infs or NaNs" not in str(error):
                raise
            raise IntegrationError(f"SciPy cannot continue at t = {t}: its equations are not finite", t, y) from None
        if solver.status == "failed":
            raise IntegrationError(f"SciPy cannot continue at t = {t}: {message}", t, y)
        counts.accepted += 1
        yield IntegrationStep(t, y, float(solver.t), project(solver.y.copy()), within)
