"""Writes the packaged robots that come from published URDF files into src/armwright/model/library.

    pip install . example-robot-data frax && pip install --no-deps compas-robots pybullet-helpers
    python tools/package_robots.py [name ...]

Run it again when a source package changes; the tests compare the result with Pinocchio reading the same file.
The other files of the library are kept by hand; each says in `source` where its numbers stand.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from importlib.metadata import distribution, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import armwright as aw
from armwright.check import fix

LIBRARY = Path(__file__).parent.parent / "src/armwright/model/library"

EXAMPLE = "cmeel.prefix/share/example-robot-data/robots"
UR_E = "compas_robots/data/ur_description/urdf"
KORTEX = "pybullet_helpers/assets/urdf/kortex_description/arms/gen3/7dof/urdf"


class Published(NamedTuple):
    """A robot of a package: its file below site-packages, what it is, the package and the licence of the description.

    `tip` is the link that an arm ends in; a tree is packaged whole, with the named `frames` only, and `floating` says
    that its base is free.
    """

    file: str
    what: str
    package: str
    licence: str
    tip: str | None = None
    floating: bool = False
    frames: tuple[str, ...] = ()


ROBOTS = {
    "panda": Published(f"{EXAMPLE}/panda_description/urdf/panda.urdf", "Franka Emika Panda with its hand, fingers closed", "example-robot-data", "Apache-2.0, Copyright 2023 Franka Robotics GmbH (franka_ros)", tip="panda_hand_tcp"),
    "ur3": Published(f"{EXAMPLE}/ur_description/urdf/ur3_robot.urdf", "Universal Robots UR3", "example-robot-data", "BSD-3-Clause, the authors of ur_description (ROS-Industrial, universal_robot)", tip="tool0"),
    "ur5": Published(f"{EXAMPLE}/ur_description/urdf/ur5_robot.urdf", "Universal Robots UR5", "example-robot-data", "BSD-3-Clause, the authors of ur_description (ROS-Industrial, universal_robot)", tip="tool0"),
    "ur10": Published(f"{EXAMPLE}/ur_description/urdf/ur10_robot.urdf", "Universal Robots UR10", "example-robot-data", "BSD-3-Clause, the authors of ur_description (ROS-Industrial, universal_robot)", tip="tool0"),
    "ur5e": Published(f"{UR_E}/ur5e.urdf", "Universal Robots UR5e", "compas-robots", "BSD-3-Clause, the authors of ur_description (ROS-Industrial, universal_robot)", tip="tool0"),
    "iiwa14": Published("frax/assets/iiwa/iiwa14.urdf", "KUKA LBR iiwa 14 R820", "frax", "MIT, Copyright (c) 2026 Daniel Morton (frax)"),
    "kinova_gen3": Published(f"{KORTEX}/GEN3_URDF_V12.urdf", "Kinova Gen3 with seven joints and its vision module", "pybullet-helpers", "BSD-3-Clause, Copyright (c) 2018, Kinova Robotics (ros_kortex)", tip="EndEffector_Link"),
    "kinova_jaco": Published(f"{EXAMPLE}/kinova_description/robots/kinova.urdf", "Kinova Jaco 2 (j2s6s200), fingers at zero", "example-robot-data", "BSD-3-Clause, Copyright (c) 2017, Kinova Robotics inc. (kinova-ros)", tip="j2s6s200_end_effector"),
    "xarm7": Published(f"{EXAMPLE}/xarm_description/urdf/xarm7.urdf", "UFACTORY xArm 7", "example-robot-data", "BSD-3-Clause, UFACTORY (xarm_ros2)", tip="link_eef"),
    "anymal_c": Published(f"{EXAMPLE}/anymal_c_simple_description/urdf/anymal.urdf", "ANYbotics ANYmal C, a quadruped", "example-robot-data", "BSD-3-Clause, Copyright 2020, ANYbotics AG", floating=True, frames=("LF_FOOT", "LH_FOOT", "RF_FOOT", "RH_FOOT", "imu_link")),
    "g1": Published(f"{EXAMPLE}/g1_description/urdf/g1_29dof_rev_1_0.urdf", "Unitree G1, a humanoid with 29 joints", "example-robot-data", "BSD-3-Clause, Unitree Robotics (unitree_ros)", floating=True, frames=("left_ankle_roll_link", "right_ankle_roll_link", "left_rubber_hand", "right_rubber_hand", "head_link", "imu_in_pelvis")),
    "allegro_hand": Published(f"{EXAMPLE}/allegro_hand_description/urdf/allegro_right_hand.urdf", "Allegro hand, the right one, with 16 joints", "example-robot-data", "BSD of a version that its package does not name, Wonik Robotics and SimLab (allegro_hand_description)", frames=("link_3.0_tip", "link_7.0_tip", "link_11.0_tip", "link_15.0_tip")),
    "baxter": Published(f"{EXAMPLE}/baxter_description/urdf/baxter.urdf", "Rethink Robotics Baxter, two arms with grippers and a head", "example-robot-data", "BSD-3-Clause, Copyright (c) 2013-2015, Rethink Robotics", frames=("left_gripper", "right_gripper", "left_hand_camera_link", "right_hand_camera_link", "head_camera_link")),
}  # fmt: skip

ROUNDED = 1e-9
"""Radians: right angles written with fewer digits than there are, 1.57079632679, are read as exact."""

ODD = {
    "ur5": "the tensors of its wrists are those of cylinders with a radius of 0.6 m, as published, where 0.06 m may be meant"
}
"""What is packaged though it looks wrong, as the source says."""

FRICTION = {
    "allegro_hand": "its friction is left out: 3 to 10 N m s and 5 to 12 N m in every joint of fingers whose links weigh 12 to 65 g are placeholders, not measured"
}
"""What is packaged without the friction of its file, and why, as the source says."""


RATED = {"panda": 3.0, "ur3": 3.0, "ur5": 5.0, "ur5e": 5.0, "ur10": 10.0, "iiwa14": 14.0, "xarm7": 3.5}
"""Kilograms that a robot can hold by the data sheet of its maker."""


def published(name: str) -> Path:
    """The file that a robot is read from."""
    return Path(str(distribution(ROBOTS[name].package).locate_file(ROBOTS[name].file)))


def mended(path: Path, folder: str | Path) -> Path:
    """A copy with its right angles written out; the file itself where none was rounded."""
    copy = Path(folder) / path.name
    fixed = fix(path, copy)
    if any(finding.kind != "rounded angle" for finding in fixed.changed):
        raise ValueError(f"{path}: more than right angles would be changed: {', '.join(map(str, fixed.changed))}")
    return copy if fixed.changed else path


def read(path: Path, robot: Published) -> aw.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = aw.load(path, tip=robot.tip, floating=robot.floating, visuals=False, straighten=ROUNDED)
    return replace(found, frames=tuple(frame for frame in found.frames if frame.name in robot.frames))


def packaged(name: str) -> aw.Robot:
    """The robot as it is packaged."""
    asked, path = ROBOTS[name], published(name)
    robot = read(path, asked)
    source = f"{asked.what}\n{path.name} of {asked.package} {version(asked.package)}; frames made canonical by tools/package_robots.py"
    if any(problem.kind == "rounded angle" for problem in aw.problems(robot)):
        with TemporaryDirectory() as folder:
            robot = read(mended(path, folder), asked)
        source += "; rounded right angles are read as exact"
    if name in FRICTION:
        robot = replace(robot, joints=tuple(replace(joint, viscous=0.0, coulomb=0.0) for joint in robot.joints))
        source += f"; {FRICTION[name]}"
    if name in RATED:
        source += "; rated payload by the data sheet of its maker"
    accept = {problem.kind for problem in aw.problems(robot) if problem.severity != "note"}
    if accept:
        source += f"; {ODD[name]}"
    further = {"licence": asked.licence, "rated_payload": RATED.get(name)}
    return replace(robot, name=name, source=source, accept=tuple(sorted(accept)), **further)


def main() -> None:
    for name in sys.argv[1:] or ROBOTS:
        robot = packaged(name)
        robot.to_toml(LIBRARY / f"{name}.toml")
        print(f"{name}: {robot.n} joints, accepted: {', '.join(robot.accept) or 'nothing'}")


if __name__ == "__main__":
    main()
