"""The loop over the steps of any integration method: output, events, and the callback after each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.integrate.events import Event, EventDetector, IntegrationStep
from armwright.integrate.scalars import Scalars
from armwright.integrate.solution import IntegrationError, Occurrence, Solution, Statistics, Stopped

OnStep = Callable[[Any, Array], object]

Project = Callable[[Array], Array]
"""Returns the nearest state that meets the constraints, such as quaternions of unit length."""


def no_projection(y: Array) -> Array:
    """Return the state: the projection of states without constraints."""
    return y


class Record:
    """The output so far: at requested times, or at the end of every step."""

    def __init__(self, scalars: Scalars, times: Sequence[Any] | None, t: Any, y: Array, sign: int) -> None:
        self.scalars, self.sign, self.size = scalars, sign, y.size
        self.pending = None if times is None else list(reversed(times))
        self.t: list[Any] = []
        self.y: list[Array] = []
        self.events: list[Occurrence] = []
        self.add_until(t, lambda time: y)

    def add_until(self, end: Any, at: Callable[[Any], Array]) -> None:
        if self.pending is None:
            self.add(end, at(end))
            return
        while self.pending and (end - self.pending[-1]) * self.sign >= 0:
            time = self.pending.pop()
            self.add(time, at(time))

    def add(self, t: Any, y: Array) -> None:
        if not self.t or self.t[-1] != t:
            self.t.append(t)
            self.y.append(y)

    def solution(self, counts: Statistics, status: str, message: str) -> Solution:
        dtype = self.scalars.dtype if self.scalars.objects else np.dtype(np.float64)
        y = np.array(self.y, self.scalars.dtype).reshape(len(self.y), self.size)
        return Solution(np.array(self.t, dtype), y, replace(counts), tuple(self.events), status, message)


MAX_INTEGRATION_STEPS = 1_000_000


class TimeSpan:
    """The start and end of an integration, forwards (sign 1) or backwards, and its output times."""

    def __init__(self, scalars: Scalars, t0: Any, t1: Any, times: Any) -> None:
        self.scalars = scalars
        self.start, self.end = scalars.time("t0", t0), scalars.time("t1", t1)
        if self.start == self.end:
            raise InputError(f"t0 and t1 are both {t0}: there is nothing to integrate; expected two different times")
        self.sign = 1 if self.end > self.start else -1
        self.times = None if times is None else self._within("times", times)

    def _within(self, name: str, times: Any) -> list[Any]:
        """Return times of the user as scalars; raise an InputError unless they are in order and within the span."""
        if np.ndim(times) != 1 or len(times) == 0:
            raise InputError(f"{name} has shape {np.shape(times)}; expected one or more times, or None for every step")
        numbers = [self.scalars.time(f"{name}[{k}]", time) for k, time in enumerate(times)]
        for k, time in enumerate(numbers):
            if (time - self.start) * self.sign < 0 or (self.end - time) * self.sign < 0:
                raise InputError(
                    f"{name}[{k}] = {time} is outside of the integration from t0 = {self.start} to t1 = {self.end}"
                )
            if k and (time - numbers[k - 1]) * self.sign <= 0:
                how = "increase" if self.sign > 0 else "decrease, as the integration goes backwards"
                raise InputError(
                    f"{name}[{k}] = {time} comes after {name}[{k - 1}] = {numbers[k - 1]}; {name} must {how}"
                )
        return numbers

    def length(self, name: str, value: Any) -> Any:
        """Return a duration of the user as a scalar."""
        length = self.scalars.time(name, value)
        if not length > 0:
            raise InputError(f"{name} = {value} must be positive; the direction of time follows from t0 and t1")
        return length

    def stops(self) -> Iterator[Any]:
        """Yield the times at which a step must end: the output times and the end."""
        yield from (time for time in self.times or () if time not in (self.start, self.end))
        yield self.end

    def fixed_step_ends(self, step: Any, max_steps: int) -> Iterator[Any]:
        """Return the ends of fixed steps: the times `step`, or the grid t0 + k step with the output times and the end.

        An output time replaces a point of the grid that differs from it by rounding.
        """
        if np.ndim(step):
            ends = self._within("step", step)
            missing = [time for time in self.stops() if time not in ends]
            if missing:
                raise InputError(f"no step ends at t = {missing[0]}, where one must; add it to the times in step")
            return (time for time in ends if time != self.start)
        length = self.length("step", step)
        return self._grid(self.sign * length, step_count(self.start, self.end, length, max_steps))

    def _grid(self, step: Any, count: int) -> Iterator[Any]:
        rounding = abs(step) / 10**7  # below the tolerance of step_count
        stops = self.stops()
        stop = next(stops)
        for k in range(1, count):
            point = self.start + k * step
            while abs(stop - self.start) < abs(point - self.start) - rounding:
                yield stop
                stop = next(stops)
            if abs(stop - point) <= rounding:
                yield stop
                stop = next(stops)
            else:
                yield point
        yield stop
        yield from stops

    def integrate(
        self,
        steps: Callable[[], Iterator[IntegrationStep]],
        y: Array,
        counts: Statistics,
        events: Iterable[Event],
        on_step: OnStep | None,
    ) -> Solution:
        """Take the steps until they end, a terminal event happens, or `on_step` returns True."""
        record = Record(self.scalars, self.times, self.start, y, self.sign)
        status, message, ended_by = "finished", "the end was reached", list[str]()
        try:
            # an overflow raises an error with its time, not a warning
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                detector = EventDetector(events, self.scalars, self.start, y)
                for full_step in steps():
                    occurred, ended_by = detector.detect(full_step)
                    record.events += occurred
                    end = {"t_end": occurred[-1].t, "y_end": occurred[-1].y} if ended_by else {}
                    step = replace(full_step, **end)
                    record.add_until(step.t_end, step.at)
                    stopped = on_step is not None and _is_true(on_step(step.t_end, step.y_end))
                    if ended_by or stopped:
                        record.add(step.t_end, step.y_end)
                        names = " and ".join(f"event {name!r}" for name in ended_by)
                        status, cause = ("event", names) if ended_by else ("stopped", "on_step ended it")
                        message = f"{cause} at t = {step.t_end}"
                        break
        except IntegrationError as error:
            error.solution = record.solution(counts, "failed", str(error))
            raise
        except KeyboardInterrupt as stop:
            raise Stopped(record.solution(counts, "stopped", f"stopped by the user at t = {record.t[-1]}")) from stop
        return replace(record.solution(counts, status, message), ended_by=tuple(ended_by))


def _is_true(answer: object) -> bool:
    """Return True for True alone: other results of a callback do not end the integration."""
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def step_count(t0: Any, t1: Any, step: Any, max_steps: int) -> int:
    """Return the number of steps of this length, without an extra one that is due to rounding."""
    ratio = float(abs(t1 - t0) / step)
    if ratio - 1e-6 > max_steps:
        raise InputError(f"step = {step} makes {ratio:.3g} steps, more than max_steps = {max_steps}; raise one of them")
    count = max(1, math.ceil(ratio - 1e-6))
    for name, t in (("t0", t0), ("t1", t1)):
        if count > 1 and t + step / 10 == t:
            raise InputError(f"step = {step} is below rounding at {name} = {t}; take a longer one, or shift the time")
    return count
