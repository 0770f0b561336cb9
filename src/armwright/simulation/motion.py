"""A robot and what drives it as programs: its motion as a differential equation, and what there is to see of a motion.

state        y as its layout says: q, qd, what the law remembers, work (what the torques have put in), losses (what
             friction has taken)
derivative   (t, y, open parameters) -> dy/dt
view         (t, y, open parameters) -> torques, accelerations, torques of friction laws, kinetic and potential energy
"""

from __future__ import annotations

from dataclasses import dataclass

from armwright.algebra import Array, Scalar
from armwright.formulations import find
from armwright.formulations.parts.actuators import friction
from armwright.formulations.parts.coordinates import placed
from armwright.graph.angles import written_out
from armwright.graph.differentiate import derivatives
from armwright.graph.expression import Expr, Graph, Operand
from armwright.graph.program import Program
from armwright.graph.replay import replaced
from armwright.layout import Layout
from armwright.mechanism import Mechanism
from armwright.model.description import Description
from armwright.model.vary import check, varied
from armwright.torque import Law, Moment, OpenMotion
from armwright.trace.choose import cheapest
from armwright.trace.tracing import Request


@dataclass(frozen=True)
class Driven:
    """Forward dynamics of a robot with the torques of a law in place of its last argument, in one graph.

    `parameters` are those of the robot that vary, and a motion that the law follows if it is left open.
    """

    at: Moment
    parameters: tuple[Expr, ...]
    torques: list[Scalar]
    drag: list[Scalar]
    accelerations: list[Scalar]
    rates: list[Scalar]
    mechanism: Mechanism

    def program(self, *outputs: Operand) -> Program:
        """A program of time, state and open parameters."""
        graph = self.at.t.graph
        y = (*self.at.q, *self.at.qd, *self.at.memory, graph.input("work"), graph.input("losses"))
        opened = (("p", self.parameters),) if self.parameters else ()
        return written_out(Program((("t", (self.at.t,)), ("y", y), *opened), outputs, (len(outputs),)))


def layout_of(robot: Description, law: Law) -> Layout:
    """The state of a robot under a law."""
    return Layout.of_motion(robot.n, robot.n, len(law.start(robot.n)))


def driven(robot: Description, law: Law, vary: tuple[str, ...] = ()) -> Driven:
    program = cheapest(Request("forward_dynamics", robot, (), vary)).program
    (_, q), (_, qd), (_, tau), *opened = program.arguments
    graph: Graph = q[0].graph
    memory = [graph.input(f"memory{k + 1}") for k in range(len(law.start(robot.n)))]
    at = Moment(graph.input("t"), q, qd, robot.mechanism(), memory)
    torques, drag = law.shared(at)
    total = [a + b for a, b in zip(torques, drag, strict=True)]
    accelerations = replaced(program.outputs, dict(zip(tau, total, strict=True)))
    values = dict(opened)
    mechanism = varied(robot, values) if check(robot, vary) else robot.mechanism()
    parameters = tuple(x for symbols in values.values() for x in symbols)
    if isinstance(law.reference, OpenMotion):
        parameters += tuple(law.reference.inputs(graph))
    return Driven(at, parameters, torques, drag, accelerations, law.rates(at), mechanism)


def derivative(motion: Driven) -> Program:
    """dy/dt."""
    power: Scalar = 0
    loss: Scalar = 0
    qd = motion.at.qd
    rubbing = friction(placed(motion.mechanism, motion.at.q), qd)
    for tau, drag, rub, speed in zip(motion.torques, motion.drag, rubbing, qd, strict=True):
        power, loss = power + tau * speed, loss + (rub - drag) * speed
    return motion.program(*qd, *motion.accelerations, *motion.rates, power, loss)


def jacobian(program: Program) -> Program:
    """The derivatives of dy/dt by y, row by row: what implicit methods want."""
    y = program.arguments[1][1]
    columns = [derivatives(program.outputs, x) for x in y]
    size = len(y)
    entries = tuple(columns[j][i] for i in range(size) for j in range(size))
    return Program(program.arguments, entries, (size, size))


def view(motion: Driven) -> Program:
    q, qd = list(motion.at.q), list(motion.at.qd)
    kinetic = find("kinetic_energy")(motion.mechanism, q, qd)
    potential = find("potential_energy")(motion.mechanism, q)
    return motion.program(*motion.torques, *motion.accelerations, *motion.drag, kinetic, potential)


@dataclass(frozen=True)
class View:
    """What there is to see of states (..., n): torques, accelerations, torques of friction laws; energies (...)."""

    tau: Array
    qdd: Array
    drag: Array
    kinetic: Array
    potential: Array

    @classmethod
    def of(cls, columns: Array, n: int) -> View:
        """From the results of the program `view` (..., 3 n + 2)."""
        layout = Layout((("tau", n), ("qdd", n), ("drag", n), ("kinetic", 1), ("potential", 1)), 0)
        tau, qdd, drag, kinetic, potential = (columns[..., layout[name]] for name, _ in layout.parts)
        return cls(tau, qdd, drag, kinetic[..., 0], potential[..., 0])
