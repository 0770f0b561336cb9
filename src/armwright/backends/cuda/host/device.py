"""The card: what is compiled for it and run on it, by CuPy, and arrays of other packages that lie there.

Nothing but this module knows CuPy, and it is imported when something is to run.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from armwright.arrays import on_card
from armwright.errors import ArmwrightError, InputError
from armwright.lazy import cached_property

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
    """Kernels that are compiled; CuPy keeps them on disk for other processes."""

    def __init__(self, source: str, block: int, shared: int = 0) -> None:
        self.block, self.shared = block, shared
        self._module = cupy().RawModule(code=source, options=OPTIONS)
        self._kernels: dict[str, Any] = {}

    def kernel(self, name: str = "run") -> Any:
        if name not in self._kernels:
            self._kernels[name] = self._module.get_function(name)
            self._allow(self._kernels[name])
        return self._kernels[name]

    def _allow(self, kernel: Any) -> None:
        """As much shared memory as is needed, and no less: somebody else of the same text has the same kernel."""
        kernel.max_dynamic_shared_size_bytes = max(kernel.max_dynamic_shared_size_bytes, self.shared)

    @property
    def registers(self) -> int:
        """Of a thread."""
        return int(self.kernel().num_regs)

    @property
    def spilled(self) -> int:
        """Bytes of a thread that are in memory because no register is left."""
        return int(self.kernel().local_size_bytes)

    @cached_property
    def blocks(self) -> int:
        """As many as have registers on a processor."""
        limits = cupy().cuda.Device().attributes
        registers = self.block * -(-self.registers // 8) * 8
        threads = limits["MaxThreadsPerMultiProcessor"] // self.block
        return int(max(1, min(threads, limits["MaxRegistersPerMultiprocessor"] // registers)))

    @cached_property
    def resident(self) -> int:
        """Threads that the card has running at a time."""
        return int(cupy().cuda.Device().attributes["MultiProcessorCount"]) * self.blocks * self.block

    def launch(self, call: ctypes.Structure, threads: int, name: str = "run") -> None:
        """Run on the current stream, with a structure for all threads."""
        if threads:
            grid = (-(-threads // self.block),)
            given = (np.frombuffer(bytes(call), f"V{ctypes.sizeof(call)}"),)
            self.kernel(name)(grid, (self.block,), given, shared_mem=self.shared)


def crowded(make: Callable[[int], Code], blocks: int, few: int, nearly: int) -> Code:
    """Code for so many blocks on a processor, if it takes nearly as few registers by itself and then spills nothing.

    `make(blocks)` compiles it, and leaves the registers to the compiler for none.
    """
    code = make(0)
    if not few < code.registers <= nearly:
        return code
    tighter = make(blocks)
    return code if tighter.spilled else tighter


class Array(ctypes.Structure):
    """As `Array` of the prelude: where it is, and how many numbers lie from state to state and from entry to entry."""

    _fields_ = (("at", ctypes.c_void_p), ("state", ctypes.c_longlong), ("entry", ctypes.c_longlong))

    @classmethod
    def of(cls, array: Any) -> Array:
        """An array (states, entries)."""
        return cls(address(array), *(stride // array.itemsize for stride in array.strides))


def address(array: Any) -> int:
    """Where an array lies, of CuPy or of NumPy."""
    return int(array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data)


# Arrays of other packages

FOREIGN = ("torch", "jax")
"""Packages whose arrays are taken and given back."""


def package(values: Sequence[Any]) -> str:
    """Of the arrays that are on the card, all of which must be of one: "cupy", "torch" or "jax"; "" if none is."""
    kinds = {_kind(value) for value in values if on_card(value)}
    if len(kinds) > 1:
        raise InputError(f"arrays of {' and '.join(sorted(kinds))} are mixed; expected those of one package")
    return kinds.pop() if kinds else ""


def _kind(value: Any) -> str:
    name = type(value).__module__.partition(".")[0]
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax"}.get(name, "cupy")


def check_written(*arrays: Any) -> None:
    """Arrays of JAX are never changed: whoever has one may have given it to others."""
    if any(on_card(array) and _kind(array) == "jax" for array in arrays):
        raise InputError("out is an array of JAX, which nobody may change; leave out= away, and take the result")


def taken(value: Any) -> Any:
    """What is on the card as an array of CuPy, in the same memory; anything else as it is."""
    if not on_card(value):
        return value
    kind = _kind(value)
    if kind == "torch":
        return cupy().from_dlpack(value.detach())
    if kind == "jax":
        value.block_until_ready()
    return cupy().asarray(value)


def copied(value: Any) -> Any:
    """An array of NumPy on the card, as it lies: what is side by side stays so, what is repeated is sent once."""
    if on_card(value):
        return value
    once = value[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.strides)]
    return cupy().broadcast_to(cupy().asarray(once, order="K"), value.shape)


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
    with stream_at(sys.modules["torch"].cuda.current_stream().cuda_stream):
        yield


def stream_at(address: int) -> Any:
    """The stream at an address, while somebody computes there."""
    streams = cupy().cuda
    known = hasattr(streams.Stream, "from_external")
    return streams.Stream.from_external(_Foreign(address)) if known else streams.ExternalStream(address)


class _Foreign(NamedTuple):
    """A stream of somebody else, as CuPy asks for it since version 14."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of this protocol, and the stream."""
        return 0, self.address


def seen(buffer: Any) -> Any:
    """Memory on the card that somebody else has, as an array of CuPy."""
    return cupy().asarray(buffer)


def spread(array: Any, batch: Sequence[int]) -> Any:
    """An array (..., entries) as (states, entries), one row for each state of a batch."""
    entries = array.shape[-1]
    if array.ndim == 1:
        return cupy().broadcast_to(array, (math.prod(batch), entries))
    return cupy().broadcast_to(array, (*batch, entries)).reshape(-1, entries)


def fetched(array: Any) -> Any:
    """An array of CuPy as one of NumPy."""
    return cupy().asnumpy(array)


def capability() -> int:
    """The compute capability of the card, times ten."""
    return int(cupy().cuda.Device().compute_capability)


def near() -> int:
    """Bytes of shared memory that a processor of the card has; every block takes a kilobyte of it for itself."""
    properties = cupy().cuda.runtime.getDeviceProperties(cupy().cuda.Device().id)
    return int(properties["sharedMemPerMultiprocessor"]) - (6 << 10)


def full() -> type[Exception]:
    """What is raised where the memory of the card is full."""
    kind: type[Exception] = cupy().cuda.memory.OutOfMemoryError
    return kind


def halves(states: int) -> tuple[slice, slice]:
    """Of what is too much for it; an error if that is a single state."""
    if states < 2:
        raise ArmwrightError(f"the memory of the card is full: {memory()}") from None
    return slice(None, states // 2), slice(states // 2, None)


def free() -> int:
    """Bytes of it that nobody uses."""
    left, _ = cupy().cuda.runtime.memGetInfo()
    return int(left + cupy().get_default_memory_pool().free_bytes())


def memory() -> str:
    """How much of it there is, and how much is free, in words."""
    _, whole = cupy().cuda.runtime.memGetInfo()
    return f"{free() / 1e9:.1f} of {whole / 1e9:.1f} GB are free"
