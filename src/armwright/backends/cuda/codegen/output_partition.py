"""A program in parts, each with as many outputs as a thread can compute without running out of registers.

What several parts need is computed again in each: of the derivatives of seven joints in two parts, a quarter of all.
The parts follow one another in functions of their own: a compiler would else do their common work at once and keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from armwright.backends.cuda.codegen.min_cut import opened, waist, within
from armwright.backends.cuda.codegen.schedule import Order, depends, entry, ordered
from armwright.graph.expression import Expr, Operand
from armwright.graph.program import Program

ROOM = {False: 145, True: 116}
"""How many numbers of single and of double precision may be kept at a time; some registers are for addresses."""

HANDED = "handed"
"""The name of an argument: what was computed before."""

WORTH = 2
"""How many times what is computed at once parts may cost that do not spill."""

LONG, LONGEST = 8000, 14000
"""Operations from which on only one way to split a program is tried, and from which on none: that would take a minute,
and what is so long spills in any case."""


class Part(NamedTuple):
    """Some outputs with their numbers, products within sums, and the order of all."""

    outputs: list[tuple[int, Operand]]
    fused: set[int]
    order: Order

    @property
    def operations(self) -> int:
        return len(self.order.nodes)


class Stage(NamedTuple):
    """Parts of a program, which may be one with arguments or outputs of its own."""

    program: Program
    parts: list[Part]

    def cost(self, double: bool) -> int:
        """Operations, and about as many as it takes that there is no room."""
        return sum(x.operations + 20 * max(0, x.order.most - ROOM[double]) for x in self.parts)


def stages(program: Program, double: bool) -> list[Stage]:
    """What is computed first and handed over, if that is cheaper, and the rest; the first has it as further outputs."""
    numbers = range(len(program.outputs))
    whole = Stage(program, [part(program, numbers)])
    if whole.parts[0].order.most <= ROOM[double] or whole.parts[0].operations > LONGEST:
        return [whole]
    if narrow := waist(program):
        early = sorted({*within(program, narrow), *numbers[program.results :]})
        first = replace(program, outputs=(*program.outputs, *narrow))
        then = opened(program, narrow, HANDED)
        both = [
            Stage(first, split(first, double, [*early, *range(len(numbers), len(first.outputs))])),
            Stage(then, split(then, double, [k for k in numbers if k not in set(early)])),
        ]
        if sum(stage.cost(double) for stage in both) < whole.cost(double):
            return both
    return [Stage(program, split(program, double, numbers))]


def split(program: Program, double: bool, numbers: Sequence[int]) -> list[Part]:
    """The parts of a program with the outputs of these numbers: one, where that has room or parts would cost more."""
    whole = part(program, numbers)
    if whole.order.most <= ROOM[double]:
        return [whole]
    ways = _classes(program, numbers, whole.operations > LONG)
    tried = [parts for classes in ways if (parts := _parts(program, classes, double))]
    best = min(tried, key=lambda parts: Stage(program, parts).cost(double), default=[whole])
    return best if Stage(program, best).cost(double) < WORTH * Stage(program, [whole]).cost(double) else [whole]


def part(program: Program, numbers: Sequence[int]) -> Part:
    """The outputs of these numbers."""
    some = replace(program, outputs=tuple(program.outputs[k] for k in numbers))
    fused = fusing(some)
    return Part(list(zip(numbers, some.outputs, strict=True)), fused, ordered(some, fused, numbers))


def _classes(program: Program, numbers: Sequence[int], few: bool) -> list[list[list[int]]]:
    """Ways to put outputs side by side that belong together: of the same outer joint, column, row or matrix."""
    keys: list[Callable[[int, int, int], int]] = [
        lambda row, column, _: -max(row, column),
        lambda _, column, __: -column,
        lambda row, _, __: -row,
        lambda row, _, matrix: matrix if row >= 0 else -1,
    ]
    found, known = list[list[list[int]]](), [k for k in numbers if not depends(program.outputs[k])]
    for key in keys[: 1 if few else None]:
        classes = dict[int, list[int]]()
        for k in numbers:
            if depends(program.outputs[k]):
                classes.setdefault(key(*entry(program.shape, k)), []).append(k)
        first, *rest = (classes[name] for name in sorted(classes))
        way = [[*first, *known], *rest]
        if rest and way not in found:
            found.append(way)
    return found


def _parts(program: Program, classes: list[list[int]], double: bool) -> list[Part]:
    """As many neighbours as there is room for, each time; none, if there is none for the first class alone."""
    found, begin = list[Part](), 0

    def some(end: int) -> Part:
        return part(program, [k for those in classes[begin:end] for k in those])

    while begin < len(classes):
        best, low, high = some(begin + 1), begin + 2, len(classes)
        if not begin and best.order.most > ROOM[double]:
            return []
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
    """Products that are part of every sum they are used in: no sum has two of them, those used least come first.

    A product in k sums is k fused multiply-adds instead of a multiplication and k additions.
    """
    used = dict[int, list[Expr | None]]()
    for node in program.nodes:
        for x in node.args:
            used.setdefault(x.index, []).append(node if node.op in ("add", "sub") else None)
    for output in program.outputs:
        if isinstance(output, Expr):
            used.setdefault(output.index, []).append(None)
    found, taken = set[int](), set[int]()
    products = [node for node in program.nodes if node.op == "mul" and None not in used.get(node.index, [None])]
    for product in sorted(products, key=lambda node: len(used[node.index])):
        sums = [node.index for node in used[product.index] if node is not None]
        if len(set(sums)) == len(sums) and taken.isdisjoint(sums):
            found.add(product.index)
            taken.update(sums)
    return found
