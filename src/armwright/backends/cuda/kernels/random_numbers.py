"""Random numbers by counter on a card: the formulas of `draws` as text, which gives the same numbers, bit by bit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from armwright.algebra import Array
from armwright.backends.cuda.codegen.writer import prelude
from armwright.backends.cuda.host.device import Code, copied
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

BLOCK = 256
"""Threads of a block."""


class Call(ctypes.Structure):
    """What the kernel is given: arrays of turns and rollouts are nowhere where `turn` and `begin` say which."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("out", "turns", "rollouts")),
        *((name, ctypes.c_longlong) for name in ("begin", "count")),
        *((name, ctypes.c_uint) for name in ("turn", "column", "first_key", "second_key", "normal")),
        *((name, ctypes.c_double) for name in ("first", "second")),
    )

    @classmethod
    def of(
        cls, drawn: DrawnColumn, which: RolloutIndices, turns: Array, out: Any, address: Callable[[Any], int]
    ) -> Call:
        """For an array (rollouts,) to be filled at turns (1,) or (rollouts,).

        `address` says where an array is, and keeps it there.
        """
        each = address(turns) if len(turns) > 1 else None
        begin, listed = (which, None) if isinstance(which, int) else (0, address(which))
        numbers = (int(turns[0]) & LOW_WORD, drawn.column, *drawn.key, int(drawn.kind == "normal"))
        return cls(address(out), each, listed, begin, len(out), *numbers, drawn.first, drawn.second)


def text(double: bool) -> str:
    """`run(Call)`, a kernel of one thread for each rollout, on a CPU a loop over them."""
    words = {f"{name}{k}": x for name, row in WORDS.items() for k, x in enumerate(row)}
    lines = [f"#define {name} {number}u" for name, number in words.items()]
    lines += [
        f"#define {name} {number!r}" for name, number in (("ROUNDS", PHILOX_ROUNDS), ("SPLIT", SQRT_HALF), ("LN2", LN2))
    ]
    lines += [f"TABLE double {name}[] = {{{', '.join(map(repr, row))}}};" for name, row in TABLES.items()]
    rest = (files(__package__) / "random_numbers.cuh").read_text("utf-8")
    return "\n".join([prelude(double), *lines, f"#define BLOCK {BLOCK}", rest])


WORDS = {"MULTIPLIER": PHILOX_MULTIPLIERS, "WEYL": PHILOX_WEYL}
TABLES = {"AREA": ARTANH_SERIES} | {
    f"{name}_{part}": row
    for name, both in (("CENTRAL", CENTRAL), ("NEAR", NEAR_TAIL), ("FAR", FAR_TAIL))
    for part, row in zip(("ABOVE", "BELOW"), both, strict=True)
}


@cache
def code(double: bool) -> Code:
    return Code(text(double), BLOCK)


def fill(out: Any, drawn: DrawnColumn, which: RolloutIndices, turns: Array) -> None:
    """Fill an array on the card (turns, rollouts), at turns (turns, 1) or one for each, on the current stream."""
    there = []

    def address(array: Any) -> int:
        there.append(copied(array))
        return int(there[-1].data.ptr)

    for row, turn in zip(out, turns, strict=True):
        code(out.dtype.itemsize == 8).launch(Call.of(drawn, which, turn, row, address), len(row))
