"""In which order a program is computed, so that few numbers have to be kept at a time: a thread has 255 registers.

Which outputs come first decides most: of derivatives, those of the outermost joints, as what belongs to a joint is then
used up when the next one comes. Within this order whatever frees a register is done as soon as it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from math import prod
from typing import NamedTuple, TypeGuard

from armwright.graph.expression import Expr, Operand
from armwright.graph.program import Program

FEW = 96
"""Numbers that are kept at a time, up to which the order of the graph is as good as any."""


def depends(x: Operand) -> TypeGuard[Expr]:
    """Whether an output is anything but a number."""
    return isinstance(x, Expr) and x.value is None


class Work:
    """What is to be computed: for every node but the products within sums, the nodes it is computed from."""

    def __init__(self, program: Program, fused: set[int]) -> None:
        self.nodes = {x.index: x for x in program.nodes if x.value is None and x.index not in fused}
        self._fused = fused
        self.operands = {i: tuple(dict.fromkeys(self._operands(x))) for i, x in self.nodes.items()}
        self.users = {i: list[int]() for i in self.nodes}
        for i, operands in self.operands.items():
            for a in operands:
                self.users[a].append(i)

    def _operands(self, node: Expr) -> Iterable[int]:
        for x in node.args:
            if x.index in self._fused:
                yield from self._operands(x)
            elif x.value is None:
                yield x.index

    def before(self, outputs: Iterable[int]) -> list[int]:
        """For each of the outputs in turn what it needs and is not there yet."""
        seen, order = set[int](), list[int]()
        for output in outputs:
            stack, found = [output], set[int]()
            while stack:
                i = stack.pop()
                if i not in seen and i not in found:
                    found.add(i)
                    stack.extend(self.operands[i])
            seen |= found
            order.extend(sorted(found))
        return order

    def most(self, order: Sequence[int]) -> int:
        """How many numbers are kept at a time; what is read is there from the beginning, as compilers read early."""
        uses = {i: len(self.users[i]) for i in order}
        kept = most = sum(not self.operands[i] for i in order)
        for i in order:
            for a in self.operands[i]:
                uses[a] -= 1
                kept -= not uses[a]
            if self.operands[i]:
                kept += bool(uses[i])
                most = max(most, kept + (not uses[i]))
        return most

    def freeing(self, order: Sequence[int]) -> list[int]:
        """The same, but with everything that leaves fewer numbers to keep, or as many, done as soon as it can be."""
        place = {i: k for k, i in enumerate(order)}
        uses = {i: len(self.users[i]) for i in order}
        missing = {i: len(self.operands[i]) for i in order}
        ready, made, done = list[tuple[int, int, int]](), list[int](), set[int]()

        def offer(i: int) -> None:
            more = bool(self.users[i]) - sum(uses[a] == 1 for a in self.operands[i])
            urgency = 0 if more < 0 else 1 if more == 0 and self.operands[i] else 2
            heappush(ready, (urgency, place[i], i))

        for i in order:
            if not missing[i]:
                offer(i)
        while ready:
            _, _, i = heappop(ready)
            if i in done:
                continue
            done.add(i)
            made.append(i)
            for a in self.operands[i]:
                uses[a] -= 1
                if uses[a] == 1:  # whoever takes it next frees it
                    for user in self.users[a]:
                        if user not in done and not missing[user]:
                            offer(user)
            for user in self.users[i]:
                missing[user] -= 1
                if not missing[user]:
                    offer(user)
        return made


class Order(NamedTuple):
    """Nodes in the order in which they are computed, and how many numbers are kept at a time."""

    nodes: list[Expr]
    most: int


def ordered(program: Program, fused: set[int], numbers: Sequence[int]) -> Order:
    """All of a program but for products within sums; `numbers` are those of its outputs, which may be some of many."""
    work = Work(program, fused)
    ways = [*(work.before(outputs) for outputs in _ways(program, numbers)), sorted(work.nodes)]
    counts = [work.most(way) for way in ways]
    if counts[0] <= FEW:
        best = work.before([*(i for i, x in work.nodes.items() if x.op in ("sin", "cos")), *ways[0]])
    else:
        best = work.freeing(ways[counts.index(min(counts))])
    return Order([work.nodes[i] for i in best], work.most(best))


def entry(shape: Sequence[int], number: int) -> tuple[int, int, int]:
    """Row, column and matrix of an output; what comes after all matrices is in the row and column before the first."""
    n = shape[-1] if shape else 1
    m = shape[-2] if len(shape) > 1 else 1
    return (-1, -1, number) if number >= prod(shape) else (number // n % m, number % n, number // (n * m))


def _ways(program: Program, numbers: Sequence[int]) -> Iterable[list[int]]:
    """Outputs from the first on, then in orders that rows and columns of matrices may come in."""
    keys: list[Callable[[int, int, int], tuple[int, ...]]] = [
        lambda row, column, matrix: (-max(row, column), row, column, matrix),
        lambda row, column, matrix: (-column, -row, matrix),
        lambda row, column, matrix: (-row, -column, matrix),
    ]
    places = [(entry(program.shape, k), x.index) for k, x in zip(numbers, program.outputs, strict=True) if depends(x)]
    yield [i for _, i in places]
    for key in keys:
        yield [i for _, i in sorted(places, key=lambda place: key(*place[0]))]
