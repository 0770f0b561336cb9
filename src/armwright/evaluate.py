"""Evaluation of a checked call: by a kernel, by a chain loop, or by the formulation with arrays as scalars."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from armwright.algebra import Array, Vector
from armwright.arrays import (
    can_write_into,
    check_finite,
    check_out,
    empty,
    has_overlap,
    on_card,
    package,
    scalars,
    stacked,
    state_rows,
    viewed,
    wrench,
)
from armwright.backends.interface import Backend, Kernel
from armwright.backends.mass_matrix_kernel import MassMatrixKernel
from armwright.errors import ArmwrightError, InputError, SingularError
from armwright.formulations import Formulation, Problem
from armwright.formulations.problem import LoopForm
from armwright.mechanism import Wrench
from armwright.model.description import Description
from armwright.model.loop_positions import open_loop
from armwright.model.robot_parameters import mechanism_with, robot_parameters
from armwright.model.unit_vectors import unit_length_error
from armwright.trace.chain_loops import CHAIN_PROBLEMS
from armwright.trace.solvability import check_solvable


class CheckedCall(NamedTuple):
    """One checked call: arrays by name, the shape of an entry of each, the batch, the output and the threads.

    Unless it `raises`, states without a finite result become nan, and a second result has True for good states.
    """

    arrays: dict[str, Array]
    shapes: dict[str, tuple[int, ...]]
    batch: tuple[int, ...]
    out: Array | None
    threads: int
    raises: bool = True


class EvaluatedProblem(NamedTuple):
    """A problem of a robot for one dtype."""

    robot: Description
    problem: Problem
    dtype: np.dtype[Any]


Evaluator: TypeAlias = Callable[[CheckedCall], Any]
"""A function from a call to its result and, unless the call raises, the flags of good states."""

Sources: TypeAlias = Callable[[CheckedCall], list[tuple[Array, tuple[int, ...]]]]
"""A function from a call to the inputs of a kernel: arrays, each with the shape of one state."""


def argument_sources(call: CheckedCall) -> list[tuple[Array, tuple[int, ...]]]:
    """Return the arrays of the call."""
    return [(array, call.shapes[name]) for name, array in call.arrays.items()]


def kernel_evaluator(kernel: Kernel, subject: EvaluatedProblem, sources: Sources = argument_sources) -> Evaluator:
    """Return an evaluator by one kernel, for any layout."""
    shape, dtype = kernel.shape, subject.dtype
    entries = math.prod(shape)

    def evaluate(call: CheckedCall) -> Any:
        batch, out = call.batch, call.out
        states = math.prod(batch)
        columns = [state_rows(array, batch, own) for array, own in sources(call)]
        contiguous = bool(batch) and states > 1 and all(c.strides[0] in (0, c.itemsize) for c in columns)
        result = out if out is not None else empty((*batch, *shape), dtype, contiguous and len(batch) == 1)
        if out is not None:
            check_out(out, (*batch, *shape), dtype)
        writable = out is None or can_write_into(out, dtype, columns)
        view = viewed(result, (states, entries)) if writable else None
        target = view if view is not None else np.empty((states, entries), dtype)
        if not kernel.run(columns, target, call.threads) and call.raises:
            raise not_finite(subject, call, target.reshape((*batch, *shape)))
        if view is None:
            result[...] = target.reshape(result.shape)
        return result if call.raises else (result, _good(call, result))

    return evaluate


def device_evaluator(
    card: Any, kernel: Any, subject: EvaluatedProblem, sources: Sources = argument_sources
) -> Evaluator:
    """Return an evaluator by one kernel on a GPU."""
    shape, dtype = kernel.shape, subject.dtype
    entries = math.prod(shape)

    def evaluate(call: CheckedCall) -> Any:
        on_device = call._replace(arrays={name: card.to_device(array) for name, array in call.arrays.items()})
        batch, raises, out = call.batch, call.raises, _fits(call.out, (*call.batch, *shape), dtype)
        states, xp = math.prod(batch), card.cupy()
        columns = [
            xp.broadcast_to(array, (*batch, *own)).reshape(states, math.prod(own)) for array, own in sources(on_device)
        ]
        contiguous = len(batch) == 1 and states > 1 and all(c.strides[0] in (0, c.itemsize) for c in columns)
        target = xp.empty((entries, states), dtype).T if contiguous else xp.empty((states, entries), dtype)
        if out is not None and out.flags.c_contiguous and not any(xp.may_share_memory(out, c) for c in columns):
            target = out.reshape(states, entries)
        good: Any = None if raises else xp.empty(states, bool)
        bad = kernel.launch(columns, target, good)
        result = target.reshape((*batch, *shape)) if not contiguous or len(shape) == 1 else _unfolded(target, shape)
        if raises and kernel.first_bad(bad) is not None:
            raise _fetched_error(card, subject, on_device, result)
        if out is not None and not xp.may_share_memory(out, target):
            out[...] = result
        result = out if out is not None else result
        return result if raises else (result, good.reshape(batch))

    return evaluate


def _fits(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return the output array on the GPU, or None; raise an InputError if it does not fit."""
    if out is not None and (not on_card(out) or out.shape != shape or out.dtype != dtype):
        raise InputError(
            f"out is {type(out).__name__} {getattr(out, 'dtype', '')} {getattr(out, 'shape', '')}; expected an "
            f"array on the card of {dtype} with shape {shape}"
        )
    if out is not None and has_overlap(out):
        raise InputError("out cannot be written to: several of its entries share memory")
    return out


