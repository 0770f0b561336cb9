"""C for a controller: plain C99 with a header and a self-test, nothing allocated, only the C library needed.

What is exported is what would be compiled here: the cheapest formulation for this robot, with all that is known of it
folded away. Where a C compiler is installed the self-test is built and run.
"""

import shutil
import subprocess
import tempfile
from html import escape
from pathlib import Path

from pictures import show

import armwright as aw
from armwright.pages.scene import svg

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

shown = header.partition('extern "C" {')[2].splitlines()[3:18]  # what each function costs, and how it is called
lines = [f'<text x="12" y="{22 * k + 40}">{escape(line)}</text>' for k, line in enumerate(shown)]
page = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 400" font-family="monospace" font-size="12">'
show(svg(arm, [0, -1, 1.2, -0.3, 1.5, 0]), page + "".join(lines) + "</svg>")
