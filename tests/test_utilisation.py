"""Is a motor strong enough? Peaks beside limits, in a run, on the command line, on the page and in the robot's table."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.report.page import joint_table


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
    assert use.joints[1].weakness == f"joint2 needs {peaks[1]:.4g} N m, more than the {peaks[1] / 2:.4g} N m it has"
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
