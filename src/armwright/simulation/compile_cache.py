"""The cache of compiled code of motions and steps in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_COMPILED = 256
"""The largest number of results; the least recently used one is dropped first."""


class CompileCache:
    """Results by key. No lock: threads may compute the same result twice, and a process may fork at any time."""

    def __init__(self, limit: int = MAX_COMPILED) -> None:
        self.limit = limit
        self._entries: dict[Any, tuple[Any, list[int]]] = {}
        self._clock = count()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return the result of a key; compute it with `make` if it is missing."""
        entry = self._entries.get(key)
        if entry is None:
            entry = (make(), [0])
            while len(self._entries) >= self.limit:
                oldest = min(list(self._entries.items()), key=lambda item: item[1][1][0])[0]
                self._entries.pop(oldest, None)
            self._entries[key] = entry
        entry[1][0] = next(self._clock)
        return entry[0]


CACHE = CompileCache()
"""Shared by `simulate`, `simulate_batch` and `stepper`."""


def compiled_once(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with its results kept in `CACHE`, by its arguments."""

    @wraps(function)
    def call(*args: P.args, **named: P.kwargs) -> T:
        return CACHE.get((function, args, *named.items()), lambda: function(*args, **named))

    return call
