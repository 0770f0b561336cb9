"""Input that is wrong in ways nobody means gives an armwright error, never a bare one: what once did not."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
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
        with pytest.warns(aw.ModelWarning, match="millimetres"):
            arm = aw.Robot.from_dh([row | {"com": com}] * 2, convention="standard")
        assert aw.problems(arm)
        with pytest.raises(ArmwrightError):
            arm.inverse_dynamics([0.1, 0.2], [1, 1], [1, 1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["excite", "puma560", "--every", "1e-12"], "every = 1e-12: expected seconds above zero, for at most"),
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


@pytest.mark.parametrize(
    "settings",
    [{"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],  # strict, and surrogateescape
    ids=["ascii", "locale C"],
)
def test_a_terminal_that_knows_only_ascii(settings: dict[str, str], tmp_path: Path) -> None:
    arm = aw.random_robot(2, 1).to_toml().replace('name = "', 'name = "Gelenk·é→', 1)
    (tmp_path / "arm.toml").write_text(arm, encoding="utf-8")
    plain = {**os.environ, **settings, "LC_ALL": "C"}
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


HUGE = 10**400
HIDDEN = np.ma.array([1.0, 2.0], mask=[False, True])
TOOL = np.ma.array(np.eye(4), mask=np.eye(4, k=3, dtype=bool))


def decay(_t: float, y: np.ndarray) -> np.ndarray:
    return -y


@pytest.mark.parametrize("name", ["duration", "every", "rtol", "atol", "step", "start", "max_step"])
@pytest.mark.parametrize("value", [HUGE, "1"])
def test_options_of_a_simulation(name: str, value: object) -> None:
    with pytest.raises(ArmwrightError, match=f"{name} = "):
        aw.simulate(ARM, **{"duration": 0.1, name: value})


CALLS = {
    "a length of time beyond all floats": lambda: aw.trajectory.cycloidal([0, 0], [1, 1], HUGE),
    "a rest for ever": lambda: aw.trajectory.rest([0, 0], HUGE),
    "brackets": lambda: aw.trajectory.quintic([0, 1], [_deep(90), _deep(90)]),
    "a tolerance beyond all floats": lambda: aw.integrate.solve(decay, 0, [1.0], 1, rtol=HUGE),
    "of inverse kinematics": lambda: ARM.inverse_kinematics(np.eye(4), tolerance=HUGE),
    "more starts than anybody waits for": lambda: ARM.inverse_kinematics(np.eye(4), attempts=HUGE),
    "a text for a time": lambda: aw.integrate.solve(decay, 0, [1.0], "5"),
    "a text for a tolerance": lambda: aw.integrate.solve(decay, 0, [1.0], 1, rtol="1e-6"),
    "texts for tolerances": lambda: aw.integrate.solve(decay, 0, [1.0, 1.0], 1, rtol=["1e-6", "1e-6"]),
    "uneven tolerances": lambda: aw.integrate.solve(decay, 0, [1.0, 1.0], 1, atol=[1e-6, [1e-9]]),
    "a text for a count": lambda: aw.integrate.solve(decay, 0, [1.0], 1, controlled="1"),
    "no events": lambda: aw.integrate.solve(decay, 0, [1.0], 1, events=None),
    "a function for events": lambda: aw.integrate.solve(decay, 0, [1.0], 1, events=lambda t, y: t),
    "an event that gives a text": lambda: aw.integrate.solve(
        decay, 0, [1.0], 1, events=[aw.integrate.Event(lambda t, y: "1")]
    ),
    "texts for a table": lambda: aw.torque.table(["0", "1"], [[0, 0], [1, 1]]),
    "a text between records": lambda: aw.torques_along(ARM, aw.trajectory.rest([0, 0], 1.0), every="1"),
    "a text for a factor": lambda: aw.simulate(ARM, duration=0.05).verify("2"),
    "a hidden state": lambda: aw.integrate.solve(decay, 0, HIDDEN, 1),
    "a hidden tolerance": lambda: aw.integrate.solve(decay, 0, [1.0, 1.0], 1, atol=HIDDEN),
    "hidden torques": lambda: aw.torque.table([0, 1], np.ma.array(np.ones((2, 2)), mask=np.eye(2))),
    "hidden times": lambda: aw.torque.table(HIDDEN, np.ones((2, 2))),
    "a hidden place": lambda: ARM.with_tool(TOOL),
    "a hidden base": lambda: ARM.with_base(TOOL),
    "a hidden mass": lambda: ARM.with_payload(np.ma.masked),
    "hidden friction": lambda: ARM.with_friction(viscous={ARM.joints[0].name: np.ma.masked}),
    "hidden limits": lambda: ARM.with_limits(velocity=HIDDEN),
    "a law that hides torques": lambda: aw.simulate(ARM, lambda t, q, qd: HIDDEN, duration=0.1),
}


def _deep(count: int) -> object:
    return 0.0 if not count else [_deep(count - 1)]


@pytest.mark.filterwarnings("ignore::armwright.SlowWarning")
@pytest.mark.parametrize("what", CALLS)
def test_wrong_numbers(what: str) -> None:
    with pytest.raises(ArmwrightError):
        CALLS[what]()


@pytest.mark.parametrize(
    "changed",
    [
        {"settings": [1]}, {"settings": None}, {"settings": {"rtol": "x"}}, {"settings": {"step": [1]}},
        {"statistics": {"accepted": "1", "rejected": 0, "evaluations": 1, "seconds": 1}}, {"events": [1]},
    ],
)  # fmt: skip
def test_metadata_of_somebody_else(changed: dict[str, object], tmp_path: Path) -> None:
    table = parquet.read_table(aw.simulate(ARM, duration=0.05).to_parquet(tmp_path / "run.parquet"))
    meta = json.loads(table.schema.metadata[b"armwright"]) | changed
    parquet.write_table(table.replace_schema_metadata({"armwright": json.dumps(meta)}), tmp_path / "run.parquet")
    with pytest.raises(aw.InputError, match="is not a run of armwright"):
        aw.Run.from_parquet(tmp_path / "run.parquet")


@pytest.mark.parametrize("kind", ["no rows", "nan", "backwards", "times of day", "truths"])
def test_columns_of_somebody_else(kind: str, tmp_path: Path) -> None:
    table = parquet.read_table(aw.simulate(ARM, duration=0.05).to_parquet(tmp_path / "run.parquet"))
    t = table["t"].to_numpy()
    if kind == "no rows":
        table = table.slice(0, 0)
    else:
        name = "q1" if kind == "truths" else "t"
        other = {"nan": t * np.nan, "backwards": t[::-1], "times of day": t.astype("datetime64[s]"), "truths": t > 0}[
            kind
        ]
        table = table.set_column(table.column_names.index(name), name, pyarrow.array(other))
    parquet.write_table(table, tmp_path / "run.parquet")
    with pytest.raises(aw.InputError, match="is not a run of armwright"):
        aw.Run.from_parquet(tmp_path / "run.parquet")
