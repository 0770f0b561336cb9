"""The CPU backend: programs compiled by LLVM, for batches in any layout and on several threads."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import Backend, BasicKernel, ChainLoop, ChainTables
from armwright.backends.interpreter import InterpretedKernel, InterpretedLoop, InterpretedRollout
from armwright.backends.llvm import chain_sweep, code_check, ir, rollout
from armwright.backends.llvm.block import VectorType
from armwright.backends.llvm.native import LoadedCode, engine_of, lanes, loaded
from armwright.backends.llvm.series import series_loop
from armwright.backends.llvm.single import bind
from armwright.backends.llvm.threads import python_thread_pool, workers
from armwright.backends.rollout_interface import ROLLOUT_FIELDS, EventProgram, Gauge, HostRollout
from armwright.graph.program import Program
from armwright.integrate.tableaus import Steps
from armwright.layout import Layout

MIN_THREAD_STATES = 512  # states below which another thread costs more than it saves


IrWriter: TypeAlias = Callable[[VectorType], str]


class _Native:
    """Loaded code; `write` returns its LLVM IR."""

    def __init__(self, code: LoadedCode, write: IrWriter, dtype: str) -> None:
        self.dtype, self.width, self._write = np.dtype(dtype), lanes(dtype).width, write
        self._code, self._run = code, _RUN(code.run)

    @property
    def source(self) -> str:
        return self._write(lanes(self.dtype.name))

    def _run_in_threads(
        self, layout: Any, states: int, threads: int, smallest: int = MIN_THREAD_STATES, address: int | None = None
    ) -> int:
        """Call run(layout, begin, end), or the function at `address`, for all states in parallel parts."""
        place = self._code.run if address is None else address
        run, width = self._run if address is None else _RUN(address), self.width
        shares = min(threads, max(1, states // smallest))
        if shares == 1:
            return int(run(layout, 0, states))
        team = workers(engine_of)
        status = None if team is None else team.share(place, layout, states, shares, width)
        if status is None:
            step = -(-states // (shares * width)) * width
            parts = [(begin, min(begin + step, states)) for begin in range(0, states, step)]
            jobs = [python_thread_pool().submit(run, layout, *part) for part in parts[1:]]
            try:
                status = max(run(layout, *parts[0]), *(job.result() for job in jobs))
            finally:  # no thread may write to the arrays later
                for job in jobs:
                    job.cancel()
                wait(jobs)
        return int(status)


class LlvmKernel(_Native):
    """One program as straight code."""

    def __init__(self, code: LoadedCode, write: IrWriter, program: Program, dtype: str) -> None:
        super().__init__(code, write, dtype)
        self.shape = program.shape
        self._layout = ctypes.c_int64 * (3 * (len(program.sizes) + 1))

    @property
    def address(self) -> int:
        """The address of run(layout, begin, end), valid as long as this kernel exists."""
        return int(self._code.run)

    def single(self, fallback: Callable[..., Any]) -> Callable[..., Any]:
        return bind(self._code.engine, self.dtype, fallback)

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        layout = self._layout(*_fields((*arrays, out), self.dtype.itemsize))
        return not self._run_in_threads(layout, len(out), threads)

    def series(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        times, size = len(out), len(self._layout())
        fields = np.tile(_fields([x[0] for x in (*arrays, out)], self.dtype.itemsize), (times, 1))
        fields[:, ::3] += np.multiply.outer(np.arange(times), [x.strides[0] for x in (*arrays, out)])
        layout = np.concatenate([(self._code.run, times, size), fields.ravel()]).astype(np.int64)
        _, address = series_loop(engine_of)
        smallest = max(self.width, MIN_THREAD_STATES // times)
        return not self._run_in_threads(_place(layout), out.shape[1], threads, smallest, address)


class LlvmLoop(_Native, BasicKernel):
    """Sweeps over the joints of a chain."""

    def __init__(self, code: LoadedCode, write: IrWriter, tables: ChainTables, dtype: str) -> None:
        super().__init__(code, write, dtype)
        self._tables = [np.ascontiguousarray(x) for x in (tables.parameters, tables.kinds, tables.starts)]
        self.shape = (len(tables.kinds),)

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        (joints,) = self.shape
        fields = [*_fields((*arrays, out), self.dtype.itemsize), *map(_place, self._tables), joints]
        status = self._run_in_threads((ctypes.c_int64 * len(fields))(*fields), len(out), threads)
        if status > 1:
            raise MemoryError(f"no memory for the states of {joints} joints")
        return not status


class LlvmRollout(_Native, HostRollout):
    """Motions of many rollouts."""

    def __init__(self, code: LoadedCode, write: IrWriter, entries: int, dtype: str) -> None:
        super().__init__(code, write, dtype)
        self.entries = entries

    def run(self, fields: Mapping[str, Any], rollouts: int, threads: int = 1) -> None:
        values = [x if isinstance(x, int) else _place(x) for x in (fields[name] for name in ROLLOUT_FIELDS)]
        self._run_in_threads((ctypes.c_int64 * len(values))(*values), rollouts, threads, smallest=self.width)


def _kernel(program: Program, dtype: str) -> LlvmKernel:
    def write(t: VectorType) -> str:
        return ir.module(program, t)

    def check(code: LoadedCode) -> bool | None:
        compiled, reference = LlvmKernel(code, write, program, dtype), InterpretedKernel(program, dtype)
        last = () if program.integration is None else code_check.TEST_STEPS
        return code_check.kernel(compiled, reference, program.sizes, program.units, last)

    return LlvmKernel(loaded(program.digest(), dtype, write, check), write, program, dtype)


def _chain_loop(loop: ChainLoop, tables: ChainTables, dtype: str) -> LlvmLoop:
    def write(t: VectorType) -> str:
        return chain_sweep.module(loop, t)

    def check(code: LoadedCode) -> bool | None:
        test_tables = code_check.short(tables)
        sizes = [entries * len(test_tables.kinds) for entries in loop.inputs.values()]
        reference = InterpretedLoop(loop, test_tables, dtype)
        return code_check.kernel(LlvmLoop(code, write, test_tables, dtype), reference, sizes)

    return LlvmLoop(loaded(loop.digest(), dtype, write, check), write, tables, dtype)


def _rollout(
    program: Program, steps: Steps, layout: Layout, events: EventProgram | None, gauge: Gauge | None, dtype: str
) -> LlvmRollout:
    entries = len(program.outputs)

    def write(t: VectorType) -> str:
        return rollout.module(program, steps, layout, t, events, gauge)

    def check(code: LoadedCode) -> bool | None:
        reference = InterpretedRollout(program, steps, layout, events, gauge, dtype)
        gauges = 0 if gauge is None else gauge.totals
        compiled = LlvmRollout(code, write, entries, dtype)
        return code_check.rollout(compiled, reference, program.sizes, layout.unit_vectors, gauges)

    digests = [x.digest() if x is not None else "" for x in (events, gauge)]
    digest = f"rollout|{program.digest()}|{steps!r}|{layout.controlled}|{layout.unit_vectors}|{digests}"
    return LlvmRollout(loaded(digest, dtype, write, check), write, entries, dtype)


BACKEND = Backend(kernel=_kernel, loop=_chain_loop, rollout=_rollout)
"""The backend of this CPU."""

_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def _address(array: Array) -> int:
    """Return the address of the numbers of an array, by NumPy's interface."""
    return int(array.__array_interface__["data"][0])


def _quick_address(array: Array) -> int:
    """Return the same from the array object, where it follows the two words of every object: six times as fast."""
    return ctypes.c_ssize_t.from_address(id(array) + 16).value


_PROBE = np.zeros(3)
_READABLE = sys.implementation.name == "cpython" and _quick_address(_PROBE) == _address(_PROBE)
_place = _quick_address if _READABLE else _address


def _fields(arrays: Sequence[Array], size: int) -> list[int]:
    """Return address, stride of states and stride of entries of each array, the strides in numbers."""
    fields: list[int] = []
    for array in arrays:
        state, entry = array.strides
        assert not (state % size or entry % size), "strides must be whole numbers of entries"
        fields += (_place(array), state // size, entry // size)
    return fields
