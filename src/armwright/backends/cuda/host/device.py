"""The card: compiled kernels, facts of the device, and arrays of CuPy, PyTorch and JAX in its memory.

This module alone knows CuPy, which is imported with the first use of the card.
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

NVRTC_OPTIONS = ("--std=c++17", "--fmad=false")
"""Options of the compiler. The text of a kernel itself says which products are fused into sums."""

MISSING = "target 'cuda' needs {}; {}"


@cache
def cupy() -> Any:
    """Return the module of CuPy; raise an ArmwrightError where it or a card is missing."""
    try:
        import cupy as module  # noqa: PLC0415  (when first used)
    except ImportError as error:
        how = "pip install 'armwright[cuda]' (CUDA 13), or cupy-cuda12x for CUDA 12"
        raise ArmwrightError(MISSING.format("CuPy, which is not installed", how) + f" ({error})") from None
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        count, why = 0, f" ({error})"
    else:
        why = ""
    if not count:
        how = "use target='cpu', or a machine on which nvidia-smi shows one"
        raise ArmwrightError(MISSING.format(f"an NVIDIA card with its driver, and there is none{why}", how))
    return module


class CompiledCode:
    """Compiled kernels; CuPy keeps them on disk for other processes."""

    def __init__(self, source: str, block: int, shared: int = 0) -> None:
        self.block, self.shared = block, shared
        self._module = cupy().RawModule(code=source, options=NVRTC_OPTIONS)
        self._kernels: dict[str, Any] = {}

    def kernel(self, name: str = "run") -> Any:
        """Return the kernel of that name."""
        if name not in self._kernels:
            self._kernels[name] = self._module.get_function(name)
            self._allow_shared_memory(self._kernels[name])
        return self._kernels[name]

    def _allow_shared_memory(self, kernel: Any) -> None:
        """Raise its limit of shared memory to what is needed; never lower it, as equal texts have one kernel."""
        kernel.max_dynamic_shared_size_bytes = max(kernel.max_dynamic_shared_size_bytes, self.shared)

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return int(self.kernel().num_regs)

    @property
    def spilled(self) -> int:
        """Bytes of a thread that the compiler spilled to memory."""
        return int(self.kernel().local_size_bytes)

    @cached_property
    def blocks(self) -> int:
        """The number of blocks whose registers fit on a multiprocessor."""
        limits = cupy().cuda.Device().attributes
        registers = self.block * -(-self.registers // 8) * 8
        threads = limits["MaxThreadsPerMultiProcessor"] // self.block
        return int(max(1, min(threads, limits["MaxRegistersPerMultiprocessor"] // registers)))

    @cached_property
    def resident(self) -> int:
        """The number of threads that run on the card at a time."""
        return int(cupy().cuda.Device().attributes["MultiProcessorCount"]) * self.blocks * self.block

    def launch(self, call: ctypes.Structure, threads: int, name: str = "run") -> None:
        """Run on the current stream; every thread gets the structure."""
        if threads:
            grid = (-(-threads // self.block),)
            arguments = (np.frombuffer(bytes(call), f"V{ctypes.sizeof(call)}"),)
            self.kernel(name)(grid, (self.block,), arguments, shared_mem=self.shared)


def with_occupancy(
    compiled: Callable[[int], CompiledCode], blocks: int, min_registers: int, max_registers: int
) -> CompiledCode:
    """Return code for this number of blocks per multiprocessor if it spills nothing, else code without a bound.

    `compiled(blocks)` compiles it; for 0 blocks the compiler chooses the registers. The bound is tried only if the
    compiler then takes more than `min_registers` and at most `max_registers`.
    """
    code = compiled(0)
    if not min_registers < code.registers <= max_registers:
        return code
    bounded = compiled(blocks)
    return code if bounded.spilled else bounded


# Arrays of other packages

FOREIGN_PACKAGES = ("torch", "jax")
"""Packages whose arrays are accepted and returned."""


def array_package(values: Sequence[Any]) -> str:
    """Return the package of the arrays on the card: "cupy", "torch" or "jax", "" if none is there.

    Arrays of two packages are an InputError.
    """
    packages = {_package_of(value) for value in values if on_card(value)}
    if len(packages) > 1:
        raise InputError(f"arrays of {' and '.join(sorted(packages))} are mixed; expected those of one package")
    return packages.pop() if packages else ""


def _package_of(value: Any) -> str:
    name = type(value).__module__.partition(".")[0]
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax"}.get(name, "cupy")


def check_written(*arrays: Any) -> None:
    """Raise an InputError for an array of JAX, as these are immutable and may be shared."""
    if any(on_card(array) and _package_of(array) == "jax" for array in arrays):
        raise InputError("out is an array of JAX, which is immutable; drop out= and use the result")


def to_cupy(value: Any) -> Any:
    """Return an array on the card as one of CuPy in the same memory, and any other value unchanged."""
    if not on_card(value):
        return value
    package = _package_of(value)
    if package == "torch":
        return cupy().from_dlpack(value.detach())
    if package == "jax":
        value.block_until_ready()
    return cupy().asarray(value)


def to_device(value: Any) -> Any:
    """Return a copy on the card with the same order of axes; a broadcast axis is sent once."""
    if on_card(value):
        return value
    once = value[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.strides)]
    return cupy().broadcast_to(cupy().asarray(once, order="K"), value.shape)


def to_package(array: Any, package: str) -> Any:
    """Return an array of CuPy as one of a package, in the same memory; for "" it is copied to NumPy."""
    if package == "torch":
        return sys.modules["torch"].from_dlpack(array)
    if package == "jax":
        return sys.modules["jax"].dlpack.from_dlpack(cupy().ascontiguousarray(array))
    return array if package == "cupy" else cupy().asnumpy(array, order="A")


@contextmanager
def stream(package: str) -> Iterator[None]:
    """Compute on the current stream of a package."""
    if package != "torch":
        yield
        return
    with stream_at(sys.modules["torch"].cuda.current_stream().cuda_stream):
        yield


def stream_at(address: int) -> Any:
    """Return the stream at an address, as a context manager."""
    streams = cupy().cuda
    known = hasattr(streams.Stream, "from_external")
    return streams.Stream.from_external(_Foreign(address)) if known else streams.ExternalStream(address)


class _Foreign(NamedTuple):
    """A stream of another package, in the form that CuPy requires since version 14."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of this protocol, and the stream."""
        return 0, self.address


