"""The [torque] of a scenario: any law of `armwright.torque` by its name, with its numbers; limits, friction, noise."""

from __future__ import annotations

from collections.abc import Mapping

from armwright import torque
from armwright.draws import draws
from armwright.errors import InputError
from armwright.model.table_reader import Reader
from armwright.scenario.motions import choice, followed
from armwright.trajectory import Trajectory


def law_keys() -> dict[str, tuple[str, ...]]:
    """The keys of every law."""
    return {name: (*law.parameters, *(("target",) if law.follows else ())) for name, law in torque.LAWS.items()}


def law_of(part: Reader, motion: Trajectory | None) -> torque.Law:
    """The law that a table says, with the file named where its numbers do not fit."""
    try:
        return _law(part, motion)
    except InputError as error:
        part.fail("law", str(error))


def _law(part: Reader, motion: Trajectory | None) -> torque.Law:
    name = choice(part, "law", law_keys(), BESIDE)
    kind = torque.LAWS[name]
    given = {key: part.data[key] for key in kind.parameters if key in part.data}
    for key in (key for key, words in kind.parameters.items() if words.required):
        part.need(key, f"; the law {name!r} needs it")
    if "target" in part.data and motion is not None:
        part.fail("target", "there is a trajectory to follow as well; leave one of them out")
    target = part.data.get("target", motion and followed(motion))
    if kind.follows and target is None:
        part.fail("law", f"{name} follows a trajectory: add [trajectory], or target =")
    law = kind.make(*((target,) if kind.follows else ()), **given)
    driving: torque.Law = law.limited(part.data["limit"]) if "limit" in part.data else law
    for made in (_friction(part), _noise(part)):
        driving = driving if made is None else driving + made
    return driving


BESIDE = ("limit", "friction", "noise")
"""What any law may have besides; a limit is of the drives, and limits neither friction nor noise."""


def _friction(part: Reader) -> torque.Friction | None:
    if "friction" not in part.data:
        return None
    given = part.data["friction"]
    if not isinstance(given, Mapping) or set(given) - {"viscous", "coulomb", "smooth"}:
        part.fail("friction", f"friction = {given!r}: expected {{viscous = ..., coulomb = ..., smooth = ...}}")
    return torque.friction(**given)


def _noise(part: Reader) -> torque.Noise | None:
    if "noise" not in part.data:
        return None
    given = part.data["noise"]
    if not isinstance(given, Mapping) or set(given) - {"std", "hold", "seed"} or "std" not in given:
        part.fail("noise", f"noise = {given!r}: expected {{std = ..., hold = seconds, seed = 1}}")
    return torque.noise(draws(given.get("seed", 1)).normal(0.0, given["std"]), given.get("hold"))


def default_law(motion: Trajectory | None) -> torque.Law:
    return torque.Free() if motion is None else torque.computed_torque(followed(motion), kp=100.0, kd=20.0)
