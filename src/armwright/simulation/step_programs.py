"""Programs of steps under torques that are held constant: the final state, its gradient, its Jacobian."""

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
    """Return the program of the final state: q, qd, tau, runtime parameters, (length, number of steps)."""
    program = cheapest(TraceRequest("forward_dynamics", robot, (), vary)).program
    (_, q), (_, qd), *_ = program.arguments
    unit_vectors = tuple((ball.unit_vector.start, ball.unit_vector.stop) for ball in robot.balls)
    lengths = unit_length_replacements(q, unit_vectors)
    unit = [lengths.get(x, x) for x in q]
    moving = position_rates(robot.mechanism(), q, unit, qd)
    rates = expand_sines(replace(program, outputs=(*moving, *substituted(program.outputs, lengths))))
    plan = tuple(qd[0].graph.input(f"plan{k}") for k in range(2))
    s = method.stages
    return replace(
        rates,
        arguments=(*rates.arguments, ("plan", plan)),
        shape=(len(rates.outputs),),
        integration=FinalState(method.a[:s], method.b[:s], unit_vectors),
    )


def step_gradient_program(program: Program) -> Program:
    """The gradient by q, qd, tau and open parameters of what has one by where `step_program` leads: before the plan."""
    method = _integration(program)
    rates = method.rates_of(program)
    back = pullback(rates)
    integration = FinalStateGradient(method.a, method.b, method.unit_vectors, rates)
    return replace(back, arguments=(*back.arguments, program.arguments[-1]), integration=integration)


def _integration(program: Program) -> Integration:
    assert program.integration is not None
    return program.integration


def step_derivatives_program(
    robot: Description, program: Program, vary: tuple[str, ...] = (), looped: bool = False
) -> Program:
    """Return the derivatives (2 n, 3 n) of the end of `step_program` by q, qd and tau, for a robot without quaternions.

    If `looped`, the program leaves the equations of the accelerations to the caller.
    """
    method = _integration(program)
    slopes = expand_sines(cheapest(TraceRequest("forward_dynamics_derivatives", robot, (), vary, looped)).program)
    graph, n = slopes.arguments[0][1][0].graph, robot.n
    plan = tuple(graph.input(f"plan{k}") for k in range(2))
    integration = FinalStateJacobian(method.a, method.b, method.unit_vectors, method.rates_of(program))
    return replace(slopes, arguments=(*slopes.arguments, ("plan", plan)), shape=(2 * n, 3 * n), integration=integration)
