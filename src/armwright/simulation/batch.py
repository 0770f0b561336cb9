"""Many motions at once, compiled whole."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import numbers, whole_number
from armwright.backends.interface import ROLLOUT_SCALARS, Rollout, backend
from armwright.draws import Draw, DrawnColumn, RolloutIndices
from armwright.errors import InputError, Interrupted, SimulationWarning, unknown
from armwright.integrate import INTEGRATORS
from armwright.integrate import Event as PythonEvent
from armwright.integrate.integrators import is_adaptive
from armwright.model.code_sharing import SharedCode
from armwright.model.robot_parameters import parameter_sizes
from armwright.robot import Robot
from armwright.simulation.events import Event, RobotEvent, events_on, started
from armwright.simulation.gauges import LAST_FINITE
from armwright.simulation.kernels import TARGET, rollout_of, view_of
from armwright.simulation.measures import DEFAULT_WITHIN, MEASURES, GaugeTotals, checked_measures, displacements
from armwright.simulation.motion_programs import Observables
from armwright.simulation.observables import evaluated
from armwright.simulation.plan import (
    SMOOTHING_SPEED,
    Plan,
    check_seconds,
    check_span,
    law_duration,
    plan,
    settings,
    start_state,
    stopped,
)
from armwright.simulation.rollout_columns import Column, RolloutColumns
from armwright.simulation.rollouts import RolloutResults, Rollouts
from armwright.simulation.run import BatchRun
from armwright.torque import Law, Stops
from armwright.torque.conversion import law_for
from armwright.trace.evaluation_strategy import max_unrolled_joints

DEFAULT_STEP, BATCH_RTOL = 1e-3, 1e-6
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
    smooth: float = SMOOTHING_SPEED,
    max_step: float | None = None,
    events: Sequence[Event] = (),
    stops: Stops | bool | None = None,
    measure: str | Sequence[str] = (),
    within: float = DEFAULT_WITHIN,
    keep: bool | None = None,
    target: str = TARGET,
    rollouts: int | Sequence[int] | Array | None = None,
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
    target      "cpu"; "cuda" for a card, on which this robot's own code is compiled (docs/gpu.md), whatever of it does
                not vary folded in; "python" for the interpreter, which defines what the others compute
    rollouts    how many, where no array says so: q0, qd0 and vary may be drawn, by `aw.draws(seed).uniform(low, high)`
                or `.normal(mean, std)`, where rollout i has its numbers of seed, name and i alone; or which, a list of
                such i: [503] is that one of a thousand, alone

    Ctrl-C raises `errors.Interrupted`, a KeyboardInterrupt whose `result` has what there is of the rollouts: `finished`
    says which came to their end, `reached` where the others are, and records they did not come to are nan.
    """
    if integrator in INTEGRATORS and step is None:
        adaptive = is_adaptive(integrator)
        step, rtol = (None, BATCH_RTOL if rtol is None else rtol) if adaptive else (DEFAULT_STEP, rtol)
    first, laws = _laws(torque)
    how = settings(integrator, rtol, atol, step, max_step)
    planned = plan(robot, first, how, duration, every, start, smooth, stops, True, bool(laws))
    planned = _measuring(planned, measure, within, keep, every is not None)
    if integrator not in INTEGRATORS:
        raise InputError(f"{integrator} is not compiled; simulate_batch takes {', '.join(INTEGRATORS)}")
    if not planned.traced:
        raise InputError(
            "simulate_batch compiles the law with the dynamics: it takes the laws of armwright.torque (with at most 32 "
            f"pieces) and robots of up to {max_unrolled_joints()} joints; use simulate for anything else"
        )
    if laws:
        planned = _together(planned, laws, duration is None, stops)
    _check_target(target, dtype, threads)
    begin = _start(planned, q0, qd0)
    planned = replace(planned, events=started(_ending(events_on(robot, events)), begin[0][0]))
    names, values = parameters(vary, drawn=True)
    shared = planned.family(names) if target == TARGET else SharedCode(planned.robot)
    y, p = _batch(planned, begin, values, shared, rollouts)
    kernel = rollout_of(
        shared.robot, planned.numbers.structure, names, integrator, planned.how.step is not None, dtype, target,
        shared.names, **planned.watching,
    ).with_per_rollout(p.per_rollout)  # fmt: skip
    found, seconds, message = _travelled(planned, kernel, y, p, threads, progress)
    look = partial(_viewed, planned, found, p, names, shared, kernel.dtype, target)
    run = _batch_run(planned, found, look, seconds, message)
    if message:
        done = f"{int(run.finished.sum())} of {len(y)} rollouts are finished"
        raise Interrupted(f"{message}: {done}; .result of this error has them, and its .finished says which", run)
    return run