def from_buffer(buffer: Any) -> Any:
    """Return memory of another package on the card as an array of CuPy."""
    return cupy().asarray(buffer)


def broadcast_states(array: Any, batch: Sequence[int]) -> Any:
    """Return an array (..., entries) as (states, entries), with one row for each state of a batch."""
    entries = array.shape[-1]
    if array.ndim == 1:
        return cupy().broadcast_to(array, (math.prod(batch), entries))
    return cupy().broadcast_to(array, (*batch, entries)).reshape(-1, entries)


def to_numpy(array: Any) -> Any:
    """Return a copy of an array of CuPy in host memory."""
    return cupy().asnumpy(array)


def compute_capability() -> int:
    """Return the compute capability of the card, times ten."""
    return int(cupy().cuda.Device().compute_capability)


def shared_memory_bytes() -> int:
    """Return the bytes of shared memory of a multiprocessor, less a kilobyte for each of six blocks."""
    properties = cupy().cuda.runtime.getDeviceProperties(cupy().cuda.Device().id)
    return int(properties["sharedMemPerMultiprocessor"]) - (6 << 10)


def out_of_memory_error() -> type[Exception]:
    """Return the exception that CuPy raises when the memory of the card is full."""
    kind: type[Exception] = cupy().cuda.memory.OutOfMemoryError
    return kind


def split_states(states: int) -> tuple[slice, slice]:
    """Return two halves of a batch that is too large for the card; raise an ArmwrightError for a single state."""
    if states < 2:
        raise ArmwrightError(f"the memory of the card is full: {memory_text()}") from None
    return slice(None, states // 2), slice(states // 2, None)


def free_bytes() -> int:
    """Return the free bytes of memory of the card."""
    left, _ = cupy().cuda.runtime.memGetInfo()
    return int(left + cupy().get_default_memory_pool().free_bytes())


def memory_text() -> str:
    """Return the free and the total memory of the card as text."""
    _, total = cupy().cuda.runtime.memGetInfo()
    return f"{free_bytes() / 1e9:.1f} of {total / 1e9:.1f} GB are free"
