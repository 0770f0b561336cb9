"""Sizing of actuators: motors and gearboxes for each joint, catalogues, and the search for the best set.

found = size(robot, motions, payloads, catalogue, objective="mass")
found.best.actuators, found.fitted                the best set, and the robot with it
fitted(robot, actuators)                          a robot with custom actuators
"""

from armwright.actuators import catalogue
from armwright.actuators.actuator import Actuator, Brake, Cylinder, CylinderLever, Gearbox, Hydraulic, Motor
from armwright.actuators.assignment import fitted, without_drives
from armwright.actuators.catalogue import Catalogue, packaged, read
from armwright.former_names import add_former_names
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


add_former_names(__name__, Lever="CylinderLever", request="sizing_file")
