"""What a simulation is asked for, checked: robot, law, times, integrator, and where it starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import numbers
from armwright.errors import InputError, unknown
from armwright.function import compile as compile_function
from armwright.integrate import INTEGRATORS, STIFF
from armwright.integrate.integrators import is_adaptive
from armwright.kinematics import OPEN, fits
from armwright.layout import Layout
from armwright.lazy import cached_property
from armwright.model.code_sharing import SharedCode, shared_code
from armwright.model.unit_vectors import checked_unit_vectors
from armwright.robot import Robot
from armwright.simulation.events import EventQuantity, RobotEvent
from armwright.simulation.gauges import LAST_FINITE, GaugeRequest
from armwright.simulation.measures import DEFAULT_WITHIN, MEASURES
from armwright.simulation.motion_programs import layout_of
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

MAX_RECORDS = 5_000_000
MAX_STEPS_PER_RECORD = 1_000_000
"""Between two records: some seconds of computing in which nothing can be interrupted."""

MIN_RTOL = 1e-16
MACHINE_EPSILON = float(np.finfo(float).eps)
MAX_START_TIME = 1e9

RTOL = 1e-9
DEFAULT_RTOL = {"taylor": MACHINE_EPSILON}
"""The error allowed per step, if nothing else is said: for most integrators, and for those that promise more."""

FIRST_STEP = 1e-3
"""Seconds to begin with; the step control finds the right length within a few steps."""

FIXED_STEP_OPTIONS = ("step",)
ADAPTIVE_OPTIONS = ("rtol", "atol", "max_step")
PYTHON_ONLY_INTEGRATORS = {
    **dict.fromkeys((*STIFF, "taylor"), ADAPTIVE_OPTIONS),
    "semi_implicit_euler": FIXED_STEP_OPTIONS,
}
"""Integrators besides the compiled ones (`INTEGRATORS`), and the options of each."""


def integrator_names() -> list[str]:
    """Return the names of all integrators, those of users included."""
    return [*INTEGRATORS, *PYTHON_ONLY_INTEGRATORS]


@dataclass(frozen=True)
class Settings:
    """How to integrate. `step` is None where the steps are chosen; rtol and atol are None where it is not."""

    integrator: str
    rtol: float | None = None
    atol: float | None = None
    step: float | None = None
    max_step: float | None = None

    @property
    def longest(self) -> float:
        return math.inf if self.max_step is None else self.max_step

    @property
    def said(self) -> dict[str, Any]:
        """Those that have a meaning, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Plan:
    """What to integrate, checked."""

    robot: Robot
    law: Law
    times: Array
    how: Settings
    each: tuple[Law, ...] = ()
    """The laws of all rollouts, where each has its own numbers; `law` is the first."""
    events: tuple[RobotEvent, ...] = ()
    """What ends it, where that is compiled with it."""
    late: Array = field(default_factory=lambda: np.zeros(1))
    """How much later than `times` say each rollout is, or all of them (1,)."""
    measured: tuple[str, ...] = ()
    """What is measured of it on its way."""
    keep: bool = True
    """Whether every record is kept, or start and end alone."""
    within: float = DEFAULT_WITHIN

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.robot, self.law)

    @property
    def traced(self) -> bool:
        """Whether robot and law can be one compiled program."""
        return self.law.traceable and has_straight_code(self.robot)

    @property
    def opened(self) -> Law | None:
        """The law with its motion left open, where only that keeps it from being compiled."""
        return with_reference_inputs(self.law) if not self.law.traceable and has_straight_code(self.robot) else None

    @cached_property
    def stopped(self) -> bool:
        """Whether there are stops."""
        return bool(stops_in(self.law))

    @cached_property
    def numbers(self) -> Parameterised[Law]:
        """The law that is compiled, as its form and its numbers: with its motion left open, if that is."""
        return merged_laws(self.each) if self.each else parameterise(self.opened or self.law)

    @cached_property
    def watched(self) -> Parameterised[tuple[EventQuantity, ...]]:
        """What its events look at."""
        return parameterise(tuple(event.quantity for event in self.events), "an event")

    @cached_property
    def gauged(self) -> Parameterised[GaugeRequest]:
        """The gauges of its measures; without records one more says when a motion was finite last."""
        gauges = [gauge for name in self.measured for gauge in MEASURES[name].gauges]
        request = GaugeRequest.of([*gauges, *([] if self.keep else [LAST_FINITE])], self.stopped)
        if request.uses_goal:
            goal = () if self.law.reference is None else self.goal
            request = replace(request, goal=goal, within=(self.within,))
        return parameterise(request, "a measure")

    @property
    def request(self) -> GaugeRequest:
        """The same, as one request."""
        return self.gauged.structure.template

    @property
    def goal(self) -> tuple[Any, ...]:
        """Where the robot is to be at last, each entry of q one number, or one for each rollout."""
        laws = self.each or (self.law,)
        if self.law.reference is not None:
            rows = reference_states([law.reference for law in laws], self.times[-1] + self.late)[0]
        elif self.each:
            rows = np.array([law.positions["target"] for law in laws])
        else:
            return self.law.positions["target"]
        return tuple(rows[0].tolist() if len(rows) == 1 else rows.T)

    @property
    def watching(self) -> dict[str, Any]:
        """What is watched and measured without numbers, as `kernels.rollout_of` wants it."""
        directions = tuple(event.direction for event in self.events)
        events = {"events": self.watched.structure, "directions": directions} if self.events else {}
        return {**events, "gauges": self.gauged.structure} if self.request else events

    def family(self, vary: tuple[str, ...] = ()) -> SharedCode:
        """What the robot shares its code with; events, and laws that are not ours, may look at base and tool."""
        if vary not in self._families:
            self._families[vary] = shared_code(self.robot, vary, moved=is_built_in(self.law) and not self.events)
        return self._families[vary]

    @cached_property
    def _families(self) -> dict[tuple[str, ...], SharedCode]:
        return {}

    @cached_property
    def shared(self) -> SharedCode:
        return self.family()

    @cached_property
    def opens(self) -> RolloutColumns:
        """The open numbers of robot, law and events, of one rollout."""
        return RolloutColumns((*self.shared.numbers, *self.numbers.single, *self.watched.single), 1)

    @cached_property
    def inputs(self) -> Array:
        """Those of robot and law (1, numbers)."""
        return self.inputs_at(self.times[:1])

    def inputs_at(self, times: Array) -> Array:
        """Those of robot and law at some times (times, numbers), of the first rollout."""
        seen = len(self.opens.columns) - len(self.watched.numbers)
        return replace(self.opens, columns=self.opens.columns[:seen]).along(self.turns, times, np.dtype(float))

    @cached_property
    def turns(self) -> SamplingInstants:
        """When numbers are drawn anew."""
        holds = sorted({drawn.hold for drawn in self.numbers.random if drawn.hold})
        return SamplingInstants(float(self.times[0]), float(self.times[-1]), self.late, tuple(holds))

    @cached_property
    def ends(self) -> Array:
        """Where steps end: at the records, and where numbers are drawn anew."""
        return self.turns.among(self.times)

    @property
    def first_step(self) -> float:
        return float(min(FIRST_STEP, (self.times[-1] - self.times[0]) / 10, self.how.longest))

    @property
    def substeps(self) -> Array:
        """Between two `ends` as many equal steps as make none longer than `step`; one if the steps are chosen."""
        counts = np.ceil(np.diff(self.ends) / (self.how.step or np.inf) - 1e-9)
        return np.maximum(1, counts).astype(np.int64)

    @property
    def stops(self) -> Array:
        """Where fixed steps end."""
        gaps = zip(self.ends[:-1], self.ends[1:], self.substeps, strict=True)
        ends = [[*(a + np.arange(1, k) * ((b - a) / k)), b] for a, b, k in gaps]
        return np.array([t for part in ends for t in part])

    @property
    def settings(self) -> dict[str, Any]:
        dry = max((joint.smooth for joint in self.robot.rows if joint.coulomb), default=0.0)
        further = {**({"smooth": dry} if dry else {}), **({"stops": True} if self.stopped else {})}
        return {**self.how.said, **further, "law": repr(self.law)}


