"""Progress of long work: the work reports the fraction that is done, and a callback receives it.

    for method in tracked(methods): ...            # in the code of the work; costs nothing without a callback
    with progress_part(0.2, 0.9): ...              # the block is the work from 20 % to 90 %
    with progress_reported(report): work()         # calls report(0.25) after a quarter of the work

These nest: an inner block counts as its part of the outer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
ProgressCallback = Callable[[float], None]

_listener: ContextVar[tuple[ProgressCallback, float, float] | None] = ContextVar("listener", default=None)
"""The callback, and the fractions of the whole at the start and the end of the current work."""


@contextmanager
def progress_reported(report: ProgressCallback | None) -> Iterator[None]:
    """Report the progress of the block to a callback; None for no reports."""
    outer = _listener.get()
    _listener.set(None if report is None else (report, 0.0, 1.0))
    try:
        yield
    finally:
        _listener.set(outer)


def progress_callback() -> ProgressCallback | None:
    """Return the callback of the current work, or None."""
    if (current := _listener.get()) is None:
        return None
    report, low, high = current
    return lambda fraction: report(low + (high - low) * fraction)


@contextmanager
def progress_part(begin: float, end: float) -> Iterator[None]:
    """Count the block as the current work from fraction `begin` to fraction `end`."""
    outer = _listener.get()
    if outer is None:
        yield
        return
    report, low, high = outer
    inner = (low + (high - low) * begin, low + (high - low) * end)
    _listener.set((report, *inner))
    report(inner[0])
    try:
        yield
    finally:
        _listener.set(outer)
    report(inner[1])


def tracked(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items; each counts as an equal part of the work."""
    outer = _listener.get()
    if outer is None:
        yield from items
        return
    report, low, high = outer
    listed = list(items)
    step = (high - low) / max(len(listed), 1)
    try:
        for k, item in enumerate(listed):
            _listener.set((report, low + k * step, low + (k + 1) * step))
            report(low + k * step)
            yield item
    finally:
        _listener.set(outer)
    report(high)
