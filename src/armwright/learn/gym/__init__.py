"""Gymnasium environments of any robot, thousands of them in one compiled step.

envs = gymnasium.make_vec("armwright/Reach-v0", num_envs=4096, robot="panda")       also Track-v0 and Hold-v0
env = gymnasium.make("armwright/Reach-v0", robot="panda")                           one
envs = vector(robot, Reach(reward=mine), num_envs=4096)                             a task with a custom reward
"""

from armwright.errors import ArmwrightError

try:
    import gymnasium
except ImportError:
    raise ArmwrightError("environments need Gymnasium: pip install 'armwright[gym]'") from None

from functools import partial

from armwright.learn.gym.environments import Environment, Environments
from armwright.learn.gym.make import DEFAULT_EPISODE_STEPS, make_registered, single, vector
from armwright.learn.gym.robot_plant import Plant
from armwright.learn.gym.standard_tasks import Hold, Reach, Track
from armwright.learn.gym.task import Draw, Scene, Task, nearness

for _task in (Reach, Track, Hold):
    gymnasium.register(
        f"armwright/{_task.__name__}-v0",
        entry_point=partial(make_registered, single, _task),
        vector_entry_point=partial(make_registered, vector, _task),
        max_episode_steps=DEFAULT_EPISODE_STEPS,
    )

__all__ = [
    "Draw",
    "Environment",
    "Environments",
    "Hold",
    "Plant",
    "Reach",
    "Scene",
    "Task",
    "Track",
    "nearness",
    "single",
    "vector",
]
