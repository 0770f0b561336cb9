"""The text of the kernel that transposes column-major results to row-major ones.

Rows that are too long for shared memory would be written by the thread that computes them in pieces of a few bytes,
which is ten times as slow.
"""

from __future__ import annotations

import ctypes

TRANSPOSE_THREADS, TILE_ENTRIES, TILE_STATES = 256, 32, 128
"""Threads of a block, and the entries and states of the tile that it transposes."""


class TransposeCall(ctypes.Structure):
    """The arguments of the kernel."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("columns", "rows")),
        *((name, ctypes.c_longlong) for name in ("states", "entries")),
    )


def text(double: bool) -> str:
    """Return `run(Call)`, a kernel with a block for each tile; on a CPU it is a loop over states."""
    return f"typedef {'double' if double else 'float'} real;\n{_TEXT}"


_TEXT = f"""typedef long long int64;

struct Call {{
    const real *columns;
    real *rows;
    int64 states, entries;
}};

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__({TRANSPOSE_THREADS}) run(const __grid_constant__ Call call)
{{
    __shared__ real tile[{TILE_ENTRIES}][{TILE_STATES} + 1];
    const unsigned entry_tiles = (unsigned)((call.entries + {TILE_ENTRIES} - 1) / {TILE_ENTRIES});
    const int64 state = (int64)(blockIdx.x / entry_tiles) * {TILE_STATES};
    const int64 entry = (int64)(blockIdx.x % entry_tiles) * {TILE_ENTRIES};
    const int64 states = call.states - state;
    const int entries = (int)(call.entries - entry < {TILE_ENTRIES} ? call.entries - entry : {TILE_ENTRIES});
    const int s = threadIdx.x % {TILE_STATES}, e = threadIdx.x % {TILE_ENTRIES};
    const real *from = call.columns + entry * call.states + state + s;
    #pragma unroll
    for (int k = threadIdx.x / {TILE_STATES}; k < {TILE_ENTRIES}; k += {TRANSPOSE_THREADS // TILE_STATES})
        if (s < states && k < entries)
            tile[k][s] = __ldcs(from + k * call.states);
    __syncthreads();
    real *to = call.rows + state * call.entries + entry + e;
    #pragma unroll
    for (int k = threadIdx.x / {TILE_ENTRIES}; k < {TILE_STATES}; k += {TRANSPOSE_THREADS // TILE_ENTRIES})
        if (k < states && e < entries)
            to[k * call.entries] = tile[e][k];
}}
#else
extern "C" void run(Call call)
{{
    for (int64 i = 0; i < call.states; ++i)
        for (int64 k = 0; k < call.entries; ++k)
            call.rows[i * call.entries + k] = call.columns[k * call.states + i];
}}
#endif
"""
