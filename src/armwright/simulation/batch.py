"""Many motions at once, in compiled code."""

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
"""Seconds of a fixed step, and the tolerance of chosen ones, by default."""

DEFAULT_CHECKS = 100
"""The number of instants at which gauges are evaluated where steps are chosen, by default."""


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
    """Return many motions, simulated together in compiled code.

    q0, qd0     (rollouts, nq) and (rollouts, n), or one row for all; by default where the law's trajectory starts,
                else neutral and at rest
    torque      as in `simulate`; or (rollouts, n) numbers, a law whose gains, targets or limits are (rollouts, joints),
                or a list of laws of one structure with different numbers or motions, one for each rollout
    integrator  a fixed-step method with `step` (rk4, 0.001 s, by default) or an embedded pair with rtol (1e-6) and atol
    max_step    the longest step that may be chosen
    every       seconds between records; by default only start and end are kept, so memory does not grow with time
    vary        robot parameters that differ: {"payload.mass": (rollouts,), ...}; the model of the law ignores them
    start       seconds at which rollouts begin, or (rollouts,): then a law gets the time of its rollout, and t of the
                result is (rollouts, k)
    smooth      the speed within which dry friction of the robot is rounded off, as in `simulate`
    events      of `armwright.events`: a rollout ends with the first that happens (`ended`, `reached`)
    stops       at the limits of the joints, as in `simulate`
    measure     names of measures, found without records: "peak_torque", "energy", "tracking_error", ... are then in
                `measured`, (rollouts, n) each. They use the instants `every` so many seconds, by default the end of
                every given step, or a hundred instants if steps are chosen
    within      the distance, rad or m, within which a joint has settled
    keep        True to keep the states at the records; by default if `every` is given and nothing is measured
    target      "cpu"; "cuda" for a card, with code for this robot alone (docs/gpu.md); "python" for the interpreter,
                which defines what the others compute
    rollouts    their number, where no array has it: q0, qd0 and vary may be random, by `aw.draws(seed).uniform(low,
                high)` or `.normal(mean, std)`. The numbers of rollout i depend on seed, name and i alone. A list of
                such i selects rollouts: [503] is that one of a thousand

    Ctrl-C raises `errors.Interrupted`, a KeyboardInterrupt. Its `result` has the rollouts so far: `finished` says which
    are complete, `reached` when the others stopped; later records are nan.
    """
    if integrator in INTEGRATORS and step is None:
        adaptive = is_adaptive(integrator)
        step, rtol = (None, BATCH_RTOL if rtol is None else rtol) if adaptive else (DEFAULT_STEP, rtol)
    first, laws = _laws(torque)
    chosen = settings(integrator, rtol, atol, step, max_step)
    planned = plan(robot, first, chosen, duration, every, start, smooth, stops, True, bool(laws))
    planned = _with_measures(planned, measure, within, keep, every is not None)
    if integrator not in INTEGRATORS:
        raise InputError(f"{integrator} is not compiled; simulate_batch takes {', '.join(INTEGRATORS)}")
    if not planned.compilable:
        raise InputError(
            "simulate_batch compiles the law with the dynamics: it takes the laws of armwright.torque (with at most 32 "
            f"pieces) and robots of up to {max_unrolled_joints()} joints; use simulate for anything else"
        )
    if laws:
        planned = _with_laws(planned, laws, duration is None, stops)
    _check_target(target, dtype, threads)
    begin = start_columns(planned, q0, qd0)
    planned = replace(planned, events=with_start_tolerance(_final_events(events_on(robot, events)), begin[0][0]))
    names, values = varied_parameters(vary, random=True)
    states, parameters = batch_columns(planned, begin, values, planned.code(names, target).numbers, rollouts)
    batch = Batch(planned, names, states, parameters, dtype, target)
    found, seconds, message = batch.integrated(threads, progress)
    run = batch.run_of(found, seconds, message)
    if message:
        done = f"{int(run.finished.sum())} of {len(states)} rollouts are finished"
        raise Interrupted(f"{message}: {done}; .result of this error has them, and its .finished says which", run)
    return run


def _with_measures(plan: Plan, names: Any, within: Any, keep: Any, recorded: bool) -> Plan:
    """Return the plan with measures; without `every` their instants are the ends of the given steps."""
    measures = checked_measures(names, plan.law)
    check_seconds("within", within)
    if keep not in (None, True, False) or (keep is False and not measures):
        raise InputError(f"keep = {keep!r}: expected True or False, and False only where something is measured")
    if not measures:
        return plan
    begin, end = plan.times[0], plan.times[-1]
    if not recorded:
        gap = plan.settings.step or (end - begin) / DEFAULT_CHECKS
        count = max(1, math.ceil((end - begin) / gap - 1e-9)) if plan.settings.fixed else DEFAULT_CHECKS
        plan = replace(plan, times=np.append(begin + gap * np.arange(count), end))
    return replace(plan, measures=measures, keep=bool(keep), within=float(within))


def _laws(torque: Any) -> tuple[Any, Sequence[Law]]:
    """Return the law of the first rollout, and the laws of all if there is a list of them."""
    if isinstance(torque, (list, tuple)) and torque and all(isinstance(law, Law) for law in torque):
        return torque[0], torque
    return torque, ()


def _final_events(events: Sequence[RobotEvent | PythonEvent]) -> tuple[RobotEvent, ...]:
    """Return compiled events that end a rollout; raise an InputError for another one."""
    final = tuple(event for event in events if isinstance(event, RobotEvent) and int(event.terminal) == 1)
    for event in events:
        if event not in final:
            raise InputError(
                f"event {event.name!r} cannot be compiled: simulate_batch takes events of armwright.events that end a "
                "rollout when they happen first (terminal=True); use simulate for others"
            )
    return final


def _with_laws(plan: Plan, laws: Sequence[Law], to_their_ends: bool, stops: Stops | bool | None) -> Plan:
    """Return the plan for one law per rollout, all of one structure; those that run to their ends last equally long."""
    begin, end, offsets = float(plan.times[0]), float(plan.times[-1]), plan.start_offsets
    if len(offsets) not in (1, len(laws)):
        raise InputError(f"start is for {len(offsets)} rollouts, and there are {len(laws)} laws; expected equal")
    lengths = [law_duration(law, begin) for law in laws] if to_their_ends else [0.0]
    if max(lengths) - min(lengths) > 1e-9:
        raise InputError(
            f"duration is missing: the laws last from {min(lengths):g} to {max(lengths):g} s; expected duration=, and "
            "motions that hold their ends (.holding()) where they are shorter"
        )
    for law, offset in zip(laws, np.broadcast_to(offsets, len(laws)).tolist(), strict=True):
        check_span(law_for(law, plan.robot), begin + offset, end + offset)
    return replace(plan, laws=tuple(law_with_stops(law_for(law, plan.robot), plan.robot, stops) for law in laws))


def _check_target(target: Any, dtype: Any, threads: Any) -> None:
    """Raise an InputError for a dtype or threads that a target does not have."""
    if dtype not in (dtypes := backend(target).dtypes):
        raise unknown("dtype", dtype, dtypes)
    whole_number("threads", threads, 1)
    if target != HOST_TARGET and threads != 1:
        raise InputError(f"threads = {threads} are those of a CPU; expected target='cpu', or leave threads= out")
