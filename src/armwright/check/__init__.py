"""Checks of robot files, their repair, and comparison of two descriptions of one robot.

report = check("arm.urdf")                        findings link by link, and proofs
fixed = fix("arm.urdf", "arm_fixed.urdf")         a copy with all repairs that need no guess
result = compare("arm.urdf", "arm.toml")          differences of kinematics and dynamics
"""

from armwright.check.compare import compare
from armwright.check.comparison import Comparison, Difference
from armwright.check.file_check import check
from armwright.check.findings import Finding, Proof, Report
from armwright.check.repair import Fixed, fix

__all__ = ["Comparison", "Difference", "Finding", "Fixed", "Proof", "Report", "check", "compare", "fix"]
