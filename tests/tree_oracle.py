"""Trees as Pinocchio has them: the same bodies on the same joints, so that q and v can be handed over as they are."""

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from conftest import random_transform

import armwright as aw
from armwright.model.joint_types import COMPOUND_TYPES
from armwright.model.records import Frame
from armwright.model.transforms import transform
from armwright.robot import random_tree

TURNED = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
"""The frame of a link on a universal joint, seen from Pinocchio's: z is on the second axis."""

JOINTS = {
    "revolute": pin.JointModelRZ,
    "prismatic": pin.JointModelPZ,
    "helical": lambda: pin.JointModelHelicalUnaligned(np.array([0.0, 0, 1]), 0.1),
    "planar": pin.JointModelPlanar,
    "ball": pin.JointModelSpherical,
    "free": pin.JointModelFreeFlyer,
}


PAIRS = {"cylindrical": pin.JointModelPZ, "universal": pin.JointModelRX}
"""The second of two joints, after one about z. Pinocchio's own universal joint leaves the turning of its second axis out
of the derivative of a Jacobian."""


def kinds_of(robot: aw.Robot) -> list[str]:
    """Of the joint before each link."""
    return [robot.rows[i].kind or robot.rows[i].type for i in robot.link_rows]


@dataclass
class Oracle:
    """Pinocchio's model of a robot, with a frame for each of the robot's names."""

    robot: aw.Robot

    def __post_init__(self) -> None:
        robot, self.model = self.robot, pin.Model()
        self.model.gravity.linear = np.array(robot.gravity)
        self.links: list[tuple[int, pin.SE3]] = []  # the joint that carries a link, and the link's frame from there
        for i, kind in enumerate(kinds_of(robot)):
            row = robot.rows[robot.link_rows[i] - robot.rows[robot.link_rows[i]].freedom]
            parent, there = self.links[robot.parents[i]] if robot.parents[i] >= 0 else (0, _se3(robot.base))
            joint = self._hung(parent, there * _placement(row), kind, f"{i}")
            frame = pin.SE3(TURNED if kind == "universal" else np.eye(3), np.zeros(3))
            link = robot.links[i]
            inertia = pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia))
            self.model.appendBodyToJoint(joint, inertia, frame)
            self.links.append((joint, frame))
        for name in robot.frame_names:
            frame = robot.frame(name)
            joint, there = self.links[frame.link] if frame.link >= 0 else (0, _se3(robot.base))
            self.model.addFrame(pin.Frame(name, joint, there * _se3(frame.pose), pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def _hung(self, parent: int, placement: pin.SE3, kind: str, name: str) -> int:
        if kind not in PAIRS:
            return self.model.addJoint(parent, JOINTS[kind](), placement, name)
        about = self.model.addJoint(parent, pin.JointModelRZ(), placement, f"{name} about")
        return self.model.addJoint(about, PAIRS[kind](), pin.SE3.Identity(), name)

    def at(self, name: str) -> int:
        return self.model.getFrameId(name)

    def forces(self, wrenches: dict[str, np.ndarray]) -> pin.StdVec_Force:
        """On each joint, in its frame, by wrenches on named frames."""
        found = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for name, wrench in wrenches.items():
            frame = self.model.frames[self.at(name)]
            found[frame.parentJoint] += frame.placement.act(pin.Force(wrench[:3], wrench[3:]))
        return pin.StdVec_Force(found)


def _se3(T: object) -> pin.SE3:
    T = np.asarray(T)
    return pin.SE3(T[:3, :3], T[:3, 3])


def _placement(row: object) -> pin.SE3:
    """Rot(z, gamma) Trans(a, y, z) Rot(x, alpha) Rot(z, theta) Trans(z, d)."""
    z, x = pin.utils.rotate("z", row.gamma), pin.utils.rotate("x", row.alpha)
    to = pin.SE3(z, np.zeros(3)) * pin.SE3(x, np.array([row.a, row.y, row.z]))
    return to * pin.SE3(pin.utils.rotate("z", row.theta), np.array([0, 0, row.d]))


def framed_tree(
    n: int, seed: int, kinds: tuple[str, ...] = ("revolute", "prismatic", *COMPOUND_TYPES), **more: bool
) -> aw.Robot:
    """A random tree with a base and a gravity of its own, and frames on every link and on the base."""
    robot, rng = random_tree(n, seed, kinds=kinds, **more), np.random.default_rng(seed)
    frames = [Frame(f"frame{i}", i, transform(random_transform(rng))) for i in range(-1, n)]
    return replace(robot.with_base(random_transform(rng)), frames=tuple(frames), gravity=(0.3, -0.4, -9.7))


def state_of(robot: aw.Robot, rng: np.random.Generator, *batch: int) -> list[np.ndarray]:
    """q, qd, qdd at random; quaternions of unit length."""
    q = robot.unit(rng.uniform(-1, 1, (*batch, robot.nq)))
    return [q, *(rng.uniform(-1, 1, (*batch, robot.n)) for _ in range(2))]
