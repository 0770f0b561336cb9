"""The text of the kernel for long chains: each thread loops over the joints of its states.

The records of a sweep for later ones are in memory, by joint and thread; those of the first joints are in shared
memory, as many as fit. The number of threads is that which a card runs at a time, so that this memory does not grow
with the batch. Arguments are read through caches, which load the numbers of several joints at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from armwright.backends.cuda.codegen.writer import function_text, prelude
from armwright.backends.cuda.kernels.launch_limits import MAX_BLOCK_THREADS
from armwright.backends.interface import CHAIN_JOINTS, ChainLoop


def text(loop: ChainLoop, double: bool) -> str:
    """Return the kernels `run(Call)` and `again(Call)`, with a thread per record; on a CPU they loop over states."""
    steps = [
        function_text(sweep.steps[kind], f"sweep{k}_{kind}", double)
        for k, sweep in enumerate(loop.sweeps)
        for kind in CHAIN_JOINTS
    ]
    sweeps = "".join(_sweep(loop, k) for k in range(len(loop.sweeps)))
    call = _CALL.format(names=", ".join(loop.inputs), block=MAX_BLOCK_THREADS)
    return "\n".join([prelude(double), *steps, call, _ONE.format(sweeps=sweeps), _RUN])


def record_numbers(loop: ChainLoop) -> int:
    """Return the numbers that a thread stores per joint."""
    return sum(sweep.record for sweep in loop.sweeps[:-1])


def _sweep(loop: ChainLoop, k: int) -> str:
    """Return one loop over the joints; its starting values in `starts` follow those of earlier sweeps."""
    sweep, last = loop.sweeps[k], k == len(loop.sweeps) - 1
    begin = sum(earlier.carry for earlier in loop.sweeps[:k])
    offsets = list(_record_offsets(loop))
    arguments = [
        "carry",
        f"table(call.parameters + j * {loop.parameters})",
        *(f"entries_of(call.{name}, i, j * {loop.inputs[name]})" for name in sweep.reads),
        *(f"record_of(call, thread, j, {record_numbers(loop)}, {offset})" for offset in offsets[:k]),
    ]
    values = ", ".join([*arguments, "made"])
    calls = " : ".join(f"sweep{k}_{kind}<careful>({values})" for kind in reversed(CHAIN_JOINTS))
    size = sweep.carry + sweep.record
    if last:
        store = f"out.put(j, next[{sweep.carry}]);"
    else:
        store = (
            f"Record record = record_of(call, thread, j, {record_numbers(loop)}, {offsets[k]});\n"
            f"            EACH(e, {sweep.record}) record.put(e, next[{sweep.carry} + e]);"
        )
    return f"""    {{
        real carry[{sweep.carry}], next[{size}];
        EACH(e, {sweep.carry}) carry[e] = call.starts[{begin} + e];
        LOOP(step, call.joints) {{
            const int64 j = {"step" if sweep.outward else "call.joints - 1 - step"};
            Unchecked made = {{next}};
            good &= call.kinds[j] ? {calls};
            {store}
            EACH(e, {sweep.carry}) carry[e] = next[e];
        }}
    }}
"""


def _record_offsets(loop: ChainLoop) -> Iterator[int]:
    """Yield the index of the record of each sweep among the numbers of a joint."""
    offset = 0
    for sweep in loop.sweeps:
        yield offset
        offset += sweep.record


_CALL = """
// The parameters and the kind of every joint, the starting values of the sweeps, and memory for the records of threads.
struct Call {{
    Array {names}, out;
    unsigned char *good;
    unsigned long long *bad;
    int64 *last, *marked;
    int64 states;
    const real *parameters, *starts;
    const unsigned char *kinds;
    real *records;
    int64 threads;
    int joints, shared_joints;  // the latter have records in shared memory
}};

// Constant numbers, which are read several times.
struct Table {{
    const real *at;
    int64 entry;
    MEMBER real operator[](int k) const
    {{
#ifdef __CUDACC__
        return __ldg(at + k * entry);
#else
        return at[k * entry];
#endif
    }}
}};

FUNCTION Table table(const real *at)
{{
    Table made = {{at, 1}};
    return made;
}}

FUNCTION Table entries_of(const Array &array, int64 i, int64 first)
{{
    Table made = {{array.at + i * array.state + first * array.entry, array.entry}};
    return made;
}}

// The results of a state. Neighbouring ones are written to memory together.
struct Results {{
    real *at;
    int64 entry;
    real sum;  // nan once a result is not finite
    MEMBER void put(int k, real x)
    {{
        at[k * entry] = x;
        sum = fma(x, (real)0, sum);
    }}
}};

// The numbers that a thread stores for a joint.
struct Record {{
    real *at;
    int64 entry;
    MEMBER real operator[](int k) const
    {{
        return at[k * entry];
    }}
    MEMBER void put(int k, real x)
    {{
        at[k * entry] = x;
    }}
}};

FUNCTION Record record_of(const Call &call, int64 thread, int64 joint, int width, int place)
{{
#ifdef __CUDACC__
    if (joint < call.shared_joints) {{
        extern __shared__ real shared[];
        Record record = {{shared + (joint * width + place) * {block} + threadIdx.x, {block}}};
        return record;
    }}
#endif
    const int64 row = (joint - call.shared_joints) * width + place;
    Record record = {{call.records + row * call.threads + thread, call.threads}};
    return record;
}}
"""

_ONE = """// Compute one state; false if it must be computed again.
template <bool careful> FUNCTION bool one(const Call &call, int64 i, int64 thread)
{{
    bool good = true;
    Results out = {{call.out.at + i * call.out.state, call.out.entry, 0}};
{sweeps}    if (!good)
        return false;
    const bool finite = out.sum == 0;
    if (call.good)
        call.good[i] = finite;
    if (!finite) {{
        for (int k = 0; k < call.joints; ++k)
            call.out.at[i * call.out.state + k * call.out.entry] = out.sum;
#ifdef __CUDACC__
        atomicMin(call.bad, (unsigned long long)i);
#else
        *call.bad = (unsigned long long)i < *call.bad ? (unsigned long long)i : *call.bad;
#endif
    }}
    return true;
}}
"""

_RUN = f"""#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__({MAX_BLOCK_THREADS}) run(const __grid_constant__ Call call)
{{
    const int64 thread = blockIdx.x * (int64){MAX_BLOCK_THREADS} + threadIdx.x;
    if (thread < call.threads)
        for (int64 i = thread; i < call.states; i += call.threads)
            if (!one<false>(call, i, thread))
                call.marked[1 + (int64)atomicAdd((unsigned long long *)call.last, 1ull)] = i;
}}

extern "C" __global__ void __launch_bounds__({MAX_BLOCK_THREADS}) again(const __grid_constant__ Call call)
{{
    const int64 thread = blockIdx.x * (int64){MAX_BLOCK_THREADS} + threadIdx.x;
    if (thread < call.threads)
        for (int64 k = thread; k <= *call.last; k += call.threads)
            one<true>(call, call.marked[k], thread);
}}
#else
extern "C" void run(Call call)
{{
    for (int64 i = 0; i < call.states; ++i)
        if (!one<false>(call, i, i % call.threads))
            one<true>(call, i, i % call.threads);
}}
#endif
"""
