"""What the tests run over: one list of problems, of formulations, of packaged robots and of random states."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.backends.interface import BACKENDS
from armwright.backends.llvm import compiler
from armwright.formulations import FORMULATIONS, PROBLEMS, Formulation, find_formulation, problem_of
from armwright.model.followers import split_followers
from armwright.model.mimic import Mimic
from armwright.robot import random_tree
from armwright.trace import evaluation_strategy

os.environ.pop("COLUMNS", None)  # which workers of pytest-xdist have, and commands would keep to

ROBOTS = aw.robots()
HERE = [target for target in BACKENDS if target != "cuda"]
"""Targets that need no card; texts for one are run as C++ (`test_cuda_text`, `test_cuda_text_rollouts`)."""
ASKED = [f"{p.name}[1]" if p.indexed else p.name for p in PROBLEMS.values() if not p.constrained]
INVERSE = aw.formulations("inverse_dynamics")
MATRICES = aw.formulations("mass_matrix")
FORWARD = aw.formulations("forward_dynamics")
BIASES = aw.formulations("bias")
EVERY = [
    find_formulation(f"{f.problem}[1]", f.name) if problem_of(f.problem).indexed else f
    for f in FORMULATIONS
    if not problem_of(f.problem).constrained
]  # one of what is asked for one joint

# Rows of a table: a link without mass, and one with all its mass in a point
MASSLESS = {"type": "revolute", "alpha": 0, "a": 0.5, "d": 0, "mass": 0, "com": [0, 0, 0], "inertia": [0] * 6}
POINT = {"type": "revolute", "alpha": 0, "a": 0.5, "d": 0, "point_masses": [{"mass": 1, "at": [0.5, 0, 0]}]}


def state_of(formulation: Formulation, case: Case) -> list[np.ndarray]:
    """As many of q, qd and qdd as the problem has arguments."""
    return [case.q, case.qd, case.qdd][: len(problem_of(formulation.problem).arguments)]


def pytest_configure(config: pytest.Config) -> None:
    """Share compiled code between the processes of a run, which compile all of it themselves, and with later runs.

    A name in this cache holds the program, the code that wrote it, the CPU and the versions, so what changed is compiled anew.
    """
    compiler.MAX_IN_PROCESS_COMPILATIONS = sys.maxsize
    if "ARMWRIGHT_CACHE" not in os.environ:
        os.environ["ARMWRIGHT_CACHE"] = str(kept_folder("code"))


def kept_folder(name: str) -> Path:
    """Return a folder of the tests that outlives a run: below the user's cache, or below the temporary folder."""
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = (users if os.access(users.parent, os.W_OK) else Path(tempfile.gettempdir())) / "armwright-tests" / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`robot_name` runs over the packaged robots, `problem_name` over every problem, `formulation` over every one."""
    if "robot_name" in metafunc.fixturenames:
        metafunc.parametrize("robot_name", ROBOTS)
    if "problem_name" in metafunc.fixturenames:
        metafunc.parametrize("problem_name", ASKED)
    if "formulation" in metafunc.fixturenames:
        metafunc.parametrize("formulation", EVERY, ids=lambda f: f"{f.problem}-{f.name}")


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulations run as they are written, on many robots, without waiting for a compiler."""
    monkeypatch.setattr(evaluation_strategy, "MAX_UNROLLED_JOINTS", 0)


@dataclass(frozen=True)
class Case:
    """A random robot with everything on: gravity in any direction, tool, payload, wrenches, and a state."""

    arm: aw.Robot
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tip_wrench: np.ndarray
    link_wrenches: np.ndarray

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.q, self.qd, self.qdd


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return R * np.sign(np.linalg.det(R))


def random_transform(rng: np.random.Generator) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = random_rotation(rng), rng.uniform(-0.3, 0.3, 3)
    return T


def random_case(n: int, seed: int, prismatic: float = 0.3, actuators: bool = False) -> Case:
    rng = np.random.default_rng(seed + 1000)
    arm = aw.random_robot(n, seed, prismatic).with_gravity(rng.normal(scale=6.0, size=3))
    arm = arm.with_base(random_transform(rng)).with_tool(random_transform(rng))
    held = aw.random_robot(1, seed + 7).links[0]
    arm = arm.with_payload(held.mass, held.com, held.inertia)
    if actuators:
        arm = with_actuators(arm, rng)
    q, qd, qdd = rng.uniform(-2, 2, (3, n))
    return Case(arm, q, qd, qdd, rng.normal(size=6), rng.normal(size=(n, 6)))


def tree_case(n: int, seed: int, actuators: bool = False, **choices: object) -> Case:
    """The same for a random tree of n bodies on any joints, one in three floating; its tool is on any of its links."""
    rng = np.random.default_rng(seed + 2000)
    choices.setdefault("floating", seed % 3 == 0)
    arm = random_tree(n, seed, **choices).with_gravity(rng.normal(scale=6.0, size=3))
    base, tool = random_transform(rng), random_transform(rng)
    held = aw.random_robot(1, seed + 7).links[0]
    arm = replace(arm.with_base(base), tip=int(rng.integers(n))).with_tool(tool)
    arm = arm.with_payload(held.mass, held.com, held.inertia)
    if actuators:
        arm = with_actuators(arm, rng)
    q, (qd, qdd) = arm.unit(rng.uniform(-2, 2, arm.nq)), rng.uniform(-2, 2, (2, arm.n))
    return Case(arm, q, qd, qdd, rng.normal(size=6), rng.normal(size=(n, 6)))


def with_actuators(arm: aw.Robot, rng: np.random.Generator) -> aw.Robot:
    """Friction and rotors on all joints but those of balls, which have none."""
    smooth = {b.coordinate + k for b in arm.balls for k in range(b.freedoms)}
    joints = tuple(
        j if i in smooth else replace(j, viscous=v, coulomb=c, rotor_inertia=r * 1e-4, gear=50.0)
        for i, (j, (v, c, r)) in enumerate(zip(arm.joints, rng.uniform(0.1, 1.0, (arm.n, 3)).tolist(), strict=True))
    )
    return replace(arm, joints=joints)


def led(seed: int, friction: bool = True, links: int = 7) -> aw.Robot:
    """Seven random joints, or more, of which three follow others: one by way of another follower."""
    arm = aw.random_robot(links, seed, prismatic=0.3)
    rows = list(arm.rows)
    for i, leader, factor, offset in ((2, 0, -1.5, 0.2), (3, 2, 2.0, 0.3), (5, 4, 0.5, -0.1)):
        rows[i] = replace(rows[i], mimic=Mimic(rows[leader].name, factor, offset))
    joints, followers = split_followers(rows)
    coupled = replace(arm, joints=joints, followers=followers, name="led")
    if not friction:
        return coupled
    return coupled.map_joints(lambda j: replace(j, viscous=0.3, coulomb=0.1, rotor_inertia=0.02, gear=2.0))


def close(got: object, expected: object, tolerance: float) -> None:
    """Largest difference relative to the largest entry."""
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    assert got.shape == expected.shape
    scale = np.max(np.abs(expected))
    error = np.max(np.abs(got - expected))
    assert error <= tolerance * scale, f"relative error {error / scale:.2e} > {tolerance:.0e}"
