"""Robot files looked at with suspicion, and two descriptions of one robot held against each other.

report = check("arm.urdf")                        findings link by link, and proofs
fixed = fix("arm.urdf", "arm_fixed.urdf")         what can be repaired without guessing
found = compare("arm.urdf", "arm.toml")           where kinematics and dynamics differ, and by how much
"""

from armwright.check.compare import Comparison, Difference, compare
from armwright.check.mend import Fixed, fix
from armwright.check.report import Finding, Proof, Report
from armwright.check.run import check

__all__ = ["Comparison", "Difference", "Finding", "Fixed", "Proof", "Report", "check", "compare", "fix"]
