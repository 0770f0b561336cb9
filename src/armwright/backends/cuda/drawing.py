"""Random numbers by counter on a card: the formulas of `draws` as text, which gives the same numbers, bit by bit."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.resources import files
from typing import Any

from armwright.algebra import Array
from armwright.backends.cuda.device import Code, copied
from armwright.backends.cuda.writer import prelude
from armwright.draws import (
    AREA,
    CENTRAL,
    FAR,
    LN2,
    LOW,
    MULTIPLIERS,
    NEAR,
    ROUNDS,
    SPLIT,
    WEYL,
    Drawn,
)

BLOCK = 256
"""Threads of a block."""


class Call(ctypes.Structure):
    """What the kernel is given: `turns` is nowhere where all rollouts have the same `turn`."""

    _fields_ = (
        ("out", ctypes.c_void_p),
        ("turns", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("begin", "count")),
        *((name, ctypes.c_uint) for name in ("turn", "column", "first_key", "second_key", "normal")),
        *((name, ctypes.c_double) for name in ("first", "second")),
    )

    @classmethod
    def of(cls, drawn: Drawn, begin: int, count: int, turns: Array, out: int, each: int) -> Call:
        """For rollouts from `begin` on, with the addresses of what is filled and of the turns of `each`."""
        turn = int(turns[0]) & LOW
        numbers = (turn, drawn.column, *drawn.key, int(drawn.kind == "normal"), drawn.first, drawn.second)
        return cls(out, each if len(turns) > 1 else None, begin, count, *numbers)


def text(double: bool) -> str:
    """`run(Call)`, a kernel of one thread for each rollout, on a CPU a loop over them."""
    words = {f"{name}{k}": x for name, row in WORDS.items() for k, x in enumerate(row)}
    lines = [f"#define {name} {number}u" for name, number in words.items()]
    lines += [f"#define {name} {number!r}" for name, number in (("ROUNDS", ROUNDS), ("SPLIT", SPLIT), ("LN2", LN2))]
    lines += [f"TABLE double {name}[] = {{{', '.join(map(repr, row))}}};" for name, row in TABLES.items()]
    rest = (files(__package__) / "drawing.cuh").read_text("utf-8")
    return "\n".join([prelude(double), *lines, f"#define BLOCK {BLOCK}", rest])


WORDS = {"MULTIPLIER": MULTIPLIERS, "WEYL": WEYL}
TABLES = {"AREA": AREA} | {
    f"{name}_{part}": row
    for name, both in (("CENTRAL", CENTRAL), ("NEAR", NEAR), ("FAR", FAR))
    for part, row in zip(("ABOVE", "BELOW"), both, strict=True)
}


@cache
def code(double: bool) -> Code:
    return Code(text(double), BLOCK)


def fill(out: Any, drawn: Drawn, begin: int, turns: Array) -> None:
    """Fill an array on the card (rollouts,), on the current stream."""
    each = copied(turns) if len(turns) > 1 else None
    call = Call.of(drawn, begin, len(out), turns, out.data.ptr, 0 if each is None else each.data.ptr)
    code(out.dtype.itemsize == 8).launch(call, len(out))
