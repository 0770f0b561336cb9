"""Following an integration step by step: output, events, and the call after each step. Shared by all methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.integrate.events import Event, Step, Watch
from armwright.integrate.scalars import Scalars
from armwright.integrate.solution import Counts, IntegrationError, Occurrence, Solution, Statistics

OnStep = Callable[[Any, Array], object]


class Record:
    """The output so far: at the given times, or at the end of every step."""

    def __init__(self, scalars: Scalars, times: Sequence[Any] | None, t: Any, y: Array, sign: int) -> None:
        self.scalars, self.sign, self.size = scalars, sign, y.size
        self.pending = None if times is None else list(reversed(times))
        self.t: list[Any] = []
        self.y: list[Array] = []
        self.events: list[Occurrence] = []
        self._add_until(t, lambda time: y)

    def step(self, step: Step) -> None:
        self._add_until(step.t_end, lambda time: step.y_end if time == step.t_end else step.at(time))

    def _add_until(self, end: Any, at: Callable[[Any], Array]) -> None:
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

    def solution(self, counts: Counts, status: str, message: str) -> Solution:
        dtype = self.scalars.dtype if self.scalars.objects else np.dtype(np.float64)
        y = np.array(self.y, self.scalars.dtype).reshape(len(self.y), self.size)
        statistics = Statistics(counts.accepted, counts.rejected, counts.evaluations, counts.jacobians)
        return Solution(np.array(self.t, dtype), y, statistics, tuple(self.events), status, message)


def follow(
    steps: Callable[[], Iterator[Step]],
    record: Record,
    counts: Counts,
    start: tuple[Any, Array],
    events: Iterable[Event],
    on_step: OnStep | None,
) -> Solution:
    """Take the steps until they end, a terminal event happens, or `on_step` returns True."""
    t, y = start
    status, message = "finished", "the end was reached"
    try:
        # numbers that overflow are told by errors that say where, not by warnings
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            watch = Watch(events, record.scalars, t, y)
            for whole in steps():
                found, ended = watch.passed(whole)
                record.events += found
                step = replace(whole, t_end=found[-1].t, y_end=found[-1].y) if ended else whole
                record.step(step)
                stopped = on_step is not None and _true(on_step(step.t_end, step.y_end))
                if ended or stopped:
                    record.add(step.t_end, step.y_end)
                    status, what = ("event", f"event {found[-1].name!r}") if ended else ("stopped", "on_step ended it")
                    message = f"{what} at t = {step.t_end}"
                    break
    except IntegrationError as error:
        error.solution = record.solution(counts, "failed", str(error))
        raise
    return record.solution(counts, status, message)


def _true(answer: object) -> bool:
    """Only True itself: a function that happens to return something has not asked for an end."""
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def interval(scalars: Scalars, t0: Any, t1: Any) -> tuple[Any, Any, int]:
    """The start, the end, and 1 or -1 for the direction of time."""
    start, end = scalars.time("t0", t0), scalars.time("t1", t1)
    if start == end:
        raise InputError(f"t0 and t1 are both {t0}: there is nothing to integrate; expected two different times")
    return start, end, 1 if end > start else -1


def output_times(scalars: Scalars, times: Any, t0: Any, t1: Any, sign: int) -> list[Any] | None:
    """The times of the output as numbers, in the order in which they are passed."""
    if times is None:
        return None
    if np.ndim(times) != 1 or len(times) == 0:
        raise InputError(f"times has shape {np.shape(times)}; expected one or more times, or None for every step")
    numbers = [scalars.time(f"times[{k}]", time) for k, time in enumerate(times)]
    for k, time in enumerate(numbers):
        if (time - t0) * sign < 0 or (t1 - time) * sign < 0:
            raise InputError(f"times[{k}] = {time} is outside of the integration from t0 = {t0} to t1 = {t1}")
        if k and (time - numbers[k - 1]) * sign <= 0:
            how = "increase" if sign > 0 else "decrease, as the integration goes backwards"
            raise InputError(f"times[{k}] = {time} comes after times[{k - 1}] = {numbers[k - 1]}; times must {how}")
    return numbers


def stops(times: Sequence[Any] | None, t0: Any, t1: Any) -> Iterator[Any]:
    """Where a step must end: at the times of the output, and at the end."""
    yield from (time for time in times or () if time not in (t0, t1))
    yield t1


def fixed_stops(times: Sequence[Any] | None, t0: Any, t1: Any, step: Any, count: int) -> Iterator[Any]:
    """Where fixed steps end: on the grid t0 + k step, at the times of the output, and at the end.

    A time so near to a point of the grid that only rounding can be the reason takes its place.
    """
    near = abs(step) / 10**7  # less than step_count allows for
    wanted = stops(times, t0, t1)
    stop = next(wanted)
    for k in range(1, count):
        point = t0 + k * step
        while abs(stop - t0) < abs(point - t0) - near:
            yield stop
            stop = next(wanted)
        if abs(stop - point) <= near:
            yield stop
            stop = next(wanted)
        else:
            yield point
    yield stop
    yield from wanted


def positive(name: str, value: Any, scalars: Scalars) -> Any:
    """A length of time the user gave."""
    length = scalars.time(name, value)
    if not length > 0:
        raise InputError(f"{name} = {value} must be positive; the direction of time follows from t0 and t1")
    return length
