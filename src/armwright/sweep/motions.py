"""Numbers of a motion that vary: every rollout has a motion, and so a law, of its own.

trajectory.times.2                     the second time
trajectory.points.2.1                  the first joint of the second point
trajectory.from.1  trajectory.to.1     the first joint where it begins and ends
trajectory.velocity  .velocity.2       of all joints, or of one; acceleration as well
trajectory.duration                    one number

Motions of one study have as many pieces, so that they are one program: a trapezoidal one reaches its velocity in all
rows, or in none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.scenario import MOTIONS
from armwright.sweep.study import Study

PREFIX = "trajectory."
PER_JOINT = ("velocity", "acceleration")
POSITIVE = (*PER_JOINT, "duration")
LASTING = ("times", *POSITIVE)
"""What says how long a motion lasts; of a trapezoidal one everything does."""


def names_of(study: Study, robot: Robot) -> list[str]:
    """What can vary of the motion of a study."""
    motion = study.trajectory or {}
    if not isinstance(motion, Mapping) or motion.get("type") not in MOTIONS or "target" in (study.torque or {}):
        return []
    kind, found = MOTIONS[motion["type"]], []
    for key in kind.needed if kind.varies else ():
        if key in PER_JOINT:
            found += [f"{PREFIX}{key}", *(f"{PREFIX}{key}.{k + 1}" for k in range(robot.n))]
        elif key in motion:
            found += [f"{PREFIX}{key}{end}" for end in _ends(motion[key])]
    return found


def _ends(value: Any) -> Iterator[str]:
    """The places of all numbers in a list of lists of them, counted from 1."""
    if isinstance(value, (list, tuple, np.ndarray)):
        for k, entry in enumerate(value):
            yield from (f".{k + 1}{end}" for end in _ends(entry))
    else:
        yield ""


def check_names(study: Study, part: Reader, names: tuple[str, ...]) -> None:
    """That it is said how long rollouts last where their motions do not last as long, and nothing is said twice."""
    for name in (name for name in names if name.startswith(PREFIX)):
        key = name.split(".")[1]
        if name.rpartition(".")[0] in names:
            part.fail(name, f"{name.rpartition('.')[0]} varies too, for all joints; expected one of them")
        differs = key in LASTING or (study.trajectory or {}).get("type") == "trapezoidal"
        if differs and study.duration is None and "duration" not in names:
            part.fail(name, "with it motions last differently long; expected duration = for all rollouts")


def table(study: Study, values: Mapping[str, float], robot: Robot) -> dict[str, Any]:
    """The [trajectory] of one rollout."""
    motion = dict(study.trajectory or {})
    for name, x in values.items():
        if not name.startswith(PREFIX):
            continue
        key, *places = name.removeprefix(PREFIX).split(".")
        if not places:
            motion[key] = x
            continue
        numbers = np.array(motion[key], float)
        if key in PER_JOINT:
            numbers = np.array(np.broadcast_to(numbers, robot.n))
        numbers[tuple(int(place) - 1 for place in places)] = x
        motion[key] = numbers.tolist()
    return motion


def alone(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table whose numbers are those of one rollout, (1, joints), with them as (joints,)."""
    plain = {key: alone(x) if isinstance(x, Mapping) else x for key, x in table.items()}
    return {key: x[0] if isinstance(x, np.ndarray) and x.ndim == 2 else x for key, x in plain.items()}


def check_numbers(study: Study, part: Reader, first: int, drawn: Mapping[str, Array], robot: Robot) -> None:
    """That times rise, and speeds are above zero, in all of some rows; `first` is the first of them."""
    names = [name for name in drawn if name.startswith(PREFIX)]
    if not names:
        return

    def fail(wrong: Array, name: str, what: str) -> None:
        if wrong.any():
            i = int(np.argmax(wrong))
            told = ", ".join(f"{key} = {drawn[key][i]:.6g}" for key in names)
            part.fail(name, f"row {first + i} would have {told}: expected {what}")

    for name in names:
        if name.split(".")[1] in POSITIVE:
            fail(drawn[name] <= 0, name, "more than zero everywhere")
    if timed := [name for name in names if name.startswith(f"{PREFIX}times.")]:
        times = np.tile(np.array((study.trajectory or {})["times"], float), (len(drawn[timed[0]]), 1))
        for name in timed:
            times[:, int(name.rpartition(".")[2]) - 1] = drawn[name]
        fail(np.min(np.diff(times, axis=1), axis=1) <= 0, timed[0], "times that rise, so draw narrower ones")
    if (study.trajectory or {}).get("type") == "trapezoidal":
        cruises = _cruises(study, drawn, robot)
        fail(np.logical_xor(cruises, _cruises(study, {}, robot)), names[0], WHY)


WHY = "a velocity that is reached in all rows, or in none: pieces of motions are compiled as those of the study itself"


def _cruises(study: Study, drawn: Mapping[str, Array], robot: Robot) -> Array:
    """Whether trapezoidal motions reach their velocity, (rows,)."""
    motion, count = study.trajectory or {}, len(next(iter(drawn.values()))) if drawn else 1
    given = {key: np.array(motion[key], float) for key in MOTIONS["trapezoidal"].needed}
    own = {key: np.array(np.broadcast_to(x, (count, robot.n))) for key, x in given.items()}
    for name, x in drawn.items():
        if name.startswith(PREFIX):
            key, *places = name.removeprefix(PREFIX).split(".")
            own[key][:, int(places[0]) - 1 if places else slice(None)] = x[:, None] if not places else x
    distance = np.abs(own["to"] - own["from"])
    with np.errstate(divide="ignore"):
        v, a = (np.min(own[key] / distance, axis=1) for key in PER_JOINT)
    cruises: Array = v < np.sqrt(a) * (1 - 1e-12)
    return cruises
