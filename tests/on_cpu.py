"""Text that is written for a card, compiled as C++ and run on the CPU: the same arithmetic, one thread after another."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armwright.backends.cuda.backend import NONE
from armwright.backends.cuda.host.device import Array

FLAGS = ["-O1", "-std=c++17", "-ffp-contract=off", "-mfma", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-unused"]
FLAGS += ["-Wno-unknown-pragmas"]

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")


def compiled(text: str, folder: Path) -> Any:
    """The function `run` of a text."""
    name = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
    source, library = name.with_suffix(".cpp"), name.with_suffix(".so")
    source.write_text(text)
    command = ["g++", *FLAGS, "-o", library, source]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[:3000]
    run = ctypes.CDLL(str(library)).run
    run.restype = None
    return run


def computed(kernel: Any, text: str, folder: Path, arrays: list[np.ndarray], out: np.ndarray) -> np.ndarray:
    """Fill `out` (states, entries) by the text of a kernel of `backends.cuda`; returns which states are good."""
    good, bad = np.zeros(len(out), np.uint8), np.full(1, NONE, np.uint64)
    call = kernel._call(*map(Array.of, (*arrays, out)), good.ctypes.data, bad.ctypes.data, None, None, len(out), 0)
    compiled(text, folder)(call)
    first = np.flatnonzero(good == 0)
    assert int(bad[0]) == (first[0] if first.size else NONE)
    return good.astype(bool)
