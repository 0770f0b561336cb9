"""How much of the bare batch a study keeps: the same rollouts by `simulate_batch` alone and as a study into a folder.

    python benchmarks/sweep.py               # 65536 rollouts of the Puma 560 with a payload, 1 s, RK4, 1 ms, all cores
    python benchmarks/sweep.py 1000000       # the million
    python benchmarks/sweep.py 65536 5       # five rounds, in turns, the best of each: where others use the machine

The bare batch keeps start and end alone. The study has the final state ("end"), or torques at 51 records too ("peaks").
Each study has a process of its own, whose largest memory is told.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import armwright as aw

CHILD = """
import resource, sys, time
import armwright as aw
from armwright.sweep.study_engine import compute_study
study = aw.Study("puma560", {"payload.mass": {"uniform": [0, 3]}}, {"method": "random", "count": int(sys.argv[1])},
    {"measures": sys.argv[3].split(",")}, duration=1.0, every=0.02, integrator={"method": "rk4", "step": 0.001})
compute_study(aw.Study("puma560", {"payload.mass": [1.0, 2.0]}, want=study.want, duration=1.0, every=0.02,
    integrator=study.integrator), sys.argv[2] + "-first", threads=1)
begin, used = time.perf_counter(), time.process_time()
compute_study(study, sys.argv[2])
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(time.perf_counter() - begin, time.process_time() - used, most)
"""

WANTED = {"end": "final_q,final_qd", "peaks": "peak_torque,final_q,final_qd"}
AT_ONCE = 65536


def bare(count: int) -> tuple[float, float]:
    """Seconds, and those of all cores, of the rollouts alone, so many at a time that they need little memory."""
    arm, threads = aw.load("puma560"), len(os.sched_getaffinity(0))
    masses = np.random.default_rng(0).uniform(0, 3, min(count, AT_ONCE))
    call = {"duration": 1.0, "integrator": "rk4", "step": 0.001, "threads": threads, "progress": False}
    aw.simulate_batch(arm, vary={"payload.mass": masses[:8]}, **call)
    begin, used = time.perf_counter(), time.process_time()
    for first in range(0, count, AT_ONCE):
        aw.simulate_batch(arm, vary={"payload.mass": masses[: count - first]}, **call)
    return time.perf_counter() - begin, time.process_time() - used


def study(count: int, measures: str) -> tuple[float, float, float]:
    """Seconds of the study, files included, those of all cores, and megabytes of its process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", CHILD, str(count), str(Path(folder) / "results"), measures]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    seconds, used, memory = map(float, told)
    return seconds, used, memory


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else AT_ONCE
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in ("bare", *WANTED)}
    for _ in range(rounds):  # in turns, so that whatever else the machine does meets all of them
        found["bare"].append(bare(count))
        for name, measures in WANTED.items():
            found[name].append(study(count, measures))
    clock, cores = (min(times[k] for times in found["bare"]) for k in range(2))
    print(f"{'bare':6} {clock:8.2f} s, of all cores {cores:8.2f} s {count / clock:10,.0f} rollouts/s")
    for name in WANTED:
        seconds, used = (min(times[k] for times in found[name]) for k in range(2))
        memory = max(times[2] for times in found[name])
        print(
            f"{name:6} {seconds:8.2f} s, of all cores {used:8.2f} s {count / seconds:10,.0f} rollouts/s, of bare "
            f"{clock / seconds:.1%} by the clock, {cores / used:.1%} by the time of the cores; {memory:.0f} MB"
        )


if __name__ == "__main__":
    main()
