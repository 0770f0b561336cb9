"""What a card is asked to do, by a machine that has none: which kernel is for which arrays, and what it is given."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from card_on_cpu import Far, card, far  # noqa: F401  (card is a fixture)
from on_cpu import needs_compiler

import armwright as aw
from armwright.backends.cuda.host import chain_launcher, device, program_launcher, transpose_launcher
from armwright.backends.cuda.host.chain_launcher import ChainLauncher
from armwright.backends.cuda.host.program_launcher import ProgramLauncher
from armwright.backends.cuda.kernels import chain_sweep, kernel, launch_limits, soa_kernel, transpose
from armwright.backends.cuda.kernels.kernel import AOS, SOA, STRIDED, KernelLayout
from armwright.backends.interpreter import InterpretedKernel
from armwright.errors import ArmwrightError
from armwright.graph.angles import expand_sines
from armwright.graph.expression import Graph
from armwright.graph.program import Program
from armwright.trace.chain_loops import CHAIN_PROBLEMS
from armwright.trace.cheapest import cheapest
from armwright.trace.tracing import TraceRequest

pytestmark = pytest.mark.usefixtures("card")

RR = aw.load("rr")
RR_INVERSE = TraceRequest("inverse_dynamics", RR)
SINGLE, DOUBLE = "float32", "float64"


def summing(*sizes: int, results: int = 2) -> Program:
    """A program of arguments of so many entries: each result is the sum of the first of all."""
    graph = Graph()
    names = [f"x{k}" for k in range(len(sizes))]
    inputs = [tuple(graph.input(f"{x}{k}") for k in range(n)) for x, n in zip(names, sizes, strict=True)]
    total = sum((x[0] for x in inputs[1:]), inputs[0][0])
    return Program(tuple(zip(names, inputs, strict=True)), (total,) * results, (results,))


def lying(how: str, states: int, entries: int, dtype: str) -> Far:
    """Zeros on the card: rows, side by side, of every second state or entry, the same for all, or beginning off 16
    bytes by one number."""
    number = np.dtype(dtype).itemsize
    if how == "off":
        return lying("rows", 1, states * entries + 1, dtype)[0, 1:].reshape(states, entries)
    if how == "side off":
        return lying("rows", 1, states * entries + 1, dtype)[0, 1:].reshape(entries, states).T
    if how == "same":
        return np.broadcast_to(lying("rows", 1, entries, dtype), (states, entries), subok=True)
    if how == "wider":  # side by side, with entries further apart
        return lying("side", states + 16 // number, entries, dtype)[:states]
    if how == "apart":
        return lying("rows", 2 * states, entries, dtype)[::2]
    return far(np.zeros((states, entries), dtype), order="F" if how == "side" else "C")


def layout_of(made: ProgramLauncher, arguments: str, out: str, states: int = 4) -> KernelLayout:
    hows, dtype = arguments.split(", "), made.dtype.name
    given = [lying(how, states, n, dtype) for how, n in zip(hows, made.sizes, strict=True)]
    return made.layout(given, lying(out, states, made.shape[0], dtype))


# Which kernel it is

LAYOUTS = [
    ("rows, rows", "rows", 4, KernelLayout((AOS, AOS), AOS, two_states=True, bulk=True), KernelLayout((AOS, AOS), AOS, bulk=True)),
    ("rows, same", "rows", 5, KernelLayout((AOS, STRIDED), AOS, two_states=True, bulk=True), KernelLayout((AOS, STRIDED), AOS, bulk=True)),
    ("rows, off", "rows", 4, KernelLayout((AOS, STRIDED), AOS, two_states=True, bulk=True), KernelLayout((AOS, STRIDED), AOS, bulk=True)),
    ("rows, rows", "apart", 4, KernelLayout((AOS, AOS), STRIDED), KernelLayout((AOS, AOS), STRIDED)),
    ("side, side", "rows", 4, KernelLayout((STRIDED, STRIDED), AOS), KernelLayout((STRIDED, STRIDED), AOS)),
    ("rows, rows", "side", 4, KernelLayout((AOS, AOS), STRIDED), KernelLayout((AOS, AOS), STRIDED)),
    ("apart, off", "off", 4, KernelLayout((STRIDED, STRIDED), STRIDED), KernelLayout((STRIDED, STRIDED), STRIDED)),
    ("rows, rows", "rows", 1, KernelLayout((STRIDED, STRIDED), STRIDED), KernelLayout((STRIDED, STRIDED), STRIDED)),
    ("side, side", "side", 4, KernelLayout((SOA, SOA), SOA, two_states=True), KernelLayout((SOA, SOA), SOA)),
    ("side, wider", "side", 4, KernelLayout((SOA, SOA), SOA, two_states=True), KernelLayout((SOA, SOA), SOA)),
    ("side, same", "side", 4, KernelLayout((SOA, STRIDED), SOA, two_states=True), KernelLayout((SOA, STRIDED), SOA)),
    ("side, apart", "side", 4, KernelLayout((STRIDED, STRIDED), STRIDED), KernelLayout((STRIDED, STRIDED), STRIDED)),
    ("side, side", "side", 5, KernelLayout((STRIDED, STRIDED), STRIDED), KernelLayout((SOA, SOA), SOA)),
    ("side, side", "side off", 4, KernelLayout((STRIDED, STRIDED), STRIDED), KernelLayout((SOA, SOA), SOA)),
    ("side off, side", "side", 4, KernelLayout((STRIDED, STRIDED), STRIDED), KernelLayout((SOA, SOA), SOA)),
]  # fmt: skip
"""How two arguments and the result lie, of so many states, and what that is in single and in double precision."""


@pytest.mark.parametrize(("arguments", "out", "states", "single", "double"), LAYOUTS)
def test_how_states_lie_says_which_kernel_it_is(
    arguments: str, out: str, states: int, single: KernelLayout, double: KernelLayout
) -> None:
    for dtype, meant in ((SINGLE, single), (DOUBLE, double)):
        assert layout_of(ProgramLauncher(summing(2, 3), dtype), arguments, out, states) == meant


def test_arrays_that_lie_alike_but_for_one_thing_have_layouts_of_their_own() -> None:
    """The number of states, which may be odd, and the place of the first."""
    made, side = ProgramLauncher(summing(2), SINGLE), lying("side", 6, 2, SINGLE)
    assert [made.layout([side[:n]], side[:n]).two_states for n in (4, 5)] == [True, False]
    rows = lying("rows", 5, 2, SINGLE)
    assert [made.layout([x], x).out for x in (rows[:4], rows[1:])] == [AOS, STRIDED]


def test_rows_are_copied_in_bulk_where_a_card_can_and_they_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    assert layout_of(ProgramLauncher(summing(40, results=64), DOUBLE), "rows", "rows").bulk
    assert not layout_of(ProgramLauncher(summing(40, results=65), DOUBLE), "rows", "rows").bulk
    monkeypatch.setattr(program_launcher, "compute_capability", lambda: 89)
    assert layout_of(ProgramLauncher(summing(32, 33), DOUBLE), "rows, rows", "rows") == KernelLayout(
        (AOS, STRIDED), AOS
    )
    assert layout_of(ProgramLauncher(summing(2, results=3000), DOUBLE), "rows", "rows") == KernelLayout((AOS,), STRIDED)
    monkeypatch.setattr(launch_limits, "DEFAULT_SHARED_BYTES", 0)
    assert layout_of(ProgramLauncher(summing(2), DOUBLE), "rows", "rows") == KernelLayout((STRIDED,), STRIDED)


def test_what_is_fetched_at_once_has_room() -> None:
    """Of two states of a thread twice as much; a result of 17 numbers does not stay in registers."""
    assert [soa_kernel.fits(summing(n), [True], True, False) for n in (48, 49)] == [True, False]
    assert [soa_kernel.fits(summing(n), [True], False, True) for n in (48, 49)] == [True, False]
    assert soa_kernel.fits(summing(49, 2), [False, True], False, True)
    assert [soa_kernel.fits(summing(2, results=n), [True], False, True) for n in (16, 17)] == [True, False]


def test_a_block_has_as_many_threads_as_have_room() -> None:
    each = launch_limits.DEFAULT_SHARED_BYTES // 128
    assert [launch_limits.block_threads(n) for n in (each, each + 1, 2 * each, 2 * each + 1, 4 * each, 4 * each + 1)] == [
        128, 64, 64, 32, 32, 0,
    ]  # fmt: skip


LONG = [
    ("side, side", "side", 4, True),
    ("side, same", "side", 5, True),
    ("side, wider", "side", 4, False),
    ("side, side", "rows", 4, False),
    ("side, apart", "side", 4, False),
]
"""How arrays of a long program lie, and whether one sum finds the same entry of all."""


@pytest.mark.parametrize(("arguments", "out", "states", "alike"), LONG)
def test_entries_of_long_programs_are_as_far_apart(
    arguments: str, out: str, states: int, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "LONG_OPERATIONS", 1)
    for dtype in (SINGLE, DOUBLE):
        layout = layout_of(ProgramLauncher(summing(2, 3), dtype), arguments, out, states)
        assert (layout.out == SOA) == layout.prefetched == alike and not layout.two_states


def test_sums_of_32_bits_find_all_entries_of_long_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the last lies further away, or entries overlap, they are found otherwise."""
    monkeypatch.setattr(kernel, "LONG_OPERATIONS", 1)
    made, found = ProgramLauncher(summing(4, 4, results=4), DOUBLE), dict[int, bool]()
    for apart in (5, 6, 2**30 - 1, 2**30):
        x = np.lib.stride_tricks.as_strided(lying("rows", 6, 4, DOUBLE), (6, 4), (8, 8 * apart), subok=True)
        found[apart] = made.layout([x, x], x).out == SOA
    assert found == {5: False, 6: True, 2**30 - 1: True, 2**30: False}


