"""Rollouts on a card: those of the CPU, to rounding. They need CuPy and an NVIDIA card."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import armwright as aw
from armwright.backends.cuda.host.device import cupy
from armwright.backends.cuda.host.random_numbers_launcher import fill
from armwright.draws import FIRST_INSTANT, draws
from armwright.errors import ArmwrightError
from armwright.robot import random_tree
from armwright.simulation.rollouts import stop_all

try:
    cupy()
except ArmwrightError as missing:
    pytest.skip(str(missing), allow_module_level=True)

PANDA = aw.load("panda")
START = np.random.default_rng(0).uniform(-1, 1, (300, 7))
HOME = np.array([0.1, -0.4, 0.2, -1.5, 0.1, 1.2, 0.3])


def there(*given: Any, within: float = 1e-10, reference: str = "python", **options: Any) -> aw.BatchRun:
    """The run on the card, which is that of the reference."""
    meant, run = (aw.simulate_batch(*given, target=target, **options) for target in (reference, "cuda"))
    for name in ("q", "qd", "work", "losses", "reached", "accepted", "rejected", "ended", "failed", "tau"):
        got, expected = getattr(run, name), getattr(meant, name)
        np.testing.assert_allclose(got, expected, rtol=within, atol=within, err_msg=name)
    for name, values in meant.measured.items():
        np.testing.assert_allclose(run.measured[name], values, rtol=1e3 * within, atol=1e3 * within, err_msg=name)
    return run


@pytest.mark.parametrize(("dtype", "within"), [("float64", 1e-10), ("float32", 2e-3)])
def test_a_hundred_steps_are_those_of_the_interpreter(dtype: str, within: float) -> None:
    there(PANDA, q0=START[:3], duration=0.1, every=0.05, dtype=dtype, within=within)


@pytest.mark.parametrize("method", [{"step": 0.01}, {"integrator": "rkdp54"}, {"integrator": "dop853"}])
def test_events_measures_and_starts(method: dict) -> None:
    there(
        aw.load("rr"), aw.torque.pd([0.5, -0.3], kp=20, kd=2), q0=[[0, 0], [0.1, 0.2]], start=[0.0, 0.3], duration=0.4,
        every=0.05, measure=["peak_torque", "energy", "tracking_error", "final_error"],
        events=[aw.events.position("joint1", 0.05)], within=1e-9, **method,
    )  # fmt: skip


def test_a_free_base() -> None:
    robot = random_tree(2, 5, floating=True)
    qd = np.random.default_rng(1).normal(size=(2, robot.n))
    there(robot, qd0=qd, duration=0.1, every=0.02, integrator="rkdp54", within=1e-9)


def test_large_angles_are_done_again() -> None:
    far = START[:3].copy()
    far[1, 0] = 3e6
    there(PANDA, q0=far, duration=0.05, within=1e-7)


def test_numbers_of_law_and_payload() -> None:
    law = aw.torque.computed_torque(HOME + 0.1 * START[:4], kp=100, kd=20)
    vary = {"payload.mass": np.linspace(0, 2, 4), "payload.com": [0, 0, 0.1]}
    there(PANDA, law, q0=HOME, duration=0.05, vary=vary, measure=["peak_torque", "energy"])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_drawn_numbers_are_the_same_bit_by_bit(dtype: str) -> None:
    count, index = 100_000, np.arange(100_000)
    for drawn in (draws(5).uniform(-1, 2), draws(5).normal(0.5, 3.0)):
        (column,), out = drawn.columns("x", 1), cupy().empty(count, dtype)
        for which, turns in ((7, FIRST_INSTANT), (7, index[None] // 7 - 3), (index[::-1] ** 3, index[None])):
            fill(out[None], column, which, turns)
            np.testing.assert_array_equal(cupy().asnumpy(out), column.numbers(which, count, turns)[0].astype(dtype))


@pytest.mark.parametrize(
    ("options", "within"),
    [({"step": 0.005}, 1e-9), ({"integrator": "rkdp54"}, 1e-9), ({"step": 0.005, "dtype": "float32"}, 2e-3)],
    ids=["fixed", "chosen", "single"],
)
def test_noise_is_that_of_the_interpreter(options: dict, within: float) -> None:
    noise = aw.torque.noise(aw.draws(4).normal(0, 0.5), hold=0.02)
    there(
        aw.load("rr"), aw.torque.pd([0.5, -0.3], kp=20, kd=2) + noise, q0=[[0, 0], [0.1, 0.2], [0.05, 0]],
        start=[0.0, 0.31, 0.1], duration=0.1, every=0.03, measure=["peak_torque", "energy"], keep=True, within=within,
        events=[aw.events.position("joint1", 0.045)] if within < 1e-6 else (), **options,
    )  # fmt: skip


def test_parts_have_the_rollouts_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"q0": aw.draws(1).uniform(-1, 1), "rollouts": 1000, "duration": 0.02, "measure": "peak_speed"}
    options["torque"] = aw.torque.noise(aw.draws(2).normal(0, 1), hold=0.01)
    whole = aw.simulate_batch(PANDA, target="cuda", **options)
    monkeypatch.setattr(
        "armwright.backends.cuda.host.rollout_launcher.RolloutLauncher.max_rollouts", lambda self, numbers: 300
    )
    parts = aw.simulate_batch(PANDA, target="cuda", **options)
    np.testing.assert_array_equal(parts.q, whole.q)
    np.testing.assert_array_equal(parts.measured["peak_speed"], whole.measured["peak_speed"])


def test_it_stops_when_it_is_told_to() -> None:
    def stop() -> None:
        time.sleep(1.0)
        while not done:
            stop_all()
            time.sleep(0.05)

    done: list[bool] = []
    other = threading.Thread(target=stop)
    other.start()
    with pytest.raises(aw.errors.Interrupted) as stopped:
        try:
            aw.simulate_batch(PANDA, q0=aw.draws(1).uniform(-1, 1), rollouts=1_000_000, duration=60.0, target="cuda")
        finally:
            done.append(True)
            other.join()
    run = stopped.value.result
    assert run.q.shape == (1_000_000, 2, 7)
    assert not run.finished.all()  # blocks that began first may be at their end
