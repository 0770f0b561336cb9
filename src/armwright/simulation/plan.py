"""Plans: a robot, a law, times and settings of a simulation, checked, with the record that is compiled."""

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

SMOOTHING_SPEED = 1e-3
"""The default speed, rad/s or m/s, within which dry friction is rounded off."""


@dataclass(frozen=True)
class Plan:
    """A checked simulation of one motion, or of many with one structure."""

    robot: Robot
    law: Law
    times: Array
    """The times of the records."""
    settings: IntegrationSettings
    laws: tuple[Law, ...] = ()
    """The laws of all rollouts, where each has its own numbers; `law` is the first."""
    events: tuple[RobotEvent, ...] = ()
    """The compiled events that end the motion."""
    start_offsets: Array = field(default_factory=lambda: np.zeros(1))
    """Seconds by which each rollout starts later than `times` (rollouts,), or one number for all (1,)."""
    measures: tuple[str, ...] = ()
    keep: bool = True
    """True if all records are kept, False if only the start and the end are."""
    within: float = DEFAULT_WITHIN

    @cached_property
    def layout(self) -> Layout:
        """The parts of the state."""
        return layout_of(self.robot, self.law)

    @property
    def compilable(self) -> bool:
        """True if robot and law can be one compiled program."""
        return self.law.traceable and has_straight_code(self.robot)

    @property
    def law_with_inputs(self) -> Law | None:
        """The law with its reference motion as inputs, where only that motion cannot be compiled."""
        return with_reference_inputs(self.law) if not self.law.traceable and has_straight_code(self.robot) else None

    @cached_property
    def has_stops(self) -> bool:
        """True if there are stops."""
        return bool(stops_in(self.law))

    @cached_property
    def law_parameters(self) -> Parameterised[Law]:
        """The structure of the compiled law and its runtime parameters."""
        return merged_laws(self.laws) if self.laws else parameterise(self.law_with_inputs or self.law)

    @cached_property
    def event_parameters(self) -> Parameterised[tuple[EventQuantity, ...]]:
        """The structure of the events and their runtime parameters."""
        return parameterise(tuple(event.quantity for event in self.events), "an event")

    @cached_property
    def gauge_parameters(self) -> Parameterised[GaugeRequest]:
        """The structure of the gauges and their runtime parameters.

        Without records one gauge more finds the last time at which the state was finite.
        """
        gauges = [gauge for name in self.measures for gauge in MEASURES[name].gauges]
        request = GaugeRequest.of([*gauges, *([] if self.keep else [LAST_FINITE])], self.has_stops)
        if request.uses_goal:
            goal = () if self.law.reference is None else self.goal
            request = replace(request, goal=goal, within=(self.within,))
        return parameterise(request, "a measure")

    @property
    def gauges(self) -> GaugeRequest:
        """The gauges of the measures and of stops."""
        return self.gauge_parameters.structure.template

    @property
    def goal(self) -> tuple[Any, ...]:
        """The positions at the end of the reference motion, or the target: entries of one number or (rollouts,)."""
        laws = self.laws or (self.law,)
        if self.law.reference is not None:
            rows = reference_states([law.reference for law in laws], self.times[-1] + self.start_offsets)[0]
        elif self.laws:
            rows = np.array([law.positions["target"] for law in laws])
        else:
            return self.law.positions["target"]
        return tuple(rows[0].tolist() if len(rows) == 1 else rows.T)

    def record(self, vary: tuple[str, ...] = (), target: str = HOST_TARGET) -> MotionRecord:
        """Return what is compiled if the parameters `vary` of the robot differ between rollouts."""
        code = self.code(vary, target)
        directions = tuple(event.direction for event in self.events)
        events = self.event_parameters.structure if self.events else None
        gauges = self.gauge_parameters.structure if self.gauges else None
        return MotionRecord(code.robot, self.law_parameters.structure, vary, code.names, events, directions, gauges)

    def code(self, vary: tuple[str, ...] = (), target: str = HOST_TARGET) -> SharedCode:
        """Return the robot whose code is used, and the numbers that make it this one; on a card it is the robot itself.

        Events and laws of other packages may use base and tool, which are then not shared.
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
        """The runtime parameters of robot, law and events, of one rollout."""
        return RolloutColumns((*self.code().numbers, *self.law_parameters.single, *self.event_parameters.single), 1)

    @cached_property
    def dynamics_parameters(self) -> Array:
        """The runtime parameters of robot and law at the start (1, numbers)."""
        return self.dynamics_parameters_at(self.times[:1])

    def dynamics_parameters_at(self, times: Array) -> Array:
        """Return the runtime parameters of robot and law at some times (times, numbers), of the first rollout."""
        count = len(self.runtime_parameters.columns) - len(self.event_parameters.numbers)
        columns = self.runtime_parameters.columns[:count]
        return replace(self.runtime_parameters, columns=columns).along(self.sampling, times, np.dtype(float))

    @cached_property
    def sampling(self) -> SamplingInstants:
        """The instants at which random numbers are drawn."""
        holds = sorted({drawn.hold for drawn in self.law_parameters.random if drawn.hold})
        return SamplingInstants(float(self.times[0]), float(self.times[-1]), self.start_offsets, tuple(holds))

    @cached_property
    def step_ends(self) -> Array:
        """The times at which steps must end: records and sampling instants."""
        return self.sampling.among(self.times)

    @property
    def first_step(self) -> float:
        """Seconds of the first step, where steps are chosen."""
        return float(min(FIRST_STEP, (self.times[-1] - self.times[0]) / 10, self.settings.longest_step))

    @property
    def substeps(self) -> Array:
        """The number of equal steps between two `step_ends`, none longer than `step`; one if steps are chosen."""
        counts = np.ceil(np.diff(self.step_ends) / (self.settings.step or np.inf) - 1e-9)
        return np.maximum(1, counts).astype(np.int64)

    @property
    def fixed_step_ends(self) -> Array:
        """The end of every step of a given length."""
        gaps = zip(self.step_ends[:-1], self.step_ends[1:], self.substeps, strict=True)
        ends = [[*(a + np.arange(1, k) * ((b - a) / k)), b] for a, b, k in gaps]
        return np.array([t for part in ends for t in part])

    @property
    def run_settings(self) -> dict[str, Any]:
        """The settings that a run keeps."""
        dry = max((joint.smooth for joint in self.robot.rows if joint.coulomb), default=0.0)
        further = {**({"smooth": dry} if dry else {}), **({"stops": True} if self.has_stops else {})}
        return {**self.settings.options, **further, "law": repr(self.law)}


def with_smooth_friction(robot: Robot, smooth: float = SMOOTHING_SPEED) -> Robot:
    """Return the robot with dry friction that does not jump at rest; with a jump no integrator comes to an end.

    Joints that have a `smooth` speed keep it.
    """
    if isinstance(smooth, bool) or not isinstance(smooth, Real) or not 0 <= smooth < math.inf:
        raise InputError(f"smooth = {smooth!r}: expected a speed, rad/s or m/s, zero for friction that jumps")
    if not smooth or not any(joint.coulomb and not joint.smooth for joint in robot.rows):
        return robot
    return _smoothed(robot, float(smooth))


@compiled_once
def _smoothed(robot: Robot, smooth: float) -> Robot:
    """Return the same object for an equal robot, so that it is traced once."""
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
    many: bool = False,
    first: bool = False,
) -> Plan:
    """Return a checked plan; `every` is None if only start and end are wanted.

    Each of `many` rollouts may have its own start; then times count from there. The law is for all of them, or for the
    `first` alone.
    """
    if not isinstance(robot, Robot):
        raise InputError(f"simulate got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    robot = with_smooth_friction(robot, smooth)
    law = law_with_stops(law_for(torque, robot), robot, stops)
    begin, offsets = _start_times(start, many)
    starts = begin + (offsets[:1] if first else offsets)
    seconds = law_duration(law, float(starts.max())) if duration is None else duration
    for name, value in (("duration", seconds), ("every", every)):
        check_seconds(name, value)
    check_span(law, float(starts.min()), float(starts.max()) + seconds)
    check_records(seconds, every, settings.step)
    count = 1 if every is None else max(1, math.ceil(seconds / every - 1e-9))
    times = begin + (every or seconds) * np.arange(count + 1)
    times[-1] = begin + seconds
    return Plan(robot, law, times, settings, start_offsets=offsets)


def _start_times(start: Any, many: bool) -> tuple[float, Array]:
    """Return the start of the times, and the offsets of the rollouts."""
    if is_number(start) and abs(start) <= MAX_START_TIME:
        return float(start), np.zeros(1)
    expected = f"expected seconds, at most {MAX_START_TIME:g}{', or one number for each rollout' if many else ''}"
    offsets = numbers("start", start, expected) if many else np.zeros(0)
    wrong = offsets.ndim != 1 or not offsets.size or not np.isfinite(offsets).all()
    if wrong or np.abs(offsets).max() > MAX_START_TIME:
        raise InputError(f"start = {start!r}: {expected}")
    return (0.0, offsets.astype(float)) if offsets.size > 1 else (float(offsets[0]), np.zeros(1))


def law_with_stops(law: Law, robot: Robot, stops: Any) -> Law:
    """Return the law with stops at the limits of the joints, where they are requested."""
    if stops is None or stops is False:
        return law
    if stops is not True and not isinstance(stops, Stops):
        raise InputError(f"stops = {stops!r}: expected True, or armwright.torque.stops(robot, stiffness=, damping=)")
    return law + law_for(stops_of(robot) if stops is True else stops, robot)


def law_duration(law: Law, start: float) -> float:
    """Return the seconds from a start to the end of the law."""
    if law.span is None:
        raise InputError("duration is missing: this torque law does not say how long it lasts; give duration=")
    ends = law.span[1] if np.isfinite(law.span[1]) else max(law.reference.knots) if law.reference else np.inf
    return float(ends) - start


def check_span(law: Law, start: float, end: float) -> None:
    """Raise an InputError if a law is not defined from the start to the end of a run."""
    if law.span is not None and (start < law.span[0] - 1e-9 or end > law.span[1] + 1e-9):
        raise InputError(
            f"the run lasts from {start:g} to {end:g} s, but its torque law is defined from {law.span[0]:g} to "
            f"{law.span[1]:g} s; shorten duration=, or let the trajectory rest at its ends with .holding()"
        )


def reference_states(motions: Sequence[Reference | None], t: Array) -> tuple[Array, ...]:
    """Return q, qd and qdd of motions at times (rollouts, n); a single motion or time is for all."""
    if len(motions) == 1 and motions[0] is not None:
        return tuple(np.asarray(x, float) for x in motions[0](t))
    pairs = zip(motions, np.broadcast_to(t, len(motions)).tolist(), strict=True)
    found = [motion(at) for motion, at in pairs if motion is not None]
    return tuple(np.array(x, float) for x in zip(*found, strict=True))
