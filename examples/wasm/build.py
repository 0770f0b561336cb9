"""Gravity torques in the browser: exported C, compiled to WebAssembly, in one page that needs no server.

The page has a slider for each joint and computes the torques that hold the arm still by the very code that would run
on a controller. Zig is the compiler, as a wheel, so that nothing but pip is needed:

    pip install ziglang
    python examples/wasm/build.py panda -o panda_page

Positions can stand behind a # in the address: index.html#0,-0.6,0,-2.
"""

import argparse
import base64
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np

import armwright as aw

HERE = Path(__file__).parent
FUNCTIONS = ["gravity_torque", "link_positions"]


def compiled(source: Path) -> bytes:
    """C without a C library as WebAssembly that imports nothing, with its functions by their names."""
    out = source.with_suffix(".wasm")
    exports = [f"-Wl,--export={source.stem}_{name}" for name in FUNCTIONS]
    flags = ["-std=c99", "-O2", "-s", f"-I{HERE / 'include'}", "-Wl,--no-entry", *exports]
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-freestanding"]
    subprocess.run([*zig, *flags, str(source), "-o", str(out)], check=True)
    return out.read_bytes()


def about(arm: aw.Robot, prefix: str) -> dict:
    """What the page must know: the joints, and the shapes of functions."""
    joints = []
    for joint in arm.joints:
        lower, upper = joint.limits or ((-1.0, 1.0) if joint.prismatic else (-math.pi, math.pi))
        most = joint.max_torque or math.inf
        joints.append({"name": joint.name, "prismatic": joint.prismatic, "lower": lower, "upper": upper, "most": most})
    holding = np.abs(arm.gravity_torque(np.random.default_rng(0).uniform(-2, 2, (200, arm.n)))).max(axis=0)
    for joint, torque in zip(joints, holding.tolist(), strict=True):
        joint["most"] = joint["most"] if math.isfinite(joint["most"]) else max(torque, 1.0)
    points = np.shape(arm.link_positions(arm.neutral))
    chain = np.vstack([np.zeros(3), arm.link_positions(arm.neutral)])
    reach = 1.05 * float(np.linalg.norm(np.diff(chain, axis=0), axis=1).sum())
    shapes = {"gravity_torque": (arm.n,), "link_positions": points}
    functions = {name: {"arguments": {"q": arm.n}, "shape": shape} for name, shape in shapes.items()}
    return {"name": arm.name, "prefix": prefix, "joints": joints, "reach": reach, "functions": functions}


def main(robot: str, folder: Path) -> Path:
    """The page, and beside it what it was made of."""
    arm = aw.load(robot)
    source = next(path for path in aw.export(arm, "c", folder, FUNCTIONS) if path.name.endswith(".c"))
    told = about(arm, source.stem)
    (folder / "about.json").write_text(json.dumps(told))
    told["wasm"] = base64.b64encode(compiled(source)).decode()
    page = (HERE / "page.html").read_text(encoding="utf-8")
    module = (HERE / "robot.mjs").read_text(encoding="utf-8").replace("export async", "async")
    data = json.dumps(told).replace("<", "\\u003c")
    (folder / "index.html").write_text(page.replace("@MODULE@", module).replace("@ABOUT@", data), encoding="utf-8")
    return folder / "index.html"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robot", nargs="?", default="panda")
    parser.add_argument("-o", "--output", type=Path, default=Path("wasm_page"))
    given = parser.parse_args()
    print(main(given.robot, given.output))
