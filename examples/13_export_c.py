"""C for a controller: plain C99 with a header, a self-test and a CMakeLists, no memory allocated, nothing to link but the C library.

What is exported is what would be compiled here: the cheapest formulation for this robot, with all that is known of it folded away.
Where a C compiler is installed the self-test is built and run.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from pictures import show

import armwright as aw
from armwright.report.plot import Curve, Plot

arm = aw.load("ur5e")
functions = ["inverse_dynamics", "gravity_torque", "forward_kinematics", "jacobian"]
with tempfile.TemporaryDirectory() as folder:
    files = [Path(path) for path in aw.export(arm, to="c", directory=folder, functions=functions)]
    for path in files:
        print(f"{path.name:24s}{len(path.read_text().splitlines()):6d} lines")
    header = next(path for path in files if path.suffix == ".h").read_text()
    print("".join(line + "\n" for line in header.splitlines() if line.startswith("void") or line.startswith("int")))
    if compiler := shutil.which("cc"):
        sources = [str(path) for path in files if path.suffix == ".c"]
        subprocess.run([compiler, "-O2", "-std=c99", *sources, "-lm", "-o", f"{folder}/test"], check=True)
        print(subprocess.run([f"{folder}/test"], check=True, capture_output=True, text=True).stdout)

curves = []
for label, how in (("any robot of six joints", {"joints": 6}), ("this UR5e", {"robot": arm})):
    counts = [aw.count_operations(name, **how) for name in functions]
    curves.append(Curve(label, [1, 2, 3, 4], [c.multiplications + c.additions for c in counts], marks=True))
show(Plot("Products and sums: torques, gravity, pose, Jacobian", "function", "operations", curves).svg())
