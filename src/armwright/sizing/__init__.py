"""Which motor and gearbox for each joint: actuators, catalogues of them, and the search for the best set.

found = size(robot, motions, payloads, catalogue, objective="mass")
found.best.actuators, found.fitted                what is chosen, and the robot with it
fitted(robot, actuators)                          a robot with actuators of one's own choice
"""

from armwright.actuators import catalogue
from armwright.actuators.actuator import Actuator, Brake, Cylinder, Gearbox, Hydraulic, Lever, Motor
from armwright.actuators.catalogue import Catalogue, packaged, read
from armwright.actuators.fit import fitted, without_drives
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
    "Gearbox",
    "Hydraulic",
    "Lever",
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
