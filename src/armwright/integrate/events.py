"""Events: zero crossings of functions of time and state."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError, SimulationWarning
from armwright.integrate.scalars import Scalars
from armwright.integrate.solution import IntegrationError, Occurrence


@dataclass(frozen=True)
class Event:
    """Happens where function(t, y) crosses zero: upwards (direction 1), downwards (-1) or either way (0).

    Upwards is along the direction of integration, also backwards in time. A terminal event ends the integration,
    at once or, if `terminal` is a number, at that occurrence. A function that is zero at the start has not crossed
    yet. A truth value counts as 1/2 or -1/2: upwards is where it becomes true. The function must not change the state.

    A change of sign within a step is a crossing. A step is subdivided, down to 1/729 of it, if values and slopes show
    that the function may cross zero more than once. A SimulationWarning reports functions that oscillate faster; a
    smaller `max_step` finds their crossings.
    """

    function: Callable[[Any, Array], Any]
    terminal: bool | int = True
    direction: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"the function of an event is {self.function!r}; expected a function of (t, y)")
        if self.direction not in (-1, 0, 1):
            raise InputError(f"direction = {self.direction!r} of an event; expected 1, -1 or 0 for either way")
        if not isinstance(self.terminal, (bool, np.bool_, Integral)) or self.terminal < 0:
            raise InputError(
                f"terminal = {self.terminal!r} of an event; expected True, False, or after how many times a run ends"
            )
        if not isinstance(self.name, str):
            raise InputError(f"name = {self.name!r} of an event; expected a text")

    @property
    def title(self) -> str:
        name: str = self.name or getattr(self.function, "__name__", "event")
        return "event" if name == "<lambda>" else name

    def crossed(self, before: Any, after: Any) -> bool:
        upwards, downwards = before < 0 <= after, before > 0 >= after
        return (upwards and self.direction >= 0) or (downwards and self.direction <= 0)


@dataclass(frozen=True, eq=False)
class IntegrationStep:
    """An accepted step; `within` returns the state at a time within it."""

    t: Any
    y: Array
    t_end: Any
    y_end: Array
    within: Callable[[Any], Array]
    rate: Array | None = None
    """The derivative at the start, if a call of `within` is expensive; `samples` then uses a parabola."""

    def samples(self, share: float) -> list[tuple[Any, Array]]:
        """Return times and states after these parts of the step: `share` (small), 1/3, 2/3 and 1 - `share`."""
        length, change = self.t_end - self.t, self.y_end - self.y
        parts = (share, 1 / 3, 2 / 3, 1 - share)
        times = [self.t + length * share, *(self.t + length * k / 3 for k in (1, 2)), self.t_end - length * share]
        if self.rate is None:
            return [(t, self.within(t)) for t in times]
        initial = length * self.rate
        return [(t, self.y + s * (initial + s * (change - initial))) for t, s in zip(times, parts, strict=True)]

    def at(self, t: Any) -> Array:
        return self.y_end if t == self.t_end else self.within(t)


def _checked_events(events: Iterable[Event] | Event) -> tuple[Event, ...]:
    listed = tuple(events) if isinstance(events, Iterable) else (events,)
    for event in listed:
        if not isinstance(event, Event):
            raise InputError(f"events contains {event!r}; expected Event(function, terminal, direction, name)")
    return listed


JUST_INSIDE, JUST_INSIDE_COARSE, COARSE_ROUNDING = 2.0**-20, 2.0**-11, 1e-10
"""The parts of a step for difference quotients of events; the second if rounding is above `COARSE_ROUNDING`."""

MAX_EVENT_INTERVALS = 3**6
"""The largest number of pieces into which a step is divided."""


class _Point(NamedTuple):
    """The value of an event at a time, and its slope times the length of the step."""

    t: Any
    value: Any
    slope: Any


MAX_UNCLEAR_INTERVALS = 8
"""The number of pieces with more than one possible crossing that causes no warning."""

MAX_CUBIC_DEVIATION, ZERO_DISTANCE_RATIO = 0.05, 4.0
"""The largest deviation of a function from a cubic, relative to its range; and the distance from zero, in multiples of
the deviation, beyond which a larger deviation does not matter."""


def several_zeros(values: Sequence[Any], begin: Any, end: Any) -> bool:
    """Return whether a function may have several zeros in a piece of a step.

    `values` are those at 0, 1/3, 2/3 and 1 of the piece; begin and end are the slopes there times its length. The cubic
    through values and slopes at the ends has at most as many zeros as its control points have changes of sign
    (Bernstein). A function that deviates from the cubic, and is not a step function, may have more.
    """
    before, third, second, after = values
    points = (before, before + begin / 3, after - end / 3, after)
    if sum(a * b < 0 for a, b in pairwise(points)) >= 2:
        return True
    if begin == 0 and end == 0 and sum(a != b for a, b in pairwise(values)) <= 1:
        return False
    deviation = max(
        abs(27 * third - sum(k * x for k, x in zip(THIRD_WEIGHTS, points, strict=True))),
        abs(27 * second - sum(k * x for k, x in zip(reversed(THIRD_WEIGHTS), points, strict=True))),
    )
    extent = 27 * (max(points) - min(points))
    zero_in_reach = ZERO_DISTANCE_RATIO * deviation > 27 * min(map(abs, values))
    return bool(deviation > MAX_CUBIC_DEVIATION * extent and zero_in_reach)


THIRD_WEIGHTS = (8, 12, 6, 1)
"""27 times the Bernstein weights of the control points at 1/3."""


class EventDetector:
    """Detects events step by step."""

    def __init__(self, events: Iterable[Event], scalars: Scalars, t: Any, y: Array) -> None:
        self.events = _checked_events(events)
        self.scalars = scalars
        self.values = [self._value(event, t, y) for event in self.events]
        self._reported: list[Event] = []
        self.remaining = [int(event.terminal) for event in self.events]  # a run ends at zero; others count below zero

    @property
    def _share(self) -> float:
        """The part of a step for difference quotients."""
        return JUST_INSIDE if float(self.scalars.eps) < COARSE_ROUNDING else JUST_INSIDE_COARSE

    def detect(self, step: IntegrationStep) -> tuple[list[Occurrence], list[str]]:
        """Return the events of the step in order, and the names of those that end the integration."""
        crossings: list[tuple[Any, int]] = []
        samples = step.samples(self._share)
        for place, event in enumerate(self.events):
            before, after = self.values[place], self._value(event, step.t_end, step.y_end)
            self.values[place] = after
            early, *between, late = (self._value(event, *at) for at in samples)
            start = _Point(step.t, before, (early - before) / self._share)
            if before == 0:  # the sign just after the start counts
                start = _Point(samples[0][0], early, start.slope)
            end = _Point(step.t_end, after, (after - late) / self._share)
            pieces = [(start, end)]
            if several_zeros((start.value, *between, after), start.slope, end.slope):
                pieces = self._pieces(event, step, start, end)
            crossings += [
                (self._crossing_time(event, step, a, b), place) for a, b in pieces if event.crossed(a.value, b.value)
            ]
        crossings.sort(key=lambda pair: pair[0], reverse=step.t_end < step.t)
        last = len(crossings)
        for k, (_, place) in enumerate(crossings):
            self.remaining[place] -= 1
            if self.remaining[place] == 0:
                last = k
                break
        for end_time, _ in crossings[last : last + 1]:  # crossings that differ by rounding alone are simultaneous
            rounding = 2 * self._width(step)
            crossings[last:] = [(end_time, place) for t, place in crossings[last:] if abs(t - end_time) <= rounding]
            for _, place in crossings[last + 1 :]:
                self.remaining[place] -= 1
        ended_by = [self.events[place].title for _, place in crossings[last:] if self.remaining[place] == 0]
        return [Occurrence(self.events[place].title, t, step.at(t)) for t, place in crossings], ended_by

    def _pieces(self, event: Event, step: IntegrationStep, start: _Point, end: _Point) -> list[tuple[_Point, _Point]]:
        """Return the pieces of a step in each of which an event happens at most once."""
        stack, pieces, unclear = [(start, end)], list[tuple[_Point, _Point]](), 0
        while stack:
            a, b = stack.pop()
            part = (b.t - a.t) / (step.t_end - step.t)
            points = (a, *(self._point(event, step, a.t + (b.t - a.t) * k / 3) for k in (1, 2)), b)
            if not several_zeros([point.value for point in points], a.slope * part, b.slope * part):
                pieces.append((a, b))
            elif part * MAX_EVENT_INTERVALS > 2:
                stack += reversed(list(pairwise(points)))
            else:
                pieces += pairwise(points)
                unclear += 1
        if unclear > MAX_UNCLEAR_INTERVALS:
            self._warn(event, step.t)
        return pieces

    def _point(self, event: Event, step: IntegrationStep, t: Any) -> _Point:
        """Return the value and slope of an event within a step."""
        value, later = (self._value(event, at, step.at(at)) for at in (t, t + (step.t_end - step.t) * self._share))
        return _Point(t, value, (later - value) / self._share)

    def _warn(self, event: Event, t: Any) -> None:
        """Warn once about an event that oscillates too fast."""
        if event not in self._reported:
            self._reported.append(event)
            warnings.warn(
                f"event {event.title!r} oscillates within {1 / MAX_EVENT_INTERVALS:.1g} of the step from "
                f"t = {t}: some crossings may be missed; expected a smaller max_step= or step=",
                SimulationWarning,
                stacklevel=2,
            )

    def _value(self, event: Event, t: Any, y: Array) -> Any:
        read_only = y.view()
        read_only.flags.writeable = False
        try:
            value = event.function(t, read_only)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise InputError(
                f"event {event.title!r} writes into the state, which it may only read: end the run there "
                "(terminal=True) and start another from the changed state"
            ) from None
        if isinstance(value, (bool, np.bool_)):
            value = 0.5 if value else -0.5
        try:
            number = self.scalars.number(None if isinstance(value, str) else value)
        except (TypeError, ValueError):
            raise InputError(f"event {event.title!r} gave {value!r} at t = {t}; expected a number") from None
        if number - number != 0:
            raise IntegrationError(f"event {event.title!r} gave {value} at t = {t}; expected a finite number", t, y)
        return number

    def _crossing_time(self, event: Event, step: IntegrationStep, start: _Point, end: _Point) -> Any:
        return crossing(lambda t: self._value(event, t, step.at(t)), start[:2], end[:2], self._width(step))

    def _width(self, step: IntegrationStep) -> Any:
        """Return the width in time to which a crossing is located."""
        return 2 * self.scalars.number(self.scalars.eps) * max(abs(step.t), abs(step.t_end), abs(step.t_end - step.t))


def crossing(function: Callable[[Any], Any], start: tuple[Any, Any], end: tuple[Any, Any], width: Any) -> Any:
    """Return the time at which the function changes sign between two points with their values.

    It is the end of a bracket of this width, after the crossing, so that an integration from there does not cross
    again. Chandrupatla 1997, Adv. Eng. Software 28, 145: inverse quadratic interpolation if that is safe, otherwise
    bisection.
    """
    (b, fb), (a, fa) = start, end  # a: newest point; b: on the other side of the root; c: the point replaced last
    sign = 1 if fb < 0 else -1
    share = (a - b) / (a - b) / 2
    while abs(b - a) > width:
        x = a + share * (b - a)
        fx = function(x)
        if x in (a, b) or fx == 0:
            return x
        if (fx * sign > 0) == (fa * sign >= 0):
            c, fc = a, fa
        else:
            (c, fc), (b, fb) = (b, fb), (a, fa)
        a, fa = x, fx
        smallest = width / abs(b - a) / 2
        share = min(max(_interpolated_share((a, fa), (b, fb), (c, fc)), smallest), 1 - smallest)
    return a if fa * sign >= 0 else b


def _interpolated_share(new: tuple[Any, Any], across: tuple[Any, Any], old: tuple[Any, Any]) -> Any:
    """Return the next point as a share of the interval from the newest point to the one across the root."""
    (a, fa), (b, fb), (c, fc) = new, across, old
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
        return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return xi / xi / 2
