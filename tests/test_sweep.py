"""Studies: what is drawn, what is measured, and a folder that survives whatever happens to it."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from scipy import stats
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.errors import InputError, ModelError
from armwright.files import Directory
from armwright.sweep import limit_use
from armwright.sweep.chunk import compute_chunk, compute_row
from armwright.sweep.chunk_schedule import scheduled_chunks
from armwright.sweep.column_labels import label_of
from armwright.sweep.design import DRAWN_METHODS, design_of
from armwright.sweep.distributions import DISTRIBUTIONS
from armwright.sweep.prepare import prepare, setup_of
from armwright.sweep.study_engine import compute_study
from armwright.sweep.study_measures import STUDY_MEASURES

TEXT = """
robot = "rr"
duration = 0.2
every = 0.02

[integrator]
method = "rk4"
step = 0.002

[torque]
law = "pd"
kp = 20
kd = 2
target = [0.5, -0.3]

[vary]
"payload.mass" = {uniform = [0, 3]}
"torque.kp.2" = {lognormal = [20, 0.1]}
"q0.1" = [0.0, 0.1, 0.2]

[design]
method = "sobol"
count = 100
seed = 3
correlations = [["payload.mass", "torque.kp.2", 0.5]]

[want]
measures = ["peak_torque", "energy", "settling_time", "final_q"]
histories = ["q", "tau"]
histories_every = 25
"""


@pytest.fixture(scope="module")
def study() -> aw.Study:
    return replace(aw.Study.parse(TEXT), chunk=16)


@pytest.fixture(scope="module")
def undisturbed(study: aw.Study, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Every file of the results, by its name."""
    folder = tmp_path_factory.mktemp("undisturbed") / "folder"
    compute_study(study, folder, threads=1)
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        f"{part}/{file.name}": file.read_bytes()
        for part in ("rows", "histories")
        for file in (folder / part).glob("*.parquet")
    }


def drawn(vary: dict, count: int = 4096, **design: object) -> dict[str, np.ndarray]:
    made = design_of(aw.Study("rr", vary, {"count": count, **design}))
    return made.draw(0, made.rows)


EXAMPLES = {
    "uniform": ([1, 3], stats.uniform(1, 2)),
    "log_uniform": ([0.1, 10], stats.loguniform(0.1, 10)),
    "normal": ([2, 0.5], stats.norm(2, 0.5)),
    "truncated_normal": ([1, 1, 0, 4], stats.truncnorm(-1, 3, 1, 1)),
    "lognormal": ([2, 0.3], stats.lognorm(0.3, scale=2)),
    "triangular": ([0, 1, 3], stats.triang(1 / 3, 0, 3)),
    "beta": ([2, 3, -1, 1], stats.beta(2, 3, -1, 2)),
    "gamma": ([2, 3], stats.gamma(2, scale=3)),
    "weibull": ([1.5, 2], stats.weibull_min(1.5, scale=2)),
    "exponential": ([2], stats.expon(scale=2)),
}


@pytest.mark.parametrize("method", DRAWN_METHODS)
@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_numbers_have_the_distribution_that_is_asked_for(kind: str, method: str) -> None:
    given, expected = EXAMPLES[kind]
    x = drawn({"a": {kind: given}, "b": {"uniform": [0, 1]}}, method=method, seed=4)["a"]
    assert stats.kstest(x, expected.cdf).statistic < (1.7 / np.sqrt(len(x)) if method == "random" else 2e-3)


@pytest.mark.parametrize("method", DRAWN_METHODS)
def test_a_row_is_the_same_however_many_are_drawn_with_it(method: str) -> None:
    vary = {
        "a": {"normal": [0, 1]},
        "b": {"uniform": [0, 1]},
        "c": [1, 2],
        "d": {"uniform": [0, 1]},
        "e": {"scipy": "t", "args": [4]},
    }
    made = design_of(
        aw.Study("rr", vary, {"method": method, "count": 1000, "seed": 9, "correlations": [["a", "e", -0.4]]})
    )
    whole = made.draw(0, 1000)
    for first, count in ((0, 10), (1, 1), (500, 64), (999, 1)):
        part = made.draw(first, count)
        assert all(np.array_equal(part[name], whole[name][first : first + count]) for name in vary)
    other = replace(made, seed=10).draw(0, 1000)
    assert not np.array_equal(other["a"], whole["a"])


