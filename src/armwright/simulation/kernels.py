"""What is compiled of a robot and its law, kept for the next time it is asked for.

A law comes without its numbers (`torque.Form`), which are further inputs of what is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from armwright.backends.interface import EventProgram, Gauge, Kernel, Rollout, backend
from armwright.errors import InputError
from armwright.formulations.parts.coordinates import placed
from armwright.graph.expression import Expr
from armwright.graph.program import Program
from armwright.graph.replay import replay
from armwright.integrate import POLYNOMIALS, Taylor
from armwright.integrate.integrators import polynomials, steps_of
from armwright.integrate.jets import increment
from armwright.robot import Robot
from armwright.simulation.events import EventStructure
from armwright.simulation.gauges import GaugeStructure
from armwright.simulation.loop_limits import within_loop_limits
from armwright.simulation.motion_programs import (
    MotionEquations,
    derivative,
    equations_of_motion,
    layout_of,
    state_jacobian,
    view,
)
from armwright.torque import Law
from armwright.torque.runtime_parameters import Structure

KEPT = 32
"""How many of each are kept."""

TARGET, CARD = "cpu", "cuda"


def kept(make: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps the last results for an equal robot and an equal law (the same one, if it holds arrays or functions)."""
    known: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def call(robot: Robot, law: Law | Structure[Law], *rest: Any, **named: Any) -> Any:
        try:
            same: Any = (hash(law), law)
        except TypeError:
            same = id(law)
        key = (robot, same, *rest, *named.items())
        if key not in known:
            while len(known) >= KEPT:
                known.pop(next(iter(known)))
            known[key] = (law, make(robot, law, *rest, **named))  # the law too, so that its id is not given to another
        return known[key][1]

    return call


@kept
def motion_of(
    robot: Robot,
    law: Law | Structure[Law],
    vary: tuple[str, ...] = (),
    known: tuple[str, ...] = (),
    events: EventStructure | None = None,
    gauges: GaugeStructure | None = None,
) -> MotionEquations:
    return equations_of_motion(robot, law, vary, known, events, gauges)


@kept
def rollout_of(
    robot: Robot,
    law: Law | Structure[Law],
    vary: tuple[str, ...],
    integrator: str,
    fixed: bool,
    dtype: str,
    target: str = TARGET,
    known: tuple[str, ...] = (),
    events: EventStructure | None = None,
    directions: tuple[int, ...] = (),
    gauges: GaugeStructure | None = None,
) -> Rollout:
    """The whole motion as one loop, with events that end it and what is measured of it."""
    if integrator in POLYNOMIALS and target == CARD:
        raise InputError(f"{integrator} is compiled for CPUs; expected a Runge-Kutta method for target={target!r}")
    beside = {name: form for name, form in (("events", events), ("gauges", gauges)) if form is not None}
    motion, steps = motion_of(robot, law, vary, known, **beside), steps_of(integrator, fixed)
    watch = None if events is None else EventProgram(motion.program(*motion.watched), directions)
    gauge = None
    if gauges is not None:
        largest, integrals = (gauges.template.count(robot.n, kept) for kept in ("largest", "integral"))
        within = motion.step_program(*motion.within) if motion.within else None
        gauge = Gauge(motion.program(*motion.gauged), largest, integrals, within)
    program = increments(motion, integrator) if integrator in POLYNOMIALS else derivative(motion)
    return backend(target).rollout(program, steps, layout_of(robot, law), watch, gauge, dtype)


def increments(motion: MotionEquations, integrator: str) -> Program:
    """Return a step of Taylor polynomials, one order for positions and one for all else, over its length.

    It is not finite where a loop is at its end when the step begins: within a step nothing jumps.
    """
    of_positions, of_others = polynomials(integrator).weights
    layout = motion.layout
    positions = layout["q"].stop
    orders = [of_positions] * positions + [of_others] * (layout.size - positions)
    program = increment(derivative(motion, fence=False), orders)
    (within,) = within_loop_limits(placed(motion.mechanism, motion.at.q), [1])
    return _times(program, motion.program(within)) if isinstance(within, Expr) else program


def _times(program: Program, factor: Program) -> Program:
    """Return a program whose outputs are all multiplied by that of another one of the same inputs."""
    places, graph = factor.places(), program.arguments[0][1][0].graph

    def leaf(node: Expr) -> Any:
        if node.op == "constant":
            return node.value
        argument, k = places[node.index]
        return program.arguments[argument][1][k]

    def operation(op: str, *operands: Any) -> Expr:
        return graph.operation(op, *map(graph.lift, operands))

    (one,) = replay(factor.outputs, leaf, operation)
    return replace(program, outputs=tuple(one * x for x in program.outputs))


@kept
def increments_of(robot: Robot, law: Structure[Law], known: tuple[str, ...], integrator: str) -> Kernel:
    return backend(TARGET).kernel(increments(motion_of(robot, law, (), known), integrator), "float64")


@kept
def view_of(
    robot: Robot,
    law: Law | Structure[Law],
    vary: tuple[str, ...],
    known: tuple[str, ...],
    dtype: str,
    target: str = TARGET,
) -> Kernel:
    return backend(target).kernel(view(motion_of(robot, law, vary, known)), dtype)


@kept
def slopes_of(robot: Robot, law: Structure[Law], known: tuple[str, ...]) -> Kernel:
    return backend(TARGET).kernel(derivative(motion_of(robot, law, (), known)), "float64")


@kept
def jacobian_of(robot: Robot, law: Structure[Law], known: tuple[str, ...]) -> Kernel:
    return backend(TARGET).kernel(state_jacobian(derivative(motion_of(robot, law, (), known))), "float64")


@kept
def taylor_of(robot: Robot, law: Structure[Law], known: tuple[str, ...], tolerance: float) -> Taylor:
    motion = motion_of(robot, law, (), known)
    return Taylor(derivative(motion, fence=False), tolerance, layout_of(robot, law).controlled)
