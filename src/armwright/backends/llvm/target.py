"""The CPU that code is compiled for: this one, or what a run sets to compute as another machine would.

    ARMWRIGHT_CPU     native, or the name of an older CPU: compiled code uses the instructions that this one has
    ARMWRIGHT_LANES   2, 4 or 8: how many doubles, or twice as many floats, are computed at once

Both are read once in a process, when it first compiles.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from armwright.backends.llvm.block import Lanes
from armwright.errors import InputError, listed

CPU, LANES = "ARMWRIGHT_CPU", "ARMWRIGHT_LANES"
NATIVE = "native"
LANE_COUNTS = (2, 4, 8)

_V2 = ("cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
OLDER = {
    "x86-64": (),
    "x86-64-v2": _V2,
    "sandybridge": (*_V2, "avx", "pclmul", "xsave", "xsaveopt"),
    "x86-64-v3": _V3,
    "haswell": (*_V3, "fsgsbase", "invpcid", "pclmul", "rdrnd", "xsaveopt"),
    "x86-64-v4": (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
"""Features of the CPUs that a run can set, by LLVM's names: the levels of the x86-64 ABI, and two of Intel's.

Sandy Bridge has AVX and no FMA, which no level has.
"""


@dataclass(frozen=True)
class Target:
    """A CPU by name and features of LLVM: how many doubles it computes at once, whether it has fused multiply-add."""

    cpu: str
    features: str
    lanes: int
    fma: bool

    def vector(self, dtype: str) -> Lanes:
        """The vectors that code for it computes with."""
        double = dtype == "float64"
        return Lanes(self.lanes if double else 2 * self.lanes, double, self.fma)

    def __str__(self) -> str:
        return f"{self.cpu}, {self.lanes} lanes{'' if self.fma else ' without FMA'}"


@cache
def target() -> Target:
    """Return the target of this process; InputError where the environment names one that does not exist or run here."""
    return chosen(os.environ.get(CPU, ""), os.environ.get(LANES, ""))


def chosen(cpu: str, lanes: str) -> Target:
    """Return the target that two settings describe; empty text leaves this CPU and its widest vectors."""
    whole = _native() if cpu in ("", NATIVE) else _older(cpu)
    if not lanes:
        return whole
    if lanes not in map(str, LANE_COUNTS):
        raise InputError(f"{LANES} is {lanes!r}; expected 2, 4 or 8, the doubles computed at once")
    if int(lanes) > whole.lanes:
        raise InputError(
            f"{LANES} is {lanes}; expected {whole.lanes} at most, the doubles that {whole.cpu} computes at once"
        )
    return Target(whole.cpu, whole.features, int(lanes), whole.fma)


def _native() -> Target:
    features = llvm.get_host_cpu_features()
    has = {name for name, there in features.items() if there}
    return Target(llvm.get_host_cpu_name(), features.flatten() + _wide(has), _widest(has), _fused(has))


def _older(cpu: str) -> Target:
    """Return a CPU of the table whose features this one has."""
    host = llvm.get_host_cpu_features() if is_x86() else {}
    runnable = [name for name, needed in OLDER.items() if is_x86() and all(host.get(x) for x in needed)]
    if cpu in runnable:
        has = set(OLDER[cpu])
        return Target(cpu, _wide(has).lstrip(","), _widest(has), _fused(has))
    expected = f"expected one of {listed([NATIVE, *runnable])}"
    if cpu not in OLDER:
        raise InputError(f"{CPU} is {cpu!r}, which is no CPU that can be set here; {expected}")
    lacking = listed(x for x in OLDER[cpu] if not host.get(x)) if is_x86() else "the x86-64 architecture"
    raise InputError(f"{CPU} is {cpu!r}, but this CPU ({llvm.get_host_cpu_name()}) lacks {lacking}; {expected}")


def is_x86() -> bool:
    """Return True on x86-64."""
    return bool(llvm.get_default_triple().startswith("x86_64"))


def _wide(has: set[str]) -> str:
    """A feature that keeps vectors of 512 bits whole."""
    return ",-prefer-256-bit" if "avx512f" in has else ""


def _widest(has: set[str]) -> int:
    return 8 if "avx512f" in has else 4 if "avx" in has else 2


def _fused(has: set[str]) -> bool:
    return "fma" in has or not is_x86()
