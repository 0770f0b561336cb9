"""Compiled code that Ctrl-C can stop, and a progress bar while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armwright.progress import progress_callback

PROGRESS_DELAY = 2.0
"""Seconds after which a run shows a progress bar."""

POLL_SECONDS = 0.1
"""Seconds between checks for Ctrl-C, where a signal does not wake the waiting thread."""


def run_interruptibly(work: Callable[[], None], stop: NDArray[np.int64]) -> None:
    """Do the work in another thread, as compiled code receives no signals; on Ctrl-C set `stop`, which ends it."""
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    with ThreadPoolExecutor(1) as other:
        try:
            job = other.submit(work)
            while not job.done():
                wait([job], POLL_SECONDS)
        except BaseException:
            stop[0] = 1
            raise
    job.result()


def progress_bar(show: bool | None) -> Callable[[float | None, float], None]:
    """Return a function of the share of work done and the seconds so far; a share of None removes the bar.

    The bar appears after `PROGRESS_DELAY`. If there is a progress callback, it gets the shares instead.
    """
    if (listener := progress_callback()) is not None:
        return lambda share, _seconds: None if share is None else listener(share)
    bars: list[tuple[Any, Any]] = []

    def update(share: float | None, seconds: float) -> None:
        if share is None:
            for progress, _ in bars:
                progress.stop()
            return
        if not bars and show is not False and seconds > PROGRESS_DELAY:
            from rich.progress import Progress  # noqa: PLC0415  (most runs are over before it is needed)

            progress = Progress(transient=True)
            if show or progress.console.is_terminal:
                progress.start()
                bars.append((progress, progress.add_task("simulating", total=1.0)))
        for progress, task in bars:
            progress.update(task, completed=share)

    return update
