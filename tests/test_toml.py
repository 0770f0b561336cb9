"""Robots as TOML: exact round trips, and errors that name the key and the line."""

import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import random_case

import armwright as aw
from armwright.model import toml, toml_lines

GOOD = """\
name = "two"
convention = "modified"
gravity = [0.0, 0.0, -9.81]

[[link]]
name = "upper"
type = "revolute"
alpha = 0.0
a = 0.0
d = 0.0
theta = 0.0
mass = 1.0
com = [0.5, 0.0, 0.0]
inertia = [0.01, 0.1, 0.1, 0.0, 0.0, 0.0]

[[link]]
name = "lower"
type = "revolute"
alpha = 0.0
a = 1.0
d = 0.0
theta = 0.0
mass = 1.0
com = [0.5, 0.0, 0.0]
inertia = [
    0.01, 0.1, 0.1,  # a tensor over several lines
    0.0, 0.0, 0.0,
]
limits = [-1.0, 1.0]
"""


def load(tmp_path: Path, text: str) -> aw.Robot:
    path = tmp_path / "robot.toml"
    path.write_text(text)
    return aw.load(path)


def test_packaged_robots_round_trip_exactly(robot_name: str, tmp_path: Path) -> None:
    arm = aw.load(robot_name)
    arm.to_toml(tmp_path / "copy.toml")
    assert aw.Robot.from_toml(tmp_path / "copy.toml") == arm


@pytest.mark.parametrize("seed", range(20))
def test_random_robots_round_trip_exactly(seed: int, tmp_path: Path) -> None:
    arm = replace(
        random_case(1 + seed % 7, seed, actuators=True).arm,
        name='arm "7" \\ \t naïve\x7f',
        source="two\nlines # not a comment\n[[link]]\nmass = 3",
        accept=("missing inertia",),
    )
    text = arm.to_toml(tmp_path / "copy.toml")
    assert aw.Robot.from_toml(tmp_path / "copy.toml") == arm
    assert aw.Robot.from_toml(tmp_path / "copy.toml").to_toml() == text


def test_angles_may_be_written_as_people_say_them(tmp_path: Path) -> None:
    for text, value in (
        ('"pi/2"', math.pi / 2), ('"-pi"', -math.pi), ('"3pi/4"', 3 * math.pi / 4), ('"2*pi/3"', 2 * math.pi / 3),
        ('"90 deg"', math.pi / 2), ('"-45deg"', -math.pi / 4), ('"+pi/2"', math.pi / 2), ('"90°"', math.pi / 2),
    ):  # fmt: skip
        arm = load(tmp_path, GOOD.replace("alpha = 0.0\na = 1.0", f"alpha = {text}\na = 1.0"))
        assert arm.joints[1].alpha == value


def test_limits_may_be_angles_or_infinite(tmp_path: Path) -> None:
    arm = load(tmp_path, GOOD.replace("[-1.0, 1.0]", '["-90 deg", inf]'))
    assert arm.joints[1].limits == (-math.pi / 2, math.inf)
    arm.to_toml(tmp_path / "copy.toml")
    assert aw.Robot.from_toml(tmp_path / "copy.toml") == arm


def test_windows_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "robot.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert aw.load(tmp_path / "robot.toml") == load(tmp_path, GOOD)