DEFAULT_CHECKS = 100
"""How often is looked at what is measured where steps are chosen, if nothing is said."""


def _measuring(plan: Plan, names: Any, within: Any, keep: Any, recorded: bool) -> Plan:
    """The plan with what is measured; without `every` that is looked at after every given step."""
    measured = checked_measures(names, plan.law)
    check_seconds("within", within)
    if keep not in (None, True, False) or (keep is False and not measured):
        raise InputError(f"keep = {keep!r}: expected True or False, and False only where something is measured")
    if not measured:
        return plan
    begin, end = plan.times[0], plan.times[-1]
    if not recorded:
        count = max(1, math.ceil((end - begin) / plan.how.step - 1e-9)) if plan.how.step is not None else DEFAULT_CHECKS
        times = np.append(begin + (plan.how.step or (end - begin) / DEFAULT_CHECKS) * np.arange(count), end)
        plan = replace(plan, times=times)
    return replace(plan, measured=measured, keep=bool(keep), within=float(within))


def _laws(torque: Any) -> tuple[Any, Sequence[Law]]:
    """What drives the first rollout, and the laws of all if each has its own."""
    if isinstance(torque, (list, tuple)) and torque and all(isinstance(law, Law) for law in torque):
        return torque[0], torque
    return torque, ()


def _ending(events: Sequence[RobotEvent | PythonEvent]) -> tuple[RobotEvent, ...]:
    """Events that are compiled, or an error that says which is not."""
    ending = tuple(event for event in events if isinstance(event, RobotEvent) and int(event.terminal) == 1)
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
    lengths = [law_duration(law, begin) for law in laws] if whole else [0.0]
    if max(lengths) - min(lengths) > 1e-9:
        raise InputError(
            f"duration is missing: the laws last from {min(lengths):g} to {max(lengths):g} s; expected duration=, and "
            "motions that hold their ends (.holding()) where they are shorter"
        )
    for law, wait in zip(laws, np.broadcast_to(late, len(laws)).tolist(), strict=True):
        check_span(law_for(law, plan.robot), begin + wait, end + wait)
    return replace(plan, each=tuple(stopped(law_for(law, plan.robot), plan.robot, stops) for law in laws))


Start: TypeAlias = "tuple[Array, Draw | None]"
"""Numbers (rollouts, entries) or (entries,), and what is drawn in their place."""


def _start(plan: Plan, q0: Any, qd0: Any) -> tuple[Start, Start]:
    """Positions and velocities to begin with; those that are drawn must be numbers without conditions."""
    drawn = [x if isinstance(x, Draw) else None for x in (q0, qd0)]
    if drawn[0] is not None and (plan.robot.balls or plan.robot.loops):
        raise InputError("q0 is drawn, and this robot has quaternions or loops; expected an array of positions")
    q, qd = start_state(plan, None if drawn[0] else q0, None if drawn[1] else qd0, many=True)
    return (q, drawn[0]), (qd, drawn[1])


def _check_target(target: Any, dtype: Any, threads: Any) -> None:
    if dtype not in (dtypes := backend(target).dtypes):
        raise unknown("dtype", dtype, dtypes)
    whole_number("threads", threads, 1)
    if target != TARGET and threads != 1:
        raise InputError(f"threads = {threads} are those of a CPU; expected target='cpu', or leave threads= out")


def parameters(vary: Any, drawn: bool = False) -> tuple[tuple[str, ...], dict[str, Array | Draw]]:
    """The open parameters as arrays of numbers, or, where they may be `drawn`, to be so."""
    if vary is not None and not isinstance(vary, Mapping):
        raise InputError(f"vary = {vary!r}: expected a mapping, such as {{'payload.mass': masses}}")
    values: dict[str, Array | Draw] = {}
    for name, value in (vary or {}).items():
        if drawn and isinstance(value, Draw):
            if str(name).endswith(".mass") and value.least < 0:
                raise InputError(f"vary[{name!r}] may be drawn below zero; expected a uniform draw from zero or more")
            values[name] = value
            continue
        given = numbers(f"vary[{name!r}]", value, "expected one number per rollout")
        if not given.size:
            raise InputError(f"vary[{name!r}] = {value!r}: expected one number per rollout")
        if not np.isfinite(given).all() or (str(name).endswith(".mass") and (given < 0).any()):
            raise InputError(f"vary[{name!r}] has a number that is not finite, or a negative mass")
        values[name] = given.astype(float)
    return tuple(values), values