def test_blocks_of_long_programs_in_single_precision_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where states lie side by side; what is fetched may take more room than there is for all."""
    program, wide, side = summing(2, 3), summing(56), KernelLayout((SOA, SOA), SOA)
    rows, mixed = KernelLayout((AOS, STRIDED), AOS, bulk=True), summing(2, 200)
    assert kernel.block_threads(mixed, rows, double=True) == 128
    assert [kernel.block_threads(program, side, double) for double in (False, True)] == [128, 128]
    assert kernel.launch_bounds(program, double=False) == "128"
    assert kernel.block_threads(wide, KernelLayout((SOA,), SOA, prefetched=True), double=True) == 64
    monkeypatch.setattr(kernel, "LONG_OPERATIONS", 1)
    assert [kernel.block_threads(program, side, double) for double in (False, True)] == [64, 128]
    assert kernel.block_threads(program, KernelLayout((STRIDED, STRIDED), STRIDED), double=False) == 128
    assert [kernel.launch_bounds(program, False, each) for each in (64, 128)] == ["64, 6", "128, 3"]
    assert kernel.launch_bounds(program, True, 64) == "64"
    monkeypatch.setattr(kernel, "SPILL_OPERATIONS", 2)
    assert [kernel.launch_bounds(program, double, 64) for double in (False, True)] == ["64, 4"] * 2


def test_the_text_is_that_of_the_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    program, side = summing(2, 3), KernelLayout((SOA, SOA), SOA)
    assert "__launch_bounds__(128, 4) run(" in kernel.text(program, side._replace(blocks=4), double=True)
    monkeypatch.setattr(kernel, "LONG_OPERATIONS", 1)
    texts = [kernel.text(program, side._replace(prefetched=fetched), double=True) for fetched in (False, True)]
    assert ["fetch(own" in text for text in texts] == [False, True]
    assert ["const SoaInput x0 =" in text for text in texts] == [True, False]


def test_equations_have_the_shared_memory_that_is_left() -> None:
    """Of all threads of a processor, beside what they read where that is fetched."""
    short, long = (
        cheapest(TraceRequest("forward_dynamics_derivatives", aw.load(name), looped=True)).program
        for name in ("stanford", "puma560")
    )
    assert [kernel.prefetches(short, double) for double in (False, True)] == [True, False]
    for program, double, threads in ((short, False, 256), (short, True, 256), (long, False, 384)):
        taken, number = 0 if double else sum(program.sizes), launch_limits.number_bytes(double)
        tile = kernel.tile_numbers(program, double, (80 + taken) * threads * number)
        assert tile == 80
        layout = KernelLayout((SOA,) * len(program.sizes), SOA, tile=tile)
        assert kernel.shared_bytes(program, layout, double) == 80 * number * kernel.block_threads(
            program, layout, double
        )
    assert kernel.tile_numbers(summing(2), True, 1 << 20) == 0


def test_what_a_long_program_reads_is_fetched_if_it_leaves_room(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [kernel.prefetches(summing(n), True) for n in (56, 57)] == [True, False]
    assert [kernel.prefetches(summing(n), False) for n in (112, 113)] == [True, False]
    monkeypatch.setattr(kernel, "SPILL_OPERATIONS", 2)
    assert not kernel.prefetches(summing(2, 3), False)


# What of it is compiled


class Made(NamedTuple):
    """Code that is not compiled."""

    layout: KernelLayout
    registers: int
    spilled: int


def compiling(says: Callable[[KernelLayout], tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that only says how many registers are taken, and how much is spilled."""
    monkeypatch.setattr(ProgramLauncher, "_compile", lambda self, layout: Made(layout, *says(layout)))


