"""A robot, a torque law and an integrator become a motion.

Built-in laws are compiled together with the dynamics and the integrator into one loop (`backends.rollout`). With a
Python function as a law, an event, an implicit or a Taylor method, or a chain of more joints than are compiled as
straight code, the integration runs step by step from Python.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.backends.interface import BROKEN, TOO_MANY, TOO_SMALL
from armwright.errors import InputError, SimulationError, SlowWarning
from armwright.formulations.parts.actuators import friction
from armwright.integrate import Event, method, methods
from armwright.robot import Robot
from armwright.simulation.plan import MOST_STEPS, SMOOTH, Plan, plan, start_of
from armwright.simulation.rollouts import Rollouts, kernel_of
from armwright.simulation.run import Run, Statistics, integral
from armwright.simulation.seen import seen
from armwright.simulation.stepwise import stepwise
from armwright.torque import Friction, Law, Moment
from armwright.trace.form import straight


def simulate(
    robot: Robot,
    torque: Any = None,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    duration: float | None = None,
    integrator: str = "dop853",
    rtol: float = 1e-9,
    atol: float | None = None,
    step: float | None = None,
    every: float = 0.01,
    events: Sequence[Event] = (),
    start: float = 0.0,
    progress: bool | None = None,
    max_step: float | None = None,
    smooth: float = SMOOTH,
) -> Run:
    """The motion of a robot under a torque law.

    torque      None (it falls), numbers, a law of `armwright.torque`, or a function (t, q, qd) -> tau
    q0, qd0     where it starts; by default where the law's trajectory does, else zero
    duration    seconds; by default as long as the law's trajectory or table lasts
    integrator  a name of `armwright.integrate.methods()`, "radau", "bdf", "taylor" or "semi_implicit_euler"
    rtol, atol  error allowed per step (atol: rtol/1000); step: the length of fixed steps instead
    every       seconds between records
    events      `armwright.integrate.Event`s of (t, y), y = (q, qd): a terminal one ends the run
    progress    whether to show a progress bar; by default when the run takes long and a person is watching
    max_step    the longest step the step control may take
    smooth      the speed within which the robot's own dry friction rounds off, coulomb tanh(qd / smooth): a joint that
                sticks creeps at less than this. Zero for friction that jumps at rest, which few integrators survive
    """
    planned = plan(robot, torque, duration, integrator, rtol, atol, step, every, start, max_step, smooth)
    if isinstance(events, Event) or not all(isinstance(event, Event) for event in _listed(events)):
        raise InputError(f"events = {events!r}: expected a list of armwright.integrate.Event")
    y0 = start_of(planned, q0, qd0)
    compiled = planned.law.traceable and straight(robot) and not events and integrator in methods()
    if not planned.law.traceable:
        warnings.warn(
            f"the torque law is called from Python at every evaluation, which is slower: {planned.law!r}",
            SlowWarning,
            stacklevel=2,
        )
    run = _compiled(planned, y0, progress) if compiled else stepwise(planned, y0, events)

    def repeat(factor: float) -> Run:
        finer: dict[str, Any] = {
            "rtol": planned.rtol / factor,
            "atol": planned.atol / factor,
            "max_step": min(every, planned.longest) / 2,
        }
        if planned.step is not None:
            finer = {"step": planned.step / factor}
        again: dict[str, Any] = {
            "q0": run.q[0],
            "qd0": run.qd[0],
            "duration": float(planned.times[-1] - planned.times[0]),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SlowWarning)
            again |= {"integrator": integrator, "every": every, "start": start, "smooth": smooth}
            return simulate(robot, planned.law, **again, **finer)

    return replace(run, repeat=repeat)


def _listed(events: Any) -> list[Any]:
    try:
        return list(events)
    except TypeError:
        return [events]


def _compiled(plan: Plan, y0: tuple[Array, Array], progress: bool | None) -> Run:
    robot, n = plan.robot, plan.robot.n
    kernel = kernel_of(robot, plan.law, (), plan.integrator, plan.step is not None, "float64")
    y = np.concatenate([*y0, np.zeros(2)])[:, None]
    rollouts = Rollouts(plan, kernel, y, np.zeros((1, 1)))
    seconds, message = rollouts.travel(1, progress, stop=lambda: bool(rollouts.broken.any()))
    records = rollouts.records[: rollouts.done, :, 0]
    good = np.isfinite(records).all(axis=1) & (plan.times[: rollouts.done] <= rollouts.lanes["t"][0] + 1e-12)
    count = int(np.argmin(good)) if not good.all() else len(good)
    accepted, rejected = int(rollouts.steps[0]), int(rollouts.lanes["rejected"][0])
    per_step = rollouts.stages - (plan.step is None and method(plan.integrator).fsal)
    statistics = Statistics(accepted, rejected, (accepted + rejected) * per_step, seconds)
    run = seen(plan, plan.times[:count], records[:count], statistics, message)
    if rollouts.broken[0]:
        error = _broken(plan, run, rollouts.lanes["state"][0], float(rollouts.lanes["t"][0]), rollouts.y[: 2 * n, 0])
        error.run = replace(run, message=str(error))
        raise error
    return run


def _broken(plan: Plan, run: Run, state: float, t: float, y: Array) -> SimulationError:
    """Why a run could not go on, with what there is of it."""
    robot, n = plan.robot, plan.robot.n
    q, qd = y[:n], y[n:]
    if state == TOO_MANY:
        return SimulationError(
            f"more than {MOST_STEPS} steps between two records at t = {t:g} s: dry friction that chatters at rest "
            '(a larger smooth= speed), a stiff law (integrator="radau"), or a tolerance too small (rtol=)',
            run,
            t,
        )
    if not np.isfinite(y).all():
        joint = robot.joints[int(np.argmin(np.isfinite(y))) % n].name
        return SimulationError(
            f"the motion of {robot.name} diverges after t = {run.t[-1] if len(run.t) else t:g} s ({joint} first); take "
            "a smaller step=, or an integrator with error control",
            run,
            t,
        )
    with np.errstate(all="ignore"):
        condition = float(np.linalg.cond(robot.mass_matrix(q)))
    fast = int(np.argmax(np.abs(qd)))
    where = f"at t = {t:.6g} s, where {robot.joints[fast].name} moves at {qd[fast]:.3g}"
    if not condition < 1e14:
        return SimulationError(
            f"the mass matrix of {robot.name} is singular (condition {condition:.1e}) {where}", run, t
        )
    why = "the accelerations are not finite" if state == BROKEN else "the step falls below rounding"
    assert state in (BROKEN, TOO_SMALL)
    return SimulationError(f"{why} {where}; the torque law may jump there, or the motion diverge", run, t)


def limits(robot: Robot) -> Iterator[Event]:
    """Events for every joint that reaches a limit."""
    for i, joint in enumerate(robot.joints):
        for bound, side in zip(joint.limits or (), ("lower", "upper"), strict=False):
            yield Event(_distance(i, bound), terminal=True, name=f"{joint.name} reaches its {side} limit {bound:g}")


def _distance(i: int, bound: float) -> Callable[[float, Array], float]:
    return lambda _t, y: float(y[i] - bound)


FINER = 16
"""Work along a motion is summed over so many times as many points as are recorded."""


def torques_along(
    robot: Robot,
    trajectory: Any,
    every: float = 0.01,
    tip_wrench: ArrayLike | None = None,
    friction_law: Law | None = None,
) -> Run:
    """The torques that make a robot follow a trajectory exactly: inverse dynamics along it, no integration.

    `friction_law` is friction besides the robot's own, which the drives must overcome too (`torque.friction`).
    """
    if not isinstance(robot, Robot) or not hasattr(trajectory, "trace"):
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
    drag = np.zeros_like(q)
    if friction_law is not None:
        at = Moment(fine, list(q.T), list(qd.T), chain)
        for part in friction_law.parts:
            if isinstance(part, Friction):
                drag += np.stack(np.broadcast_arrays(*part.torques(at), fine)[:-1], axis=-1)
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
