"""Scenario files, and the commands that run them."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import close
from typer.testing import CliRunner

import armwright as aw
from armwright import torque
from armwright.cli import app
from armwright.cli.motion_commands import SPEED_COLUMNS, TORQUE_COLUMNS, _rows
from armwright.cli.output import Screen, table
from armwright.identify.measured_data import write_csv
from armwright.scenario import MOTION_TYPES, parse, pick_and_place, read
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


@pytest.mark.parametrize("name", torque.LAWS)
def test_every_law_can_be_written_in_a_file(name: str) -> None:
    kind = torque.LAWS[name]
    given = {**kind.example, **({"target": [0.1, 0.2]} if kind.follows else {})}
    if "torques" in given:
        given["torques"] = np.repeat(given["torques"], 2, axis=1).tolist()
    text = "".join(f"{key} = {value}\n" for key, value in given.items())
    made = parse(f'robot = "rr"\nduration = 0.1\n[torque]\nlaw = "{name}"\n{text}')
    target = (given.pop("target"),) if kind.follows else ()
    assert made.law == kind.make(*target, **given)
    assert f"`{name}" in (Path(__file__).parents[1] / "docs/simulation.md").read_text()
    for key in (key for key, words in kind.parameters.items() if words.required):
        without = "".join(f"{k} = {v}\n" for k, v in given.items() if k != key)
        with pytest.raises(aw.ModelError, match=f"'{key}'.*the law '{name}' needs it"):
            parse(
                f'robot = "rr"\n[torque]\nlaw = "{name}"\ntarget = [0.1, 0.2]\n{without}'.replace(
                    "target = [0.1, 0.2]\n" if not kind.follows else "?", ""
                )
            )


def test_torques_with_noise_can_be_written_in_a_file() -> None:
    made = parse(FULL.replace("limit = 200", "noise = {std = [0.5, 0.2], hold = 0.02, seed = 3}"))
    drive, friction, noise = made.law.made_of
    assert noise.draw.hold == 0.02 and noise.draw.seed == 3
    plain, shaken = (aw.simulate(made.robot, law, **made.options) for law in (drive + friction, made.law))
    assert 1e-6 < np.abs(shaken.q - plain.q).max() < 0.1
    for wrong in ("{hold = 0.02}", "{std = 1, held = 1}", "0.5"):
        with pytest.raises(aw.ModelError, match=r"expected \{std = \.\.\., hold = \.\.\., seed = \.\.\.\}"):
            parse(FULL.replace("limit = 200", f"noise = {wrong}"))


def test_a_scenario_describes_everything() -> None:
    made = parse(FULL)
    assert made.robot.name == "rr"
    assert made.robot.payload is not None
    assert made.options == {"duration": 0.5, "every": 0.05, "q0": [0.1, 0.2], "integrator": "tsit5", "rtol": 1e-7}
    assert [type(part) for part in made.law.parts] == [torque.Limited, torque.Friction]
    result = aw.simulate(made.robot, made.law, **made.options)
    assert len(result.t) == 11
    assert result.audit.energy_error < 1e-6
    assert parse(FULL.replace('robot = "rr"', ""), "rr").robot.name == "rr"


def test_a_robot_is_loaded_as_its_table_says(tmp_path: Path) -> None:
    arm = aw.load("puma560")
    arm.to_urdf(tmp_path / "arm.urdf")
    file = tmp_path / "scenario.toml"
    tip, still = arm.links[4].name, arm.joints[1].name
    file.write_text(f'robot = {{file = "arm.urdf", tip = "{tip}", locked = {{{still} = 0.3}}}}')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [joint.name for joint in read(file).robot.joints] == [arm.joints[k].name for k in (0, 2, 3, 4)]
    with pytest.raises(aw.ModelError, match=r"scenario, robot: rr.toml: .* a base that floats is a body"):
        parse('robot = {file = "rr", floating = true}')


@pytest.mark.parametrize("name", [name for name in aw.robots() if name not in ("anymal_c", "g1", "baxter")])
def test_pick_and_place_stays_within_the_limits_of_every_robot(name: str) -> None:
    """But of those that float, which have no trajectory, and of Baxter, whose arms are too weak to be held out straight."""
    made = pick_and_place(aw.load(name))
    assert not check_limits(made.trajectory, made.robot)
    run = aw.torques_along(made.robot, made.trajectory, every=0.1)
    peaks = np.abs(run.tau).max(axis=0)
    assert all(peak <= (joint.max_torque or np.inf) for peak, joint in zip(peaks, made.robot.joints, strict=True))
    for columns in (SPEED_COLUMNS, TORQUE_COLUMNS):
        shown = table(*(str(row[k]) for k in columns for row in _rows(run)[:1]))
        for row in _rows(run)[1:]:
            shown.add_row(*(row[k] for k in columns))
        screen = Screen(width=80, force_terminal=True)
        screen._narrow(shown)
        assert screen._table_width(shown) <= 80
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
        ('robot = "rr"', "robot = 3", "robot = 3 is not a text"),
        ('robot = "rr"', 'robot = {file = "rr", tips = "link2"}', "unknown key 'tips'; did you mean 'tip'"),
        ('robot = "rr"', "robot = {floating = true}", "missing key 'file'"),
        ('robot = "rr"', 'robot = {file = "rr", floating = "yes"}', "floating = 'yes'; expected True or False"),
        ("[torque]", "[torque", "scenario"),
        ("payload = {mass = 0.5, com = [0, 0, 0]}", "payload = 3", "payload = 3"),
        ('[integrator]\nmethod = "tsit5"\nrtol = 1e-7', "integrator = 3", "not a table"),
    ],
)
def test_mistakes_in_a_scenario_are_reported(old: str, new: str, message: str) -> None:
    assert old in FULL
    with pytest.raises(aw.ArmwrightError, match=message):
        parse(FULL.replace(old, new))


def test_a_law_without_a_trajectory_is_reported() -> None:
    with pytest.raises(aw.ModelError, match="follows a trajectory"):
        parse('robot = "rr"\n[torque]\nlaw = "computed_torque"\nkp = 1\nkd = 1')
    made = parse('robot = "rr"\nduration = 1\n[torque]\nlaw = "pd"\nkp = 1\nkd = 1\ntarget = [0.1, 0.2]')
    assert isinstance(made.law, torque.PD)


def test_a_law_that_follows_nothing_begins_where_the_trajectory_does() -> None:
    begin = parse(FULL.replace("q0 = [0.1, 0.2]", "").replace("[[0, 0], [1, 0.5]", "[[0.3, 0.4], [1, 0.5]"))
    text = begin.text.split("[torque]")[0].replace("duration = 0.5", "")
    run = parse(text + '[torque]\nlaw = "free"').simulate()
    assert run.q[0].tolist() == [0.3, 0.4] and run.t[-1] == 1.0
    with pytest.raises(aw.ModelError, match=r"\[torque\] target: there is also a trajectory to follow"):
        parse(FULL + "target = [0, 0]")


def test_a_missing_scenario_is_reported(tmp_path: Path) -> None:
    with pytest.raises(aw.ModelError, match=r"none.toml does not exist; expected a scenario, a .toml file"):
        read(tmp_path / "none.toml")


def test_simulate_prints_a_table_and_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = run("simulate", "rr")
    for word in ("peak torque", "RMS power", "energy balance", "evaluations", "times real time", "rr.html"):
        assert word in text
    page = (tmp_path / "rr.html").read_text()
    assert "To repeat the run" in page
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
    assert "diverges" in (tmp_path / "rr.html").read_text()
    (tmp_path / "rr.html").unlink()
    run("simulate", "rr", "s.toml", "--set", "torque.stiffness=-1e50", code=2)  # in its first step
    assert "diverges after t = 0 s" in (tmp_path / "rr.html").read_text()
    assert (tmp_path / "rr.html").exists()


def test_pick_and_place_takes_the_time_that_joints_need() -> None:
    arm = aw.load("rr")

    def lasting(**limits: float) -> float:
        made = pick_and_place(arm.map_joints(lambda joint: replace(joint, **limits)))
        assert not check_limits(made.trajectory, made.robot)
        return made.trajectory.end

    assert lasting() == 4.0
    assert lasting(max_velocity=1.0) == pytest.approx(4 * 2.49 / 0.95, rel=0.02)  # the first joint would do 2.49 rad/s
    held = np.abs(arm.gravity_torque(pick_and_place(arm).trajectory(np.linspace(0, 4, 99))[0])).max()
    assert 4.0 < lasting(max_torque=1.2 * held) < lasting(max_torque=1.1 * held) < 40.0
    assert lasting(max_torque=0.5 * held) == 4.0  # it cannot be held up, however slowly


MOVES = {
    "blended": "points = [[0.3, 1.0], [0.5, 1.2], [0.9, 0.4]]\nvelocity = [1.0, 2.0]\nacceleration = 4\nblend = 0.05",
    "time_optimal": "points = [[0.3, 1.0], [0.5, 1.2], [0.9, 0.4]]\nvelocity = 1.0\nacceleration = 4\ntorque = 90",
    "cartesian_line": 'q0 = [0.3, 1.0]\nby = [-0.1, 0.1, 0]\nduration = 1.5\norientation = "free"',
    "cartesian_circle": 'q0 = [0.3, 1.0]\ncenter = [0.5, 0.5, 0]\naxis = [0, 0, 1]\nangle = "45 deg"\nvelocity = 0.3\nacceleration = 2\norientation = "free"',
    "trapezoidal": "from = [0.3, 1.0]\nto = [0.9, 0.4]\nvelocity = 1\nacceleration = 4",
}


@pytest.mark.parametrize("kind", MOVES)
def test_motions_along_points_and_of_the_tool_are_written_in_a_file(kind: str) -> None:
    made = parse(f'robot = "rr"\n[trajectory]\ntype = "{kind}"\n{MOVES[kind]}\n')
    assert kind in MOTION_TYPES and made.law.traceable
    q, qd, _ = made.trajectory([0.0, made.trajectory.end])
    close(q[0], np.array([0.3, 1.0]), 1e-9)
    assert np.abs(qd).max() < 1e-9
    place = made.robot.forward_kinematics(q)[:, :3, 3]
    if kind == "cartesian_line":
        close(place[1] - place[0], np.array([-0.1, 0.1, 0]), 1e-9)
    if kind == "cartesian_circle":
        arms = place - [0.5, 0.5, 0]
        assert np.degrees(np.arccos(arms[0] @ arms[1] / (arms[0] @ arms[0]))) == pytest.approx(45)
    if kind in ("blended", "time_optimal", "trapezoidal"):
        close(q[1], np.array([0.9, 0.4]), 1e-9)


def test_a_circle_without_an_angle_is_whole() -> None:
    words = 'q0 = [0.3, 1.0]\ncenter = [0.7, 1.0, 0]\naxis = [0, 0, 1]\nduration = 2\norientation = "free"'
    made = parse(f'robot = "rr"\n[trajectory]\ntype = "cartesian_circle"\n{words}\n')
    start, half, end = made.robot.forward_kinematics(made.trajectory([0.0, 1.0, 2.0])[0])[:, :3, 3]
    close(end, start, 1e-9)
    close(half - [0.7, 1.0, 0], [0.7, 1.0, 0] - start, 1e-9)


def test_a_joint_that_stands_still_bounds_no_fastest_motion() -> None:
    points = "[[0, -1.5, 1, 0, 0, 0], [0.5, -1.2, 1, 0.2, 0, 0], [1, -1.5, 1.1, 0, 0, 0]]"
    made = parse(f'[trajectory]\ntype = "time_optimal"\npoints = {points}\nacceleration = 20', "ur5e")
    assert made.trajectory.duration == pytest.approx(0.511, abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("cartesian_line", "q0 = [0.3, 1.0]\nduration = 1", "expected to = .*, or by ="),
        ("cartesian_line", "q0 = [0.3, 1.0]\nby = [0.1, 0, 0]", "expected duration = seconds, or velocity"),
        ("cartesian_line", "q0 = [0.3, 1.0]\nby = [9, 0, 0]\nduration = 1", "cannot follow the path"),
        ("cartesian_circle", "q0 = [0.3, 1.0]\ncenter = [0.5, 0.5, 0]\nduration = 1", "missing key 'axis'"),
        ("blended", "points = [[0, 0], [1, 1]]\nacceleration = 2", "missing key 'velocity'; rr has joints without"),
        ("blended", "points = [[0, 0], [1, 1]]\nacceleration = 2\nvelocity = 0", "velocity = .* above zero"),
        ("time_optimal", "points = [[0, 0]]", r"\[trajectory\] type"),
    ],
)
def test_mistakes_in_a_motion_are_reported(kind: str, text: str, message: str) -> None:
    with pytest.raises(aw.ModelError, match=message):
        parse(f'robot = "rr"\n[trajectory]\ntype = "{kind}"\n{text}\n')


FALLING = 'robot = "rr"\nduration = 1\nq0 = [0.3, 0.2]\n'


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ('type = "position"\njoint = "joint1"\nvalue = 0.2', "joint1 at 0.2"),
        ('type = "speed"\njoint = "joint2"\nmost = 0.4', "joint2 faster than 0.4"),
        ('type = "plane"\nnormal = [0, 1, 0]\ndistance = 0.1\nname = "down"', "down"),
    ],
)
def test_events_of_a_file_end_a_run(text: str, ended: str) -> None:
    assert parse(f"{FALLING}[[event]]\n{text}").simulate().ended_by == ended


def test_stops_and_limits_of_a_file(tmp_path: Path) -> None:
    arm = aw.load("rr").with_limits([-1.0, 1.0])
    assert (
        parse(f'{FALLING}[[event]]\ntype = "limits"\njoints = ["joint1"]', arm)
        .simulate()
        .ended_by.startswith("joint1 reaches")
    )
    run = parse(f"stops = true\n{FALLING}every = 0.1", arm).simulate()
    assert run.audit.pressed is not None and run.q.min() > -1.05
    soft = parse(f"stops = {{stiffness = 100, damping = 1}}\n{FALLING}", arm).options["stops"]
    assert isinstance(soft, torque.Stops)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[event]]\ntype = "plane"\nnormal = [0, 0, 1]', "missing key 'distance'; the event 'plane' needs it"),
        ('[[event]]\ntype = "position"\njoint = "elbow"\nvalue = 1', "unknown joint of rr: 'elbow'"),
        ('[[event]]\ntype = "when"', "unknown type 'when'; expected one of limits"),
        ('[event]\ntype = "limits"', r"expected \[\[event\]\] tables"),
        ("stops = 3", "expected true or false"),
        ("stops = {hard = 3}", "expected true, or {stiffness"),
        ("[[phase]]\nduration = 1", "duration belongs to a phase"),
    ],
)
def test_mistakes_in_events_and_stops_are_reported(text: str, message: str) -> None:
    with pytest.raises(aw.ModelError, match=message):
        parse(text + "\n" + FALLING if text.startswith("stops") else FALLING + text)


PHASES = """
robot = "rr"
every = 0.05

