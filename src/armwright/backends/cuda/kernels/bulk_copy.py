"""The kernel for row-major arrays on cards of compute capability 9 and later: rows are copied in bulk (TMA).

One lane of a warp copies each array to shared memory by one instruction, and the results back by another. In short
programs of single precision a lane has two states. States that do not fill a warp are computed by `again`.
"""

from __future__ import annotations

from collections.abc import Sequence

from armwright.backends.cuda.kernels import launch_limits
from armwright.backends.cuda.kernels.aos_kernel import ROW_STRUCT
from armwright.backends.cuda.kernels.launch_limits import number_bytes
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

MIN_COMPUTE_CAPABILITY = 90
"""The lowest compute capability of cards with bulk copies, times ten."""

MAX_RESULTS = 64
"""The most results of a state; they are kept in registers until all are known."""


def two_states(program: Program, double: bool) -> bool:
    """Return whether a lane has two states."""
    return not double and program.results <= MAX_REGISTER_RESULTS


def block_threads(program: Program, rows: Sequence[bool], double: bool) -> int:
    """Return the threads of a block whose rows fit in shared memory, 0 if those of no warp do."""
    numbers = (1 + two_states(program, double)) * _shared_numbers(program, rows)
    thread_bytes = numbers * number_bytes(double) + 1  # as a warp has a barrier of 8 bytes
    return launch_limits.block_threads(thread_bytes) if program.results <= MAX_RESULTS else 0


def _shared_numbers(program: Program, rows: Sequence[bool]) -> int:
    """Return the numbers in shared memory of a state; results overwrite arguments."""
    return max(program.results, sum(n for n, row in zip(program.sizes, rows, strict=True) if row))


def text(program: Program, rows: Sequence[bool], double: bool, bounds: str, unused: UnusedChecks) -> str:
    """Return the kernel `run`."""
    states = TWO_STATES if two_states(program, double) else ONE_STATE
    group, m, warps = 32 * len(states), program.results, block_threads(program, rows, double) // 32
    group_bytes = group * number_bytes(double)  # of one number of each state
    names, place, copies, reads = [name for name, _ in program.arguments], 0, list[str](), list[str]()
    for name, n, row in zip(names, program.sizes, rows, strict=True):
        for s in states:
            if row:
                reads.append(f"const Row {name}{s} = {{shared + {place * group} + {_lane_state(s)} * {n}}};")
            else:
                reads.append(f"const Input {name}{s} = state_of(call.{name}, first + {_lane_state(s)});")
        if row:
            copies.append(f"fetch(shared + {place * group}, call.{name}.at + first * {n}, {n * group_bytes}, barrier);")
            place += n
    stores = [f"EACH(k, {m}) shared[{_lane_state(s)} * {m} + k] = kept{s}[k];" for s in states]
    return f"""{ROW_STRUCT}{_COPIES}
extern "C" __global__ void __launch_bounds__({bounds}) run(const __grid_constant__ Call call)
{{
    __shared__ __align__(128) real all[{warps}][{_shared_numbers(program, rows) * group}];
    __shared__ unsigned long long barriers[{warps}];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    real *const shared = all[warp];
    unsigned long long *const barrier = barriers + warp;
    const int64 first = (blockIdx.x * (int64){warps} + warp) * {group};
    if (call.states - first < {group}) {{
        for (int64 i = first + lane; i < call.states; i += 32)
            mark(call, i);
        return;
    }}
    if (lane == 0) {{
        expect(barrier, {place * group_bytes});
        {lines(copies, 8)}
    }}
    __syncwarp();
    wait(barrier);
    {lines([*reads, *compute_statements(states, names, m, unused)])}
    __syncwarp();
    {lines(stores)}
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane == 0)
        deliver(call.out.at + first * {m}, shared, {m * group_bytes});
    __syncwarp();
    {lines(check_statements(states, [f"first + {_lane_state(s)}" for s in states]))}
}}
"""


def _lane_state(s: str) -> str:
    """Return the index in its warp of the state of a lane with this suffix."""
    return "(lane + 32)" if s == "1" else "lane"


_COPIES = """
FUNCTION unsigned shared_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

// A barrier that expects so many bytes, copies that arrive at it, and the wait for all of them.
FUNCTION void expect(unsigned long long *barrier, unsigned bytes)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(bytes) : "memory");
}
FUNCTION void fetch(real *to, const real *from, unsigned bytes, unsigned long long *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}
FUNCTION void wait(unsigned long long *barrier)
{
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(shared_address(barrier)) : "memory");
}

// A copy from shared memory, which may be reused afterwards.
FUNCTION void deliver(real *to, const real *from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
"""
