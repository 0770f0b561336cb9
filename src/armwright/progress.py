"""How far long work is: whoever computes counts its steps off, and whoever waits is told which part is done.

for method in counted_off(methods): ...        # in the room that works; costs nothing where nobody listens
with part(0.2, 0.9): ...                       # what is within leads from a fifth of it to nine tenths
with listening(tell): work()                   # tell(0.25) where a quarter is done

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
"""Who is told, and from which part of the whole to which the work under way leads."""


@contextmanager
def progress_reported(tell: ProgressCallback | None) -> Iterator[None]:
    """Tell how far the work within is; None for work of which nobody is to hear."""
    outer = _listening.get()
    _listening.set(None if tell is None else (tell, 0.0, 1.0))
    try:
        yield
    finally:
        _listening.set(outer)


def progress_callback() -> ProgressCallback | None:
    """Who is told which part of the work under way is done; None if nobody is."""
    if (now := _listening.get()) is None:
        return None
    tell, low, high = now
    return lambda share: tell(low + (high - low) * share)


@contextmanager
def progress_part(begin: float, end: float) -> Iterator[None]:
    """The work within leads from one share of the work under way to another."""
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
    """The same one after the other, each of which is an equal part of the work."""
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
