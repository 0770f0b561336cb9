"""Many motions at once, compiled whole."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import numbers, whole_number
from armwright.backends.interface import backend
from armwright.errors import InputError, Interrupted, SimulationWarning, unknown
from armwright.integrate import Event as PythonEvent
from armwright.integrate import method, methods
from armwright.model.vary import check
from armwright.robot import Robot
from armwright.simulation.events import Event, Watched, on_robot, started
from armwright.simulation.kernels import TARGET, rollout_of, view_of
from armwright.simulation.measures import LOST, MEASURES, WITHIN, Totals, chosen, split, way_to
from armwright.simulation.motion import View
from armwright.simulation.plan import (
    SMOOTH,
    Plan,
    check_seconds,
    check_span,
    lasting,
    plan,
    settings,
    start_of,
    stopped,
)
from armwright.simulation.rollouts import Rollouts
from armwright.simulation.run import BatchRun
from armwright.simulation.view import looked_up
from armwright.torque import Law, Stops, law_for
from armwright.trace.form import unrolled

STEP, RTOL = 1e-3, 1e-6
"""Seconds of a fixed step and error allowed of a chosen one, if nothing else is said."""


def simulate_batch(
    robot: Robot,
    torque: Any = None,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    duration: float | None = None,
    integrator: str = "rk4",
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    every: float | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    start: ArrayLike = 0.0,
    threads: int = 1,
    dtype: str = "float64",
    progress: bool | None = None,
    smooth: float = SMOOTH,
    max_step: float | None = None,
    events: Sequence[Event] = (),
    stops: Stops | bool | None = None,
    measure: str | Sequence[str] = (),
    within: float = WITHIN,
    keep: bool | None = None,
) -> BatchRun:
    """Many motions at once, compiled whole: `q0` is (rollouts, nq) and `qd0` (rollouts, n), or one row for all.

    torque      as in `simulate`; or (rollouts, n) numbers, a law whose gains, targets or limits are (rollouts, joints),
                or a list of laws of one form with different numbers, motions among them, one for each rollout

    integrator  a fixed-step method with `step` (rk4, 0.001 s, by default) or an embedded pair with rtol (1e-6) and atol
    q0, qd0     by default where the law's trajectory starts, else neutral and at rest
    max_step    the longest step that may be chosen
    every       seconds between records; by default only start and end are kept, so memory does not grow with time
    vary        robot parameters that differ: {"payload.mass": (rollouts,), ...}; the law's model does not know of them
    start       when they begin, seconds, or (rollouts,): then a law sees the time of its rollout; t is (rollouts, k)
    smooth      the speed within which the robot's own dry friction rounds off, as in `simulate`
    events      of `armwright.events`: a rollout ends with the first that happens (`ended`, `reached`)
    stops       at the limits of the joints, as in `simulate`
    measure     what to find on the way, without records: "peak_torque", "energy", "tracking_error", ... are then in
                `measured`, (rollouts, n) each; looked at `every` so many seconds, by default after every given step, or
                a hundred times if steps are chosen. `within` is what "settling_time" means by being there
    keep        whether the states at the records are kept; by default where `every` is given and nothing is measured

    Ctrl-C raises `errors.Interrupted`, a KeyboardInterrupt whose `result` has what there is of the rollouts: `finished`
    says which came to their end, `reached` where the others are, and records they did not come to are nan.
    """
    if integrator in methods() and step is None:
        adaptive = method(integrator).adaptive
        step, rtol = (None, RTOL if rtol is None else rtol) if adaptive else (STEP, rtol)
    first, laws = _laws(torque)
    how = settings(integrator, rtol, atol, step, max_step)
    planned = plan(robot, first, how, duration, every, start, smooth, stops, True, bool(laws))
    planned = _measuring(planned, measure, within, keep, every is not None)
    if integrator not in methods():
        raise InputError(f"{integrator} is not compiled; simulate_batch takes {', '.join(methods())}")
    if not planned.traced:
        raise InputError(
            "simulate_batch compiles the law with the dynamics: it takes the laws of armwright.torque (with at most 32 "
            f"pieces) and robots of up to {unrolled()} joints; use simulate for anything else"
        )
    if laws:
        planned = _together(planned, laws, duration is None, stops)
    begin = start_of(planned, q0, qd0, many=True)
    planned = replace(planned, events=started(_ending(on_robot(robot, events)), begin[0]))
    if dtype not in backend(TARGET).dtypes:
        raise unknown("dtype", dtype, backend(TARGET).dtypes)
    whole_number("threads", threads, 1)
    names, values = parameters(vary)
    y, p = _batch(planned, begin, values)
    fixed, shared = planned.how.step is not None, planned.family(names)
    kernel = rollout_of(
        shared.robot, planned.numbers.form, names, integrator, fixed, dtype, TARGET, shared.names, **planned.watching
    )
    rollouts = Rollouts(planned, kernel, y, p)
    seconds, message = rollouts.travel(threads, progress)
    run = _batch_run(planned, rollouts, names, seconds, message)
    if message:
        done = f"{int(run.finished.sum())} of {rollouts.count} rollouts are finished"
        raise Interrupted(f"{message}: {done}; .result of this error has them, and its .finished says which", run)
    return run


LOOKS = 100
"""How often is looked at what is measured where steps are chosen, if nothing is said."""


def _measuring(plan: Plan, names: Any, within: Any, keep: Any, recorded: bool) -> Plan:
    """The plan with what is measured; without `every` that is looked at after every given step."""
    measured = chosen(names, plan.law)
    check_seconds("within", within)
    if keep not in (None, True, False) or (keep is False and not measured):
        raise InputError(f"keep = {keep!r}: expected True or False, and False only where something is measured")
    if not measured:
        return plan
    begin, end = plan.times[0], plan.times[-1]
    if not recorded:
        count = max(1, math.ceil((end - begin) / plan.how.step - 1e-9)) if plan.how.step is not None else LOOKS
        times = np.append(begin + (plan.how.step or (end - begin) / LOOKS) * np.arange(count), end)
        plan = replace(plan, times=times)
    return replace(plan, measured=measured, keep=bool(keep), within=float(within))


def _laws(torque: Any) -> tuple[Any, Sequence[Law]]:
    """What drives the first rollout, and the laws of all if each has its own."""
    if isinstance(torque, (list, tuple)) and torque and all(isinstance(law, Law) for law in torque):
        return torque[0], torque
    return torque, ()


def _ending(events: Sequence[Watched | PythonEvent]) -> tuple[Watched, ...]:
    """Events that are compiled, or an error that says which is not."""
    ending = tuple(event for event in events if isinstance(event, Watched) and int(event.terminal) == 1)
    for event in events:
        if event not in ending:
            raise InputError(
                f"event {event.name!r} cannot be compiled: simulate_batch takes events of armwright.events that end a "
                "rollout when they happen first (terminal=True); use simulate for others"
            )
    return ending


def _together(plan: Plan, laws: Sequence[Law], whole: bool, stops: Stops | bool | None) -> Plan:
    """The plan for laws of one form, one for each rollout; if they are to go to their ends, these are the same."""
    begin, end, late = float(plan.times[0]), float(plan.times[-1]), plan.late
    if len(late) not in (1, len(laws)):
        raise InputError(f"start is for {len(late)} rollouts, and there are {len(laws)} laws; expected equal")
    lengths = [lasting(law, begin) for law in laws] if whole else [0.0]
    if max(lengths) - min(lengths) > 1e-9:
        raise InputError(
            f"duration is missing: the laws last from {min(lengths):g} to {max(lengths):g} s; expected duration=, and "
            "motions that hold their ends (.holding()) where they are shorter"
        )
    for law, wait in zip(laws, np.broadcast_to(late, len(laws)).tolist(), strict=True):
        check_span(law_for(law, plan.robot), begin + wait, end + wait)
    return replace(plan, each=tuple(stopped(law, plan.robot, stops) for law in laws))


def parameters(vary: Any) -> tuple[tuple[str, ...], dict[str, Array]]:
    """The open parameters as arrays of numbers."""
    if vary is not None and not isinstance(vary, Mapping):
        raise InputError(f"vary = {vary!r}: expected a mapping, such as {{'payload.mass': masses}}")
    values: dict[str, Array] = {}
    for name, value in (vary or {}).items():
        given = numbers(f"vary[{name!r}]", value, "expected one number per rollout")
        if not given.size:
            raise InputError(f"vary[{name!r}] = {value!r}: expected one number per rollout")
        if not np.isfinite(given).all() or (str(name).endswith(".mass") and (given < 0).any()):
            raise InputError(f"vary[{name!r}] has a number that is not finite, or a negative mass")
        values[name] = given.astype(float)
    return tuple(values), values


def _batch(plan: Plan, begin: tuple[Array, Array], values: Mapping[str, Array]) -> tuple[Array, Array]:
    """States (rollouts, entries) and open parameters (rollouts, m) to begin with."""
    given = dict(zip(("q0", "qd0"), begin, strict=True))
    for name, size in check(plan.robot, tuple(values)).items():
        array = values[name]
        row = array[..., None] if size == 1 and (array.ndim < 2 or array.shape[-1] != 1) else array
        if row.ndim not in (1, 2) or row.shape[-1] != size:
            raise InputError(
                f"vary[{name!r}] has shape {array.shape}; expected (rollouts,{f' {size}' if size > 1 else ''})"
            )
        given[f"vary[{name!r}]"] = row
    law, watched, gauged = plan.numbers, plan.watched, plan.gauged
    counts = {name: len(array) for name, array in given.items() if array.ndim == 2}
    if law.many is not None:
        counts["the torque law"] = law.many
    if watched.many is not None:
        counts["an event"] = watched.many
    if gauged.many is not None:
        counts["the motions"] = gauged.many
    if len(plan.late) > 1:
        counts["start"] = len(plan.late)
    many = max(counts.values(), default=1)
    for name, count in counts.items():
        if count not in (1, many):
            raise InputError(f"{name} is for {count} rollouts, others are for {many}; expected equal, or one for all")
    q, qd, *rows = (np.broadcast_to(array, (many, array.shape[-1])) for array in given.values())
    memory = np.array(plan.law.start(plan.robot.n))
    y = plan.layout.joined({"q": q, "qd": qd, "memory": memory}, (many,))
    shared = np.tile(plan.family(tuple(values)).numbers, (many, 1))
    p = np.concatenate([*rows, shared, law.rows(many), watched.rows(many), gauged.rows(many)], axis=1)
    return y, p if p.size else np.zeros((many, 1))


def _batch_run(plan: Plan, rollouts: Rollouts, names: tuple[str, ...], seconds: float, message: str) -> BatchRun:
    states, times, count = rollouts.states, rollouts.times, rollouts.count
    failed, last = rollouts.broken, rollouts.last
    reached, ended, gone = plan.times[last], rollouts.ended, rollouts.gone
    reached[ended] = gone[ended]
    if failed.any():
        reached[failed] = np.minimum(gone[failed], _last_finite(plan, rollouts, failed))
    if failed.any() and not message:
        message = (
            f"{int(failed.sum())} of {count} rollouts could not go on, the first is number {int(np.argmax(failed))}"
        )
        warnings.warn(f"{message}; see .failed and .reached", SimulationWarning, stacklevel=3)
    return BatchRun(
        robot=plan.robot,
        t=times if len(plan.late) == 1 else times + plan.late[:, None],
        **plan.layout.split(states),
        reached=reached + plan.late,
        failed=failed,
        finished=ended | ~failed & (last == len(plan.times) - 1),
        accepted=rollouts.steps,
        rejected=rollouts.rejected,
        seconds=seconds,
        steps_per_second=int(rollouts.steps.sum()) / max(seconds, 1e-12),
        look=partial(_viewed, plan, rollouts, names),
        message=message,
        ended=np.where(ended, rollouts.lanes["event"][:count].astype(np.int64) - 1, -1),
        events=tuple(event.name for event in plan.events),
        measured=_measured(plan, rollouts, reached, ended | ~failed),
    )


def _last_finite(plan: Plan, rollouts: Rollouts, which: Array) -> Array:
    """When some rollouts were seen last where all their numbers were finite."""
    if plan.keep:
        finite = np.isfinite(rollouts.states[which]).all(axis=2)
        last: Array = rollouts.times[np.maximum(finite.sum(axis=1) - 1, 0)]
        return last
    seen: Array = np.maximum(_found(plan, rollouts)[LOST][:, 0] - plan.late, plan.times[0])
    return seen[which]


def _found(plan: Plan, rollouts: Rollouts) -> dict[str, Array]:
    return split(plan.gauged.form.of.gauges, plan.robot.n, rollouts.totals[:, : rollouts.count])


def _measured(plan: Plan, rollouts: Rollouts, reached: Array, good: Array) -> dict[str, Array]:
    """Everything that was measured, nan where a rollout could not go on."""
    if not plan.measured:
        return {}
    count = rollouts.count
    late = np.broadcast_to(plan.late, count)

    def way() -> Array:
        return way_to(plan.robot.balls, plan.layout.split(rollouts.records[0, :, :count].T)["q"], plan.goal)

    totals = Totals(_found(plan, rollouts), plan.times - plan.times[0], late + plan.times[0], reached + late, way)
    with np.errstate(all="ignore"):
        found = {name: MEASURES[name].of(totals) for name in plan.measured}
    return {name: np.where(good[:, None], x, np.nan) for name, x in found.items()}


def _viewed(plan: Plan, rollouts: Rollouts, names: tuple[str, ...]) -> View:
    """What there is to see of every rollout at every record."""
    states, count, n, dtype = rollouts.states, rollouts.count, plan.robot.n, rollouts.y.dtype
    times = np.broadcast_to(rollouts.times + plan.late[:, None], states.shape[:2])
    arrays = [times.reshape(-1, 1).astype(dtype), states.reshape(times.size, -1)]
    shared = plan.family(names)
    if names or shared.names or plan.numbers.numbers:
        seen = len(rollouts.p) - len(plan.watched.numbers) - len(plan.gauged.numbers)
        arrays.append(np.repeat(rollouts.p[:seen, :count].T, states.shape[1], axis=0))
    out = looked_up(view_of(shared.robot, plan.numbers.form, names, shared.names, dtype.name), arrays)
    return View.of(out.reshape(*times.shape, -1), n, shared.lifted)
