"""Stops at the limits of joints: what they do is found at every step, however it is integrated, and balances energy."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import HERE
from scipy.integrate import solve_ivp
from typer.testing import CliRunner

import armwright as aw
from armwright import torque
from armwright.cli import app
from armwright.errors import SlowWarning
from armwright.robot import Robot
from armwright.simulation import Run, simulate, simulate_batch

ARM = aw.load("puma560")
START = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
BODY = {"a": 0, "com": [0, 0, 0]}
SLIDER = Robot.from_dh(
    [
        BODY | {"type": "prismatic", "alpha": 0, "theta": 0, "mass": 2.0, "inertia": [0.1, 0.1, 0.1, 0, 0, 0]},
        BODY | {"type": "revolute", "alpha": 1.5, "d": 0, "mass": 1.0, "inertia": [0.01, 0.02, 0.02, 0, 0, 0]},
    ],
    "modified",
    name="slider",
    gravity=(0.0, 0.0, 0.0),
).with_limits(position={"joint1": (-1.0, 0.2)})
MASS, LIMIT = 3.0, 0.2


def quietly(*arguments: Any, **options: Any) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        return simulate(*arguments, **options)


HARD = 1e7
"""N/m: at 1 m/s the slide is in its stop for 1.7 ms."""

ASKED = {"qd0": [1.0, 0.0], "duration": 0.5, "every": 0.07, "stops": torque.stops(SLIDER, stiffness=HARD, damping=0.0)}
WAYS = {
    "compiled": {},
    "fixed": {"integrator": "rk4", "step": 2e-5},
    "implicit": {"integrator": "radau", "rtol": 1e-8},
    "python": {"torque": lambda t, q, qd: np.zeros(2)},
    "events": {"events": [aw.events.position("joint1", 0.15, direction=-1)]},
    "noted": {"events": [aw.events.position("joint1", 0.15, terminal=False)]},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_hit_between_two_records_is_found(way: str) -> None:
    """A mass that hits a spring of stiffness k with speed v presses it in by v sqrt(m/k), with v sqrt(m k)."""
    run = quietly(SLIDER, **ASKED, **WAYS[way])
    assert (run.q[:, 0] <= LIMIT + 1e-12).all() and not run.stop_torque.any()  # no record sees it
    assert run.stops.depth == pytest.approx([np.sqrt(MASS / HARD), 0.0], rel=1e-3)
    assert run.stops.torque == pytest.approx([np.sqrt(MASS * HARD), 0.0], rel=1e-3)
    assert run.stops.hit_at == pytest.approx([LIMIT, np.nan], abs=1e-6, nan_ok=True)
    assert "1 of 2 joints have hit one, first at 0.2 s, pressed in by 5.48e-04 rad or m" in str(run.audit)
    assert run.audit.trustworthy and np.array_equal(run.audit.pressed, run.stops.depth)


@pytest.mark.parametrize("target", HERE)
def test_every_rollout_has_what_its_own_stops_have_done(target: str) -> None:
    speeds, stiff = np.array([1.0, 0.5, -1.0, 0.1]), np.array([1e5, 1e6, 1e5, 1e5])
    stops = [torque.stops(SLIDER, stiffness=k, damping=0.0) for k in stiff]
    run = simulate_batch(
        SLIDER, [torque.constant([0.0, 0.0]) + stop for stop in stops], qd0=np.stack([speeds, 0 * speeds], axis=1),
        duration=1.5, integrator="rkdp54", rtol=1e-6, target=target, measure="peak_speed",
    )  # fmt: skip
    depth = np.abs(speeds) * np.sqrt(MASS / stiff) * [1, 1, 1, 0]
    assert run.stops.depth[:, 0] == pytest.approx(depth, rel=2e-3) and not run.stops.depth[:, 1].any()
    assert run.stops.torque[:, 0] == pytest.approx(depth * stiff, rel=5e-3)
    assert run.stops.hit_at[:, 0] == pytest.approx([0.2, 0.4, 1.0, np.nan], abs=1e-4, nan_ok=True)
    assert run.measured["peak_speed"].shape == (4, 2) and run.stop_torque.shape == run.tau.shape


def test_a_damped_stop_pushes_as_hard_as_its_equation_says() -> None:
    k, c, v = 3e4, 1.5, 0.8

    def push(depth: Any, rate: Any) -> Any:
        return k * depth * np.maximum(1 + c * rate, 0)

    exact = solve_ivp(
        lambda t, y: [y[1], -push(y[0], y[1]) / MASS], (0, 0.05), [0, v], rtol=1e-10, atol=1e-12, method="DOP853",
        events=lambda t, y: y[0] + (t < 1e-4), t_eval=np.linspace(0, 0.05, 20001),
    )  # fmt: skip
    inside = exact.y[:, exact.y[0] >= 0]
    run = simulate(SLIDER, qd0=[v, 0.0], duration=0.5, stops=torque.stops(SLIDER, stiffness=k, damping=c), every=1e-4)
    assert run.stops.depth[0] == pytest.approx(inside[0].max(), rel=1e-4)
    assert run.stops.torque[0] == pytest.approx(push(*inside).max(), rel=2e-3)
    assert run.stops.torque[0] == pytest.approx(-run.stop_torque[:, 0].min(), rel=2e-3)
    momentum = MASS * (run.qd[-1, 0] - run.qd[0, 0])
    assert np.trapezoid(run.stop_torque[:, 0], run.t) == pytest.approx(momentum, rel=1e-3)
    assert run.drag == pytest.approx(run.stop_torque) and not run.tau.any()  # there is no drive


def test_what_stops_do_is_in_every_result(tmp_path: Path) -> None:
    arm, law = aw.load("rr").with_limits(position=[(-0.5, 0.5)] * 2), aw.torque.friction(0.1)
    run = simulate(arm, law, q0=[0.2, 0.0], duration=1.0, stops=True)
    assert (run.stops.hit == [True, True]).all()
    assert run.stop_torque + law_alone(arm, law, run) == pytest.approx(run.drag, abs=1e-9)
    again = Run.from_parquet(run.to_parquet(tmp_path / "run.parquet"))
    assert np.array_equal(again.stop_torque, run.stop_torque) and str(again.audit) == str(run.audit)
    assert again.stops.lists() == run.stops.lists()
    page = run.to_html(tmp_path / "run.html").read_text()
    assert "Torque of stops" in page and "Power of stops" in page and "stop hit" in page
    bare = simulate(arm, law, q0=[0.2, 0.0], duration=0.2)
    assert bare.stops is None and "stop_torque1" not in bare.columns() and "of stops" not in page_of(bare, tmp_path)
    phases = aw.simulate_phases([aw.Phase(arm, law, 0.2), aw.Phase(arm, law + torque.stops(arm), 0.8)], q0=[0.2, 0.0])
    assert phases.stops.hit_at[0] >= 0.2 and phases.stop_torque.shape == phases.tau.shape
    assert "joints have hit one" in str(phases.audit)


def law_alone(arm: Robot, law: torque.Law, run: Run) -> np.ndarray:
    return -law.viscous[0] * run.qd


def page_of(run: Run, folder: Path) -> str:
    return run.to_html(folder / "bare.html").read_text()


def test_the_command_line_writes_what_stops_do(tmp_path: Path) -> None:
    (tmp_path / "fall.toml").write_text(
        'robot = "puma560"\nduration = 1.0\nstops = true\nq0 = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]\n'
    )
    asked = [
        "simulate",
        str(tmp_path / "fall.toml"),
        "--json",
        "-o",
        str(tmp_path / "p.html"),
        "--data",
        str(tmp_path / "d.csv"),
    ]
    told = json.loads(CliRunner().invoke(app, asked).stdout)
    deepest = [joint["stop"]["depth"] for joint in told["joints"]]
    assert max(deepest) > 0 and {"depth", "torque", "hit_at"} == set(told["joints"][0]["stop"])
    assert any(joint["stop"]["hit_at"] is None for joint in told["joints"]) == (min(deepest) == 0)
    assert "stop_torque6" in (tmp_path / "d.csv").read_text().splitlines()[0].split(",")


def test_who_stays_away_from_the_stops_has_hit_none() -> None:
    run = simulate(SLIDER, qd0=[0.1, 0.0], duration=0.5, stops=True)
    assert not run.stops.hit.any() and not run.stops.torque.any() and np.isnan(run.stops.hit_at).all()
    assert "stops             0 of 2 joints have hit one" in str(run.audit).splitlines()


def test_a_soft_stop_is_told_though_no_record_sees_it() -> None:
    soft = torque.stops(SLIDER, stiffness=400.0, damping=0.0)
    run = simulate(SLIDER, qd0=[1.0, 0.0], duration=0.5, every=0.5, stops=soft)
    assert run.q.max() < LIMIT + 0.05 < LIMIT + run.stops.depth[0]
    assert [str(doubt) for doubt in run.audit.doubts] == [
        "from t = 0.2 s: joint1 is 0.0866 beyond its limits: its stop is too soft, give torque.stops a larger stiffness"
    ]


def test_a_stop_without_damping_gives_all_back_and_one_with_it_less() -> None:
    begin = {"qd0": [1.0, 0.0], "duration": 0.6, "every": 1e-3}
    run = simulate(SLIDER, **begin, stops=torque.stops(SLIDER, damping=0.0))
    assert run.qd[-1] == pytest.approx([-1.0, 0.0], abs=1e-7) and run.audit.trustworthy
    assert run.losses.max() == pytest.approx(run.kinetic[0], rel=0.2) and abs(run.losses[-1]) < 1e-7
    speeds = [-simulate(SLIDER, **begin, stops=torque.stops(SLIDER, damping=c)).qd[-1, 0] for c in (0.1, 0.5, 1.0, 3.0)]
    assert speeds == sorted(speeds, reverse=True) and speeds[0] == pytest.approx(1 - 2 / 3 * 0.1, abs=5e-3)
    assert 0.4 < speeds[2] < 0.7


def test_an_arm_that_falls_into_its_stops_keeps_its_energy_balance() -> None:
    run = simulate(ARM, q0=START, duration=1.5, stops=True, rtol=1e-10)
    assert run.audit.energy_error < 1e-8 and (run.audit.pressed > 0).any() and run.audit.pressed.max() < 0.05
    assert "stops" in str(run.audit) and not any("beyond its limits" in doubt.why for doubt in run.audit.doubts)
    bare = simulate(ARM, q0=START, duration=1.5)
    assert bare.audit.pressed is None and any("beyond its limits" in doubt.why for doubt in bare.audit.doubts)
    soft = simulate(ARM, q0=START, duration=1.5, stops=torque.stops(ARM, stiffness=20.0))
    assert any("its stop is too soft" in doubt.why for doubt in soft.audit.doubts)


def error_of(run: Run) -> float:
    """What all steps together may err: each as far as a neighbour begins, which grows as the neighbour does."""
    assert run.audit.neighbour is not None
    return run.statistics.accepted * float(run.audit.neighbour.max())


def test_stops_in_a_batch_and_beside_a_python_law() -> None:
    """In free flight the estimated error is rounding, so each way takes its own steps: within the error of a run."""
    options = {"duration": 0.5, "integrator": "dop853", "rtol": 1e-9, "stops": True}
    begin = {"qd0": [1.0, 0.0]}
    run = simulate(SLIDER, **begin, **options)
    batch = simulate_batch(SLIDER, qd0=np.tile([1.0, 0.0], (3, 1)), **options)
    assert batch.q[:, -1] == pytest.approx(np.tile(run.q[-1], (3, 1)), abs=error_of(run))
    by_hand = quietly(SLIDER, lambda t, q, qd: np.zeros(2), **begin, **options)
    assert by_hand.q[-1] == pytest.approx(run.q[-1], abs=error_of(run))
    pushed = [torque.constant([30.0, 0.0]), torque.constant([20.0, 0.0])]
    both = simulate_batch(SLIDER, pushed, **options)
    for law, q in zip(pushed, both.q[:, -1], strict=True):
        alone = simulate(SLIDER, law, **options)
        assert q == pytest.approx(alone.q[-1], abs=error_of(alone))


def test_a_motion_that_begins_beyond_a_limit_is_not_told_of_a_soft_stop() -> None:
    run = simulate(SLIDER, q0=[0.3, 0.0], duration=0.1, stops=True)
    (doubt,) = [doubt.why for doubt in run.audit.doubts if "beyond" in doubt.why]
    assert "begins 0.1 beyond its limits, pressed into its stop" in doubt and "soft" not in doubt
