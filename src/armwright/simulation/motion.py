"""A robot and what drives it as programs: its motion as a differential equation, and what there is to see of a motion.

state        y = (q, qd, work, losses): with work, what the torques have put in, and losses, what friction has taken
derivative   (t, y, open parameters) -> dy/dt
view         (t, q, qd, open parameters) -> torques, accelerations, kinetic and potential energy
"""

from __future__ import annotations

from dataclasses import dataclass

from armwright.algebra import Scalar
from armwright.chain import Chain
from armwright.formulations import find
from armwright.formulations.parts.actuators import friction
from armwright.graph.angles import written_out
from armwright.graph.differentiate import derivatives
from armwright.graph.expression import Expr, Graph
from armwright.graph.program import Program
from armwright.graph.replay import replaced
from armwright.model.description import Description
from armwright.model.vary import check, varied
from armwright.torque import Law, Moment
from armwright.trace.choose import cheapest
from armwright.trace.tracing import Request


@dataclass(frozen=True)
class Driven:
    """Forward dynamics of a robot with the torques of a law in place of its last argument, in one graph."""

    time: Expr
    q: tuple[Expr, ...]
    qd: tuple[Expr, ...]
    parameters: tuple[Expr, ...]
    torques: list[Scalar]
    drag: list[Scalar]
    accelerations: list[Scalar]
    chain: Chain

    @property
    def arguments(self) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
        return (("p", self.parameters),) if self.parameters else ()


def driven(robot: Description, law: Law, vary: tuple[str, ...] = ()) -> Driven:
    program = cheapest(Request("forward_dynamics", robot, (), vary)).program
    (_, q), (_, qd), (_, tau), *opened = program.arguments
    graph: Graph = q[0].graph
    time = graph.input("t")
    torques, drag = law.shared(Moment(time, q, qd, robot.chain()))
    total = [a + b for a, b in zip(torques, drag, strict=True)]
    accelerations = replaced(program.outputs, dict(zip(tau, total, strict=True)))
    values = dict(opened)
    chain = varied(robot, values) if check(robot, vary) else robot.chain()
    parameters = tuple(x for symbols in values.values() for x in symbols)
    return Driven(time, q, qd, parameters, torques, drag, accelerations, chain)


def derivative(motion: Driven) -> Program:
    """dy/dt of y = (q, qd, work, losses)."""
    graph = motion.time.graph
    power: Scalar = 0
    loss: Scalar = 0
    rubbing = friction(motion.chain, motion.qd)
    for tau, drag, rub, speed in zip(motion.torques, motion.drag, rubbing, motion.qd, strict=True):
        power, loss = power + tau * speed, loss + (rub - drag) * speed
    carried = (graph.input("work"), graph.input("losses"))
    y = (*motion.q, *motion.qd, *carried)
    outputs = (*motion.qd, *motion.accelerations, power, loss)
    return written_out(Program((("t", (motion.time,)), ("y", y), *motion.arguments), outputs, (len(outputs),)))


def jacobian(program: Program) -> Program:
    """The derivatives of dy/dt by y, row by row: what implicit methods want."""
    y = program.arguments[1][1]
    columns = [derivatives(program.outputs, x) for x in y]
    size = len(y)
    entries = tuple(columns[j][i] for i in range(size) for j in range(size))
    return Program(program.arguments, entries, (size, size))


def view(motion: Driven) -> Program:
    """Torques of the drives, accelerations, torques of friction laws, kinetic and potential energy."""
    q, qd = list(motion.q), list(motion.qd)
    kinetic = find("kinetic_energy")(motion.chain, q, qd)
    potential = find("potential_energy")(motion.chain, q)
    outputs = (*motion.torques, *motion.accelerations, *motion.drag, kinetic, potential)
    arguments = (("t", (motion.time,)), ("q", motion.q), ("qd", motion.qd), *motion.arguments)
    return written_out(Program(arguments, outputs, (len(outputs),)))
