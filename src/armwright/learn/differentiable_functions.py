"""Functions of arrays that PyTorch and JAX differentiate, with values and gradients by compiled code.

A function takes arrays (..., entries) of one batch shape and returns others. `vjp` (vector-Jacobian
product) takes the gradient of a cost by the results and returns the gradient by the arguments. Gradients by quaternions
in q, or by cosine and sine, are tangent to the unit sphere: the function does not depend on their length.
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
from armwright.graph.angles import expand_sines
from armwright.graph.differentiate import pullback
from armwright.graph.expression import Operand
from armwright.graph.program import Program
from armwright.lazy import cached_property
from armwright.robot import Robot
from armwright.trace.cheapest import cheapest
from armwright.trace.evaluation_strategy import has_straight_code, too_long_message
from armwright.trace.tracing import TraceRequest

RESULT_NAMES = {"inverse_dynamics": "tau", "forward_dynamics": "qdd"}
"""The result of each problem that has a gradient."""

ARGUMENT_MEANINGS = {**ARGUMENT_MEANINGS, "q0": "start positions", "qd0": "start velocities"}
"""The meanings of the arguments of all functions."""

NO_SECOND_DERIVATIVES = "{} has no second derivatives; differentiate it once"
"""The error where a gradient is differentiated again."""

NO_FORWARD_MODE = "{} has derivatives by reverse mode only; expected grad, jacrev or vmap of these, not jvp or jacfwd"
"""The error where forward-mode derivatives are requested."""


class FunctionKernels(NamedTuple):
    """Kernels: value(*arguments, *parameters, *trailing), and its gradient `back`, with seeds before *trailing."""

    value: Kernel
    back: Callable[[], Kernel]


class DifferentiableFunction(Protocol):
    """A function of arrays with its gradient."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def target(self) -> str: ...
    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each argument for one state."""

    @property
    def results(self) -> Mapping[str, int]:
        """The number of entries of each result."""

    @property
    def masked(self) -> bool:
        """True if a last result marks the valid states; in the reverse pass it comes after the seeds."""

    @property
    def parameters(self) -> Sequence[Array]:
        """Further arrays (..., entries) after the arguments: parameters that vary."""

    @property
    def trailing(self) -> Sequence[Array]:
        """Further arrays that come last."""

    def value(self, arrays: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Return the results."""

    def vjp(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        """Return the gradient by the arguments, for the gradient `seeds` by the results."""


class CompiledFunction(DifferentiableFunction, Protocol):
    """A differentiable function with access to its kernels."""

    @property
    def code(self) -> FunctionKernels:
        """The kernels of value and gradient."""

    def check(self, arrays: Sequence[Array]) -> None:
        """Raise an error unless the value of these arguments, all (states, entries), is finite."""


def batch_of(function: DifferentiableFunction, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the batch shape of arguments of these shapes; an InputError names one that is wrong."""
    number = np.zeros((), function.dtype)
    arrays: dict[str, tuple[Array, int]] = {}
    for (name, expected), shape in zip(function.shapes.items(), shapes.values(), strict=True):
        array = np.broadcast_to(number, shape)
        arrays[name] = checked_array(name, array, expected, function.dtype, ARGUMENT_MEANINGS[name]), len(expected)
    return common_shape(arrays | {f"vary {k}": (array, 1) for k, array in enumerate(function.parameters)})


def split_entries(joined: Any, sizes: Sequence[int]) -> tuple[Any, ...]:
    """Split entries (..., sum of sizes) into arrays of these sizes; further entries are ignored."""
    return tuple(joined[..., end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True))


class DynamicsFunction:
    """Inverse or forward dynamics of a robot."""

    parameters: Sequence[Array] = ()
    trailing: Sequence[Array] = ()
    masked = False

    def __init__(self, robot: Robot, problem: str, dtype: str, target: str = "cpu") -> None:
        self.robot, self.problem, self.dtype, self.name = robot, problem, np.dtype(dtype), f"{problem} of {robot.name}"
        self.target, self.function = target, compile_function(robot, problem, target=target, dtype=dtype)
        names = problem_of(problem).arguments
        self.shapes = {name: (robot.nq if name == "q" else robot.n,) for name in names}
        self.results = {RESULT_NAMES[problem]: robot.n}

    def value(self, arrays: Sequence[Array], threads: int) -> tuple[Array, ...]:
        return (self.function(*arrays, threads=threads if arrays[0].ndim > 1 else None),)

    def vjp(self, arrays: Sequence[Array], seeds: Sequence[Array], threads: int) -> tuple[Array, ...]:
        batch, back = arrays[0].shape[:-1], self._back
        states = math.prod(batch)
        gradients = package(*arrays).empty((states, *back.shape), self.dtype)
        rows = (
            x.reshape(states, -1) if x.flags.c_contiguous and states else state_rows(x, batch, x.shape[-1:])
            for x in (*arrays, *seeds)
        )
        if not back.run(list(rows), gradients, threads):
            raise self._failure(arrays, seeds)
        return split_entries(gradients.reshape(*batch, *back.shape), [size for (size,) in self.shapes.values()])

    def _failure(self, arrays: Sequence[Array], seeds: Sequence[Array]) -> ArmwrightError:
        """Return the error of a gradient that is not finite; raise that of the value if the value has one."""
        check_seeds(self.name, self.results, seeds)
        self.check(arrays)
        return gradient_overflow(self)

    def check(self, arrays: Sequence[Array]) -> None:
        self.value(arrays, 1)

    @property
    def code(self) -> FunctionKernels:
        self._check_straight(f"{self.problem} is straight code")
        return FunctionKernels(self.function.kernel, lambda: self._back)

    def _check_straight(self, what: str) -> None:
        if not has_straight_code(self.robot):
            raise InputError(too_long_message(self.robot, what))

    @cached_property
    def _back(self) -> Kernel:
        self._check_straight("gradients are compiled")
        program = expand_sines(cheapest(TraceRequest(self.problem, self.robot)).program)
        return backend(self.target).kernel(_tangent_gradients(pullback(program)), self.dtype.name)


def _tangent_gradients(back: Program) -> Program:
    """Remove from the gradients by unit vectors the component along the vector."""
    outputs = list[Operand](back.outputs)
    starts = np.cumsum([0, *back.sizes])
    for argument, first, last in back.units:
        inputs = back.arguments[argument][1][first : last + 1]
        entries = slice(int(starts[argument]) + first, int(starts[argument]) + last + 1)
        radial = dot(outputs[entries], inputs)
        outputs[entries] = [g - x * radial for g, x in zip(outputs[entries], inputs, strict=True)]
    return replace(back, outputs=tuple(outputs))


def checked_robot(robot: object, what: str) -> Robot:
    """Return the robot; an InputError if it is none."""
    if not isinstance(robot, Robot):
        raise InputError(f"{what} got {type(robot).__name__}; expected a Robot, such as armwright.load('panda')")
    return robot


def gradient_overflow(function: DifferentiableFunction) -> InputError:
    """Return the error of a gradient that overflows."""
    return InputError(f"the gradient of {function.name} overflows; check the size of the input")


def check_seeds(of: str, results: Iterable[str], seeds: Sequence[Array]) -> None:
    """Raise an InputError if a gradient by the results is not finite."""
    for name, seed in zip(results, seeds, strict=True):
        check_finite(f"{of}: the gradient by {name}", seed)