SMOOTHING_SPEED = 1e-3
"""rad/s or m/s: within such a speed dry friction rounds off, if nothing else is said."""


def with_smooth_friction(robot: Robot, smooth: float = SMOOTHING_SPEED) -> Robot:
    """The robot with dry friction that does not jump at rest, where an integrator would never come to an end.

    Joints that have a speed of their own for it keep it.
    """
    if isinstance(smooth, bool) or not isinstance(smooth, Real) or not 0 <= smooth < math.inf:
        raise InputError(f"smooth = {smooth!r}: expected a speed, rad/s or m/s, zero for friction that jumps")
    if not smooth or not any(joint.coulomb and not joint.smooth for joint in robot.rows):
        return robot
    return _rounded(robot, float(smooth))


@lru_cache(maxsize=32)
def _rounded(robot: Robot, smooth: float) -> Robot:
    """The same one for an equal robot, so that it is traced once."""
    return robot.map_joints(lambda joint: replace(joint, smooth=joint.smooth or smooth))


def supported_options(integrator: str, stepped: bool) -> tuple[str, ...]:
    """The options that have a meaning for an integrator, or for one whose steps are given."""
    chosen = is_adaptive(integrator) and not stepped
    return PYTHON_ONLY_INTEGRATORS.get(integrator, ADAPTIVE_OPTIONS if chosen else FIXED_STEP_OPTIONS)


