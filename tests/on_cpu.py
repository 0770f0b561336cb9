"""Text that is written for a card, compiled as C++ and run on the CPU: the same arithmetic, one thread after another."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import kept_folder

from armwright.backends.cuda.host.launcher import NO_STATE
from armwright.backends.cuda.kernels.call_structures import StridedArray

FLAGS = ["-O1", "-std=c++17", "-ffp-contract=off", "-mfma", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-unused"]
FLAGS += ["-Wno-unknown-pragmas"]

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ here")


MAX_KEPT_BYTES = 512 << 20
"""Bytes of compiled libraries that are kept; those unused for longest go first."""


@cache
def compiler_version() -> str:
    """Return what the compiler prints about its version, and the CPU whose instructions it may use."""
    printed = subprocess.run(["g++", "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    return f"{printed} {platform.machine()}"


@cache
def compiled(text: str) -> Any:
    """Return the function `run` of a text, compiled as C++.

    The library is kept for later runs, by a digest of text, flags and compiler, so that they compile nothing.
    """
    run = ctypes.CDLL(str(compiled_library(text))).run
    run.restype = None
    return run


def compiled_library(text: str, folder: Path | None = None) -> Path:
    """Return the library of a text in the folder, by default the kept one; compile it if it is not there."""
    folder = kept_folder("cuda-as-cpp") if folder is None else folder
    digest = hashlib.sha256("\0".join([text, *FLAGS, compiler_version()]).encode()).hexdigest()
    library = folder / f"{digest}.so"
    if library.exists():
        with contextlib.suppress(OSError):
            os.utime(library)
        return library
    with tempfile.TemporaryDirectory(dir=folder) as made:
        source, output = Path(made, "text.cpp"), Path(made, "text.so")
        source.write_text(text)
        command = ["g++", *FLAGS, "-o", output, source]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[:3000]
        output.replace(library)  # at once, as other processes of the tests may look for it
    _evict(folder)
    return library


def nvcc_report(text: str) -> str:
    """Return what nvcc prints of the registers and spills of the kernels of a text; it is kept for later runs."""
    command = ["nvcc", "-arch=sm_90", "-std=c++17", "-fmad=false", "--cubin", "-Xptxas", "-v", "-o", os.devnull]
    version = subprocess.run(["nvcc", "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    digest = hashlib.sha256("\0".join([text, *command, version]).encode()).hexdigest()
    kept = kept_folder("nvcc") / f"{digest}.txt"
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=kept.parent) as made:
            source, report = Path(made, "kernel.cu"), Path(made, "report.txt")
            source.write_text(text)
            done = subprocess.run([*command, str(source)], check=True, capture_output=True, text=True, timeout=300)
            report.write_text(done.stderr)
            report.replace(kept)
    return kept.read_text()


def _evict(folder: Path) -> None:
    """Remove the libraries that were not used for longest, until the others are small enough."""
    found = list[tuple[float, int, Path]]()
    for path in folder.glob("*.so"):
        with contextlib.suppress(OSError):  # another process may have removed it
            found.append((path.stat().st_mtime, path.stat().st_size, path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > MAX_KEPT_BYTES:
            path.unlink(missing_ok=True)


def computed(kernel: Any, text: str, arrays: list[np.ndarray], out: np.ndarray) -> np.ndarray:
    """Fill `out` (states, entries) by the text of a kernel of `backends.cuda`; returns which states are good."""
    good, bad = np.zeros(len(out), np.uint8), np.full(1, NO_STATE, np.uint64)
    call = kernel._call(
        *map(StridedArray.of, (*arrays, out)), good.ctypes.data, bad.ctypes.data, None, None, len(out), 0
    )
    compiled(text)(call)
    first = np.flatnonzero(good == 0)
    assert int(bad[0]) == (first[0] if first.size else NO_STATE)
    return good.astype(bool)
