"""Properties that are computed once, without a lock.

Up to Python 3.11 a `functools.cached_property` holds a lock, one for all objects, while it computes. If the process
forks meanwhile, its child would wait for that lock for ever: the thread that holds it does not exist there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):  # noqa: N801  (named like the one it replaces)
    """The property of later Pythons: two threads may both compute it, and one result is kept."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()
