"""Long chains as loops: the text of a kernel whose threads go along the joints, each with states of its own.

What a sweep leaves for later ones lies in memory, joint by joint, side by side for all threads: that of the first
joints in what a block shares, as far as there is room. There are as many threads as a card has running at a time, so
that it does not grow with the batch. What is read is kept in caches: of a row, the numbers of the next joints come with
that of the first.
"""

from __future__ import annotations

from collections.abc import Iterator

from armwright.backends.cuda.codegen.writer import function, prelude
from armwright.backends.cuda.kernels.launch_limits import BLOCK
from armwright.backends.interface import CHAIN_JOINTS, ChainLoop


def text(rolled: ChainLoop, double: bool) -> str:
    """`run(Call)` and `again(Call)`, kernels of as many threads as there are records; on a CPU a loop over states."""
    steps = [
        function(sweep.steps[kind], f"sweep{k}_{kind}", double)
        for k, sweep in enumerate(rolled.sweeps)
        for kind in CHAIN_JOINTS
    ]
    sweeps = "".join(_sweep(rolled, k) for k in range(len(rolled.sweeps)))
    call = _CALL.format(names=", ".join(rolled.inputs), block=BLOCK)
    return "\n".join([prelude(double), *steps, call, _ONE.format(sweeps=sweeps), _RUN])


def width(rolled: ChainLoop) -> int:
    """Numbers that a thread keeps for every joint."""
    return sum(sweep.record for sweep in rolled.sweeps[:-1])


def _sweep(rolled: ChainLoop, k: int) -> str:
    """One loop over the joints; what it begins with are the entries of `starts` after those of earlier ones."""
    sweep, last = rolled.sweeps[k], k == len(rolled.sweeps) - 1
    begin = sum(earlier.carry for earlier in rolled.sweeps[:k])
    places = list(_places(rolled))
    given = [
        "carry",
        f"table(call.parameters + j * {rolled.parameters})",
        *(f"entries_of(call.{name}, i, j * {rolled.inputs[name]})" for name in sweep.reads),
        *(f"record_of(call, thread, j, {width(rolled)}, {place})" for place in places[:k]),
    ]
    calls = " : ".join(f"sweep{k}_{kind}<careful>({', '.join([*given, 'made'])})" for kind in reversed(CHAIN_JOINTS))
    size = sweep.carry + sweep.record
    if last:
        keep = f"out.put(j, next[{sweep.carry}]);"
    else:
        keep = (
            f"Record record = record_of(call, thread, j, {width(rolled)}, {places[k]});\n"
            f"            EACH(e, {sweep.record}) record.put(e, next[{sweep.carry} + e]);"
        )
    return f"""    {{
        real carry[{sweep.carry}], next[{size}];
        EACH(e, {sweep.carry}) carry[e] = call.starts[{begin} + e];
        TURNS(step, call.joints) {{
            const whole j = {"step" if sweep.outward else "call.joints - 1 - step"};
            Kept made = {{next}};
            good &= call.kinds[j] ? {calls};
            {keep}
            EACH(e, {sweep.carry}) carry[e] = next[e];
        }}
    }}
"""


def _places(rolled: ChainLoop) -> Iterator[int]:
    """Where the records of each sweep begin among the numbers of a joint."""
    place = 0
    for sweep in rolled.sweeps:
        yield place
        place += sweep.record


_CALL = """
// Of every joint its parameters and its kind; what the sweeps start with; room for the records of so many threads.
struct Call {{
    Array {names}, out;
    unsigned char *good;
    unsigned long long *bad;
    whole *last, *marked;
    whole states;
    const real *parameters, *starts;
    const unsigned char *kinds;
    real *records;
    whole threads;
    int joints, near;  // of the near ones the records are in shared memory
}};

// What nobody writes, and may be read again.
struct Table {{
    const real *at;
    whole entry;
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

FUNCTION Table entries_of(const Array &array, whole i, whole first)
{{
    Table made = {{array.at + i * array.state + first * array.entry, array.entry}};
    return made;
}}

// The results of a state, which may lie beside one another and are then written to memory together.
struct Results {{
    real *at;
    whole entry;
    real sum;  // nan once a result is not finite
    MEMBER void put(int k, real x)
    {{
        at[k * entry] = x;
        sum = fma(x, (real)0, sum);
    }}
}};

// What a thread keeps of a joint.
struct Record {{
    real *at;
    whole entry;
    MEMBER real operator[](int k) const
    {{
        return at[k * entry];
    }}
    MEMBER void put(int k, real x)
    {{
        at[k * entry] = x;
    }}
}};

FUNCTION Record record_of(const Call &call, whole thread, whole joint, int width, int place)
{{
#ifdef __CUDACC__
    if (joint < call.near) {{
        extern __shared__ real shared[];
        Record record = {{shared + (joint * width + place) * {block} + threadIdx.x, {block}}};
        return record;
    }}
#endif
    Record record = {{call.records + ((joint - call.near) * width + place) * call.threads + thread, call.threads}};
    return record;
}}
"""

_ONE = """// One state; false where it has to be done again.
template <bool careful> FUNCTION bool one(const Call &call, whole i, whole thread)
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
extern "C" __global__ void __launch_bounds__({BLOCK}) run(const __grid_constant__ Call call)
{{
    const whole thread = blockIdx.x * (whole){BLOCK} + threadIdx.x;
    if (thread < call.threads)
        for (whole i = thread; i < call.states; i += call.threads)
            if (!one<false>(call, i, thread))
                call.marked[1 + (whole)atomicAdd((unsigned long long *)call.last, 1ull)] = i;
}}

extern "C" __global__ void __launch_bounds__({BLOCK}) again(const __grid_constant__ Call call)
{{
    const whole thread = blockIdx.x * (whole){BLOCK} + threadIdx.x;
    if (thread < call.threads)
        for (whole k = thread; k <= *call.last; k += call.threads)
            one<true>(call, call.marked[k], thread);
}}
#else
extern "C" void run(Call call)
{{
    for (whole i = 0; i < call.states; ++i)
        if (!one<false>(call, i, i % call.threads))
            one<true>(call, i, i % call.threads);
}}
#endif
"""
