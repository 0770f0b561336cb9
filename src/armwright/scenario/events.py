"""The [[event]] tables of a scenario, read as `armwright.events`, and its stops."""

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
    """Return the keys of an event, with True for required ones."""
    listed = signature(EVENTS[kind]).parameters.values()
    return {p.name: p.default is Parameter.empty and p.kind is not Parameter.VAR_POSITIONAL for p in listed}


def event_of(part: Reader, arm: Robot) -> Event:
    """Return the event of a table for a robot."""
    kind = choice(part, "type", {name: tuple(event_keys(name)) for name in EVENTS})
    for key in (key for key, required in event_keys(kind).items() if required):
        part.need(key, f"; the event {kind!r} needs it")
    arguments = {key: value for key, value in part.data.items() if key != "type"}
    for key in ("name", "joint"):
        part.text(key, "")
    joints = part.texts("joints") if arguments.pop("joints", None) is not None else ()
    try:
        event = EVENTS[kind](*joints, **arguments)
        events_on(arm, [event])
    except (InputError, UnknownNameError) as error:
        part.fail("type", str(error))
    return event


def stops_of(top: Reader, arm: Robot) -> Any:
    """Return the law of `stops`: true, or a table of stiffness and damping."""
    value = top.data["stops"]
    if not isinstance(value, Mapping):
        return top.flag("stops")
    if set(value) - {"stiffness", "damping"}:
        top.fail("stops", f"stops = {value!r}: expected true, or {{stiffness = ..., damping = ...}}")
    try:
        return torque.stops(arm, **value)
    except InputError as error:
        top.fail("stops", str(error))
