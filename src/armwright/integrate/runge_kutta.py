"""Explicit Runge-Kutta integration of y' = f(t, y), with fixed or adaptive steps.

    solution = solve(lambda t, y: -y, 0, [1.0], 5)                       # adaptive, dop853
    solution = solve(f, 0, y0, 10, "rk4", step=1e-3)                     # fixed steps
    solution = solve(f, 0, y0, 10, "rkf45", rule="machado", rtol=1e-6)   # the steps of Machado and Galhano 1995

The state may hold numbers of double or single precision, or objects such as mpmath's; all arithmetic uses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.integrate import control, march
from armwright.integrate.events import Event, IntegrationStep
from armwright.integrate.integrators import EULER, methods
from armwright.integrate.integrators import method as find_method
from armwright.integrate.scalars import Scalars, state
from armwright.integrate.solution import IntegrationError, Solution, Statistics
from armwright.integrate.tableaus import Steps, Tableau

Derivative = Callable[..., ArrayLike]

STALL_FACTOR = 200
"""The smallest step over rounding if the derivative after it is not finite."""


class RungeKuttaStepper:
    """A tableau in the scalars of the state, applied to a derivative; every step ends with `project`."""

    def __init__(
        self,
        derivative: Derivative,
        steps: Steps,
        scalars: Scalars,
        size: int,
        project: march.Project = march.no_projection,
    ) -> None:
        self.derivative, self.scalars, self.shape, self.project = derivative, scalars, (size,), project
        self.fsal, self.c = steps.fsal, steps.c
        self.counts = Statistics()
        self.a = [np.array(row, scalars.dtype) for row in steps.a]
        self.b = np.array(steps.b, scalars.dtype)
        self.errors = [np.array(row, scalars.dtype) for row in (steps.error, steps.error2) if row is not None]

    def slope(self, t: Any, y: Array, out: Array) -> Array:
        """Return the derivative, checked and copied to `out`, as the user's function may reuse its memory."""
        self.counts.evaluations += 1
        slope = self.derivative(t, y)
        if np.shape(slope) != self.shape:
            raise InputError(f"the derivative has shape {np.shape(slope)} at t = {t}; expected {self.shape}, as y0")
        out[:] = slope
        return out

    def first(self, t: Any, y: Array) -> Array:
        """Return the derivative at the start of a step; raise an IntegrationError if it is not finite."""
        slope = self.slope(t, y, np.empty(self.shape, self.scalars.dtype))
        if not self.scalars.finite(slope):
            raise IntegrationError(
                f"the derivative is not finite at t = {t}: it is {slope} for y = {y}", t, y, "not finite"
            )
        return slope

    def stages(self, t: Any, y: Array, h: Any, first: Array) -> Array | None:
        """Return the derivatives k at all stages; None if one is not finite."""
        k = np.empty((len(self.b), *self.shape), self.scalars.dtype)
        k[0] = first
        for i in range(1, len(self.b)):
            slope = self.slope(t + self.c[i] * h, y + h * self.a[i].dot(k[:i]), out=k[i])
            if not self.scalars.finite(slope):
                return None
        return k

    def at(self, t: Any, y: Array, first: Array, time: Any) -> Array:
        """Return the state at `time` by one step from t."""
        k = self.stages(t, y, time - t, first)
        if k is None:
            raise IntegrationError(f"the derivative is not finite between t = {t} and {time}", t, y)
        return self.project(np.asarray(y + (time - t) * self.b.dot(k)))

    def step(self, t: Any, y: Array, first: Array, t_end: Any, y_end: Array) -> IntegrationStep:
        self.counts.accepted += 1
        return IntegrationStep(t, y, t_end, y_end, partial(self.at, t, y, first), first)

    def next_first(self, k: Array) -> Array | None:
        """Return the first derivative of the next step if it is the last one of this step (FSAL, no projection)."""
        return k[-1] if self.fsal and self.project is march.no_projection else None


class IncrementStepper(RungeKuttaStepper):
    """Steps of Euler's method with a function (t, h, y) -> (y(t + h) - y) / h in place of a derivative."""

    def slope(self, t: Any, y: Array, out: Array) -> Array:
        """Return zeros: an increment needs no derivative at the start."""
        out[:] = 0
        return out

    def stages(self, t: Any, y: Array, h: Any, first: Array) -> Array | None:
        """Return the increment as the only stage; None if it is not finite."""
        self.counts.evaluations += 1
        k = np.asarray(self.derivative(t, h, y), self.scalars.dtype)
        return k[None] if self.scalars.finite(k) else None


