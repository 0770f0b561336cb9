"""Taylor series of high order for a traced system, compiled by heyoka.

    graph = Graph()
    t, q, qd = graph.input("t"), graph.input("q"), graph.input("qd")
    pendulum = Program((("t", (t,)), ("y", (q, qd))), (qd, -q.sin()), (2,))
    solution = Taylor(pendulum).solve(0, [1.0, 0.0], 100)

The order follows from the tolerance (about 20 for double precision). Steps are long, and the series is the dense
output, so results at many times cost little. Compilation takes from tenths of a second to seconds.

The length of a step follows from the second half of the coefficients: those of one parity vanish for symmetric motions,
and all of high order near some states of rest. Each step is checked by its remainder: the slope of the series at its
end is compared with the derivative there. Both errors are relative to the largest entry of the state; below
`atol` / tolerance they are absolute, as with every other method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import ArmwrightError, InputError
from armwright.graph.expression import Expr
from armwright.graph.program import Program
from armwright.graph.replay import replay
from armwright.graph.simplify import ARITHMETIC
from armwright.integrate import march
from armwright.integrate.control import controlled_entries, positive
from armwright.integrate.events import Event, IntegrationStep
from armwright.integrate.scalars import state
from armwright.integrate.solution import IntegrationError, Solution, Statistics

EPS = float(np.finfo(float).eps)

UNCONTROLLED_SCALE = 2.0**-200
"""Scale of entries that do not count in the error: a power of two, so that no digit is lost."""

ORDER_WINDOW, MAX_STEP_RATIO = 4, 2.0
"""The number of last coefficients that set the length of a step, and its largest ratio to what the others allow."""

FIRST_STEP_DIVISOR, MAX_STEP_GROWTH = 100, 8.0
"""The first step is at most the duration over the divisor; the growth of later steps is limited too."""

REMAINDER_TOLERANCES, REMAINDER_ROUNDING = 20.0, 1e3 * EPS
"""The largest remainder of a step: in multiples of the tolerance, and by rounding."""

DEFAULT_ATOL_RATIO = 1e-3
"""The default absolute tolerance over the relative one."""

MAX_UNROLLED_OPERATIONS = 200
"""Larger programs are compiled with loops, as unrolled code would take minutes to compile."""


class Taylor:
    """A compiled integrator of y' = program(t, y), for any number of solutions, one after the other.

    A program may have a third argument, the runtime parameters of each solution. The tolerance is relative to the
    largest of the first `controlled` entries, by default of all; the others are scaled down so far that they are never
    the largest.
    """

    def __init__(self, program: Program, tolerance: float = EPS, controlled: int | None = None) -> None:
        _check(program)
        self._tolerance = _checked_tolerance(tolerance)
        self.size, self.parameter_count = len(program.outputs), sum(program.sizes[2:])
        heyoka = _heyoka()
        carried = np.arange(self.size) >= controlled_entries(self.size, controlled)
        self._scale = np.where(carried, UNCONTROLLED_SCALE, 1.0)
        y, slopes = _replayed(program, heyoka, self._scale.tolist())
        self._integrator = heyoka.taylor_adaptive(
            sys=list(zip(y, slopes, strict=True)),
            state=[0.0] * self.size,
            tol=self._tolerance,
            compact_mode=len(program.nodes) > MAX_UNROLLED_OPERATIONS,
        )

    @property
    def order(self) -> int:
        """The order of the series."""
        return int(self._integrator.order)

    def solve(
        self,
        t0: float,
        y0: ArrayLike,
        t1: float,
        *,
        times: ArrayLike | None = None,
        events: Iterable[Event] = (),
        max_step: float | None = None,
        max_steps: int = march.MAX_INTEGRATION_STEPS,
        on_step: march.OnStep | None = None,
        project: march.Project = march.no_projection,
        numbers: ArrayLike = (),
        atol: float | None = None,
    ) -> Solution:
        """Return the solution from y(t0) = y0 to t1, as `armwright.integrate.solve` gives it.

        The error of a step is relative to the largest entry and at least `atol`, by default tolerance / 1000.
        """
        y, scalars = state("y0", y0)
        if scalars.dtype != np.float64 or y.shape != (self.size,):
            raise InputError(f"y0 is {scalars.dtype} {y.shape}; expected float64 {(self.size,)}, as the program's y")
        values, pars = np.asarray(numbers, dtype=float), self._integrator.pars
        if values.shape != (self.parameter_count,):
            raise InputError(
                f"numbers has shape {values.shape}; expected {(self.parameter_count,)}, the runtime parameters"
            )
        pars[:] = values[: len(pars)]  # heyoka omits parameters after the last one in use
        span, counts = march.TimeSpan(scalars, t0, t1, times), Statistics()
        longest = np.inf if max_step is None else span.length("max_step", max_step)
        absolute = DEFAULT_ATOL_RATIO * self._tolerance if atol is None else positive("atol", atol, scalars)
        error = _Error(self._tolerance, absolute / self._tolerance)
        steps = partial(self._steps, span.start, y, span.end, error, longest, max_steps, counts, project)
        return span.integrate(steps, y, counts, events, on_step)

    def _steps(
        self,
        t: float,
        y: Array,
        t1: float,
        error: _Error,
        longest: float,
        max_steps: int,
        counts: Statistics,
        project: march.Project,
    ) -> Iterator[IntegrationStep]:
        sign, last = 1.0 if t1 > t else -1.0, 0.0
        series = self._series(t, y)
        counts.evaluations += 1
        while t != t1:
            if counts.accepted >= max_steps:
                raise IntegrationError(f"{max_steps} steps were not enough: they led to t = {t}; raise max_steps", t, y)
            bound = min(longest, abs(t1 - t), MAX_STEP_GROWTH * last if last else abs(t1 - t) / FIRST_STEP_DIVISOR)
            length = error.length(series, bound)
            while True:
                t_end = t + sign * length
                t_end = t1 if abs(t_end - t1) <= abs(t1) * EPS else t_end
                h = t_end - t  # with the rounding of t_end, which is coarse for large times
                if not h:
                    raise IntegrationError(f"the step at t = {t} falls below rounding: no series holds there", t, y)
                y_end = project(_value(series, h) / self._scale)
                if np.isfinite(y_end).all():
                    following = self._series(t_end, y_end)
                    counts.evaluations += 1
                    if error.allows(series, following, h):
                        break
                counts.rejected = (counts.rejected or 0) + 1
                length /= 2
            counts.accepted += 1
            yield IntegrationStep(t, y, t_end, y_end, partial(self._within, series, t, project))
            t, y, series, last = t_end, y_end, following, abs(h)

    def _series(self, t: float, y: Array) -> Array:
        """Return the coefficients (order + 1, entries) of the scaled state at t."""
        integrator = self._integrator
        integrator.time, integrator.state[:] = t, y * self._scale
        integrator.step(max_delta_t=0.0, write_tc=True)
        series: Array = integrator.tc.T.copy()
        if not np.isfinite(series).all():
            raise IntegrationError(
                f"the series is not finite at t = {t}, y = {y}: it diverges, or is too fast for this order", t, y
            )
        return series

    def _within(self, series: Array, t: float, project: march.Project, time: Any) -> Array:
        return project(_value(series, float(time) - t) / self._scale)


class _Error(NamedTuple):
    """The error allowed in a step, relative to the largest entry or to `min_size` if that is larger."""

    tolerance: float
    min_size: float

    def size(self, series: Array) -> float:
        """Return the size to which errors are relative."""
        return max(self.min_size, float(np.abs(series[0]).max()))

    def length(self, series: Array, bound: float) -> float:
        """Return a length for the step: the estimated radius of convergence, times tolerance^(1/order).

        The second half of the coefficients counts, as the last ones may all vanish by symmetry.
        """
        order, largest = len(series) - 1, np.abs(series).max(axis=1)
        orders = np.arange(order // 2 + 1, order + 1)[largest[order // 2 + 1 :] > 0]
        radii = (self.size(series) / largest[orders]) ** (1 / orders)
        slack = np.where(orders > order - ORDER_WINDOW, 1.0, MAX_STEP_RATIO)
        return float(min(bound, self.tolerance ** (1 / order) * (slack * radii).min(initial=np.inf)))

    def allows(self, series: Array, following: Array, h: float) -> bool:
        """Return whether the slope of a series after a time h is the derivative there, within the tolerance."""
        defect = float(np.abs(h * (_slope(series, h) - following[1])).max())
        size = max(self.size(series), self.size(following))
        rounded = max(1.0, size, float(np.abs(h * following[1]).max()))
        return defect <= REMAINDER_TOLERANCES * self.tolerance * size + REMAINDER_ROUNDING * rounded


def _value(series: Array, h: float) -> Array:
    """Return the polynomial after a time h, by Horner's rule."""
    value: Array = series[-1]
    for c in series[-2::-1]:
        value = value * h + c
    return value


