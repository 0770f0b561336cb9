"""The base of launchers: kernels that compute every state of a batch, for arrays on the card or in host memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armwright.arrays import on_card
from armwright.backends.cuda.host import transpose_launcher
from armwright.backends.cuda.host.device import CompiledCode, cupy, out_of_memory_error, split_states, to_device
from armwright.backends.cuda.kernels.call_structures import StridedArray
from armwright.backends.interface import BasicKernel

NO_STATE = 2**64 - 1
"""The index of the first bad state where all states are good."""


class Launcher(BasicKernel):
    """A kernel of the card. Arrays of NumPy are copied to the card, and results back."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """The number of entries of each argument."""

    @abstractmethod
    def code(self, arrays: Sequence[Any], out: Any) -> CompiledCode:
        """Return the compiled kernel for arrays with these strides; it knows its registers."""

    @abstractmethod
    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        """Fill `out` and, if it is not None, `good` (states,) on the current stream.

        Return two numbers on the card. The first is the index of the first bad state, `NO_STATE` if all are good.
        """

    def first_bad(self, indices: Any) -> int | None:
        """Wait for a launch and return the index of the first bad state, None if all are good."""
        index = int(indices[0])
        return None if index == NO_STATE else index

    def run(self, arrays: Sequence[Any], out: Any, threads: int = 1) -> bool:
        del threads
        if on_card(out):
            return self.first_bad(self.launch(arrays, out)) is None
        try:
            device_out = cupy().empty(out.shape, out.dtype)
            finite = self.run([to_device(x) for x in arrays], device_out)
            out[...] = device_out.get()
        except out_of_memory_error():
            return self._run_in_halves(arrays, out)
        return finite

    def series(self, arrays: Sequence[Any], out: Any, threads: int = 1) -> bool:
        if not on_card(out):
            return super().series(arrays, out, threads)
        launched = [self.launch([x[k] for x in arrays], out[k]) for k in range(len(out))]
        return all(self.first_bad(indices) is None for indices in launched)

    def _launch_transposed(self, arrays: Sequence[Any], out: Any, good: Any, convert: Callable[[Any], Any]) -> Any:
        """`launch` for long row-major results: compute column-major slices that fit in memory, then transpose each.

        `convert` is applied to each slice of the arguments.
        """
        bad_states, xp, slice_states = list[Any](), cupy(), transpose_launcher.slice_states(out)
        for begin in range(0, len(out), slice_states):
            part = slice(begin, begin + slice_states)
            arguments, rows = [convert(x[part]) for x in arrays], out[part]
            columns = transpose_launcher.empty_columns(rows)
            first = self.launch(arguments, columns, None if good is None else good[part])[:1]
            bad_states.append(xp.where(first == np.uint64(NO_STATE), first, first + np.uint64(begin)))
            transpose_launcher.transpose(columns, rows)
            del arguments, columns  # frees their memory for the next slice
        return xp.stack(bad_states, 0).min(axis=0)

    def _run_in_halves(self, arrays: Sequence[Any], out: Any) -> bool:
        """Run one half of the states after the other, as all of them exceed the memory of the card."""
        finite = [self.run([x[half] for x in arrays], out[half]) for half in split_states(len(out))]
        return all(finite)


def call_head(arrays: Sequence[Any], out: Any, good: Any, marked: Any) -> tuple[Any, list[Any]]:
    """Return two indices on the card, both `NO_STATE`, and the first fields of every `Call`.

    The kernel writes the first bad state to one index, the last marked state to the other.
    """
    indices = cupy().empty(2, np.uint64)
    indices.data.memset_async(0xFF, indices.nbytes)
    good_address = 0 if good is None else good.data.ptr
    addresses = (indices.data.ptr, indices.data.ptr + indices.itemsize, marked.data.ptr)
    return indices, [*map(StridedArray.of, (*arrays, out)), good_address, *addresses, len(out)]


def long_rows(out: Any) -> bool:
    """Return True if results are row-major and too large for the caches of a card to gather."""
    return aligned_rows(out) and bool(out.nbytes > transpose_launcher.MIN_BYTES)


def aligned_rows(array: Any) -> bool:
    """Return True if an array is row-major and aligned to 16 bytes, so that a warp can load its rows."""
    (states, n), size = array.shape, array.itemsize
    return bool(array.strides == (n * size, size) and array.data.ptr % 16 == 0 and n > 1 and states > 1)
