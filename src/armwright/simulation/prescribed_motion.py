"""The torques along a prescribed motion, by inverse dynamics without integration."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import stacked
from armwright.errors import InputError
from armwright.formulations.parts.coordinates import mechanism_at
from armwright.formulations.parts.rotors_and_friction import friction
from armwright.robot import Robot
from armwright.simulation.doubts import Doubt
from armwright.simulation.integration_settings import check_seconds
from armwright.simulation.law_repeatability import REPEAT_HELP, difference_message
from armwright.simulation.plan import check_span
from armwright.simulation.run import Run
from armwright.simulation.run_files import Statistics
from armwright.torque import Moment
from armwright.torque.conversion import law_for
from armwright.torque.law import torques_of
from armwright.trajectory import Trajectory
from armwright.trajectory.argument_checks import check_scalar_joints
from armwright.trajectory.motion_base import without_rounding

QUADRATURE_POINTS = 8
"""The points of the quadrature of work between two records, or a record and a knot, at which torques may jump."""


def torques_along(
    robot: Robot,
    trajectory: Any,
    every: float = 0.01,
    tip_wrench: ArrayLike | None = None,
    friction_law: Any = None,
) -> Run:
    """Return the run of a robot that follows a trajectory exactly, by inverse dynamics without integration.

    `friction_law` acts on the joints in addition to drives and friction of the robot, and the drives must overcome it:
    `torque.friction`, a spring, or a function (t, q, qd) -> torques. `run.drag` has its torques.
    """
    if not isinstance(robot, Robot) or not isinstance(trajectory, Trajectory):
        raise InputError(f"torques_along got {robot!r} and {trajectory!r}; expected a Robot and a trajectory")
    check_scalar_joints(robot, "a trajectory")
    if trajectory.n != robot.n:
        raise InputError(f"the trajectory is for {trajectory.n} joints; {robot.name} has {robot.n}")
    check_seconds("every", every)
    if not np.isfinite([trajectory.start, trajectory.end]).all():
        raise InputError("the trajectory holds its ends for ever; expected one without .holding()")
    begin = time.perf_counter()
    intervals = max(1, math.ceil((trajectory.end - trajectory.start) / every - 1e-9))
    t = np.linspace(trajectory.start, trajectory.end, intervals + 1)
    fastest = float(np.abs(trajectory(t)[1]).max())
    motion = partial(_state_and_torques, robot, trajectory, tip_wrench, friction_law, fastest)
    q, qd, qdd, tau, drag = motion(t)
    difference = "" if friction_law is None else difference_message(robot, drag[0], motion(t[:1])[4][0])
    work, losses, points = _work_and_losses(robot, motion, t, np.unique([*t, *trajectory.knots]))
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
        statistics=Statistics(0, 0, len(t) + points, time.perf_counter() - begin),
        settings={"trajectory": repr(trajectory)},
        noticed=(Doubt(float(t[0]), f"{difference}; {REPEAT_HELP}"),) if difference else (),
    )


def _state_and_torques(
    robot: Robot, trajectory: Trajectory, tip_wrench: ArrayLike | None, friction_law: Any, fastest: float, t: Array
) -> tuple[Array, ...]:
    """Return q, qd, qdd, the torques of the drives and the other torques at times."""
    q, qd, qdd = (np.ascontiguousarray(x) for x in trajectory(t))
    qd = without_rounding(qd, fastest)
    drag = np.zeros_like(q) if friction_law is None else _friction_torques(friction_law, t, q, qd, robot)
    required = robot.inverse_dynamics(q, qd, qdd, tip_wrench)
    tau = required - drag
    if tip_wrench is not None:  # the work of the tool on its surroundings counts as a loss
        drag += robot.inverse_dynamics(q, qd, qdd) - required
    return q, qd, qdd, tau, drag


def _work_and_losses(
    robot: Robot, motion: Callable[[Array], tuple[Array, ...]], t: Array, edges: Array
) -> tuple[Array, Array, int]:
    """Return work and losses until each time by Gauss-Legendre quadrature between edges, and the number of points."""
    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE_POINTS)
    lengths = np.diff(edges)
    fine = (edges[:-1, None] + lengths[:, None] * (nodes + 1) / 2).ravel()
    q, qd, _, tau, drag = motion(fine)
    rub = stacked(friction(mechanism_at(robot.mechanism(), list(q.T)), list(qd.T)), fine.shape, qd.dtype) - drag
    sums = []
    for torques in (tau, rub):
        power = np.sum(torques * qd, axis=-1).reshape(-1, QUADRATURE_POINTS)
        energy = np.concatenate([[0.0], np.cumsum(power @ weights * lengths / 2)])
        sums.append(energy[np.searchsorted(edges, t)])
    return sums[0], sums[1], len(fine)


def _friction_torques(friction_law: Any, t: Array, q: Array, qd: Array, robot: Robot) -> Array:
    """Return the torques of a friction law along a motion; raise an InputError for the law of a drive."""
    law = law_for(friction_law, robot)
    if law.reference is not None or law.start(robot.n):
        raise InputError(
            f"friction_law = {law!r} has a target or memory: it is the law of a drive, whose torques are the result; "
            "expected a law such as torque.friction(viscous=0.5)"
        )
    check_span(law, float(t[0]), float(t[-1]))
    mechanism, rows = robot.mechanism(), zip(t.tolist(), q.tolist(), qd.tolist(), strict=True)
    return np.array([torques_of(law, Moment(*row, mechanism)) for row in rows], dtype=float)
