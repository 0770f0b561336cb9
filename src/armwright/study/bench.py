"""armwright and its peers on one robot: the time per state, best of many alternating measurements.

Times depend on the load of the machine; ratios within one run are more reliable.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.function import Function
from armwright.function import compile as compile_function
from armwright.progress import tracked
from armwright.robot import Robot

BATCH = 4096
TIMING_ROUNDS = 20
CONSECUTIVE_CALLS = 5  # of each job in a round: the first has cold caches
LOOP_STATES = 200  # of a job with one call per state

BENCH_PROBLEMS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "inverse_dynamics_derivatives": 3,
    "forward_dynamics_derivatives": 3,
}
"""The measured problems, and the number of their arguments."""


@dataclass(frozen=True)
class Job:
    """A job to time. `alone` is True for one call per state from Python, False for one call of many states."""

    problem: str
    who: str
    states: int
    call: Callable[[], object]
    alone: bool = False


@dataclass(frozen=True)
class Timed:
    """A row of the table; `ratio` is its time over that of armwright for the same kind of call."""

    problem: str
    who: str
    alone: bool
    seconds: float
    ratio: float


@dataclass(frozen=True)
class RandomStates:
    """Random states of a robot, as row-major and column-major arrays."""

    rows: tuple[Array, ...]
    column_major: tuple[Array, ...]

    @classmethod
    def random(cls, arm: Robot, count: int) -> RandomStates:
        rng = np.random.default_rng(0)
        q = arm.unit(rng.uniform(-1, 1, (count, arm.nq)))
        return cls.of(q, *rng.uniform(-1, 1, (2, count, arm.n)))

    @classmethod
    def of(cls, *rows: Array) -> RandomStates:
        return cls(rows, tuple(np.asfortranarray(x) for x in rows))

    def in_loop(self, function: Callable[..., object], arguments: int) -> tuple[int, Callable[[], object]]:
        """Return the number of states, and a Python loop with one call per state."""
        states = list(zip(*(np.ascontiguousarray(x[:LOOP_STATES]) for x in self.rows[:arguments]), strict=True))

        def call() -> None:
            for state in states:
                function(*state)

        return len(states), call


def best_of(jobs: dict[Any, tuple[int, Callable[[], object]]], rounds: int = TIMING_ROUNDS) -> dict[Any, float]:
    """Return the seconds per state of each job, alternating so that all run under the same conditions."""
    best = dict.fromkeys(jobs, np.inf)
    for _, job in jobs.values():
        job()
    for _ in tracked(range(rounds)):
        for name, (states, job) in jobs.items():
            for _ in range(CONSECUTIVE_CALLS):
                start = time.perf_counter()
                job()
                best[name] = min(best[name], (time.perf_counter() - start) / states)
    return best


def armwright_calls(arm: Robot, states: RandomStates) -> Iterator[Job]:
    """Yield armwright's functions of one state and of a batch."""
    count = len(states.rows[0])
    for problem, arguments in BENCH_PROBLEMS.items():
        method = getattr(arm, problem)
        if problem.endswith("derivatives"):
            yield Job(problem, "armwright", count, partial(method, *states.column_major))
        else:
            double, single = (compile_function(arm, problem, dtype=dtype) for dtype in ("float64", "float32"))
            rows, column_major = states.rows[:arguments], states.column_major[:arguments]
            small = tuple(x.astype(np.float32, order="F") for x in column_major)
            yield Job(problem, "armwright", count, filling_call(double, column_major))
            yield Job(problem, "armwright, rows", count, filling_call(double, rows))
            yield Job(problem, "armwright, 2 threads", count, filling_call(double, column_major, 2))
            yield Job(problem, "armwright, float32", count, filling_call(single, small))
        yield Job(problem, "armwright", *states.in_loop(method, arguments), alone=True)


def filling_call(f: Function, arrays: Sequence[Array], threads: int = 1) -> Callable[[], object]:
    """Return a call that fills an existing array."""
    out = f(*arrays)
    return lambda: f(*arrays, out=out, threads=threads)


def pinocchio_calls(arm: Robot, states: RandomStates, _folder: Path) -> Iterator[Job]:
    """Yield Pinocchio's functions of one state and of a batch."""
    import pinocchio as pin  # noqa: PLC0415

    from armwright.study.peers.pinocchio import Pinocchio  # noqa: PLC0415

    peer = Pinocchio(arm)
    model, data, pool = peer.model, peer.data, pin.ModelPool(peer.model, 1)
    q, qd, x = states.rows
    states = RandomStates.of(peer.configuration(q), peer.rates(qd), peer.rates(x))
    columns = [np.asfortranarray(x.T) for x in states.rows]
    result, count = np.zeros_like(columns[1]), len(q)
    together = (("inverse_dynamics", "rneaInParallel"), ("forward_dynamics", "abaInParallel"))
    for problem, name in together if arm.n > 1 else ():  # it takes a single row for a column, and writes past its end
        yield Job(problem, f"pin.{name}", count, partial(getattr(pin, name), 1, pool, *columns, result))
    names = ("rnea", "aba", "crba", "computeRNEADerivatives", "computeABADerivatives")
    for (problem, arguments), name in zip(BENCH_PROBLEMS.items(), names, strict=True):
        function = partial(getattr(pin, name), model, data)
        yield Job(problem, f"pin.{name}", *states.in_loop(function, arguments), alone=True)


