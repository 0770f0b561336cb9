"""Simulation of many rollouts at once, in compiled code."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import whole_number
from armwright.backends.interface import backend
from armwright.errors import InputError, Interrupted, unknown
from armwright.integrate import INTEGRATORS
from armwright.integrate import Event as PythonEvent
from armwright.integrate.integrators import is_adaptive
from armwright.robot import Robot
from armwright.simulation.batch_inputs import batch_columns, start_columns, varied_parameters
from armwright.simulation.batch_results import Batch
from armwright.simulation.batch_run import BatchRun
from armwright.simulation.events import Event, RobotEvent, events_on, with_start_tolerance
from armwright.simulation.integration_settings import check_seconds, settings
from armwright.simulation.measures import DEFAULT_WITHIN, checked_measures
from armwright.simulation.motion_record import HOST_TARGET
from armwright.simulation.plan import SMOOTHING_SPEED, Plan, check_span, law_duration, law_with_stops, plan
from armwright.torque import Law, Stops
from armwright.torque.conversion import law_for
from armwright.trace.evaluation_strategy import max_unrolled_joints

DEFAULT_STEP, BATCH_RTOL = 1e-3, 1e-6
"""The default fixed step, s, and the default relative tolerance of adaptive steps."""

DEFAULT_GAUGE_INSTANTS = 100
"""The default number of instants at which gauges are evaluated with adaptive steps."""


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
    smooth: float = SMOOTHING_SPEED,
    max_step: float | None = None,
    events: Sequence[Event] = (),
    stops: Stops | bool | None = None,
    measure: str | Sequence[str] = (),
    within: float = DEFAULT_WITHIN,
    keep: bool | None = None,
    target: str = HOST_TARGET,
    rollouts: int | Sequence[int] | Array | None = None,
) -> BatchRun:
    """Simulate many rollouts together in compiled code and return the results.

    q0, qd0     start states (rollouts, nq) and (rollouts, n), or one row for all; the default is the start of the law's
                trajectory, or else the neutral position at rest
    torque      as in `simulate`; or torques (rollouts, n), a law with gains, targets or limits (rollouts, joints), or a
                list of laws, one per rollout, that have the same structure and differ in their numbers or motions
    integrator  a fixed-step method with `step` (default rk4, 0.001 s), or an embedded pair with rtol (1e-6) and atol
    max_step    the longest adaptive step, s
    every       seconds between records; by default only start and end are kept, so memory does not grow with time
    vary        robot parameters that differ: {"payload.mass": (rollouts,), ...}; the model in the law ignores them
    start       start time, s, or (rollouts,); with the latter each law gets the time of its rollout, and t of the
                result is (rollouts, k)
    smooth      the speed below which dry friction of the robot is smoothed, as in `simulate`
    events      from `armwright.events`; a rollout ends at its first event (`ended`, `reached`)
    stops       joint stops at the position limits, as in `simulate`
    measure     names of measures such as "peak_torque", "energy", "tracking_error"; results are in `measured`,
                (rollouts, n) each, and need no records. They are evaluated every `every` seconds; by default at the end
                of every fixed step, or at a hundred instants with adaptive steps
    within      the distance, rad or m, within which a joint counts as settled
    keep        True to keep the states at the records; the default is True if `every` is given and `measure` is not
    target      "cpu"; "cuda" for a GPU, with code for this robot alone (docs/gpu.md); "python" for the interpreter,
                the reference for the others
    rollouts    their number, if no array has it: q0, qd0 and vary may be random, `aw.draws(seed).uniform(low, high)` or
                `.normal(mean, std)`. The numbers of rollout i depend on seed, name and i alone. A list of indices
                selects rollouts: [503] repeats rollout 503 of a thousand

    Ctrl-C raises `errors.Interrupted`, a KeyboardInterrupt. Its `result` has the rollouts so far: `finished` marks the
    complete ones, `reached` is the time at which the others stopped, and later records are nan.
    """
    if integrator in INTEGRATORS and step is None:
        adaptive = is_adaptive(integrator)
        step, rtol = (None, BATCH_RTOL if rtol is None else rtol) if adaptive else (DEFAULT_STEP, rtol)
    first, laws = _first_and_all_laws(torque)
    step_settings = settings(integrator, rtol, atol, step, max_step)
    planned = plan(robot, first, step_settings, duration, every, start, smooth, stops, True, bool(laws))
    planned = _with_measures(planned, measure, within, keep, every is not None)
    if integrator not in INTEGRATORS:
        raise InputError(f"simulate_batch cannot compile {integrator}; expected one of {', '.join(INTEGRATORS)}")
    if not planned.compilable:
        raise InputError(
            "simulate_batch cannot compile this robot or law; expected one of armwright.torque (at most 32 pieces) and "
            f"at most {max_unrolled_joints()} joints; use simulate for others"
        )
    if laws:
        planned = _with_laws(planned, laws, stops, duration is None)
    _check_target(target, dtype, threads)
    begin = start_columns(planned, q0, qd0)
    planned = replace(planned, events=with_start_tolerance(_terminal_events(events_on(robot, events)), begin[0][0]))
    names, values = varied_parameters(vary, random=True)
    states, parameters = batch_columns(planned, begin, values, planned.code(names, target).numbers, rollouts)
    batch = Batch(planned, names, states, parameters, dtype, target)
    results, seconds, message = batch.integrate(threads, progress)
    run = batch.run_of(results, seconds, message)
    if message:
        done = f"{int(run.finished.sum())} of {len(states)} rollouts are finished"
        raise Interrupted(f"{message}: {done}; this error has them as .result, and .result.finished marks them", run)
    return run


def _with_measures(plan: Plan, names: Any, within: Any, keep: Any, recorded: bool) -> Plan:
    """Return the plan with measures, and with the instants at which they are evaluated."""
    measures = checked_measures(names, plan.law)
    check_seconds("within", within)
    if keep not in (None, True, False) or (keep is False and not measures):
        raise InputError(f"keep = {keep!r}: expected True or False, and False only with measures")
    if not measures:
        return plan
    begin, end = plan.times[0], plan.times[-1]
    if not recorded:
        spacing = plan.settings.step or (end - begin) / DEFAULT_GAUGE_INSTANTS
        count = max(1, math.ceil((end - begin) / spacing - 1e-9)) if plan.settings.fixed else DEFAULT_GAUGE_INSTANTS
        plan = replace(plan, times=np.append(begin + spacing * np.arange(count), end))
    return replace(plan, measures=measures, keep=bool(keep), within=float(within))


def _first_and_all_laws(torque: Any) -> tuple[Any, Sequence[Law]]:
    """Return the law of the first rollout, and the laws of all rollouts if `torque` is a list of laws."""
    if isinstance(torque, (list, tuple)) and torque and all(isinstance(law, Law) for law in torque):
        return torque[0], torque
    return torque, ()


def _terminal_events(events: Sequence[RobotEvent | PythonEvent]) -> tuple[RobotEvent, ...]:
    """Return the events if all are compiled and end a rollout; otherwise raise an InputError."""
    terminal = tuple(event for event in events if isinstance(event, RobotEvent) and int(event.terminal) == 1)
    for event in events:
        if event not in terminal:
            raise InputError(
                f"event {event.name!r} cannot be compiled: simulate_batch takes events of armwright.events that end a "
                "rollout at their first occurrence (terminal=True); use simulate for others"
            )
    return terminal


def _with_laws(plan: Plan, laws: Sequence[Law], stops: Stops | bool | None, equal_durations: bool) -> Plan:
    """Return the plan with one law per rollout, all of one structure; `equal_durations` requires equal lengths."""
    begin, end, offsets = float(plan.times[0]), float(plan.times[-1]), plan.start_offsets
    if len(offsets) not in (1, len(laws)):
        raise InputError(f"start has {len(offsets)} rollouts, and there are {len(laws)} laws; expected equal numbers")
    lengths = [law_duration(law, begin) for law in laws] if equal_durations else [0.0]
    if max(lengths) - min(lengths) > 1e-9:
        raise InputError(
            f"duration is missing: the laws last from {min(lengths):g} to {max(lengths):g} s; give duration=, and "
            "let shorter motions rest at their ends with .holding()"
        )
    for law, offset in zip(laws, np.broadcast_to(offsets, len(laws)).tolist(), strict=True):
        check_span(law_for(law, plan.robot), begin + offset, end + offset)
    return replace(plan, laws=tuple(law_with_stops(law_for(law, plan.robot), plan.robot, stops) for law in laws))


def _check_target(target: Any, dtype: Any, threads: Any) -> None:
    """Raise an InputError if the target does not support this dtype or number of threads."""
    if dtype not in (dtypes := backend(target).dtypes):
        raise unknown("dtype", dtype, dtypes)
    whole_number("threads", threads, 1)
    if target != HOST_TARGET and threads != 1:
        raise InputError(f"threads = {threads}: only target='cpu' has threads; choose it, or omit threads=")