def _fetched_error(card: Any, subject: EvaluatedProblem, call: CheckedCall, result: Any) -> ArmwrightError:
    """Return the error of a result on the GPU that is not finite."""
    arrays = {name: card.to_numpy(array) for name, array in call.arrays.items()}
    return not_finite(subject, call._replace(arrays=arrays), card.to_numpy(result))


def _good(call: CheckedCall, result: Any) -> Any:
    """Return the flags of states with finite inputs and results; set the others to nan."""
    xp, batch = package(result), len(call.batch)
    good = xp.isfinite(result).all(axis=tuple(range(batch, result.ndim)))
    for name, array in call.arrays.items():
        own = tuple(range(array.ndim - len(call.shapes[name]), array.ndim))
        good = xp.logical_and(good, xp.isfinite(array).all(axis=own))
    xp.copyto(result, xp.nan, where=xp.logical_not(good).reshape((*call.batch, *(1,) * (result.ndim - batch))))
    return xp.asarray(good)


def _unfolded(columns: Any, shape: tuple[int, ...]) -> Any:
    """Return results (states, entries) with contiguous states as (states, *shape) in the same memory."""
    states = len(columns)
    axes = (len(shape), *range(len(shape)))
    return columns.T.reshape(*shape, states).transpose(axes)


def loop_kernel(backend: Backend, loop: LoopForm, subject: EvaluatedProblem, loads: tuple[str, ...]) -> Kernel:
    """Return the kernel of a chain loop; without gravity for the mass matrix."""
    robot, dtype = subject.robot, subject.dtype.name
    check_solvable(subject.problem, robot)
    weightless = replace(robot, gravity=(0.0, 0.0, 0.0)) if loop.columns else robot
    sweeps = CHAIN_PROBLEMS[loop.sweeps]
    kernel = backend.loop(sweeps.steps(bool(loads)), sweeps.tables(weightless, dtype), dtype)
    return MassMatrixKernel(kernel) if loop.columns else kernel


def chain_sources(subject: EvaluatedProblem) -> Sources:
    """Return sources for a loop: q, qd, a third array (zeros if the problem has none), and one wrench per link."""
    n, dtype, names = subject.robot.n, subject.dtype, subject.problem.arguments

    def sources(call: CheckedCall) -> list[tuple[Array, tuple[int, ...]]]:
        arrays = [call.arrays[name] for name in names]
        zeros = package(*arrays).zeros(1, dtype)
        loads = [(_loads(subject, call), (n, 6))] if len(call.arrays) > len(names) else []
        return [*((array, (n,)) for array in (*arrays, *(zeros,) * (3 - len(arrays)))), *loads]

    return sources


