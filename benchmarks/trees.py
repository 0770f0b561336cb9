"""Legged robots beside Pinocchio: how long a state takes on one thread, and how long the first result takes.

    pip install ".[test]" example-robot-data && python benchmarks/trees.py [robot ...]

Both compute 4096 states of the floating robot, one after the other in one process, the best of many turns each. The
numbers of a state lie side by side in memory, for both.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import cmeel
import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import armwright as aw
from armwright.study.bench import best_of

FILES = Path(cmeel.__path__[0]).parent / "cmeel.prefix/share/example-robot-data/robots"
ROBOTS = {
    "go2": "go2_description/urdf/go2.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
}
STATES, FEW = 4096, 256
PROBLEMS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "coriolis_matrix",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)


def theirs(model: pin.Model, problem: str, state: list[np.ndarray]) -> tuple[int, partial[None]]:
    """The same in Pinocchio: how many states a call computes, and the call."""
    q, qd, x = (np.asfortranarray(column.T) for column in state)
    together = {"inverse_dynamics": pin.rneaInParallel, "forward_dynamics": pin.abaInParallel}
    if problem in together:
        pool, result = pin.ModelPool(model, 1), np.zeros((model.nv, STATES), order="F")
        return STATES, partial(together[problem], 1, pool, q, qd, x, result)
    data = model.createData()
    of_one = {
        "mass_matrix": lambda q, qd, x: pin.crba(model, data, q),
        "coriolis_matrix": lambda q, qd, x: pin.computeCoriolisMatrix(model, data, q, qd),
        "inverse_dynamics_derivatives": lambda q, qd, x: pin.computeRNEADerivatives(model, data, q, qd, x),
        "forward_dynamics_derivatives": lambda q, qd, x: pin.computeABADerivatives(model, data, q, qd, x),
    }[problem]
    rows = [(q[:, k].copy(), qd[:, k].copy(), x[:, k].copy()) for k in range(FEW)]

    def every() -> None:
        for row in rows:
            of_one(*row)

    return FEW, partial(every)


def bench(name: str, table: Table) -> None:
    """One row for each problem of a robot."""
    path = FILES / ROBOTS[name]
    robot = aw.load(path, floating=True)
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    rng = np.random.default_rng(0)
    q, rest = robot.unit(rng.uniform(-1, 1, (STATES, robot.nq))), rng.uniform(-1, 1, (2, STATES, robot.n))
    state = [q, *rest]
    for problem in PROBLEMS:
        f = aw.compile(robot, problem)
        own = state[: len(f.arguments)]
        begin = time.perf_counter()
        out = f(*own, threads=1)
        first = time.perf_counter() - begin
        best = best_of(
            {"ours": (STATES, partial(f, *own, out=out, threads=1)), "theirs": theirs(model, problem, state)}
        )
        ours, other = best["ours"] * 1e9, best["theirs"] * 1e9
        operations = str(f.operations.total)
        table.add_row(
            name,
            str(robot.n),
            problem,
            operations,
            f"{first:.2f}",
            f"{ours:.0f}",
            f"{other:.0f}",
            f"{other / ours:.1f}x",
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as cache:
        os.environ["ARMWRIGHT_CACHE"] = cache
        shown = Table(title="floating robots, one thread, 4096 states", title_justify="left", box=None, pad_edge=False)
        for head in ("robot", "n", "problem", "operations", "seconds to first", "ns", "Pinocchio ns", "ratio"):
            shown.add_column(head, justify="right")
        for wanted in sys.argv[1:] or ROBOTS:
            bench(wanted, shown)
        Console(width=140).print(shown)
