"""Is a motor strong enough? Peaks beside limits, in a run, on the command line, on the page and in the robot's table."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.pages.report.run_page import joint_table
from armwright.pages.run_scene import page


def limited(torque: tuple[float | None, ...], speed: tuple[float | None, ...]) -> aw.Robot:
    arm = aw.load("rr")
    joints = tuple(
        replace(joint, max_torque=t, max_velocity=v) for joint, t, v in zip(arm.joints, torque, speed, strict=True)
    )
    return replace(arm, name="limited", joints=joints)


MOTION = aw.trajectory.quintic([0, 1], [[0, 0], [1.0, -0.5]])


def test_a_run_says_which_part_of_its_limits_each_joint_uses() -> None:
    free = aw.torques_along(limited((None, None), (None, None)), MOTION)
    peaks, speeds = np.abs(free.tau).max(axis=0), np.abs(free.qd).max(axis=0)
    assert np.isnan(free.utilisation.torque).all()
    assert free.utilisation.doubts == []
    run = aw.torques_along(limited((2 * peaks[0], peaks[1] / 2), (speeds[0] / 4, 4 * speeds[1])), MOTION)
    use = run.utilisation
    np.testing.assert_allclose(use.torque, [0.5, 2.0])
    np.testing.assert_allclose(use.speed, [4.0, 0.25])
    assert use.too_weak == ("joint2",)
    assert use.too_slow == ("joint1",)
    weak = f"joint2 needs {peaks[1]:.4g} N m at {use.joints[1].peak_torque_at:.4g} s, more than"
    assert use.joints[1].weakness == f"{weak} the {peaks[1] / 2:.4g} N m it has"
    assert "joint1 moves at" in use.doubts[0]
    assert "50% of" in str(use)
    assert "200% of" in str(use)


def test_a_limit_that_is_reached_is_not_exceeded() -> None:
    free = aw.torques_along(limited((None, None), (None, None)), MOTION)
    run = aw.torques_along(limited(tuple(np.abs(free.tau).max(axis=0)), (None, 1e9)), MOTION)
    assert run.utilisation.doubts == []
    np.testing.assert_allclose(run.utilisation.torque, [1, 1])


@pytest.mark.parametrize("command", ["torques", "simulate"])
def test_a_motor_that_is_too_weak_is_said_on_the_command_line_and_on_the_page(command: str, tmp_path: Path) -> None:
    """The commands slow their own motion down to the limits; a torque that cannot even hold is only told."""
    file, page = tmp_path / "arm.toml", tmp_path / "page.html"
    limited((0.001, 1e6), (None, 1.25)).to_toml(file)
    result = CliRunner().invoke(app, [command, str(file), "-o", str(page)])
    assert result.exit_code in (0, 1), result.output
    assert "joint1 needs" in result.output
    assert "% of 1e+06" in result.output
    assert "% of 1.25" in result.output
    text = page.read_text()
    assert 'class="beyond"' in text
    assert "Too weak: joint1" in text


def test_the_table_of_a_page_marks_only_what_is_beyond_a_limit() -> None:
    assert "beyond" not in joint_table(aw.torques_along(limited((1e9, 1e9), (1e9, None)), MOTION))


def test_a_robot_prints_its_limits_of_torque_and_speed() -> None:
    text = str(aw.load("panda"))
    line = next(line for line in text.splitlines() if "87 N m" in line)
    assert " ".join(line.split()) == "1 panda_joint1 -166 to 166 deg 2.175 rad/s 87 N m"
    assert "speed" not in str(aw.load("rr"))


def test_a_peak_has_an_instant() -> None:
    arm = aw.load("panda")
    motion = aw.trajectory.normal_spline(np.zeros(7), np.full(7, 0.5), 1.0)
    run = aw.torques_along(arm, motion, every=0.001)
    for i, use in enumerate(run.utilisation.joints):
        assert use.peak_speed_at == pytest.approx(0.5)  # halfway
        k = int(np.searchsorted(run.t, use.peak_torque_at))
        assert abs(run.tau[k, i]) == use.peak_torque and f"at {use.peak_torque_at:.4g} s" in str(use)


def test_a_run_that_asks_for_too_much_says_so_where_it_is_printed() -> None:
    weak, strong = (aw.torques_along(limited((most, None), (None, None)), MOTION) for most in (1.0, 1e9))
    assert repr(weak).endswith(f", {weak.utilisation.doubts[0]}>")
    assert "joint1" not in repr(strong)


def test_a_joint_without_a_motor_needs_none() -> None:
    """A limit of zero is a limit; torques that are nothing but rounding do not exceed it."""
    run = aw.torques_along(limited((None, 0.0), (None, None)), MOTION)
    assert run.utilisation.too_weak == ("joint2",)
    assert not run.audit.trustworthy
    assert "more than 0 N m" in str(run.utilisation)
    still = replace(run, tau=run.tau * [1, 1e-15])
    assert still.utilisation.too_weak == ()


def test_a_prismatic_joint_is_too_weak_in_newtons(tmp_path: Path) -> None:
    arm = aw.load("stanford")
    joints = tuple(replace(joint, max_torque=10.0 if joint.prismatic else 1e3) for joint in arm.joints)
    replace(arm, joints=joints).to_toml(tmp_path / "weak.toml")
    words = ["torques", str(tmp_path / "weak.toml"), "-o", str(tmp_path / "page.html"), "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert [joint["joint"] for joint in told["joints"] if joint["too_weak"]] == ["joint3"]
    assert told["joints"][2]["of_torque"] == told["joints"][2]["peak_torque"] / 10
    assert told["joints"][2]["peak_torque_at"] < told["to"]
    assert " s, more than the 10 N it has" in told["audit"]["doubts"][0]


def test_a_floating_tree_is_told_the_leg_that_is_too_weak() -> None:
    dog = aw.load("anymal_c")
    knees = np.array([0] * 6 + [0, 0, 500] * 4)
    run = aw.simulate(dog, aw.torque.pd(dog.integrate(dog.neutral, 0.2 * (knees > 0)), knees, 0), duration=0.02)
    use = run.utilisation
    assert use.too_weak == tuple(joint.name for joint in dog.joints if joint.name.endswith("KFE"))
    assert np.isnan(use.torque[:6]).all()  # nothing drives the base, and nothing limits it
    np.testing.assert_allclose(use.torque[8], 100 / 80, rtol=1e-12)
    assert use.joints[8].peak_torque_at == 0
    text = page(run, "dog")
    assert "Too weak: LF_KFE, LH_KFE, RF_KFE, RH_KFE" in text
    assert "doubted" in text
    assert not run.audit.trustworthy


def test_a_batch_says_which_rollout_asks_for_the_most() -> None:
    """The peaks are those of the rollouts taken one by one, each as far as it came."""
    arm, kp = limited((5.0, 50.0), (1.0, None)), np.array([[1.0, 1.0], [20.0, 1.0], [5.0, 40.0]])
    target, ends = [0.8, -0.6], aw.events.position("joint1", 0.2)
    q0, options = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, -0.1]]), {"duration": 0.4, "step": 0.001, "integrator": "rk4"}
    batch = aw.simulate_batch(arm, aw.torque.pd(target, kp, 0.1), q0, events=[ends], **options)
    alone = [
        aw.simulate(arm, aw.torque.pd(target, k, 0.1), q, events=[ends], **options) for k, q in zip(kp, q0, strict=True)
    ]
    for i, use in enumerate(batch.utilisation.joints):
        peaks = [run.utilisation.joints[i].peak_torque for run in alone]
        assert use.torque_rollout == int(np.argmax(peaks))
        assert use.peak_torque == pytest.approx(max(peaks), rel=1e-12)
        assert f"of rollout {use.torque_rollout}" in str(use)
    assert batch.utilisation.too_weak == tuple(
        name for name in ("joint1", "joint2") if any(name in run.utilisation.too_weak for run in alone)
    )


def test_a_free_base_has_no_rows_of_torques() -> None:
    """Its six freedoms have no drives: tables show the joints, unless a law acts on the base."""
    dog = aw.load("anymal_c")
    run = aw.simulate(dog, q0=dog.neutral, duration=0.05, every=0.05)
    assert run.driven == list(range(6, 18))
    assert joint_table(run).count('<th scope="row"') == 12 and "root_joint" not in joint_table(run)
    assert replace(run, tau=np.ones_like(run.tau)).driven == list(range(18))
