"""Plans: the checked robot, law, times and settings of a simulation, and the record to compile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import numbers
from armwright.errors import InputError
from armwright.layout import Layout
from armwright.lazy import cached_property
from armwright.model.code_sharing import SharedCode, shared_code
from armwright.robot import Robot
from armwright.simulation.compile_cache import compiled_once
from armwright.simulation.events import EventQuantity, RobotEvent
from armwright.simulation.gauges import LAST_FINITE, GaugeRequest
from armwright.simulation.integration_settings import (
    FIRST_STEP,
    IntegrationSettings,
    check_records,
    check_seconds,
    is_number,
)
from armwright.simulation.measures import DEFAULT_WITHIN, MEASURES
from armwright.simulation.motion_record import HOST_TARGET, MotionRecord, layout_of
from armwright.simulation.rollout_columns import RolloutColumns
from armwright.simulation.sample_and_hold import SamplingInstants
from armwright.simulation.stop_hits import stops_in
from armwright.torque import Law, Stops
from armwright.torque import stops as stops_of
from armwright.torque.conversion import law_for
from armwright.torque.law import Reference
from armwright.torque.runtime_parameters import Parameterised, is_built_in, merged_laws, parameterise
from armwright.torque.tracking import with_reference_inputs
from armwright.trace.evaluation_strategy import has_straight_code

MAX_START_TIME = 1e9
"""The largest start time, s."""

SMOOTHING_SPEED = 1e-3
"""The default speed, rad/s or m/s, below which dry friction is smoothed."""


@dataclass(frozen=True)
class Plan:
    """A checked simulation of one rollout, or of many with laws of one structure."""

    robot: Robot
    law: Law
    times: Array
    """The times of the records."""
    settings: IntegrationSettings
    laws: tuple[Law, ...] = ()
    """One law per rollout, if they differ in their numbers; `law` is the first."""
    events: tuple[RobotEvent, ...] = ()
    """The compiled events that end the motion."""
    start_offsets: Array = field(default_factory=lambda: np.zeros(1))
    """Seconds from `times` to the times of each rollout (rollouts,), or of all (1,)."""
    measures: tuple[str, ...] = ()
    keep: bool = True
    """True if all records are kept, False if only the start and the end are."""
    within: float = DEFAULT_WITHIN
    """The distance, rad or m, within which a joint counts as settled."""

    @cached_property
    def layout(self) -> Layout:
        """The parts of the state."""
        return layout_of(self.robot, self.law)

    @property
    def compilable(self) -> bool:
        """True if robot and law can be compiled into one program."""
        return self.law.traceable and has_straight_code(self.robot)

    @property
    def law_with_reference_inputs(self) -> Law | None:
        """The law with its reference motion as inputs, if nothing else prevents compilation; otherwise None."""
        return with_reference_inputs(self.law) if not self.law.traceable and has_straight_code(self.robot) else None

    @cached_property
    def has_stops(self) -> bool:
        """True if the law has stops."""
        return bool(stops_in(self.law))

    @cached_property
    def law_parameters(self) -> Parameterised[Law]:
        """The structure of the compiled law and its runtime parameters."""
        return merged_laws(self.laws) if self.laws else parameterise(self.law_with_reference_inputs or self.law)

    @cached_property
    def event_parameters(self) -> Parameterised[tuple[EventQuantity, ...]]:
        """The structure of the events and their runtime parameters."""
        return parameterise(tuple(event.quantity for event in self.events), "an event")

    @cached_property
    def gauge_parameters(self) -> Parameterised[GaugeRequest]:
        """The structure of the gauges and their runtime parameters.

        Without records an additional gauge finds the last time at which the state was finite.
        """
        gauges = [gauge for name in self.measures for gauge in MEASURES[name].gauges]
        request = GaugeRequest.of([*gauges, *([] if self.keep else [LAST_FINITE])], self.has_stops)
        if request.uses_goal:
            goal = () if self.law.reference is None else self.goal  # else the law itself has the target
            request = replace(request, goal=goal, within=(self.within,))
        return parameterise(request, "a measure")

    @property
    def gauges(self) -> GaugeRequest:
        """The gauges of the measures and of stops."""
        return self.gauge_parameters.structure.template

    @property
    def goal(self) -> tuple[Any, ...]:
        """The final positions of the reference motion, or the target positions: one number or (rollouts,) each."""
        laws = self.laws or (self.law,)
        if self.law.reference is not None:
            rows = reference_states([law.reference for law in laws], self.times[-1] + self.start_offsets)[0]
        elif self.laws:
            rows = np.array([law.positions["target"] for law in laws])
        else:
            return self.law.positions["target"]
        return tuple(rows[0].tolist() if len(rows) == 1 else rows.T)

    def record(self, vary: tuple[str, ...] = (), target: str = HOST_TARGET) -> MotionRecord:
        """Return the record to compile if the robot parameters `vary` differ between rollouts."""
        code = self.code(vary, target)
        directions = tuple(event.direction for event in self.events)
        events = self.event_parameters.structure if self.events else None
        gauges = self.gauge_parameters.structure if self.gauges else None
        return MotionRecord(code.robot, self.law_parameters.structure, vary, code.names, events, directions, gauges)

    def code(self, vary: tuple[str, ...] = (), target: str = HOST_TARGET) -> SharedCode:
        """Return the robot whose code this one shares, and the runtime parameters that make them equal.

        Code for a GPU is not shared. Base and tool stay in the code if events or custom laws may use them.
        """
        if target != HOST_TARGET:
            return SharedCode(self.robot)
        if vary not in self._codes:
            self._codes[vary] = shared_code(self.robot, vary, moved=is_built_in(self.law) and not self.events)
        return self._codes[vary]

    @cached_property
    def _codes(self) -> dict[tuple[str, ...], SharedCode]:
        return {}

    @cached_property
    def dynamics(self) -> MotionRecord:
        """The record without events and gauges."""
        return self.record().dynamics

    @cached_property
    def runtime_parameters(self) -> RolloutColumns:
        """The runtime parameters of robot, law and events for one rollout."""
        return RolloutColumns((*self.code().numbers, *self.law_parameters.single, *self.event_parameters.single), 1)

    @cached_property
    def dynamics_parameters(self) -> Array:
        """The runtime parameters of robot and law at the start (1, numbers)."""
        return self.dynamics_parameters_at(self.times[:1])

    def dynamics_parameters_at(self, times: Array) -> Array:
        """Return the runtime parameters of robot and law at times, for the first rollout (times, numbers)."""
        count = len(self.runtime_parameters.columns) - len(self.event_parameters.numbers)
        columns = self.runtime_parameters.columns[:count]
        return replace(self.runtime_parameters, columns=columns).values_at(self.sampling, times, np.dtype(float))

    @cached_property
    def sampling(self) -> SamplingInstants:
        """The instants at which random numbers are drawn."""
        holds = sorted({drawn.hold for drawn in self.law_parameters.random if drawn.hold})
        return SamplingInstants(float(self.times[0]), float(self.times[-1]), self.start_offsets, tuple(holds))

    @cached_property
    def step_ends(self) -> Array:
        """The times at which steps must end: records and sampling instants."""
        return self.sampling.merged_with(self.times)

    @property
    def first_step(self) -> float:
        """The first adaptive step, s."""
        return float(min(FIRST_STEP, (self.times[-1] - self.times[0]) / 10, self.settings.longest_step))

    @property
    def substeps(self) -> Array:
        """The number of equal steps between two `step_ends`, none longer than `step`; one if steps are adaptive."""
        counts = np.ceil(np.diff(self.step_ends) / (self.settings.step or np.inf) - 1e-9)
        return np.maximum(1, counts).astype(np.int64)

    @property
    def fixed_step_ends(self) -> Array:
        """The end times of all fixed steps."""
        gaps = zip(self.step_ends[:-1], self.step_ends[1:], self.substeps, strict=True)
        ends = [[*(a + np.arange(1, k) * ((b - a) / k)), b] for a, b, k in gaps]
        return np.array([t for part in ends for t in part])

    @property
    def run_settings(self) -> dict[str, Any]:
        """The settings that a run records."""
        smooth = max((joint.smooth for joint in self.robot.rows if joint.coulomb), default=0.0)
        optional = {**({"smooth": smooth} if smooth else {}), **({"stops": True} if self.has_stops else {})}
        return {**self.settings.options, **optional, "law": repr(self.law)}


def with_smooth_friction(robot: Robot, smooth: float = SMOOTHING_SPEED) -> Robot:
    """Return the robot with dry friction that is continuous at rest, as integrators need it.

    Joints with a `smooth` speed keep it.
    """
    if isinstance(smooth, bool) or not isinstance(smooth, Real) or not 0 <= smooth < math.inf:
        raise InputError(f"smooth = {smooth!r}: expected a speed, rad/s or m/s, or zero for discontinuous friction")
    if not smooth or not any(joint.coulomb and not joint.smooth for joint in robot.rows):
        return robot
    return _smoothed(robot, float(smooth))


@compiled_once
def _smoothed(robot: Robot, smooth: float) -> Robot:
    """Return the robot with smooth friction; equal robots give the same object, which is traced once."""
    return robot.map_joints(lambda joint: replace(joint, smooth=joint.smooth or smooth))


def plan(
    robot: Robot,
    torque: Any,
    settings: IntegrationSettings,
    duration: float | None = None,
    every: float | None = None,
    start: ArrayLike = 0.0,
    smooth: float = SMOOTHING_SPEED,
    stops: Any = None,
    batch: bool = False,
    law_of_first: bool = False,
) -> Plan:
    """Return a checked plan; `every` is None to record only start and end.

    In a `batch` each rollout may have its own start, from which its times count. The law is that of all rollouts, or of
    the first alone (`law_of_first`).
    """
    if not isinstance(robot, Robot):
        raise InputError(f"simulate got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    robot = with_smooth_friction(robot, smooth)
    law = law_with_stops(law_for(torque, robot), robot, stops)
    begin, offsets = _start_times(start, batch)
    starts = begin + (offsets[:1] if law_of_first else offsets)
    seconds = law_duration(law, float(starts.max())) if duration is None else duration
    for name, value in (("duration", seconds), ("every", every)):
        check_seconds(name, value)
    check_span(law, float(starts.min()), float(starts.max()) + seconds)
    check_records(seconds, every, settings.step)
    count = 1 if every is None else max(1, math.ceil(seconds / every - 1e-9))
    times = begin + (every or seconds) * np.arange(count + 1)
    times[-1] = begin + seconds
    return Plan(robot, law, times, settings, start_offsets=offsets)


def _start_times(start: Any, batch: bool) -> tuple[float, Array]:
    """Return the first of the times, and the start offsets of the rollouts."""
    if is_number(start) and abs(start) <= MAX_START_TIME:
        return float(start), np.zeros(1)
    expected = f"expected seconds, at most {MAX_START_TIME:g}{', or one number for each rollout' if batch else ''}"
    offsets = numbers("start", start, expected) if batch else np.zeros(0)
    wrong = offsets.ndim != 1 or not offsets.size or not np.isfinite(offsets).all()
    if wrong or np.abs(offsets).max() > MAX_START_TIME:
        raise InputError(f"start = {start!r}: {expected}")
    return (0.0, offsets.astype(float)) if offsets.size > 1 else (float(offsets[0]), np.zeros(1))


def law_with_stops(law: Law, robot: Robot, stops: Any) -> Law:
    """Return the law, with stops at the joint limits if they are requested."""
    if stops is None or stops is False:
        return law
    if stops is not True and not isinstance(stops, Stops):
        raise InputError(f"stops = {stops!r}: expected True, or armwright.torque.stops(robot, stiffness=, damping=)")
    return law + law_for(stops_of(robot) if stops is True else stops, robot)


def law_duration(law: Law, start: float) -> float:
    """Return the seconds from a start to the end of the law."""
    if law.span is None:
        raise InputError("duration is missing: this torque law has no end; give duration=")
    ends = law.span[1] if np.isfinite(law.span[1]) else max(law.reference.knots) if law.reference else np.inf
    return float(ends) - start


def check_span(law: Law, start: float, end: float) -> None:
    """Raise an InputError if a law is not defined for all of a run."""
    if law.span is not None and (start < law.span[0] - 1e-9 or end > law.span[1] + 1e-9):
        raise InputError(
            f"the run lasts from {start:g} to {end:g} s, but its torque law is defined from {law.span[0]:g} to "
            f"{law.span[1]:g} s; shorten duration=, or let the trajectory rest at its ends with .holding()"
        )


def reference_states(motions: Sequence[Reference | None], t: Array) -> tuple[Array, ...]:
    """Return q, qd and qdd (rollouts, n) of motions at times; one motion or one time is that of all rollouts."""
    if len(motions) == 1 and motions[0] is not None:
        return tuple(np.asarray(x, float) for x in motions[0](t))
    pairs = zip(motions, np.broadcast_to(t, len(motions)).tolist(), strict=True)
    states = [motion(time) for motion, time in pairs if motion is not None]
    return tuple(np.array(x, float) for x in zip(*states, strict=True))
