"""Events: where a function of time and state crosses zero."""

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

    A change of sign from one step to the next is a crossing. Where values and slopes at both ends of a step say that
    the function may cross zero more than once, the step is subdivided, down to 1/729 of it. A SimulationWarning
    reports functions that turn faster; a smaller `max_step` finds their crossings.
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
    """An accepted step, and the state at any time within it."""

    t: Any
    y: Array
    t_end: Any
    y_end: Array
    within: Callable[[Any], Array]
    rate: Array | None = None
    """The derivative at its start, where it is known and states within are dear."""

    def look_within(self, share: float) -> list[tuple[Any, Array]]:
        """Times and states within it: a small `share` after its start, a third, two thirds, and as much before its end.

        Where states within are dear they are those of a parabola.
        """
        length, grown = self.t_end - self.t, self.y_end - self.y
        parts = (share, 1 / 3, 2 / 3, 1 - share)
        times = [self.t + length * share, *(self.t + length * k / 3 for k in (1, 2)), self.t_end - length * share]
        if self.rate is None:
            return [(t, self.within(t)) for t in times]
        begun = length * self.rate
        return [(t, self.y + s * (begun + s * (grown - begun))) for t, s in zip(times, parts, strict=True)]

    def at(self, t: Any) -> Array:
        return self.y_end if t == self.t_end else self.within(t)


def _checked(events: Iterable[Event] | Event) -> tuple[Event, ...]:
    listed = tuple(events) if isinstance(events, Iterable) else (events,)
    for event in listed:
        if not isinstance(event, Event):
            raise InputError(f"events contains {event!r}; expected Event(function, terminal, direction, name)")
    return listed


JUST_INSIDE, JUST_INSIDE_COARSE, COARSE_ROUNDING = 2.0**-20, 2.0**-11, 1e-10
"""The parts of a step over which slopes of events are found, the second where rounding is above `COARSE_ROUNDING`."""

MAX_EVENT_INTERVALS = 3**6
"""Largest number of pieces of a step."""


class _Point(NamedTuple):
    """An event at a time: its value, and its slope times the length of the step."""

    t: Any
    value: Any
    slope: Any


MAX_UNCLEAR_INTERVALS = 8
"""Number of pieces with a corner for which no warning is given."""

MAX_CUBIC_DEVIATION, ZERO_DISTANCE_RATIO = 0.05, 4.0
"""The part of its extent by which a function may differ from a cubic within; and how many times that must be its
distance from zero, if it is to be none."""


def tangled(values: Sequence[Any], begin: Any, end: Any) -> bool:
    """Return whether a function may have several zeros in a piece: its `values` at the start, after a third and two
    thirds and at the end are given, and its slopes at start and end times the length of the piece.

    The cubic of values and slopes at the ends has no more zeros than its control points change their sign (Bernstein).
    Where the function is not near that cubic within, nor a step, the cubic says nothing.
    """
    before, third, second, after = values
    points = (before, before + begin / 3, after - end / 3, after)
    if sum(a * b < 0 for a, b in pairwise(points)) >= 2:
        return True
    if begin == 0 and end == 0 and sum(a != b for a, b in pairwise(values)) <= 1:
        return False
    off = max(
        abs(27 * third - sum(k * x for k, x in zip(THIRD, points, strict=True))),
        abs(27 * second - sum(k * x for k, x in zip(reversed(THIRD), points, strict=True))),
    )
    wide = 27 * (max(points) - min(points))
    return bool(off > MAX_CUBIC_DEVIATION * wide and ZERO_DISTANCE_RATIO * off > 27 * min(map(abs, values)))


THIRD = (8, 12, 6, 1)
"""27 times the weights of the control points after a third."""


