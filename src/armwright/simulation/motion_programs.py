"""A robot and what drives it as programs: its motion as a differential equation, and what there is to see of a motion.

state        y as its layout says: q, qd, what the law remembers, work (what the torques have put in), losses (what
             friction has taken), of a free robot the impulse (what has acted on it from outside, weight aside)
derivative   (t, y, open parameters) -> dy/dt
view         (t, y, open parameters) -> torques, accelerations, torques of friction laws, kinetic and potential energy

The quaternions of ball and free joints are integrated as they are, and made ones of unit length after every step. While
a step is under way they are of any length: then a robot is where the unit quaternion beside them says, and they turn as
that one does, so that a motion does not depend on their length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from armwright.algebra import Array, Scalar, dot
from armwright.errors import InputError
from armwright.formulations import find_formulation
from armwright.formulations.parts.coordinates import placed, tangent
from armwright.formulations.parts.rotors_and_friction import friction
from armwright.graph.angles import written_out
from armwright.graph.differentiate import derivatives, pullback
from armwright.graph.expression import Expr, Graph, Operand
from armwright.graph.program import FinalState, FinalStateGradient, FinalStateJacobian, Integration, Program
from armwright.graph.replay import replaced
from armwright.integrate.tableaus import Steps
from armwright.layout import IMPULSE, Layout
from armwright.mechanism import Mechanism
from armwright.model.description import Description
from armwright.model.robot_parameters import mechanism_with
from armwright.simulation.events import EventStructure
from armwright.simulation.events import values as watched_values
from armwright.simulation.gauges import GaugedMoment, GaugeStructure
from armwright.simulation.loop_limits import within_loop_limits
from armwright.simulation.momentum import impulse_rates, is_free
from armwright.simulation.stop_hits import stop_torques, stops_in
from armwright.torque import Law, Moment
from armwright.torque.law import rates_of, shared_of
from armwright.torque.runtime_parameters import Structure, is_built_in
from armwright.torque.tracking import ReferenceInputs
from armwright.trace.cheapest import cheapest
from armwright.trace.tracing import TraceRequest


@dataclass(frozen=True)
class MotionEquations:
    """Forward dynamics of a robot with the torques of a law in place of its last argument, in one graph.

    `parameters` are those of the robot that vary, the numbers of the law if they are open, a motion that it follows if
    that is left open, the numbers of events, whose values are `watched`, and those of what is measured, `gauged` at
    records and `within` steps, which lead from `at` to `end`. `stopping` are the torques of stops, which are among
    `drag`; none where the law has no stops.
    """

    at: Moment
    parameters: tuple[Expr, ...]
    torques: list[Scalar]
    drag: list[Scalar]
    accelerations: list[Scalar]
    rates: list[Scalar]
    mechanism: Mechanism
    layout: Layout
    watched: tuple[Expr, ...] = ()
    gauged: tuple[Expr, ...] = ()
    within: tuple[Expr, ...] = ()
    end: Moment | None = None
    stopping: tuple[Scalar, ...] = ()

    def _state(self, at: Moment, prefix: str = "") -> tuple[Expr, ...]:
        carried = (prefix + f"{name}{k + 1}" for name, size in self.layout.carried for k in range(size))
        return (*at.q, *at.qd, *at.memory, *(at.t.graph.input(name) for name in carried))

    def step_program(self, *outputs: Operand) -> Program:
        """A program of time and state where a step starts, open parameters, and time and state where it ends."""
        assert self.end is not None
        opened = (("p", self.parameters),) if self.parameters else ()
        start = (("t", (self.at.t,)), ("y", self._state(self.at)))
        end = (("end_t", (self.end.t,)), ("end_y", self._state(self.end, "end_")))
        return written_out(Program((*start, *opened, *end), outputs, (len(outputs),)))

    def program(self, *outputs: Operand) -> Program:
        """A program of time, state and open parameters."""
        y = self._state(self.at)
        opened = (("p", self.parameters),) if self.parameters else ()
        units = tuple((1, begin, end - 1) for begin, end in self.layout.unit_vectors)
        return written_out(Program((("t", (self.at.t,)), ("y", y), *opened), outputs, (len(outputs),), units))


def layout_of(robot: Description, law: Law | Structure[Law]) -> Layout:
    """The state of a robot under a law."""
    law = law.template if isinstance(law, Structure) else law
    unit_vectors = tuple((ball.unit_vector.start, ball.unit_vector.stop) for ball in robot.balls)
    return Layout.of_motion(robot.nq, robot.n, len(law.start(robot.n)), unit_vectors, is_free(robot))


def equations_of_motion(
    robot: Description,
    law: Law | Structure[Law],
    vary: tuple[str, ...] = (),
    known: tuple[str, ...] = (),
    events: EventStructure | None = None,
    gauges: GaugeStructure | None = None,
) -> MotionEquations:
    """A robot under a law, or under one whose numbers are open: these are parameters after those of the robot.

    Of what varies the law knows nothing, but for what is `known`; events are of the robot itself.
    """
    program = cheapest(TraceRequest("forward_dynamics", robot, (), (*vary, *known))).program
    (_, q), (_, qd), (_, tau), *opened = program.arguments
    graph: Graph = q[0].graph
    law, numbers = law.in_graph(graph, "law") if isinstance(law, Structure) else (law, ())
    memory = [graph.input(f"memory{k + 1}") for k in range(len(law.start(robot.n)))]
    values = dict(opened)
    model = mechanism_with(robot, {name: values[name] for name in known}) if known else robot.mechanism()
    at = Moment(graph.input("t"), q, qd, model, memory)
    torques, drag = shared_of(law, at)
    if not is_built_in(law):
        _check_repeated(law, graph, [*torques, *drag], [x for part in shared_of(law, at) for x in part])
    total = [a + b for a, b in zip(torques, drag, strict=True)]
    accelerations = replaced(program.outputs, dict(zip(tau, total, strict=True)))
    mechanism = mechanism_with(robot, values) if values else robot.mechanism()
    parameters = (*(x for symbols in values.values() for x in symbols), *numbers)
    if isinstance(law.reference, ReferenceInputs):
        parameters += tuple(law.reference.inputs(graph))
    watched, measured, within, end = list[Expr](), list[Expr](), list[Expr](), None
    if events is not None:

        def seen(frame: str | None) -> Mechanism:
            return (
                mechanism_with(robot.with_task_frame(frame), values)
                if values
                else robot.with_task_frame(frame).mechanism()
            )

        watched, levels = watched_values(events, graph, at._replace(mechanism=mechanism), seen)
        parameters += tuple(levels)
    if gauges is not None:
        request, symbols = gauges.in_graph(graph, "gauge")
        moment = GaugedMoment(at._replace(mechanism=mechanism), torques, law, request)
        measured = request.record_expressions(moment, graph)
        parameters += symbols
        end = _inputs_like(at, graph, "end_")
        within = request.step_expressions(graph, at, end, law)
    rates, layout = rates_of(law, at), layout_of(robot, law)
    return MotionEquations(
        at, parameters, torques, drag, accelerations, rates, mechanism, layout,
        watched=tuple(watched), gauged=tuple(measured), within=tuple(within), end=end,
        stopping=tuple(stop_torques(law, at)) if stops_in(law) else (),
    )  # fmt: skip


def _check_repeated(law: Law, graph: Graph, one: Sequence[Scalar], two: Sequence[Scalar]) -> None:
    """Raise an InputError if a law gives other formulas when it is asked again."""
    if any(graph.lift(x) is not graph.lift(y) for x, y in zip(one, two, strict=True)):
        raise InputError(
            f"torque law {type(law).__name__} gives other torques when it is asked twice for the same moment: it draws "
            "random numbers, or keeps a state of its own. It is asked once, when it is compiled; expected "
            "aw.torque.noise for random torques, and memory (start and rates) for what it remembers"
        )


def _inputs_like(at: Moment, graph: Graph, prefix: str) -> Moment:
    """Another moment of the same robot, of inputs that have this before their names."""
    q, qd, memory = ([graph.input(f"{prefix}{x.key}") for x in part] for part in (at.q, at.qd, at.memory))
    return at._replace(t=graph.input(f"{prefix}t"), q=q, qd=qd, memory=memory)


def position_rates(
    mechanism: Mechanism, q: Sequence[Scalar], unit: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[Scalar]:
    """dq/dt; `unit` is q with quaternions of unit length, beside which longer or shorter ones turn as they do."""
    if not mechanism.balls:
        return list(qd)
    moving, turning = ([dot(row, qd) for row in tangent(mechanism, x)] for x in (list(unit), list(q)))
    for ball in mechanism.balls:
        moving[ball.unit_vector] = turning[ball.unit_vector]
    return moving


def _unit_lengths(q: Sequence[Expr], unit_vectors: Sequence[tuple[int, int]]) -> dict[Expr, Operand]:
    """What unit quaternions have in place of the entries of those in a state: of a sum of squares, one."""
    replacements: dict[Expr, Operand] = {}
    for begin, end in unit_vectors:
        entries = q[begin:end]
        square = dot(entries, entries)
        inverse = 1 / square.sqrt()
        replacements |= {square: 1, **{x: x * inverse for x in entries}}
    return replacements


def derivative(motion: MotionEquations, fence: bool = True) -> Program:
    """dy/dt; without a fence it jumps nowhere, and goes on where a loop is at its end."""
    power: Scalar = 0
    loss: Scalar = 0
    q, qd, mechanism = motion.at.q, motion.at.qd, motion.mechanism
    there = placed(mechanism, q)
    rubbing = friction(there, qd)
    for tau, drag, rub, speed in zip(motion.torques, motion.drag, rubbing, qd, strict=True):
        power, loss = power + tau * speed, loss + (rub - drag) * speed
    rest = [
        *(within_loop_limits(there, motion.accelerations) if fence else motion.accelerations),
        *motion.rates,
        power,
        loss,
    ]
    if dict(motion.layout.carried)["impulse"]:
        force = [a + b for a, b in zip(motion.torques[:IMPULSE], motion.drag[:IMPULSE], strict=True)]
        rest += impulse_rates(mechanism, q, qd, force, lambda: find_formulation("mass_matrix")(mechanism, list(q)))
    lengths = _unit_lengths(q, motion.layout.unit_vectors)
    unit = [lengths.get(x, x) for x in q]
    return motion.program(*position_rates(mechanism, q, unit, qd), *(replaced(rest, lengths) if lengths else rest))


def step_program(robot: Description, method: Steps, vary: tuple[str, ...] = ()) -> Program:
    """Where q and qd lead under torques that are held: q, qd, tau, open parameters, (length, number of steps)."""
    program = cheapest(TraceRequest("forward_dynamics", robot, (), vary)).program
    (_, q), (_, qd), *_ = program.arguments
    unit_vectors = tuple((ball.unit_vector.start, ball.unit_vector.stop) for ball in robot.balls)
    lengths = _unit_lengths(q, unit_vectors)
    unit = [lengths.get(x, x) for x in q]
    moving = position_rates(robot.mechanism(), q, unit, qd)
    rates = written_out(replace(program, outputs=(*moving, *replaced(program.outputs, lengths))))
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
    """How where `step_program` leads depends on q, qd and tau, of a robot whose positions are numbers: (2 n, 3 n).

    If `looped`, the equations of the accelerations are left to solve.
    """
    method = _integration(program)
    slopes = written_out(cheapest(TraceRequest("forward_dynamics_derivatives", robot, (), vary, looped)).program)
    graph, n = slopes.arguments[0][1][0].graph, robot.n
    plan = tuple(graph.input(f"plan{k}") for k in range(2))
    integration = FinalStateJacobian(method.a, method.b, method.unit_vectors, method.rates_of(program))
    return replace(slopes, arguments=(*slopes.arguments, ("plan", plan)), shape=(2 * n, 3 * n), integration=integration)


def state_jacobian(program: Program) -> Program:
    """The derivatives of dy/dt by y, row by row: what implicit methods want."""
    y = program.arguments[1][1]
    columns = [derivatives(program.outputs, x) for x in y]
    size = len(y)
    entries = tuple(columns[j][i] for i in range(size) for j in range(size))
    return Program(program.arguments, entries, (size, size))


def view(motion: MotionEquations) -> Program:
    q, qd = list(motion.at.q), list(motion.at.qd)
    kinetic = find_formulation("kinetic_energy")(motion.mechanism, q, qd)
    potential = find_formulation("potential_energy")(motion.mechanism, q)
    return motion.program(*motion.torques, *motion.accelerations, *motion.drag, kinetic, potential, *motion.stopping)


@dataclass(frozen=True)
class Observables:
    """What there is to see of states (..., n): torques, accelerations, torques of friction laws; energies (...).

    `stop_torque` are the torques of stops among those of friction laws (..., n), or (..., 0) where there are no stops.
    """

    tau: Array
    qdd: Array
    drag: Array
    kinetic: Array
    potential: Array
    stop_torque: Array

    @classmethod
    def of(cls, columns: Array, n: int, lifted: float = 0.0) -> Observables:
        """From the results of the program `view` (..., 3 n + 2), n more with stops, and potential energy to add."""
        stops = columns.shape[-1] - 3 * n - 2
        layout = Layout((("tau", n), ("qdd", n), ("drag", n), ("kinetic", 1), ("potential", 1), ("stops", stops)), 0)
        tau, qdd, drag, kinetic, potential, stopping = (columns[..., layout[name]] for name, _ in layout.parts)
        return cls(tau, qdd, drag, kinetic[..., 0], potential[..., 0] + columns.dtype.type(lifted), stopping)
