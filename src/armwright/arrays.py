"""Arrays of states: checks of inputs, views as rows per state or scalars per joint, and outputs."""

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
"""Bytes below which an array is made without a check of the free memory."""


def numbers(name: str, value: ArrayLike, expected: str, card: bool = False) -> Array:
    """Return `value` as an array of numbers; text and masked entries are errors.

    An array on a GPU stays there if `card` allows it.
    """
    if masked(value):
        raise InputError(f"{name} has masked entries; fill them first")
    on_device = on_card(value)
    if on_device and not card:
        raise InputError(
            f"{name} is on a graphics card; expected an array of NumPy (`.get()` of CuPy's, `.cpu()` of PyTorch's), or "
            "a function or stepper made with target='cuda' to give it to"
        )
    try:
        array: Array = value if on_device else np.asarray(value)  # type: ignore[assignment]
    except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
        why = "its rows differ in length" if "inhomogeneous" in str(error) else str(error)
        raise InputError(f"{name} is not an array of numbers: {why}; {expected}") from None
    kind = "b" if not on_device and _has_truth_value(value) else array.dtype.kind
    if kind not in "fiu":
        raise InputError(f"{name} holds {_KIND_NAMES.get(kind, f'{array.dtype.name} values')}, not numbers; {expected}")
    if not on_device and 0 in array.strides:  # a broadcast array may be larger than any memory
        check_memory(name, array.shape, array.dtype)
    return array


_KIND_NAMES = {"b": "true or false", "O": "Python objects", "U": "text", "S": "text"}


def _has_truth_value(value: object) -> bool:
    """Return True if a list contains a truth value, which NumPy would convert to a number."""
    if not isinstance(value, (list, tuple)):
        return False
    kinds = set(map(type, value))
    lists = any(issubclass(kind, (list, tuple)) for kind in kinds)
    return not kinds.isdisjoint((bool, np.bool_)) or (lists and any(map(_has_truth_value, value)))


def on_card(value: object) -> bool:
    """Return True if an array of any package is on a GPU."""
    kind = type(value).__module__.partition(".")[0]
    if kind == "torch":
        return bool(getattr(value, "is_cuda", False))
    if kind in ("jax", "jaxlib"):
        return any(device.platform in ("gpu", "cuda") for device in getattr(value, "devices", set)())
    return hasattr(value, "__cuda_array_interface__")


def package(*arrays: object) -> Any:
    """Return the package for new arrays: CuPy if an array is on a GPU, else NumPy."""
    return sys.modules["cupy"] if any(map(on_card, arrays)) else np


def masked(value: object) -> bool:
    """Return True if any entry is masked, also in a list of arrays.

    If numpy.ma is not imported, nobody can have made one. It is not imported here: a process that forks meanwhile could
    deadlock.
    """
    if isinstance(value, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())):
        return bool(np.ma.is_masked(value))
    return isinstance(value, (list, tuple)) and any(masked(x) for x in value if not isinstance(x, Real))


def checked_array(
    name: str, value: ArrayLike, trailing: tuple[int, ...], dtype: np.dtype[Any], meaning: str, card: bool = False
) -> Array:
    """Return `value` as an array of numbers with shape (..., *trailing)."""
    shape = ", ".join(map(str, trailing))
    expected = f"expected shape ({shape}{',' if len(trailing) == 1 else ''}) or (..., {shape}): {meaning}"
    if not trailing:
        expected = f"expected a number, or an array with one for each state: {meaning}"
    array = numbers(name, value, expected, card)
    with np.errstate(over="ignore"):  # the result shows what becomes infinite
        array = array.astype(dtype, copy=False)
    if array.ndim < len(trailing) or array.shape[array.ndim - len(trailing) :] != trailing:
        raise InputError(f"{name} has shape {array.shape}; {expected}")
    return array


