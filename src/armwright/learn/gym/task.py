"""Tasks of environments: the start of an episode, observations, rewards and the end of an episode.

A task is a record of functions of all environments at once. Each can be replaced: Reach(reward=mine), where

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
from armwright.arrays import whole_number
from armwright.errors import InputError, unknown
from armwright.lazy import cached_property
from armwright.learn.gym.input_checks import check_number, check_share, number_array
from armwright.learn.gym.random_streams import Streams, normal
from armwright.learn.gym.robot_plant import Plant

LIMIT_SLACK = 0.05
"""The part of its range by which a joint may exceed its limits before an episode ends."""

MAX_POSITION_DRAWS = 100


@dataclass(frozen=True)
class Scene:
    """The state of all environments at one time, for observations and rewards; its arrays are read-only.

    q, qd, tau  positions (envs, nq), velocities and torques of the last step (envs, n)
    action      (envs, motors), in [-1, 1]
    steps       steps taken in this episode (envs,)
    diverged    True where the motion diverged (envs,); these keep their last state
    given       values drawn by the reset of the task, by name: scene["target"]
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
        """Return the values of this name that the reset drew, (envs, ...)."""
        if name not in self.given:
            raise unknown("array of the scene", name, self.given, "They are the values of reset.")
        return self.given[name]

    @property
    def t(self) -> Array:
        """Seconds since the episode began, (envs,)."""
        return self.steps * self.plant.dt

    @cached_property
    def tip(self) -> Array:
        """Position of the tip in the world, m, (envs, 3)."""
        return read_only(self.plant.tip(self.q))

    @cached_property
    def distance(self) -> Array:
        """Distance from the tip to its target, m, (envs,)."""
        offset = self["target"] - self.tip
        return read_only(np.sqrt(np.einsum("ij,ij->i", offset, offset)))


def read_only(array: Array) -> Array:
    """Return a read-only view of an array."""
    view = array.view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True)
class Draw:
    """The random numbers of a reset, for the `count` environments whose episode starts.

    `lanes` are the indices of these environments. `options` are those of reset(): they replace drawn values of the same
    names; values that depend on these must be computed from `chosen(name, drawn)`.
    """

    plant: Plant
    task: Any
    streams: Streams
    lanes: Array
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of environments whose episode starts."""
        return len(self.lanes)

    def chosen(self, name: str, drawn: ArrayLike) -> Array:
        """Return the values of the options under this name, or those drawn; options are for all, or one for each."""
        if name not in self.options:
            return np.asarray(drawn)
        shape = (len(self.streams), *np.shape(drawn)[1:])
        given = number_array(f"option {name!r} of reset", self.options[name])
        try:
            return np.broadcast_to(given, shape)[self.lanes].astype(float)
        except ValueError:
            expected = f"expected {shape[1:]} for all, or {shape}"
            raise InputError(f"option {name!r} of reset has shape {given.shape}; {expected}") from None

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, shape: int | tuple[int, ...] = ()) -> Array:
        """Draw numbers in [low, high), (count, *shape)."""
        size, lows, highs = _shape(shape), number_array("low", low), number_array("high", high)
        unit = self.streams.unit(self.lanes, math.prod(size)).reshape(self.count, *size)
        try:
            drawn: Array = lows + unit * (highs - lows)
        except ValueError:
            drawn = np.empty(0)
        if drawn.shape != unit.shape:
            raise InputError(
                f"uniform got bounds of shapes {lows.shape} and {highs.shape} with shape={size}; expected "
                "the shape of the numbers of one environment, and bounds that broadcast to it"
            )
        return drawn

    def normal(self, shape: int | tuple[int, ...] = ()) -> Array:
        """Draw normally distributed numbers of deviation one, (count, *shape)."""
        size = math.prod(_shape(shape))
        return normal(self.streams.unit(self.lanes, size + size % 2))[:, :size].reshape(self.count, *_shape(shape))

    def positions(self, share: float = 1.0) -> Array:
        """Draw positions (count, nq) in the middle `share` of the range of every joint, with all loops closed."""
        check_share("share", share)
        q = self.plant.positions(self.streams.unit(self.lanes, self.plant.numbers), share)
        for _ in range(MAX_POSITION_DRAWS):
            if not len(rest := np.flatnonzero(~self.plant.closed(q))):
                return q
            q[rest] = self.plant.positions(self.streams.unit(self.lanes[rest], self.plant.numbers), share)
        raise InputError(
            f"{MAX_POSITION_DRAWS} draws found no position of {self.plant.robot.name} at which its loops close; "
            "expected limits within which they do, or reset=..."
        )


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(whole_number("shape", size, 0) for size in sizes)


Reset: TypeAlias = Callable[[Draw], Mapping[str, Array]]
"""Draws the start of an episode: "q", "qd" if not zero, and other values of the task, each (count, ...)."""
Observe: TypeAlias = Callable[[Scene], Array]
Report: TypeAlias = Callable[[Scene], Mapping[str, Array]]


def outside(scene: Scene) -> Array:
    """Return True where a joint exceeds its limits by more than LIMIT_SLACK, (envs,)."""
    return ~scene.plant.inside(scene.q, LIMIT_SLACK)


def check_tolerance(value: float) -> None:
    """Raise an InputError unless a tolerance is above zero."""
    check_number("tolerance", value, lambda x: x > 0, "radians or metres, more than zero")


def nearness(distance: Array, tolerance: float, far: float) -> Array:
    """Return 1 at distance zero and 0 at distance `far`, with equal gain for every halving down to the tolerance.

    It is never negative, so that an early end of the episode gains nothing.
    """
    if not tolerance > 0:
        check_tolerance(tolerance)
    scale = np.log1p(far / tolerance)
    value: Array = np.maximum(0.0, 1 - np.log1p(distance / tolerance) / scale)
    return value


def _no_report(scene: Scene) -> Mapping[str, Array]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Task:
    """The functions that make an environment.

    reset       the start of an episode, from a `Draw`
    observe     observations (envs, numbers) of a `Scene`
    reward      rewards (envs,)
    terminate   True where the episode ends (envs,)
    report      further entries of `info` by name (envs, ...)
    disturb     torques in addition to those of the motors (envs, n)
    frame       the frame that is the tip; by default the tool
    vary        parameters of the robot that `reset` draws under their names: "payload.mass", ...
    """

    reset: Reset
    observe: Observe
    reward: Observe
    terminate: Observe = outside
    report: Report = _no_report
    disturb: Observe | None = None
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
        """Raise an InputError for a robot that the task does not support."""

    @property
    def varied(self) -> tuple[str, ...]:
        """The parameters of the robot that are drawn."""
        return self.vary