@pytest.mark.parametrize("method", DRAWN_METHODS)
def test_correlations_are_those_asked_for_and_leave_the_distributions(method: str) -> None:
    x = drawn(
        {"a": {"normal": [0, 1]}, "b": {"normal": [5, 2]}, "c": {"exponential": [1]}},
        method=method,
        correlations=[["a", "b", 0.7], ["b", "c", -0.5]],
    )
    assert np.corrcoef(x["a"], x["b"])[0, 1] == pytest.approx(0.7, abs=0.04)
    assert stats.spearmanr(x["b"], x["c"]).statistic == pytest.approx(6 / np.pi * np.arcsin(-0.25), abs=0.04)
    assert stats.kstest(x["c"], stats.expon.cdf).pvalue > 1e-3


def test_a_grid_has_every_combination_and_a_list_one_after_the_other() -> None:
    grid = design_of(aw.Study("rr", {"a": [1, 2], "b": {"from": 0, "to": 1, "count": 3}}))
    assert np.column_stack(list(grid.draw(0, 6).values())).tolist() == [
        [1, 0],
        [1, 0.5],
        [1, 1],
        [2, 0],
        [2, 0.5],
        [2, 1],
    ]
    listed = design_of(aw.Study("rr", {"a": [1, 2], "b": [5, 7]}, {"method": "list"}))
    assert np.column_stack(list(listed.draw(0, 2).values())).tolist() == [[1, 5], [2, 7]]


def test_each_row_is_the_simulation_with_its_numbers(study: aw.Study) -> None:
    """What a chunk says of a row is what `simulate` finds when it is told its numbers."""
    found = setup_of(study)
    values = found.design.draw(0, 16)
    rows = pyarrow.parquet.read_table(pyarrow.BufferReader(compute_chunk(study, 0).rows)).to_pylist()
    for i in (0, 7, 15):
        payload, gain, start = (float(values[name][i]) for name in found.design.names)
        arm = aw.load("rr").with_payload(payload)
        law = aw.torque.pd([0.5, -0.3], [20, gain], 2)
        run = aw.simulate(arm, law, [start, 0], duration=0.2, every=0.02, integrator="rk4", step=0.002)
        power = np.maximum(run.tau * run.qd, 0)
        assert [rows[i][f"final_q{k}"] for k in (1, 2)] == pytest.approx(run.q[-1].tolist(), rel=1e-12)
        assert [rows[i][f"peak_torque{k}"] for k in (1, 2)] == pytest.approx(
            np.abs(run.tau).max(axis=0).tolist(), rel=1e-12
        )
        assert [rows[i][f"energy{k}"] for k in (1, 2)] == pytest.approx(
            np.trapezoid(power, run.t, axis=0).tolist(), rel=1e-9
        )


@pytest.mark.parametrize("noise", ["", "noise = {std = 0.5, hold = 0.03}"])
def test_a_row_alone_has_the_bits_of_its_chunk(noise: str) -> None:
    study = replace(aw.Study.parse(TEXT.replace('law = "pd"', f'law = "pd"\n{noise}')), chunk=16)
    found = setup_of(study)
    rows = pyarrow.parquet.read_table(pyarrow.BufferReader(compute_chunk(study, 2).rows)).to_pylist()
    alone, history = compute_row(found, 37)
    told = {name: x.tolist()[0] for name, x in alone.items()}
    assert repr(told) == repr(rows[5])
    assert len(history["t"]) == 11


