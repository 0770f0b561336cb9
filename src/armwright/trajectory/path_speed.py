"""The largest path speed within linear bounds: one sweep back, one forward, both compiled.

    s        the position on the path; on a grid s_0 < s_1 < ...
    x, y     s'^2, the square of the path speed, at the two ends of an interval; s'' = (y - x)/(2 length) in between
    bounds   low + slope x <= y <= high + slope x, several on every interval
    top      the largest x from which the end of the path can still be reached at rest

Both sweeps are those of TOPP-RA (Pham and Pham 2018): `top` goes backwards from rest at the end, then the motion goes
forwards from rest and takes the largest y that is below the next top. Where rest is within all bounds, x can be any
value from 0 to its top. The top is the largest root of the width of the interval left for y, a concave piecewise linear
function of x: Newton's steps from above reach it in a few steps without going below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import Kernel, backend
from armwright.graph.expression import Expr, Graph
from armwright.graph.program import Program

SWEEP_NEWTON_STEPS = 8
"""Newton steps of a sweep; three are rarely exceeded."""

SweepStep: TypeAlias = Callable[[Expr, Expr, Sequence[Expr]], Expr]
"""The step of a sweep: a function of x, its largest value and the bounds of an interval."""


class SpeedBounds(NamedTuple):
    """Bounds (intervals, bounds), and an upper limit of x at every grid point (intervals + 1,)."""

    slope: Array
    high: Array
    low: Array
    cap: Array


def fastest_speeds(bounds: SpeedBounds) -> Array:
    """Return the largest squares of the path speed (intervals + 1,) within bounds, from rest to rest."""
    backward_kernel, forward_kernel = _sweeps(bounds.slope.shape[1])
    top = np.zeros((len(bounds.cap), 1, 1))
    backward = np.concatenate([bounds.cap[:-1, None], bounds.slope, bounds.high, bounds.low], axis=1)[::-1]
    backward_kernel.series([top[:-1], np.ascontiguousarray(backward)[:, None]], top[1:])
    x = np.zeros_like(top)
    forward = np.concatenate([top[-2::-1, 0], bounds.slope, bounds.high], axis=1)
    forward_kernel.series([x[:-1], forward[:, None]], x[1:])
    return x[:, 0, 0]


@lru_cache(maxsize=32)
def _sweeps(count: int) -> tuple[Kernel, Kernel]:
    """Return the kernels of one interval in both sweeps, for this number of bounds."""
    return _kernel(_backward_step, 3 * count), _kernel(_forward_step, 2 * count)


def _kernel(step: SweepStep, size: int) -> Kernel:
    graph = Graph()
    x, limit = graph.input("x"), graph.input("limit")
    numbers = tuple(graph.input(f"b{k}") for k in range(size))
    program = Program((("x", (x,)), ("interval", (limit, *numbers))), (step(x, limit, numbers),), (1,))
    return backend("cpu").kernel(program, "float64")


def _backward_step(top: Expr, cap: Expr, numbers: Sequence[Expr]) -> Expr:
    """Return the largest x, at limit `cap`, from which some y up to `top` is within the bounds."""
    count = len(numbers) // 3
    slopes, highs, lows = numbers[:count], numbers[count : 2 * count], numbers[2 * count :]
    x, zero = cap, top.graph.constant(0.0)
    for _ in range(SWEEP_NEWTON_STEPS):
        upper, rise, lower, climb = top, zero, zero, zero
        for slope, high, low in zip(slopes, highs, lows, strict=True):
            sloped = slope * x
            below, above = high + sloped, low + sloped
            rise, upper = (upper - below).select(slope, rise), upper.minimum(below)
            climb, lower = (above - lower).select(slope, climb), lower.maximum(above)
        missing, gain = lower - upper, climb - rise
        less = gain.select((x - missing / gain).maximum(zero), zero)
        x = missing.select(less, x)
    return x


def _forward_step(x: Expr, top: Expr, numbers: Sequence[Expr]) -> Expr:
    """Return the largest y, at limit `top`, within the bounds."""
    count = len(numbers) // 2
    y = top
    for slope, high in zip(numbers[:count], numbers[count:], strict=True):
        y = y.minimum(high + slope * x)
    return y.maximum(top.graph.constant(0.0))
