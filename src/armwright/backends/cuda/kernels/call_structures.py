"""Structures that are passed to kernels, as ctypes lays them out."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class StridedArray(ctypes.Structure):
    """`Array` of arrays.cuh: an address, and the distances from state to state and from entry to entry, in numbers."""

    _fields_ = (("at", ctypes.c_void_p), ("state", ctypes.c_longlong), ("entry", ctypes.c_longlong))

    @classmethod
    def of(cls, array: Any) -> StridedArray:
        """Return the structure of an array (states, entries)."""
        return cls(address(array), *(stride // array.itemsize for stride in array.strides))


def address(array: Any) -> int:
    """Return the address of an array of CuPy or NumPy."""
    return int(array.data.ptr if hasattr(array.data, "ptr") else array.ctypes.data)


def call_structure(names: Sequence[str], extra: Sequence[tuple[str, Any]]) -> type[ctypes.Structure]:
    """Return the type of `Call` of a kernel with arguments of these names, then `extra` fields."""
    fields = [
        *((f"{name}_", StridedArray) for name in (*names, "out")),
        *((name, ctypes.c_void_p) for name in ("good", "bad", "last", "marked")),
        ("states", ctypes.c_longlong),
    ]
    return type("Call", (ctypes.Structure,), {"_fields_": [*fields, *extra]})