EVERYTHING = {
    "payload.com.x": [0.0, 0.1],
    "gravity.x": [0.0, 1.0],
    "link2.mass": [1.0, 2.0],
    "link2.inertia.zz": [0.1, 0.2],
    "joint1.viscous": [0.0, 0.5],
    "qd0.2": [0.0, 0.3],
    "start": [0.0, 0.1],
    "duration": [0.2, 0.3],
    "torque.kd": [1.0, 2.0],
    "torque.limit.1": [5.0, 50.0],
    "torque.friction.viscous": [0.1, 0.2],
}


@pytest.mark.parametrize("name", EVERYTHING)
def test_whatever_varies_changes_the_motion(name: str) -> None:
    motion = {"type": "quintic", "times": [0, 0.5], "points": [[0, 0], [0.5, -0.3]]}
    law = {"law": "computed_torque", "kp": 30, "kd": 5, "limit": 1000, "friction": {"viscous": 0.3}}
    varied = aw.Study(
        "rr",
        {name: EVERYTHING[name]},
        want={"measures": list(STUDY_MEASURES), "windings": 0.1},
        payload={"mass": 1.0},
        duration=0.3,
        every=0.05,
        trajectory=motion,
        torque=law,
    )
    rows = pyarrow.parquet.read_table(pyarrow.BufferReader(compute_chunk(varied, 0).rows)).to_pylist()
    assert all(row["ok"] for row in rows)
    assert rows[0]["final_q1"] != rows[1]["final_q1"] or rows[0]["final_q2"] != rows[1]["final_q2"]