def mujoco_calls(arm: Robot, states: RandomStates, _folder: Path) -> Iterator[Job]:
    """Yield MuJoCo's functions of one state."""
    import mujoco  # noqa: PLC0415

    from armwright.study.peers.mujoco import MuJoCo  # noqa: PLC0415

    peer = MuJoCo(arm)
    for problem, name in (("inverse_dynamics", "mj_inverse"), ("forward_dynamics", "mj_forward")):
        function = getattr(mujoco, name)

        def call(q: Array, qd: Array, _x: Array, function: Callable[..., object] = function) -> None:
            peer.data.qpos[:], peer.data.qvel[:] = q, qd
            function(peer.model, peer.data)

        yield Job(problem, name, *states.in_loop(call, 3), alone=True)


def frax_calls(arm: Robot, states: RandomStates, _folder: Path) -> Iterator[Job]:
    """Yield frax's functions of a batch."""
    from armwright.study.peers.frax import Frax  # noqa: PLC0415

    peer, count = Frax(arm), len(states.rows[0])
    for problem, name in (
        ("inverse_dynamics", "rnea"),
        ("forward_dynamics", "forward_dynamics"),
        ("mass_matrix", "crba"),
    ):
        arrays = states.rows[: BENCH_PROBLEMS[problem]]
        yield Job(problem, f"frax {name}, jit(vmap)", count, partial(getattr(peer, problem), *arrays))


def casadi_calls(arm: Robot, states: RandomStates, folder: Path) -> Iterator[Job]:
    """Yield CasADi's functions of a batch."""
    from armwright.study.peers.casadi import CasADi  # noqa: PLC0415

    if shutil.which("cc") is None:
        raise ImportError("no C compiler for the code that CasADi generates")
    count = len(states.rows[0])
    peer = CasADi(arm, count, folder)
    call = partial(peer.inverse_dynamics, *(x.T for x in states.rows))
    yield Job("inverse_dynamics", "CasADi, compiled C, mapped", count, call)


def toolbox_calls(arm: Robot, states: RandomStates, _folder: Path) -> Iterator[Job]:
    """Yield functions of one state of the Robotics Toolbox."""
    from armwright.study.peers.toolbox import RoboticsToolbox  # noqa: PLC0415

    if arm.n == 1:
        raise InputError("its accel fails for one joint")
    if not arm.mechanism().serial:
        raise InputError("it has tables of chains only")
    peer = RoboticsToolbox(arm)
    for problem, name in (("inverse_dynamics", "rne"), ("forward_dynamics", "accel"), ("mass_matrix", "inertia")):
        job = states.in_loop(getattr(peer, problem), BENCH_PROBLEMS[problem])
        yield Job(problem, f"Robotics Toolbox {name}", *job, alone=True)


PEERS: dict[str, tuple[str, Callable[[Robot, RandomStates, Path], Iterator[Job]]]] = {
    "pinocchio": ("pin", pinocchio_calls),
    "mujoco": ("mujoco", mujoco_calls),
    "frax": ("frax", frax_calls),
    "casadi": ("casadi", casadi_calls),
    "toolbox": ("roboticstoolbox-python", toolbox_calls),
}
"""The peers, with their packages and timed calls."""


def bench(arm: Robot, batch: int = BATCH, rounds: int = TIMING_ROUNDS) -> tuple[list[Timed], list[str]]:
    """Return all timed jobs, and the reasons why others are missing."""
    states = RandomStates.random(arm, batch)
    with tempfile.TemporaryDirectory() as folder:
        jobs, omitted = _of_peers(arm, states, Path(folder))
        jobs = [*armwright_calls(arm, states), *jobs]
        best = best_of({i: (job.states, job.call) for i, job in enumerate(jobs)}, rounds)
    reference = {(job.problem, job.alone): best[i] for i, job in enumerate(jobs) if job.who == "armwright"}
    batched = {(job.problem, _program(job)) for job in jobs if not job.alone}
    timed = []
    for i, job in enumerate(jobs):
        ratio = best[i] / reference[job.problem, job.alone]
        timed.append(Timed(job.problem, job.who, job.alone, best[i], ratio))
        if (job.problem, _program(job)) not in batched:  # a peer without batches is called once per state
            ratio = best[i] / reference[job.problem, False]
            timed.append(Timed(job.problem, f"{job.who}, in a loop", False, best[i], ratio))
    order = list(BENCH_PROBLEMS)
    return sorted(timed, key=lambda t: (order.index(t.problem), t.alone, t.ratio)), omitted


def _program(job: Job) -> str:
    return job.who.split(".")[0]


def _of_peers(arm: Robot, states: RandomStates, folder: Path) -> tuple[list[Job], list[str]]:
    """Return the jobs of all peers that are installed and accept this robot, and reasons for the others."""
    if arm.without_couplings().joint_types != arm.joint_types:
        return [], [f"{peer}: its {arm.name} has no joints that move together" for peer in PEERS]
    jobs: list[Job] = []
    omitted = []
    for peer, (package, jobs_of) in PEERS.items():
        try:
            jobs += jobs_of(arm, states, folder)
        except ImportError as error:
            omitted.append(f"{peer} is not here ({error}); pip install {package}")
        except Exception as error:
            omitted.append(f"{peer} refuses {arm.name}: {str(error).splitlines()[0]}")
    return jobs, omitted


def versions() -> str:
    """Return the version of every measured package."""
    listed = []
    for package in ("armwright", *(package for package, _ in PEERS.values()), "jax", "llvmlite", "numpy"):
        try:
            listed.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(listed)
