"""A program for every state of a batch: the text of its kernels.

One thread has one state. Where states lie side by side, neighbouring threads read neighbouring numbers. Where each
state is a row, a warp fetches the rows of its 32 states in accesses of 16 bytes and hands them out through shared
memory.
"""

from __future__ import annotations

from typing import NamedTuple

from armwright.backends.cuda.advance import composed
from armwright.backends.cuda.solve import solving
from armwright.backends.cuda.writer import function, idle, plain, prelude
from armwright.graph.program import Program

BLOCK = 128
"""Threads of a block."""

LONG, LONGEST, BESIDE = 1500, 5500, 3
"""Of programs of so many operations, in single precision, so many blocks are to be computed at once.

Of longer ones the compiler would spill what it then has no register for.
"""

WIDEST = 32
"""Entries of a row, up to which it is handed out by a warp."""


class Rows(NamedTuple):
    """Which arguments, and whether the result, are rows that lie one after the other, at multiples of 16 bytes."""

    arguments: tuple[bool, ...]
    out: bool


def text(program: Program, rows: Rows, double: bool) -> str:
    """`run(Call)`, a kernel: of as many blocks as there are states, on a CPU a loop over them."""
    staged = rows.out or any(rows.arguments)
    program = plain(program)
    parts = [prelude(double), body(program, "body", double), _call(program), _STATE.format(**_state(program))]
    alone = _alone(bounds(program, double))
    if staged:
        parts += ["#ifdef __CUDACC__", _staged(program, rows, double), "#else", alone, "#endif"]
    else:
        parts.append(alone)
    return "\n".join(parts)


def bounds(program: Program, double: bool) -> str:
    """Launch bounds: a long program, left to itself, takes all 255 registers for latencies that more threads hide."""
    long = program.advance is None and LONG < len(program.nodes) < LONGEST
    return f"{BLOCK}, {BESIDE}" if long and not double else str(BLOCK)


def body(program: Program, name: str, double: bool) -> str:
    """A function of a program of any kind."""
    if program.advance is not None:
        return composed(program, program.advance, name, double)
    if program.equations is not None:
        return solving(program, program.equations, name, double)
    return function(program, name, double)


def _call(program: Program) -> str:
    names = ", ".join(name for name, _ in program.arguments)
    return f"""
// Which states are good is written to `good`, if it is given; the first that is not, to `bad`. States to be done again
// are in `marked`, the last of them at `last`.
struct Call {{
    Array {names}, out;
    unsigned char *good;
    unsigned long long *bad;
    whole *last, *marked;
    whole states;
}};

FUNCTION void judge(const Call &call, whole i, real sum)
{{
    const bool finite = sum == 0;
    if (call.good)
        call.good[i] = finite;
    if (!finite) {{
        for (int k = 0; k < {program.results}; ++k)
            call.out.at[i * call.out.state + k * call.out.entry] = sum;
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
    unused = [f"{names[a]}[{k}] * 0" for a, k in idle(program)]
    return {
        "block": str(BLOCK),
        "load": " ".join(f"const Input {name} = state_of(call.{name}, i);" for name in names),
        "given": ", ".join(names),
        "unused": f"\n    out.sum += {' + '.join(unused)};" if unused else "",
    }


_STATE = """// One state, in whatever layout; false where it has to be done again.
template <bool careful> FUNCTION bool one(const Call &call, whole i)
{{
    {load}
    Output out = {{call.out.at + i * call.out.state, call.out.entry, 0}};{unused}
    const bool done = body<careful>({given}, out);
    if (done)
        judge(call, i, out.sum);
    return done;
}}

#ifdef __CUDACC__
// A call of anything careful, even one that never happens, would cost a third: so there is another kernel for that.
FUNCTION void mark(const Call &call, whole i)
{{
    call.marked[1 + (whole)atomicAdd((unsigned long long *)call.last, 1ull)] = i;
}}

