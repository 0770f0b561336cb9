"""Inverse kinematics of any tree, joint rates from tip rates, closed loops and contacts.

Forward kinematics and Jacobians are quantities of a robot like its energies (`formulations.quantities.kinematics`).
"""

from armwright.kinematics.inverse import (
    Orientation,
    Targets,
    inverse_kinematics,
    joint_rates,
    orientations_of,
    targets_by_frame,
)
from armwright.kinematics.loop_closing import LOOP_TOLERANCE, close_loops, loops_closed
from armwright.kinematics.search import Solver

__all__ = [
    "LOOP_TOLERANCE",
    "Orientation",
    "Solver",
    "Targets",
    "close_loops",
    "inverse_kinematics",
    "joint_rates",
    "loops_closed",
    "orientations_of",
    "targets_by_frame",
]
