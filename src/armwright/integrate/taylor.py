"""Taylor series of high order, for a system that was traced: heyoka compiles its coefficients.

    graph = Graph()
    t, q, qd = graph.input("t"), graph.input("q"), graph.input("qd")
    pendulum = Program((("t", (t,)), ("y", (q, qd))), (qd, -q.sin()), (2,))
    solution = Taylor(pendulum).solve(0, [1.0, 0.0], 100)

The order follows from the tolerance (about 20 for double precision), the steps are long, and the series itself is the
dense output, so results at many times cost little. Compiling takes from tenths of a second to seconds.

The length of a step follows from the last half of the coefficients, as those of one parity vanish where a motion is
symmetric, and all of high order near some states of rest. Each step is checked by its remainder: the slope of the
series at its end is compared with the derivative there. Both errors are relative to the largest entry of the state;
below `atol` / tolerance they are absolute, as with every other method.
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
"""By which entries that do not count in the error are made smaller: a power of two, so that no digit is lost."""

ORDER_WINDOW, MAX_STEP_RATIO = 4, 2.0
"""How many of the last coefficients choose the length of a step; it is at most so many times what others allow."""

FIRST_STEP_DIVISOR, MAX_STEP_GROWTH = 100, 8.0
"""The first step is at most this part of the whole time; every other one at most so many times the one before."""

REMAINDER_TOLERANCES, REMAINDER_ROUNDING = 20.0, 1e3 * EPS
"""How far the slope at the end of a step may be off, times its length: tolerances, and what rounding leaves of it."""

DEFAULT_ATOL_RATIO = 1e-3
"""The absolute tolerance, if none is given, over the relative one."""

MAX_UNROLLED_OPERATIONS = 200
"""Programs with more operations than this are compiled with loops: unrolled, they would take minutes."""


class Taylor:
    """A compiled integrator of y' = program(t, y), for any number of solutions, one after the other.

    A program may have a third argument: numbers that each solution is given anew, for which nothing is compiled again.
    The tolerance is of the largest entry; the first `controlled` ones count (all, if none is given). Those that do not
    are carried along so much smaller that they never are the largest.
    """

    def __init__(self, program: Program, tolerance: float = EPS, controlled: int | None = None) -> None:
        _check(program)
        self._tolerance = _checked_tolerance(tolerance)
        self.size, self.open = len(program.outputs), sum(program.sizes[2:])
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
        given, pars = np.asarray(numbers, dtype=float), self._integrator.pars
        if given.shape != (self.open,):
            raise InputError(f"numbers has shape {given.shape}; expected {(self.open,)}, one for each that is open")
        pars[:] = given[: len(pars)]  # heyoka has none for those after the last one that matters
        way, counts = march.TimeSpan(scalars, t0, t1, times), Statistics()
        longest = np.inf if max_step is None else way.length("max_step", max_step)
        absolute = DEFAULT_ATOL_RATIO * self._tolerance if atol is None else positive("atol", atol, scalars)
        error = _Error(self._tolerance, absolute / self._tolerance)
        steps = partial(self._steps, way.start, y, way.end, error, longest, max_steps, counts, project)
        return way.follow(steps, y, counts, events, on_step)

    def _steps(
        self,
        t: float,
        y: Array,
        t1: float,
        error: _Error,
        longest: float,
        most: int,
        counts: Statistics,
        project: march.Project,
    ) -> Iterator[IntegrationStep]:
        sign, last = 1.0 if t1 > t else -1.0, 0.0
        series = self._series(t, y)
        counts.evaluations += 1
        while t != t1:
            if counts.accepted >= most:
                raise IntegrationError(f"{most} steps were not enough: they led to t = {t}; raise max_steps", t, y)
            bound = min(longest, abs(t1 - t), MAX_STEP_GROWTH * last if last else abs(t1 - t) / FIRST_STEP_DIVISOR)
            length = error.length(series, bound)
            while True:
                t_end = t + sign * length
                t_end = t1 if abs(t_end - t1) <= abs(t1) * EPS else t_end
                h = t_end - t  # as the clock has it: far from zero a length is rounded with the time
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
        """The coefficients (order + 1, entries) of the scaled state from here on."""
        integrator = self._integrator
        integrator.time, integrator.state[:] = t, y * self._scale
        integrator.step(max_delta_t=0.0, write_tc=True)
        series: Array = integrator.tc.T.copy()
        if not np.isfinite(series).all():
            raise IntegrationError(
                f"the series is not finite at t = {t}, y = {y}: it diverges, or is too fast for this order",
                t,
                y,
            )
        return series

    def _within(self, series: Array, t: float, project: march.Project, time: Any) -> Array:
        return project(_value(series, float(time) - t) / self._scale)


class _Error(NamedTuple):
    """The error allowed in a step: relative to the largest entry, or to `least` if that is larger."""

    tolerance: float
    least: float

    def size(self, series: Array) -> float:
        """Return what an error is compared with."""
        return max(self.least, float(np.abs(series[0]).max()))

    def length(self, series: Array, bound: float) -> float:
        """Return a length for the step: the estimated radius of convergence, times tolerance^(1/order).

        The last half of the coefficients counts, as all of the last ones may vanish by symmetry.
        """
        order, largest = len(series) - 1, np.abs(series).max(axis=1)
        orders = np.arange(order // 2 + 1, order + 1)[largest[order // 2 + 1 :] > 0]
        radii = (self.size(series) / largest[orders]) ** (1 / orders)
        slack = np.where(orders > order - ORDER_WINDOW, 1.0, MAX_STEP_RATIO)
        return float(min(bound, self.tolerance ** (1 / order) * (slack * radii).min(initial=np.inf)))

    def allows(self, series: Array, following: Array, h: float) -> bool:
        """Return whether a series still solves the equations after a time h: its slope is the derivative there."""
        off = float(np.abs(h * (_slope(series, h) - following[1])).max())
        size = max(self.size(series), self.size(following))
        rounded = max(1.0, size, float(np.abs(h * following[1]).max()))
        return off <= REMAINDER_TOLERANCES * self.tolerance * size + REMAINDER_ROUNDING * rounded


def _value(series: Array, h: float) -> Array:
    """The polynomial after a time h, by Horner's rule."""
    value: Array = series[-1]
    for c in series[-2::-1]:
        value = value * h + c
    return value