[[phase]]
name = "reach"
trajectory = {type = "cycloidal", from = [0.2, -0.5], to = [1.0, 0.6], duration = 0.5}

[[phase]]
name = "grip"
duration = 0.1
payload = {mass = 2.0}

[[phase]]
until = {type = "position", joint = "joint1", value = 0.5}
trajectory = {type = "cycloidal", to = [0.2, -0.5], duration = 0.5}

[[phase]]
payload = {mass = 0}
duration = 0.2
torque = {law = "pd_gravity", target = [0.5, 0.0], kp = 50, kd = 10}
"""


def test_phases_of_a_file_pick_up_and_put_down() -> None:
    made = parse(PHASES)
    run = made.simulate()
    assert [part.settings["phase"] for part in run.phases] == ["reach", "grip", "phase 3", "phase 4"]
    assert [part.robot.payload.mass if part.robot.payload else 0 for part in run.phases] == [0, 2, 2, 0]
    assert run.phases[2].ended_by == "joint1 at 0.5"
    assert np.abs(run.phases[1].q - [1.0, 0.6]).max() < 1e-6  # it rests where the phase before ended
    assert run.audit.trustworthy
    along = parse(PHASES[: PHASES.rindex("[[phase]]")]).torques()
    assert len(along.phases) == 3 and along.t[-1] == pytest.approx(1.1)
    close(along.tau[3], run.tau[3], 1e-6)


def test_a_phase_that_ends_before_its_motion_does_leaves_the_robot_there() -> None:
    text = PHASES.replace('name = "reach"', 'name = "reach"\nduration = 0.25')
    reach, grip, *_ = parse(text).phases
    there = reach.trajectory(0.25)[0]
    with pytest.raises(aw.InputError, match=r"phase 1 lasts 0\.25 s, its motion 0\.5 s"):
        parse(text).torques()
    assert np.array_equal(grip.trajectory(0.0)[0], there) and np.abs(there - [1.0, 0.6]).max() > 0.1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("duration = 0.1", "", "phase 2: no motion; expected"),
        ("to = [0.2, -0.5]", "from = [0, 0], to = [1, 1]", "phase 3, trajectory: it begins at .*, but the robot is at"),
        ("payload = {mass = 2.0}", "payload = 2.0", "phase 2, payload: payload = 2.0: expected {mass"),
        ("payload = {mass = 2.0}", "payload = {mass = ''}", "phase 2, payload: mass = '' is not a number"),
        ("payload = {mass = 2.0}", "payload = {mass = -1}", "phase 2, payload: mass = -1.0 is negative"),
        ("until =", "torque = {law = 'free'}\nuntil =", "phase 3, torque: this law follows no trajectory"),
        ('joint = "joint1"', 'joint = "elbow"', r"phase 3, \[until\] type: unknown joint"),
        ('name = "grip"', 'nam = "grip"', "phase 2, nam: unknown key 'nam'"),
    ],
)
def test_mistakes_in_phases_are_reported(old: str, new: str, message: str) -> None:
    assert old in PHASES
    with pytest.raises(aw.ModelError, match=message):
        parse(PHASES.replace(old, new, 1))


def motion_file(folder: Path, parts: str = "q qd qdd") -> aw.trajectory.Trajectory:
    """A motion of two joints, written as a table of 101 rows to motion.csv."""
    motion = aw.trajectory.quintic([0, 0.5, 1], [[0, 0], [0.4, -0.3], [0.1, 0.2]])
    t = np.linspace(0, 1, 101)
    columns = {"t": t}
    for part, values in zip(("q", "qd", "qdd"), motion(t), strict=True):
        if part in parts.split():
            columns |= {f"{part}{i + 1}": column for i, column in enumerate(values.T)}
    write_csv(folder / "motion.csv", columns)
    return motion


@pytest.mark.parametrize("parts", ["q", "q qd", "q qd qdd"])
def test_a_scenario_follows_the_motion_in_a_file(tmp_path: Path, parts: str) -> None:
    motion = motion_file(tmp_path, parts)
    (tmp_path / "scenario.toml").write_text('[trajectory]\ntype = "sampled"\nfile = "motion.csv"\n')
    made = read(tmp_path / "scenario.toml", "rr")
    t = np.linspace(0, 1, 37)
    for order, tolerance in ((0, 1e-7), (1, 1e-5), (2, 1e-2)):
        close(made.trajectory(t)[order], motion(t)[order], tolerance)
    assert made.law.traceable  # in few pieces, which are as good
    result = aw.simulate(made.robot, made.law)
    close(result.q, motion(result.t)[0], 1e-3)


def test_a_motion_that_few_pieces_do_not_show_is_followed_row_by_row(tmp_path: Path) -> None:
    t = np.linspace(0, 1, 201)
    write_csv(tmp_path / "fast.csv", {"t": t, "q1": 0.1 * np.sin(150 * t), "q2": 0 * t})
    assert not parse('[trajectory]\ntype = "sampled"\nfile = "fast.csv"', "rr", folder=tmp_path).law.traceable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "does not exist; expected a .csv or .parquet file"),
        ("t,q1\n0,0\n1,0\n", "has the columns t, q1; expected t, q1 to q2"),
        ("q1,q2\n0,0\n1,0\n", "has the columns q1, q2; expected t, q1 to q2"),
        ("t,q1,q2,q3\n0,0,0,0\n1,0,0,0\n", "has column q3, but the robot has 2 joints"),
        ("t,q1,q2\n1,0,0\n0,0,0\n", "times"),
    ],
)
def test_a_file_that_is_no_motion_is_reported(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "motion.csv").write_text(text)
    scenario = '[trajectory]\ntype = "sampled"\nfile = "motion.csv"\n'
    with pytest.raises(aw.ModelError, match=rf"\[trajectory\] file.*{message}"):
        parse(scenario, "rr", folder=tmp_path)


def test_excite_simulate_identify_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("excite", "rr", "-o", "motion.csv")
    output = run("simulate", "rr", "--motion", "motion.csv", "--data", "run.csv", "--noise", "0.02")
    assert "run.csv: t, q, qd, qdd, tau in 1001 rows, torques with 0.02 of their RMS as noise" in output
    output = run("identify", "rr", "run.csv")
    assert re.search(r"joint1 .* (1\.9|2\.0)\d%", output) and "warning: the model leaves" not in output
    pytest.importorskip("pyarrow")
    run("torques", "rr", "--motion", "motion.csv", "--data", "run.parquet")
    assert "0.00%" in run("identify", "rr", "run.parquet")


def test_options_of_a_motion_that_do_not_fit_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    motion_file(tmp_path)
    (tmp_path / "scenario.toml").write_text(FULL)
    both = run("torques", "rr", "scenario.toml", "--motion", "motion.csv", code=2)
    assert '[trajectory] type = "sampled"' in both
    assert "expected a name that ends in .csv or .parquet" in run("simulate", "rr", "--data", "run.txt", code=2)
    assert "expected a part of the torque" in run("simulate", "rr", "--noise", "-1", code=2)


def test_speeds_and_torques_beyond_those_of_the_joints_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    motion_file(tmp_path)
    weak = aw.load("rr").map_joints(lambda joint: replace(joint, max_velocity=0.5, max_torque=10.0))
    weak.to_toml(tmp_path / "weak.toml")
    for command in ("torques", "simulate"):
        output = run(command, "weak.toml", "--motion", "motion.csv", code=1)
        assert "faster than the 0.5 rad/s it can" in output and "do not trust it" not in output
        assert re.search(
            r"beyond a limit from .* joint1 needs \d+(\.\d+)? N m at .* s, more than the 10 N m it has", output
        )


def told(*arguments: str) -> dict:
    return json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)


def test_a_payload_that_no_body_can_be_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    held = "1,0,0,0,1,1,5,0,0,0"
    assert "warning: payload: its principal moments 1, 1, 5" in run("torques", "rr", "--payload", held)
    (tmp_path / "s.toml").write_text(PHASES.replace("{mass = 2.0}", "{mass = 2, inertia = [1, 1, 5, 0, 0, 0]}"))
    assert run("simulate", "s.toml").count("break the triangle inequality") == 1


def test_flags_say_what_a_scenario_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    move = ("torques", "rr", "--from", "0.1,0.2", "--to", "0.5,-0.3", "--duration", "1", "--every", "0.1")
    (tmp_path / "same.toml").write_text(
        'every = 0.1\n[trajectory]\ntype = "quintic"\ntimes = [0, 1]\npoints = [[0.1, 0.2], [0.5, -0.3]]\n'
    )
    assert told(*move)["joints"] == told("torques", "rr", "same.toml")["joints"]
    light = told("torques", "rr", "same.toml", "--gravity", "0,0,0", "--payload", "0")["joints"]
    assert light[0]["peak_torque"] < 0.5 * told(*move)["joints"][0]["peak_torque"]
    (tmp_path / "lighter.toml").write_text("gravity = [0, 0, 0]\n" + (tmp_path / "same.toml").read_text())
    assert told("torques", "rr", "lighter.toml")["joints"] == light
    page = Path(told(*move, "-o", "page.html")["page"]).read_text()
    assert "quintic" in page  # how to run it again
    motion = aw.trajectory.quintic([0, 1], [[0.1, 0.2], [0.5, -0.3]])  # the same in Python
    peaks = [joint["peak_torque"] for joint in told(*move)["joints"]]
    np.testing.assert_allclose(peaks, np.abs(aw.torques_along(aw.load("rr"), motion, every=0.1).tau).max(axis=0))


def test_flags_that_cannot_be_are_reported_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm/urdf").mkdir(parents=True)
    (tmp_path / "arm/urdf/arm.urdf").write_text("<robot/>")
    for arguments, message in (
        (("rr", "--duration", "-1"), "duration = -1.0: expected seconds, above zero"),
        (("rr", "--to", "1,2,3"), "--to 1,2,3: 3 numbers; expected 2, as rr has joint1, joint2"),
        (("rr", "-o", "nowhere/x.html"), "--output nowhere/x.html: there is no folder nowhere"),
        (("arm",), "give its file: arm/urdf/arm.urdf"),
    ):
        assert message in run("torques", *arguments, code=2)
    output = run("torques", "ur5e", "--to", "0,-90,45,0,0,0", "--duration", "2", code=1)
    assert "-90 rad is far beyond -6.283 to 6.283; are these degrees? -90 degrees are -1.571 rad" in output
    assert "motion            to a position, 2 s\n" in output


def test_a_robot_falls_or_is_driven_as_flags_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fall = told(
        "simulate",
        "rr",
        "--law",
        "free",
        "--from",
        "0.1,0.2",
        "--duration",
        "0.2",
        "--integrator",
        "rk4",
        "--step",
        "0.01",
    )
    assert fall["to"] == 0.2 and fall["joints"][0]["to"] == 0.1 and fall["joints"][0]["peak_torque"] == 0
    (tmp_path / "s.toml").write_text(FULL)
    held = told(
        "simulate",
        "rr",
        "s.toml",
        "--law",
        "pd_gravity",
        "--set",
        "torque.kp=50",
        "--set",
        "torque.kd=[5, 5]",
        "--duration",
        "0.2",
    )
    assert held["to"] == 0.2 and "pd_gravity" in Path(held["page"]).read_text()
    ended = told("simulate", "rr", "--set", 'event=[{type="position", joint="joint1", value=0.2}]')
    assert ended["ended_by"] == "joint1 at 0.2"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "0.5,x"], "--to 0.5,x: 'x' is not a number; expected --to 0.1,0.2"),
        (["--gravity", "9.81"], "--gravity 9.81: expected three numbers"),
        (["--from", "0,0"], "expected --to as well, or --law free"),
        (["--law", "pd"], "missing key 'kp'; the law 'pd' needs it"),
        (["--law", "magic"], "unknown law 'magic'"),
        (["--set", "kp"], "--set kp: expected a key of a scenario and its value"),
        (["--set", "evry=1"], "unknown key 'evry'; did you mean 'every'"),
        (["--set", "torque=1"], "torque = 1 is not a table"),
        (["--set", "trajectory=1"], "trajectory = 1 is not a table"),
        (["--set", "integrator=1"], "integrator = 1 is not a table"),
        (["--set", 'robot="ur5e"'], "--set robot: the robot is rr"),
        (["--duration", "0"], "duration = 0.0: expected seconds, above zero"),
        (["--to", "0.1,0.1", "--duration", "0"], "duration = 0.0: expected seconds, above zero"),
        (["--set", "duration='long'"], "duration = 'long': expected seconds, above zero"),
        (["--to", "0.1,0.1", "--law", "free"], "--to: the law 'free' follows no motion"),
        (["--noise", "0.1"], "--noise needs --data, for its torques"),
        (["--seed", "3", "--data", "run.csv"], "--seed needs --noise"),
        (["--gravity", "0,0,-1", "--set", "gravity=[0,0,0]"], "--gravity and --set gravity both set it"),
        (["--integrator", "rk4"], "rk4 has no error estimate: give step="),
    ],
)
def test_flags_that_do_not_fit_are_reported(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in run("simulate", "rr", *words, code=2)


@pytest.mark.parametrize(
    "words",
    [
        ["--step", "0.1"],
        ["--stops"],
        ["--law", "computed_torque"],
        ["--set", "qd0=[1, 1]"],
        ["s.toml", "--duration", "0.2"],
    ],
)
def test_flags_that_torques_cannot_honour_are_reported(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(FULL)
    assert "has no effect on torques" in run("torques", "rr", *words, code=2)
    assert "peaks between would be missed" in run("torques", "rr", "--every", "99", code=2)


def test_flags_say_how_steps_are_taken_in_place_of_what_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(FULL)
    for words, kept in (
        (["rr", "--duration", "0.2", "--integrator", "rk4", "--step", "0.01"], 'method = "rk4"\nstep = 0.01\n'),
        (["s.toml", "--step", "0.01"], 'method = "tsit5"\nstep = 0.01\n'),
        (["s.toml", "--integrator", "bs32"], 'method = "bs32"\nrtol = 1e-07\n'),
    ):
        assert kept in Path(told("simulate", *words)["page"]).read_text().replace("&quot;", '"')


def test_a_file_that_changes_the_robot_alone_moves_as_flags_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "held.toml").write_text('robot = "rr"\npayload = {mass = 2.0}\nevery = 0.1\n')
    for words in (["--duration", "1"], ["--to", "0.5,0.2"], ["--set", "duration=1"]):
        same = told("torques", "rr", "--payload", "2", "--every", "0.1", *words)
        assert told("torques", "held.toml", *words)["joints"] == same["joints"]


def test_scenarios_that_name_their_robots_are_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cell = tmp_path / "cell"
    cell.mkdir()
    replace(aw.load("rr"), name="small").to_toml(cell / "small.toml")
    for name, robot in (("fall", "small.toml"), ("other", "rr")):
        (cell / f"{name}.toml").write_text(f'robot = "{robot}"\nduration = 0.1\n')
    found = told("simulate", "cell")
    assert [(run["robot"], run["page"]) for run in found] == [("small", "fall.html"), ("rr", "other.html")]
    assert told("simulate", "cell/fall.toml")["robot"] == "small"
    run("simulate", "cell/fall.toml", "cell/other.toml", "-o", "pages")
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["fall.html", "other.html"]
    assert [run["robot"] for run in told("simulate", "rr", "cell/fall.toml", "cell/other.toml")] == ["rr", "rr"]
    assert "the scenario selects the robot" in run("simulate", "cell", "--tip", "link2", code=2)
    (cell / "study.toml").write_text('robot = "rr"\n[vary]\n"payload.mass" = [0, 1]\n')
    (cell / "wrong.toml").write_text('robot = "rr"\nduration = 0.1\nevery = 9\n')
    assert "wrong: every = 9 s is longer than the run" in run("simulate", "cell", code=2)
    (tmp_path / "fall.toml").write_text('robot = "rr"\nduration = 0.1\n')
    assert "would write the page fall.html" in run("simulate", "cell/fall.toml", "fall.toml", code=2)
    (tmp_path / "empty").mkdir()
    assert "no scenario in this folder" in run("simulate", "empty", code=2)


def test_phases_are_reported_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "phases.toml").write_text(PHASES)
    output = run("simulate", "phases.toml")
    assert "rr holding 0, then 2, then 0 kg" in output and re.search(r"grip +0.5 s +0.6 s +2 kg", output)
    assert [phase["payload"] for phase in told("simulate", "phases.toml")["phases"]] == [0, 2, 2, 0]
