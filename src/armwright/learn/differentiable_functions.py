"""What PyTorch and JAX differentiate: functions of arrays, and gradients pulled back through them, by compiled code.

A function takes arrays (..., entries) of one batch shape and gives others. Of a cost that has a gradient by these,
`pulled` gives the one by the arguments. Gradients by quaternions in q, or by cosine and sine, are along the unit
sphere: those of a function that does not see their length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np

from armwright.algebra import Array, dot
from armwright.arrays import check_finite, checked_array, common_shape, package, state_rows
from armwright.backends.interface import Kernel, backend
from armwright.errors import ArmwrightError, InputError
from armwright.formulations.problem import ARGUMENT_MEANINGS, problem_of
from armwright.function import compile as compile_function
from armwright.graph.angles import written_out
from armwright.graph.differentiate import pullback
from armwright.graph.expression import Operand
from armwright.graph.program import Program
from armwright.lazy import cached_property
from armwright.robot import Robot
from armwright.trace.cheapest import cheapest
from armwright.trace.evaluation_strategy import has_straight_code, too_long_message
from armwright.trace.tracing import TraceRequest

RESULTS = {"inverse_dynamics": "tau", "forward_dynamics": "qdd"}
"""What each problem that has a gradient gives."""

MEANINGS = {**ARGUMENT_MEANINGS, "q0": "where rollouts start", "qd0": "how fast rollouts start"}
"""Of the arguments of all functions."""

SECOND = "{} has no second derivatives; expected to be differentiated once"
"""The error where a gradient is differentiated."""

FORWARD = "{} has derivatives by reverse mode only; expected grad, jacrev or vmap of these, not jvp or jacfwd"
"""The error where a derivative is carried forward."""


class Code(NamedTuple):
    """The code for who has memory already: value(*arguments, *held, *last), back(*arguments, *held, seeds, *last)."""

    value: Kernel
    back: Callable[[], Kernel]


class Differentiable(Protocol):
    """A function of arrays, and its gradient."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def target(self) -> str: ...
    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Of one state, by argument."""

    @property
    def results(self) -> Mapping[str, int]:
        """The entries of each result."""

    @property
    def masked(self) -> bool:
        """Whether a last result says which states are good; it comes behind the seeds on the way back."""

    @property
    def held(self) -> Sequence[Array]:
        """Arrays (..., entries) that stand beside the arguments; and those that come last."""

    @property
    def last(self) -> Sequence[Array]: ...
    def value(self, arrays: Sequence[Array], threads: int) -> tuple[Array, ...]: ...
    def pulled(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]: ...


class Compiled(Differentiable, Protocol):
    """One whose kernels can be had."""

    @property
    def code(self) -> Code: ...
    def check(self, arrays: Sequence[Array]) -> None:
        """Raise if the value of these arguments, held and last ones too, each (states, entries), is not finite."""


def batch_of(function: Differentiable, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch shape of arguments of these shapes; an error says which does not fit."""
    number = np.zeros((), function.dtype)
    kept = {
        name: (checked_array(name, np.broadcast_to(number, shape), own, function.dtype, MEANINGS[name]), len(own))
        for (name, own), shape in zip(function.shapes.items(), shapes.values(), strict=True)
    }
    return common_shape(kept | {f"vary {k}": (array, 1) for k, array in enumerate(function.held)})


def parted(joined: Any, sizes: Sequence[int]) -> tuple[Any, ...]:
    """Entries (..., sum of sizes) as arrays of their own; what comes behind them is left."""
    return tuple(joined[..., end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True))


class Dynamics:
    """Inverse or forward dynamics of a robot."""

    held: Sequence[Array] = ()
    last: Sequence[Array] = ()
    masked = False

    def __init__(self, robot: Robot, problem: str, dtype: str, target: str = "cpu") -> None:
        self.robot, self.problem, self.dtype, self.name = robot, problem, np.dtype(dtype), f"{problem} of {robot.name}"
        self.target, self.function = target, compile_function(robot, problem, target=target, dtype=dtype)
        names = problem_of(problem).arguments
        self.shapes = {name: (robot.nq if name == "q" else robot.n,) for name in names}
        self.results = {RESULTS[problem]: robot.n}

    def value(self, arrays: Sequence[Array], threads: int) -> tuple[Array, ...]:
        return (self.function(*arrays, threads=threads if arrays[0].ndim > 1 else None),)

    def pulled(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        batch, back = arrays[0].shape[:-1], self._back
        states = math.prod(batch)
        found = package(*arrays).empty((states, *back.shape), self.dtype)
        plain = (
            x.reshape(states, -1) if x.flags.c_contiguous and states else state_rows(x, batch, x.shape[-1:])
            for x in (*arrays, *seeds)
        )
        if not back.run(list(plain), found, threads):
            raise self._failure(arrays, seeds)
        return parted(found.reshape(*batch, *back.shape), [size for (size,) in self.shapes.values()])

    def _failure(self, arrays: Sequence[Array], seeds: Sequence[Array]) -> ArmwrightError:
        """Why there is no gradient; raises where there is no value."""
        check_seeds(self.name, self.results, seeds)
        self.check(arrays)
        return overflow(self)

    def check(self, arrays: Sequence[Array]) -> None:
        self.value(arrays, 1)

    @property
    def code(self) -> Code:
        self._check_straight(f"{self.problem} is straight code")
        return Code(self.function.kernel, lambda: self._back)

    def _check_straight(self, what: str) -> None:
        if not has_straight_code(self.robot):
            raise InputError(too_long_message(self.robot, what))

    @cached_property
    def _back(self) -> Kernel:
        self._check_straight("gradients are compiled")
        program = written_out(cheapest(TraceRequest(self.problem, self.robot)).program)
        return backend(self.target).kernel(_along_units(pullback(program)), self.dtype.name)


def _along_units(back: Program) -> Program:
    """Gradients by the entries of unit vectors without the part that would make them longer."""
    outputs = list[Operand](back.outputs)
    starts = np.cumsum([0, *back.sizes])
    for argument, first, last in back.units:
        inputs = back.arguments[argument][1][first : last + 1]
        own = slice(int(starts[argument]) + first, int(starts[argument]) + last + 1)
        longer = dot(outputs[own], inputs)
        outputs[own] = [g - x * longer for g, x in zip(outputs[own], inputs, strict=True)]
    return replace(back, outputs=tuple(outputs))


def checked_robot(robot: object, what: str) -> Robot:
    if not isinstance(robot, Robot):
        raise InputError(f"{what} got {type(robot).__name__}; expected a Robot, such as armwright.load('panda')")
    return robot


def overflow(function: Differentiable) -> InputError:
    return InputError(f"the gradient of {function.name} overflows; check the size of the input")


def check_seeds(of: str, results: Iterable[str], seeds: Sequence[Array]) -> None:
    """Refuse a gradient that comes back to results and is not finite."""
    for name, seed in zip(results, seeds, strict=True):
        check_finite(f"{of}: the gradient that comes back to {name}", seed)
