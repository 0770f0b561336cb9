"""Compiled functions: a robot, a problem and a formulation become a function of arrays for a target.

The formulation is traced with the numbers of the robot folded in; the backend of the target compiles the program. For
longer robots it is a compiled loop over the joints, or the formulation with arrays as scalars
(`trace.evaluation_strategy`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import can_write_into, checked_array, common_shape, empty, on_card, viewed, whole_number
from armwright.backends.interface import Kernel, backend
from armwright.errors import InputError, SingularError, unknown
from armwright.evaluate import (
    CheckedCall,
    EvaluatedProblem,
    Evaluator,
    argument_sources,
    chain_sources,
    device_evaluator,
    kernel_evaluator,
    loop_kernel,
    scalar_evaluator,
)
from armwright.formulations import PROBLEMS, Formulation, default_for, find_formulation, problem_of
from armwright.formulations.problem import ARGUMENT_MEANINGS, index_in
from armwright.graph import OperationCount, count
from armwright.graph.angles import expand_sines
from armwright.graph.count import solver_count
from armwright.graph.program import Program
from armwright.lazy import cached_property
from armwright.model.description import Description
from armwright.model.frame_wrenches import wrenches_on_links
from armwright.model.robot_parameters import parameter_sizes
from armwright.trace.cheapest import cheapest
from armwright.trace.evaluation_strategy import EvaluationStrategy, strategy_of, too_long_message
from armwright.trace.tracing import Traced, TraceRequest, trace

__all__ = ["Function", "compile"]

_MANY_STATES = 16384  # by default all cores are used from here on


Wrenches: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
"""Wrenches for each link, or for some frames by name."""


class Function:
    """A compiled problem of one robot: call it with arrays of shape (n,) or (..., n)."""

    def __init__(
        self, robot: Description, problem: str, formulation: str | None, target: str, dtype: str, vary: tuple[str, ...]
    ) -> None:
        self.robot, self.problem, self.target, self.dtype, self.vary = robot, problem, target, np.dtype(dtype), vary
        self._requested = None if formulation is None else find_formulation(problem, formulation)
        self._record = record = problem_of(problem)
        if record.of_frame:
            _ = robot.task_frame
        made = backend(target)
        self._strategy = strategy_of(
            record, robot, formulation is not None, vary, made.max_unrolled_joints, made.loop_sizes.get(record.name)
        )
        self._subject = EvaluatedProblem(robot, record, self.dtype)
        self.arguments = (*record.arguments, *vary)
        # a varied parameter of one number has no axis
        sizes = {name: () if size == 1 else (size,) for name, size in parameter_sizes(robot, vary).items()}
        lengths = {**dict.fromkeys(record.arguments, (robot.n,)), "q": (robot.nq,)}
        self._shapes: dict[str, tuple[int, ...]] = {n: sizes.get(n, lengths.get(n, ())) for n in self.arguments}
        self._lengths = [lengths[name][0] for name in record.arguments]
        self._kernels: dict[tuple[str, ...], Kernel] = {}
        self._evaluators: dict[tuple[tuple[str, ...], bool], Evaluator] = {}

    def __repr__(self) -> str:
        try:
            by = f" by {self.formulation.name}"
        except SingularError:
            by = ""
        return f"<{self.problem} of {self.robot.name}{by}: f({', '.join(self.arguments)})>"

    def __reduce__(self) -> tuple[Any, ...]:
        named = None if self._requested is None else self._requested.name
        return Function, (self.robot, self.problem, named, self.target, self.dtype.name, self.vary)

    @overload
    def __call__(
        self,
        *state: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        link_wrenches: Wrenches | None = None,
        out: Array | None = None,
        threads: int | None = None,
        raises: Literal[True] = True,
    ) -> Array: ...

    @overload
    def __call__(
        self,
        *state: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        link_wrenches: Wrenches | None = None,
        out: Array | None = None,
        threads: int | None = None,
        raises: Literal[False],
    ) -> tuple[Array, Array]: ...

    def __call__(
        self,
        *state: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        link_wrenches: Wrenches | None = None,
        out: Array | None = None,
        threads: int | None = None,
        raises: bool = True,
    ) -> Array | tuple[Array, Array]:
        """Return the result for one state or for every state of a batch.

        `tip_wrench` and `link_wrenches` are those of the methods of a robot. `out` is an array to fill. `threads` is
        the number of threads, by default one, or all cores for a large batch. The result of a state depends on that
        state only. A result that is not finite raises an error that names the state. With `raises=False` it is nan, and
        a second array has True for good states.
        """
        if self._card is not None and any(map(on_card, (*state, tip_wrench, *_parts(link_wrenches), out))):
            result: Array = self._call_on_device(state, _loads(tip_wrench, link_wrenches), out, threads, raises)
            return result
        if not raises or tip_wrench is not None or link_wrenches is not None:
            made: Array = self._checked(state, _loads(tip_wrench, link_wrenches), out, threads, raises)
            return made
        if out is None and threads is None:
            return self.single(*state)
        return self._call_any_layout(*state, out=out, threads=threads)

    @cached_property
    def single(self) -> Callable[..., Array]:
        """This function without options: fastest for one state given as plain arrays, the same otherwise."""
        if self._strategy is not EvaluationStrategy.STRAIGHT:
            return self._call_any_layout
        made: Callable[..., Array] = self._kernel(()).single(self._call_any_layout)
        return made

    def _call_any_layout(self, *state: ArrayLike, out: Array | None = None, threads: int | None = None) -> Array:
        done = self._quick(state, out, threads)
        return done if done is not None else self._checked(state, {}, out, threads)

    def _quick(self, state: tuple[ArrayLike, ...], out: Array | None, threads: int | None) -> Array | None:
        """Compute the commonest batch, arrays (states, n) of the right type, with little overhead; else None."""
        dtype, first = self.dtype, state[0] if state else None
        if (
            not self._one_kernel
            or self.vary
            or len(state) != len(self.arguments)
            or type(first) is not np.ndarray
            or first.ndim != 2
        ):
            return None
        shape = first.shape
        if not shape[0]:
            return None
        for array, length in zip(state, self._lengths, strict=True):
            fits = type(array) is np.ndarray and array.shape == (shape[0], length) and array.dtype == dtype
            if not (fits and array.flags.aligned):  # type: ignore[union-attr]
                return None
        kernel = self._kernel(())
        result_shape = (shape[0], *kernel.shape)
        result = out if out is not None else empty(result_shape, dtype, first.strides[0] == dtype.itemsize)
        if out is not None and (
            type(out) is not np.ndarray or out.shape != result_shape or not can_write_into(out, dtype, state)
        ):
            return None
        view = result if len(kernel.shape) == 1 else viewed(result, (shape[0], math.prod(kernel.shape)))
        if view is None or not (threads is None or (type(threads) is int and threads >= 1)):
            return None
        shares = _default_threads(shape[:1]) if threads is None else threads
        finite = kernel.run(state, view, shares)  # type: ignore[arg-type]
        return result if finite else None  # the other path finds the fault and raises

    @cached_property
    def _one_kernel(self) -> bool:
        """True if one kernel has exactly the arguments of the problem."""
        loop = self._record.chain_sweep if self._strategy is EvaluationStrategy.LOOP else None
        return self._strategy is EvaluationStrategy.STRAIGHT or (
            loop is not None and (loop.columns or loop.sweeps == self._record.name)
        )

    @cached_property
    def _plain(self) -> Traced:
        return self._traced((), self._solves_in_loop)

    @property
    def _solves_in_loop(self) -> bool:
        """True if linear systems are solved in a loop."""
        return self.robot.n >= backend(self.target).solve_loop_size

    def _traced(self, loads: tuple[str, ...], looped: bool) -> Traced:
        request = TraceRequest(self.problem, self.robot, loads, self.vary, looped)
        return cheapest(request) if self._requested is None else trace(self._requested, request)

    @property
    def formulation(self) -> Formulation:
        """The requested formulation, or the cheapest for this robot; for a large robot the one of its loop."""
        if self._requested is not None:
            return self._requested
        if self._strategy is EvaluationStrategy.STRAIGHT:
            return self._plain.formulation
        loop, mechanism = self._record.chain_sweep, self.robot.mechanism()
        by_loop = None if loop is None else find_formulation(self.problem, loop.formulation)
        return by_loop if by_loop and not by_loop.refusal(mechanism) else default_for(self.problem, mechanism)

    @property
    def program(self) -> Program:
        """The traced computation as straight code, before it is compiled."""
        program = self._plain.program
        return program if program.equations is None else self._traced((), looped=False).program

    def program_under(self, wrenches: Sequence[str]) -> Program:
        """Return the straight code with wrenches, "tip_wrench" or "link_wrenches", as further arguments."""
        self._check_wrenches(wrenches)
        return self._traced(tuple(wrenches), looped=False).program if wrenches else self.program

    def _check_wrenches(self, names: Sequence[str]) -> None:
        if names and not self._record.wrenches:
            raise InputError(f"{self.problem} does not depend on wrenches; leave {' and '.join(names)} out")
        if "tip_wrench" in names:
            _ = self.robot.task_frame

    @property
    def operations(self) -> OperationCount:
        """The operations of one evaluation, with the numbers of the robot folded in."""
        program = self._plain.program
        return count(program.outputs) + solver_count(program.equations)

    @property
    def source(self) -> str:
        """The generated code: LLVM IR for the CPU."""
        if self._strategy is EvaluationStrategy.ARRAYS:
            raise InputError(f"{self._too_long(f'{self.problem} is compiled')}: it has no source")
        return self._kernel(()).source

    @property
    def kernel(self) -> Kernel:
        """The kernel of the arguments alone, for callers without this object."""
        if not self._one_kernel:
            raise InputError(self._too_long(f"{self.problem} is one kernel"))
        return self._kernel(())

    def _too_long(self, what: str) -> str:
        return too_long_message(self.robot, what, longest=backend(self.target).max_unrolled_joints)

    def _kernel(self, loads: tuple[str, ...]) -> Kernel:
        if loads not in self._kernels:
            made = backend(self.target)
            if self._strategy is EvaluationStrategy.STRAIGHT:
                program = (self._traced(loads, self._solves_in_loop) if loads else self._plain).program
                self._kernels[loads] = made.kernel(expand_sines(program), self.dtype.name)
            else:
                assert self._record.chain_sweep is not None
                self._kernels[loads] = loop_kernel(made, self._record.chain_sweep, self._subject, loads)
        return self._kernels[loads]

    def _call_on_device(
        self, state: tuple[Any, ...], wrenches: dict[str, Any], out: Any, threads: int | None, raises: bool
    ) -> Any:
        """Call with arrays on a GPU; the result is an array of the same package."""
        card = self._card
        assert card is not None
        card.check_written(out)
        kind = card.array_package([*state, *(x for value in wrenches.values() for x in _parts(value)), out])
        with card.stream(kind):
            on_device = {name: _wrench_on_device(card, value) for name, value in wrenches.items()}
            call = self._call(tuple(map(card.to_cupy, state)), on_device, card.to_cupy(out), threads, card=True)
            done = self._evaluator(tuple(wrenches), device=True)(call._replace(raises=raises))
            if raises:
                return out if out is not None else card.to_package(done, kind)
            return out if out is not None else card.to_package(done[0], kind), card.to_package(done[1], kind)

    @cached_property
    def _card(self) -> Any:
        """The device of arrays besides NumPy's, or None."""
        return backend(self.target).device

    def _checked(
        self,
        state: tuple[ArrayLike, ...],
        wrenches: dict[str, Any],
        out: Array | None,
        threads: int | None,
        raises: bool = True,
    ) -> Any:
        call = self._call(state, wrenches, out, threads)
        return self._evaluator(tuple(wrenches))(call._replace(raises=raises))

    def _call(
        self,
        state: tuple[ArrayLike, ...],
        wrenches: dict[str, Any],
        out: Array | None,
        threads: int | None,
        card: bool = False,
    ) -> CheckedCall:
        if len(state) != len(self.arguments):
            raise InputError(f"{self!r} got {len(state)} arguments; expected {len(self.arguments)}")
        self._check_wrenches(tuple(wrenches))
        if isinstance(wrenches.get("link_wrenches"), Mapping):
            wrenches["link_wrenches"] = wrenches_on_links(self.robot, wrenches["link_wrenches"], self.dtype, card)
        given = dict(zip(self.arguments, state, strict=True)) | wrenches
        shapes = {**self._shapes, "tip_wrench": (6,), "link_wrenches": (len(self.robot.links), 6)}
        arrays = {
            name: checked_array(
                name, value, shapes[name], self.dtype, ARGUMENT_MEANINGS.get(name, "a parameter that varies"), card
            )
            for name, value in given.items()
        }
        batch = common_shape({name: (array, len(shapes[name])) for name, array in arrays.items()})
        shares = whole_number("threads", threads, 1) if threads is not None else _default_threads(batch)
        return CheckedCall(arrays, shapes, batch, out, shares)

    def _evaluator(self, loads: tuple[str, ...], device: bool = False) -> Evaluator:
        if (loads, device) not in self._evaluators:
            self._evaluators[loads, device] = self._made_evaluator(loads, self._card if device else None)
        return self._evaluators[loads, device]

    def _made_evaluator(self, loads: tuple[str, ...], card: Any) -> Evaluator:
        """Return the evaluator of a call; with a card, for arrays on it."""
        if self._strategy is EvaluationStrategy.ARRAYS:
            if self.vary:
                raise InputError(self._too_long("parameters can vary"))
            if self.formulation.traced:
                raise InputError(self._too_long("derivatives are"))
            return scalar_evaluator(self.formulation, self._subject, card)
        kernel, subject, loop = self._kernel(loads), self._subject, self._record.chain_sweep
        direct = self._strategy is EvaluationStrategy.STRAIGHT or (loop is not None and loop.columns)
        sources = argument_sources if direct else chain_sources(subject)
        if card is None:
            return kernel_evaluator(kernel, subject, sources)
        return device_evaluator(card, kernel, subject, sources)


