"""Ctrl-C while many motions are under way: it is heard at once, and what was done is kept."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import pytest
from conftest import HERE

import armwright as aw
from armwright.errors import Interrupted
from armwright.interrupts import deferred
from armwright.simulation.integration_settings import settings
from armwright.simulation.kernels import rollout_of
from armwright.simulation.motion_record import MotionRecord
from armwright.simulation.plan import plan
from armwright.simulation.rollouts import Rollouts, stop_all
from armwright.torque import Free

ROLLOUTS = 20_000
LONG = """
import json, sys, time
import numpy as np
import armwright as aw
from armwright.errors import Interrupted
from armwright.interrupts import deferred

options = json.loads(sys.argv[1])
arm, q0 = aw.load("rr"), np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
short = {**options, "duration": 0.1, "every": 0.1}
aw.simulate_batch(arm, q0=q0[:8], **short)
print("ready", flush=True)
try:
    aw.simulate_batch(arm, q0=q0, **options)
except Interrupted as error:
    heard, batch = time.time(), error.result
    np.savez(sys.argv[2], q=batch.q, t=batch.t, finished=batch.finished, reached=batch.reached, failed=batch.failed)
    print(json.dumps([heard, str(error)]))
    raise
"""
"""What takes hours."""


def interrupted(options: dict, file: Path) -> tuple[float, str, dict[str, np.ndarray]]:
    """Seconds from the signal to the error, what the error says, and what there is of the batch."""
    command = [sys.executable, "-c", LONG, json.dumps(options), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2.0)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert "Interrupted" in err
    assert process.returncode  # nobody takes what was interrupted for a success
    heard, message = json.loads(out)
    return heard - sent, message, dict(np.load(file))


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize(
    "options",
    [
        {"duration": 500.0, "step": 1e-3},
        {"duration": 500.0, "step": 1e-3, "threads": 2},
        {"duration": 500.0, "integrator": "dop853"},
    ],
    ids=["fixed steps", "two threads", "chosen steps"],
)
def test_ctrl_c_ends_a_batch_at_once_and_keeps_what_was_done(options: dict, tmp_path: Path) -> None:
    """It takes some hundredths of a second; what was finished is what it is without an interruption."""
    seconds, message, batch = interrupted(options, tmp_path / "batch.npz")
    assert seconds < 5.0
    finished, last = batch["finished"], batch["q"][:, -1]
    assert message.startswith("stopped by the user after t = 0 s")
    assert f"{finished.sum()} of {ROLLOUTS} rollouts are finished" in message
    assert 0 < finished.sum() < ROLLOUTS
    assert not batch["failed"].any()
    assert batch["t"].tolist() == [0, 500]
    assert (batch["reached"][finished] == 500).all()
    assert (batch["reached"][~finished] < 500).all()
    assert np.isfinite(last[finished]).all()
    assert np.isnan(last[~finished]).all()
    q0 = np.random.default_rng(0).uniform(-1, 1, (ROLLOUTS, 2))[finished][:8]
    alone = aw.simulate_batch(aw.load("rr"), q0=q0, **options)
    assert np.array_equal(alone.q, batch["q"][finished][:8])
    assert alone.finished.all()


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("how", [{"integrator": "rk4", "step": 0.01}, {"integrator": "dop853", "rtol": 1e-6}])
def test_who_is_told_to_stop_stays_where_it_is(target: str, how: dict) -> None:
    arm = aw.load("rr")
    chosen = settings(how["integrator"], how.get("rtol"), None, how.get("step"), None)
    planned = plan(arm, Free(), chosen, 0.3, 0.1, 0.0, 0.0)
    kernel = rollout_of(MotionRecord(arm, planned.law), how["integrator"], "step" in how, target=target)
    y = planned.layout.joined({"q": np.array([0.3, -0.2]), "qd": np.zeros(2), "memory": np.zeros(0)})
    rollouts = Rollouts(planned, kernel, y[None], np.zeros((1, 1)))
    rollouts.advance(1)
    there = rollouts.y.copy()
    rollouts.stop[0] = 1
    rollouts.advance(2)
    rollouts.cut()
    assert np.array_equal(rollouts.y, there)
    assert rollouts.last.tolist() == [1]
    assert np.array_equal(rollouts.states, np.array([[y, there[:, 0]]]))


def test_rollouts_of_other_threads_can_be_stopped() -> None:
    """As a study does on Ctrl-C, which no thread but the main one hears."""
    arm = aw.load("rr")
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(aw.simulate_batch, arm, q0=np.full((64, 2), 0.1), duration=1e4, step=1e-4, every=1.0)
        while not job.done():
            stop_all()
            wait([job], 0.05)
        with pytest.raises(Interrupted) as stopped:
            job.result()
    assert not stopped.value.result.finished.any()
    assert aw.simulate_batch(arm, q0=np.full((2, 2), 0.1), duration=0.1).finished.all()


PRESSED = """
import importlib.abc, os, runpy, signal, sys

class Press(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
_, module, *words = sys.argv
sys.argv = ["armwright", *words]
runpy.run_module("armwright", run_name="__main__")
"""
"""A command, and Ctrl-C when it imports a module."""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("typer", ["robots"]),
        ("numpy", ["robots"]),
        ("armwright.simulation", ["simulate", "rr"]),
        ("networkx", ["view", "rr", "--no-browser"]),  # trimesh imports it, and swallows whatever that raises
    ],
)
def test_ctrl_c_while_a_command_starts(module: str, words: list[str], tmp_path: Path) -> None:
    """It ends with the exit code of an interrupted command and without a traceback."""
    done = subprocess.run(
        [sys.executable, "-c", PRESSED, module, *words],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


def test_ctrl_c_is_deferred_and_not_lost() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), deferred():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
        except BaseException:
            pass
        reached = True
    assert reached
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
