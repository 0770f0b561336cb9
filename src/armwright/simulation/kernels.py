"""What is compiled of a robot and its law, kept for the next time it is asked for.

A law comes without its numbers (`torque.Form`), which are further inputs of what is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armwright.backends.interface import Gauge, Kernel, Rollout, Watch, backend
from armwright.integrate import Taylor, method
from armwright.robot import Robot
from armwright.simulation.events import Quantities
from armwright.simulation.measures import INTEGRALS, LARGEST, Gauged, sizes_of
from armwright.simulation.motion import Driven, derivative, driven, jacobian, layout_of, view
from armwright.torque import Form, Law

KEPT = 32
"""How many of each are kept."""

TARGET = "cpu"


def kept(make: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps the last results for an equal robot and an equal law (the same one, if it holds arrays or functions)."""
    known: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def call(robot: Robot, law: Law | Form[Law], *rest: Any, **named: Any) -> Any:
        try:
            same: Any = (hash(law), law)
        except TypeError:
            same = id(law)
        key = (robot, same, *rest, *named.items())
        if key not in known:
            while len(known) >= KEPT:
                known.pop(next(iter(known)))
            known[key] = (law, make(robot, law, *rest, **named))  # the law too, so that its id is not given to another
        return known[key][1]

    return call


@kept
def motion_of(
    robot: Robot,
    law: Law | Form[Law],
    vary: tuple[str, ...] = (),
    known: tuple[str, ...] = (),
    events: Quantities | None = None,
    gauges: Gauged | None = None,
) -> Driven:
    return driven(robot, law, vary, known, events, gauges)


@kept
def rollout_of(
    robot: Robot,
    law: Law | Form[Law],
    vary: tuple[str, ...],
    integrator: str,
    fixed: bool,
    dtype: str,
    target: str = TARGET,
    known: tuple[str, ...] = (),
    events: Quantities | None = None,
    directions: tuple[int, ...] = (),
    gauges: Gauged | None = None,
) -> Rollout:
    """The whole motion as one loop, with events that end it and what is measured of it."""
    beside = {name: form for name, form in (("events", events), ("gauges", gauges)) if form is not None}
    motion, steps = motion_of(robot, law, vary, known, **beside), method(integrator).steps(fixed)
    watch = None if events is None else Watch(motion.program(*motion.watched), directions)
    gauge = None
    if gauges is not None:
        sizes = sizes_of(gauges.of.gauges, robot.n)
        largest, integrals = (sum(n for name, n in sizes.items() if name in some) for some in (LARGEST, INTEGRALS))
        within = motion.step_program(*motion.within) if motion.within else None
        gauge = Gauge(motion.program(*motion.gauged), largest, integrals, within)
    return backend(target).rollout(derivative(motion), steps, layout_of(robot, law), watch, gauge, dtype)


@kept
def view_of(
    robot: Robot,
    law: Law | Form[Law],
    vary: tuple[str, ...],
    known: tuple[str, ...],
    dtype: str,
    target: str = TARGET,
) -> Kernel:
    return backend(target).kernel(view(motion_of(robot, law, vary, known)), dtype)


@kept
def slopes_of(robot: Robot, law: Form[Law], known: tuple[str, ...]) -> Kernel:
    return backend(TARGET).kernel(derivative(motion_of(robot, law, (), known)), "float64")


@kept
def jacobian_of(robot: Robot, law: Form[Law], known: tuple[str, ...]) -> Kernel:
    return backend(TARGET).kernel(jacobian(derivative(motion_of(robot, law, (), known))), "float64")


@kept
def taylor_of(robot: Robot, law: Form[Law], known: tuple[str, ...], tolerance: float) -> Taylor:
    motion = motion_of(robot, law, (), known)
    return Taylor(derivative(motion, fence=False), tolerance, layout_of(robot, law).controlled)
