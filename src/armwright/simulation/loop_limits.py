"""Loops that come to the end of their range: there a robot with such a loop cannot go on.

Where a loop is stretched or folded, the joints it moves would have to move infinitely fast, and the mass matrix grows
without bound: its coordinates would come to rest for ever, in ever smaller steps. A motion is ended a little before.
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
"""The sine of an angle from its end, nearer than which no loop moves: its coordinates are then a millionth away."""

REPORTED_LOOP_SINE = 1e-2
"""The same, below which the loop is the cause of a motion that failed."""


def within_loop_limits(mechanism: Mechanism, rates: Sequence[Scalar]) -> list[Scalar]:
    """Rates of a mechanism that is placed, which are not finite where one of its loops is at its end."""
    result = list(rates)
    for across, whole in singularity_measures(mechanism):
        inside = 1 / (1 + sign(across - whole * MIN_LOOP_SINE**2))
        result = [x * (2 * inside) for x in result]
    return result


def loop_limit_error(robot: Description, error: SimulationError, q: Array) -> SimulationError:
    """The same error, or one that names the loop which has ended the motion at q."""
    if not np.isfinite(q).all() or (loop := loop_near_limit(robot, q.tolist(), REPORTED_LOOP_SINE)) is None:
        return error
    return SimulationError(
        f"loop {loop!r} of {robot.name} has reached the end of its range at t = {error.t:.6g} s: it is stretched or "
        "folded there, and does not say how its joints go on; expected a motion that stays within it",
        error.run,
        error.t,
    )
