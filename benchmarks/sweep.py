"""How much of the bare batch a study keeps: the same rollouts by `simulate_batch` alone and as a study into a folder.

    python benchmarks/sweep.py               # 65536 rollouts of the Puma 560 with a payload, 1 s, RK4, 1 ms, all cores
    python benchmarks/sweep.py 1000000       # the million

The bare batch keeps start and end alone. The study has the final state ("end"), or torques at 51 records too ("peaks").
Each is timed twice, in turn, and the quicker counts; each study has a process of its own, whose largest memory is told.
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
from armwright.sweep.engine import sweep
study = aw.Study("puma560", {"payload.mass": {"uniform": [0, 3]}}, {"method": "random", "count": int(sys.argv[1])},
    {"measures": sys.argv[3].split(",")}, duration=1.0, every=0.02, integrator={"method": "rk4", "step": 0.001})
sweep(aw.Study("puma560", {"payload.mass": [1.0, 2.0]}, want=study.want, duration=1.0, every=0.02,
    integrator=study.integrator), sys.argv[2] + "-first", threads=1)
begin = time.perf_counter()
sweep(study, sys.argv[2])
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

WANTED = {"end": "final_q,final_qd", "peaks": "peak_torque,final_q,final_qd"}
AT_ONCE = 65536


def bare(count: int) -> float:
    """Seconds of the rollouts alone, which need no more memory than some of them at a time do."""
    arm, threads = aw.load("puma560"), len(os.sched_getaffinity(0))
    masses = np.random.default_rng(0).uniform(0, 3, min(count, AT_ONCE))
    call = {"duration": 1.0, "integrator": "rk4", "step": 0.001, "threads": threads, "progress": False}
    aw.simulate_batch(arm, vary={"payload.mass": masses[:8]}, **call)
    begin = time.perf_counter()
    for first in range(0, count, AT_ONCE):
        aw.simulate_batch(arm, vary={"payload.mass": masses[: count - first]}, **call)
    return time.perf_counter() - begin


def study(count: int, measures: str) -> tuple[float, float]:
    """Seconds of the study, files included, and megabytes of its process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", CHILD, str(count), str(Path(folder) / "results"), measures]
        seconds, memory = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(memory)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else AT_ONCE
    rounds = 2 if count <= 4 * AT_ONCE else 1
    alone, found = [], {name: [] for name in WANTED}
    for _ in range(rounds):
        alone.append(bare(count))
        for name, measures in WANTED.items():
            found[name].append(study(count, measures))
    print(f"{'bare':6} {min(alone):8.2f} s {count / min(alone):10,.0f} rollouts/s")
    for name, times in found.items():
        seconds, memory = min(x for x, _ in times), max(x for _, x in times)
        share = min(alone) / seconds
        print(f"{name:6} {seconds:8.2f} s {count / seconds:10,.0f} rollouts/s {share:7.1%} of bare {memory:6.0f} MB")


if __name__ == "__main__":
    main()
