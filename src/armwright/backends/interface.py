"""The contract of a backend: kernels, loops, rollouts and searches made from programs.

A backend makes each of these for one dtype. A kernel computes a program for every state of a batch. A loop runs the
steps of a recursion along chains of any length. A rollout integrates the derivative of a state in time, for many
rollouts at once, until events end them; a `Layout` tells which entries of the state count in its error, and which are
unit vectors, normalised after every step. A search solves inverse kinematics (`kinematics.search` defines it).

`interpreter` defines all of them; every other backend is tested against it. `BACKENDS` is the list of all backends.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  (before COMPILE_LOCK is registered, see there)
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
from armwright.draws import DrawnColumn, RolloutIndices
from armwright.errors import InputError, unknown
from armwright.graph.program import Program
from armwright.integrate.control import Gains
from armwright.integrate.tableaus import Steps
from armwright.layout import Layout
from armwright.registry import Registry


class Kernel(Protocol):
    """A compiled program or chain loop."""

    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result of one state."""

    @property
    def source(self) -> str:
        """The generated code."""

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        """Fill `out` (states, outputs) from arrays (states, entries); False if a result is not finite."""

    def series(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        """`run` for every time in turn, on arrays (times, states, entries) and `out` (times, states, outputs).

        An input of a state may be a result of the same state at an earlier time.
        """

    def single(self, fallback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of one state: arrays (entries,) in, a new array out.

        It passes arguments that it cannot handle to `fallback`, which must keep this kernel alive.
        """


class BasicKernel:
    """Base of kernels that compute a series by one run for each time."""

    def single(self, fallback: Callable[..., Any]) -> Callable[..., Any]:
        return fallback

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        raise NotImplementedError

    def series(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        finite = [self.run([x[k] for x in arrays], out[k], threads) for k in range(len(out))]
        return all(finite)


class Rollout(Protocol):
    """A compiled motion of many rollouts, of which `width` are computed together."""

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
        """The runtime parameters that are rows of p; None for all. The others are equal for all rollouts."""

    def with_per_rollout(self, mask: tuple[bool, ...]) -> Rollout:
        """Return a rollout in which only the runtime parameters of the mask differ; it may have more rows of p."""

    def max_rollouts(self, numbers: int) -> int:
        """Return the number of rollouts that fit in memory, each with so many numbers."""

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


def _interpreted_loop(chain: ChainLoop, tables: ChainTables, dtype: str) -> Kernel:
    return backend("python").loop(chain, tables, dtype)


def _interpreted_rollout(
    program: Program, steps: Steps, layout: Layout, events: EventProgram | None, gauge: Gauge | None, dtype: str
) -> Rollout:
    return backend("python").rollout(program, steps, layout, events, gauge, dtype)


@dataclass(frozen=True)
class Backend:
    """The functions that compile for one target; each takes the dtype, one of `dtypes`, as its last argument.

    Only `kernel` is required: loops and rollouts default to those of the interpreter.
    """

    kernel: Callable[[Program, str], Kernel]
    loop: Callable[[ChainLoop, ChainTables, str], Kernel] = _interpreted_loop
    rollout: Callable[[Program, Steps, Layout, EventProgram | None, Gauge | None, str], Rollout] = _interpreted_rollout
    dtypes: tuple[str, ...] = ("float64", "float32")
    solve_loop_size: int = 18
    """The number of coordinates from which systems of equations are solved in a loop, not in straight code.

    On a CPU the loop takes as long for a quadruped and compiles in half the time; for a humanoid it takes two thirds of
    the time and compiles in a quarter. For smaller robots straight code is up to 1.6 times as fast.
    """

    max_unrolled_joints: int | None = None
    """The number of joints up to which a chain has straight code; None for the default."""

    loop_sizes: Mapping[str, int] = field(default_factory=dict)
    """The number of joints from which a chain loop is faster than straight code, by problem."""

    device: Any = None
    """The module or object that accepts and returns the arrays of other packages on this device."""

    search: Callable[[Program, SearchSpace, SearchSettings, str], Search] | None = None
    """A compiled inverse-kinematics search; without it, `kinematics.search` calls kernels of single steps."""


class BackendLoader:
    """A backend given as an object, a function that returns it, or "module:NAME", imported when first used."""

    def __init__(self, name: str, source: Backend | Callable[[], Backend] | str) -> None:
        self.name, self.source = name, source
        self._backend: Backend | None = None

    def __call__(self) -> Backend:
        """Return the backend."""
        if self._backend is None:
            source = self.source
            if isinstance(source, str):
                module, _, attribute = source.partition(":")
                found = getattr(import_module(module), attribute, None)
                source = found if found is not None else self.source
            made = source if isinstance(source, Backend) else source() if callable(source) else source
            if not isinstance(made, Backend):
                raise InputError(f"backend {self.name!r} from {self.source!r} is {made!r}; expected a Backend")
            self._backend = made
        return self._backend


def _accept(name: str, entry: Any) -> BackendLoader:
    """Return the loader of a registered backend."""
    parts = entry.split(":") if isinstance(entry, str) else []
    named = len(parts) == 2 and all(part.isidentifier() for part in (*parts[0].split("."), parts[1]))
    if not (named or isinstance(entry, Backend) or callable(entry)):
        raise InputError(
            f'backend {name!r} is {entry!r}; expected a Backend, a function that returns one, or text "module:NAME"'
        )
    return BackendLoader(name, entry)


_BUILT_IN = {
    "cpu": "armwright.backends.llvm.backend:BACKEND",
    "cuda": "armwright.backends.cuda.backend:BACKEND",
    "python": "armwright.backends.interpreter:BACKEND",
}

BACKENDS = Registry("backend", {name: BackendLoader(name, place) for name, place in _BUILT_IN.items()}, _accept)
"""The backend of each target; its module is imported when something is compiled for it."""


def backend(target: str) -> Backend:
    """Return the backend of a target."""
    if not isinstance(target, str) or target not in BACKENDS:
        raise unknown("target", target, BACKENDS)
    with COMPILE_LOCK:
        return BACKENDS[target]()


COMPILE_LOCK = threading.RLock()
"""Held during compilation. A process that forks waits for it, as its child could not finish a compilation.

Compilation may log, so a fork must acquire this lock before that of the logging module: fork handlers run in the
reverse order of their registration. Modules with such handlers, as thread pools, are imported
first: one imported while a fork waits would release a lock that it has not acquired.
"""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=COMPILE_LOCK.acquire, after_in_parent=COMPILE_LOCK.release, after_in_child=COMPILE_LOCK.release
    )


# Loops over the joints of a chain

CHAIN_JOINTS = ("revolute", "prismatic")


@dataclass(frozen=True)
class ChainSweep:
    """One pass along the chain: step(carry, parameters, *inputs, *records of earlier sweeps) -> carry, record.

    `outward` passes go from the base to the tip. The last one has the result, one number, in place of a record.
    """

    outward: bool
    steps: Mapping[str, Program]
    carry: int
    record: int
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChainLoop:
    """Sweeps along a chain; `inputs` are the arrays that they read, with the number of entries per joint."""

    sweeps: tuple[ChainSweep, ...]
    inputs: Mapping[str, int]
    parameters: int

    def digest(self) -> str:
        """Return a name for exactly this computation."""
        steps = [f"{s.outward} {s.reads} {s.steps[kind].digest()}" for s in self.sweeps for kind in CHAIN_JOINTS]
        return "|".join([repr(self.inputs), *steps])


@dataclass(frozen=True)
class ChainTables:
    """One row of parameters per joint, the joint types (0 revolute, 1 prismatic), and the first carry of each sweep."""

    parameters: Array
    kinds: NDArray[np.uint8]
    starts: Array


# Motions of many rollouts

ROLLOUT_SCALARS = (
    *("t", "h", "previous_error", "rejected_last", "accepted", "rejected", "stop_reason", "event", "start_offset"),
)
"""The fields with one number for each rollout; `previous_error` and `rejected_last` are those of `control.Rule`.

`event` is zero until an event ends the rollout, then its number, from one on; a negative value disables events.
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
    """Return the numbers of `STEP_OPTIONS`; an unbounded step becomes 1e30 s."""
    values = {"rtol": rtol, "atol": atol, "longest": min(longest, 1e30), **vars(gains)}
    return np.array([values[name] for name in STEP_OPTIONS], dtype=dtype)


NOT_FINITE, STEP_TOO_SMALL, TOO_MANY_STEPS, EVENT_NOT_FINITE, ENDED_BY_EVENT = 1, 2, 3, 4, 5
"""The values of `stop_reason`. A rollout that an event ended keeps the state of the event."""


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

    Of the first outputs the `largest` values are kept, of the next the `integrals` over time (by trapezoids from record
    to record), of the others the last values. `within` is a program of the start and the end of a step (t, y, p, t, y):
    the largest values over all steps follow in the totals.
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


# Searches for positions


@dataclass(frozen=True)
class SearchSettings:
    """The numbers of an inverse-kinematics search; `kinematics.search` has their values and meaning."""

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
class SearchSpace:
    """The limits of each entry of q, which entries are periodic, and the slices of q that are unit vectors.

    `length` converts the position errors of the program to metres.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    periodic: tuple[bool, ...]
    unit_vectors: tuple[tuple[int, int], ...]
    length: float


class SearchResult(NamedTuple):
    """Positions (targets, nq), their errors (targets, 2) in metres and radians, and a flag `solved` (targets,).

    `unsolved` counts targets without a solution; `invalid` tells that an input is no pose or no position.
    """

    q: Any
    error: Any
    solved: Any
    unsolved: int
    invalid: bool


class Search(Protocol):
    """A compiled search around a program of one step: (q, poses and damping) -> (q, squared errors)."""

    def table(self, q: Array, far: Array) -> Any:
        """Return the table of starts for `run`: positions (starts, nq) and their features (starts, 1 + 12 frames).

        The distance of a start from poses is its first feature minus the product of the others with those of the poses.
        """

    def run(self, T: Any, q0: Any, table: Any, tolerance: float, attempts: int) -> SearchResult:
        """Search for poses T (targets, 16 frames), from q0 (targets, nq) unless it is None, then from the table."""
