"""The actuators of a study: which motor and gearbox each joint has, or may have, and what they make of the robot.

[actuators]
catalogue = "typical"                     # or a catalogue file; by default the packaged one
in_links = true                           # the links of the robot have their masses already; by default these are added
joint1 = {motor = "typical servo 400 W", gearbox = "typical strain wave 107 N m 1:80"}      # and a brake
joint2 = [{motor = "...", gearbox = "..."}, {motor = "...", gearbox = "..."}]               # one of several,
joint3 = {motor = {name = "mine", ...}, gearbox = "...", mount = {link = "forearm", point = [0, 0, 0.1]}}

[vary]
"actuators.joint2" = [1, 2]               # by its place in the list

A joint that is not named keeps what the robot says of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from armwright.actuators.actuator import KINDS
from armwright.actuators.assignment import mounts
from armwright.actuators.catalogue import made, told
from armwright.algebra import Array
from armwright.errors import ArmwrightError, nearest
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.sizing import Actuator, Catalogue, catalogue, fitted
from armwright.sweep.study import Study

PREFIX = "actuators."
PARTS = ("motor", "gearbox", "brake")
OTHER = ("catalogue", "in_links")


@dataclass(frozen=True)
class Choice:
    """An actuator and where it stands, if that is not on the link before its joint."""

    actuator: Actuator
    place: tuple[str, tuple[float, ...]] | None = None

    @property
    def said(self) -> dict[str, Any]:
        """All its numbers, as a study may have them: other files are then not needed."""
        parts = {key: getattr(self.actuator, key) for key in PARTS}
        said: dict[str, Any] = {key: _plain(part) for key, part in parts.items() if part is not None}
        if self.place is None:
            return said
        return {**said, "mount": {"link": self.place[0], "point": list(self.place[1])}}


@dataclass(frozen=True, eq=False)
class Drives:
    """A robot without its actuators, and those that each joint may have; the first are those it has by default."""

    bare: Robot
    choices: Mapping[str, tuple[Choice, ...]]
    in_links: bool = False
    """Whether the links of the robot have the masses of its actuators already."""

    @cached_property
    def robot(self) -> Robot:
        return self.fitted({})

    def fitted(self, places: Mapping[str, int]) -> Robot:
        """The robot with the choices at these places, counted from 0."""
        if not self.choices:
            return self.bare
        chosen = {joint: choices[places.get(joint, 0)] for joint, choices in self.choices.items()}
        at = {joint: choice.place for joint, choice in chosen.items() if choice.place is not None}
        actuators = {joint: choice.actuator for joint, choice in chosen.items()}
        return fitted(self.bare, actuators, at, masses=not self.in_links)

    @property
    def several(self) -> tuple[str, ...]:
        """The names of what can vary."""
        return tuple(f"{PREFIX}{joint}" for joint, choices in self.choices.items() if len(choices) > 1)

    def winding(self, joint: str) -> float | None:
        """Watts of heat per square newton metre at a joint, while its motor drives it; None where that is not known."""
        (choice, *others) = self.choices.get(joint, (None,))
        if choice is None or others or choice.actuator.motor.loss_factor is None:
            return None
        gear = choice.actuator.gearbox
        return choice.actuator.motor.loss_factor / (gear.ratio * gear.efficiency) ** 2

    @property
    def said(self) -> dict[str, Any]:
        said: dict[str, Any] = {joint: [choice.said for choice in each] for joint, each in self.choices.items()}
        return {**said, "in_links": True} if self.in_links else said

    def touched(self, name: str) -> Iterator[str]:
        """The parameters of the robot that one of `several` changes."""
        joint = name.removeprefix(PREFIX)
        for link in self._carriers[joint]:
            yield from (f"{self.bare.links[link].name}.{key}" for key in ("mass", "com", "inertia"))
        yield from (f"{joint}.{key}" for key in ("armature", "viscous", "coulomb"))

    def varied(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """What `simulate_batch` has as vary= for the choices of each rollout, counted from 1."""
        asked = {name.removeprefix(PREFIX): x.astype(int) - 1 for name, x in values.items() if name in self.several}
        found: dict[str, Array] = {}
        for link in sorted({link for joint in asked for link in self._carriers[joint]}):
            joints = [joint for joint in asked if link in self._carriers[joint]]
            sets, which = np.unique(np.column_stack([asked[joint] for joint in joints]), axis=0, return_inverse=True)
            robots = [self.fitted(dict(zip(joints, places, strict=True))) for places in sets.tolist()]
            for key, numbers in _body(robots, link).items():
                found[f"{self.bare.links[link].name}.{key}"] = numbers[which.ravel()]
        for joint, places in asked.items():
            robots = [self.fitted({joint: k}) for k in range(len(self.choices[joint]))]
            driven = [next(row for row in robot.joints if row.name == joint) for robot in robots]
            for key in ("armature", "viscous", "coulomb"):
                found[f"{joint}.{key}"] = np.array([float(getattr(row, key)) for row in driven])[places]
        return found

    @cached_property
    def _carriers(self) -> dict[str, tuple[int, ...]]:
        """The links on which the choices of each joint stand; none is the base, which does not move."""
        names, found = [joint.name for joint in self.bare.joints], {}
        for joint, choices in self.choices.items():
            at = {mounts(self.bare, {joint: c.place} if c.place else None)[names.index(joint)].link for c in choices}
            found[joint] = () if self.in_links else tuple(sorted(at - {-1}))
        return found


def _body(robots: Sequence[Robot], link: int) -> dict[str, Array]:
    """Mass, centre of mass and inertia of a link of each of some robots."""
    mechanisms = [robot.without_payload().mechanism() for robot in robots]
    bodies = [mechanism.bodies[mechanism.solid[link]] for mechanism in mechanisms]
    return {
        "mass": np.array([float(body.mass) for body in bodies]),
        "com": np.array([[*body.com] for body in bodies], float),
        "inertia": np.array([[*body.inertia] for body in bodies], float),
    }


def drives_of(study: Study, robot: Robot) -> Drives:
    """The actuators that a study names, for its robot."""
    if study.actuators is None:
        return Drives(robot, {})
    part = study.reader("actuators")
    names = [joint.name for joint in robot.joints]
    for key in part.data:
        if key not in (*names, *OTHER):
            near = nearest(key, names)
            guess = f"did you mean {near!r}? " if near else ""
            part.fail(key, f"{robot.name} has no joint {key!r}; {guess}Known: {', '.join((*OTHER, *names))}")
    choices = {}
    try:
        listed = catalogue.read(_beside(study.folder, part.text("catalogue", "typical")))
        for joint, value in part.data.items():
            if joint not in OTHER:
                choices[joint] = _choices(part, joint, value, listed)
        drives = Drives(robot, choices, part.flag("in_links"))
        _ = drives.robot, drives.several and drives._carriers
    except ArmwrightError as error:
        if str(error).startswith(study.file):
            raise
        part.fail(None, str(error))
    return drives


def _beside(folder: Path, name: str) -> str | Path:
    return folder / name if Path(name).suffix else name


def _choices(part: Reader, joint: str, value: Any, listed: Catalogue) -> tuple[Choice, ...]:
    several = value if isinstance(value, (list, tuple)) else [value]
    if not several or not all(isinstance(entry, Mapping) for entry in several):
        part.fail(joint, f'{joint} = {value!r}: expected {{motor = "...", gearbox = "..."}}, or a list of such')
    found = []
    for entry in several:
        own = Reader(entry, lambda _key: part.where(joint))
        own.check_keys((*PARTS, "mount"))
        parts = {key: _part(own, key, listed) for key in PARTS if key == "brake" or own.need(key)}
        found.append(Choice(Actuator(**parts), _place(own) if "mount" in entry else None))
    return tuple(found)


def _place(own: Reader) -> tuple[str, tuple[float, ...]]:
    mount = own.data["mount"]
    if not isinstance(mount, Mapping) or set(mount) != {"link", "point"}:
        own.fail("mount", f'mount = {mount!r}: expected {{link = "...", point = [x, y, z]}}')
    inner = Reader(mount, own.where)
    return inner.text("link", ""), tuple(inner.triple("point"))


def _part(own: Reader, key: str, listed: Catalogue) -> Any:
    """A part by its name in the catalogue, or by its own numbers."""
    value = own.data.get(key)
    if value is None:
        return None
    if isinstance(value, Mapping):
        return made(KINDS[key], Reader(value, lambda name: f"{own.where(None)}, {key}{f' {name}' if name else ''}"))
    known = {part.name: part for part in listed.parts[key]}
    if value not in known:
        near = nearest(value, known) if isinstance(value, str) else None
        guess = f"did you mean {near!r}?" if near else "expected one of its names, or a table of numbers"
        own.fail(None, f"the catalogue {listed.name} has no {key} {value!r}; {guess}")
    return known[value]


def _plain(part: Any) -> dict[str, Any]:
    return {key: list(x) if isinstance(x, tuple) else x for key, x in told(part).items()}
