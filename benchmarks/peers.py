"""armwright beside Pinocchio and MuJoCo on the same robot: times per state, measured in turns, best of many.

    pip install ".[test]" example-robot-data && python benchmarks/peers.py

Times move with what else the machine does; ratios within one run are what to look at.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import cmeel
import llvmlite.binding
import mujoco
import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import armwright as aw

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from oracles import MuJoCo, Pinocchio

BATCH = 4096
ROUNDS = 20
IN_A_ROW = 5  # of each job in its turn: the first finds caches full of the others' data
LOOP = 200


def panda() -> aw.Robot:
    """The Panda of example-robot-data, its fingers locked; its URDF places frames as modified DH does."""
    share = Path(cmeel.__path__[0]).parent / "cmeel.prefix/share/example-robot-data/robots"
    whole = pin.buildModelFromUrdf(str(share / "panda_description/urdf/panda.urdf"))
    fingers = [whole.getJointId(name) for name in whole.names if "finger" in name]
    model = pin.buildReducedModel(whole, fingers, pin.neutral(whole))
    rows = []
    for name, placement, body in zip(model.names[1:], model.jointPlacements[1:], model.inertias[1:], strict=True):
        R, p = placement.rotation, placement.translation
        alpha = np.arctan2(R[2, 1], R[2, 2])
        if abs(alpha) > 1e-9:
            alpha = round(alpha / (np.pi / 2)) * np.pi / 2  # rpy is written with a dozen digits
        d = -np.sin(alpha) * p[1] + np.cos(alpha) * p[2]
        inertia = {"mass": body.mass, "com": body.lever, "inertia": body.inertia}
        rows.append({"type": "revolute", "alpha": alpha, "a": p[0], "d": d, "name": name, **inertia})
    return aw.Robot.from_dh(rows, "modified", name="panda")


def best_of(jobs: dict[str, tuple[int, Callable[[], object]]]) -> dict[str, float]:
    """Seconds per state of each job, taken in turns so that all see the same machine."""
    best = dict.fromkeys(jobs, np.inf)
    for _, job in jobs.values():
        job()
    for _ in range(ROUNDS):
        for name, (states, job) in jobs.items():
            for _ in range(IN_A_ROW):
                start = time.perf_counter()
                job()
                best[name] = min(best[name], (time.perf_counter() - start) / states)
    return best


def in_loop(function: Callable[..., object], *columns: np.ndarray) -> tuple[int, Callable[[], object]]:
    """One call per state from a Python loop."""
    rows = [tuple(np.ascontiguousarray(c[i]) for c in columns) for i in range(LOOP)]

    def job() -> None:
        for row in rows:
            function(*row)

    return LOOP, job


def jobs_of(arm: aw.Robot) -> dict[str, tuple[int, Callable[[], object]]]:
    rng = np.random.default_rng(0)
    q, qd, x = rng.uniform(-1, 1, (3, BATCH, arm.n))
    beside = [np.asfortranarray(c) for c in (q, qd, x)]
    peer = Pinocchio(arm)
    pool = pin.ModelPool(peer.model, 1)
    columns = [np.asfortranarray(c.T) for c in (q, qd, x)]
    result = np.zeros((arm.n, BATCH), order="F")
    jobs: dict[str, tuple[int, Callable[[], object]]] = {
        "pin.rneaInParallel": (BATCH, lambda: pin.rneaInParallel(1, pool, *columns, result)),
        "pin.abaInParallel": (BATCH, lambda: pin.abaInParallel(1, pool, *columns, result)),
        "pin.rnea": in_loop(lambda *s: pin.rnea(peer.model, peer.data, *s), q, qd, x),
        "pin.aba": in_loop(lambda *s: pin.aba(peer.model, peer.data, *s), q, qd, x),
        "pin.crba": in_loop(lambda *s: pin.crba(peer.model, peer.data, *s), q),
        "pin.computeRNEADerivatives": in_loop(
            lambda *s: pin.computeRNEADerivatives(peer.model, peer.data, *s), q, qd, x
        ),
        "pin.computeABADerivatives": in_loop(lambda *s: pin.computeABADerivatives(peer.model, peer.data, *s), q, qd, x),
    }
    try:
        other = MuJoCo(arm)
    except ValueError as error:
        print(f"MuJoCo refuses {arm.name}: {str(error).splitlines()[0]}")
    else:
        jobs["mj_inverse"] = in_loop(lambda *_: mujoco.mj_inverse(other.model, other.data), q)
        jobs["mj_forward"] = in_loop(lambda *_: mujoco.mj_forward(other.model, other.data), q)
    for problem, arguments in (("inverse_dynamics", 3), ("forward_dynamics", 3), ("mass_matrix", 1)):
        double, single = (aw.compile(arm, problem, dtype=dtype) for dtype in ("float64", "float32"))
        rows, sides = (q, qd, x)[:arguments], beside[:arguments]
        small = [s.astype(np.float32, order="F") for s in sides]
        shape = double(*rows).shape
        out, out2 = np.empty(shape), np.empty((BATCH, *shape[1:]), order="F")
        if problem == "mass_matrix":
            out2 = np.moveaxis(np.empty((*shape[1:], BATCH)), -1, 0)
        out4 = np.empty_like(out2, dtype=np.float32)
        jobs |= {
            f"{problem}": (BATCH, _call(double, sides, out2, 1)),
            f"{problem}, rows": (BATCH, _call(double, rows, out, 1)),
            f"{problem}, 2 threads": (BATCH, _call(double, sides, out2, 2)),
            f"{problem}, float32": (BATCH, _call(single, small, out4, 1)),
            f"{problem}, one state": in_loop(getattr(arm, problem), *rows),
        }
    for problem in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        jobs[problem] = (BATCH, partial(getattr(arm, problem), *beside))
        jobs[f"{problem}, one state"] = in_loop(getattr(arm, problem), q, qd, x)
    return jobs


def _call(f: aw.compile, arrays: list[np.ndarray], out: np.ndarray, threads: int) -> Callable[[], object]:
    return lambda: f(*arrays, out=out, threads=threads)


BESIDE = {
    "inverse_dynamics": ("pin.rneaInParallel", "pin.rnea"),
    "forward_dynamics": ("pin.abaInParallel", "pin.aba"),
    "mass_matrix": ("pin.crba", "pin.crba"),
    "inverse_dynamics_derivatives": ("pin.computeRNEADerivatives",) * 2,
    "forward_dynamics_derivatives": ("pin.computeABADerivatives",) * 2,
}


def report(arm: aw.Robot) -> None:
    best = best_of(jobs_of(arm))
    table = Table(
        title=f"{arm.name}, {arm.n} joints, batches of {BATCH}", title_justify="left", box=None, pad_edge=False
    )
    for head in ("what", "ns per state", "beside", "ns per state", "ratio"):
        table.add_column(head, justify="left" if head in ("what", "beside") else "right")
    for problem, (batched, looped) in BESIDE.items():
        for name in (n for n in best if n.split(",")[0] == problem):
            peer = looped if "one state" in name else batched
            if "2 threads" in name or "float32" in name:
                peer = problem
            ours, theirs = best[name] * 1e9, best[peer] * 1e9
            table.add_row(name, f"{ours:.1f}", peer, f"{theirs:.1f}", f"{theirs / ours:.1f}x")
    for name, problem in (("mj_inverse", "inverse_dynamics"), ("mj_forward", "forward_dynamics")):
        if name in best:
            ours, theirs = best[problem] * 1e9, best[name] * 1e9
            table.add_row(problem, f"{ours:.1f}", name, f"{theirs:.1f}", f"{theirs / ours:.1f}x")
    Console(width=120).print(table)


def long_chains() -> None:
    """Inverse dynamics against the number of joints, states side by side, one thread."""
    table = Table(title="inverse dynamics of long chains", title_justify="left", box=None, pad_edge=False)
    for head in ("joints", "ns per state", "ns per joint", "seconds to first", "pin.rneaInParallel", "ratio"):
        table.add_column(head, justify="right")
    for n, states in ((12, 1024), (24, 1024), (50, 512), (100, 512), (1000, 64), (10_000, 16)):
        arm = aw.random_robot(n, 1, prismatic=0.0)
        state = [np.asfortranarray(x) for x in np.random.default_rng(0).uniform(-1, 1, (3, states, n))]
        out = np.empty((states, n), order="F")
        f = aw.compile(arm, "inverse_dynamics")
        start = time.perf_counter()
        f(*state, out=out, threads=1)
        first = time.perf_counter() - start
        jobs = {"ours": (states, partial(f, *state, out=out, threads=1))}
        if n <= 200:  # beyond, the n x n x n arrays in its data do not fit in memory
            peer = Pinocchio(arm)
            pool, result = pin.ModelPool(peer.model, 1), np.zeros((n, states), order="F")
            columns = [np.asfortranarray(x.T) for x in state]
            jobs["theirs"] = (states, partial(pin.rneaInParallel, 1, pool, *columns, result))
        best = {name: seconds * 1e9 for name, seconds in best_of(jobs).items()}
        ours, theirs = best["ours"], best.get("theirs")
        beside = (f"{theirs:.0f}", f"{theirs / ours:.1f}x") if theirs else ("-", "-")
        table.add_row(str(n), f"{ours:.0f}", f"{ours / n:.1f}", f"{first:.2f}", *beside)
    Console(width=120).print(table)


def main() -> None:
    versions = ", ".join(f"{name} {version(name)}" for name in ("armwright", "pin", "mujoco", "llvmlite", "numpy"))
    print(
        f"{llvmlite.binding.get_host_cpu_name()}, {platform.system()}, Python {platform.python_version()}, {versions}\n"
    )
    for arm in (panda(), aw.load("puma560")):
        for problem in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
            print(f"{arm.name}: {aw.compile(arm, problem)}, {aw.compile(arm, problem).operations}")
        print()
        report(arm)
        print()
    long_chains()


if __name__ == "__main__":
    main()
