"""Schedules: the order of the operations of a program that keeps few values live, as a thread has 255 registers.

The order of outputs matters most. Derivatives start with the outermost joints, so that the values of a joint are used
up before the next one. Within this order an operation that frees a register comes as early as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from math import prod
from typing import NamedTuple, TypeGuard

from armwright.graph.angles import SINE_OPERATIONS
from armwright.graph.expression import Expr, Operand
from armwright.graph.program import Program

MAX_EASY_LIVE = 96
"""Live values up to which the order of the graph is kept: other orders gain nothing."""


def is_variable(x: Operand) -> TypeGuard[Expr]:
    """Return True if an output is an expression and not a constant."""
    return isinstance(x, Expr) and x.value is None


class Dependencies:
    """The operands and users of every node of a program, without products that are fused into sums."""

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

    def depth_first(self, outputs: Iterable[int]) -> list[int]:
        """Return the nodes in an order that completes one output after the other."""
        seen, order = set[int](), list[int]()
        for output in outputs:
            stack, new = [output], set[int]()
            while stack:
                i = stack.pop()
                if i not in seen and i not in new:
                    new.add(i)
                    stack.extend(self.operands[i])
            seen |= new
            order.extend(sorted(new))
        return order

    def max_live(self, order: Sequence[int]) -> int:
        """Return the largest number of live values; inputs are live from the start, as compilers load early."""
        uses = {i: len(self.users[i]) for i in order}
        live = maximum = sum(not self.operands[i] for i in order)
        for i in order:
            for a in self.operands[i]:
                uses[a] -= 1
                live -= not uses[a]
            if self.operands[i]:
                live += bool(uses[i])
                maximum = max(maximum, live + (not uses[i]))
        return maximum

    def reduce_live(self, order: Sequence[int]) -> list[int]:
        """Return an order with each operation that does not add a live value as early as possible."""
        place = {i: k for k, i in enumerate(order)}
        uses = {i: len(self.users[i]) for i in order}
        missing = {i: len(self.operands[i]) for i in order}
        ready, result, done = list[tuple[int, int, int]](), list[int](), set[int]()

        def offer(i: int) -> None:
            added = bool(self.users[i]) - sum(uses[a] == 1 for a in self.operands[i])
            urgency = 0 if added < 0 else 1 if added == 0 and self.operands[i] else 2
            heappush(ready, (urgency, place[i], i))

        for i in order:
            if not missing[i]:
                offer(i)
        while ready:
            _, _, i = heappop(ready)
            if i in done:
                continue
            done.add(i)
            result.append(i)
            for a in self.operands[i]:
                uses[a] -= 1
                if uses[a] == 1:  # its last user frees it
                    for user in self.users[a]:
                        if user not in done and not missing[user]:
                            offer(user)
            for user in self.users[i]:
                missing[user] -= 1
                if not missing[user]:
                    offer(user)
        return result


class Schedule(NamedTuple):
    """Nodes in the order in which they are computed, and the largest number of live values."""

    nodes: list[Expr]
    max_live: int


def schedule_program(program: Program, fused: set[int], numbers: Sequence[int]) -> Schedule:
    """Return the best schedule found for all nodes but `fused` products; `numbers` are the indices of the outputs."""
    graph = Dependencies(program, fused)
    orders = [*(graph.depth_first(outputs) for outputs in _output_orders(program, numbers)), sorted(graph.nodes)]
    live = [graph.max_live(order) for order in orders]
    if live[0] <= MAX_EASY_LIVE:
        sines = (i for i, x in graph.nodes.items() if x.op in SINE_OPERATIONS)
        best = graph.depth_first([*sines, *orders[0]])
    else:
        best = graph.reduce_live(orders[live.index(min(live))])
    return Schedule([graph.nodes[i] for i in best], graph.max_live(best))


def matrix_entry(shape: Sequence[int], number: int) -> tuple[int, int, int]:
    """Return row, column and matrix of an output; outputs after all matrices have row and column -1."""
    n = shape[-1] if shape else 1
    m = shape[-2] if len(shape) > 1 else 1
    return (-1, -1, number) if number >= prod(shape) else (number // n % m, number % n, number // (n * m))


def _output_orders(program: Program, numbers: Sequence[int]) -> Iterable[list[int]]:
    """Yield the variable outputs in their order, then in several orders of rows and columns of matrices."""
    keys: list[Callable[[int, int, int], tuple[int, ...]]] = [
        lambda row, column, matrix: (-max(row, column), row, column, matrix),
        lambda row, column, matrix: (-column, -row, matrix),
        lambda row, column, matrix: (-row, -column, matrix),
    ]
    outputs = zip(numbers, program.outputs, strict=True)
    places = [(matrix_entry(program.shape, k), x.index) for k, x in outputs if is_variable(x)]
    yield [i for _, i in places]
    for key in keys:
        yield [i for _, i in sorted(places, key=lambda place: key(*place[0]))]
