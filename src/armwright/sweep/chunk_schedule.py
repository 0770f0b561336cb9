"""Hand out chunks so that only a bounded number is in progress, by threads, processes or a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from armwright.sweep.chunk import Chunk

CHUNKS_PER_WORKER = 2
"""Chunks in progress for each worker, so that none waits for the next."""

CHUNK_RETRIES = 3
"""Attempts to compute a chunk again after its worker has died."""


def scheduled_chunks(
    submit: Callable[[int], Any],
    numbers: Sequence[int],
    limit: int,
    wait: Callable[[set[Any]], set[Any]],
    lost: Callable[[Exception], bool] = lambda error: False,
) -> Iterator[Chunk]:
    """Yield chunks as they are completed, with at most `limit` in progress.

    `submit` starts a chunk and returns a future, `wait` returns those futures that are done. A chunk whose error is
    `lost` is started again, up to CHUNK_RETRIES times.
    """
    rest, again, running, attempts = iter(numbers), list[int](), dict[Any, int](), Counter[int]()
    while True:
        while len(running) < limit and (number := again.pop() if again else next(rest, None)) is not None:
            running[submit(number)] = number
        if not running:
            return
        for future in wait(set(running)):
            number = running.pop(future)
            try:
                chunk = future.result()
            except Exception as error:  # `lost` knows the errors of lost workers
                attempts[number] += 1
                if attempts[number] > CHUNK_RETRIES or not lost(error):
                    raise
                again.append(number)
            else:
                yield chunk
