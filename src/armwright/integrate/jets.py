"""Taylor polynomials of any order for a traced system: fixed steps, any scalar, and a compiled program.

    y(t + h) = y + c_1 h + c_2 h^2 + ...,    (k + 1) c_(k+1) = coefficient k of f(t, y(t))

Each node of the program carries the coefficients of its power series, its jet. Coefficient k of an operation follows
from those of its operands up to k (`SERIES_RULES`), so each sweep extends the series of the solution by one order. The
coefficients are scalars like those of y: floats, mpmath numbers, or traced expressions. Traced, all orders are one
program without loops (`increment`), which a backend compiles: the customised Taylor series of Machado and Galhano 1994,
section 2.2, derived automatically for any robot.

    steps = solve_jets(pendulum, 0, [1.0, 0.0], 10, orders=8, step=0.1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array, Scalar, cos, elementary, sin, total
from armwright.errors import InputError
from armwright.graph.angles import expand_sines
from armwright.graph.expression import Expr, Operand
from armwright.graph.program import Program
from armwright.integrate import march
from armwright.integrate.events import Event, IntegrationStep
from armwright.integrate.scalars import Scalars, state
from armwright.integrate.solution import IntegrationError, Solution, Statistics

Series: TypeAlias = "list[Scalar]"
"""The coefficients known so far, from order 0."""

Weights: TypeAlias = "tuple[float, ...]"
Orders: TypeAlias = "int | Sequence[int | Sequence[float]]"
"""The order of the polynomials of all entries of y, or for each entry its order or the weights of its terms."""

sqrt, tanh = elementary("sqrt"), elementary("tanh")


def _product(u: Series, v: Series, k: int) -> Scalar:
    """Coefficient k of u v; that of a square takes half the multiplications."""
    if u is v:
        twice = total(u[j] * u[k - j] for j in range((k + 1) // 2))
        return twice + twice if k % 2 else twice + twice + u[k // 2] * u[k // 2]
    return total(u[j] * v[k - j] for j in range(k + 1))


def _quotient(k: int, w: Series, u: Series, v: Series) -> Scalar:
    """From u = w v. All orders share one reciprocal."""
    return (u[k] - total(v[j] * w[k - j] for j in range(1, k + 1))) * (1 / v[0]) if k else u[0] / v[0]


def _root(k: int, w: Series, u: Series) -> Scalar:
    """From u = w w."""
    return (u[k] - total(w[j] * w[k - j] for j in range(1, k))) / (w[0] + w[0]) if k else sqrt(u[0])


def _tanh(k: int, w: Series, u: Series) -> Scalar:
    """From w' = (1 - w w) u'."""
    if not k:
        return tanh(u[0])
    slope = [(0 if j else 1) - _product(w, w, j) for j in range(k)]
    return _integral(slope, u, k)


def _integral(w: Series, u: Series, k: int) -> Scalar:
    """Coefficient k > 0 of the integral of w u'."""
    return total(j * u[j] * w[k - j] for j in range(1, k + 1)) / k


SERIES_RULES: dict[str, Callable[..., Scalar]] = {
    "add": lambda k, w, u, v: u[k] + v[k],
    "sub": lambda k, w, u, v: u[k] - v[k],
    "neg": lambda k, w, u: -u[k],
    "mul": lambda k, w, u, v: _product(u, v, k),
    "div": _quotient,
    "sqrt": _root,
    "tanh": _tanh,
}
"""Coefficient k of an operation w, from its own below k and those of its operands up to k; `_Sweeps` has sines."""


class _Sweeps:
    """The series of every node, one order longer after each sweep."""

    def __init__(self, nodes: Sequence[Expr], leaves: dict[int, Series]) -> None:
        self.nodes, self.order = nodes, 0
        self.series: dict[int, Series] = {node.index: [] for node in nodes} | leaves
        self.sines_and_cosines: dict[int, tuple[Series, Series]] = {}
        self.inputs = set(leaves)

    def sweep(self) -> None:
        for node in self.nodes:
            if node.index not in self.inputs:
                self.series[node.index].append(self._coefficient(node, self.order))
        self.order += 1

    def _coefficient(self, node: Expr, k: int) -> Scalar:
        if node.op == "constant":
            return 0 if k else node.value
        if node.op in ("sin", "cos"):
            return self._sine_and_cosine(node.args[0].index, k)[node.op == "cos"][k]
        return SERIES_RULES[node.op](k, self.series[node.index], *(self.series[x.index] for x in node.args))

    def _sine_and_cosine(self, angle: int, k: int) -> tuple[Series, Series]:
        """Return sine and cosine of an angle up to order k; each needs the coefficients of the other."""
        u = self.series[angle]
        s, c = self.sines_and_cosines.setdefault(angle, ([], []))
        if len(s) <= k:
            sine, cosine = (_integral(c, u, k), -_integral(s, u, k)) if k else (sin(u[0]), cos(u[0]))
            s.append(sine)
            c.append(cosine)
        return s, c


def coefficients(
    program: Program, t: Scalar, y: Sequence[Scalar], order: int, numbers: Sequence[Scalar] = ()
) -> list[Series]:
    """Return the Taylor coefficients 0 ... order of every entry of the solution of y' = program(t, y) at this state.

    `numbers` are the values of the runtime parameters.
    """
    _check(program, numbers=len(numbers))
    (_, (time,)), (_, inputs), *parameters = program.arguments
    solution: list[Series] = [[x] for x in y]
    leaves = {x.index: series for x, series in zip(inputs, solution, strict=True)}
    for _, symbols in parameters:
        leaves |= {x.index: [number, *[0] * order] for x, number in zip(symbols, numbers, strict=True)}
    leaves[time.index] = [t, 1, *[0] * (order - 1)]
    sweeps = _Sweeps(program.nodes, leaves)
    for k in range(order):
        sweeps.sweep()
        slopes = [_coefficient_of(x, sweeps, k) for x in program.outputs]
        for series, slope in zip(solution, slopes, strict=True):
            series.append(slope / (k + 1))
    return solution


