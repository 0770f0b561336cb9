"""The tables of a scenario with the changes of options, and such tables as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from armwright.errors import InputError
from armwright.scenario.laws import COMMON_KEYS
from armwright.scenario.parse import merged
from armwright.simulation.integration_settings import ADAPTIVE_OPTIONS, supported_options

MOTION_LIMIT_KEYS = ("velocity", "acceleration", "torque", "jerk", "reserve")
"""Keys of a time-optimal motion that set its limits."""


def table_in(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table of a scenario, empty if it has none of this name."""
    found = data.get(name)
    return found if isinstance(found, Mapping) else {}


def with_changes(data: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario with some keys changed.

    A new law gets no parameters of the old one; a new integrator keeps the settings that it takes.
    """
    result, old, new = dict(data), table_in(data, "torque"), table_in(changes, "torque")
    if "law" in new and new["law"] != old.get("law"):
        result["torque"] = {key: x for key, x in old.items() if key in COMMON_KEYS}
    if new := table_in(changes, "integrator"):
        result["integrator"] = _integrator_options(table_in(data, "integrator"), new)
    return merged(result, changes)


def _integrator_options(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the old integrator that the new one takes."""
    chosen = set(new) & set(ADAPTIVE_OPTIONS)
    stepped = "step" in new or ("step" in old and not chosen)
    known = supported_options(str(new.get("method", old.get("method", "dop853"))), stepped)
    return {key: x for key, x in old.items() if key == "method" or key in known}


def time_optimal_scenario(
    data: Mapping[str, Any], changes: Mapping[str, Any], reserve: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a scenario with the time-optimal motion along its path, and the remaining changes."""
    if "phase" in data:
        raise InputError('--fastest: the scenario has phases; write type = "time_optimal" into [phase.trajectory]')
    motion, requested = table_in(data, "trajectory"), table_in(changes, "trajectory")
    if not motion:
        raise InputError("--fastest: the scenario has no [trajectory], so there is no path to go along fast; add one")
    limits = {key: requested[key] for key in MOTION_LIMIT_KEYS if key in requested}
    left = {key: x for key, x in requested.items() if key not in MOTION_LIMIT_KEYS}
    rest = {**{key: x for key, x in changes.items() if key != "trajectory"}, **({"trajectory": left} if left else {})}
    if motion.get("type") == "time_optimal":
        return {**data, "trajectory": {**motion, **limits}}, rest
    along = merged(motion, left)
    rest.pop("trajectory", None)
    return {**data, "trajectory": time_optimal_table({"along": along}, limits, reserve)}, rest


def time_optimal_table(path: Mapping[str, Any], limits: Mapping[str, Any], reserve: float) -> dict[str, Any]:
    """Return the table of a time-optimal motion along a path."""
    left = {"reserve": reserve} if reserve else {}
    return {"type": "time_optimal", **path, **left, **limits}


def as_toml(data: Mapping[str, Any]) -> str:
    """Return a scenario as TOML: numbers and texts first, then tables."""
    lines = [f"{key} = {_toml_value(x)}" for key, x in data.items() if not isinstance(x, Mapping) or key == "payload"]
    for key, table in data.items():
        if isinstance(table, Mapping) and key != "payload":
            lines += ["", f"[{key}]", *(f"{name} = {_toml_value(x)}" for name, x in table.items())]
    return "\n".join(lines) + "\n"


def _toml_value(x: Any) -> str:
    if isinstance(x, Mapping):
        return "{" + ", ".join(f"{key} = {_toml_value(entry)}" for key, entry in x.items()) + "}"
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(map(_toml_value, x)) + "]"
    return json.dumps(x)