def test_the_file_name_is_the_default_name(tmp_path: Path) -> None:
    assert load(tmp_path, GOOD.replace('name = "two"\n', "")).name == "robot"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a = 1.0\n", "", r"robot.toml, line 16: link 2 \(lower\): missing key 'a'"),
        ("mass = 1.0\ncom = [0.5, 0.0, 0.0]\ninertia = [\n", "com = [0.5, 0.0, 0.0]\ninertia = [\n", "missing key 'mass'"),
        ("limits", "limts", r"line 29: link 2 \(lower\): unknown key 'limts'; did you mean 'limits'\? Known keys: name"),
        ("gravity", "gravitty", r"line 3: robot: unknown key 'gravitty'; did you mean 'gravity'\?"),
        ('convention = "modified"\n', "", "robot: missing key 'convention'"),
        ('"modified"', '"craig"', "line 2: robot: unknown DH convention 'craig'. Known: modified, standard, angeles, saha"),
        ('"modified"', '"saha"', r"line 10: link 1 \(upper\): unknown key 'd'.*Known keys: .*b"),
        ('type = "revolute"\nalpha = 0.0\na = 0.0', 'type = "hinge"\nalpha = 0.0\na = 0.0', "unknown joint type 'hinge'"),
        ("mass = 1.0\ncom = [0.5, 0.0, 0.0]\ninertia = [0.01", "mass = -1.0\ncom = [0.5, 0.0, 0.0]\ninertia = [0.01",
         r"line 12: link 1 \(upper\): mass = -1.0 is negative"),
        ("a = 1.0", "a = nan", r"line 20: link 2 \(lower\): a = nan is not finite"),
        ("a = 1.0", "a = inf", "a = inf is not finite"),
        ("a = 1.0", 'a = "1"', "a = '1' is not a number"),
        ("a = 1.0", "a = true", "a = True is not a number"),
        ("alpha = 0.0\na = 1.0", 'alpha = "quarter"\na = 1.0', "'quarter' is not an angle"),
        ("com = [0.5, 0.0, 0.0]\ninertia = [0.01", "com = [0.5, 0.0]\ninertia = [0.01", "expected 3 numbers"),
        ("inertia = [0.01, 0.1, 0.1, 0.0, 0.0, 0.0]", "inertia = [true, 0.1, 0.1, 0.0, 0.0, 0.0]", "is not a tensor"),
        ("inertia = [0.01, 0.1, 0.1, 0.0, 0.0, 0.0]", "inertia = [1.0, 2.0]", r"inertia has shape \(2,\); expected 3 rows"),
        ("inertia = [0.01, 0.1, 0.1, 0.0, 0.0, 0.0]", "inertia = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]", "not symmetric"),
        ("gravity = [0.0, 0.0, -9.81]", "gravity = 9.81", "gravity = 9.81 does not fit; expected 3 numbers"),
        ("gravity = [0.0, 0.0, -9.81]", "tool = [[1.0]]", r"line 3: robot: tool: got shape \(1, 1\)"),
        ("limits = [-1.0, 1.0]", "viscous = -1.0", "viscous = -1.0 is negative"),
        ("limits = [-1.0, 1.0]", "gear = 0", "gear = 0 would uncouple"),
        ("limits = [-1.0, 1.0]", "slender = { rho = 1.0 }", "mass and slender both describe the body"),
        ('name = "two"', 'name = "two', "robot.toml is not valid TOML: .*line 1"),
        ('name = "two"', "name = 2", "name = 2 is not a text"),
        ('name = "two"', "payload = 3", "line 1: robot: payload must be one table"),
        ('name = "two"', "accept = 3", "line 1: robot: accept = 3 is not a list of texts"),
        ("[[link]]", "[[links]]", r"line 5: robot: unknown key 'links'; did you mean 'link'"),
        ("alpha = 0.0\na = 1.0", 'alpha = "pi/0"\na = 1.0', "'pi/0' is not an angle"),
        ("a = 1.0", "a = 1" + "0" * 400, r"a = 10+ is not finite"),
        ("a = 1.0", "a = 1" + "0" * 6000, "not valid TOML"),
        ("a = 1.0", "a = " + "[" * 3000, "not valid TOML"),
        ("a = 1.0", "a = " + "[" * 400 + "]" * 400, "its brackets are nested too deep, more than 32"),
        ("a = 1.0", "a = " + "[" * 30 + "]" * 30, r"a = \[+\]+ is not a number"),
        ("limits = [-1.0, 1.0]", '"my key" = 3', r"line 29: link 2 \(lower\): unknown key 'my key'"),
        ("limits = [-1.0, 1.0]", "limits = [nan, 1.0]", "contains nan"),
        ("limits = [-1.0, 1.0]", "[link.slender]", r"line 2\d: link 2 \(lower\): mass and slender both"),
        ('name = "two"', 'name = "two\u2028lines"\nextra = 1', "line 2: robot: unknown key 'extra'"),
        ("inertia = [0.01, 0.1, 0.1, 0.0, 0.0, 0.0]", 'inertia = ["1", "1", "1", "0", "0", "0"]', "is not a tensor"),
        ("inertia = [0.01, 0.1, 0.1, 0.0, 0.0, 0.0]", "inertia = [true, true, true, false, false, false]", "is not a tensor"),
    ],
)  # fmt: skip
def test_a_bad_file_is_told_where_and_why(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in GOOD
    with pytest.raises(aw.ArmwrightError, match=message):
        load(tmp_path, GOOD.replace(old, new, 1))


def test_an_empty_robot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(aw.ModelError, match=r"the robot is empty; expected one \[\[link\]\] table per joint"):
        load(tmp_path, 'convention = "modified"')
    with pytest.raises(aw.ModelError, match="is a scenario or a study, not a robot; its robot is 'rr'"):
        load(tmp_path, 'robot = "rr"')
    with pytest.raises(aw.ModelError, match="is empty: expected at least one joint"):
        aw.Robot.from_dh([], "modified")


def test_a_missing_file_and_an_unknown_name_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(aw.ModelError, match=r"nowhere.toml does not exist; expected a robot file"):
        aw.load(tmp_path / "nowhere.toml")
    with pytest.raises(aw.UnknownNameError, match=r"unknown robot 'puma650'\. Did you mean 'puma560'"):
        aw.load("puma650")
    with pytest.raises(aw.ModelError, match="expected the name of a packaged robot"):
        aw.load(3)
    (tmp_path / "robot.step").write_text("")
    with pytest.raises(aw.ModelError, match=r"cannot read \.step; expected \.toml"):
        aw.load(tmp_path / "robot.step")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(aw.ModelError, match=r"bad\.toml cannot be read"):
        aw.load(tmp_path / "bad.toml")
    with pytest.raises(aw.ModelError, match="is a folder; expected a robot file"):
        aw.load(tmp_path)
    with pytest.raises(aw.ModelError, match="the packaged robot is loaded as 'puma560'"):
        aw.load(tmp_path / "puma560.toml")
    with pytest.raises(aw.ModelError, match="cannot be read"):
        aw.load("a\0b.toml")


@pytest.mark.parametrize(
    ("slender", "message"),
    [
        ("{ rho = 1.0, mass = 2.0 }", "either rho .* or mass"),
        ("{ rho = -1.0 }", "rho = -1.0 is negative"),
        ("{ rho = 1.0, length = 1.0 }", "length is for prismatic joints"),
        ("{ roh = 1.0 }", "unknown key 'roh'; did you mean 'rho'"),
        ("3", "slender = 3 is not a table"),
    ],
)
def test_a_bad_slender_link_is_told(slender: str, message: str, tmp_path: Path) -> None:
    text = GOOD.split("mass = 1.0", maxsplit=1)[0] + f"slender = {slender}\n"
    with pytest.raises(aw.ModelError, match=message):
        load(tmp_path, text)


def test_rows_from_python_are_checked_alike() -> None:
    row = {"type": "revolute", "alpha": 0.0, "a": 0.0, "d": 0.0, "mass": 1.0, "com": [0, 0, 1], "inertia": np.eye(3)}
    assert aw.Robot.from_dh([row], "modified").n == 1
    with pytest.raises(aw.ModelError, match="link 1: missing key 'mass'"):
        aw.Robot.from_dh([{k: v for k, v in row.items() if k != "mass"}], "modified")
    with pytest.raises(aw.ModelError, match=r"link 1 \(arm\): unknown joint type 'bell'"):
        aw.Robot.from_dh([{**row, "name": "arm", "type": "bell"}], "modified")
    with pytest.raises(aw.ModelError, match="sequence of rows"):
        aw.Robot.from_dh(row, "modified")
    with pytest.raises(aw.ModelError, match="row 1 of the DH table is 3"):
        aw.Robot.from_dh([3], "modified")
    with pytest.raises(aw.UnknownNameError, match="Did you mean 'standard'"):
        aw.Robot.from_dh([row], "standart")


BOMBS = {
    "a." * 50_000 + "a = 1": "key a.a.a.* has more than 32 parts",
    "[" + "a." * 50_000 + "a]": "has more than 32 parts",
    '"a".' * 20_000 + "a = 1": "has more than 32 parts",
    "x = {" + "a . " * 20_000 + "a = 1}": "has more than 32 parts",
    "a = " + "[" * 50_000: "nested too deep",
    "a = " + "{a = " * 20_000: "nested too deep",
    "a = " + "1" * 100_000: "not valid TOML: Exceeds the limit",
    'a = """' + '\\"' * 50_000: "Unterminated string",
    "#" + " " * 200_000: "the robot is empty",
    'convention = "modified"\n' + "[[link]]\n" * (toml.MAX_TABLE_ROWS + 1): "has 10001 links; expected at most 10000",
    "#" * (toml_lines.MAX_TOML_BYTES + 1): "has 1024 kB; expected at most 1024",
}


@pytest.mark.parametrize("text", BOMBS, ids=range(len(BOMBS)))
def test_small_files_take_little(text: str) -> None:
    """Some of these took minutes, or all memory there is."""
    begin = time.perf_counter()
    with pytest.raises(aw.ModelError, match=BOMBS[text]):
        toml.parse(text)
    assert time.perf_counter() - begin < 10


def test_dots_in_texts_and_numbers_are_no_keys() -> None:
    text = f'name = "{"a." * 100}"\n# {"b." * 100}\nlist = [{"1.5, " * 100}]\ntext = """\n{"c." * 100}"""\n'
    assert len(toml_lines.parse_toml(text, "file")["list"]) == 100
