"""Compute the chunks of a study by threads, worker processes or a cluster, and keep each when it is complete.

All of them call `chunk.compute_chunk`, so results have the same bits. The number of chunks in progress is bounded, so
that memory does not grow with the study.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from armwright.arrays import whole_number
from armwright.errors import InputError
from armwright.simulation.rollouts import stop_all
from armwright.sweep.chunk import Chunk, compute_chunk, simulation_warnings_ignored
from armwright.sweep.chunk_schedule import CHUNK_RETRIES, CHUNKS_PER_WORKER, scheduled_chunks
from armwright.sweep.chunk_schema import columns_of
from armwright.sweep.cluster import chunks_by_cluster
from armwright.sweep.folder import Folder
from armwright.sweep.prepare import setup_of
from armwright.sweep.study import Study
from armwright.sweep.study_measures import check_measures_of_workers
from armwright.sweep.workers import WorkerLostError, WorkerPool

GPU_THREADS = 2
"""Default threads where a GPU computes: one launches kernels while the other writes results."""

STOP_INTERVAL = 0.05
"""Seconds after which chunks in progress are stopped again, as one may have started since."""


@dataclass(frozen=True)
class StudyProgress:
    """Progress in rollouts: done so far, in total, done by earlier runs, and failed in this run."""

    done: int
    total: int
    earlier: int
    failed: int


ProgressCallback = Callable[[StudyProgress], None]


def compute_study(
    study: Study,
    folder: str | Path,
    threads: int | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    part: tuple[int, int] | None = None,
    on_progress: ProgressCallback = lambda progress: None,
) -> StudyProgress:
    """Compute the missing chunks of a study, or of part k of N (1 to N), into a folder, and return the progress.

    threads     threads of this process; by default one for each core it may use, two for a GPU
    workers     processes of this machine in place of threads; they are connected by pipes and open no port
    cluster     the address of an existing Dask cluster (docs/clusters.md says who can reach it)
    on_progress called with the progress after every chunk
    """
    if workers is not None and cluster is not None:
        raise InputError("got workers= (processes of this machine) and cluster=; expected one of them")
    study = replace(study, folder=study.folder.absolute())
    setup, results_folder = setup_of(study, refresh=True), Folder.at(folder)
    if workers is not None or cluster is not None:
        check_measures_of_workers(setup.measures)
    numbers = _chunk_numbers(setup.chunks, part)
    with results_folder.lock(f"{part[0]}-of-{part[1]}" if part else ""):
        results_folder.initialise(setup)
        if part is None:
            results_folder.remove_partial_files()
        complete = results_folder.complete_chunks(numbers, repair=True, columns=columns_of(setup))
        sizes = {k: setup.rows_of(k)[1] for k in numbers}
        earlier = sum(sizes[k] for k in complete)
        progress = StudyProgress(earlier, sum(sizes.values()), earlier, 0)
        on_progress(progress)
        missing = [k for k in numbers if k not in complete]
        if not missing:
            return progress
        with closing(_chunks(study, setup.digest, missing, threads, workers, cluster)) as chunks:
            for chunk in chunks:
                if chunk.digest != setup.digest:
                    raise InputError("a worker has another version of armwright, or other files; expected the same")
                results_folder.write(chunk)
                done, failed = progress.done + chunk.count, progress.failed + chunk.failed
                progress = replace(progress, done=done, failed=failed)
                on_progress(progress)
    return progress


def _chunk_numbers(chunks: int, part: tuple[int, int] | None) -> Sequence[int]:
    if part is None:
        return range(chunks)
    if not (isinstance(part, Sequence) and len(part) == 2 and all(isinstance(x, int) for x in part)):
        raise InputError(f"part = {part!r}: expected a part and the number of parts, such as (3, 16)")
    k, of = part
    if not 1 <= k <= of:
        raise InputError(f"part {k} of {of}: expected 1 to {of}")
    return range(k - 1, chunks, of)


def _chunks(
    study: Study, digest: str, numbers: Sequence[int], threads: int | None, workers: int | None, cluster: str | None
) -> Generator[Chunk]:
    if threads is not None and (workers is not None or cluster is not None):
        raise InputError("threads= has no effect with workers= or cluster=; remove it")
    if cluster is not None:
        return chunks_by_cluster(study, digest, numbers, cluster)
    if workers is not None:
        whole_number("workers", workers, 1)
        return _by_processes(study, digest, numbers, min(workers, len(numbers)))
    default = GPU_THREADS if study.target == "cuda" else len(os.sched_getaffinity(0))
    count = default if threads is None else threads
    whole_number("threads", count, 1)
    return _by_threads(partial(compute_chunk, study), numbers, count, stop_all)


def _by_threads(
    compute: Callable[[int], Chunk],
    numbers: Sequence[int],
    threads: int,
    stop: Callable[[], None],
    lost: Callable[[Exception], bool] = lambda error: False,
) -> Generator[Chunk]:
    """Yield the chunks that `compute` returns in threads; `stop` ends chunks in progress."""
    running = set[Future[Chunk]]()

    def submit(number: int) -> Future[Chunk]:
        running.add(job := pool.submit(compute, number))
        job.add_done_callback(running.discard)
        return job

    with ThreadPoolExecutor(threads) as pool, simulation_warnings_ignored():
        try:
            yield from scheduled_chunks(submit, numbers, CHUNKS_PER_WORKER * threads, _wait, lost)
        finally:  # after Ctrl-C or a full disk, stop chunks in progress instead of waiting for them
            pool.shutdown(wait=False, cancel_futures=True)
            while running:
                stop()
                wait(tuple(running), STOP_INTERVAL)


def _wait(running: set[Future[Chunk]]) -> set[Future[Chunk]]:
    return wait(running, return_when=FIRST_COMPLETED).done


def _by_processes(study: Study, digest: str, numbers: Sequence[int], count: int) -> Generator[Chunk]:
    """Yield chunks computed by worker processes, one thread waiting for each; chunks of lost workers are retried."""
    workers = WorkerPool(study, digest)
    try:
        with closing(workers):
            yield from _by_threads(workers.compute, numbers, count, workers.kill, workers.lost)
    except WorkerLostError as error:
        raise InputError(
            f"a chunk ended its process {CHUNK_RETRIES + 1} times, the last time {error}; give the processes more "
            "memory, or check the functions of the study. Completed chunks are kept"
        ) from None
