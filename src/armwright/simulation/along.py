"""The torques along a motion that is given: inverse dynamics, no integration."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError
from armwright.formulations.parts.actuators import friction
from armwright.robot import Robot
from armwright.simulation.plan import check_span
from armwright.simulation.run import Run, Statistics, integral
from armwright.torque import Moment, as_law
from armwright.trajectory import Trajectory

FINER = 16
"""Work along a motion is summed over so many times as many points as are recorded."""


def torques_along(
    robot: Robot,
    trajectory: Any,
    every: float = 0.01,
    tip_wrench: ArrayLike | None = None,
    friction_law: Any = None,
) -> Run:
    """The torques that make a robot follow a trajectory exactly: inverse dynamics along it, no integration.

    `friction_law` is what acts on the joints besides the drives and the robot's own friction, and which the drives must
    overcome too: `torque.friction`, a spring, a function (t, q, qd) -> torques; `run.drag` holds its torques.
    """
    if not isinstance(robot, Robot) or not isinstance(trajectory, Trajectory):
        raise InputError(f"torques_along got {robot!r} and {trajectory!r}; expected a Robot and a trajectory")
    if trajectory.n != robot.n:
        raise InputError(f"the trajectory is for {trajectory.n} joints; {robot.name} has {robot.n}")
    if not (np.isfinite(every) and every > 0):
        raise InputError(f"every = {every!r}: expected seconds, above zero")
    begin = time.perf_counter()
    count = FINER * max(1, math.ceil((trajectory.end - trajectory.start) / every - 1e-9)) + 1
    fine = np.linspace(trajectory.start, trajectory.end, count)
    q, qd, qdd = (np.ascontiguousarray(x) for x in trajectory(fine))
    chain = robot.chain()
    drag = np.zeros_like(q) if friction_law is None else _besides(friction_law, fine, q, qd, robot)
    tau = robot.inverse_dynamics(q, qd, qdd, tip_wrench) - drag
    rub = np.stack(np.broadcast_arrays(*friction(chain, list(qd.T)), fine)[:-1], axis=-1) - drag
    work, losses = (integral(fine, np.sum(x * qd, axis=-1))[::FINER] for x in (tau, rub))
    t, q, qd, qdd, tau, drag = (x[::FINER].copy() for x in (fine, q, qd, qdd, tau, drag))
    return Run(
        robot=robot,
        t=t,
        q=q,
        qd=qd,
        qdd=qdd,
        tau=tau,
        drag=drag,
        kinetic=robot.kinetic_energy(q, qd),
        potential=robot.potential_energy(q),
        work=work,
        losses=losses,
        statistics=Statistics(0, 0, len(fine), time.perf_counter() - begin),
        settings={"trajectory": repr(trajectory)},
    )


def _besides(friction_law: Any, t: Array, q: Array, qd: Array, robot: Robot) -> Array:
    """The torques of a law that is no drive, along a motion."""
    law = as_law(friction_law, robot.n)
    if law.reference is not None or law.start(robot.n):
        raise InputError(
            f"friction_law = {law!r} follows a target or remembers: it is a drive, whose torques come out of this; "
            "give what acts besides the drives, such as torque.friction(viscous=0.5)"
        )
    check_span(law, float(t[0]), float(t[-1]))
    chain, rows = robot.chain(), zip(t.tolist(), q.tolist(), qd.tolist(), strict=True)
    return np.array([law.torques(Moment(*row, chain)) for row in rows], dtype=float)
