"""armwright beside its peers: the Panda and UR5 of example-robot-data, the PUMA 560, and chains of 6 to 10,000 joints.

    pip install ".[test]" example-robot-data frax roboticstoolbox-python && python benchmarks/peers.py

`armwright bench NAME` does the first part for any robot.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

import cmeel
import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import armwright as aw
from armwright.cli.bench import print_bench
from armwright.model.canonical import canonical_tree
from armwright.model.description import Description
from armwright.model.file_joints import FileJoint
from armwright.model.records import JointModel, LinkModel
from armwright.study.bench import best_of
from armwright.study.peers.pinocchio import Pinocchio

ROBOTS = Path(cmeel.__path__[0]).parent / "cmeel.prefix/share/example-robot-data/robots"


def panda() -> aw.Robot:
    """The Panda, its fingers locked."""
    return robot(ROBOTS / "panda_description/urdf/panda.urdf", "panda", "finger")


def ur5() -> aw.Robot:
    return robot(ROBOTS / "ur_description/urdf/ur5_robot.urdf", "ur5")


def robot(path: Path, name: str, locked: str = "-") -> aw.Robot:
    """An arm of a URDF, read by Pinocchio."""
    whole = pin.buildModelFromUrdf(str(path))
    fixed = [whole.getJointId(joint) for joint in whole.names if locked in joint]
    model = pin.buildReducedModel(whole, fixed, pin.neutral(whole))
    placed = []
    for joint, placement, body in zip(model.joints[1:], model.jointPlacements[1:], model.inertias[1:], strict=True):
        axis = joint.createData().S.ravel()[3:] if joint.nv == 1 else None
        link = LinkModel(f"link{len(placed) + 1}", body.mass, tuple(body.lever), tuple(map(tuple, body.inertia)))
        placed.append(FileJoint(placement.homogeneous, axis, "revolute", link, len(placed) - 1))
    table = canonical_tree(placed)
    joints = [
        JointModel(joint, "revolute", **asdict(row)) for joint, row in zip(model.names[1:], table.rows, strict=True)
    ]
    return aw.Robot.from_description(
        Description(name, tuple(joints), table.links, base=table.base, flange=table.file_frames[-1])
    )


def long_chains() -> None:
    """Inverse and forward dynamics against the number of joints, states side by side, one thread."""
    table = Table(title="chains of n joints, one thread", title_justify="left", box=None, pad_edge=False)
    for head in ("problem", "joints", "ns per state", "ns per joint", "seconds to first", "Pinocchio ns", "ratio"):
        table.add_column(head, justify="right")
    peers = {"inverse_dynamics": pin.rneaInParallel, "forward_dynamics": pin.abaInParallel}
    for problem, peer in peers.items():
        for n, states in ((6, 4096), (12, 1024), (24, 1024), (50, 512), (100, 512), (1000, 64), (10_000, 16)):
            arm = aw.random_robot(n, 1, prismatic=0.0)
            state = [np.asfortranarray(x) for x in np.random.default_rng(0).uniform(-1, 1, (3, states, n))]
            out = np.empty((states, n), order="F")
            f = aw.compile(arm, problem)
            start = time.perf_counter()
            f(*state, out=out, threads=1)
            first = time.perf_counter() - start
            jobs = {"ours": (states, partial(f, *state, out=out, threads=1))}
            if n <= 200:  # beyond, the n x n x n arrays in its data do not fit in memory
                pool, result = pin.ModelPool(Pinocchio(arm).model, 1), np.zeros((n, states), order="F")
                columns = [np.asfortranarray(x.T) for x in state]
                jobs["theirs"] = (states, partial(peer, 1, pool, *columns, result))
            best = {name: seconds * 1e9 for name, seconds in best_of(jobs).items()}
            ours, theirs = best["ours"], best.get("theirs")
            beside = (f"{theirs:.0f}", f"{theirs / ours:.1f}x") if theirs else ("-", "-")
            table.add_row(problem, str(n), f"{ours:.0f}", f"{ours / n:.1f}", f"{first:.2f}", *beside)
    Console(width=120).print(table)


if __name__ == "__main__":
    for arm in (panda(), ur5(), aw.load("puma560")):
        print_bench(arm)
    long_chains()
