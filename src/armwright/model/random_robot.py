"""Random robots with physically possible inertias, for tests and studies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armwright.arrays import whole_number
from armwright.errors import InputError
from armwright.model.description import Description
from armwright.model.followers import split_followers
from armwright.model.joint_types import COMPOUND_TYPES, freedoms_of
from armwright.model.records import JointModel, LinkModel
from armwright.model.transforms import Tensor, tensor, tensor_entries, triple


def random_description(n: int, seed: int, prismatic: float = 0.3) -> Description:
    """Return a random chain of n joints, each prismatic with the given probability.

    Its inertia tensors are positive definite and fulfil the triangle inequality.
    """
    whole_number("n", n, 1, "a whole number of joints")
    whole_number("seed", seed, 0)
    if not isinstance(prismatic, (int, float)) or not 0 <= prismatic <= 1:
        raise InputError(f"prismatic = {prismatic!r}: expected a probability between 0 and 1")
    rng = np.random.default_rng(seed)
    joints, links = [], []
    for i in range(n):
        alpha, theta = rng.uniform(-np.pi, np.pi, 2).tolist()
        a, d = rng.uniform(-0.5, 0.5, 2).tolist()
        kind = "prismatic" if rng.random() < prismatic else "revolute"
        joints.append(JointModel(f"joint{i + 1}", kind, alpha, a, d, theta, limits=(-np.pi, np.pi)))
        mass, com = float(rng.uniform(0.5, 5.0)), triple(rng.uniform(-0.25, 0.25, 3))
        links.append(LinkModel(f"link{i + 1}", mass, com, _random_inertia(rng, mass)))
    return Description(f"random{n}_{seed}", tuple(joints), tuple(links), source=f"random robot, n = {n}, seed = {seed}")


def random_tree(
    n: int, seed: int, kinds: Sequence[str] = ("revolute", "prismatic", *COMPOUND_TYPES), floating: bool = False
) -> Description:
    """Return a random tree of n bodies, each on a joint of one of the given kinds.

    The parent of a body is the one before it with probability 0.67, else a random earlier one or the base. With
    `floating`, the first body is free and carries all others.
    """
    rng = np.random.default_rng(seed)
    rows, links, parents = list[JointModel](), list[LinkModel](), list[int]()
    for i in range(n):
        parents.append(i - 1 if rng.random() < 0.67 else int(rng.integers(0 if floating and i else -1, i)))
        kind = "free" if floating and i == 0 else str(rng.choice(list(kinds)))
        alpha, theta, gamma = rng.uniform(-np.pi, np.pi, 3).tolist()
        a, d, y, z = rng.uniform(-0.5, 0.5, 4).tolist()
        placed = JointModel(f"joint{i + 1}", "revolute", alpha, a, d, theta, gamma=gamma, y=y, z=z)
        rows.extend(freedoms_of(kind, placed, pitch=0.1))
        mass, com = float(rng.uniform(0.5, 5.0)), triple(rng.uniform(-0.25, 0.25, 3))
        links.append(LinkModel(f"link{i + 1}", mass, com, _random_inertia(rng, mass)))
    joints, followers = split_followers(rows)
    source = f"random tree, n = {n}, seed = {seed}"
    return Description(
        f"tree{n}_{seed}", joints, tuple(links), source=source, followers=followers, parents=tuple(parents)
    )


def _random_inertia(rng: np.random.Generator, mass: float) -> Tensor:
    x, y, z = mass * rng.uniform(0.05, 0.2, 3) ** 2  # second moments along three axes
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    inertia = R @ np.diag([y + z, x + z, x + y]) @ R.T
    return tensor(tensor_entries((inertia + inertia.T) / 2))
