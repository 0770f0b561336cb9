"""Checks of arguments of trajectories: positions, times, durations, tables of via points."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import checked_array
from armwright.errors import InputError

FLOAT64 = np.dtype("float64")


def check_scalar_joints(robot: Any, what: str) -> None:
    """Raise an InputError if the position of a joint is not one number."""
    for ball in getattr(robot, "balls", ()):
        joint = robot.rows[ball.joint].name.rpartition(".")[0]
        raise InputError(
            f"{what} needs joints whose positions are numbers; {joint} of {robot.name} is a {ball.kind} joint, whose "
            "position is a quaternion or an angle's cosine and sine: give torque.pd(target, ...) a position of "
            f"{robot.nq} entries to hold, or a function (t, q, qd) -> torques, with robot.difference(q, q_d) for the "
            "distance"
        )


def numbers(name: str, value: ArrayLike, meaning: str) -> Array:
    """Return `value` as an array of finite numbers."""
    array = checked_array(name, value, (), FLOAT64, meaning)
    if not np.isfinite(array).all():
        place = np.unravel_index(np.argmax(~np.isfinite(array)), array.shape)
        at = "" if array.ndim == 0 else "[" + ", ".join(map(str, place)) + "]"
        raise InputError(f"{name}{at} = {array[place]} is not finite; expected {meaning}")
    return array


def number(name: str, value: float, meaning: str) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, (Real, np.ndarray)) or np.ndim(value) != 0:
        raise InputError(f"{name} = {value!r} is not a number; expected {meaning}")
    try:
        return float(numbers(name, float(value), meaning))
    except OverflowError:
        raise InputError(f"{name} is beyond all numbers of double precision; expected {meaning}") from None


def positive(name: str, value: float, meaning: str) -> float:
    """Return a number above zero."""
    result = number(name, value, meaning)
    if result <= 0:
        raise InputError(f"{name} = {result:g} is not above zero; expected {meaning}")
    return result


def seconds(duration: float) -> float:
    """Return a duration above zero."""
    return positive("duration", duration, "seconds, more than zero")


def one_per_joint(name: str, value: ArrayLike, n: int | None = None) -> Array:
    """Return a number for each joint (n,); a single number stands for all n joints, or for one joint without n."""
    array = numbers(name, value, "one number for each joint")
    if array.ndim == 0 and n is not None:
        return np.full(n, float(array))
    array = np.atleast_1d(array)
    if array.ndim != 1 or not array.size or (n is not None and array.size != n):
        expected = "a list of them, one for each joint" if n is None else f"({n},): one number for each joint"
        raise InputError(f"{name} has shape {array.shape}; expected {expected}")
    return array


def end_positions(q0: ArrayLike, q1: ArrayLike) -> tuple[Array, Array]:
    """Return the first and the last position of a motion, which must have the same joints."""
    first, last = one_per_joint("q0", q0), one_per_joint("q1", q1)
    if first.size != last.size:
        raise InputError(f"q0 has {first.size} joints and q1 has {last.size}; expected equal numbers of joints")
    return first, last


def increasing(name: str, value: ArrayLike) -> Array:
    """Return at least two times, each later than the one before."""
    times = numbers(name, value, "times in seconds")
    if times.ndim != 1 or times.size < 2:
        raise InputError(f"{name} has shape {times.shape}; expected a list of at least two times")
    steps = np.diff(times)
    if (steps > 0).all():
        return times
    k = int(np.argmax(steps <= 0))
    before, after = float(times[k]), float(times[k + 1])
    if before == after:
        raise InputError(f"{name}[{k}] and {name}[{k + 1}] are both {before!r} s; remove one of the two points")
    raise InputError(
        f"{name} are out of order: {name}[{k + 1}] = {after!r} s comes after {name}[{k}] = {before!r} s; "
        "sort the points by time"
    )


def table(name: str, value: ArrayLike, times: Array, n: int | None = None) -> Array:
    """Return a row for each time with a column for each joint; a plain list of numbers is one joint."""
    _check_row_lengths(name, value)
    array = numbers(name, value, "a row for each time, with one number for each joint")
    array = array[:, np.newaxis] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise InputError(f"{name} has shape {array.shape}; expected ({times.size}, n): a row for each time")
    if len(array) != times.size:
        raise InputError(f"{name} has {len(array)} rows for {times.size} times; expected one row for each time")
    if n is not None and array.shape[1] != n:
        raise InputError(f"{name} has {array.shape[1]} joints where points has {n}; expected equal numbers of joints")
    return array


def _check_row_lengths(name: str, value: ArrayLike) -> None:
    rows = value if isinstance(value, (list, tuple)) else ()
    lengths = [len(x) if isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim) else 1 for x in rows]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            raise InputError(
                f"{name}[{i}] has {length} numbers and {name}[0] has {lengths[0]}; expected one for each joint in each"
            )


def read_only(array: Array) -> Array:
    """Return a read-only copy, for frozen objects."""
    copy = np.array(array, dtype=FLOAT64)
    copy.flags.writeable = False
    return copy


def is_numeric(t: Any) -> bool:
    """Return True for a float or an array of floats, False for traced and high-precision scalars."""
    return isinstance(t, (int, float, np.generic, np.ndarray)) and np.asarray(t).dtype.kind in "fiu"


def short(x: float) -> str:
    """Return a number as text for a message: exact if that is short, else rounded."""
    text = repr(float(x))
    return text if len(text) <= 12 or not math.isfinite(x) else f"{x:.9g}"
