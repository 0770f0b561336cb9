"""What is measured in the compiled loop is what records say, whichever way rollouts go."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import HERE

import armwright as aw
from armwright.errors import InputError, SimulationWarning
from armwright.simulation.measures import MEASURES

ARM = aw.load("puma560")
MOTION = aw.trajectory.quintic([0, 0.4], [np.zeros(6), [0.5, -0.4, 0.3, 0.6, -0.5, 0.2]])
MASSES = np.linspace(0, 3, 7)


def expected(run: aw.BatchRun, reference: np.ndarray, goal: np.ndarray, within: float) -> dict[str, np.ndarray]:
    """The same from the records of rollouts."""
    t, power, error = run.t, run.tau * run.qd, run.q - reference

    def integral(x: np.ndarray) -> np.ndarray:
        return np.trapezoid(x, t, axis=1)

    def rms(x: np.ndarray) -> np.ndarray:
        return np.sqrt(integral(x**2) / (t[-1] - t[0]))

    away = np.abs(run.q - goal) > within
    last = np.where(away.any(axis=1), away.shape[1] - 1 - np.argmax(away[:, ::-1], axis=1), -1)
    settled = np.where(last == len(t) - 1, np.nan, t[np.minimum(last + 1, len(t) - 1)] - t[0])
    beyond = (run.q - goal) * np.sign(goal - run.q[:, :1])
    peaks = {"torque": run.tau, "speed": run.qd, "power": power}
    return {
        **{f"peak_{name}": np.abs(x).max(axis=1) for name, x in peaks.items()},
        **{f"rms_{name}": rms(x) for name, x in peaks.items()},
        "work": integral(power),
        "energy": integral(np.maximum(power, 0)),
        "tracking_error": np.abs(error).max(axis=1),
        "rms_tracking_error": rms(error),
        "final_error": np.abs(error[:, -1]),
        "settling_time": settled,
        "overshoot": np.maximum(beyond.max(axis=1), 0),
    }


@pytest.mark.parametrize("method", [{"integrator": "rk4", "step": 0.002}, {"integrator": "rkdp54", "rtol": 1e-8}])
@pytest.mark.parametrize("follows", ["motion", "target", "motions"])
def test_measured_is_what_records_say(method: dict, follows: str) -> None:
    ends = np.linspace(0.2, 0.5, len(MASSES))[:, None] * np.ones(6)
    if follows == "motion":
        law = aw.torque.computed_torque(MOTION, kp=100, kd=20)
    elif follows == "target":
        law = aw.torque.computed_torque(ends, kp=400, kd=20)
    else:
        motions = [aw.trajectory.quintic([0, 0.4], [np.zeros(6), end]) for end in ends]
        law = [aw.torque.computed_torque(motion, kp=100, kd=20) for motion in motions]
    options = {"duration": 0.4, "every": 0.01, "vary": {"payload.mass": MASSES}, "within": 0.05, **method}
    kept = aw.simulate_batch(ARM, law, measure=list(MEASURES), keep=True, **options)
    goal = ends[:, None]
    reference = np.broadcast_to(goal, kept.q.shape)
    if follows == "motion":
        reference, goal = MOTION(kept.t)[0], MOTION(0.4)[0]
    elif follows == "motions":
        reference = np.stack([motion(kept.t)[0] for motion in motions])
    for name, values in expected(kept, reference, goal, 0.05).items():
        np.testing.assert_allclose(kept.measured[name], values, rtol=1e-12, atol=1e-12, err_msg=name)
    assert np.isfinite(kept.measured["settling_time"]).any() and (kept.measured["overshoot"] > 0).any()
    alone = aw.simulate_batch(ARM, law, measure=list(MEASURES), threads=2, **options)
    assert alone.q.shape == (7, 2, 6) and np.array_equal(alone.q, kept.q[:, [0, -1]])
    assert np.array_equal(alone.tau, kept.tau[:, [0, -1]])
    for name in MEASURES:
        np.testing.assert_array_equal(alone.measured[name], kept.measured[name], err_msg=name)


@pytest.mark.parametrize("method", [{"step": 0.01}, {"integrator": "rkdp54"}])
def test_every_backend_measures_the_same(method: dict) -> None:
    robot = aw.load("rr")
    law = aw.torque.pd([0.5, -0.3], kp=20, kd=2)
    found = []
    for target in HERE:
        run = aw.simulate_batch(
            robot, law, q0=[[0, 0], [0.1, 0.2]], duration=0.4, every=0.05, measure=list(MEASURES),
            events=[aw.events.position("joint1", 0.05)], target=target, **method,
        )  # fmt: skip
        assert run.ended.tolist() == [0, -1] or run.ended.tolist() == [-1, 0]
        found.append({**run.measured, "reached": run.reached})
    for name, values in found[0].items():
        np.testing.assert_allclose(values, found[1][name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_without_every_each_step_is_looked_at() -> None:
    options = {"duration": 0.05, "step": 0.001, "q0": [0.1] * 6}
    law = aw.torque.pd([0.5] * 6, kp=5, kd=0.0)
    run = aw.simulate_batch(ARM, law, measure="peak_torque", **options)
    full = aw.simulate_batch(ARM, law, every=0.001, **options)
    np.testing.assert_allclose(run.measured["peak_torque"], np.abs(full.tau).max(axis=1), rtol=1e-13)
    assert run.q.shape[1] == 2


def test_a_free_robot_and_starts_of_their_own() -> None:
    robot = aw.load("anymal_c")
    target = robot.neutral.copy()
    run = aw.simulate_batch(
        robot, aw.torque.pd(target, kp=20, kd=1), duration=0.02, start=[0.0, 3.0], every=0.005,
        measure=["tracking_error", "energy", "settling_time"],
    )  # fmt: skip
    assert run.measured["tracking_error"].shape == (2, robot.n)
    np.testing.assert_allclose(run.measured["energy"][0], run.measured["energy"][1], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(run.measured["settling_time"][0], run.measured["settling_time"][1])


def test_a_rollout_that_diverges_has_no_measures_and_says_when() -> None:
    gains = np.array([[5.0] * 6, [1e9] * 6])
    options = {"duration": 0.5, "step": 0.001, "every": 0.01}
    law = aw.torque.pd([0.5] * 6, kp=gains, kd=0.0)
    with pytest.warns(SimulationWarning, match="1 of 2 rollouts could not go on"):
        run = aw.simulate_batch(ARM, law, measure=["peak_torque"], **options)
    with pytest.warns(SimulationWarning):
        kept = aw.simulate_batch(ARM, law, **options)
    assert np.isfinite(run.measured["peak_torque"][0]).all() and np.isnan(run.measured["peak_torque"][1]).all()
    np.testing.assert_allclose(run.reached, kept.reached)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measure": ["peak_torqe"]}, "unknown measure 'peak_torqe'. Did you mean 'peak_torque'"),
        ({"measure": ["overshoot"]}, "follows something"),
        ({"measure": ["energy"], "within": -1}, "within = -1"),
        ({"keep": False}, "only where something is measured"),
        ({"measure": ["energy"], "keep": "yes"}, "keep = 'yes'"),
    ],
)
def test_nonsense_is_named(given: dict, message: str) -> None:
    with pytest.raises((InputError, aw.UnknownNameError), match=message.replace("(", r"\(")):
        aw.simulate_batch(ARM, None, duration=0.1, **given)
