"""CUDA text compiled as C++ and run on this CPU: the same arithmetic, where there is no card."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armwright.backends.cuda import kernel
from armwright.graph.program import Program

_OPTIONS = ("-O1", "-std=c++17", "-ffp-contract=off", "-mfma", "-shared", "-fPIC", "-x", "c++")


def compiler(name: str = "g++") -> str:
    """Where a compiler is, or no test."""
    return shutil.which(name) or pytest.skip(f"{name} is not installed")


def library(text: str) -> ctypes.CDLL:
    """The text, compiled, once."""
    folder = Path(os.environ.get("ARMWRIGHT_CACHE") or tempfile.gettempdir()) / "on_cpu"
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.so"
    if not made.exists():
        own = made.with_suffix(f".{os.getpid()}")
        command = [compiler(), *_OPTIONS, "-", "-o", str(own)]
        subprocess.run(command, input=text.encode(), check=True, timeout=120)
        own.replace(made)
    return ctypes.CDLL(str(made))


class _Array(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("state", ctypes.c_longlong), ("entry", ctypes.c_longlong))

    @classmethod
    def of(cls, array: np.ndarray) -> _Array:
        state, entry = (stride // array.itemsize for stride in array.strides)
        return cls(array.ctypes.data, state, entry)


def run(program: Program, arrays: Sequence[np.ndarray], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The results of the kernel of a program, and which states are good."""
    given = [np.ascontiguousarray(x, dtype=dtype) for x in arrays]
    states, count = len(given[0]), len(given)
    out, good, bad = np.empty((states, program.results), dtype), np.zeros(states, np.uint8), ctypes.c_ulonglong(states)

    class Call(ctypes.Structure):
        _fields_: Any = (
            *((f"a{k}", _Array) for k in range(count + 1)),
            ("good", ctypes.c_void_p),
            ("bad", ctypes.c_void_p),
            ("states", ctypes.c_longlong),
        )

    rows = kernel.Rows((False,) * count, False)
    code = library(kernel.text(program, rows, dtype == "float64"))
    code.run.argtypes, code.run.restype = [Call], None
    code.run(Call(*map(_Array.of, (*given, out)), good.ctypes.data, ctypes.addressof(bad), states))
    assert (bad.value == states) == bool(good.all())
    return out, good.astype(bool)
