"""Turn the numbers of some rows of a study into arguments of `simulate_batch`: the law, vary=, q0 and qd0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.model.records import Payload
from armwright.model.robot_parameters import robot_parameters
from armwright.model.transforms import tensor_entries
from armwright.robot import Robot
from armwright.scenario import Scenario, scenario_from_tables
from armwright.simulation.plan import reference_states
from armwright.sweep import motion_parameters
from armwright.sweep.actuator_choices import ActuatorChoices
from armwright.sweep.study import STUDY_SCENARIO_KEYS, Study
from armwright.sweep.tool_and_gravity import tool_and_gravity_parameters
from armwright.torque import LAWS

COMPONENTS = {3: ("x", "y", "z"), 6: ("xx", "yy", "zz", "xy", "xz", "yz")}
"""The names of the components of a parameter, by their number."""


def scenario_of(study: Study, robot: str | Robot | Mapping[str, Any], torque: Mapping[str, Any] | None) -> Scenario:
    """Return the scenario of a study with this robot and [torque]; a loaded robot has its payload and gravity."""
    data = {key: value for key in STUDY_SCENARIO_KEYS if (value := getattr(study, key)) is not None}
    data.setdefault("duration", 1.0)  # a scenario needs one; `prepare` finds the true one
    if torque is not None:
        data["torque"] = torque
    loaded = robot if isinstance(robot, Robot) else None
    if loaded is None:
        data["robot"] = robot
    elif loaded is not study.robot:
        data = {key: value for key, value in data.items() if key not in ("payload", "gravity")}
    try:
        return scenario_from_tables(data, loaded, study.file, study.folder, study.text)
    except InputError as error:
        raise InputError(f"{study.file}: {error}") from None


def law_of_rows(study: Study, scenario: Scenario, values: Mapping[str, Array]) -> Any:
    """Return the law with numbers (rollouts, joints) where they vary; a law per rollout where the motion varies."""
    if any(name.startswith(motion_parameters.MOTION_PREFIX) for name in values):
        return tuple(_law_of_row(study, scenario, values, i) for i in range(len(next(iter(values.values())))))
    if not any(name.startswith("torque.") for name in values):
        return scenario.law
    return scenario_of(study, scenario.robot, _torque_table(study, scenario.robot, values)).law


def _law_of_row(study: Study, scenario: Scenario, values: Mapping[str, Array], i: int) -> Any:
    """Return the law of rollout i, with its own numbers and its own motion."""
    law = {name: x[i : i + 1] for name, x in values.items() if name.startswith("torque.")}
    motion = motion_parameters.motion_table(study, {name: float(x[i]) for name, x in values.items()}, scenario.robot)
    torque = None
    if study.torque is not None:
        torque = motion_parameters.first_row(_torque_table(study, scenario.robot, law))
    return scenario_of(replace(study, trajectory=motion), scenario.robot, torque).law


def _torque_table(study: Study, robot: Robot, values: Mapping[str, Array]) -> dict[str, Any]:
    """Return the [torque] table with numbers (rollouts, joints) in place of those that vary."""
    torque = {key: dict(x) if isinstance(x, Mapping) else x for key, x in (study.torque or {}).items()}
    for name in (name for name in values if name.startswith("torque.")):
        table, key, joint = _torque_entry(torque, name)
        size = robot.nq if key == "target" else robot.n
        if joint is None and table is torque and _is_scalar(torque["law"], key):
            table[key] = values[name]
        elif joint is None:
            table[key] = np.repeat(values[name][:, None], size, axis=1)
        else:
            nominal = np.asarray(table.get(key, 0.0), float)
            rows = np.array(np.broadcast_to(nominal, (len(values[name]), size)))
            rows[:, joint] = values[name]
            table[key] = rows
    return torque


def _is_scalar(law: str, key: str) -> bool:
    """Return True for a parameter of a law that is one number for all joints."""
    return key in LAWS[law].parameters and LAWS[law].parameters[key].shape == "number"


def _torque_entry(torque: dict[str, Any], name: str) -> tuple[dict[str, Any], str, int | None]:
    """Return table, key and joint of a name such as torque.kp.2 or torque.friction.viscous."""
    _, *rest = name.split(".")
    joint = int(rest.pop()) - 1 if rest[-1].isdigit() else None
    table = torque
    for key in rest[:-1]:
        table = table[key]
    return table, rest[-1], joint


def varied_parameters(robot: Robot, actuators: ActuatorChoices | None, values: Mapping[str, Array]) -> dict[str, Array]:
    """Return vary= of `simulate_batch`: complete parameters, also where single components vary."""
    sizes, found = robot_parameters(robot), actuators.varied_parameters(values) if actuators else {}
    for name, value in values.items():
        if name in sizes:
            found[name] = value
        elif (component := component_of(name, sizes)) is not None:
            parameter, k = component
            if parameter not in found:
                found[parameter] = np.tile(nominal_value(robot, parameter), (len(value), 1))
            found[parameter][:, k] = value
    return found | tool_and_gravity_parameters(robot, values, found)


def component_of(name: str, sizes: Mapping[str, int]) -> tuple[str, int] | None:
    """Return the parameter and the index of a component such as payload.com.x; None for any other name."""
    parameter, _, axis = name.rpartition(".")
    axes = COMPONENTS.get(sizes.get(parameter, 0), ())
    return (parameter, axes.index(axis)) if axis in axes else None


def nominal_value(robot: Robot, name: str) -> Array:
    """Return a parameter of several components as the robot is described."""
    if name == "gravity":
        return np.array(robot.gravity, float)
    owner, _, key = name.rpartition(".")
    if owner == "payload":
        payload = robot.payload or Payload(0.0)
        return np.array(payload.com if key == "com" else tensor_entries(payload.inertia), float)
    mechanism = replace(robot, payload=None).mechanism()
    link = [link.name for link in robot.links].index(owner)
    body = mechanism.bodies[mechanism.solid[link]]
    return np.array([*(body.com if key == "com" else body.inertia)], float)


def initial_states(study: Study, robot: Robot, values: Mapping[str, Array], law: Any, start: Array) -> dict[str, Array]:
    """Return q0 and qd0 of every rollout, each only where entries of it vary; `start` has the times (rollouts,)."""
    found = {}
    for k, key in enumerate(("q0", "qd0")):
        varied = {name: x for name, x in values.items() if name.startswith(f"{key}.")}
        if not varied:
            continue
        default: Any = (robot.neutral, np.zeros(robot.n))[k]
        references = [each.reference for each in (law if isinstance(law, tuple) else (law,))]
        if references[0] is not None:
            default = reference_states(references, start)[k]
        nominal = default if getattr(study, key) is None else getattr(study, key)
        rows = np.array(np.broadcast_to(np.asarray(nominal, float), (len(start), np.shape(default)[-1])))
        for name, x in varied.items():
            rows[:, int(name.rpartition(".")[2]) - 1] = x
        found[key] = rows
    return found
