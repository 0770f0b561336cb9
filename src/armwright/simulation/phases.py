"""Motions in phases, between which the robot changes what it holds.

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

    The clock of its law starts with it, at 0, and so does what the law remembers. By default it
    lasts as long as the trajectory or table of the law.
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
    """The motion of a robot in phases: one run, whose `phases` are those of each.

    phases      what comes one after the other: `Phase`s of robots that differ in payload, gravity or friction, not in
                joints; an event of `until` ends a phase early, and the next one begins
    q0, qd0     where the first one starts, as in `simulate`
    events      as in `simulate`, in all phases: a terminal one ends the whole run, `terminal=3` when it has happened
                three times in all of it; t is the time since the phase began, as for laws
    every       seconds between records; there is one at the end of every phase, and one right after
    options     integrator, rtol, atol, step, max_step, smooth, stops and progress, as in `simulate`

    Its audit is that of all phases: the energy of what is taken up or put down is not counted as missing.
    """
    _check(phases, _listed(events), options)
    options = {**options, **_chosen(phases, q0, options)}
    runs: list[Run] = []
    begin: tuple[Any, Any] = (q0, qd0)
    for k, phase in tracked(enumerate(phases)):
        try:
            run = simulate(
                phase.robot, phase.torque, *begin, phase.duration,
                events=(*phase.ends, *_remaining(phase.robot, _listed(events), runs)), every=every, **options,
            )  # fmt: skip
        except SimulationError as error:
            raise _broken(error, runs, phase, k) from None
        except InputError as error:
            raise InputError(f"{_name(phase, k)}: {error}") from None
        runs.append(_placed(run, runs, phase, k))
        if run.message or not _ending(run) <= _names(phase.robot, phase.ends):
            break
        begin = (run.q[-1], run.qd[-1])
    again = RepeatablePhases(tuple(phases), runs[0].q[0], runs[0].qd[0], _listed(events), every, options)
    return replace(Run.joined(runs), again=again)


def _chosen(phases: Sequence[Phase], q0: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The integrator of all phases, where none is given: an implicit one if a joint may stick in any of them."""
    if options.get("integrator") is not None or options.get("step") is not None:
        return {}
    given = [phase.duration for phase in phases]
    longest = max((float(x) for x in given if isinstance(x, (int, float))), default=1.0)
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
        named = ("integrator", "rtol", "atol", "step", "max_step")
        said = {key: x for key, x in self.options.items() if key in named and x is not None}
        how = refined(settings(**{"integrator": EXPLICIT, **said}), factor, self.every)
        options = {**{key: x for key, x in self.options.items() if key not in said}, **how.options}
        return simulate_phases(self.phases, self.q0, self.qd0, self.events, self.every, **options)

    def neighbour_distance(self, run: Run) -> Array:
        """Return the distance of the neighbour of each phase."""
        return np.concatenate([np.full(len(x.t), np.nan) if x.neighbour is None else x.neighbour for x in run.phases])


def _broken(error: SimulationError, before: Sequence[Run], phase: Phase, k: int) -> SimulationError:
    """Return the error of one phase with the time and the records of the whole run."""
    there = [*before]
    if isinstance(error.run, Run) and len(error.run.t):
        there.append(_placed(error.run, before, phase, k))
    late = float(before[-1].t[-1]) if before else 0.0
    begun = f", which began at t = {late:g} s" if before else ""
    message = f"{_name(phase, k)}{begun}: {error}"
    run = replace(Run.joined(there), message=message) if there else error.run
    return SimulationError(message, run, error.t + late)


def _placed(run: Run, before: Sequence[Run], phase: Phase, k: int) -> Run:
    """A run as one of several: after those before it, and with its name."""
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
        if noted := [event for event in events_on(phase.robot, phase.ends) if not event.terminal]:
            raise InputError(f"until = {noted[0].name!r} of {_name(phase, k)} is only noted; expected terminal=True")
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
            found = sum(1 for run in runs for one in run.events if one.name in names)
            rest = times - found
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


def _ending(run: Run) -> set[str]:
    """The events that have ended a run; two of them may happen at once."""
    return {found.name for found in run.events if found.t == run.t[-1] and found.name in run.ended_by}
