"""How well robots that nothing holds are simulated: what stays constant does, orders are kept, others agree.

    python tools/free_flight.py                  # everything, some minutes
    python tools/free_flight.py flight top       # some of: flight, top, orders, peers

flight   10 s of random trees and of a quadruped, falling and tumbling: energy, momentum, angular momentum, quaternions
top      a body without torques against Jacobi's elliptic functions
orders   of every integrator on a tumbling body; some in 50 digits
peers    the same Runge-Kutta steps taken by MuJoCo (tests/test_floating.py has Pinocchio beside it)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np

import armwright as aw
from armwright.graph.interpret import interpret
from armwright.integrate import method, methods, solve
from armwright.layout import Layout
from armwright.robot import Robot, random_tree
from armwright.simulation.momentum import momentum
from armwright.simulation.motion_programs import derivative, equations_of_motion
from armwright.simulation.motion_record import MotionRecord, layout_of
from armwright.torque import Free

Array = Any


def start(robot: Robot, seed: int, *batch: int) -> tuple[Array, Array]:
    """A position near neutral, and velocities of about one."""
    rng = np.random.default_rng(seed)
    q = robot.unit(robot.neutral + 0.3 * rng.normal(size=(*batch, robot.nq)))
    return q, rng.normal(size=(*batch, robot.n))


def unit_error(robot: Robot, q: Array) -> float:
    """By how much a quaternion is longer or shorter than one."""
    return max(float(np.abs(np.linalg.norm(q[..., b.unit_vector], axis=-1) - 1).max()) for b in robot.balls)


def constants(run: aw.Run) -> dict[str, float]:
    """What should be constant in free flight, and how far it strays, relative to the most that its energy allows."""
    robot = run.robot
    now = momentum(robot, run.q, run.qd, run.kinetic)
    falling = now.linear - now.mass * np.array(robot.gravity) * (run.t - run.t[0])[:, None]
    moved = max(np.abs(run.kinetic).max(), np.ptp(run.potential))
    return {
        "energy": float(np.abs(run.energy - run.energy[0]).max() / moved),
        "momentum": float(np.abs(falling - falling[0]).max() / np.linalg.norm(now.linear, axis=1).max()),
        "angular momentum": float(np.abs(now.angular - now.angular[0]).max() / now.max_angular.max()),
        "quaternions": unit_error(robot, run.q),
    }


def flight() -> None:
    trees = [random_tree(n, seed, floating=True) for n, seed in ((1, 5), (3, 1), (5, 3), (8, 2))]
    for robot in (*trees, aw.load("anymal_c")):
        run = aw.simulate(robot, None, *start(robot, 1), duration=10.0, rtol=1e-14, atol=1e-16, every=0.1)
        figures = ", ".join(f"{name} {value:.1e}" for name, value in constants(run).items())
        print(f"{robot.name:10} {robot.n:2} freedoms, {run.statistics.accepted:5} steps: {figures}")


def asymmetric(moments: tuple[float, float, float]) -> Robot:
    """A free body with these moments of inertia, without gravity."""
    body = random_tree(1, 0, kinds=("ball",))
    tensor = tuple(tuple(float(x) for x in row) for row in np.diag(moments))
    joints = [replace(joint, alpha=0.0, a=0.0, d=0.0, theta=0.0, gamma=0.0, y=0.0, z=0.0) for joint in body.joints]
    link = replace(body.links[0], com=(0.0, 0.0, 0.0), inertia=tensor)
    return replace(body, joints=tuple(joints), links=(link,), gravity=(0.0, 0.0, 0.0))


def elliptic(moments: tuple[float, float, float], w0: tuple[float, float], t: Array) -> tuple[Array, Array]:
    """Angular velocity in the axes of a body and its rotation, if it begins with (w1, 0, w3): Landau and Lifshitz, 37.

    I1 < I2 < I3 and w3 so large that the body turns about its third axis; the angular momentum is along z of the world.
    The angle of precession is an integral, by Gauss and Legendre's rule from time to time.
    """
    from scipy.special import ellipj  # noqa: PLC0415

    i1, i2, i3 = moments
    m2 = (i1 * w0[0]) ** 2 + (i3 * w0[1]) ** 2
    e2 = i1 * w0[0] ** 2 + i3 * w0[1] ** 2
    assert i1 < i2 < i3 and m2 > e2 * i2, "expected moments that increase, and a turn about the third axis"
    rate = np.sqrt((i3 - i2) * (m2 - e2 * i1) / (i1 * i2 * i3))
    k2 = (i2 - i1) * (e2 * i3 - m2) / ((i3 - i2) * (m2 - e2 * i1))

    def turning(times: Array) -> Array:
        sn, cn, dn, _ = ellipj(rate * times, k2)
        ones = np.sqrt((e2 * i3 - m2) / (i1 * (i3 - i1))), np.sqrt((e2 * i3 - m2) / (i2 * (i3 - i2)))
        return np.stack([ones[0] * cn, ones[1] * sn, np.sqrt((m2 - e2 * i1) / (i3 * (i3 - i1))) * dn], axis=-1)

    def precession(times: Array) -> Array:
        a, b, _ = np.moveaxis(turning(times), -1, 0)
        return np.sqrt(m2) * (i1 * a * a + i2 * b * b) / ((i1 * a) ** 2 + (i2 * b) ** 2)

    nodes, weights = np.polynomial.legendre.leggauss(40)
    lengths = np.diff(t)
    inside = t[:-1, None] + lengths[:, None] * (nodes + 1) / 2
    phi = np.concatenate([[0.0], np.cumsum(precession(inside) @ weights * lengths / 2)])
    w = turning(t)
    a, b, c = np.moveaxis(w * np.array(moments) / np.sqrt(m2), -1, 0)
    theta, psi = np.arccos(np.clip(c, -1, 1)), np.arctan2(a, b)
    return w, _turned("z", phi) @ _turned("x", theta) @ _turned("z", psi)


def _turned(axis: str, angle: Array) -> Array:
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    rows = [[c, -s, o], [s, c, o], [o, o, i]] if axis == "z" else [[i, o, o], [o, c, -s], [o, s, c]]
    return np.moveaxis(np.array(rows), -1, 0)


def as_quaternion(R: Array) -> Array:
    """Of a rotation matrix, (x, y, z, w)."""
    from scipy.spatial.transform import Rotation  # noqa: PLC0415

    return Rotation.from_matrix(R).as_quat()


def top_errors(integrator: str = "dop853", duration: float = 10.0, **options: float) -> tuple[float, float]:
    """The largest errors of angular velocity and of rotation of a torque-free top."""
    moments, w0 = (0.1, 0.2, 0.4), (1.0, 2.0)
    t = np.linspace(0.0, duration, 201)
    w, R = elliptic(moments, w0, t)
    robot = asymmetric(moments)
    run = aw.simulate(robot, None, as_quaternion(R[0]), w[0], duration, integrator, every=duration / 200, **options)
    poses = robot.link_poses(run.q)[:, 0, :3, :3]
    return float(np.abs(run.qd - w).max()), float(np.abs(poses - R).max())


def top() -> None:
    for integrator in ("dop853", "vern9", "taylor"):
        w, R = top_errors(integrator, rtol=1e-14)
        print(f"10 s of a torque-free top by {integrator}: angular velocity {w:.1e}, rotation {R:.1e}")


WITHOUT_ROOM = ("rk10", "vern6", "vern8", "vern9")
"""Their leading error is so small that another one, or rounding, hides it at steps that doubles can tell apart."""

BODY = random_tree(1, 5, floating=True)
SPAN, MANY = 2.0, 16


def errors(name: str) -> Iterator[tuple[int, float]]:
    """How many steps, and the error at the end, of many tumbling bodies, until rounding rules."""
    q0, qd0 = start(BODY, 0, MANY)
    qd0[:, 3:] *= 3 / np.linalg.norm(qd0[:, 3:], axis=1)[:, None]

    def ends(integrator: str, steps: int) -> Array:
        run = aw.simulate_batch(BODY, None, q0, qd0, duration=SPAN, integrator=integrator, step=SPAN / steps)
        return np.concatenate([run.q[:, -1], run.qd[:, -1]], axis=1)

    exact, steps, error = ends("dop853", 1000), 16, 1.0
    while error > 3e-11 and steps < 20_000:
        error = float(np.sqrt(np.mean((ends(name, steps) - exact) ** 2)))
        yield steps, error
        steps *= 2


def measured(name: str) -> float:
    """The order by the last two step lengths before rounding."""
    (n, a), (m, b) = list(errors(name))[-2:]
    return float(np.log(a / b) / np.log(m / n))


def measured_exactly(name: str, steps: int) -> float:
    """The same in 50 digits and so slowly that the leading error rules, by the program that is compiled."""
    mpmath.mp.dps = 50
    law = Free()
    program, layout = derivative(equations_of_motion(MotionRecord(BODY, law))), layout_of(BODY, law)
    (_, (time,)), (_, y) = program.arguments
    q, qd = start(BODY, 0)
    begin = layout.joined({"q": q, "qd": 0.05 * qd})
    numbers = np.array([mpmath.mpf(x) for x in begin], object)

    def rate(t: Any, state: Array) -> list[Any]:
        values = {str(x.key): value for x, value in zip(y, state, strict=True)} | {str(time.key): t}
        return interpret(program.outputs, values, mpmath.mpf)

    def end(count: int) -> Array:
        step = mpmath.mpf(1) / count
        found = solve(rate, 0, numbers, mpmath.mpf(1), name, step=step, times=[1], project=_projection(layout))
        return found.y[-1][: layout.controlled]

    coarse, middle, fine = end(steps), end(2 * steps), end(4 * steps)
    return float(mpmath.log(max(abs(coarse - middle)) / max(abs(middle - fine)), 2))


def _projection(layout: Layout) -> Callable[[Array], Array]:
    def project(y: Array) -> Array:
        y = y.copy()
        for begin, end in layout.unit_vectors:
            y[begin:end] = y[begin:end] / mpmath.sqrt(sum(x * x for x in y[begin:end]))
        return y

    return project


def orders() -> None:
    worst = 0.0
    for name in (*methods(), "semi_implicit_euler"):
        if name == "semi_implicit_euler":
            order, found = 1, _semi_implicit()
        else:
            order = method(name).order
            found = measured_exactly(name, 20) if name in WITHOUT_ROOM else measured(name)
        worst = max(worst, abs(found - order))
        print(f"{name:20} order {order:2}, measured {found:.2f}", flush=True)
    print(f"at most {worst:.2f} apart")


def _semi_implicit() -> float:
    q, qd = start(BODY, 0)
    ends = [
        aw.simulate(BODY, None, q, qd, 1.0, "semi_implicit_euler", step=1 / steps, every=0.5).q[-1]
        for steps in (250, 500, 1000)
    ]
    return float(np.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max()))


def peers() -> None:
    import mujoco  # noqa: PLC0415

    for n, seed in ((3, 1), (6, 4)):
        robot = random_tree(n, seed, kinds=("revolute", "prismatic", "ball"), floating=True)
        q0, qd0 = start(robot, 1)
        model = mujoco.MjModel.from_xml_string(robot.to_mjcf())
        model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 1e-4
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        data = mujoco.MjData(model)
        data.qpos, data.qvel = to_mujoco(robot, q0, qd0)
        mujoco.mj_step(model, data, nstep=10_000)
        run = aw.simulate(robot, None, q0, qd0, 1.0, "rk4", step=1e-4, every=0.5)
        q, _ = to_mujoco(robot, run.q[-1], run.qd[-1])
        print(f"{robot.name}: 1 s beside MuJoCo, positions differ by {np.abs(data.qpos - q).max():.1e}")


def to_mujoco(robot: Robot, q: Array, qd: Array) -> tuple[Array, Array]:
    """Positions and velocities as MuJoCo has them: w first, and a free body's velocity in the axes of the world."""
    q, qd = q.copy(), qd.copy()
    for ball in robot.balls:
        x, y, z, w = q[ball.unit_vector]
        q[ball.unit_vector] = w, x, y, z
        if ball.kind == "free":
            own = slice(ball.coordinate, ball.coordinate + 3)
            u = np.array([x, y, z])
            qd[own] = qd[own] + 2 * np.cross(u, np.cross(u, qd[own]) + w * qd[own])
    return q, qd


PARTS = {"flight": flight, "top": top, "orders": orders, "peers": peers}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
