"""Kills sweeps at random moments, runs them again, and looks whether the results are those of an undisturbed one.

    python tools/kill_sweeps.py       # 200 kills of the process; 5 each of a worker of --workers, a Dask worker, a scheduler
    python tools/kill_sweeps.py 20    # fewer of the process

A sweep is killed by SIGKILL at a moment between its start and half its time, four times on one folder; then it may come
to its end, and the folder is compared byte by byte with one in which nothing happened. After every kill there must be no
file that the undisturbed folder does not have. Of a command with workers first a worker is killed, then the command itself,
which must leave no worker behind.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import armwright as aw
from armwright.sweep.prepare import setup_of
from armwright.sweep.study_engine import compute_study

STUDY = """
robot = "puma560"
duration = 0.5
every = 0.05
chunk = 64

[vary]
"payload.mass" = {uniform = [0, 3]}
"q0.2" = {normal = [0, 0.3]}

[design]
method = "sobol"
count = 2000

[want]
measures = ["peak_torque", "final_q"]
histories = ["q"]
histories_every = 50
"""

COMMAND = [sys.executable, "-m", "armwright", "sweep"]


def started(study: Path, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """The command, whose errors go to a file beside the folder."""
    command = [*COMMAND, str(study), "-o", str(folder), *options]
    with folder.with_suffix(".errors").open("wb") as errors:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.glob("*/*.parquet")}


def forked(study: Path, folder: Path) -> int:
    """A child that runs the study, with all that is imported and compiled here."""
    child = os.fork()
    if not child:
        try:
            compute_study(aw.Study.read(study), folder, threads=2)
            os._exit(0)
        finally:
            os._exit(1)
    return child


def ended(child: int) -> bool:
    """Whether a child comes to its end by itself, and well."""
    return os.waitpid(child, 0)[1] == 0


def kill_processes(study: Path, whole: dict[str, bytes], seconds: float, kills: int, work: Path) -> int:
    """How many folders were not as they should be."""
    chance, done, wrong, rounds, partly = random.Random(0), 0, 0, 0, 0
    while done < kills:
        folder, rounds = work / f"killed{rounds}", rounds + 1
        for _ in range(min(4, kills - done)):
            child = forked(study, folder)
            time.sleep(chance.uniform(0, seconds / 2))
            os.kill(child, signal.SIGKILL)
            ended(child)
            done += 1
            found = contents(folder)
            partly += 0 < len(found) < len(whole)
            wrong += not found.items() <= whole.items()
        if not ended(forked(study, folder)) or contents(folder) != whole:
            wrong += 1
        shutil.rmtree(folder)
    print(f"{done} kills of the process, {partly} with some chunks there and some not: {wrong} wrong", flush=True)
    return wrong


def children(process: int) -> list[int]:
    """The processes that one has started, those that have ended left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                found += [int(entry.name)] if int(parent) == process and state != "Z" else []
    return found


def alive(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def until(true: Callable[[], object], seconds: float = 60) -> bool:
    end = time.time() + seconds
    while not true() and time.time() < end:
        time.sleep(0.02)
    return bool(true())


def kill_workers(study: Path, whole: dict[str, bytes], kills: int, work: Path) -> int:
    """A command with two processes of this machine, one of which is killed while it works, then with a killed command."""
    chance, wrong = random.Random(2), 0
    for k in range(kills):
        folder = work / f"local{k}"
        command = started(study, folder, "--workers", "2")
        until(lambda child=command, folder=folder: contents(folder) or child.poll() is not None)
        time.sleep(chance.uniform(0, 0.3))
        workers = children(command.pid)
        if workers:
            os.kill(workers[0], signal.SIGKILL)
        wrong += command.wait(timeout=120) != 0 or contents(folder) != whole
        shutil.rmtree(folder)
        command = started(study, folder, "--workers", "2")
        until(lambda child=command, folder=folder: contents(folder) or child.poll() is not None)
        left = children(command.pid)
        command.kill()
        command.wait()
        wrong += not until(lambda left=left: not any(map(alive, left)))
        wrong += not contents(folder).items() <= whole.items()
        wrong += started(study, folder, "--workers", "2").wait() != 0 or contents(folder) != whole
        print(f"  one of {len(workers)} workers killed, and the command with {len(left)}: {wrong} wrong", flush=True)
        shutil.rmtree(folder)
    print(f"{kills} kills of a worker and of its command: {wrong} wrong", flush=True)
    return wrong


def kill_cluster(study: Path, whole: dict[str, bytes], what: str, kills: int, work: Path) -> int:
    """A cluster of a scheduler and two workers of their own, one of which is killed while it works."""
    chance, wrong = random.Random(1), 0
    for k in range(kills):
        folder, told = work / f"{what}{k}", work / f"{what}{k}.json"
        scheduler = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(told),
            ],
            stderr=subprocess.DEVNULL,
        )
        while not told.exists():
            time.sleep(0.1)
        worker = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--scheduler-file",
            str(told),
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
        ]
        workers = [subprocess.Popen(worker, stderr=subprocess.DEVNULL) for _ in range(2)]
        time.sleep(4)
        child = started(study, folder, "--cluster", json.loads(told.read_text())["address"])
        end = time.time() + 60
        while not contents(folder) and time.time() < end:
            time.sleep(0.02)
        time.sleep(chance.uniform(0, 0.5))
        (scheduler if what == "scheduler" else workers[0]).kill()
        code = child.wait(timeout=120)
        why = f": {folder.with_suffix('.errors').read_text().strip()}" if code else ""
        wrong += what == "worker" and code != 0  # the other goes on
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
        there = len(contents(folder))
        wrong += not contents(folder).items() <= whole.items()
        if started(study, folder).wait() or contents(folder) != whole:
            wrong += 1
        print(
            f"  {what} killed: the command ended with {code}, {there} of {len(whole)} files were there{why}", flush=True
        )
        shutil.rmtree(folder)
    print(f"{kills} kills of a {what}: {wrong} wrong", flush=True)
    return wrong


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        study = work / "study.toml"
        study.write_text(STUDY)
        setup_of(aw.Study.read(study))  # so that children have it compiled
        begin = time.perf_counter()
        if not ended(forked(study, work / "whole")):
            raise RuntimeError("the undisturbed sweep failed")
        seconds = time.perf_counter() - begin
        whole = contents(work / "whole")
        print(f"an undisturbed sweep takes {seconds:.2f} s and makes {len(whole)} files", flush=True)
        wrong = kill_processes(study, whole, seconds, kills, work)
        few = min(5, kills // 40)
        wrong += kill_workers(study, whole, few, work)
        wrong += sum(kill_cluster(study, whole, what, few, work) for what in ("worker", "scheduler"))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
