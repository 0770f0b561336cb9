"""Make environments from a robot, a task and a few numbers, or by the names registered in Gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from gymnasium.utils import seeding

from armwright.arrays import whole_number
from armwright.errors import InputError, unknown
from armwright.learn.gym.environments import Environment, Environments
from armwright.learn.gym.input_checks import check_number
from armwright.learn.gym.robot_plant import Plant
from armwright.learn.gym.standard_tasks import Hold, Reach, Track
from armwright.learn.gym.task import Task
from armwright.load import load
from armwright.robot import Robot

Made = TypeVar("Made", Environment, Environments)

DEFAULT_EPISODE_STEPS = 100


def vector(
    robot: Robot | str | Path = "panda",
    task: Task | None = None,
    num_envs: int = 1,
    *,
    action: str = "velocity",
    dt: float = 0.04,
    substeps: int | None = None,
    response: float = 0.1,
    max_episode_steps: int | None = DEFAULT_EPISODE_STEPS,
    threads: int = 1,
    seed: int | None = None,
    render_mode: None = None,
) -> Environments:
    """Make many environments: a `gymnasium.vector.VectorEnv` that steps all of them in one compiled call.

    robot      a robot, the name of a packaged one, or a file
    task       `Reach()` by default; `Track`, `Hold`, or a custom `Task`
    action     the meaning of actions in [-1, 1]: "velocity", a share of the joint speeds; "position", of the joint
               ranges; "torque", of the motor torques
    dt         seconds from one action to the next
    substeps   steps of RK4 in this time; by default at least four, of at most 10 ms, more if friction requires
    response   time constant with which velocities follow actions, s; twice that for positions
    max_episode_steps  after which an episode is truncated; None for never
    threads    results do not depend on it
    seed       seed of the first reset, if that has none
    """
    if render_mode is not None:
        raise InputError(f"render_mode = {render_mode!r}: environments have no pictures; expected None")
    task = Reach() if task is None else task
    if not isinstance(task, Task):
        raise InputError(f"task is {task!r}; expected a Task, such as Reach()")
    for name, value in (("dt", dt), ("response", response)):
        check_number(name, value, lambda x: x > 0, "seconds, more than zero")
    if response < dt and action != "torque":
        raise InputError(f"response = {response:g} s: expected dt = {dt:g} s or more, or it would overshoot")
    plant = Plant(robot if isinstance(robot, Robot) else load(robot), task.frame, action, float(dt), float(response))
    environments = Environments(
        plant,
        task,
        whole_number("num_envs", num_envs, 1),
        None if substeps is None else whole_number("substeps", substeps, 1),
        None if max_episode_steps is None else whole_number("max_episode_steps", max_episode_steps, 1),
        whole_number("threads", threads, 1),
    )
    if seed is not None:
        seed = whole_number("seed", seed, 0)
        environments._np_random, environments._np_random_seed = seeding.np_random(seed)
    return environments


def single(
    robot: Robot | str | Path = "panda",
    task: Task | None = None,
    *,
    max_episode_steps: int | None = None,
    **options: Any,
) -> Environment:
    """Make one environment, a `gymnasium.Env`; options are those of `vector`. An episode lasts until its task ends it.

    `gymnasium.make` adds a limit of 100 steps.
    """
    return Environment(vector(robot, task, 1, max_episode_steps=max_episode_steps, **options))


def make_registered(
    make: Callable[..., Made], kind: type[Reach | Track | Hold], *, task: Task | None = None, **options: Any
) -> Made:
    """Make an environment with a task of this kind; options may include the fields of the task."""
    fields_of_task = {field.name: options.pop(field.name) for field in fields(kind) if field.name in options}
    if task is not None and not isinstance(task, kind):
        raise InputError(f"task is {task!r}; expected {kind.__name__}(...), or its fields one by one")
    chosen = replace(kind() if task is None else task, **fields_of_task)
    known = [*(vector.__kwdefaults__ or {}), "robot", *(field.name for field in fields(kind))]
    if make is vector:
        known.append("num_envs")
    for name in options:
        if name not in known:
            raise unknown("option of the environment", name, known)
    return make(task=chosen, **options)
