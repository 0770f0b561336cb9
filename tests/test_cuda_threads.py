"""Kernels as a card runs them, by threads of the CPU: who fetches which numbers, and where results go.

`test_cuda_text` has one state after the other instead, and `test_cuda` a card.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from on_cpu import compiled, needs_compiler

import armwright as aw
from armwright.backends.cuda.host.chain_launcher import ChainLauncher
from armwright.backends.cuda.host.launcher import NO_STATE
from armwright.backends.cuda.host.program_launcher import ProgramLauncher
from armwright.backends.cuda.kernels import bulk_copy, chain_sweep, kernel, launch_limits, transpose
from armwright.backends.cuda.kernels.call_structures import StridedArray
from armwright.backends.cuda.kernels.kernel import AOS, SOA, STRIDED, KernelLayout
from armwright.backends.interpreter import InterpretedKernel, InterpretedLoop
from armwright.graph.angles import expand_sines
from armwright.trace.chain_loops import CHAIN_PROBLEMS
from armwright.trace.cheapest import cheapest
from armwright.trace.tracing import TraceRequest

pytestmark = needs_compiler

BLOCKS = (Path(__file__).parent / "block.h").read_text(encoding="utf-8")
RUN = """
#undef run
struct Thread {{
    const Call *call;
    unsigned x;
}};

static void *begun(void *given)
{{
    threadIdx.x = ((Thread *)given)->x;
    kernel(*((Thread *)given)->call);
    return 0;
}}