def _batch(
    plan: Plan, begin: tuple[Start, Start], values: Mapping[str, Array | Draw], shared: SharedCode, wanted: Any
) -> tuple[RolloutColumns, RolloutColumns]:
    """States and open parameters to begin with."""
    given = dict(zip(("q0", "qd0"), begin, strict=True))
    for name, size in parameter_sizes(plan.robot, tuple(values)).items():
        given[f"vary[{name!r}]"] = _row(name, values[name], size)
    law, watched, gauged = plan.numbers, plan.watched, plan.gauged
    counts = {name: len(array) for name, (array, _) in given.items() if array.ndim == 2}
    told = {"the torque law": law.rollouts, "an event": watched.rollouts, "the motions": gauged.rollouts}
    counts |= {name: many for name, many in told.items() if many is not None}
    if len(plan.late) > 1:
        counts["start"] = len(plan.late)
    which = _which(wanted)
    if wanted is not None:
        counts["rollouts="] = which if isinstance(which, int) else len(which)
    many = max(counts.values(), default=1)
    for name, count in counts.items():
        if count not in (1, many) or (name == "rollouts=" and count != many):
            raise InputError(f"{name} is for {count} rollouts, others are for {many}; expected equal, or one for all")
    drawn = law.random or any(draw is not None for _, draw in given.values())
    if wanted is None and not counts and drawn:
        raise InputError("numbers are drawn, and nothing says for how many rollouts; expected rollouts=")
    q, qd, *rows = (_columns(name, *one) for name, one in given.items())
    memory = tuple(map(float, plan.law.start(plan.robot.n)))
    carried = (0.0,) * sum(size for _, size in plan.layout.carried)
    opened = [*law.numbers, *watched.numbers, *gauged.numbers]
    known = (*shared.numbers, *(x if isinstance(x, (np.ndarray, DrawnColumn)) else float(x) for x in opened))
    p = (*(x for row in rows for x in row), *known)
    some = which if isinstance(which, np.ndarray) else 0
    return RolloutColumns((*q, *qd, *memory, *carried), many, some), RolloutColumns(_whole(p, many), many, some)


def _which(rollouts: Any) -> RolloutIndices:
    """How many rollouts, or the numbers of some."""
    if rollouts is None:
        return 1
    if np.ndim(rollouts) == 0:
        return whole_number("rollouts", rollouts, 1)
    which = numbers("rollouts", rollouts, "expected how many, or a list of their numbers")
    if which.ndim != 1 or not which.size or which.dtype.kind not in "iu" or which.min() < 0:
        raise InputError(f"rollouts = {rollouts!r}: expected how many, or a list of their numbers, from zero on")
    return which.astype(np.int64)


def _row(name: str, value: Array | Draw, size: int) -> Start:
    """What varies, as numbers (rollouts, size) or (size,), or to be drawn."""
    if isinstance(value, Draw):
        return np.zeros(size), value
    row = value[..., None] if size == 1 and (value.ndim < 2 or value.shape[-1] != 1) else value
    if row.ndim not in (1, 2) or row.shape[-1] != size:
        raise InputError(
            f"vary[{name!r}] has shape {value.shape}; expected (rollouts,{f' {size}' if size > 1 else ''})"
        )
    return row, None


def _columns(name: str, array: Array, drawn: Draw | None) -> tuple[Column, ...]:
    """Entries of a state or of what varies, those that are the same for all rollouts as one number each."""
    if drawn is not None:
        return drawn.columns(name, array.shape[-1])
    return tuple(array.tolist()) if array.ndim == 1 else tuple(array.T) if len(array) > 1 else tuple(array[0].tolist())


def _whole(columns: Sequence[Column], many: int) -> tuple[Column, ...]:
    """Columns of which those of one number are that number."""
    return tuple(float(x[0]) if isinstance(x, np.ndarray) and len(x) == 1 < many else x for x in columns)


