"""Environments: many robots at one task, stepped together in one compiled call; and a single one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from armwright.algebra import Array
from armwright.arrays import checked_array, numbers
from armwright.errors import InputError, unknown
from armwright.former_names import add_former_names
from armwright.learn.gym.input_checks import (
    check_finite_rows,
    check_parameter,
    checked_mapping,
    checked_rows,
    number_array,
    seed_list,
)
from armwright.learn.gym.random_streams import Streams
from armwright.learn.gym.robot_plant import FRICTION_SMOOTHING, Plant, all_in_row
from armwright.learn.gym.task import LIMIT_SLACK, Draw, Scene, Task, outside, read_only
from armwright.model.robot_parameters import parameter_sizes, robot_parameters
from armwright.model.unit_vectors import unit_length_error
from armwright.simulation.stepper import Stepper, stepper

DIVERGED_SPEED = 1e4
"""Speed, rad/s or m/s, from which a motion counts as diverged."""
RESET_MASK = "reset_mask"
"""Gymnasium's option of a reset that selects environments."""


class Environments(VectorEnv):  # type: ignore[misc]
    """Many environments of one robot and one task, stepped together; `vector` makes them.

    After the end of an episode, the next step only starts a new one: its reward is zero and its action is ignored
    (Gymnasium's `AutoresetMode.NEXT_STEP`).
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012  (as in Gymnasium)

    def __init__(
        self, plant: Plant, task: Task, num_envs: int, substeps: int | None, max_episode_steps: int | None, threads: int
    ) -> None:
        task.check(plant)
        self.plant, self.task, self.threads = plant, task, threads
        self.num_envs, self.max_episode_steps = num_envs, max_episode_steps
        self.strength = plant.strength
        n, motors = plant.robot.n, len(plant.motors)
        self._streams = Streams(range(num_envs))
        self._q, self._qd, self._tau, self._action = (np.zeros((num_envs, k)) for k in (plant.robot.nq, n, n, motors))
        self._steps = np.zeros(num_envs, int)
        self._diverged, self._ended = np.zeros((2, num_envs), bool)
        self._drawn: dict[str, Array] = {}
        self.stepper = self._make_stepper(substeps)
        self._parameters = frozenset(robot_parameters(plant.robot))
        self._started = False
        self._start_episodes(np.arange(num_envs), {})
        self._width: int | None = None
        self._width = self._observed(self._scene()).shape[1]
        self.single_observation_space = Box(-np.inf, np.inf, (self._width,), np.float32)
        self.single_action_space = Box(-1.0, 1.0, (motors,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _make_stepper(self, substeps: int | None) -> Stepper:
        sizes = parameter_sizes(self.plant.robot, self.task.varied)
        loads = {name: np.zeros((self.num_envs, size) if size > 1 else self.num_envs) for name, size in sizes.items()}
        count = self.plant.substeps if substeps is None else substeps
        return stepper(self.plant.robot, dt=self.plant.dt, substeps=count, vary=loads, smooth=FRICTION_SMOOTHING)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but compiled code, so that environments can be copied and pickled during an episode."""
        return {**vars(self), "stepper": (self.stepper.substeps, dict(self.stepper.parameters))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        substeps, parameters = state.pop("stepper")
        self.__dict__.update(state)
        self.stepper = self._make_stepper(substeps)
        for name, values in parameters.items():
            self.stepper.parameters[name][...] = values

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start new episodes, in all environments or in those of options["reset_mask"]; return observations and info.

        seed      environment i draws the numbers of a single one with seed + i; or a list with one seed for each.
                  Without a seed the streams continue
        options   values in place of drawn ones, by name: {"target": [0.5, 0, 0.3]}, one for all environments, or one
                  for each
        """
        values = dict({} if options is None else checked_mapping("options", options, '{"q": q}'))
        lanes = self._lanes(values.pop(RESET_MASK, None))
        self._seed_streams(lanes, self.np_random_seed if seed is None and not self._started else seed)
        self._start_episodes(lanes, values)
        self._started = True
        scene = self._scene()
        return self._observed(scene), self._info(scene)

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Take one step; return observations, rewards, terminated, truncated and info.

        A motion that diverges, or has an action that is not finite, terminates: info["diverged"] is True, and its last
        finite state is observed.
        """
        if not self._started:
            raise InputError("step before the first reset; call reset(seed=...) once")
        fresh = self._ended.copy()
        self._advance(self._clipped_actions(actions))
        self._start_episodes(np.flatnonzero(fresh), {})
        scene = self._scene()
        rewards = checked_rows("reward", self.task.reward(scene), (self.num_envs,))
        terminated = checked_rows("terminate", self.task.terminate(scene), (self.num_envs,), bool) | self._diverged
        truncated = np.full(self.num_envs, self.max_episode_steps is not None) & (self._steps == self.max_episode_steps)
        rewards[fresh], terminated[fresh] = 0.0, False
        self._ended = terminated | truncated
        return self._observed(scene), rewards, terminated, truncated, self._info(scene)

    def render(self) -> None:
        """Raise an InputError: environments have no pictures."""
        raise InputError(f"{self!r} has no pictures; expected render_mode=None")

    def _lanes(self, mask: Any) -> Array:
        """Return the indices of the environments to reset."""
        if mask is None:
            return np.arange(self.num_envs)
        chosen = number_array(RESET_MASK, mask, bool)
        if chosen.shape != (self.num_envs,):
            raise InputError(f"{RESET_MASK} has shape {chosen.shape}; expected ({self.num_envs},)")
        if not self._started:
            raise InputError(f"{RESET_MASK} before the first reset; call reset(seed=...) once before")
        return np.flatnonzero(chosen)

    def _seed_streams(self, lanes: Array, seed: int | Sequence[int | None] | None) -> None:
        if seed is None:
            return
        each = seed_list(seed, self.num_envs)
        if not np.ndim(seed):  # type: ignore[arg-type]
            super().reset(seed=each[0])
        seeds_by_lane = {int(i): value for i in lanes if (value := each[i]) is not None}
        self._streams.seed(np.array(list(seeds_by_lane), int), list(seeds_by_lane.values()))

    def _clipped_actions(self, actions: Any) -> Array:
        """Return actions in [-1, 1]; those that are not finite become zero and count as diverged."""
        shape = self._action.shape
        array = checked_array("actions", actions, shape[1:], np.dtype(float), "in [-1, 1], for every motor")
        if array.shape != shape:
            raise InputError(f"actions have shape {array.shape}; expected {shape}, a row for every environment")
        clipped: Array = np.clip(np.asfortranarray(array), -1.0, 1.0)
        self._diverged = ~all_in_row(np.isfinite(array))
        clipped[self._diverged] = 0.0
        return clipped

    def _advance(self, action: Array) -> None:
        """Take one compiled step of all environments; those that diverge keep their state.

        States are kept column-major: NumPy is several times faster along columns than along rows of a few joints.
        """
        self._action = action
        self._tau = total = self.plant.torques(self._q, self._qd, action)
        if self.task.disturb is not None:
            pushed = self.task.disturb(self._scene())
            total = total + checked_rows("disturb", pushed, self._qd.shape)
        q, qd, valid = self.stepper.step(self._q, self._qd, total, threads=self.threads, raises=False)
        valid = valid & all_in_row(np.abs(qd) < DIVERGED_SPEED) & ~self._diverged
        if self.plant.robot.loops:
            valid &= self.plant.closable(q)
        if valid.all():
            self._q, self._qd = np.asfortranarray(q), np.asfortranarray(qd)
        else:
            self._q, self._qd = (np.where(valid[:, None], x, y) for x, y in ((q, self._q), (qd, self._qd)))
            self._tau = np.where(valid[:, None], self._tau, 0.0)
        self._diverged = ~valid
        self._steps = self._steps + 1

    def _start_episodes(self, lanes: Array, options: Mapping[str, Any]) -> None:
        """Start episodes with the values that the task draws, or those of `options`."""
        if not len(lanes):
            return
        draw = Draw(self.plant, self.task, self._streams, lanes, options)
        drawn = dict(checked_mapping("reset", self.task.reset(draw), '{"q": draw.positions()}'))
        drawn.setdefault("qd", np.zeros((len(lanes), self.plant.robot.n)))
        for name in options:
            if name not in drawn:
                raise unknown("option of reset", name, [*drawn, RESET_MASK])
            drawn[name] = draw.chosen(name, drawn[name])
        drawn = self._checked(drawn, len(lanes))
        for array, value in ((self._q, drawn.pop("q")), (self._qd, drawn.pop("qd"))):
            array[lanes] = value
        for array in (self._tau, self._action, self._steps, self._diverged, self._ended):
            array[lanes] = 0
        for name, value in drawn.items():
            stored = self._drawn.setdefault(name, np.zeros((self.num_envs, *value.shape[1:])))
            stored[lanes] = value
            if name in self.task.varied:
                self.stepper.parameters[name][lanes] = value

    def _checked(self, drawn: Mapping[str, Any], count: int) -> dict[str, Array]:
        """Return the values of a reset as rows for each environment; an InputError if an episode cannot start there."""
        robot, varied = self.plant.robot, self.task.varied
        for name in ("q", *varied, *self._drawn):
            if name not in drawn:
                raise InputError(f"reset gives {', '.join(drawn)}; expected {name!r} as well, one for each environment")
        rows = {"q": (robot.nq,), "qd": (robot.n,)} | {name: self.stepper.parameters[name].shape[1:] for name in varied}
        rows |= {name: array.shape[1:] for name, array in self._drawn.items()}
        checked = {}
        for name, value in drawn.items():
            given = number_array(f"{name!r} of reset", value)
            checked[name] = checked_rows(f"{name!r} of reset", given, (count, *rows.get(name, given.shape[1:])))
            if name in varied:
                check_parameter(name, checked[name])
            elif name in self._parameters:
                raise InputError(f"reset gives {name!r}, a parameter of {robot.name}; expected it in vary=({name!r},)")
        self._check_start(checked["q"])
        return checked

    def _check_start(self, q: Array) -> None:
        """Raise an InputError for start positions that are invalid or would end the episode at once."""
        robot = self.plant.robot
        if error := unit_length_error(robot, "q of reset", q):
            raise InputError(error)
        if not (closed := self.plant.closable(q)).all():
            raise InputError(
                f"reset begins at q = {q[closed.argmin()]}, where loops of {robot.name} cannot be closed; expected one "
                "where they can, such as draw.positions() returns"
            )
        inside = self.plant.inside(q, LIMIT_SLACK)
        if self.task.terminate is outside and not inside.all():
            raise InputError(
                f"reset begins at q = {q[inside.argmin()]}, beyond limits of {robot.name}, where an episode ends at "
                "once; expected a position within them, or terminate=..."
            )

    def _scene(self) -> Scene:
        """Return the state as a Scene for the functions of the task: read-only views."""
        arrays = (self._q, self._qd, self._tau, self._action, self._steps, self._diverged)
        q, qd, tau, action, steps, diverged = map(read_only, arrays)
        drawn = {name: read_only(array) for name, array in self._drawn.items()}
        return Scene(self.plant, self.task, q, qd, tau, action, steps, diverged, drawn)

    def _observed(self, scene: Scene) -> Array:
        observed = number_array("observe", self.task.observe(scene)).copy("K")
        if observed.dtype != np.float32:
            with np.errstate(over="ignore"):  # infinite numbers raise the error below
                observed = observed.astype(np.float32)
        if observed.ndim != 2 or len(observed) != self.num_envs or self._width not in (None, observed.shape[1]):
            expected = "numbers)" if self._width is None else f"{self._width}), as at first"
            raise InputError(f"observe has shape {observed.shape}; expected ({self.num_envs}, {expected}")
        check_finite_rows("observe", observed)
        return observed

    def _info(self, scene: Scene) -> dict[str, Any]:
        """Return info, with Gymnasium's masks of validity, which are True for all."""
        info: dict[str, Any] = {"diverged": self._diverged.copy()}
        for name, value in checked_mapping("report", self.task.report(scene), '{"distance": scene.distance}').items():
            if name in info or name.startswith("_"):
                raise InputError(f"report gives {name!r}; expected another name, without an underscore at its start")
            info[name] = array = np.array(number_array(f"{name!r} of report", value, object))
            if array.shape[:1] != (self.num_envs,):
                raise InputError(f"report gives {name!r} of shape {array.shape}; expected ({self.num_envs}, ...)")
        return info | {f"_{name}": np.ones(self.num_envs, bool) for name in info}


class Environment(gymnasium.Env):  # type: ignore[misc]
    """One environment: `Environments` of one, without the first axis."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as in Gymnasium)

    def __init__(self, environments: Environments) -> None:
        self.vector, self.task, self.plant = environments, environments.task, environments.plant
        self.observation_space = environments.single_observation_space
        self.action_space = environments.single_action_space

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start a new episode, as `Environments.reset` with options of one; return observation and info."""
        if seed is not None:
            super().reset(seed=seed_list(seed, 1)[0])
        observed, info = self.vector.reset(seed=seed, options=options)
        return observed[0], _info_of_one(info)

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take one step; return observation, reward, terminated, truncated and info."""
        checked = numbers("action", action, "expected one in [-1, 1] for every motor")
        observed, rewards, terminated, truncated, info = self.vector.step(checked[None])
        self.vector._ended[:] = False  # a single environment waits for a reset
        return observed[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), _info_of_one(info)

    def render(self) -> None:
        """Raise an InputError: environments have no pictures."""
        self.vector.render()


def _info_of_one(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return info without the first axis; numbers are Python's, as Gymnasium requires for batches."""
    values = {name: value[0] for name, value in info.items() if not name.startswith("_")}
    return {name: value if np.ndim(value) else value.item() for name, value in values.items()}


add_former_names(Environment, alone="vector")
