"""Machine code: compiled by LLVM for this CPU, kept in memory and on disk.

Compiled code is cached under a name made of the program, the CPU and the versions; a cache file that is missing,
half-written or damaged is made anew.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from armwright.backends.llvm.block import Lanes
from armwright.cache import name_of, read, write


@cache
def _generator() -> str:
    """A name for the code that writes code: what an older one has left in the cache is not used."""
    here = Path(__file__).parent
    return name_of([*sorted(here.glob("*.py")), here.parent / "interface.py", here.parent / "sines.py"])


@cache
def _cpu() -> tuple[str, str]:
    """The name of this CPU, and what it can do."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    wide = ",-prefer-256-bit" if features.get("avx512f") else ""
    return llvm.get_host_cpu_name(), features.flatten() + wide


def _machine() -> Any:
    """A target machine; an engine takes it over and frees it, so each needs its own.

    The code model is large: in a process with much memory mapped, code and its constants can lie more than 2 GB apart,
    where the small model could not reach and LLVM would end the process. It costs about one percent.
    """
    name, features = _cpu()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="large"
    )


@cache
def lanes(dtype: str) -> Lanes:
    """The widest vectors this CPU computes with."""
    _cpu()
    features = llvm.get_host_cpu_features()
    bits = 512 if features.get("avx512f") else 256 if features.get("avx") else 128
    fma = features.get("fma", False) or not llvm.get_default_triple().startswith(("x86", "i686"))
    return Lanes(bits // (64 if dtype == "float64" else 32), dtype == "float64", fma)


class Code:
    """Machine code in memory, for as long as some kernel uses it."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine


_LOADED: WeakValueDictionary[str, Code] = WeakValueDictionary()
_LOCK = threading.Lock()


def loaded(digest: str, dtype: str, text: Callable[[], str]) -> Code:
    """Code that is in memory, or on disk, or else compiled from the text."""
    made_for = (_generator(), llvmlite.__version__, llvm.get_default_triple(), *_cpu(), repr(lanes(dtype)))
    name = hashlib.sha256("|".join((*made_for, digest)).encode()).hexdigest()
    with _LOCK:
        code = _LOADED.get(name)
        if code is None:
            machine_code = read(name)
            if machine_code is None:
                machine_code = _compiled(text())
                write(name, machine_code)
            code = _LOADED[name] = Code(_linked(machine_code))
        return code


def engine_of(text: str) -> Any:
    return _linked(_compiled(text))


def _compiled(text: str) -> bytes:
    target = _machine()
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(parsed, builder)
    code: bytes = target.emit_object(parsed)
    return code


def _linked(code: bytes) -> Any:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
