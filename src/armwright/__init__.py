"""armwright: the dynamics of robots, by every published formulation, checked against each other."""

from armwright import integrate, sizing, torque, trajectory
from armwright.errors import (
    ArmwrightError,
    InfeasibleError,
    InputError,
    ModelError,
    ModelWarning,
    SimulationError,
    SingularError,
    SlowWarning,
    UnknownNameError,
    UnreachableError,
)
from armwright.export import export
from armwright.formulations import formulations
from armwright.function import compile  # noqa: A004
from armwright.graph import OperationCount
from armwright.load import load
from armwright.load import packaged as robots
from armwright.robot import Robot, random_robot
from armwright.rules import problems
from armwright.simulation import BatchRun, Run, events, simulate, simulate_batch, stepper, torques_along
from armwright.sizing import size
from armwright.study.operation_counts import count_operations
from armwright.sweep import Study, open_study

__version__ = "0.1.0"

__all__ = [
    "ArmwrightError",
    "BatchRun",
    "InfeasibleError",
    "InputError",
    "ModelError",
    "ModelWarning",
    "OperationCount",
    "Robot",
    "Run",
    "SimulationError",
    "SingularError",
    "SlowWarning",
    "Study",
    "UnknownNameError",
    "UnreachableError",
    "compile",
    "count_operations",
    "events",
    "export",
    "formulations",
    "integrate",
    "load",
    "open_study",
    "problems",
    "random_robot",
    "robots",
    "simulate",
    "simulate_batch",
    "size",
    "sizing",
    "stepper",
    "torque",
    "torques_along",
    "trajectory",
]
