"""Studies that name actuators: the robot they make, one of several in each rollout, and their curves in the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.errors import ModelError
from armwright.sizing import Actuator, Gearbox, Motor, fitted, packaged
from armwright.sweep import torque_speed
from armwright.sweep.limit_use import limit_uses, limits_sentence, use_table
from armwright.sweep.prepare import setup_of
from armwright.sweep.study_engine import compute_study
from armwright.sweep.study_page import study_page

SMALL = {"motor": "typical servo 100 W", "gearbox": "typical strain wave 35 N m 1:80"}
LARGE = {"motor": "typical servo 750 W", "gearbox": "typical strain wave 200 N m 1:120"}
DRIVE, HEAVY = packaged().actuator(**SMALL), packaged().actuator(**LARGE)


@pytest.fixture(scope="module")
def study() -> aw.Study:
    return aw.Study(
        "rr",
        {"actuators.joint2": [1, 2], "payload.mass": [0.5, 5.0]},
        actuators={"joint1": LARGE, "joint2": [SMALL, LARGE]},
        duration=0.6,
        every=0.1,
        integrator={"method": "rk4", "step": 0.005},
        trajectory={"type": "quintic", "times": [0, 0.6], "points": [[0, 0], [0.8, -0.5]]},
        want={"measures": ["peak_torque", "rms_torque", "peak_speed", "final_q"], "histories": ["qd", "tau"]},
        chunk=2,
    )


def test_a_rollout_is_that_of_the_robot_with_its_actuators(study: aw.Study, tmp_path: Path) -> None:
    rows = study.run(tmp_path, threads=1).rows.to_table().to_pylist()
    motion = aw.trajectory.quintic([0, 0.6], [[0, 0], [0.8, -0.5]]).holding()
    nominal = fitted(aw.load("rr"), [HEAVY, DRIVE]).with_friction(smooth=1e-3)
    law = aw.torque.computed_torque(motion, kp=100, kd=20, model=nominal)  # which knows of neither payload nor choice
    for row in rows:
        arm = fitted(aw.load("rr"), [HEAVY, (DRIVE, HEAVY)[int(row["actuators.joint2"]) - 1]])
        arm = arm.with_payload(row["payload.mass"])
        run = aw.simulate(arm, law, duration=0.6, every=0.1, integrator="rk4", step=0.005)
        assert [row["final_q1"], row["final_q2"]] == pytest.approx(run.q[-1].tolist(), rel=1e-9)
        assert row["peak_torque1"] == pytest.approx(float(np.abs(run.tau[:, 0]).max()), rel=1e-9)
    assert len({row["final_q1"] for row in rows}) == 4


def test_the_folder_is_enough_to_go_on_and_to_run_a_row_again(study: aw.Study, tmp_path: Path) -> None:
    compute_study(study, tmp_path, threads=1, part=(1, 2))
    results = aw.open_study(tmp_path)
    assert results.actuators.choices["joint2"][1].actuator == HEAVY
    assert results.robot == setup_of(study).robot
    assert compute_study(results.study, tmp_path, threads=1).earlier == 2
    assert compute_study(study, tmp_path, threads=1).earlier == 4


def test_links_that_have_their_actuators_are_not_made_heavier(study: aw.Study, tmp_path: Path) -> None:
    own = replace(study, vary={"actuators.joint2": [1, 2], "link1.mass": [3.0, 4.0]}, design={"method": "list"})
    own = replace(own, actuators={**own.actuators, "in_links": True})
    found = setup_of(own)
    assert found.robot.links[0].mass == aw.load("rr").links[0].mass
    assert found.robot.joints[0].rotor_inertia == HEAVY.inertia
    compute_study(own, tmp_path, threads=1)
    assert aw.open_study(tmp_path).actuators.in_links
    assert compute_study(aw.open_study(tmp_path).study, tmp_path, threads=1).earlier == 2


def test_limits_of_the_actuators_are_those_of_each_row(study: aw.Study, tmp_path: Path) -> None:
    """A joint is too weak where the torque of a rollout is beyond what its own actuator gives."""
    results = study.run(tmp_path, threads=1)
    rows = results.rows.to_table().to_pylist()
    limits = [(DRIVE, HEAVY)[int(row["actuators.joint2"]) - 1] for row in rows]
    beyond = sum(
        row["peak_torque2"] > drive.max_torque or row["peak_speed2"] > drive.max_velocity
        for row, drive in zip(rows, limits, strict=True)
    )
    _, _, second = use_table(limit_uses(results))
    assert 0 < beyond < 4
    share = f"{25 * beyond} %"
    assert second[:3] == ("joint2", f"{share} ({beyond} of 4)", f"{DRIVE.name}; {HEAVY.name}")
    assert second[3].endswith(" N m") and second[6].endswith(" rad/s")
    for drive in limits:
        (start, torque), (fast, same), end = torque_speed.continuous_curve(drive)
        assert (start, same, end) == (0.0, torque, (fast, 0.0)) and fast == drive.max_velocity
    steady = [torque_speed.continuous_curve(drive)[0][1] for drive in limits]
    used = max(row["rms_torque2"] / most for row, most in zip(rows, steady, strict=True))
    assert second[-1] == f"{used:.0%} of continuous"
    shown = study_page(results)
    assert "joint2: torque over speed" in shown and f"joint2 {share}" in limits_sentence(limit_uses(results))
    assert shown.index("Rollouts beyond a limit of torque or speed:") < shown.index("<h2>")
    assert shown.index("<h2>Rollouts beyond limits") < shown.index("<h2>Distributions")
    tau = results.histories.to_table().column("tau2").to_numpy()
    cloud = list(torque_speed.joint_points(results))[1]
    assert len(cloud.torque) <= len(tau) and set(cloud.torque) <= set(tau)
    assert np.abs(cloud.torque).max() == np.abs(tau).max()
    peaks = replace(study, want={"measures": ["peak_torque", "rms_torque", "peak_speed"]}).run(
        tmp_path / "peaks", threads=1
    )
    assert use_table(limit_uses(peaks))[2] == second
    assert "at different times in general" in study_page(peaks)


def test_a_motor_gives_what_its_voltage_leaves() -> None:
    """At every corner of the curve where the voltage is the limit, speed and current need all of it."""
    motor = Motor("m", 1e-5, 2.0, 1.0, 1.0, max_speed=80.0, torque_constant=0.1, resistance=0.3, voltage=10.0)
    drive = Actuator(motor, Gearbox("g", 50.0, 0.8, 1e4, 1.0, 0.0))
    corners = torque_speed.peak_curve(drive)
    assert corners[0] == (0.0, drive.max_torque) and corners[-1] == (drive.max_velocity, 0.0)
    for speed, torque in corners[1:-1]:
        shaft, asked = speed * 50, torque / 50 / 0.8
        assert 0.1 * shaft + 0.3 * asked / 0.1 == pytest.approx(10.0)
    plain = replace(drive, motor=replace(motor, voltage=None))
    assert torque_speed.peak_curve(plain) == [(0.0, 80.0), (1.6, 80.0), (1.6, 0.0)]


WRONG = {
    "no joint": ({"joint3": SMALL}, r"rr has no joint 'joint3'; did you mean 'joint[12]'"),
    "no motor": ({"joint1": {"gearbox": SMALL["gearbox"]}}, "missing key 'motor'"),
    "unknown motor": ({"joint1": {**SMALL, "motor": "typical servo 101 W"}}, "did you mean 'typical servo 100 W'"),
    "no torque": ({"joint1": {**SMALL, "motor": {"name": "m"}}}, r"\[actuators\] joint1, motor: missing key 'rotor_in"),
    "no table": ({"joint1": "big"}, "expected {motor ="),
    "half a place": ({"joint1": {**SMALL, "mount": {"link": "link1"}}}, r"mount = .*: expected {link"),
    "no catalogue": ({"catalogue": "none"}, "unknown catalogue 'none'"),
    "a link beyond": (
        {"joint1": {**SMALL, "mount": {"link": "link2", "point": [0, 0, 0]}}},
        "a link that comes before it",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_actuators_are_told_before_it_starts(case: str) -> None:
    actuators, message = WRONG[case]
    with pytest.raises(ModelError, match=message):
        setup_of(aw.Study("rr", {"payload.mass": [0, 1]}, actuators=actuators, duration=0.1))


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"actuators.joint2": [1, 3]}, r"row 1 would have actuators.joint2 = 3; expected whole numbers from 1 to 2"),
        ({"actuators.joint1": [1, 2]}, r"have no 'actuators.joint1' that can vary"),
        ({"actuators.joint2": [1, 2], "link1.mass": [1, 2]}, r"it changes link1.mass, which varies too"),
    ],
)
def test_choices_that_are_not_there_are_told(vary: dict, message: str, study: aw.Study) -> None:
    with pytest.raises(ModelError, match=message):
        setup_of(replace(study, vary=vary))


def test_heat_and_continuous_torque_are_those_of_the_records(study: aw.Study, tmp_path: Path) -> None:
    wanted = {"measures": ["heat", "continuous_torque", "mass_condition"], "window": 0.25, "histories": ["q", "tau"]}
    fixed = replace(study, vary={"payload.mass": [0.5, 5.0]}, actuators={"joint1": LARGE, "joint2": SMALL}, want=wanted)
    results = fixed.run(tmp_path, threads=1)
    rows, kept = results.rows.to_table().to_pylist(), results.histories.to_table()
    for row in rows:
        one = {
            name: kept.column(name).to_numpy()[kept.column("row").to_numpy() == row["row"]]
            for name in kept.column_names
        }
        t, squares = one["t"], one["tau2"] ** 2
        share = DRIVE.motor.loss_factor / (DRIVE.gearbox.ratio * DRIVE.gearbox.efficiency) ** 2
        assert row["heat2"] == pytest.approx(share * np.trapezoid(squares, t), rel=1e-12)
        heat = np.concatenate([[0], np.cumsum((squares[1:] + squares[:-1]) / 2 * np.diff(t))])
        windows = [heat[k] - np.interp(max(t[k] - 0.25, 0), t, heat) for k in range(len(t))]
        assert row["continuous_torque2"] == pytest.approx(np.sqrt(max(windows) / 0.25), rel=1e-12)
        arm = fitted(aw.load("rr"), [HEAVY, DRIVE]).with_payload(row["payload.mass"])
        worst = np.linalg.cond(arm.mass_matrix(np.column_stack([one["q1"], one["q2"]]))).max()
        assert row["mass_condition"] == pytest.approx(worst, rel=1e-9)


def test_continuous_torque_of_a_run_shorter_than_its_window_is_over_the_whole_run(
    study: aw.Study, tmp_path: Path
) -> None:
    wanted = {"measures": ["continuous_torque", "rms_torque"], "window": 1e3, "histories": ["tau"]}
    short = replace(study, vary={"payload.mass": [0.5, 5.0]}, actuators={"joint1": LARGE, "joint2": SMALL}, want=wanted)
    results = short.run(tmp_path, threads=1)
    kept = results.histories.to_table()
    for row in results.rows.to_table().to_pylist():
        of_row = kept.column("row").to_numpy() == row["row"]
        t, tau = (kept.column(name).to_numpy()[of_row] for name in ("t", "tau2"))
        exact = np.sqrt(np.trapezoid(tau**2, t) / (t[-1] - t[0]))
        assert row["continuous_torque2"] == pytest.approx(exact, rel=1e-12)
    with pytest.raises(ModelError, match="heat needs windings"):
        setup_of(replace(study, want={"measures": ["heat"]}))
