"""A check that a torque law in Python gives the same torques when it is called again at the same state.

A simulation calls it at every record, and once more when torques are looked up there: nothing else is called for this.
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
"""The part of the largest torque by which a law may differ from itself, as one that iterates does."""

STALL_CALLS = 20_000
"""Calls between two records after which the law is called twice at once, as the run may never come to the next."""

NOT_REPEATABLE = "it depends on more than t, q and qd, such as random numbers or an internal state"
REPEAT_HELP = "expected the same torques for the same state: aw.torque.noise draws, and a law with memory remembers"


class LawCalls:
    """The torques of a law at records."""

    def __init__(self, robot: Robot, times: Array) -> None:
        self._robot, self._times = robot, set(times.tolist())
        self._calls: dict[float, tuple[bytes, Array]] = {}
        self._since = 0

    def note(self, t: float, y: Array, torques: Array, ask: Any) -> None:
        """Note a call; `ask` gives the torques again. Raise an IntegrationError where a run struggles in vain."""
        self._since += 1
        if t in self._times:
            self._since = self._since if t in self._calls else 0
            self._calls[t] = (y.tobytes(), torques)
        if self._since == STALL_CALLS and (told := difference_message(self._robot, torques, ask())):
            raise IntegrationError(
                f"{told}, so that steps become ever shorter; {REPEAT_HELP}, or fixed steps (step=)", t, y
            )

    def doubts(self, t: Array, states: Array, torques: Array) -> Iterator[Doubt]:
        """The first record where the law gives other torques (k, n) than it gave."""
        scale = float(np.nanmax(np.abs(torques), initial=0.0))
        for time, y, again in zip(t.tolist(), states[: len(t)], torques, strict=True):
            before, given = self._calls.get(time, (b"", again))
            if before == y.tobytes() and (told := difference_message(self._robot, given, again, scale)):
                yield Doubt(time, f"{told}; {REPEAT_HELP}")
                return


def difference_message(robot: Robot, one: Array, two: Array, scale: float = 0.0) -> str:
    """Return that two answers of a law differ, and where most; nothing if they do not."""
    apart = np.abs(one - two)
    if not (apart > REPEAT_TOLERANCE * max(scale, float(np.abs(one).max()))).any():
        return ""
    i = int(np.argmax(apart))
    joint = robot.joints[i]
    unit = "N" if joint.prismatic else "N m"
    return (
        f"the torque law gave {one[i]:.6g} and then {two[i]:.6g} {unit} for {shown(joint.name)} at the same time and "
        f"state: {NOT_REPEATABLE}"
    )
