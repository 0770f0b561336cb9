"""A motion as programs: its differential equation, and its observables.

state        y as its layout says: q, qd, the memory of the law, work (of the drives), losses (by friction), of a free
             robot the impulse (of all outer forces but the weight)
derivative   (t, y, runtime parameters) -> dy/dt
observables  (t, y, runtime parameters) -> torques, accelerations, friction torques, kinetic and potential energy

The quaternions of ball and free joints are integrated as they are, and normalised after every step. Within a step they
may have any length. Then the robot stands where the normalised quaternion says, and the quaternion turns as that one
does, so that a motion does not depend on the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armwright.algebra import Array, Scalar, dot
from armwright.errors import InputError
from armwright.formulations import find_formulation
from armwright.formulations.parts.coordinates import placed, tangent
from armwright.formulations.parts.rotors_and_friction import friction
from armwright.graph.angles import expand_sines
from armwright.graph.differentiate import derivatives
from armwright.graph.expression import Expr, Graph, Operand
from armwright.graph.program import Program
from armwright.graph.replay import substituted
from armwright.layout import IMPULSE, Layout
from armwright.mechanism import Mechanism
from armwright.model.robot_parameters import mechanism_with
from armwright.simulation.events import event_expressions
from armwright.simulation.gauges import GaugedMoment
from armwright.simulation.loop_limits import within_loop_limits
from armwright.simulation.momentum import impulse_rates
from armwright.simulation.motion_record import MotionRecord
from armwright.simulation.stop_hits import stop_torques, stops_in
from armwright.torque import Law, Moment
from armwright.torque.law import rates_of, shared_of
from armwright.torque.runtime_parameters import Structure, is_built_in
from armwright.torque.tracking import ReferenceInputs
from armwright.trace.cheapest import cheapest
from armwright.trace.tracing import TraceRequest


@dataclass(frozen=True)
class MotionEquations:
    """Forward dynamics of a robot under the torques of a law, as expressions of one graph.

    parameters    the runtime parameters, in the order of the `MotionRecord`
    at, end       time and state, and time and state at the end of a step
    drag          torques of friction laws and stops
    rates         derivatives of the memory of the law
    events        the values whose zeros are events
    gauges        what is measured at records, and `step_gauges` in every step
    stop_torques  those torques of `drag` that are of stops; empty where the law has no stops
    """

    at: Moment
    parameters: tuple[Expr, ...]
    torques: list[Scalar]
    drag: list[Scalar]
    accelerations: list[Scalar]
    rates: list[Scalar]
    mechanism: Mechanism
    layout: Layout
    events: tuple[Expr, ...] = ()
    gauges: tuple[Expr, ...] = ()
    step_gauges: tuple[Expr, ...] = ()
    end: Moment | None = None
    stop_torques: tuple[Scalar, ...] = ()

    def _state(self, at: Moment, prefix: str = "") -> tuple[Expr, ...]:
        carried = (prefix + f"{name}{k + 1}" for name, size in self.layout.carried for k in range(size))
        return (*at.q, *at.qd, *at.memory, *(at.t.graph.input(name) for name in carried))

    def program_of_step(self, *outputs: Operand) -> Program:
        """A program of time and state where a step starts, open parameters, and time and state where it ends."""
        assert self.end is not None
        opened = (("p", self.parameters),) if self.parameters else ()
        start = (("t", (self.at.t,)), ("y", self._state(self.at)))
        end = (("end_t", (self.end.t,)), ("end_y", self._state(self.end, "end_")))
        return expand_sines(Program((*start, *opened, *end), outputs, (len(outputs),)))

    def program(self, *outputs: Operand) -> Program:
        """A program of time, state and open parameters."""
        y = self._state(self.at)
        opened = (("p", self.parameters),) if self.parameters else ()
        units = tuple((1, begin, end - 1) for begin, end in self.layout.unit_vectors)
        return expand_sines(Program((("t", (self.at.t,)), ("y", y), *opened), outputs, (len(outputs),), units))


def equations_of_motion(record: MotionRecord) -> MotionEquations:
    """Return the equations of a motion. Their parameters have the order of the record.

    The law sees its model of the robot, which lacks what `vary` names; events and gauges see the robot itself.
    """
    robot = record.robot
    program = cheapest(TraceRequest("forward_dynamics", robot, (), (*record.vary, *record.shared))).program
    (_, q), (_, qd), (_, tau), *varying = program.arguments
    graph: Graph = q[0].graph
    law, numbers = record.law.in_graph(graph, "law") if isinstance(record.law, Structure) else (record.law, ())
    memory = [graph.input(f"memory{k + 1}") for k in range(len(law.start(robot.n)))]
    values = dict(varying)
    model = (
        mechanism_with(robot, {name: values[name] for name in record.shared}) if record.shared else robot.mechanism()
    )
    at = Moment(graph.input("t"), q, qd, model, memory)
    torques, drag = shared_of(law, at)
    if not is_built_in(law):
        _check_repeated(law, graph, [*torques, *drag], [x for part in shared_of(law, at) for x in part])
    total = [a + b for a, b in zip(torques, drag, strict=True)]
    accelerations = substituted(program.outputs, dict(zip(tau, total, strict=True)))
    mechanism = mechanism_with(robot, values) if values else robot.mechanism()
    parameters = (*(x for symbols in values.values() for x in symbols), *numbers)
    if isinstance(law.reference, ReferenceInputs):
        parameters += tuple(law.reference.inputs(graph))
    of_robot = at._replace(mechanism=mechanism)
    events, measured, within, end = list[Expr](), list[Expr](), list[Expr](), None
    if record.events is not None:

        def model_at(frame: str | None) -> Mechanism:
            return (
                mechanism_with(robot.with_task_frame(frame), values)
                if values
                else robot.with_task_frame(frame).mechanism()
            )

        events, levels = event_expressions(record.events, graph, of_robot, model_at)
        parameters += tuple(levels)
    if record.gauges is not None:
        request, symbols = record.gauges.in_graph(graph, "gauge")
        measured = request.record_expressions(GaugedMoment(of_robot, torques, law, request), graph)
        parameters += symbols
        end = _inputs_like(at, graph, "end_")
        within = request.step_expressions(graph, at, end, law)
    return MotionEquations(
        at, parameters, torques, drag, accelerations, rates_of(law, at), mechanism, record.layout,
        events=tuple(events), gauges=tuple(measured), step_gauges=tuple(within), end=end,
        stop_torques=tuple(stop_torques(law, at)) if stops_in(law) else (),
    )  # fmt: skip


def _check_repeated(law: Law, graph: Graph, one: Sequence[Scalar], two: Sequence[Scalar]) -> None:
    """Raise an InputError if a law gives other formulas when it is called again."""
    if any(graph.lift(x) is not graph.lift(y) for x, y in zip(one, two, strict=True)):
        raise InputError(
            f"torque law {type(law).__name__} gives different torques for the same moment: it draws "
            "random numbers, or has an internal state. It is called once, when it is compiled; expected "
            "aw.torque.noise for random torques, and memory (start and rates) for what it remembers"
        )


def _inputs_like(at: Moment, graph: Graph, prefix: str) -> Moment:
    """Return another moment of the same robot, whose inputs have a prefix before their names."""
    q, qd, memory = ([graph.input(f"{prefix}{x.key}") for x in part] for part in (at.q, at.qd, at.memory))
    return at._replace(t=graph.input(f"{prefix}t"), q=q, qd=qd, memory=memory)


def position_rates(
    mechanism: Mechanism, q: Sequence[Scalar], unit: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[Scalar]:
    """Return dq/dt; `unit` is q with quaternions of unit length, with which those of other lengths turn."""
    if not mechanism.balls:
        return list(qd)
    moving, turning = ([dot(row, qd) for row in tangent(mechanism, x)] for x in (list(unit), list(q)))
    for ball in mechanism.balls:
        moving[ball.unit_vector] = turning[ball.unit_vector]
    return moving


def unit_length_replacements(q: Sequence[Expr], unit_vectors: Sequence[tuple[int, int]]) -> dict[Expr, Operand]:
    """Return the replacements that scale quaternions of a state to unit length; their sum of squares becomes 1."""
    replacements: dict[Expr, Operand] = {}
    for begin, end in unit_vectors:
        entries = q[begin:end]
        square = dot(entries, entries)
        inverse = 1 / square.sqrt()
        replacements |= {square: 1, **{x: x * inverse for x in entries}}
    return replacements


def derivative(motion: MotionEquations, loop_limits: bool = True) -> Program:
    """Return the program of dy/dt. With `loop_limits` it is not finite where a loop is at its limit."""
    power: Scalar = 0
    loss: Scalar = 0
    q, qd, mechanism = motion.at.q, motion.at.qd, motion.mechanism
    there = placed(mechanism, q)
    rubbing = friction(there, qd)
    for tau, drag, rub, speed in zip(motion.torques, motion.drag, rubbing, qd, strict=True):
        power, loss = power + tau * speed, loss + (rub - drag) * speed
    rest = [
        *(within_loop_limits(there, motion.accelerations) if loop_limits else motion.accelerations),
        *motion.rates,
        power,
        loss,
    ]
    if dict(motion.layout.carried)["impulse"]:
        force = [a + b for a, b in zip(motion.torques[:IMPULSE], motion.drag[:IMPULSE], strict=True)]
        rest += impulse_rates(mechanism, q, qd, force, lambda: find_formulation("mass_matrix")(mechanism, list(q)))
    lengths = unit_length_replacements(q, motion.layout.unit_vectors)
    unit = [lengths.get(x, x) for x in q]
    return motion.program(*position_rates(mechanism, q, unit, qd), *(substituted(rest, lengths) if lengths else rest))


def state_jacobian(program: Program) -> Program:
    """The derivatives of dy/dt by y, row by row: what implicit methods want."""
    y = program.arguments[1][1]
    columns = [derivatives(program.outputs, x) for x in y]
    size = len(y)
    entries = tuple(columns[j][i] for i in range(size) for j in range(size))
    return Program(program.arguments, entries, (size, size))


def observables_program(motion: MotionEquations) -> Program:
    """Return the program of the observables."""
    q, qd = list(motion.at.q), list(motion.at.qd)
    kinetic = find_formulation("kinetic_energy")(motion.mechanism, q, qd)
    potential = find_formulation("potential_energy")(motion.mechanism, q)
    return motion.program(
        *motion.torques, *motion.accelerations, *motion.drag, kinetic, potential, *motion.stop_torques
    )


@dataclass(frozen=True)
class Observables:
    """The observables of states (..., n): torques, accelerations, torques of friction laws; energies (...).

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
        """Return results of `observables_program` (..., 3 n + 2), n more with stops, the energy raised by `lifted`."""
        stops = columns.shape[-1] - 3 * n - 2
        layout = Layout((("tau", n), ("qdd", n), ("drag", n), ("kinetic", 1), ("potential", 1), ("stops", stops)), 0)
        tau, qdd, drag, kinetic, potential, stopping = (columns[..., layout[name]] for name, _ in layout.parts)
        return cls(tau, qdd, drag, kinetic[..., 0], potential[..., 0] + columns.dtype.type(lifted), stopping)
