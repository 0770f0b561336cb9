"""Chunks of a study computed, and kept as they come: by threads, by processes of this machine, or by a cluster.

Every engine calls `chunks.compute` and nothing else, so results have the same bits. Only so many chunks are under way
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
from armwright.sweep.chunks import Chunk, compute, quietly, readied
from armwright.sweep.cluster import computed_by_cluster
from armwright.sweep.folder import Folder
from armwright.sweep.schedule import AHEAD, RETRIES, in_turn
from armwright.sweep.schema import columns_of
from armwright.sweep.study import Study
from armwright.sweep.workers import WorkerLostError, Workers

ON_CARD = 2
"""Threads of this process where a card computes."""

STOPPING = 0.05
"""Seconds after which chunks under way are told again to stop: one may have begun since."""


@dataclass(frozen=True)
class Progress:
    """How far a study is: rollouts, of how many, how many of those computed now could not go on."""

    rows: int
    of: int
    before: int
    failed: int


Told = Callable[[Progress], None]


def sweep(
    study: Study,
    folder: str | Path,
    threads: int | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    part: tuple[int, int] | None = None,
    told: Told = lambda progress: None,
) -> Progress:
    """Compute what is missing of a study, or of part k of N (1 to N), and keep it in a folder.

    threads     of this process; by default one for each core it may use, on a card two: one computes while the other
                writes down what was found
    workers     processes of this machine in place of threads; they speak over pipes, so that no port is opened
    cluster     the address of a Dask cluster that exists (docs/clusters.md says who can reach it)
    told        is called with the progress after every chunk
    """
    if workers is not None and cluster is not None:
        raise InputError("workers= are of this machine and cluster= is of others; expected one of them")
    study = replace(study, folder=study.folder.absolute())
    found, kept = readied(study, anew=True), Folder.at(folder)
    numbers = _numbers(found.chunks, part)
    with kept.locked(f"{part[0]}-of-{part[1]}" if part else ""):
        kept.begin(found)
        if part is None:
            kept.tidy()
        there = kept.done(numbers, mend=True, columns=columns_of(found))
        sizes = {k: found.rows_of(k)[1] for k in numbers}
        before, total = sum(sizes[k] for k in there), sum(sizes.values())
        progress = Progress(before, total, before, 0)
        told(progress)
        missing = [k for k in numbers if k not in there]
        if not missing:
            return progress
        with closing(_computed(study, found.digest, missing, threads, workers, cluster)) as chunks:
            for chunk in chunks:
                if chunk.digest != found.digest:
                    raise InputError("a worker has another armwright or other files than this process; expected equal")
                kept.put(chunk)
                progress = replace(progress, rows=progress.rows + chunk.count, failed=progress.failed + chunk.failed)
                told(progress)
    return progress


def _numbers(chunks: int, part: tuple[int, int] | None) -> Sequence[int]:
    if part is None:
        return range(chunks)
    if not (isinstance(part, Sequence) and len(part) == 2 and all(isinstance(x, int) for x in part)):
        raise InputError(f"part = {part!r}: expected which part of how many, such as (3, 16)")
    k, of = part
    if not 1 <= k <= of:
        raise InputError(f"part {k} of {of}: expected 1 to {of}")
    return range(k - 1, chunks, of)


def _computed(
    study: Study, digest: str, numbers: Sequence[int], threads: int | None, workers: int | None, cluster: str | None
) -> Generator[Chunk]:
    if threads is not None and (workers is not None or cluster is not None):
        raise InputError("threads= is of this process, which computes nothing with workers= or cluster=; leave it out")
    if cluster is not None:
        return computed_by_cluster(study, digest, numbers, cluster)
    if workers is not None:
        whole_number("workers", workers, 1)
        return _by_processes(study, digest, numbers, min(workers, len(numbers)))
    usual = ON_CARD if study.target == "cuda" else len(os.sched_getaffinity(0))
    count = usual if threads is None else threads
    whole_number("threads", count, 1)
    return _by_threads(partial(compute, study), numbers, count, stop_all)


def _by_threads(
    asked: Callable[[int], Chunk],
    numbers: Sequence[int],
    threads: int,
    stop: Callable[[], None],
    lost: Callable[[Exception], bool] = lambda error: False,
) -> Generator[Chunk]:
    """What is `asked` of each number, by threads; `stop` ends what is under way."""
    running = set[Future[Chunk]]()

    def submit(number: int) -> Future[Chunk]:
        running.add(job := pool.submit(asked, number))
        job.add_done_callback(running.discard)
        return job

    with ThreadPoolExecutor(threads) as pool, quietly():
        try:
            yield from in_turn(submit, numbers, AHEAD * threads, _first, lost)
        finally:  # where it ends early, by Ctrl-C or a full disk, nobody waits for chunks under way
            pool.shutdown(wait=False, cancel_futures=True)
            while running:
                stop()
                wait(tuple(running), STOPPING)


def _first(running: set[Future[Chunk]]) -> set[Future[Chunk]]:
    return wait(running, return_when=FIRST_COMPLETED).done


def _by_processes(study: Study, digest: str, numbers: Sequence[int], count: int) -> Generator[Chunk]:
    """Every thread waits for a process of its own; a chunk whose process has ended is begun again by another."""
    workers = Workers(study, digest)
    try:
        with closing(workers):
            yield from _by_threads(workers.compute, numbers, count, workers.kill, workers.lost)
    except WorkerLostError as error:
        raise InputError(
            f"a chunk ended its process {RETRIES + 1} times, the last time {error}; give the processes more memory, or "
            "look at the functions of the study. What was done is kept"
        ) from None
