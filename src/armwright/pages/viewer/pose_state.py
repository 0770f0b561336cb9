"""The state of a robot in a viewer: its pose, payloads and gravity, and the loads that follow from them.

Nothing here depends on a browser. Numbers from a browser are clipped to valid ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import ArmwrightError
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.lazy import cached_property
from armwright.mechanism import Ball
from armwright.model.records import Payload
from armwright.model.transforms import Triple, tensor_entries, triple
from armwright.names import shown
from armwright.pages.scene.link_shapes import robot_size
from armwright.robot import Robot
from armwright.simulation.utilisation import Use

MAX_PAYLOAD_MASS, MAX_PAYLOAD_OFFSET = 1000.0, 10.0
"""The largest mass of a payload, kg, and the largest offset of its centre from the tool along an axis, m."""

PAYLOAD_COUNT = 2
"""The number of payloads: a gripper, and the load that it grips."""

MAX_GRAVITY = 100.0
"""The largest gravity along an axis, m/s^2."""

DRAG_TOLERANCE = 1e-6
"""The tolerance of a reached pose, metres and radians."""

Orientation = Literal["full", "axis", "free"]


@dataclass(frozen=True)
class JointSlider:
    """A freedom with a slider: the index of its joint, its range, and True if it belongs to a floating base."""

    joint: int
    name: str
    low: float
    high: float
    unit: str
    of_base: bool


@dataclass(frozen=True)
class StaticLoad:
    """The static load of a pose: a `Use` for every freedom, with its holding torque in place of a peak."""

    torques: Array
    uses: tuple[Use, ...]
    mass: float
    energy: float
    """Potential, in joule."""


@dataclass(frozen=True)
class ReachResult:
    """The result of moving a frame to a target: reached or not, with the remaining distance (m) and angle (rad)."""

    reached: bool
    metres: float = 0.0
    radians: float = 0.0

    def __str__(self) -> str:
        angle = f" and {np.degrees(self.radians):.1f} degrees" if self.radians > 1e-3 else ""
        return "reached" if self.reached else f"out of reach by {1000 * self.metres:.4g} mm{angle}"


class PoseState:
    """A robot with its pose, payloads and gravity."""

    def __init__(self, robot: Robot, payloads: Sequence[Payload] = ()) -> None:
        """`payloads` are the bodies that `robot.payload` is made of, where it is known."""
        self.robot = robot
        self.size = robot_size(robot)
        self.joint_sliders = tuple(self._joint_slider(i) for i in range(robot.n))
        known = list(payloads) if 0 < len(payloads) <= PAYLOAD_COUNT else [robot.payload or Payload(0.0)]
        self.loads = [*known, *(Payload(0.0) for _ in range(PAYLOAD_COUNT - len(known)))]
        self.gravity: Triple = robot.gravity
        self.q = self.home

    def _joint_slider(self, i: int) -> JointSlider:
        joint, ball = self.robot.joints[i], self._ball(i)
        unit = "m" if joint.prismatic else "rad"
        default = 3 * self.size if joint.prismatic else np.pi
        low, high = joint.limits or (-default, default)
        low, high = (low, high) if np.isfinite([low, high]).all() and low < high else (-default, default)
        return JointSlider(i, joint.name, low, high, unit, ball is not None and ball.kind != "ball")

    def _ball(self, i: int) -> Ball | None:
        """Return the joint of several freedoms to which a freedom belongs, or None."""
        return next((ball for ball in self.robot.balls if i in ball.rates), None)

    @cached_property
    def home(self) -> Array:
        """The pose with every freedom at zero, or in the middle of its limits; a floating robot stands on the floor."""
        q = self.robot.neutral
        for slider in self.joint_sliders:
            if not slider.low <= 0 <= slider.high:
                q[self.robot.entries[slider.joint]] = (slider.low + slider.high) / 2
        return self._on_floor(q)

    def _on_floor(self, q: Array) -> Array:
        """Return q with a free base raised so that no frame is below the floor."""
        free = next((ball for ball in self.robot.balls if ball.kind == "free"), None)
        if free is not None:
            q[free.first_entry + 2] -= self._frame_origins(q)[:, 2].min()
        return q

    def _frame_origins(self, q: Array) -> Array:
        """Return the origins of all links, frames and the tool in the world (frames, 3)."""
        poses, robot = self.robot.link_poses(q), self.robot
        known = robot.frames if robot.tip is None else (*robot.frames, robot.tool_frame)
        frames = [poses[frame.link] @ np.asarray(frame.pose) for frame in known if frame.link >= 0]
        return np.array([*poses, *frames])[:, :3, 3]

    def value(self, slider: JointSlider) -> float:
        """Return the position of a freedom: its entry of q, or that of a rotation vector."""
        ball = self._ball(slider.joint)
        offset = 0 if ball is None else slider.joint - ball.coordinate
        if ball is None or offset < ball.unit_vector.start - ball.first_entry:
            return float(self.q[self.robot.entries[slider.joint] if ball is None else ball.first_entry + offset])
        return float(self.robot.difference(self.robot.neutral, self.q)[slider.joint])

    def set_joint(self, slider: JointSlider, value: float) -> None:
        """Set one freedom, clipped to its range."""
        value, q = _clipped(value, slider.low, slider.high), self.q.copy()
        ball, robot = self._ball(slider.joint), self.robot
        offset = 0 if ball is None else slider.joint - ball.coordinate
        if ball is None:
            q[robot.entries[slider.joint]] = value
        elif offset < (translations := ball.unit_vector.start - ball.first_entry):
            q[ball.first_entry + offset] = value
        else:
            v = robot.difference(robot.neutral, q)
            v[ball.coordinate : ball.coordinate + translations] = 0.0
            v[slider.joint] = value
            q[ball.unit_vector] = robot.integrate(robot.neutral, v)[ball.unit_vector]
        self.q = self._close_loops(q)

    def _close_loops(self, q: Array) -> Array:
        """Return q with its loop constraints satisfied, or the present q if that fails."""
        try:
            return self.robot.closed(q)[0]
        except ArmwrightError:
            return self.q

    def set_pose(self, q: ArrayLike) -> None:
        """Set all positions."""
        self.q = self.robot.unit(np.array(q, dtype=float))

    def randomise(self, rng: np.random.Generator) -> None:
        """Set every joint at random within its range; a base stays."""
        for slider in self.joint_sliders:
            if not slider.of_base:
                self.set_joint(slider, float(rng.uniform(slider.low, slider.high)))

    @property
    def poses(self) -> Array:
        """The poses of all links in the world (links, 4, 4)."""
        return self.robot.link_poses(self.q)

    @property
    def frame_origins(self) -> Array:
        """The origins of links, frames and tool in the world (frames, 3)."""
        return self._frame_origins(self.q)

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames to drag: the tool first, or the tips, sorted by the number of joints that move them."""
        moving = [name for name in self.robot.frame_names if self.robot.frame(name).link >= 0]
        tips = [self._end_of(i) for i in _leaves(self.robot.parents)]
        tips.sort(key=self.joint_count_before, reverse=True)
        return tuple(dict.fromkeys([*(["tool"] if self.robot.tip is not None else tips), *moving]))

    def _end_of(self, link: int) -> str:
        """Return the name of the end of a branch: the outermost frame on its last link."""
        distances = {self.robot.links[link].name: 0.0}
        for frame in self.robot.frames:
            if frame.link == link:
                distances[frame.name] = float(np.linalg.norm(np.asarray(frame.pose)[:3, 3]))
        return max(distances, key=lambda name: distances[name])

    def pose(self, frame: str | None = None) -> Array:
        """Return the pose of the tool or another frame in the world (4, 4)."""
        return self.robot.forward_kinematics(self.q, None if frame == "tool" else frame)

    def joint_count_before(self, frame: str) -> int:
        """Return the number of joints that move a frame, without those of a free base."""
        link, moving = self.robot.frame(frame).link, set[int]()
        while link >= 0:
            moving.add(self.robot.link_rows[link])
            link = self.robot.parents[link]
        return sum(1 for i in moving if not self.robot.rows[i].kind)

    def orientation_for(self, frame: str) -> Orientation:
        """Return "full" if a frame can follow a whole pose, by six joints; else "free", its position alone."""
        return "full" if self.joint_count_before(frame) >= 6 else "free"

    def follow(self, T: ArrayLike, frame: str, orientation: Orientation) -> ReachResult:
        """Move a frame to a pose in the world, or as close as it can; the base of the robot stays."""
        target = np.asarray(T, dtype=float)
        if not np.isfinite(target).all():
            return ReachResult(False)
        targets, orientations = {frame: target}, {frame: orientation}
        for root in self._bases():
            if root != frame:
                targets[root], orientations[root] = self.pose(root), "full"
        q, solved = self.robot.inverse_kinematics(
            targets, self.q, orientation=orientations, tolerance=DRAG_TOLERANCE, attempts=1, raises=False
        )
        if not np.isfinite(q).all():
            return ReachResult(False)
        for ball in self.robot.balls if not solved else ():
            if ball.kind != "ball":  # the closest solution may have moved the base
                q[ball.first_entry : ball.unit_vector.stop] = self.q[ball.first_entry : ball.unit_vector.stop]
        self.set_pose(q)
        return ReachResult(bool(solved), *_pose_distance(self.pose(frame), target, orientation))

    def _bases(self) -> list[str]:
        """Return the names of the root links with a free or planar joint."""
        robot = self.robot
        roots = [i for i, parent in enumerate(robot.parents) if parent < 0]
        return [robot.links[i].name for i in roots if robot.rows[robot.link_rows[i]].kind in ("free", "planar")]

    def set_payload(self, mass: float, com: Sequence[float] | None = None, place: int = 0) -> None:
        """Set the mass (kg) and the centre `com` in the tool frame (m) of the payload at this place, 0 or 1."""
        load = replace(self.loads[place], mass=_clipped(mass, 0.0, MAX_PAYLOAD_MASS))
        if com is not None:
            load = replace(load, com=triple(_clipped(x, -MAX_PAYLOAD_OFFSET, MAX_PAYLOAD_OFFSET) for x in com))
        self.loads[place] = load

    @property
    def payload(self) -> Payload | None:
        """All payloads as one body, or None."""
        loads = [load for load in self.loads if load.mass > 0]
        return reduce(Payload.combined, loads) if loads and self.robot.tip is not None else None

    @property
    def mass(self) -> float:
        """The mass of all payloads, kg."""
        return 0.0 if self.payload is None else self.payload.mass

    def set_gravity(self, gravity: Sequence[float]) -> None:
        """Set gravity in the world, m/s^2, clipped."""
        self.gravity = triple(_clipped(g, -MAX_GRAVITY, MAX_GRAVITY) for g in gravity)

    @property
    def loaded_robot(self) -> Robot:
        """The robot with these payloads and this gravity."""
        return replace(self.robot.with_gravity(self.gravity), payload=self.payload)

    def static_load(self) -> StaticLoad:
        """Return the torques that hold the pose, with the limits of the joints."""
        tau = self._evaluate("gravity_torque")
        rounding = 1e-9 * max(float(np.abs(tau).max(initial=0.0)), 1e-9)
        uses = tuple(
            Use(shown(joint.name), joint.prismatic, abs(x) * (abs(x) >= rounding), joint.max_torque, 0.0, None, 0, 0)
            for joint, x in zip(self.robot.joints, tau.tolist(), strict=True)
        )
        mass = sum(link.mass for link in self.robot.links) + self.mass
        return StaticLoad(tau, uses, mass, float(self._evaluate("potential_energy")))

    @cached_property
    def _compiled(self) -> dict[str, Function]:
        return {}

    def _evaluate(self, problem: str) -> Array:
        """Return a quantity of the pose; payload and gravity are runtime parameters: changes compile nothing."""
        has_tool = self.robot.tip is not None
        if problem not in self._compiled:
            vary = ("gravity", "payload.mass", "payload.com", "payload.inertia") if has_tool else ("gravity",)
            self._compiled[problem] = compile_function(self.robot, problem, vary=vary)
        if not has_tool:
            return self._compiled[problem](self.q, self.gravity)
        body = self.payload or Payload(0.0)
        return self._compiled[problem](self.q, self.gravity, body.mass, body.com, tensor_entries(body.inertia))


def _clipped(value: float, low: float, high: float) -> float:
    """Return a number from a page, clipped; one that is not finite counts as zero."""
    number = float(value)
    return float(np.clip(number if np.isfinite(number) else 0.0, low, high))


def _leaves(parents: Sequence[int]) -> list[int]:
    return [i for i in range(len(parents)) if i not in parents]


def _pose_distance(A: Array, B: Array, orientation: Orientation) -> tuple[float, float]:
    """Return metres and radians between two poses, as far as the orientation counts."""
    metres = float(np.linalg.norm(A[:3, 3] - B[:3, 3]))
    if orientation == "free":
        return metres, 0.0
    cosine = A[:3, 2] @ B[:3, 2] if orientation == "axis" else (np.trace(A[:3, :3].T @ B[:3, :3]) - 1) / 2
    return metres, float(np.arccos(np.clip(cosine, -1.0, 1.0)))
