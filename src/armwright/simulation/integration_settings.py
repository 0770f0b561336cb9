"""Settings of integration: integrators, their options and their defaults, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from armwright.errors import InputError, unknown
from armwright.integrate import INTEGRATORS, STIFF
from armwright.integrate.integrators import is_adaptive

MACHINE_EPSILON = float(np.finfo(float).eps)

MAX_RECORDS = 5_000_000
MAX_STEPS_PER_RECORD = 1_000_000
"""The largest number of steps between two records: some seconds of computing without interruption."""

MIN_RTOL = 1e-16
DEFAULT_RTOL = 1e-9
DEFAULT_RTOLS = {"taylor": MACHINE_EPSILON}
"""The default tolerances of integrators that are more accurate than the others."""

FIRST_STEP = 1e-3
"""The first adaptive step, s; the step control corrects it within a few steps."""

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
class IntegrationSettings:
    """An integrator and its options: `step`, or rtol and atol where steps are chosen; the others are None."""

    integrator: str
    rtol: float | None = None
    atol: float | None = None
    step: float | None = None
    max_step: float | None = None

    @property
    def fixed(self) -> bool:
        """True if steps have a given length."""
        return self.step is not None

    @property
    def longest_step(self) -> float:
        return math.inf if self.max_step is None else self.max_step

    @property
    def options(self) -> dict[str, Any]:
        """The settings that are not None, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


def supported_options(integrator: str, stepped: bool) -> tuple[str, ...]:
    """Return the options of an integrator; `stepped` is True if step= is one of the arguments."""
    adaptive = is_adaptive(integrator) and not stepped
    return PYTHON_ONLY_INTEGRATORS.get(integrator, ADAPTIVE_OPTIONS if adaptive else FIXED_STEP_OPTIONS)


def settings(
    integrator: str, rtol: Any = None, atol: Any = None, step: Any = None, max_step: Any = None
) -> IntegrationSettings:
    """Return checked settings; an option that the integrator does not have is an error."""
    if not isinstance(integrator, str) or (integrator not in INTEGRATORS and integrator not in PYTHON_ONLY_INTEGRATORS):
        raise unknown("integrator", integrator, integrator_names())
    adaptive = is_adaptive(integrator)
    supported = supported_options(integrator, step is not None)
    options = {"rtol": rtol, "atol": atol, "step": step, "max_step": max_step}
    for name, value in options.items():
        if value is not None and name not in supported:
            why = "it chooses its steps; max_step= bounds them"
            if adaptive or supported == FIXED_STEP_OPTIONS:
                why = "with step= its steps are given" if adaptive else "its steps are given"
            raise InputError(f"{name} = {value!r} has no meaning for {integrator}: {why}; leave {name}= out")
    if supported == FIXED_STEP_OPTIONS and step is None:
        raise InputError(f"{integrator} has no error estimate: give step=, such as step=0.001")
    _check_tolerances(rtol, atol)
    for name in ("step", "max_step"):
        check_seconds(name, options[name])
    if supported == FIXED_STEP_OPTIONS:
        return IntegrationSettings(integrator, step=float(step))
    relative = DEFAULT_RTOLS.get(integrator, DEFAULT_RTOL) if rtol is None else float(rtol)
    absolute = relative / 1000 if atol is None else float(atol)
    longest = None if max_step is None else float(max_step)
    return IntegrationSettings(integrator, relative, absolute if "atol" in supported else None, None, longest)


def refined(original: IntegrationSettings, factor: float, gap: float) -> IntegrationSettings:
    """Return settings with a step or a tolerance smaller by a factor.

    Adaptive steps are at most half the `gap` between records.
    """
    if original.step is not None:
        return replace(original, step=original.step / factor)
    assert original.rtol is not None
    atol = None if original.atol is None else original.atol / factor
    rtol = max(original.rtol / factor, MACHINE_EPSILON)
    return replace(original, rtol=rtol, atol=atol, max_step=min(gap, original.longest_step) / 2)


def check_records(duration: float, every: float | None, step: float | None = None) -> None:
    """Raise an InputError for too many records, or too many steps between two records."""
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
    """Raise an InputError if a value is neither None nor seconds above zero."""
    if value is not None and not (is_number(value) and value > 0):
        raise InputError(f"{name} = {value!r}: expected seconds, above zero")


def is_number(value: Any) -> bool:
    """Return True for a finite real number."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def _check_tolerances(rtol: Any, atol: Any) -> None:
    for name, tolerance, lower in (("rtol", rtol, MIN_RTOL), ("atol", atol, 0.0)):
        if tolerance is None or (is_number(tolerance) and lower < tolerance < 1):
            continue
        above = f"{lower:g}, which is rounding," if lower else "0"
        raise InputError(f"{name} = {tolerance!r}: expected a number above {above} and below 1, such as 1e-9")
