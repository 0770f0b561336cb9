"""Motions: robot, torque law and integrator in one compiled loop, and what there is to say about the result.

run = simulate(robot, law, duration=2.0)          one motion, audited
batch = simulate_batch(robot, law, q0=states)     many at once
run = torques_along(robot, trajectory)            inverse dynamics along a motion
"""

from armwright.simulation.along import torques_along
from armwright.simulation.audit import Audit, Deviation, Doubt
from armwright.simulation.batch import simulate_batch
from armwright.simulation.run import BatchRun, Found, Run, Statistics
from armwright.simulation.simulate import limits, simulate
from armwright.simulation.utilisation import Use, Utilisation

__all__ = [
    "Audit",
    "BatchRun",
    "Deviation",
    "Doubt",
    "Found",
    "Run",
    "Statistics",
    "Use",
    "Utilisation",
    "limits",
    "simulate",
    "simulate_batch",
    "torques_along",
]
