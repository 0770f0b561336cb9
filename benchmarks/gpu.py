"""Dynamics on an NVIDIA card, beside what the card can do, beside peers and beside our CPU, in one run.

    pip install ".[cuda]" && python benchmarks/gpu.py

Bytes are those that must be read and written; the copy bandwidth and the arithmetic peak are measured first. Every
figure is the best of several turns of ten launches each. Peers that are installed (frax, adam-robotics, bard) are run,
cuRobo's kernel is compiled from the checkout that CUROBO_SOURCE names; of the others it is said why not. With a name of
a section (`limits`, `states`, `rollouts`, `kinematics`, `robots`, `peers`) only that is measured.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

import armwright as aw
from armwright.backends.interface import backend
from armwright.evaluate import EvaluatedProblem, loop_kernel
from armwright.formulations.problem import PROBLEMS as TABLE
from armwright.model.frame_change import zero_placement
from armwright.model.urdf_writer import urdf_text

STATES = 8_000_000
PROBLEMS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)
Line = tuple[str, ...]
Functions = dict[str, Callable[[], Any]]

FLOPS = """extern "C" __global__ void run(real *out, int turns) {
    const real x = (real)0.999, y = (real)0.1;
    real a = threadIdx.x, b = 1, c = 2, d = 3;
    for (int k = 0; k < turns; ++k) {
        #pragma unroll
        for (int j = 0; j < 32; ++j) {
            a = fma(a, x, y);
            b = fma(b, x, y);
            c = fma(c, x, y);
            d = fma(d, x, y);
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}"""


def seconds(work: Callable[[], Any], turns: int = 6, launches: int = 10) -> float:
    """Of one launch, with others waiting behind it, so that the host is not measured."""
    work()
    best = np.inf
    for _ in range(turns):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        for _ in range(launches):
            work()
        end.record()
        end.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(begin, end) * 1e-3 / launches)
    return float(best)


def bandwidth() -> float:
    """Bytes that a copy reads and writes in a second."""
    source = cp.empty(500_000_000, cp.float32)
    target = cp.empty_like(source)
    return 2 * source.nbytes / seconds(lambda: cp.copyto(target, source))


def limits() -> Iterator[Line]:
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    yield ("card", name)
    yield ("copy bandwidth", f"{bandwidth() / 1e12:.2f} TB/s")
    for real, dtype in (("float", cp.float32), ("double", cp.float64)):
        kernel, out = cp.RawKernel(FLOPS.replace("real", real), "run"), cp.empty(132 * 16 * 256, dtype)
        took = seconds(lambda: kernel((132 * 16,), (256,), (out, np.int32(64))))  # noqa: B023
        done = out.size * 64 * 32 * 4 * 2
        yield (f"arithmetic peak, {np.dtype(dtype).name}", f"{done / took / 1e12:.1f} T operations/s")


def batch(sizes: tuple[int, ...], states: int, dtype: str, columns: bool) -> list[Any]:
    shape = (lambda n: (n, states)) if columns else (lambda n: (states, n))
    made = [cp.random.uniform(-1, 1, shape(n), dtype=np.dtype(dtype)) for n in sizes]
    return [x.T for x in made] if columns else made


def looped(arm: aw.Robot, problem: str, dtype: str) -> Any:
    """The kernel of a chain that goes along its joints, however short it is."""
    record = TABLE[problem]
    assert record.chain_sweep is not None
    return loop_kernel(backend("cuda"), record.chain_sweep, EvaluatedProblem(arm, record, np.dtype(dtype)), ())


def rate(
    arm: aw.Robot, problem: str, dtype: str, columns: bool, states: int, kernel: Any = None
) -> tuple[float, float, str]:
    """States a second, bytes a second, and what the compiler says; of a kernel, or the one that a user has."""
    kernel = kernel or aw.compile(arm, problem, target="cuda", dtype=dtype).kernel
    sizes, results = kernel.sizes, math.prod(kernel.shape)
    arrays = batch(sizes, states, dtype, columns)
    if arm.balls:
        arrays[0][...] = cp.asarray(arm.neutral, dtype)
    (out,) = batch((results,), states, dtype, columns)
    took = seconds(lambda: kernel.launch(arrays, out))
    code = kernel.code(arrays, out)
    size = np.dtype(dtype).itemsize * (sum(sizes) + results)
    cp.get_default_memory_pool().free_all_blocks()
    return states / took, size * states / took, f"{code.registers} registers, {code.spilled} B spilled"


def states() -> Iterator[Line]:
    arm, copy = aw.load("panda"), bandwidth()
    for problem in PROBLEMS:
        count = STATES if "derivatives" not in problem else STATES // 2
        for dtype in ("float32", "float64"):
            for columns in (True, False):
                each, bytes_per_second, said = rate(arm, problem, dtype, columns, count)
                share = f"{100 * bytes_per_second / copy:.1f} % of copy"
                yield (problem, dtype, "columns" if columns else "rows", f"{each / 1e9:.2f} G/s", share, said)


def rollouts() -> Iterator[Line]:
    arm = aw.load("panda")
    start = np.linspace(-0.3, 0.3, arm.n)
    options: dict[str, Any] = {"q0": start, "step": 1e-3, "target": "cuda"}
    for dtype in ("float32", "float64"):
        rolls = [
            aw.simulate_batch(arm, None, duration=0.1, dtype=dtype, rollouts=count, **options)
            for count in (1000, STATES // 2, STATES // 2)
        ]
        yield ("RK4 in registers, 100 steps", dtype, f"{rolls[-1].steps_per_second / 1e9:.2f} G steps/s")
    for count in (1000, 10_000_000):
        cp.get_default_memory_pool().free_all_blocks()
        begin = time.perf_counter()
        aw.simulate_batch(
            arm,
            None,
            duration=1.0,
            dtype="float32",
            vary={"payload.mass": aw.draws(1).uniform(0, 2)},
            measure=["peak_speed", "energy"],
            rollouts=count,
            **options,
        )
        took = time.perf_counter() - begin
    memory = cp.get_default_memory_pool().total_bytes() / 1e9
    yield ("10 million rollouts of 1 s, random payloads", "float32", f"{took:.2f} s, {memory:.1f} GB of the card")


def kinematics() -> Iterator[Line]:
    """Inverse kinematics, for poses on the card, from no start and from one nearby; and by all cores."""
    arm, count = aw.load("panda"), 1_000_000
    low, high = np.array([joint.limits for joint in arm.joints]).T
    q = cp.asarray(np.random.default_rng(0).uniform(low, high, (count, arm.n)))
    T = aw.compile(arm, "forward_kinematics", target="cuda")(q)
    kernel: Any = arm._solver("full", False, (), "cuda").device_search
    for what, start in (("from anywhere", None), ("from 0.1 rad away", q + 0.1)):
        for targets in (1000, count, count):
            begin = time.perf_counter()
            given = None if start is None else start[:targets]
            _, solved = arm.inverse_kinematics(T[:targets], given, raises=False, target="cuda")
            took = time.perf_counter() - begin
        share = f"{100 * float(solved.mean()):.3f} % solved"
        said = f"{kernel.code.registers} registers, {kernel.code.spilled} B spilled"
        yield ("inverse kinematics", what, "float64", f"{count / took / 1e6:.2f} M targets/s", share, said)
    try:
        few = T[: count // 20].get()
        arm.inverse_kinematics(few[:1000], raises=False)
        begin = time.perf_counter()
        arm.inverse_kinematics(few, raises=False)
        yield ("our CPU", "from anywhere", f"{len(few) / (time.perf_counter() - begin) / 1e6:.3f} M targets/s")
    except ImportError as error:
        yield ("our CPU", "not run", str(error))


def robots() -> Iterator[Line]:
    copy, chain = bandwidth(), aw.random_robot(30, 1)
    arms = {
        "puma560, 6 joints": aw.load("puma560"),
        "panda, 7 joints": aw.load("panda"),
        "a chain of 12 joints": aw.random_robot(12, 1),
        "a chain of 30 joints": chain,
        "a chain of 30 joints, in a loop": chain,
        "anymal_c, 12 joints and a free base": aw.load("anymal_c"),
        "g1, 29 joints and a free base": aw.load("g1"),
    }
    for name, arm in arms.items():
        count = STATES if arm.n <= 12 else STATES // 8
        for problem in PROBLEMS[:3]:
            for dtype in ("float32", "float64"):
                kernel = looped(arm, problem, dtype) if "loop" in name else None
                for columns in (True, False):
                    each, moved, said = rate(arm, problem, dtype, columns, count, kernel)
                    lie, share = "columns" if columns else "rows", f"{100 * moved / copy:.1f} % of copy"
                    yield (name, problem, dtype, lie, f"{each / 1e9:.3f} G/s", share, said)


def peers() -> Iterator[Line]:
    """The same robot, card and batch, each in a process of its own: what ends badly there ends nothing here."""
    for name in ("armwright", *PEERS):
        done = subprocess.run(
            [sys.executable, __file__, name], check=False, capture_output=True, text=True, timeout=600
        )
        yield from (tuple(line.split(" | ")) for line in done.stdout.splitlines())
        if done.returncode:
            yield (name, "ended badly", " ".join(done.stderr.split())[:200])


def _peer(name: str) -> Iterator[Line]:
    """In the whole batch, or in a smaller one where that is too much for it; without friction, which peers have not."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or JAX takes the card for itself
    arm, count = aw.load("panda").with_friction(viscous=0, coulomb=0), 1_000_000
    given = cp.random.RandomState(1).uniform(-1, 1, (3, count, arm.n)).astype(cp.float32)
    own = {problem: rate(arm, problem, "float32", False, count)[0] for problem in PROBLEMS[:2]}
    if name == "armwright":
        yield from (("armwright", problem, "float32", f"{each / 1e9:.2f} G/s") for problem, each in own.items())
        yield from _cpu(arm, cp.asnumpy(given))
        return
    ours = {problem: aw.compile(arm, problem, target="cuda", dtype="float32")(*given) for problem in own}
    for some in (count, 2**16):
        problem = "dynamics"
        try:
            for problem, function in PEERS[name](arm, given[:, :some]).items():
                yield (name, problem, f"{some} states", *_beside(function, ours[problem][:some], own[problem]))
            return
        except Exception as error:
            yield (name, problem, "not run", f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
            if isinstance(error, ImportError):
                return


def _cpu(arm: aw.Robot, states: Any) -> Iterator[Line]:
    try:
        function = aw.compile(arm, "inverse_dynamics", dtype="float32")
    except ImportError as error:
        yield ("our CPU", "not run", str(error))
        return
    function(*states)
    begin = time.perf_counter()
    function(*states)
    each = states.shape[1] / (time.perf_counter() - begin)
    yield ("our CPU, all cores", "inverse_dynamics", f"{each / 1e9:.3f} G/s")


def _beside(function: Callable[[], Any], ours: Any, own: float) -> Line:
    """Timed where it gives what ours gives: what is wrong is not worth its time."""
    error = float(cp.abs(cp.asarray(_done(function())) - ours).max() / cp.abs(ours).max())
    if not error <= 1e-3:
        raise ArithmeticError(f"its results are {error:.1e} of the largest away from ours")
    best = np.inf
    for _ in range(6):  # the first turn finds the compiler still at work
        begin = time.perf_counter()
        for _ in range(5):
            last = function()
        _done(last)
        best = min(best, (time.perf_counter() - begin) / 5)
    each = len(ours) / best
    return f"{each / 1e9:.3g} G/s", f"{own / each:.1f} times slower than ours", f"{error:.0e} away"


def _done(result: Any) -> Any:
    """The same when it is there: JAX has threads of its own, which the card knows nothing of."""
    if hasattr(result, "block_until_ready"):
        result.block_until_ready()
    cp.cuda.Device().synchronize()
    return result


def _in_jax(given: Any) -> list[Any]:
    import jax  # noqa: PLC0415

    jax.config.update("jax_default_matmul_precision", "highest")  # or factors are rounded to the ten bits of TF32
    return [jax.dlpack.from_dlpack(x) for x in given]


def _exported(arm: aw.Robot, given: Any) -> Functions:
    import jax  # noqa: PLC0415

    made = aw.export(arm, to="jax", functions=PROBLEMS[:2])
    return {name: partial(jax.jit(jax.vmap(made[name])), *_in_jax(given)) for name in PROBLEMS[:2]}


def _frax(arm: aw.Robot, given: Any) -> Functions:
    from armwright.study.peers.frax import Frax  # noqa: PLC0415

    theirs = Frax(arm)
    return {name: partial(getattr(theirs, name), *_in_jax(given)) for name in PROBLEMS[:2]}


def _adam(arm: aw.Robot, given: Any) -> Functions:
    """Batches as it takes them, compiled by XLA; its bases float, and ours is held by leaving out their six rows."""
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415
    from adam.jax import KinDynComputations  # noqa: PLC0415

    names, gravity = [joint.name for joint in arm.joints], jnp.array([*arm.gravity, 0, 0, 0])
    theirs = KinDynComputations(urdf_text(arm), names, jnp.float32, gravity=gravity)

    def equation(q: Any, qd: Any) -> tuple[Any, Any]:
        base, still = jnp.broadcast_to(jnp.eye(4, dtype=q.dtype), (len(q), 4, 4)), jnp.zeros((len(q), 6), q.dtype)
        return theirs.mass_matrix(base, q)[:, 6:, 6:], theirs.bias_force(base, q, still, qd)[:, 6:]

    def inverse_dynamics(q: Any, qd: Any, qdd: Any) -> Any:
        M, h = equation(q, qd)
        return (M @ qdd[..., None])[..., 0] + h

    def forward_dynamics(q: Any, qd: Any, tau: Any) -> Any:
        M, h = equation(q, qd)
        return jnp.linalg.solve(M, (tau - h)[..., None])[..., 0]

    return {f.__name__: partial(jax.jit(f), *_in_jax(given)) for f in (inverse_dynamics, forward_dynamics)}


def _bard(arm: aw.Robot, given: Any, compiled: bool) -> Functions:
    """Kinematics and dynamics in one call, as its own benchmark has them."""
    import bard  # noqa: PLC0415
    import torch  # noqa: PLC0415

    model = bard.build_model_from_urdf(urdf_text(arm)).to(dtype=torch.float32, device="cuda")
    model.enable_compilation(compiled)
    data = bard.create_data(model, max_batch_size=given.shape[1])
    q, qd, x = (torch.from_dlpack(x) for x in given)
    gravity = torch.tensor(arm.gravity, dtype=torch.float32, device="cuda")

    def run(algorithm: Callable[..., Any]) -> Any:
        bard.update_kinematics(model, data, q, qd)
        return algorithm(model, data, x, gravity=gravity)

    return {"inverse_dynamics": partial(run, bard.rnea), "forward_dynamics": partial(run, bard.aba)}


def _curobo(arm: aw.Robot, given: Any) -> Functions:
    """Its kernel alone, compiled and launched as its backend of cuda.core does it, on the links that move."""
    if not (source := os.environ.get("CUROBO_SOURCE")):
        raise ImportError("CUROBO_SOURCE does not name a checkout of cuRobo v2")
    n, count = arm.n, given.shape[1]
    folder = Path(source).resolve() / "curobo/_src/curobolib/kernels/dynamics"
    name = f"curobo::dynamics::rnea_forward_kernel<{n}, {n}, 1, false>"
    code = 'typedef signed char int8_t;\ntypedef short int16_t;\n#include "rnea_forward_kernel.cuh"'
    options = ("-std=c++17", f"-I{folder}", "--prec-div=false", "--prec-sqrt=false")
    kernel = cp.RawModule(code=code, options=options, name_expressions=[name]).get_function(name)
    tables, cache = _curobo_tables(arm), cp.empty((count, n, 20), cp.float32)
    share = 4 * 12 * n  # bytes of shared memory for a state, of which its DynamicsLaunchCfg makes a block
    most = min(48 * 1024 // share, 256) // 32 * 32
    block = max((most, most - 32), key=lambda states: 100 * 1024 // (states * share) * states)
    tau = cp.empty((count, n), cp.float32)
    arguments = (tau, *given, *tables, cache, np.intp(0), np.int32(count), np.int32(n))

    def inverse_dynamics() -> Any:
        kernel((-(-count // block),), (block,), arguments, shared_mem=block * share)
        return tau

    return {"inverse_dynamics": inverse_dynamics}


def _curobo_tables(arm: aw.Robot) -> list[Any]:
    """The robot as its KinematicsParams hold it: a chain of joints that turn about z."""
    frames = [zero_placement(joint) for joint in arm.joints]
    frames[0] = np.asarray(arm.base) @ frames[0]
    bodies = [np.asarray(link.inertia) for link in arm.links]
    rows, columns = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
    links = np.arange(arm.n, dtype=np.int16)
    tables = (
        np.float32([T[:3] for T in frames]),
        np.float32([(*link.com, link.mass) for link in arm.links]),
        np.float32([(*body[rows, columns], 0, 0) for body in bodies]),
        np.full(arm.n, 5, np.int8),
        links,
        links - np.int16(1),
        np.float32([(1, 0)] * arm.n),
        np.float32([0, 0, 0, *(-np.array(arm.gravity))]),
        np.arange(arm.n + 1, dtype=np.int16),
        links,
    )
    return [cp.asarray(table) for table in tables]


PEERS: dict[str, Callable[[aw.Robot, Any], Functions]] = {
    "our function exported to JAX": _exported,
    "frax": _frax,
    "adam in JAX": _adam,
    "curobo, its kernel alone": _curobo,
    "bard": partial(_bard, compiled=False),
    "bard, compiled": partial(_bard, compiled=True),
}


SECTIONS = {
    "limits": limits,
    "states": states,
    "rollouts": rollouts,
    "kinematics": kinematics,
    "robots": robots,
    "peers": peers,
}


def main() -> None:
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or SECTIONS:
        for line in SECTIONS[name]() if name in SECTIONS else _peer(name):
            print(" | ".join(line), flush=True)


if __name__ == "__main__":
    main()
