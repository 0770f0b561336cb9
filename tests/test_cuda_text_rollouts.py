"""Motions as they are written for a card, compiled as C++ and run here: they are those of the interpreter."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest
from on_cpu import needs_compiler, nvcc_report
from test_interrupt import test_who_is_told_to_stop_stays_where_it_is as stays

import armwright as aw
from armwright import torque
from armwright.algebra import sin
from armwright.backends.cuda.host import rollout_launcher
from armwright.backends.cuda.kernels import rollout
from armwright.backends.interface import BACKENDS, BackendLoader
from armwright.integrate import method
from armwright.robot import random_tree
from armwright.simulation.kernels import equations_of
from armwright.simulation.measures import MEASURES
from armwright.simulation.motion_programs import derivative
from armwright.simulation.motion_record import MotionRecord, layout_of

pytestmark = needs_compiler
RR = aw.load("rr")
SLOPE = aw.torque.pd([0.5, -0.3], kp=20, kd=2)


@pytest.fixture(autouse=True)
def text_is_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS.built_in, "text", BackendLoader("text", "rollouts_on_cpu:BACKEND"))


def both(*given: Any, within: float = 1e-12, **options: Any) -> aw.simulation.BatchRun:
    """The run by the text, which is that of the interpreter."""
    meant, run = (aw.simulate_batch(*given, target=target, **options) for target in ("python", "text"))
    for name in (
        "q",
        "qd",
        "work",
        "losses",
        "memory",
        "impulse",
        "reached",
        "accepted",
        "rejected",
        "ended",
        "failed",
    ):
        got, expected = getattr(run, name), getattr(meant, name)
        np.testing.assert_allclose(got, expected, rtol=within, atol=within, err_msg=name)
    for name, values in meant.measured.items():
        np.testing.assert_allclose(run.measured[name], values, rtol=1e3 * within, atol=1e3 * within, err_msg=name)
    return run


@pytest.mark.parametrize(
    "method",
    [
        {"integrator": "rk4", "step": 0.007},
        {"integrator": "rk1", "step": 0.005},
        {"integrator": "rk6", "step": 0.01},
        {"integrator": "rkdp54", "step": 0.01},
        {"integrator": "rkdp54", "rtol": 1e-7},
        {"integrator": "dop853", "rtol": 1e-8, "max_step": 0.02},
        {"integrator": "rkf45", "rtol": 1e-5},
    ],
    ids=lambda method: "_".join(map(str, method.values())),
)
def test_the_motion_is_that_of_the_interpreter(method: dict) -> None:
    law = torque.spring_damper(40, 1, 0.2) + torque.friction(0.1, 0.4, smooth=0.05) + torque.pid([0.1, 0.2], 20, 5, 2)
    run = both(RR, law, q0=[[0.1, 0.2], [-1.0, 2.0]], qd0=[3, -2], duration=0.2, every=0.05, within=1e-11, **method)
    assert run.accepted.min() >= 20 or "rtol" in method


def test_single_precision_is_as_good_as_it_can_be() -> None:
    options = {"q0": [[0.1, 0.2], [-1.0, 2.0]], "duration": 0.2, "every": 0.1, "step": 0.01}
    run = both(RR, SLOPE, dtype="float32", within=2e-5, **options)
    assert run.q.dtype == np.float32
    options |= {"step": None, "integrator": "rkdp54", "rtol": 1e-4}  # an error estimate that is rounding, in part
    chosen = aw.simulate_batch(RR, SLOPE, dtype="float32", target="text", **options)
    np.testing.assert_allclose(chosen.q, aw.simulate_batch(RR, SLOPE, **options).q, rtol=0, atol=1e-4)


@pytest.mark.parametrize("method", [{"step": 0.01}, {"integrator": "rkdp54"}], ids=["fixed", "chosen"])
def test_events_and_measures(method: dict) -> None:
    run = both(
        RR, SLOPE, q0=[[0, 0], [0.1, 0.2], [0.05, 0.0]], start=[0.0, 0.3, 0.1], duration=0.4, every=0.05,
        measure=list(MEASURES), events=[aw.events.position("joint1", 0.05)], within=1e-11, **method,
    )  # fmt: skip
    assert (run.ended >= 0).sum() == 1
    for name in MEASURES:
        assert run.measured[name].shape == (3, 2)


@pytest.mark.parametrize("method", [{"integrator": "rk4", "step": 0.01}, {"integrator": "rkdp54", "rtol": 1e-7}])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_events_that_turn_within_a_step(method: dict, dtype: str) -> None:
    """The first of many crossings in a step is found, and one of two where a joint only just passes a place."""
    fast = aw.events.when(lambda t, q, qd, w, c: sin(w * t) - c, [2000.0, [0.3, 0.99, 5.0]], direction=1)
    run = aw.simulate_batch(aw.load("rr"), duration=0.05, target="text", events=[fast], dtype=dtype, **method)
    within = 1e-9 if dtype == "float64" else 1e-3
    np.testing.assert_allclose(run.reached, [*(np.arcsin([0.3, 0.99]) / 2000.0), 0.05], rtol=within)


@pytest.mark.parametrize("method", [{"integrator": "rk4", "step": 0.004}, {"integrator": "rkdp54", "rtol": 1e-10}])
@pytest.mark.parametrize("further", [{}, {"measure": "energy", "events": [aw.events.position("joint1", 0.1)]}])
def test_what_stops_do(method: dict, further: dict) -> None:
    """A bounce makes much of rounding, so that positions afterwards are no test."""
    arm = aw.load("rr").with_limits(position=[(-0.1, 0.3)] * 2)
    options = {"duration": 0.3, "every": 0.05, "stops": True, **method, **further}
    meant, run = (
        aw.simulate_batch(arm, None, [[0.2, 0.0], [0.0, -0.05]], target=target, **options)
        for target in ("python", "text")
    )
    assert run.stops.hit.any()
    for name, values in vars(meant.stops).items():
        np.testing.assert_allclose(getattr(run.stops, name), values, rtol=1e-4, atol=1e-6, err_msg=name)


def test_open_numbers_of_robot_and_law() -> None:
    arm = aw.load("scara") if "scara" in aw.robots() else RR
    targets = np.linspace(0.1, 0.4, 5)[:, None] * np.ones(arm.n)
    law = aw.torque.computed_torque(targets, kp=100, kd=20)
    vary = {"payload.mass": np.linspace(0, 2, 5), "payload.com": [0, 0, 0.1], "gravity": [0, 0, -3.0]}
    run = both(arm, law, duration=0.05, vary=vary, measure="peak_torque")
    assert len(set(run.measured["peak_torque"][:, 0])) == 5
    cpu = aw.simulate_batch(arm, law, duration=0.05, vary=vary, measure="peak_torque")
    np.testing.assert_allclose(run.measured["peak_torque"], cpu.measured["peak_torque"], rtol=1e-10)
    np.testing.assert_allclose(run.q, cpu.q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [{"step": 0.01}, {"integrator": "rkdp54"}, {"integrator": "rkf45"}])
def test_a_free_base_turns_by_unit_quaternions(method: dict) -> None:
    robot = random_tree(2, 5, floating=True)
    qd = np.random.default_rng(1).normal(size=(2, robot.n))
    run = both(robot, qd0=qd, duration=0.1, every=0.02, within=1e-11, **method)
    np.testing.assert_allclose(np.linalg.norm(run.q[..., 3:7], axis=-1), 1, rtol=1e-14)


def test_large_angles_are_done_again_with_care() -> None:
    for how in ({"step": 0.01}, {"integrator": "rkdp54", "rtol": 1e-6}):
        far = both(RR, q0=[[0.1, 0.2], [5e6, 1.0]], qd0=[[0, 0], [0.1, 0]], duration=0.1, within=1e-8, **how)
        assert np.isfinite(far.q).all()


def test_a_motion_that_diverges_is_told() -> None:
    hard = aw.torque.pd([0.0, 0.0], kp=-1e9, kd=0)
    with pytest.warns(aw.errors.SimulationWarning, match="2 of 2"):
        run = aw.simulate_batch(RR, hard, q0=[[0.1, 0.0], [1.0, 1.0]], duration=1.0, step=0.1, target="text")
    assert run.failed.all() and (run.reached < 1).all()


def test_parts_have_the_rollouts_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {
        "q0": aw.draws(1).uniform(-1, 1), "vary": {"payload.mass": aw.draws(2).uniform(0, 1)}, "rollouts": 7,
        "duration": 0.05, "every": 0.01, "measure": "energy", "keep": True, "start": np.arange(7.0),
    }  # fmt: skip
    whole = aw.simulate_batch(RR, SLOPE, target="text", **options)
    monkeypatch.setattr("rollouts_on_cpu.Travelling.room", 3)
    parts = aw.simulate_batch(RR, SLOPE, target="text", **options)
    for name in ("t", "q", "qd", "accepted", "reached", "finished", "tau"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name), err_msg=name)
    np.testing.assert_array_equal(parts.measured["energy"], whole.measured["energy"])


def test_threads_are_those_of_a_cpu() -> None:
    with pytest.raises(aw.errors.InputError, match="threads = 2: only target"):
        aw.simulate_batch(RR, SLOPE, duration=0.1, target="python", threads=2)


@pytest.mark.parametrize("how", [{"integrator": "rk4", "step": 0.01}, {"integrator": "dop853", "rtol": 1e-6}])
def test_who_is_told_to_stop_stays(how: dict) -> None:
    stays("text", how)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")
@pytest.mark.parametrize("double", [False, True])
def test_a_card_keeps_the_state_in_registers(double: bool) -> None:
    """As many blocks as `rollout_launcher` wants have room beside each other, and no number of a thread leaves them."""
    arm, dtype = aw.load("panda"), "float64" if double else "float32"
    law = torque.Free()
    program, steps = derivative(equations_of(MotionRecord(arm, law))), method("rk4").steps(fixed=True)
    motion = rollout.Motion(program, steps, layout_of(arm, law), None, None)
    text = rollout.text(motion, (), double, blocks=rollout_launcher.BLOCKS[dtype])
    report = nvcc_report(text)
    (registers,) = map(int, re.findall(r"Used (\d+) registers", report))
    assert registers <= 65536 // (rollout_launcher.BLOCKS[dtype] * rollout.ROLLOUT_THREADS)
    assert "0 bytes spill stores, 0 bytes spill loads" in report
