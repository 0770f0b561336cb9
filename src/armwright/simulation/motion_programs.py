"""A motion as programs: its differential equation, and its observables.

state        y in the order of its layout: q, qd, the memory of the law, work of the drives, losses by friction, and for
             a free robot the impulse of all external forces except weight
derivative   (t, y, runtime parameters) -> dy/dt
observables  (t, y, runtime parameters) -> torques, accelerations, friction torques, kinetic and potential energy

The quaternions of ball and free joints are integrated without constraint, and normalised after every step. Within a
step they may have any length: the pose and the rate follow from the normalised quaternion, so a motion does not depend
on the length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from armwright.algebra import Array, Scalar, dot
from armwright.errors import InputError
from armwright.formulations import find_formulation
from armwright.formulations.parts.coordinates import mechanism_at, tangent
from armwright.formulations.parts.rotors_and_friction import friction
from armwright.graph.angles import expand_sines
from armwright.graph.differentiate import derivatives
from armwright.graph.expression import Expr, Graph, Operand
from armwright.graph.program import Program
from armwright.graph.replay import substituted
from armwright.layout import IMPULSE, Layout
from armwright.mechanism import Mechanism
from armwright.model.description import Description
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
    gauges        the gauges that are evaluated at records, and `step_gauges` in every step
    stop_torques  the part of `drag` from stops; empty if the law has no stops
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

    @property
    def _arguments(self) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
        parameters = (("p", self.parameters),) if self.parameters else ()
        return (("t", (self.at.t,)), ("y", self._state(self.at)), *parameters)

    def program_of_step(self, *outputs: Operand) -> Program:
        """Return a program of the start of a step (t, y), the runtime parameters, and the end of the step (t, y)."""
        assert self.end is not None
        end = (("end_t", (self.end.t,)), ("end_y", self._state(self.end, "end_")))
        return expand_sines(Program((*self._arguments, *end), outputs, (len(outputs),)))

    def program(self, *outputs: Operand) -> Program:
        """Return a program of time, state and runtime parameters."""
        units = tuple((1, begin, end - 1) for begin, end in self.layout.unit_vectors)
        return expand_sines(Program(self._arguments, outputs, (len(outputs),), units))


def equations_of_motion(record: MotionRecord) -> MotionEquations:
    """Return the equations of a motion. Their parameters have the order of the record.

    The law uses a model of the robot without the variations of `vary`; events and gauges use the varied robot.
    """
    robot = record.robot
    program = cheapest(TraceRequest("forward_dynamics", robot, (), (*record.vary, *record.shared))).program
    (_, q), (_, qd), (_, tau), *varying = program.arguments
    graph: Graph = q[0].graph
    law, numbers = record.law.in_graph(graph, "law") if isinstance(record.law, Structure) else (record.law, ())
    memory = [graph.input(f"memory{k + 1}") for k in range(len(law.start(robot.n)))]
    values = dict(varying)
    model = _mechanism(robot, {name: values[name] for name in record.shared})
    at = Moment(graph.input("t"), q, qd, model, memory)
    torques, drag = shared_of(law, at)
    if not is_built_in(law):
        _check_repeated(law, graph, [*torques, *drag], [x for part in shared_of(law, at) for x in part])
    total = [a + b for a, b in zip(torques, drag, strict=True)]
    accelerations = substituted(program.outputs, dict(zip(tau, total, strict=True)))
    mechanism = _mechanism(robot, values)
    parameters = (*(x for symbols in values.values() for x in symbols), *numbers)
    if isinstance(law.reference, ReferenceInputs):
        parameters += tuple(law.reference.inputs(graph))
    of_robot = at._replace(mechanism=mechanism)
    events, gauges, step_gauges, end = list[Expr](), list[Expr](), list[Expr](), None
    if record.events is not None:

        def model_at(frame: str | None) -> Mechanism:
            return _mechanism(robot.with_task_frame(frame), values)

        events, levels = event_expressions(record.events, graph, of_robot, model_at)
        parameters += tuple(levels)
    if record.gauges is not None:
        request, symbols = record.gauges.in_graph(graph, "gauge")
        gauges = request.record_expressions(GaugedMoment(of_robot, torques, law, request), graph)
        parameters += symbols
        end = _inputs_like(at, graph, "end_")
        step_gauges = request.step_expressions(graph, at, end, law)
    return MotionEquations(
        at, parameters, torques, drag, accelerations, rates_of(law, at), mechanism, record.layout,
        events=tuple(events), gauges=tuple(gauges), step_gauges=tuple(step_gauges), end=end,
        stop_torques=tuple(stop_torques(law, at)) if stops_in(law) else (),
    )  # fmt: skip


def _mechanism(robot: Description, values: Mapping[str, Sequence[Expr]]) -> Mechanism:
    """Return the mechanism with runtime parameters."""
    return mechanism_with(robot, values) if values else robot.mechanism()


def _check_repeated(law: Law, graph: Graph, one: Sequence[Scalar], two: Sequence[Scalar]) -> None:
    """Raise an InputError if a law gives other formulas when it is called again."""
    if any(graph.lift(x) is not graph.lift(y) for x, y in zip(one, two, strict=True)):
        raise InputError(
            f"torque law {type(law).__name__} gives different torques for the same moment: it draws "
            "random numbers, or has an internal state. It is called once, when it is compiled; expected "
            "aw.torque.noise for random torques, and memory (start and rates) for what it remembers"
        )


def _inputs_like(at: Moment, graph: Graph, prefix: str) -> Moment:
    """Return a moment of the same robot whose inputs have names with a prefix."""
    q, qd, memory = ([graph.input(f"{prefix}{x.key}") for x in part] for part in (at.q, at.qd, at.memory))
    return at._replace(t=graph.input(f"{prefix}t"), q=q, qd=qd, memory=memory)


def position_rates(
    mechanism: Mechanism, q: Sequence[Scalar], unit: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[Scalar]:
    """Return dq/dt; `unit` is q with normalised quaternions."""
    if not mechanism.balls:
        return list(qd)
    rates, quaternion_rates = ([dot(row, qd) for row in tangent(mechanism, x)] for x in (list(unit), list(q)))
    for ball in mechanism.balls:
        rates[ball.unit_vector] = quaternion_rates[ball.unit_vector]
    return rates


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
    posed = mechanism_at(mechanism, q)
    for tau, drag, rub, speed in zip(motion.torques, motion.drag, friction(posed, qd), qd, strict=True):
        power, loss = power + tau * speed, loss + (rub - drag) * speed
    other_rates = [
        *(within_loop_limits(posed, motion.accelerations) if loop_limits else motion.accelerations),
        *motion.rates,
        power,
        loss,
    ]
    if dict(motion.layout.carried)["impulse"]:
        force = [a + b for a, b in zip(motion.torques[:IMPULSE], motion.drag[:IMPULSE], strict=True)]
        other_rates += impulse_rates(
            mechanism, q, qd, force, lambda: find_formulation("mass_matrix")(mechanism, list(q))
        )
    normalised = unit_length_replacements(q, motion.layout.unit_vectors)
    unit = [normalised.get(x, x) for x in q]
    if normalised:
        other_rates = substituted(other_rates, normalised)
    return motion.program(*position_rates(mechanism, q, unit, qd), *other_rates)


def state_jacobian(program: Program) -> Program:
    """Return the program of the Jacobian of dy/dt by y, row by row, for implicit methods."""
    y = program.arguments[1][1]
    columns = [derivatives(program.outputs, x) for x in y]
    entries = tuple(column[i] for i in range(len(y)) for column in columns)
    return Program(program.arguments, entries, (len(y), len(y)))


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

    `drag` includes the torques of stops, `stop_torque` (..., n), or (..., 0) without stops.
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
        tau, qdd, drag, kinetic, potential, stop_torque = (columns[..., layout[name]] for name, _ in layout.parts)
        return cls(tau, qdd, drag, kinetic[..., 0], potential[..., 0] + columns.dtype.type(lifted), stop_torque)
