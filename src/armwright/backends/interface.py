"""What a backend is: whatever turns programs into something that runs.

A backend makes three things, each for a dtype: a kernel (a program, computed for every state of a batch), a loop (the
steps of a recursion, run along chains of any length) and a rollout (the derivative of a state, integrated in time for
many rollouts at once, until events end them; a layout says which entries of the state count in its error and which are
quaternions, that every step leaves at unit length and whose derivative is as many times as long as they are). The
interpreter (`interpreter`) is the definition of all three; every other backend is tested against it. One may make whole
searches of inverse kinematics as well, which `kinematics.search` defines. `BACKENDS` is the one list of backends: a new
one is an entry here and a module that has a `BACKEND`.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  (before MAKING is registered, see there)
import logging  # noqa: F401  (as well)
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import Array
from armwright.draws import Drawn, Which
from armwright.errors import unknown
from armwright.graph.program import Program
from armwright.integrate.control import Gains
from armwright.integrate.tableaus import Steps
from armwright.layout import Layout

BACKENDS = {
    "cpu": "armwright.backends.llvm.backend",
    "cuda": "armwright.backends.cuda.backend",
    "python": "armwright.backends.interpreter",
}
"""The module of each target; one is imported when something is compiled for it."""


class Kernel(Protocol):
    """A program, or sweeps along a chain, ready to run."""

    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result of one state."""

    @property
    def source(self) -> str:
        """The generated code."""

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        """Fill `out` (states, outputs) from arrays (states, entries); False if a result is not finite."""

    def series(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        """`run` so many times, on arrays (times, states, entries) and `out` (times, states, outputs), in this order.

        What a state is given may be what was found for that state, and no other, at an earlier time.
        """

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """A function of one state, arrays (entries,) in and a new array out; what it cannot take it hands to `ask`.

        It holds `ask` and nothing else: `ask` must keep this kernel alive.
        """


class Repeated:
    """Base of kernels that have no faster way to go through a series."""

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        raise NotImplementedError

    def series(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        finite = [self.run([x[k] for x in arrays], out[k], threads) for k in range(len(out))]
        return all(finite)


class Rollout(Protocol):
    """The motion of many rollouts, ready to run. `width` is how many of them go together."""

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
        """The module whose arrays it is given: NumPy, or one alike where it computes elsewhere."""

    @property
    def own(self) -> tuple[bool, ...] | None:
        """Which of the open numbers are rows of p; None for all. The others are the same for all rollouts."""

    def sharing(self, own: tuple[bool, ...]) -> Rollout:
        """The same for rollouts that have only some open numbers for their own, if that is worth anything."""

    def most(self, numbers: int) -> int:
        """How many rollouts there is memory for at a time, if each takes so many numbers."""

    def draw(self, out: Any, drawn: Drawn, which: Which, turns: Array) -> None:
        """Fill `out` (turns, rollouts) with what is drawn for each of them at its turns, (turns, 1) or one for each."""

    def run(self, fields: Mapping[str, Any], rollouts: int, threads: int = 1) -> None:
        """Go on to the times of the records; arrays are changed in place (see `FIELDS`)."""


class Near:
    """Base of rollouts that are computed in the memory of this process."""

    arrays: Any = np
    own: tuple[bool, ...] | None = None

    def sharing(self, own: tuple[bool, ...]) -> Self:
        del own
        return self

    def most(self, numbers: int) -> int:
        del numbers
        return sys.maxsize

    @staticmethod
    def draw(out: Array, drawn: Drawn, which: Which, turns: Array) -> None:
        out[...] = drawn.numbers(which, out.shape[1], turns)


@dataclass(frozen=True)
class Backend:
    """What makes them, each for one of the kinds of numbers it computes with, `dtypes`, which it is given last."""

    kernel: Callable[[Program, str], Kernel]
    loop: Callable[[Rolled, Tables, str], Kernel]
    rollout: Callable[[Program, Steps, Layout, Watch | None, Gauge | None, str], Rollout]
    dtypes: tuple[str, ...] = ("float64", "float32")
    solves: int = 18
    """Coordinates from which on systems of equations are solved in a loop.

    On a CPU that takes as long for a quadruped as straight code does and compiles in half the time; of a humanoid two
    thirds as long, in a quarter of the time. Of smaller robots straight code is up to 1.6 times as fast.
    """

    unrolled: int | None = None
    """Joints of the longest chain whose problems are straight code, if not as many as anywhere."""

    slower: Mapping[str, int] = field(default_factory=dict)
    """Problems whose straight code is slower, from so many joints on, than a loop along a chain."""

    card: Any = None
    """What takes arrays of other packages that lie where it computes, and gives them back."""

    search: Callable[[Program, Sought, Rules, str], Search] | None = None
    """Whole searches for positions; without, `kinematics.search` goes on by kernels of single steps."""


def backend(target: str) -> Backend:
    """The backend of a target."""
    if not isinstance(target, str) or target not in BACKENDS:
        raise unknown("target", target, BACKENDS)
    with MAKING:
        made: Backend = import_module(BACKENDS[target]).BACKEND
    return made


MAKING = threading.RLock()
"""Held while something is made ready to run. A process that forks waits for it: its child could not finish that.

What is made may be logged, so who forks must have this before the lock of the logging module, which waits likewise: of
two, the one that registered later is asked first. And no module may register while somebody waits for this one, as that
of thread pools would if it were imported then: after the fork it would release what it has not acquired.
"""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=MAKING.acquire, after_in_parent=MAKING.release, after_in_child=MAKING.release)


# Loops over the joints of a chain

KINDS = ("revolute", "prismatic")


@dataclass(frozen=True)
class Sweep:
    """One way along the chain: step(carry, parameters, *inputs, *records of earlier sweeps) -> carry, record.

    The last sweep has its result in place of a record: one number.
    """

    outward: bool
    steps: Mapping[str, Program]
    carry: int
    record: int
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rolled:
    """Sweeps over a chain; `inputs` are the arrays they read, with the entries each has per joint."""

    sweeps: tuple[Sweep, ...]
    inputs: Mapping[str, int]
    parameters: int

    def digest(self) -> str:
        """A name for exactly this computation."""
        steps = [f"{s.outward} {s.reads} {s.steps[kind].digest()}" for s in self.sweeps for kind in KINDS]
        return "|".join([repr(self.inputs), *steps])


@dataclass(frozen=True)
class Tables:
    """One row of parameters per joint, its kind (0 revolute, 1 prismatic), and what each sweep starts with."""

    parameters: Array
    kinds: NDArray[np.uint8]
    starts: Array


# Motions of many rollouts

LANES = ("t", "h", "previous", "held", "accepted", "rejected", "state", "event", "late")
"""What each rollout has one number of: `previous` and `held` are the memory of `integrate.control.Rule`.

`event` is zero until an event ends the rollout, which it then names, from one on; below zero nothing is watched.
`late` is how much later than `times` say its records are.
"""

WHOLE = ("count", "stride", "rows", "limit")
FIELDS = ("y", "p", *LANES, "records", "totals", "times", *WHOLE, "substeps", "options", "stop")
"""What a rollout is given: arrays, and the whole numbers in `WHOLE`.

y (entries, stride), p (parameters, stride) and the lanes (stride,) are where the rollouts are, and are changed in
place; records (count, entries, stride) are filled at `times` (count,), which are reached in `substeps` (count,) equal
steps, or in as many as the error estimate needs, at most `limit` from one record to the next. Records are `rows` rows
apart: `entries`, or 0 where each takes the place of the one before. totals (gauges, stride) are what a `Gauge` has
found so far. Once `stop` (1,), a whole number that another thread may write, is not zero, every rollout stays where it
is after the step it is in: y and t say where, and later records are not written. Where a rollout has only some open
numbers for its `own`, p has no rows but these, and `shared` has the others.
"""

OPTIONS = ("rtol", "atol", "longest", "safety", "alpha", "beta", "retry", "shrink", "grow", "hold")
"""What the options hold, one number each: tolerances, the longest step, and `integrate.control.Gains`."""


def options_of(gains: Gains, rtol: float, atol: float, longest: float, dtype: str) -> Array:
    """The numbers of `OPTIONS`; a step without bound is one that no motion lasts."""
    given = {"rtol": rtol, "atol": atol, "longest": min(longest, 1e30), **vars(gains)}
    return np.array([given[name] for name in OPTIONS], dtype=dtype)


BROKEN, TOO_SMALL, TOO_MANY, UNSEEN, ENDED = 1, 2, 3, 4, 5
"""Why a rollout cannot go on, in `state`: a derivative is not finite; a step below rounding; too many steps; an event
that is not a number. Or it has been ended by an event, and stays where that was found."""


class Watch(NamedTuple):
    """Events: a program with as many outputs, of what the derivative is of, and whether each happens where its output
    crosses zero upwards (1), downwards (-1) or either way (0)."""

    program: Program
    directions: tuple[int, ...]

    def digest(self) -> str:
        return f"{self.program.digest()}|{self.directions}"


class Gauge(NamedTuple):
    """What is measured where a stretch begins and at every record: a program of what the derivative is of.

    Of its first outputs the `largest` are kept, of the next `integrals` over time from record to record (trapezoids),
    of all others the last. Of those of `within`, a program of the start and the end of a step (t, y, p, t, y), the
    largest of all steps are kept, in totals after the others.
    """

    program: Program
    largest: int
    integrals: int
    within: Program | None = None

    @property
    def at_records(self) -> int:
        """How many numbers are looked at at records."""
        return len(self.program.outputs)

    @property
    def in_steps(self) -> int:
        """How many numbers are looked at in every step."""
        return 0 if self.within is None else len(self.within.outputs)

    @property
    def totals(self) -> int:
        """How many numbers are kept."""
        return self.at_records + self.in_steps

    def digest(self) -> str:
        within = "" if self.within is None else f"|{self.within.digest()}"
        return f"{self.program.digest()}|{self.largest}|{self.integrals}{within}"


# Searches for positions


@dataclass(frozen=True)
class Rules:
    """How positions are searched for: `kinematics.search` has the numbers, and says what they mean."""

    steps: int
    undisturbed: int
    longest: int
    stuck: float
    approaches: int
    descent: int
    damping: float
    less: float
    more: float
    rotation: float


@dataclass(frozen=True)
class Sought:
    """What is known of each entry of q: its limits, whether whole turns change nothing, and which are quaternions.

    `length` makes metres of the errors of positions.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    turning: tuple[bool, ...]
    unit_vectors: tuple[tuple[int, int], ...]
    length: float


class Hits(NamedTuple):
    """Positions (targets, nq), their errors (targets, 2) in metres and radians, and which are solutions (targets,).

    And how many are not, and whether some of what was given is no pose, or no position.
    """

    q: Any
    error: Any
    solved: Any
    missed: int
    wrong: bool


class Search(Protocol):
    """Whole searches, by a program of one step: of q and `wanted`, poses and the damping, to q and squared errors."""

    def table(self, q: Array, far: Array) -> Any:
        """Positions (starts, nq) to start from, and (starts, 1 + 12 frames) by which they are chosen, for `run`.

        How far a start is from poses is the first number less the product of the others with those of the poses.
        """

    def run(self, T: Any, q0: Any, table: Any, tolerance: float, attempts: int) -> Hits:
        """For poses T (targets, 16 frames), from q0 (targets, nq), if it is not None, and then from the table."""
