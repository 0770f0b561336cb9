"""Events: zeros of numbers that depend on time and state, which may end a motion.

aw.simulate(arm, law, events=[aw.events.limits(), aw.events.plane((0, 0, 1), 0.05)])

These are compiled with the motion; `armwright.integrate.Event` has a Python function of (t, y), which is slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright import arrays
from armwright.algebra import Array, Scalar, dot
from armwright.errors import ArmwrightError, InputError
from armwright.former_names import add_former_names
from armwright.formulations import find_formulation
from armwright.graph.expression import Comparison, Expr, Graph
from armwright.integrate import events as python
from armwright.layout import Layout
from armwright.mechanism import Mechanism
from armwright.model.description import Description
from armwright.model.link_names import joint_index
from armwright.torque import Moment
from armwright.torque.passive import reversed_limits_message
from armwright.torque.runtime_parameters import Structure

__all__ = ["Event", "limits", "plane", "position", "speed", "when"]

ModelAtFrame: TypeAlias = Callable[[str | None], Mechanism]
"""Returns the model of the robot with a frame, by default the tool, as its task frame."""


class EventQuantity(Protocol):
    """A number that depends on time and state, over any scalar.

    Implementations are frozen dataclasses; their numbers, floats or arrays (rollouts,) in tuples, become runtime
    parameters.
    """

    def value(self, at: Moment, model_at: ModelAtFrame) -> Scalar: ...


EventStructure: TypeAlias = "Structure[tuple[EventQuantity, ...]]"
"""Events without their numbers."""


@dataclass(frozen=True)
class RobotEvent:
    """A quantity of one robot whose zero ends a motion, or is only recorded if the event is not `terminal`.

    A motion must start on the inner side of a `limit`.
    """

    name: str
    quantity: EventQuantity
    direction: int = 0
    terminal: bool | int = True
    limit: bool = False


@dataclass(frozen=True)
class Event:
    """The result of `limits`, `position`, `speed`, `plane` and `when`; `on` returns its events on a robot."""

    on: Callable[[Description], list[RobotEvent]]
    name: str
    terminal: bool | int = True

    def __repr__(self) -> str:
        return f"<event: {self.name}>"

    def after(self, times: int) -> Event:
        """Return the event that ends a run when it happens for this number of times."""
        return Event(lambda robot: [replace(one, terminal=times) for one in self.on(robot)], self.name, times)


def limits(*joints: str | int, terminal: bool | int = True) -> Event:
    """Return the event that a joint reaches a limit: any joint with limits, or these by name or number from 0."""

    def on(robot: Description) -> list[RobotEvent]:
        chosen = [joint_index(robot, joint) for joint in joints] or list(range(robot.n))
        found: list[RobotEvent] = []
        for i in chosen:
            joint = robot.joints[i]
            if joint.limits is not None and not joint.limits[0] <= joint.limits[1]:
                raise InputError(f"events.limits: {reversed_limits_message(joint)}")
            if joints and joint.limits is None:
                raise InputError(f"events.limits: {joint.name} has no limits; expected a joint with limits")
            for bound, side in zip(joint.limits or (), ("lower", "upper"), strict=False):
                name = f"{joint.name} reaches its {side} limit {bound:g}"
                outward = -1 if side == "lower" else 1
                reached = JointPosition(_entry(robot, i), (float(bound),))
                found.append(RobotEvent(name, reached, outward, terminal, limit=True))
        if not found:
            raise InputError(f"events.limits: no joint of {robot.name} has limits; expected a robot with limits")
        return found

    return _event(on, "a joint reaches a limit", terminal)


def position(
    joint: str | int, value: ArrayLike, direction: int = 0, terminal: bool | int = True, name: str = ""
) -> Event:
    """Return the event that a joint, by its name or number from 0, passes a position (in a batch one for each rollout).

    The direction is upwards (1), downwards (-1) or either (0).
    """
    levels = _numbers("value", value)

    def on(robot: Description) -> list[RobotEvent]:
        i = joint_index(robot, joint)
        title = name or f"{robot.joints[i].name} at {_level_text(levels[0])}"
        return [RobotEvent(title, JointPosition(_entry(robot, i), levels), direction, terminal)]

    return _event(on, name or f"{_joint_title(joint)} at {_level_text(levels[0])}", terminal, direction)


def speed(joint: str | int, most: ArrayLike, terminal: bool | int = True, name: str = "") -> Event:
    """Return the event that a joint, by its name or number from 0, exceeds a speed in either direction."""
    levels = _numbers("most", most)
    if np.min(levels[0]) <= 0:
        raise InputError(f"most = {most!r}: expected a speed above zero")

    def on(robot: Description) -> list[RobotEvent]:
        i = joint_index(robot, joint)
        title = name or f"{robot.joints[i].name} faster than {_level_text(levels[0])}"
        return [RobotEvent(title, JointSpeed(i, levels), 1, terminal)]

    return _event(on, name or f"{_joint_title(joint)} faster than {_level_text(levels[0])}", terminal)


def plane(
    normal: ArrayLike,
    distance: ArrayLike,
    frame: str | None = None,
    direction: int = 0,
    terminal: bool | int = True,
    name: str = "",
) -> Event:
    """Return the event that the origin of a frame, by default the tool, passes a plane with a normal and distance."""
    expected = "expected three numbers, not all zero, such as (0, 0, 1)"
    along = np.asarray(arrays.numbers("normal", normal, expected), dtype=float)
    length = float(np.linalg.norm(along)) if along.shape == (3,) else 0.0
    if not 0 < length < np.inf:
        raise InputError(f"normal = {normal!r}: {expected}")
    levels, unit = _numbers("distance", distance), tuple((along / length).tolist())

    def on(robot: Description) -> list[RobotEvent]:
        if frame is not None:
            robot.frame(frame)
        axis = ", ".join(f"{x:g}" for x in along)
        title = name or f"{frame or 'the tool'} passes the plane at {_level_text(levels[0])} along ({axis})"
        return [RobotEvent(title, PlaneDistance(frame, unit, levels), direction, terminal)]

    return _event(on, name or f"{frame or 'the tool'} passes a plane", terminal, direction)


def when(
    function: Callable[..., Scalar],
    numbers: Sequence[ArrayLike] = (),
    direction: int = 0,
    terminal: bool | int = True,
    name: str = "",
) -> Event:
    """Return the event that a function (t, q, qd, *numbers) crosses zero.

    The function consists of arithmetic and functions of `armwright.algebra`. It may also be a comparison, such as
    q[0] > 0.5, or several joined by & | ~: the event is then that it becomes true (direction 1), false (-1) or either
    (0). The function is called once, with symbols, and compiled; `numbers` are runtime parameters, one or one for each
    rollout.
    """
    if not callable(function):
        raise InputError(f"events.when got {function!r}; expected a function of (t, q, qd)")
    if not isinstance(numbers, (tuple, list)):
        raise InputError(f"numbers = {numbers!r}: expected a list, one entry for each further argument of the function")
    values = tuple(_numbers("numbers", x)[0] for x in numbers)
    title = name or getattr(function, "__name__", "event").replace("<lambda>", "event")
    event = RobotEvent(title, FunctionQuantity(function, values), direction, terminal)
    return _event(lambda _: [event], title, terminal, direction)


@dataclass(frozen=True)
class JointPosition:
    """An entry of q less a level."""

    place: int
    level: tuple[float, ...]

    def value(self, at: Moment, model_at: ModelAtFrame) -> Scalar:
        return at.q[self.place] - self.level[0]


@dataclass(frozen=True)
class JointSpeed:
    """The square of a speed less the square of its bound."""

    place: int
    most: tuple[float, ...]

    def value(self, at: Moment, model_at: ModelAtFrame) -> Scalar:
        return at.qd[self.place] * at.qd[self.place] - self.most[0] * self.most[0]


@dataclass(frozen=True)
class PlaneDistance:
    """The distance of the origin of a frame from a plane."""

    frame: str | None
    normal: tuple[float, ...]
    distance: tuple[float, ...]

    def value(self, at: Moment, model_at: ModelAtFrame) -> Scalar:
        pose = find_formulation("forward_kinematics")(model_at(self.frame), list(at.q))
        return dot(self.normal, [pose[k][3] for k in range(3)]) - self.distance[0]


@dataclass(frozen=True)
class FunctionQuantity:
    """A function of (t, q, qd, *numbers)."""

    function: Callable[..., Scalar]
    numbers: tuple[float, ...]

    def value(self, at: Moment, model_at: ModelAtFrame) -> Scalar:
        return self.function(at.t, at.q, at.qd, *self.numbers)


def events_on(robot: Description, events: Any) -> tuple[RobotEvent | python.Event, ...]:
    """Return the events on one robot."""
    listed = tuple(events) if isinstance(events, Iterable) else (events,)
    found: list[RobotEvent | python.Event] = []
    for event in listed:
        if isinstance(event, python.Event):
            found.append(event)
        elif isinstance(event, Event):
            found += event.on(robot)
        else:
            raise InputError(
                f"events = {events!r}: expected a list of events of armwright.events, such as events.limits(), or of "
                "armwright.integrate.Event"
            )
    return tuple(found)


START_TOLERANCE = 1e-9
"""The distance, rad or m, beyond its limit at which a joint may start."""


def with_start_tolerance(events: Sequence[RobotEvent], q0: Array) -> tuple[RobotEvent, ...]:
    """Return events of motions from q0 (..., nq), limits at which they start being moved by twice `START_TOLERANCE`.

    Raise an InputError for a start beyond a limit, which would never be reached.
    """
    return tuple(_with_tolerance(event, q0) if event.limit else event for event in events)


def _with_tolerance(event: RobotEvent, q0: Array) -> RobotEvent:
    reached = event.quantity
    assert isinstance(reached, JointPosition)
    beyond = (q0[..., reached.place] - reached.level[0]) * event.direction
    if np.any(beyond > START_TOLERANCE):
        raise InputError(
            f"{event.name}: the motion begins {float(np.max(beyond)):.3g} beyond it; expected a start within all "
            "limits of events.limits, or other joints"
        )
    if np.all(beyond < -START_TOLERANCE):
        return event
    return replace(event, quantity=replace(reached, level=(reached.level[0] + 2 * START_TOLERANCE * event.direction,)))


def event_expressions(
    structure: EventStructure, graph: Graph, at: Moment, model_at: ModelAtFrame
) -> tuple[list[Expr], list[Expr]]:
    """Return the quantities as expressions of a graph, and the inputs for their runtime parameters."""
    quantities, numbers = structure.in_graph(graph, "event")
    return [_expression(quantity, at, model_at, graph) for quantity in quantities], list(numbers)


def _expression(quantity: EventQuantity, at: Moment, model_at: ModelAtFrame, graph: Graph) -> Expr:
    try:
        value = quantity.value(at, model_at)
        if isinstance(value, Comparison):
            return value.margin
        if isinstance(value, (bool, np.bool_)):
            raise TypeError(f"it is {value} for every state")
        return value if isinstance(value, Expr) else graph.constant(float(value))
    except ArmwrightError:
        raise
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        function = getattr(quantity, "function", quantity)
        raise InputError(
            f"event {function!r} cannot be compiled: {error}; expected arithmetic of t, q[i], qd[i] and functions of "
            "armwright.algebra, or comparisons of these joined by & | ~ in place of and, or, not. "
            "armwright.integrate.Event takes any Python function of (t, y)"
        ) from None


def python_event(event: RobotEvent, robot: Description, layout: Layout) -> python.Event:
    """Return the event as a Python function of (t, y), for integration from Python."""
    mechanism = robot.mechanism()

    def model_at(frame: str | None) -> Mechanism:
        return robot.with_task_frame(frame).mechanism()

    def function(t: Any, y: Array) -> Any:
        parts = layout.split(y)
        q, qd, memory = (list(parts[name]) for name in ("q", "qd", "memory"))  # of NumPy, which can join comparisons
        return event.quantity.value(Moment(np.float64(t), q, qd, mechanism, memory), model_at)

    return python.Event(function, event.terminal, event.direction, event.name)


def _event(on: Callable[[Description], list[RobotEvent]], name: str, terminal: Any, direction: int = 0) -> Event:
    python.Event(lambda t, y: 0.0, terminal, direction, name)  # checks the arguments
    return Event(on, name, terminal)


def _joint_title(joint: str | int) -> str:
    """Return the title of a joint of an unknown robot."""
    return joint if isinstance(joint, str) else f"joint number {joint}"


def _entry(robot: Description, i: int) -> int:
    """Return the entry of q of a freedom; raise an InputError if it is a rotation of a quaternion."""
    for ball in robot.balls:
        first_rotation = ball.coordinate + ball.unit_vector.start - ball.first_entry
        if ball.coordinate <= i < first_rotation:
            return ball.first_entry + i - ball.coordinate
        if first_rotation <= i < ball.coordinate + ball.freedoms:
            raise InputError(
                f"{robot.joints[i].name} is a rotation of a {ball.kind} joint, which has no coordinate; expected "
                "another joint, or events.when with a function of q"
            )
    return robot.entries[i]


def _numbers(name: str, value: ArrayLike) -> tuple[Any, ...]:
    """Return one number, or one for each rollout, as a tuple."""
    expected = "expected one finite number, or one for each rollout"
    array = np.asarray(arrays.numbers(name, value, expected), dtype=float)
    if array.ndim > 1 or not array.size or not np.isfinite(array).all():
        raise InputError(f"{name} = {value!r}: {expected}")
    return (array if array.ndim else float(array),)


def _level_text(level: Any) -> str:
    return f"{level:g}" if isinstance(level, float) else "its own value"


add_former_names(
    __name__,
    Called="FunctionQuantity",
    Plane="PlaneDistance",
    Position="JointPosition",
    Quantity="EventQuantity",
    Speed="JointSpeed",
    Watched="RobotEvent",
    called="python_event",
    on_robot="events_on",
    started="with_start_tolerance",
    values="event_expressions",
)
