"""The text of the kernels that compute a program for every state of a batch.

A thread has one state, or two neighbouring ones. `soa_kernel` reads column-major arrays, `aos_kernel` and `bulk_copy`
read row-major ones. A kernel for arrays of any strides is here.
"""

from __future__ import annotations

from typing import NamedTuple

from armwright.backends.cuda.codegen import solve
from armwright.backends.cuda.codegen.advance import advance_text
from armwright.backends.cuda.codegen.writer import function_text, prelude, unused_entries, with_identifiers
from armwright.backends.cuda.kernels import aos_kernel, bulk_copy, soa_kernel
from armwright.backends.cuda.kernels.launch_limits import MAX_BLOCK_THREADS, number_bytes
from armwright.backends.cuda.kernels.per_thread import lines
from armwright.graph.program import Program

LONG_OPERATIONS, SPILL_OPERATIONS = 1500, 5500
"""Operations from which on a program is long, and from which on it takes all registers and spills."""

SMALL_BLOCK_THREADS, SMALL_BLOCKS = 64, 6
"""Threads of a block of a long program in single precision, and how many blocks a multiprocessor runs."""

MIN_BLOCKS = 2
"""Blocks per multiprocessor of programs that take all registers. Without this bound the compiler may use 32 registers
and spill the rest, ten times as much as necessary."""

PREFETCH_BYTES = 112 << 10
"""Shared memory of a multiprocessor up to which programs that take all registers prefetch arguments. More would leave
too little cache for spilled values."""

STRIDED, SOA, AOS = "strided", "soa", "aos"
"""The order of an array: any strides; column-major (structure of arrays); row-major (array of structures)."""


class KernelLayout(NamedTuple):
    """The choice of a kernel: the order of arguments and results, and how threads compute them.

    `blocks` are blocks per multiprocessor, 0 for the default. `bulk` rows are copied in bulk. `tile` is the number of
    values of its equations that a thread has in shared memory. A long program may have `prefetched` arguments.
    """

    arguments: tuple[str, ...]
    out: str
    two_states: bool = False
    blocks: int = 0
    bulk: bool = False
    tile: int = 0
    prefetched: bool = False


def text(program: Program, layout: KernelLayout, double: bool) -> str:
    """Return the kernel `run(Call)`; on a CPU it is a loop over states."""
    program = with_identifiers(program)
    # a bulk kernel marks the states of an incomplete last group without computing them: most need no careful sines
    quick_attempt = "if (!one<false>(call, call.marked[k])) " if layout.bulk else ""
    tile = solve.Tile(layout.tile, block_threads(program, layout, double))
    state = _STATE.format(**_state(program), first=quick_attempt)
    parts = [prelude(double), body(program, "body", double, tile), _call(program), state]
    return "\n".join([*parts, "#ifdef __CUDACC__", _kernel(program, layout, double), "#else", _ON_CPU, "#endif\n"])


def block_threads(program: Program, layout: KernelLayout, double: bool) -> int:
    """Return the threads of a block, 0 if its rows do not fit in shared memory."""
    rows = tuple(kind == AOS for kind in (*layout.arguments, layout.out))
    if layout.bulk:
        return bulk_copy.block_threads(program, rows[:-1], double)
    if any(rows):
        return aos_kernel.block_threads(with_identifiers(program), rows, double)
    small = layout.out == SOA and _small_blocks(program, double)
    threads = SMALL_BLOCK_THREADS if small else MAX_BLOCK_THREADS
    return min(threads, soa_kernel.block_threads(program, _soa(layout), double)) if layout.prefetched else threads


def tile_numbers(program: Program, double: bool, shared_bytes: int) -> int:
    """Return how many values of its equations a thread has in the shared memory of a multiprocessor."""
    if program.equations is None:
        return 0
    small = _small_blocks(program, double)
    threads = SMALL_BLOCK_THREADS * SMALL_BLOCKS if small else MIN_BLOCKS * MAX_BLOCK_THREADS
    prefetched = sum(program.sizes) if prefetches(program, double) else 0
    numbers = shared_bytes // (threads * number_bytes(double)) - prefetched
    return solve.tile_numbers(program, program.equations, double, numbers)


