"""One thread for all requests of a page: only the newest request of each kind counts.

viser calls back from many threads, and a dragged slider sends more requests than can be drawn. Requests wait under
their names, where a new one replaces an older one, and run one after the other.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

FRAME_SECONDS = 1 / 30
"""Seconds between two frames of a motion."""


class Worker:
    """Runs posted actions, and calls `tick(seconds)` about every FRAME_SECONDS while it returns True."""

    def __init__(self, tick: Callable[[float], bool]) -> None:
        self._tick, self._waiting, self._stopped = tick, dict[str, Callable[[], None]](), False
        self._condition = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True, name="armwright viewer")

    def start(self) -> None:
        self._thread.start()

    def post(self, name: str, action: Callable[[], None]) -> None:
        """Post an action, in place of one that waits under the same name."""
        with self._condition:
            self._waiting.pop(name, None)
            self._waiting[name] = action
            self._condition.notify()

    def on(self, name: str, action: Callable[[], None]) -> Callable[[Any], Any]:
        """Return a callback for viser that posts the action if a user caused the event, not the program."""

        async def called(event: Any) -> None:
            if event.client_id is not None:
                self.post(name, action)

        return called

    def stop(self) -> None:
        with self._condition:
            self._stopped = True
            self._condition.notify()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout=2.0)

    def _run(self) -> None:
        active, before = False, time.perf_counter()
        while True:
            with self._condition:
                if not self._waiting and not self._stopped:
                    self._condition.wait(max(0.0, before + FRAME_SECONDS - time.perf_counter()) if active else None)
                if self._stopped:
                    return
                actions, self._waiting = list(self._waiting.values()), {}
            for action in actions:
                _run_safely(action)
            now = time.perf_counter()
            if not active or now - before >= FRAME_SECONDS:
                passed, before = now - before if active else 0.0, now
                active = _run_safely(lambda passed=passed: self._tick(passed)) is True  # type: ignore[misc]


def _run_safely(action: Callable[[], object]) -> object:
    """Run one request; print the traceback of an exception, so that the page continues to work."""
    try:
        return action()
    except Exception:
        traceback.print_exc()
        return None
