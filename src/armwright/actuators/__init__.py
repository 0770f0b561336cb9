"""Actuators: motors, gearboxes, brakes and cylinders, catalogues, and the assignment to the joints of a robot.

fitted(robot, {"joint2": packaged("typical").actuator(motor, gearbox)})      from Python
[actuators] in the file of a robot                                            `table`
"""

from armwright.actuators.actuator import Actuator, Brake, Cylinder, CylinderLever, Drive, Gearbox, Hydraulic, Motor
from armwright.actuators.assignment import fitted
from armwright.actuators.catalogue import Catalogue, packaged, read

__all__ = [
    "Actuator",
    "Brake",
    "Catalogue",
    "Cylinder",
    "CylinderLever",
    "Drive",
    "Gearbox",
    "Hydraulic",
    "Motor",
    "fitted",
    "packaged",
    "read",
]
