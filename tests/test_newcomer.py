"""What a newcomer types: the fastest motion, the most payload, pages side by side, and words that do not fit."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.cli.argument_checks import check_arguments
from armwright.scenario import parse
from armwright.scenario.standard_motion import LIMIT_SHARE, NOMINAL_DURATION, home, pace, pick_and_place_speed

TO = "0.5,-1,1,0,0.5,0"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def told(*words: str) -> dict:
    return json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)


# ------------------------------------------------------------------------------------------------------- the fastest


def test_fastest_is_the_time_optimal_motion_from_and_to_anywhere() -> None:
    arm = aw.load("ur5e")
    begin, end = [0.1, -0.5, 0.4, 0.0, 0.2, 0.3], [0.5, -1, 1, 0, 0.5, 0]
    words = ("torques", "ur5e", "--fastest", "--to", TO, "--from", ",".join(map(str, begin)))
    found, known = told(*words)["motion"], aw.trajectory.time_optimal(arm, [begin, end])
    assert found["type"] == "time_optimal" and found["duration"] == pytest.approx(known.duration, rel=1e-12)
    assert found["limits"] == known.within == "torque and speed of all joints; no limit of acceleration or jerk"
    assert [(x["joint"], x["quantity"]) for x in found["limited_by"]] == [(x.name, x.quantity) for x in known.limiting]
    text = run(*words)
    assert "limits torque and speed of all joints; no limit of acceleration or jerk" in text
    assert re.search(r"held back by (speed|torque) of \w+ \d+%", text)


@pytest.mark.parametrize("how", ["--fastest", "type"])
def test_the_fastest_motion_from_home_reaches_limits_and_exceeds_none(how: str) -> None:
    flags = ["--fastest"] if how == "--fastest" else ["--set", "trajectory.type=time_optimal"]
    found = told("torques", "ur5e", "--to", TO, *flags)
    shares = [share for joint in found["joints"] for share in (joint["of_torque"], joint["of_speed"])]
    assert 0.97 < max(shares) <= 1 + 1e-9 and found["audit"]["trustworthy"]


def test_simulate_fastest_leaves_a_hundredth_to_the_controller() -> None:
    quick, driven = told("torques", "ur5e", "--fastest", "--to", TO), told("simulate", "ur5e", "--fastest", "--to", TO)
    assert quick["motion"]["duration"] < driven["motion"]["duration"] < 1.02 * quick["motion"]["duration"]
    assert driven["audit"]["trustworthy"] and driven["motion"]["limits"].startswith("99% of torque and speed")


def test_fastest_goes_along_the_path_of_a_scenario_and_of_a_file() -> None:
    """The path of the scenario or the table, in its own order, and faster than it was given."""
    arm, points = aw.load("ur5e"), [[0, -1, 1, 0, 0, 0], [0.5, -1.2, 1.3, 0, 0.2, 0.1], [1, -1, 1, 0, 0, 0]]
    Path("slow.toml").write_text(f'[trajectory]\ntype = "quintic"\ntimes = [0, 5, 10]\npoints = {points}\n')
    slow = aw.trajectory.quintic([0, 5, 10], points)
    t = np.linspace(0, 10, 101)
    aw.identify.measured_data.write_csv("slow.csv", {"t": t, **{f"q{i + 1}": x for i, x in enumerate(slow(t)[0].T)}})
    known = aw.trajectory.time_optimal(arm, slow).duration
    by_scenario = told("torques", "ur5e", "slow.toml", "--fastest")["motion"]["duration"]
    by_file = told("torques", "ur5e", "--motion", "slow.csv", "--fastest")["motion"]["duration"]
    assert by_scenario == pytest.approx(known, rel=1e-9) and by_file == pytest.approx(known, rel=1e-2)
    assert known < 2


def test_limits_of_a_fastest_motion_are_given_by_set_and_missing_ones_are_told() -> None:
    missing = run("torques", "rr", "--fastest", "--to", "1,1", code=2)
    assert "neither torques nor accelerations of rr are limited" in missing
    assert "on the command line --set trajectory.acceleration=8" in missing
    found = told("torques", "rr", "--fastest", "--from", "0,0", "--to", "1,0.5", "--set", "trajectory.acceleration=8")
    assert found["motion"]["duration"] == pytest.approx(2 * np.sqrt(1 / 8), rel=1e-3)  # bang-bang over one radian
    assert found["motion"]["limits"] == "acceleration of all joints; no limit of torque or speed or jerk"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--duration", "2"], "--fastest and --duration: --fastest finds the duration"),
        (["--most-payload"], "--fastest and --most-payload: --fastest uses all of the torque"),
        (["--law", "free"], "--fastest: the law 'free' follows no motion"),
        (["--to", TO, "--set", "trajectory.reserve=1"], "reserve = 1: expected the unused part of each limit"),
        (["--to", TO, "--set", "trajectory.kp=1"], "unknown key 'kp'"),
    ],
)
def test_what_does_not_go_with_fastest_is_refused(words: list[str], message: str) -> None:
    assert message in run("simulate", "ur5e", "--fastest", *words, code=2)


def test_a_key_of_a_motion_that_flags_do_not_take_is_not_lost() -> None:
    assert "unknown key 'kind'" in run("torques", "ur5e", "--to", TO, "--set", "trajectory.kind=1", code=2)


def test_a_scenario_says_a_time_optimal_motion_by_points_by_its_ends_or_along_another() -> None:
    arm, a, b = aw.load("ur5e"), [0, -1, 1, 0, 0, 0], [0.5, -1, 1, 0, 0.5, 0]
    known = aw.trajectory.time_optimal(arm, [a, b]).duration
    ways = (
        f"points = {[a, b]}",
        f"from = {a}\nto = {b}",
        f'along = {{type = "cubic", times = [0, 9], points = {[a, b]}}}',
    )
    for way in ways:
        motion = parse(f'[trajectory]\ntype = "time_optimal"\n{way}\n', arm).trajectory
        assert motion is not None and motion.duration == pytest.approx(known, rel=1e-3)
    from_home = parse(f'[trajectory]\ntype = "time_optimal"\nto = {b}\n', arm).trajectory
    assert from_home is not None and from_home(0)[0] == pytest.approx(home(arm), abs=1e-12)
    half = parse(f'[trajectory]\ntype = "time_optimal"\nreserve = 0.5\n{ways[1]}\n', arm).trajectory
    limits = {"velocity": 0.5 * np.array([j.max_velocity for j in arm.joints])}
    limits["torque"] = 0.5 * np.array([j.max_torque for j in arm.joints])
    assert half is not None
    assert half.duration == pytest.approx(aw.trajectory.time_optimal(arm, [a, b], **limits).duration, rel=1e-12)
    for wrong, message in (
        ("", "got none of them; expected points"),
        (f"{ways[0]}\nto = {b}", "got points and to"),
        ("along = 3", "expected a table of another motion"),
        ('along = {type = "cubik"}', "unknown type 'cubik'"),
    ):
        with pytest.raises(aw.ModelError, match=re.escape(message)):
            parse(f'[trajectory]\ntype = "time_optimal"\n{wrong}\n', arm)


# -------------------------------------------------------------------------------------------------- the default motion


@pytest.mark.parametrize("name", ["ur5e", "kinova_gen3"])
def test_the_default_motion_is_as_brisk_as_its_limits_allow_and_says_which(name: str) -> None:
    arm, found = aw.load(name), told("torques", name)
    shares = [share for joint in found["joints"] for share in (joint["of_torque"], joint["of_speed"])]
    assert max(shares) <= LIMIT_SHARE + 1e-9
    assert max(shares) > LIMIT_SHARE * (
        1 - 0.11 / found["motion"]["duration"]
    )  # it lasts up to a tenth of a second longer
    limit = max(found["joints"], key=lambda joint: max(joint["of_torque"], joint["of_speed"]))["joint"]
    assert pick_and_place_speed(arm).limit in (f"the speed of {limit}", f"the torque of {limit}")
    line = f"pick and place, {found['motion']['duration']:g} s, as fast as 95% of the speed of {limit} allows"
    assert line in found["motion"]["chosen"]


def test_the_pace_of_a_motion_is_that_of_the_torque_where_that_gives_out_first() -> None:
    """Without gravity torques go with the square of the pace."""
    arm = aw.load("rr").with_gravity([0, 0, 0])
    motion = aw.trajectory.quintic([0, 1], [[0, 0], [1, -0.5]])
    peak = float(np.abs(aw.torques_along(arm, motion).tau[:, 0]).max())
    found = pace(arm.with_limits(torque={"joint1": 0.02 * peak}), motion)
    assert found.duration == pytest.approx(np.sqrt(1 / 0.019), abs=0.11) and found.limit == "the torque of joint1"
    assert pace(arm, motion) == (found.__class__)(1.0) and pick_and_place_speed(arm).duration == NOMINAL_DURATION
    weak = pace(arm.with_gravity([-9.81, 0, 0]).with_limits(torque=1e-3), motion)
    assert not weak.enough and "not enough even 10 times as slowly" in str(weak)


def test_torques_of_a_payload_beyond_the_class_of_a_robot_say_what_was_asked() -> None:
    assert "asked" not in run("torques", "ur5e", "--payload", "4")
    assert "requested 7 kg, more than the 5 kg that its maker rates ur5e for" in run(
        "torques", "ur5e", "--payload", "7"
    )
    text = run("torques", "ur5e", "--payload", "60,0,0,0.1", code=1)
    most = float(re.search(r"along this motion, as fast, it can hold ([\d.]+) kg there", text)[1])
    motion = aw.scenario.pick_and_place(aw.load("ur5e"), NOMINAL_DURATION).trajectory
    assert most == pytest.approx(aw.load("ur5e").most_payload(motion, [0, 0, 0.1]).mass, rel=1e-3)
    assert "3.4 s with an empty hand" in text
    heavy = run("torques", "kinova_gen3", "--payload", "9", code=1)
    assert re.search(r"requested 9 kg, more than the [\d.]+ kg that kinova_gen3 itself moves", heavy)


def test_a_rated_payload_is_kept_in_a_file() -> None:
    arm = aw.load("panda")
    assert arm.rated_payload == 3.0 and aw.load("rr").rated_payload is None
    arm.to_toml("arm.toml")
    assert aw.load("arm.toml").rated_payload == 3.0
    Path("odd.toml").write_text(
        "rated_payload = -1\n" + Path("arm.toml").read_text().replace("rated_payload = 3.0\n", "")
    )
    with pytest.raises(aw.ModelError, match=r"rated_payload = -1.0 is negative"):
        aw.load("odd.toml")


# ---------------------------------------------------------------------------------------------------- the most payload


def test_most_payload_on_the_command_line_is_that_of_python_and_runs_with_it() -> None:
    arm = aw.load("ur5e")
    words = ("torques", "ur5e", "--to", TO, "--duration", "1.5", "--payload-at", "0,0,0.1,0.01,0.01,0.01,0,0,0")
    found = told(*words, "--most-payload")
    motion = aw.trajectory.quintic([0, 1.5], [home(arm), [float(x) for x in TO.split(",")]])
    known = arm.most_payload(motion, [0, 0, 0.1], gyration=0.01 * np.eye(3))
    assert found["most_payload"]["mass"] == pytest.approx(known.mass, rel=1e-12)
    assert found["most_payload"]["joint"] == known.joint and found["most_payload"]["at"] == known.time
    assert 0.999 < max(joint["of_torque"] for joint in found["joints"]) <= 1 + 1e-9 and found["audit"]["trustworthy"]
    text = run(*words, "--most-payload")
    assert found["most_payload"]["rated_payload"] == 5 and "its maker rates it for 5 kg" in text
    assert f"ur5e can hold {known.mass:.4g} kg at (0, 0, 0.1) m of its tool; {known.joint} gives out first" in text
    assert "the next joint to give out is" in text and "however slowly along this path" in text
    page = Path(found["payload_page"]).read_text()
    assert "The most payload that each joint allows" in page and page.count("<figure") == 1


def test_most_payload_of_a_robot_that_is_too_weak_or_has_no_limits_is_a_clear_answer() -> None:
    words = ("torques", "panda", "--most-payload", "--duration", "0.4")
    assert "too weak: panda cannot follow this motion even without a payload" in run(*words, code=1)
    found = told(*words)
    assert found["most_payload"] is None and "panda cannot follow" in found["reason"]
    assert "no joint of rr has a largest torque" in run("torques", "rr", "--most-payload", code=2)
    assert "--payload-at is the centre of the payload of --most-payload" in run(
        "torques", "panda", "--payload-at", "0,0,0.1", code=2
    )
    assert "2 numbers; expected the centre" in run("torques", "panda", "--most-payload", "--payload-at", "0,1", code=2)
    Path("rub.toml").write_text(
        f'[trajectory]\ntype = "cycloidal"\nfrom = {[0] * 6}\nto = {[0.1] * 6}\nduration = 1\n'
        '[torque]\nlaw = "computed_torque"\nkp = 100\nkd = 20\nfriction = {viscous = 5}\n'
    )
    assert "--most-payload uses the friction of the robot" in run(
        "torques", "ur5e", "rub.toml", "--most-payload", code=2
    )


def test_most_payload_comes_beside_a_gripper_and_simulates() -> None:
    found = told("simulate", "panda", "--most-payload", "--payload", "0.8", "--duration", "12")
    bare = told("simulate", "panda", "--most-payload", "--duration", "12")
    assert found["most_payload"]["mass"] == pytest.approx(bare["most_payload"]["mass"] - 0.8, rel=1e-9)


# --------------------------------------------------------------------------------------------------------------- pages


def test_pages_of_other_payloads_robots_and_scenarios_stand_side_by_side(folder: Path) -> None:
    for payload in ("1", "2"):
        run("torques", "panda", "--payload", payload)
    assert Path("panda_1kg_torques.html").exists() and Path("panda_2kg_torques.html").exists()
    run("torques", "panda", "--payload", "2")  # again: the same page
    run("torques", "panda", "--payload", "2,0,0,0.1")  # another centre
    assert {path.name for path in folder.glob("panda_2kg*")} == {"panda_2kg_torques.html", "panda_2kg_2_torques.html"}
    Path("rr.html").write_text("mine")
    run("simulate", "rr", "--law", "free", "--duration", "0.01")
    assert Path("rr.html").read_text() == "mine" and Path("rr_2.html").exists()
    assert told("simulate", "rr", "--law", "free", "--duration", "0.01")["page"] == "rr_2.html"
    assert told("simulate", "rr", "--law", "free", "--duration", "0.01", "--gravity", "0,0,0")["page"] == "rr_3.html"
    Path("pages").mkdir()
    assert told("simulate", "rr", "--law", "free", "--duration", "0.01", "-o", "pages")["page"] == "pages/rr.html"


def test_a_page_that_the_user_names_is_replaced_and_must_be_html() -> None:
    Path("page.html").write_text("old")
    run("simulate", "rr", "--law", "free", "--duration", "0.01", "-o", "page.html")
    assert len(Path("page.html").read_text()) > 1000
    assert "a page is HTML" in run("simulate", "rr", "--law", "free", "--duration", "0.01", "-o", "page.pdf", code=2)


def test_a_link_in_the_place_of_a_page_is_not_written_through() -> None:
    Path("precious").write_text("precious")
    Path("rr.html").symlink_to("precious")
    run("simulate", "rr", "--law", "free", "--duration", "0.01")
    assert Path("precious").read_text() == "precious" and Path("rr_2.html").exists()


# ------------------------------------------------------------------------------------------------------------ messages

SPACED = [
    ("torques panda --payload 3 0 0 0.1", "expected --payload 3,0,0,0.1"),
    ("show panda --payload 3 0 0 0.1", "expected --payload 3,0,0,0.1"),
    ("torques panda --payload 3, 0, 0, 0.1", "expected --payload 3,0,0,0.1"),
    ("torques panda --payload=3 0 0 0.1", "expected --payload 3,0,0,0.1"),
    ("simulate panda --gravity 0 0 -9.81", "expected --gravity 0,0,-9.81"),
    ("torques panda --gravity -1 0 0", "expected --gravity=-1,0,0"),
    ("torques rr --to 1 2", "expected --to 1,2"),
    ("compare rr rr --payload-there 1 0 0 0", "expected --payload-there 1,0,0,0"),
]


@pytest.mark.parametrize(("words", "message"), SPACED)
def test_numbers_with_spaces_between_are_told_with_commas(words: str, message: str) -> None:
    text = run(*words.split(), code=2)
    assert "are separated by commas, without spaces" in text and message in text
    assert "scenario" not in text


def test_a_number_may_stand_after_a_payload_where_a_command_counts_joints() -> None:
    check_arguments("count", ["--payload", "3", "6"])
    with pytest.raises(aw.InputError, match="expected --payload 3,6"):
        check_arguments("show", ["--payload", "3", "6"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["torques", "rr", "--payload", "3 0 0 0.1"],
            "expected commas and no spaces between the numbers: --payload 3,0,0,0.1",
        ),
        (["torques", "rr", "--payload", "3kg"], "'3kg' is not a number; expected --payload 2.5"),
        (["torques", "rr", "--payload", "2,5"], "got 2 numbers; expected a mass in kg, such as --payload 2.5"),
        (["torques", "rr", "--to", "90deg,0"], "'90deg' is not a number"),
        (["torques", "rr", "--duration", "2s"], "'2s' is not a number; expected it without a unit"),
        (["torques", "rr", "--duration", "2,5"], "'2,5' is not a number; expected a decimal point: 2.5"),
        (["torques", "rr", "--duration", "long"], "'long' is not a number; expected a number such as 2.5"),
        (["torques", "rr", "--seed", "2.5"], "'2.5' is not a whole number"),
        (["torques", "no.urdf"], "no.urdf does not exist; expected a robot file, or the name of a packaged robot"),
        (["torques", "no.urdf"], "armwright robots"),
        (["torques", "rr", "no.toml"], "no.toml does not exist; expected a scenario, a .toml file"),
        (["torques", "rr", "3"], "3: a number in the place of a scenario"),
        (["torques", "rr", "panda"], "panda: a second robot after rr"),
        (["torques", "rr", "no.urdf"], "no.urdf: a second robot after rr"),
        (["torques", "rr", "motion.csv"], "a motion in a table is --motion motion.csv"),
        (["torques", "rr", "there"], "there is a folder; expected a scenario"),
        (["torques", "rr", "notes.txt"], "notes.txt: expected a scenario, a .toml file"),
        (["torques", "rr", "--motion", "no.parquet"], "no.parquet does not exist; expected a .csv or .parquet file"),
        (
            ["view", "no.parquet"],
            "no.parquet does not exist; expected a run, a .parquet file that Run.to_parquet wrote",
        ),
        (["view", "junk.parquet"], "junk.parquet is not a Parquet file, or is damaged; expected a run"),
        (["identify", "rr", "junk.parquet"], "junk.parquet is not a Parquet file, or is damaged; expected a table"),
        (["size", "rr"], "rr does not exist; expected a sizing file in TOML"),
        (["sweep", "rr"], "rr does not exist; expected a study, a .toml file, or a folder of its results"),
        (["sweep", "no.toml"], "no.toml does not exist; expected a study"),
        (["check", "there"], "there is a folder; expected a robot file"),
        (["check", "no.urdf"], "no.urdf does not exist; expected a robot file"),
        (["export", "rr", "-o", "notes.txt"], "notes.txt is a file; expected a folder to write to"),
        (["torques", "baxter", "--most-payload"], "--tip LINK"),
    ],
    ids=" ".join,
)
def test_what_is_typed_wrong_is_told_with_what_to_type(words: list[str], message: str, folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "notes.txt").write_text("notes")
    (folder / "motion.csv").write_text("t,q1,q2\n0,0,0\n1,1,1\n")
    (folder / "junk.parquet").write_bytes(b"junk")
    text = run(*words, code=2).replace("│ ", "")
    assert message in text and "Traceback" not in text and "Errno" not in text and "armwright.load" not in text


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("t;q1;q2\n0;0;0\n1;1;1\n", "has semicolons between its columns; expected commas"),
        ("t\tq1\tq2\n0\t0\t0\n", "has tabs between its columns; expected commas"),
        ("t,q1,q2\n0,0,0\n1,x,1\n", "line 3, column q1: 'x' is not a number"),
        ("t,q1,q2\n0,0,0\n\n1,1\n", "line 4: 2 numbers; expected 3, one for each of t, q1, q2"),
        ("t,q1,q2\n", "has no rows"),
    ],
)
def test_a_table_from_elsewhere_is_told_line_by_line(table: str, message: str) -> None:
    Path("motion.csv").write_text(table)
    assert message in run("torques", "rr", "--motion", "motion.csv", code=2)


def test_the_list_of_robots_begins_with_the_list() -> None:
    result = CliRunner().invoke(app, ["robots"])
    assert result.output.startswith("robot ") and "warning" not in result.output
    assert (
        "Packaged as published, with numbers that look wrong: puma_mohan2007, ur5. See armwright show NAME"
        in result.output
    )


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [("viser", ["view", "rr"], "view"), ("pyarrow.parquet", ["view", "run.parquet"], "parquet")],
)
def test_an_extra_that_is_not_installed_is_named(
    package: str, words: list[str], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert f"pip install 'armwright[{extra}]'" in run(*words, code=2)
