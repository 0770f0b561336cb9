"""The launcher of a program: it chooses the kernel by the strides of the arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.backends.cuda.host import transpose_launcher
from armwright.backends.cuda.host.device import (
    CompiledCode,
    compute_capability,
    cupy,
    shared_memory_bytes,
    with_occupancy,
)
from armwright.backends.cuda.host.launcher import Launcher, aligned_rows, call_head, long_rows
from armwright.backends.cuda.kernels import bulk_copy, kernel, soa_kernel
from armwright.backends.cuda.kernels.aos_kernel import MAX_ROW_ENTRIES
from armwright.backends.cuda.kernels.call_structures import call_structure
from armwright.backends.cuda.kernels.launch_limits import MAX_BLOCK_THREADS
from armwright.graph.angles import angle_rounds
from armwright.graph.program import Program
from armwright.lazy import cached_property

OCCUPANCY = {True: (4, 128, 170), False: (5, 102, 140)}
"""In double precision, and in single precision with two states per thread: the blocks per multiprocessor to aim for,
the registers that allow them, and the registers up to which this is tried."""

REPEAT_THREADS = 1 << 16
"""Threads that recompute states with large angles. There may be many such states; usually there are none."""


class ProgramLauncher(Launcher):
    """The kernels of one program."""

    def __init__(self, program: Program, dtype: str) -> None:
        self.shape, self.dtype, self._program = program.shape, np.dtype(dtype), program
        self._codes: dict[kernel.KernelLayout, CompiledCode] = {}
        self._layouts: dict[tuple[Any, ...], kernel.KernelLayout] = {}

    @property
    def double(self) -> bool:
        """True for double precision."""
        return bool(self.dtype == np.float64)

    @property
    def source(self) -> str:
        """The text of the kernel for arrays of any strides."""
        return self._text(self._strided)

    @property
    def _strided(self) -> kernel.KernelLayout:
        return kernel.KernelLayout((kernel.STRIDED,) * len(self._program.sizes), kernel.STRIDED)

    def _text(self, layout: kernel.KernelLayout) -> str:
        return kernel.text(self._program, layout, self.double)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self._program.sizes)

    def code(self, arrays: Sequence[Any], out: Any) -> CompiledCode:
        layout = self.layout(arrays, out)
        if _transposes(layout, out):
            part = slice(transpose_launcher.slice_states(out))
            layout = self.layout([x[part] for x in arrays], transpose_launcher.empty_columns(out[part]))
        return self._code(layout)

    def _code(self, layout: kernel.KernelLayout) -> CompiledCode:
        """Return the kernel of a layout, chosen by the registers that the compiler reports.

        A long program in double precision is faster with prefetched arguments, in single precision only if that saves
        registers.
        """
        if layout not in self._codes:
            self._codes[layout] = self._best_code(layout)
        return self._codes[layout]

    def _best_code(self, layout: kernel.KernelLayout) -> CompiledCode:
        if layout.prefetched and not self.double:
            both = [self._compile(layout._replace(prefetched=prefetched)) for prefetched in (False, True)]
            return min(both, key=lambda code: (code.spilled, code.registers))
        full_block = kernel.block_threads(self._program, layout, self.double) == MAX_BLOCK_THREADS
        if not (self.double or layout.two_states) or not full_block:
            return self._compile(layout)
        return with_occupancy(lambda blocks: self._compile(layout._replace(blocks=blocks)), *OCCUPANCY[self.double])

    def _compile(self, layout: kernel.KernelLayout) -> CompiledCode:
        of = self._program, layout, self.double
        return CompiledCode(self._text(layout), kernel.block_threads(*of), kernel.shared_bytes(*of))

    def layout(self, arrays: Sequence[Any], out: Any) -> kernel.KernelLayout:
        """Return the layout of the fastest kernel for arrays with these strides and addresses."""
        key = tuple((x.strides, x.data.ptr % 16) for x in (*arrays, out)), len(out)
        if key not in self._layouts:
            self._layouts[key] = self._find_layout(arrays, out)
        return self._layouts[key]

    def _find_layout(self, arrays: Sequence[Any], out: Any) -> kernel.KernelLayout:
        column_major = self._soa_layout(arrays, out)
        if column_major is not None:
            return column_major
        rows, out_rows = [aligned_rows(x) for x in arrays], aligned_rows(out)
        if (
            out_rows
            and any(rows)
            and compute_capability() >= bulk_copy.MIN_COMPUTE_CAPABILITY
            and bulk_copy.block_threads(self._program, rows, self.double)
        ):
            two_states = bulk_copy.two_states(self._program, self.double)
            return kernel.KernelLayout(tuple(map(_kind, rows)), kernel.AOS, two_states=two_states, bulk=True)
        kinds = tuple(_kind(row and x.shape[1] <= MAX_ROW_ENTRIES) for row, x in zip(rows, arrays, strict=True))
        layouts = (
            kernel.KernelLayout(kinds, _kind(out_rows)),
            kernel.KernelLayout(kinds, kernel.STRIDED),
            self._strided,
        )
        return next(layout for layout in layouts if kernel.block_threads(self._program, layout, self.double))

    def _soa_layout(self, arrays: Sequence[Any], out: Any) -> kernel.KernelLayout | None:
        """Return the layout for column-major arrays, None if these are not; other arguments may be one broadcast state.

        In short programs of single precision a thread has two states. In long ones all arrays have one entry stride.
        """
        size, states = out.itemsize, len(out)
        soa = [x.strides[0] == size for x in arrays]
        columns = [out, *(x for x, is_soa in zip(arrays, soa, strict=True) if is_soa)]
        if out.strides[0] != size or states < 2 or any(x.strides[0] not in (0, size) for x in arrays):
            return None
        kinds = tuple(kernel.SOA if is_soa else kernel.STRIDED for is_soa in soa)
        if not self._long:
            even = states % 2 == 0 and all(x.data.ptr % (2 * size) == x.strides[1] % (2 * size) == 0 for x in columns)
            fits = soa_kernel.fits(self._program, soa, not self.double, self.double)
            if not (fits and (even or self.double)):
                return None
            return kernel.KernelLayout(kinds, kernel.SOA, two_states=not self.double)
        one_stride = all(x.strides == out.strides or x.shape[1] == 1 for x in columns)
        indexed_by_32_bits = max(x.shape[1] for x in columns) * out.strides[1] < 2**32 * size
        if not (one_stride and indexed_by_32_bits and states * size <= out.strides[1]):
            return None
        tile = kernel.tile_numbers(self._program, self.double, shared_memory_bytes())
        return kernel.KernelLayout(
            kinds, kernel.SOA, tile=tile, prefetched=kernel.prefetches(self._program, self.double)
        )

    @cached_property
    def _call(self) -> type[ctypes.Structure]:
        return call_structure([name for name, _ in self._program.arguments], [("entry", ctypes.c_longlong)])

    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        layout = self.layout(arrays, out)
        if _transposes(layout, out):
            return self._launch_transposed(arrays, out, good, convert=lambda rows: rows)
        repeats = self._has_angles or layout.bulk
        marked = cupy().empty(len(out) if repeats else 0, np.int64)
        indices, fields = call_head(arrays, out, good, marked)
        call = self._call(*fields, out.strides[1] // out.itemsize)
        code = self._code(layout)
        code.launch(call, -(-len(out) // 2) if layout.two_states else len(out))
        if repeats:
            code.launch(call, min(len(out), REPEAT_THREADS), name="again")
        return indices

    @cached_property
    def _long(self) -> bool:
        return kernel.is_long(self._program)

    @cached_property
    def _has_angles(self) -> bool:
        """True if there are angles, which may be too large for the fast sines."""
        return bool(angle_rounds(self._program))


def _transposes(layout: kernel.KernelLayout, out: Any) -> bool:
    """Return True if results are computed column-major and transposed, as shared memory is too small for their rows."""
    return layout.out == kernel.STRIDED and long_rows(out)


def _kind(row: bool) -> str:
    return kernel.AOS if row else kernel.STRIDED
