"""The CUDA kernel that draws counter-based random numbers, bitwise equal to those of `draws`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from armwright.algebra import Array
from armwright.backends.cuda.codegen.writer import prelude
from armwright.draws import (
    ARTANH_SERIES,
    CENTRAL,
    FAR_TAIL,
    LN2,
    LOW_WORD,
    NEAR_TAIL,
    PHILOX_MULTIPLIERS,
    PHILOX_ROUNDS,
    PHILOX_WEYL,
    SQRT_HALF,
    DrawnColumn,
    RolloutIndices,
)

DRAW_BLOCK_THREADS = 256
"""Threads per block."""


class DrawArguments(ctypes.Structure):
    """The arguments of the kernel; `instant` replaces a null array `instants`, `begin` a null array `rollouts`."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("out", "instants", "rollouts")),
        *((name, ctypes.c_longlong) for name in ("begin", "count")),
        *((name, ctypes.c_uint) for name in ("instant", "column", "first_key", "second_key", "normal")),
        *((name, ctypes.c_double) for name in ("first", "second")),
    )

    @classmethod
    def of(
        cls, drawn: DrawnColumn, indices: RolloutIndices, instants: Array, out: Any, address: Callable[[Any], int]
    ) -> DrawArguments:
        """Return the arguments that fill `out` (rollouts,) for sampling instants (1,) or (rollouts,).

        `address` returns the address of an array and keeps the array alive.
        """
        varying = address(instants) if len(instants) > 1 else None
        begin, rollouts = (indices, None) if isinstance(indices, int) else (0, address(indices))
        numbers = (int(instants[0]) & LOW_WORD, drawn.column, *drawn.key, int(drawn.kind == "normal"))
        return cls(address(out), varying, rollouts, begin, len(out), *numbers, drawn.first, drawn.second)


def kernel_source(double: bool) -> str:
    """Return the source of `run(Call)`, a kernel with one thread per rollout; on a CPU it loops over them."""
    words = {f"{name}{k}": x for name, row in PHILOX_WORDS.items() for k, x in enumerate(row)}
    lines = [f"#define {name} {number}u" for name, number in words.items()]
    lines += [
        f"#define {name} {number!r}" for name, number in (("ROUNDS", PHILOX_ROUNDS), ("SPLIT", SQRT_HALF), ("LN2", LN2))
    ]
    lines += [f"TABLE double {name}[] = {{{', '.join(map(repr, row))}}};" for name, row in COEFFICIENTS.items()]
    rest = (files(__package__) / "random_numbers.cuh").read_text("utf-8")
    return "\n".join([prelude(double), *lines, f"#define BLOCK {DRAW_BLOCK_THREADS}", rest])


PHILOX_WORDS = {"MULTIPLIER": PHILOX_MULTIPLIERS, "WEYL": PHILOX_WEYL}
COEFFICIENTS = {"AREA": ARTANH_SERIES} | {
    f"{name}_{part}": row
    for name, both in (("CENTRAL", CENTRAL), ("NEAR", NEAR_TAIL), ("FAR", FAR_TAIL))
    for part, row in zip(("ABOVE", "BELOW"), both, strict=True)
}
