"""How a checked call is evaluated: by a kernel, by a loop along the chain, or by the formulation as it is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.arrays import by_state, check_finite, check_out, direct, empty, on_card, scalars, stacked, viewed, wrench
from armwright.backends.interface import Backend, Kernel
from armwright.errors import ArmwrightError, InputError, SingularError
from armwright.formulations import Formulation, Problem
from armwright.formulations.problem import Loop
from armwright.model.description import Description
from armwright.model.loop import apart
from armwright.model.unit import not_unit
from armwright.model.vary import parameters, varied
from armwright.trace.loops import LONG_MECHANISMS
from armwright.trace.solvable import check_solvable


class Call(NamedTuple):
    """One call, checked: arrays by name, the shape of an entry of each, the batch, where to, on how many threads.

    Unless it `raises`, what is not finite is in the result as it is.
    """

    arrays: dict[str, Array]
    shapes: dict[str, tuple[int, ...]]
    batch: tuple[int, ...]
    out: Array | None
    threads: int
    raises: bool = True


class Subject(NamedTuple):
    """What is evaluated: a problem of a robot in some kind of numbers."""

    robot: Description
    problem: Problem
    dtype: np.dtype[Any]


Evaluate: TypeAlias = Callable[[Call], Array]


def by_kernel(kernel: Kernel, subject: Subject) -> Evaluate:
    """One kernel for every state, in whatever layout it lies."""
    shape, dtype = kernel.shape, subject.dtype
    entries = math.prod(shape)

    def evaluate(call: Call) -> Array:
        arrays, shapes, batch, out, threads, raises = call
        states = math.prod(batch)
        columns = [by_state(array, batch, shapes[name]) for name, array in arrays.items()]
        beside = bool(batch) and states > 1 and all(c.strides[0] in (0, c.itemsize) for c in columns)
        result = out if out is not None else empty((*batch, *shape), dtype, beside and len(batch) == 1)
        if out is not None:
            check_out(out, (*batch, *shape), dtype)
        apart = out is None or direct(out, dtype, columns)
        view = viewed(result, (states, entries)) if apart else None
        target = view if view is not None else np.empty((states, entries), dtype)
        if not kernel.run(columns, target, threads) and raises:
            raise not_finite(subject, call, target.reshape((*batch, *shape)))
        if view is None:
            result[...] = target.reshape(result.shape)
        return result

    return evaluate


def by_card(card: Any, kernel: Any, subject: Subject) -> Evaluate:
    """One kernel for every state, all of them on the card; unless it raises, with which states are good."""
    shape, dtype = kernel.shape, subject.dtype
    entries = math.prod(shape)

    def evaluate(call: Call) -> Any:
        arrays, shapes, batch, given, _, raises = call
        out: Any = given
        states, xp = math.prod(batch), card.cupy()
        there = {name: card.copied(array) for name, array in arrays.items()}
        columns = [
            xp.broadcast_to(array, (*batch, *shapes[name])).reshape(states, math.prod(shapes[name]))
            for name, array in there.items()
        ]
        if out is not None and (not on_card(out) or out.shape != (*batch, *shape) or out.dtype != dtype):
            raise InputError(
                f"out is {type(out).__name__} {getattr(out, 'dtype', '')} {getattr(out, 'shape', '')}; expected an "
                f"array on the card of {dtype} with shape {(*batch, *shape)}"
            )
        beside = len(batch) == 1 and states > 1 and all(c.strides[0] in (0, c.itemsize) for c in columns)
        target = xp.empty((entries, states), dtype).T if beside else xp.empty((states, entries), dtype)
        if out is not None and out.flags.c_contiguous and not any(xp.may_share_memory(out, c) for c in columns):
            target = out.reshape(states, entries)
        good: Any = None if raises else xp.empty(states, bool)
        bad = kernel.launch(columns, target, good)
        result = target.reshape((*batch, *shape)) if not beside or len(shape) == 1 else _unfolded(target, shape)
        if raises and kernel.first(bad) is not None:
            told = {name: card.fetched(array) for name, array in there.items()}
            raise not_finite(subject, call._replace(arrays=told), card.fetched(result))
        if out is not None and not xp.may_share_memory(out, target):
            out[...] = result
        result = out if out is not None else result
        return result if raises else (result, good.reshape(batch))

    return evaluate


def _unfolded(columns: Any, shape: tuple[int, ...]) -> Any:
    """Results (states, entries) that lie side by side, as (states, *shape) in the same memory."""
    states = len(columns)
    axes = (len(shape), *range(len(shape)))
    return columns.T.reshape(*shape, states).transpose(axes)


def loop_kernel(backend: Backend, loop: Loop, subject: Subject, loads: tuple[str, ...]) -> Kernel:
    """The sweeps of a loop along the chain of a robot; without gravity where they are to give columns."""
    robot, dtype = subject.robot, subject.dtype.name
    check_solvable(subject.problem, robot)
    still = replace(robot, gravity=(0.0, 0.0, 0.0)) if loop.columns else robot
    sweeps = LONG_MECHANISMS[loop.sweeps]
    return backend.loop(sweeps.steps(bool(loads)), sweeps.tables(still, dtype), dtype)


def by_loop(kernel: Kernel, subject: Subject) -> Evaluate:
    """A loop takes q, qd and a third array, zeros where the problem has none, and one wrench per link."""
    n, dtype = subject.robot.n, subject.dtype
    names = subject.problem.arguments
    direct_evaluate = by_kernel(kernel, subject)

    def evaluate(call: Call) -> Array:
        rest = np.broadcast_to(np.zeros(1, dtype), (n,))
        given = dict(zip(("q", "qd", "x"), (call.arrays[name] for name in names), strict=False))
        columns = {name: given.get(name, rest) for name in ("q", "qd", "x")}
        if len(call.arrays) > len(names):
            columns["load"] = _loads(subject, call)
        shapes: dict[str, tuple[int, ...]] = {name: (6 * n if name == "load" else n,) for name in columns}
        return direct_evaluate(call._replace(arrays=columns, shapes=shapes))

    return evaluate


def _loads(subject: Subject, call: Call) -> Array:
    """The wrenches on the tool and on the links as one per link, in the link frames."""
    n, arrays, batch = subject.robot.n, call.arrays, call.batch
    loads = np.zeros((*batch, n, 6), subject.dtype)
    if "link_wrenches" in arrays:
        loads += arrays["link_wrenches"]
    mechanism = subject.robot.mechanism()
    if "tip_wrench" in arrays and mechanism.tool_link >= 0:
        at_tip = wrench(arrays["tip_wrench"], batch).seen_through(mechanism.tool)
        loads[..., mechanism.tool_link, :] += np.stack(np.broadcast_arrays(*at_tip.force, *at_tip.moment), axis=-1)
    return loads.reshape(*batch, 6 * n)


def by_columns(kernel: Kernel, subject: Subject) -> Evaluate:
    """Column j of the mass matrix: the torques of a unit acceleration of joint j, at rest and without gravity."""
    n, dtype = subject.robot.n, subject.dtype

    def evaluate(call: Call) -> Array:
        batch = call.batch
        states = math.prod(batch)
        result = np.empty((n, n, states), dtype)
        q = by_state(call.arrays["q"], batch, (n,))
        rest, unit = np.zeros(n, dtype), np.eye(n, dtype=dtype)
        for j in range(n):
            columns = (q, *(np.broadcast_to(x, (states, n)) for x in (rest, unit[j])))
            if not kernel.run(columns, result[j].T, call.threads):
                raise not_finite(subject, call, np.full(batch, np.nan))
        return _filled(call.out, np.moveaxis(result, -1, 0).reshape(*batch, n, n))

    return evaluate


def as_written(formulation: Formulation, subject: Subject) -> Evaluate:
    """The formulation itself, with arrays as scalars."""
    robot, problem, dtype = subject
    check_solvable(problem, robot)
    mechanism = robot.mechanism(float if dtype == np.float64 else np.float32)

    def evaluate(call: Call) -> Array:
        arrays, batch = call.arrays, call.batch
        tip = wrench(arrays["tip_wrench"], batch) if "tip_wrench" in arrays else None
        links = None
        if "link_wrenches" in arrays:
            links = [wrench(arrays["link_wrenches"][..., i, :], batch) for i in range(len(mechanism.solid))]
        columns = [scalars(arrays[name], batch) for name in problem.arguments]
        try:
            with np.errstate(all="ignore"):  # what overflows or divides by zero is told below
                values = formulation(mechanism, *columns, loads=mechanism.wrenches(tip, links))
                result = stacked(values, batch, dtype)
        except (ZeroDivisionError, OverflowError):
            raise not_finite(subject, call, np.full(batch, np.nan)) from None
        if not np.isfinite(result).all():
            raise not_finite(subject, call, result)
        return _filled(call.out, result)

    return evaluate


def _filled(out: Array | None, result: Array) -> Array:
    if out is None:
        return result
    check_out(out, result.shape, result.dtype)
    out[...] = result
    return out


def not_finite(subject: Subject, call: Call, result: Array) -> ArmwrightError:
    """Why a result is not finite: a loop that is apart, a singular matrix or overflow. Raises if the input is not."""
    for name, array in call.arrays.items():
        check_finite(name, array)
    if "q" in call.arrays and (said := not_unit(subject.robot, "q", call.arrays["q"])):
        return InputError(said)
    place = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])[: len(call.batch)]
    where = f" for state {', '.join(map(str, place))} of the batch" if place else ""
    if subject.robot.loops:
        q = np.broadcast_to(call.arrays["q"], (*call.batch, subject.robot.nq))[place]
        open_ones = [name for name in call.arrays if name in parameters(subject.robot)]
        values = {
            name: np.broadcast_to(call.arrays[name], (*call.batch, *call.shapes[name]))[place] for name in open_ones
        }
        mechanism = varied(subject.robot, {name: np.ravel(value).tolist() for name, value in values.items()})
        if (loop := apart(subject.robot, q.tolist(), mechanism)) is not None:
            also = "".join(f", {name} = {float(value):.4g}" for name, value in values.items() if not np.ndim(value))
            listed = ", ".join(f"{x:.4g}" for x in q)
            return InputError(
                f"loop {loop!r} of {subject.robot.name} cannot close{where}: its joints do not reach each other at "
                f"q = [{listed}]{also}; expected a position within its range"
            )
    if subject.problem.solves:
        return SingularError(
            f"forward dynamics of {subject.robot.name} has no finite solution{where}: the mass matrix is singular, or "
            "the numbers overflow; armwright.problems(robot) tells links without mass"
        )
    return InputError(f"{subject.problem.name} of {subject.robot.name} overflows{where}; check the size of the input")