def _slope(series: Array, h: float) -> Array:
    """Return the derivative of the polynomial after a time h."""
    return _value(series[1:] * np.arange(1, len(series))[:, None], h)


def _heyoka() -> Any:
    try:
        return import_module("heyoka")
    except ImportError:
        raise ArmwrightError("Taylor integration needs heyoka, which is not installed: pip install heyoka") from None


def _checked_tolerance(value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not EPS <= float(value) < 1:
        raise InputError(f"tolerance = {value!r}; expected a number from {EPS:.2e} to 1")
    return float(value)


def _check(program: Program) -> None:
    if program.sizes[:2] != (1, len(program.outputs)) or len(program.sizes) > 3:
        listed = ", ".join(f"{name} ({size})" for (name, _), size in zip(program.arguments, program.sizes, strict=True))
        raise InputError(
            f"the program has the arguments {listed} and {len(program.outputs)} outputs; "
            "expected t (1), y (m), runtime parameters if there are any, and m outputs, the derivatives of y"
        )
    operations = {node.op for node in program.nodes}
    nonsmooth = sorted(operations & {"sign", "abs", "min", "max", "select"})
    if nonsmooth:
        raise InputError(
            f"the program uses {', '.join(nonsmooth)}, which heyoka has no Taylor series for: they are not smooth; "
            "integrate it with `solve`, or make it smooth, tanh(x / width) for sign(x)"
        )
    if "parameter" in operations:
        raise InputError("the program has parameters of a general robot; trace it for one robot")


def _replayed(program: Program, heyoka: Any, scale: Sequence[float]) -> tuple[list[Any], list[Any]]:
    """Return y and dy/dt, each multiplied by its `scale`, as expressions of heyoka."""
    places = program.places()
    y = heyoka.make_vars(*(f"y{k}" for k in range(program.sizes[1])))
    y = list(y) if program.sizes[1] > 1 else [y]
    operations = {**ARITHMETIC, **{op: getattr(heyoka, op) for op in ("sin", "cos", "sqrt", "tanh")}}

    def leaf(node: Expr) -> Any:
        if node.op == "constant":
            return heyoka.expression(node.value)
        argument, k = places[node.index]
        if argument == 2:
            return heyoka.par[k]
        return heyoka.time if not argument else y[k] if scale[k] == 1 else y[k] / scale[k]

    slopes = replay(program.outputs, leaf, lambda op, *args: operations[op](*args))
    slopes = [heyoka.expression(x) if isinstance(x, (int, float)) else x for x in slopes]
    return y, [x if factor == 1 else x * factor for x, factor in zip(slopes, scale, strict=True)]
