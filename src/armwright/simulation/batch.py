"""Many motions at once, compiled whole."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import thread_count
from armwright.backends.interface import backend
from armwright.errors import InputError, SimulationWarning, unknown
from armwright.integrate import method, methods
from armwright.model.vary import check
from armwright.robot import Robot
from armwright.simulation.plan import SMOOTH, Plan, plan
from armwright.simulation.rollouts import Rollouts, kernel_of, viewer_of
from armwright.simulation.run import BatchRun
from armwright.trace.form import straight, unrolled


def simulate_batch(
    robot: Robot,
    torque: Any = None,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    duration: float | None = None,
    integrator: str = "rk4",
    step: float | None = None,
    rtol: float = 1e-6,
    atol: float | None = None,
    every: float | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    start: float = 0.0,
    threads: int = 1,
    dtype: str = "float64",
    progress: bool | None = None,
    smooth: float = SMOOTH,
) -> BatchRun:
    """Many motions at once, compiled whole: `q0` and `qd0` are (rollouts, n), or (n,) for all.

    integrator  a fixed-step method with `step` (rk4, 0.001 s, by default) or an embedded pair with rtol and atol
    every       seconds between records; by default only start and end are kept, so memory does not grow with time
    vary        robot parameters that differ: {"payload.mass": (rollouts,), ...}; the law's model does not know of them
    smooth      the speed within which the robot's own dry friction rounds off, as in `simulate`
    """
    if integrator in methods() and method(integrator).error is None and step is None:
        step = 1e-3
    planned = plan(robot, torque, duration, integrator, rtol, atol, step, every, start, None, smooth)
    if integrator not in methods():
        raise InputError(f"{integrator} is not compiled; simulate_batch takes {', '.join(methods())}")
    if not planned.law.traceable or not straight(robot):
        raise InputError(
            "simulate_batch compiles the law with the dynamics: it takes the laws of armwright.torque (with at most 32 "
            f"pieces) and robots of up to {unrolled()} joints; use simulate for anything else"
        )
    if dtype not in backend("cpu").dtypes:
        raise unknown("dtype", dtype, backend("cpu").dtypes)
    thread_count(threads)
    names, values = _varied(vary)
    y, p = _batch(planned, q0, qd0, values)
    kernel = kernel_of(planned.robot, planned.law, names, integrator, step is not None, dtype)
    rollouts = Rollouts(planned, kernel, y, p)
    seconds, message = rollouts.travel(threads, progress)
    return _batch_run(planned, rollouts, names, seconds, message)


def _varied(vary: Any) -> tuple[tuple[str, ...], dict[str, Array]]:
    """The open parameters as arrays of numbers."""
    if vary is not None and not isinstance(vary, Mapping):
        raise InputError(f"vary = {vary!r}: expected a mapping, such as {{'payload.mass': masses}}")
    values: dict[str, Array] = {}
    for name, value in (vary or {}).items():
        given = np.asarray(value)
        if given.dtype.kind not in "fiu" or not given.size:
            raise InputError(f"vary[{name!r}] = {value!r}: expected one number per rollout")
        if not np.isfinite(given).all() or (str(name).endswith(".mass") and (given < 0).any()):
            raise InputError(f"vary[{name!r}] has a number that is not finite, or a negative mass")
        values[name] = given.astype(float)
    return tuple(values), values


def _batch(plan: Plan, q0: ArrayLike | None, qd0: ArrayLike | None, values: Mapping[str, Array]) -> tuple[Array, Array]:
    """States (2n + 2, rollouts) and open parameters (m, rollouts) to begin with."""
    robot, n = plan.robot, plan.robot.n
    sizes = check(robot, tuple(values))
    counts = {}
    given = {}
    for name, value in (("q0", q0), ("qd0", qd0)):
        array = np.zeros(n) if value is None else np.asarray(value, dtype=float)
        if array.ndim not in (1, 2) or array.shape[-1] != n or not array.size:
            raise InputError(f"{name} has shape {array.shape}; expected (rollouts, {n}), or ({n},) for all of them")
        if not np.isfinite(array).all():
            raise InputError(f"{name} has a number that is not finite")
        given[name] = array
        if array.ndim == 2:
            counts[name] = len(array)
    if plan.law.reference is not None and q0 is None:
        begin = plan.law.reference(float(plan.times[0]))
        given["q0"], given["qd0"] = (np.asarray(x, dtype=float) for x in begin[:2])
    rows = {}
    for name, size in sizes.items():
        array = values[name]
        rows[name] = array[..., None] if size == 1 and (array.ndim < 2 or array.shape[-1] != 1) else array
        if rows[name].ndim not in (1, 2) or rows[name].shape[-1] != size or not np.isfinite(array).all():
            raise InputError(
                f"vary[{name!r}] has shape {array.shape}; expected (rollouts,{f' {size}' if size > 1 else ''})"
            )
        if rows[name].ndim == 2:
            counts[f"vary[{name!r}]"] = len(rows[name])
    many = max(counts.values(), default=1)
    for name, count in counts.items():
        if count not in (1, many):
            raise InputError(f"{name} is for {count} rollouts, others are for {many}; expected equal, or one for all")
    y = np.zeros((2 * n + 2, many))
    y[:n], y[n : 2 * n] = (np.broadcast_to(given[name], (many, n)).T for name in ("q0", "qd0"))
    columns = [np.broadcast_to(row, (many, row.shape[-1])).T for row in rows.values()]
    return y, np.concatenate(columns) if columns else np.zeros((1, many))


def _batch_run(plan: Plan, rollouts: Rollouts, names: tuple[str, ...], seconds: float, message: str) -> BatchRun:
    n, count = plan.robot.n, rollouts.count
    times = plan.times[: rollouts.done]
    records = np.moveaxis(rollouts.records[: rollouts.done, :, :count], -1, 0)
    total = int(rollouts.steps.sum())
    failed = rollouts.broken
    finite = np.isfinite(records).all(axis=2)
    reached = np.minimum(rollouts.lanes["t"][:count], times[np.maximum(finite.sum(axis=1) - 1, 0)])
    if failed.any():
        message = (
            f"{int(failed.sum())} of {count} rollouts could not go on, the first is number {int(np.argmax(failed))}"
        )
        warnings.warn(f"{message}; see .failed and .reached", SimulationWarning, stacklevel=3)
    dtype = rollouts.y.dtype.name

    def look() -> tuple[Array, Array, Array, Array]:
        viewer = viewer_of(plan.robot, plan.law, names, dtype)
        states = count * len(times)
        q, qd = (records[..., a : a + n].reshape(states, n) for a in (0, n))
        arrays = [np.tile(times.astype(dtype), count)[:, None], q, qd]
        if names:
            arrays.append(np.repeat(rollouts.p[:, :count].T, len(times), axis=0))
        out = np.empty((states, 3 * n + 2), dtype)
        viewer.run([np.ascontiguousarray(x) for x in arrays], out)
        out = out.reshape(count, len(times), -1)
        return out[..., :n], out[..., n : 2 * n], out[..., -2], out[..., -1]

    return BatchRun(
        robot=plan.robot,
        t=times,
        q=records[..., :n],
        qd=records[..., n : 2 * n],
        work=records[..., 2 * n],
        losses=records[..., 2 * n + 1],
        reached=reached,
        failed=failed,
        accepted=rollouts.steps,
        rejected=rollouts.lanes["rejected"][:count].astype(np.int64),
        seconds=seconds,
        steps_per_second=total / max(seconds, 1e-12),
        look=look,
        message=message,
    )
