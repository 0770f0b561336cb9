"""Work handed out so that only so much of it is under way, whoever does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from armwright.sweep.chunks import Chunk

AHEAD = 2
"""Chunks under way for each worker, so that none waits for the next."""

RETRIES = 3
"""How often a chunk is tried again whose worker has died."""


def in_turn(
    submit: Callable[[int], Any],
    numbers: Sequence[int],
    most: int,
    first: Callable[[set[Any]], set[Any]],
    lost: Callable[[Exception], bool] = lambda error: False,
) -> Iterator[Chunk]:
    """Results as they come, with only so many under way; what is `lost` on its way is begun again, some times."""
    begun, again, running, tries = iter(numbers), list[int](), dict[Any, int](), Counter[int]()
    while True:
        while len(running) < most and (number := again.pop() if again else next(begun, None)) is not None:
            running[submit(number)] = number
        if not running:
            return
        for future in first(set(running)):
            number = running.pop(future)
            try:
                chunk = future.result()
            except Exception as error:  # which only `lost` knows
                tries[number] += 1
                if tries[number] > RETRIES or not lost(error):
                    raise
                again.append(number)
            else:
                yield chunk
