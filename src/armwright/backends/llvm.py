"""Programs compiled by LLVM for this CPU, kept in memory and on disk.

`Kernel.run` computes a batch: states in any layout, on as many threads as asked for. Compiled code is cached
under a name made of the program, the CPU and the versions; a cache file that is missing, half-written or
damaged is made anew.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from armwright.backends.block import Lanes
from armwright.backends.cache import name_of, read, write
from armwright.backends.ir import module
from armwright.backends.rolled import Rolled
from armwright.backends.rolled import module as rolled_module
from armwright.backends.rollout import FIELDS, Steps
from armwright.backends.rollout import module as rollout_module
from armwright.backends.single import bind
from armwright.backends.threads import python_pool, workers
from armwright.graph.program import Program


@cache
def _generator() -> str:
    """A name for the code that writes code: what an older one has left in the cache is not used."""
    return name_of(sorted(Path(__file__).parent.glob("*.py")))


_SMALLEST_SHARE = 512  # states below which another thread costs more than it brings


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


class Kernel:
    """One program, loaded. `source` is its LLVM IR."""

    def __init__(self, program: Program, dtype: str = "float64") -> None:
        self.sizes, self.outputs, self.shape = program.sizes, len(program.outputs), program.shape
        self.dtype = np.dtype(dtype)
        self._program = program
        self._code = _loaded(program, dtype)
        self._address = self._code.engine.get_function_address("run")
        self._run = _RUN(self._address)
        self._layout = ctypes.c_int64 * (3 * (len(self.sizes) + 1))
        self.width = lanes(dtype).width

    def single(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """A function of one state: arrays (entries,) in, a new array out; what it cannot take it hands to `ask`.

        It holds `ask` and nothing else: `ask` must keep this kernel alive.
        """
        return bind(self._code.engine, self.dtype, ask)

    @property
    def source(self) -> str:
        return module(self._program, lanes(self.dtype.name))

    def run(self, arrays: Sequence[NDArray[Any]], out: NDArray[Any], threads: int = 1) -> bool:
        """Fill `out` (states, outputs) from arrays (states, entries); False if a result is not finite."""
        layout = self._layout(*_fields((*arrays, out), self.dtype.itemsize))
        return not _shared(self._run, self._address, layout, len(out), threads, self.width)


class LoopKernel:
    """Sweeps over the joints of a chain, loaded; the same `run` as a `Kernel`."""

    def __init__(self, rolled: Rolled, tables: Sequence[NDArray[Any]], dtype: str) -> None:
        self.joints, self.dtype, self.width = len(tables[0]), np.dtype(dtype), lanes(dtype).width
        self.shape = (self.joints,)
        self._tables = [np.ascontiguousarray(table) for table in tables]
        self._rolled = rolled
        self._code = _cached(rolled.digest(), dtype, lambda: rolled_module(rolled, lanes(dtype)))
        self._address = self._code.engine.get_function_address("run")
        self._run = _RUN(self._address)

    @property
    def source(self) -> str:
        return rolled_module(self._rolled, lanes(self.dtype.name))

    def run(self, arrays: Sequence[NDArray[Any]], out: NDArray[Any], threads: int = 1) -> bool:
        """Fill `out` (states, joints) from arrays (states, entries); False if a result is not finite."""
        fields = _fields((*arrays, out), self.dtype.itemsize)
        fields += [*map(_place, self._tables), self.joints]
        layout = (ctypes.c_int64 * len(fields))(*fields)
        answer = _shared(self._run, self._address, layout, len(out), threads, self.width)
        if answer > 1:
            raise MemoryError(f"no memory for the states of {self.joints} joints")
        return not answer


class RolloutKernel:
    """Whole motions of many rollouts, loaded."""

    def __init__(self, program: Program, steps: Steps, controlled: int, dtype: str = "float64") -> None:
        self.dtype, self.width, self.entries = np.dtype(dtype), lanes(dtype).width, len(program.outputs)
        self._made = (program, steps, controlled)
        digest = f"rollout|{program.digest()}|{steps!r}|{controlled}"
        self._code = _cached(digest, dtype, lambda: self.source)
        self._address = self._code.engine.get_function_address("run")
        self._run = _RUN(self._address)

    @property
    def source(self) -> str:
        return rollout_module(*self._made, lanes(self.dtype.name))

    def run(self, fields: Mapping[str, NDArray[Any] | int], rollouts: int, threads: int = 1) -> None:
        """Go on to the times of the records; arrays are changed in place (see `rollout.FIELDS`)."""
        values = [x if isinstance(x, int) else _place(x) for x in (fields[name] for name in FIELDS)]
        layout = (ctypes.c_int64 * len(values))(*values)
        _shared(self._run, self._address, layout, rollouts, threads, self.width, smallest=self.width)


_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def _place_told(array: NDArray[Any]) -> int:
    """Where the numbers of an array are, as NumPy tells."""
    return int(array.__array_interface__["data"][0])


def _place_seen(array: NDArray[Any]) -> int:
    """The same, read from the array object, where it follows the two words every object has: six times as fast."""
    return ctypes.c_ssize_t.from_address(id(array) + 16).value


_PROBE = np.zeros(3)
_SEEN = sys.implementation.name == "cpython" and _place_seen(_PROBE) == _place_told(_PROBE)
_place = _place_seen if _SEEN else _place_told


def _fields(arrays: Sequence[NDArray[Any]], size: int) -> list[int]:
    """Address, distance of states and distance of entries of each array, the distances in numbers."""
    fields: list[int] = []
    for array in arrays:
        state, entry = array.strides
        assert not (state % size or entry % size), "strides must be whole numbers of entries"
        fields += (_place(array), state // size, entry // size)
    return fields


def _shared(
    run: Any, address: int, layout: Any, states: int, threads: int, width: int, smallest: int = _SMALLEST_SHARE
) -> int:
    """run(layout, begin, end) over all states, in as many parts as there are threads."""
    shares = min(threads, max(1, states // smallest))
    if shares == 1:
        return int(run(layout, 0, states))
    team = workers(_engine_of)
    answer = None if team is None else team.share(address, layout, states, shares, width)
    if answer is None:
        step = -(-states // (shares * width)) * width
        parts = [(begin, min(begin + step, states)) for begin in range(0, states, step)]
        jobs = [python_pool().submit(run, layout, *part) for part in parts[1:]]
        try:
            answer = max(run(layout, *parts[0]), *(job.result() for job in jobs))
        finally:  # whatever happens, nobody may write to the arrays after this
            for job in jobs:
                job.cancel()
            wait(jobs)
    return int(answer)


class _Code:
    """Machine code in memory, for as long as some kernel uses it."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine


_LOADED: WeakValueDictionary[str, _Code] = WeakValueDictionary()
_LOCK = threading.Lock()


def _loaded(program: Program, dtype: str) -> _Code:
    return _cached(program.digest(), dtype, lambda: module(program, lanes(dtype)))


def _cached(digest: str, dtype: str, text: Callable[[], str]) -> _Code:
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
            code = _LOADED[name] = _Code(_linked(machine_code))
        return code


def _engine_of(text: str) -> Any:
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
