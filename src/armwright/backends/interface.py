"""What a backend is: whatever turns programs into something that runs.

A backend makes three things, each for a dtype: a kernel (a program, computed for every state of a batch), a loop (the
steps of a recursion, run along chains of any length) and a rollout (the derivative of a state, integrated in time for
many rollouts at once). The interpreter (`interpreter`) is the definition of all three; every other backend is tested
against it. `BACKENDS` is the one list of them: a new one is an entry here and a module that has a `BACKEND`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from armwright.errors import unknown
from armwright.graph.program import Program

BACKENDS = {"cpu": "armwright.backends.llvm.backend", "python": "armwright.backends.interpreter"}
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

    def run(self, arrays: Sequence[NDArray[Any]], out: NDArray[Any], threads: int = 1) -> bool:
        """Fill `out` (states, outputs) from arrays (states, entries); False if a result is not finite."""

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """A function of one state, arrays (entries,) in and a new array out; what it cannot take it hands to `ask`.

        It holds `ask` and nothing else: `ask` must keep this kernel alive.
        """


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
    def run(self, fields: Mapping[str, NDArray[Any] | int], rollouts: int, threads: int = 1) -> None:
        """Go on to the times of the records; arrays are changed in place (see `FIELDS`)."""


class Backend(Protocol):
    """What makes them."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The kinds of numbers it computes with."""

    def kernel(self, program: Program, dtype: str) -> Kernel: ...
    def loop(self, rolled: Rolled, tables: Tables, dtype: str) -> Kernel: ...
    def rollout(self, program: Program, steps: Steps, controlled: int, dtype: str) -> Rollout: ...


def backend(target: str) -> Backend:
    """The backend of a target."""
    if not isinstance(target, str) or target not in BACKENDS:
        raise unknown("target", target, BACKENDS)
    made: Backend = import_module(BACKENDS[target]).BACKEND
    return made


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

    parameters: NDArray[Any]
    kinds: NDArray[np.uint8]
    starts: NDArray[Any]


# Motions of many rollouts

LANES = ("t", "h", "previous", "accepted", "rejected", "state")
"""What each rollout has one number of."""

FIELDS = ("y", "p", *LANES, "records", "times", "count", "stride", "substeps", "limit", "options")
"""What a rollout is given: arrays, and the whole numbers count, stride and limit."""

OPTIONS = ("rtol", "atol", "longest", "safety", "alpha", "beta", "shrink", "grow")
"""What the options hold, one number each."""

BROKEN, TOO_SMALL, TOO_MANY = 1, 2, 3
"""Why a rollout cannot go on, in `state`: a derivative is not finite; a step below rounding; too many steps."""


@dataclass(frozen=True)
class Steps:
    """An explicit Runge-Kutta method. `error` is None for fixed steps; `error2` is for two estimators (DOP853)."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    error: tuple[float, ...] | None = None
    error2: tuple[float, ...] | None = None
    fsal: bool = False

    @property
    def stages(self) -> int:
        """How many derivatives a step takes; with fixed steps none that only the error needs."""
        if self.error is not None:
            return len(self.b)
        return max(j for j, x in enumerate(self.b) if x) + 1
