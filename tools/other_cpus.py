"""Run the core tests, and those that hold computed numbers to printed ones, as other CPUs compute.

    python tools/other_cpus.py             2, 4 and 8 lanes, and a CPU of 2016 without AVX and FMA
    python tools/other_cpus.py --list      what would run, and what is skipped

armwright's own code is set by ARMWRIGHT_LANES and ARMWRIGHT_CPU. NumPy, OpenBLAS and the C library choose their code by
the CPU too, and round otherwise; their own variables set them to the same CPU. Lanes that the whole suite computes with
anyway, as they are those of this CPU, are skipped, and so is what this CPU cannot do.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from core_tests import CORE, PRINTED

from armwright.backends.llvm.target import CPU, LANES, target_of
from armwright.errors import InputError

ROOT = Path(__file__).parents[1]
KERNELS = {"SkylakeX": "x86-64-v4", "Haswell": "x86-64-v3", "Sandybridge": "sandybridge", "Nehalem": "x86-64-v2"}
"""OpenBLAS's names of kernels, and which CPU runs them."""


@dataclass(frozen=True)
class Machine:
    """A CPU to compute as: armwright's settings, the best kernels of OpenBLAS, whether the C library has AVX and FMA."""

    name: str
    lanes: str = ""
    cpu: str = ""
    kernels: tuple[str, ...] = ()
    old: bool = False
    tests: tuple[str, ...] = (*CORE, *PRINTED)

    def refusal(self) -> str:
        """Return why it is skipped here, or nothing."""
        try:
            here, set_ = target_of("", ""), target_of(self.cpu, self.lanes)
        except InputError as why:
            return str(why)
        return "the whole suite computes with them" if set_ == here else ""

    def environment(self) -> dict[str, str]:
        made = {**os.environ, CPU: self.cpu, LANES: self.lanes}
        best = next((name for name in self.kernels if runs(KERNELS[name])), None)
        if best is not None:
            made["OPENBLAS_CORETYPE"] = best
        if self.old:
            made["NPY_DISABLE_CPU_FEATURES"] = " ".join(dispatched())
            made["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4,-AVX"
        return made


MACHINES = (
    Machine("2 lanes", lanes="2", tests=CORE),
    Machine("4 lanes", lanes="4", kernels=("Haswell", "Sandybridge")),
    Machine("8 lanes", lanes="8"),
    Machine("no AVX, no FMA", cpu="x86-64-v2", kernels=("Nehalem",), old=True),
)
"""A CPU with AVX2, as most have, and one without AVX and FMA, as Pentium and Celeron of 2016, and Atom until 2021: farthest
from what a new CPU computes. Lanes do not change the numbers of a state, so printed ones are computed with 4 lanes."""


def runs(cpu: str) -> bool:
    """Whether this CPU can be another one."""
    try:
        return bool(target_of(cpu, ""))
    except InputError:
        return False


def dispatched() -> list[str]:
    """Return the features for which NumPy has code of its own and that this CPU has."""
    from numpy._core import _multiarray_umath as core  # noqa: PLC0415

    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests that depend on rounding as other CPUs compute.")
    parser.add_argument("--list", action="store_true", help="print what would run")
    options = parser.parse_args()
    running = {}
    for machine in MACHINES:
        why = machine.refusal()
        print(f"{machine.name}: {f'skipped, {why}' if why else target_of(machine.cpu, machine.lanes)}", flush=True)
        if not why and not options.list:
            command = [sys.executable, "-m", "pytest", "-n", "0", *machine.tests]
            running[machine.name] = subprocess.Popen(
                command,
                cwd=ROOT,
                env=machine.environment(),
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
    failed = []
    for name, process in running.items():
        output, _ = process.communicate()
        if process.returncode:
            failed.append(name)
        print(f"{name}: {output if process.returncode else output.splitlines()[-1]}", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "nothing failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