def _slope(series: Array, h: float) -> Array:
    """Its derivative there."""
    return _value(series[1:] * np.arange(1, len(series))[:, None], h)


def _heyoka() -> Any:
    try:
        return import_module("heyoka")
    except ImportError:
        raise ArmwrightError("Taylor integration needs heyoka, which is not installed: pip install heyoka") from None


def _checked_tolerance(given: Any) -> float:
    if not isinstance(given, Real) or isinstance(given, bool) or not EPS <= float(given) < 1:
        raise InputError(f"tolerance = {given!r}; expected a number from {EPS:.2e} to 1")
    return float(given)


def _check(program: Program) -> None:
    if program.sizes[:2] != (1, len(program.outputs)) or len(program.sizes) > 3:
        listed = ", ".join(f"{name} ({size})" for (name, _), size in zip(program.arguments, program.sizes, strict=True))
        raise InputError(
            f"the program has the arguments {listed} and {len(program.outputs)} outputs; "
            "expected t (1), y (m), open numbers if there are any, and m outputs, the derivatives of y"
        )
    operations = {node.op for node in program.nodes}
    rough = sorted(operations & {"sign", "abs", "min", "max", "select"})
    if rough:
        raise InputError(
            f"the program uses {', '.join(rough)}, which heyoka has no Taylor series for: they are not smooth; "
            "integrate it with `solve`, or make it smooth, tanh(x / width) for sign(x)"
        )
    if "parameter" in operations:
        raise InputError("the program has open parameters; trace it for one robot, with its numbers")


def _replayed(program: Program, heyoka: Any, scale: Sequence[float]) -> tuple[list[Any], list[Any]]:
    """The variables y and their derivatives as heyoka's expressions, each so many times as large."""
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
