"""What a chunk of a study costs besides its rollouts: by threads, and by Dask with one worker and with two.

    python benchmarks/sweep_overhead.py          # 1000 chunks of one short rollout each, and of 4096

Chunks of one rollout of one step show what making, sending, checking and writing takes. Results go to a folder of the
temporary files; where that lies on a disk, the time to write a file through is part of it. "dask alone" is a function
that does nothing, submitted and gathered as chunks are. Where others use the machine, look at the time of the command's
own cores ("command"), which is what one command can do in a second at most.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import distributed

import armwright as aw
from armwright.sweep.chunk_schedule import CHUNKS_PER_WORKER, scheduled_chunks
from armwright.sweep.study_engine import compute_study

ROLLOUTS = (1, 4096)
REPEATS = 3


def study(chunks: int, rollouts: int) -> aw.Study:
    """Rollouts of one step each."""
    return aw.Study(
        "puma560",
        {"payload.mass": {"uniform": [0, 3]}},
        {"method": "random", "count": chunks * rollouts},
        {"measures": ["final_q", "final_qd"]},
        duration=1e-3,
        integrator={"method": "rk4", "step": 1e-3},
        chunk=rollouts,
    )


def nothing(number: int) -> int:
    return number


def first(running: set[distributed.Future]) -> set[distributed.Future]:
    return distributed.wait(running, return_when="FIRST_COMPLETED").done


def bare(client: distributed.Client, chunks: int, workers: int) -> tuple[float, float]:
    """Seconds, and those of this process, that Dask takes for as many tasks that do nothing."""
    begin, used = time.perf_counter(), time.process_time()
    for _ in scheduled_chunks(
        lambda k: client.submit(nothing, k, pure=False), range(chunks), CHUNKS_PER_WORKER * workers, first
    ):
        pass
    return time.perf_counter() - begin, time.process_time() - used


def swept(chunks: int, rollouts: int, cluster: str | None) -> tuple[float, float]:
    """The same of a study into a new folder."""
    made = study(chunks, rollouts)
    with tempfile.TemporaryDirectory() as folder:
        how = {"threads": 1} if cluster is None else {"cluster": cluster}
        compute_study(study(4, rollouts), Path(folder) / "first", **how)
        begin, used = time.perf_counter(), time.process_time()
        compute_study(made, Path(folder) / "results", **how)
        return time.perf_counter() - begin, time.process_time() - used


def told(what: str, chunks: int, times: list[tuple[float, float]]) -> None:
    wall, used = (1e6 * min(part) / chunks for part in zip(*times, strict=True))
    print(f"{what:34} {wall:8.0f} us a chunk by the clock, command {used:8.0f} us", flush=True)


def main() -> None:
    chunks = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for rollouts in ROLLOUTS:
        count = max(4, chunks // (1 if rollouts == 1 else 10))
        told(f"thread, {rollouts} rollouts", count, [swept(count, rollouts, None) for _ in range(REPEATS)])
    for workers in (1, 2):
        made = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
        with distributed.LocalCluster(**made) as cluster, distributed.Client(cluster) as client:
            told(f"dask alone, {workers} workers", chunks, [bare(client, chunks, workers) for _ in range(REPEATS)])
            for rollouts in ROLLOUTS:
                count = max(4, chunks // (1 if rollouts == 1 else 10))
                times = [swept(count, rollouts, cluster.scheduler_address) for _ in range(REPEATS)]
                told(f"{workers} workers, {rollouts} rollouts", count, times)


if __name__ == "__main__":
    main()
