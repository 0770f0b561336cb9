"""The actuators of a study: one or several to choose from for each joint, and the robot with a choice of them.

[actuators]
catalogue = "typical"                     # or a catalogue file; by default the packaged one
in_links = true                           # the links of the robot include their masses; by default they are added
joint1 = {motor = "typical servo 400 W", gearbox = "typical strain wave 107 N m 1:80"}      # and a brake
joint2 = [{motor = "...", gearbox = "..."}, {motor = "...", gearbox = "..."}]               # two choices
joint3 = {motor = {name = "mine", ...}, gearbox = "...", mount = {link = "forearm", point = [0, 0, 0.1]}}

[vary]
"actuators.joint2" = [1, 2]               # numbers of the choices

Other joints keep the values of the robot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armwright.actuators.actuator import PART_TYPES
from armwright.actuators.assignment import mounts
from armwright.actuators.catalogue import part_of_row, table_of
from armwright.algebra import Array
from armwright.errors import ArmwrightError, name_hint
from armwright.lazy import cached_property
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.sizing import Actuator, Catalogue, catalogue, fitted
from armwright.sizing.sizing_file import catalogue_path
from armwright.sweep.study import Study

ACTUATOR_PREFIX = "actuators."
DRIVE_PARTS = ("motor", "gearbox", "brake")
GENERAL_KEYS = ("catalogue", "in_links")
"""Keys of [actuators] that are not joints."""


@dataclass(frozen=True)
class ActuatorChoice:
    """An actuator and its mount (link, point); None for a mount on the link before its joint."""

    actuator: Actuator
    mount: tuple[str, tuple[float, ...]] | None = None

    @property
    def plain_data(self) -> dict[str, Any]:
        """The table of a study with all numbers, which needs no catalogue."""
        parts = {key: getattr(self.actuator, key) for key in DRIVE_PARTS}
        data: dict[str, Any] = {key: _plain(part) for key, part in parts.items() if part is not None}
        if self.mount is None:
            return data
        return {**data, "mount": {"link": self.mount[0], "point": list(self.mount[1])}}


@dataclass(frozen=True, eq=False)
class ActuatorChoices:
    """A robot without actuators, and the choices for each joint; the first is the default."""

    bare: Robot
    choices: Mapping[str, tuple[ActuatorChoice, ...]]
    in_links: bool = False
    """True if the links of the robot include the masses of its actuators."""

    @cached_property
    def robot(self) -> Robot:
        """The robot with the first choice for each joint."""
        return self.with_choices({})

    def with_choices(self, indices: Mapping[str, int]) -> Robot:
        """Return the robot with the choice of each joint by index, from 0."""
        if not self.choices:
            return self.bare
        chosen = {joint: choices[indices.get(joint, 0)] for joint, choices in self.choices.items()}
        mounting = {joint: choice.mount for joint, choice in chosen.items() if choice.mount is not None}
        actuators = {joint: choice.actuator for joint, choice in chosen.items()}
        return fitted(self.bare, actuators, mounting, masses=not self.in_links)

    @property
    def varied_names(self) -> tuple[str, ...]:
        """The names under [vary] of joints with several choices."""
        return tuple(f"{ACTUATOR_PREFIX}{joint}" for joint, choices in self.choices.items() if len(choices) > 1)

    def winding_loss(self, joint: str) -> float | None:
        """Return the heat in the windings per squared joint torque, W / (N m)^2; None if unknown or varied."""
        (choice, *others) = self.choices.get(joint, (None,))
        if choice is None or others or choice.actuator.motor.loss_factor is None:
            return None
        gear = choice.actuator.gearbox
        return choice.actuator.motor.loss_factor / (gear.ratio * gear.efficiency) ** 2

    @property
    def plain_data(self) -> dict[str, Any]:
        """All choices with their numbers, as [actuators] of a study."""
        data: dict[str, Any] = {joint: [choice.plain_data for choice in each] for joint, each in self.choices.items()}
        return {**data, "in_links": True} if self.in_links else data

    def changed_parameters(self, name: str) -> Iterator[str]:
        """Yield the parameters of the robot that one of `varied_names` changes."""
        joint = name.removeprefix(ACTUATOR_PREFIX)
        for link in self._carrying_links[joint]:
            yield from (f"{self.bare.links[link].name}.{key}" for key in ("mass", "com", "inertia"))
        yield from (f"{joint}.{key}" for key in ("armature", "viscous", "coulomb"))

    def varied_parameters(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Return `vary` of `simulate_batch` for the choices of each rollout, counted from 1."""
        prefixed = {name: x.astype(int) - 1 for name, x in values.items() if name in self.varied_names}
        chosen = {name.removeprefix(ACTUATOR_PREFIX): indices for name, indices in prefixed.items()}
        parameters: dict[str, Array] = {}
        for link in sorted({link for joint in chosen for link in self._carrying_links[joint]}):
            joints = [joint for joint in chosen if link in self._carrying_links[joint]]
            indices_of_rows = np.column_stack([chosen[joint] for joint in joints])
            combinations, combination_of_row = np.unique(indices_of_rows, axis=0, return_inverse=True)
            robots = [self.with_choices(dict(zip(joints, indices, strict=True))) for indices in combinations.tolist()]
            for key, numbers in _bodies(robots, link).items():
                parameters[f"{self.bare.links[link].name}.{key}"] = numbers[combination_of_row.ravel()]
        for joint, indices in chosen.items():
            robots = [self.with_choices({joint: k}) for k in range(len(self.choices[joint]))]
            rows = [next(row for row in robot.joints if row.name == joint) for robot in robots]
            for key in ("armature", "viscous", "coulomb"):
                parameters[f"{joint}.{key}"] = np.array([float(getattr(row, key)) for row in rows])[indices]
        return parameters

    @cached_property
    def _carrying_links(self) -> dict[str, tuple[int, ...]]:
        """The links, except the base, that carry a choice of each joint."""
        names, carrying = [joint.name for joint in self.bare.joints], {}
        for joint, choices in self.choices.items():
            links = {mounts(self.bare, {joint: c.mount} if c.mount else None)[names.index(joint)].link for c in choices}
            carrying[joint] = () if self.in_links else tuple(sorted(links - {-1}))
        return carrying


