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
from armwright.formulations.parts.coordinates import NOT_UNIT
from armwright.graph.program import Program

SEARCH_THREADS = 64
"""Threads of a block."""

POSE_ROUNDING = 1e-5
"""The relative slack of checks of poses, as the checks before them round differently."""


def text(
    program: Program, sought: SearchSpace, rules: SearchSettings, double: bool, careful: bool = False, blocks: int = 0
) -> str:
    """Return `run(Call)`, a kernel of any number of threads, of one on a CPU.

    The program is one step from q, poses and the damping. At least so many `blocks` run on a multiprocessor, which
    bounds their registers; for 0 the compiler chooses.
    """
    places, frames = program.sizes[0], program.sizes[1] // 12
    real = notation(double)["constant"]
    search_numbers = 12 * frames + 3 * places + 16
    numbers = {
        "PLACES": places,
        "FRAMES": frames,
        "UNIT_VECTORS": len(sought.unit_vectors),
        "STEPS": rules.check_interval,
        "UNDISTURBED": rules.grace_steps,
        "LONGEST": rules.max_steps,
        "APPROACHES": rules.descent_starts,
        "DESCENT": rules.descent_steps,
        "BLOCK": SEARCH_THREADS,
        "SHARED": int(search_numbers * SEARCH_THREADS * number_bytes(double) <= DEFAULT_SHARED_BYTES),
        "STUCK": real(rules.stall_ratio),
        "DAMPING": real(rules.damping),
        "LESS": real(rules.damping_decrease),
        "MORE": real(rules.damping_increase),
        "ROTATION": real(rules.rotation_tolerance * (1 + POSE_ROUNDING)),
        "NOT_UNIT": real(NOT_UNIT * (1 + POSE_ROUNDING)),
        "TURN": real(math.tau),
        "CAREFUL": int(careful),
        "BOUNDS": f"{SEARCH_THREADS}, {blocks}" if blocks else f"{SEARCH_THREADS}",
    }
    defined = "\n".join(f"#define {name} {number}" for name, number in numbers.items())
    return "\n".join(
        [prelude(double), function_text(program, "body", double), defined, _entry_functions(sought), _kernel()]
    )


def _entry_functions(sought: SearchSpace) -> str:
    """Return the functions that say which entries of q turn without limits, and which are unit vectors."""
    turning = [f"e == {e}" for e, turns in enumerate(sought.periodic) if turns]
    unit_vectors = [f"(c == {c} && e >= {a} && e < {b})" for c, (a, b) in enumerate(sought.unit_vectors)]
    return f"""FUNCTION constexpr bool turns(int e)
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

NEXT, MARKS, MISSED, WRONG, COUNTS = range(5)
"""The counts of a kernel: targets taken, targets to compute again, targets not reached; and whether one is no pose."""


def call(
    fields: Mapping[str, Any], sought: SearchSpace, targets: int, tolerance: float, attempts: int
) -> ctypes.Structure:
    """Return the arguments of the kernel: arrays by name, of which `start` and `chosen` may be None."""
    real = ctypes.c_double if fields["q"].dtype == np.float64 else ctypes.c_float
    n = len(sought.low)
    kinds = [
        *((name, StridedArray) for name in STATE_ARRAYS),
        *((name, ctypes.c_void_p) for name in SEARCH_POINTERS),
        *((name, ctypes.c_longlong) for name in ("targets", "starts", "attempts")),
        *((name, real) for name in ("tolerance", "length", "infinite")),
        *((name, real * n) for name in ("low", "high")),
    ]
    made: Any = type("Call", (ctypes.Structure,), {"_fields_": kinds})()
    for name, value in fields.items():
        if value is not None:
            setattr(made, name, StridedArray.of(value) if name in STATE_ARRAYS else address(value))
    numbers = {"tolerance": tolerance, "length": sought.length, "infinite": math.inf}
    for name, number in (*numbers.items(), ("targets", targets), ("attempts", attempts)):
        setattr(made, name, number)
    made.starts = fields["start_positions"].shape[-1]
    for name in ("low", "high"):
        getattr(made, name)[:] = getattr(sought, name)
    structure: ctypes.Structure = made
    return structure
