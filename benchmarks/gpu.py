"""Dynamics on an NVIDIA card, beside what the card can do, beside peers and beside our CPU, in one run.

    pip install ".[cuda]" && python benchmarks/gpu.py

Bytes are those that must be read and written; the copy bandwidth and the arithmetic peak are measured first. Every
figure is the best of several turns of ten launches each. Peers that are installed are run, of the others it is said why
not. With a name of a section (`limits`, `states`, `rollouts`, `robots`, `peers`) only that is measured.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import cupy as cp
import numpy as np

import armwright as aw
from armwright.backends.interface import backend
from armwright.evaluate import Subject, loop_kernel
from armwright.formulations.problem import PROBLEMS as TABLE

STATES = 8_000_000
PROBLEMS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)
Line = tuple[str, ...]

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
    assert record.loop is not None
    return loop_kernel(backend("cuda"), record.loop, Subject(arm, record, np.dtype(dtype)), ())


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
        for problem in PROBLEMS[:3]:
            for dtype in ("float32", "float64"):
                kernel = looped(arm, problem, dtype) if "loop" in name else None
                for columns in (True, False):
                    each, moved, said = rate(arm, problem, dtype, columns, 1_000_000, kernel)
                    lie, share = "columns" if columns else "rows", f"{100 * moved / copy:.1f} % of copy"
                    yield (name, problem, dtype, lie, f"{each / 1e9:.3f} G/s", share, said)


def peers() -> Iterator[Line]:
    """The same robot, card and batch."""
    arm, count = aw.load("panda"), 1_000_000
    own = {p: rate(arm, p, "float32", False, count)[0] for p in PROBLEMS[:2]}
    for problem, each in own.items():
        yield ("armwright", problem, "float32", f"{each / 1e9:.2f} G/s")
    for name, made in (("frax", _frax), ("our function exported to JAX", _exported)):
        try:
            functions = made(arm)
        except Exception as error:
            yield (name, "not run", f"{type(error).__name__}: {str(error)[:100]}")
            continue
        for problem, function in functions.items():
            yield _beside(name, problem, function, own[problem], count)
    for name in ("curobo", "adam", "bard"):
        try:
            __import__(name)
            yield (name, "not run", "installed, without an inverse dynamics of batches that could be called here")
        except Exception as error:
            yield (name, "not run", f"{type(error).__name__}: {str(error)[:100]}")
    try:
        given = np.random.default_rng(0).uniform(-1, 1, (3, count, arm.n)).astype(np.float32)
        function = aw.compile(arm, "inverse_dynamics", dtype="float32")
        function(*given)
        begin = time.perf_counter()
        function(*given)
        yield ("our CPU, all cores", "inverse_dynamics", f"{count / (time.perf_counter() - begin) / 1e9:.3f} G/s")
    except ImportError as error:
        yield ("our CPU", "not run", str(error))


def _beside(name: str, problem: str, function: Callable[..., Any], own: float, count: int) -> Line:
    import jax  # noqa: PLC0415

    given = [jax.numpy.asarray(x) for x in np.random.default_rng(0).uniform(-1, 1, (3, count, 7)).astype(np.float32)]
    jax.block_until_ready(function(*given))
    best = np.inf
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(5):
            last = function(*given)
        jax.block_until_ready(last)
        best = min(best, (time.perf_counter() - begin) / 5)
    return (name, problem, f"{count / best / 1e9:.3f} G/s", f"{own * best / count:.0f} times slower than ours")


def _frax(arm: aw.Robot) -> dict[str, Callable[..., Any]]:
    from armwright.study.peers.frax import Frax  # noqa: PLC0415

    theirs = Frax(arm)
    return {"inverse_dynamics": theirs.inverse_dynamics, "forward_dynamics": theirs.forward_dynamics}


def _exported(arm: aw.Robot) -> dict[str, Callable[..., Any]]:
    import jax  # noqa: PLC0415

    made = aw.export(arm, to="jax", functions=PROBLEMS[:2])
    return {name: jax.jit(jax.vmap(made[name])) for name in PROBLEMS[:2]}


SECTIONS = {"limits": limits, "states": states, "rollouts": rollouts, "robots": robots, "peers": peers}


def main() -> None:
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or SECTIONS:
        for line in SECTIONS[name]():
            print(" | ".join(line), flush=True)


if __name__ == "__main__":
    main()
