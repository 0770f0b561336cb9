"""A machine that has no card, pretending to have one: CuPy's place is taken by NumPy, and that of NVRTC by a compiler.

Arrays that are said to be on the card know their address, as CuPy's do, and refuse to be mixed with those of NumPy. What is
launched is the text of a kernel as C++, one thread of it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from on_cpu import compiled

from armwright.backends.cuda.host import device


class Memory(SimpleNamespace):
    """Where an array lies."""

    def memset_async(self, value: int, size: int) -> None:
        ctypes.memset(self.ptr, value, size)


class Far(np.ndarray):
    """An array on the card."""

    __cuda_array_interface__ = True

    @property
    def data(self) -> Memory:  # type: ignore[override]
        return Memory(ptr=self.__array_interface__["data"][0])

    def get(self) -> np.ndarray:
        return np.array(self.view(np.ndarray))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(type(x) is np.ndarray for x in inputs):
            raise TypeError("an array of NumPy and one on the card")
        plain = [x.view(np.ndarray) if isinstance(x, Far) else x for x in inputs]
        out = options.pop("out", None)
        if out is not None:
            options["out"] = tuple(x.view(np.ndarray) for x in out)
        if method == "accumulate" and ufunc not in (np.add, np.multiply):
            raise NotImplementedError(f"{ufunc.__name__}.{method} is not supported yet")
        found = getattr(ufunc, method)(*plain, **options)
        return np.asarray(found).view(Far)

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
        if any(type(x) is np.ndarray for x in _leaves(given)):
            raise TypeError("an array of NumPy and one on the card")
        found = function(*_plain(given), **{name: _plain(x) for name, x in options.items()})
        return np.asarray(found).view(Far) if isinstance(found, (np.ndarray, np.generic)) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        self.view(np.ndarray)[_plain(key)] = _plain(value)


def _leaves(value: Any) -> list[Any]:
    return [x for part in value for x in _leaves(part)] if isinstance(value, (list, tuple)) else [value]


def _plain(value: Any) -> Any:
    """What NumPy computes with in its place."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value.view(np.ndarray) if isinstance(value, Far) else value


class Kernel:
    """A kernel as a function of the CPU; what it does with large angles is part of its first."""

    num_regs, local_size_bytes, max_dynamic_shared_size_bytes = 100, 0, 48 << 10

    def __init__(self, text: str, name: str) -> None:
        self._run = compiled(text) if name == "run" else None

    def __call__(self, grid: Any, block: Any, given: tuple[np.ndarray], shared_mem: int = 0) -> None:
        (call,) = given
        fields = [("words", ctypes.c_longlong * (call.nbytes // 8))]
        kind: Any = type("Call", (ctypes.Structure,), {"_fields_": fields})
        if self._run is not None:
            self._run(kind.from_buffer_copy(call.tobytes()))


def far(value: Any, dtype: Any = None, order: str = "K") -> Far:
    """A copy on the card."""
    return np.array(value, dtype=dtype, order=order).view(Far)  # type: ignore[call-overload]


ATTRIBUTES = {
    "MultiProcessorCount": 2,
    "MaxThreadsPerMultiProcessor": 2048,
    "MaxRegistersPerMultiprocessor": 65536,
}


class _Card(ModuleType):
    """What of CuPy is used."""

    ndarray = Far
    asarray = staticmethod(
        lambda value, dtype=None, order="K": value if isinstance(value, Far) else far(value, dtype, order)
    )
    asnumpy = staticmethod(lambda value, order="A": np.array(value.view(np.ndarray), order=order))
    empty = staticmethod(lambda shape, dtype: np.full(shape, 77, dtype).view(Far))
    zeros = staticmethod(lambda shape, dtype: np.zeros(shape, dtype).view(Far))
    ones = staticmethod(lambda shape, dtype: np.ones(shape, dtype).view(Far))
    eye = staticmethod(lambda size, dtype=float: np.eye(size, dtype=dtype).view(Far))
    may_share_memory = staticmethod(np.may_share_memory)
    broadcast_to = staticmethod(lambda value, shape: np.broadcast_to(value, shape, subok=True))
    stack = staticmethod(lambda values, axis: np.stack([x.view(np.ndarray) for x in values], axis).view(Far))
    where = staticmethod(lambda which, x, y: np.where(*(a.view(np.ndarray) for a in (which, x, y))).view(Far))
    RawModule = staticmethod(
        lambda code, options: SimpleNamespace(get_function=lambda name: Kernel(code, name), options=options)
    )
    cuda = SimpleNamespace(
        runtime=SimpleNamespace(
            getDeviceCount=lambda: 1,
            getDeviceProperties=lambda _: {"sharedMemPerMultiprocessor": 228 << 10},
            memGetInfo=lambda: (10**9, 10**10),
            CUDARuntimeError=RuntimeError,
        ),
        Device=lambda: SimpleNamespace(compute_capability="90", id=0, attributes=ATTRIBUTES),
        memory=SimpleNamespace(OutOfMemoryError=MemoryError),
    )
    get_default_memory_pool = staticmethod(lambda: SimpleNamespace(free_bytes=lambda: 0))


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As long as it is used, there is a card."""
    monkeypatch.setitem(sys.modules, "cupy", _Card("cupy"))
    device.cupy.cache_clear()
    yield
    device.cupy.cache_clear()
