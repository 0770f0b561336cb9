"""Scenario files, and the commands that run them."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright import torque
from armwright.cli import app
from armwright.scenario import parse, pick_and_place, read
from armwright.trajectory import check_limits

FULL = """
robot = "rr"
duration = 0.5
every = 0.05
q0 = [0.1, 0.2]
gravity = [0, 0, -9.81]
payload = {mass = 0.5, com = [0, 0, 0]}

[integrator]
method = "tsit5"
rtol = 1e-7

[trajectory]
type = "cubic"
times = [0, 0.5, 1]
points = [[0, 0], [1, 0.5], [0, 0]]

[torque]
law = "computed_torque"
kp = 100
kd = [20, 20]
limit = 200
friction = {viscous = 0.1}
"""


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_a_scenario_says_everything() -> None:
    made = parse(FULL)
    assert made.robot.name == "rr"
    assert made.robot.payload is not None
    assert made.options == {"duration": 0.5, "every": 0.05, "q0": [0.1, 0.2], "integrator": "tsit5", "rtol": 1e-7}
    assert [type(part) for part in made.law.parts] == [torque.Limited, torque.Friction]
    result = aw.simulate(made.robot, made.law, **made.options)
    assert len(result.t) == 11
    assert result.audit.energy_error < 1e-6
    assert parse(FULL.replace('robot = "rr"', ""), "rr").robot.name == "rr"


@pytest.mark.parametrize("name", aw.robots())
def test_pick_and_place_stays_within_the_limits_of_every_robot(name: str) -> None:
    made = pick_and_place(aw.load(name))
    assert not check_limits(made.trajectory, made.robot)
    again = parse(made.text, name)
    t = np.linspace(0, made.trajectory.end, 7)
    assert np.array_equal(again.trajectory(t)[0], made.trajectory(t)[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("every = 0.05", "evry = 0.05", "unknown key 'evry'; did you mean 'every'"),
        ('type = "cubic"', 'type = "qubic"', "unknown type 'qubic'; expected one of cubic"),
        ("times = [0, 0.5, 1]", "times = [0, 1, 0.5]", "times"),
        ("points = [[0, 0], [1, 0.5], [0, 0]]", "points = [[0], [1], [0]]", "1 joints; rr has 2"),
        ('law = "computed_torque"', 'law = "magic"', "unknown law 'magic'"),
        ("kp = 100", "kq = 100", "unknown key 'kq'"),
        ("kp = 100", "", "missing key 'kp'"),
        ("kp = 100", 'kp = "100"', r"\[torque\] law: kp = '100' is not a number"),
        ("friction = {viscous = 0.1}", "friction = 0.1", "expected {viscous"),
        ("friction = {viscous = 0.1}", "friction = {visc = 0.1}", "expected {viscous"),
        ('robot = "rr"', "", "no robot"),
        ("[torque]", "[torque", "scenario"),
        ("payload = {mass = 0.5, com = [0, 0, 0]}", "payload = 3", "payload = 3"),
        ('[integrator]\nmethod = "tsit5"\nrtol = 1e-7', "integrator = 3", "not a table"),
    ],
)
def test_mistakes_in_a_scenario_are_told(old: str, new: str, message: str) -> None:
    assert old in FULL
    with pytest.raises(aw.ArmwrightError, match=message):
        parse(FULL.replace(old, new))


def test_a_law_without_a_trajectory_is_told() -> None:
    with pytest.raises(aw.ModelError, match="follows a trajectory"):
        parse('robot = "rr"\n[torque]\nlaw = "computed_torque"\nkp = 1\nkd = 1')
    made = parse('robot = "rr"\nduration = 1\n[torque]\nlaw = "pd"\nkp = 1\nkd = 1\ntarget = [0.1, 0.2]')
    assert isinstance(made.law, torque.PD)


def test_a_missing_scenario_is_told(tmp_path: Path) -> None:
    with pytest.raises(aw.ModelError, match="cannot read the scenario"):
        read(tmp_path / "none.toml")


def test_simulate_prints_a_table_and_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = run("simulate", "rr")
    for word in ("peak torque", "RMS power", "energy balance", "evaluations", "times real time", "rr.html"):
        assert word in text
    page = (tmp_path / "rr.html").read_text()
    assert "To run it again" in page
    (tmp_path / "scenario.toml").write_text(FULL)
    run("simulate", "rr", "scenario.toml", "-o", "other.html")
    assert "tsit5" in (tmp_path / "other.html").read_text()
    assert "peak torque" in run("torques", "rr", "scenario.toml", "-o", "torques.html")
    run("simulate", "rr", "nothing.toml", code=2)
    run("simulate", "nobody", code=2)
    run("simulate", "rr", "-o", "no/such/folder.html", code=2)
    (tmp_path / "free.toml").write_text('duration = 0.1\n[torque]\nlaw = "free"')
    run("simulate", "rr", "free.toml")
    assert "need a motion" in run("torques", "rr", "free.toml", code=2)


def test_a_motion_that_breaks_off_leaves_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'duration = 20\nq0 = [0.1, 0]\n[integrator]\nmethod = "rk4"\nstep = 0.01\n'
    (tmp_path / "s.toml").write_text(text + '[torque]\nlaw = "spring_damper"\nstiffness = -1e5\ndamping = 0')
    assert "diverges" in run("simulate", "rr", "s.toml", code=2)
    assert (tmp_path / "rr.html").exists()
