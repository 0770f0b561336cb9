"""Programs of steps under constant torques: the final state, its gradient, its Jacobian."""

from __future__ import annotations

from dataclasses import replace

from armwright.graph.angles import expand_sines
from armwright.graph.differentiate import pullback
from armwright.graph.program import FinalState, FinalStateGradient, FinalStateJacobian, Integration, Program
from armwright.graph.replay import substituted
from armwright.integrate.tableaus import Steps
from armwright.model.description import Description
from armwright.simulation.motion_programs import position_rates, unit_length_replacements
from armwright.trace.cheapest import cheapest
from armwright.trace.tracing import TraceRequest


def step_program(robot: Description, method: Steps, vary: tuple[str, ...] = ()) -> Program:
    """Return the program of the final state, by q, qd, tau, runtime parameters and (length, number) of the steps."""
    program = cheapest(TraceRequest("forward_dynamics", robot, (), vary)).program
    (_, q), (_, qd), *_ = program.arguments
    unit_vectors = tuple((ball.unit_vector.start, ball.unit_vector.stop) for ball in robot.balls)
    normalised = unit_length_replacements(q, unit_vectors)
    velocities = position_rates(robot.mechanism(), q, [normalised.get(x, x) for x in q], qd)
    rates = expand_sines(replace(program, outputs=(*velocities, *substituted(program.outputs, normalised))))
    plan = tuple(qd[0].graph.input(f"plan{k}") for k in range(2))
    s = method.stages
    return replace(
        rates,
        arguments=(*rates.arguments, ("plan", plan)),
        shape=(len(rates.outputs),),
        integration=FinalState(method.a[:s], method.b[:s], unit_vectors),
    )


def step_gradient_program(program: Program) -> Program:
    """Return the program of the gradient of a cost by q, qd, tau and runtime parameters.

    Its arguments are those of `step_program`, with the gradient by the final state before (length, number) of steps.
    """
    method = _integration(program)
    rates = method.rates_of(program)
    gradient = pullback(rates)
    integration = FinalStateGradient(method.a, method.b, method.unit_vectors, rates)
    return replace(gradient, arguments=(*gradient.arguments, program.arguments[-1]), integration=integration)


def _integration(program: Program) -> Integration:
    assert program.integration is not None
    return program.integration


def step_derivatives_program(
    robot: Description, program: Program, vary: tuple[str, ...] = (), looped: bool = False
) -> Program:
    """Return the program of the Jacobian (2 n, 3 n) of the final state by q, qd and tau, without quaternions.

    If `looped`, the caller solves the linear equations of the accelerations.
    """
    method = _integration(program)
    slopes = expand_sines(cheapest(TraceRequest("forward_dynamics_derivatives", robot, (), vary, looped)).program)
    graph, n = slopes.arguments[0][1][0].graph, robot.n
    plan = tuple(graph.input(f"plan{k}") for k in range(2))
    integration = FinalStateJacobian(method.a, method.b, method.unit_vectors, method.rates_of(program))
    return replace(slopes, arguments=(*slopes.arguments, ("plan", plan)), shape=(2 * n, 3 * n), integration=integration)
