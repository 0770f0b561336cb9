"""From poses to joints: inverse kinematics for any chain, and joint rates from tip rates.

Forward kinematics and Jacobians are quantities of a robot like its energies (`formulations.kinematics`).
"""

from armwright.kinematics.closing import closed
from armwright.kinematics.inverse import inverse_kinematics, joint_rates
from armwright.kinematics.search import Solver

__all__ = ["Solver", "closed", "inverse_kinematics", "joint_rates"]
