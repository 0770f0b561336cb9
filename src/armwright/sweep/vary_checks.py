"""Check what varies in a study: names that the robot, its law and its motion have, and numbers that make sense."""

from __future__ import annotations

import numpy as np

from armwright.errors import ArmwrightError, name_hint
from armwright.model.robot_parameters import parameter_sizes, robot_parameters
from armwright.robot import Robot
from armwright.sweep import motion_parameters
from armwright.sweep.actuator_choices import ACTUATOR_PREFIX, ActuatorChoices
from armwright.sweep.rollout_inputs import COMPONENTS, component_of
from armwright.sweep.setup import StudySetup
from armwright.sweep.study import Study
from armwright.sweep.tool_and_gravity import TOOL_AND_GRAVITY_NAMES
from armwright.torque import LAWS

NON_NEGATIVE_ENDINGS = (".mass", ".viscous", ".coulomb", ".armature", ".inertia.xx", ".inertia.yy", ".inertia.zz")
"""Ends of the names of parameters that must not be negative."""


def check_varied_names(study: Study, robot: Robot, names: tuple[str, ...], actuators: ActuatorChoices) -> None:
    """Raise a ModelError for a name in [vary] that is unknown, contradicts another, or would change nothing."""
    part, known = study.reader("vary"), _known_names(study, robot, actuators)
    for name in names:
        if name not in known:
            hint = f"{name_hint(name, known)}{_name_kinds(robot)}"
            part.fail(name, f"{robot.name} and its law have no {name!r} that can vary; {hint}")
        if name.startswith("tool.") and robot.payload is None and "payload.mass" not in names:
            part.fail(name, f"{robot.name} has no payload to move; add [payload], or let payload.mass vary")
        all_joints = name.rpartition(".")[0]
        if name.startswith("torque.") and all_joints in names:
            part.fail(name, f"{all_joints} varies too, for all joints; expected one of them")
        for changed in actuators.changed_parameters(name) if name in actuators.varied_names else ():
            if any(other == changed or other.startswith(f"{changed}.") for other in names):
                part.fail(name, f"it changes {changed}, which varies too; expected one of them")
        if reason := _ineffective(name, robot, names):
            part.fail(name, reason)
        sizes = robot_parameters(robot)
        component = component_of(name, sizes)
        try:
            parameter_sizes(robot, (component[0] if component else name,) if component or name in sizes else ())
        except ArmwrightError as error:
            part.fail(name, str(error))


def _known_names(study: Study, robot: Robot, actuators: ActuatorChoices) -> list[str]:
    """Return all names that can vary."""
    sizes = robot_parameters(robot)
    names = [name for name, size in sizes.items() if size == 1]
    names += [f"{name}.{axis}" for name, size in sizes.items() if size > 1 for axis in COMPONENTS[size]]
    names += [*actuators.varied_names, *motion_parameters.names_of(study, robot)]
    names += [*TOOL_AND_GRAVITY_NAMES, "start", "duration"]
    names += [*(f"q0.{k + 1}" for k in range(robot.nq)), *(f"qd0.{k + 1}" for k in range(robot.n))]
    torque = study.torque or {}
    law = torque.get("law")
    if isinstance(law, str) and law in LAWS:
        keys = [key for key, words in LAWS[law].parameters.items() if words.shape in ("number", "per joint")]
        keys += ["target"] if LAWS[law].follows and "target" in torque else []
        keys += ["limit"] if "limit" in torque else []
        keys += [f"friction.{key}" for key in torque.get("friction", ())]
        names += [f"torque.{key}{end}" for key in keys for end in ("", *(f".{k + 1}" for k in range(robot.n)))]
    return names


def _ineffective(name: str, robot: Robot, names: tuple[str, ...]) -> str:
    """Return why a number cannot vary alone or changes nothing; an empty text if it can."""
    has_payload = robot.payload is not None and robot.payload.mass > 0
    if name.startswith("payload.com.") and not has_payload and "payload.mass" not in names:
        return f"{robot.name} has no payload, so this changes nothing; add [payload], or let payload.mass vary too"
    entry = int(name[3:]) - 1 if name.startswith("q0.") else -1
    for ball in robot.balls:
        if entry in range(ball.unit_vector.start, ball.unit_vector.stop):
            return (
                "this is an entry of a quaternion, whose length is one, so it cannot vary alone; let qd0 vary, or "
                "give positions to simulate_batch(robot, q0=...)"
            )
    return ""


def _name_kinds(robot: Robot) -> str:
    return (
        "Known: payload.mass, payload.com.x, <link>.mass, <joint>.viscous .coulomb .armature .a .d .y .z, gravity.z "
        f".roll .pitch, tool.x .roll, q0.1 to q0.{robot.nq}, qd0.1, start, duration, torque.<number of the law>, "
        "trajectory.<number of the motion>, actuators.<joint that has several>"
    )


def check_drawn_numbers(setup: StudySetup) -> None:
    """Raise a ModelError for the first row with a number out of its range, such as a negative mass; draws all rows."""
    part = setup.study.reader("vary")
    for first, drawn in setup.blocks():
        motion_parameters.check_numbers(setup.study, part, first, drawn, setup.robot)
        for name, x in drawn.items():
            wrong = ~np.isfinite(x)
            expected = "finite numbers"
            if name.endswith(NON_NEGATIVE_ENDINGS) or name.startswith("torque.friction"):
                wrong, expected = wrong | (x < 0), "zero or more"
            if name == "duration":
                wrong, expected = wrong | (x <= 0), "more than zero"
            if setup.actuators and name in setup.actuators.varied_names:
                count = len(setup.actuators.choices[name.removeprefix(ACTUATOR_PREFIX)])
                wrong, expected = (x < 1) | (x > count) | (x != np.round(x)), f"whole numbers from 1 to {count}"
            if wrong.any():
                i = int(np.argmax(wrong))
                got = f"row {first + i} would have {name} = {x[i]:.6g}; expected {expected}"
                part.fail(name, f"{got}: choose a bounded distribution, such as truncated_normal or lognormal")
