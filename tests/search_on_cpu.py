"""Searches for positions by the text that is written for a card, compiled as C++: a backend for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from rollouts_on_cpu import Travelling, known

from armwright.backends.cuda import search
from armwright.backends.interface import Backend, Hits
from armwright.backends.interpreter import Interpreted, Swept


class Searching:
    """Whole searches by the text of `backends.cuda.search`."""

    def __init__(self, *of: Any):
        *given, dtype = of
        self.sought, self.places = of[1], of[0].sizes[0]
        self.source = search.text(*given, dtype == "float64")

    def table(self, q: np.ndarray, far: np.ndarray) -> dict[str, np.ndarray]:
        return {"places": np.ascontiguousarray(q.T), "far": np.ascontiguousarray(far.T)}

    def run(self, T: np.ndarray, q0: np.ndarray | None, table: Any, tolerance: float, attempts: int) -> Hits:
        count = len(T)
        q, error, solved = np.empty((count, self.places)), np.empty((count, 2)), np.empty(count, bool)
        counts = np.zeros(search.COUNTS, np.uint64)
        fields = {"target": T, "start": q0, "q": q, "error": error, "solved": solved, "counts": counts}
        fields |= {"marked": np.empty(count, np.int64), **table}
        known(self.source)(search.call(fields, self.sought, count, tolerance, attempts))
        return Hits(q, error, solved, int(counts[search.MISSED]), bool(counts[search.WRONG]))


BACKEND = Backend(kernel=Interpreted, loop=Swept, rollout=Travelling, search=Searching)
"""As a backend: searches by the text for a card, all else by the interpreter."""
