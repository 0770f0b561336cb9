"""What is measured in the compiled loop is what records say, whichever way rollouts go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import HERE

import armwright as aw
from armwright.errors import InputError, SimulationWarning
from armwright.simulation.gauges import BUILT_IN_GAUGES, PEAK_SPEED, Gauge
from armwright.simulation.measures import MEASURES, Measure

ARM = aw.load("puma560")
MOTION = aw.trajectory.quintic([0, 0.4], [np.zeros(6), [0.5, -0.4, 0.3, 0.6, -0.5, 0.2]])
MASSES = np.linspace(0, 3, 7)


@dataclass(frozen=True)
class Records:
    """The records of rollouts, and where they were to be: reference (rollouts, k, n), goal (rollouts, 1, n) or (n,)."""

    run: aw.BatchRun
    reference: np.ndarray
    goal: np.ndarray
    within: float

    @property
    def power(self) -> np.ndarray:
        return self.run.tau * self.run.qd

    @property
    def error(self) -> np.ndarray:
        return self.run.q - self.reference

    def integral(self, x: np.ndarray) -> np.ndarray:
        return np.trapezoid(x, self.run.t, axis=1)

    def rms(self, x: np.ndarray) -> np.ndarray:
        return np.sqrt(self.integral(x**2) / (self.run.t[-1] - self.run.t[0]))

    @property
    def settling_time(self) -> np.ndarray:
        t, away = self.run.t, np.abs(self.run.q - self.goal) > self.within
        last = np.where(away.any(axis=1), away.shape[1] - 1 - np.argmax(away[:, ::-1], axis=1), -1)
        return np.where(last == len(t) - 1, np.nan, t[np.minimum(last + 1, len(t) - 1)] - t[0])

    @property
    def overshoot(self) -> np.ndarray:
        beyond = (self.run.q - self.goal) * np.sign(self.goal - self.run.q[:, :1])
        return np.maximum(beyond.max(axis=1), 0)


def peak(x: np.ndarray) -> np.ndarray:
    return np.abs(x).max(axis=1)


VALUES: dict[str, Callable[[Records], np.ndarray]] = {
    "peak_torque": lambda x: peak(x.run.tau),
    "rms_torque": lambda x: x.rms(x.run.tau),
    "peak_speed": lambda x: peak(x.run.qd),
    "rms_speed": lambda x: x.rms(x.run.qd),
    "peak_power": lambda x: peak(x.power),
    "rms_power": lambda x: x.rms(x.power),
    "work": lambda x: x.integral(x.power),
    "energy": lambda x: x.integral(np.maximum(x.power, 0)),
    "tracking_error": lambda x: peak(x.error),
    "rms_tracking_error": lambda x: x.rms(x.error),
    "final_error": lambda x: np.abs(x.error[:, -1]),
    "settling_time": lambda x: x.settling_time,
    "overshoot": lambda x: x.overshoot,
}
"""What each measure is, from the records of the same rollouts."""


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_has_a_value_test_a_line_in_the_documents_and_an_example(name: str) -> None:
    listed = set(MEASURES[name].gauges) <= set(BUILT_IN_GAUGES)
    assert listed, f"list the gauges of {name} in BUILT_IN_GAUGES of simulation/gauges.py"
    assert name in VALUES, f"write what {name} is from records into VALUES"
    for document in ("simulation.md", "studies.md"):
        text = (Path(__file__).parents[1] / "docs" / document).read_text()
        assert f"`{name}`" in text, f"name `{name}` in docs/{document}"
    arm = aw.load("rr")
    found = eval(MEASURES[name].example, {"aw": aw, "arm": arm, "law": aw.torque.pd([0.1, -0.1], kp=20, kd=2)})
    assert found.shape == (1, arm.n if MEASURES[name].per_joint else 1)


@pytest.mark.parametrize("name", MEASURES)
def test_the_sign_of_every_measure_is_that_of_its_records(name: str) -> None:
    """Rollouts that mirror each other: what is an absolute value is the same, work is lost and gained."""
    arm, goal = aw.load("rr").with_gravity((0, 0, 0)), np.array([0.2, -0.1])
    begin = np.array([[0.6, -0.5], [-0.2, 0.3], [0.6, 0.3]])
    law = aw.torque.pd(goal, kp=1000, kd=20)
    options = {
        "q0": begin,
        "qd0": [[2.0, -1.0], [-2.0, 1.0], [0.0, 0.0]],
        "duration": 0.5,
        "step": 0.001,
        "every": 0.01,
    }
    run = aw.simulate_batch(arm, law, measure=[name], within=0.1, keep=True, **options)
    records = Records(run, np.broadcast_to(goal, run.q.shape), goal, 0.1)
    for x in (run.tau, run.qd, records.power, records.error):
        assert (x[:, :, 0].min(axis=1) < 0).all() and (x[:, :, 0].max(axis=1) > 0).all()
    largest = np.take_along_axis(run.tau, np.abs(run.tau).argmax(axis=1)[:, None], axis=1)
    assert (largest < 0).any() and (largest > 0).any()
    assert (records.integral(records.power) < 0).any() and (records.integral(records.power) > 0).any()
    assert (records.overshoot > 0.01).all() and {*np.sign((goal - begin).ravel())} == {-1, 1}
    assert np.isfinite(records.settling_time).any()
    np.testing.assert_allclose(run.measured[name], VALUES[name](records), rtol=1e-12, atol=1e-12)


def test_a_measure_of_a_package_is_found_in_the_compiled_loop() -> None:
    """One number for each joint, and one for the motion, of the robot as it varies."""
    fall = Gauge("fall", "largest", lambda x: [-speed for speed in x.at.qd])
    kinetic = Gauge("kinetic energy", "integral", lambda x: [x.at.compute("kinetic_energy")], per_joint=False)
    MEASURES.register("fall_speed", Measure("largest speed downwards", ("rad/s", "m/s"), (fall,), "fall_speed"))
    MEASURES.register("action", Measure("kinetic energy over time", ("J s", "J s"), (kinetic,), "action"))
    options = {"q0": [0.3, 0.2], "duration": 0.2, "every": 0.01, "vary": {"payload.mass": [0.0, 2.0]}, "keep": True}
    try:
        run = aw.simulate_batch(aw.load("rr"), measure=["fall_speed", "peak_speed", "action"], **options)
    finally:
        MEASURES.unregister("fall_speed")
        MEASURES.unregister("action")
    np.testing.assert_allclose(run.measured["fall_speed"], (-run.qd).max(axis=1), rtol=1e-13)
    np.testing.assert_allclose(run.measured["peak_speed"], np.abs(run.qd).max(axis=1), rtol=1e-13)
    action = np.trapezoid(run.kinetic, run.t, axis=1)[:, None]
    np.testing.assert_allclose(run.measured["action"], action, rtol=1e-12)
    assert not np.isclose(action[0], action[1])


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("speedy", lambda run: run.qd, "expected an armwright.simulation.Measure"),
        ("speed2", Measure("speed", ("rad/s", "m/s"), (PEAK_SPEED,), "-"), "no digit at its end"),
        ("nothing", Measure("nothing", ("J", "J"), (), "-"), "expected at least one Gauge"),
        ("unitless", Measure("speed", ("rad/s",), (PEAK_SPEED,), "-"), "units of revolute and prismatic joints"),  # type: ignore[arg-type]
        ("energy", MEASURES["energy"], "'energy' is a name of armwright's own measures"),
    ],
)
def test_an_entry_that_is_no_measure_is_refused(name: str, entry: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MEASURES.register(name, entry)


def test_a_gauge_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="expected one of largest, integral, last"):
        Gauge("speed", "smallest", lambda x: x.at.qd)
    with pytest.raises(InputError, match="expected a function of a GaugedMoment"):
        Gauge("speed", "largest", "qd")  # type: ignore[arg-type]
    short = Measure("short", ("J", "J"), (Gauge("short", "last", lambda x: x.at.qd[:1]),), "-")
    MEASURES.register("short", short)
    try:
        with pytest.raises(InputError, match="gauge 'short' gives 1 numbers; expected 2"):
            aw.simulate_batch(aw.load("rr"), duration=0.01, measure="short")
    finally:
        MEASURES.unregister("short")


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
    records = Records(kept, reference, goal, 0.05)
    for name in MEASURES:
        np.testing.assert_allclose(kept.measured[name], VALUES[name](records), rtol=1e-12, atol=1e-12, err_msg=name)
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
    with pytest.warns(SimulationWarning, match="1 of 2 rollouts failed"):
        run = aw.simulate_batch(ARM, law, measure=["peak_torque"], **options)
    with pytest.warns(SimulationWarning):
        kept = aw.simulate_batch(ARM, law, **options)
    assert np.isfinite(run.measured["peak_torque"][0]).all() and np.isnan(run.measured["peak_torque"][1]).all()
    np.testing.assert_allclose(run.reached, kept.reached)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measure": ["peak_torqe"]}, "unknown measure 'peak_torqe'. Did you mean 'peak_torque'"),
        ({"measure": ["overshoot"]}, "needs a law with a motion or target"),
        ({"measure": ["energy"], "within": -1}, "within = -1"),
        ({"keep": False}, "only with measures"),
        ({"measure": ["energy"], "keep": "yes"}, "keep = 'yes'"),
    ],
)
def test_nonsense_is_named(given: dict, message: str) -> None:
    with pytest.raises((InputError, aw.UnknownNameError), match=message.replace("(", r"\(")):
        aw.simulate_batch(ARM, None, duration=0.1, **given)
