"""Writes the packaged arms that come from published URDF files into src/armwright/model/library.

    pip install . example-robot-data frax && pip install --no-deps compas-robots pybullet-helpers
    python tools/package_robots.py

Run it again when a source package changes; the tests compare the result with Pinocchio reading the same file.
The other files of the library are kept by hand; each says in `source` where its numbers stand.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.metadata import distribution, version
from pathlib import Path
from tempfile import TemporaryDirectory

import armwright as aw
from armwright.check import fix

LIBRARY = Path(__file__).parent.parent / "src/armwright/model/library"

EXAMPLE = "cmeel.prefix/share/example-robot-data/robots"
UR_E = "compas_robots/data/ur_description/urdf"
KORTEX = "pybullet_helpers/assets/urdf/kortex_description/arms/gen3/7dof/urdf"
ARMS = {
    # name: (file below site-packages, tip link, what it is, package, licence of the description)
    "panda": (f"{EXAMPLE}/panda_description/urdf/panda.urdf", "panda_hand_tcp", "Franka Emika Panda with its hand, fingers closed", "example-robot-data", "Apache 2.0, Franka Emika"),
    "ur3": (f"{EXAMPLE}/ur_description/urdf/ur3_robot.urdf", "tool0", "Universal Robots UR3", "example-robot-data", "BSD 3-Clause, ur_description"),
    "ur5": (f"{EXAMPLE}/ur_description/urdf/ur5_robot.urdf", "tool0", "Universal Robots UR5", "example-robot-data", "BSD 3-Clause, ur_description"),
    "ur10": (f"{EXAMPLE}/ur_description/urdf/ur10_robot.urdf", "tool0", "Universal Robots UR10", "example-robot-data", "BSD 3-Clause, ur_description"),
    "ur5e": (f"{UR_E}/ur5e.urdf", "tool0", "Universal Robots UR5e", "compas-robots", "BSD 3-Clause, ur_description; the package MIT"),
    "iiwa14": ("frax/assets/iiwa/iiwa14.urdf", None, "KUKA LBR iiwa 14 R820", "frax", "MIT, frax"),
    "kinova_gen3": (f"{KORTEX}/GEN3_URDF_V12.urdf", "EndEffector_Link", "Kinova Gen3 with seven joints and its vision module", "pybullet-helpers", "BSD, kortex_description of Kinova; the package MIT"),
    "kinova_jaco": (f"{EXAMPLE}/kinova_description/robots/kinova.urdf", "j2s6s200_end_effector", "Kinova Jaco 2 (j2s6s200), fingers at zero", "example-robot-data", "BSD 3-Clause, kinova-ros"),
    "xarm7": (f"{EXAMPLE}/xarm_description/urdf/xarm7.urdf", "link_eef", "UFACTORY xArm 7", "example-robot-data", "BSD 3-Clause, xarm_ros"),
}  # fmt: skip

ODD = {
    "ur5": "the tensors of its wrists are those of cylinders with a radius of 0.6 m, as published, where 0.06 m may be meant"
}
"""What is packaged though it looks wrong, as the source says."""


def published(name: str) -> Path:
    """The file that an arm is read from."""
    file, _, _, package, _ = ARMS[name]
    return Path(str(distribution(package).locate_file(file)))


def mended(path: Path, folder: str | Path) -> Path:
    """A copy with its right angles written out; the file itself where none was rounded."""
    copy = Path(folder) / path.name
    fixed = fix(path, copy)
    if any(finding.kind != "rounded angle" for finding in fixed.changed):
        raise ValueError(f"{path}: more than right angles would be changed: {', '.join(map(str, fixed.changed))}")
    return copy if fixed.changed else path


def read(path: Path, tip: str | None) -> aw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aw.load(path, tip=tip, visuals=False)


def arm(name: str) -> aw.Robot:
    """The arm as it is packaged."""
    _, tip, what, package, licence = ARMS[name]
    path = published(name)
    robot = read(path, tip)
    source = f"{what}\n{path.name} of {package} {version(package)} ({licence}); frames made canonical by tools/package_robots.py"
    if any(problem.kind == "rounded angle" for problem in aw.problems(robot)):
        with TemporaryDirectory() as folder:
            robot = read(mended(path, folder), tip)
        source += "; rounded right angles are read as exact"
    accept = {problem.kind for problem in aw.problems(robot) if problem.severity != "note"}
    if accept:
        source += f"; {ODD[name]}"
    return replace(robot, name=name, source=source, accept=tuple(sorted(accept)))


def main() -> None:
    for name in ARMS:
        robot = arm(name)
        robot.to_toml(LIBRARY / f"{name}.toml")
        print(f"{name}: {robot.n} joints, accepted: {', '.join(robot.accept) or 'nothing'}")


if __name__ == "__main__":
    main()