def _coefficient_of(output: Operand, sweeps: _Sweeps, k: int) -> Scalar:
    if isinstance(output, Expr):
        return sweeps.series[output.index][k]
    return 0 if k else output


def increment(program: Program, orders: Orders) -> Program:
    """Return (y(t + h) - y(t)) / h by Taylor polynomials, as a program of (t, h), y and runtime parameters.

    A Taylor step is thus a step of Euler's method (`EULER`) with this program as the derivative. With an order, or the
    weights of the terms, for each entry of y these are the T_ij of Machado and Galhano: i for positions, j for
    velocities.
    """
    (_, (time,)), (_, inputs), *parameters = program.arguments
    each = _weights(orders, len(inputs))
    h = time.graph.input("h")
    numbers = [x for _, symbols in parameters for x in symbols]
    series = coefficients(program, time, inputs, max(map(len, each)), numbers)
    outputs = tuple(_polynomial(_weighted(x[1:], row), h) for x, row in zip(series, each, strict=True))
    arguments = (("t", (time, h)), *program.arguments[1:])
    return expand_sines(replace(program, arguments=arguments, outputs=outputs, shape=(len(outputs),)))


def solve_jets(
    program: Program,
    t0: Any,
    y0: ArrayLike,
    t1: Any,
    *,
    orders: Orders,
    step: Any,
    times: ArrayLike | None = None,
    events: Iterable[Event] = (),
    max_steps: int = march.MAX_INTEGRATION_STEPS,
    on_step: march.OnStep | None = None,
) -> Solution:
    """Return the solution of y' = program(t, y) by Taylor polynomials of these orders in steps of this length.

    One order is for all entries of y. The polynomials are the dense output. The statistics count the coefficients of a
    step as one evaluation.
    """
    y, scalars = state("y0", y0)
    _check(program, y.size)
    each = _weights(orders, y.size)
    span, counts = march.TimeSpan(scalars, t0, t1, times), Statistics()
    steps = partial(_steps, program, each, scalars, counts, span.start, y, span.fixed_step_ends(step, max_steps))
    return span.integrate(steps, y, counts, events, on_step)


def _steps(
    program: Program,
    weights: list[Weights],
    scalars: Scalars,
    counts: Statistics,
    t: Any,
    y: Array,
    stops: Iterable[Any],
) -> Iterator[IntegrationStep]:
    for stop in stops:
        counts.evaluations += 1
        try:
            series = coefficients(program, t, y.tolist(), max(map(len, weights)))
        except (ZeroDivisionError, ValueError) as error:
            raise IntegrationError(f"the series has no coefficients at t = {t}, y = {y}: {error}", t, y) from None
        rows = [[x[0], *_weighted(x[1:], row)] for x, row in zip(series, weights, strict=True)]
        at = partial(_state_at, t, rows, scalars.dtype)
        y_end = at(stop)
        if not scalars.finite(y_end):
            raise IntegrationError(f"the series is not finite from t = {t} to {stop}; take a smaller step", t, y)
        counts.accepted += 1
        yield IntegrationStep(t, y, stop, y_end, at)
        t, y = stop, y_end


def _state_at(t: Any, series: list[Series], dtype: Any, time: Any) -> Array:
    return np.array([_polynomial(x, time - t) for x in series], dtype)


def _polynomial(series: Series, h: Scalar) -> Scalar:
    """Return the value of a polynomial, by Horner's rule."""
    value: Scalar = 0
    for c in reversed(series):
        value = value * h + c
    return value


def _weighted(series: Series, weights: Weights) -> Series:
    """Return the series with weights; a weight of 1 costs no multiplication."""
    return [c if w == 1 else w * c for c, w in zip(series, weights, strict=False)]


def _weights(orders: Orders, size: int) -> list[Weights]:
    """Return the weights of the terms for each entry of y; order p stands for p weights of 1."""
    each = [orders] * size if isinstance(orders, int) else list(orders)
    rows = [(1.0,) * p if isinstance(p, int) else tuple(p) for p in each]
    if len(rows) != size or not all(rows):
        raise InputError(
            f"orders = {orders!r}; expected a whole number, 1 or more, or {size} of them, one for each entry of y, or "
            "the weights of its terms"
        )
    return rows


def _check(program: Program, size: int | None = None, numbers: int = 0) -> None:
    m = len(program.outputs) if size is None else size
    if program.sizes[:2] != (1, m) or len(program.outputs) != m or sum(program.sizes[2:]) != numbers:
        raise InputError(
            f"the program has arguments of the sizes {program.sizes} and {len(program.outputs)} outputs; expected t "
            f"(1), y ({m}){f', {numbers} runtime parameters' if numbers else ''} and {m} outputs, the derivatives of y"
        )
    unsupported = sorted({node.op for node in program.nodes} - {*SERIES_RULES, "sin", "cos", "constant", "input"})
    if unsupported:
        raise InputError(
            f"the program uses {', '.join(unsupported)}, which has no Taylor series here: take a Runge-Kutta method, "
            "or make it smooth, tanh(x / width) for sign(x)"
        )
