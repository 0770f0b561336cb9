"""A program for every state of a batch: the text of its kernels.

One thread has one state, or two neighbours. Where states lie side by side, neighbouring threads read neighbouring
numbers; where each state is a row, `rows` says how a warp fetches them.
"""

from __future__ import annotations

from typing import NamedTuple

from armwright.backends.cuda.advance import composed
from armwright.backends.cuda.rows import BLOCK, staged, threads
from armwright.backends.cuda.solve import solving
from armwright.backends.cuda.writer import function, idle, plain, prelude
from armwright.graph.program import Program

LONG, LONGEST, BESIDE = 1500, 5500, 3
"""Of programs of so many operations, in single precision, so many blocks are to be computed at once.

Of longer ones the compiler would spill what it then has no register for.
"""

FEWEST = 2
"""Blocks of longer programs, which take all registers there are: not told so, the compiler may keep to 32 of them and
have all else in memory, ten times what must be there."""

PAIRS = 16
"""Results of one state, up to which a thread may have two."""

ANY, SIDE, ROW = "any", "side", "row"
"""How an array lies: anyhow; states side by side, with entries as far apart as those of all others; rows."""


class Layout(NamedTuple):
    """How arguments and result lie, whether a thread has two states, and how many blocks are to be on a processor."""

    arguments: tuple[str, ...]
    out: str
    pairs: bool = False
    blocks: int = 0


def text(program: Program, layout: Layout, double: bool) -> str:
    """`run(Call)`, a kernel: of as many blocks as there are states, on a CPU a loop over them."""
    program = plain(program)
    parts = [prelude(double), body(program, "body", double), _call(program), _STATE.format(**_state(program))]
    return "\n".join([*parts, "#ifdef __CUDACC__", _kernel(program, layout, double), "#else", _ON_CPU, "#endif\n"])


def block(program: Program, layout: Layout, double: bool) -> int:
    """Threads of a block; none if there is no room for rows."""
    rows = tuple(kind == ROW for kind in (*layout.arguments, layout.out))
    return threads(plain(program), rows, double) if any(rows) else BLOCK


def _kernel(program: Program, layout: Layout, double: bool) -> str:
    each = block(program, layout, double)
    limits = f"{each}, {layout.blocks}" if layout.blocks else bounds(program, double, each)
    rows = tuple(kind == ROW for kind in (*layout.arguments, layout.out))
    if any(rows):
        return staged(program, rows, double, limits, _state(program)["unused"])
    if layout.pairs:
        return _paired(program, layout, double)
    return _side(program, layout, limits) if layout.out == SIDE else _ALONE.format(bounds=limits)


def bounds(program: Program, double: bool, each: int = BLOCK) -> str:
    """Launch bounds for blocks of so many threads.

    A long program, left to itself, takes all 255 registers for latencies that more threads hide.
    """
    length = len(program.nodes)
    if length >= LONGEST:
        return f"{each}, {FEWEST * BLOCK // each}"
    many = program.advance is None and length > LONG and not double and each == BLOCK
    return f"{each}, {BESIDE}" if many else str(each)


def long(program: Program) -> bool:
    """Whether a program is so long that its registers are few."""
    return program.advance is not None or len(program.nodes) > LONG


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
    whole states, entry;  // of entries of all arrays in which states are side by side
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
        "bounds": bounds(program, double=True),
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

extern "C" __global__ void __launch_bounds__({bounds}) again(const __grid_constant__ Call call)
{{
    for (whole k = blockIdx.x * (whole){block} + threadIdx.x; k <= *call.last; k += gridDim.x * (whole){block})
        one<true>(call, call.marked[k]);
}}
#endif
"""


_ALONE = """extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    const whole i = blockIdx.x * (whole)blockDim.x + threadIdx.x;
    if (i < call.states && !one<false>(call, i))
        mark(call, i);
}}
"""

_ON_CPU = """extern "C" void run(Call call)
{
    for (whole i = 0; i < call.states; ++i)
        if (!one<false>(call, i))
            one<true>(call, i);
}
"""


def _side(program: Program, layout: Layout, bounds: str) -> str:
    """The kernel for states side by side: all entries are found by one sum of 32 bits, for every array."""
    load = "\n    ".join(_reader(name, kind) for name, kind in _kinds(program, layout))
    state = _state(program)
    return f"""extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, apart = (unsigned)call.entry;
    if (i >= call.states)
        return;
    {load}
    SideOutput out = {{call.out.at, i, apart, 0}};{state["unused"]}
    if (body<false>({state["given"]}, out))
        judge(call, i, out.sum);
    else
        mark(call, i);
}}
"""


def _kinds(program: Program, layout: Layout) -> list[tuple[str, str]]:
    return [(name, kind) for (name, _), kind in zip(program.arguments, layout.arguments, strict=True)]


def _reader(name: str, kind: str) -> str:
    if kind == SIDE:
        return f"const Side {name} = {{call.{name}.at, i, apart}};"
    return f"const Input {name} = state_of(call.{name}, i);"


def _paired(program: Program, layout: Layout, double: bool) -> str:
    """The kernel for states side by side of which a thread has two: half the accesses, of twice the length."""
    vector, names, m = "double2" if double else "float2", [name for name, _ in program.arguments], program.results
    load = list[str]()
    for (name, kind), n in zip(_kinds(program, layout), program.sizes, strict=True):
        if kind == SIDE:
            load.append(f"real {name}0[{n}], {name}1[{n}];")
            load.append(
                f"EACH(k, {n})\n        two(call.{name}.at + i + k * call.{name}.entry, &{name}0[k], &{name}1[k]);"
            )
        else:
            load.append(f"const Input {name}0 = state_of(call.{name}, i), {name}1 = state_of(call.{name}, i + 1);")
    unused = _state(program)["unused"].replace("    out.sum += ", "    {}.sum += ")

    def own(text: str, which: str) -> str:
        for name in names:
            text = text.replace(f"{name}[", f"{name}{which}[")
        return text.replace("{}", f"out{which}")

    return f"""FUNCTION void two(const real *__restrict__ at, real *first, real *second)
{{
    const {vector} both = __ldcs((const {vector} *)at);
    *first = both.x;
    *second = both.y;
}}

extern "C" __global__ void __launch_bounds__({BLOCK}) run(const __grid_constant__ Call call)
{{
    const whole i = 2 * (blockIdx.x * (whole)blockDim.x + threadIdx.x);
    if (i >= call.states)
        return;
    {chr(10).join(load).replace(chr(10), chr(10) + "    ")}
    real kept0[{m}], kept1[{m}];
    Checked out0 = {{kept0, 0}}, out1 = {{kept1, 0}};{own(unused, "0")}{own(unused, "1")}
    const bool done0 = body<false>({", ".join(f"{name}0" for name in names)}, out0);
    const bool done1 = body<false>({", ".join(f"{name}1" for name in names)}, out1);
    EACH(k, {m}) {{
        {vector} both;
        both.x = kept0[k];
        both.y = kept1[k];
        __stcs(({vector} *)(call.out.at + i + k * call.out.entry), both);
    }}
    if (!done0)
        mark(call, i);
    else if (!(out0.sum == 0) || call.good)
        judge(call, i, out0.sum);
    if (!done1)
        mark(call, i + 1);
    else if (!(out1.sum == 0) || call.good)
        judge(call, i + 1, out1.sum);
}}
"""
