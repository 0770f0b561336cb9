"""The contract of a backend: it makes kernels, loops, rollouts and searches of programs.

Each is made for one dtype. A kernel computes a program for every state of a batch. A loop runs the steps of a recursion
along chains of any length. A rollout (`rollout_interface`) integrates many states in time, until events end them; a
`Layout` has the entries that count in the error, and the unit vectors that are normalised after every step. A search
solves inverse kinematics (`kinematics.search`).

`interpreter` is the reference against which other backends are tested. `BACKENDS` lists all backends.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  (its fork handlers come before those of COMPILE_LOCK)
import logging  # noqa: F401  (likewise)
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from armwright.algebra import Array
from armwright.backends.rollout_interface import EventProgram, Gauge, Rollout
from armwright.errors import InputError, unknown
from armwright.graph.program import Program
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
        """Call `run` for each time in turn, on arrays (times, states, entries) and `out` (times, states, outputs).

        Inputs of a state may be views of its results at earlier times.
        """

    def single(self, fallback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of one state: arrays (entries,) in, a new array out.

        It passes arguments that it cannot handle to `fallback`, which must keep this kernel alive.
        """


class BasicKernel:
    """Base of kernels that compute a series by calling `run` for each time."""

    def single(self, fallback: Callable[..., Any]) -> Callable[..., Any]:
        return fallback

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        raise NotImplementedError

    def series(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        finite = [self.run([x[k] for x in arrays], out[k], threads) for k in range(len(out))]
        return all(finite)


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
    """The number of coordinates from which equations are solved in a loop instead of straight code.

    On a CPU, a loop is as fast for a quadruped and compiles twice as fast; for a humanoid it is 1.5 times as fast and
    compiles four times as fast. For smaller robots, straight code is up to 1.6 times as fast.
    """

    max_unrolled_joints: int | None = None
    """The largest number of joints of a chain in straight code; None for the default."""

    loop_sizes: Mapping[str, int] = field(default_factory=dict)
    """The number of joints from which a chain loop is used, by problem."""

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
                entry = getattr(import_module(module), attribute, None)
                source = entry if entry is not None else self.source
            result = source if isinstance(source, Backend) else source() if callable(source) else source
            if not isinstance(result, Backend):
                raise InputError(f"backend {self.name!r} from {self.source!r} is {result!r}; expected a Backend")
            self._backend = result
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
"""Held during compilation. A fork waits for it, as the child could not finish a compilation.

Compilation may log, so a fork must acquire this lock before that of the logging module: fork handlers run in the
reverse order of their registration. Modules with such handlers are imported above: one imported while a fork waits
would release a lock that it has not acquired.
"""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=COMPILE_LOCK.acquire, after_in_parent=COMPILE_LOCK.release, after_in_child=COMPILE_LOCK.release
    )


# Loops over the joints of a chain

CHAIN_JOINTS = ("revolute", "prismatic")


@dataclass(frozen=True)
class ChainSweep:
    """A pass along the chain: step(carry, parameters, *inputs, *records of earlier sweeps) -> carry, record.

    An `outward` sweep goes from the base to the tip. The record of the last sweep is the result, one number.
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
        """Return a digest of the computation."""
        steps = [f"{s.outward} {s.reads} {s.steps[kind].digest()}" for s in self.sweeps for kind in CHAIN_JOINTS]
        return "|".join([repr(self.inputs), *steps])


@dataclass(frozen=True)
class ChainTables:
    """One row of parameters per joint, the joint types (0 revolute, 1 prismatic), and the first carry of each sweep."""

    parameters: Array
    kinds: NDArray[np.uint8]
    starts: Array


# Searches for positions


@dataclass(frozen=True)
class SearchSettings:
    """The constants of an inverse-kinematics search, explained in `kinematics.search`."""

    check_interval: int
    grace_steps: int
    max_steps: int
    stall_ratio: float
    descent_starts: int
    descent_steps: int
    damping: float
    damping_decrease: float
    damping_increase: float
    rotation_tolerance: float


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

    `unsolved` counts targets without a solution; `invalid` is True if an input is no pose or no position.
    """

    q: Any
    error: Any
    solved: Any
    unsolved: int
    invalid: bool


class Search(Protocol):
    """A compiled search that repeats a program of one step: (q, poses and damping) -> (q, squared errors)."""

    def table(self, q: Array, features: Array) -> Any:
        """Return the table of starts for `run`: positions (starts, nq) and their features (starts, 1 + 12 frames).

        The distance of a start from poses is its first feature minus the product of the others with those of the poses.
        """

    def run(self, T: Any, q0: Any, table: Any, tolerance: float, attempts: int) -> SearchResult:
        """Search for poses T (targets, 16 frames), from q0 (targets, nq) unless it is None, then from the table."""
