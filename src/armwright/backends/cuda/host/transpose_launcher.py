"""Transposes on the card, between row-major and column-major arrays of states."""

from __future__ import annotations

from functools import cache
from typing import Any

from armwright.backends.cuda.host.device import CompiledCode, cupy
from armwright.backends.cuda.kernels import transpose as kernel

MIN_BYTES, MAX_BYTES = 16 << 20, 1 << 30
"""Bytes of row-major results: the caches of a card gather up to the first; slices have at most the second."""


def slice_states(out: Any) -> int:
    """Return the number of states that are computed before they are transposed."""
    states, entries = out.shape
    return int(min(states, max(1, MAX_BYTES // (entries * out.itemsize))))


def empty_columns(rows: Any) -> Any:
    """Return an empty column-major array of the same shape."""
    return cupy().empty(rows.shape[::-1], rows.dtype).T


def transpose(columns: Any, rows: Any) -> None:
    """Fill a row-major array (states, entries) from a column-major one."""
    states, entries = rows.shape
    tiles = -(-states // kernel.TILE_STATES) * -(-entries // kernel.TILE_ENTRIES)
    call = kernel.TransposeCall(columns.data.ptr, rows.data.ptr, states, entries)
    _code(rows.dtype.itemsize == 8).launch(call, tiles * kernel.TRANSPOSE_THREADS)


def to_columns(rows: Any) -> Any:
    """Return a column-major copy of an array; an array of one broadcast state is returned unchanged."""
    if rows.strides[0] == 0:
        return rows
    columns = empty_columns(rows)
    if rows.flags.c_contiguous:
        transpose(rows.T, columns.T)  # entries change places with states
    else:
        columns[...] = rows
    return columns


@cache
def _code(double: bool) -> CompiledCode:
    return CompiledCode(kernel.text(double), kernel.TRANSPOSE_THREADS)
