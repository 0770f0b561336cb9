"""In which order a program is computed, so that few numbers have to be kept at a time: a thread has 255 registers.

Which outputs come first decides most: of derivatives, those of the outermost joints, as what belongs to a joint is then
used up when the next one comes. Within this order whatever frees a register is done as soon as it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from armwright.graph.expression import Expr
from armwright.graph.program import Program

FEW = 96
"""Numbers that are kept at a time, up to which the order of the graph is as good as any."""


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
        """How many numbers are kept at a time."""
        uses = {i: len(self.users[i]) for i in order}
        kept = most = 0
        for i in order:
            for a in self.operands[i]:
                uses[a] -= 1
                kept -= not uses[a]
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


def ordered(program: Program, fused: set[int]) -> list[Expr]:
    """All of a program, but for products within sums."""
    work = Work(program, fused)
    tried = [work.before(outputs) for outputs in _ways(program)]
    counts = [work.most(order) for order in tried]
    if counts[0] <= FEW:
        best = work.before([*(i for i, x in work.nodes.items() if x.op in ("sin", "cos")), *tried[0]])
    else:
        best = work.freeing(tried[counts.index(min(counts))])
    return [work.nodes[i] for i in best]


def _ways(program: Program) -> Iterable[list[int]]:
    """Outputs from the first on, then in orders that rows and columns of matrices may come in."""
    n = program.shape[-1] if program.shape else 1
    m = program.shape[-2] if len(program.shape) > 1 else 1

    def entry(k: int) -> tuple[int, int, int]:
        return k // n % m, k % n, k // (n * m)

    keys: list[Callable[[int], Sequence[int]]] = [
        lambda k: (k,),
        lambda k: (-max(entry(k)[:2]), *entry(k)),
        lambda k: (-entry(k)[1], -entry(k)[0], entry(k)[2]),
        lambda k: (-entry(k)[0], -entry(k)[1], entry(k)[2]),
    ]
    for key in keys:
        outputs = [program.outputs[k] for k in sorted(range(len(program.outputs)), key=key)]
        yield [x.index for x in outputs if isinstance(x, Expr) and x.value is None]
