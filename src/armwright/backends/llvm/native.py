"""Machine code for this CPU, in memory and on disk.

The name in the cache is a digest of the program, the CPU and the versions. Code from disk is run once and compared with
the interpreter before it is used.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from armwright.backends.interface import COMPILE_LOCK
from armwright.backends.llvm.block import VectorType
from armwright.backends.llvm.compiler import compile_ir, target_machine
from armwright.backends.llvm.target import target
from armwright.cache import code_digest, read
from armwright.cache import write as write_cache
from armwright.errors import CacheWarning


@cache
def _generator() -> str:
    """Return a digest of the code that writes code, so that older code in the cache is not used."""
    here = Path(__file__).parent
    shared = (here.parent / f"{name}.py" for name in ("interface", "sines", "event_search"))
    rules = (here.parents[1] / "integrate" / f"{name}.py" for name in ("control", "events"))
    return code_digest([*sorted(here.glob("*.py")), *shared, *rules])


def lanes(dtype: str) -> VectorType:
    """Return the vector type of this process."""
    return target().vector(dtype)


class LoadedCode:
    """Machine code in memory, for as long as a kernel uses it."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.run = engine.get_function_address("run")


_LOADED: WeakValueDictionary[str, LoadedCode] = WeakValueDictionary()


_WAITED: list[bool] = []
"""Set if the fork under way has acquired the locks here, not if it began before this import."""


def _before_fork() -> None:
    """Wait until no thread is inside LLVM, whose state a child would copy."""
    COMPILE_LOCK.acquire()
    llvm.ffi.lib._lock.__enter__()
    _WAITED.append(True)


def _after_fork() -> None:
    if _WAITED:
        _WAITED.pop()
        llvm.ffi.lib._lock.__exit__()
        COMPILE_LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def loaded(
    digest: str, dtype: str, write: Callable[[VectorType], str], check: Callable[[LoadedCode], bool | None]
) -> LoadedCode:
    """Return code from memory, or from disk if it passes `check`, or else compiled from the text of `write`.

    `check` returns True if loaded code computes correct results; new code is not checked.
    """
    here = (target().cpu, target().features, repr(lanes(dtype)))
    parts = (_generator(), llvmlite.__version__, llvm.get_default_triple(), *here)
    name = hashlib.sha256("|".join((*parts, digest)).encode()).hexdigest()
    with COMPILE_LOCK:
        code = _LOADED.get(name)
        if code is None:
            code = _LOADED[name] = _cached_code(name, lambda: write(lanes(dtype)), check)
        return code


def _cached_code(name: str, text: Callable[[], str], check: Callable[[LoadedCode], bool | None]) -> LoadedCode:
    """Return code from disk if its name is among its constants and its first result is correct, else compile it.

    A correct result may differ by more than rounding, as for a nearly singular robot; then compiling gives the same
    code. If the first result is not finite, the code is compiled again without a warning.
    """
    cached = read(name)
    code = LoadedCode(_linked(cached)) if cached is not None and name.encode() in cached else None
    correct = check(code) if code is not None else None
    if code is not None and correct:
        return code
    compiled = compile_ir(f'{text()}\n@made_for = constant [{len(name)} x i8] c"{name}"\n')
    if code is not None and compiled == cached:
        return code
    write_cache(name, compiled)
    if cached is not None and (code is None or correct is False):
        warnings.warn(
            f"the cache file {name} contains code that computes wrong results; it was compiled again",
            CacheWarning,
            stacklevel=2,
        )
    return LoadedCode(_linked(compiled))


def engine_of(text: str) -> Any:
    """Return an engine with the code of LLVM IR."""
    return _linked(compile_ir(text))


def _linked(code: bytes) -> Any:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(target().cpu, target().features))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
