"""Stepping, numbers that do not compile, and gradients, beside MuJoCo in one run.

    pip install ".[test]" && python benchmarks/stepping.py

Every figure is the best of many turns, ours and theirs in turn; a loaded machine makes all of them worse.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np
from rich.console import Console
from rich.table import Table

import armwright as aw
from armwright.backends.llvm import native
from armwright.study.bench import best_of

STATES, CALLS = 4096, 50
ARM = aw.load("panda")
RNG = np.random.default_rng(0)
Rows = Iterator[tuple[str, str]]


def states(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(RNG.uniform(-1, 1, (3, count, ARM.n)))  # type: ignore[return-value]


def model() -> mujoco.MjModel:
    made = mujoco.MjModel.from_xml_string(ARM.with_friction(0.0, 0.0).to_mjcf())
    made.opt.timestep, made.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    made.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    return made


def numbers() -> Rows:
    """Calls of `simulate` that differ in numbers only: how much of each is not integration, and what is compiled."""
    end = lambda: RNG.uniform(-1, 1, ARM.n)  # noqa: E731
    kinds: dict[str, Callable[[], tuple[Any, Any]]] = {
        "constant torques": lambda: (ARM, end()),
        "targets": lambda: (ARM, aw.torque.pd_gravity(end(), 50, 5)),
        "gains": lambda: (ARM, aw.torque.pd(np.full(ARM.n, 0.1), RNG.uniform(10, 50, ARM.n), RNG.uniform(1, 5))),
        "payloads": lambda: (ARM.with_payload(RNG.uniform(0.1, 3)), np.ones(ARM.n)),
        "motions": lambda: (ARM, aw.torque.computed_torque(aw.trajectory.normal_spline(end(), end(), 0.1), 100, 20)),
    }
    compiled, count = native.compile_ir, [0]

    def counted(text: str) -> bytes:
        count[0] += 1
        return compiled(text)

    native.compile_ir = counted
    for name, make in kinds.items():
        rest, after_first = [], 0
        for k in range(CALLS):
            robot, law = make()
            begin = time.perf_counter()
            run = aw.simulate(robot, law, duration=0.1, every=0.05, rtol=1e-6)
            rest.append(time.perf_counter() - begin - run.statistics.seconds)
            after_first = count[0] if k == 0 else after_first
        best, usual = min(rest[1:]) * 1e3, statistics.median(rest[1:]) * 1e3
        yield (
            f"{CALLS} runs with other {name}",
            f"{best:.2f} ms each besides the integration (median {usual:.2f}), {count[0] - after_first} compiled",
        )
    native.compile_ir = compiled


def stepping() -> Rows:
    q, qd, tau = states(STATES)
    stepper = aw.stepper(ARM, dt=1e-3)
    theirs = model()
    data = [mujoco.MjData(theirs)]
    initial = np.concatenate([np.zeros((64, 1)), q[:64], qd[:64]], axis=1)
    control = np.zeros((64, 20, mujoco.mj_stateSize(theirs, mujoco.mjtState.mjSTATE_QFRC_APPLIED)))
    rolled = mujoco.rollout.Rollout(nthread=0)
    best = best_of(
        {
            "step": (STATES, partial(stepper.step, q, qd, tau)),
            "batch": (STATES * 20, partial(aw.simulate_batch, ARM, tau[0], q, qd, duration=0.02, step=1e-3)),
            "mujoco": (
                64 * 20,
                partial(
                    rolled.rollout,
                    theirs,
                    data,
                    initial,
                    control,
                    control_spec=int(mujoco.mjtState.mjSTATE_QFRC_APPLIED),
                ),
            ),
        }
    )
    yield "step of 4096, one thread", f"{best['step'] * 1e9:.0f} ns a step"
    yield "  beside simulate_batch", f"{best['batch'] / best['step'] * 100:.0f} % of its steps a second"
    yield "  beside mujoco.rollout", f"{best['mujoco'] / best['step']:.0f}x"
    single = aw.stepper(ARM, dt=1e-3, dtype="float32")
    half = best_of({"step": (STATES, partial(single.step, *(x.astype("float32") for x in (q, qd, tau))))})["step"]
    yield "  the same in float32", f"{half * 1e9:.0f} ns a step, {best['mujoco'] / half:.0f}x"
    one = [x[0].copy() for x in (q, qd, tau)]
    alone = best_of({"one": (1, partial(stepper.step, *one))})["one"]
    yield "one environment from Python", f"{alone * 1e6:.2f} us a step"


def events() -> Rows:
    """What it costs to watch a run: events that never happen, and one that ends every run near its end."""
    q, qd, _ = states(256)
    never = {
        "the limits of all joints": [aw.events.limits()],
        "a plane that the tool never passes": [aw.events.plane((0, 0, 1), -50.0)],
        "an event of each rollout near its end": [
            aw.events.when(lambda t, q, qd, x: t - x, [RNG.uniform(0.9, 1, 256)])
        ],
    }
    wide = ARM.with_limits(position={joint.name: (-1e4, 1e4) for joint in ARM.joints})
    for method, options in (("rk4", {"step": 1e-3}), ("dop853", {"rtol": 1e-6})):
        run = partial(aw.simulate_batch, wide, None, q, 0.1 * qd, 1.0, method, **options)
        best = best_of({name: (1, partial(run, events=listed)) for name, listed in {"": [], **never}.items()})
        for name in never:
            yield f"{name}, {method}", f"{best[name] / best['']:.2f} times the run without"


def derivatives() -> Rows:
    q, qd, tau = states(512)
    stepper, theirs = aw.stepper(ARM, dt=1e-3), model()
    theirs.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER  # transitions by RK4 it does not have; ours are of RK4
    data, n = mujoco.MjData(theirs), ARM.n
    A = np.zeros((2 * n, 2 * n))

    def differences() -> None:
        for k in range(4):
            data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[k], qd[k], tau[k]
            mujoco.mjd_transitionFD(theirs, data, 1e-6, True, A, None, None, None)

    euler = aw.stepper(ARM, dt=1e-3, integrator="rk1")
    best = best_of(
        {
            "ours": (512, partial(stepper.linearised, q, qd, tau)),
            "euler": (512, partial(euler.linearised, q, qd, tau)),
            "theirs": (4, differences),
        }
    )
    for name, what in (("euler", "Euler, as theirs"), ("ours", "RK4, theirs by Euler")):
        ratio = best["theirs"] / best[name]
        yield f"linearised by {what}", f"{best[name] * 1e6:.2f} us a state, {ratio:.0f}x mjd_transitionFD"
    torques, by_q = RNG.uniform(-1, 1, (512, 100, n)), np.ones((512, 101, n))
    way = best_of(
        {
            "rollout": (1, partial(stepper.rollout, q, qd, torques)),
            "gradient": (1, partial(stepper.gradient, q, qd, torques, by_q)),
        }
    )
    yield "gradient of 100 steps", f"{way['gradient'] / way['rollout']:.1f} times its rollout"


def control() -> Rows:
    """2048 samples of 50 steps: how many such plans a second, on all cores."""
    q, qd, _ = states(1)
    torques = RNG.uniform(-1, 1, (2048, 50, ARM.n))
    for integrator in ("rk2", "rk4"):
        for dtype in ("float32", "float64"):
            stepper = aw.stepper(ARM, dt=0.01, integrator=integrator, dtype=dtype)
            given = [x.astype(dtype) for x in (q[0], qd[0], torques)]
            rate = 1 / best_of({"plan": (1, partial(stepper.rollout, *given, threads=2))})["plan"]
            yield f"2048 samples of 50 steps, {integrator}, {dtype}", f"{rate:.0f} plans a second on 2 threads"


if __name__ == "__main__":
    shown = Table(title="panda, RK4", title_justify="left", box=None, pad_edge=False, show_header=False)
    for part in (numbers, stepping, events, derivatives, control):
        for row in part():
            shown.add_row(*row)
    Console(width=130).print(shown)