extern "C" __global__ void __launch_bounds__({block}) again(const __grid_constant__ Call call)
{{
    for (whole k = blockIdx.x * (whole){block} + threadIdx.x; k <= *call.last; k += gridDim.x * (whole){block})
        one<true>(call, call.marked[k]);
}}
#endif
"""


def _alone(bounds: str) -> str:
    """The kernel for states in any layout."""
    return f"""#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    const whole i = blockIdx.x * (whole){BLOCK} + threadIdx.x;
    if (i < call.states && !one<false>(call, i))
        mark(call, i);
}}
#else
extern "C" void run(Call call)
{{
    for (whole i = 0; i < call.states; ++i)
        if (!one<false>(call, i))
            one<true>(call, i);
}}
#endif
"""


def _staged(program: Program, rows: Rows, double: bool) -> str:
    """The kernel for rows."""
    sizes = program.sizes
    widths = [n for n, row in zip(sizes, rows.arguments, strict=True) if row]
    room = sum(widths) + (program.results if rows.out else 0)
    fetch, hand, given, place = list[str](), list[str](), list[str](), 0
    for (name, inputs), row in zip(program.arguments, rows.arguments, strict=True):
        if row:
            n = len(inputs)
            rest = f"call.{name}.at + first * {n}"
            fetch.append(f"    Part<{n}> {name}_part;\n    {name}_part.fetch({rest}, lane, rows);")
            hand.append(f"    {name}_part.lay({rest}, shared + {place * 32}, lane, rows);")
            given.append(f"    const Row {name} = {{shared + {place * 32} + lane * {n}}};")
            place += n
        else:
            given.append(f"    const Input {name} = state_of(call.{name}, i);")
    unused = _state(program)["unused"]
    names = ", ".join(name for name, _ in program.arguments)
    m = program.results
    if rows.out:
        result = f"    real kept[{m}];\n    Checked out = {{kept, 0}};"
        deliver = f"""    __syncwarp();
#pragma unroll
    for (int k = 0; k < {m}; ++k)
        shared[{place * 32} + lane * {m} + k] = kept[k];
    __syncwarp();
    Part<{m}>::deliver(shared + {place * 32}, call.out.at + first * {m}, lane, rows);"""
    else:
        result = """    if (lane >= rows)
        return;
    Output out = {call.out.at + i * call.out.state, call.out.entry, 0};"""
        deliver = ""
    return f"""{_PARTS.format(vector="double2" if double else "float4", beside=2 if double else 4)}
extern "C" __global__ void __launch_bounds__({bounds(program, double)}) run(const __grid_constant__ Call call)
{{
    __shared__ __align__(16) real all[{BLOCK // 32}][{room * 32}];
    real *const shared = all[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    const whole first = blockIdx.x * (whole){BLOCK} + (threadIdx.x & ~31);
    const int rows = call.states - first < 32 ? (int)(call.states - first) : 32;
    if (rows <= 0)
        return;
    const whole i = first + (lane < rows ? lane : rows - 1);
{chr(10).join(fetch)}
{chr(10).join(hand)}
    __syncwarp();
{chr(10).join(given)}
{result}{unused}
    const bool done = body<false>({names}, out);
{deliver}
    if (lane < rows) {{
        if (!done)
            mark(call, i);
        else if (!(out.sum == 0) || call.good)
            judge(call, i, out.sum);
    }}
}}
"""


_PARTS = """// Results of a state in registers, and whether all of them are finite.
struct Checked {{
    real *at;
    real sum;
    MEMBER void put(int k, real x)
    {{
        at[k] = x;
        sum = fma(x, (real)0, sum);
    }}
}};

// A row in shared memory.
struct Row {{
    const real *at;
    MEMBER real operator[](int k) const
    {{
        return at[k];
    }}
}};

// What a lane fetches of the rows of a warp, n numbers each, {beside} neighbours at a time; of the last rows some
// single numbers may be left, which go straight to shared memory.
template <int n> struct Part {{
    static const int each = (n + {beside} - 1) / {beside};
    {vector} own[each];

    MEMBER void fetch(const real *__restrict__ rows, int lane, int count)
    {{
#pragma unroll
        for (int k = 0; k < each; ++k)
            if (k * 32 + lane < count * n / {beside})
                own[k] = __ldcs((const {vector} *)rows + k * 32 + lane);
    }}

    MEMBER void lay(const real *__restrict__ rows, real *shared, int lane, int count) const
    {{
#pragma unroll
        for (int k = 0; k < each; ++k)
            if (k * 32 + lane < count * n / {beside})
                (({vector} *)shared)[k * 32 + lane] = own[k];
        const int single = count * n / {beside} * {beside} + lane;
        if (count < 32 && single < count * n)
            shared[single] = rows[single];
    }}

    static MEMBER void deliver(const real *shared, real *__restrict__ rows, int lane, int count)
    {{
#pragma unroll
        for (int k = 0; k < each; ++k)
            if (k * 32 + lane < count * n / {beside})
                __stcs(({vector} *)rows + k * 32 + lane, ((const {vector} *)shared)[k * 32 + lane]);
        const int single = count * n / {beside} * {beside} + lane;
        if (count < 32 && single < count * n)
            rows[single] = shared[single];
    }}
}};
"""
