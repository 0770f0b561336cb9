"""Programs compiled by LLVM for this CPU: kernels of batches in any layout, on as many threads as asked for."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import FIELDS, Backend, Rolled, Tables
from armwright.backends.llvm import ir, loop, rollout
from armwright.backends.llvm.native import engine_of, lanes, loaded
from armwright.backends.llvm.single import bind
from armwright.backends.llvm.threads import python_pool, workers
from armwright.graph.program import Program
from armwright.integrate.tableaus import Steps

_SMALLEST_SHARE = 512  # states below which another thread costs more than it brings


class _Native:
    """Code that is loaded; `source` is its LLVM IR. What it is written from is named by `digest`."""

    def __init__(self, digest: str, write: Callable[..., str], dtype: str) -> None:
        self.dtype, self.width, self._write = np.dtype(dtype), lanes(dtype).width, write
        self._code = loaded(digest, dtype, lambda: self.source)
        self._address = self._code.engine.get_function_address("run")
        self._run = _RUN(self._address)

    @property
    def source(self) -> str:
        return self._write(lanes(self.dtype.name))

    def _shared(self, layout: Any, states: int, threads: int, smallest: int = _SMALLEST_SHARE) -> int:
        """run(layout, begin, end) over all states, in as many parts as there are threads."""
        run, width = self._run, self.width
        shares = min(threads, max(1, states // smallest))
        if shares == 1:
            return int(run(layout, 0, states))
        team = workers(engine_of)
        answer = None if team is None else team.share(self._address, layout, states, shares, width)
        if answer is None:
            step = -(-states // (shares * width)) * width
            parts = [(begin, min(begin + step, states)) for begin in range(0, states, step)]
            jobs = [python_pool().submit(run, layout, *part) for part in parts[1:]]
            try:
                answer = max(run(layout, *parts[0]), *(job.result() for job in jobs))
            finally:  # whatever happens, nobody may write to the arrays after this
                for job in jobs:
                    job.cancel()
                wait(jobs)
        return int(answer)


class Straight(_Native):
    """One program as straight code."""

    def __init__(self, program: Program, dtype: str) -> None:
        self.shape = program.shape
        self._layout = ctypes.c_int64 * (3 * (len(program.sizes) + 1))
        super().__init__(program.digest(), lambda t: ir.module(program, t), dtype)

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        return bind(self._code.engine, self.dtype, ask)

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        layout = self._layout(*_fields((*arrays, out), self.dtype.itemsize))
        return not self._shared(layout, len(out), threads)


class Looped(_Native):
    """Sweeps over the joints of a chain."""

    def __init__(self, rolled: Rolled, tables: Tables, dtype: str) -> None:
        self._tables = [np.ascontiguousarray(x) for x in (tables.parameters, tables.kinds, tables.starts)]
        self.shape = (len(tables.kinds),)
        super().__init__(rolled.digest(), lambda t: loop.module(rolled, t), dtype)

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        return ask

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        (joints,) = self.shape
        fields = [*_fields((*arrays, out), self.dtype.itemsize), *map(_place, self._tables), joints]
        answer = self._shared((ctypes.c_int64 * len(fields))(*fields), len(out), threads)
        if answer > 1:
            raise MemoryError(f"no memory for the states of {joints} joints")
        return not answer


class Travelling(_Native):
    """Whole motions of many rollouts."""

    def __init__(self, program: Program, steps: Steps, controlled: int, dtype: str) -> None:
        self.entries = len(program.outputs)
        digest = f"rollout|{program.digest()}|{steps!r}|{controlled}"
        super().__init__(digest, lambda t: rollout.module(program, steps, controlled, t), dtype)

    def run(self, fields: Mapping[str, Array | int], rollouts: int, threads: int = 1) -> None:
        values = [x if isinstance(x, int) else _place(x) for x in (fields[name] for name in FIELDS)]
        self._shared((ctypes.c_int64 * len(values))(*values), rollouts, threads, smallest=self.width)


BACKEND = Backend(kernel=Straight, loop=Looped, rollout=Travelling)
"""The backend of this CPU."""

_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def _address(array: Array) -> int:
    """Where the numbers of an array are, by NumPy's interface."""
    return int(array.__array_interface__["data"][0])


def _quick_address(array: Array) -> int:
    """The same, read from the array object, where it follows the two words every object has: six times as fast."""
    return ctypes.c_ssize_t.from_address(id(array) + 16).value


_PROBE = np.zeros(3)
_READABLE = sys.implementation.name == "cpython" and _quick_address(_PROBE) == _address(_PROBE)
_place = _quick_address if _READABLE else _address


def _fields(arrays: Sequence[Array], size: int) -> list[int]:
    """Address, distance of states and distance of entries of each array, the distances in numbers."""
    fields: list[int] = []
    for array in arrays:
        state, entry = array.strides
        assert not (state % size or entry % size), "strides must be whole numbers of entries"
        fields += (_place(array), state // size, entry // size)
    return fields
