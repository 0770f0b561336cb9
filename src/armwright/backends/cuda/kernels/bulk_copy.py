"""States that are rows, on cards of compute capability 9 and later: one lane of a warp has all its rows copied
to shared memory, each array by one instruction, and the results copied back by another.

Of short programs in single precision a lane has two states. States that make no whole warp are left to `again`.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.backends.cuda.kernels import launch_limits
from armwright.backends.cuda.kernels.aos_kernel import ROW
from armwright.backends.cuda.kernels.launch_limits import size
from armwright.backends.cuda.kernels.per_thread import FEW, ONE, TWO, Unused, computed, judged, lines
from armwright.graph.program import Program

SINCE = 90
"""The compute capability of cards that copy so, times ten."""

WIDEST = 64
"""Results of one state, up to which they are kept in registers until all are known."""


def pairs(program: Program, double: bool) -> bool:
    return not double and program.results <= FEW


def threads(program: Program, rows: Sequence[bool], double: bool) -> int:
    """Of a block, as many as have room for the rows, of the arguments that are given as such and of the result; none if
    not even a warp has."""
    each = (1 + pairs(program, double)) * _room(program, rows) * size(double) + 1  # as a warp has a gate of 8 bytes
    return launch_limits.threads(each) if program.results <= WIDEST else 0


def _room(program: Program, rows: Sequence[bool]) -> int:
    """Numbers of a state in shared memory, where results take the place of what was read."""
    return max(program.results, sum(n for n, row in zip(program.sizes, rows, strict=True) if row))


def copied(program: Program, rows: Sequence[bool], double: bool, bounds: str, unused: Unused) -> str:
    """The kernel `run`."""
    states = TWO if pairs(program, double) else ONE
    group, m, warps = 32 * len(states), program.results, threads(program, rows, double) // 32
    number = group * size(double)  # bytes of one number of each state
    names, place, copies, given = [name for name, _ in program.arguments], 0, list[str](), list[str]()
    for name, n, row in zip(names, program.sizes, rows, strict=True):
        for s in states:
            if row:
                given.append(f"const Row {name}{s} = {{shared + {place * group} + {_own(s)} * {n}}};")
            else:
                given.append(f"const Input {name}{s} = state_of(call.{name}, first + {_own(s)});")
        if row:
            copies.append(f"fetch(shared + {place * group}, call.{name}.at + first * {n}, {n * number}, gate);")
            place += n
    laid = [f"EACH(k, {m}) shared[{_own(s)} * {m} + k] = kept{s}[k];" for s in states]
    return f"""{ROW}{_COPIES}
extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    __shared__ __align__(128) real all[{warps}][{_room(program, rows) * group}];
    __shared__ unsigned long long gates[{warps}];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    real *const shared = all[warp];
    unsigned long long *const gate = gates + warp;
    const whole first = (blockIdx.x * (whole){warps} + warp) * {group};
    if (call.states - first < {group}) {{
        for (whole i = first + lane; i < call.states; i += 32)
            mark(call, i);
        return;
    }}
    if (lane == 0) {{
        open(gate, {place * number});
        {lines(copies, 8)}
    }}
    __syncwarp();
    wait(gate);
    {lines([*given, *computed(states, names, m, unused)])}
    __syncwarp();
    {lines(laid)}
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane == 0)
        deliver(call.out.at + first * {m}, shared, {m * number});
    __syncwarp();
    {lines(judged(states, [f"first + {_own(s)}" for s in states]))}
}}
"""


def _own(s: str) -> str:
    """Which of the states of a warp is that of a lane."""
    return "(lane + 32)" if s == "1" else "lane"


_COPIES = """
FUNCTION unsigned place_of(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// A gate that so many bytes have to come through, copies that go through it, and waiting until all have.
FUNCTION void open(unsigned long long *gate, unsigned bytes)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place_of(gate)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place_of(gate)), "r"(bytes) : "memory");
}
FUNCTION void fetch(real *to, const real *from, unsigned bytes, unsigned long long *gate)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     place_of(to)), "l"(from), "r"(bytes), "r"(place_of(gate)) : "memory");
}
FUNCTION void wait(unsigned long long *gate)
{
    unsigned come = 0;
    while (!come)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(come) : "r"(place_of(gate)) : "memory");
}

// A copy from shared memory, which may be used for something else when this is over.
FUNCTION void deliver(real *to, const real *from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(place_of(from)),
                 "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
"""