def test_threads_parts_and_processes_give_the_same_bits(
    study: aw.Study, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    assert len(undisturbed) == 14
    compute_study(study, tmp_path / "threads", threads=2)
    assert contents(tmp_path / "threads") == undisturbed
    for k in (2, 3, 1):
        compute_study(study, tmp_path / "parts", threads=1, part=(k, 3))
    assert contents(tmp_path / "parts") == undisturbed


def test_a_chunk_that_is_lost_with_its_worker_is_begun_again() -> None:
    """A few times, unless the cluster itself is gone."""

    def found(losses: int, alive: bool) -> list[int]:
        left = [losses]

        def submit(number: int) -> Future:
            future: Future = Future()
            if number == 1 and left[0]:
                left[0] -= 1
                future.set_exception(ConnectionError("its worker is gone"))
            else:
                future.set_result(number)
            return future

        return list(
            scheduled_chunks(submit, [0, 1, 2], 2, set, lambda error: alive and isinstance(error, ConnectionError))
        )

    assert sorted(found(3, True)) == [0, 1, 2]
    for losses, alive in ((4, True), (1, False)):
        with pytest.raises(ConnectionError, match="its worker is gone"):
            found(losses, alive)


KILLED = """
import sys
from dataclasses import replace
import armwright as aw
from armwright.sweep.study_engine import compute_study
study = replace(aw.Study.read(sys.argv[1]), chunk=16)
print("ready", flush=True)
compute_study(study, sys.argv[2], threads=1)
"""


def test_a_killed_process_loses_what_was_under_way_alone(
    study: aw.Study, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    """All kills are in tools/kill_sweeps.py."""
    (tmp_path / "study.toml").write_text(TEXT)
    folder = tmp_path / "folder"
    chance = random.Random(1)
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path / "study.toml"), str(folder)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(chance.uniform(0, 0.6))
        child.kill()
        child.wait()
        child.stdout.close()
        if folder.exists():
            assert contents(folder).items() <= undisturbed.items()
    compute_study(study, folder, threads=1)
    assert contents(folder) == undisturbed


def test_what_is_missing_is_computed_and_nothing_else(
    study: aw.Study, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    compute_study(study, tmp_path, threads=1)
    files = sorted((tmp_path / "rows").iterdir())
    before = {file: file.stat().st_mtime_ns for file in files}
    files[3].unlink()
    assert compute_study(study, tmp_path, threads=1).earlier == 84
    assert {file for file in files if file.stat().st_mtime_ns != before[file]} == {files[3]}
    assert contents(tmp_path) == undisturbed


@pytest.mark.parametrize("part", ["rows", "histories"])
def test_a_chunk_that_is_cut_off_changed_or_swapped_is_computed_again(
    study: aw.Study, undisturbed: dict[str, bytes], tmp_path: Path, part: str
) -> None:
    compute_study(study, tmp_path, threads=1)
    files = sorted((tmp_path / part).iterdir())
    data = [file.read_bytes() for file in files]
    files[0].write_bytes(data[0][:-20])
    files[1].write_bytes(data[1][:50] + bytes([data[1][50] ^ 1]) + data[1][51:])
    files[2].write_bytes(data[3])
    files[3].write_bytes(data[2])
    shutil.copy(files[4], files[4].with_name(f"000005-{files[4].name.split('-')[1]}"))
    files[5].unlink()
    files[6].write_bytes(b"")
    half = files[0].with_name(f".{files[0].name}.0123456789abcdef.part")
    half.write_bytes(data[0][:100])
    assert not aw.open_study(tmp_path).finished
    assert compute_study(study, tmp_path, threads=1).earlier == 16
    assert contents(tmp_path) == undisturbed and not half.exists()
    files[0].unlink()
    files[0].mkdir()
    with pytest.raises(InputError, match=rf"cannot write .*{files[0].name}: "):
        compute_study(study, tmp_path, threads=1)
    files[0].rmdir()
    compute_study(study, tmp_path, threads=1)
    assert contents(tmp_path) == undisturbed


def test_a_second_process_on_a_folder_says_so_and_stops(study: aw.Study, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    holder = subprocess.Popen(
        [sys.executable, "-c", "import sys; from pathlib import Path; from armwright.sweep.folder import Folder\nwith Folder(Path(sys.argv[1])).lock():\n print('held', flush=True); sys.stdin.read()", str(tmp_path / "folder")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None and holder.stdin is not None
    holder.stdout.readline()
    for part in (None, (1, 2)):
        with pytest.raises(InputError, match=rf"is in use by process {holder.pid} on .*; wait for it"):
            compute_study(study, tmp_path / "folder", part=part)
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    assert compute_study(study, tmp_path / "folder", part=(1, 7)).done == 16  # its lock has gone with it


def test_a_folder_that_cannot_be_written_is_told_and_keeps_what_it_has(
    study: aw.Study, undisturbed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound, left = Directory.write, [9]

    def full(there: Directory, name: str, data: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device", name)
        sound(there, name, data)

    monkeypatch.setattr(Directory, "write", full)
    with pytest.raises(InputError, match=r"No space left on device; completed chunks are kept"):
        compute_study(study, tmp_path / "full", threads=1)
    assert 0 < len(contents(tmp_path / "full")) < 14
    monkeypatch.setattr(Directory, "write", sound)
    compute_study(study, tmp_path / "full", threads=1)
    assert contents(tmp_path / "full") == undisturbed
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .*file"):
        compute_study(study, tmp_path / "file" / "folder")
    if os.geteuid():
        (tmp_path / "shut").mkdir(mode=0o500)
        with pytest.raises(InputError, match=r"cannot write .*shut.*Permission denied"):
            compute_study(study, tmp_path / "shut" / "folder")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, where a system lets us have one."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() or subprocess.run(mount("size=48k", place), capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk; another test has the errors without one")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def mount(options: str, place: Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]


def test_a_disk_that_is_full_or_read_only_loses_nothing(
    study: aw.Study, undisturbed: dict[str, bytes], disk: Path
) -> None:
    with pytest.raises(InputError, match=r"No space left on device; completed chunks are kept"):
        compute_study(study, disk / "folder", threads=1)
    there = contents(disk / "folder")
    assert 0 < len(there) < 14 and there.items() <= undisturbed.items()
    subprocess.run(mount("remount,ro,size=64m", disk), check=True)
    with pytest.raises(InputError, match=r"cannot write .*Read-only file system; completed chunks are kept"):
        compute_study(study, disk / "folder", threads=1)
    assert aw.open_study(disk / "folder").count > 0
    subprocess.run(mount("remount,rw,size=64m", disk), check=True)
    compute_study(study, disk / "folder", threads=1)
    assert contents(disk / "folder") == undisturbed


def test_a_changed_study_is_refused_with_the_difference(study: aw.Study, tmp_path: Path) -> None:
    compute_study(study, tmp_path, threads=1, part=(1, 7))
    changed = replace(study, design={**study.design, "seed": 4}, duration=0.3)
    with pytest.raises(
        InputError, match=r"another study:\n  design.seed: was 3, is 4\n  duration: was 0.2, is 0.3\nexpected the same"
    ) as refused:
        compute_study(changed, tmp_path)
    assert "choose a new folder with -o" in str(refused.value)
    with pytest.raises(InputError, match=r"robot: was nothing, is .*payload"):
        compute_study(replace(study, payload={"mass": 1.0}), tmp_path)
    compute_study(replace(study, name="another name changes no number"), tmp_path, threads=1, part=(1, 7))


def test_a_folder_is_of_one_target_and_says_of_which(tmp_path: Path) -> None:
    made = aw.Study(
        "rr",
        {"payload.mass": [0.0, 1.0]},
        {"method": "list"},
        {"measures": ["peak_speed"]},
        duration=0.02,
        target="cpu",
    )
    results, other = made.run(tmp_path / "cpu"), replace(made, target="python").run(tmp_path / "python")
    assert other.study.target == "python" and results.count == other.count == 2
    np.testing.assert_allclose(*(x.columns(["peak_speed1"])["peak_speed1"] for x in (results, other)), rtol=1e-9)
    compute_study(replace(made, target=None), tmp_path / "cpu")
    with pytest.raises(InputError, match='target: was "python", is nothing'):
        compute_study(replace(made, target=None), tmp_path / "python")
    with pytest.raises(ModelError, match="unknown target 'cdua'"):
        compute_study(replace(made, target="cdua"), tmp_path / "new")


def test_a_worker_with_other_files_or_another_version_is_found_out(
    study: aw.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = tmp_path / "arm.toml"
    robot.write_text(aw.load("rr").to_toml())
    own = replace(study, robot="arm.toml", folder=tmp_path)
    before = compute_chunk(own, 0)
    robot.write_text(aw.load("rr").with_payload(1.0).to_toml())
    assert compute_chunk(own, 0).digest == before.digest  # of what this process has ready
    changed = prepare(own).digest
    assert compute_chunk(own, 0, changed).digest == changed != before.digest
    monkeypatch.setattr("armwright.sweep.setup.version", lambda name: "0.0.1")
    assert prepare(own).digest != changed
    monkeypatch.setattr("armwright.sweep.study_engine.compute_chunk", lambda *asked: replace(before, number=asked[1]))
    with pytest.raises(InputError, match="a worker has another version of armwright, or other files"):
        compute_study(own, tmp_path / "folder", threads=1)
    assert not contents(tmp_path / "folder")


def test_a_rollout_that_cannot_go_on_is_a_row_with_its_reason(tmp_path: Path) -> None:
    made = aw.Study(
        "rr",
        {"torque.kp": [10.0, 1e9]},
        duration=0.2,
        torque={"law": "pd", "kp": 1, "kd": 1, "target": [1, 1]},
        want={"measures": ["peak_torque"]},
    )
    results = made.run(tmp_path, threads=1)
    good, bad = results.rows.to_table().to_pylist()
    assert good["ok"] and good["reason"] is None and good["peak_torque1"] > 1
    assert not bad["ok"] and "diverges after t =" in bad["reason"] and np.isnan(bad["peak_torque1"])
    assert (results.failed, results.finished) == (1, True)


MODULE = """
def gap(history):
    return {"largest": float(abs(history.q[:, 0]).max()), "records": len(history.t)}

def broken(history):
    raise KeyError("no such thing")

def rarely(history):
    return 1 / (history.row - 3)

def text(history):
    return "far"

def nothing(history):
    return {}
"""


def test_functions_of_a_run_are_tried_before_and_a_row_has_their_errors(study: aw.Study, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    asked = replace(study, folder=tmp_path, want={"functions": ["mine:gap", "mine:rarely"]})
    rows = asked.run(tmp_path / "folder", threads=1).rows.to_table().to_pylist()
    assert rows[3]["reason"] == "mine:rarely: ZeroDivisionError: division by zero" and not rows[3]["ok"]
    assert rows[4]["rarely"] == 1 and rows[4]["gap.records"] == 11 and rows[4]["ok"]
    for name, message in (
        ("mine:broken", "KeyError"),
        ("mine:text", "expected a number"),
        ("mine:nothing", "gives no number"),
        ("mine:none", "has no function 'none'"),
        ("nothing:f", "cannot import 'nothing'"),
        ("mine", "expected a module and a function"),
    ):
        with pytest.raises(ModelError, match=message):
            setup_of(replace(study, folder=tmp_path, want={"functions": [name]}))
    (tmp_path / "mine.py").write_text(MODULE + "\n# changed\n")
    with pytest.raises(InputError, match=r"functions.mine:gap: was"):
        compute_study(asked, tmp_path / "folder")


WRONG = {
    "unknown key": ('robot = "rr"', 'robot = "rr"\nsteps = 3', "unknown key 'steps'"),
    "no robot": ('robot = "rr"', "", "missing key 'robot'"),
    "unknown parameter": ("payload.mass", "payload.mas", r"line 17, \[vary\] payload.mas: rr and its law have no 'payload.mas' that can vary; did you mean 'payload.mass'"),
    "unknown gain": ("torque.kp.2", "torque.ki", "did you mean 'torque.k"),
    "no such joint": ("q0.1", "q0.7", "have no 'q0.7'"),
    "unknown distribution": ("uniform", "unifrom", r"line 17, .*unknown key 'unifrom'; did you mean 'uniform'"),
    "low above high": ("[0, 3]", "[3, 0]", r"line 17, \[vary\] payload.mass: uniform = \[3, 0\], which is low, high: low = 3 is not below high = 0"),
    "no deviation": ("[20, 0.1]", "[20, -1]", "deviation of the logarithm = -1 is not above zero"),
    "too few numbers": ("[20, 0.1]", "[20]", "expected 2 numbers"),
    "negative mass": ("{uniform = [0, 3]}", "{normal = [1, 1]}", r"row \d+ would have payload.mass = -.*expected zero or more"),
    "lists in a list": ("[0.0, 0.1, 0.2]", "[[0.0, 0.1], [0.2]]", "not a list of numbers"),
    "not finite": ("[0.0, 0.1, 0.2]", "[0.0, inf]", "inf is not finite"),
    "no list": ("[0.0, 0.1, 0.2]", '["a"]', "not a list of numbers"),
    "unknown method": ("sobol", "sobel", "did you mean 'sobol'"),
    "no count": ("count = 100", "", "missing key 'count'"),
    "a grid of distributions": ('"sobol"', '"grid"', "a grid has no distributions"),
    "correlation of 2": ("0.5]]", "2]]", "a number between -1 and 1"),
    "correlation of another": ('[["payload.mass"', '[["payload.com"', "'payload.com' does not vary"),
    "unknown measure": ("peak_torque", "peak_torqe", "did you mean 'peak_torque'"),
    "unknown history": ('["q", "tau"]', '["qq"]', "unknown history 'qq'"),
    "no target": ("target = [0.5, -0.3]", "target = 3", "study: the torque law is for 1 joints"),
    "no duration": ("duration = 0.2", "", "duration is missing"),
    "negative duration": ("duration = 0.2", "duration = -1", "expected seconds, above zero"),
    "no integrator": ('"rk4"', '"rk44"', "study: unknown integrator 'rk44'"),
    "no chunk": ('robot = "rr"', 'robot = "rr"\nchunk = 0', "expected a whole number, at least 1"),
    "text for seconds": ("duration = 0.2", 'duration = "1 s"', "line 3, duration: duration = '1 s' is not a number"),
    "text for a start": ('robot = "rr"', 'robot = "rr"\nstart = "0"', "line 3, start: start = '0' is not a number"),
    "a centre of nothing": ('"payload.mass" = {uniform', '"payload.com.x" = {uniform', "rr has no payload, so this changes nothing"),
    "a negative inertia": ('"q0.1" = [0.0, 0.1, 0.2]', '"link1.inertia.zz" = [1, -1]', "expected zero or more"),
    "correlated twice": ("0.5]]", '0.5], ["torque.kp.2", "payload.mass", -0.5]]', "have two correlations; expected one"),
    "not TOML": ("[vary]", "[vary", "is not valid TOML"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_whatever_is_wrong_in_a_study_is_told_before_it_starts(case: str, tmp_path: Path) -> None:
    before, after, message = WRONG[case]
    assert before in TEXT
    with pytest.raises((ModelError, InputError), match=message):
        compute_study(aw.Study.parse(TEXT.replace(before, after, 1)), tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_results_are_what_other_tools_read(study: aw.Study, tmp_path: Path) -> None:
    results = study.run(tmp_path, threads=1)
    assert repr(results) == f"<100 of 100 rollouts in {tmp_path}, 0 failed>"
    table = results.rows.to_table()
    assert table.column("row").to_pylist() == list(range(100))
    assert repr(pyarrow.table(results).to_pydict()) == repr(table.to_pydict())
    assert results.histories.to_table().schema.names == ["row", "t", "q1", "q2", "tau1", "tau2"]
    assert sorted(set(results.histories.to_table().column("row").to_pylist())) == [0, 25, 50, 75]
    meta = json.loads(table.schema.metadata[b"armwright"])["study"]
    assert meta["design"]["seed"] == 3 and meta["armwright"] and 'name = "rr"' in meta["robot"]
    assert results.study.plain_data["design"] == study.plain_data["design"]
    assert compute_study(results.study, tmp_path).earlier == 100  # the folder alone is enough to go on


def test_a_folder_is_read_by_pandas_polars_and_duckdb(study: aw.Study, tmp_path: Path) -> None:
    """As the guide says, in one line each: by the object, its dataset, or the files themselves."""
    results = study.run(tmp_path, threads=1)
    rows = results.rows
    expected = rows.to_table().column("final_q1").to_pylist()
    pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pandas", "polars", "duckdb"))
    files = f"{tmp_path}/rows/*.parquet"
    found = {
        "pandas": rows.to_table().to_pandas()["final_q1"].tolist(),
        "pandas, files": pandas.read_parquet(tmp_path / "rows")["final_q1"].tolist(),
        "polars": polars.DataFrame(results)["final_q1"].to_list(),
        "polars, lazy": polars.scan_pyarrow_dataset(rows).select("final_q1").collect()["final_q1"].to_list(),
        "polars, files": polars.read_parquet(files)["final_q1"].to_list(),
        "duckdb": [x for (x,) in duckdb.sql("select final_q1 from rows order by row").fetchall()],
        "duckdb, files": [x for (x,) in duckdb.sql(f"select final_q1 from '{files}' order by row").fetchall()],
    }
    for reader, column in found.items():
        assert column == expected, reader


def test_the_command_runs_goes_on_and_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT.replace('robot = "rr"', 'robot = "rr"\nchunk = 16'))

    def said(*words: str) -> str:
        result = CliRunner().invoke(app, ["sweep", *words])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "4 computed" in said("study.toml", "--chunk", "7/7")
    assert "4 of 100 rollouts, 1 of 7 chunks" in said("study_results", "--status")
    assert json.loads(said("study.toml", "--json", "--threads", "1"))["finished"] is True
    assert "100 existed, 0 computed" in said("study.toml")
    assert "report.html" in said("study_results", "--report")
    page = Path("study_results/report.html").read_text()
    assert "armwright sweep study_results --row" in page and "Spearman" in page
    assert re.search(r"peak torque</td><td[^>]*>joint1</td><td[^>]*>N m</td>", page) and "peak_torque1" not in page
    assert json.loads(said("study_results", "--row", "37", "--json"))["row"] == 37
    assert Path("row_37.parquet").exists()
    for words, message in (
        (["study.toml", "--chunk", "3"], "such as --chunk 3/16"),
        (["none.toml"], "none.toml does not exist; expected a study, a .toml file, or a folder of its results"),
        ([".", "--status"], "has no manifest.json"),
    ):
        result = CliRunner().invoke(app, ["sweep", *words])
        assert result.exit_code == 2 and message in result.stderr


def test_a_quaternion_does_not_vary_entry_by_entry() -> None:
    """Of a floating robot positions, velocities and masses do."""
    dog = aw.load("anymal_c")
    with pytest.raises(ModelError, match="an entry of a quaternion"):
        setup_of(aw.Study(dog, {"q0.4": [0.0, 0.1]}, duration=0.1))
    found = setup_of(aw.Study(dog, {"q0.3": [0.0, 0.1], "qd0.4": [0.0, 0.1], "base.mass": [10.0, 20.0]}, duration=0.01))
    assert found.simulate(found.design.draw(0, 8), np.arange(8)).run.finished.all()


def test_a_study_in_which_nothing_comes_to_its_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stiff.toml").write_text(TEXT.replace("kp = 20\nkd = 2", "kp = 1e9\nkd = 1e9"))
    result = CliRunner().invoke(app, ["sweep", "stiff.toml", "--threads", "1"])
    assert result.exit_code == 1 and "100 failed" in result.stdout
    assert "none of the first 8 rollouts reaches its end" in result.stderr and "shorter step" in result.stderr
    assert CliRunner().invoke(app, ["sweep", "stiff.toml", "--json"]).exit_code == 1
    assert CliRunner().invoke(app, ["sweep", "stiff.toml", "-o", "part", "--chunk", "1/2"]).exit_code == 0


def test_a_start_after_the_end_of_the_motion_is_told() -> None:
    motion = {"type": "quintic", "times": [0, 1], "points": [[0, 0], [1, 1]]}
    with pytest.raises(ModelError, match="start = 5 is not before the end of the motion, at 1 s"):
        setup_of(aw.Study("rr", {"payload.mass": [0.0, 1.0]}, trajectory=motion, start=5.0))


def test_what_is_no_folder_and_no_part_is_told(study: aw.Study, tmp_path: Path) -> None:
    for wrong in (3, None):
        with pytest.raises(InputError, match="folder of a study; expected its path"):
            aw.open_study(wrong)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="folder of a study; expected its path"):
            study.run(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a part and the number of parts"):
        study.run(tmp_path, part="1/2")


def test_columns_are_named_by_measure_joint_and_unit() -> None:
    stanford, dog = aw.load("stanford"), aw.load("anymal_c")
    for column, named in (
        ("peak_torque1", f"peak torque of {stanford.joints[0].name}, N m"),
        ("peak_torque3", f"peak torque of {stanford.joints[2].name}, N"),
        ("rms_speed3", f"RMS speed of {stanford.joints[2].name}, m/s"),
        ("final_q3", f"final q of {stanford.joints[2].name}, m"),
        ("mass_condition", "mass condition"),
        ("worst_gap", "worst_gap"),
        ("mine.q2", "mine.q2"),
    ):
        assert str(label_of(stanford, column)) == named
    assert str(label_of(dog, "final_q7")) == "final q, entry 7"
    assert label_of(dog, "work18").joint == dog.joints[17].name


def test_a_part_of_the_rollouts_is_not_none_nor_all_by_rounding() -> None:
    shown = [limit_use.share_text(x) for x in (0.0, 1e-7, 0.123456, 1.0, 1 - 1e-7)]
    assert shown == ["none", "1e-05 %", "12.3 %", "all", "more than 99.9 %"]