def settings(integrator: str, rtol: Any = None, atol: Any = None, step: Any = None, max_step: Any = None) -> Settings:
    """How to integrate, checked; an option that the method cannot honour is an error."""
    if not isinstance(integrator, str) or (integrator not in INTEGRATORS and integrator not in PYTHON_ONLY_INTEGRATORS):
        raise unknown("integrator", integrator, integrator_names())
    pair = is_adaptive(integrator)
    honoured = supported_options(integrator, step is not None)
    given = {"rtol": rtol, "atol": atol, "step": step, "max_step": max_step}
    for name, value in given.items():
        if value is not None and name not in honoured:
            how = (
                "with step= its steps are given"
                if pair
                else "its steps are given"
                if honoured == FIXED_STEP_OPTIONS
                else ""
            )
            how = how or "it chooses its steps; max_step= bounds them"
            raise InputError(f"{name} = {value!r} has no meaning for {integrator}: {how}; leave {name}= out")
    if honoured == FIXED_STEP_OPTIONS and step is None:
        raise InputError(f"{integrator} has no error estimate: give step=, such as step=0.001")
    _check_tolerances(rtol, atol)
    for name in ("step", "max_step"):
        check_seconds(name, given[name])
    if honoured == FIXED_STEP_OPTIONS:
        return Settings(integrator, step=float(step))
    relative = DEFAULT_RTOL.get(integrator, RTOL) if rtol is None else float(rtol)
    absolute = relative / 1000 if atol is None else float(atol)
    longest = None if max_step is None else float(max_step)
    return Settings(integrator, relative, absolute if "atol" in honoured else None, None, longest)


