"""Chunks of a study computed: by threads of this process, or by Dask on several, and kept as they come.

Every engine calls `chunks.compute` and nothing else, so results have the same bits. Only so many chunks are under way
that memory does not grow with the study.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from armwright.arrays import whole_number
from armwright.errors import InputError, SimulationWarning, SlowWarning
from armwright.simulation.rollouts import stop_all
from armwright.sweep.chunks import Chunk, compute, readied
from armwright.sweep.folder import Folder
from armwright.sweep.study import Study

AHEAD = 2
"""Chunks under way for each worker, so that none waits for the next."""

ON_CARD = 2
"""Threads of this process where a card computes."""

RETRIES = 3
"""How often a chunk is tried again whose worker has died, by Dask and again by us."""

SECONDS = 30
"""In which a cluster must answer."""

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
    workers     processes of a Dask cluster made here, in place of threads
    cluster     the address of a Dask cluster that exists
    told        is called with the progress after every chunk
    """
    if workers is not None and cluster is not None:
        raise InputError("workers= makes a cluster and cluster= names one; expected one of them")
    study = replace(study, folder=study.folder.absolute())
    found, kept = readied(study, anew=True), Folder.at(folder)
    numbers = _numbers(found.chunks, part)
    with kept.locked(f"{part[0]}-of-{part[1]}" if part else ""):
        kept.begin(found)
        if part is None:
            kept.tidy()
        there = kept.done(numbers, mend=True)
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
    if workers is None and cluster is None:
        usual = ON_CARD if study.target == "cuda" else len(os.sched_getaffinity(0))
        count = usual if threads is None else threads
        whole_number("threads", count, 1)
        return _by_threads(study, numbers, count)
    if threads is not None:
        raise InputError("threads= is of this process, and a cluster has its own; leave it out")
    return _by_dask(study, digest, numbers, workers, cluster)


def _by_threads(study: Study, numbers: Sequence[int], threads: int) -> Generator[Chunk]:
    running = set[Future[Chunk]]()

    def submit(number: int) -> Future[Chunk]:
        running.add(job := pool.submit(compute, study, number))
        job.add_done_callback(running.discard)
        return job

    with ThreadPoolExecutor(threads) as pool, _quiet():
        try:
            yield from _in_turn(submit, numbers, AHEAD * threads, _first)
        finally:  # where it ends early, by Ctrl-C or a full disk, nobody waits for chunks under way
            pool.shutdown(wait=False, cancel_futures=True)
            while running:
                stop_all()
                wait(tuple(running), STOPPING)


def _first(running: set[Future[Chunk]]) -> set[Future[Chunk]]:
    return wait(running, return_when=FIRST_COMPLETED).done


def _in_turn(
    submit: Callable[[int], Any],
    numbers: Sequence[int],
    most: int,
    first: Callable[[set[Any]], set[Any]],
    lost: Callable[[Exception], bool] = lambda error: False,
) -> Iterator[Chunk]:
    """Results as they come, with only so many under way; what is `lost` on its way is begun again, some times."""
    left, running, tries = list(reversed(numbers)), dict[Any, int](), Counter[int]()
    while left or running:
        while left and len(running) < most:
            number = left.pop()
            running[submit(number)] = number
        for future in first(set(running)):
            number = running.pop(future)
            try:
                chunk = future.result()
            except Exception as error:  # which only `lost` knows
                tries[number] += 1
                if tries[number] > RETRIES or not lost(error):
                    raise
                left.append(number)
            else:
                yield chunk


def _by_dask(
    study: Study, digest: str, numbers: Sequence[int], workers: int | None, address: str | None
) -> Generator[Chunk]:
    try:
        import distributed  # noqa: PLC0415
    except ImportError:
        raise InputError("several processes need Dask: pip install 'armwright[sweep]'") from None
    gone = (distributed.CancelledError, distributed.comm.CommClosedError, distributed.KilledWorker, OSError)

    def first(running: set[Any]) -> set[Any]:
        with suppress(distributed.CancelledError):  # their own results say so, too
            distributed.wait(running, return_when="FIRST_COMPLETED")
        return {future for future in running if future.status != "pending"}

    with _silent(), _cluster(distributed, workers, address) as client:
        try:
            yield from _in_turn(
                lambda k: client.submit(_quietly, study, k, digest, pure=False, retries=RETRIES),
                numbers,
                AHEAD * max(1, sum(client.nthreads().values())),
                first,
                lambda error: isinstance(error, gone) and client.status == "running",
            )
        except gone as error:
            why = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise InputError(
                f"the cluster is gone ({why}); what was done is kept, so run the same command again"
            ) from None


def _quietly(study: Study, number: int, digest: str) -> Chunk:
    """A chunk on a worker, where nobody reads warnings: what could not go on is in its rows."""
    with _quiet():
        return compute(study, number, digest)


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        warnings.simplefilter("ignore", SlowWarning)
        yield


@contextmanager
def _silent() -> Iterator[None]:
    """Without what Dask's client logs of workers that die: it is mended, or told as an error."""
    loggers = [logging.getLogger(name) for name in ("distributed.client", "distributed.batched")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _cluster(distributed: Any, workers: int | None, address: str | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of one made for as long as this takes."""
    if address is not None:
        try:
            client = distributed.Client(address, timeout=SECONDS)
        except (OSError, ValueError) as error:
            raise InputError(f"no Dask cluster answers at {address}: {error}") from None
        with client:
            yield client
        return
    whole_number("workers", workers, 1)
    local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with local, distributed.Client(local) as client:
        yield client