def prefetches(program: Program, double: bool) -> bool:
    """Return whether a long program prefetches its arguments from column-major arrays."""
    argument_bytes = sum(program.sizes) * number_bytes(double) * MIN_BLOCKS * MAX_BLOCK_THREADS
    solves = double and program.equations is not None
    short = program.integration is None and len(program.nodes) < SPILL_OPERATIONS
    return short and not solves and argument_bytes <= PREFETCH_BYTES


def shared_bytes(program: Program, layout: KernelLayout, double: bool) -> int:
    """Return the bytes of dynamic shared memory of a block."""
    return layout.tile * block_threads(program, layout, double) * number_bytes(double)


def _kernel(program: Program, layout: KernelLayout, double: bool) -> str:
    threads = block_threads(program, layout, double)
    bounds = f"{threads}, {layout.blocks}" if layout.blocks else launch_bounds(program, double, threads)
    rows = tuple(kind == AOS for kind in (*layout.arguments, layout.out))
    if layout.bulk:
        return bulk_copy.text(program, rows[:-1], double, bounds, lambda s: _unused(program, s))
    if any(rows):
        return aos_kernel.text(program, rows, double, bounds, _unused(program))
    if layout.out != SOA:
        return _STRIDED_KERNEL.format(bounds=bounds)
    if is_long(program):
        return _long_soa_kernel(program, layout, threads, bounds)
    return soa_kernel.text(program, _soa(layout), layout.two_states, double, bounds, lambda s: _unused(program, s))


def _soa(layout: KernelLayout) -> list[bool]:
    return [kind == SOA for kind in layout.arguments]


def launch_bounds(program: Program, double: bool, threads: int = MAX_BLOCK_THREADS) -> str:
    """Return the launch bounds of blocks of so many threads.

    Without a bound a long program takes all 255 registers to hide latencies, which more threads hide as well.
    """
    if len(program.nodes) >= SPILL_OPERATIONS:
        return f"{threads}, {MIN_BLOCKS * MAX_BLOCK_THREADS // threads}"
    if threads and _small_blocks(program, double):
        return f"{threads}, {SMALL_BLOCKS * SMALL_BLOCK_THREADS // threads}"
    return str(threads)


def _small_blocks(program: Program, double: bool) -> bool:
    return program.integration is None and LONG_OPERATIONS < len(program.nodes) < SPILL_OPERATIONS and not double


def is_long(program: Program) -> bool:
    """Return whether a program is so long that registers are scarce."""
    return program.integration is not None or len(program.nodes) > LONG_OPERATIONS


def body(program: Program, name: str, double: bool, tile: solve.Tile = solve.LOCAL) -> str:
    """Return the function of a program of any kind."""
    if program.integration is not None:
        return advance_text(program, program.integration, name, double)
    if program.equations is not None:
        return solve.solver_text(program, program.equations, name, double, tile)
    return function_text(program, name, double)


def _call(program: Program) -> str:
    names = [name for name, _ in program.arguments]
    unused = "".join(
        f"\n        good &= is_finite(state_of(call.{names[a]}, i)[{k}]);" for a, k in unused_entries(program)
    )
    return f"""
// `good`, if it is not null, receives which states are good, and `bad` the first bad one. `marked` are the states to
// compute again, the last of them at index `last`.
struct Call {{
    Array {", ".join(names)}, out;
    unsigned char *good;
    unsigned long long *bad;
    int64 *last, *marked;
    int64 states, entry;  // the distance between entries of all column-major arrays
}};

// Record whether a state is good, given the sum of its checks.
FUNCTION void check_state(const Call &call, int64 i, real sum)
{{
    bool good = is_finite(sum);
    if (!good) {{
        good = true;
        LOOP(k, {program.results})
            good &= is_finite(call.out.at[i * call.out.state + k * call.out.entry]);{unused}
    }}
    if (call.good)
        call.good[i] = good;
    if (!good) {{
        LOOP(k, {program.results})
            call.out.at[i * call.out.state + k * call.out.entry] = sum - sum;
#ifdef __CUDACC__
        atomicMin(call.bad, (unsigned long long)i);
#else
        *call.bad = (unsigned long long)i < *call.bad ? (unsigned long long)i : *call.bad;
#endif
    }}
}}
"""


