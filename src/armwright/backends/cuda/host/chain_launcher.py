"""The launcher of sweeps along the joints of long chains."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.backends.cuda.host import transpose_launcher
from armwright.backends.cuda.host.device import CompiledCode, cupy, shared_memory_bytes, to_device
from armwright.backends.cuda.host.launcher import Launcher, call_head, long_rows
from armwright.backends.cuda.kernels import chain_sweep
from armwright.backends.cuda.kernels.call_structures import call_structure
from armwright.backends.cuda.kernels.launch_limits import MAX_BLOCK_THREADS
from armwright.backends.interface import ChainLoop, ChainTables
from armwright.lazy import cached_property


class ChainLauncher(Launcher):
    """Sweeps over the joints of a chain."""

    def __init__(self, loop: ChainLoop, tables: ChainTables, dtype: str) -> None:
        self.shape, self.dtype, self._loop, self._tables = (len(tables.kinds),), np.dtype(dtype), loop, tables

    @property
    def source(self) -> str:
        """The text of the kernel."""
        return chain_sweep.text(self._loop, self.dtype == np.float64)

    @property
    def sizes(self) -> tuple[int, ...]:
        (joints,) = self.shape
        return tuple(entries * joints for entries in self._loop.inputs.values())

    def code(self, arrays: Sequence[Any], out: Any) -> CompiledCode:
        del arrays, out  # one kernel serves all strides
        return self._code

    @cached_property
    def _code(self) -> CompiledCode:
        """The kernel, with the shared memory that is left for each of the blocks that run on a multiprocessor."""
        code, (joints,) = CompiledCode(self.source, MAX_BLOCK_THREADS), self.shape
        shared_joints = min(joints, shared_memory_bytes() // code.blocks // self._joint_bytes)
        return CompiledCode(self.source, MAX_BLOCK_THREADS, self._joint_bytes * shared_joints)

    @property
    def _joint_bytes(self) -> int:
        """Bytes of the records of one joint, of all threads of a block."""
        return chain_sweep.record_numbers(self._loop) * MAX_BLOCK_THREADS * self.dtype.itemsize

    @property
    def _shared_joints(self) -> int:
        """The number of joints with records in shared memory."""
        return self._code.shared // self._joint_bytes

    @cached_property
    def _device_tables(self) -> list[Any]:
        """Parameters, starts and kinds on the card."""
        tables = self._tables
        return [to_device(np.ascontiguousarray(x)) for x in (tables.parameters, tables.starts, tables.kinds)]

    @cached_property
    def _call(self) -> type[ctypes.Structure]:
        tables = [(name, ctypes.c_void_p) for name in ("parameters", "starts", "kinds", "records")]
        joints = [(name, ctypes.c_int) for name in ("joints", "shared_joints")]
        return call_structure(list(self._loop.inputs), [*tables, ("threads", ctypes.c_longlong), *joints])

    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        if long_rows(out):
            return self._launch_transposed(arrays, out, good, transpose_launcher.to_columns)
        marked = cupy().empty(len(out), np.int64)
        indices, fields = call_head(arrays, out, good, marked)
        (joints,), threads = self.shape, min(len(out), self._code.resident)
        numbers = (joints - self._shared_joints) * chain_sweep.record_numbers(self._loop) * threads
        records = cupy().empty(max(1, numbers), self.dtype)
        tables = [x.data.ptr for x in (*self._device_tables, records)]
        call = self._call(*fields, *tables, threads, joints, self._shared_joints)
        self._code.launch(call, threads)
        self._code.launch(call, threads, name="again")
        return indices