def _bodies(robots: Sequence[Robot], link: int) -> dict[str, Array]:
    """Return mass, centre of mass and inertia of a link in each robot."""
    mechanisms = [robot.without_payload().mechanism() for robot in robots]
    bodies = [mechanism.bodies[mechanism.solid[link]] for mechanism in mechanisms]
    return {
        "mass": np.array([float(body.mass) for body in bodies]),
        "com": np.array([[*body.com] for body in bodies], float),
        "inertia": np.array([[*body.inertia] for body in bodies], float),
    }


def actuator_choices_of(study: Study, robot: Robot) -> ActuatorChoices:
    """Read [actuators] of a study for its robot."""
    if study.actuators is None:
        return ActuatorChoices(robot, {})
    part = study.reader("actuators")
    names = [joint.name for joint in robot.joints]
    for key in part.data:
        if key not in (*names, *GENERAL_KEYS):
            known = f"Known: {', '.join((*GENERAL_KEYS, *names))}"
            part.fail(key, f"{robot.name} has no joint {key!r}; {name_hint(key, names)}{known}")
    choices = {}
    try:
        catalogued = catalogue.read(catalogue_path(study.folder, part.text("catalogue", "typical")))
        for joint, value in part.data.items():
            if joint not in GENERAL_KEYS:
                choices[joint] = _choices(part, joint, value, catalogued)
        result = ActuatorChoices(robot, choices, part.flag("in_links"))
        _ = result.robot, result.varied_names and result._carrying_links
    except ArmwrightError as error:
        if str(error).startswith(study.file):
            raise
        part.fail(None, str(error))
    return result


def _choices(part: Reader, joint: str, value: Any, catalogued: Catalogue) -> tuple[ActuatorChoice, ...]:
    entries = value if isinstance(value, (list, tuple)) else [value]
    if not entries or not all(isinstance(entry, Mapping) for entry in entries):
        part.fail(joint, f'{joint} = {value!r}: expected {{motor = "...", gearbox = "..."}}, or a list of such')
    actuators = []
    for entry in entries:
        reader = Reader(entry, lambda _key: part.where(joint))
        reader.check_keys((*DRIVE_PARTS, "mount"))
        parts = {key: _part(reader, key, catalogued) for key in DRIVE_PARTS if key == "brake" or reader.need(key)}
        actuators.append(ActuatorChoice(Actuator(**parts), _mount(reader) if "mount" in entry else None))
    return tuple(actuators)


def _mount(reader: Reader) -> tuple[str, tuple[float, ...]]:
    mount = reader.data["mount"]
    if not isinstance(mount, Mapping) or set(mount) != {"link", "point"}:
        reader.fail("mount", f'mount = {mount!r}: expected {{link = "...", point = [x, y, z]}}')
    inner = Reader(mount, reader.where)
    return inner.text("link", ""), tuple(inner.triple("point"))


def _part(reader: Reader, key: str, catalogued: Catalogue) -> Any:
    """Return a part: by name from the catalogue, or from a table."""
    value = reader.data.get(key)
    if value is None:
        return None
    if isinstance(value, Mapping):
        where = f"{reader.where(None)}, {key}"
        return part_of_row(PART_TYPES[key], Reader(value, lambda name: f"{where} {name or ''}".rstrip()))
    known = {part.name: part for part in catalogued.parts[key]}
    if value not in known:
        hint = name_hint(value, known).strip() or "expected one of its names, or a table of numbers"
        reader.fail(None, f"the catalogue {catalogued.name} has no {key} {value!r}; {hint}")
    return known[value]


def _plain(part: Any) -> dict[str, Any]:
    return {key: list(x) if isinstance(x, tuple) else x for key, x in table_of(part).items()}
