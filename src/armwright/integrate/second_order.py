"""Fixed steps for q'' = a(t, q, q') that keep the energy of an oscillation bounded, as game engines and MuJoCo do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.integrate import march
from armwright.integrate.events import Event, Step
from armwright.integrate.scalars import Scalars, state
from armwright.integrate.solution import IntegrationError, Solution, Statistics

Acceleration = Callable[..., ArrayLike]


def semi_implicit_euler(
    acceleration: Acceleration,
    t0: Any,
    q0: ArrayLike,
    qd0: ArrayLike,
    t1: Any,
    *,
    step: Any,
    z0: ArrayLike | None = None,
    times: ArrayLike | None = None,
    events: Iterable[Event] = (),
    max_steps: int = march.MAX_STEPS,
    on_step: march.OnStep | None = None,
) -> Solution:
    """The solution of q'' = acceleration(t, q, qd); each row of the result's y is q followed by qd.

    qd moves first and q with the new qd. That is of order 1, like Euler's method, at the same cost; but where forces
    come from a potential the map is symplectic, so that the energy swings about its true value instead of growing.
    `step` is a length, or the times at which steps end. With z0 there are further entries, which stand behind qd in y
    and move by their rates at the start of a step; acceleration(t, q, qd, z) then returns q'' followed by these rates.
    """
    q, scalars = state("q0", q0)
    qd, other = state("qd0", qd0)
    if qd.shape != q.shape or other.dtype != scalars.dtype:
        raise InputError(f"qd0 is {other.dtype} {qd.shape}; expected {scalars.dtype} {q.shape}, as q0")
    y = np.concatenate([q, qd] if z0 is None else [q, qd, state("z0", z0)[0]])
    way, counts = march.Way(scalars, t0, t1, times), Statistics()
    steps = partial(_steps, acceleration, scalars, counts, way.start, y, q.size, way.fixed(step, max_steps))
    return way.follow(steps, y, counts, events, on_step)


def _steps(
    acceleration: Acceleration, scalars: Scalars, counts: Statistics, t: Any, y: Array, n: int, stops: Iterable[Any]
) -> Iterator[Step]:
    for stop in stops:
        counts.evaluations += 1
        parts = [y[:n], y[n : 2 * n], y[2 * n :]]
        rates = np.array(acceleration(t, *parts[: 2 + (y.size > 2 * n)]), scalars.dtype)
        if rates.shape != (y.size - n,):
            raise InputError(f"the acceleration has shape {rates.shape} at t = {t}; expected {(y.size - n,)}, as q0")
        if not scalars.finite(rates):
            raise IntegrationError(f"the acceleration is not finite at t = {t}: it is {rates}", t, y)
        at = partial(_moved, t, y, rates, n)
        counts.accepted += 1
        yield Step(t, y, stop, at(stop), at)
        t, y = stop, at(stop)


def _moved(t: Any, y: Array, rates: Array, n: int, time: Any) -> Array:
    h = time - t
    rest = y[n:] + h * rates
    return np.concatenate([y[:n] + h * rest[:n], rest])