def solve_increments(
    increment: Callable[[Any, Any, Array], ArrayLike],
    t0: Any,
    y0: ArrayLike,
    t1: Any,
    *,
    step: Any,
    times: ArrayLike | None = None,
    events: Iterable[Event] = (),
    max_steps: int = march.MAX_INTEGRATION_STEPS,
    on_step: march.OnStep | None = None,
    project: march.Project = march.no_projection,
) -> Solution:
    """Return the solution by fixed steps y + h increment(t, h, y), with the options of `solve`."""
    y, scalars = state("y0", y0)
    span = march.TimeSpan(scalars, t0, t1, times)
    scheme = IncrementStepper(increment, EULER, scalars, y.size, project)
    steps = partial(_fixed, scheme, span.start, y, span.fixed_step_ends(step, max_steps))
    return span.integrate(steps, y, scheme.counts, events, on_step)


def solve(
    derivative: Derivative,
    t0: Any,
    y0: ArrayLike,
    t1: Any,
    method: str | Tableau = "dop853",
    *,
    step: Any = None,
    rtol: ArrayLike = 1e-9,
    atol: ArrayLike = 1e-12,
    first_step: Any = None,
    max_step: Any = None,
    rule: str = "pi",
    times: ArrayLike | None = None,
    events: Iterable[Event] = (),
    controlled: int | None = None,
    max_steps: int = march.MAX_INTEGRATION_STEPS,
    on_step: march.OnStep | None = None,
    project: march.Project = march.no_projection,
) -> Solution:
    """Return the solution of y' = derivative(t, y) from y(t0) = y0 to t1, which may be earlier than t0.

    With `step`, all steps have this length, except shorter ones that end at one of `times` or at t1; or `step` is an
    array of the times at which steps end.
    Without, an embedded pair chooses its steps. By rule "pi" the root mean square error of each step stays below
    atol + rtol |y|, by rule "machado" its largest entry below rtol (see `control`). The formula `b` of the pair is
    propagated, so rkf45 is a method of order 4. Only the first `controlled` entries of y count in the error; by default
    all. rtol and atol are one number, or one for each entry of y.

    The output is at `times`, where steps end exactly, or at every step. `events` are located to rounding by steps of
    the same method from the start of the step in which they happen. `on_step(t, y)` is called after every step and ends
    the integration by returning True. Every step ends with `project(y)`, which returns the nearest state that meets
    constraints, such as quaternions of unit length; the order of the method stays the same.
    """
    tableau = find_method(method) if not isinstance(method, Tableau) else method
    y, scalars = state("y0", y0)
    span = march.TimeSpan(scalars, t0, t1, times)
    scheme = RungeKuttaStepper(derivative, tableau.exact(scalars.number).steps(), scalars, y.size, project)
    steps: Callable[[], Iterator[IntegrationStep]]
    if step is not None:
        steps = partial(_fixed, scheme, span.start, y, span.fixed_step_ends(step, max_steps))
    elif not tableau.adaptive:
        pairs = ", ".join(methods(adaptive=True))
        raise InputError(f"{tableau.name} cannot choose its steps: give `step`, or take one that can: {pairs}")
    else:
        step_rule = control.find_rule(rule, tableau, scalars, rtol, atol, y.size, controlled)
        options = {"first_step": first_step, "max_step": max_step}
        lengths = {name: float(span.length(name, x)) for name, x in options.items() if x is not None}
        adaptive = Adaptive(scheme, step_rule, max_steps, **lengths)
        steps = partial(adaptive.steps, span.start, y, list(span.stops()))
    return span.integrate(steps, y, scheme.counts, events, on_step)


def _fixed(scheme: RungeKuttaStepper, t: Any, y: Array, stops: Iterable[Any]) -> Iterator[IntegrationStep]:
    first = None
    for stop in stops:
        if first is None:
            first = scheme.first(t, y)
        k = scheme.stages(t, y, stop - t, first)
        y_end = None if k is None else scheme.project(y + (stop - t) * scheme.b.dot(k))
        if k is None or y_end is None or not scheme.scalars.finite(y_end):
            raise IntegrationError(
                f"the solution is not finite in the step from t = {t} to {stop}; take a smaller step", t, y
            )
        yield scheme.step(t, y, first, stop, y_end)
        t, y, first = stop, y_end, scheme.next_first(k)


