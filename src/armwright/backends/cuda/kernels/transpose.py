"""Rows of results that are too long for shared memory: computed side by side, and then laid as rows.

Written by the thread that computes it, a row would reach the memory in pieces of a few bytes, ten times as slowly.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from armwright.backends.cuda.host.device import Code, cupy

BLOCK, ENTRIES, STATES = 256, 32, 128
"""Threads of a block, and of how many entries of how many states it changes the order."""

LEAST, MOST = 16 << 20, 1 << 30
"""Bytes of results: so few are gathered by the caches of a card, and so many are computed at a time."""


class Call(ctypes.Structure):
    """What the kernel is given."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("beside", "rows")),
        *((name, ctypes.c_longlong) for name in ("states", "entries")),
    )


def at_a_time(out: Any) -> int:
    """How many rows are computed before they are laid."""
    states, entries = out.shape
    return int(min(states, max(1, MOST // (entries * out.itemsize))))


def beside(rows: Any) -> Any:
    """Room for an array of as many states, side by side."""
    return cupy().empty(rows.shape[::-1], rows.dtype).T


def lay(beside: Any, rows: Any) -> None:
    """Fill rows (states, entries), one after the other, from an array whose states are side by side."""
    states, entries = rows.shape
    tiles = -(-states // STATES) * -(-entries // ENTRIES)
    _code(rows.dtype.itemsize == 8).launch(Call(beside.data.ptr, rows.data.ptr, states, entries), tiles * BLOCK)


def taken(rows: Any) -> Any:
    """A copy of an array in which states are side by side; what is the same for all of them as it is."""
    if rows.strides[0] == 0:
        return rows
    made = beside(rows)
    if rows.flags.c_contiguous:
        lay(rows.T, made.T)  # entries change places with states
    else:
        made[...] = rows
    return made


@cache
def _code(double: bool) -> Code:
    return Code(text(double), BLOCK)


def text(double: bool) -> str:
    """`run(Call)`, a kernel of a block for each tile, on a CPU a loop over states."""
    return f"typedef {'double' if double else 'float'} real;\n{_TEXT}"


_TEXT = f"""typedef long long whole;

struct Call {{
    const real *beside;
    real *rows;
    whole states, entries;
}};

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__({BLOCK}) run(const __grid_constant__ Call call)
{{
    __shared__ real tile[{ENTRIES}][{STATES} + 1];
    const unsigned across = (unsigned)((call.entries + {ENTRIES} - 1) / {ENTRIES});
    const whole state = (whole)(blockIdx.x / across) * {STATES};
    const whole entry = (whole)(blockIdx.x % across) * {ENTRIES};
    const whole states = call.states - state;
    const int entries = (int)(call.entries - entry < {ENTRIES} ? call.entries - entry : {ENTRIES});
    const int s = threadIdx.x % {STATES}, e = threadIdx.x % {ENTRIES};
    const real *from = call.beside + entry * call.states + state + s;
    #pragma unroll
    for (int k = threadIdx.x / {STATES}; k < {ENTRIES}; k += {BLOCK // STATES})
        if (s < states && k < entries)
            tile[k][s] = __ldcs(from + k * call.states);
    __syncthreads();
    real *to = call.rows + state * call.entries + entry + e;
    #pragma unroll
    for (int k = threadIdx.x / {ENTRIES}; k < {STATES}; k += {BLOCK // ENTRIES})
        if (k < states && e < entries)
            to[k * call.entries] = tile[e][k];
}}
#else
extern "C" void run(Call call)
{{
    for (whole i = 0; i < call.states; ++i)
        for (whole k = 0; k < call.entries; ++k)
            call.rows[i * call.entries + k] = call.beside[k * call.states + i];
}}
#endif
"""
