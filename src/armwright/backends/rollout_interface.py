"""The contract of rollouts: their arrays, step options, stop reasons, events and gauges."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from armwright.algebra import Array
from armwright.draws import DrawnColumn, RolloutIndices
from armwright.graph.program import Program
from armwright.integrate.control import Gains

ROLLOUT_SCALARS = (
    *("t", "h", "previous_error", "rejected_last", "accepted", "rejected", "stop_reason", "event", "start_offset"),
)
"""The fields with one number for each rollout; `previous_error` and `rejected_last` are those of `control.Rule`.

`event` is zero until an event ends the rollout, then the number of that event, from 1; below zero, events are off.
`start_offset` is added to the `times` of the records.
"""

INTEGER_FIELDS = ("count", "stride", "rows", "limit")
ROLLOUT_FIELDS = (
    "y",
    "p",
    *ROLLOUT_SCALARS,
    "records",
    "totals",
    "times",
    *INTEGER_FIELDS,
    "substeps",
    "options",
    "stop",
)
"""The fields of a rollout: arrays, and the integers of `INTEGER_FIELDS`.

y (entries, stride), p (parameters, stride) and the scalars (stride,) are the current states, changed in place. records
(count, entries, stride) are filled at `times` (count,). Each is reached in `substeps` (count,) equal steps, or in as
many as the error estimate needs, at most `limit`. Records are `rows` rows apart: `entries`, or 0 to overwrite one
record. totals (gauges, stride) are the values of a `Gauge`. Another thread may set the integer `stop` (1,): every
rollout then stops after its current step, with y and t as they are, and writes no further record. p has only the
parameters in `per_rollout`, if the rollout has such a mask; `shared` has the others.
"""

STEP_OPTIONS = ("rtol", "atol", "longest", "safety", "alpha", "beta", "retry", "shrink", "grow", "hold")
"""The numbers in `options`: tolerances, the longest step, and `integrate.control.Gains`."""


def step_options(gains: Gains, rtol: float, atol: float, longest: float, dtype: str) -> Array:
    """Return the numbers of `STEP_OPTIONS`; an infinite `longest` becomes 1e30 s."""
    values = {"rtol": rtol, "atol": atol, "longest": min(longest, 1e30), **vars(gains)}
    return np.array([values[name] for name in STEP_OPTIONS], dtype=dtype)


NOT_FINITE, STEP_TOO_SMALL, TOO_MANY_STEPS, EVENT_NOT_FINITE, ENDED_BY_EVENT = 1, 2, 3, 4, 5
"""The values of `stop_reason`. A rollout ended by an event has the state at the event."""


class EventProgram(NamedTuple):
    """A program of the arguments of the derivative with one output for each event.

    An event happens where its output crosses zero upwards (1), downwards (-1) or either way (0).
    """

    program: Program
    directions: tuple[int, ...]

    def digest(self) -> str:
        """Return a name for exactly these events."""
        return f"{self.program.digest()}|{self.directions}"


class Gauge(NamedTuple):
    """Measures of a motion: a program of the arguments of the derivative, evaluated at the start and at every record.

    The totals are the largest values of the first `largest` outputs, the time integrals of the next `integrals` outputs
    (trapezoids between records), and the last values of the others. The largest values over all steps of `within`, a
    program of start and end of a step (t, y, p, t, y), follow.
    """

    program: Program
    largest: int
    integrals: int
    within: Program | None = None

    @property
    def at_records(self) -> int:
        """The number of outputs evaluated at records."""
        return len(self.program.outputs)

    @property
    def in_steps(self) -> int:
        """The number of outputs evaluated in every step."""
        return 0 if self.within is None else len(self.within.outputs)

    @property
    def totals(self) -> int:
        """The number of values kept."""
        return self.at_records + self.in_steps

    def digest(self) -> str:
        """Return a name for exactly these measures."""
        within = "" if self.within is None else f"|{self.within.digest()}"
        return f"{self.program.digest()}|{self.largest}|{self.integrals}{within}"


class Rollout(Protocol):
    """Compiled integration of many rollouts, of which `width` are computed together."""

    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def width(self) -> int: ...
    @property
    def entries(self) -> int: ...
    @property
    def source(self) -> str: ...
    @property
    def arrays(self) -> Any:
        """The module of its arrays: NumPy, or CuPy for a GPU."""

    @property
    def per_rollout(self) -> tuple[bool, ...] | None:
        """A mask of the runtime parameters that are rows of p, None for all; the others are equal for all rollouts."""

    def with_per_rollout(self, mask: tuple[bool, ...]) -> Rollout:
        """Return a rollout in which at least the masked runtime parameters can differ between rollouts."""

    def max_rollouts(self, numbers: int) -> int:
        """Return the number of rollouts that fit in memory if each has so many numbers."""

    def draw(self, out: Any, drawn: DrawnColumn, which: RolloutIndices, instants: Array) -> None:
        """Fill `out` (instants, rollouts) with random numbers; instants are (instants, 1) or (instants, rollouts)."""

    def run(self, fields: Mapping[str, Any], rollouts: int, threads: int = 1) -> None:
        """Integrate to the times of the records, changing the arrays in place (see `ROLLOUT_FIELDS`)."""


class HostRollout:
    """Base of rollouts that use the memory of this process."""

    arrays: Any = np
    per_rollout: tuple[bool, ...] | None = None

    def with_per_rollout(self, mask: tuple[bool, ...]) -> Self:
        del mask
        return self

    def max_rollouts(self, numbers: int) -> int:
        del numbers
        return sys.maxsize

    @staticmethod
    def draw(out: Array, drawn: DrawnColumn, which: RolloutIndices, instants: Array) -> None:
        out[...] = drawn.numbers(which, out.shape[1], instants)
