"""Prepare a study to run: load its robot and motion, check every table, and try the first rollouts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from armwright.backends.interface import BACKENDS
from armwright.errors import ArmwrightError, InputError, SimulationWarning, name_hint, unknown
from armwright.model.table_reader import Reader
from armwright.robot import Robot
from armwright.scenario import Scenario
from armwright.simulation.measures import DEFAULT_WITHIN
from armwright.sweep import motion_parameters
from armwright.sweep.actuator_choices import ActuatorChoices, actuator_choices_of
from armwright.sweep.design import design_of, entries_of
from armwright.sweep.rollout_inputs import scenario_of
from armwright.sweep.setup import StudySetup
from armwright.sweep.study import Study
from armwright.sweep.study_functions import History, functions_of
from armwright.sweep.study_measures import DEFAULT_MEASURES, HEAT_WINDOW, HISTORY_NAMES, STUDY_MEASURES
from armwright.sweep.vary_checks import check_drawn_numbers, check_varied_names

TRIAL_ROLLOUTS = 8
"""Rollouts that are tried before all others."""

MAX_CACHED_SETUPS = 4
"""Studies that a process keeps prepared."""

_setups: dict[str, StudySetup] = {}


def setup_of(study: Study, refresh: bool = False) -> StudySetup:
    """Prepare a study once per process; `refresh` prepares it again, as the files it names may have changed."""
    key = study.digest
    if refresh or key not in _setups:
        while len(_setups) >= MAX_CACHED_SETUPS:
            _setups.pop(next(iter(_setups)))
        _setups[key] = prepare(study)
    return _setups[key]


def prepare(study: Study) -> StudySetup:
    """Check names, numbers and measures of a study, try its first rollouts, and return its setup."""
    for key in ("duration", "every", "start"):
        if getattr(study, key) is not None:
            study.reader().number(key)
    scenario = scenario_of(study, study.robot, study.torque)
    actuators = actuator_choices_of(study, scenario.robot)
    if actuators.choices:
        scenario = scenario_of(study, actuators.robot, study.torque)
    names = tuple(entries_of(study.reader("vary")))
    check_varied_names(study, scenario.robot, names, actuators)
    motion_parameters.check_names(study, study.reader("vary"), names)
    setup = _requested_setup(study, scenario, actuators)
    check_drawn_numbers(setup)
    return _tested_setup(setup)


def _requested_setup(study: Study, scenario: Scenario, actuators: ActuatorChoices) -> StudySetup:
    """Return the setup that [want], [design] and the top level describe."""
    design = design_of(study)
    part, top = study.reader("want"), study.reader()
    part.check_keys(("measures", "functions", "within", "windings", "window", "histories", "histories_every"))
    measures = part.texts("measures") if "measures" in part.data else DEFAULT_MEASURES
    histories = part.texts("histories")
    _check_known(part, "measures", "measure", measures, STUDY_MEASURES)
    _check_known(part, "histories", "history", histories, HISTORY_NAMES)
    law = scenario.law
    for name in measures:
        if STUDY_MEASURES[name].needs_target and law.reference is None and "target" not in law.positions:
            part.fail("measures", f"{name} needs a law that follows something: add [trajectory], or target in [torque]")
    functions = functions_of(part, study)
    if study.target is not None and study.target not in BACKENDS:
        top.fail("target", str(unknown("target", study.target, BACKENDS)))
    every = part.data.get("histories_every", 1)
    chunk = 1 if study.chunk is None else study.chunk
    for reader, key, value in ((part, "histories_every", every), (top, "chunk", chunk)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            reader.fail(key, f"{key} = {value!r}: expected a whole number, at least 1")
    for name in ("within", "window"):
        if part.number(name, 1.0) <= 0:
            part.fail(name, f"{name} = {part.data[name]!r}: expected a number above zero")
    setup = StudySetup(
        study=study,
        scenario=scenario,
        design=design,
        measures=measures,
        functions=functions,
        histories=histories,
        histories_every=every,
        windings=_windings(part, scenario.robot, measures, actuators),
        window=part.number("window", HEAT_WINDOW),
        options={},
        actuators=actuators,
    )
    return replace(setup, options=_simulation_options(setup, top, part.number("within", DEFAULT_WITHIN)))


def _check_known(part: Reader, key: str, kind: str, names: tuple[str, ...], known: Any) -> None:
    for name in names:
        if name not in known:
            part.fail(key, f"unknown {kind} {name!r}; {name_hint(name, known)}Known: {', '.join(known)}")


def _windings(part: Reader, robot: Robot, measures: tuple[str, ...], actuators: ActuatorChoices) -> tuple[float, ...]:
    """Return the watts of heat per squared newton metre of every joint, from the study or else from its actuators."""
    if "heat" not in measures:
        return ()
    if "windings" not in part.data:
        known = [actuators.winding_loss(joint.name) for joint in robot.joints]
        if not all(x is not None for x in known):
            part.fail("measures", "heat needs windings in [want], W per (N m)^2, or [actuators] that have them")
        return tuple(float(x) for x in known if x is not None)
    value = part.data["windings"]
    entries = value if isinstance(value, list) else [value] * robot.n
    numbers = (isinstance(x, (int, float)) and not isinstance(x, bool) and 0 <= x < np.inf for x in entries)
    if len(entries) != robot.n or not all(numbers):
        part.fail("windings", f"windings = {value!r}: expected a number, zero or more, or {robot.n} of them")
    return tuple(map(float, entries))


def _simulation_options(setup: StudySetup, top: Reader, within: float) -> Mapping[str, Any]:
    """Return options of `simulate_batch`; `every` is left out where neither records nor measures need it."""
    options = dict(setup.scenario.options)
    if setup.study.duration is None:
        trajectory = setup.scenario.trajectory
        if setup.scenario.law.span is None or not np.isfinite(trajectory.end if trajectory else np.inf):
            top.fail("duration", "duration is missing, and no motion ends; expected duration = seconds")
        assert trajectory is not None
        options["duration"] = trajectory.end - setup.study.start
        if options["duration"] <= 0:
            top.fail(
                "start",
                f"start = {setup.study.start:g} is not before the end of the motion, at {trajectory.end:g} s; give an "
                "earlier one, or duration",
            )
    options.setdefault("every", options["duration"] / 100)
    if setup.compiled_measures:
        options["within"] = within
    if setup.needs_records or setup.compiled_measures:
        return options
    return {key: x for key, x in options.items() if key != "every"}


def _tested_setup(setup: StudySetup) -> StudySetup:
    """Simulate the first rollouts, and return the setup with the columns that its functions give.

    With functions, one of these rollouts must reach its end; without, a warning is raised if none does.
    """
    values = setup.design.draw(0, min(TRIAL_ROLLOUTS, setup.design.rows))
    durations = values.get("duration", np.zeros(1))
    values = {name: x[: len(x) if (durations == durations[0]).all() else 1] for name, x in values.items()}
    count = len(next(iter(values.values())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        try:
            rollouts = setup.simulate(values, np.arange(count))
        except ArmwrightError as error:
            raise InputError(f"{setup.study.file}: {error}") from None
    part, finished = setup.study.reader("want"), np.flatnonzero(rollouts.run.finished)
    if not finished.size and not setup.functions:
        warnings.warn(
            f"{setup.study.file}: none of the first {count} rollouts reaches its end, the first stops at t = "
            f"{float(rollouts.run.reached[0]):.6g} s; a shorter step or a method with rtol in [integrator] may help, "
            "or smaller gains for light joints",
            SimulationWarning,
            stacklevel=2,
        )
    if not setup.functions:
        return setup
    if not finished.size:
        part.fail("functions", f"none of the first {count} rollouts reaches its end, so the functions cannot be tested")
    row = int(finished[0])
    history = History.of(rollouts, row, row, {name: float(x[row]) for name, x in values.items()})
    columns: list[tuple[str, ...]] = []
    for function in setup.functions:
        try:
            columns.append(tuple(function(history)))
        except Exception as error:  # a user's function may raise anything
            part.fail("functions", f"{function.name} fails for row {row}: {type(error).__name__}: {error}")
        if not columns[-1]:
            part.fail("functions", f"{function.name} gives no number for row {row}; expected one, or several by name")
    return replace(setup, function_columns=tuple(columns))
