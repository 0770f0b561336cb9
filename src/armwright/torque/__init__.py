"""Torque laws: the torques that drive a robot, over any scalar, so that they compile together with the dynamics.

A law computes the torques at one moment (t, q, qd). Laws add up (`a + b`), can be limited (`a.limited(...)`), and may
have memory, which is integrated with the motion. `LAWS` is the registry for scenario files, documents and tests.

| module               | content                                                     |
|----------------------|-------------------------------------------------------------|
| `moment`             | the time and state at which torques are computed            |
| `law`                | `Law`, the base of all laws, and their sums and limits      |
| `prescribed`         | no torque, numbers, a table, a Python function              |
| `random_torque`      | random torques                                              |
| `passive`            | springs, dampers, friction, stops                           |
| `tracking`           | controllers that follow a position or a motion              |
| `laws`               | the registry                                                |
| `conversion`         | a user's torque argument as a law                           |
| `runtime_parameters` | the structure of a law, apart from its numbers              |
"""

from armwright.former_names import add_former_names
from armwright.torque.conversion import as_law
from armwright.torque.law import Law, Limited, Sum
from armwright.torque.laws import LAWS, LawEntry, LawParameter
from armwright.torque.moment import Moment
from armwright.torque.passive import Friction, SpringDamper, Stops, friction, spring_damper, stops
from armwright.torque.prescribed import Called, Constant, Free, Table, constant, interpolated, table
from armwright.torque.random_torque import Noise, noise
from armwright.torque.tracking import (
    PD,
    PID,
    ComputedTorque,
    FeedForward,
    PDGravity,
    Tracking,
    computed_torque,
    feed_forward,
    pd,
    pd_gravity,
    pid,
)

__all__ = [
    "LAWS",
    "PD",
    "PID",
    "Called",
    "ComputedTorque",
    "Constant",
    "FeedForward",
    "Free",
    "Friction",
    "Law",
    "LawEntry",
    "LawParameter",
    "Limited",
    "Moment",
    "Noise",
    "PDGravity",
    "SpringDamper",
    "Stops",
    "Sum",
    "Table",
    "Tracking",
    "as_law",
    "computed_torque",
    "constant",
    "feed_forward",
    "friction",
    "interpolated",
    "noise",
    "pd",
    "pd_gravity",
    "pid",
    "spring_damper",
    "stops",
    "table",
]


add_former_names(
    __name__,
    Form="runtime_parameters.Structure",
    Kind="LawEntry",
    MOST_PIECES="prescribed.MAX_COMPILED_INTERVALS",
    OpenMotion="tracking.ReferenceInputs",
    Opened="runtime_parameters.Parameterised",
    REFUSED="random_torque.NOISE_ERROR",
    Reference="law.Reference",
    built_in="runtime_parameters.is_built_in",
    law_for="conversion.law_for",
    numbers_of="runtime_parameters.parameterise",
    opened="tracking.with_reference_inputs",
    rates_of="law.rates_of",
    shared_of="law.shared_of",
    together="runtime_parameters.merged_laws",
    torques_of="law.torques_of",
)