def _travelled(
    plan: Plan, kernel: Rollout, y: RolloutColumns, p: RolloutColumns, threads: int, progress: bool | None
) -> tuple[RolloutResults, float, str]:
    """All rollouts at their ends, in as many parts as there is memory for; how long it took, and why it stopped."""
    records = len(plan.times) + (len(plan.ends) > len(plan.times)) if plan.keep else 2
    totals = len(plan.request.initial_totals(plan.robot.n))
    numbers = len(y.columns) * (1 + records) + len(p.columns) + len(ROLLOUT_SCALARS) + totals
    many, parts, seconds, message = len(y), list[RolloutResults](), 0.0, ""
    size = -(-many // -(-many // max(1, kernel.max_rollouts(numbers))))
    for begin in range(0, many, size):
        end = min(begin + size, many)
        part = plan if len(plan.late) == 1 else replace(plan, late=plan.late[begin:end])
        rollouts = Rollouts(part, kernel, y.part(begin, end), p.part(begin, end))
        rollouts.stop[0] = bool(message)
        took, stopped = rollouts.travel(threads, progress, stacklevel=4, part=(begin / many, end / many))
        seconds, message = seconds + took, message or stopped
        parts.append(rollouts.found)
        del rollouts
    return RolloutResults.joined(parts), seconds, message


def _batch_run(
    plan: Plan, found: RolloutResults, look: Callable[[], Observables], seconds: float, message: str
) -> BatchRun:
    failed, last, ended, gone = found.broken, found.last, found.ended, found.gone
    reached = plan.times[last]
    reached[ended] = gone[ended]
    if failed.any():
        reached[failed] = np.minimum(gone[failed], _last_finite(plan, found, failed))
    if failed.any() and not message:
        message = (
            f"{int(failed.sum())} of {len(last)} rollouts could not go on, the first is number {int(np.argmax(failed))}"
        )
        warnings.warn(f"{message}; see .failed and .reached", SimulationWarning, stacklevel=3)
    return BatchRun(
        robot=plan.robot,
        t=found.times if len(plan.late) == 1 else found.times + plan.late[:, None],
        **plan.layout.split(found.states),
        reached=reached + plan.late,
        failed=failed,
        finished=ended | ~failed & (last == len(plan.times) - 1),
        accepted=found.steps,
        rejected=found.rejected,
        seconds=seconds,
        steps_per_second=int(found.steps.sum()) / max(seconds, 1e-12),
        look=look,
        message=message,
        ended=np.where(ended, found.event - 1, -1),
        events=tuple(event.name for event in plan.events),
        measured=_measured(plan, found, reached, ended | ~failed),
        stops=plan.request.hits(plan.robot.n, found.totals),
    )


def _last_finite(plan: Plan, found: RolloutResults, which: Array) -> Array:
    """When some rollouts were seen last where all their numbers were finite."""
    if plan.keep:
        finite = np.isfinite(found.states[which]).all(axis=2)
        last: Array = found.times[np.maximum(finite.sum(axis=1) - 1, 0)]
        return last
    finite = plan.request.split(plan.robot.n, found.totals)[LAST_FINITE][:, 0]
    seen: Array = np.maximum(finite - plan.late, plan.times[0])
    return seen[which]


def _measured(plan: Plan, found: RolloutResults, reached: Array, good: Array) -> dict[str, Array]:
    """Everything that was measured, nan where a rollout could not go on."""
    if not plan.measured:
        return {}
    late = np.broadcast_to(plan.late, len(good))

    def displacement() -> Array:
        return displacements(plan.robot.balls, plan.layout.split(found.states[:, 0])["q"], plan.goal)

    split = plan.request.split(plan.robot.n, found.totals)
    totals = GaugeTotals(split, plan.times - plan.times[0], late + plan.times[0], reached + late, displacement)
    with np.errstate(all="ignore"):
        seen = {name: MEASURES[name].values(totals) for name in plan.measured}
    return seen if good.all() else {name: np.where(good[:, None], x, np.nan) for name, x in seen.items()}


def _viewed(
    plan: Plan,
    found: RolloutResults,
    p: RolloutColumns,
    names: tuple[str, ...],
    shared: SharedCode,
    dtype: Any,
    target: str,
) -> Observables:
    """What there is to see of every rollout at every record."""
    states, n = found.states, plan.robot.n
    times = np.broadcast_to(found.times + plan.late[:, None], states.shape[:2])
    arrays = [times.reshape(-1, 1).astype(dtype), states.reshape(times.size, -1)]
    if names or shared.names or plan.numbers.numbers:
        seen = len(p.columns) - len(plan.watched.numbers) - len(plan.gauged.numbers)
        arrays.append(replace(p, columns=p.columns[:seen]).along(plan.turns, found.times, dtype))
    out = evaluated(view_of(shared.robot, plan.numbers.structure, names, shared.names, dtype.name, target), arrays)
    return Observables.of(out.reshape(*times.shape, -1), n, shared.lifted)
