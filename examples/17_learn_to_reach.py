"""A policy that learns to reach, by proximal policy optimisation (Schulman et al. 2017) in plain PyTorch.

    python examples/17_learn_to_reach.py            the Panda, to within 2 cm of targets anywhere in its reach
    python examples/17_learn_to_reach.py --quick    a quarter of a minute: enough to see it learn

A thousand arms start with all joints anywhere in the middle half of their ranges, and each is to bring its tip to a
target anywhere. Actions are velocities of the joints, 25 a second. At the end the policy is tried on 1000 targets that
it has not seen.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from pictures import show
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence

from armwright.learn.gym import Environments, Reach, vector
from armwright.pages.report.plot import Curve, Plot

TOLERANCE = 0.02  # metres
UNSEEN, WATCHED = 1_000_000, 2_000_000  # seeds of targets that nothing is learned from: the last trial's, the course's


@dataclass(frozen=True)
class Settings:
    """The numbers of the method, most by the names they have in the literature."""

    robot: str = "panda"
    start: float = 0.5  # the share of the ranges of the joints in which arms start
    envs: int = 1024
    steps: int = 32  # of every environment between two updates
    updates: int = 240
    trials: int = 40  # on the way
    epochs: int = 3
    batches: int = 16
    gamma: float = 0.95
    lam: float = 0.95
    clip: float = 0.2
    rate: float = 1e-3  # of learning; it goes up and down with how much an update changes, and down in the end
    change: float = 0.01  # Kullback-Leibler divergence of an update
    spread: tuple[float, float] = (0.5, 0.08)  # deviation of actions tried, at first and in the end
    width: int = 128
    seed: int = 0

    def environments(self, count: int, seed: int, steps: int) -> Environments:
        task = Reach(start=self.start, tolerance=TOLERANCE)
        return vector(self.robot, task, count, max_episode_steps=steps, seed=seed)


QUICK = Settings(start=0.2, envs=512, updates=16, trials=4, spread=(0.5, 0.4))


class Policy(nn.Module):
    """Two networks that see observations of mean zero and deviation one: what to do, and what that is worth."""

    def __init__(self, seen: np.ndarray, actions: int, how: Settings) -> None:
        super().__init__()
        self.mean, self.deviation = torch.from_numpy(seen.mean(0)), torch.from_numpy(seen.std(0) + 0.1)
        self.actor, self.critic = network(seen.shape[1], actions, how.width), network(seen.shape[1], 1, how.width)
        self.spread = how.spread[0]

    def normal(self, seen: Tensor) -> Tensor:
        return ((seen - self.mean) / self.deviation).clamp(-5, 5)

    def choice(self, x: Tensor) -> Normal:
        return Normal(self.actor(x), self.spread, validate_args=False)

    def worth(self, x: Tensor) -> Tensor:
        return self.critic(x).squeeze(-1)

    @torch.no_grad()
    def best(self, seen: np.ndarray) -> np.ndarray:
        """What it does when it tries nothing new."""
        return self.actor(self.normal(torch.from_numpy(seen))).numpy()


def network(inputs: int, outputs: int, width: int) -> nn.Sequential:
    last = nn.Linear(width, outputs)
    nn.init.normal_(last.weight, std=0.01)
    return nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), last)


class Experience(NamedTuple):
    """Steps of all environments, (steps, envs, ...); of observations one more."""

    seen: Tensor
    action: Tensor
    reward: Tensor
    terminated: Tensor
    ended: Tensor
    idle: Tensor  # an episode began, and the action was not used


@torch.no_grad()
def gather(envs: Environments, policy: Policy, seen: Tensor, idle: Tensor, steps: int) -> Experience:
    """What comes of it if the policy acts, and tries something new at each step."""
    rows, views = [], [seen]
    for _ in range(steps):
        action = policy.choice(policy.normal(seen)).sample()
        after, reward, terminated, truncated, _ = envs.step(action.numpy())
        ended = terminated | truncated
        rows.append((action, *map(torch.from_numpy, (reward.astype(np.float32), terminated, ended)), idle))
        seen, idle = torch.from_numpy(after), torch.from_numpy(ended)
        views.append(seen)
    return Experience(torch.stack(views), *map(torch.stack, zip(*rows, strict=True)))


def advantages(e: Experience, value: Tensor, how: Settings) -> Tensor:
    """How much better than expected it went: generalised advantage estimates (Schulman et al. 2016).

    What is seen when an episode ends is still of that episode; one that only was long enough is worth what it promised.
    """
    found, later = torch.zeros_like(e.reward), torch.zeros_like(e.reward[0])
    for t in reversed(range(len(found))):
        surprise = e.reward[t] + how.gamma * value[t + 1] * ~e.terminated[t] - value[t]
        found[t] = later = surprise + how.gamma * how.lam * later * ~e.ended[t]
    return found


def improve(policy: Policy, optimiser: torch.optim.Optimizer, e: Experience, how: Settings) -> float:
    """Climb the clipped objective, a few times over all that was gathered; how much the policy has changed."""
    x, used = policy.normal(e.seen), ~e.idle
    with torch.no_grad():
        value = policy.worth(x)
        gain = advantages(e, value, how)
        before = Normal(policy.actor(x[:-1][used]), policy.spread)
    goal, gain, x, action = (gain + value[:-1])[used], gain[used], x[:-1][used], e.action[used]
    gain, chance = (gain - gain.mean()) / gain.std(), before.log_prob(action).sum(-1)
    for _ in range(how.epochs):
        for part in torch.randperm(len(x)).chunk(how.batches):
            ratio = (policy.choice(x[part]).log_prob(action[part]).sum(-1) - chance[part]).exp()
            clipped = ratio.clamp(1 - how.clip, 1 + how.clip)
            loss = (policy.worth(x[part]) - goal[part]).square().mean()
            loss -= torch.minimum(ratio * gain[part], clipped * gain[part]).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()
    with torch.no_grad():
        return kl_divergence(before, policy.choice(x)).sum(-1).mean().item()


def trial(policy: Policy, how: Settings, seed: int, count: int = 1000) -> np.ndarray:
    """How far from targets tips are after 100 steps, 4 seconds, or where a joint ran into its limit before."""
    envs = how.environments(count, seed, steps=100)
    seen, info = envs.reset()
    left, lost = info["distance"], np.zeros(count, bool)
    for _ in range(100):
        seen, _, terminated, _, info = envs.step(policy.best(seen))
        left = np.where(lost, left, info["distance"])
        lost |= terminated
    return left


class Mark(NamedTuple):
    """How well a policy does on targets it has not seen, after so many steps and seconds of learning."""

    steps: int
    seconds: float
    distance: np.ndarray

    @property
    def within(self) -> float:
        return float((self.distance < TOLERANCE).mean())

    def __str__(self) -> str:
        return (
            f"{self.steps / 1e6:6.2f} million steps  {self.seconds:4.0f} s   {100 * self.distance.mean():5.1f} cm from "
            f"targets in the mean, {100 * self.within:5.1f} % within {100 * TOLERANCE:g} cm"
        )


def learn(how: Settings) -> tuple[Policy, list[Mark]]:
    """A policy, and how it went."""
    torch.manual_seed(how.seed)
    torch.set_num_threads(1)  # for networks this small the others are in the way
    begin, course = time.perf_counter(), []
    envs = how.environments(how.envs, how.seed, steps=50)
    seen, _ = envs.reset()
    policy = Policy(seen, envs.single_action_space.shape[0], how)
    optimiser = torch.optim.Adam(policy.parameters())
    view, idle, rate = torch.from_numpy(seen), torch.zeros(how.envs, dtype=torch.bool), how.rate
    for update in range(how.updates + 1):
        if update % (how.updates // how.trials) == 0:
            steps, seconds = update * how.steps * how.envs, time.perf_counter() - begin
            course.append(Mark(steps, seconds, trial(policy, how, WATCHED, 500)))
            print(course[-1], flush=True)
        if update == how.updates:
            break
        done = update / how.updates
        policy.spread = how.spread[0] * (how.spread[1] / how.spread[0]) ** done
        optimiser.param_groups[0]["lr"] = rate * (1 - 0.9 * done)
        e = gather(envs, policy, view, idle, how.steps)
        view, idle = e.seen[-1], e.ended[-1]
        change = improve(policy, optimiser, e, how)
        rate = min(max(rate * (1.5 if change < how.change else 1 / 1.5), 1e-4), 3e-3)
    return policy, course


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few updates only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", metavar="FILE.svg", help="where the learning curve is written; nowhere without")
    chosen = parser.parse_args()
    how = replace(QUICK if chosen.quick else Settings(), seed=chosen.seed)
    policy, course = learn(how)
    last = Mark(course[-1].steps, course[-1].seconds, trial(policy, how, UNSEEN))
    print(f"on 1000 targets it has not seen, after {last.seconds / 60:.1f} minutes:\n{last}")
    share = Curve("within 2 cm", [m.steps / 1e6 for m in course], [100 * m.within for m in course], marks=True)
    plot = Plot("A policy learns to reach", "million steps", "% of targets it has not seen", [share])
    show(plot.svg())


if __name__ == "__main__":
    main()
