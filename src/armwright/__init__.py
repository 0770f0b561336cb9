"""armwright: the dynamics of robots, by every published formulation, checked against each other.

Names are imported on first use (PEP 562), so that simple commands do not load the compiler.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armwright import errors, integrate, sizing, torque, trajectory
    from armwright.draws import draws
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
    from armwright.extensions import register
    from armwright.formulations import formulations
    from armwright.function import compile  # noqa: A004
    from armwright.graph import OperationCount
    from armwright.load import load
    from armwright.load import packaged as robots
    from armwright.robot import Robot, random_robot
    from armwright.rules import problems
    from armwright.simulation import BatchRun, Phase, Run, events, simulate_batch, simulate_phases, torques_along
    from armwright.simulation.simulate import simulate
    from armwright.simulation.stepper import stepper
    from armwright.sizing.size import size
    from armwright.study.operation_counts import count_operations
    from armwright.sweep import Study, open_study

__version__ = "0.2.0"

__all__ = [
    "ArmwrightError",
    "BatchRun",
    "InfeasibleError",
    "InputError",
    "ModelError",
    "ModelWarning",
    "OperationCount",
    "Phase",
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
    "draws",
    "errors",
    "events",
    "export",
    "formulations",
    "integrate",
    "load",
    "open_study",
    "problems",
    "random_robot",
    "register",
    "robots",
    "simulate",
    "simulate_batch",
    "simulate_phases",
    "size",
    "sizing",
    "stepper",
    "torque",
    "torques_along",
    "trajectory",
]

_NAMES_BY_MODULE = {
    "draws": ["draws"],
    "errors": [name for name in __all__ if name.endswith(("Error", "Warning"))],
    "export": ["export"],
    "extensions": ["register"],
    "formulations": ["formulations"],
    "function": ["compile"],
    "graph": ["OperationCount"],
    "load": ["load", "packaged as robots"],
    "robot": ["Robot", "random_robot"],
    "rules": ["problems"],
    "simulation": [
        *("BatchRun", "Phase", "Run", "events", "simulate", "simulate_batch", "simulate_phases"),
        *("stepper", "torques_along"),
    ],
    "sizing": ["size"],
    "study.operation_counts": ["count_operations"],
    "sweep": ["Study", "open_study"],
}
"""The public names by module; the other public names are subpackages."""

_HOMES = {
    entry.split(" as ")[-1]: (f"{__name__}.{module}", entry.split(" as ")[0])
    for module, entries in _NAMES_BY_MODULE.items()
    for entry in entries
}


class _Package(ModuleType):
    """A package in which importing a module does not hide a function of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    if not TYPE_CHECKING:  # type checkers report unknown names

        def __getattr__(self, name: str) -> Any:
            if name in _HOMES:
                module, inside = _HOMES[name]
                value = self.__dict__[name] = getattr(import_module(module), inside)
                return value
            module = f"{__name__}.{name}"
            if not name.startswith("_"):
                try:
                    return import_module(module)
                except ModuleNotFoundError as error:
                    if error.name != module:
                        raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*(name for name in super().__dir__() if name.startswith("__")), *__all__})


sys.modules[__name__].__class__ = _Package
