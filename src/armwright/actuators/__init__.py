"""Actuators as parts of a robot: motors, gearboxes, brakes, cylinders, catalogues of them, and robots fitted with some.

fitted(robot, {"joint2": packaged("typical").actuator(motor, gearbox)})      from Python
[actuators] in the file of a robot                                            `table`
"""

from armwright.actuators.actuator import Actuator, Brake, Cylinder, Drive, Gearbox, Hydraulic, Lever, Motor
from armwright.actuators.catalogue import Catalogue, packaged, read
from armwright.actuators.fit import fitted

__all__ = [
    "Actuator",
    "Brake",
    "Catalogue",
    "Cylinder",
    "Drive",
    "Gearbox",
    "Hydraulic",
    "Lever",
    "Motor",
    "fitted",
    "packaged",
    "read",
]
