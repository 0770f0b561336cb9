"""Actuators as parts of a robot: a file that names them is the robot that `fitted` makes, and says where it is wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright import sizing
from armwright.actuators.actuator import DATA_SHEET_TEMPERATURE

ROBOT = """name = "pair"
convention = "modified"
[[link]]
name = "upper"
type = "revolute"
alpha = "pi/2"
a = 0.0
d = 0.0
theta = 0.0
mass = 2.0
com = [0.2, 0, 0]
inertia = [0.01, 0.05, 0.05, 0, 0, 0]
max_velocity = 1.0
[[link]]
name = "lower"
type = "revolute"
alpha = 0.0
a = 0.4
d = 0.0
theta = 0.0
mass = 1.0
com = [0.2, 0, 0]
inertia = [0.01, 0.02, 0.02, 0, 0, 0]
coulomb = 0.3
"""
TABLE = """catalogue = "typical"
joint1 = {motor = "typical servo 200 W", gearbox = "typical strain wave 70 N m 1:120", brake = "typical brake 1.3 N m"}
joint2 = {motor = {name = "M", rotor_inertia = 1e-5, peak_torque = 1.0, mass = 0.5, continuous_torque = 0.3, max_speed = 400.0}, gearbox = "typical strain wave 35 N m 1:80", mount = {link = "upper", point = [0.1, 0, 0]}}
"""


def pair(tmp_path: Path, table: str = TABLE, robot: str = ROBOT) -> Path:
    path = tmp_path / "pair.toml"
    path.write_text(f"{robot}[actuators]\n{table}")
    return path


def bare(tmp_path: Path) -> aw.Robot:
    path = tmp_path / "bare.toml"
    path.write_text(ROBOT)
    return aw.load(path)


def drives() -> dict[str, sizing.Actuator]:
    book = sizing.packaged()
    motor = sizing.Motor("M", 1e-5, 1.0, 0.5, continuous_torque=0.3, max_speed=400.0)
    return {
        "joint1": book.actuator("typical servo 200 W", "typical strain wave 70 N m 1:120", "typical brake 1.3 N m"),
        "joint2": replace(book.actuator("typical servo 50 W", "typical strain wave 35 N m 1:80"), motor=motor),
    }


def test_a_file_with_actuators_is_the_robot_fitted_with_them(tmp_path: Path) -> None:
    robot, plain = aw.load(pair(tmp_path)), bare(tmp_path)
    made = sizing.fitted(plain, drives(), {"joint2": ("upper", (0.1, 0, 0))})
    q, qd, qdd = np.array([0.3, -0.5]), np.array([0.4, 0.7]), np.array([-1.0, 2.0])
    assert np.array_equal(robot.inverse_dynamics(q, qd, qdd), made.inverse_dynamics(q, qd, qdd))
    assert robot.links[0].mass == 2.0 + drives()["joint2"].mass
    one, two = robot.joints
    assert one.max_velocity == 1.0 < drives()["joint1"].max_velocity  # the robot's own limit is the smaller one
    assert (one.max_torque, two.max_velocity) == (drives()["joint1"].max_torque, 400.0 / 80)
    assert two.coulomb == pytest.approx(0.3 + 80 * drives()["joint2"].dry_friction)
    assert "with actuators of typical: joint1: typical servo 200 W" in robot.source
    again = tmp_path / "again.toml"
    robot.to_toml(again)
    assert aw.load(again) == robot


def test_masses_that_the_links_have_already_are_not_added(tmp_path: Path) -> None:
    robot = aw.load(pair(tmp_path, f"in_links = true\n{TABLE}"))
    assert [link.mass for link in robot.links] == [2.0, 1.0]
    assert robot.joints[0].rotor_inertia == drives()["joint1"].inertia


def test_actuators_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    bare(tmp_path)
    (tmp_path / "drives.toml").write_text(TABLE)
    separate = aw.load(tmp_path / "bare.toml", actuators=tmp_path / "drives.toml")
    assert separate == aw.load(pair(tmp_path))
    with pytest.raises(aw.ModelError, match=r"cannot read the actuators none\.toml"):
        aw.load(tmp_path / "bare.toml", actuators="none.toml")


def test_a_joint_too_weak_is_said_where_torques_are(tmp_path: Path) -> None:
    robot = aw.load(pair(tmp_path)).with_payload(20.0)
    run = aw.torques_along(robot, aw.trajectory.quintic([0, 1], [[0, 0], [0.5, 0.5]]))
    assert any("joint1" in doubt for doubt in map(str, run.utilisation.doubts))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("joint2 =", "joint3 =", "pair.toml, line 28: actuators: unknown key 'joint3'; did you mean 'joint"),
        ("servo 200 W", "servo 201 W", "line 27: actuators, joint1: unknown motor 'typical servo 201 W'"),
        ('"typical"', '"unusual"', "line 26: actuators: unknown catalogue 'unusual'"),
        ("peak_torque = 1.0, ", "", "line 28: actuators, joint2: motor: missing key 'peak_torque': expected a number in N m"),
        ("mass = 0.5", "mass = -0.5", "line 28: actuators, joint2: motor: mass = -0.5: expected kg, above zero"),
        ('link = "upper"', 'link = "lower"', "joint2 on 'lower'; expected a link that comes before it: base, upper"),
        ("mount = {link", "mount = {on", "actuators, joint2: mount = .*: expected {link = "),
        ("brake =", "break =", "line 27: actuators, joint1: unknown key 'break'; did you mean 'brake'"),
        ('motor = "typical servo 200 W", ', "", "line 27: actuators, joint1: missing key 'motor'"),
    ],
)  # fmt: skip
def test_a_bad_table_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(aw.ModelError, match=message):
        aw.load(pair(tmp_path, TABLE.replace(old, new)))


def test_what_contradicts_an_actuator_or_cannot_fit_it_is_an_error(tmp_path: Path) -> None:
    rotor = ROBOT.replace("max_velocity = 1.0", "rotor_inertia = 1e-5\ngear = 50.0")
    with pytest.raises(aw.ModelError, match="joint1 has an actuator and a rotor_inertia; expected one of them"):
        aw.load(pair(tmp_path, robot=rotor))
    with pytest.raises(aw.ModelError, match=r"read it with armwright.load, which fits them"):
        aw.Robot.from_toml(pair(tmp_path))
    path = tmp_path / "three.toml"
    path.write_text(f"actuators = 3\n{ROBOT}")
    with pytest.raises(aw.ModelError, match=r"actuators must be one table"):
        aw.load(path)


def test_a_winding_is_allowed_to_be_warmer_than_the_data_sheet_alone() -> None:
    """Data sheets give resistances at 20 degrees Celsius, at which a winding has no room to warm up."""
    thermal = {
        "torque_constant": 0.1,
        "resistance": 1.0,
        "thermal_resistances": (1.0, 2.0),
        "thermal_times": (9.0, 99.0),
    }
    made = {"name": "M", "rotor_inertia": 1e-5, "peak_torque": 1.0, "mass": 0.5, "max_speed": 400.0, **thermal}
    with pytest.raises(aw.InputError, match=r"max_temperature = 20.0: expected more than 20"):
        sizing.Motor(**made, max_temperature=20.0)
    assert sizing.Motor(**made, max_temperature=20.001).warms
    assert DATA_SHEET_TEMPERATURE == 20.0
