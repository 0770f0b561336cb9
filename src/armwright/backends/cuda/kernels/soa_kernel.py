"""States side by side: a thread has all that it reads of them fetched at once, to memory that its block shares, and
takes it from there when it is wanted.

So it waits once, and registers are for what is computed. Of short programs in single precision a thread has two
neighbours: half the accesses, of twice the length. Results of long ones are written as soon as they are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.backends.cuda.kernels import launch_limits
from armwright.backends.cuda.kernels.launch_limits import BLOCK, size
from armwright.backends.cuda.kernels.per_thread import FEW, ONE, TWO, Unused, computed, judged, lines
from armwright.graph.program import Program


def fits(program: Program, beside: Sequence[bool], pairs: bool, double: bool) -> bool:
    """Whether a whole block has room for what is read, of arguments whose states lie side by side, and for results."""
    return program.results <= FEW and threads(program, beside, double, 1 + pairs) == BLOCK


def threads(program: Program, beside: Sequence[bool], double: bool, states: int = 1) -> int:
    """Of a block, as many as have room for what is read of so many states each; none if not even a warp has."""
    numbers = sum(n for n, side in zip(program.sizes, beside, strict=True) if side)
    return launch_limits.threads(states * numbers * size(double))


def ahead(program: Program, beside: Sequence[bool], block: int) -> tuple[str, list[str]]:
    """What stands before the kernel of a long program that has what it reads fetched, and how it comes by it: entries
    of all arrays are as far apart, and found by sums of 32 bits."""
    fetch, given, place = list[str](), list[str](), 0
    for (name, inputs), side in zip(program.arguments, beside, strict=True):
        if not side:
            given.append(f"const Input {name} = state_of(call.{name}, i);")
            continue
        here, there = f"own + ({place} + k) * {block}", f"call.{name}.at + (i + k * apart)"
        fetch.append(f"EACH(k, {len(inputs)}) fetch({here}, {there});")
        given.append(f"const Near {name} = {{own + {place * block}}};")
        place += len(inputs)
    room = [f"__shared__ real all[{max(1, place) * block}];", "real *const own = all + threadIdx.x;"]
    return f"{_FETCH}{_NEAR.format(block=block)}", [*room, *fetch, "arrived();", *given]


def fetched(program: Program, beside: Sequence[bool], pairs: bool, double: bool, bounds: str, unused: Unused) -> str:
    """The kernel `run`."""
    states, each = TWO if pairs else ONE, 1 + pairs
    taken = f"{'double' if double else 'float'}{'2' if pairs else ''}"
    names, m, place = [name for name, _ in program.arguments], program.results, 0
    fetch, given = list[str](), list[str]()
    for name, n, side in zip(names, program.sizes, beside, strict=True):
        if not side:
            given.extend(f"const Input {name}{s} = state_of(call.{name}, i + {s or 0});" for s in states)
            continue
        here, there = f"own + ({place} + k) * {BLOCK}", f"call.{name}.at + i + k * call.{name}.entry"
        fetch.append(f"EACH(k, {n}) fetch({here}, (const Taken *)({there}));")
        given.append(f"real {', '.join(f'{name}{s}[{n}]' for s in states)};")
        given.append(f"EACH(k, {n}) {{ Taken x = own[({place} + k) * {BLOCK}]; {_parted(name, states)} }}")
        place += n
    done = judged(states, [f"i + {s or 0}" for s in states])
    body = [*fetch, "arrived();", *given, *computed(states, names, m, unused), _stored(m, pairs), *done]
    return f"""{_FETCH}typedef {taken} Taken;
extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    __shared__ Taken all[{max(1, place) * BLOCK}];
    Taken *const own = all + threadIdx.x;
    const whole i = {each} * (blockIdx.x * (whole)blockDim.x + threadIdx.x);
    if (i >= call.states)
        return;
    {lines(body)}
}}
"""


def _parted(name: str, states: Sequence[str]) -> str:
    if len(states) == 1:
        return f"{name}[k] = x;"
    return f"{name}0[k] = x.x; {name}1[k] = x.y;"


def _stored(m: int, pairs: bool) -> str:
    kept = "both.x = kept0[k]; both.y = kept1[k];" if pairs else "both = kept[k];"
    return f"EACH(k, {m}) {{ Taken both; {kept} __stcs((Taken *)(call.out.at + i + k * call.out.entry), both); }}"


_FETCH = """// Begin to copy to shared memory, and wait for all that this thread has begun.
template <class Taken> FUNCTION void fetch(Taken *to, const Taken *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
                 "n"(sizeof(Taken)) : "memory");
#else
    *to = *from;
#endif
}
FUNCTION void arrived()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
"""

_NEAR = """
// A state in shared memory, beside those of the other threads.
struct Near {{
    const real *at;
    MEMBER real operator[](int k) const
    {{
        return at[k * {block}];
    }}
}};
"""
