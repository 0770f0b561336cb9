"""The motion record: a motion without its numbers, the input of compilation and the key of the compile cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from armwright.layout import Layout
from armwright.lazy import cached_property
from armwright.model.description import Description
from armwright.simulation.events import EventStructure
from armwright.simulation.gauges import GaugeStructure
from armwright.simulation.momentum import is_free
from armwright.torque import Law
from armwright.torque.runtime_parameters import Structure

HOST_TARGET = "cpu"
"""The target of motions that are simulated one at a time, and the default of batches."""


@dataclass(frozen=True, eq=False)
class MotionRecord:
    """Everything that determines the code of a motion, except its runtime parameters.

    These are, in this order, those of the robot (`vary`, then `shared`), the law, a reference motion, the events and
    the gauges. A law without `Structure` has constant numbers.
    """

    robot: Description
    law: Law | Structure[Law]
    vary: tuple[str, ...] = ()
    """Parameters of the robot that the law ignores."""
    shared: tuple[str, ...] = ()
    """Parameters of the robot that the law uses; robots that differ only in them share this code."""
    events: EventStructure | None = None
    directions: tuple[int, ...] = ()
    """The direction in which each event crosses zero: 1, -1, or 0 for either."""
    gauges: GaugeStructure | None = None

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """The key of the cache. A law that cannot be hashed counts by its identity."""
        try:
            law: Any = (hash(self.law), self.law)
        except TypeError:
            law = id(self.law)
        return self.robot, law, self.vary, self.shared, self.events, self.directions, self.gauges

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MotionRecord) and self.key == other.key

    @property
    def template(self) -> Law:
        """The law with the numbers of its first user."""
        return self.law.template if isinstance(self.law, Structure) else self.law

    @cached_property
    def layout(self) -> Layout:
        """The parts of the state."""
        return layout_of(self.robot, self.template)

    @cached_property
    def dynamics(self) -> MotionRecord:
        """The same motion without events and gauges."""
        return replace(self, events=None, directions=(), gauges=None)


def layout_of(robot: Description, law: Law) -> Layout:
    """Return the parts of the state of a robot under a law."""
    unit_vectors = tuple((ball.unit_vector.start, ball.unit_vector.stop) for ball in robot.balls)
    return Layout.of_motion(robot.nq, robot.n, len(law.start(robot.n)), unit_vectors, is_free(robot))
