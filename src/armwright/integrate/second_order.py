"""Fixed steps for q'' = a(t, q, q') that keep the energy of an oscillation bounded, as game engines and MuJoCo do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.integrate import march
from armwright.integrate.events import Event, IntegrationStep
from armwright.integrate.scalars import Scalars, state
from armwright.integrate.solution import IntegrationError, Solution, Statistics

Acceleration = Callable[..., ArrayLike]
Velocity = Callable[[Array, Array], ArrayLike]


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
    max_steps: int = march.MAX_INTEGRATION_STEPS,
    on_step: march.OnStep | None = None,
    velocity: Velocity | None = None,
    project: march.Project = march.no_projection,
) -> Solution:
    """The solution of q'' = acceleration(t, q, qd); each row of the result's y is q followed by qd.

    qd moves first and q with the new qd. That is of order 1, like Euler's method, at the same cost; but where forces
    come from a potential the map is symplectic, so that the energy swings about its true value instead of growing.
    `step` is a length, or the times at which steps end. With z0 there are further entries, which stand behind qd in y
    and move by their rates at the start of a step; acceleration(t, q, qd, z) then returns q'' followed by these rates.
    Where q is no sum of qd, as with quaternions, velocity(q, qd) says how q changes, and q and qd may differ in length;
    `project` is what every step ends with, as in `solve`.
    """
    q, scalars = state("q0", q0)
    qd, other = state("qd0", qd0)
    if (velocity is None and qd.shape != q.shape) or other.dtype != scalars.dtype:
        raise InputError(f"qd0 is {other.dtype} {qd.shape}; expected {scalars.dtype} {q.shape}, as q0")
    y = np.concatenate([q, qd] if z0 is None else [q, qd, state("z0", z0)[0]])
    way, counts = march.TimeSpan(scalars, t0, t1, times), Statistics()
    along = _SecondOrderState(q.size, q.size + qd.size, velocity or (lambda q, qd: qd), project)
    steps = partial(_steps, acceleration, scalars, counts, way.start, y, along, way.fixed(step, max_steps))
    return way.follow(steps, y, counts, events, on_step)


class _SecondOrderState(NamedTuple):
    """The layout of a state (ends of q and qd), the rate of q, and the projection after a step."""

    q: int
    qd: int
    velocity: Velocity
    project: march.Project

    def parts(self, y: Array) -> list[Array]:
        """q, qd and what there is besides."""
        return [part for part in (y[: self.q], y[self.q : self.qd], y[self.qd :]) if part.size]

    def moved(self, t: Any, y: Array, rates: Array, time: Any) -> Array:
        h = time - t
        q, rest = y[: self.q], y[self.q :] + h * rates
        return self.project(np.concatenate([q + h * np.asarray(self.velocity(q, rest[: self.qd - self.q])), rest]))


def _steps(
    acceleration: Acceleration,
    scalars: Scalars,
    counts: Statistics,
    t: Any,
    y: Array,
    along: _SecondOrderState,
    stops: Iterable[Any],
) -> Iterator[IntegrationStep]:
    expected = (y.size - along.q,)
    for stop in stops:
        counts.evaluations += 1
        rates = np.array(acceleration(t, *along.parts(y)), scalars.dtype)
        if rates.shape != expected:
            raise InputError(f"the acceleration has shape {rates.shape} at t = {t}; expected {expected}, as qd0")
        if not scalars.finite(rates):
            raise IntegrationError(f"the acceleration is not finite at t = {t}: it is {rates}", t, y)
        at = partial(along.moved, t, y, rates)
        counts.accepted += 1
        yield IntegrationStep(t, y, stop, at(stop), at)
        t, y = stop, at(stop)
