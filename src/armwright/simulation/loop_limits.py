"""Embedded loops at the end of their range, where a motion ends.

If a loop is stretched or folded, its dependent joints would have to move infinitely fast, and the mass matrix grows
without bound: the integration would take ever smaller steps. A motion ends shortly before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armwright.algebra import Array, Scalar, sign
from armwright.errors import SimulationError
from armwright.formulations.parts.loop_geometry import singularity_measures
from armwright.mechanism import Mechanism
from armwright.model.description import Description
from armwright.model.loop_positions import loop_near_limit

MIN_LOOP_SINE = 1e-3
"""The smallest sine between the dependent joints of a loop; coordinates are then a millionth from the limit."""

REPORTED_LOOP_SINE = 1e-2
"""The sine below which the loop is reported as the cause of a failed motion."""


def within_loop_limits(mechanism: Mechanism, rates: Sequence[Scalar]) -> list[Scalar]:
    """Return the rates of a placed mechanism; they are not finite if one of its loops is at its limit."""
    result = list(rates)
    for numerator, denominator in singularity_measures(mechanism):
        inside = 1 / (1 + sign(numerator - denominator * MIN_LOOP_SINE**2))
        result = [x * (2 * inside) for x in result]
    return result


def loop_limit_error(robot: Description, error: SimulationError, q: Array) -> SimulationError:
    """Return the error, or one that names the loop which ended the motion at q."""
    if not np.isfinite(q).all() or (loop := loop_near_limit(robot, q.tolist(), REPORTED_LOOP_SINE)) is None:
        return error
    return SimulationError(
        f"loop {loop!r} of {robot.name} has reached the end of its range at t = {error.t:.6g} s: it is stretched or "
        "folded there, and its joints could continue in two ways; expected a motion within the range",
        error.run,
        error.t,
    )