def test_blocks_are_crowded_if_nothing_is_spilled() -> None:
    def made(registers: int, spilled: int) -> int:
        codes = {0: SimpleNamespace(blocks=0, registers=registers, spilled=0)}
        codes[4] = SimpleNamespace(blocks=4, registers=128, spilled=spilled)
        return device.with_occupancy(lambda blocks: codes[blocks], 4, 128, 170).blocks

    assert [made(n, 0) for n in (128, 129, 170, 171)] == [0, 4, 4, 0]
    assert made(150, 8) == 0


def test_registers_say_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are crowded in double precision and where threads have two states, if they are whole."""
    compiling(lambda layout: (130, 0), monkeypatch)
    single, double = (ProgramLauncher(summing(2), dtype) for dtype in (SINGLE, DOUBLE))
    side = KernelLayout((SOA,), SOA)
    assert double._code(side).layout.blocks == 4
    assert single._code(side._replace(two_states=True)).layout.blocks == 5
    assert single._code(side).layout.blocks == 0
    wide = ProgramLauncher(summing(60), DOUBLE)
    assert wide._code(KernelLayout((AOS,), AOS)).layout.blocks == 0  # of half as many threads


def test_what_is_read_is_fetched_if_that_spares_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = KernelLayout((SOA,), SOA, prefetched=True)
    for says, meant in (((200, 0), False), ((90, 0), True), ((90, 8), False)):
        compiling(lambda layout, says=says: says if layout.prefetched else (100, 0), monkeypatch)
        assert ProgramLauncher(summing(2), SINGLE)._code(fetched).layout.prefetched == meant
        assert ProgramLauncher(summing(2), DOUBLE)._code(fetched).layout.prefetched


# What it is given


class Launched(NamedTuple):
    """A launch of as many threads of a kernel of this name."""

    name: str
    threads: int
    call: Any


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Launched]:
    """Those that are asked for, none of which happens."""
    seen = list[Launched]()

    def launch(self: device.CompiledCode, call: ctypes.Structure, threads: int, name: str = "run") -> None:
        seen.append(Launched(name, threads, call))

    monkeypatch.setattr(device.CompiledCode, "launch", launch)
    monkeypatch.setattr(device.CompiledCode, "registers", 40)
    return seen


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_a_kernel_is_given_what_it_expects(dtype: str, launches: list[Launched]) -> None:
    """Angles and rows that make no whole warp are done again; of rows in single precision a thread has two."""
    straight, angles = (ProgramLauncher(program, dtype) for program in (summing(2), cheapest(RR_INVERSE).program))
    threads = {SINGLE: 3, DOUBLE: 5}[dtype]
    for made, how, asked in (
        (straight, "rows", [("run", threads), ("again", 5)]),
        (straight, "apart", [("run", 5)]),
        (angles, "apart", [("run", 5), ("again", 5)]),
    ):
        launches.clear()
        given = [lying(how, 5, n, dtype) for n in made.sizes]
        told = made.launch(given, given[0])
        assert [(x.name, x.threads) for x in launches] == asked
        call = launches[0].call
        assert told.shape == (2,) and told.dtype == np.uint64 and made.first_bad(told) is None
        assert (call.bad, call.last) == (told.data.ptr, told.data.ptr + 8)
        assert (call.states, call.entry, call.good) == (5, 1, None)
        assert call.out_.state == given[0].strides[0] // given[0].itemsize


def test_entries_side_by_side_are_so_many_numbers_apart(launches: list[Launched]) -> None:
    x = lying("side", 6, 2, DOUBLE)
    ProgramLauncher(summing(2), DOUBLE).launch([x], x)
    assert launches[0].call.entry == 6


def test_states_to_be_done_again_have_a_place_each(monkeypatch: pytest.MonkeyPatch, launches: list[Launched]) -> None:
    rooms, given = list[Any](), program_launcher.call_head
    for module in (program_launcher, chain_launcher):
        monkeypatch.setattr(module, "call_head", lambda *parts: (rooms.append(parts[-1]), given(*parts))[1])
    x = lying("rows", 5, 2, DOUBLE)
    ProgramLauncher(summing(2), DOUBLE).launch([x], x)
    looped("inverse_dynamics").launch([lying("rows", 5, 3, DOUBLE)] * 3, lying("rows", 5, 3, DOUBLE))
    assert launches and [(room.shape, room.dtype) for room in rooms] == [((5,), np.int64)] * 2


def test_few_threads_do_states_again(launches: list[Launched], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_launcher, "REPEAT_THREADS", 3)
    x = lying("rows", 5, 2, DOUBLE)
    ProgramLauncher(summing(2), DOUBLE).launch([x], x)
    assert launches[1].threads == 3


def test_blocks_of_threads_and_registers() -> None:
    """A thread takes them by eights; a block that is not whole is launched, too, and none for nothing."""
    asked = list[Any]()
    code = device.CompiledCode("", 128, 1 << 16)
    taken = SimpleNamespace(num_regs=170, local_size_bytes=8, max_dynamic_shared_size_bytes=1 << 17)
    code._module = SimpleNamespace(get_function=lambda name: taken)
    assert code.kernel() is taken and taken.max_dynamic_shared_size_bytes == 1 << 17
    assert (code.registers, code.spilled, code.blocks) == (170, 8, 2)  # 65536 // (128 * 176)
    assert code.resident == 2 * 2 * 128
    code._kernels["run"] = lambda grid, block, given, shared_mem: asked.append((grid, block, shared_mem))
    for threads in (0, 1, 128, 129):
        code.launch(transpose.TransposeCall(), threads)
    assert asked == [((n,), (128,), 1 << 16) for n in (1, 1, 2)]


def test_shared_memory_is_raised_to_what_a_kernel_needs() -> None:
    code = device.CompiledCode("", 128, 1 << 16)
    taken = SimpleNamespace(max_dynamic_shared_size_bytes=48 << 10)
    code._module = SimpleNamespace(get_function=lambda name: taken)
    assert code.kernel("again").max_dynamic_shared_size_bytes == 1 << 16


# Long chains


def looped(problem: str, joints: int = 3) -> ChainLauncher:
    sweeps = CHAIN_PROBLEMS[problem]
    return ChainLauncher(sweeps.steps(False), sweeps.tables(aw.random_robot(joints, 1), DOUBLE), DOUBLE)


def test_joints_near_and_far_have_room(launches: list[Launched], monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as fit in what each block of a processor has of its memory; the others for all threads that run."""
    made, rooms, empty = looped("inverse_dynamics", 40), list[int](), device.cupy().empty
    monkeypatch.setattr(
        type(device.cupy()), "empty", lambda self, *of: (rooms.append(int(np.prod(of[0]))), empty(*of))[1]
    )
    monkeypatch.setattr(device.CompiledCode, "resident", 4)
    each, blocks = chain_sweep.record_numbers(made._loop) * 128 * 8, made._code.blocks
    assert made._shared_joints == device.shared_memory_bytes() // blocks // each < 40
    made.launch([lying("rows", 6, 40, DOUBLE)] * 3, lying("rows", 6, 40, DOUBLE))
    assert [(x.name, x.threads, x.call.threads) for x in launches] == [("run", 4, 4), ("again", 4, 4)]
    assert (launches[0].call.joints, launches[0].call.shared_joints) == (40, made._shared_joints)
    assert (40 - made._shared_joints) * chain_sweep.record_numbers(made._loop) * 4 in rooms
    short = looped("inverse_dynamics", 1)
    assert short._shared_joints == 1 and short._code.shared == each


