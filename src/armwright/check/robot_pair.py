"""Two robots with the same joints, aligned and evaluated at the same random states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from armwright.algebra import Array
from armwright.check.align import Alignment, Skeleton, align, pose_error
from armwright.check.comparison import JointDifference, QuantityDifference
from armwright.check.evaluation import evaluate, evaluate_function, random_states
from armwright.lazy import cached_property
from armwright.model.description import Description
from armwright.model.records import Frame
from armwright.rules.robot_rules import driving_coordinates


def joint_names(x: str, y: str) -> str:
    """Return the common name of a joint or link, or both names."""
    return x if x == y else f"{x} / {y}"


def leaders_of(robot: Description) -> list[int]:
    """Return the indices of the joints that follow no other."""
    return [i for i, row in enumerate(robot.rows) if row.mimic is None]


def _with_common_tip(a: Description, b: Description) -> tuple[Description, Description]:
    """Return the robots with a tip if neither has one: the frame of the last link with the same name in both."""
    if a.tip is not None or b.tip is not None:
        return a, b
    common = [link.name for link in a.links if link.name in b.frame_names]
    ends = [robot.frame(common[-1]) if common else Frame("tool", len(robot.links) - 1) for robot in (a, b)]
    one, two = (replace(robot, tip=at.link, flange=at.pose) for robot, at in zip((a, b), ends, strict=True))
    return one, two


class RobotPair:
    """Two robots with the same joints, aligned and at the same random states.

    robots             the robots, with a common tip.
    a, b               the robots with independent joints, which are aligned.
    compared           the robots whose numbers are compared: `robots` if both have the same leaders, else `a`, `b`.
    coordinate_joints  the joints of their coordinates; `mapped_q` are the positions of the second robot.
    """

    def __init__(self, robots: tuple[Description, Description], tolerance: float) -> None:
        robots = _with_common_tip(*robots)
        self.robots, self.tolerance = robots, tolerance
        self.a, self.b = a, b = robots[0].without_couplings(), robots[1].without_couplings()
        one, two = Skeleton.of(a), Skeleton.of(b)
        self.reach = max(one.reach, two.reach)
        self.skeletons = (one, two)
        self.alignment: Alignment = align(one, two, tolerance, self._world_motion())
        self.same_leaders = leaders_of(robots[0]) == leaders_of(robots[1])
        self.compared = robots if self.same_leaders else (a, b)
        self.coordinate_joints = leaders_of(self.compared[0])
        self.signs, offsets = (
            np.array(x)[self.coordinate_joints] for x in (self.alignment.signs, self.alignment.offsets)
        )
        self.q, self.qd, self.qdd = random_states(self.compared[0])
        ball_entries = [ball.rates.stop for ball in self.compared[0].balls]  # the entries of balls are not mapped
        self.mapped_q = np.insert(self.signs, ball_entries, 1.0) * self.q + np.insert(offsets, ball_entries, 0.0)

    def _world_motion(self) -> Array | None:
        """Return the motion between the two worlds if a single one explains all poses of the tool."""
        q = random_states(self.a)[0]
        here, there = (evaluate(robot, "forward_kinematics", q) for robot in (self.a, self.b))
        X = there @ np.linalg.inv(here)
        steady = np.max(np.abs(X - X[0])) <= self.tolerance * max(1.0, self.reach)
        return X[0] if steady else None

    def joint(self, i: int) -> str:
        """Return the name of a joint, followers included."""
        return joint_names(self.a.joints[i].name, self.b.joints[i].name)

    def link(self, i: int) -> str:
        """Return the name of a link."""
        return joint_names(self.a.links[i].name, self.b.links[i].name)

    @cached_property
    def torques(self) -> dict[str, tuple[Array, Array, Array]]:
        """Torques by problem: of the first robot, of the second, and of the second with signs and zeros mapped."""
        torques = {}
        for problem, rates in (("gravity_torque", ()), ("mass_matrix", ()), ("inverse_dynamics", (self.qd, self.qdd))):
            ours, theirs = (evaluate(robot, problem, self.q, *rates) for robot in self.compared)
            mapped = evaluate(self.compared[1], problem, self.mapped_q, *(self.signs * x for x in rates))
            signs = self.signs[:, None] * self.signs if problem == "mass_matrix" else self.signs
            torques[problem] = (ours, theirs, mapped * signs)
        return torques

    def quantities(self) -> Iterator[QuantityDifference]:
        """Yield the largest differences of the tool pose and of torques."""
        here, there = (evaluate(robot, "forward_kinematics", self.q) for robot in self.compared)
        mapped_there = evaluate(self.compared[1], "forward_kinematics", self.mapped_q)
        raw = [pose_error(x, y) for x, y in zip(here, there, strict=True)]
        mapped = [pose_error(self.alignment.base @ x, y) for x, y in zip(here, mapped_there, strict=True)]
        for i, name, unit, allowed in (
            (1, "tip position", "m", self.tolerance * self.reach),
            (0, "tip orientation", "rad", self.tolerance),
        ):
            yield QuantityDifference(name, unit, max(x[i] for x in raw), max(x[i] for x in mapped), allowed)
        for problem, (ours, theirs, mapped_torques) in self.torques.items():
            worst, mapped_worst = (float(np.max(relative_differences(ours, x))) for x in (theirs, mapped_torques))
            yield QuantityDifference(problem.replace("_", " "), "relative", worst, mapped_worst, self.tolerance)

    def joint_differences(self) -> Iterator[JointDifference]:
        """Yield the differences of torques of each coordinate."""
        columns = (relative_differences(ours, mapped) for ours, _, mapped in self.torques.values())
        for i, row in enumerate(zip(*columns, strict=True)):
            yield JointDifference(self.joint(self.coordinate_joints[i]), *map(float, row))

    def outermost(self) -> str | None:
        """Return the joint nearest to the tip whose torque differs when only it or a joint beyond it moves.

        Its torque, and its effect on the joints beyond it, depend only on the bodies from its link outwards; with
        followers, from the innermost link that moves with it.
        """
        M, _, N = self.torques["mass_matrix"]
        ours, _, mapped = self.torques["gravity_torque"]
        weight = relative_differences(ours, mapped)
        movers, here = driving_coordinates(self.compared[0]), self.skeletons[0]
        innermost = {c: movers.index(c) for c in range(len(self.coordinate_joints))}
        for c in sorted(innermost, key=innermost.__getitem__, reverse=True):
            outer = here.subtree(innermost[c], len(here.axes))
            moved = [c, *(k for k, row in innermost.items() if row in outer and k != c)]
            block = np.ix_(range(len(M)), moved, moved)
            if max(float(relative_differences(M[block], N[block])[0]), float(weight[c])) > self.tolerance:
                return self.joint(self.coordinate_joints[c])
        return None

    def torque_differs(self, torque: Callable[..., object], rates: Array) -> Array:
        """Return a mask of the coordinates whose torques differ."""
        ours, theirs = (evaluate_function(torque, robot, rates) for robot in self.compared)
        differs: Array = relative_differences(ours, theirs, 0.0) > self.tolerance
        return differs

    def numbers_differ(self, one: float, two: float) -> bool:
        """Return whether two numbers differ by more than the tolerance."""
        return abs(one - two) > self.tolerance * max(abs(one), abs(two))


def relative_differences(one: Array, two: Array, min_share: float = 1e-6) -> Array:
    """Return for each joint the largest difference of its torques, or rows of a matrix, over its largest torque.

    The latter is at least `min_share` times the largest torque of all joints.
    """
    axes = tuple(i for i in range(one.ndim) if i != 1)
    largest = np.maximum(np.max(np.abs(one), axis=axes), np.max(np.abs(two), axis=axes))
    floor = min_share * float(np.max(largest, initial=0.0))
    differences: Array = np.max(np.abs(one - two), axis=axes) / np.maximum(largest, max(floor, 1e-300))
    return differences
