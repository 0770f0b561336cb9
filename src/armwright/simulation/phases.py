"""Motions in phases, between which the payload of the robot changes.

run = simulate_phases([Phase(arm, reach), Phase(arm.with_payload(2.0), carry), Phase(arm, back)])

Each phase begins where the one before ended, at its velocities: what is gripped moves as the tool does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError, SimulationError
from armwright.progress import tracked
from armwright.robot import Robot
from armwright.simulation.events import Event, RobotEvent, events_on
from armwright.simulation.integration_settings import refined, settings
from armwright.simulation.joined_runs import shifted
from armwright.simulation.plan import SMOOTHING_SPEED, with_smooth_friction
from armwright.simulation.run import Run
from armwright.simulation.simulate import simulate
from armwright.simulation.stiff_friction import EXPLICIT, IMPLICIT, method_for


@dataclass(frozen=True)
class Phase:
    """A robot, perhaps with another payload, driven by a law for a duration or `until` events happen.

    Time and memory of the law start at zero with the phase. The default duration is that of the trajectory or table of
    the law.
    """

    robot: Robot
    torque: Any = None
    duration: float | None = None
    until: Any = ()
    name: str = ""

    @property
    def ends(self) -> tuple[Any, ...]:
        return _listed(self.until)


def simulate_phases(
    phases: Sequence[Phase],
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    events: Sequence[Any] = (),
    every: float = 0.01,
    **options: Any,
) -> Run:
    """Return the motion of a robot in phases as one run, whose `phases` are the runs of the phases.

    phases      `Phase`s of robots that may differ in payload, gravity and friction, but not in joints; an event of
                `until` ends a phase early, and the next one begins
    q0, qd0     the start of the first phase, as in `simulate`
    events      as in `simulate`, in all phases: a terminal one ends the run, `terminal=3` at its third occurrence; t
                is the time since the phase began, as for laws
    every       seconds between records; there is one at the end of every phase, and one at the start of the next
    options     integrator, rtol, atol, step, max_step, smooth, stops and progress, as in `simulate`

    The audit covers all phases; the energy of payloads that are taken up or put down does not count as missing.
    """
    _check(phases, _listed(events), options)
    options = {**options, **_default_integrator(phases, q0, options)}
    runs: list[Run] = []
    begin: tuple[Any, Any] = (q0, qd0)
    for k, phase in tracked(enumerate(phases)):
        try:
            run = simulate(
                phase.robot, phase.torque, *begin, phase.duration,
                events=(*phase.ends, *_remaining(phase.robot, _listed(events), runs)), every=every, **options,
            )  # fmt: skip
        except SimulationError as error:
            raise _phase_error(error, runs, phase, k) from None
        except InputError as error:
            raise InputError(f"{_name(phase, k)}: {error}") from None
        runs.append(_run_of_phase(run, runs, phase, k))
        if run.message or not _ending_events(run) <= _names(phase.robot, phase.ends):
            break
        begin = (run.q[-1], run.qd[-1])
    repeatable = RepeatablePhases(tuple(phases), runs[0].q[0], runs[0].qd[0], _listed(events), every, options)
    return replace(Run.joined(runs), repeatable=repeatable)


def _default_integrator(phases: Sequence[Phase], q0: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the default integrator of all phases, if it is implicit because a joint may stick in one of them."""
    if options.get("integrator") is not None or options.get("step") is not None:
        return {}
    durations = [phase.duration for phase in phases]
    longest = max((float(x) for x in durations if isinstance(x, (int, float))), default=1.0)
    for phase in phases:
        robot = with_smooth_friction(phase.robot, options.get("smooth", SMOOTHING_SPEED))
        q = robot.neutral if np.shape(q0) != (robot.nq,) else np.asarray(q0, float)
        if method_for(robot, q, longest) != EXPLICIT:
            return {"integrator": IMPLICIT}
    return {}


