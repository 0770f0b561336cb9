"""The command line, as typed."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app


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


def test_count_sets_ours_beside_the_published_ones() -> None:
    output = run("count", "6")
    assert "96n-104" in output
    line = next(line for line in output.splitlines() if "substitution" in line)
    assert line.split()[-6:-1] == ["36", "30", "36", "30", "equal"]
    assert "Brandl et al." in output


def test_count_of_a_robot_sets_it_beside_a_general_one() -> None:
    output = run("count", "stanford")
    assert "stanford (RRPRRR)" in output
    assert "natural_orthogonal_complement" in output


@pytest.mark.parametrize("joints", ["0", "61", "9" * 30])
def test_count_of_no_or_too_many_joints_is_refused(joints: str) -> None:
    assert "expected 1 or more, and at most 60" in run("count", joints, code=2)


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
    for word in ("inverse dynamics", "armwright, rows", "pin.rneaInParallel", "times ours", "llvmlite"):
        assert word in text
    run("bench", "rr", "--batch", "0", code=2)
