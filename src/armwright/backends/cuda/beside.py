"""States side by side, of short programs: a thread has all that it reads of them fetched at once, to memory that its
block shares, and takes it from there when it is wanted.

So it waits once, and registers are for what is computed. In single precision a thread has two neighbours: half the
accesses, of twice the length.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.backends.cuda.own import ONE, TWO, Unused, computed, judged, lines
from armwright.backends.cuda.rows import BLOCK, SHARED
from armwright.graph.program import Program

MOST = 16
"""Results of a state, up to which they are kept in registers until all are known."""


def fits(program: Program, beside: Sequence[bool], pairs: bool, double: bool) -> bool:
    """Whether there is room for what is read, of arguments whose states lie side by side, and for what is computed."""
    numbers = sum(n for n, side in zip(program.sizes, beside, strict=True) if side)
    return program.results <= MOST and numbers * BLOCK * (1 + pairs) * (8 if double else 4) <= SHARED


def fetched(program: Program, beside: Sequence[bool], pairs: bool, double: bool, limits: str, unused: Unused) -> str:
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
    return f"""{_FETCH.format(taken=taken)}
extern "C" __global__ void __launch_bounds__({limits}) run(const __grid_constant__ Call call)
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


_FETCH = """typedef {taken} Taken;

// Begin to copy to shared memory, and wait for all that this thread has begun.
FUNCTION void fetch(Taken *to, const Taken *from)
{{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
                 "n"(sizeof(Taken)) : "memory");
#else
    *to = *from;
#endif
}}
FUNCTION void arrived()
{{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}}
"""