def check_memory(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise a TooLargeError for an array beyond the free memory; Linux would grant it and kill the process later."""
    size = math.prod(shape) * dtype.itemsize
    if size > MEMORY_CHECK and size > (free := _free_memory()):
        raise TooLargeError(
            f"{name} of shape {shape} takes {size / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free; take fewer at a time"
        )


def _free_memory() -> float:
    """Return the bytes of free memory, inf if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as table:
            entries = dict(line.split(":", 1) for line in table)
        return float(entries["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return math.inf


def check_finite(name: str, array: Array) -> None:
    """Raise an InputError for an array with a number that is not finite."""
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        which = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise InputError(f"{which} is {array[place]}; every number must be finite")


def common_shape(arrays: Mapping[str, tuple[Array, int]]) -> tuple[int, ...]:
    """Return the batch shape to which all arrays broadcast, given the number of trailing axes of each."""
    shapes = {name: array.shape[: array.ndim - kept] for name, (array, kept) in arrays.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(
            f"batch shapes do not fit together: {listed}; expected equal, or 1 where it may repeat"
        ) from None


def whole_number(name: str, value: object, minimum: int, meaning: str = "a whole number") -> int:
    """Return `value` as an int, or raise an InputError if it is no integer of at least `minimum`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise InputError(f"{name} = {value!r}: expected {meaning}, {minimum} or more")
    return int(value)


def scalars(array: Array, batch: tuple[int, ...]) -> list[Scalar]:
    """Return one scalar per entry of the last axis: numbers for a single state, else arrays of shape `batch`."""
    if not batch:
        return array.tolist() if array.dtype == np.float64 else list(array)
    return list(np.moveaxis(np.broadcast_to(array, (*batch, array.shape[-1])), -1, 0))


def wrench(array: Array, batch: tuple[int, ...]) -> Wrench:
    """Return an array (..., 6) as force and moment."""
    fx, fy, fz, mx, my, mz = scalars(array, batch)
    return Wrench(Vector(fx, fy, fz), Vector(mx, my, mz))


def stacked(values: Any, batch: tuple[int, ...], dtype: np.dtype[Any], xp: Any = np) -> Array:
    """Return nested lists of scalars as one array of a package, with the batch axes first."""
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
    """Return an array (..., *shape) as (states, numbers), copied only if its layout requires it."""
    return addressable(np.broadcast_to(array, (*batch, *shape)).reshape(math.prod(batch), math.prod(shape)))


def addressable(array: Array) -> Array:
    """Return the array, copied only if its strides are no multiples of the item size."""
    regular = all(stride % array.itemsize == 0 for stride in array.strides) and getattr(array.flags, "aligned", True)
    return array if regular else np.ascontiguousarray(array)


def viewed(array: Array, shape: tuple[int, int]) -> Array | None:
    """Return the same memory in another shape, or None if its layout does not allow it."""
    try:
        return np.reshape(array, shape, copy=False)
    except ValueError:
        return None


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], contiguous_states: bool) -> Array:
    """Return a new array, in which the values of one entry in all states are contiguous if `contiguous_states`.

    Then every entry starts a cache line. Entries at multiples of 4 KB would evict each other from the cache, so these
    are one line further apart.
    """
    check_memory("the result", shape, dtype)
    if not contiguous_states:
        return np.empty(shape, dtype)
    states, line = shape[0], _LINE // dtype.itemsize
    stride = -(-states // line) * line
    if stride * dtype.itemsize % 4096 == 0:
        stride += line
    entries = math.prod(shape[1:])
    memory = np.empty(entries * stride + line, dtype)
    start = -memory.__array_interface__["data"][0] % _LINE // dtype.itemsize
    columns = memory[start : start + entries * stride].reshape(*shape[1:], stride)[..., :states]
    return np.moveaxis(columns, -1, 0)


def can_write_into(out: Array, dtype: np.dtype[Any], inputs: Sequence[ArrayLike]) -> bool:
    """Return True if results can be written straight into `out`: regular, and apart from every input."""
    size, flags = dtype.itemsize, out.flags
    if out.dtype != dtype or not flags.aligned or not flags.writeable:
        return False
    if any(stride % size for stride in out.strides) or has_overlap(out):
        return False
    return not any(isinstance(x, np.ndarray) and np.may_share_memory(out, x) for x in inputs)


def has_overlap(out: Array) -> bool:
    """Return True if several entries share memory; none do if every axis steps over the reach of shorter ones."""
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
    """Raise an InputError unless `out` is a writable array of this shape and dtype."""
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out is {got}; expected an array of {dtype} with shape {shape}")
    if not out.flags.writeable or has_overlap(out):
        raise InputError("out cannot be written to: it is read-only, or several of its entries share memory")
