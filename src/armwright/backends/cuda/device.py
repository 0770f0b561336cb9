"""The card: what is compiled for it and run on it, by CuPy, and arrays of other packages that lie there.

Nothing but this module knows CuPy, and it is imported when something is to run.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from armwright.errors import ArmwrightError, InputError

OPTIONS = ("--std=c++17", "--fmad=false")
"""How kernels are compiled: which products are fused into sums is said in their text."""

MISSING = "target 'cuda' needs {}; {}"


@cache
def cupy() -> Any:
    """CuPy, on a machine that has a card, or an error that says what is missing."""
    try:
        import cupy as found  # noqa: PLC0415  (only here, and only when it is needed)
    except ImportError as error:
        how = "pip install 'armwright[cuda]' (CUDA 13), or cupy-cuda12x for CUDA 12"
        raise ArmwrightError(MISSING.format("CuPy, which is not installed", how) + f" ({error})") from None
    try:
        count = found.cuda.runtime.getDeviceCount()
    except found.cuda.runtime.CUDARuntimeError as error:
        count, why = 0, f" ({error})"
    else:
        why = ""
    if not count:
        how = "use target='cpu', or a machine on which nvidia-smi shows one"
        raise ArmwrightError(MISSING.format(f"an NVIDIA card with its driver, and there is none{why}", how))
    return found


class Code:
    """A kernel that is compiled, `run`; CuPy keeps it on disk for other processes."""

    def __init__(self, source: str, block: int) -> None:
        self.block = block
        self._kernel = cupy().RawModule(code=source, options=OPTIONS).get_function("run")

    @property
    def registers(self) -> int:
        """Of a thread."""
        return int(self._kernel.num_regs)

    @property
    def spilled(self) -> int:
        """Bytes of a thread that are in memory because no register is left, and those of calls."""
        return int(self._kernel.local_size_bytes)

    def launch(self, call: ctypes.Structure, threads: int, groups: int = 1) -> None:
        """Run on the current stream, with a structure for all threads."""
        if threads:
            grid = (-(-threads // self.block), groups)
            self._kernel(grid, (self.block,), (np.frombuffer(bytes(call), np.uint8),))


class Array(ctypes.Structure):
    """As `Array` of the prelude: where it is, and how many numbers lie from state to state and from entry to entry."""

    _fields_ = (("at", ctypes.c_void_p), ("state", ctypes.c_longlong), ("entry", ctypes.c_longlong))

    @classmethod
    def of(cls, array: Any) -> Array:
        """An array (states, entries)."""
        address = array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data
        return cls(address, *(stride // array.itemsize for stride in array.strides))


# Arrays of other packages


def lies_there(value: Any) -> bool:
    """Whether an array is on a card, of whichever package it is."""
    kind = type(value).__module__.partition(".")[0]
    if kind == "torch":
        return bool(getattr(value, "is_cuda", False))
    if kind in ("jax", "jaxlib"):
        return any(device.platform in ("gpu", "cuda") for device in getattr(value, "devices", set)())
    return hasattr(value, "__cuda_array_interface__")


def package(values: Sequence[Any]) -> str:
    """Of the arrays that are on the card, all of which must be of one: "cupy", "torch" or "jax"; "" if none is."""
    kinds = {_kind(value) for value in values if lies_there(value)}
    if len(kinds) > 1:
        raise InputError(f"arrays of {' and '.join(sorted(kinds))} are mixed; expected those of one package")
    return kinds.pop() if kinds else ""


def _kind(value: Any) -> str:
    name = type(value).__module__.partition(".")[0]
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax"}.get(name, "cupy")


def taken(value: Any) -> Any:
    """What is on the card as an array of CuPy, in the same memory; anything else is copied there."""
    if not lies_there(value):
        return value
    kind = _kind(value)
    if kind == "torch":
        return cupy().from_dlpack(value.detach())
    if kind == "jax":
        value.block_until_ready()
    return cupy().asarray(value)


def copied(value: np.ndarray[Any, Any]) -> Any:
    """An array of NumPy on the card, as it lies: states that are side by side stay so."""
    held = value
    while held.ndim and 0 in held.strides:  # what is repeated is sent once
        axis = held.strides.index(0)
        if held.shape[axis] <= 1:
            break
        held = held.take([0], axis=axis) if False else held[(slice(None),) * axis + (slice(0, 1),)]
    return cupy().broadcast_to(cupy().asarray(held, order="K"), value.shape)


def given(array: Any, kind: str) -> Any:
    """An array of CuPy as one of the package that was given, in the same memory; without one, of NumPy."""
    if kind == "torch":
        return sys.modules["torch"].from_dlpack(array)
    if kind == "jax":
        return sys.modules["jax"].dlpack.from_dlpack(cupy().ascontiguousarray(array))
    return array if kind == "cupy" else cupy().asnumpy(array, order="A")


@contextmanager
def stream(kind: str) -> Iterator[None]:
    """The stream on which whoever called computes: that of the package whose arrays were given."""
    if kind != "torch":
        yield
        return
    current = sys.modules["torch"].cuda.current_stream()
    with cupy().cuda.ExternalStream(current.cuda_stream, current.device_index):
        yield


def full() -> type[Exception]:
    """What is raised where the memory of the card is full."""
    kind: type[Exception] = cupy().cuda.memory.OutOfMemoryError
    return kind
