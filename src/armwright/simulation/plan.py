"""What a simulation is asked for, checked: robot, law, times, integrator, and where it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.errors import InputError, unknown
from armwright.integrate import STIFF, method, methods
from armwright.robot import Robot
from armwright.torque import Law, as_law

MOST_RECORDS = 5_000_000
MOST_STEPS = 1_000_000
"""Between two records: some seconds of computing in which nothing can be interrupted."""

FINEST = 1e-16
LATEST = 1e9


@dataclass(frozen=True)
class Plan:
    """What to integrate, checked."""

    robot: Robot
    law: Law
    times: Array
    integrator: str
    rtol: float
    atol: float
    step: float | None
    longest: float = np.inf

    @property
    def settings(self) -> dict[str, Any]:
        how = {"step": self.step} if self.step is not None else {"rtol": self.rtol, "atol": self.atol}
        dry = max((joint.smooth for joint in self.robot.rows if joint.coulomb), default=0.0)
        return {"integrator": self.integrator, **how, **({"smooth": dry} if dry else {}), "law": repr(self.law)}


SMOOTH = 1e-3
"""rad/s or m/s: within such a speed dry friction rounds off, if nothing else is said."""


def rounded(robot: Robot, smooth: float = SMOOTH) -> Robot:
    """The robot with dry friction that does not jump at rest, where an integrator would never come to an end.

    Joints that have a speed of their own for it keep it.
    """
    if isinstance(smooth, bool) or not isinstance(smooth, Real) or not 0 <= smooth < math.inf:
        raise InputError(f"smooth = {smooth!r}: expected a speed, rad/s or m/s, zero for friction that jumps")
    if not smooth or not any(joint.coulomb and not joint.smooth for joint in robot.rows):
        return robot
    return robot.each_joint(lambda joint: replace(joint, smooth=joint.smooth or float(smooth)))


def plan(
    robot: Robot, torque: Any, duration: float | None, integrator: str, rtol: float, atol: float | None,
    step: float | None, every: float | None, start: float, max_step: float | None = None, smooth: float = SMOOTH,
) -> Plan:  # fmt: skip
    if not isinstance(robot, Robot):
        raise InputError(f"simulate got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    robot = rounded(robot, smooth)
    law = as_law(torque, robot.n)
    known = [*methods(), *STIFF, "taylor", "semi_implicit_euler"]
    if integrator not in known:
        raise unknown("integrator", integrator, known)
    fixed = integrator == "semi_implicit_euler" or (integrator in methods() and method(integrator).error is None)
    if fixed and step is None:
        raise InputError(f"{integrator} has no error estimate: give step=, such as step=0.001")
    _check_tolerances(rtol, atol)
    if not _is_number(start) or abs(start) > LATEST:
        raise InputError(f"start = {start!r}: expected seconds, at most {LATEST:g}")
    if duration is None:
        if law.span is None:
            raise InputError("duration is missing: this torque law does not say how long it lasts; give duration=")
        ends = law.span[1] if np.isfinite(law.span[1]) else max(law.reference.knots) if law.reference else np.inf
        duration = float(ends) - start
    for name, value in (("duration", duration), ("every", every), ("step", step), ("max_step", max_step)):
        if value is not None and not (_is_number(value) and value > 0):
            raise InputError(f"{name} = {value!r}: expected seconds, above zero")
    end = start + duration
    if law.span is not None and (start < law.span[0] - 1e-9 or end > law.span[1] + 1e-9):
        raise InputError(
            f"the run lasts from {start:g} to {end:g} s, but its torque law is defined from {law.span[0]:g} to "
            f"{law.span[1]:g} s; shorten duration=, or let the trajectory rest at its ends with .holding()"
        )
    if every is not None and every > duration * (1 + 1e-9):
        raise InputError(f"every = {every:g} s is longer than the run of {duration:g} s; peaks between would be missed")
    if every is not None and duration / every > MOST_RECORDS:
        raise InputError(
            f"{duration:g} s recorded every {every:g} s would keep more than {MOST_RECORDS} records; choose a longer "
            "every="
        )
    gap = min(duration, every or duration)
    if step is not None and gap / step > MOST_STEPS:
        raise InputError(
            f"step = {step:g} s makes more than {MOST_STEPS} steps between two records; choose a longer step= or a "
            "shorter every="
        )
    count = 1 if every is None else max(1, math.ceil(duration / every - 1e-9))
    times = start + (every or duration) * np.arange(count + 1)
    times[-1] = end
    absolute = float(rtol / 1000 if atol is None else atol)
    return Plan(robot, law, times, integrator, float(rtol), absolute, step, max_step or np.inf)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _check_tolerances(rtol: Any, atol: Any) -> None:
    for name, tolerance, least in (("rtol", rtol, FINEST), ("atol", atol, 0.0)):
        if (name == "atol" and tolerance is None) or (_is_number(tolerance) and least < tolerance < 1):
            continue
        above = f"{least:g}, which is rounding," if least else "0"
        raise InputError(f"{name} = {tolerance!r}: expected a number above {above} and below 1, such as 1e-9")


def start_of(plan: Plan, q0: ArrayLike | None, qd0: ArrayLike | None) -> tuple[Array, Array]:
    """Positions and velocities to begin with, each (n,)."""
    n, wanted = plan.robot.n, (q0, qd0)
    begin = (np.zeros(n), np.zeros(n))
    if plan.law.reference is not None:
        q, qd, _ = plan.law.reference(float(plan.times[0]))
        begin = (np.asarray(q, dtype=float), np.asarray(qd, dtype=float))
    given = []
    for name, value, default in zip(("q0", "qd0"), wanted, begin, strict=True):
        try:
            array = default if value is None else np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"{name} = {value!r} is not a list of numbers; expected {n}, one per joint") from None
        if array.shape != (n,):
            raise InputError(f"{name} has shape {array.shape}; expected ({n},), one number per joint")
        if not np.isfinite(array).all():
            raise InputError(f"{name} = {array.tolist()} has a number that is not finite")
        given.append(array)
    return given[0], given[1]
