"""Names from a file are shown and never obeyed: escapes, bells, line breaks and turns of direction in every command."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.cli.app import COMMANDS
from armwright.errors import ModelError, ModelWarning
from armwright.identify import Measurement
from armwright.names import shown, shown_lines

HOSTILE = "\x1b[31mred\x07\x1b]0;owned\x1b\\\nFAKE: all is well\r\u202etxt\x9b2J\u2028[/b]\x00\x7f"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[\d*[AKG]|\r")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> aw.Robot:
    """A robot all of whose names, and whose source, are hostile; in hostile.toml, with what is measured of it."""
    monkeypatch.chdir(tmp_path)
    arm = aw.load("rr").with_limits(torque=0.01, velocity=0.01, position=(-0.1, 0.1))
    joints = tuple(replace(joint, name=f"{HOSTILE}j{i}") for i, joint in enumerate(arm.joints))
    links = tuple(replace(link, name=f"{HOSTILE}l{i}", com=(9.0, 0, 0)) for i, link in enumerate(arm.links))
    arm = replace(arm, name=HOSTILE, joints=joints, links=links, source="from " + HOSTILE.replace("\n", " "), accept=())
    arm.to_toml("hostile.toml")
    run = aw.torques_along(arm, aw.trajectory.quintic([0, 1, 2], [[0, 0], [1.0, -0.5], [-0.3, 0.4]]), every=0.02)
    Measurement(run.t, run.q, run.qd, run.qdd, -run.tau).to_csv("measured.csv")
    Path("cell.toml").write_text(CELL)
    return arm


CALLS = {
    "show": [], "count": [], "torques": [], "simulate": [], "check": ["--quick"], "compare": ["rr"],
    "bench": ["--batch", "8", "--rounds", "1"], "integrators": ["--duration", "0.01"], "excite": ["--period", "2"],
    "identify": ["measured.csv"], "precision": ["--states", "2"], "size": [],
    "export": [],
}  # fmt: skip
"""Every command that takes a robot."""

CELL = """robot = "hostile.toml"
samples = 10
[[motion]]
type = "cycloidal"
from = [0, 0]
to = [1, 1]
duration = 2
"""


def test_every_command_that_takes_a_robot_is_here() -> None:
    others = {"robots", "formulations", "crossing", "reproduce", "schema", "sweep", "view"}  # which waits: test_viewer
    assert set(CALLS) == set(COMMANDS) - others


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("command", CALLS)
def test_no_command_obeys_a_name(command: str, terminal: bool) -> None:
    environment = {"FORCE_COLOR": "1", "COLUMNS": "100", "TERM": "xterm"} if terminal else {}
    result = CliRunner().invoke(
        app, [command, "cell.toml" if command == "size" else "hostile.toml", *CALLS[command]], env=environment
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    text = COLOUR.sub("", result.output) if terminal else result.output
    assert OBEYED.findall(text) == []
    assert not any(line.lstrip().startswith("FAKE") for line in text.splitlines()) or terminal  # folded there
    if command not in ("integrators", "excite", "bench"):
        assert "red" in text
    assert "\x1b]0;" not in result.output
    assert "\x1b[31mred" not in result.output


def test_what_is_printed_in_python_is_shown_too(hostile: aw.Robot) -> None:
    run = aw.simulate(hostile, duration=0.1)
    texts = [str(hostile), repr(hostile), repr(run), str(run.utilisation), *run.utilisation.doubts]
    texts += map(str, aw.problems(hostile))
    texts.append(str(aw.trajectory.check_limits(aw.trajectory.quintic([0, 1], [[0, 0], [1, 1]]), hostile)))
    assert len(texts) > 8
    for text in texts:
        assert OBEYED.findall(text) == []
        assert "\nFAKE" not in text
    assert OBEYED.findall(str(ModelError(f"a {HOSTILE}"))) == []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        aw.load("hostile.toml")
        warnings.warn(HOSTILE, ModelWarning, stacklevel=1)
    assert caught
    assert all(OBEYED.findall(str(warning.message)) == [] for warning in caught)


def test_a_file_name_is_not_obeyed(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["show", str(tmp_path / "a\x1b[31m\u202e.toml")])
    assert result.exit_code == 2
    assert OBEYED.findall(result.output) == []


@pytest.mark.usefixtures("hostile")
def test_json_has_the_names_as_they_are() -> None:
    result = CliRunner().invoke(app, ["show", "hostile.toml", "--json"])
    assert OBEYED.findall(result.output) == []
    assert json.loads(result.output)["name"] == HOSTILE


def test_shown_writes_out_what_is_obeyed_and_nothing_else() -> None:
    assert shown("\x1b[1m a\nb\u202ec\ud800") == r"\x1b[1m a\nb\u202ec\ud800"
    for plain in ("panda_joint1", "Gelenk é ü", "日本", "a\u00a0b", "נתן", "\U0001f916", "zero\u200dwidth joiner"):
        assert shown(plain) == plain
    assert shown_lines("a\nb\x07") == "a\nb\\x07"
