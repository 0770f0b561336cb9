"""The [torque] table of a scenario: any law of `LAWS` with its parameters, limits, friction and noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armwright.draws import draws
from armwright.errors import InputError
from armwright.model.table_reader import Reader
from armwright.scenario.motions import choice, reference_motion
from armwright.torque import LAWS, Free, Law, LawParameter, computed_torque, friction, noise
from armwright.torque.laws import TARGET_PARAMETER
from armwright.trajectory import Trajectory

LIMIT_PARAMETER = LawParameter("Largest torque of all drives or of each; not of friction and noise", "N m or N")
FRICTION_PARAMETERS = LAWS["friction"].parameters
NOISE_PARAMETERS = {
    "std": LawParameter("Standard deviation of random torques", "N m or N", required=True),
    "hold": LawParameter("Time between new values; without it they are drawn once", "s", "number", 0.0),
    "seed": LawParameter("Seed of the random numbers", shape="integer"),
}

COMMON_KEYS = ("limit", "friction", "noise")
"""Keys that every law may have."""


def law_keys() -> dict[str, dict[str, LawParameter]]:
    """Return the parameters of every law by key."""
    return {
        name: {**law.parameters, **({"target": TARGET_PARAMETER} if law.follows else {})} for name, law in LAWS.items()
    }


def law_of(part: Reader, motion: Trajectory | None) -> Law:
    """Return the law of a [torque] table; errors name the file."""
    try:
        return _law(part, motion)
    except InputError as error:
        part.fail("law", str(error))


def _law(part: Reader, motion: Trajectory | None) -> Law:
    keys = {name: tuple(known) for name, known in law_keys().items()}
    name = choice(part, "law", keys, COMMON_KEYS)
    entry = LAWS[name]
    numbers = {key: part.data[key] for key in entry.parameters if key in part.data}
    for key in (key for key, words in entry.parameters.items() if words.required):
        part.need(key, f"; the law {name!r} needs it")
    if "target" in part.data and motion is not None:
        part.fail("target", "there is also a trajectory to follow; remove one of them")
    target = part.data.get("target", motion and reference_motion(motion))
    if entry.follows and target is None:
        part.fail("law", f"{name} follows a trajectory: add [trajectory], or target =")
    law = entry.law(name, *((target,) if entry.follows else ()), **numbers)
    total: Law = law.limited(part.data["limit"]) if "limit" in part.data else law
    if "friction" in part.data:
        total = total + friction(**_table(part, "friction", FRICTION_PARAMETERS))
    if "noise" in part.data:
        table = _table(part, "noise", NOISE_PARAMETERS)
        total = total + noise(draws(table.get("seed", 1)).normal(0.0, table["std"]), table.get("hold"))
    return total


def _table(part: Reader, key: str, known: Mapping[str, LawParameter]) -> Mapping[str, Any]:
    """Return the inline table of a key, checked for unknown and missing parameters."""
    table = part.data[key]
    required = {name for name, words in known.items() if words.required}
    if not isinstance(table, Mapping) or not required <= set(table) <= set(known):
        shown = ", ".join(f"{name} = ..." for name in known)
        part.fail(key, f"{key} = {table!r}: expected {{{shown}}}")
    return table


def default_law(motion: Trajectory | None) -> Law:
    """Return the law of a scenario without a [torque] table: computed torque, or none without a motion."""
    return Free() if motion is None else computed_torque(reference_motion(motion), kp=100.0, kd=20.0)
