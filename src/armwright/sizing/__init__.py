"""Which motor and gearbox for each joint: actuators, catalogues of them, and the search for the best set.

found = size(robot, motions, payloads, catalogue, objective="mass")
found.best.actuators, found.fitted                what is chosen, and the robot with it
fitted(robot, actuators)                          a robot with actuators of one's own choice
"""

import warnings
from typing import Any

from armwright.actuators import catalogue
from armwright.actuators.actuator import Actuator, Brake, Cylinder, CylinderLever, Gearbox, Hydraulic, Motor
from armwright.actuators.assignment import fitted, without_drives
from armwright.actuators.catalogue import Catalogue, packaged, read
from armwright.sizing import request, scaling
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
    "request",
    "scaling",
    "size",
    "without_drives",
]


def __getattr__(name: str) -> Any:
    if name == "Lever":
        warnings.warn("sizing.Lever goes in 0.4; use sizing.CylinderLever", DeprecationWarning, stacklevel=2)
        return CylinderLever
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
