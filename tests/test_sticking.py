"""Joints that stick: who names no integrator gets one that friction at rest does not hold back, everywhere alike."""

import sys
import warnings

import numpy as np
import pytest

import armwright as aw
from armwright.errors import SimulationError, SlowWarning, UnknownNameError
from armwright.scenario import parse
from armwright.simulation import rollouts, simulate
from armwright.simulation.stiff_friction import EXPLICIT, IMPLICIT, method_for, sticking_rate

STUCK = aw.load("rr").with_friction(coulomb=2000.0)
"""Its weight, at most 30 N m, does not move it."""

LOOSE = aw.load("rr").with_friction(coulomb=2.0)
SIMULATE = sys.modules["armwright.simulation.simulate"]
ASKED = {"duration": 0.3, "every": 0.1}


def test_python_scenarios_and_phases_choose_as_the_command_line_does() -> None:
    assert method_for(STUCK, STUCK.neutral, 0.3) == IMPLICIT and method_for(LOOSE, LOOSE.neutral, 0.3) == EXPLICIT
    run = simulate(STUCK, **ASKED)
    told = parse("duration = 0.3\nevery = 0.1\n[integrator]\nrtol = 1e-8\n", STUCK).simulate()
    phases = aw.simulate_phases([aw.Phase(LOOSE, duration=0.1), aw.Phase(STUCK, duration=0.3)], every=0.1)
    for stuck in (run, told, phases):
        assert stuck.settings["integrator"] == IMPLICIT
    assert np.abs(run.q).max() < 1e-4 and run.statistics.accepted < 500
    assert simulate(LOOSE, **ASKED).settings["integrator"] == EXPLICIT


def test_who_names_an_integrator_keeps_it_and_is_told_the_one_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    rate, joint = sticking_rate(STUCK, STUCK.neutral)
    assert joint == 1 and rate > 1e6
    why = r'the dry friction of joint2 at rest limits steps to \S+ s; expected integrator="radau"'
    monkeypatch.setattr(rollouts, "WARNING_STEPS", 1000)
    monkeypatch.setattr(rollouts, "MAX_STEPS_PER_RECORD", 2_000)
    monkeypatch.setattr(SIMULATE, "MAX_STEPS_PER_RECORD", 2_000)
    with (
        pytest.warns(SlowWarning, match=f"more than 1000 steps, and at .* so far: {why}"),
        pytest.raises(SimulationError, match=rf"more than 2000 steps between two records at t = \S+ s: {why}"),
    ):
        simulate(STUCK, duration=0.3, every=0.05, integrator="dop853")
    stiff = aw.torque.pd([0.0, 0.0], kp=1e10, kd=1e9)
    with warnings.catch_warnings(), pytest.raises(SimulationError, match="the law is stiff") as told:
        warnings.simplefilter("ignore", SlowWarning)
        simulate(aw.load("rr"), stiff, q0=[0.1, 0.1], duration=1.0, every=0.5, integrator="dop853")
    assert "friction" not in str(told.value)


def test_friction_that_jumps_at_rest_keeps_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollouts, "MAX_STEPS_PER_RECORD", 2_000)
    monkeypatch.setattr(SIMULATE, "MAX_STEPS_PER_RECORD", 2_000)
    with pytest.raises(SimulationError, match="the dry friction of joint1 jumps at rest; expected a speed") as told:
        simulate(LOOSE, qd0=[0.01, 0.0], duration=0.01, smooth=0.0)
    assert told.value.run.settings["integrator"] == EXPLICIT
    with pytest.raises(UnknownNameError, match="unknown integrator"):
        simulate(LOOSE, **ASKED, integrator="")
