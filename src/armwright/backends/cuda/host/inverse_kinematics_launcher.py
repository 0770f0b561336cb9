"""Searches for positions on a card."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.arrays import on_card
from armwright.backends.cuda.codegen import inverse_kinematics
from armwright.backends.cuda.host.device import Code, copied, crowded, cupy, fetched, full, halves
from armwright.backends.interface import SearchResult, SearchSettings, SearchSpace
from armwright.graph.program import Program
from armwright.lazy import cached_property

THREADS = 1 << 17
"""About as many as a large card has running at a time; each goes on as long as targets are left."""

CROWDED = 6, 168, 200
"""So many blocks are on a processor with so many registers, and up to how many it is tried whether these are enough."""


class Searching:
    """Positions for many targets; what is given as arrays of NumPy is copied there and back."""

    def __init__(self, program: Program, sought: SearchSpace, rules: SearchSettings, dtype: str) -> None:
        self._of, self._sought, self.dtype = (program, sought, rules), sought, np.dtype(dtype)
        self._places = program.sizes[0]

    @property
    def source(self) -> str:
        return inverse_kinematics.text(*self._of, self.dtype == np.float64)

    @cached_property
    def code(self) -> Code:
        """By what the compiler says of its registers."""
        return crowded(lambda blocks: self._compiled(blocks=blocks), *CROWDED)

    @cached_property
    def _again(self) -> Code:
        """That of targets on whose way angles are large."""
        return self._compiled(careful=True)

    def _compiled(self, careful: bool = False, blocks: int = 0) -> Code:
        return Code(
            inverse_kinematics.text(*self._of, self.dtype == np.float64, careful, blocks), inverse_kinematics.BLOCK
        )

    def table(self, q: Any, far: Any) -> dict[str, Any]:
        return {name: copied(np.ascontiguousarray(x.T, self.dtype)) for name, x in (("places", q), ("far", far))}

    def run(self, T: Any, q0: Any, table: dict[str, Any], tolerance: float, attempts: int) -> SearchResult:
        here = not (on_card(T) or on_card(q0))
        try:
            there = self._there(copied(T), None if q0 is None else copied(q0), table, tolerance, attempts)
        except full():
            if not here:
                raise
            return self._in_pieces(T, q0, table, tolerance, attempts)
        q, error, solved = map(fetched, there[:3]) if here else there[:3]
        return there._replace(q=q, error=error, solved=solved)

    def _there(self, T: Any, q0: Any, table: dict[str, Any], tolerance: float, attempts: int) -> SearchResult:
        targets, xp = len(T), cupy()
        q, error = (xp.empty((targets, n), self.dtype) for n in (self._places, 2))
        solved, marked = (xp.empty(targets, kind) for kind in (bool, np.int64))
        counts = xp.zeros(inverse_kinematics.COUNTS, np.uint64)
        fields = {"target": T, "start": q0, "q": q, "error": error, "solved": solved, **table}
        fields |= {"marked": marked, "counts": counts}
        given = (self._sought, targets, tolerance, attempts)
        self.code.launch(inverse_kinematics.call(fields, *given), min(targets, THREADS))
        told = fetched(counts)
        if marks := int(told[inverse_kinematics.MARKS]):
            counts[inverse_kinematics.NEXT] = 0
            call = inverse_kinematics.call({**fields, "chosen": marked}, self._sought, marks, tolerance, attempts)
            self._again.launch(call, min(marks, THREADS))
            told = fetched(counts)
        return SearchResult(
            q, error, solved, int(told[inverse_kinematics.MISSED]), bool(told[inverse_kinematics.WRONG])
        )

    def _in_pieces(self, T: Any, q0: Any, table: dict[str, Any], tolerance: float, attempts: int) -> SearchResult:
        """What is too much for the memory of the card, one half after the other."""
        done = [self.run(T[x], None if q0 is None else q0[x], table, tolerance, attempts) for x in halves(len(T))]
        q, error, solved = (np.concatenate([part[k] for part in done]) for k in range(3))
        return SearchResult(q, error, solved, sum(part.unsolved for part in done), any(part.invalid for part in done))
