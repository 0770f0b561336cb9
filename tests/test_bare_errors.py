"""Input that is wrong in ways nobody means gives an armwright error, never a bare one: what once did not."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import armwright as aw
from armwright import identify, scenario
from armwright.cli import app
from armwright.errors import ArmwrightError
from armwright.study.precision import precision

ARM = aw.random_robot(2, 1, 0)
MOTION = "[trajectory]\ntype = 'quintic'\ntimes = [0, 1]\npoints = [[0, 0], [1, 1]]\n"

SCENARIOS = {
    "[trajectory]\ntype = ['quintic']": "unknown type ['quintic']; expected one of",
    "[trajectory]\ntype = {a = 1}": "unknown type {'a': 1}",
    "[torque]\nlaw = []": "unknown law []; expected one of",
    f"duration = {'9' * 5000}": "not valid TOML: Exceeds the limit",
    f"q0 = {'[' * 5000}": "nested too deep",
    f"{MOTION}[torque]\nlaw = 'table'\ntimes = [0, 1]\ntorques = {'9' * 400}": "must be arrays of numbers",
    f"{MOTION}[torque]\nlaw = 'friction'\nsmooth = [1, 2]": "smooth = [1, 2]: expected one speed for all joints",
    f"{MOTION}[torque]\nlaw = 'friction'\nviscous = {'9' * 400}": "viscous",
}


@pytest.mark.parametrize("text", SCENARIOS, ids=range(len(SCENARIOS)))
def test_scenarios(text: str) -> None:
    with pytest.raises(ArmwrightError) as caught:
        scenario.parse(text, ARM)
    assert SCENARIOS[text] in str(caught.value)


def test_a_scenario_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(aw.ModelError, match="it is a pipe or a device"):
        scenario.read(tmp_path / "pipe.toml", ARM)


@pytest.mark.parametrize(
    "meta",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"null",
        b'"text"',
        b"[" * 5000,
        b'{"armwright": []}',
        b'{"armwright": "other"}',
        None,
        {},
    ],
)
def test_parquet_of_somebody_else(meta: bytes | dict | None, tmp_path: Path) -> None:
    path = aw.simulate(ARM, duration=0.1).to_parquet(tmp_path / "run.parquet")
    table = parquet.read_table(path)
    if isinstance(meta, dict):  # a run, but for one thing
        good = json.loads(table.schema.metadata[b"armwright"])
        meta = json.dumps(good | {"statistics": {"steps": []}}).encode()
    parquet.write_table(table.replace_schema_metadata({b"armwright": meta} if meta is not None else None), path)
    with pytest.raises(aw.InputError, match="is not a run of armwright"):
        aw.Run.from_parquet(path)
    parquet.write_table(pyarrow.table({"a": ["x"]}).replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(aw.InputError, match="is not a run of armwright"):
        aw.Run.from_parquet(path)


@pytest.mark.parametrize("far", [1e200, 1e308])
def test_bodies_at_the_end_of_the_world(far: float) -> None:
    row = {"type": "revolute", "alpha": 0.5, "a": 0.5, "d": 0, "mass": 1.0, "inertia": [1, 1, 1, 0, 0, 0]}
    for com in ([far, 0, 0], [far, far, -far]):
        arm = aw.Robot.from_dh([row | {"com": com}] * 2, convention="standard")
        assert aw.problems(arm)
        with pytest.raises(ArmwrightError):
            arm.inverse_dynamics([0.1, 0.2], [1, 1], [1, 1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["excite", "puma560", "--every", "1e-12"], "every = 1e-12: expected seconds, above zero, and no more than"),
        (["excite", "puma560", "--every", "inf"], "every = inf: expected seconds"),
        (["excite", "puma560", "--seed", "-1"], "greater than or equal to 0"),
        (["torques", "puma560", "--seed", "-1"], "greater than or equal to 0"),
        (["precision", "puma560", "--seed", "-1"], "greater than or equal to 0"),
        (["precision", "puma560", "--states", "1000000000000"], "count = 1000000000000: expected the number of states"),
    ],
)
def test_commands(words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", "").split())


def test_a_terminal_that_knows_only_ascii(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(aw.random_robot(2, 1).to_toml().replace('name = "', 'name = "Gelenk·é→', 1))
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    for words in (["show", "arm.toml"], ["torques", "arm.toml", "-o", "x.html"]):
        done = subprocess.run(
            [sys.executable, "-m", "armwright", *words], env=plain, cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
    assert "Gelenk*e\\u2192" in done.stdout.decode("ascii")


@pytest.mark.parametrize("ask", [identify.excitation, precision])
@pytest.mark.parametrize("seed", [-1, 0.5, "a"])
def test_seeds(ask: Callable[..., object], seed: object) -> None:
    with pytest.raises(ArmwrightError, match=r"seed = .*: expected a whole number, 0 or more"):
        ask(ARM, seed=seed)
