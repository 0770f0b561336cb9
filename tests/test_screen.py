"""What a person sees: every command within 80 columns, without noise, in JSON for programs, and with -h."""

import json
import re
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app, count
from armwright.cli.app import COMMANDS
from armwright.cli.output import NAME_WIDTHS, Screen, _break_name, as_json_value, table
from armwright.identify import Measurement
from armwright.names import tidy
from armwright.study import crossing

TERMINAL = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
NOISE = re.compile(r"\d(e-1[3-9]|e-[2-9]\d) ?(rad|m\b|m\d|N)|0\.0?0?e\+00")

EXAMPLES = {
    "robots": [[]],
    "show": [["panda"], ["stanford"], ["g1", "--frames"]],
    "formulations": [[]],
    "count": [["RRP"], ["rr"]],
    "export": [["rr"]],
    "bench": [["rr", "--batch", "8", "--rounds", "1"]],
    "simulate": [["rr"]],
    "torques": [["ur5"], ["stanford"], ["kinova_jaco"]],
    "size": [["cell.toml"]],
    "integrators": [["rr", "--duration", "0.01"]],
    "sweep": [["study.toml"], ["study.toml", "--row", "1"]],
    "excite": [["rr", "--period", "2"]],
    "identify": [["rr", "measured.csv"]],
    "precision": [["rr", "--states", "2"]],
    "schema": [["study"]],
    "crossing": [["--joints", "3", "--no-measure"]],
    "check": [["ur5", "--quick"], ["puma560"]],
    "compare": [["ur5", "ur5e"]],
}
"""Of every command a call or more, but for `reproduce`, which takes minutes, and `view`, which waits for a browser."""


@pytest.fixture(autouse=True)
def raced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `crossing` counts is counted once."""
    monkeypatch.setattr(crossing, "race", RACE)


RACE = cache(crossing.race)


@pytest.fixture(autouse=True)
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder to write pages to, with something to identify, to study and to size in it."""
    monkeypatch.chdir(tmp_path)
    Path("cell.toml").write_text(
        'robot = "ur5e"\nsamples = 10\n[[motion]]\ntype = "cycloidal"\nduration = 2\n'
        "from = [0, 0, 0, 0, 0, 0]\nto = [1, -1, 1, 1, 1, 1]\n"
    )
    arm = aw.load("rr")
    run = aw.torques_along(arm, aw.trajectory.quintic([0, 1, 2], [[0, 0], [1.0, -0.5], [-0.3, 0.4]]), every=0.01)
    Measurement(run.t, run.q, run.qd, run.qdd, run.tau).to_csv("measured.csv")
    Path("study.toml").write_text('robot = "rr"\nduration = 0.1\n[vary]\n"payload.mass" = [1, 2]\n')


def seen(*words: str) -> str:
    """What stands on a terminal of 80 columns, without its colours."""
    result = CliRunner().invoke(app, list(words), env=TERMINAL)
    assert result.exit_code in (0, 1), result.output
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", result.stdout)


CALLS = [[name, *words] for name, examples in EXAMPLES.items() if name != "schema" for words in examples]
"""All but what is for programs alone."""


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_a_command_fits_eighty_columns_and_prints_no_noise(words: list[str]) -> None:
    text = seen(*words)
    assert [line for line in text.splitlines() if len(line.rstrip()) > 80] == []
    if words[0] not in ("torques", "simulate"):  # the balances of an audit, and errors that are asked for, are so small
        assert NOISE.findall(text) == []
    assert "counted from 0" not in text


def test_count_sets_ours_beside_the_published_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count, "_general", cache(count._general))
    text = seen("count", "6")
    assert [line for line in text.splitlines() if len(line.rstrip()) > 80] == []
    assert NOISE.findall(text) == []
    wide = CliRunner().invoke(app, ["count", "6"]).output
    assert "96n-104" in wide
    line = next(line for line in wide.splitlines() if "substitution" in line)
    assert line.split()[-6:-1] == ["36", "30", "36", "30", "equal"]
    assert "Brandl et al." in wide


def test_every_packaged_robot_fits_eighty_columns(robot_name: str) -> None:
    assert [line for line in str(aw.load(robot_name)).splitlines() if len(line) > 80] == []


def test_there_is_an_example_of_every_command() -> None:
    assert {*EXAMPLES, "reproduce", "view"} == set(COMMANDS)  # which take long, and for ever


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_command_speaks_json(name: str) -> None:
    result = CliRunner().invoke(app, [name, *EXAMPLES[name][0], *(["--json"] if name != "schema" else [])])
    assert result.exit_code in (0, 1), result.output
    assert json.loads(result.stdout)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_command_helps(name: str) -> None:
    words = [name] if name else []
    short, long = (CliRunner().invoke(app, [*words, option], env={"COLUMNS": "80"}) for option in ("-h", "--help"))
    assert short.exit_code == 0
    assert short.output == long.output
    assert "Usage" in short.output
    if name not in ("", "view", "schema"):  # of which one shows a page, and the other speaks nothing else
        assert "--json" in short.output


def test_json_says_what_the_tables_say() -> None:
    told = json.loads(CliRunner().invoke(app, ["torques", "ur5", "--json"]).stdout)
    assert [joint["joint"] for joint in told["joints"]] == [joint.name for joint in aw.load("ur5").joints]
    assert told["joints"][0]["max_torque"] == 150
    assert told["joints"][0]["of_torque"] == told["joints"][0]["peak_torque"] / 150
    assert Path(told["page"]).exists()
    shown = json.loads(CliRunner().invoke(app, ["show", "panda", "--json"]).stdout)
    assert shown["links"][0]["mass"] == aw.load("panda").links[0].mass
    counted = json.loads(CliRunner().invoke(app, ["count", "RR", "--json"]).stdout)
    rows = {(row["problem"], row["formulation"]): row for row in counted["counts"]}
    assert (
        rows["inverse_dynamics", "newton_euler"]["mul"]
        == aw.count_operations("inverse_dynamics", "newton_euler", joints=2).multiplications
    )


def test_what_is_not_a_number_is_null_in_json() -> None:
    assert as_json_value({"a": float("nan"), "b": (1, float("inf")), "c": Path("x")}) == {
        "a": None,
        "b": [1, None],
        "c": "x",
    }


def test_a_long_name_is_broken_after_a_part() -> None:
    name = "natural_orthogonal_complement_gauss_jordan"
    assert _break_name(name, NAME_WIDTHS[0]) == "natural_orthogonal_complement\n_gauss_jordan"
    assert (
        _break_name(_break_name(name, NAME_WIDTHS[0]), NAME_WIDTHS[1])
        == "natural_orthogonal\n_complement_gauss\n_jordan"
    )
    assert _break_name("kane", NAME_WIDTHS[1]) == "kane"


def test_words_fold_and_a_table_is_never_a_column_too_wide(capsys: pytest.CaptureFixture[str]) -> None:
    for width in range(66, 120):
        screen = Screen(width=width, force_terminal=True, no_color=True)
        made = table("where", "what", "published", "obtained", "verdict", "formulation")
        made.add_row(*["some words that may fold as they like"] * 5, "natural_orthogonal_complement_gauss_jordan")
        screen.print(made)
        lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().out).splitlines()
        assert max(map(len, lines)) <= width


def test_rounding_is_not_printed() -> None:
    assert tidy(2.22e-16) == "0"
    assert tidy(-0.25, ".4g") == "-0.25"
