"""Numbers of a motion that vary: every rollout then has its own motion and its own law.

trajectory.times.2                     the second time
trajectory.points.2.1                  the first joint of the second point
trajectory.from.1  trajectory.to.1     the first joint at the start and at the end
trajectory.velocity  .velocity.2       of all joints, or of one; the same for acceleration
trajectory.duration                    one number

All motions of a study have the same number of pieces, so that one program computes them: a trapezoidal motion reaches
its velocity in all rows, or in none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.scenario import MOTION_TYPES
from armwright.sweep.study import Study

MOTION_PREFIX = "trajectory."
PER_JOINT_PARAMETERS = ("velocity", "acceleration")
POSITIVE_KEYS = (*PER_JOINT_PARAMETERS, "duration")
DURATION_KEYS = ("times", *POSITIVE_KEYS)
"""Keys that change how long a motion lasts; every key does for a trapezoidal motion."""


def names_of(study: Study, robot: Robot) -> list[str]:
    """Return the names of the numbers that can vary in the motion of a study."""
    motion = study.trajectory or {}
    if not isinstance(motion, Mapping) or motion.get("type") not in MOTION_TYPES or "target" in (study.torque or {}):
        return []
    kind, names = MOTION_TYPES[motion["type"]], []
    for key in kind.required if kind.varies else ():
        if key in PER_JOINT_PARAMETERS:
            names += [f"{MOTION_PREFIX}{key}", *(f"{MOTION_PREFIX}{key}.{k + 1}" for k in range(robot.n))]
        elif key in motion:
            names += [f"{MOTION_PREFIX}{key}{end}" for end in _ends(motion[key])]
    return names


def _ends(value: Any) -> Iterator[str]:
    """Yield the indices of all numbers in nested lists, counted from 1, as ends of names."""
    if isinstance(value, (list, tuple, np.ndarray)):
        for k, entry in enumerate(value):
            yield from (f".{k + 1}{end}" for end in _ends(entry))
    else:
        yield ""


def check_names(study: Study, part: Reader, names: tuple[str, ...]) -> None:
    """Raise a ModelError if motions of different durations have no common duration=, or a number varies twice."""
    for name in (name for name in names if name.startswith(MOTION_PREFIX)):
        key = name.split(".")[1]
        if name.rpartition(".")[0] in names:
            part.fail(name, f"{name.rpartition('.')[0]} varies too, for all joints; expected one of them")
        differs = key in DURATION_KEYS or (study.trajectory or {}).get("type") == "trapezoidal"
        if differs and study.duration is None and "duration" not in names:
            part.fail(name, "this gives motions different durations; expected duration = for all rollouts")


def motion_table(study: Study, values: Mapping[str, float], robot: Robot) -> dict[str, Any]:
    """Return the [trajectory] table of one rollout with these numbers."""
    motion = dict(study.trajectory or {})
    for name, x in values.items():
        if not name.startswith(MOTION_PREFIX):
            continue
        key, *indices = name.removeprefix(MOTION_PREFIX).split(".")
        if not indices:
            motion[key] = x
            continue
        numbers = np.array(motion[key], float)
        if key in PER_JOINT_PARAMETERS:
            numbers = np.array(np.broadcast_to(numbers, robot.n))
        numbers[tuple(int(index) - 1 for index in indices)] = x
        motion[key] = numbers.tolist()
    return motion


def first_row(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table of numbers (1, joints) with its numbers as (joints,)."""
    plain = {key: first_row(x) if isinstance(x, Mapping) else x for key, x in table.items()}
    return {key: x[0] if isinstance(x, np.ndarray) and x.ndim == 2 else x for key, x in plain.items()}


def check_numbers(study: Study, part: Reader, first: int, drawn: Mapping[str, Array], robot: Robot) -> None:
    """Raise a ModelError unless times increase and speeds are positive in these rows; `first` is the first row."""
    names = [name for name in drawn if name.startswith(MOTION_PREFIX)]
    if not names:
        return

    def fail_where(wrong: Array, name: str, expected: str) -> None:
        if wrong.any():
            i = int(np.argmax(wrong))
            numbers = ", ".join(f"{key} = {drawn[key][i]:.6g}" for key in names)
            part.fail(name, f"row {first + i} would have {numbers}: expected {expected}")

    for name in names:
        if name.split(".")[1] in POSITIVE_KEYS:
            fail_where(drawn[name] <= 0, name, "more than zero everywhere")
    if timed := [name for name in names if name.startswith(f"{MOTION_PREFIX}times.")]:
        times = np.tile(np.array((study.trajectory or {})["times"], float), (len(drawn[timed[0]]), 1))
        for name in timed:
            times[:, int(name.rpartition(".")[2]) - 1] = drawn[name]
        fail_where(np.min(np.diff(times, axis=1), axis=1) <= 0, timed[0], "increasing times; narrow their ranges")
    if (study.trajectory or {}).get("type") == "trapezoidal":
        cruises = _cruises(study, drawn, robot)
        fail_where(np.logical_xor(cruises, _cruises(study, {}, robot)), names[0], SAME_PIECES)


SAME_PIECES = "a velocity that all rows reach, or none: the motions of a study are compiled with the same pieces"


def _cruises(study: Study, drawn: Mapping[str, Array], robot: Robot) -> Array:
    """Return True for the rows whose trapezoidal motions reach their velocity, (rows,)."""
    motion, count = study.trajectory or {}, len(next(iter(drawn.values()))) if drawn else 1
    nominal = {key: np.array(motion[key], float) for key in MOTION_TYPES["trapezoidal"].required}
    numbers = {key: np.array(np.broadcast_to(x, (count, robot.n))) for key, x in nominal.items()}
    for name, x in drawn.items():
        if name.startswith(MOTION_PREFIX):
            key, *indices = name.removeprefix(MOTION_PREFIX).split(".")
            numbers[key][:, int(indices[0]) - 1 if indices else slice(None)] = x[:, None] if not indices else x
    distance = np.abs(numbers["to"] - numbers["from"])
    with np.errstate(divide="ignore"):
        v, a = (np.min(numbers[key] / distance, axis=1) for key in PER_JOINT_PARAMETERS)
    cruises: Array = v < np.sqrt(a) * (1 - 1e-12)
    return cruises
