"""What drives a robot: torque laws, written over any scalar so that they compile together with the dynamics.

A law gives the torques of one moment (t, q, qd). Laws add up (`a + b`) and can be limited (`a.limited(...)`), and they
may remember: what a law remembers is integrated with the motion. `LAWS` is the one list of them that tests, scenario
files and documents run over.

| here       | which laws                                     |
|------------|------------------------------------------------|
| `given`    | none, numbers, a table, a Python function      |
| `drawn`    | random torques                                 |
| `passive`  | springs, dampers, friction, stops              |
| `tracking` | controllers that follow a position or a motion |
| `combined` | sums and limits                                |
| `opening`  | any of them without its numbers                |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np

from armwright.errors import InputError
from armwright.lazy import cached_property
from armwright.model.description import Description
from armwright.model.unit import checked_unit
from armwright.torque.combined import Limited, Sum
from armwright.torque.drawn import REFUSED, Noise, noise
from armwright.torque.given import MOST_PIECES, Called, Constant, Free, Table, constant, interpolated, table
from armwright.torque.law import Law, Moment, Reference, check_models, rates_of, shared_of, torques_of
from armwright.torque.passive import Friction, SpringDamper, Stops, friction, spring_damper, stops
from armwright.torque.runtime_parameters import Form, Opened, built_in, numbers_of, together
from armwright.torque.tracking import (
    PD,
    PID,
    ComputedTorque,
    FeedForward,
    OpenMotion,
    PDGravity,
    Tracking,
    computed_torque,
    feed_forward,
    opened,
    pd,
    pd_gravity,
    pid,
)
from armwright.trajectory import Trajectory
from armwright.trajectory.inputs import check_numbers

__all__ = [
    "LAWS",
    "MOST_PIECES",
    "PD",
    "PID",
    "REFUSED",
    "Called",
    "ComputedTorque",
    "Constant",
    "FeedForward",
    "Form",
    "Free",
    "Friction",
    "Kind",
    "Law",
    "Limited",
    "Moment",
    "Noise",
    "OpenMotion",
    "Opened",
    "PDGravity",
    "Reference",
    "SpringDamper",
    "Stops",
    "Sum",
    "Table",
    "Tracking",
    "as_law",
    "built_in",
    "computed_torque",
    "constant",
    "feed_forward",
    "friction",
    "interpolated",
    "law_for",
    "noise",
    "numbers_of",
    "opened",
    "pd",
    "pd_gravity",
    "pid",
    "rates_of",
    "shared_of",
    "spring_damper",
    "stops",
    "table",
    "together",
    "torques_of",
]


@dataclass(frozen=True)
class Kind:
    """How a law is made from numbers; `follows` says that a target comes first. `example` is one for any robot."""

    make: Callable[..., Law]
    example: Mapping[str, Any] = field(default_factory=dict)
    follows: bool = False

    @cached_property
    def parameters(self) -> dict[str, bool]:
        """The names of the numbers, and whether each must be given."""
        listed = list(signature(self.make).parameters.values())[1 if self.follows else 0 :]
        return {p.name: p.default is Parameter.empty for p in listed if p.name != "model"}


LAWS = {
    "free": Kind(Free),
    "constant": Kind(constant, {"values": 1.0}),
    "table": Kind(table, {"times": [0, 0.3, 2.0], "torques": [[0], [1], [0.5]]}),
    "spring_damper": Kind(spring_damper, {"stiffness": 20.0, "damping": 1.0, "rest": 0.2}),
    "friction": Kind(friction, {"viscous": 0.5, "coulomb": 0.2, "smooth": 0.01}),
    "pd": Kind(pd, {"kp": 20.0, "kd": 2.0}, follows=True),
    "pid": Kind(pid, {"kp": 20.0, "ki": 10.0, "kd": 2.0}, follows=True),
    "pd_gravity": Kind(pd_gravity, {"kp": 20.0, "kd": 2.0}, follows=True),
    "computed_torque": Kind(computed_torque, {"kp": 100.0, "kd": 20.0}, follows=True),
    "feed_forward": Kind(feed_forward, {"kp": 10.0, "kd": 1.0}, follows=True),
}
"""Every law by its name; the example of a table has one column, which tests repeat for every joint."""


def law_for(torque: Any, robot: Description) -> Law:
    """None (free), numbers, a law or a Python function as a law for this robot."""
    if isinstance(torque, Law) and torque.reference is not None:
        check_numbers(robot, "a law that follows a trajectory")
    law = as_law(torque, robot.n, robot.nq)
    check_models(law, robot)
    law.check(robot)
    for name, position in law.positions.items():
        checked_unit(robot, name, np.stack(np.broadcast_arrays(*position), axis=-1))
    return law.sized(robot.n)


def as_law(torque: Any, n: int, nq: int | None = None) -> Law:
    """None (free), numbers, a law or a Python function as a law for n joints, or freedoms where q has `nq` entries.

    Numbers of shape (rollouts, n) are for a batch.
    """
    places = n if nq is None else nq
    if torque is None:
        return Free()
    if isinstance(torque, Law):
        law: Law = _seen_through(torque)
    elif isinstance(torque, Trajectory):
        raise InputError(
            "torque is a trajectory, which says where to be, not how to get there; use "
            "torque.computed_torque(trajectory, kp, kd) or torque.feed_forward(trajectory)"
        )
    elif callable(torque):
        law = Called(torque)
    else:
        law = constant(torque)
    if law.n not in (None, n):
        what, also = ("joints", "") if places == n else ("freedoms", ", those of ball, free and planar joints included")
        raise InputError(f"the torque law is for {law.n} {what}; the robot has {n}{also}")
    if law.nq not in (None, places):
        if places == n:
            raise InputError(f"the torque law is for {law.nq} joints; the robot has {n}")
        raise InputError(
            f"the torque law is for positions of {law.nq} entries; q of the robot has {places}, one more than freedoms "
            "for each ball, free or planar joint: see robot.neutral"
        )
    return law


def _seen_through(law: Law) -> Law:
    """A law whose numbers are its fields, so that one with other numbers is not taken for the same."""
    if not is_dataclass(law):
        raise InputError(
            f"torque law {type(law).__name__} is no dataclass, so nobody can tell its numbers from its structure; "
            "expected @dataclass(frozen=True) before the class, and its numbers as fields"
        )
    for part in law.made_of:
        _seen_through(part)
    return law
