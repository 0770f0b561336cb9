"""Results of an integration, and the errors that end one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armwright.algebra import Array
from armwright.errors import ArmwrightError


@dataclass
class Statistics:
    """Steps accepted and rejected (None if the method does not tell), evaluations of the derivative and its Jacobian.

    What locating events took is included. A method counts in one of these, and a solution has a copy.
    """

    accepted: int = 0
    rejected: int | None = 0
    evaluations: int = 0
    jacobians: int = 0


@dataclass(frozen=True, eq=False)
class Occurrence:
    """An event that happened: which one, when, and the state."""

    name: str
    t: Any
    y: Array


@dataclass(frozen=True, eq=False)
class Solution:
    """The times t, shape (k,), and the states y, shape (k, m).

    `status` is "finished", "event" if a terminal event ended it, "stopped" if `on_step` did, "failed" if it is what
    an IntegrationError carries. The last state of a run that an event ended is that of the event; `ended_by` are the
    names of those that did.
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
    """Ctrl-C during an integration; `solution` is what was computed until then."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.message)
        self.solution = solution


class IntegrationError(ArmwrightError, ArithmeticError):
    """The integration cannot go on. `t` and `y` say where, `solution` is what was computed until then.

    `reason` is "not finite", "too small" (a step) or "too many" (steps), where it is one of these.
    """

    def __init__(self, message: str, t: Any, y: Array, reason: str = "") -> None:
        super().__init__(message)
        self.t, self.y, self.reason = t, y, reason
        self.solution: Solution | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """So that it reaches another process whole."""
        return IntegrationError, (*self.args, self.t, self.y, self.reason), {"solution": self.solution}
