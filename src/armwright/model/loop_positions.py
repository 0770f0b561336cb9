"""Positions at which loops cannot close, or are near that limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from armwright.algebra import Scalar
from armwright.formulations.parts.coordinates import mechanism_at
from armwright.formulations.parts.loop_geometry import Angle, singularity_measures
from armwright.mechanism import Mechanism
from armwright.model.description import Description


def angle_of(at: Scalar) -> float:
    """Return a position as a float."""
    return math.atan2(float(at.sin()), float(at.cos())) if isinstance(at, Angle) else float(at)


def open_loop(robot: Description, q: Sequence[float], mechanism: Mechanism | None = None) -> str | None:
    """Return the name of the first loop that cannot close at q, or None. `mechanism` may have other lengths."""
    mechanism = mechanism or robot.mechanism()
    for k, loop in enumerate(robot.loops):
        if loop.dependent:
            there = mechanism_at(replace(mechanism, loops=mechanism.loops[: k + 1]), q)
            at = there.loops[-1].at
            if not all(math.isfinite(angle_of(at[i])) for i in there.loops[-1].dependent):
                return loop.name
    return None


def loop_near_limit(robot: Description, q: Sequence[float], min_sine: float) -> str | None:
    """Return the name of the first loop whose sine of the opening angle is at most `min_sine`, or None."""
    names = [loop.name for loop in robot.loops if loop.dependent]
    for name, (determinant, scale) in zip(names, singularity_measures(mechanism_at(robot.mechanism(), q)), strict=True):
        if not float(determinant) > min_sine * min_sine * float(scale):
            return name
    return None
