"""The tasks of armwright: reach a target, track a motion, hold a pose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.arrays import check_finite
from armwright.errors import InputError
from armwright.learn.gym.input_checks import check_number, check_share, number_array
from armwright.learn.gym.robot_plant import Plant
from armwright.learn.gym.task import Draw, Observe, Report, Reset, Scene, Task, check_tolerance, nearness
from armwright.model.unit_vectors import unit_length_error
from armwright.trajectory import Trajectory

PREVIEW_TIME = 0.2
"""The preview, s, of the motion in the observations of `Track`."""


def _columns(*columns: Array) -> Array:
    found: Array = np.concatenate(columns, axis=1, dtype=np.float32, casting="same_kind")
    return found


def _root_mean_square(difference: Array) -> Array:
    found: Array = np.sqrt(np.einsum("ij,ij->i", difference, difference) / difference.shape[1])
    return found


def _success(scene: Scene, error: Array) -> Array:
    """Return True where the error is within the tolerance and the motion has not diverged."""
    found: Array = (error < scene.task.tolerance) & ~scene.diverged
    return found


def _draw_target(draw: Draw) -> Mapping[str, Array]:
    task = draw.task
    return {"q": draw.positions(task.start), "target": draw.plant.tip(draw.positions(task.spread))}


def _observe_target(scene: Scene) -> Array:
    to_target = scene["target"] - scene.tip
    direction = to_target / (scene.distance + scene.task.tolerance)[:, None]
    return _columns(scene.q, scene.qd, scene.tip, to_target, direction)


def _reward_target(scene: Scene) -> Array:
    return nearness(scene.distance, scene.task.tolerance, scene.plant.size)


def _report_target(scene: Scene) -> Mapping[str, Array]:
    return {"distance": scene.distance, "success": _success(scene, scene.distance)}


@dataclass(frozen=True, kw_only=True)
class Reach(Task):
    """Bring the tip to a target and keep it there.

    A target is the tip at drawn joint positions, so that every target can be reached. Observations are q, qd, the tip,
    the vector from it to the target, and the direction of that vector, which is short only at the target; the reward is
    `nearness`.

    tolerance   distance, m, within which the target is reached
    start       the middle part of the joint ranges from which start positions are drawn
    spread      the same for targets
    """

    tolerance: float = 0.02
    start: float = 1.0
    spread: float = 1.0
    reset: Reset = _draw_target
    observe: Observe = _observe_target
    reward: Observe = _reward_target
    report: Report = _report_target

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self.tolerance)
        check_share("start", self.start)
        check_share("spread", self.spread)

    def check(self, plant: Plant) -> None:
        """Raise an InputError for a robot that the task does not support."""
        if plant.floating and self.reset is _draw_target:
            raise InputError(
                f"Reach draws targets by the joints, and the base of {plant.robot.name} floats away from them; "
                "expected a robot on a fixed base, or reset=..."
            )


def _draw_motion(draw: Draw) -> Mapping[str, Array]:
    """Draw two sines for each joint, in the middle half of its range and at up to half its speed."""
    plant, n = draw.plant, draw.plant.robot.n
    if draw.task.trajectory is not None:
        q, qd, _ = draw.task.trajectory.holding()(np.zeros(draw.count))
        return {"q": q, "qd": qd}
    amplitude = (plant.span[1] - plant.span[0]) / 4
    swing = draw.uniform(0.1, 0.5, (2, n)) * amplitude
    pace = draw.uniform(0.2, 1.0, (2, n)) * np.minimum(plant.speed / amplitude / 2, 2.0)
    centre, phase = draw.positions(0.5), draw.uniform(0, 2 * np.pi, (2, n))
    given = {"centre": centre, "swing": swing, "pace": pace, "phase": phase}
    given = {name: draw.chosen(name, drawn) for name, drawn in given.items()}
    q, qd = sum_of_sines(given, np.zeros(draw.count))
    return {"q": q, "qd": qd, **given}


def sum_of_sines(given: Mapping[str, Array], t: Array) -> tuple[Array, Array]:
    """Return positions and velocities at times (envs,) of the motions that `Track` draws."""
    angle = given["pace"] * t[:, None, None] + given["phase"]
    swing = given["swing"]
    return (given["centre"] + (swing * np.sin(angle)).sum(axis=1), (swing * given["pace"] * np.cos(angle)).sum(axis=1))


def reference(scene: Scene, ahead: float = 0.0) -> tuple[Array, Array]:
    """Return the positions and velocities of the motion now, or `ahead` seconds later."""
    t = scene.t + ahead
    if scene.task.trajectory is None:
        return sum_of_sines(scene.given, t)
    q, qd, _ = scene.task.trajectory.holding()(t)
    return q, qd


def _observe_motion(scene: Scene) -> Array:
    (q, qd), (later, _) = reference(scene), reference(scene, PREVIEW_TIME)
    return _columns(scene.q, scene.qd, q - scene.q, qd - scene.qd, later - scene.q)


def _tracking_error(scene: Scene) -> Array:
    return _root_mean_square(reference(scene)[0] - scene.q)


def _reward_motion(scene: Scene) -> Array:
    return nearness(_tracking_error(scene), scene.task.tolerance, 1.0)


def _report_motion(scene: Scene) -> Mapping[str, Array]:
    error = _tracking_error(scene)
    return {"error": error, "success": _success(scene, error)}


@dataclass(frozen=True, kw_only=True)
class Track(Task):
    """Follow a motion of the joints: one `trajectory` for all, or a drawn one for each.

    Observations are q, qd, their differences to the motion, and the difference to the motion 0.2 s later; the reward is
    the `nearness` of the root mean square error of q.

    tolerance   error, rad or m, within which the motion is followed
    """

    tolerance: float = 0.02
    trajectory: Trajectory | None = None
    reset: Reset = _draw_motion
    observe: Observe = _observe_motion
    reward: Observe = _reward_motion
    report: Report = _report_motion

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self.tolerance)
        if self.trajectory is not None and not isinstance(self.trajectory, Trajectory):
            raise InputError(f"trajectory = {self.trajectory!r}: expected one of armwright.trajectory, or None")

    def check(self, plant: Plant) -> None:
        """Raise an InputError for a robot that the task does not support."""
        if plant.robot.balls:
            raise InputError(
                f"Track needs joints with one entry of q each, and {plant.robot.name} has ball, planar or free "
                "joints; expected a robot without"
            )
        if self.trajectory is not None and self.trajectory.n != plant.robot.n:
            got, robot = self.trajectory.n, plant.robot
            raise InputError(f"the trajectory has {got} joints; expected {robot.n} for {robot.name}")


def _draw_pose(draw: Draw) -> Mapping[str, Array]:
    """Draw poses, and pushes: torques that give the joints drawn accelerations at the start."""
    task, robot = draw.task, draw.plant.robot
    pose = draw.positions() if task.pose is None else np.tile(np.asarray(task.pose, float), (draw.count, 1))
    q = draw.chosen("q", draw.chosen("pose", pose))
    largest = np.full(robot.n, float(task.push))
    largest[draw.plant.single] *= np.minimum(1.0, draw.plant.span[1] - draw.plant.span[0])
    accelerations = draw.uniform(-largest, largest, (PUSHES_PER_EPISODE, robot.n))
    pushes = np.einsum("kij,kpj->kpi", robot.mass_matrix(q), accelerations)
    drawn = {"q": q, "pose": q if task.pose is None else pose, "push": pushes}
    return drawn | ({"payload.mass": draw.uniform(0, task.payload)} if task.payload else {})


PUSHES_PER_EPISODE = 8
"""The number of different pushes of an episode; then they repeat."""


def _push_torque(scene: Scene) -> Array:
    number = (scene.t / scene.task.every + 1e-9).astype(int) % PUSHES_PER_EPISODE
    found: Array = scene["push"][np.arange(len(number)), number]
    return found


def _observe_pose(scene: Scene) -> Array:
    return _columns(scene.q, scene.qd, scene.plant.displacement(scene.q, scene["pose"]))


def _pose_error(scene: Scene) -> Array:
    return _root_mean_square(scene.plant.displacement(scene.q, scene["pose"]))


def _reward_pose(scene: Scene) -> Array:
    return nearness(_pose_error(scene), scene.task.tolerance, 1.0)


def _report_pose(scene: Scene) -> Mapping[str, Array]:
    error = _pose_error(scene)
    return {"error": error, "success": _success(scene, error)}


@dataclass(frozen=True, kw_only=True)
class Hold(Task):
    """Stay at a pose under pushes of the joints, with a payload that the motors do not compensate.

    Observations are q, qd and the displacement to the pose; the reward is the `nearness` of its root mean square. An
    episode starts at its pose. reset(options={"pose": p}) sets both, and so does {"q": p}, unless the task has a
    `pose`, to which the robot then has to return.

    tolerance   error, rad or m, within which the pose is held
    pose        (nq,), one pose for all; by default each draws one
    push        the largest acceleration that a push gives a joint, rad/s^2 or m/s^2, for a range of 1 rad or 1 m or
                more, in proportion for smaller ranges
    every       seconds between pushes
    payload     the largest mass in the tool, kg
    """

    tolerance: float = 0.02
    pose: Any = field(default=None, compare=False)
    push: float = 2.0
    every: float = 0.5
    payload: float = 0.0
    reset: Reset = _draw_pose
    observe: Observe = _observe_pose
    reward: Observe = _reward_pose
    report: Report = _report_pose
    disturb: Observe | None = _push_torque

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self.tolerance)
        check_number("push", self.push, lambda x: x >= 0, "rad/s^2 or m/s^2, zero or more")
        check_number("every", self.every, lambda x: x > 0, "seconds, more than zero")
        check_number("payload", self.payload, lambda x: x >= 0, "kg, zero or more")

    @property
    def varied(self) -> tuple[str, ...]:
        """The parameters of the robot that are drawn."""
        return (*self.vary, *(("payload.mass",) if self.payload else ()))

    def check(self, plant: Plant) -> None:
        """Raise an InputError for a robot that the task does not support."""
        if self.every < plant.dt and self.disturb is _push_torque:
            raise InputError(f"every = {self.every:g} s: expected dt = {plant.dt:g} s or more, one step")
        if self.pose is None:
            return
        pose = number_array("pose", self.pose)
        if pose.shape != (plant.robot.nq,):
            raise InputError(f"pose has shape {pose.shape}; expected ({plant.robot.nq},) for {plant.robot.name}")
        check_finite("pose", pose)
        if error := unit_length_error(plant.robot, "pose", pose):
            raise InputError(error)