# Arrays of NumPy


def copies(dtype: str = DOUBLE) -> tuple[ProgramLauncher, list[np.ndarray], np.ndarray, np.ndarray]:
    program = expand_sines(cheapest(RR_INVERSE).program)
    arrays = [np.random.default_rng(k).uniform(-1, 1, (5, 2)).astype(dtype) for k in range(3)]
    meant, out = np.empty((5, 2), dtype), np.zeros((5, 2), dtype)
    InterpretedKernel(program, dtype).run(arrays, meant)
    return ProgramLauncher(program, dtype), arrays, meant, out


@needs_compiler
def test_what_is_not_on_the_card_goes_there_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """In halves, if its memory is full; a single state that has no room is told."""
    made, arrays, meant, out = copies()
    empty = device.cupy().empty

    def only(most: int) -> None:
        def some(self: Any, shape: Any, dtype: Any) -> Far:
            if np.ndim(shape) and shape[0] > most:
                raise MemoryError
            return empty(shape, dtype)

        monkeypatch.setattr(type(device.cupy()), "empty", some)

    for most in (5, 2):
        only(most)
        out[:] = 0
        assert made.run(arrays, out)
        assert np.allclose(out, meant, rtol=1e-13)
        for bad in (0, 4):
            kept, arrays[1][bad, 0] = arrays[1][bad, 0], np.nan
            assert not made.run(arrays, out)
            assert np.flatnonzero(np.isnan(out).all(axis=1)).tolist() == [bad]
            arrays[1][bad, 0] = kept
    only(0)
    with pytest.raises(ArmwrightError, match=r"the memory of the card is full: 1\.0 of 10\.0 GB are free"):
        made.run(arrays, out)


