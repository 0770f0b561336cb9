"""Results of an integration, and the errors that end one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armwright.algebra import Array
from armwright.errors import ArmwrightError


@dataclass
class Statistics:
    """Steps accepted and rejected (None if unknown), evaluations of the derivative and its Jacobian, events included.

    A method counts in one of these, and a solution has a copy.
    """

    accepted: int = 0
    rejected: int | None = 0
    evaluations: int = 0
    jacobians: int = 0


@dataclass(frozen=True, eq=False)
class Occurrence:
    """An event that happened: its name, its time and the state."""

    name: str
    t: Any
    y: Array


@dataclass(frozen=True, eq=False)
class Solution:
    """The times t, shape (k,), and the states y, shape (k, m).

    `status` is "finished", "event" if terminal events (`ended_by`) ended it, "stopped" if `on_step` did, or "failed" in
    an IntegrationError. If an event ended it, the last state is that of the event.
    """

    t: Array
    y: Array
    statistics: Statistics
    events: tuple[Occurrence, ...]
    status: str
    message: str
    ended_by: tuple[str, ...] = ()

    def __repr__(self) -> str:
        span = f"t = {self.t[0]} to {self.t[-1]}" if len(self.t) else "empty"
        return f"<solution, {span}, y {self.y.shape}, {self.statistics.accepted} steps, {self.message}>"


class Stopped(KeyboardInterrupt):
    """Ctrl-C during an integration; `solution` has the results so far."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.message)
        self.solution = solution


class IntegrationError(ArmwrightError, ArithmeticError):
    """The integration cannot continue from the state `y` at `t`; `solution` has the results so far.

    `reason` is "not finite", "too small" (a step), "too many" (steps), or empty.
    """

    def __init__(self, message: str, t: Any, y: Array, reason: str = "") -> None:
        super().__init__(message)
        self.t, self.y, self.reason = t, y, reason
        self.solution: Solution | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return all attributes for another process."""
        return IntegrationError, (*self.args, self.t, self.y, self.reason), {"solution": self.solution}
