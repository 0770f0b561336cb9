"""The CPU that code is compiled for: this one, or an older one that the environment names.

    ARMWRIGHT_CPU     native, or the name of an older CPU whose instructions this one has
    ARMWRIGHT_LANES   2, 4 or 8: the number of doubles, or half the number of floats, computed at once

Both are read once in a process, when it first compiles.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from armwright.backends.llvm.block import VectorType
from armwright.errors import InputError, listed

CPU, LANES = "ARMWRIGHT_CPU", "ARMWRIGHT_LANES"
NATIVE = "native"
LANE_COUNTS = (2, 4, 8)

_V2 = ("cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
CPU_FEATURES = {
    "x86-64": (),
    "x86-64-v2": _V2,
    "sandybridge": (*_V2, "avx", "pclmul", "xsave", "xsaveopt"),
    "x86-64-v3": _V3,
    "haswell": (*_V3, "fsgsbase", "invpcid", "pclmul", "rdrnd", "xsaveopt"),
    "x86-64-v4": (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
"""LLVM's names of the features of older CPUs: the levels of the x86-64 ABI, and two of Intel's.

Sandy Bridge has AVX without FMA, unlike any level.
"""


@dataclass(frozen=True)
class Target:
    """A CPU with its LLVM features, the number of doubles it computes at once, and if it has fused multiply-add."""

    cpu: str
    features: str
    lanes: int
    fma: bool

    def vector(self, dtype: str) -> VectorType:
        """Return the type of the vectors for numbers of this dtype."""
        double = dtype == "float64"
        return VectorType(self.lanes if double else 2 * self.lanes, double, self.fma)

    def __str__(self) -> str:
        return f"{self.cpu}, {self.lanes} lanes{'' if self.fma else ' without FMA'}"


@cache
def target() -> Target:
    """Return the target of this process; raise an InputError if the environment names one that cannot run here."""
    return target_of(os.environ.get(CPU, ""), os.environ.get(LANES, ""))


def target_of(cpu: str, lanes: str) -> Target:
    """Return the target of two settings; empty text means this CPU, or its widest vectors."""
    base = _native() if cpu in ("", NATIVE) else _older(cpu)
    if not lanes:
        return base
    if lanes not in map(str, LANE_COUNTS):
        raise InputError(f"{LANES} is {lanes!r}; expected 2, 4 or 8, the doubles computed at once")
    if int(lanes) > base.lanes:
        raise InputError(
            f"{LANES} is {lanes}; expected {base.lanes} at most, the doubles that {base.cpu} computes at once"
        )
    return Target(base.cpu, base.features, int(lanes), base.fma)


def _native() -> Target:
    host = llvm.get_host_cpu_features()
    present = {name for name, has in host.items() if has}
    return Target(llvm.get_host_cpu_name(), host.flatten() + _full_width(present), _lanes(present), _has_fma(present))


def _older(cpu: str) -> Target:
    """Return a CPU of the table whose features this one has."""
    host = llvm.get_host_cpu_features() if is_x86() else {}
    runnable = [name for name, needed in CPU_FEATURES.items() if is_x86() and all(host.get(x) for x in needed)]
    if cpu in runnable:
        present = set(CPU_FEATURES[cpu])
        return Target(cpu, _full_width(present).lstrip(","), _lanes(present), _has_fma(present))
    expected = f"expected one of {listed([NATIVE, *runnable])}"
    if cpu not in CPU_FEATURES:
        raise InputError(f"{CPU} is {cpu!r}, which is not a CPU known here; {expected}")
    missing = listed(x for x in CPU_FEATURES[cpu] if not host.get(x)) if is_x86() else "the x86-64 architecture"
    raise InputError(f"{CPU} is {cpu!r}, but this CPU ({llvm.get_host_cpu_name()}) lacks {missing}; {expected}")


def is_x86() -> bool:
    """Return True on x86-64."""
    return bool(llvm.get_default_triple().startswith("x86_64"))


def _full_width(present: set[str]) -> str:
    """Return the setting with which LLVM does not split vectors of 512 bits."""
    return ",-prefer-256-bit" if "avx512f" in present else ""


def _lanes(present: set[str]) -> int:
    return 8 if "avx512f" in present else 4 if "avx" in present else 2


def _has_fma(present: set[str]) -> bool:
    return "fma" in present or not is_x86()
