"""Environments: many robots at one task, all of them one compiled step further at a time; and one of them alone."""

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
from armwright.learn.gym.input_checks import (
    check_finite_rows,
    check_parameter,
    checked_mapping,
    checked_rows,
    number_array,
    seed_list,
)
from armwright.learn.gym.random_streams import Streams
from armwright.learn.gym.robot_plant import SMOOTH, Plant, every
from armwright.learn.gym.task import SLACK, Draw, Scene, Task, outside, read_only
from armwright.model.robot_parameters import parameter_sizes, robot_parameters
from armwright.model.unit_vectors import unit_length_error
from armwright.simulation.stepper import Stepper, stepper

FASTEST = 1e4
"""rad/s or m/s from which on a motion has diverged, though it is finite still."""
MASK = "reset_mask"
"""Gymnasium's option of a reset that says which environments it is for."""


class Environments(VectorEnv):  # type: ignore[misc]
    """Many environments of one robot and one task, stepped together: what `vector` makes.

    An episode that is at its end begins anew with the next step, which does nothing else there: its reward is zero and
    its action is not used (Gymnasium's `AutoresetMode.NEXT_STEP`).
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012  (as Gymnasium has it)

    def __init__(
        self,
        plant: Plant,
        task: Task,
        num_envs: int,
        substeps: int | None,
        max_episode_steps: int | None,
        threads: int,
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
        self._given: dict[str, Array] = {}
        self.stepper = self._made_stepper(substeps)
        self._parameters = frozenset(robot_parameters(plant.robot))
        self._begun = False
        self._begin(np.arange(num_envs), {})
        self._width: int | None = None
        self._width = self._observed(self._scene()).shape[1]
        self.single_observation_space = Box(-np.inf, np.inf, (self._width,), np.float32)
        self.single_action_space = Box(-1.0, 1.0, (motors,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _made_stepper(self, substeps: int | None) -> Stepper:
        sizes = parameter_sizes(self.plant.robot, self.task.varied)
        loads = {name: np.zeros((self.num_envs, size) if size > 1 else self.num_envs) for name, size in sizes.items()}
        count = self.plant.substeps if substeps is None else substeps
        return stepper(self.plant.robot, dt=self.plant.dt, substeps=count, vary=loads, smooth=SMOOTH)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but compiled code, so that environments can be copied and pickled in the middle of an episode."""
        return {**vars(self), "stepper": (self.stepper.substeps, dict(self.stepper.parameters))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        substeps, parameters = state.pop("stepper")
        self.__dict__.update(state)
        self.stepper = self._made_stepper(substeps)
        for name, values in parameters.items():
            self.stepper.parameters[name][...] = values

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin anew, everywhere or where options["reset_mask"] says.

        seed      environment i draws what one alone draws that is seeded with seed + i; or a list with one for each.
                  Without it they go on drawing
        options   what to begin with in place of what the task draws, by name: {"target": [0.5, 0, 0.3]}, for all or
                  one for each of all environments
        """
        chosen = dict({} if options is None else checked_mapping("options", options, '{"q": q}'))
        lanes = self._lanes(chosen.pop(MASK, None))
        self._sow(lanes, self.np_random_seed if seed is None and not self._begun else seed)
        self._begin(lanes, chosen)
        self._begun = True
        scene = self._scene()
        return self._observed(scene), self._told(scene)

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Observations, rewards, whose episode has come to its end or lasted long enough, and what is told besides.

        What diverges, or is told to do what is no number, is at its end: info["diverged"] says so, and it is observed
        where it was before.
        """
        if not self._begun:
            raise InputError("step before the first reset; call reset(seed=...) once")
        fresh = self._ended.copy()
        self._move(self._asked(actions))
        self._begin(np.flatnonzero(fresh), {})
        scene = self._scene()
        rewards = checked_rows("reward", self.task.reward(scene), (self.num_envs,))
        terminated = checked_rows("terminate", self.task.terminate(scene), (self.num_envs,), bool) | self._diverged
        truncated = np.full(self.num_envs, self.max_episode_steps is not None) & (self._steps == self.max_episode_steps)
        rewards[fresh], terminated[fresh] = 0.0, False
        self._ended = terminated | truncated
        return self._observed(scene), rewards, terminated, truncated, self._told(scene)

    def render(self) -> None:
        raise InputError(f"{self!r} has no pictures; expected render_mode=None")

    def _lanes(self, mask: Any) -> Array:
        """The environments that are to be reset."""
        if mask is None:
            return np.arange(self.num_envs)
        chosen = number_array(MASK, mask, bool)
        if chosen.shape != (self.num_envs,):
            raise InputError(f"{MASK} has shape {chosen.shape}; expected ({self.num_envs},), one for each environment")
        if not self._begun:
            raise InputError(f"{MASK} before the first reset; expected one of all before: call reset(seed=...) once")
        return np.flatnonzero(chosen)

    def _sow(self, lanes: Array, seed: int | Sequence[int | None] | None) -> None:
        if seed is None:
            return
        each = seed_list(seed, self.num_envs)
        if not np.ndim(seed):  # type: ignore[arg-type]
            super().reset(seed=each[0])
        sown = {int(i): value for i in lanes if (value := each[i]) is not None}
        self._streams.seed(np.array(list(sown), int), list(sown.values()))

    def _asked(self, actions: Any) -> Array:
        """Actions in [-1, 1]; those that are no numbers are zero, and count as diverged."""
        shape = self._action.shape
        array = checked_array("actions", actions, shape[1:], np.dtype(float), "in [-1, 1], for every motor")
        if array.shape != shape:
            raise InputError(f"actions have shape {array.shape}; expected {shape}, a row for every environment")
        asked: Array = np.clip(np.asfortranarray(array), -1.0, 1.0)
        self._diverged = ~every(np.isfinite(array))
        asked[self._diverged] = 0.0
        return asked

    def _move(self, action: Array) -> None:
        """One compiled step of all; those that diverge stay where they are.

        States are kept by columns, along which NumPy goes several times as fast as along rows of a few joints.
        """
        self._action = action
        self._tau = total = self.plant.torques(self._q, self._qd, action)
        if self.task.disturb is not None:
            pushed = self.task.disturb(self._scene())
            total = total + checked_rows("disturb", pushed, self._qd.shape)
        q, qd, good = self.stepper.step(self._q, self._qd, total, threads=self.threads, raises=False)
        good = good & every(np.abs(qd) < FASTEST) & ~self._diverged
        if self.plant.robot.loops:
            good &= self.plant.closable(q)
        if good.all():
            self._q, self._qd = np.asfortranarray(q), np.asfortranarray(qd)
        else:
            self._q, self._qd = (np.where(good[:, None], x, y) for x, y in ((q, self._q), (qd, self._qd)))
            self._tau = np.where(good[:, None], self._tau, 0.0)
        self._diverged = ~good
        self._steps = self._steps + 1

    def _begin(self, lanes: Array, options: Mapping[str, Any]) -> None:
        """Let episodes begin with what the task draws, or with what `options` have instead."""
        if not len(lanes):
            return
        draw = Draw(self.plant, self.task, self._streams, lanes, options)
        drawn = dict(checked_mapping("reset", self.task.reset(draw), '{"q": draw.positions()}'))
        drawn.setdefault("qd", np.zeros((len(lanes), self.plant.robot.n)))
        for name in options:
            if name not in drawn:
                raise unknown("option of reset", name, [*drawn, MASK])
            drawn[name] = draw.chosen(name, drawn[name])
        drawn = self._checked(drawn, len(lanes))
        for array, value in ((self._q, drawn.pop("q")), (self._qd, drawn.pop("qd"))):
            array[lanes] = value
        for array in (self._tau, self._action, self._steps, self._diverged, self._ended):
            array[lanes] = 0
        for name, value in drawn.items():
            kept = self._given.setdefault(name, np.zeros((self.num_envs, *value.shape[1:])))
            kept[lanes] = value
            if name in self.task.varied:
                self.stepper.parameters[name][lanes] = value

    def _checked(self, drawn: Mapping[str, Any], count: int) -> dict[str, Array]:
        """What a reset has drawn, if it is a row of numbers for each environment that a robot can begin with."""
        robot, varied = self.plant.robot, self.task.varied
        for name in ("q", *varied, *self._given):
            if name not in drawn:
                raise InputError(f"reset gives {', '.join(drawn)}; expected {name!r} as well, one for each environment")
        rows = {"q": (robot.nq,), "qd": (robot.n,)} | {name: self.stepper.parameters[name].shape[1:] for name in varied}
        rows |= {name: array.shape[1:] for name, array in self._given.items()}
        found = {}
        for name, value in drawn.items():
            given = number_array(f"{name!r} of reset", value)
            found[name] = checked_rows(f"{name!r} of reset", given, (count, *rows.get(name, given.shape[1:])))
            if name in varied:
                check_parameter(name, found[name])
            elif name in self._parameters:
                raise InputError(f"reset gives {name!r}, a parameter of {robot.name}; expected it in vary=({name!r},)")
        self._check_beginning(found["q"])
        return found

    def _check_beginning(self, q: Array) -> None:
        """That robots are somewhere, and not where an episode would end at once."""
        robot = self.plant.robot
        if said := unit_length_error(robot, "q of reset", q):
            raise InputError(said)
        if not (closed := self.plant.closable(q)).all():
            raise InputError(
                f"reset begins at q = {q[closed.argmin()]}, where loops of {robot.name} cannot be closed; expected one "
                "where they can, such as draw.positions() has"
            )
        inside = self.plant.inside(q, SLACK)
        if self.task.terminate is outside and not inside.all():
            raise InputError(
                f"reset begins at q = {q[inside.argmin()]}, beyond limits of {robot.name}, where an episode ends at "
                "once; expected a position within them, or terminate=..."
            )

    def _scene(self) -> Scene:
        """What the parts of the task see: the arrays themselves, which they may not change."""
        q, qd, tau, action, steps, diverged = map(
            read_only, (self._q, self._qd, self._tau, self._action, self._steps, self._diverged)
        )
        given = {name: read_only(array) for name, array in self._given.items()}
        return Scene(self.plant, self.task, q, qd, tau, action, steps, diverged, given)

    def _observed(self, scene: Scene) -> Array:
        seen = number_array("observe", self.task.observe(scene)).copy("K")
        if seen.dtype != np.float32:
            with np.errstate(over="ignore"):  # what becomes infinite is told
                seen = seen.astype(np.float32)
        if seen.ndim != 2 or len(seen) != self.num_envs or self._width not in (None, seen.shape[1]):
            wanted = "numbers)" if self._width is None else f"{self._width}), as at first"
            raise InputError(f"observe has shape {seen.shape}; expected ({self.num_envs}, {wanted}")
        check_finite_rows("observe", seen)
        return seen

    def _told(self, scene: Scene) -> dict[str, Any]:
        """What is told besides, and, as Gymnasium has it, of whom it is: of all."""
        told: dict[str, Any] = {"diverged": self._diverged.copy()}
        for name, value in checked_mapping("report", self.task.report(scene), '{"distance": scene.distance}').items():
            if name in told or name.startswith("_"):
                raise InputError(f"report gives {name!r}; expected a name of its own, without an underscore before it")
            told[name] = found = np.array(number_array(f"{name!r} of report", value, object))
            if found.shape[:1] != (self.num_envs,):
                raise InputError(f"report gives {name!r} of shape {found.shape}; expected ({self.num_envs}, ...)")
        return told | {f"_{name}": np.ones(self.num_envs, bool) for name in told}


class Environment(gymnasium.Env):  # type: ignore[misc]
    """One environment: `Environments` of one, without its first axis."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as Gymnasium has it)

    def __init__(self, alone: Environments) -> None:
        self.alone, self.task, self.plant = alone, alone.task, alone.plant
        self.observation_space, self.action_space = alone.single_observation_space, alone.single_action_space

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """As that of `Environments`; options are those of one."""
        if seed is not None:
            super().reset(seed=seed_list(seed, 1)[0])
        seen, told = self.alone.reset(seed=seed, options=options)
        return seen[0], _of_one(told)

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        asked = numbers("action", action, "expected one in [-1, 1] for every motor")
        seen, rewards, terminated, truncated, told = self.alone.step(asked[None])
        self.alone._ended[:] = False  # who alone comes to an end waits for a reset
        return seen[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), _of_one(told)

    def render(self) -> None:
        self.alone.render()


def _of_one(told: Mapping[str, Any]) -> dict[str, Any]:
    """Without the first axis; numbers are Python's, as Gymnasium batches no others."""
    own = {name: value[0] for name, value in told.items() if not name.startswith("_")}
    return {name: value if np.ndim(value) else value.item() for name, value in own.items()}
