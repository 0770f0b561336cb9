"""Events: where a function of time and state crosses zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.integrate.scalars import Scalars
from armwright.integrate.solution import IntegrationError, Occurrence


@dataclass(frozen=True)
class Event:
    """Happens where function(t, y) crosses zero: upwards (direction 1), downwards (-1) or either way (0).

    Upwards means as the integration goes, also when it goes backwards in time. A terminal event ends the integration,
    at once or, if `terminal` is a number, when it happens for that many times. A function that is zero at the start has
    not crossed yet. A truth value counts as 1/2 or -1/2: upwards is where it becomes true. Crossings are noticed by a
    change of sign from one step to the next, so two within one step go unseen; `max_step` helps. The function must
    leave the state as it is.
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
class Step:
    """An accepted step, and the state at any time within it."""

    t: Any
    y: Array
    t_end: Any
    y_end: Array
    within: Callable[[Any], Array]

    def at(self, t: Any) -> Array:
        return self.y_end if t == self.t_end else self.within(t)


def _checked(events: Iterable[Event] | Event) -> tuple[Event, ...]:
    listed = tuple(events) if isinstance(events, Iterable) else (events,)
    for event in listed:
        if not isinstance(event, Event):
            raise InputError(f"events contains {event!r}; expected Event(function, terminal, direction, name)")
    return listed


class Watch:
    """Looks for events step by step."""

    def __init__(self, events: Iterable[Event], scalars: Scalars, t: Any, y: Array) -> None:
        self.events = _checked(events)
        self.scalars = scalars
        self.values = [self._value(event, t, y) for event in self.events]
        self.left = [int(event.terminal) for event in self.events]  # ends at zero; what is not terminal is below

    def passed(self, step: Step) -> tuple[list[Occurrence], list[str]]:
        """What happened in the step, in order, and the names of the events that end the integration with the last."""
        found: list[tuple[Any, int]] = []
        for place, event in enumerate(self.events):
            t, before = step.t, self.values[place]
            after = self.values[place] = self._value(event, step.t_end, step.y_end)
            if before == 0:  # its sign is the one it has just after the start
                t = step.t + (step.t_end - step.t) / 2**20
                before = self._value(event, t, step.at(t))
            if event.crossed(before, after):
                self.left[place] -= 1
                found.append((self._located(event, step, (t, before), (step.t_end, after)), place))
        found.sort(key=lambda pair: pair[0], reverse=step.t_end < step.t)
        last = next((k for k, (_, place) in enumerate(found) if self.left[place] == 0), len(found))
        for end, _ in found[last : last + 1]:  # others that differ by rounding alone happen at the same instant
            close = 2 * self._width(step)
            found[last:] = [(end, place) for t, place in found[last:] if abs(t - end) <= close]
        ended_by = [self.events[place].title for _, place in found[last:] if self.left[place] == 0]
        return [Occurrence(self.events[place].title, t, step.at(t)) for t, place in found], ended_by

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

    def _located(self, event: Event, step: Step, start: tuple[Any, Any], end: tuple[Any, Any]) -> Any:
        return crossing(lambda t: self._value(event, t, step.at(t)), start, end, self._width(step))

    def _width(self, step: Step) -> Any:
        """How closely a crossing is located."""
        return 2 * self.scalars.number(self.scalars.eps) * max(abs(step.t), abs(step.t_end), abs(step.t_end - step.t))


def crossing(function: Callable[[Any], Any], start: tuple[Any, Any], end: tuple[Any, Any], width: Any) -> Any:
    """Where the function changes sign between start and end, each given with its value.

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
    """How far from the newest point to the one across the root the next is taken."""
    (a, fa), (b, fb), (c, fc) = new, across, old
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
        return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return xi / xi / 2
