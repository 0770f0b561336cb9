"""A program in parts, each with as many outputs as a thread can compute without running out of registers.

What several parts need is computed again in each: of the derivatives of seven joints in two parts, a quarter of all.
The parts follow one another in functions of their own: a compiler would else do their common work at once and keep it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from armwright.backends.cuda.order import Order, entry, ordered
from armwright.graph.expression import Expr, Operand
from armwright.graph.program import Program

ROOM = {False: 150, True: 116}
"""How many numbers of single and of double precision may be kept at a time; some registers are for addresses."""

LONG = 8000
"""Operations from which on only one way to split a program is tried."""


class Part(NamedTuple):
    """Some outputs with their numbers, products within sums, and the order of all."""

    outputs: list[tuple[int, Operand]]
    fused: set[int]
    order: Order

    @property
    def operations(self) -> int:
        return len(self.order.nodes)


def split(program: Program, double: bool) -> list[Part]:
    """The parts of a program: one, where that has room."""
    whole = part(program, range(len(program.outputs)))
    if whole.order.most <= ROOM[double]:
        return [whole]
    tried = [_parts(program, classes, double) for classes in _classes(program, whole.operations > LONG)]
    return min(tried, key=lambda parts: sum(x.operations + _spilled(x, double) for x in parts))


def part(program: Program, numbers: Sequence[int]) -> Part:
    """The outputs of these numbers."""
    some = replace(program, outputs=tuple(program.outputs[k] for k in numbers))
    fused = fusing(some)
    return Part(list(zip(numbers, some.outputs, strict=True)), fused, ordered(some, fused, numbers))


def _spilled(part: Part, double: bool) -> int:
    """What it costs that a part has no room: about as many operations."""
    return 20 * max(0, part.order.most - ROOM[double])


def _classes(program: Program, few: bool) -> list[list[list[int]]]:
    """Ways to put outputs side by side that belong together: of the same outer joint, column, row or matrix."""
    keys: list[Callable[[int, int, int], int]] = [
        lambda row, column, _: -max(row, column),
        lambda _, column, __: -column,
        lambda row, _, __: -row,
        lambda row, _, matrix: matrix if row >= 0 else -1,
    ]
    found = []
    for key in keys[: 1 if few else None]:
        classes = dict[int, list[int]]()
        for k in range(len(program.outputs)):
            classes.setdefault(key(*entry(program.shape, k)), []).append(k)
        found.append([classes[name] for name in sorted(classes)])
    return found


def _parts(program: Program, classes: list[list[int]], double: bool) -> list[Part]:
    """As many neighbours as there is room for, each time."""
    found, begin = list[Part](), 0

    def some(end: int) -> Part:
        return part(program, [k for those in classes[begin:end] for k in those])

    while begin < len(classes):
        best, low, high = some(begin + 1), begin + 2, len(classes)
        while low <= high:
            middle = (low + high) // 2
            tried = some(middle)
            if tried.order.most <= ROOM[double]:
                best, low = tried, middle + 1
            else:
                high = middle - 1
        found.append(best)
        begin = high
    return found


def fusing(program: Program) -> set[int]:
    """Products that are part of the one sum they are used in: of two in one sum, the second."""
    uses = Counter(x.index for node in program.nodes for x in node.args)
    uses.update(x.index for x in program.outputs if isinstance(x, Expr))
    found = set[int]()
    for node in program.nodes:
        if node.op in ("add", "sub"):
            products = [x for x in node.args if x.op == "mul" and uses[x.index] == 1]
            found.update(x.index for x in products[-1:])
    return found
