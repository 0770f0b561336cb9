"""The [[event]] tables of a scenario, which end its motion as `armwright.events` do, and its stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from armwright import torque
from armwright.errors import InputError, UnknownNameError
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.scenario.motions import choice
from armwright.simulation import events
from armwright.simulation.events import Event, events_on

EVENTS: dict[str, Callable[..., Event]] = {
    "limits": events.limits,
    "position": events.position,
    "speed": events.speed,
    "plane": events.plane,
}
"""Every type of [[event]]."""


def event_keys(kind: str) -> dict[str, bool]:
    """The keys of an event, and whether each is needed."""
    listed = signature(EVENTS[kind]).parameters.values()
    return {p.name: p.default is Parameter.empty and p.kind is not Parameter.VAR_POSITIONAL for p in listed}


def event_of(part: Reader, arm: Robot) -> Event:
    """The event that a table says, for a robot."""
    kind = choice(part, "type", {name: tuple(event_keys(name)) for name in EVENTS})
    for key in (key for key, needed in event_keys(kind).items() if needed):
        part.need(key, f"; the event {kind!r} needs it")
    given = {key: value for key, value in part.data.items() if key != "type"}
    for key in ("name", "joint"):
        part.text(key, "")
    joints = part.texts("joints") if given.pop("joints", None) is not None else ()
    try:
        event = EVENTS[kind](*joints, **given)
        events_on(arm, [event])
    except (InputError, UnknownNameError) as error:
        part.fail("type", str(error))
    return event


def stops_of(top: Reader, arm: Robot) -> Any:
    """Return the law of `stops`: true, or a table of stiffness and damping."""
    given = top.data["stops"]
    if not isinstance(given, Mapping):
        return top.flag("stops")
    if set(given) - {"stiffness", "damping"}:
        top.fail("stops", f"stops = {given!r}: expected true, or {{stiffness = ..., damping = ...}}")
    try:
        return torque.stops(arm, **given)
    except InputError as error:
        top.fail("stops", str(error))
