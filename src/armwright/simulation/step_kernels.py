"""Compiled code of steps under constant torques, cached by step record."""

from __future__ import annotations

from typing import NamedTuple

from armwright.backends.interface import Kernel, backend
from armwright.graph.program import Program
from armwright.integrate import method
from armwright.model.description import Description
from armwright.simulation.compile_cache import compiled_once
from armwright.simulation.step_programs import step_derivatives_program, step_gradient_program, step_program


class StepRecord(NamedTuple):
    """Everything that determines the code of a step; `vary` names the runtime parameters of the robot."""

    robot: Description
    integrator: str
    vary: tuple[str, ...]
    dtype: str
    target: str


@compiled_once
def _program(robot: Description, integrator: str, vary: tuple[str, ...]) -> Program:
    return step_program(robot, method(integrator).steps(True), vary)


@compiled_once
def step_kernel(record: StepRecord) -> Kernel:
    """Return the state after a step."""
    return backend(record.target).kernel(_program(*record[:3]), record.dtype)


@compiled_once
def step_jacobian_kernel(record: StepRecord) -> Kernel:
    """Return the Jacobian of the state after a step by the state before it and the torques."""
    target = backend(record.target)
    looped = target.device is not None and record.robot.n >= target.solve_loop_size
    program = step_derivatives_program(record.robot, _program(*record[:3]), record.vary, looped)
    return target.kernel(program, record.dtype)


@compiled_once
def step_gradient_kernel(record: StepRecord) -> Kernel:
    """Return the gradient by the state before a step and the torques, from the gradient by the state after it."""
    return backend(record.target).kernel(step_gradient_program(_program(*record[:3])), record.dtype)
