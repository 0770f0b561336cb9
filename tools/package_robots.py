"""Writes the packaged arms that come from published URDF files into src/armwright/model/library.

    pip install . example-robot-data frax && python tools/package_robots.py

Run it again when a source package changes; the tests compare the result with Pinocchio reading the same file.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import armwright as aw
from armwright.model.description import JointModel

LIBRARY = Path(__file__).parent.parent / "src/armwright/model/library"

EXAMPLE = "cmeel.prefix/share/example-robot-data/robots"
ARMS = {
    # name: (file below site-packages, tip link, what it is, package, licence of the description)
    "panda": (f"{EXAMPLE}/panda_description/urdf/panda.urdf", "panda_hand_tcp", "Franka Emika Panda with its hand, fingers closed", "example-robot-data", "Apache 2.0, Franka Emika"),
    "ur3": (f"{EXAMPLE}/ur_description/urdf/ur3_robot.urdf", "tool0", "Universal Robots UR3", "example-robot-data", "BSD 3-Clause, ur_description"),
    "ur5": (f"{EXAMPLE}/ur_description/urdf/ur5_robot.urdf", "tool0", "Universal Robots UR5", "example-robot-data", "BSD 3-Clause, ur_description"),
    "ur10": (f"{EXAMPLE}/ur_description/urdf/ur10_robot.urdf", "tool0", "Universal Robots UR10", "example-robot-data", "BSD 3-Clause, ur_description"),
    "iiwa14": ("frax/assets/iiwa/iiwa14.urdf", None, "KUKA LBR iiwa 14 R820", "frax", "MIT, frax"),
    "kinova_jaco": (f"{EXAMPLE}/kinova_description/robots/kinova.urdf", "j2s6s200_end_effector", "Kinova Jaco 2 (j2s6s200), fingers at zero", "example-robot-data", "BSD 3-Clause, kinova-ros"),
    "xarm7": (f"{EXAMPLE}/xarm_description/urdf/xarm7.urdf", "link_eef", "UFACTORY xArm 7", "example-robot-data", "BSD 3-Clause, xarm_ros"),
}  # fmt: skip


def site_packages() -> Path:
    spec = find_spec("numpy")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent.parent


def right_angled(joint: JointModel) -> JointModel:
    """A joint whose angles were written with few digits, and the micrometres that come of it."""
    quarter = math.pi / 2
    angles = {
        name: round(value / quarter) * quarter
        for name in ("alpha", "theta")
        if abs((value := getattr(joint, name)) - round(value / quarter) * quarter) < 1e-4
    }
    lengths = {name: 0.0 for name in ("a", "d") if abs(getattr(joint, name)) < 1e-5}
    return replace(joint, **angles, **lengths)


def main() -> None:
    for name, (file, tip, what, package, licence) in ARMS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arm = aw.load(site_packages() / file, tip=tip)
        source = f"{what}\n{Path(file).name} of {package} {version(package)} ({licence}); frames made canonical by tools/package_robots.py"
        arm = replace(arm, name=name, source=source)
        if any(problem.kind == "rounded angle" for problem in aw.problems(arm)):
            arm = replace(arm, joints=tuple(map(right_angled, arm.joints)), source=f"{source}; 1.5708 is read as pi/2")
        found = {f"{p.kind}" for p in aw.problems(arm)}
        arm = replace(arm, accept=tuple(sorted(found)))
        arm.to_toml(LIBRARY / f"{name}.toml")
        print(f"{name}: {arm.n} joints, accepted: {', '.join(sorted(found)) or 'nothing'}")


if __name__ == "__main__":
    main()
