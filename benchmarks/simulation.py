"""Simulation beside its peers: one adaptive run against SciPy driving Pinocchio, many rollouts against MuJoCo's.

    pip install ".[test]" example-robot-data && python benchmarks/simulation.py

Also two laws that any integrator must obey: energy in free fall, and agreement of two methods that share nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version

import mujoco
import mujoco.rollout
import numpy as np
import pinocchio as pin
from peers import panda
from scipy.integrate import solve_ivp

import armwright as aw
from armwright.study.peers.mujoco import MuJoCo
from armwright.study.peers.pinocchio import Pinocchio

ROLLOUTS, STEPS, STEP = 4096, 100, 0.001


def best(call: Callable[[], object], repeats: int) -> float:
    """The least seconds of several calls."""
    least = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - begin)
    return least


def one_run(arm: aw.Robot) -> None:
    q0, times = np.full(arm.n, 0.3), np.linspace(0, 5, 501)
    peer = Pinocchio(arm)

    def rate(_t: float, y: np.ndarray) -> np.ndarray:
        q, qd = y[: arm.n], y[arm.n :]
        return np.concatenate([qd, pin.aba(peer.model, peer.data, q, qd, np.zeros(arm.n))])

    def theirs() -> np.ndarray:
        y0 = np.concatenate([q0, np.zeros(arm.n)])
        return solve_ivp(rate, (0, 5), y0, method="DOP853", rtol=1e-9, atol=1e-12, t_eval=times).y.T

    def ours() -> np.ndarray:
        return aw.simulate(arm, q0=q0, duration=5.0, rtol=1e-9, atol=1e-12).q

    run = aw.simulate(arm, q0=q0, duration=5.0, rtol=1e-9, atol=1e-12)
    mine = best(ours, 20)
    other = best(theirs, 3)
    print(f"one run, {arm.name} falling for 5 s, DOP853, rtol 1e-9, 501 records with torques, energies and audit data:")
    print(f"  armwright {mine * 1e3:.2f} ms ({run.statistics})")
    print(f"  SciPy with pin.aba {other * 1e3:.0f} ms: {other / mine:.0f}x")


def rollouts(arm: aw.Robot) -> None:
    q0 = np.random.default_rng(0).uniform(-1, 1, (ROLLOUTS, arm.n))
    peer = MuJoCo(arm)
    peer.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    peer.model.opt.timestep = STEP
    state = np.zeros((ROLLOUTS, mujoco.mj_stateSize(peer.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    state[:, 1 : 1 + arm.n] = q0
    few = ROLLOUTS // 16

    def theirs() -> object:
        return mujoco.rollout.rollout(peer.model, peer.data, state[:few], nstep=STEPS)

    def ours(threads: int) -> Callable[[], object]:
        return lambda: aw.simulate_batch(arm, q0=q0, duration=STEPS * STEP, step=STEP, threads=threads)

    ours(1)()
    rates = {}
    for name, call, count, repeats in (
        ("mujoco", theirs, few, 3), ("one", ours(1), ROLLOUTS, 10), ("two", ours(2), ROLLOUTS, 10)
    ):  # fmt: skip
        rates[name] = count * STEPS / best(call, repeats)
    print(f"{ROLLOUTS} rollouts of {arm.name}, RK4, {STEPS} steps:")
    print(f"  armwright {rates['one'] / 1e6:.2f} million steps a second on one thread, {rates['two'] / 1e6:.2f} on two")
    print(f"  ({rates['two'] / rates['one']:.2f}x), mujoco.rollout {rates['mujoco'] / 1e6:.3f}: "
          f"{rates['one'] / rates['mujoco']:.0f}x")  # fmt: skip
    single = aw.simulate_batch(arm, q0=q0, duration=STEPS * STEP, step=STEP, dtype="float32")
    print(f"  float32: {single.steps_per_second / 1e6:.2f} million")


def laws(arm: aw.Robot) -> None:
    for robot in (aw.load("puma560"), arm):
        run = aw.simulate(robot, q0=np.full(robot.n, 0.1), duration=10.0, rtol=1e-12, every=0.1)
        back = aw.simulate(robot, q0=run.q[10], qd0=-run.qd[10], duration=1.0, rtol=1e-12, every=0.1)
        print(f"{robot.name}: energy drift over 10 s {run.audit.energy_error:.1e}; back to the start after 1 s "
              f"{np.abs(back.q[-1] - run.q[0]).max():.1e}")  # fmt: skip
    for how, robot in (("weightless", arm.with_gravity([0, 0, 0])), ("falling", arm)):
        common = {"q0": np.full(arm.n, 0.3), "qd0": np.full(arm.n, 0.3), "duration": 2.0}
        one = aw.simulate(robot, **common, rtol=1e-13, atol=1e-15)
        two = aw.simulate(robot, **common, integrator="taylor", rtol=2.3e-16)
        print(f"{arm.name} {how} for 2 s: DOP853 and Taylor differ by {np.abs(one.q - two.q).max():.1e}, "
              f"joints reach {np.abs(one.qd).max():.0f} rad/s")  # fmt: skip


if __name__ == "__main__":
    print(", ".join(f"{name} {version(name)}" for name in ("armwright", "pin", "mujoco", "scipy", "heyoka")))
    arm = panda()
    one_run(arm)
    rollouts(arm)
    laws(arm)
