"""Semi-implicit Euler steps for q'' = a(t, q, q'), as in game engines: the energy of oscillations stays bounded."""

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
    """Return the solution of q'' = acceleration(t, q, qd); each row of the result's y is q followed by qd.

    A step updates qd first, and q with the new qd. It has order 1 and the cost of Euler's method, but it is symplectic
    if forces come from a potential: the energy oscillates about its true value and does not grow. `step` is a length,
    or the times at which steps end. Further entries z0 follow qd in y; acceleration(t, q, qd, z) then returns q''
    followed by their rates, which hold from the start of a step. If dq/dt is not qd, as with quaternions, velocity(q,
    qd) returns it, and q and qd may differ in length. Every step ends with `project`, as in `solve`.
    """
    q, scalars = state("q0", q0)
    qd, other = state("qd0", qd0)
    if (velocity is None and qd.shape != q.shape) or other.dtype != scalars.dtype:
        raise InputError(f"qd0 is {other.dtype} {qd.shape}; expected {scalars.dtype} {q.shape}, as q0")
    y = np.concatenate([q, qd] if z0 is None else [q, qd, state("z0", z0)[0]])
    span, counts = march.TimeSpan(scalars, t0, t1, times), Statistics()
    layout = _SecondOrderState(q.size, q.size + qd.size, velocity or (lambda q, qd: qd), project)
    steps = partial(_steps, acceleration, scalars, counts, span.start, y, layout, span.fixed_step_ends(step, max_steps))
    return span.integrate(steps, y, counts, events, on_step)


class _SecondOrderState(NamedTuple):
    """The layout of a state (ends of q and qd), the rate of q, and the projection after a step."""

    q: int
    qd: int
    velocity: Velocity
    project: march.Project

    def parts(self, y: Array) -> list[Array]:
        """Return q, qd and the further entries, if any."""
        return [part for part in (y[: self.q], y[self.q : self.qd], y[self.qd :]) if part.size]

    def state_at(self, t: Any, y: Array, rates: Array, time: Any) -> Array:
        h = time - t
        q, rest = y[: self.q], y[self.q :] + h * rates
        return self.project(np.concatenate([q + h * np.asarray(self.velocity(q, rest[: self.qd - self.q])), rest]))


def _steps(
    acceleration: Acceleration,
    scalars: Scalars,
    counts: Statistics,
    t: Any,
    y: Array,
    layout: _SecondOrderState,
    stops: Iterable[Any],
) -> Iterator[IntegrationStep]:
    expected = (y.size - layout.q,)
    for stop in stops:
        counts.evaluations += 1
        rates = np.array(acceleration(t, *layout.parts(y)), scalars.dtype)
        if rates.shape != expected:
            raise InputError(f"the acceleration has shape {rates.shape} at t = {t}; expected {expected}, as qd0")
        if not scalars.finite(rates):
            raise IntegrationError(f"the acceleration is not finite at t = {t}: it is {rates}", t, y)
        at = partial(layout.state_at, t, y, rates)
        counts.accepted += 1
        yield IntegrationStep(t, y, stop, at(stop), at)
        t, y = stop, at(stop)
