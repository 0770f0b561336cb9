"""How environments are made: from a robot, a task and a few numbers, or by the names that Gymnasium knows."""

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
from armwright.learn.gym.task import Hold, Reach, Task, Track
from armwright.load import load
from armwright.robot import Robot

Made = TypeVar("Made", Environment, Environments)

STEPS = 100
"""Of an episode, where nothing else is said."""


def vector(
    robot: Robot | str | Path = "panda",
    task: Task | None = None,
    num_envs: int = 1,
    *,
    action: str = "velocity",
    dt: float = 0.04,
    substeps: int | None = None,
    response: float = 0.1,
    max_episode_steps: int | None = STEPS,
    threads: int = 1,
    seed: int | None = None,
    render_mode: None = None,
) -> Environments:
    """Many environments in one: a `gymnasium.vector.VectorEnv` that takes them all through one compiled step.

    robot      a robot, the name of a packaged one, or a file
    task       `Reach()` by default; `Track`, `Hold`, or a `Task` of your own
    action     what numbers in [-1, 1] are: "velocity", as shares of the speeds of the joints; "position", of their
               ranges; "torque", of what the motors give
    dt         seconds from one action to the next
    substeps   steps of RK4 in this time; by default four or more, of 10 ms at most, or as many as friction asks for
    response   seconds in which velocities follow actions, twice of which for positions
    max_episode_steps  after which an episode is truncated; None for never
    threads    the result does not depend on it
    seed       of the first reset, if that has none
    """
    if render_mode is not None:
        raise InputError(f"render_mode = {render_mode!r}: there are no pictures of environments; expected None")
    task = Reach() if task is None else task
    if not isinstance(task, Task):
        raise InputError(f"task is {task!r}; expected a Task, such as Reach()")
    for name, value in (("dt", dt), ("response", response)):
        check_number(name, value, lambda x: x > 0, "seconds, more than zero")
    if response < dt and action != "torque":
        raise InputError(f"response = {response:g} s: expected dt = {dt:g} s or more, or it would overshoot")
    plant = Plant(robot if isinstance(robot, Robot) else load(robot), task.frame, action, float(dt), float(response))
    made = Environments(
        plant,
        task,
        whole_number("num_envs", num_envs, 1),
        None if substeps is None else whole_number("substeps", substeps, 1),
        None if max_episode_steps is None else whole_number("max_episode_steps", max_episode_steps, 1),
        whole_number("threads", threads, 1),
    )
    if seed is not None:
        seed = whole_number("seed", seed, 0)
        made._np_random, made._np_random_seed = seeding.np_random(seed)
    return made


def single(
    robot: Robot | str | Path = "panda",
    task: Task | None = None,
    *,
    max_episode_steps: int | None = None,
    **options: Any,
) -> Environment:
    """One environment, a `gymnasium.Env`; options are those of `vector`. It lasts until its task ends it.

    `gymnasium.make` puts a limit of 100 steps around it.
    """
    return Environment(vector(robot, task, 1, max_episode_steps=max_episode_steps, **options))


def named(
    make: Callable[..., Made], kind: type[Reach | Track | Hold], *, task: Task | None = None, **options: Any
) -> Made:
    """An environment with a task of this kind, whose fields may stand among the options."""
    own = {field.name: options.pop(field.name) for field in fields(kind) if field.name in options}
    if task is not None and not isinstance(task, kind):
        raise InputError(f"task is {task!r}; expected {kind.__name__}(...), or its parts one by one")
    chosen = replace(kind() if task is None else task, **own)
    known = [*(vector.__kwdefaults__ or {}), "robot", *(field.name for field in fields(kind))]
    if make is vector:
        known.append("num_envs")
    for name in options:
        if name not in known:
            raise unknown("option of the environment", name, known)
    return make(task=chosen, **options)