def _state(program: Program) -> dict[str, str]:
    names = [name for name, _ in program.arguments]
    return {
        "bounds": launch_bounds(program, double=True),
        "load": " ".join(f"const Input {name} = state_of(call.{name}, i);" for name in names),
        "names": ", ".join(names),
        "unused": _unused(program),
    }


def _unused(program: Program, s: str = "") -> str:
    """Return the statement that checks entries on which no result depends: they must be finite, too."""
    names = [f"{name}{s}" for name, _ in program.arguments]
    entries = [f"{names[a]}[{k}] * 0" for a, k in unused_entries(program)]
    return f"\n    out{s}.sum += {' + '.join(entries)};" if entries else ""


# Only `careful` code takes the sines of large angles; the other code returns false for a state that has some.
_STATE = """// Compute one state of arrays with any strides; false if it must be computed again.
template <bool careful> FUNCTION bool one(const Call &call, int64 i)
{{
    {load}
    Output out = {{call.out.at + i * call.out.state, call.out.entry, 0}};{unused}
    const bool done = body<careful>({names}, out);
    if (done)
        check_state(call, i, out.sum);
    return done;
}}

#ifdef __CUDACC__
// A call of the careful sines, even if never taken, would cost a third of the speed. Therefore `again` is a kernel.
FUNCTION void mark(const Call &call, int64 i)
{{
    call.marked[1 + (int64)atomicAdd((unsigned long long *)call.last, 1ull)] = i;
}}

extern "C" __global__ void __launch_bounds__({bounds}) again(const __grid_constant__ Call call)
{{
    const int64 threads = gridDim.x * (int64)blockDim.x;
    for (int64 k = blockIdx.x * (int64)blockDim.x + threadIdx.x; k <= *call.last; k += threads)
        {first}one<true>(call, call.marked[k]);
}}
#endif
"""


_STRIDED_KERNEL = """extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    const int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    if (i < call.states && !one<false>(call, i))
        mark(call, i);
}}
"""

_ON_CPU = """extern "C" void run(Call call)
{
    for (int64 i = 0; i < call.states; ++i)
        if (!one<false>(call, i))
            one<true>(call, i);
}
"""


def _long_soa_kernel(program: Program, layout: KernelLayout, threads: int, bounds: str) -> str:
    """Return the kernel of a long program for column-major arrays, of which one index of 32 bits finds an entry."""
    if layout.prefetched:
        before, load = soa_kernel.prefetch(program, _soa(layout), threads)
    else:
        before, load = "", _readers(program, layout)
    state = _state(program)
    return f"""{before}extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, stride = (unsigned)call.entry;
    if (i >= call.states)
        return;
    {lines(load)}
    SoaOutput out = {{call.out.at, i, stride, 0}};{state["unused"]}
    if (body<false>({state["names"]}, out))
        check_state(call, i, out.sum);
    else
        mark(call, i);
}}
"""


def _readers(program: Program, layout: KernelLayout) -> list[str]:
    return [
        f"const SoaInput {name} = {{call.{name}.at, i, stride}};"
        if kind == SOA
        else f"const Input {name} = state_of(call.{name}, i);"
        for (name, _), kind in zip(program.arguments, layout.arguments, strict=True)
    ]
