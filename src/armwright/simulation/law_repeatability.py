"""A check that a torque law in Python gives the same torques when it is called again at the same state.

It compares the calls of the integrator at records with those for the torques of the run, without further calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.integrate import IntegrationError
from armwright.names import shown
from armwright.robot import Robot
from armwright.simulation.doubts import Doubt

REPEAT_TOLERANCE = 1e-9
"""The largest difference of two calls over the largest torque; laws that iterate are not exact."""

STALL_CALLS = 20_000
"""Calls between two records after which a call is repeated at once, as the run may never reach the next record."""

NOT_REPEATABLE = "it depends on more than t, q and qd, such as random numbers or an internal state"
REPEAT_HELP = "expected the same torques for the same state: aw.torque.noise draws, and a law with memory remembers"


class LawCalls:
    """The torques of a law at records, as the integrator called it."""

    def __init__(self, robot: Robot, times: Array) -> None:
        self._robot, self._times = robot, set(times.tolist())
        self._calls: dict[float, tuple[bytes, Array]] = {}
        self._calls_since_record = 0

    def record_call(self, t: float, y: Array, torques: Array, repeat: Any) -> None:
        """Record a call; `repeat` calls the law again. Raise an IntegrationError if a stalled run has no such law."""
        self._calls_since_record += 1
        if t in self._times:
            self._calls_since_record = self._calls_since_record if t in self._calls else 0
            self._calls[t] = (y.tobytes(), torques)
        if self._calls_since_record == STALL_CALLS and (why := difference_message(self._robot, torques, repeat())):
            raise IntegrationError(
                f"{why}, so that steps become ever shorter; {REPEAT_HELP}, or fixed steps (step=)", t, y
            )

    def doubts(self, t: Array, states: Array, torques: Array) -> Iterator[Doubt]:
        """Yield a doubt at the first record whose torques (k, n) differ from those of the integrator."""
        scale = float(np.nanmax(np.abs(torques), initial=0.0))
        for time, y, again in zip(t.tolist(), states[: len(t)], torques, strict=True):
            state, first = self._calls.get(time, (b"", again))
            if state == y.tobytes() and (why := difference_message(self._robot, first, again, scale)):
                yield Doubt(time, f"{why}; {REPEAT_HELP}")
                return


def difference_message(robot: Robot, one: Array, two: Array, scale: float = 0.0) -> str:
    """Return a sentence on the largest difference of two calls of a law; empty if they agree."""
    difference = np.abs(one - two)
    if not (difference > REPEAT_TOLERANCE * max(scale, float(np.abs(one).max()))).any():
        return ""
    i = int(np.argmax(difference))
    joint = robot.joints[i]
    unit = "N" if joint.prismatic else "N m"
    return (
        f"the torque law gave {one[i]:.6g} and then {two[i]:.6g} {unit} for {shown(joint.name)} at the same time and "
        f"state: {NOT_REPEATABLE}"
    )
