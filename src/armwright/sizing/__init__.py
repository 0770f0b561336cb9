"""Sizing of actuators: motors and gearboxes for each joint, catalogues, and the search for the best set.

found = size(robot, motions, payloads, catalogue, objective="mass")
found.best.actuators, found.fitted                the best set, and the robot with it
fitted(robot, actuators)                          a robot with custom actuators
"""

import warnings as _warnings
from typing import Any as _Any

from armwright.actuators import catalogue
from armwright.actuators.actuator import Actuator, Brake, Cylinder, CylinderLever, Gearbox, Hydraulic, Motor
from armwright.actuators.assignment import fitted, without_drives
from armwright.actuators.catalogue import Catalogue, packaged, read
from armwright.sizing import scaling, sizing_file
from armwright.sizing.result import ActuatorSet, Chosen, Sizing
from armwright.sizing.size import margins, size

__all__ = [
    "Actuator",
    "ActuatorSet",
    "Brake",
    "Catalogue",
    "Chosen",
    "Cylinder",
    "CylinderLever",
    "Gearbox",
    "Hydraulic",
    "Motor",
    "Sizing",
    "catalogue",
    "fitted",
    "margins",
    "packaged",
    "read",
    "scaling",
    "size",
    "sizing_file",
    "without_drives",
]


_RENAMED = {"Lever": "CylinderLever", "request": "sizing_file"}
"""Deprecated names, and the names that replace them."""


def __getattr__(name: str) -> _Any:
    """Return an object by its deprecated name, with a warning."""
    if name in _RENAMED:
        text = f"sizing.{name} will be removed in 0.4; use sizing.{_RENAMED[name]}"
        _warnings.warn(text, DeprecationWarning, stacklevel=2)
        return globals()[_RENAMED[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