def _loads(subject: EvaluatedProblem, call: CheckedCall) -> Array:
    """Return the wrenches on the tool and on the links as one per link, in the link frames."""
    arrays, batch, mechanism = call.arrays, call.batch, subject.robot.mechanism()
    loads = package(*arrays.values()).zeros((*batch, subject.robot.n, 6), subject.dtype)
    if "link_wrenches" in arrays:
        loads += arrays["link_wrenches"]
    if "tip_wrench" in arrays and mechanism.tool_link >= 0:
        fx, fy, fz, mx, my, mz = (arrays["tip_wrench"][..., k] for k in range(6))
        at_tip = Wrench(Vector(fx, fy, fz), Vector(mx, my, mz)).transformed(mechanism.tool)
        for k, entry in enumerate((*at_tip.force, *at_tip.moment)):
            loads[..., mechanism.tool_link, k] += entry
    made: Array = loads
    return made


def scalar_evaluator(formulation: Formulation, subject: EvaluatedProblem, card: Any = None) -> Evaluator:
    """Return an evaluator by the formulation itself, with arrays of NumPy or CuPy as scalars."""
    robot, problem, dtype = subject
    check_solvable(problem, robot)
    mechanism = robot.mechanism(float if dtype == np.float64 else np.float32)

    def evaluate(call: CheckedCall) -> Any:
        batch = call.batch
        if card is not None:  # one state is numbers everywhere
            move = card.to_device if batch else card.to_numpy
            call = call._replace(arrays={name: move(array) for name, array in call.arrays.items()})
        arrays = call.arrays
        tip = wrench(arrays["tip_wrench"], batch) if "tip_wrench" in arrays else None
        links = None
        if "link_wrenches" in arrays:
            links = [wrench(arrays["link_wrenches"][..., i, :], batch) for i in range(len(mechanism.solid))]
        columns = [scalars(arrays[name], batch) for name in problem.arguments]
        try:
            with np.errstate(all="ignore"):  # an error below explains overflow and division by zero
                values = formulation(mechanism, *columns, loads=mechanism.wrenches(tip, links))
                result = stacked(values, batch, dtype, package(*arrays.values()))
        except (ZeroDivisionError, OverflowError):
            result = np.full(problem.sizes(mechanism), np.nan, dtype)
        if call.raises and not np.isfinite(result).all():
            raise not_finite(subject, call, result) if card is None else _fetched_error(card, subject, call, result)
        good = None if call.raises else _good(call, result)
        if card is not None:
            result, good = card.to_device(result), None if good is None else card.to_device(good)
        result = _filled(call.out, result, card is not None)
        return result if call.raises else (result, good)

    return evaluate


def _filled(out: Any, result: Array, on_device: bool) -> Array:
    if out is None:
        return result
    if on_device:
        _fits(out, result.shape, result.dtype)
    else:
        check_out(out, result.shape, result.dtype)
    out[...] = result
    filled: Array = out
    return filled


def not_finite(subject: EvaluatedProblem, call: CheckedCall, result: Array) -> ArmwrightError:
    """Return the error of a result that is not finite: an open loop, a singular matrix, overflow, or bad input."""
    for name, array in call.arrays.items():
        check_finite(name, array)
    if "q" in call.arrays and (fault := unit_length_error(subject.robot, "q", call.arrays["q"])):
        return InputError(fault)
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])[: len(call.batch)]
    where = f" for state {', '.join(map(str, place))} of the batch" if place else ""
    if subject.robot.loops:
        q = np.broadcast_to(call.arrays["q"], (*call.batch, subject.robot.nq))[place]
        varied = [name for name in call.arrays if name in robot_parameters(subject.robot)]
        values = {name: np.broadcast_to(call.arrays[name], (*call.batch, *call.shapes[name]))[place] for name in varied}
        mechanism = mechanism_with(subject.robot, {name: np.ravel(value).tolist() for name, value in values.items()})
        if (loop := open_loop(subject.robot, q.tolist(), mechanism)) is not None:
            also = "".join(f", {name} = {float(value):.4g}" for name, value in values.items() if not np.ndim(value))
            listed = ", ".join(f"{x:.4g}" for x in q)
            return InputError(
                f"loop {loop!r} of {subject.robot.name} cannot close{where}: its joints do not reach each other at "
                f"q = [{listed}]{also}; expected a position within its range"
            )
    if subject.problem.solves_mass_matrix:
        return SingularError(
            f"forward dynamics of {subject.robot.name} has no finite solution{where}: the mass matrix is singular, or "
            "the numbers overflow; armwright.problems(robot) lists links without mass"
        )
    return InputError(f"{subject.problem.name} of {subject.robot.name} overflows{where}; check the size of the input")
