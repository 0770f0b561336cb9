"""A program for every state of a batch: the text of its kernels.

One thread has one state, or two neighbours. Where states lie side by side, neighbouring threads read neighbouring
numbers, which `beside` has fetched at once; where each state is a row, `bulk` and `rows` say how a warp fetches them.
"""

from __future__ import annotations

from typing import NamedTuple

from armwright.backends.cuda.codegen import solve
from armwright.backends.cuda.codegen.advance import composed
from armwright.backends.cuda.codegen.writer import function, idle, plain, prelude
from armwright.backends.cuda.kernels import bulk_copy, soa_kernel
from armwright.backends.cuda.kernels.aos_kernel import staged, threads
from armwright.backends.cuda.kernels.launch_limits import BLOCK, size
from armwright.backends.cuda.kernels.per_thread import lines
from armwright.graph.program import Program

LONG, LONGEST, SMALL, BESIDE = 1500, 5500, 64, 6
"""Of programs of so many operations, in single precision, blocks are small and so many are to be computed at once.

Of longer ones the compiler would spill what it then has no register for.
"""

FEWEST = 2
"""Blocks of longer programs, which take all registers there are: not told so, the compiler may keep to 32 of them and
have all else in memory, ten times what must be there."""

AHEAD = 112 << 10
"""Bytes of shared memory of a processor, up to which programs that take all registers have what they read fetched
there: with more, too little would be left as a cache of what is spilled."""

ANY, SIDE, ROW = "any", "side", "row"
"""How an array lies: anyhow; states side by side, with entries as far apart as those of all others; rows."""


class Layout(NamedTuple):
    """How arguments and result lie, whether a thread has two states, how many blocks are to be on a processor, whether
    rows are copied in bulk, how many numbers of equations a thread has in shared memory, and whether a long program has
    what it reads fetched there."""

    arguments: tuple[str, ...]
    out: str
    pairs: bool = False
    blocks: int = 0
    bulk: bool = False
    tile: int = 0
    fetched: bool = False


def text(program: Program, layout: Layout, double: bool) -> str:
    """`run(Call)`, a kernel: of as many blocks as there are states, on a CPU a loop over them."""
    program = plain(program)
    again = "if (!one<false>(call, call.marked[k])) " if layout.bulk else ""
    tile = solve.Tile(layout.tile, block(program, layout, double))
    state = _STATE.format(**_state(program), first=again)
    parts = [prelude(double), body(program, "body", double, tile), _call(program), state]
    return "\n".join([*parts, "#ifdef __CUDACC__", _kernel(program, layout, double), "#else", _ON_CPU, "#endif\n"])


def block(program: Program, layout: Layout, double: bool) -> int:
    """Threads of a block; none if there is no room for rows."""
    rows = tuple(kind == ROW for kind in (*layout.arguments, layout.out))
    if layout.bulk:
        return bulk_copy.threads(program, rows[:-1], double)
    if any(rows):
        return threads(plain(program), rows, double)
    most = SMALL if layout.out == SIDE and _many(program, double) else BLOCK
    return min(most, soa_kernel.threads(program, _sided(layout), double)) if layout.fetched else most


