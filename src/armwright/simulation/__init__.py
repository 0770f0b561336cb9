"""Motions: robot, torque law and integrator in one compiled loop, and audits of the result.

run = simulate(robot, law, duration=2.0)          one motion, audited
batch = simulate_batch(robot, law, q0=states)     many at once
stepper(robot, dt=0.01).step(q, qd, tau)          from one state to the next, torques from outside
run = simulate_phases([Phase(robot, law), ...])   one phase after the other, with other payloads
run = torques_along(robot, trajectory)            inverse dynamics along a motion
"""

from armwright.simulation import events
from armwright.simulation.audit import Audit
from armwright.simulation.batch import simulate_batch
from armwright.simulation.batch_run import BatchRun
from armwright.simulation.deviation import Deviation
from armwright.simulation.doubts import Doubt
from armwright.simulation.gauges import Gauge, GaugedMoment
from armwright.simulation.measures import MEASURES, GaugeTotals, Measure
from armwright.simulation.phases import Phase, simulate_phases
from armwright.simulation.prescribed_motion import torques_along
from armwright.simulation.run import Run
from armwright.simulation.run_files import DetectedEvent, Statistics
from armwright.simulation.simulate import simulate
from armwright.simulation.stepper import Stepper, stepper
from armwright.simulation.utilisation import Use, Utilisation

__all__ = [
    "MEASURES",
    "Audit",
    "BatchRun",
    "DetectedEvent",
    "Deviation",
    "Doubt",
    "Gauge",
    "GaugeTotals",
    "GaugedMoment",
    "Measure",
    "Phase",
    "Run",
    "Statistics",
    "Stepper",
    "Use",
    "Utilisation",
    "events",
    "simulate",
    "simulate_batch",
    "simulate_phases",
    "stepper",
    "torques_along",
]
