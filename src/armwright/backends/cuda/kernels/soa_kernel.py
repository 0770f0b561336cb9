"""The kernel for column-major arrays (structure of arrays): a thread prefetches its arguments to shared memory.

It waits for memory once, and its registers are free for results. In short programs of single precision a thread has two
neighbouring states: half the accesses, each of twice the length. Long programs store each result once it is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.backends.cuda.kernels import launch_limits
from armwright.backends.cuda.kernels.launch_limits import MAX_BLOCK_THREADS, number_bytes
from armwright.backends.cuda.kernels.per_thread import (
    MAX_REGISTER_RESULTS,
    ONE_STATE,
    TWO_STATES,
    UnusedChecks,
    check_statements,
    compute_statements,
    lines,
)
from armwright.graph.program import Program


def fits(program: Program, soa: Sequence[bool], two_states: bool, double: bool) -> bool:
    """Return whether the column-major arguments of a full block fit in shared memory, and results in registers."""
    threads = block_threads(program, soa, double, 1 + two_states)
    return program.results <= MAX_REGISTER_RESULTS and threads == MAX_BLOCK_THREADS


def block_threads(program: Program, soa: Sequence[bool], double: bool, states: int = 1) -> int:
    """Return the threads of a block whose column-major arguments fit in shared memory, 0 if those of no warp do."""
    numbers = sum(n for n, is_soa in zip(program.sizes, soa, strict=True) if is_soa)
    return launch_limits.block_threads(states * numbers * number_bytes(double))


def prefetch(program: Program, soa: Sequence[bool], block: int) -> tuple[str, list[str]]:
    """Return the functions before the kernel of a long program, and the statements that prefetch its arguments.

    All arrays have the same distance between entries, and are indexed by 32 bits.
    """
    fetch, reads, place = list[str](), list[str](), 0
    for (name, inputs), is_soa in zip(program.arguments, soa, strict=True):
        if not is_soa:
            reads.append(f"const Input {name} = state_of(call.{name}, i);")
            continue
        to, source = f"own + ({place} + k) * {block}", f"call.{name}.at + (i + k * stride)"
        fetch.append(f"EACH(k, {len(inputs)}) fetch({to}, {source});")
        reads.append(f"const SharedState {name} = {{own + {place * block}}};")
        place += len(inputs)
    shared = [f"__shared__ real all[{max(1, place) * block}];", "real *const own = all + threadIdx.x;"]
    return f"{_FETCH}{_SHARED_STATE.format(block=block)}", [*shared, *fetch, "wait_for_fetches();", *reads]


def text(
    program: Program, soa: Sequence[bool], two_states: bool, double: bool, bounds: str, unused: UnusedChecks
) -> str:
    """Return the kernel `run`."""
    states = TWO_STATES if two_states else ONE_STATE
    access = f"{'double' if double else 'float'}{'2' if two_states else ''}"
    names, m, place = [name for name, _ in program.arguments], program.results, 0
    fetch, reads = list[str](), list[str]()
    for name, n, is_soa in zip(names, program.sizes, soa, strict=True):
        if not is_soa:
            reads.extend(f"const Input {name}{s} = state_of(call.{name}, i + {s or 0});" for s in states)
            continue
        to, source = f"own + ({place} + k) * {MAX_BLOCK_THREADS}", f"call.{name}.at + i + k * call.{name}.entry"
        fetch.append(f"EACH(k, {n}) fetch({to}, (const Access *)({source}));")
        reads.append(f"real {', '.join(f'{name}{s}[{n}]' for s in states)};")
        reads.append(f"EACH(k, {n}) {{ Access x = own[({place} + k) * {MAX_BLOCK_THREADS}]; {_split(name, states)} }}")
        place += n
    results = [*compute_statements(states, names, m, unused), _store(m, two_states)]
    checks = check_statements(states, [f"i + {s or 0}" for s in states])
    body = [*fetch, "wait_for_fetches();", *reads, *results, *checks]
    return f"""{_FETCH}typedef {access} Access;
extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    __shared__ Access all[{max(1, place) * MAX_BLOCK_THREADS}];
    Access *const own = all + threadIdx.x;
    const int64 i = {len(states)} * (blockIdx.x * (int64)blockDim.x + threadIdx.x);
    if (i >= call.states)
        return;
    {lines(body)}
}}
"""


def _split(name: str, states: Sequence[str]) -> str:
    if len(states) == 1:
        return f"{name}[k] = x;"
    return f"{name}0[k] = x.x; {name}1[k] = x.y;"


def _store(m: int, two_states: bool) -> str:
    kept = "both.x = kept0[k]; both.y = kept1[k];" if two_states else "both = kept[k];"
    return f"EACH(k, {m}) {{ Access both; {kept} __stcs((Access *)(call.out.at + i + k * call.out.entry), both); }}"


_FETCH = """// Begin a copy to shared memory; wait for all copies of this thread.
template <class Access> FUNCTION void fetch(Access *to, const Access *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
                 "n"(sizeof(Access)) : "memory");
#else
    *to = *from;
#endif
}
FUNCTION void wait_for_fetches()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
"""

_SHARED_STATE = """
// A state in shared memory, column-major with those of the other threads.
struct SharedState {{
    const real *at;
    MEMBER real operator[](int k) const
    {{
        return at[k * {block}];
    }}
}};
"""
