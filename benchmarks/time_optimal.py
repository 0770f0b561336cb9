"""The fastest motion along paths, beside toppra in one run: durations, and how long finding them takes.

    pip install ".[test]" && python benchmarks/time_optimal.py

Paths through random points in 1000 intervals, limits of torque and velocity, friction dry, which both can do; then
viscous, which toppra leaves out. Times are the median of several turns, ours and theirs in turn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import toppra
from rich.console import Console
from rich.table import Table

import armwright as aw

POINTS, TURNS, DRY, VISCOUS = 1000, 15, 1.0, 10.0
toppra.setup_logging("ERROR")


def theirs(arm: aw.Robot, path: Any, velocity: np.ndarray, torque: np.ndarray) -> float:
    """The duration by toppra, with constraints at both ends of every interval, as ours are."""
    s, rigid = np.asarray(path.breaks), arm.with_friction(0.0, 0.0)
    spline = toppra.SplineInterpolator(s, path(s)[0], bc_type="natural")
    scheme = toppra.constraint.DiscretizationType.Interpolation
    within = [
        toppra.constraint.JointVelocityConstraint(np.stack([-velocity, velocity], axis=1)),
        toppra.constraint.JointTorqueConstraint(
            rigid.inverse_dynamics,
            np.stack([-torque, torque], axis=1),
            np.array([j.coulomb for j in arm.joints]),
            discretization_scheme=scheme,
        ),
    ]
    grid = np.linspace(s[0], s[-1], POINTS + 1)
    found = toppra.algorithm.TOPPRA(within, spline, gridpoints=grid, solver_wrapper="seidel").compute_trajectory()
    return float(found.duration)


def timed(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main() -> None:
    shown = Table("robot", "friction", "ours s", "toppra s", "ours ms", "toppra ms", "times as fast")
    for name, count in (("panda", 5), ("iiwa14", 6), ("ur5e", 4)):
        for viscous in (0.0, VISCOUS):
            arm = aw.load(name).with_friction(viscous, DRY)
            velocity = np.array([j.max_velocity for j in arm.joints])
            torque = np.array([j.max_torque for j in arm.joints])
            points = np.random.default_rng(count).uniform(-0.8, 0.8, (count, arm.n))
            motion = aw.trajectory.time_optimal(arm, points, points=POINTS)
            duration = theirs(arm, motion.path, velocity, torque)
            turns = [
                (
                    timed(lambda: aw.trajectory.time_optimal(arm, points, points=POINTS)),  # noqa: B023
                    timed(lambda: theirs(arm, motion.path, velocity, torque)),  # noqa: B023
                )
                for _ in range(TURNS)
            ]
            ours, other = (statistics.median(turn) * 1e3 for turn in zip(*turns, strict=True))
            shown.add_row(
                name,
                f"dry, viscous {viscous:g}" if viscous else "dry",
                f"{motion.duration:.4f}",
                f"{duration:.4f}" + (" (without)" if viscous else ""),
                f"{ours:.1f}",
                f"{other:.1f}",
                f"{statistics.median(b / a for a, b in turns):.1f}",
            )
    Console().print(shown)


if __name__ == "__main__":
    main()
