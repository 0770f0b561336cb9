"""Searches for positions of many targets: the text of their kernel, in which a thread goes on from target to target."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from armwright.backends.cuda.codegen.writer import function, prelude
from armwright.backends.cuda.host.device import Array, address
from armwright.backends.cuda.kernels.launch_limits import SHARED, size
from armwright.backends.interface import SearchSettings, SearchSpace
from armwright.backends.text.c import notation
from armwright.formulations.parts.coordinates import NOT_UNIT
from armwright.graph.program import Program

BLOCK = 64
"""Threads of a block."""

ROUNDING = 1e-5
"""Of what a pose may be off: who looks at it again, by other sums, must find it so."""


def text(
    program: Program, sought: SearchSpace, rules: SearchSettings, double: bool, careful: bool = False, blocks: int = 0
) -> str:
    """`run(Call)`, a kernel of any number of threads, on a CPU of one.

    The program is one step, of q and of poses with the damping. So many `blocks` at least are to have room beside each
    other, which bounds their registers; if none, the compiler knows.
    """
    places, frames = program.sizes[0], program.sizes[1] // 12
    real = notation(double)["constant"]
    aside = 12 * frames + 3 * places + 16
    numbers = {
        "PLACES": places,
        "FRAMES": frames,
        "UNIT_VECTORS": len(sought.unit_vectors),
        "STEPS": rules.steps,
        "UNDISTURBED": rules.undisturbed,
        "LONGEST": rules.longest,
        "APPROACHES": rules.approaches,
        "DESCENT": rules.descent,
        "BLOCK": BLOCK,
        "SHARED": int(aside * BLOCK * size(double) <= SHARED),
        "STUCK": real(rules.stuck),
        "DAMPING": real(rules.damping),
        "LESS": real(rules.less),
        "MORE": real(rules.more),
        "ROTATION": real(rules.rotation * (1 + ROUNDING)),
        "NOT_UNIT": real(NOT_UNIT * (1 + ROUNDING)),
        "TURN": real(math.tau),
        "CAREFUL": int(careful),
        "BOUNDS": f"{BLOCK}, {blocks}" if blocks else f"{BLOCK}",
    }
    defined = "\n".join(f"#define {name} {number}" for name, number in numbers.items())
    return "\n".join([prelude(double), function(program, "body", double), defined, _entries(sought), _rest()])


def _entries(sought: SearchSpace) -> str:
    """Which entries of q may be turned all the way round, and which are of a quaternion."""
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
def _rest() -> str:
    return (files(__package__) / "inverse_kinematics.cuh").read_text("utf-8")


ARRAYS = ("target", "start", "q", "error")
GIVEN = ("solved", "far", "places", "chosen", "marked", "counts")
"""The arrays that a kernel is given: those of states, and those of which it knows how they lie."""

NEXT, MARKS, MISSED, WRONG, COUNTS = range(5)
"""What a kernel counts: targets taken, those to be done again, those not reached; and whether one is no pose."""


def call(
    fields: Mapping[str, Any], sought: SearchSpace, targets: int, tolerance: float, attempts: int
) -> ctypes.Structure:
    """What the kernel is given: arrays by their names, of which `start` and `chosen` may be None."""
    real = ctypes.c_double if fields["q"].dtype == np.float64 else ctypes.c_float
    n = len(sought.low)
    kinds = [
        *((name, Array) for name in ARRAYS),
        *((name, ctypes.c_void_p) for name in GIVEN),
        *((name, ctypes.c_longlong) for name in ("targets", "starts", "attempts")),
        *((name, real) for name in ("tolerance", "length", "endless")),
        *((name, real * n) for name in ("low", "high")),
    ]
    made: Any = type("Call", (ctypes.Structure,), {"_fields_": kinds})()
    for name, value in fields.items():
        if value is not None:
            setattr(made, name, Array.of(value) if name in ARRAYS else address(value))
    numbers = {"tolerance": tolerance, "length": sought.length, "endless": math.inf}
    for name, number in (*numbers.items(), ("targets", targets), ("attempts", attempts)):
        setattr(made, name, number)
    made.starts = fields["places"].shape[-1]
    for name in ("low", "high"):
        getattr(made, name)[:] = getattr(sought, name)
    structure: ctypes.Structure = made
    return structure
