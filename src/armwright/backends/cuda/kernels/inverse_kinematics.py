"""The text of the inverse-kinematics kernel, in which a thread takes one target after the other."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from armwright.backends.cuda.codegen.writer import function_text, prelude
from armwright.backends.cuda.kernels.call_structures import StridedArray, address
from armwright.backends.cuda.kernels.launch_limits import DEFAULT_SHARED_BYTES, number_bytes
from armwright.backends.interface import SearchSettings, SearchSpace
from armwright.backends.text.c import notation
from armwright.formulations.parts.coordinates import MAX_UNIT_ERROR
from armwright.graph.program import Program

SEARCH_THREADS = 64
"""Threads of a block."""

POSE_ROUNDING = 1e-5
"""The relative slack of checks of poses, as the checks before them round differently."""


def text(
    program: Program, space: SearchSpace, settings: SearchSettings, double: bool, careful: bool = False, blocks: int = 0
) -> str:
    """Return `run(Call)`, a kernel of any number of threads, of one on a CPU.

    The program is one step from q, poses and the damping. At least so many `blocks` run on a multiprocessor, which
    bounds their registers; for 0 the compiler chooses.
    """
    entries, frames = program.sizes[0], program.sizes[1] // 12
    real = notation(double)["constant"]
    search_numbers = 12 * frames + 3 * entries + 16
    numbers = {
        "ENTRIES": entries,
        "FRAMES": frames,
        "UNIT_VECTORS": len(space.unit_vectors),
        "CHECK_INTERVAL": settings.check_interval,
        "GRACE_STEPS": settings.grace_steps,
        "MAX_STEPS": settings.max_steps,
        "DESCENT_STARTS": settings.descent_starts,
        "DESCENT_STEPS": settings.descent_steps,
        "BLOCK": SEARCH_THREADS,
        "SHARED": int(search_numbers * SEARCH_THREADS * number_bytes(double) <= DEFAULT_SHARED_BYTES),
        "STALL_RATIO": real(settings.stall_ratio),
        "DAMPING": real(settings.damping),
        "DAMPING_DECREASE": real(settings.damping_decrease),
        "DAMPING_INCREASE": real(settings.damping_increase),
        "ROTATION_TOLERANCE": real(settings.rotation_tolerance * (1 + POSE_ROUNDING)),
        "MAX_UNIT_ERROR": real(MAX_UNIT_ERROR * (1 + POSE_ROUNDING)),
        "TURN": real(math.tau),
        "CAREFUL": int(careful),
        "BOUNDS": f"{SEARCH_THREADS}, {blocks}" if blocks else f"{SEARCH_THREADS}",
    }
    defined = "\n".join(f"#define {name} {number}" for name, number in numbers.items())
    return "\n".join(
        [prelude(double), function_text(program, "body", double), defined, _entry_functions(space), _kernel()]
    )


def _entry_functions(space: SearchSpace) -> str:
    """Return the functions that tell which entries of q are periodic, and which are parts of unit vectors."""
    turning = [f"e == {e}" for e, is_periodic in enumerate(space.periodic) if is_periodic]
    unit_vectors = [f"(c == {c} && e >= {a} && e < {b})" for c, (a, b) in enumerate(space.unit_vectors)]
    return f"""FUNCTION constexpr bool periodic(int e)
{{
    return {" || ".join(turning) or "false"};
}}
FUNCTION constexpr bool in_unit_vector(int c, int e)
{{
    return {" || ".join(unit_vectors) or "false"};
}}
"""


@cache
def _kernel() -> str:
    return (files(__package__) / "inverse_kinematics.cuh").read_text("utf-8")


STATE_ARRAYS = ("target", "start", "q", "error")
SEARCH_POINTERS = ("solved", "start_distances", "start_positions", "chosen", "marked", "counts")
"""The arrays of a call: those of states with strides, and the addresses of contiguous ones."""

NEXT, MARKS, UNSOLVED, INVALID, COUNTS = range(5)
"""The counts of a kernel: targets taken, targets to compute again, targets not reached, and if an input is invalid."""


def call(
    fields: Mapping[str, Any], space: SearchSpace, targets: int, tolerance: float, attempts: int
) -> ctypes.Structure:
    """Return the arguments of the kernel: arrays by name, of which `start` and `chosen` may be None."""
    real = ctypes.c_double if fields["q"].dtype == np.float64 else ctypes.c_float
    n = len(space.low)
    kinds = [
        *((name, StridedArray) for name in STATE_ARRAYS),
        *((name, ctypes.c_void_p) for name in SEARCH_POINTERS),
        *((name, ctypes.c_longlong) for name in ("targets", "starts", "attempts")),
        *((name, real) for name in ("tolerance", "length", "infinite")),
        *((name, real * n) for name in ("low", "high")),
    ]
    structure: Any = type("Call", (ctypes.Structure,), {"_fields_": kinds})()
    for name, value in fields.items():
        if value is not None:
            setattr(structure, name, StridedArray.of(value) if name in STATE_ARRAYS else address(value))
    numbers = {"tolerance": tolerance, "length": space.length, "infinite": math.inf}
    for name, number in (*numbers.items(), ("targets", targets), ("attempts", attempts)):
        setattr(structure, name, number)
    structure.starts = fields["start_positions"].shape[-1]
    for name in ("low", "high"):
        getattr(structure, name)[:] = getattr(space, name)
    call_: ctypes.Structure = structure
    return call_
