"""The launcher of inverse kinematics: it searches positions for many targets on the card."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.arrays import on_card
from armwright.backends.cuda.host.device import (
    CompiledCode,
    cupy,
    out_of_memory_error,
    split_states,
    to_device,
    to_numpy,
    with_occupancy,
)
from armwright.backends.cuda.kernels import inverse_kinematics
from armwright.backends.interface import SearchResult, SearchSettings, SearchSpace
from armwright.graph.program import Program
from armwright.lazy import cached_property

MAX_THREADS = 1 << 17
"""Threads of a launch, about as many as a large card runs at a time. Each takes targets until none is left."""

SEARCH_OCCUPANCY = 6, 168, 200
"""Blocks per multiprocessor to aim for, the registers that allow them, and the registers up to which this is tried."""


class InverseKinematicsLauncher:
    """The kernel that searches. Arrays of NumPy are copied to the card, and results back."""

    def __init__(self, program: Program, space: SearchSpace, settings: SearchSettings, dtype: str) -> None:
        self._search_arguments, self._space, self.dtype = (program, space, settings), space, np.dtype(dtype)
        self._position_entries = program.sizes[0]

    @property
    def source(self) -> str:
        """The text of the kernel."""
        return inverse_kinematics.text(*self._search_arguments, self.dtype == np.float64)

    @cached_property
    def code(self) -> CompiledCode:
        """The compiled kernel, chosen by the registers that the compiler reports."""
        return with_occupancy(lambda blocks: self._compile(blocks=blocks), *SEARCH_OCCUPANCY)

    @cached_property
    def _careful_code(self) -> CompiledCode:
        """The kernel for targets on whose path angles are large."""
        return self._compile(careful=True)

    def _compile(self, careful: bool = False, blocks: int = 0) -> CompiledCode:
        return CompiledCode(
            inverse_kinematics.text(*self._search_arguments, self.dtype == np.float64, careful, blocks),
            inverse_kinematics.SEARCH_THREADS,
        )

    def table(self, q: Any, features: Any) -> dict[str, Any]:
        return {
            name: to_device(np.ascontiguousarray(x.T, self.dtype))
            for name, x in (("start_positions", q), ("start_distances", features))
        }

    def run(self, T: Any, q0: Any, table: dict[str, Any], tolerance: float, attempts: int) -> SearchResult:
        on_host = not (on_card(T) or on_card(q0))
        try:
            result = self._search(to_device(T), None if q0 is None else to_device(q0), table, tolerance, attempts)
        except out_of_memory_error():
            if not on_host:
                raise
            return self._run_in_halves(T, q0, table, tolerance, attempts)
        q, error, solved = map(to_numpy, result[:3]) if on_host else result[:3]
        return result._replace(q=q, error=error, solved=solved)

    def _search(self, T: Any, q0: Any, table: dict[str, Any], tolerance: float, attempts: int) -> SearchResult:
        targets, xp = len(T), cupy()
        q, error = (xp.empty((targets, n), self.dtype) for n in (self._position_entries, 2))
        solved, marked = (xp.empty(targets, kind) for kind in (bool, np.int64))
        counts = xp.zeros(inverse_kinematics.COUNTS, np.uint64)
        fields = {"target": T, "start": q0, "q": q, "error": error, "solved": solved, **table}
        fields |= {"marked": marked, "counts": counts}
        options = (self._space, targets, tolerance, attempts)
        self.code.launch(inverse_kinematics.call(fields, *options), min(targets, MAX_THREADS))
        host_counts = to_numpy(counts)
        if marks := int(host_counts[inverse_kinematics.MARKS]):
            counts[inverse_kinematics.NEXT] = 0
            call = inverse_kinematics.call({**fields, "chosen": marked}, self._space, marks, tolerance, attempts)
            self._careful_code.launch(call, min(marks, MAX_THREADS))
            host_counts = to_numpy(counts)
        unsolved, invalid = host_counts[inverse_kinematics.UNSOLVED], host_counts[inverse_kinematics.INVALID]
        return SearchResult(q, error, solved, int(unsolved), bool(invalid))

    def _run_in_halves(self, T: Any, q0: Any, table: dict[str, Any], tolerance: float, attempts: int) -> SearchResult:
        """Run one half of the targets after the other, as all of them exceed the memory of the card."""
        parts = [
            self.run(T[x], None if q0 is None else q0[x], table, tolerance, attempts) for x in split_states(len(T))
        ]
        q, error, solved = (np.concatenate([part[k] for part in parts]) for k in range(3))
        return SearchResult(q, error, solved, sum(part.unsolved for part in parts), any(part.invalid for part in parts))
