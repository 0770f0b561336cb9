"""Programs as CUDA, compiled as C++ for this CPU, compute what the interpreter does."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import on_cpu
import pytest
from card_on_cpu import card, far  # noqa: F401  (card is a fixture)

import armwright as aw
from armwright.backends.cuda.codegen import outlined_parts, output_partition
from armwright.backends.cuda.host import transpose_launcher
from armwright.backends.cuda.host.chain_launcher import ChainLauncher
from armwright.backends.cuda.host.launcher import NO_STATE
from armwright.backends.cuda.host.program_launcher import ProgramLauncher
from armwright.backends.cuda.kernels import bulk_copy, chain_sweep, kernel, launch_limits, transpose
from armwright.backends.cuda.kernels.call_structures import StridedArray
from armwright.backends.interpreter import InterpretedKernel, InterpretedLoop
from armwright.graph.angles import expand_sines
from armwright.graph.expression import Graph
from armwright.graph.program import Program
from armwright.integrate import method
from armwright.simulation.step_programs import step_derivatives_program, step_gradient_program, step_program
from armwright.trace.chain_loops import CHAIN_PROBLEMS
from armwright.trace.cheapest import cheapest
from armwright.trace.tracing import TraceRequest

STATES = 5
GOLDEN = Path(__file__).parent / "golden" / "rr_inverse_dynamics.cu"

pytestmark = on_cpu.needs_compiler


def states_of(program: Program, dtype: str, last: tuple[float, float] | None = None) -> list[np.ndarray]:
    """Any states, with unit vectors where they must be; of programs that advance, the length and number of steps."""
    rng = np.random.default_rng(3)
    arrays = [rng.uniform(0.1, 1.0, (STATES, size)) for size in program.sizes]
    for argument, first, end in program.units:
        arrays[argument][:, first : end + 1] /= np.linalg.norm(
            arrays[argument][:, first : end + 1], axis=1, keepdims=True
        )
    if last is not None:
        arrays[-1][:] = last
    return [x.astype(dtype) for x in arrays]


def held_to_interpreter(program: Program, dtype: str, last: tuple[float, float] | None = None, text: str = "") -> None:
    arrays = states_of(program, dtype, last)
    expected = np.empty((STATES, program.results), dtype)
    assert InterpretedKernel(program, dtype).run(arrays, expected)
    found, code = np.empty_like(expected), ProgramLauncher(program, dtype)
    assert on_cpu.computed(code, text or code.source, arrays, found).all()
    scale = np.abs(expected).max(axis=1, keepdims=True)
    assert (np.abs(found - expected) <= 2e4 * np.finfo(dtype).eps * scale).all()


# Plain programs

TREE = aw.robot.random_tree(4, 5)
PLAIN = {
    "chain, prismatic": TraceRequest("inverse_dynamics", aw.load("stanford")),
    "tree": TraceRequest("forward_dynamics", TREE),
    "free base": TraceRequest("inverse_dynamics", aw.robot.random_tree(2, 4, floating=True)),
    "wrenches": TraceRequest("inverse_dynamics", aw.load("rr"), ("tip_wrench", "link_wrenches")),
    "vary": TraceRequest("forward_dynamics", aw.load("rr"), (), ("payload.mass", "gravity")),
    "a number that no state changes": TraceRequest("mass_matrix", aw.load("rr")),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", PLAIN)
def test_plain_programs(case: str, dtype: str) -> None:
    held_to_interpreter(expand_sines(cheapest(PLAIN[case]).program), dtype)


def test_large_angles_are_done_again_and_what_is_not_finite_is_told() -> None:
    program = cheapest(TraceRequest("inverse_dynamics", aw.load("rr"))).program
    arrays = states_of(program, "float64")
    arrays[0][1] = 3e6, -2e9
    arrays[1][3] = np.nan
    expected, code = np.empty((STATES, program.results)), ProgramLauncher(program, "float64")
    found = np.empty_like(expected)
    with np.errstate(all="ignore"):
        InterpretedKernel(program, "float64").run(arrays, expected)
    good = on_cpu.computed(code, code.source, arrays, found)
    assert good.tolist() == [True, True, True, False, True]
    assert np.isnan(found[3]).all()
    assert np.allclose(found[good], expected[good], rtol=1e-12)


def test_the_text_of_a_kernel_is_what_it_was() -> None:
    """Run with ARMWRIGHT_GOLDEN=update to write it anew, and look at what has changed."""
    made = ProgramLauncher(
        expand_sines(cheapest(TraceRequest("inverse_dynamics", aw.load("rr"))).program), "float32"
    ).source
    if os.environ.get("ARMWRIGHT_GOLDEN") == "update":
        GOLDEN.write_text(made, encoding="utf-8")
    assert made == GOLDEN.read_text(encoding="utf-8")


def spilled(text: str) -> int:
    """Return the bytes that nvcc spills, in the worst of the kernels of a text."""
    return max(int(x) for x in re.findall(r"(\d+) bytes spill stores", on_cpu.nvcc_report(text)))


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on this machine")


@needs_nvcc
@pytest.mark.parametrize("rows", [False, True])
def test_nvcc_compiles_kernels_without_spilling(rows: bool) -> None:
    """In parts: the derivatives of seven joints as a whole would spill two kilobytes."""
    program = expand_sines(cheapest(TraceRequest("inverse_dynamics_derivatives", aw.load("panda"))).program)
    layout = kernel.KernelLayout((kernel.AOS if rows else kernel.STRIDED,) * len(program.sizes), kernel.STRIDED)
    text = kernel.text(program, layout, double=True)
    assert spilled(text) < 200


@needs_nvcc
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("way", ["fetched at once", "copied in bulk", "staged by warps"])
def test_nvcc_compiles_every_way_to_read_states(way: str, double: bool) -> None:
    program = expand_sines(cheapest(TraceRequest("inverse_dynamics", aw.load("rr"))).program)
    side, row = ((kind,) * len(program.sizes) for kind in (kernel.SOA, kernel.AOS))
    layout = {
        "fetched at once": kernel.KernelLayout(side, kernel.SOA, two_states=not double),
        "copied in bulk": kernel.KernelLayout(row, kernel.AOS, two_states=not double, bulk=True),
        "staged by warps": kernel.KernelLayout(row, kernel.AOS),
    }[way]
    text, room = kernel.text(program, layout, double), bulk_copy.block_threads(program, [True] * len(row), double)
    assert room and not spilled(text)


def test_what_is_copied_in_bulk_has_room_beside_its_gates() -> None:
    """Of 32 joints, the rows of four warps in single precision take all the memory that they may share."""
    graph = Graph()
    x = tuple(graph.input(str(k)) for k in range(96))
    program = Program((("q", x[:32]), ("qd", x[32:64]), ("qdd", x[64:])), x[:32], (32,))
    layout = kernel.KernelLayout((kernel.AOS,) * 3, kernel.AOS, bulk=True)
    assert kernel.block_threads(program, layout, double=False) == 64


@needs_nvcc
@pytest.mark.parametrize("double", [False, True])
def test_nvcc_compiles_long_programs_that_fetch_what_they_read(double: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "LONG_OPERATIONS", 10)
    program = expand_sines(cheapest(TraceRequest("inverse_dynamics", aw.load("rr"))).program)
    layout = kernel.KernelLayout((kernel.SOA,) * len(program.sizes), kernel.SOA, prefetched=True)
    assert not spilled(kernel.text(program, layout, double))
    assert not spilled(transpose.text(double))


@pytest.mark.usefixtures("card")
def test_rows_too_long_for_shared_memory_are_laid_after_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = expand_sines(cheapest(TraceRequest("mass_matrix", aw.load("rr"))).program)
    monkeypatch.setattr(launch_limits, "DEFAULT_SHARED_BYTES", 0)
    monkeypatch.setattr(transpose_launcher, "MIN_BYTES", 0)
    monkeypatch.setattr(transpose_launcher, "MAX_BYTES", 2 * 8 * program.results)  # two states at a time
    (q,), made = states_of(program, "float64"), ProgramLauncher(program, "float64")
    expected, good = np.empty((STATES, program.results)), far(np.zeros(STATES, bool))
    InterpretedKernel(program, "float64").run([q], expected)
    found = far(np.zeros_like(expected))
    apart = far(np.repeat(q, 2, axis=1))[:, ::2]
    for given in (far(q), far(q, order="F"), apart):
        found[...] = 0
        assert made.first_bad(made.launch([given], found)) is None
        assert np.allclose(found.get(), expected, rtol=1e-14)
    q[3] = np.nan
    assert made.first_bad(made.launch([far(q)], found, good)) == 3
    assert good.get().tolist() == [True, True, True, False, True]
    assert np.isnan(found.get()[3]).all()


@needs_nvcc
def test_nvcc_compiles_equations_in_shared_memory() -> None:
    program = cheapest(TraceRequest("forward_dynamics_derivatives", aw.load("puma560"), looped=True)).program
    layout = kernel.KernelLayout(
        (kernel.SOA,) * len(program.sizes), kernel.SOA, tile=kernel.tile_numbers(program, False, 222 << 10)
    )
    text = kernel.text(program, layout, double=False)
    assert layout.tile and spilled(text) < 100


# Steps


def advancing(robot: aw.Robot, kind: str, integrator: str) -> Program:
    program = step_program(robot, method(integrator))
    return {
        "forward": lambda: program,
        "back": lambda: step_gradient_program(program),
        "slopes": lambda: step_derivatives_program(robot, program, looped=robot.n > 2),
    }[kind]()


@pytest.mark.parametrize("kind", ["forward", "back", "slopes"])
@pytest.mark.parametrize(
    ("integrator", "dtype", "steps"), [("rk1", "float32", 1), ("rk4", "float64", 3), ("rk5", "float64", 19)]
)
def test_steps_of_a_chain(kind: str, integrator: str, dtype: str, steps: int) -> None:
    held_to_interpreter(advancing(aw.load("stanford" if steps == 3 else "rr"), kind, integrator), dtype, (0.004, steps))


@pytest.mark.parametrize("kind", ["forward", "back"])
def test_steps_leave_quaternions_at_unit_length(kind: str) -> None:
    robot = aw.robot.random_tree(3, 4, floating=True)
    held_to_interpreter(advancing(robot, kind, "rk4"), "float64", (0.01, 2))


def test_derivatives_of_large_robots_stand_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armwright.backends.cuda.codegen.advance.OUTLINED_DERIVATIVE_OPERATIONS", 0)
    held_to_interpreter(advancing(aw.load("stanford"), "slopes", "rk1"), "float64", (0.004, 2))


# Equations, and programs in parts


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "problem"), [("stanford", "forward_dynamics_derivatives"), ("tree", "forward_dynamics_derivatives")]
)
def test_equations_are_solved(name: str, problem: str, dtype: str) -> None:
    robot = aw.robot.random_tree(2, 6, floating=True) if name == "tree" else aw.load(name)
    program = cheapest(TraceRequest(problem, robot, looped=True)).program
    assert program.equations is not None
    held_to_interpreter(program, dtype)
    double = dtype == "float64"
    all_of_it = kernel.tile_numbers(program, double, 1 << 30)
    for tile in (all_of_it, all_of_it - 5):  # in shared memory, but for the last five numbers
        layout = kernel.KernelLayout((kernel.SOA,) * 3, kernel.SOA, tile=tile)
        held_to_interpreter(program, dtype, text=kernel.text(program, layout, double))


def test_what_keeps_too_much_is_computed_in_parts() -> None:
    program = cheapest(TraceRequest("inverse_dynamics_derivatives", aw.load("panda"))).program
    whole = output_partition.part(program, range(len(program.outputs)))
    ((_, parts),) = output_partition.partitions(program, double=True)
    assert len(parts) > 1
    assert max(part.schedule.max_live for part in parts) <= output_partition.MAX_LIVE[True] < whole.schedule.max_live
    assert sorted(k for part in parts for k, _ in part.outputs) == list(range(len(program.outputs)))
    assert sum(part.operations for part in parts) < 1.3 * whole.operations
    held_to_interpreter(program, "float64")


def test_what_is_too_long_for_one_function_is_written_in_chapters(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in (("MAX_OPERATIONS", 100), ("MAX_SPILLING_OPERATIONS", 100), ("OUTLINED_OPERATIONS", 60)):
        monkeypatch.setattr(outlined_parts, name, number)
    monkeypatch.setattr("armwright.backends.cuda.codegen.writer.MIN_LOOP_OUTPUTS", 4)
    program = cheapest(TraceRequest("mass_matrix", TREE)).program
    ((_, (whole,)),) = output_partition.partitions(program, double=True)
    made, room = outlined_parts.outline(whole, double=True)
    assert len(made) > 2
    assert {node for outlined in made for node in outlined.nodes} == set(whole.schedule.nodes)
    assert [outlined.has_angles for outlined in made] == [True, *[False] * (len(made) - 1)]
    assert max(place for outlined in made for place in outlined.stored.values()) == room - 1
    held_to_interpreter(program, "float64")
    held_to_interpreter(cheapest(TraceRequest("forward_dynamics", TREE)).program, "float32")
    monkeypatch.setattr(kernel, "SPILL_OPERATIONS", 100)
    text = ProgramLauncher(program, "float64").source
    assert all(f"__launch_bounds__(128, 2) {name}(" in text for name in ("run", "again"))  # or 32 registers are taken


# Long chains


@pytest.mark.parametrize(
    ("problem", "loaded", "dtype"),
    [
        ("inverse_dynamics", True, "float64"),
        ("forward_dynamics", False, "float64"),
        ("forward_dynamics", True, "float32"),
    ],
)
def test_sweeps_along_a_chain(problem: str, loaded: bool, dtype: str) -> None:
    robot = aw.load("stanford")  # with a prismatic joint
    sweeps = CHAIN_PROBLEMS[problem]
    rolled, tables = sweeps.steps(loaded), sweeps.tables(robot, dtype)
    rng = np.random.default_rng(5)
    arrays = [rng.uniform(-1, 1, (STATES, size * robot.n)).astype(dtype) for size in rolled.inputs.values()]
    expected, found = np.empty((STATES, robot.n), dtype), np.empty((STATES, robot.n), dtype)
    arrays[0][1] = 2e6  # an angle that is done again
    arrays[1][2] = np.inf
    with np.errstate(all="ignore"):
        assert not InterpretedLoop(rolled, tables, dtype).run(arrays, expected)
    code = ChainLauncher(rolled, tables, dtype)
    threads, good, bad = 2, np.zeros(STATES, np.uint8), np.full(1, NO_STATE, np.uint64)
    records = np.empty(chain_sweep.record_numbers(rolled) * robot.n * threads, dtype)
    places = [x.ctypes.data for x in (tables.parameters, tables.starts, tables.kinds, records)]
    told = (good.ctypes.data, bad.ctypes.data, None, None, STATES)
    call = code._call(*map(StridedArray.of, (*arrays, found)), *told, *places, threads, robot.n, 0)
    on_cpu.compiled(code.source)(call)
    fine = np.arange(STATES) != 2
    assert (good.astype(bool) == fine).all()
    assert bad[0] == 2
    assert np.isnan(found[2]).all()
    scale = np.abs(expected[fine]).max(axis=1, keepdims=True)
    assert (np.abs(found - expected)[fine] <= 2e4 * np.finfo(dtype).eps * scale).all()


@pytest.mark.usefixtures("card")
def test_many_rows_of_a_long_chain_are_computed_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, sweeps = aw.load("stanford"), CHAIN_PROBLEMS["forward_dynamics"]
    rolled, tables = sweeps.steps(False), sweeps.tables(robot, "float64")
    rng = np.random.default_rng(5)
    arrays = [rng.uniform(-1, 1, (STATES, size * robot.n)) for size in rolled.inputs.values()]
    expected, found = np.empty((STATES, robot.n)), far(np.zeros((STATES, robot.n)))
    InterpretedLoop(rolled, tables, "float64").run(arrays, expected)
    made = ChainLauncher(rolled, tables, "float64")
    monkeypatch.setattr(
        ChainLauncher, "_shared_joints", 0
    )  # joints in the memory that threads share, which a CPU has not
    monkeypatch.setattr(transpose_launcher, "MIN_BYTES", 0)
    monkeypatch.setattr(transpose_launcher, "MAX_BYTES", 3 * 8 * robot.n)  # three states at a time
    assert made.first_bad(made.launch([far(x) for x in arrays], found)) is None
    assert np.allclose(found.get(), expected, rtol=1e-10)
    arrays[-1][:] = arrays[-1][0]
    InterpretedLoop(rolled, tables, "float64").run(arrays, expected)
    same = np.broadcast_to(far(arrays[-1][:1]), arrays[-1].shape, subok=True)
    assert made.first_bad(made.launch([*map(far, arrays[:-1]), same], found)) is None
    assert np.allclose(found.get(), expected, rtol=1e-10)
