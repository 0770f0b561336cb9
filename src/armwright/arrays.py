"""Arrays of states: checked on the way in, seen as one row per state or one scalar per joint, filled on the way out."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array, Scalar, Vector
from armwright.errors import InputError, TooLargeError
from armwright.mechanism import Wrench

_LINE = 64  # bytes of a line of the cache

MEMORY_CHECK = 1 << 30
"""Bytes below which an array is made without a look at the memory that is free."""


def numbers(name: str, value: ArrayLike, wanted: str, card: bool = False) -> Array:
    """`value` as an array of numbers of some kind: no text that looks like some, and nothing that is masked.

    One that lies on a card stays there, if it may be on the `card`.
    """
    if masked(value):
        raise InputError(f"{name} has masked entries; fill them first")
    there = on_card(value)
    if there and not card:
        raise InputError(
            f"{name} is on a graphics card; expected an array of NumPy (`.get()` of CuPy's, `.cpu()` of PyTorch's), or "
            "a function or stepper made with target='cuda' to give it to"
        )
    try:
        array: Array = value if there else np.asarray(value)  # type: ignore[assignment]
    except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
        why = "its rows differ in length" if "inhomogeneous" in str(error) else str(error)
        raise InputError(f"{name} is not an array of numbers: {why}; {wanted}") from None
    kind = "b" if not there and _yes_or_no(value) else array.dtype.kind
    if kind not in "fiu":
        raise InputError(f"{name} holds {_HELD.get(kind, f'{array.dtype.name} values')}, not numbers; {wanted}")
    if not there and 0 in array.strides:  # an array that repeats itself may be larger than any memory
        check_room(name, array.shape, array.dtype)
    return array


_HELD = {"b": "true or false", "O": "Python objects", "U": "text", "S": "text"}


def _yes_or_no(value: object) -> bool:
    """Whether a list has a truth value somewhere, which NumPy would take for a number among others."""
    if not isinstance(value, (list, tuple)):
        return False
    kinds = set(map(type, value))
    lists = any(issubclass(kind, (list, tuple)) for kind in kinds)
    return not kinds.isdisjoint((bool, np.bool_)) or (lists and any(map(_yes_or_no, value)))


def on_card(value: object) -> bool:
    """Whether an array is on a graphics card, of whichever package it is."""
    kind = type(value).__module__.partition(".")[0]
    if kind == "torch":
        return bool(getattr(value, "is_cuda", False))
    if kind in ("jax", "jaxlib"):
        return any(device.platform in ("gpu", "cuda") for device in getattr(value, "devices", set)())
    return hasattr(value, "__cuda_array_interface__")


def package(*arrays: object) -> Any:
    """Whose arrays these are, CuPy's if one of them is on a card, else NumPy's: for making others."""
    return sys.modules["cupy"] if any(map(on_card, arrays)) else np


def masked(value: object) -> bool:
    """Whether any entry is masked, also of an array in a list: the number behind it is not to be used.

    Nobody can have made one where that part of NumPy is not imported. It is not imported here: a process that forks
    meanwhile would wait for ever.
    """
    if isinstance(value, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())):
        return bool(np.ma.is_masked(value))
    return isinstance(value, (list, tuple)) and any(masked(x) for x in value if not isinstance(x, Real))


def checked_array(
    name: str, value: ArrayLike, trailing: tuple[int, ...], dtype: np.dtype[Any], meaning: str, card: bool = False
) -> Array:
    """`value` as an array of shape (..., *trailing) of numbers."""
    expected = ", ".join(map(str, trailing))
    wanted = f"expected shape ({expected}{',' if len(trailing) == 1 else ''}) or (..., {expected}): {meaning}"
    if not trailing:
        wanted = f"expected a number, or an array with one for each state: {meaning}"
    array = numbers(name, value, wanted, card)
    with np.errstate(over="ignore"):  # what becomes infinite is told with the result
        array = array.astype(dtype, copy=False)
    if array.ndim < len(trailing) or array.shape[array.ndim - len(trailing) :] != trailing:
        raise InputError(f"{name} has shape {array.shape}; {wanted}")
    return array


def check_room(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse an array that the free memory does not hold: Linux grants it, and ends the process when it is filled."""
    size = math.prod(shape) * dtype.itemsize
    if size > MEMORY_CHECK and size > (free := _free_memory()):
        raise TooLargeError(
            f"{name} of shape {shape} takes {size / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free; take fewer at a time"
        )