class Watch:
    """Looks for events step by step."""

    def __init__(self, events: Iterable[Event], scalars: Scalars, t: Any, y: Array) -> None:
        self.events = _checked(events)
        self.scalars = scalars
        self.values = [self._value(event, t, y) for event in self.events]
        self._reported: list[Event] = []
        self.left = [int(event.terminal) for event in self.events]  # ends at zero; what is not terminal is below

    @property
    def _share(self) -> float:
        """The part of a step over which slopes are found."""
        return JUST_INSIDE if float(self.scalars.eps) < COARSE_ROUNDING else JUST_INSIDE_COARSE

    def passed(self, step: IntegrationStep) -> tuple[list[Occurrence], list[str]]:
        """Return the events of the step in order, and the names of those that end the integration."""
        found: list[tuple[Any, int]] = []
        near = step.look_within(self._share)
        for place, event in enumerate(self.events):
            before, after = self.values[place], self._value(event, step.t_end, step.y_end)
            self.values[place] = after
            early, *between, late = (self._value(event, *at) for at in near)
            start = _Point(step.t, before, (early - before) / self._share)
            if before == 0:  # its sign is the one it has just after the start
                start = _Point(near[0][0], early, start.slope)
            end = _Point(step.t_end, after, (after - late) / self._share)
            whole = [(start, end)]
            if tangled((start.value, *between, after), start.slope, end.slope):
                whole = self._pieces(event, step, start, end)
            found += [
                (self._located(event, step, (a.t, a.value), (b.t, b.value)), place)
                for a, b in whole
                if event.crossed(a.value, b.value)
            ]
        found.sort(key=lambda pair: pair[0], reverse=step.t_end < step.t)
        last = len(found)
        for k, (_, place) in enumerate(found):
            self.left[place] -= 1
            if self.left[place] == 0:
                last = k
                break
        for end_time, _ in found[last : last + 1]:  # others that differ by rounding alone happen at the same instant
            close = 2 * self._width(step)
            found[last:] = [(end_time, place) for t, place in found[last:] if abs(t - end_time) <= close]
            for _, place in found[last + 1 :]:
                self.left[place] -= 1
        ended_by = [self.events[place].title for _, place in found[last:] if self.left[place] == 0]
        return [Occurrence(self.events[place].title, t, step.at(t)) for t, place in found], ended_by

    def _pieces(self, event: Event, step: IntegrationStep, start: _Point, end: _Point) -> list[tuple[_Point, _Point]]:
        """The pieces of a step within which an event happens once at most."""
        waiting, found, unclear = [(start, end)], list[tuple[_Point, _Point]](), 0
        while waiting:
            a, b = waiting.pop()
            part = (b.t - a.t) / (step.t_end - step.t)
            points = (a, *(self._point(event, step, a.t + (b.t - a.t) * k / 3) for k in (1, 2)), b)
            if not tangled([point.value for point in points], a.slope * part, b.slope * part):
                found.append((a, b))
            elif part * MAX_EVENT_INTERVALS > 2:
                waiting += reversed(list(pairwise(points)))
            else:
                found += pairwise(points)
                unclear += 1
        if unclear > MAX_UNCLEAR_INTERVALS:
            self._warn(event, step.t)
        return found

    def _point(self, event: Event, step: IntegrationStep, t: Any) -> _Point:
        """An event within a step, with its slope per length of the step."""
        value, later = (self._value(event, at, step.at(at)) for at in (t, t + (step.t_end - step.t) * self._share))
        return _Point(t, value, (later - value) / self._share)

    def _warn(self, event: Event, t: Any) -> None:
        """Warn once of an event that turns too fast."""
        if event not in self._reported:
            self._reported.append(event)
            warnings.warn(
                f"event {event.title!r} turns more than once in {1 / MAX_EVENT_INTERVALS:.1g} of the step from "
                f"t = {t}: some crossings may be missed; expected a smaller max_step= or step=",
                SimulationWarning,
                stacklevel=2,
            )

    def _value(self, event: Event, t: Any, y: Array) -> Any:
        seen = y.view()
        seen.flags.writeable = False
        try:
            value = event.function(t, seen)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise InputError(
                f"event {event.title!r} writes into the state, which it may only look at: end the run there "
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

    def _located(self, event: Event, step: IntegrationStep, start: tuple[Any, Any], end: tuple[Any, Any]) -> Any:
        return crossing(lambda t: self._value(event, t, step.at(t)), start, end, self._width(step))

    def _width(self, step: IntegrationStep) -> Any:
        """Return the width in time to which a crossing is located."""
        return 2 * self.scalars.number(self.scalars.eps) * max(abs(step.t), abs(step.t_end), abs(step.t_end - step.t))


def crossing(function: Callable[[Any], Any], start: tuple[Any, Any], end: tuple[Any, Any], width: Any) -> Any:
    """Return the time at which the function changes sign between two points with their values.

    It is the far end of a bracket of this width: going on from there does not cross again. Chandrupatla 1997,
    Adv. Eng. Software 28, 145: inverse quadratic interpolation where that is safe, else halving.
    """
    (b, fb), (a, fa) = start, end  # a is the newest point, b is across the root, c the point that was replaced
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
        least = width / abs(b - a) / 2
        share = min(max(_share((a, fa), (b, fb), (c, fc)), least), 1 - least)
    return a if fa * sign >= 0 else b


def _share(new: tuple[Any, Any], across: tuple[Any, Any], old: tuple[Any, Any]) -> Any:
    """Return the next point as a share of the way from the newest one to the one across the root."""
    (a, fa), (b, fb), (c, fc) = new, across, old
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
        return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return xi / xi / 2