def plan(
    robot: Robot,
    torque: Any,
    how: Settings,
    duration: float | None = None,
    every: float | None = None,
    start: ArrayLike = 0.0,
    smooth: float = SMOOTHING_SPEED,
    stops: Any = None,
    many: bool = False,
    first: bool = False,
) -> Plan:
    """A simulation to be made; `every` is None where only its start and end are wanted.

    Of `many` rollouts each may have its own start: then times are counted from there. The law is for all of them, or
    for the `first` alone.
    """
    if not isinstance(robot, Robot):
        raise InputError(f"simulate got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    robot = with_smooth_friction(robot, smooth)
    law = stopped(law_for(torque, robot), robot, stops)
    begin, late = _start_times(start, many)
    driven = begin + (late[:1] if first else late)
    lasts = law_duration(law, float(driven.max())) if duration is None else duration
    for name, value in (("duration", lasts), ("every", every)):
        check_seconds(name, value)
    check_span(law, float(driven.min()), float(driven.max()) + lasts)
    check_records(lasts, every, how.step)
    count = 1 if every is None else max(1, math.ceil(lasts / every - 1e-9))
    times = begin + (every or lasts) * np.arange(count + 1)
    times[-1] = begin + lasts
    return Plan(robot, law, times, how, late=late)


def _start_times(start: Any, many: bool) -> tuple[float, Array]:
    """When all begin, and how much later each does."""
    if _is_number(start) and abs(start) <= MAX_START_TIME:
        return float(start), np.zeros(1)
    wanted = f"expected seconds, at most {MAX_START_TIME:g}{', or one number for each rollout' if many else ''}"
    late = numbers("start", start, wanted) if many else np.zeros(0)
    if late.ndim != 1 or not late.size or not np.isfinite(late).all() or np.abs(late).max() > MAX_START_TIME:
        raise InputError(f"start = {start!r}: {wanted}")
    return (0.0, late.astype(float)) if late.size > 1 else (float(late[0]), np.zeros(1))


def stopped(law: Law, robot: Robot, stops: Any) -> Law:
    """The law with stops at the limits of the joints, where they are asked for."""
    if stops is None or stops is False:
        return law
    if stops is not True and not isinstance(stops, Stops):
        raise InputError(f"stops = {stops!r}: expected True, or armwright.torque.stops(robot, stiffness=, damping=)")
    return law + law_for(stops_of(robot) if stops is True else stops, robot)


def law_duration(law: Law, start: float) -> float:
    """As long as the law lasts."""
    if law.span is None:
        raise InputError("duration is missing: this torque law does not say how long it lasts; give duration=")
    ends = law.span[1] if np.isfinite(law.span[1]) else max(law.reference.knots) if law.reference else np.inf
    return float(ends) - start


def check_span(law: Law, start: float, end: float) -> None:
    """A law says what it does from the start to the end of a run."""
    if law.span is not None and (start < law.span[0] - 1e-9 or end > law.span[1] + 1e-9):
        raise InputError(
            f"the run lasts from {start:g} to {end:g} s, but its torque law is defined from {law.span[0]:g} to "
            f"{law.span[1]:g} s; shorten duration=, or let the trajectory rest at its ends with .holding()"
        )


def check_records(duration: float, every: float | None, step: float | None = None) -> None:
    """Not more records than there is memory for, nor more steps between two of them than anybody would wait for."""
    if every is not None and every > duration * (1 + 1e-9):
        raise InputError(f"every = {every:g} s is longer than the run of {duration:g} s; peaks between would be missed")
    if every is not None and duration / every > MAX_RECORDS:
        raise InputError(
            f"{duration:g} s recorded every {every:g} s would keep more than {MAX_RECORDS} records; choose a longer "
            "every="
        )
    if step is not None and min(duration, every or duration) / step > MAX_STEPS_PER_RECORD:
        raise InputError(
            f"step = {step:g} s makes more than {MAX_STEPS_PER_RECORD} steps between two records; choose a longer "
            "step= or a shorter every="
        )


def check_seconds(name: str, value: Any) -> None:
    """A length of time, if one is given."""
    if value is not None and not (_is_number(value) and value > 0):
        raise InputError(f"{name} = {value!r}: expected seconds, above zero")


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def _check_tolerances(rtol: Any, atol: Any) -> None:
    for name, tolerance, least in (("rtol", rtol, MIN_RTOL), ("atol", atol, 0.0)):
        if tolerance is None or (_is_number(tolerance) and least < tolerance < 1):
            continue
        above = f"{least:g}, which is rounding," if least else "0"
        raise InputError(f"{name} = {tolerance!r}: expected a number above {above} and below 1, such as 1e-9")


def start_state(plan: Plan, q0: ArrayLike | None, qd0: ArrayLike | None, many: bool = False) -> tuple[Array, Array]:
    """Positions and velocities to begin with: given, or where the law's motion starts, else neutral and at rest.

    They are (nq,) and (n,), or also (rollouts, nq) and (rollouts, n) where there are `many`.
    """
    robot = plan.robot
    begin = (robot.neutral, np.zeros(robot.n)) if plan.law.reference is None else _reference_start(plan)
    given = []
    for name, value, default in zip(("q0", "qd0"), (q0, qd0), begin, strict=True):
        n = default.shape[-1]
        each = "number per joint" if robot.nq == robot.n else "entry of q" if name == "q0" else "number per freedom"
        wanted = f"(rollouts, {n}), or ({n},) for all of them" if many else f"({n},), one {each}"
        array = default if value is None else numbers(name, value, f"expected {wanted}").astype(float)
        if array.shape[-1:] != (n,) or array.ndim > 1 + many or not array.size:
            raise InputError(f"{name} has shape {array.shape}; expected {wanted}")
        if not np.isfinite(array).all():
            at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise InputError(f"{name}[{', '.join(map(str, at))}] is {array[at]}; expected finite numbers")
        given.append(array)
    q0 = checked_unit_vectors(robot, "q0", given[0])
    _check_closed(robot, q0)
    return q0, given[1]


def _reference_start(plan: Plan) -> tuple[Array, ...]:
    """Where the motion of the law starts, (n,) and (n,), or those of all rollouts, (rollouts, n)."""
    starts = reference_states([law.reference for law in plan.each or (plan.law,)], plan.times[0] + plan.late)
    alone = len(starts[0]) == 1 and not plan.each
    return tuple(x[0] if alone else x for x in starts[:2])


def reference_states(motions: Sequence[Reference | None], t: Array) -> tuple[Array, ...]:
    """q, qd and qdd of motions at some times (rollouts, n); there may be one of either for all."""
    if len(motions) == 1 and motions[0] is not None:
        return tuple(np.asarray(x, float) for x in motions[0](t))
    pairs = zip(motions, np.broadcast_to(t, len(motions)).tolist(), strict=True)
    found = [motion(at) for motion, at in pairs if motion is not None]
    return tuple(np.array(x, float) for x in zip(*found, strict=True))


def _check_closed(robot: Robot, q0: Array) -> None:
    if all(loop.dependent for loop in robot.loops):
        return
    apart = float(np.abs(robot.loop_errors(q0)).max())
    if apart <= OPEN:
        return
    jacobian = compile_function(robot, "loop_jacobian")
    if not all(fits(robot.loop_errors, jacobian, at) for at in q0.reshape(-1, robot.nq)):
        raise InputError(
            f"the loops of {robot.name} are open by {apart:.2g} m or rad at q0; expected a closed start, such as "
            "robot.closed(q0, qd0) gives"
        )