class Adaptive:
    """Steps whose length follows from an error estimate; `h` is the length of the next one.

    Lengths are floats for any scalar of the state, as they need no high precision.
    """

    def __init__(
        self,
        scheme: RungeKuttaStepper,
        rule: control.StepRule,
        max_steps: int,
        first_step: float = 0.0,
        max_step: float = math.inf,
    ) -> None:
        self.scheme, self.rule, self.max_steps, self.h, self.max_step = scheme, rule, max_steps, first_step, max_step

    def steps(self, t: Any, y: Array, stops: list[Any]) -> Iterator[IntegrationStep]:
        scheme = self.scheme
        slope = scheme.first(t, y)
        self.h = min(self.h or self._first_step(t, y, slope, stops[-1] - t), self.max_step)
        first: Array | None = slope
        for stop in stops:
            while t != stop:
                if first is None:
                    first = scheme.first(t, y)
                t_end, y_end, k = self._accepted(t, y, first, stop)
                yield scheme.step(t, y, first, t_end, y_end)
                t, y, first = t_end, y_end, scheme.next_first(k)

    def _accepted(self, t: Any, y: Array, first: Array, stop: Any) -> tuple[Any, Array, Array]:
        """Return time, state and stages of the next accepted step, and update `h`."""
        scheme, finite = self.scheme, True
        while True:
            self._check(t, y, self.h, finite)
            rest = stop - t
            length, at_stop, short = control.next_length(abs(float(rest)), self.h, self.max_step)
            t_end = stop if at_stop else t + (rest / 2 if short else scheme.scalars.number(math.copysign(length, rest)))
            k = scheme.stages(t, y, t_end - t, first)
            finite = k is not None
            y_end, ratio = (y, math.inf) if k is None else self._end_and_ratio(y, t_end - t, k)
            proposed = abs(float(t_end - t)) * self.rule.factor(ratio, not short)
            accepted = k is not None and ratio <= 1
            # a shortened step does not limit the next one
            self.h = min(max(self.h, proposed) if short and accepted else proposed, self.max_step)
            if k is not None and accepted:
                return t_end, scheme.project(y_end), k
            scheme.counts.rejected = (scheme.counts.rejected or 0) + 1

    def _end_and_ratio(self, y: Array, length: Any, k: Array) -> tuple[Array, float]:
        """Return the state after a step, and the ratio of its error to the tolerance."""
        y_end = y + length * self.scheme.b.dot(k)
        errors = [length * error.dot(k) for error in self.scheme.errors]
        return y_end, self.rule.ratio(errors, y, y_end) if self.scheme.scalars.finite(y_end) else math.inf

    def _check(self, t: Any, y: Array, h: float, finite: bool) -> None:
        counts = self.scheme.counts
        if counts.accepted + (counts.rejected or 0) >= self.max_steps:
            raise IntegrationError(
                f"{self.max_steps} steps were not enough: they led to t = {t}, and the next would be {h:.3g} long; "
                "raise max_steps or the tolerances, or take an implicit method (solve_stiff) if the problem is stiff",
                t,
                y,
                "too many",
            )
        if t + self.scheme.scalars.number(h / (10 if finite else STALL_FACTOR)) == t:
            why = "the error estimate stays too large: the tolerances are too fine, or the solution is singular"
            reason = "too small" if finite else "not finite"
            if not finite:
                why = "the derivative is not finite right after it"
            raise IntegrationError(f"the step at t = {t} would be {h:.3g}, below rounding: {why}", t, y, reason)

    def _first_step(self, t: Any, y: Array, first: Array, span: Any) -> float:
        """Return a first step (Hairer, Norsett and Wanner, Solving ODEs I, II.4)."""
        norm, number = self.rule.norm, self.scheme.scalars.number
        d0, d1, limit = norm(y, y, y), norm(first, y, y), abs(float(span))
        h0 = min(0.01 * d0 / d1 if min(d0, d1) > 1e-5 and d1 < math.inf else 1e-6, limit)
        step = number(h0 if span > 0 else -h0)
        slope = self.scheme.slope(t + step, y + step * first, np.empty_like(y))
        if not self.scheme.scalars.finite(slope):
            return h0
        largest = max(d1, norm(slope - first, y, y) / h0)
        h1 = (0.01 / largest) ** (1 / self.rule.order) if largest > 1e-15 else max(1e-6, 1e-3 * h0)
        return min(100 * h0, h1, limit)


def dense(derivative: Derivative, t: Any, y: ArrayLike, h: Any, theta: Any, method: str | Tableau = "dop853") -> Array:
    """Return the state at t + theta h, from the state y at the start t of a step of length h.

    It is one step of the same method, of length theta h: as accurate as the full step for every theta in 0 ... 1, and
    as expensive. An interpolating polynomial would have a lower order.
    """
    tableau = find_method(method) if not isinstance(method, Tableau) else method
    start, scalars = state("y", y)
    scheme = RungeKuttaStepper(derivative, tableau.exact(scalars.number).steps(), scalars, start.size)
    time = scalars.time("t", t)
    return scheme.at(time, start, scheme.first(time, start), time + scalars.time("theta h", theta * h))