@dataclass(frozen=True, eq=False)
class RepeatablePhases:
    """A simulation in phases that can be repeated."""

    phases: tuple[Phase, ...]
    q0: Array
    qd0: Array
    events: tuple[Any, ...]
    every: float
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self, factor: float) -> Run:
        names = ("integrator", "rtol", "atol", "step", "max_step")
        given = {key: x for key, x in self.options.items() if key in names and x is not None}
        finer = refined(settings(**{"integrator": EXPLICIT, **given}), factor, self.every)
        options = {**{key: x for key, x in self.options.items() if key not in given}, **finer.options}
        return simulate_phases(self.phases, self.q0, self.qd0, self.events, self.every, **options)

    def neighbour_distance(self, run: Run) -> Array:
        """Return the distance of the neighbour of each phase."""
        return np.concatenate([np.full(len(x.t), np.nan) if x.neighbour is None else x.neighbour for x in run.phases])


def _phase_error(error: SimulationError, before: Sequence[Run], phase: Phase, k: int) -> SimulationError:
    """Return the error of one phase with the time and the records of the joined run."""
    runs = [*before]
    if isinstance(error.run, Run) and len(error.run.t):
        runs.append(_run_of_phase(error.run, before, phase, k))
    start = float(before[-1].t[-1]) if before else 0.0
    begin = f", which began at t = {start:g} s" if before else ""
    message = f"{_name(phase, k)}{begin}: {error}"
    run = replace(Run.joined(runs), message=message) if runs else error.run
    return SimulationError(message, run, error.t + start)


def _run_of_phase(run: Run, before: Sequence[Run], phase: Phase, k: int) -> Run:
    """Return the run of a phase with its name, at a time after the runs before it."""
    named = replace(run, settings={**run.settings, "phase": _name(phase, k)})
    return shifted(named, float(before[-1].t[-1])) if before else named


def _check(phases: Any, events: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    if not isinstance(phases, (list, tuple)) or not phases or not all(isinstance(phase, Phase) for phase in phases):
        raise InputError(
            f"phases = {phases!r}: expected a list of armwright.Phase(robot, torque, duration), at least one"
        )
    for phase in phases:
        if not isinstance(phase.robot, Robot):
            raise InputError(f"a phase has the robot {phase.robot!r}; expected one such as armwright.load('puma560')")
    first = phases[0].robot
    for k, phase in enumerate(phases):
        if [(joint.name, joint.type) for joint in phase.robot.joints] != [(x.name, x.type) for x in first.joints]:
            raise InputError(
                f"{_name(phase, k)} is of {phase.robot.name}, whose joints are not those of {first.name} before; "
                "expected the same robot, with another payload for example"
            )
        if passing := [event for event in events_on(phase.robot, phase.ends) if not event.terminal]:
            raise InputError(
                f"until = {passing[0].name!r} of {_name(phase, k)} is not terminal; expected terminal=True"
            )
        if both := sorted(_names(phase.robot, phase.ends) & _names(phase.robot, events)):
            raise InputError(
                f"the event {both[0]!r} ends {_name(phase, k)} (until=) and the whole run (events=); leave one of them "
                "out, or give them names that differ (name=)"
            )
    if "start" in options:
        raise InputError(f"start = {options['start']!r}: the clock of every phase starts at 0; leave start= out")


def _remaining(robot: Robot, events: tuple[Any, ...], runs: Sequence[Run]) -> list[Any]:
    """Return the events of the whole run with the numbers of occurrences that remain until each ends it."""
    remaining = []
    for event in events:
        times = int(event.terminal) if hasattr(event, "terminal") else 0
        if times > 1:
            names = _names(robot, [event])
            rest = times - sum(1 for run in runs for one in run.events if one.name in names)
            remaining.append(event.after(rest) if isinstance(event, Event) else replace(event, terminal=rest))
        else:
            remaining.append(event)
    return remaining


def _listed(events: Any) -> tuple[Any, ...]:
    return tuple(events) if isinstance(events, Sequence) and not isinstance(events, str) else (events,)


def _name(phase: Phase, k: int) -> str:
    return phase.name or f"phase {k + 1}"


def _names(robot: Robot, events: Sequence[Any]) -> set[str]:
    """Return the names under which a run records these events."""
    return {event.name if isinstance(event, RobotEvent) else event.title for event in events_on(robot, events)}


def _ending_events(run: Run) -> set[str]:
    """Return the names of the events that ended a run; there may be several."""
    return {event.name for event in run.events if event.t == run.t[-1] and event.name in run.ended_by}
