"""Programs as CUDA, compiled as C++ for this CPU, compute what the interpreter does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import on_cpu
import pytest

import armwright as aw
from armwright.backends.cuda import split
from armwright.backends.cuda.backend import Straight
from armwright.backends.interpreter import Interpreted
from armwright.graph.program import Program
from armwright.integrate import method
from armwright.simulation.motion import linearising, pulling, stepping
from armwright.trace.choose import cheapest
from armwright.trace.tracing import Request

STATES = 5

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


def held_to_interpreter(program: Program, dtype: str, folder: Path, last: tuple[float, float] | None = None) -> None:
    arrays = states_of(program, dtype, last)
    expected = np.empty((STATES, program.results), dtype)
    assert Interpreted(program, dtype).run(arrays, expected)
    found, kernel = np.empty_like(expected), Straight(program, dtype)
    assert on_cpu.computed(kernel, kernel.source, folder, arrays, found).all()
    scale = np.abs(expected).max(axis=1, keepdims=True)
    assert (np.abs(found - expected) <= 2e4 * np.finfo(dtype).eps * scale).all()


# Steps


def advancing(robot: aw.Robot, kind: str, integrator: str) -> Program:
    program = stepping(robot, method(integrator))
    return {
        "forward": lambda: program,
        "back": lambda: pulling(program),
        "slopes": lambda: linearising(robot, program),
    }[kind]()


@pytest.mark.parametrize("kind", ["forward", "back", "slopes"])
@pytest.mark.parametrize(
    ("integrator", "dtype", "steps"), [("rk1", "float32", 1), ("rk4", "float64", 3), ("rk5", "float64", 19)]
)
def test_steps_of_a_chain(kind: str, integrator: str, dtype: str, steps: int, tmp_path: Path) -> None:
    held_to_interpreter(
        advancing(aw.load("stanford" if steps == 3 else "rr"), kind, integrator), dtype, tmp_path, (0.004, steps)
    )


@pytest.mark.parametrize("kind", ["forward", "back"])
def test_steps_leave_quaternions_at_unit_length(kind: str, tmp_path: Path) -> None:
    robot = aw.robot.random_tree(3, 4, floating=True)
    held_to_interpreter(advancing(robot, kind, "rk4"), "float64", tmp_path, (0.01, 2))


# Equations, and programs in parts


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "problem"), [("stanford", "forward_dynamics_derivatives"), ("tree", "forward_dynamics_derivatives")]
)
def test_equations_are_solved(name: str, problem: str, dtype: str, tmp_path: Path) -> None:
    robot = aw.robot.random_tree(2, 6, floating=True) if name == "tree" else aw.load(name)
    program = cheapest(Request(problem, robot, looped=True)).program
    assert program.equations is not None
    held_to_interpreter(program, dtype, tmp_path)


def test_what_keeps_too_much_is_computed_in_parts(tmp_path: Path) -> None:
    program = cheapest(Request("inverse_dynamics_derivatives", aw.load("panda"))).program
    whole = split.part(program, range(len(program.outputs)))
    ((_, parts),) = split.stages(program, double=True)
    assert len(parts) > 1
    assert max(part.order.most for part in parts) <= split.ROOM[True] < whole.order.most
    assert sorted(k for part in parts for k, _ in part.outputs) == list(range(len(program.outputs)))
    assert sum(part.operations for part in parts) < 1.3 * whole.operations
    held_to_interpreter(program, "float64", tmp_path)