def _free_memory() -> float:
    """Return the bytes of memory that are free, where the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as table:
            found = dict(line.split(":", 1) for line in table)
        return float(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return math.inf


def check_finite(name: str, array: Array) -> None:
    """Refuse an array of numbers of which one is not finite."""
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        which = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise InputError(f"{which} is {array[place]}; every number must be finite")


def common_shape(arrays: Mapping[str, tuple[Array, int]]) -> tuple[int, ...]:
    """The batch shape all arrays broadcast to; the number is how many trailing axes are not batch."""
    shapes = {name: array.shape[: array.ndim - kept] for name, (array, kept) in arrays.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(
            f"batch shapes do not fit together: {listed}; expected equal, or 1 where it may repeat"
        ) from None


def whole_number(name: str, value: object, least: int, meaning: str = "a whole number") -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} = {value!r}: expected {meaning}, {least} or more")
    return int(value)


def scalars(array: Array, batch: tuple[int, ...]) -> list[Scalar]:
    """One scalar per entry of the last axis: a number for a single state, an array of shape `batch` otherwise."""
    if not batch:
        return array.tolist() if array.dtype == np.float64 else list(array)
    return list(np.moveaxis(np.broadcast_to(array, (*batch, array.shape[-1])), -1, 0))


def wrench(array: Array, batch: tuple[int, ...]) -> Wrench:
    """(..., 6) as force and moment."""
    fx, fy, fz, mx, my, mz = scalars(array, batch)
    return Wrench(Vector(fx, fy, fz), Vector(mx, my, mz))


def stacked(values: Any, batch: tuple[int, ...], dtype: np.dtype[Any], xp: Any = np) -> Array:
    """A scalar, a list or a list of lists of scalars as one array of a package, with the batch axes first."""
    shape: tuple[int, ...] = ()
    probe = values
    while isinstance(probe, Sequence):
        shape, probe = (*shape, len(probe)), probe[0]
    result: Array = xp.empty((*batch, *shape), dtype=dtype)
    for place in np.ndindex(*shape):
        entry = values
        for i in place:
            entry = entry[i]
        result[(..., *place)] = entry
    return result


def state_rows(array: Array, batch: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """An array (..., *shape) as (states, numbers), copied only if its layout leaves no other way."""
    return addressable(np.broadcast_to(array, (*batch, *shape)).reshape(math.prod(batch), math.prod(shape)))


def addressable(array: Array) -> Array:
    """The same numbers, copied only if they lie where compiled code cannot read them: between the places of others."""
    lies = all(stride % array.itemsize == 0 for stride in array.strides) and getattr(array.flags, "aligned", True)
    return array if lies else np.ascontiguousarray(array)


def viewed(array: Array, shape: tuple[int, int]) -> Array | None:
    """The same memory in another shape, if its layout allows that."""
    try:
        return np.reshape(array, shape, copy=False)
    except ValueError:
        return None


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], beside: bool) -> Array:
    """A new array; if `beside`, with the states side by side in memory, as the input had them.

    Then every entry starts a line of the cache, and where entries would lie a multiple of 4 KB apart, and so push each
    other out of the cache, they lie one line further apart.
    """
    check_room("the result", shape, dtype)
    if not beside:
        return np.empty(shape, dtype)
    states, line = shape[0], _LINE // dtype.itemsize
    apart = -(-states // line) * line
    if apart * dtype.itemsize % 4096 == 0:
        apart += line
    entries = math.prod(shape[1:])
    memory = np.empty(entries * apart + line, dtype)
    start = -memory.__array_interface__["data"][0] % _LINE // dtype.itemsize
    columns = memory[start : start + entries * apart].reshape(*shape[1:], apart)[..., :states]
    return np.moveaxis(columns, -1, 0)


def can_write_into(out: Array, dtype: np.dtype[Any], inputs: Sequence[ArrayLike]) -> bool:
    """Whether results can be written straight into `out`: regular in memory, and apart from every input."""
    size, flags = dtype.itemsize, out.flags
    if out.dtype != dtype or not flags.aligned or not flags.writeable:
        return False
    if any(stride % size for stride in out.strides) or has_overlap(out):
        return False
    return not any(isinstance(x, np.ndarray) and np.may_share_memory(out, x) for x in inputs)


def has_overlap(out: Array) -> bool:
    """Whether several entries lie in one place; none do if every axis steps over all that the shorter ones reach."""
    reach, nested = out.itemsize, True
    for stride, size in sorted((abs(stride), size) for stride, size in zip(out.strides, out.shape, strict=True)):
        nested &= size < 2 or stride >= reach
        reach += stride * (size - 1)
    if nested or not out.size:
        return False
    places = np.zeros(1, np.int64)
    for stride, size in zip(out.strides, out.shape, strict=True):
        places = np.add.outer(places, stride * np.arange(size)).ravel()
    return bool((np.diff(np.sort(places)) < out.itemsize).any())


def check_out(out: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out is {got}; expected an array of {dtype} with shape {shape}")
    if not out.flags.writeable or has_overlap(out):
        raise InputError(
            "out cannot be written to: it is read-only, or several of its entries share one place in memory"
        )