def tile(program: Program, double: bool, room: int) -> int:
    """Numbers of its equations that a thread has in shared memory, of which a processor has so many bytes."""
    if program.equations is None:
        return 0
    threads = SMALL * BESIDE if _many(program, double) else FEWEST * BLOCK
    taken = sum(program.sizes) if ahead(program, double) else 0
    return solve.near(program, program.equations, double, room // (threads * size(double)) - taken)


def ahead(program: Program, double: bool) -> bool:
    """Whether a long program has what it reads fetched at once, where states lie side by side."""
    room = sum(program.sizes) * size(double) * FEWEST * BLOCK
    solving = double and program.equations is not None
    return program.integration is None and len(program.nodes) < LONGEST and not solving and room <= AHEAD


def shared(program: Program, layout: Layout, double: bool) -> int:
    """Bytes of shared memory that a block is given beside what its text asks for."""
    return layout.tile * block(program, layout, double) * size(double)


def _kernel(program: Program, layout: Layout, double: bool) -> str:
    each = block(program, layout, double)
    limits = f"{each}, {layout.blocks}" if layout.blocks else bounds(program, double, each)
    rows = tuple(kind == ROW for kind in (*layout.arguments, layout.out))
    if layout.bulk:
        return bulk_copy.copied(program, rows[:-1], double, limits, lambda s: _unused(program, s))
    if any(rows):
        return staged(program, rows, double, limits, _unused(program))
    if layout.out != SIDE:
        return _ALONE.format(bounds=limits)
    if long(program):
        return _side(program, layout, each, limits)
    return soa_kernel.fetched(program, _sided(layout), layout.pairs, double, limits, lambda s: _unused(program, s))


def _sided(layout: Layout) -> list[bool]:
    return [kind == SIDE for kind in layout.arguments]


def bounds(program: Program, double: bool, each: int = BLOCK) -> str:
    """Launch bounds for blocks of so many threads.

    A long program, left to itself, takes all 255 registers for latencies that more threads hide.
    """
    if len(program.nodes) >= LONGEST:
        return f"{each}, {FEWEST * BLOCK // each}"
    return f"{each}, {BESIDE * SMALL // each}" if each and _many(program, double) else str(each)


def _many(program: Program, double: bool) -> bool:
    return program.integration is None and LONG < len(program.nodes) < LONGEST and not double


def long(program: Program) -> bool:
    """Whether a program is so long that its registers are few."""
    return program.integration is not None or len(program.nodes) > LONG


def body(program: Program, name: str, double: bool, tile: solve.Tile = solve.LOCAL) -> str:
    """A function of a program of any kind."""
    if program.integration is not None:
        return composed(program, program.integration, name, double)
    if program.equations is not None:
        return solve.solving(program, program.equations, name, double, tile)
    return function(program, name, double)


def _call(program: Program) -> str:
    names = [name for name, _ in program.arguments]
    unused = "".join(f"\n        good &= is_finite(state_of(call.{names[a]}, i)[{k}]);" for a, k in idle(program))
    return f"""
// Which states are good is written to `good`, if it is given; the first that is not, to `bad`. States to be done again
// are in `marked`, the last of them at `last`.
struct Call {{
    Array {", ".join(names)}, out;
    unsigned char *good;
    unsigned long long *bad;
    whole *last, *marked;
    whole states, entry;  // of entries of all arrays in which states are side by side
}};

// What to do with a state of which this is the sum of what was checked.
FUNCTION void judge(const Call &call, whole i, real sum)
{{
    bool good = is_finite(sum);
    if (!good) {{
        good = true;
        TURNS(k, {program.results})
            good &= is_finite(call.out.at[i * call.out.state + k * call.out.entry]);{unused}
    }}
    if (call.good)
        call.good[i] = good;
    if (!good) {{
        TURNS(k, {program.results})
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
        "bounds": bounds(program, double=True),
        "load": " ".join(f"const Input {name} = state_of(call.{name}, i);" for name in names),
        "given": ", ".join(names),
        "unused": _unused(program),
    }


def _unused(program: Program, s: str = "") -> str:
    """Entries of a state that nothing depends on must be finite, too."""
    names = [f"{name}{s}" for name, _ in program.arguments]
    entries = [f"{names[a]}[{k}] * 0" for a, k in idle(program)]
    return f"\n    out{s}.sum += {' + '.join(entries)};" if entries else ""


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
    const whole threads = gridDim.x * (whole)blockDim.x;
    for (whole k = blockIdx.x * (whole)blockDim.x + threadIdx.x; k <= *call.last; k += threads)
        {first}one<true>(call, call.marked[k]);
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


def _side(program: Program, layout: Layout, each: int, bounds: str) -> str:
    """The kernel for states side by side: all entries are found by one sum of 32 bits, for every array."""
    before, load = (
        soa_kernel.ahead(program, _sided(layout), each) if layout.fetched else ("", _readers(program, layout))
    )
    state = _state(program)
    return f"""{before}extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, apart = (unsigned)call.entry;
    if (i >= call.states)
        return;
    {lines(load)}
    SideOutput out = {{call.out.at, i, apart, 0}};{state["unused"]}
    if (body<false>({state["given"]}, out))
        judge(call, i, out.sum);
    else
        mark(call, i);
}}
"""


def _readers(program: Program, layout: Layout) -> list[str]:
    return [
        f"const Side {name} = {{call.{name}.at, i, apart}};"
        if kind == SIDE
        else f"const Input {name} = state_of(call.{name}, i);"
        for (name, _), kind in zip(program.arguments, layout.arguments, strict=True)
    ]