@needs_compiler
def test_a_series_is_a_launch_for_each() -> None:
    made, arrays, meant, _ = copies()
    series, there = [np.stack([x, x[::-1]]) for x in arrays], far(np.zeros((2, 5, 2)))
    assert made.series([far(x) for x in series], there)
    assert np.allclose(there.get(), [meant, meant[::-1]], rtol=1e-13)
    series[0][1, 2, 1] = np.nan
    assert not made.series([far(x) for x in series], there)


def test_copies_lie_as_they_did() -> None:
    side = np.zeros((5, 3)).T
    assert device.to_device(side).strides == side.strides
    same = np.broadcast_to(np.arange(3.0), (5, 3))
    there = device.to_device(same)
    assert there.strides == same.strides and np.array_equal(there.get(), same)


def test_every_state_of_a_batch_has_a_row() -> None:
    one, many = far(np.arange(3.0)), far(np.arange(6.0).reshape(2, 1, 3))
    assert device.broadcast_states(one, (2, 4)).shape == (8, 3) and device.broadcast_states(one, (2, 4)).strides[0] == 0
    assert device.broadcast_states(one, ()).shape == (1, 3)
    assert np.array_equal(device.broadcast_states(many[:, 0], (4, 2)).get(), np.tile(many[:, 0].get(), (4, 1)))
    assert np.array_equal(
        device.broadcast_states(many, (2, 4)).get(), np.repeat(np.arange(6.0).reshape(2, 3), 4, axis=0)
    )


