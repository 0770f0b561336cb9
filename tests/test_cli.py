"""The command line, as typed."""

import errno
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.errors import unknown
from armwright.integrate import methods
from armwright.study.work_precision import WORK_ACCURACIES


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_robots_lists_every_packaged_robot() -> None:
    output = run("robots")
    assert all(name in output for name in aw.robots())


def test_show_prints_the_tables_and_the_verdict(robot_name: str) -> None:
    output = run("show", robot_name)
    assert str(aw.load(robot_name)) in output
    assert ("No problems found" in output) != ("problem:" in output)
    assert ("No problems found; notes:" in output) == ("note:" in output and "problem:" not in output)


def test_show_lists_links_and_frames() -> None:
    arm, output = aw.load("g1"), run("show", "g1", "--frames")
    assert all(name in output for name in arm.frame_names)
    assert re.search(r"head_link +torso_link", output) and re.search(
        r"imu_in_pelvis +0\.04525 +0 +-0\.08339 +-", output
    )


def completed(*words: str) -> list[str]:
    """What a shell is told that completes the last word."""
    line = " ".join(["armwright", *words])
    env = {"_ARMWRIGHT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    return CliRunner().invoke(app, [], prog_name="armwright", env=env).stdout.split()


def test_a_shell_completes_commands_robots_and_laws() -> None:
    assert completed("simu") == ["simulate"]
    assert completed("show", "ur") == [name for name in aw.robots() if name.startswith("ur")]
    assert completed("simulate", "rr", "--law", "pd") == ["pd", "pd_gravity"]
    assert completed("schema", "s") == ["scenario", "study", "size"]
    assert "complete -o default" in run("--show-completion", "bash")


def test_torques_of_a_robot_that_floats_are_not_those_of_a_missing_scenario() -> None:
    output = run("torques", "anymal_c", code=2)
    assert "q of anymal_c has quaternions" in " ".join(output.split()) and "scenario" not in output


def test_show_tells_the_problems_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(aw.load("puma560").to_toml().replace("mass = 4.8", "mass = 0.0"))
    output = run("show", str(path))
    assert "problem: forearm: its mass is zero" in output


@pytest.mark.parametrize("command", ["show", "count"])
def test_an_unknown_robot_is_one_line_on_stderr(command: str) -> None:
    output = run(command, "puma650", code=2)
    assert output.startswith("error: unknown robot 'puma650'. Did you mean 'puma560'?")
    assert "Traceback" not in output


def test_a_bad_file_is_one_line_on_stderr(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('convention = "modified"\n[[link]]\ntype = "revolute"\nalfa = 0.0\n')
    output = run("show", str(path), code=2)
    assert output.startswith("error: bad.toml, line 4: link 1: unknown key 'alfa'; did you mean 'alpha'?")


def test_formulations_lists_every_formulation() -> None:
    output = run("formulations")
    assert all(f.name in output for f in aw.formulations())


def test_count_of_a_robot_sets_it_beside_a_general_one() -> None:
    output = run("count", "stanford")
    assert "stanford (RRPRRR)" in output
    assert "natural_orthogonal_complement" in output


@pytest.mark.parametrize("joints", ["0", "61", "9" * 30])
def test_count_of_no_or_too_many_joints_is_refused(joints: str) -> None:
    assert "expected 1 to 60" in run("count", joints, code=2)


def test_count_of_few_or_prismatic_joints_has_no_formulas() -> None:
    for joints in ("1", "2", "RRP"):
        output = run("count", joints)
        assert "published formulas are for 3 or more revolute joints" in output
        assert "117n" not in output


def test_count_of_nonsense_is_refused() -> None:
    assert "whole number" in run("count", "1.5", code=2)
    assert "unknown robot '²'" in run("count", "²", code=2)


def test_a_name_that_looks_like_markup_is_printed_as_it_is(tmp_path: Path) -> None:
    replace(aw.load("rr"), name="x [/b]").to_toml(tmp_path / "odd.toml")
    assert "x [/b] (RR)" in run("count", str(tmp_path / "odd.toml"))


def test_version() -> None:
    assert run("--version") == f"armwright {aw.__version__}\n"


def test_bench_times_every_peer_that_is_there() -> None:
    text = run("bench", "rr", "--batch", "64", "--rounds", "1")
    for word in ("inverse dynamics", "armwright, rows", "pin.rneaInParallel", "relative", "llvmlite"):
        assert word in text
    run("bench", "rr", "--batch", "0", code=2)


def test_export_writes_what_python_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--functions", "bias,jacobian@forearm", "--vary", "gravity", "--wrenches", "tip_wrench", "--float"]
    output = run("export", "puma560", "--payload", "2", *asked)
    assert "bias" in output and "gravity[3] tip_wrench[6]" in output and "puma560_selftest.c" in output
    arm, functions = aw.load("puma560").with_payload(2), ["bias", "jacobian@forearm"]
    for path in aw.export(arm, "c", "same", functions, "float32", ["gravity"], ["tip_wrench"]):
        assert (tmp_path / "puma560" / path.name).read_text() == path.read_text()
    data = json.loads(run("export", "rr", "--to", "python", "-o", "there", "--functions", "bias", "--json"))
    assert data["files"] == ["there/rr.py"] and data["functions"]["bias"]["arguments"] == {"q": 2, "qd": 2}
    assert json.loads(run("export", "rr", "--to", "jax", "-o", "there", "--json"))["files"] == ["there/rr_jax.py"]
    assert "unknown export target 'fortran'" in run("export", "rr", "--to", "fortran", code=2)
    assert "unknown problem 'biass'" in run("export", "rr", "--functions", "biass", code=2)


TWO_ARMS = """<robot name="two">
  <link name="base"/><link name="left"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="2"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.02" iyy="0.04" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"><inertial><mass value="0.5"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  {joints}
</robot>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/>
  <origin xyz="{3} 0 0"/><limit lower="-1" upper="1" effort="50" velocity="2"/></joint>"""


@pytest.fixture
def two_arms(tmp_path: Path) -> str:
    """A file with a left arm of two joints and a right arm of one."""
    joints = [("a", "base", "left", 0.1), ("b", "left", "tool", 0.4), ("c", "base", "right", -0.1)]
    path = tmp_path / "two.urdf"
    path.write_text(TWO_ARMS.format(joints="\n".join(JOINT.format(*joint) for joint in joints)))
    return str(path)


@pytest.mark.parametrize(
    "command",
    [
        ["show"], ["count"], ["torques"], ["simulate"], ["excite"], ["check", "--quick"], ["export", "--functions", "bias"],
        ["bench", "--rounds", "1", "--batch", "8"], ["precision", "--states", "2"], ["integrators", "--duration", "0.01"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_command_takes_a_chain_of_a_file(
    two_arms: str, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    which = ["--base", "base", "--tip", "right", "--lock", "a=0.3", "--lock", "b=-0.2", "--package", f"two={tmp_path}"]
    run(command[0], two_arms, *which, *command[1:])
    assert "unknown link 'hand'" in run(command[0], two_arms, "--tip", "hand", *command[1:], code=2)


def test_compare_takes_a_chain_of_either_file(two_arms: str) -> None:
    assert "the same" in run("compare", two_arms, two_arms, "--tip", "right", "--tip-there", "right")
    locked = ("--tip", "right", "--tip-there", "right", "--lock", "a=0.3", "--lock-there", "a=0.3")
    assert "the same" in run("compare", two_arms, two_arms, *locked)
    assert "choose the same part" in run("compare", two_arms, two_arms, "--tip", "right", code=2)


def test_arguments_of_a_xacro_file_and_the_packages_it_includes_from(two_arms: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    text = Path(two_arms).read_text().replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    (shared / "arms.xacro").write_text(text.replace('mass value="2"', 'mass value="$(arg mass)"'))
    file = tmp_path / "robot.xacro"
    file.write_text(
        '<robot name="two" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="mass" default="2"/>'
        '<xacro:include filename="$(find parts)/arms.xacro"/></robot>'
    )
    which = (str(file), "--tip", "right", "--lock", "a=0", "--lock", "b=0")
    assert "on the command line: --package NAME=FOLDER" in run("show", *which, code=2)
    which += ("--package", f"parts={shared}")
    assert " 7.25 " in run("show", *which, "--arg", "mass=7.25")
    assert "--arg mass: expected an argument and its value" in run("show", *which, "--arg", "mass", code=2)
    run("check", *which, "--arg", "mass=7.25", "--quick")
    assert "and no mass" in run("check", *which, "--arg", "mass=0", "--quick", code=1)


def test_messages_name_the_options_of_the_command_line(two_arms: str) -> None:
    assert "(on the command line: --lock JOINT=POSITION)" in run("show", two_arms, "--tip", "right")
    assert "(on the command line: --base LINK, --tip LINK" in run("compare", two_arms, "rr", "--tip", "right", code=2)
    assert "on the command line" not in run("show", "rr")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--lock", "a"), "--lock a: expected a joint and its position"),
        (("--lock", "a=far"), "--lock a=far: expected a joint and its position"),
        (("--package", "two"), "--package two: expected a package and its folder"),
    ],
)
def test_options_of_a_robot_that_are_half_given_are_told(two_arms: str, option: tuple[str, str], message: str) -> None:
    assert message in run("show", two_arms, *option, code=2)


def test_all_choices_are_told_and_of_very_many_the_nearest() -> None:
    text = " ".join(run("show", "ur5f", code=2).split())
    assert f"Known: {', '.join(aw.robots())}. A file is given by a path that ends in .toml, .urdf" in text
    text = " ".join(run("simulate", "rr", "--integrator", "euler", code=2).split())
    assert all(name in text for name in methods()) and "more" not in text
    links = [f"link{i}" for i in range(100)]
    assert "Did you mean 'link1'? Known: link1, link10" in (told := str(unknown("link", "lnk1", links)))
    assert told.endswith("and 94 more.")


def shown(monkeypatch: pytest.MonkeyPatch, width: int, *arguments: str) -> list[str]:
    """The lines a terminal of this width is given."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", run(*arguments))
    return [line.rsplit("\r", 1)[-1].rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("width", [80, 120])
def test_words_fold_to_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    for command in (["robots"], ["check", "panda", "--quick"], ["compare", "puma560", "rr", "--json"]):
        code = 2 if command[0] == "compare" else 0
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", run(*command, code=code))
        assert max(len(line.rstrip()) for line in re.split(r"[\r\n]+", text)) <= width
    names = " ".join(shown(monkeypatch, width, "robots"))
    assert all(f"{name} " in names for name in aw.robots())


def test_numbers_and_names_are_never_cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    wide = shown(monkeypatch, 60, "precision", "rr", "--states", "2")
    assert any(re.match(r"natural_orthogonal( +\d\.\de-\d+){4}$", line) for line in wide)
    assert "_complement_gauss" in wide
    assert max(map(len, shown(monkeypatch, 80, "torques", "panda"))) <= 80


def test_a_pipe_gets_long_lines() -> None:
    assert any(len(line.rstrip()) > 100 for line in run("robots").splitlines())


def test_a_proof_that_was_not_tried_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def peer(*_: object) -> np.ndarray:
        raise ValueError("no such body")

    monkeypatch.setattr("armwright.cli.check.installed_peers", lambda *_: {"Nobody": peer})
    line = next(line for line in run("check", "rr").splitlines() if "Nobody agrees" in line)
    assert line.split() == ["Nobody", "agrees", "not", "tried", "ValueError:", "no", "such", "body"]


def test_meshes_that_are_not_there_are_one_line_on_the_terminal(tmp_path: Path) -> None:
    text = aw.load("rr").to_toml()
    for link in ("link1", "link2"):
        text = text.replace(f'name = "{link}"', f'name = "{link}"\nvisuals = [{{mesh = "package://arm/{link}.stl"}}]')
    (tmp_path / "rr.toml").write_text(text)
    output = run("torques", str(tmp_path / "rr.toml"), "-o", str(tmp_path / "rr.html"))
    assert output.count("warning: 2 of 2 meshes not found") == output.count("--package arm=FOLDER") == 1
    assert (tmp_path / "rr.html").read_text().count("2 of 2 meshes not found") <= 2  # said once, and in the data


def test_a_gripper_and_a_payload_are_held_together(tmp_path: Path) -> None:
    aw.load("rr").with_friction(coulomb=0.1).to_toml(tmp_path / "rr.toml")
    flags = ("--payload", "0.8,0,0,0.06", "--payload", "2", "-o", str(tmp_path / "rr.html"))
    output = run("torques", str(tmp_path / "rr.toml"), *flags)
    assert "holding 2.8 kg" in output and "0.8 kg at (0, 0, 0.06), 2 kg at (0, 0, 0) m of the tool on link2" in output
    assert "a finger?" not in output and "friction          included as in the robot's file, dry" in output


def test_a_payload_on_a_finger_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "rr.toml").write_text(aw.load("rr").to_toml().replace('"joint2"', '"jointGripper"'))
    output = run("show", str(tmp_path / "rr.toml"), "--payload", "2")
    assert "the payload is fixed to link2, which jointGripper moves: a finger? --tip LINK" in output


def test_what_the_system_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("armwright.cli.schema_command.show_json", full)
    result = CliRunner().invoke(app, ["schema", "scenario"])
    assert result.exit_code == 2 and "error: cannot continue: [Errno 28] No space left on device" in result.output


def test_integrators_names_a_method_for_each_accuracy_that_takes_no_less_time_the_finer_it_is(tmp_path: Path) -> None:
    words = ["integrators", "rr", "--duration", "0.05", "--json", "-o", str(tmp_path / "page.html")]
    found = json.loads(CliRunner().invoke(app, words).stdout)
    assert [row["error"] for row in found["best"]] == list(WORK_ACCURACIES)
    known = [row for row in found["best"] if row["method"] is not None]
    assert len(known) > 4
    assert [row["seconds"] for row in known] == sorted(row["seconds"] for row in known)
    assert found["duration"] == 0.05 and (tmp_path / "page.html").exists()
