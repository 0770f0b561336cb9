"""Progress of long work: the work reports its share, and a listener receives it.

    for method in tracked(methods): ...            # in the code that works; free without a listener
    with progress_part(0.2, 0.9): ...              # the block leads from a fifth of the work to nine tenths
    with progress_reported(report): work()         # calls report(0.25) after a quarter

Steps within a step are parts of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
ProgressCallback = Callable[[float], None]

_listening: ContextVar[tuple[ProgressCallback, float, float] | None] = ContextVar("listening", default=None)
"""The callback, and the shares of the whole at the begin and the end of the current work."""


@contextmanager
def progress_reported(report: ProgressCallback | None) -> Iterator[None]:
    """Report the progress of the block to a callback; None for no reports."""
    outer = _listening.get()
    _listening.set(None if report is None else (report, 0.0, 1.0))
    try:
        yield
    finally:
        _listening.set(outer)


def progress_callback() -> ProgressCallback | None:
    """Return the callback of the current work, or None."""
    if (now := _listening.get()) is None:
        return None
    tell, low, high = now
    return lambda share: tell(low + (high - low) * share)


@contextmanager
def progress_part(begin: float, end: float) -> Iterator[None]:
    """Let the block lead from one share of the current work to another."""
    outer = _listening.get()
    if outer is None:
        yield
        return
    tell, low, high = outer
    inner = (low + (high - low) * begin, low + (high - low) * end)
    _listening.set((tell, *inner))
    tell(inner[0])
    try:
        yield
    finally:
        _listening.set(outer)
    tell(inner[1])


def tracked(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items; each is an equal part of the work."""
    outer = _listening.get()
    if outer is None:
        yield from items
        return
    tell, low, high = outer
    listed = list(items)
    step = (high - low) / max(len(listed), 1)
    try:
        for k, item in enumerate(listed):
            _listening.set((tell, low + k * step, low + (k + 1) * step))
            tell(low + k * step)
            yield item
    finally:
        _listening.set(outer)
    tell(high)
