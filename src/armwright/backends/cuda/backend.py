"""Programs compiled for a card."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armwright.backends.cuda import kernel
from armwright.backends.cuda.device import Array, Code, copied, cupy
from armwright.backends.interface import Backend, Repeated
from armwright.graph.program import Program
from armwright.lazy import cached_property

NONE = 2**64 - 1
"""The first state that is not good, where all are."""


class Straight(Repeated):
    """One program, for states on the card; those of NumPy are copied there and back."""

    on_card = True

    def __init__(self, program: Program, dtype: str) -> None:
        self.shape, self.dtype, self._program = program.shape, np.dtype(dtype), program
        self._codes: dict[kernel.Rows, Code] = {}

    @property
    def source(self) -> str:
        """The text for arrays in which the states are side by side."""
        return self._text(kernel.Rows((False,) * len(self._program.sizes), False))

    def _text(self, rows: kernel.Rows) -> str:
        return kernel.text(self._program, rows, self.dtype == np.float64)

    def code(self, rows: kernel.Rows) -> Code:
        """The kernel for arrays that lie so."""
        if rows not in self._codes:
            self._codes[rows] = Code(self._text(rows), kernel.BLOCK)
        return self._codes[rows]

    @cached_property
    def _call(self) -> type[ctypes.Structure]:
        names = [*(name for name, _ in self._program.arguments), "out"]
        fields = [*((f"{name}_", Array) for name in names), ("good", ctypes.c_void_p), ("bad", ctypes.c_void_p)]
        return type("Call", (ctypes.Structure,), {"_fields_": [*fields, ("states", ctypes.c_longlong)]})

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        return ask

    def launch(self, arrays: Sequence[Any], out: Any, good: Any = None) -> Any:
        """Fill `out` and, if it is given, `good` (states,), on the current stream; returns the first that is not good,
        an array of one number, `NONE` if all are."""
        bad = cupy().full(1, NONE, np.uint64)
        rows = kernel.Rows(tuple(map(self._row, arrays)), self._row(out))
        where = 0 if good is None else good.data.ptr
        call = self._call(*map(Array.of, (*arrays, out)), where, bad.data.ptr, len(out))
        self.code(rows).launch(call, len(out))
        return bad

    def run(self, arrays: Sequence[Any], out: Any, threads: int = 1) -> bool:
        del threads
        if isinstance(out, np.ndarray):
            there = cupy().empty(out.shape, out.dtype)
            finite = self.run([copied(x) for x in arrays], there)
            out[...] = there.get()
            return finite
        return int(self.launch(arrays, out)[0]) == NONE

    def _row(self, array: Any) -> bool:
        """Whether states are rows that a warp can fetch: one after the other, at a multiple of 16 bytes."""
        states, n = array.shape
        size = array.itemsize
        whole = array.strides == (n * size, size) and array.data.ptr % 16 == 0
        return whole and 1 < n <= kernel.WIDEST and states > 1


def _loop(*_given: Any) -> Any:
    raise NotImplementedError


BACKEND = Backend(kernel=Straight, loop=_loop, rollout=_loop)
"""The backend of NVIDIA's cards."""
