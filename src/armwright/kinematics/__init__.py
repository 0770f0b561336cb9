"""From poses to joints: inverse kinematics for any tree, joint rates from tip rates, and what holds frames in place.

Forward kinematics and Jacobians are quantities of a robot like its energies (`formulations.kinematics`).
"""

from armwright.kinematics.closing import OPEN, closed, fits
from armwright.kinematics.inverse import (
    Orientation,
    Targets,
    by_frame,
    each_orientation,
    inverse_kinematics,
    joint_rates,
)
from armwright.kinematics.search import Solver

__all__ = [
    "OPEN",
    "Orientation",
    "Solver",
    "Targets",
    "by_frame",
    "closed",
    "each_orientation",
    "fits",
    "inverse_kinematics",
    "joint_rates",
]
