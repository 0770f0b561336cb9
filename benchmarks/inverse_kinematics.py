"""Inverse kinematics beside the Robotics Toolbox: the PUMA 560, the Panda and the UR5, poses of random positions.

    pip install ".[test]" example-robot-data roboticstoolbox-python && python benchmarks/inverse_kinematics.py

The toolbox has two solvers of Levenberg-Marquardt type, `ikine_LM` in Python and `ik_LM` in C++. All get the same
poses, limits and tolerance and start at random; `solved` is checked with armwright's forward kinematics.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from peers import panda, ur5
from rich.console import Console
from rich.table import Table

import armwright as aw
from armwright.study.peers.toolbox import RoboticsToolbox

TARGETS = 10_000
ONE_BY_ONE = 300  # for what takes one target a call
TOLERANCE = 1e-10  # metres and radians


@dataclass(frozen=True)
class Result:
    how: str
    targets: int
    q: np.ndarray
    seconds: float
    steps: float  # per target


def random_poses(arm: aw.Robot) -> np.ndarray:
    low, high = np.array([joint.limits or (-np.pi, np.pi) for joint in arm.joints]).T
    return arm.forward_kinematics(np.random.default_rng(0).uniform(low, high, (TARGETS, arm.n)))


def ours(arm: aw.Robot, T: np.ndarray) -> list[Result]:
    """All at once, and one at a time."""
    solver = arm._solver("full", False)
    run, states = solver.newton_step, []

    def counted(given: Any, out: np.ndarray) -> None:
        states.append(len(out))
        run(given, out)

    def solve(targets: np.ndarray) -> np.ndarray:
        return arm.inverse_kinematics(targets, tolerance=TOLERANCE, raises=False)[0]

    def one_by_one() -> np.ndarray:
        return np.stack([solve(pose) for pose in T[:ONE_BY_ONE]])

    results = []
    jobs: list[tuple[str, int, Callable[[], np.ndarray]]] = [
        ("armwright, all at once", len(T), lambda: solve(T)),
        ("armwright, one at a time", ONE_BY_ONE, one_by_one),
    ]
    for how, targets, job in jobs:
        solver.newton_step = counted
        job()
        solver.newton_step = run
        start = time.perf_counter()
        q = job()
        results.append(Result(how, targets, q, time.perf_counter() - start, sum(states) / targets))
        states.clear()
    return results


def theirs(arm: aw.Robot, T: np.ndarray) -> list[Result]:
    """The toolbox's robot has no base and no tool: the targets are moved instead."""
    model = RoboticsToolbox(arm).model
    for link, joint in zip(model.links, arm.joints, strict=True):
        if joint.limits is not None:
            link.qlim = list(joint.limits)
    poses = np.linalg.inv(arm.base) @ T[:ONE_BY_ONE] @ np.linalg.inv(np.array(arm.flange) @ np.array(arm.tool))
    squares = TOLERANCE**2 / 2  # its tolerance is for half the sum of the squared errors
    results = []
    for how, solve in (("toolbox ikine_LM", model.ikine_LM), ("toolbox ik_LM, C++", model.ets().ik_LM)):
        solve(poses[0], tol=squares)
        start = time.perf_counter()
        found = [solve(pose, tol=squares) for pose in poses]
        seconds = time.perf_counter() - start
        steps = float(np.mean([each.iterations for each in found]))
        results.append(Result(how, len(found), np.stack([each.q for each in found]), seconds, steps))
    return results


def solved(arm: aw.Robot, T: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Whether a position is within the limits and its pose within the tolerance, by entries of the matrices.

    Twice the tolerance, as the two sides round and measure angles differently.
    """
    low, high = np.array([joint.limits or (-np.inf, np.inf) for joint in arm.joints]).T
    error = np.abs(arm.forward_kinematics(q) - T[: len(q)]).max(axis=(1, 2))
    return (error <= 2 * TOLERANCE) & ((q >= low) & (q <= high)).all(axis=1)


def main() -> None:
    warnings.simplefilter("ignore")
    table = Table(
        title=f"inverse kinematics to {TOLERANCE:g} m and rad", title_justify="left", box=None, pad_edge=False
    )
    for head in ("robot", "by", "targets", "solved", "us per target", "steps per target", "times ikine_LM"):
        table.add_column(head, justify="left" if head in ("robot", "by") else "right")
    for arm in (aw.load("puma560"), panda(), ur5()):
        T = random_poses(arm)
        results = [*ours(arm, T), *theirs(arm, T)]
        peer = next(r.seconds / r.targets for r in results if r.how == "toolbox ikine_LM")
        for r in results:
            each = r.seconds / r.targets
            share = f"{solved(arm, T, r.q).mean():.2%}"
            ratio = f"{peer / each:.0f}x" if peer / each >= 10 else f"{peer / each:.1f}x"
            table.add_row(arm.name, r.how, str(r.targets), share, f"{each * 1e6:.1f}", f"{r.steps:.1f}", ratio)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