def test_halves_are_all_of_it() -> None:
    for states in (2, 3, 10):
        assert [k for half in device.split_states(states) for k in range(states)[half]] == list(range(states))


# Rows that are laid


def test_rows_have_room_before_they_are_laid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transpose_launcher, "MAX_BYTES", 100)
    assert [
        transpose_launcher.slice_states(lying("rows", *of)) for of in ((9, 4, SINGLE), (9, 4, DOUBLE), (2, 4, DOUBLE))
    ] == [
        6,
        3,
        2,
    ]
    assert transpose_launcher.slice_states(lying("rows", 9, 40, DOUBLE)) == 1


def test_states_are_taken_side_by_side(launches: list[Launched]) -> None:
    """By the kernel that lays rows where they are some, of which it is a block for each tile."""
    same = lying("same", 5, 3, DOUBLE)
    assert transpose_launcher.to_columns(same) is same and not launches
    assert transpose_launcher.to_columns(lying("apart", 5, 3, DOUBLE)).strides == (8, 40) and not launches
    assert transpose_launcher.to_columns(lying("rows", 5, 3, DOUBLE)).strides == (8, 40)
    transpose_launcher.transpose(lying("side", 129, 33, DOUBLE), lying("rows", 129, 33, DOUBLE))
    assert [(x.threads, x.call.states, x.call.entries) for x in launches] == [(256, 3, 5), (4 * 256, 129, 33)]