def _loads(tip_wrench: ArrayLike | None, link_wrenches: Wrenches | None) -> dict[str, Any]:
    """Return the wrenches that are not None, by name."""
    given = {"tip_wrench": tip_wrench, "link_wrenches": link_wrenches}
    return {name: wrench for name, wrench in given.items() if wrench is not None}


def _parts(wrench: Any) -> tuple[Any, ...]:
    """Return the arrays of wrenches by name, or the one array."""
    return tuple(wrench.values()) if isinstance(wrench, Mapping) else (wrench,)


def _wrench_on_device(card: Any, wrench: Any) -> Any:
    """Return wrenches as arrays of CuPy if they are on a GPU."""
    return (
        {name: card.to_cupy(x) for name, x in wrench.items()} if isinstance(wrench, Mapping) else card.to_cupy(wrench)
    )


def _default_threads(batch: tuple[int, ...]) -> int:
    return (os.cpu_count() or 1) if math.prod(batch) >= _MANY_STATES else 1


def compile(  # noqa: A001  (the public name is aw.compile)
    robot: Description,
    problem: str,
    formulation: str | None = None,
    target: str = "cpu",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    frame: str | None = None,
) -> Function:
    """Compile a problem of a robot and return it as a function of arrays.

    problem      {problems}
    formulation  a name of `formulations(problem)`; by default the one with the fewest operations for this robot
    target       "cpu"; "cuda", an NVIDIA GPU, which takes and returns arrays of CuPy, PyTorch and JAX;
                 "python", the interpreter that defines the results; or the name of a registered backend
    dtype        "float64" or "float32"
    vary         robot parameters that are further arguments, in this order: "payload.mass", "gravity", "<link>.com",
                 "<joint>.viscous", ... (`armwright.model.robot_parameters` lists them)
    frame        the frame (`robot.frame_names`) of poses, Jacobians and tip wrenches; by default the tool
    """
    if not isinstance(robot, Description):
        raise InputError(f"compile got {type(robot).__name__}; expected a Robot, such as armwright.load('puma560')")
    if problem_of(problem).indexed:
        index_in(problem, robot.n)
    name = _dtype(dtype, target)
    if frame is not None and not (problem_of(problem).of_frame or problem_of(problem).wrenches):
        raise InputError(f"{problem} does not depend on a frame; leave frame={frame!r} out")
    if isinstance(vary, str):
        raise InputError(f"vary = {vary!r}: expected a list of names, such as ['payload.mass']")
    return Function(robot.with_task_frame(frame), problem, formulation, target, name, tuple(vary))


def _dtype(dtype: Any, target: str) -> str:
    """Return the name of a dtype of the target."""
    known = backend(target).dtypes
    try:
        name: str = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in known:
        raise unknown("dtype", name, known)
    return name


def _listed() -> str:
    """Return every problem with its arguments, for the docstring of `compile`."""
    return "\n                 ".join(
        f"{p.name}{f'[{p.indexed}]' if p.indexed else ''} ({', '.join(p.arguments)}): {p.about}"
        for p in PROBLEMS.values()
    )


if compile.__doc__:
    compile.__doc__ = compile.__doc__.format(problems=_listed())
