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
from armwright.integrate.runge_kutta import MAX_STEPS, step_count
from armwright.integrate.scalars import Scalars, state
from armwright.integrate.solution import Counts, IntegrationError, Solution

Acceleration = Callable[[Any, Array, Array], ArrayLike]


def semi_implicit_euler(
    acceleration: Acceleration,
    t0: Any,
    q0: ArrayLike,
    qd0: ArrayLike,
    t1: Any,
    *,
    step: Any,
    times: ArrayLike | None = None,
    events: Iterable[Event] = (),
    max_steps: int = MAX_STEPS,
    on_step: march.OnStep | None = None,
) -> Solution:
    """The solution of q'' = acceleration(t, q, qd); each row of the result's y is q followed by qd.

    qd moves first and q with the new qd. That is of order 1, like Euler's method, at the same cost; but where forces
    come from a potential the map is symplectic, so that the energy swings about its true value instead of growing.
    """
    q, scalars = state("q0", q0)
    qd, other = state("qd0", qd0)
    if qd.shape != q.shape or other.dtype != scalars.dtype:
        raise InputError(f"qd0 is {other.dtype} {qd.shape}; expected {scalars.dtype} {q.shape}, as q0")
    start, end, sign = march.interval(scalars, t0, t1)
    wanted = march.output_times(scalars, times, start, end, sign)
    length = march.positive("step", step, scalars)
    count = step_count(start, end, length, max_steps)
    stops = march.fixed_stops(wanted, start, end, sign * length, count)
    counts, y = Counts(), np.concatenate([q, qd])
    steps = partial(_steps, acceleration, scalars, counts, start, y, stops)
    record = march.Record(scalars, wanted, start, y, sign)
    return march.follow(steps, record, counts, (start, y), events, on_step)


def _steps(
    acceleration: Acceleration, scalars: Scalars, counts: Counts, t: Any, y: Array, stops: Iterable[Any]
) -> Iterator[Step]:
    n = y.size // 2
    for stop in stops:
        counts.evaluations += 1
        qdd = np.array(acceleration(t, y[:n], y[n:]), scalars.dtype)
        if qdd.shape != (n,):
            raise InputError(f"the acceleration has shape {qdd.shape} at t = {t}; expected {(n,)}, as q0")
        if not scalars.finite(qdd):
            raise IntegrationError(f"the acceleration is not finite at t = {t}: it is {qdd}", t, y)
        at = partial(_moved, t, y, qdd)
        counts.accepted += 1
        yield Step(t, y, stop, at(stop), at)
        t, y = stop, at(stop)


def _moved(t: Any, y: Array, qdd: Array, time: Any) -> Array:
    n, h = y.size // 2, time - t
    qd = y[n:] + h * qdd
    return np.concatenate([y[:n] + h * qd, qd])