extern "C" int run(Call call)
{{
    static Thread threads[{block}];
    pthread_t ids[{block}];
    blockDim.x = {block};
    pthread_barrier_init(&all_threads, 0, {block});
    for (int w = 0; w < {block} / 32; ++w)
        pthread_barrier_init(&of_warp[w], 0, 32);
    for (blockIdx.x = 0; blockIdx.x < {blocks}; ++blockIdx.x) {{
        for (unsigned x = 0; x < {block}; ++x) {{
            threads[x] = {{&call, x}};
            pthread_create(&ids[x], 0, begun, &threads[x]);
        }}
        for (unsigned x = 0; x < {block}; ++x)
            pthread_join(ids[x], 0);
    }}
    {then}
    return unbalanced;
}}
"""
MARK = """
static void mark(const Call &call, int64 i)
{
    call.marked[1 + (int64)atomicAdd((unsigned long long *)call.last, 1ull)] = i;
}
"""
AGAIN = """for (int64 k = 0; k <= *call.last; ++k)
        if (!one<false>(call, call.marked[k]))
            one<true>(call, call.marked[k]);"""

FENCE = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


def threaded(text: str, block: int, threads: int, then: str = "") -> Any:
    """The kernel `run` of a text for a card, by so many threads; `then` is what follows."""
    before, _, rest = text.rpartition("#ifdef __CUDACC__\n")
    blocks = -(-threads // block)
    mark = MARK if then else ""
    parts = [BLOCKS, before, mark, rest.rpartition("#else\n")[0], RUN.format(block=block, blocks=blocks, then=then)]
    run = compiled("\n".join(parts))
    run.restype = ctypes.c_int
    return run


STATES = 150
"""Two warps and a bit more have two states for each thread, four and a bit more have one."""

LARGE = [3, 70, 149]
"""Those with large angles."""

SINGLE, DOUBLE = "float32", "float64"
WAYS = {
    "fetched, one state": (DOUBLE, KernelLayout((SOA,) * 3, SOA)),
    "fetched, two states": (SINGLE, KernelLayout((SOA,) * 3, SOA, two_states=True)),
    "fetched, what is the same": (SINGLE, KernelLayout((SOA, STRIDED, SOA), SOA, two_states=True)),
    "bulk, one state": (DOUBLE, KernelLayout((AOS,) * 3, AOS, bulk=True)),
    "bulk, two states": (SINGLE, KernelLayout((AOS, STRIDED, AOS), AOS, two_states=True, bulk=True)),
    "staged, by twos": (DOUBLE, KernelLayout((AOS,) * 3, AOS)),
    "staged, by fours": (SINGLE, KernelLayout((AOS, STRIDED, AOS), AOS)),
    "staged, results anyhow": (SINGLE, KernelLayout((AOS,) * 3, STRIDED)),
    "long, fetched": (SINGLE, KernelLayout((SOA, STRIDED, SOA), SOA, prefetched=True)),
    "long, read": (DOUBLE, KernelLayout((SOA,) * 3, SOA)),
    "anyhow": (DOUBLE, KernelLayout((STRIDED,) * 3, STRIDED)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_state_is_read_and_written_once(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "long" in way:
        monkeypatch.setattr(kernel, "LONG_OPERATIONS", 10)
    dtype, layout = WAYS[way]
    robot = aw.load("stanford")
    held(cheapest(TraceRequest("inverse_dynamics", robot)).program, dtype, layout)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_long_rows_of_results_are_written_one_after_the_other(dtype: str) -> None:
    held(cheapest(TraceRequest("mass_matrix", aw.load("stanford"))).program, dtype, KernelLayout((AOS,), AOS))


def held(program: Any, dtype: str, layout: KernelLayout) -> None:
    """Of states of which some have large angles and one is not finite, whether it is asked which are good or not."""
    states = STATES + (layout.out != SOA)  # an odd number leaves single numbers of rows
    program, double, rng = expand_sines(program), dtype == "float64", np.random.default_rng(1)
    arrays = [rng.uniform(-1, 1, (states, n)).astype(dtype) for n in program.sizes]
    orders = ["F" if kind == SOA else "C" for kind in layout.arguments]
    arrays = [np.array(x, order=order) for x, order in zip(arrays, orders, strict=True)]
    arrays[0][LARGE, 1] = 3e6
    meant = np.empty((states, program.results), dtype)
    InterpretedKernel(program, dtype).run(arrays, meant)
    arrays[-1][131, -1] = np.nan
    fine = np.arange(states) != 131
    block = kernel.block_threads(program, layout, double)
    threads = -(-states // 2) if layout.two_states else states
    text = kernel.text(program, layout, double)
    for only_there in (bulk_copy._COPIES, FENCE):
        text = text.replace(only_there, "")
    run = threaded(text, block, threads, AGAIN)
    for asked in (True, False):
        out = np.full((states + 1) * program.results, 77, dtype)
        last = states * program.results
        found = out[:last].reshape(-1, states).T if layout.out == SOA else out[:last].reshape(states, -1)
        good, told = np.full(states, 7, np.uint8), np.full(2, NO_STATE, np.uint64)
        marked = np.full(states, -1, np.int64)
        where = (good.ctypes.data if asked else None, told.ctypes.data, told.ctypes.data + 8, marked.ctypes.data)
        call = ProgramLauncher(program, dtype)._call(*map(StridedArray.of, (*arrays, found)), *where, states, states)
        assert run(call) == 0
        assert (out[last:] == 77).all()
        assert told[0] == 131 and np.isnan(found[131]).all()
        scale = np.abs(meant).max(axis=1, keepdims=True)
        assert (np.abs(found - meant)[fine] <= 2e3 * np.finfo(dtype).eps * scale[fine]).all()
        assert (good == (fine if asked else 7)).all()
        assert set(LARGE) <= set(marked.tolist())


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(("states", "entries"), [(300, 70), (128, 32), (3, 5)])
def test_rows_are_laid_by_tiles(states: int, entries: int, double: bool) -> None:
    beside = np.random.default_rng(1).uniform(size=(entries, states)).astype("float64" if double else "float32")
    rows = np.full((states + transpose.TILE_STATES, entries), 77, beside.dtype)
    tiles = -(-states // transpose.TILE_STATES) * -(-entries // transpose.TILE_ENTRIES)
    run = threaded(transpose.text(double), transpose.TRANSPOSE_THREADS, tiles * transpose.TRANSPOSE_THREADS)
    assert run(transpose.TransposeCall(beside.ctypes.data, rows.ctypes.data, states, entries)) == 0
    assert np.array_equal(rows[:states], beside.T) and (rows[states:] == 77).all()


@pytest.mark.parametrize("near", [0, 2, 6])
def test_joints_of_a_chain_are_kept_near_and_far(near: int) -> None:
    """Of two blocks, whose threads have a state or two each; the memory that a block shares holds the first joints."""
    robot, sweeps, threads = aw.load("stanford"), CHAIN_PROBLEMS["forward_dynamics"], 130
    rolled, tables = sweeps.steps(False), sweeps.tables(robot, DOUBLE)
    rng = np.random.default_rng(5)
    arrays = [rng.uniform(-1, 1, (STATES, size * robot.n)) for size in rolled.inputs.values()]
    meant, found = np.empty((STATES, robot.n)), np.full((STATES, robot.n), 77.0)
    InterpretedLoop(rolled, tables, DOUBLE).run(arrays, meant)
    made, each = ChainLauncher(rolled, tables, DOUBLE), chain_sweep.record_numbers(rolled)
    text = made.source.replace("#ifdef __CUDACC__\n    if (joint", "#if 1\n    if (joint")
    text = text.replace("extern __shared__ real shared[];", "").replace(
        "FUNCTION Record record_of",
        f"static real shared[{max(1, near) * each * launch_limits.MAX_BLOCK_THREADS}];\nFUNCTION Record record_of",
    )
    records = np.full((robot.n - near) * each * threads + 1, 77.0)
    told, marked = np.full(2, NO_STATE, np.uint64), np.zeros(STATES, np.int64)
    where = (None, told.ctypes.data, told.ctypes.data + 8, marked.ctypes.data, STATES)
    places = [x.ctypes.data for x in (tables.parameters, tables.starts, tables.kinds, records)]
    call = made._call(*map(StridedArray.of, (*arrays, found)), *where, *places, threads, robot.n, near)
    assert threaded(text, launch_limits.MAX_BLOCK_THREADS, threads)(call) == 0
    assert np.allclose(found, meant, rtol=1e-10) and (told == NO_STATE).all()
    assert records[-1] == 77 and (records[:-1] != 77).all()
