"""Compiled code of motions, cached by motion record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from armwright.backends.interface import Kernel, backend
from armwright.backends.rollout_interface import EventProgram, Gauge, Rollout
from armwright.errors import InputError
from armwright.formulations.parts.coordinates import mechanism_at
from armwright.graph.expression import Expr
from armwright.graph.program import Program
from armwright.graph.replay import replay
from armwright.integrate import POLYNOMIALS, Taylor
from armwright.integrate.integrators import polynomials, steps_of
from armwright.integrate.jets import increment
from armwright.simulation.compile_cache import compiled_once
from armwright.simulation.loop_limits import within_loop_limits
from armwright.simulation.motion_programs import (
    MotionEquations,
    derivative,
    equations_of_motion,
    observables_program,
    state_jacobian,
)
from armwright.simulation.motion_record import HOST_TARGET, MotionRecord

CARD_TARGET = "cuda"


@compiled_once
def equations_of(record: MotionRecord) -> MotionEquations:
    """Return the equations of a motion."""
    return equations_of_motion(record)


@compiled_once
def rollout_of(
    record: MotionRecord, integrator: str, fixed: bool, dtype: str = "float64", target: str = HOST_TARGET
) -> Rollout:
    """Return the compiled loop of a motion, with its events and gauges; steps are `fixed` or adaptive."""
    if integrator in POLYNOMIALS and target == CARD_TARGET:
        raise InputError(f"{integrator} is compiled for CPUs; expected a Runge-Kutta method for target={target!r}")
    motion = equations_of(record)
    event = None if record.events is None else EventProgram(motion.program(*motion.events), record.directions)
    gauge = None
    if record.gauges is not None:
        request, n = record.gauges.template, record.robot.n
        within = motion.program_of_step(*motion.step_gauges) if motion.step_gauges else None
        gauge = Gauge(motion.program(*motion.gauges), request.count(n, "largest"), request.count(n, "integral"), within)
    program = increments(motion, integrator) if integrator in POLYNOMIALS else derivative(motion)
    return backend(target).rollout(program, steps_of(integrator, fixed), record.layout, event, gauge, dtype)


def increments(motion: MotionEquations, integrator: str) -> Program:
    """Return the change of the state over a step of Taylor polynomials, one order for positions, one for the rest.

    It is not finite if a loop is at its limit when the step begins; within a step it must be smooth.
    """
    position_weights, other_weights = polynomials(integrator).weights
    layout = motion.layout
    positions = layout["q"].stop
    orders = [position_weights] * positions + [other_weights] * (layout.size - positions)
    program = increment(derivative(motion, loop_limits=False), orders)
    (inside,) = within_loop_limits(mechanism_at(motion.mechanism, motion.at.q), [1])
    return _scaled(program, motion.program(inside)) if isinstance(inside, Expr) else program


def _scaled(program: Program, factor: Program) -> Program:
    """Return a program with all outputs multiplied by the output of another program of the same inputs."""
    places, graph = factor.places(), program.arguments[0][1][0].graph

    def leaf(node: Expr) -> Any:
        if node.op == "constant":
            return node.value
        argument, k = places[node.index]
        return program.arguments[argument][1][k]

    def operation(op: str, *operands: Any) -> Expr:
        return graph.operation(op, *map(graph.lift, operands))

    (scale,) = replay(factor.outputs, leaf, operation)
    return replace(program, outputs=tuple(scale * x for x in program.outputs))


@compiled_once
def increment_kernel(record: MotionRecord, integrator: str) -> Kernel:
    """Return the change of the state over a step of Taylor polynomials."""
    return backend(HOST_TARGET).kernel(increments(equations_of(record), integrator), "float64")


@compiled_once
def observables_kernel(record: MotionRecord, dtype: str = "float64", target: str = HOST_TARGET) -> Kernel:
    """Return torques, accelerations and energies of states."""
    return backend(target).kernel(observables_program(equations_of(record)), dtype)


@compiled_once
def derivative_kernel(record: MotionRecord) -> Kernel:
    """Return the derivative of the state."""
    return backend(HOST_TARGET).kernel(derivative(equations_of(record)), "float64")


@compiled_once
def jacobian_kernel(record: MotionRecord) -> Kernel:
    """Return the Jacobian of the derivative of the state by the state."""
    return backend(HOST_TARGET).kernel(state_jacobian(derivative(equations_of(record))), "float64")


@compiled_once
def taylor_series(record: MotionRecord, tolerance: float) -> Taylor:
    """Return the Taylor integrator of a motion."""
    program = derivative(equations_of(record), loop_limits=False)
    return Taylor(program, tolerance, record.layout.controlled)
