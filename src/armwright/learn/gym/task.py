"""Tasks: what is drawn when an episode begins, what is observed, what is rewarded, and what ends it.

A task is a record of plain functions over all environments at once. Each can be replaced: Reach(reward=mine), where

    def mine(scene):                # a Scene: arrays with a row for each environment
        return -np.linalg.norm(scene["target"] - scene.tip, axis=1)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import check_finite, whole_number
from armwright.errors import InputError, unknown
from armwright.lazy import cached_property
from armwright.learn.gym.input_checks import check_number, check_share, number_array
from armwright.learn.gym.random_streams import Streams, normal
from armwright.learn.gym.robot_plant import Plant
from armwright.model.unit_vectors import unit_length_error
from armwright.trajectory import Trajectory

SLACK = 0.05
"""The share of its range that a joint may go beyond its limits before an episode ends."""
AHEAD = 0.2
"""Seconds by which a policy sees ahead where it is to follow a motion."""
TRIES = 100


@dataclass(frozen=True)
class Scene:
    """All environments at one time: what observations, rewards and ends of episodes are functions of.

    Nothing of it can be written to.


    q, qd, tau  positions (envs, nq), velocities and torques of the last step (envs, n)
    action      (envs, motors), in [-1, 1]
    steps       how many have been taken in this episode (envs,)
    diverged    whose motion could not go on (envs,); they are where they were before
    given       what the reset of the task has drawn by name: scene["target"]
    """

    plant: Plant
    task: Any
    q: Array
    qd: Array
    tau: Array
    action: Array
    steps: Array
    diverged: Array
    given: Mapping[str, Array]

    def __getitem__(self, name: str) -> Array:
        if name not in self.given:
            raise unknown("array of the scene", name, self.given, "They are what reset gives.")
        return self.given[name]

    @property
    def t(self) -> Array:
        """Seconds since the episode began, (envs,)."""
        return self.steps * self.plant.dt

    @cached_property
    def tip(self) -> Array:
        """Where the tip is in the world, (envs, 3)."""
        return read_only(self.plant.tip(self.q))

    @cached_property
    def distance(self) -> Array:
        """From the tip to its target, (envs,)."""
        way = self["target"] - self.tip
        return read_only(np.sqrt(np.einsum("ij,ij->i", way, way)))


def read_only(array: Array) -> Array:
    """The same numbers, for who may not change them."""
    view = array.view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True)
class Draw:
    """What a reset draws from, for the `count` environments whose episode begins.

    `options` are those that reset() was called with. They replace what is drawn under their names; what depends on that
    is to be made of `chosen(name, drawn)`.
    """

    plant: Plant
    task: Any
    streams: Streams
    lanes: Array
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.lanes)

    def chosen(self, name: str, drawn: ArrayLike) -> Array:
        """What the options have under this name, for all or one for each of all environments; else what was drawn."""
        if name not in self.options:
            return np.asarray(drawn)
        shape = (len(self.streams), *np.shape(drawn)[1:])
        given = number_array(f"option {name!r} of reset", self.options[name])
        try:
            return np.broadcast_to(given, shape)[self.lanes].astype(float)
        except ValueError:
            raise InputError(
                f"option {name!r} of reset has shape {given.shape}; expected {shape[1:]} for all, or {shape}"
            ) from None

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, shape: int | tuple[int, ...] = ()) -> Array:
        """Numbers in [low, high), (count, *shape)."""
        size, least, most = _shape(shape), number_array("low", low), number_array("high", high)
        unit = self.streams.unit(self.lanes, math.prod(size)).reshape(self.count, *size)
        try:
            found: Array = least + unit * (most - least)
        except ValueError:
            found = np.empty(0)
        if found.shape != unit.shape:
            raise InputError(
                f"uniform got bounds of shapes {least.shape} and {most.shape} with shape={size}; expected shape=... of "
                "what one environment draws, and bounds that fit it"
            )
        return found

    def normal(self, shape: int | tuple[int, ...] = ()) -> Array:
        """Normally distributed numbers of deviation one, (count, *shape)."""
        size = math.prod(_shape(shape))
        return normal(self.streams.unit(self.lanes, size + size % 2))[:, :size].reshape(self.count, *_shape(shape))

    def positions(self, share: float = 1.0) -> Array:
        """Positions (count, nq) in the middle `share` of the range of every joint."""
        check_share("share", share)
        q = self.plant.positions(self.streams.unit(self.lanes, self.plant.numbers), share)
        for _ in range(TRIES):
            if not len(left := np.flatnonzero(~self.plant.closed(q))):
                return q
            q[left] = self.plant.positions(self.streams.unit(self.lanes[left], self.plant.numbers), share)
        raise InputError(
            f"no position of {self.plant.robot.name} was found in {TRIES} draws at which its loops close; expected "
            "limits within which they do, or reset=..."
        )


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(whole_number("shape", size, 0) for size in sizes)


Reset: TypeAlias = Callable[[Draw], Mapping[str, Array]]
"""What an episode begins with: "q", "qd" if it is not zero, and whatever else the task speaks of, each (count, ...)."""
Look: TypeAlias = Callable[[Scene], Array]
Report: TypeAlias = Callable[[Scene], Mapping[str, Array]]


def outside(scene: Scene) -> Array:
    """Whether a joint is beyond its limits by more than a twentieth of its range."""
    return ~scene.plant.inside(scene.q, SLACK)


def nearness(distance: Array, tolerance: float, far: float) -> Array:
    """1 where there, 0 where as far as can be; every halving of the distance, down to the tolerance, is worth as much.

    Never negative, so that nobody gains by an early end.
    """
    if not tolerance > 0:
        _check_tolerance(tolerance)
    scale = np.log1p(far / tolerance)
    found: Array = np.maximum(0.0, 1 - np.log1p(distance / tolerance) / scale)
    return found


def _check_tolerance(value: float) -> None:
    check_number("tolerance", value, lambda x: x > 0, "radians or metres, more than zero")


def _beside(*columns: Array) -> Array:
    found: Array = np.concatenate(columns, axis=1, dtype=np.float32, casting="same_kind")
    return found


def _root_mean_square(way: Array) -> Array:
    found: Array = np.sqrt(np.einsum("ij,ij->i", way, way) / way.shape[1])
    return found


def _success(scene: Scene, far: Array) -> Array:
    """Who is there; not who was, and has diverged."""
    found: Array = (far < scene.task.tolerance) & ~scene.diverged
    return found


def _nothing(scene: Scene) -> Mapping[str, Array]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Task:
    """What an environment asks for.

    reset       what an episode begins with, from a `Draw`
    observe     (envs, numbers) of a `Scene`
    reward      (envs,)
    terminate   whose episode is at its end (envs,)
    report      what `info` has besides, by name (envs, ...)
    disturb     torques that act beside those of the motors (envs, n)
    frame       the frame that is the tip; by default the tool
    vary        parameters of the robot that `reset` draws under their names: "payload.mass", ...
    """

    reset: Reset
    observe: Look
    reward: Look
    terminate: Look = outside
    report: Report = _nothing
    disturb: Look | None = None
    frame: str | None = None
    vary: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("reset", "observe", "reward", "terminate", "report", "disturb"):
            part = getattr(self, name)
            if not callable(part) and (name, part) != ("disturb", None):
                of = "a Draw" if name == "reset" else "a Scene"
                raise InputError(f"{name} = {part!r}: expected a function of {of}")
        if not isinstance(self.vary, (tuple, list)) or not all(isinstance(name, str) for name in self.vary):
            raise InputError(f"vary = {self.vary!r}: expected names in a tuple, such as ('payload.mass',)")

    def check(self, plant: Plant) -> None:
        """Refuse a robot with which the task makes no sense."""

    @property
    def varied(self) -> tuple[str, ...]:
        """All parameters of the robot that are drawn."""
        return self.vary


def _drawn_target(draw: Draw) -> Mapping[str, Array]:
    task = draw.task
    return {"q": draw.positions(task.start), "target": draw.plant.tip(draw.positions(task.spread))}


def _way_to_target(scene: Scene) -> Array:
    way = scene["target"] - scene.tip
    where_to = way / (scene.distance + scene.task.tolerance)[:, None]
    return _beside(scene.q, scene.qd, scene.tip, way, where_to)


def _near_target(scene: Scene) -> Array:
    return nearness(scene.distance, scene.task.tolerance, scene.plant.size)


def _at_target(scene: Scene) -> Mapping[str, Array]:
    return {"distance": scene.distance, "success": _success(scene, scene.distance)}


@dataclass(frozen=True, kw_only=True)
class Reach(Task):
    """Bring the tip to a target and keep it there.

    Positions of the joints are drawn and the target is where the tip then is, so that every target can be reached.
    Observed are q, qd, the tip, the way from it to the target, and the direction of that way, which is short only where
    the tip is there; the reward is `nearness`.

    tolerance   metres within which it is there
    start       the share of the ranges of the joints, about their middle, in which it begins
    spread      the same for targets
    """

    tolerance: float = 0.02
    start: float = 1.0
    spread: float = 1.0
    reset: Reset = _drawn_target
    observe: Look = _way_to_target
    reward: Look = _near_target
    report: Report = _at_target

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_tolerance(self.tolerance)
        check_share("start", self.start)
        check_share("spread", self.spread)

    def check(self, plant: Plant) -> None:
        if plant.floating and self.reset is _drawn_target:
            raise InputError(
                f"Reach draws targets by the joints, and the base of {plant.robot.name} floats away from them; "
                "expected a robot on a fixed base, or reset=..., which draws others"
            )


def _drawn_motion(draw: Draw) -> Mapping[str, Array]:
    """Two sines for each joint, in the middle half of its range and at up to half its speed."""
    plant, n = draw.plant, draw.plant.robot.n
    if draw.task.trajectory is not None:
        q, qd, _ = draw.task.trajectory.holding()(np.zeros(draw.count))
        return {"q": q, "qd": qd}
    room = (plant.span[1] - plant.span[0]) / 4
    swing = draw.uniform(0.1, 0.5, (2, n)) * room
    pace = draw.uniform(0.2, 1.0, (2, n)) * np.minimum(plant.speed / room / 2, 2.0)
    given = {
        "centre": draw.positions(0.5), "swing": swing, "pace": pace, "phase": draw.uniform(0, 2 * np.pi, (2, n))
    }  # fmt: skip
    given = {name: draw.chosen(name, drawn) for name, drawn in given.items()}
    q, qd = sines(given, np.zeros(draw.count))
    return {"q": q, "qd": qd, **given}


def sines(given: Mapping[str, Array], t: Array) -> tuple[Array, Array]:
    """Positions and velocities at times (envs,) of the motions that `Track` draws."""
    angle = given["pace"] * t[:, None, None] + given["phase"]
    swing = given["swing"]
    return (
        given["centre"] + (swing * np.sin(angle)).sum(axis=1),
        (swing * given["pace"] * np.cos(angle)).sum(axis=1),
    )


def wanted(scene: Scene, ahead: float = 0.0) -> tuple[Array, Array]:
    """Where and how fast the joints should be by now, or some seconds ahead."""
    t = scene.t + ahead
    if scene.task.trajectory is None:
        return sines(scene.given, t)
    q, qd, _ = scene.task.trajectory.holding()(t)
    return q, qd


def _along_motion(scene: Scene) -> Array:
    (q, qd), (later, _) = wanted(scene), wanted(scene, AHEAD)
    return _beside(scene.q, scene.qd, q - scene.q, qd - scene.qd, later - scene.q)


def _behind(scene: Scene) -> Array:
    return _root_mean_square(wanted(scene)[0] - scene.q)


def _near_motion(scene: Scene) -> Array:
    return nearness(_behind(scene), scene.task.tolerance, 1.0)


def _on_motion(scene: Scene) -> Mapping[str, Array]:
    far = _behind(scene)
    return {"error": far, "success": _success(scene, far)}


@dataclass(frozen=True, kw_only=True)
class Track(Task):
    """Follow a motion of the joints: a `trajectory`, the same for all, or one that each draws.

    Observed are q, qd, by how much both differ from those of the motion, and the way to where it is 0.2 s later; the
    reward is the `nearness` of the root mean square of q.

    tolerance   radians or metres within which it follows
    """

    tolerance: float = 0.02
    trajectory: Trajectory | None = None
    reset: Reset = _drawn_motion
    observe: Look = _along_motion
    reward: Look = _near_motion
    report: Report = _on_motion

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_tolerance(self.tolerance)
        if self.trajectory is not None and not isinstance(self.trajectory, Trajectory):
            raise InputError(f"trajectory = {self.trajectory!r}: expected one of armwright.trajectory, or None")

    def check(self, plant: Plant) -> None:
        if plant.robot.balls:
            raise InputError(
                f"Track follows motions of joints that are numbers, and {plant.robot.name} has ball, planar or free "
                "joints; expected a robot without"
            )
        if self.trajectory is not None and self.trajectory.n != plant.robot.n:
            raise InputError(
                f"the trajectory is of {self.trajectory.n} joints; expected the {plant.robot.n} of {plant.robot.name}"
            )


def _drawn_pose(draw: Draw) -> Mapping[str, Array]:
    """Pushes are torques that give the joints accelerations where they begin."""
    task, robot = draw.task, draw.plant.robot
    pose = draw.positions() if task.pose is None else np.tile(np.asarray(task.pose, float), (draw.count, 1))
    q = draw.chosen("q", draw.chosen("pose", pose))
    most = np.full(robot.n, float(task.push))
    most[draw.plant.single] *= np.minimum(1.0, draw.plant.span[1] - draw.plant.span[0])
    pushes = np.einsum("kij,kpj->kpi", robot.mass_matrix(q), draw.uniform(-most, most, (PUSHES, robot.n)))
    drawn = {"q": q, "pose": q if task.pose is None else pose, "push": pushes}
    return drawn | ({"payload.mass": draw.uniform(0, task.payload)} if task.payload else {})


PUSHES = 8
"""As many different ones are drawn for an episode; then they come again."""


def _pushed(scene: Scene) -> Array:
    number = (scene.t / scene.task.every + 1e-9).astype(int) % PUSHES
    found: Array = scene["push"][np.arange(len(number)), number]
    return found


def _from_pose(scene: Scene) -> Array:
    return _beside(scene.q, scene.qd, scene.plant.way(scene.q, scene["pose"]))


def _moved_away(scene: Scene) -> Array:
    return _root_mean_square(scene.plant.way(scene.q, scene["pose"]))


def _near_pose(scene: Scene) -> Array:
    return nearness(_moved_away(scene), scene.task.tolerance, 1.0)


def _at_pose(scene: Scene) -> Mapping[str, Array]:
    far = _moved_away(scene)
    return {"error": far, "success": _success(scene, far)}


@dataclass(frozen=True, kw_only=True)
class Hold(Task):
    """Stay at a pose while the joints are pushed about, with a load that nobody has told the motors of.

    Observed are q, qd and the way to the pose; the reward is the `nearness` of the root mean square of that way. An
    episode begins at its pose. reset(options={"pose": p}) has both there, and so has {"q": p}, unless the task has a
    `pose`, which it then has to come back to.

    tolerance   radians or metres within which it stays
    pose        (nq,), the same for all; by default each draws one
    push        the largest acceleration that a push gives a joint, rad/s^2 or m/s^2, where its range is 1 rad or 1 m or
                more; in proportion to its range where that is less
    every       seconds after which there is another
    payload     the largest mass in the tool, kg
    """

    tolerance: float = 0.02
    pose: Any = field(default=None, compare=False)
    push: float = 2.0
    every: float = 0.5
    payload: float = 0.0
    reset: Reset = _drawn_pose
    observe: Look = _from_pose
    reward: Look = _near_pose
    report: Report = _at_pose
    disturb: Look | None = _pushed

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_tolerance(self.tolerance)
        check_number("push", self.push, lambda x: x >= 0, "rad/s^2 or m/s^2, zero or more")
        check_number("every", self.every, lambda x: x > 0, "seconds, more than zero")
        check_number("payload", self.payload, lambda x: x >= 0, "kg, zero or more")

    @property
    def varied(self) -> tuple[str, ...]:
        return (*self.vary, *(("payload.mass",) if self.payload else ()))

    def check(self, plant: Plant) -> None:
        if self.every < plant.dt and self.disturb is _pushed:
            raise InputError(
                f"every = {self.every:g} s: expected dt = {plant.dt:g} s or more, as pushes last for whole steps"
            )
        if self.pose is None:
            return
        pose = number_array("pose", self.pose)
        if pose.shape != (plant.robot.nq,):
            raise InputError(
                f"pose has shape {pose.shape}; expected ({plant.robot.nq},), a position of {plant.robot.name}"
            )
        check_finite("pose", pose)
        if said := unit_length_error(plant.robot, "pose", pose):
            raise InputError(said)
